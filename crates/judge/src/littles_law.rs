//! Little's law: in a closed loop without think time every client is always inside a transaction, and the
//! times of all transactions add up to clients x seconds. If they do not, the client measured times or counts
//! wrongly.
//!
//! In: a Run. Out: `littles-law`. Must never: fail a run because of effects at the window's edges, or excuse
//! a gap that changes the figure: waits for a CPU excuse at most [`LITTLE_EXCUSED_GAP_MAX_SHARE`].
//!
//! A transaction that began before the window counts in full, and one that ends after it does not count: on
//! average these effects cancel, and each is at most one transaction per client. A user whose worker has no
//! CPU after a transaction starts the next one only when the worker has a CPU again; until then it is in no
//! transaction.

use crate::client::run_queue_share;
use crate::formatting::{count, percent, time};
use crate::stall::stops_by_count;
use crate::thresholds::{
    EFFECT_INVALID_SHARE, LITTLE_EXCUSED_GAP_MAX_SHARE, LITTLE_GAP_MAX_SHARE,
    LITTLE_MEAN_TXN_MAX_SHARE, LITTLE_PARTIAL_RUN_MIN_S,
};
use crate::{all_kinds, ended, errors, new_check};
use prony_store::{Check, Run, RunState, Second, Severity};

const CHECK_ID: &str = "littles-law";

