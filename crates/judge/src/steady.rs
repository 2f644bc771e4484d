//! Whether the throughput was steady: the warm-up was over, the throughput did not drift, and the parts of
//! the window are alike.
//!
//! In: a Run. Out: `warm-up`, `drift`, `unsteady`. Must never: judge a run that is too short, mistake chance
//! for unsteadiness (counts scatter by their square root), or include the end of a run by count, when clients
//! that have finished are idle.
//!
//! Warm-up: the start is cut off at the point that makes the mean of the remainder most precise (MSER, White
//! 1997), if it is slower than the remainder and chance does not explain that.
//! Drift: a slope or a step that chance does not explain (`change`). Unsteadiness: the coefficient of
//! variation of ten bins. `latency` checks response times in a similar way.

mod change;
pub(crate) mod latency;
mod settled;

use crate::burst::find_fall;
use crate::checks::{Finding, invalid_or_caveat, new_finding};
use crate::errors;
use crate::foreign_load::describe_rival;
use crate::formatting::percent;
use crate::stall::stops_by_count;
use crate::thresholds::{
    END_IDLE_SHARE, STEADY_BIN_COUNT, STEADY_MIN_SECONDS, UNSTEADY_CAVEAT_CV, UNSTEADY_INVALID_CV,
    WARM_UP_MIN_GAP_SHARE, WARM_UP_MIN_STD_ERRORS, severity_of_effect,
};
pub(crate) use change::mean;
use change::{Change, difference_in_std_errors, find_change};
use prony_store::{Run, Second, SecondPhase, Severity};
pub use settled::WarmingUp;

/// The advice if others loaded the server when it was slower.
const END_RIVAL: &str =
    "End the other load and run again, or use a server and machine that nobody else loads.";

/// Most seconds that are judged, 115 days: a document may claim that a row covers any time.
const MAX_SECONDS: usize = 10_000_000;

/// Smallest start, as a share of the mean, to which a change is relative: a line may start lower, even below 0.
const MIN_START_SHARE: f64 = 0.01;

pub(crate) fn check_warm_up(run: &Run) -> Option<Finding> {
    let series = ended_rates(run)?;
    let WarmUp { seconds, gap, bias } = find_warm_up(&series)?;
    let rival = describe_rival(run, |at_s| at_s < seconds as f64);
    new_finding(
        severity_of_effect(bias)?,
        format!(
            "The first {seconds} s of the measured window were still warm-up: they had {} less \
             transactions per second than the rest, which shifts the result by {}.{rival}",
            percent(-gap),
            percent(bias.abs()),
        ),
        if rival.is_empty() {
            format!(
                "Warm up for longer: --warmup {:.0}s.",
                (run.window.warmup_s + seconds as f64 * 1.5).ceil()
            )
        } else {
            END_RIVAL.to_owned()
        },
    )
}

pub(crate) fn check_drift(run: &Run) -> Option<Finding> {
    let series = ended_rates(run)?;
    // `burst` says more about a fall between two levels.
    if find_warm_up(&series).is_some() || find_fall(run).is_some() {
        return None;
    }
    describe_drift(run, &series)
}

fn describe_drift(run: &Run, series: &[f64]) -> Option<Finding> {
    let drift = relative_drift(series)?;
    let severity = severity_of_effect(drift.effect())?;
    let size = drift.end_value - drift.start_value;
    let direction = if size < 0.0 { "fell" } else { "rose" };
    let change_s = drift.share_before_step.unwrap_or(0.5) * series.len() as f64;
    let rival = describe_rival(run, |at_s| (at_s > change_s) == (size < 0.0));
    let when = match drift.share_before_step {
        Some(_) => format!("in a step {change_s:.0} s into"),
        None => "over".to_owned(),
    };
    new_finding(
        severity,
        format!(
            "Throughput {direction} by {} {when} the measured window: the figure depends on when it was \
             measured.{rival}",
            percent(size.abs() / drift.start_value.max(MIN_START_SHARE)),
        ),
        if !rival.is_empty() {
            END_RIVAL
        } else if size < 0.0 {
            "Measure for longer, and check what grows while it falls: data and indexes, dead rows, \
             old row versions, other work on these machines."
        } else {
            "Warm up for longer, until caches are full; or check what else used these machines at \
             the start."
        },
    )
}

