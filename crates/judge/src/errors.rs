//! Transactions that failed, connections that were lost, users that ended.
//!
//! In: a Run. Out: `nothing-committed`, `errors`, `outage`, `users-ended`. Must never: count an
//! intended rollback as an error.

use crate::thresholds::{ERRORS_INVALID, OUTAGE_TO_END};
use crate::words::{count, percent, share};
use crate::{all, ended, found, nothing_measured};
use prony_store::{Check, ErrorCount, Event, Run, Severity};

pub(crate) fn nothing_committed(run: &Run) -> Option<Check> {
    let figures = all(run);
    if figures.is_some_and(|figures| figures.committed > 0) {
        return None;
    }
    if nothing_measured(run) {
        return found(
            "nothing-committed",
            Severity::Invalid,
            "Nothing was measured: the run ended before its measured window had a second.",
            "Run again to the end.",
        );
    }
    let failed = figures.map_or(0, |figures| figures.failed);
    found(
        "nothing-committed",
        Severity::Invalid,
        format!(
            "No transaction committed in the measured {:.1} s ({} failed).",
            run.measured.seconds, failed
        ),
        "See the errors and the server's log; where there are none, measure for longer than one \
         transaction takes.",
    )
}

pub(crate) fn errors(run: &Run) -> Option<Check> {
    let figures = all(run)?;
    if figures.failed == 0 {
        return None;
    }
    let failed = share(figures.failed, ended(figures));
    let severity = if failed > ERRORS_INVALID {
        Severity::Invalid
    } else {
        Severity::Caveat
    };
    let finding = format!(
        "{} failed, {} of those that ended{}.",
        count(figures.failed, "transaction"),
        percent(failed),
        most_frequent(run),
    );
    let advice = match severity {
        _ if most(run).is_some_and(|error| POOLED.contains(&error.code.as_str())) => {
            "The server does not keep prepared statements with the connection, as behind a pooler \
             that shares connections between clients: use --protocol extended or simple, or the \
             pooler's session mode."
        }
        Severity::Invalid => {
            "Remove the cause and run again: failed transactions take another time than committed \
             ones, so neither throughput nor latency stands for this workload."
        }
        _ => "See whether these errors belong to the workload; if not, remove the cause.",
    };
    found("errors", severity, finding, advice)
}

/// `duplicate_prepared_statement` and `invalid_sql_statement_name` (PostgreSQL, appendix A): a
/// statement was prepared on another connection than the one that executes it.
const POOLED: [&str; 2] = ["42P05", "26000"];

/// The most frequent sort of error, over all kinds of transaction.
fn most(run: &Run) -> Option<&ErrorCount> {
    run.measured.errors.iter().max_by_key(|error| error.count)
}

/// The same in words.
fn most_frequent(run: &Run) -> String {
    most(run).map_or(String::new(), |error| {
        format!(
            "; most often {} ({}) in {}, {}",
            error.class,
            error.code,
            error.kind,
            count(error.count, "time")
        )
    })
}

/// Events of this sort that reach into the measured window.
pub(crate) fn in_window<'a>(run: &'a Run, what: &'a str) -> impl Iterator<Item = &'a Event> {
    let begin_s = run.window.warmup_s;
    let end_s = begin_s + run.measured.seconds;
    run.events.iter().filter(move |event| {
        // An event without an end lasts until the end of the run.
        let ended_before = event.until_s.is_some_and(|until_s| until_s < begin_s);
        event.what == what && event.at_s <= end_s && !ended_before
    })
}

/// Whether some client was without a connection or gone in the measured window.
pub(crate) fn lost_users(run: &Run) -> bool {
    let lost = |class: &str| class == "lost connection" || class == "ambiguous commit";
    let by_error = run.measured.errors.iter().any(|error| lost(&error.class));
    by_error
        || in_window(run, "outage").next().is_some()
        || in_window(run, "user ended").next().is_some()
}

pub(crate) fn outage(run: &Run) -> Option<Check> {
    let events: Vec<&Event> = in_window(run, "outage").collect();
    if events.is_empty() {
        return None;
    }
    let most = events.iter().map(|event| event.count).max().unwrap_or(0);
    let longest_s = events
        .iter()
        .map(|event| {
            let run_end_s = run.window.warmup_s + run.measured.seconds;
            event.until_s.unwrap_or(run_end_s) - event.at_s
        })
        .fold(0.0, f64::max);
    let lost = format!(
        "Connections were lost: {}, the longest {longest_s:.1} s, with up to {} down.",
        count(events.len() as u64, "outage"),
        count(most, "connection"),
    );
    // Lost just before the end there was no time to come back, and next to nothing is missing.
    let end_s = run.window.warmup_s + run.measured.seconds;
    let least_s = OUTAGE_TO_END * run.measured.seconds;
    let open = events
        .iter()
        .filter(|event| event.until_s.is_none() && end_s - event.at_s > least_s);
    let (severity, finding) = match open.map(|event| event.at_s).reduce(f64::min) {
        Some(since_s) => (
            Severity::Invalid,
            format!(
                "{lost} From {since_s:.1} s on they did not all come back before the end of the \
                 run, so the load was not the one asked for."
            ),
        ),
        None => (
            Severity::Caveat,
            format!("{lost} The throughput includes these gaps."),
        ),
    };
    found(
        "outage",
        severity,
        finding,
        "See the server's log for a restart, a crash or a limit on connections; run again for \
         figures without an interruption.",
    )
}

