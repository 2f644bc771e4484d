//! What is to be known about the figures.
//!
//! In: points and the runs behind them. Out: remarks, each once with the configurations it holds for.
//! Must never: change a figure, or be silent on what the median of several runs hides.

use super::{Offer, Point, in_words, runs};
use crate::compare::sides::unlike;
use crate::thresholds::PRICE_OLD_DAYS;
use Severity::{Caveat, Note};
use prony_store::{Check, Run, Severity};

/// A remark that holds for several configurations alike.
struct Remark {
    id: &'static str,
    severity: Severity,
    names: Vec<String>,
    text: String,
    advice: &'static str,
}

/// What is to be known about the figures.
pub(super) fn remarks(groups: &[Vec<Offer<'_>>], points: &[Point]) -> Vec<Check> {
    let mut found: Vec<Remark> = Vec::new();
    for (group, point) in groups.iter().zip(points) {
        let each = of_price(group, point, points).into_iter();
        let each = each.chain([apart(group, point, groups)]);
        let each = each.chain(of_runs(&runs(group), point));
        for (_, id, severity, text, advice) in each.filter(|one| one.0) {
            let known = found
                .iter_mut()
                .find(|one| one.id == id && one.text == text);
            match known {
                Some(known) if known.names.contains(&point.name()) => {}
                Some(known) => known.names.push(point.name()),
                None => found.push(Remark {
                    id,
                    severity,
                    names: vec![point.name()],
                    text,
                    advice,
                }),
            }
        }
    }
    let checks = found.into_iter().filter_map(|one| {
        let finding = format!("{}: {}", one.names.join(", "), one.text);
        crate::found(one.id, one.severity, finding, one.advice)
    });
    checks.collect()
}

/// Whether it holds, id, severity, text and advice.
type Found = (bool, &'static str, Severity, String, &'static str);

/// Of what one point costs, and what for.
fn of_price(group: &[Offer<'_>], point: &Point, points: &[Point]) -> [Found; 4] {
    let days = crate::words::count(point.age_days.unsigned_abs(), "day");
    let replicas = crate::words::count(point.replicas_paid.into(), "replica");
    let same = points.iter().any(|other| {
        other.configuration != point.configuration
            && other.runs.iter().any(|run| point.runs.contains(run))
    });
    [
        (
            group[0].sheet.example,
            "example-prices",
            Caveat,
            "the prices are an example, and nobody's offer.".to_owned(),
            "Write down your own prices.",
        ),
        (
            point.age_days > PRICE_OLD_DAYS,
            "old-prices",
            Caveat,
            format!("prices as of {}, up to {days} old.", point.as_of),
            "Look them up again, and write the new date down.",
        ),
        (
            same,
            "same-run",
            Caveat,
            "priced by a run that prices another configuration too.".to_owned(),
            "That is right only where both are the same machine at two prices.",
        ),
        (
            point.replicas_seen.is_none(),
            "replicas-unknown",
            Note,
            format!("{replicas} paid for; the runs do not say how many there were."),
            "See that what was measured had as many.",
        ),
    ]
}

/// Of repeats of a variant that were named for different configurations.
fn apart(group: &[Offer<'_>], point: &Point, groups: &[Vec<Offer<'_>>]) -> Found {
    let variant = |group: &[Offer<'_>]| {
        let of = group[0].run.experiment.as_ref()?;
        Some((of.id.clone(), of.variant.clone()))
    };
    let holds = groups.iter().any(|other| {
        other[0].configuration.name != point.configuration
            && variant(group).is_some_and(|own| variant(other) == Some(own))
            && !other.iter().any(|one| point.runs.contains(&one.run.id))
    });
    (
        holds,
        "repeats-apart",
        Caveat,
        "priced by repeats of one variant, of which each was named for one configuration and stands for \
         that alone."
            .to_owned(),
        "Repeats of a variant are runs of one thing: unless the server was another one meanwhile, they \
         differ by chance.",
    )
}

/// A note on runs that were named by themselves, and how many repeats of its variant each stands for.
pub fn stands_for(named: &[(&str, usize)]) -> Vec<Check> {
    let mut counts: Vec<usize> = named.iter().map(|one| one.1).collect();
    counts.sort_unstable();
    counts.dedup();
    let notes = counts.into_iter().filter_map(|count| {
        let mut ids: Vec<&str> = Vec::new();
        for (id, _) in named.iter().filter(|one| one.1 == count) {
            if !ids.contains(id) {
                ids.push(id);
            }
        }
        let first = ids.first()?;
        let finding = format!(
            "{}: stands for the {count} repeats of its variant; name it {first}, with the comma for itself \
             alone.",
            ids.join(" and "),
        );
        crate::found("repeats-taken", Note, finding, "")
    });
    notes.collect()
}

/// Of the runs behind one point.
fn of_runs(runs: &[&Run], point: &Point) -> [Found; 5] {
    let meant = point.repeats_meant;
    let survives = match point.durability {
        None => "what a commit survives",
        Some(_) => "whether there are tables without a log",
    };
    let differ = differ(runs);
    [
        (
            point.durability.is_none() || runs.iter().any(|run| tables_unknown(run)),
            "durability-unknown",
            Caveat,
            format!("the runs do not say {survives}."),
            "A server that promises less about a commit is faster for the same money.",
        ),
        (
            !point.caveats.is_empty(),
            "run-caveats",
            Caveat,
            format!("the runs have caveats: {}.", point.caveats.join(", ")),
            "See prony show.",
        ),
        (
            !differ.is_empty(),
            "repeats-differ",
            Caveat,
            format!("its runs are not alike: {differ}."),
            "Their median is of no one of these: price those alone that are alike, named with commas.",
        ),
        (
            runs.len() < 2,
            "one-run",
            Note,
            "one run, so nothing says how far another would differ.".to_owned(),
            "Repeat it, at least three times; the median is priced.",
        ),
        (
            meant.is_some_and(|meant| meant > runs.len()),
            "repeats-missing",
            Caveat,
            format!(
                "{} repeats of its variant stand behind it.",
                point.runs_in_words()
            ),
            "Those that are left out might move the median.",
        ),
    ]
}

fn tables_unknown(run: &Run) -> bool {
    let before = run.observed.as_ref().and_then(|seen| seen.before.as_ref());
    let durability = before.and_then(|state| state.durability.as_ref());
    durability.is_some_and(|durability| durability.tables_unknown)
}

/// In what repeats of one thing differ that has to be weighed; empty where they do not. What each has
/// against itself is told by `run-caveats`.
fn differ(runs: &[&Run]) -> String {
    let mut found = unlike(runs);
    found.retain(|one| one.severity == Caveat && one.what != "caveats" && one.readings.len() > 1);
    in_words(&found)
}