pub(crate) fn check_unsteady(run: &Run) -> Option<Finding> {
    let series = ended_rates(run)?;
    let excess_variation = excess_variation(&series);
    if excess_variation <= UNSTEADY_CAVEAT_CV {
        return None;
    }
    // An expected outage makes the throughput unsteady.
    let is_invalid = excess_variation > UNSTEADY_INVALID_CV && !errors::expects_outage(run);
    let severity = invalid_or_caveat(is_invalid);
    // `warm-up`, `drift` and `burst` report the same variation, and say more about it.
    let explained = find_warm_up(&series).is_some()
        || describe_drift(run, &series).is_some()
        || find_fall(run).is_some();
    if explained && severity != Severity::Invalid {
        return None;
    }
    let mean_rate = mean(&series);
    let rate_at = |at_s: f64| series.get(at_s.max(0.0) as usize);
    let rival = describe_rival(run, |at_s| {
        rate_at(at_s).is_some_and(|rate| *rate < mean_rate)
    });
    new_finding(
        severity,
        format!(
            "Throughput was not steady: the {STEADY_BIN_COUNT} equal parts of the window differ by {} of \
             their mean (coefficient of variation, excluding chance).{rival}",
            percent(excess_variation),
        ),
        if rival.is_empty() {
            "Look in the series for when it fell, and in the server's events for why; measure several times \
                 longer than the longest of these waves, so that each weighs less."
        } else {
            END_RIVAL
        },
    )
}

/// Transactions that ended in each whole second of the window; `None` if the run cannot be judged.
fn ended_rates(run: &Run) -> Option<Vec<f64>> {
    per_second_rates(run, Second::ended)
}

/// `counted` per second, for each whole second of the window; `None` if the run cannot be judged: connections
/// were lost, or the window is too short.
pub(crate) fn per_second_rates(run: &Run, counted: impl Fn(&Second) -> u64) -> Option<Vec<f64>> {
    let rows = row_of_each_second(run, &counted)?;
    let tps: Vec<f64> = rows.iter().map(|row| row_rate(row, &counted)).collect();
    (tps.len() >= STEADY_MIN_SECONDS && mean(&tps) > 0.0).then_some(tps)
}

/// The row of each whole second of the window; `None` if the run cannot be judged.
pub(crate) fn judged_rows(run: &Run) -> Option<Vec<&Second>> {
    row_of_each_second(run, &Second::ended).filter(|rows| rows.len() >= STEADY_MIN_SECONDS)
}

/// The row of each whole second of the window, without the idle end of a run by count; `None` if connections
/// were lost. A long run that was killed has rows of ten seconds: each counts as ten seconds.
fn row_of_each_second<'a>(
    run: &'a Run,
    counted: &impl Fn(&Second) -> u64,
) -> Option<Vec<&'a Second>> {
    if errors::had_lost_users(run) {
        return None;
    }
    let is_whole =
        |second: &&Second| second.phase == SecondPhase::Measured && second.length_s > 0.95;
    let mut rows: Vec<&Second> = run
        .series
        .iter()
        .filter(is_whole)
        .flat_map(|second| std::iter::repeat_n(second, second.whole_seconds() as usize))
        .take(MAX_SECONDS)
        .collect();
    if stops_by_count(run) {
        let mut sorted: Vec<f64> = rows.iter().map(|row| row_rate(row, counted)).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let median = *sorted.get(sorted.len() / 2)?;
        while rows
            .last()
            .is_some_and(|last| row_rate(last, counted) < END_IDLE_SHARE * median)
        {
            rows.pop();
        }
    }
    Some(rows)
}

