//! Little's law: in a closed loop without think time every client is always inside a transaction, and the
//! times of all transactions add up to clients x seconds. If they do not, the client measured times or counts
//! wrongly.
//!
//! In: a Run. Out: `littles-law`. Must never: fail a run because of effects at the window's edges, or excuse a gap that
//! changes the figure: waits for a CPU and the work of the client excuse at most [`LITTLE_EXCUSED_GAP_MAX_SHARE`].
//!
//! A transaction that began before the window counts in full, and one that ends after it does not count: on average these
//! effects cancel, and each is at most one transaction per client. The first adds at most the longest transactions, one
//! for each client; the document says how much the second lacks (`in_flight_s`). A user whose worker has no CPU after a
//! transaction starts the next one only when the worker has a CPU again; until then it is in no transaction.

use crate::checks::{Finding, invalid, invalid_or_caveat, new_finding, note};
use crate::client::run_queue_share;
use crate::formatting::{count, percent, time};
use crate::stall::stops_by_count;
use crate::thresholds::{
    EFFECT_INVALID_SHARE, LITTLE_EXCUSED_GAP_MAX_SHARE, LITTLE_GAP_MAX_SHARE,
    LITTLE_MEAN_TXN_MAX_SHARE, LITTLE_PARTIAL_RUN_MIN_S,
};
use crate::{all_kinds, errors};
use prony_store::{KindFigures, Latency, RecordedTimes, Run, RunState, Second, Severity};

pub(crate) fn check(run: &Run) -> Option<Finding> {
    let figures = all_kinds(run)?;
    let window_s = run.measured.length_s;
    let clients = run.drive.clients;
    let ended_count = figures.ended();
    let has_think_time = run.workload.setting("pacing") == Some("spec");
    let is_always_busy = !has_think_time && !run.drive.open_loop;
    let has_figures = clients > 0 && window_s > 0.0 && ended_count > 0;
    if !is_always_busy || !has_figures {
        return None;
    }
    if run.state != RunState::Complete && window_s < LITTLE_PARTIAL_RUN_MIN_S {
        return None;
    }
    if errors::had_lost_users(run) {
        return not_checked_note(
            "connections were lost or users ended, so not every client was busy",
        );
    }
    let mean_s = figures.busy_s / ended_count as f64;
    if mean_s > LITTLE_MEAN_TXN_MAX_SHARE * window_s {
        let mean = time(mean_s * 1e9);
        return not_checked_note(&format!(
            "a transaction took {mean} on average, which is too long for a window of {window_s:.1} s"
        ));
    }
    let accounted_clients = figures.busy_s / window_s;
    let gap = accounted_clients / f64::from(clients) - 1.0;
    // If each client runs a fixed number of transactions, clients that finish early are idle.
    let may_be_idle = stops_by_count(run) || has_late_starts(run);
    if gap.abs() <= LITTLE_GAP_MAX_SHARE || (may_be_idle && gap < 0.0) {
        return None;
    }
    let finding = format!(
        "The transactions account for {accounted_clients:.2} busy clients, but {} ran ({} {})",
        count(u64::from(clients), "client"),
        percent(gap.abs()),
        if gap < 0.0 { "too few" } else { "too many" },
    );
    edge_check(run, figures, gap, &finding).or_else(|| gap_check(run, figures, gap, &finding))
}

/// The finding for a gap that transactions across an edge of the window explain; `None` if they do not.
fn edge_check(run: &Run, figures: &KindFigures, gap: f64, finding: &str) -> Option<Finding> {
    let clients = f64::from(run.drive.clients);
    let window_s = run.measured.length_s;
    let all_times = figures.attempts.as_ref().unwrap_or(&figures.response);
    // What the transactions across the start may add, over all clients.
    let most_added_s = sum_of_longest_s(all_times, run.drive.clients);
    let explanation = match run.measured.in_flight_s {
        Some(in_flight_s) => {
            let remaining = gap + in_flight_s / (clients * window_s);
            if remaining.abs() <= LITTLE_GAP_MAX_SHARE && gap < 0.0 {
                let in_flight = time(in_flight_s * 1e9);
                format!(
                    "the transactions in flight at the end of the window had taken {in_flight} of it in all, \
                     which is in no figure, and explains it"
                )
            } else if remaining > 0.0 && remaining * clients * window_s <= most_added_s {
                describe_stall(figures)
            } else {
                return None;
            }
        }
        None if gap.abs() * clients * window_s <= most_added_s => describe_stall(figures),
        None => return None,
    };
    let severity = invalid_or_caveat(gap.abs() > EFFECT_INVALID_SHARE);
    new_finding(
        severity,
        format!("{finding}; {explanation}."),
        "Run longer, so that one stall weighs less, and look for the stall in the series.",
    )
}

fn describe_stall(figures: &KindFigures) -> String {
    let longest = time(figures.response.max_ns as f64);
    format!(
        "a stall as long as the longest transaction ({longest}) at an edge of the window would explain it"
    )
}

