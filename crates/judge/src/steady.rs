//! Whether the throughput had settled: the warm-up was over, nothing drifted, bins are alike.
//!
//! In: a Run. Out: `warm-up`, `drift`, `unsteady`. Must never: look at a run that is too short to tell,
//! take chance for unrest (counts scatter by their square root), or look at the end of a run by count,
//! where clients that are done are idle.
//!
//! Warm-up: the start is cut where the mean of what is left is best known (MSER, White 1997). Drift:
//! the slope over ten bins, by Student's t. Unrest: the coefficient of variation of those bins.

use crate::stall::by_count;
use crate::thresholds::{
    DRIFT, DRIFT_T, STEADY_BINS, STEADY_SECONDS, UNSTEADY_CAVEAT, UNSTEADY_INVALID, WARM_UP_BIAS,
    WARM_UP_GAP,
};
use crate::words::percent;
use crate::{errors, found};
use prony_store::{Check, Run, Second, Severity};

/// At the end of a run by count, seconds below this share of the median are those of idle clients.
const IDLE_SHARE: f64 = 0.8;

pub(crate) fn warm_up(run: &Run) -> Option<Check> {
    let series = series(run)?;
    let (cut, settled, gap) = unsettled(&series)?;
    let bias = mean(&series) / settled - 1.0;
    let word = if gap < 0.0 { "less" } else { "more" };
    found(
        "warm-up",
        Severity::Caveat,
        format!(
            "The first {cut} s of the measured window belong to the warm-up: they had {} {word} \
             transactions a second than the rest, which shifts the result by {}.",
            percent(gap.abs()),
            percent(bias.abs()),
        ),
        format!(
            "Warm up for longer: --warmup {:.0}s.",
            (run.window.warmup_s + cut as f64 * 1.5).ceil()
        ),
    )
}

pub(crate) fn drift(run: &Run) -> Option<Check> {
    let series = series(run)?;
    if unsettled(&series).is_some() {
        return None;
    }
    let drift = drifts(&series)?;
    let word = if drift < 0.0 { "fell" } else { "rose" };
    found(
        "drift",
        Severity::Caveat,
        format!(
            "Throughput {word} by {} over the measured window: the figure depends on when it was \
             taken.",
            percent(drift.abs()),
        ),
        match drift < 0.0 {
            true => {
                "Measure for longer, and see what grows as it falls: the data with its indexes, dead \
                 rows, the history of old versions, work of others on these machines."
            }
            false => {
                "Warm up for longer, until caches are full; or see who used these machines at the \
                 beginning."
            }
        },
    )
}

pub(crate) fn unsteady(run: &Run) -> Option<Check> {
    let series = series(run)?;
    let unrest = unrest(&series);
    let severity = match unrest {
        unrest if unrest > UNSTEADY_INVALID => Severity::Invalid,
        unrest if unrest > UNSTEADY_CAVEAT => Severity::Caveat,
        _ => return None,
    };
    // These say the same, and why.
    let explained = unsettled(&series).is_some() || drifts(&series).is_some();
    if explained && severity != Severity::Invalid {
        return None;
    }
    found(
        "unsteady",
        severity,
        format!(
            "Throughput was not steady: the {STEADY_BINS} equal parts of the window differ by {} of \
             their mean (coefficient of variation, without what is chance).",
            percent(unrest),
        ),
        "See the series for when it fell, and the server's events for why; measure for several times \
         as long as the longest of these waves, so that each weighs less.",
    )
}

/// Transactions that ended in each whole second of the window; nothing where it cannot be judged.
fn series(run: &Run) -> Option<Vec<f64>> {
    let ended = |second: &Second| second.committed + second.rolled_back + second.failed;
    series_of(run, ended)
}

/// What is counted in each whole second of the window, a second; nothing where it cannot be judged.
pub(crate) fn series_of(run: &Run, counted: impl Fn(&Second) -> u64) -> Option<Vec<f64>> {
    if errors::lost_users(run) {
        return None;
    }
    let whole = run.series.iter();
    let whole = whole.filter(|second| second.part == "measured" && second.seconds > 0.95);
    let mut tps: Vec<f64> = whole
        .map(|second| counted(second) as f64 / second.seconds)
        .collect();
    if by_count(run) {
        let mut sorted = tps.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let median = *sorted.get(sorted.len() / 2)?;
        while tps.last().is_some_and(|last| *last < IDLE_SHARE * median) {
            tps.pop();
        }
    }
    (tps.len() >= STEADY_SECONDS && mean(&tps) > 0.0).then_some(tps)
}

/// How many seconds at the beginning are not like the rest, the mean of the rest, and by which share
/// of it they differ; nothing where that is of no weight.
fn unsettled(series: &[f64]) -> Option<(usize, f64, f64)> {
    let count = series.len();
    let known = |cut: usize| {
        let rest = &series[cut..];
        squares(rest) / (rest.len() as f64).powi(2)
    };
    let cut = (0..=count / 2).min_by(|a, b| known(*a).total_cmp(&known(*b)))?;
    // At the limit nothing has settled: that is drift.
    if cut == 0 || cut >= count / 2 {
        return None;
    }
    let (head, rest) = series.split_at(cut);
    let settled = mean(rest);
    let gap = mean(head) / settled - 1.0;
    let bias = mean(series) / settled - 1.0;
    (gap.abs() > WARM_UP_GAP && bias.abs() > WARM_UP_BIAS).then_some((cut, settled, gap))
}

