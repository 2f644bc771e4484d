//! Decides whether the figures of two Runs may be compared.
//!
//! In: two finished Runs. Out: a [`Comparison`]: the verdict, the differences, and the figures of both Runs.
//! Must never: compute a ratio of figures of two different things, or change a figure. [`sides`] compares
//! repeated runs and computes how far chance explains a difference.
//!
//! `rules` lists the compared properties: how each is read from a Run, how severe a difference is, and why.
//! Differences that the plans of an experiment's variants request are at most caveats.

mod declared;
mod despite;
mod doctor;
mod engines;
mod intended;
mod planned;
pub mod rule_table;
mod rules;
mod run_figures;
mod server;
pub mod sides;
mod tolerances;
mod usability;

pub use despite::ALLOWED_DESPITE;
pub use planned::{PlannedRefusal, PlannedVariant, planned_refusals};

use crate::all_kinds;
use crate::service::is_absent;
use Severity::{Caveat, Invalid, Note};
use prony_store::{ObservedTopic, Run, Setting, Severity};
use rules::{
    DURABILITY_SETTINGS, SYNC_BINLOG, UNKNOWN, WHY_NO_BINLOG, WHY_OTHER_DURABILITY, WHY_OTHER_WORK,
    WHY_OWN_DURABILITY, compared_properties, has_no_binlog, plain_text, server_setting,
};
use run_figures::common_figures;
pub(crate) use run_figures::{
    FigureValue, MEAN_FIGURE, P99_FIGURE, TPS_FIGURE, attempts_p99, figure_values, is_compared,
    is_outage_figure, preferred_figures,
};
use serde::Serialize;
use std::collections::HashMap;
use usability::usability_differences;
pub(crate) use usability::{NO_CHECKS, check_ids};

/// The result of comparing two Runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    pub verdict: Verdict,
    /// Differences, the worst first.
    pub differences: Vec<Difference>,
    /// The figures of both Runs; empty if the Runs are not comparable.
    pub figures: Vec<FigurePair>,
}

/// Whether figures may be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The figures are of the same thing.
    Comparable,
    /// The figures are comparable, but each difference has to be considered.
    WithCaveats,
    /// They are not comparable, but shown because the user allowed it with `--despite`.
    #[serde(rename = "not_comparable")]
    ShownDespite,
    /// The figures are of different things, or one Run must not be used.
    NotComparable,
}

impl Verdict {
    fn from_differences(differences: &[Difference]) -> Verdict {
        let severities = differences.iter().map(|difference| difference.severity);
        match severities.max() {
            Some(Invalid) => Verdict::NotComparable,
            Some(Caveat) => Verdict::WithCaveats,
            Some(Note) | None => Verdict::Comparable,
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            Verdict::Comparable => "COMPARABLE",
            Verdict::WithCaveats => "COMPARABLE, WITH CAVEATS",
            Verdict::ShownDespite | Verdict::NotComparable => "NOT COMPARABLE",
        }
    }
}

/// A property in which two Runs differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Severity; [`Severity::Invalid`] forbids the comparison.
    pub severity: Severity,
    /// The property.
    pub what: String,
    /// The first Run's value.
    pub a: String,
    /// The second Run's value.
    pub b: String,
    /// Why the difference matters.
    pub why: &'static str,
}

/// A figure that both Runs have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigurePair {
    /// Its name, such as `NOPM`, `TPS`, `p99`.
    pub name: String,
    pub unit: Unit,
    /// The first Run's value.
    pub a: f64,
    /// The second Run's value.
    pub b: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A rate per minute or per second, as its name says; higher is better.
    Rate,
    /// Nanoseconds; lower is better.
    Nanoseconds,
}

/// Compares two Runs; `a` is the baseline. Runs of two engines are comparable only if `across_engines`
/// is set, or if the engines are MySQL and MariaDB.
pub fn compare(a: &Run, b: &Run, across_engines: bool) -> Comparison {
    let differences = differences_allowing_intended(a, b, across_engines);
    let verdict = Verdict::from_differences(&differences);
    let figures = match verdict {
        Verdict::NotComparable => Vec::new(),
        _ => common_figures(a, b),
    };
    Comparison {
        verdict,
        differences,
        figures,
    }
}

/// Differences, the worst first. A difference that the plans of two variants of one experiment request is a note.
fn differences_allowing_intended(a: &Run, b: &Run, across_engines: bool) -> Vec<Difference> {
    let mut all = differences(a, b);
    engines::downgrade_engine_differences(a, b, across_engines, &mut all);
    intended::downgrade_intended(a, b, &mut all);
    worst_first(&mut all);
    all
}

/// Properties whose differences prevent a ranking by price even if an experiment varied them on purpose:
/// throughput that was limited by a rate, or measured with other data or weaker durability, is not comparable
/// for its price.
const NEVER_INTENDED: [&str; 3] = ["durability", "pace", "scale"];

/// Differences that matter for ranking two Runs by price, the worst first.
pub(crate) fn price_ranking_differences(a: &Run, b: &Run) -> Vec<Difference> {
    let unadjusted = differences(a, b);
    let engines_differ = a.server.product != b.server.product;
    let mut ranked = differences_allowing_intended(a, b, false);
    for difference in &mut ranked {
        // Each configuration is measured with as many clients as it takes to load it fully.
        if difference.what == tolerances::CLIENTS_PROPERTY {
            difference.severity = difference.severity.min(Caveat);
        }
        let subject = difference.what.as_str();
        // Settings of one engine do not exist in another.
        let values = [&difference.a, &difference.b];
        let absent_in_engine = engines_differ && values.iter().any(|value| **value == UNKNOWN);
        let never_intended = NEVER_INTENDED.contains(&subject)
            || (DURABILITY_SETTINGS.contains(&subject) && !absent_in_engine);
        if let Some(original) = unadjusted
            .iter()
            .find(|original| never_intended && original.what == subject)
        {
            difference.clone_from(original);
        }
    }
    worst_first(&mut ranked);
    ranked
}

