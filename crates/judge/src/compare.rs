//! Whether the figures of two Runs may be set side by side.
//!
//! In: two finished Runs. Out: a [`Comparison`]: what differs, the worst first, and what follows. Must
//! never: give a ratio where the figures are of two different things; change a figure. [`sides`] does so
//! for repeated runs, and says how far chance explains what it finds.
//!
//! Each difference is one entry of a table: how a Run is read, how grave it is when two readings
//! differ, and why. What the variants of one experiment vary on purpose forbids nothing.

mod imported;
mod meant;
mod rules;
mod server;
pub mod sides;

use crate::all;
use Severity::{Caveat, Invalid, Note};
use prony_store::{Check, Run, Severity, State};
use rules::{OTHER_PROMISE, OTHER_WORK, PROMISES, RULES, UNKNOWN, plain, setting};
use serde::Serialize;
use std::collections::HashMap;

/// What two Runs have in common, as far as it decides whether their figures compare.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// What follows.
    pub verdict: Verdict,
    /// What differs, the worst first.
    pub differences: Vec<Difference>,
    /// The figures side by side; empty where they do not compare.
    pub figures: Vec<Pair>,
}

/// What follows for the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// They are of the same thing.
    Comparable,
    /// Each difference has to be weighed first.
    WithCaveats,
    /// They are of different things, or one of them must not be used at all.
    NotComparable,
}

impl Verdict {
    /// What follows from these.
    fn of(differences: &[Difference]) -> Verdict {
        match differences.iter().map(|one| one.severity).max() {
            Some(Invalid) => Verdict::NotComparable,
            Some(Caveat) => Verdict::WithCaveats,
            Some(Note) | None => Verdict::Comparable,
        }
    }

    /// In the words of the report.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Comparable => "COMPARABLE",
            Verdict::WithCaveats => "COMPARABLE, WITH CAVEATS",
            Verdict::NotComparable => "NOT COMPARABLE",
        }
    }
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// How grave: [`Severity::Invalid`] forbids the comparison.
    pub severity: Severity,
    /// What was looked at.
    pub what: String,
    /// How it is in the first Run.
    pub a: String,
    /// And in the second.
    pub b: String,
    /// Why it matters.
    pub why: &'static str,
}

/// One figure of both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// Its name, such as `NOPM`, `TPS`, `p99`.
    pub name: String,
    /// What it is measured in.
    pub unit: Unit,
    /// The first Run's.
    pub a: f64,
    /// The second's.
    pub b: f64,
}

/// What a figure is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A number by the minute or the second, as its name says: more is better.
    Rate,
    /// Nanoseconds: less is better.
    Nanoseconds,
}

/// Compares two Runs. `a` is the one that the other is measured against.
pub fn compare(a: &Run, b: &Run) -> Comparison {
    let differences = weighed(a, b);
    let verdict = Verdict::of(&differences);
    let figures = match verdict {
        Verdict::NotComparable => Vec::new(),
        _ => figures(a, b),
    };
    Comparison {
        verdict,
        differences,
        figures,
    }
}

/// What differs, the worst first: of two variants of one experiment what they vary is no fault.
fn weighed(a: &Run, b: &Run) -> Vec<Difference> {
    let mut found = differences(a, b);
    meant::weigh(a, b, &mut found);
    worst_first(&mut found);
    found
}

/// What stands between two that are ranked by their price, though an experiment varied it: throughput that
/// was asked for, of other data, or that promises less, is no more for the money.
const STANDS: [&str; 3] = ["durability", "pace", "scale"];

/// What differs between two that are to be ranked by their price, the worst first.
pub(crate) fn between_priced(a: &Run, b: &Run) -> Vec<Difference> {
    let plain = differences(a, b);
    let engines = a.server.engine != b.server.engine;
    let mut found = weighed(a, b);
    for one in &mut found {
        let what = one.what.as_str();
        // An engine does not have the settings of another.
        let unheard = engines && [&one.a, &one.b].iter().any(|value| *value == UNKNOWN);
        let stands = STANDS.contains(&what) || (PROMISES.contains(&what) && !unheard);
        if let Some(known) = plain.iter().find(|other| stands && other.what == what) {
            one.clone_from(known);
        }
    }
    worst_first(&mut found);
    found
}

