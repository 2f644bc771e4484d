//! What a replay is compared with: the log from which its sessions were recorded.
//!
//! In: a Run. Out: sentences. Must never: call a time slower without saying that the log has the server's part alone.

use crate::table::Table;
use crate::text::{TableSection, plain};
use crate::units::{count, count_of, or_dash, percent_with_tenths, time};
use prony_judge::experiment::variant_names;
use prony_judge::observations;
use prony_judge::replay::{ReplayedStatement, TimeBesideLog, replayed_statements};
use prony_store::Run;
use std::borrow::Borrow;

/// How a replay compares with the log, in a sentence or two; `None` if the run is not one, or the log has no times.
pub(crate) fn replay_sentence(run: &Run) -> Option<String> {
    // Each statement weighs as often as it was executed here, so that the mix does not matter.
    let (mut replayed_ns, mut recorded_ns) = (0.0, 0.0);
    let (mut slowest, mut most_added_ns) = (None, f64::NEG_INFINITY);
    for statement in run.statements.iter().flatten() {
        let Some(recorded) = statement.recorded else {
            continue;
        };
        let executions = statement.latency.samples as f64;
        replayed_ns += statement.latency.mean_ns * executions;
        recorded_ns += recorded.mean_ns * executions;
        let added_ns = (statement.latency.mean_ns - recorded.mean_ns) * executions;
        if added_ns >= most_added_ns {
            (slowest, most_added_ns) = (Some((statement, recorded)), added_ns);
        }
    }
    let ratio = replayed_ns / recorded_ns;
    let (statement, recorded) = slowest.filter(|_| ratio.is_finite())?;
    let shares = run.shares.iter().filter_map(|share| {
        Some((share.count as f64 / share.total as f64 - share.expected_share?).abs())
    });
    let difference = shares.fold(0.0, f64::max);
    let mut text = format!(
        "statements took {ratio:.2} times as long as the server logged for them; most was added to {} (mean {}, recorded {}); \
         no share of a statement differs by more than {}",
        plain(&statement.name),
        time(statement.latency.mean_ns),
        time(recorded.mean_ns),
        percent_with_tenths(difference),
    );
    if let Some(waits) = waits_for_commits(run) {
        text += &waits;
    }
    Some(text)
}

/// Each statement's latency over the runs beside the logged one; `None` if they are no replay, or fewer than two of each
/// variant count. With more than `rows_max` statements, those with the most added time.
pub(crate) fn replayed_over_repeats(
    runs: &[impl Borrow<Run>],
    rows_max: usize,
) -> Option<TableSection> {
    let names = variant_names(runs);
    let of_variant = |name: &String| {
        let runs = runs.iter().map(Borrow::borrow);
        let own: Vec<&Run> = runs.filter(|run| run.variant() == Some(name)).collect();
        replayed_statements(&own)
    };
    let mut statements: Vec<(&String, ReplayedStatement)> = names
        .iter()
        .flat_map(|name| of_variant(name).into_iter().map(move |found| (name, found)))
        .collect();
    let run_count = statements.iter().map(|(_, found)| found.runs).max()?;
    if run_count < 2 {
        return None;
    }
    let has_variants = names.len() > 1;
    let text = repeats_text(&statements, run_count, rows_max);
    statements.truncate(rows_max);
    let titles = [
        "statement",
        "recorded",
        "replayed",
        "ratio",
        "95 %",
        "p99 ratio",
        "95 %",
    ];
    let variant = ["variant"].into_iter().filter(|_| has_variants);
    let mut table = Table::new(&variant.chain(titles).collect::<Vec<_>>());
    for (variant, found) in statements {
        let p99 = found.p99.as_ref();
        let interval = |time: Option<&TimeBesideLog>| {
            let interval = time.and_then(|time| time.interval);
            or_dash(interval, |[low, high]| format!("{low:.2} to {high:.2}"))
        };
        let cells = [
            plain(&found.name),
            time(found.mean.recorded_ns),
            time(found.mean.median_ns),
            ratio_text(found.mean.ratio()),
            interval(Some(&found.mean)),
            or_dash(p99, |time| ratio_text(time.ratio())),
            interval(p99),
        ];
        let variant = Some(plain(variant)).filter(|_| has_variants);
        table.row(variant.into_iter().chain(cells));
    }
    Some(TableSection {
        heading: "Statements beside the log",
        table: Some(table),
        text,
    })
}

/// What the table says, and how far it can be trusted.
fn repeats_text(
    statements: &[(&String, ReplayedStatement)],
    run_count: usize,
    rows_max: usize,
) -> String {
    let ends = || {
        statements
            .iter()
            .filter_map(|(_, found)| found.mean.interval)
    };
    let longer = ends().filter(|[low, _]| *low > 1.0).count();
    let shorter = ends().filter(|[_, high]| *high < 1.0).count();
    let method =
        if run_count < 6 { ", by Student's t because there are fewer than six runs" } else { "" };
    let mut text = format!(
        "Of {}, {longer} took longer than in the log and {shorter} less; the intervals of the others include 1. Replayed: the median \
         of the runs' means, with the way to the client and back, which the log does not have. 95 %: the interval of the ratio of the median\
         {method}; one in twenty misses. The log is a single run, whose own chance is not in the interval.",
        count_of(statements.len() as u64, "statement"),
    );
    let hidden = statements.len().saturating_sub(rows_max);
    if hidden > 0 {
        text += &format!(
            " The {} with less added time are on the page: prony report.",
            count(hidden as u64)
        );
    }
    text
}

fn ratio_text(ratio: f64) -> String {
    format!("{ratio:.2}")
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
    use prony_assertions::TextAssertions;
    use prony_store::{
        Latency, Observed, ObservedShare, RecordedLatency, ServerSecond, StatementLatency,
    };

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
    fn repeats_have_an_interval_for_each_statement() {
        let repeat = |number: u32, factor: f64| {
            let mut run = Run {
                statements: Some(vec![
                    statement("select t", 100, 1e6 * factor, Some(1e6)),
                    statement("update <t>", 100, 9e6 * factor, Some(3e6)),
                    statement("not timed", 1000, 9e9, None),
                ]),
                ..crate::sample_run::closed()
            };
            run.experiment = Some(prony_store::Experiment {
                variant: "replay".to_owned(),
                repeat: number,
                ..prony_store::Experiment::default()
            });
            run
        };
        let runs: Vec<Run> = [0.9, 1.0, 1.1]
            .into_iter()
            .zip(1..)
            .map(|(factor, number)| repeat(number, factor))
            .collect();
        assert!(replayed_over_repeats(&runs[..1], 9).is_none());
        assert!(replayed_over_repeats(&[crate::sample_run::closed()], 9).is_none());
        let section = replayed_over_repeats(&runs, 1).expect("a replay");
        let told = &section.text;
        told.assert_contains("Of 2 statements, 1 took longer than in the log and 0 less");
        section.text.assert_contains("by Student's t");
        let told = &section.text;
        told.assert_contains("The 1 with less added time are on the page");
        let (mut bytes, style) = (Vec::new(), crate::style::Style::plain());
        let table = section.table.expect("a table");
        table.write(&mut bytes, &style, 0).expect("written");
        let text = String::from_utf8(bytes).expect("UTF-8");
        let words: Vec<&str> = text.split_whitespace().collect();
        words
            .join(" ")
            .assert_contains("update <t> 3.00 ms 9.00 ms 3.00 2.33 to 3.84");
        text.assert_lacks("select t");
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
