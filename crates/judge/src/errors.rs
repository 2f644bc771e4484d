//! Transactions that failed, connections that were lost, users that ended.
//!
//! In: a Run. Out: `nothing-committed`, `errors`, `outage`, `users-ended`. Must never: count an
//! intended rollback as an error.

use crate::all_kinds;
use crate::checks::{Finding, caveat, invalid, invalid_or_caveat, new_finding};
use crate::formatting::{count, percent, share, thousands, time};
use crate::outage::joined_losses;
use crate::pooler::{POOLER_PROTOCOLS, POOLER_SQLSTATES};
use crate::thresholds::{ERRORS_INVALID_SHARE, OUTAGE_AT_END_INVALID_SHARE, OUTAGE_INVALID_SHARE};
use prony_store::{ErrorClass, ErrorCount, Event, EventKind, Run, Severity};

pub(crate) fn check_nothing_committed(run: &Run) -> Option<Finding> {
    let figures = all_kinds(run);
    if figures.is_some_and(|figures| figures.committed > 0) {
        return None;
    }
    if run.measured.is_empty() {
        return invalid(
            "Nothing was measured: the run ended before the first second of its measured window.",
            "Run again to the end.",
        );
    }
    let failed = figures.map_or(0, |figures| figures.failed);
    invalid(
        format!(
            "No transaction committed in the measured {:.1} s ({} failed{}).",
            run.measured.length_s,
            thousands(failed),
            most_frequent_error(run).map_or(String::new(), message_of)
        ),
        "Check the errors and the server's log; if there are none, measure for longer than one \
         transaction takes.",
    )
}

pub(crate) fn check_errors(run: &Run) -> Option<Finding> {
    let figures = all_kinds(run)?;
    if figures.failed == 0 {
        return None;
    }
    let failed_share = share(figures.failed, figures.ended());
    // An expected outage makes transactions fail: these do not make the result invalid.
    let unexpected = if expects_outage(run) {
        figures
            .failed
            .saturating_sub(failed_by_lost_connection_count(run))
    } else {
        figures.failed
    };
    let severity = invalid_or_caveat(share(unexpected, figures.ended()) > ERRORS_INVALID_SHARE);
    let finding = format!(
        "{} failed, {} of those that ended{}.",
        count(figures.failed, "transaction"),
        percent(failed_share),
        describe_most_frequent(run),
    );
    let through_pooler = format!(
        "A pooler gives the transactions of a client to several sessions: {POOLER_PROTOCOLS}."
    );
    let advice = match most_frequent_error(run) {
        Some(error) if POOLER_SQLSTATES.contains(&error.code.as_str()) => &through_pooler,
        Some(error) if is_privilege_error(error) => {
            "The role of this run lacks a privilege: the first message names it. GRANT it, as the owner of the \
             tables, or run as their owner."
        }
        Some(error) if error.class == ErrorClass::Resources => {
            "The server ran out of disk space, memory or connections: the first message says which. \
             Free some, and run again."
        }
        _ if severity == Severity::Invalid => {
            "Remove the cause and run again: failed transactions take a different time than committed \
             ones, so neither throughput nor latency represents this workload."
        }
        _ => "Check whether these errors belong to the workload; if not, remove the cause.",
    };
    new_finding(severity, finding, advice)
}

/// `insufficient_privilege`; MySQL and MariaDB use its SQLSTATE for syntax errors too.
fn is_privilege_error(error: &ErrorCount) -> bool {
    error.code == "42501" || (error.code == "42000" && error.example.contains(" denied "))
}

/// The most frequent type of error, over all kinds of transaction.
fn most_frequent_error(run: &Run) -> Option<&ErrorCount> {
    run.measured.errors.iter().max_by_key(|error| error.count)
}

fn describe_most_frequent(run: &Run) -> String {
    most_frequent_error(run).map_or(String::new(), |error| {
        let code = &error.code;
        let error_name = match error.class {
            ErrorClass::Other if !code.is_empty() => code.clone(),
            class => format!("{} ({code})", class.name()),
        };
        format!(
            "; most often {error_name} in {}, {}{}",
            error.kind_name(),
            count(error.count, "time"),
            message_of(error)
        )
    })
}

/// The first message of a type of error, after a colon.
fn message_of(error: &ErrorCount) -> String {
    match error.example.trim_end_matches('.') {
        "" => String::new(),
        text => format!(": {text}"),
    }
}

/// Events of this kind that overlap the measured window.
pub(crate) fn events_in_window(run: &Run, kind: EventKind) -> impl Iterator<Item = &Event> {
    let events = run.events.iter();
    events.filter(move |event| event.kind == kind && overlaps_window(run, event))
}

fn overlaps_window(run: &Run, event: &Event) -> bool {
    let begin_s = run.window.warmup_s;
    let end_s = begin_s + run.measured.length_s;
    // An event without an end lasts until the end of the run.
    let ended_before = event.until_s.is_some_and(|until_s| until_s < begin_s);
    event.at_s <= end_s && !ended_before
}

pub(crate) fn expects_outage(run: &Run) -> bool {
    let expected = run.plan.pointer("/run/expect_outage");
    expected.and_then(serde_json::Value::as_bool) == Some(true)
}