pub(crate) fn users_ended(run: &Run) -> Option<Check> {
    let gone: u64 = in_window(run, "user ended")
        .map(|event| event.count.max(1))
        .sum();
    if gone == 0 {
        return None;
    }
    let detail = in_window(run, "user ended")
        .map(|event| event.detail.as_str())
        .find(|detail| !detail.is_empty());
    let because = detail.map_or(String::new(), |detail| format!(" The first: {detail}"));
    found(
        "users-ended",
        Severity::Caveat,
        format!(
            "{} of {} ended before the run did, so the load was smaller than asked.{because}",
            count(gone, "user"),
            run.drive.clients,
        ),
        "Remove the cause and run again.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::healthy;

    fn with_event(what: &str, at_s: f64, until_s: Option<f64>) -> Run {
        let mut run = healthy();
        run.events.push(Event {
            at_s,
            until_s,
            what: what.to_owned(),
            detail: "the relation is gone".to_owned(),
            count: 3,
        });
        run
    }

    #[test]
    fn a_run_without_commits() {
        let mut run = healthy();
        assert_eq!(nothing_committed(&run), None);
        run.measured.kinds[0].committed = 0;
        run.measured.kinds[0].failed = 9;
        let check = nothing_committed(&run).unwrap();
        assert_eq!(check.severity, Severity::Invalid);
        assert!(check.finding.contains("60.0 s (9 failed)"), "{check:?}");
    }

    #[test]
    fn errors_by_their_share() {
        let mut run = healthy();
        assert_eq!(errors(&run), None);
        run.measured.kinds[0].rolled_back = 10_000;
        assert_eq!(errors(&run), None, "a rollback by intent is no error");
        run.measured.kinds[0].failed = 1;
        assert_eq!(errors(&run).unwrap().severity, Severity::Caveat);
        run.measured.kinds[0].failed = 20_000;
        run.measured.errors = vec![
            ErrorCount {
                kind: "tpcb".to_owned(),
                class: "deadlock".to_owned(),
                code: "40P01".to_owned(),
                count: 19_000,
                ..ErrorCount::default()
            },
            ErrorCount::default(),
        ];
        let check = errors(&run).unwrap();
        assert_eq!(check.severity, Severity::Invalid);
        assert_eq!(
            check.finding,
            "20,000 transactions failed, 2.0 % of those that ended; most often deadlock (40P01) in \
             tpcb, 19,000 times."
        );
    }

    #[test]
    fn a_pooler_that_shares_connections_gets_advice_of_its_own() {
        let mut run = healthy();
        run.measured.kinds[0].failed = 20_000;
        let error = |code: &str| ErrorCount {
            code: code.to_owned(),
            count: 20_000,
            ..ErrorCount::default()
        };
        run.measured.errors = vec![error("42P05")];
        assert!(errors(&run).unwrap().advice.contains("--protocol extended"));
        run.measured.errors = vec![error("40P01")];
        assert!(!errors(&run).unwrap().advice.contains("--protocol"));
    }

    #[test]
    fn outages_of_the_window() {
        assert_eq!(outage(&healthy()), None);
        assert_eq!(outage(&with_event("outage", 1.0, Some(9.0))), None);
        assert_eq!(outage(&with_event("outage", 71.0, None)), None);
        let check = outage(&with_event("outage", 20.0, Some(22.5))).unwrap();
        assert_eq!(check.severity, Severity::Caveat);
        assert!(
            check.finding.contains("1 outage, the longest 2.5 s"),
            "{check:?}"
        );
        assert!(
            check.finding.contains("up to 3 connections down"),
            "{check:?}"
        );
        let check = outage(&with_event("outage", 60.0, None)).unwrap();
        assert!(check.finding.contains("longest 10.0 s"), "{check:?}");
        assert_eq!(check.severity, Severity::Invalid, "it lasted to the end");
        assert!(check.finding.contains("From 60.0 s on"), "{check:?}");
        let check = outage(&with_event("outage", 69.5, None)).unwrap();
        assert_eq!(check.severity, Severity::Caveat, "in the last moment");
    }

    #[test]
    fn users_that_ended() {
        assert_eq!(users_ended(&healthy()), None);
        assert_eq!(users_ended(&with_event("outage", 20.0, None)), None);
        // Gone since the warm-up is gone in the window too.
        let check = users_ended(&with_event("user ended", 1.0, None)).unwrap();
        assert_eq!(check.severity, Severity::Caveat);
        assert!(
            check.finding.starts_with("3 users of 64 ended"),
            "{check:?}"
        );
        assert!(check.finding.ends_with("the relation is gone"), "{check:?}");
    }
}