pub(crate) fn check(run: &Run) -> Option<Check> {
    let figures = all_kinds(run)?;
    let window_s = run.measured.length_s;
    let clients = run.drive.clients;
    let ended_count = ended(figures);
    if has_think_time(run)
        || run.drive.open_loop
        || clients == 0
        || window_s <= 0.0
        || ended_count == 0
    {
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
    let longest_s = figures.response.max_ns as f64 / 1e9;
    gap_check(run, gap, &finding, longest_s)
}

/// The finding for a run whose transactions account for more or fewer clients than ran, by a relative `gap`.
/// It names the cause if the Run shows one.
fn gap_check(run: &Run, gap: f64, finding: &str, longest_s: f64) -> Option<Check> {
    let window_s = run.measured.length_s;
    if gap.abs() * window_s <= longest_s && gap.abs() <= EFFECT_INVALID_SHARE {
        let longest = time(longest_s * 1e9);
        return new_check(
            CHECK_ID,
            Severity::Caveat,
            format!(
                "{finding}; a stall as long as the longest transaction ({longest}) at an edge of \
                 the window would explain it."
            ),
            "Run longer, so that one stall weighs less, and look for the stall in the series.",
        );
    }
    if let Some(standstill) =
        standstill_s(run).filter(|standstill| -gap * window_s <= standstill + 1.0 + longest_s)
    {
        return new_check(
            CHECK_ID,
            Severity::Invalid,
            format!(
                "{finding}: nothing ended in the last {standstill:.1} s, with {} in flight whose times \
                 are in no figure.",
                match run.measured.unfinished {
                    0 => "transactions".to_owned(),
                    in_flight => count(in_flight, "transaction"),
                },
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
        let severity = match -gap <= LITTLE_EXCUSED_GAP_MAX_SHARE {
            true => Severity::Caveat,
            false => Severity::Invalid,
        };
        return new_check(
            CHECK_ID,
            severity,
            format!(
                "{finding}: between two transactions a user waits until its thread has a CPU, and the \
                 client's threads were ready but had none for {} of the time.",
                percent(wait_share)
            ),
            "That lowers the throughput, and the server is not the cause: run the client on its own \
             machine, or on CPUs that the server and other programs do not use (taskset).",
        );
    }
    new_check(
        CHECK_ID,
        Severity::Invalid,
        format!("{finding}: times or counts are wrong by Little's law."),
        "Do not use these figures. Check whether the machine was suspended or its clock was set; \
         if not, this is a bug in Prony: please report it with the stored run.",
    )
}

/// Whether users have keying and think times between their transactions.
fn has_think_time(run: &Run) -> bool {
    run.workload.setting("pacing") == Some("spec")
}

/// For how long at the end of the window no transaction ended although some were in flight, seconds, in whole
/// intervals of the series: the standstill may have begun up to one interval earlier. A run that was killed
/// has no count of the transactions in flight, but a closed loop always has some.
fn standstill_s(run: &Run) -> Option<f64> {
    let is_idle = |second: &&Second| second.committed + second.rolled_back + second.failed == 0;
    let idle_seconds = run.series.iter().rev().take_while(is_idle);
    let seconds: f64 = idle_seconds.map(|second| second.length_s).sum();
    let has_in_flight = run.measured.unfinished > 0 || run.state != RunState::Complete;
    (has_in_flight && seconds > 0.0).then_some(seconds)
}

fn not_checked_note(reason: &str) -> Option<Check> {
    new_check(
        CHECK_ID,
        Severity::Note,
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
mod tests {
    use super::*;
    use crate::sample::healthy;
    use prony_store::{ErrorClass, ErrorCount, Event, EventKind, PlannedEnd, SecondPhase, Setting};

    fn run_with_gap(gap: f64) -> Run {
        let mut run = healthy();
        run.measured.kinds[0].busy_s *= 1.0 + gap;
        run
    }

    fn severity(run: &Run) -> Option<Severity> {
        check(run).map(|check| check.severity)
    }

    #[test]
    fn clients_that_start_late_may_be_idle() {
        let settings = [
            Setting::new("mode", "procedures"),
            Setting::new("late_starts", "500 ms apart"),
        ];
        let mut idle = run_with_gap(-0.5);
        assert_eq!(severity(&idle), Some(Severity::Invalid));
        idle.workload.settings = settings.to_vec();
        assert_eq!(check(&idle), None);
        let mut busy = run_with_gap(0.5);
        busy.workload.settings = settings.to_vec();
        assert_eq!(severity(&busy), Some(Severity::Invalid));
    }

    #[test]
    fn a_gap_of_two_per_cent_is_tolerated() {
        for gap in [-0.019, 0.0, 0.019] {
            assert_eq!(check(&run_with_gap(gap)), None, "{gap}");
        }
        for gap in [-0.021, 0.021] {
            assert_eq!(
                severity(&run_with_gap(gap)),
                Some(Severity::Invalid),
                "{gap}"
            );
        }
        let finding = check(&run_with_gap(-0.25)).unwrap().finding;
        assert!(finding.contains("48.00 busy clients"), "{finding}");
        assert!(
            finding.contains("64 clients ran (25 % too few)"),
            "{finding}"
        );
    }

    #[test]
    fn a_stalled_server_at_the_end_is_not_a_client_error() {
        let mut run = run_with_gap(-0.5);
        let second = |committed| Second {
            length_s: 1.0,
            phase: SecondPhase::Measured,
            committed,
            ..Second::default()
        };
        run.series = (0..60)
            .map(|s| second(if s < 30 { 32_000 } else { 0 }))
            .collect();
        assert!(check(&run).unwrap().advice.contains("report it"));
        run.measured.unfinished = 64;
        let stalled = check(&run).unwrap();
        assert_eq!(stalled.severity, Severity::Invalid);
        assert!(
            stalled.finding.contains("64 transactions in flight"),
            "{stalled:?}"
        );
        assert!(!stalled.advice.contains("report it"), "{stalled:?}");
    }

    #[test]
    fn cpu_waits_excuse_a_small_gap() {
        let mut run = run_with_gap(-0.029);
        // 20 % of the 120 seconds that two threads have.
        run.machine_mut().health.run_queue_s = Some(24.0);
        let finding = check(&run).unwrap();
        assert_eq!(finding.severity, Severity::Caveat);
        assert!(
            finding.finding.contains("had none for 20 % of the time"),
            "{finding:?}"
        );
        run.machine_mut().health.run_queue_s = Some(3.0);
        assert_eq!(
            severity(&run),
            Some(Severity::Invalid),
            "too short to explain it"
        );
        run.machine_mut().health.run_queue_s = None;
        assert_eq!(severity(&run), Some(Severity::Invalid), "not known");
        let mut too_many = run_with_gap(0.029);
        too_many.machine_mut().health.run_queue_s = Some(24.0);
        assert_eq!(severity(&too_many), Some(Severity::Invalid));
    }

    #[test]
    fn cpu_waits_do_not_excuse_a_large_gap() {
        for run_queue_s in [24.0, 84.0, 120.0] {
            let mut run = run_with_gap(-0.031);
            run.machine_mut().health.run_queue_s = Some(run_queue_s);
            let check = check(&run).unwrap();
            assert_eq!(check.severity, Severity::Invalid, "{run_queue_s}");
            assert!(check.finding.contains("had none for"), "{check:?}");
            assert!(!check.advice.contains("bug in Prony"), "{check:?}");
        }
    }

    #[test]
    fn open_loops_are_not_checked() {
        let mut run = run_with_gap(-0.5);
        run.drive.open_loop = true;
        assert_eq!(check(&run), None);
    }

    #[test]
    fn users_with_think_times_are_not_checked() {
        let mut run = run_with_gap(-0.9);
        run.workload.settings = vec![
            Setting::new("mode", "procedures"),
            Setting::new("pacing", "spec"),
        ];
        assert_eq!(check(&run), None);
        run.workload.settings[1] = Setting::new("pacing", "none");
        assert_eq!(severity(&run), Some(Severity::Invalid));
    }

    #[test]
    fn very_short_partial_runs_are_not_checked() {
        let mut run = run_with_gap(-0.5);
        run.state = RunState::Partial;
        assert_eq!(severity(&run), Some(Severity::Invalid));
        run.measured.length_s = 0.9;
        assert_eq!(check(&run), None);
    }

    /// A killed run has no count of the transactions in flight.
    #[test]
    fn a_stall_at_the_end_of_a_killed_run_is_detected() {
        let mut run = run_with_gap(-0.5);
        run.state = RunState::Partial;
        run.measured.unfinished = 0;
        let idle_second = Second {
            phase: SecondPhase::Measured,
            length_s: 1.0,
            ..Second::default()
        };
        let seconds = run.measured.length_s * 0.5;
        run.series = vec![idle_second; seconds as usize];
        let finding = check(&run).unwrap().finding;
        let expected =
            format!("nothing ended in the last {seconds:.1} s, with transactions in flight");
        assert!(finding.contains(&expected), "{finding}");
        run.state = RunState::Complete;
        let finding = check(&run).unwrap().finding;
        assert!(finding.ends_with("by Little's law."), "{finding}");
    }

    #[test]
    fn runs_with_lost_connections_are_not_checked() {
        let mut lost = run_with_gap(-0.5);
        lost.measured.errors.push(ErrorCount {
            class: ErrorClass::LostConnection,
            count: 1,
            ..ErrorCount::default()
        });
        assert_eq!(severity(&lost), Some(Severity::Note));
        let mut outage = run_with_gap(-0.5);
        outage.events.push(Event {
            at_s: 20.0,
            until_s: Some(21.0),
            kind: EventKind::Outage,
            count: 64,
            ..Event::default()
        });
        assert_eq!(severity(&outage), Some(Severity::Note));
        // An outage that ended before the window began does not matter.
        outage.events[0].at_s = 1.0;
        outage.events[0].until_s = Some(2.0);
        assert_eq!(severity(&outage), Some(Severity::Invalid));
    }

    #[test]
    fn transactions_long_relative_to_the_window_are_not_checked() {
        let mut run = healthy();
        let figures = &mut run.measured.kinds[0];
        // 64 clients for 60 s: 0.7 s per transaction.
        figures.committed = 5_485;
        assert_eq!(severity(&run), Some(Severity::Note));
    }

    #[test]
    fn a_stall_at_the_edge_is_a_caveat() {
        let mut run = run_with_gap(-0.03);
        run.measured.kinds[0].response.max_ns = 2_000_000_000;
        assert_eq!(severity(&run), Some(Severity::Caveat));
        run.measured.kinds[0].response.max_ns = 1_000_000_000;
        assert_eq!(severity(&run), Some(Severity::Invalid));
        // A stall of more than a tenth of the window is not an effect of its edges.
        let mut long = run_with_gap(-0.11);
        long.measured.kinds[0].response.max_ns = 30_000_000_000;
        assert_eq!(severity(&long), Some(Severity::Invalid));
    }

    #[test]
    fn clients_with_a_transaction_count_may_finish_early() {
        let mut too_few = run_with_gap(-0.2);
        too_few.drive.stop = Some(PlannedEnd::TransactionsPerClient(1000));
        assert_eq!(check(&too_few), None);
        let mut too_many = run_with_gap(0.2);
        too_many.plan = too_few.plan.clone();
        assert_eq!(severity(&too_many), Some(Severity::Invalid));
        too_few.drive.stop = Some(PlannedEnd::DurationS(60.0));
        assert_eq!(severity(&too_few), Some(Severity::Invalid));
    }
}
