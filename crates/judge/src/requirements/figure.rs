//! The figures of a run that requirements name, each with the interval in which it lies.
//!
//! In: a requirement, a Run. Out: a value and its interval, or why there is none. Must never: compare with a limit, except
//! for what is certain without an interval.

use super::beside::NOTHING_TO_COMPARE;
use super::is_usable;
use crate::all_kinds;
use crate::formatting;
use crate::growth::lost_commits;
use crate::outage::{NOT_BACK, Recovery, longest_outage_s, recovery};
use crate::percentile_intervals::{interval_of, lower_bound_of, mean_interval_of};
use crate::statistics::{ALPHA, series_mean, student};
use crate::steady::{judged_rows, per_second_rates};
use prony_store::{
    Latency, RequiredFigure, RequiredLimit, Requirement, Run, RunState, Second, Statistic,
    samples_needed,
};

pub(super) fn no_interval_reason(run: &Run) -> &'static str {
    if judged_rows(run).is_none() {
        "an interval needs 20 whole seconds without lost connections"
    } else {
        "the seconds of the run depend too much on each other for an interval: measure longer"
    }
}

/// A value, and the interval in which it lies.
type Figure = (f64, Option<[f64; 2]>);

/// A run's figure; the error says why there is none.
pub(super) fn figure(requirement: &Requirement, run: &Run) -> Result<Figure, String> {
    let all = all_kinds(run).ok_or("nothing was measured")?;
    match &requirement.figure {
        RequiredFigure::Primary => Err(NOTHING_TO_COMPARE.to_owned()),
        RequiredFigure::Throughput => Ok((all.tps, throughput_interval(run, all.tps))),
        RequiredFigure::Metric(name) => {
            let mut rates = run.rates.iter();
            let rate = rates.find(|rate| rate.name.as_str() == name);
            let rate = rate.ok_or_else(|| format!("the workload has no {name}"))?;
            Ok((rate.value, throughput_interval(run, rate.value)))
        }
        RequiredFigure::Errors => match requirement.limit {
            RequiredLimit::Share(_) if all.ended() == 0 => Err("no transaction ended".to_owned()),
            RequiredLimit::Share(_) => Ok((all.failed as f64 / all.ended() as f64, None)),
            _ => Ok((all.failed as f64, None)),
        },
        RequiredFigure::Outage => Ok((longest_outage_s(run)? * 1e9, None)),
        RequiredFigure::Recovery => match recovery(run)? {
            Recovery::After(seconds) => Ok((seconds * 1e9, None)),
            // Beyond the limit already: what would follow decides nothing.
            Recovery::NotWithin(seconds) if requirement.limit.value() < Some(seconds * 1e9) => {
                Ok((seconds * 1e9, None))
            }
            Recovery::NotWithin(_) => Err(NOT_BACK.to_owned()),
        },
        RequiredFigure::Lost => lost_commits(run).map(|lost| (lost as f64, None)),
        RequiredFigure::Time {
            kind,
            is_server,
            statistic,
        } => {
            let times = times_of(run, kind.as_deref(), *is_server)?;
            let is_part = kind.is_some() || *is_server;
            time_figure(run, times, *statistic, is_part)
        }
    }
}

/// The response or server times of a kind, or of all; the error says why there are none.
fn times_of<'a>(run: &'a Run, kind: Option<&str>, is_server: bool) -> Result<&'a Latency, String> {
    let figures = match kind {
        None => all_kinds(run).ok_or("nothing was measured")?,
        Some(name) => {
            let mut kinds = run.measured.kinds.iter();
            let found = kinds.find(|figures| figures.kind.as_deref() == Some(name));
            found.ok_or_else(|| format!("the workload has no transaction {name}"))?
        }
    };
    if !is_server {
        return Ok(&figures.response);
    }
    let parts = figures.parts.as_ref();
    let parts = parts.ok_or("the server's part of the time is not known")?;
    Ok(&parts.server)
}

/// Per second or per minute; the variation is that of the throughput.
fn throughput_interval(run: &Run, value: f64) -> Option<[f64; 2]> {
    let rates = per_second_rates(run, |second| second.committed)?;
    scaled_mean_interval(&rates, value)
}

/// If the seconds depend too much on each other for an interval, the true mean is taken to be at most this many times as
/// far from theirs as the farthest second.
const FARTHEST_SECOND_FACTOR: f64 = 2.0;

/// The interval of the mean of a run's seconds, scaled to a value that means the same.
fn scaled_mean_interval(seconds: &[f64], value: f64) -> Option<[f64; 2]> {
    let Some(mean) = series_mean(seconds) else {
        return interval_by_range(seconds, value);
    };
    let half = student::quantile(1.0 - ALPHA / 2.0, mean.dof) * mean.variance.sqrt() / mean.mean;
    half.is_finite()
        .then_some([value * (1.0 - half).max(0.0), value * (1.0 + half)])
}

