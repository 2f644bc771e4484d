//! The figures of a run that requirements name, each with the interval in which it lies.
//!
//! In: a requirement, a Run. Out: a value and its interval, or why there is none. Must never: compare with a limit, except
//! for what is certain without an interval.

use super::is_usable;
use super::relative::NOTHING_TO_COMPARE;
use crate::all_kinds;
use crate::formatting;
use crate::growth::lost_commits;
use crate::outage::{NOT_BACK, Recovery, longest_outage_s, recovery};
use crate::percentile_intervals::{interval_of, lower_bound_of, mean_interval_of};
use crate::statistics::{SeriesInterval, series_interval};
use crate::steady::{judged_rows, per_second_rates};
use prony_store::{
    Latency, RequiredFigure, RequiredLimit, Requirement, Run, RunState, Second, Statistic,
    samples_needed,
};

/// Why a figure has no interval.
pub(super) fn no_interval_reason(run: &Run) -> &'static str {
    if judged_rows(run).is_none() {
        "an interval needs 20 whole seconds without lost connections"
    } else {
        "an interval needs transactions in almost every second, and the run's histogram"
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
            let found = rates.find(|rate| rate.name.as_str() == name);
            let rate = found.ok_or_else(|| format!("the workload has no {name}"))?;
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
            Recovery::NotWithin(seconds) => {
                let least_ns = seconds * 1e9;
                // Beyond the limit already: what would follow decides nothing.
                if requirement
                    .limit
                    .value()
                    .is_none_or(|limit| limit < least_ns)
                {
                    Ok((least_ns, None))
                } else {
                    Err(NOT_BACK.to_owned())
                }
            }
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
    match &figures.parts {
        Some(parts) => Ok(&parts.server),
        None => Err("the server's part of the time is not known".to_owned()),
    }
}

/// The interval of a rate per second or per minute, which varies as the throughput does.
fn throughput_interval(run: &Run, value: f64) -> Option<[f64; 2]> {
    let rates = per_second_rates(run, |second| second.committed)?;
    scaled_mean_interval(&rates, value)
}

/// The interval of the mean of a run's seconds, scaled to a value that means the same.
fn scaled_mean_interval(seconds: &[f64], value: f64) -> Option<[f64; 2]> {
    let SeriesInterval { mean, low, high } = series_interval(seconds)?;
    (mean > 0.0).then(|| [low, high].map(|end| value * (end / mean).max(0.0)))
}

/// A statistic of times, with its interval; the error says why there is none. `is_part`: the times are those of one kind, or
/// the server's part, of which the seconds have no means.
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
            let seconds: Vec<&Second> = judged_rows(run).unwrap_or_default();
            let means: Vec<f64> = seconds.iter().map(|second| second.mean_ns).collect();
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
        let least = formatting::time(least_ns);
        let count = formatting::thousands(times.samples);
        format!("but {count} transactions show with 95 % confidence that it is at least {least}")
    })
}

#[cfg(test)]
mod tests {
    use super::scaled_mean_interval;

    #[test]
    fn seconds_without_a_figure_give_no_interval() {
        assert_eq!(scaled_mean_interval(&[0.0; 20], 0.0), None);
        let of_ones = scaled_mean_interval(&[1.0; 20], 60.0);
        assert_eq!(of_ones, Some([60.0, 60.0]), "per second, and per minute");
    }
}