/// `severity`, or a note if the plan expects an outage. For outages, stalls and restarts.
pub(crate) fn severity_unless_outage_expected(run: &Run, severity: Severity) -> Severity {
    if expects_outage(run) { Severity::Note } else { severity }
}

/// Invalid or a caveat, but a note if the plan expects an outage.
pub(crate) fn invalid_unless_outage_expected(run: &Run, is_invalid: bool) -> Severity {
    severity_unless_outage_expected(run, invalid_or_caveat(is_invalid))
}

fn is_lost_connection(error: &ErrorCount) -> bool {
    match error.class {
        ErrorClass::LostConnection | ErrorClass::AmbiguousCommit => true,
        ErrorClass::Serialization
        | ErrorClass::Deadlock
        | ErrorClass::Timeout
        | ErrorClass::Protocol
        | ErrorClass::Resources
        | ErrorClass::Other => false,
    }
}

fn failed_by_lost_connection_count(run: &Run) -> u64 {
    let errors = run.measured.errors.iter();
    let lost = errors.filter(|error| is_lost_connection(error));
    lost.map(|error| error.count).sum()
}

/// Whether any client was without a connection or had ended in the measured window.
pub(crate) fn had_lost_users(run: &Run) -> bool {
    let by_error = run.measured.errors.iter().any(is_lost_connection);
    by_error
        || events_in_window(run, EventKind::Outage).next().is_some()
        || events_in_window(run, EventKind::UserEnded).next().is_some()
}

pub(crate) fn check_outage(run: &Run) -> Option<Finding> {
    let events: Vec<&Event> = events_in_window(run, EventKind::Outage).collect();
    if events.is_empty() {
        return None;
    }
    let (begin_s, window_s) = (run.window.warmup_s, run.measured.length_s);
    let end_s = begin_s + window_s;
    let until_s = |event: &Event| event.until_s.unwrap_or(end_s);
    let mut losses = joined_losses(run);
    losses.retain(|loss| overlaps_window(run, loss));
    let most_lost = losses.iter().map(|loss| loss.count).max().unwrap_or(0);
    let most_down = count(most_lost, "connection");
    let lengths_s = losses.iter().map(|loss| until_s(loss) - loss.at_s);
    let longest = time(lengths_s.fold(0.0, f64::max) * 1e9);
    let summary = match losses.len() {
        1 => format!("Connections were lost once: {most_down}, for {longest}."),
        times => format!(
            "Connections were lost {times} times: up to {most_down}, for at most {longest}."
        ),
    };
    // Averaged over all clients: if one of many has no connection, a small part of the load is missing.
    let clients = f64::from(run.drive.clients.max(1));
    let disconnected_s = events.iter().map(|event| {
        let overlap_s = until_s(event).min(end_s) - event.at_s.max(begin_s);
        overlap_s.max(0.0) * (event.count as f64 / clients).min(1.0)
    });
    let disconnected_share = disconnected_s.sum::<f64>() / window_s.max(f64::MIN_POSITIVE);
    // A client that lost its connection just before the end had no time to reconnect, and almost no load is
    // missing.
    let minimum_s = OUTAGE_AT_END_INVALID_SHARE * window_s;
    let not_restored = events
        .iter()
        .filter(|event| event.until_s.is_none() && end_s - event.at_s > minimum_s);
    let not_restored_s = not_restored.map(|event| event.at_s).reduce(f64::min);
    let advice = if expects_outage(run) && not_restored_s.is_none() {
        "The plan expects an outage; the throughput includes it."
    } else {
        "Check the server's log for a restart, a crash or a connection limit; run again for \
             figures without an interruption. If you want to measure an outage, say so with \
             --expect-outage."
    };
    match not_restored_s {
        // Invalid even if the outage was expected: without an end, its length is unknown.
        Some(since_s) => invalid(
            format!(
                "{summary} From {since_s:.1} s on, not all of them were restored before the end of the \
                 run, so the load was not the requested one."
            ),
            advice,
        ),
        None => new_finding(
            invalid_unless_outage_expected(run, disconnected_share > OUTAGE_INVALID_SHARE),
            format!(
                "{summary} The clients were without a connection for {} of the window, which the \
                 throughput includes.",
                percent(disconnected_share)
            ),
            advice,
        ),
    }
}

pub(crate) fn check_users_ended(run: &Run) -> Option<Finding> {
    let ended_users: u64 = events_in_window(run, EventKind::UserEnded)
        .map(|event| event.count.max(1))
        .sum();
    if ended_users == 0 {
        return None;
    }
    let detail = events_in_window(run, EventKind::UserEnded)
        .map(|event| event.detail.as_str())
        .find(|detail| !detail.is_empty());
    let because = detail.map_or(String::new(), |detail| format!(" The first: {detail}"));
    caveat(
        format!(
            "{} of {} ended before the run did, so the load was smaller than requested.{because}",
            count(ended_users, "user"),
            run.drive.clients,
        ),
        "Remove the cause and run again.",
    )
}

#[cfg(test)]
mod tests;