/// By which share of the mean the throughput changed from the first bin's middle to the last's end,
/// where that is no chance.
fn drifts(series: &[f64]) -> Option<f64> {
    let bins = bins(series);
    let count = bins.len() as f64;
    let (centre, level) = ((count - 1.0) / 2.0, mean(&bins));
    let places = || {
        bins.iter()
            .enumerate()
            .map(|(at, y)| (at as f64 - centre, y - level))
    };
    let spread: f64 = places().map(|(x, _)| x * x).sum();
    let slope = places().map(|(x, y)| x * y).sum::<f64>() / spread;
    let left: f64 = places().map(|(x, y)| (y - slope * x).powi(2)).sum();
    let error = (left / (count - 2.0) / spread).sqrt();
    let drift = slope * (count - 1.0) / level;
    (drift.abs() > DRIFT && slope.abs() > DRIFT_T * error).then_some(drift)
}

/// Coefficient of variation of the bins, without what counts scatter by chance.
fn unrest(series: &[f64]) -> f64 {
    let bins = bins(series);
    let level = mean(&bins);
    let variance = squares(&bins) / (bins.len() as f64 - 1.0);
    let each = (series.len() / STEADY_BINS) as f64;
    // A bin's rate is a count divided by its length.
    let chance = level / each;
    (variance - chance).max(0.0).sqrt() / level
}

/// Means of equal parts; what does not fill one is left out at the beginning.
fn bins(series: &[f64]) -> Vec<f64> {
    let each = series.len() / STEADY_BINS;
    let skipped = series.len() - each * STEADY_BINS;
    series[skipped..].chunks(each).map(mean).collect()
}

fn mean(of: &[f64]) -> f64 {
    of.iter().sum::<f64>() / of.len() as f64
}

fn squares(of: &[f64]) -> f64 {
    let mean = mean(of);
    of.iter().map(|value| (value - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{healthy, with_series};
    use serde_json::json;

    /// A fixed noise of some per cent, so that a test says the same each time.
    fn noisy(at: usize, level: f64) -> u64 {
        let noise = ((at * 7919 + 104_729) % 101) as f64 / 101.0 - 0.5;
        (level * (1.0 + 0.04 * noise)) as u64
    }

    fn run(seconds: usize, level: impl Fn(usize) -> f64) -> Run {
        let counts: Vec<u64> = (0..seconds).map(|at| noisy(at, level(at))).collect();
        with_series(&counts)
    }

    fn ids(run: &Run) -> Vec<String> {
        let checks = [warm_up(run), drift(run), unsteady(run)];
        checks.into_iter().flatten().map(|check| check.id).collect()
    }

    #[test]
    fn a_steady_run_has_none_of_them() {
        assert_eq!(ids(&healthy()), [""; 0], "no series");
        for seconds in [20, 60, 61, 119, 3600] {
            assert_eq!(ids(&run(seconds, |_| 16_000.0)), [""; 0], "{seconds}");
        }
        // Few transactions scatter by their square root.
        let few: Vec<u64> = (0..60)
            .map(|at| [3, 9, 5, 12, 2, 7, 8][at * 5 % 7])
            .collect();
        assert_eq!(ids(&with_series(&few)), [""; 0]);
    }

    #[test]
    fn a_warm_up_inside_the_window() {
        let cold = run(60, |at| if at < 12 { 9_000.0 } else { 16_000.0 });
        let check = warm_up(&cold).expect("a warm-up");
        assert_eq!(check.severity, Severity::Caveat);
        assert!(check.finding.contains("first 12 s"), "{check:?}");
        assert!(check.finding.contains("44 % less"), "{check:?}");
        assert_eq!(check.advice, "Warm up for longer: --warmup 28s.");
        assert_eq!(ids(&cold), ["warm-up"], "it explains the rest");
        // Two slow seconds of an hour are of no weight.
        let long = run(3600, |at| if at < 2 { 9_000.0 } else { 16_000.0 });
        assert_eq!(ids(&long), [""; 0]);
    }

    #[test]
    fn throughput_that_keeps_falling() {
        let falling = run(120, |at| 16_000.0 - 25.0 * at as f64);
        let check = drift(&falling).expect("a drift");
        assert_eq!(check.severity, Severity::Caveat);
        assert!(check.finding.contains("fell by 1"), "{check:?}");
        let slightly = run(120, |at| 16_000.0 - 3.0 * at as f64);
        assert_eq!(ids(&slightly), [""; 0], "2 %");
    }

    #[test]
    fn waves() {
        let wave = |height: f64| {
            run(200, move |at| {
                16_000.0 * (1.0 + height * (at as f64 / 9.0).sin())
            })
        };
        let severity = |height| unsteady(&wave(height)).map(|check| check.severity);
        assert_eq!(severity(0.05), None);
        assert_eq!(severity(0.4), Some(Severity::Caveat));
        assert_eq!(severity(0.9), Some(Severity::Invalid));
    }

    #[test]
    fn what_is_too_short_interrupted_or_done_is_not_judged() {
        assert_eq!(ids(&run(19, |at| 1000.0 * at as f64)), [""; 0]);
        let mut lost = run(60, |at| if at < 12 { 9_000.0 } else { 16_000.0 });
        lost.events.push(prony_store::Event {
            at_s: 20.0,
            what: "outage".to_owned(),
            ..Default::default()
        });
        assert_eq!(ids(&lost), [""; 0]);
        let mut counted = run(60, |at| if at < 50 { 16_000.0 } else { 900.0 });
        assert!(!ids(&counted).is_empty());
        counted.plan = json!({ "run": { "transactions": 1000 } });
        assert_eq!(ids(&counted), [""; 0]);
    }
}
