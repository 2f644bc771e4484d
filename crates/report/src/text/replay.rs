//! What a replay is compared with: the log from which its sessions were recorded.
//!
//! In: a Run. Out: sentences. Must never: call a time slower without saying that the log has the server's part alone.

use crate::text::plain;
use crate::units::{count, percent_with_tenths, time};
use prony_judge::observations;
use prony_store::{Run, StatementLatency};

/// How a replay compares with the log, in a sentence or two; `None` if the run is not one, or the log has no times.
pub(crate) fn replay_sentence(run: &Run) -> Option<String> {
    let statements: Vec<(&StatementLatency, f64)> = run
        .statements
        .iter()
        .flatten()
        .filter_map(|statement| Some((statement, statement.recorded?.mean_ns)))
        .collect();
    // Each statement weighs as often as it was executed here, so that the mix does not matter.
    let executions = |statement: &StatementLatency| statement.latency.samples as f64;
    let sum = |mean: fn(&(&StatementLatency, f64)) -> f64| -> f64 {
        let means = statements.iter();
        means.map(|entry| mean(entry) * executions(entry.0)).sum()
    };
    let ratio = sum(|(statement, _)| statement.latency.mean_ns) / sum(|(_, recorded)| *recorded);
    let added = |(statement, recorded): &(&StatementLatency, f64)| {
        (statement.latency.mean_ns - recorded) * executions(statement)
    };
    let slowest = statements
        .iter()
        .max_by(|a, b| added(a).total_cmp(&added(b)));
    let (slowest, recorded) = slowest.filter(|_| ratio.is_finite())?;
    let shares = run.shares.iter().filter_map(|share| {
        Some((share.count as f64 / share.total as f64 - share.expected_share?).abs())
    });
    let difference = shares.fold(0.0, f64::max);
    let mut text = format!(
        "statements took {ratio:.2} times as long as the server logged for them; most was added to {} (mean {}, recorded {}); \
         no share of a statement differs by more than {}",
        plain(&slowest.name),
        time(slowest.latency.mean_ns),
        time(*recorded),
        percent_with_tenths(difference),
    );
    if let Some(waits) = waits_for_commits(run) {
        text += &waits;
    }
    Some(text)
}

/// In how many of the server's readings sessions waited for locks, which others hold until they commit.
fn waits_for_commits(run: &Run) -> Option<String> {
    let waits: Vec<u32> = observations::rows(run)
        .filter_map(|row| row.lock_waits)
        .collect();
    let most = waits.iter().max().filter(|most| **most > 0)?;
    let waiting = waits.iter().filter(|count| **count > 0).count();
    Some(format!(
        "; sessions waited for the commit of another in {} of {} readings, {most} at once at most",
        count(waiting as u64),
        count(waits.len() as u64),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_store::{Latency, Observed, ObservedShare, RecordedLatency, ServerSecond};

    fn statement(
        name: &str,
        samples: u64,
        mean_ns: f64,
        recorded_ns: Option<f64>,
    ) -> StatementLatency {
        StatementLatency {
            name: name.to_owned(),
            latency: Latency {
                samples,
                mean_ns,
                ..Latency::default()
            },
            recorded: recorded_ns.map(|mean_ns| RecordedLatency {
                mean_ns,
                ..RecordedLatency::default()
            }),
            ..StatementLatency::default()
        }
    }

    #[test]
    fn a_replay_is_compared_with_its_log() {
        assert_eq!(replay_sentence(&Run::default()), None);
        let mut run = Run {
            statements: Some(vec![
                statement("begin", 100, 1e6, Some(5e5)),
                statement("update t", 100, 5e6, Some(3.5e6)),
                statement("not timed", 1000, 9e9, None),
            ]),
            shares: vec![ObservedShare {
                count: 49,
                total: 100,
                expected_share: Some(0.5),
                ..ObservedShare::default()
            }],
            ..Run::default()
        };
        let sentence = "statements took 1.50 times as long as the server logged for them; most was added to update t \
                        (mean 5.00 ms, recorded 3.50 ms); no share of a statement differs by more than 1.0 %";
        assert_eq!(replay_sentence(&run).as_deref(), Some(sentence));
        let second = |lock_waits| ServerSecond {
            lock_waits: Some(lock_waits),
            ..ServerSecond::default()
        };
        run.observed = Some(Observed {
            series: [0, 3, 0, 1].map(second).into(),
            ..Observed::default()
        });
        let waits =
            "; sessions waited for the commit of another in 2 of 4 readings, 3 at once at most";
        assert_eq!(replay_sentence(&run), Some(format!("{sentence}{waits}")));
    }
}