/// Stable: among those of one severity the order of the rules stays.
fn worst_first(differences: &mut [Difference]) {
    differences.sort_by_key(|one| std::cmp::Reverse(one.severity));
}

/// What differs between runs that are meant to be of one thing, the worst first.
pub(crate) fn differences(a: &Run, b: &Run) -> Vec<Difference> {
    let mut differences: Vec<Difference> = RULES
        .iter()
        .filter_map(|rule| {
            let (of_a, of_b) = ((rule.read)(a), (rule.read)(b));
            difference(rule.severity, rule.what, of_a, of_b, rule.why)
        })
        .collect();
    differences.extend(PROMISES.iter().filter_map(|name| {
        let (of_a, of_b) = (setting(a, name), setting(b, name));
        difference(Invalid, name, of_a, of_b, OTHER_PROMISE)
    }));
    differences.extend(workload_settings(a, b));
    differences.extend(server::seen(a, b));
    differences.extend(server::settings(a, b));
    differences.retain(|one| !imported::untold(a, b, &one.what));
    differences.extend(imported::caveat(a, b));
    differences.extend(unusable(a, b));
    worst_first(&mut differences);
    differences
}

/// All that is read of a Run to find differences: between runs of the same reading there is none but what
/// stands against each of them alone.
fn reading(run: &Run) -> Vec<String> {
    let mut read: Vec<String> = RULES.iter().map(|rule| (rule.read)(run)).collect();
    let committed = all(run).is_some_and(|kind| kind.committed > 0);
    let imported = run.imported.as_ref();
    let experiment = run.experiment.as_ref();
    read.extend([
        run.workload.settings.join("\n"),
        server::reading(run),
        state(run.state),
        committed.to_string(),
        ids(&run.checks, Invalid),
        ids(&run.checks, Caveat),
        format!("{:?}", imported.map(|of| (&of.tool, &of.untold))),
        format!("{:?}", experiment.map(|of| (&of.id, &of.variant))),
        run.plan.to_string(),
    ]);
    read
}

fn difference(
    severity: Severity,
    what: &str,
    a: String,
    b: String,
    why: &'static str,
) -> Option<Difference> {
    (a != b).then(|| Difference {
        severity,
        what: what.to_owned(),
        a,
        b,
        why,
    })
}

/// What the workload says decides the meaning of its figures: mode, profile and their like.
fn workload_settings(a: &Run, b: &Run) -> Vec<Difference> {
    let (of_a, of_b) = (&a.workload.settings, &b.workload.settings);
    pairs(
        of_a.iter().map(|one| split(one)),
        of_b.iter().map(|one| split(one)),
    )
    .into_iter()
    .filter_map(|(name, a, b)| difference(Invalid, &name, a, b, OTHER_WORK))
    .collect()
}

/// A setting as the document has it, `name value`.
fn split(setting: &str) -> (String, String) {
    let (name, value) = setting.split_once(' ').unwrap_or((setting, "set"));
    (name.to_owned(), value.to_owned())
}

/// Every name of either side with the values of both; `not set` where one lacks it.
fn pairs(
    a: impl Iterator<Item = (String, String)>,
    b: impl Iterator<Item = (String, String)>,
) -> Vec<(String, String, String)> {
    let missing = || "not set".to_owned();
    let mut all: Vec<(String, String, String)> =
        a.map(|(name, value)| (name, value, missing())).collect();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (place, (name, ..)) in all.iter().enumerate() {
        places.entry(name.clone()).or_insert(place);
    }
    for (name, value) in b {
        match places.get(&name) {
            Some(place) => all[*place].2 = value,
            None => {
                places.insert(name.clone(), all.len());
                all.push((name, missing(), value));
            }
        }
    }
    all
}