/// A wide interval for seconds that depend on each other: it decides limits that are far away.
fn interval_by_range(seconds: &[f64], value: f64) -> Option<[f64; 2]> {
    let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
    let of_mean = |second: f64| (second / mean - 1.0) * FARTHEST_SECOND_FACTOR;
    let lowest = seconds.iter().copied().fold(mean, f64::min);
    let highest = seconds.iter().copied().fold(mean, f64::max);
    let bounds = [of_mean(lowest), of_mean(highest)].map(|share| value * (1.0 + share).max(0.0));
    (mean > 0.0 && highest.is_finite()).then_some(bounds)
}

/// `is_part`: the times are those of one kind, or the server's part, of which the seconds have no means.
fn time_figure(
    run: &Run,
    times: &Latency,
    statistic: Statistic,
    is_part: bool,
) -> Result<Figure, String> {
    if times.samples == 0 {
        return Err("no transaction committed".to_owned());
    }
    let percentile = |ns: Option<u64>| {
        let quantile = statistic.quantile().unwrap_or_default();
        let ns = ns.ok_or_else(|| {
            let needed = samples_needed(quantile);
            format!(
                "{} needs {needed} transactions, and there are {}",
                statistic.name(),
                times.samples
            )
        })?;
        if ns == 0 {
            return Err(format!("{} is 0", statistic.name()));
        }
        let interval = interval_of(run, times, quantile);
        // The value is of the same histogram; rounding must not put it outside.
        let interval = interval.map(|[low, high]| [low.min(ns) as f64, high.max(ns) as f64]);
        Ok((ns as f64, interval))
    };
    match statistic {
        Statistic::Mean if is_part => Ok((times.mean_ns, mean_interval_of(run, times))),
        Statistic::Mean => {
            let rows = judged_rows(run).unwrap_or_default();
            let means: Vec<f64> = rows
                .into_iter()
                .map(|second: &Second| second.mean_ns)
                .collect();
            Ok((times.mean_ns, scaled_mean_interval(&means, times.mean_ns)))
        }
        Statistic::Max => Ok((times.max_ns as f64, None)),
        Statistic::P50 => percentile(times.p50_ns),
        Statistic::P90 => percentile(times.p90_ns),
        Statistic::P95 => percentile(times.p95_ns),
        Statistic::P99 => percentile(times.p99_ns),
        Statistic::P999 => percentile(times.p999_ns),
    }
}

/// How far a percentile is above its limit for certain, although it has no interval; `None` if that is not certain.
pub(super) fn surely_above(requirement: &Requirement, run: &Run, limit: f64) -> Option<String> {
    let RequiredFigure::Time {
        kind,
        is_server,
        statistic,
    } = &requirement.figure
    else {
        return None;
    };
    if run.state != RunState::Complete || !is_usable(run, [requirement]) {
        return None;
    }
    let times = times_of(run, kind.as_deref(), *is_server).ok()?;
    let least_ns = lower_bound_of(run, times, statistic.quantile()?)? as f64;
    (least_ns > limit).then(|| {
        let (least, count) = (
            formatting::time(least_ns),
            formatting::thousands(times.samples),
        );
        format!("but {count} transactions show with 95 % confidence that it is at least {least}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_plan::SplitMix;

    #[test]
    fn seconds_that_depend_on_each_other_too_much_have_an_interval_that_is_wide_enough() {
        let mut random = SplitMix::new(11);
        for seconds in [20, 60] {
            for memory in [0.0, 0.5, 0.8, 0.9] {
                let (mut dependent, mut missed) = (0, 0);
                for _ in 0..4_000 {
                    let mut noise = || (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0;
                    let mut value = noise();
                    let mut next = || {
                        let deviation: f64 = value;
                        value = memory * value + (1.0 - memory * memory).sqrt() * noise();
                        1_000.0 + 30.0 * deviation
                    };
                    let series: Vec<f64> = (0..seconds).map(|_| next()).collect();
                    if series_mean(&series).is_some() {
                        continue;
                    }
                    let mean = series.iter().sum::<f64>() / series.len() as f64;
                    let [low, high] = interval_by_range(&series, mean).unwrap();
                    dependent += 1;
                    missed += u32::from(!(low..=high).contains(&1_000.0));
                }
                println!("{seconds} s, {memory}: {missed} of {dependent}");
                assert!(
                    missed * 20 <= dependent,
                    "{seconds} s, {memory}: {missed} of {dependent}"
                );
            }
        }
        assert_eq!(interval_by_range(&[0.0; 20], 0.0), None);
    }
}