/// The sum of the longest transactions, one for each client, seconds: more cannot have crossed an edge of the
/// window.
fn sum_of_longest_s(latency: &Latency, clients: u32) -> f64 {
    let longest_s = latency.max_ns as f64 / 1e9;
    let Ok(times) = RecordedTimes::decode(&latency.histogram) else {
        return f64::from(clients) * longest_s;
    };
    let mut left = u64::from(clients);
    let mut sum_ns = 0.0;
    for (value_ns, count) in times.counts().rev() {
        let taken = count.min(left);
        left -= taken;
        sum_ns += value_ns as f64 * taken as f64;
    }
    sum_ns / 1e9
}

/// The finding for a run whose transactions account for more or fewer clients than ran, by a relative `gap`.
/// It names the cause if the Run shows one.
fn gap_check(run: &Run, figures: &KindFigures, gap: f64, finding: &str) -> Option<Finding> {
    let window_s = run.measured.length_s;
    let longest_s = figures.response.max_ns as f64 / 1e9;
    // The standstill may have begun up to one interval of the series earlier.
    let may_explain = |standstill_s: &f64| -gap * window_s <= standstill_s + 1.0 + longest_s;
    if let Some(standstill_s) = standstill_s(run).filter(may_explain) {
        let in_flight = match run.measured.unfinished {
            0 => "transactions".to_owned(),
            in_flight => count(in_flight, "transaction"),
        };
        return invalid(
            format!(
                "{finding}: nothing ended in the last {standstill_s:.1} s, with {in_flight} in flight whose times \
                 are in no figure."
            ),
            "The server stalled, or the network connection to it was lost: check its log and its disk, and \
             run again.",
        );
    }
    // While a thread has no CPU, all of its users may be between two transactions. The gap can therefore be
    // as large as the share of the time for which threads waited for a CPU, but not larger.
    if let Some(wait_share) =
        run_queue_share(run).filter(|wait_share| gap < 0.0 && -gap <= *wait_share)
    {
        return new_finding(
            excused_severity(gap),
            format!(
                "{finding}: between two transactions a user waits until its thread has a CPU, and the \
                 client's threads were ready but had none for {} of the time.",
                percent(wait_share)
            ),
            "That lowers the throughput, and the server is not the cause: run the client on its own \
             machine, or on CPUs that the server and other programs do not use (taskset).",
        );
    }
    if let Some(busy_share) = own_work_share(run).filter(|share| gap < 0.0 && -gap <= *share) {
        return new_finding(
            excused_severity(gap),
            format!(
                "{finding}: between two transactions a user's thread works on the next one, or waits for a CPU; \
                 the client's threads did for {} of the time.",
                percent(busy_share)
            ),
            "That lowers the throughput, and the server is not the cause: use more clients, and a release build \
             of Prony (a debug build needs many times the CPU time).",
        );
    }
    invalid(
        format!("{finding}: times or counts are wrong by Little's law."),
        "Do not use these figures. Check whether the machine was suspended or its clock was set; \
         if not, this is a bug in Prony: please report it with the stored run.",
    )
}

/// The severity of a gap that the client's machine explains.
fn excused_severity(gap: f64) -> Severity {
    invalid_or_caveat(-gap > LITTLE_EXCUSED_GAP_MAX_SHARE)
}

/// The largest share of its time for which a user is in no transaction, because its thread works or waits for a CPU;
/// `None` if threads have several users, whose times overlap.
fn own_work_share(run: &Run) -> Option<f64> {
    let busy_share = run.client_health().busiest_thread_share?;
    let has_own_thread = run.drive.clients <= run.drive.threads;
    has_own_thread.then(|| busy_share + run_queue_share(run).unwrap_or_default())
}

/// For how long at the end of the window no transaction ended although some were in flight, seconds, in whole
/// intervals of the series: the standstill may have begun up to one interval earlier. A run that was killed
/// has no count of the transactions in flight, but a closed loop always has some.
fn standstill_s(run: &Run) -> Option<f64> {
    let is_idle = |second: &&Second| second.ended() == 0;
    let idle_seconds = run.series.iter().rev().take_while(is_idle);
    let idle_s: f64 = idle_seconds.map(|second| second.length_s).sum();
    let has_in_flight = run.measured.unfinished > 0 || run.state != RunState::Complete;
    (has_in_flight && idle_s > 0.0).then_some(idle_s)
}

fn not_checked_note(reason: &str) -> Option<Finding> {
    note(
        format!("Not judged: Little's law, because {reason}."),
        "No action needed, unless you doubt the figures: then measure for longer, without interruption.",
    )
}

/// Whether some clients are idle at the beginning of the window: they start one after the other, and the last
/// one starts only after the window has begun.
fn has_late_starts(run: &Run) -> bool {
    run.workload.setting("late_starts").is_some()
}

#[cfg(test)]
mod tests;