/// What makes one of the two unfit for any comparison, or doubtful.
fn unusable(a: &Run, b: &Run) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut add = |severity, what: &str, of: [String; 2], why| {
        let [a, b] = of;
        found.push(Difference {
            severity,
            what: what.to_owned(),
            a,
            b,
            why,
        });
    };
    let states = [a, b].map(|run| run.state);
    if states.contains(&State::Running) {
        let why = "the figures of a run that goes on are not final";
        add(Invalid, "state", states.map(state), why);
    } else if states.contains(&State::Partial) {
        let why = "a run that was cut short covers less than was meant";
        add(Caveat, "state", states.map(state), why);
    }
    let committed = [a, b].map(|run| all(run).map_or(0, |kind| kind.committed));
    if committed.contains(&0) {
        let why = "there is no figure to compare";
        add(Invalid, "committed", committed.map(|n| n.to_string()), why);
    }
    for (severity, what, why) in [
        (Invalid, "invalid by", "its figures must not be used"),
        (
            Caveat,
            "caveats",
            "each stands against one of the two alone: see prony show",
        ),
    ] {
        let [of_a, of_b] = [a, b].map(|run| ids(&run.checks, severity));
        // What stands against both alike is no difference; what forbids the use of one always is.
        let grave = severity == Invalid && (of_a != NONE || of_b != NONE);
        if grave || of_a != of_b {
            add(severity, what, [of_a, of_b], why);
        }
    }
    found
}

pub(crate) const NONE: &str = "none";

pub(crate) fn ids(checks: &[Check], severity: Severity) -> String {
    let of_it = checks.iter().filter(|check| check.severity == severity);
    let mut ids: Vec<&str> = of_it.map(|check| check.id.as_str()).collect();
    ids.sort_unstable();
    match ids.is_empty() {
        true => NONE.to_owned(),
        false => ids.join(", "),
    }
}

/// What a Run says of how long a commit lasts, as `name value`; `None` where it says nothing.
pub(crate) fn promises(run: &Run) -> Option<String> {
    let settings = &run.server.settings;
    let said = PROMISES.iter().filter_map(|name| {
        let value = settings.get(*name)?;
        Some(format!("{name} {}", plain(value)))
    });
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| said.join(", "))
}

fn state(state: State) -> String {
    match state {
        State::Running => "running",
        State::Complete => "complete",
        State::Partial => "partial",
    }
    .to_owned()
}

/// The one response time that is exact, and no step of a histogram.
const MEAN: &str = "mean response";

/// What both have: the field's own rates first, then transactions a second, then response times.
fn figures(a: &Run, b: &Run) -> Vec<Pair> {
    let of_b = values(b);
    let pairs = values(a).into_iter().filter_map(|(name, unit, value)| {
        let like = of_b
            .iter()
            .find(|other| (&other.0, other.1) == (&name, unit));
        like.map(|other| Pair {
            name,
            unit,
            a: value,
            b: other.2,
        })
    });
    pairs.collect()
}

/// A Run's figures in that order.
fn values(run: &Run) -> Vec<(String, Unit, f64)> {
    let rates = run.rates.iter();
    let mut found: Vec<_> = rates
        .map(|rate| (rate.name.clone(), Unit::Rate, rate.value))
        .collect();
    let Some(all) = all(run) else {
        return found;
    };
    found.push(("TPS".to_owned(), Unit::Rate, all.tps));
    let of = &all.response;
    let exact = |ns: Option<u64>| ns.map(|ns| ns as f64);
    let times = [
        (MEAN, (of.samples > 0).then_some(of.mean_ns)),
        ("p50", exact(of.p50_ns)),
        ("p95", exact(of.p95_ns)),
        ("p99", exact(of.p99_ns)),
        ("p99.9", exact(of.p999_ns)),
    ];
    found.extend(
        times
            .into_iter()
            .filter_map(|(name, ns)| Some((name.to_owned(), Unit::Nanoseconds, ns?))),
    );
    found
}

#[cfg(test)]
mod tests;
