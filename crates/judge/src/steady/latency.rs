//! Whether the response times were steady: the median and the 99th percentile of each second.
//!
//! In: a Run. Out: `latency-drift`. Must never: judge percentiles of seconds with too few transactions, or
//! repeat a finding of `warm-up` or `drift`: in a closed loop, a change of the response time is also one of
//! the throughput (Little's law).
//!
//! In an open loop, this check decides about the result: the throughput is the requested rate however slow
//! the server becomes, and while response times rise, the percentiles of the run depend on when it ended.

use super::change::{Change, find_change};
use super::{END_RIVAL, check_drift, check_warm_up, judged_rows};
use crate::checks::{Finding, new_finding};
use crate::foreign_load::describe_rival;
use crate::formatting::{joined, percent, time};
use crate::statistics::median;
use crate::thresholds::{LATENCY_SECONDS_MIN_SHARE, severity_of_effect};
use prony_store::{Run, Second, Severity};

/// The name of a statistic in a sentence, and its value in one second.
type LatencyStatistic = (&'static str, fn(&Second) -> Option<u64>);

const MEDIAN: LatencyStatistic = ("the median response time", |second| second.p50_ns);
/// Candidates for the upper percentile: the first one that is known for almost every second is judged.
const UPPER_PERCENTILES: [LatencyStatistic; 2] = [
    ("the 99th percentile", |second| second.p99_ns),
    ("the 95th percentile", |second| second.p95_ns),
];
/// Judged instead of the median if the seconds have too few transactions for a median.
const MEAN: LatencyStatistic = ("the mean response time", |second| {
    (second.mean_ns > 0.0).then_some(second.mean_ns as u64)
});

pub(crate) fn check(run: &Run) -> Option<Finding> {
    let seconds = judged_rows(run)?;
    let closed = !run.drive.open_loop;
    if closed && (check_warm_up(run).is_some() || check_drift(run).is_some()) {
        return None;
    }
    let find_first_known = |candidates: [LatencyStatistic; 2]| {
        let mut candidates = candidates.into_iter();
        candidates.find_map(|statistic| change_of(&seconds, statistic))
    };
    let middle = find_first_known([MEDIAN, MEAN]);
    let upper = find_first_known(UPPER_PERCENTILES);
    let mut findings: Vec<(&str, Change, Severity)> = Vec::new();
    for (is_upper, judged) in [(false, middle), (true, upper)] {
        let Some((name, Some(change))) = judged else {
            continue;
        };
        match severity_of_effect(change.effect().exp() - 1.0) {
            // The result of a closed loop is its throughput, which upper percentiles hardly affect.
            Some(Severity::Invalid) if closed && is_upper => {
                findings.push((name, change, Severity::Caveat));
            }
            Some(severity) => findings.push((name, change, severity)),
            None => {}
        }
    }
    let severity = findings.iter().map(|(_, _, severity)| *severity).max()?;
    let sentences = findings
        .iter()
        .map(|(name, change, _)| describe(seconds.len(), name, change));
    let rose = findings
        .iter()
        .any(|(_, change, _)| change.end_value > change.start_value);
    let change_s = findings[0].1.share_before_step.unwrap_or(0.5) * seconds.len() as f64;
    let rival = describe_rival(run, |at_s| (at_s > change_s) == rose);
    new_finding(
        severity,
        format!(
            "Over the measured window {}: the percentiles of the run depend on when it was measured.{rival}",
            joined(sentences, "; ")
        ),
        if !rival.is_empty() {
            END_RIVAL
        } else if !rose {
            "Warm up for longer, until the response times have settled."
        } else if closed {
            "Measure for longer, and check what grows while the response times rise: data and indexes, dead \
             rows, old row versions, other work on these machines."
        } else {
            "The server does not sustain this rate, or slows down as it runs: request a lower rate, and \
             check what grows (queues, data, dead rows, old row versions, checkpoints)."
        },
    )
}

/// The name of the statistic, and its change if there is one; `None` if too few seconds have a value.
fn change_of(
    seconds: &[&Second],
    (name, value): LatencyStatistic,
) -> Option<(&'static str, Option<Change>)> {
    let values: Vec<f64> = seconds
        .iter()
        .filter_map(|second| value(second).filter(|ns| *ns > 0))
        .map(|ns| (ns as f64).ln())
        .collect();
    let enough = values.len() as f64 >= LATENCY_SECONDS_MIN_SHARE * seconds.len() as f64;
    // One slow second in a bin does not move its median.
    enough.then(|| (name, find_change(&values, median)))
}

/// `the median response time rose from 2.00 ms to 400 ms (200-fold)`.
fn describe(seconds: usize, name: &str, change: &Change) -> String {
    let (first, last) = (change.start_value.exp(), change.end_value.exp());
    let direction = if last > first { "rose" } else { "fell" };
    let ratio = last / first;
    let size = if ratio >= 3.0 { format!("{ratio:.0}-fold") } else { percent((ratio - 1.0).abs()) };
    let step_text = match change.share_before_step {
        Some(before) => format!(
            ", in one step {:.0} s into the window",
            before * seconds as f64
        ),
        None => String::new(),
    };
    format!(
        "{name} {direction} from {} to {} ({size}{step_text})",
        time(first),
        time(last)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::with_series;
    use prony_assertions::TextAssertions;

    /// A run of 60 s whose median, 95th and 99th percentile are `level` times 2, 5 and 8 ms. The argument of
    /// `level` is the time, from 0 at the first second to 1 at the last.
    fn run(open_loop: bool, level: impl Fn(f64) -> f64) -> Run {
        let mut run = with_series(&[16_000; 60]);
        run.drive.open_loop = open_loop;
        for (at, second) in run.series.iter_mut().enumerate() {
            let noise = ((at * 7919 + 104_729) % 101) as f64 / 101.0 - 0.5;
            let level = level(at as f64 / 59.0) * (1.0 + 0.02 * noise);
            second.p50_ns = Some((2e6 * level) as u64);
            second.p95_ns = Some((5e6 * level) as u64);
            second.p99_ns = Some((8e6 * level) as u64);
        }
        run
    }

    #[test]
    fn latency_that_climbs_at_a_constant_rate_is_invalid() {
        let climbing = run(true, |at| 200_f64.powf(at));
        let check = check(&climbing).expect("2 ms climb to 400 ms");
        assert_eq!(check.severity, Severity::Invalid);
        let finding = &check.finding;
        finding.assert_contains("the median response time rose from 2.");
        check.finding.assert_contains("the 99th percentile rose");
        assert!(
            crate::judge(&climbing)
                .iter()
                .any(|found| found.id == "latency-drift"),
            "the check belongs to the full judgement"
        );
    }

    #[test]
    fn severity_follows_the_size_of_the_change() {
        let severity =
            |open, size: f64| check(&run(open, |at| 1.0 + size * at)).map(|c| c.severity);
        for open in [true, false] {
            assert_eq!(severity(open, 0.0), None);
            assert_eq!(severity(open, 0.005), None);
            assert_eq!(severity(open, 0.03), Some(Severity::Note));
            assert_eq!(severity(open, 0.06), Some(Severity::Caveat));
            assert_eq!(severity(open, 0.2), Some(Severity::Invalid));
        }
    }

    #[test]
    fn the_time_of_a_step_is_reported() {
        let check = check(&run(true, |at| if at < 0.5 { 1.0 } else { 1.5 })).unwrap();
        assert_eq!(check.severity, Severity::Invalid);
        let finding = &check.finding;
        finding.assert_contains("in one step 30 s into the window");
    }

    #[test]
    fn upper_percentiles_of_a_closed_loop_are_at_most_a_caveat() {
        let mut tail = run(false, |_| 1.0);
        for (at, second) in tail.series.iter_mut().enumerate() {
            second.p99_ns = Some(8_000_000 + 50_000 * at as u64);
        }
        assert_eq!(check(&tail).unwrap().severity, Severity::Caveat);
        tail.drive.open_loop = true;
        assert_eq!(check(&tail).unwrap().severity, Severity::Invalid);
        // Without a 99th percentile the 95th is judged, and in this run it is steady.
        for second in &mut tail.series {
            second.p99_ns = None;
        }
        assert_eq!(check(&tail), None);
    }

    #[test]
    fn a_change_that_the_throughput_shows_is_reported_once() {
        let mut slower = run(false, |at| 1.0 + 0.3 * at);
        for (at, second) in slower.series.iter_mut().enumerate() {
            second.committed = (16_000.0 / (1.0 + 0.3 * at as f64 / 59.0)) as u64;
        }
        let ids: Vec<String> = crate::judge(&slower)
            .into_iter()
            .map(|check| check.id)
            .collect();
        assert_eq!(ids, ["drift"]);
    }
}