/// Whether an experiment varied on purpose how many copies of the data the server keeps, as its plans declare.
pub(crate) fn varies_availability(a: &Run, b: &Run) -> bool {
    intended::varies_availability(a, b)
}

/// Sorts by severity; the sort is stable, so entries of one severity stay in the order of the rules.
fn worst_first(differences: &mut [Difference]) {
    differences.sort_by_key(|difference| std::cmp::Reverse(difference.severity));
}

/// Differences between runs that should have measured the same thing, and what makes either of them unusable; the
/// worst first.
pub(crate) fn differences(a: &Run, b: &Run) -> Vec<Difference> {
    let mut differences = property_differences(a, b);
    differences.extend(usability_differences(a, b));
    worst_first(&mut differences);
    differences
}

/// Whether two runs measured the same thing, whether or not their figures may be used.
pub fn is_same_load(a: &Run, b: &Run) -> bool {
    property_differences(a, b)
        .iter()
        .all(|difference| difference.severity != Invalid)
}

/// Differences between runs that should have measured the same thing.
pub(crate) fn property_differences(a: &Run, b: &Run) -> Vec<Difference> {
    let properties = compared_properties(a)
        .into_iter()
        .zip(compared_properties(b));
    let mut differences: Vec<Difference> = properties
        .filter_map(|(a, b)| difference(a.severity, a.what, a.value, b.value, a.why))
        .collect();
    let own_durability = [a, b].map(|run| is_absent(run, ObservedTopic::Durability));
    differences.extend(DURABILITY_SETTINGS.iter().filter_map(|name| {
        let values = [a, b].map(|run| server_setting(run, name));
        let has_no_effect = *name == SYNC_BINLOG && [a, b].iter().all(|run| has_no_binlog(run));
        let (severity, why) = if has_no_effect {
            (Note, WHY_NO_BINLOG)
        } else if own_durability[0] != own_durability[1] {
            (Caveat, WHY_OWN_DURABILITY)
        } else {
            (Invalid, WHY_OTHER_DURABILITY)
        };
        let [value_a, value_b] = values;
        difference(severity, name, value_a, value_b, why)
    }));
    differences.extend(workload_setting_differences(a, b));
    differences.extend(server::observed_differences(a, b));
    differences.extend(declared::differences(a, b));
    differences.extend(server::setting_differences(a, b));
    differences.extend(doctor::doctor_differences(a, b));
    tolerances::apply_tolerances(a, b, &mut differences);
    differences
}

/// Everything that comparisons read from a Run. Two runs with the same key have no differences, except that a
/// problem of both may make each unusable.
fn comparison_key(run: &Run) -> Vec<String> {
    let mut key: Vec<String> = compared_properties(run)
        .map(|property| property.value)
        .into();
    let committed = all_kinds(run).is_some_and(|kind| kind.committed > 0);
    let experiment = run.experiment.as_ref();
    key.extend([
        format!("{:?}", run.workload.settings),
        server::settings_key(run),
        format!("{:?}", run.server.declared),
        doctor::doctor_key(run),
        run.state.name().to_owned(),
        committed.to_string(),
        check_ids(&run.checks, Invalid),
        check_ids(&run.checks, Caveat),
        format!(
            "{:?}",
            experiment.map(|experiment| (&experiment.id, &experiment.variant))
        ),
        run.plan.to_string(),
        format!("{:?}", run.drive.rate_tps),
    ]);
    key
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

/// Differences of the settings that decide what the workload's figures mean, such as mode and profile.
fn workload_setting_differences(a: &Run, b: &Run) -> Vec<Difference> {
    let (settings_a, settings_b) = (&a.workload.settings, &b.workload.settings);
    let name_and_value = |setting: &Setting| (setting.name.clone(), setting.value.clone());
    merge_by_name(
        settings_a.iter().map(name_and_value),
        settings_b.iter().map(name_and_value),
    )
    .into_iter()
    .filter_map(|(name, value_a, value_b)| {
        difference(Invalid, &name, value_a, value_b, WHY_OTHER_WORK)
    })
    .collect()
}

/// Printed as the value of a setting that a Run lacks and the other Run has.
const NOT_SET: &str = "not set";

/// Each name that `a` or `b` has, with the values of both; [`NOT_SET`] for a missing value.
fn merge_by_name(
    a: impl Iterator<Item = (String, String)>,
    b: impl Iterator<Item = (String, String)>,
) -> Vec<(String, String, String)> {
    let missing = || NOT_SET.to_owned();
    let mut merged: Vec<(String, String, String)> =
        a.map(|(name, value)| (name, value, missing())).collect();
    let mut indexes: HashMap<String, usize> = HashMap::new();
    for (index, (name, ..)) in merged.iter().enumerate() {
        indexes.entry(name.clone()).or_insert(index);
    }
    for (name, value) in b {
        match indexes.get(&name) {
            Some(index) => merged[*index].2 = value,
            None => {
                indexes.insert(name.clone(), merged.len());
                merged.push((name, missing(), value));
            }
        }
    }
    merged
}

/// The Run's durability settings as `name value`; `None` if it has none.
pub(crate) fn durability_settings(run: &Run) -> Option<String> {
    let settings = &run.server.settings;
    let texts = DURABILITY_SETTINGS.iter().filter_map(|name| {
        let value = settings.get(*name)?;
        Some(format!("{name} {}", plain_text(value)))
    });
    let texts: Vec<String> = texts.collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

#[cfg(test)]
mod tests;
