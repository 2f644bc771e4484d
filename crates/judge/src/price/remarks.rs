//! Remarks on the figures.
//!
//! In: points and their runs. Out: remarks, each once with the configurations to which it applies. Must
//! never: change a figure, or omit a difference that the median of several runs hides.

use super::{MeasuredConfiguration, PricePoint, describe, runs};
use crate::compare::sides::repeat_differences;
use crate::distinct;
use crate::reproduced::relative_change;
use crate::thresholds::PRICE_MAX_AGE_DAYS;
use Severity::{Caveat, Note};
use prony_store::{Check, PublishedMetric, Run, Severity};

/// A remark that applies to one or more configurations.
struct PriceRemark {
    id: &'static str,
    severity: Severity,
    configurations: Vec<String>,
    text: String,
    advice: &'static str,
}

pub(super) fn remarks(
    groups: &[Vec<MeasuredConfiguration<'_>>],
    points: &[PricePoint],
) -> Vec<Check> {
    let mut remarks: Vec<PriceRemark> = Vec::new();
    for (group, point) in groups.iter().zip(points) {
        let entries = price_remarks(group, point, points).into_iter();
        let entries = entries.chain([split_repeats_remark(group, point, groups)]);
        let entries = entries.chain(published_ratio_remark(group, point));
        let entries = entries.chain(run_remarks(&runs(group), point));
        for (_, id, severity, text, advice) in entries.filter(|entry| entry.0) {
            let existing = remarks
                .iter_mut()
                .find(|remark| remark.id == id && remark.text == text);
            match existing {
                Some(existing) if existing.configurations.contains(&point.name()) => {}
                Some(existing) => existing.configurations.push(point.name()),
                None => remarks.push(PriceRemark {
                    id,
                    severity,
                    configurations: vec![point.name()],
                    text,
                    advice,
                }),
            }
        }
    }
    let checks = remarks.into_iter().filter_map(|remark| {
        let finding = format!("{}: {}", remark.configurations.join(", "), remark.text);
        crate::new_check(remark.id, remark.severity, finding, remark.advice)
    });
    checks.collect()
}

/// A possible remark: whether it applies, its id, severity, text and advice.
type PossibleRemark = (bool, &'static str, Severity, String, &'static str);

fn price_remarks(
    group: &[MeasuredConfiguration<'_>],
    point: &PricePoint,
    points: &[PricePoint],
) -> [PossibleRemark; 4] {
    let days = crate::formatting::count(point.age_days.unsigned_abs(), "day");
    let replicas = crate::formatting::count(point.replicas_paid.into(), "replica");
    let same_run = points.iter().any(|other_point| {
        other_point.configuration != point.configuration
            && other_point.runs.iter().any(|run| point.runs.contains(run))
    });
    [
        (
            group[0].sheet.example,
            "example-prices",
            Caveat,
            "the prices are an example, not a real offer.".to_owned(),
            "Enter your own prices.",
        ),
        (
            point.age_days > PRICE_MAX_AGE_DAYS,
            "old-prices",
            Caveat,
            format!("prices as of {}, up to {days} old.", point.as_of),
            "Look them up again, and enter the new date.",
        ),
        (
            same_run,
            "same-run",
            Caveat,
            "priced by a run that also prices another configuration.".to_owned(),
            "That is correct only if both are the same machine at two prices.",
        ),
        (
            point.replicas_measured.is_none(),
            "replicas-unknown",
            Note,
            format!("{replicas} paid for; the runs do not record how many there were."),
            "Check that the measured server had as many, and declare them when it is measured: --declare replicas=N.",
        ),
    ]
}

/// The remark that compares throughput for the money with the published one of the runs' scenario; `None` if none
/// was published.
fn published_ratio_remark(
    group: &[MeasuredConfiguration<'_>],
    point: &PricePoint,
) -> Option<PossibleRemark> {
    let scenario = group[0].run.scenario.as_ref()?;
    let is_same = |run: &&Run| {
        run.scenario
            .as_ref()
            .is_some_and(|other| other.id == scenario.id)
    };
    let mut published = scenario.published.iter();
    let published = published.find(|figure| figure.name == PublishedMetric::TpsPerDollar)?;
    let range = match published.high {
        Some(high) => format!("{} to {high}", published.value),
        None => published.value.to_string(),
    };
    let currency = group[0].sheet.currency();
    let comparison = if currency != "USD" {
        format!("not compared with prices in {currency}")
    } else {
        let change = relative_change(published, point.tps_per_money?)?;
        let size = crate::formatting::percent(change.abs());
        let difference = match change {
            0.0 => "as published".to_owned(),
            change if change < 0.0 => format!("{size} less"),
            _ => format!("{size} more"),
        };
        match scenario.size_share {
            share if share < 1.0 => {
                let share = crate::formatting::percent(share);
                format!("here, with {share} of its data, it is {difference}")
            }
            _ => format!("here it is {difference}"),
        }
    };
    Some((
        runs(group).iter().all(is_same),
        "published-ratio",
        Note,
        format!(
            "{} published {range} {} for {}; {comparison}.",
            scenario.source, published.unit, scenario.id
        ),
        "See prony show, which lists how the setup differs from the published one.",
    ))
}

/// The remark that repeats of one variant were given for different configurations.
fn split_repeats_remark(
    group: &[MeasuredConfiguration<'_>],
    point: &PricePoint,
    groups: &[Vec<MeasuredConfiguration<'_>>],
) -> PossibleRemark {
    let variant_key = |group: &[MeasuredConfiguration<'_>]| {
        let experiment = group[0].run.experiment.as_ref()?;
        Some((experiment.id.clone(), experiment.variant.clone()))
    };
    let applies = groups.iter().any(|other_group| {
        other_group[0].configuration.name != point.configuration
            && variant_key(group).is_some_and(|key| variant_key(other_group) == Some(key))
            && !other_group
                .iter()
                .any(|measurement| point.runs.contains(&measurement.run.id))
    });
    (
        applies,
        "repeats-apart",
        Caveat,
        "priced by repeats of one variant that were assigned to different configurations, each counting \
         only for its own."
            .to_owned(),
        "Repeats of a variant differ only by chance, unless the server was changed between them.",
    )
}

/// Notes that the id of a run selected all repeats of its variant. `named` holds the ids and the numbers of
/// selected repeats.
pub fn repeat_selection_notes(named: &[(&str, usize)]) -> Vec<Check> {
    let mut counts: Vec<usize> = named.iter().map(|run| run.1).collect();
    counts.sort_unstable();
    counts.dedup();
    let notes = counts.into_iter().filter_map(|count| {
        let with_count = named.iter().filter(|run| run.1 == count);
        let ids = distinct(with_count.map(|(id, _)| *id));
        let first = ids.first()?;
        let verb = match ids.len() {
            1 => "selects",
            _ => "each selects",
        };
        let finding = format!(
            "{}: {verb} all {count} repeats of its variant; to price that run alone, write '{first},' with a \
             comma.",
            ids.join(" and "),
        );
        crate::new_check("repeats-taken", Note, finding, "")
    });
    notes.collect()
}

fn run_remarks(runs: &[&Run], point: &PricePoint) -> [PossibleRemark; 5] {
    let planned = point.repeats_planned;
    let unrecorded = match point.durability {
        None => "what a commit survives",
        Some(_) => "whether there are unlogged tables",
    };
    let caveat_differences = describe_caveat_differences(runs);
    [
        (
            point.durability.is_none() || runs.iter().any(|run| are_tables_unknown(run)),
            "durability-unknown",
            Caveat,
            format!("the runs do not record {unrecorded}."),
            "For the same money, a server with weaker durability is faster than one with stronger durability.",
        ),
        (
            !point.caveats.is_empty(),
            "run-caveats",
            Caveat,
            format!("the runs have findings: {}.", point.caveats.join(", ")),
            "See prony show.",
        ),
        (
            !caveat_differences.is_empty(),
            "repeats-differ",
            Caveat,
            format!("its runs differ: {caveat_differences}."),
            "Their median represents neither: price only runs that agree, each named with a comma.",
        ),
        (
            runs.len() < 2,
            "one-run",
            Note,
            "a single run does not show how much another would differ.".to_owned(),
            "Repeat it at least three times; the median is priced.",
        ),
        (
            planned.is_some_and(|planned| planned > runs.len()),
            "repeats-missing",
            Caveat,
            format!("based on {} repeats of its variant.", point.runs_text()),
            "The missing ones might move the median.",
        ),
    ]
}

fn are_tables_unknown(run: &Run) -> bool {
    let before = run.state_before();
    let durability = before.and_then(|state| state.durability.as_ref());
    durability.is_some_and(|durability| durability.tables_unknown)
}

/// The differences between repeats that are caveats, as text; empty if there are none.
fn describe_caveat_differences(runs: &[&Run]) -> String {
    let mut differences = repeat_differences(runs);
    differences.retain(|difference| difference.severity == Caveat && difference.values.len() > 1);
    describe(&differences)
}