fn row_rate(second: &Second, counted: &impl Fn(&Second) -> u64) -> f64 {
    counted(second) as f64 / second.length_s
}

/// The seconds at the beginning that are slower than the later ones.
struct WarmUp {
    seconds: usize,
    /// The difference of their mean rate from that of the later ones, as a share of the latter; below 0.
    gap: f64,
    /// The same of the mean rate of the whole window.
    bias: f64,
}

/// Finds a warm-up; `None` if it does not affect the result, or if chance explains it.
fn find_warm_up(series: &[f64]) -> Option<WarmUp> {
    let count = series.len();
    let errors = mean_errors(series);
    let cut = (0..=count / 2).min_by(|a, b| errors[*a].total_cmp(&errors[*b]))?;
    // A cut at the limit means that the throughput never settled: `drift` reports that.
    if cut == 0 || cut >= count / 2 {
        return None;
    }
    let (head, remainder) = series.split_at(cut);
    let steady_rate = mean(remainder);
    let gap = mean(head) / steady_rate - 1.0;
    let bias = mean(series) / steady_rate - 1.0;
    // A start that was faster than the rest is `drift`, or `unsteady`.
    if -gap <= WARM_UP_MIN_GAP_SHARE || severity_of_effect(bias).is_none() {
        return None;
    }
    let relative = |rates: &[f64]| {
        let rates = rates.iter();
        rates.map(|rate| rate / steady_rate).collect::<Vec<_>>()
    };
    if -difference_in_std_errors(&relative(head), &relative(remainder)) <= WARM_UP_MIN_STD_ERRORS {
        return None;
    }
    // If the remainder keeps changing, the cut has only removed a part of a slope: `drift` reports that.
    let remainder_changes = relative_drift(remainder)
        .is_some_and(|change| severity_of_effect(change.effect()) > Some(Severity::Note));
    (!remainder_changes).then_some(WarmUp {
        seconds: cut,
        gap,
        bias,
    })
}

/// For each number of seconds that could be cut from the beginning, the square of the standard error that the
/// mean of the others would have if they were independent (MSER).
fn mean_errors(series: &[f64]) -> Vec<f64> {
    let level = mean(series);
    let (mut sum, mut squares, mut count) = (0.0, 0.0, 0.0);
    let mut errors = vec![0.0; series.len()];
    for (error, value) in errors.iter_mut().zip(series).rev() {
        let deviation = value - level;
        sum += deviation;
        squares += deviation * deviation;
        count += 1.0;
        *error = (squares - sum * sum / count) / (count * count);
    }
    errors
}

/// Change of the throughput over the window, as a share of its mean; `None` if chance explains it.
fn relative_drift(series: &[f64]) -> Option<Change> {
    let mean_rate = mean(series);
    let relative: Vec<f64> = series.iter().map(|rate| rate / mean_rate).collect();
    find_change(&relative, mean)
}

/// Coefficient of variation of the bins, without the variation that counts have by chance.
fn excess_variation(series: &[f64]) -> f64 {
    let bins = bin_means(series);
    let mean_rate = mean(&bins);
    let variance = sum_of_squares(&bins) / (bins.len() as f64 - 1.0);
    let per_bin = (series.len() / STEADY_BIN_COUNT) as f64;
    // A bin's rate is a count divided by the bin's seconds, and the variance of a count is its mean.
    let chance = mean_rate / per_bin;
    (variance - chance).max(0.0).sqrt() / mean_rate
}

/// Means of equal parts of the series; seconds that do not fill a part are dropped from the beginning.
fn bin_means(series: &[f64]) -> Vec<f64> {
    let per_bin = series.len() / STEADY_BIN_COUNT;
    let skipped = series.len() - per_bin * STEADY_BIN_COUNT;
    series[skipped..].chunks(per_bin).map(mean).collect()
}

fn sum_of_squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests;
