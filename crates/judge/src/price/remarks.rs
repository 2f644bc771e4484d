//! Remarks on the figures.
//!
//! In: points and their runs. Out: remarks, each once with the configurations to which it applies. Must
//! never: change a figure, or omit a difference that the median of several runs hides.

use super::{MeasuredConfiguration, PricePoint, describe, runs};
use crate::compare::sides::repeat_differences;
use crate::formatting::{count, percent};
use crate::reproduced::relative_change;
use crate::thresholds::PRICE_MAX_AGE_DAYS;
use crate::{distinct, new_check};
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

impl PricePoint {
    fn remark(
        &self,
        id: &'static str,
        severity: Severity,
        text: impl Into<String>,
        advice: &'static str,
    ) -> PriceRemark {
        PriceRemark {
            id,
            severity,
            configurations: vec![self.name()],
            text: text.into(),
            advice,
        }
    }
}

pub(super) fn remarks(
    groups: &[Vec<MeasuredConfiguration<'_>>],
    points: &[PricePoint],
) -> Vec<Check> {
    let mut merged: Vec<PriceRemark> = Vec::new();
    for (group, point) in groups.iter().zip(points) {
        let mut own = price_remarks(group, point, points);
        own.extend(split_repeats_remark(group, point, groups));
        own.extend(published_ratio_remark(group, point));
        own.extend(run_remarks(&runs(group), point));
        for remark in own {
            let mut others = merged.iter_mut();
            match others.find(|other| other.id == remark.id && other.text == remark.text) {
                Some(same) if same.configurations.contains(&point.name()) => {}
                Some(same) => same.configurations.push(point.name()),
                None => merged.push(remark),
            }
        }
    }
    let checks = merged.into_iter().filter_map(|remark| {
        let finding = format!("{}: {}", remark.configurations.join(", "), remark.text);
        new_check(remark.id, remark.severity, finding, remark.advice)
    });
    checks.collect()
}

fn price_remarks(
    group: &[MeasuredConfiguration<'_>],
    point: &PricePoint,
    points: &[PricePoint],
) -> Vec<PriceRemark> {
    let days = count(point.age_days.unsigned_abs(), "day");
    let replicas = count(point.replicas_paid.into(), "replica");
    let is_run_of_another = points.iter().any(|other_point| {
        other_point.configuration != point.configuration
            && other_point.runs.iter().any(|run| point.runs.contains(run))
    });
    let mut remarks = Vec::new();
    if group[0].sheet.example {
        remarks.push(point.remark(
            "example-prices",
            Caveat,
            "the prices are an example, not a real offer.",
            "Enter your own prices.",
        ));
    }
    if point.age_days > PRICE_MAX_AGE_DAYS {
        remarks.push(point.remark(
            "old-prices",
            Caveat,
            format!("prices as of {}, up to {days} old.", point.as_of),
            "Look them up again, and enter the new date.",
        ));
    }
    if is_run_of_another {
        remarks.push(point.remark(
            "same-run",
            Caveat,
            "priced by a run that also prices another configuration.",
            "That is correct only if both are the same machine at two prices.",
        ));
    }
    if point.replicas_measured.is_none() {
        remarks.push(point.remark(
            "replicas-unknown",
            Note,
            format!("{replicas} paid for; the runs do not record how many there were."),
            "Check that the measured server had as many, and declare them when it is measured: --declare replicas=N.",
        ));
    }
    remarks
}

/// The remark that compares throughput for the money with the published one of the runs' scenario; `None` if none
/// was published, or the runs are not all of one scenario.
fn published_ratio_remark(
    group: &[MeasuredConfiguration<'_>],
    point: &PricePoint,
) -> Option<PriceRemark> {
    let scenario = group[0].run.scenario.as_ref()?;
    let is_same = |run: &&Run| {
        run.scenario
            .as_ref()
            .is_some_and(|other| other.id == scenario.id)
    };
    if !runs(group).iter().all(is_same) {
        return None;
    }
    let mut figures = scenario.published.iter();
    let published = figures.find(|figure| figure.name == PublishedMetric::TpsPerDollar)?;
    let range = match published.high {
        Some(high) => format!("{} to {high}", published.value),
        None => published.value.to_string(),
    };
    let currency = group[0].sheet.currency();
    let comparison = if currency != "USD" {
        format!("not compared with prices in {currency}")
    } else {
        let change = relative_change(published, point.tps_per_money?)?;
        let size = percent(change.abs());
        let difference = if change == 0.0 {
            "as published".to_owned()
        } else if change < 0.0 {
            format!("{size} less")
        } else {
            format!("{size} more")
        };
        if scenario.size_share < 1.0 {
            let share = percent(scenario.size_share);
            format!("here, with {share} of its data, it is {difference}")
        } else {
            format!("here it is {difference}")
        }
    };
    Some(point.remark(
        "published-ratio",
        Note,
        format!(
            "{} published {range} {} for {}; {comparison}.",
            scenario.source, published.unit, scenario.id
        ),
        "See prony show, which lists how the setup differs from the published one.",
    ))
}

/// The remark that repeats of one variant were given for different configurations; `None` if none were.
fn split_repeats_remark(
    group: &[MeasuredConfiguration<'_>],
    point: &PricePoint,
    groups: &[Vec<MeasuredConfiguration<'_>>],
) -> Option<PriceRemark> {
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
    applies.then(|| {
        point.remark(
            "repeats-apart",
            Caveat,
            "priced by repeats of one variant that were assigned to different configurations, each counting \
             only for its own.",
            "Repeats of a variant differ only by chance, unless the server was changed between them.",
        )
    })
}

/// Notes that the id of a run selected all repeats of its variant. `named` holds the ids and the numbers of
/// selected repeats.
pub fn repeat_selection_notes(named: &[(&str, usize)]) -> Vec<Check> {
    let mut counts: Vec<usize> = named.iter().map(|(_, count)| *count).collect();
    counts.sort_unstable();
    counts.dedup();
    let notes = counts.into_iter().filter_map(|count| {
        let with_count = named.iter().filter(|(_, other)| *other == count);
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
        new_check("repeats-taken", Note, finding, "")
    });
    notes.collect()
}

fn run_remarks(runs: &[&Run], point: &PricePoint) -> Vec<PriceRemark> {
    let caveat_differences = describe_caveat_differences(runs);
    let mut remarks = Vec::new();
    if point.durability.is_none() || runs.iter().any(|run| are_tables_unknown(run)) {
        let unrecorded = match point.durability {
            None => "what a commit survives",
            Some(_) => "whether there are unlogged tables",
        };
        remarks.push(point.remark(
            "durability-unknown",
            Caveat,
            format!("the runs do not record {unrecorded}."),
            "For the same money, a server with weaker durability is faster than one with stronger durability.",
        ));
    }
    if !point.caveats.is_empty() {
        remarks.push(point.remark(
            "run-caveats",
            Caveat,
            format!("the runs have findings: {}.", point.caveats.join(", ")),
            "See prony show.",
        ));
    }
    if !caveat_differences.is_empty() {
        remarks.push(point.remark(
            "repeats-differ",
            Caveat,
            format!("its runs differ: {caveat_differences}."),
            "Their median represents neither: price only runs that agree, each named with a comma.",
        ));
    }
    if runs.len() < 2 {
        remarks.push(point.remark(
            "one-run",
            Note,
            "a single run does not show how much another would differ.",
            "Repeat it at least three times; the median is priced.",
        ));
    }
    if point
        .repeats_planned
        .is_some_and(|planned| planned > runs.len())
    {
        remarks.push(point.remark(
            "repeats-missing",
            Caveat,
            format!("based on {} repeats of its variant.", point.runs_text()),
            "The missing ones might move the median.",
        ));
    }
    remarks
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
