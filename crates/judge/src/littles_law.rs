//! Little's law: in a closed loop without think time every client is always inside a transaction,
//! so the times of all transactions add up to clients x seconds. Where they do not, the client has
//! lost or invented time, and its latencies or its throughput are wrong.
//!
//! In: a Run. Out: `littles-law`. Must never: fail a run for what the window's edges do. Of the
//! transactions in flight at an edge, one that began before the window counts in full and one that
//! ends after it not at all; on average this cancels, and it is at most one transaction a client. Nor
//! for what the workers' wait for a CPU does: a user whose transaction has ended begins the next when
//! the worker has a CPU again, and is in neither meanwhile.

use crate::thresholds::{LITTLE_GAP, LITTLE_LONGEST_MEAN, LITTLE_SHORTEST_PARTIAL_S};
use crate::words::{count, percent, time};
use crate::{all, ended, errors, found};
use prony_store::{Check, Run, Second, Severity, State};

const ID: &str = "littles-law";

pub(crate) fn check(run: &Run) -> Option<Check> {
    let figures = all(run)?;
    let seconds = run.measured.seconds;
    let clients = run.drive.clients;
    let ended = ended(figures);
    if thinks(run) {
        return None;
    }
    if run.drive.pace != "closed" || clients == 0 || seconds <= 0.0 || ended == 0 {
        return None;
    }
    if run.state != State::Complete && seconds < LITTLE_SHORTEST_PARTIAL_S {
        return None;
    }
    if errors::lost_users(run) {
        return not_checked(
            "connections were lost or users ended, so not every client was at work",
        );
    }
    let mean_s = figures.busy_s / ended as f64;
    if mean_s > LITTLE_LONGEST_MEAN * seconds {
        let mean = time(mean_s * 1e9);
        return not_checked(&format!(
            "a transaction took {mean} on average, which is too long for a window of {seconds:.1} s"
        ));
    }
    let accounted = figures.busy_s / seconds;
    let gap = accounted / f64::from(clients) - 1.0;
    // Where each client does a count of transactions, those that are done early are idle.
    let idle_at_end = run.plan.pointer("/run/transactions");
    let may_be_idle = idle_at_end.is_some_and(|count| count.is_u64()) || starts_late(run);
    if gap.abs() <= LITTLE_GAP || (may_be_idle && gap < 0.0) {
        return None;
    }
    let finding = format!(
        "The transactions account for {accounted:.2} clients at work, where {} ran ({} {})",
        count(u64::from(clients), "client"),
        percent(gap.abs()),
        if gap < 0.0 { "too few" } else { "too many" },
    );
    let longest_s = figures.response.max_ns as f64 / 1e9;
    if gap.abs() * seconds <= longest_s {
        let longest = time(longest_s * 1e9);
        return found(
            ID,
            Severity::Caveat,
            format!(
                "{finding}; a stall as long as the longest transaction ({longest}) at an edge of \
                 the window would explain it."
            ),
            "Run longer, so that one stall weighs less, and see the series for the stall.",
        );
    }
    if let Some(still_s) =
        stood_still(run).filter(|still_s| -gap * seconds <= still_s + 1.0 + longest_s)
    {
        return found(
            ID,
            Severity::Invalid,
            format!(
                "{finding}: nothing ended in the last {still_s:.1} s, with {} in flight whose times \
                 no figure contains.",
                match run.measured.unfinished {
                    0 => "transactions".to_owned(),
                    some => count(some, "transaction"),
                },
            ),
            "The server stood still, or the network lost it: see its log and its disk, and run \
             again.",
        );
    }
    if let Some(waited) = without_cpu(run).filter(|waited| gap < 0.0 && -gap <= *waited) {
        return found(
            ID,
            Severity::Caveat,
            format!(
                "{finding}: between two transactions a user waits until its thread has a CPU, and the \
                 client's threads were ready and had none for {} of the time.",
                percent(waited)
            ),
            "Throughput is lower for that, and not by the server: run the client on a machine of its \
             own, or on CPUs that the server and other programs do not use (taskset).",
        );
    }
    found(
        ID,
        Severity::Invalid,
        format!("{finding}: times or counts are wrong by Little's law."),
        "Do not use these figures. See whether the machine was suspended or its clock was set; \
         otherwise this is an error in Prony: please report it with the stored run.",
    )
}

/// Whether users key and think between their transactions.
fn thinks(run: &Run) -> bool {
    let settings = &run.workload.settings;
    settings.iter().any(|setting| setting == "pacing spec")
}

/// Share of the time for which the worker threads were ready and had no CPU. While a thread has none,
/// at most all of its users are between two transactions, so at most this share of all users is
/// missing for it.
fn without_cpu(run: &Run) -> Option<f64> {
    let at_work = run.drive.threads.min(run.drive.clients);
    let thread_s = f64::from(at_work) * run.measured.seconds;
    let waited_s = run.client.run_queue_s?;
    (thread_s > 0.0).then(|| (waited_s / thread_s).min(1.0))
}

/// How long at the end of the window no transaction ended though some were in flight, in intervals
/// of the series; it may have begun up to one of them earlier. Of a run that was cut off nobody counted
/// those in flight: in a closed loop there are some at any time.
fn stood_still(run: &Run) -> Option<f64> {
    let idle = |second: &&Second| second.committed + second.rolled_back + second.failed == 0;
    let last = run.series.iter().rev().take_while(idle);
    let seconds: f64 = last.map(|second| second.seconds).sum();
    let in_flight = run.measured.unfinished > 0 || run.state != State::Complete;
    (in_flight && seconds > 0.0).then_some(seconds)
}

fn not_checked(reason: &str) -> Option<Check> {
    found(
        ID,
        Severity::Note,
        format!("Little's law was not checked: {reason}."),
        "Nothing, unless you doubt the figures: then measure for longer, without interruption.",
    )
}

/// Whether clients are idle at the beginning of the window: they start one after the other, and the
/// last only when it has begun.
fn starts_late(run: &Run) -> bool {
    let mut settings = run.workload.settings.iter();
    settings.any(|setting| setting.starts_with("late_starts "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::healthy;
    use prony_store::{ErrorCount, Event};
    use serde_json::json;

    fn off_by(gap: f64) -> Run {
        let mut run = healthy();
        run.measured.kinds[0].busy_s *= 1.0 + gap;
        run
    }

    fn severity(run: &Run) -> Option<Severity> {
        check(run).map(|check| check.severity)
    }

    #[test]
    fn clients_that_start_late_may_be_idle_and_not_busier_than_possible() {
        let settings = ["mode procedures", "late_starts 500 ms apart"].map(str::to_owned);
        let mut idle = off_by(-0.5);
        assert_eq!(severity(&idle), Some(Severity::Invalid));
        idle.workload.settings = settings.to_vec();
        assert_eq!(check(&idle), None);
        let mut busy = off_by(0.5);
        busy.workload.settings = settings.to_vec();
        assert_eq!(severity(&busy), Some(Severity::Invalid));
    }

    #[test]
    fn two_per_cent_either_way() {
        for gap in [-0.019, 0.0, 0.019] {
            assert_eq!(check(&off_by(gap)), None, "{gap}");
        }
        for gap in [-0.021, 0.021] {
            assert_eq!(severity(&off_by(gap)), Some(Severity::Invalid), "{gap}");
        }
        let finding = check(&off_by(-0.25)).unwrap().finding;
        assert!(finding.contains("48.00 clients"), "{finding}");
        assert!(
            finding.contains("64 clients ran (25 % too few)"),
            "{finding}"
        );
    }

    #[test]
    fn a_server_that_stands_still_at_the_end_is_not_taken_for_an_error_of_the_client() {
        let mut run = off_by(-0.5);
        let second = |committed| Second {
            seconds: 1.0,
            part: "measured".to_owned(),
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
    fn a_wait_for_a_cpu_between_transactions_is_a_caveat_as_far_as_it_reaches() {
        let mut run = off_by(-0.034);
        // Of 120 thread-seconds.
        run.client.run_queue_s = Some(24.0);
        let told = check(&run).unwrap();
        assert_eq!(told.severity, Severity::Caveat);
        assert!(
            told.finding.contains("had none for 20 % of the time"),
            "{told:?}"
        );
        run.client.run_queue_s = Some(4.0);
        assert_eq!(severity(&run), Some(Severity::Invalid), "too short for it");
        run.client.run_queue_s = None;
        assert_eq!(severity(&run), Some(Severity::Invalid), "not known");
        let mut many = off_by(0.034);
        many.client.run_queue_s = Some(24.0);
        assert_eq!(severity(&many), Some(Severity::Invalid));
    }

    #[test]
    fn only_in_a_closed_loop() {
        let mut run = off_by(-0.5);
        run.drive.pace = "rate".to_owned();
        assert_eq!(check(&run), None);
    }

    #[test]
    fn not_where_users_think() {
        let mut run = off_by(-0.9);
        run.workload.settings = vec!["mode procedures".to_owned(), "pacing spec".to_owned()];
        assert_eq!(check(&run), None);
        run.workload.settings[1] = "pacing none".to_owned();
        assert_eq!(severity(&run), Some(Severity::Invalid));
    }

    #[test]
    fn not_in_the_first_second_of_a_partial_run() {
        let mut run = off_by(-0.5);
        run.state = State::Partial;
        assert_eq!(severity(&run), Some(Severity::Invalid));
        run.measured.seconds = 0.9;
        assert_eq!(check(&run), None);
    }

    /// Of a run that was killed nobody counted what was in flight.
    #[test]
    fn a_stall_at_the_end_of_a_run_that_was_cut_off() {
        let mut run = off_by(-0.5);
        run.state = State::Partial;
        run.measured.unfinished = 0;
        let still = Second {
            part: "measured".to_owned(),
            seconds: 1.0,
            ..Second::default()
        };
        let seconds = run.measured.seconds * 0.5;
        run.series = vec![still; seconds as usize];
        let told = check(&run).unwrap().finding;
        let end = format!("nothing ended in the last {seconds:.1} s, with transactions in flight");
        assert!(told.contains(&end), "{told}");
        run.state = State::Complete;
        let told = check(&run).unwrap().finding;
        assert!(told.ends_with("by Little's law."), "{told}");
    }

    #[test]
    fn not_where_clients_were_not_at_work() {
        let mut lost = off_by(-0.5);
        lost.measured.errors.push(ErrorCount {
            class: "lost connection".to_owned(),
            count: 1,
            ..ErrorCount::default()
        });
        assert_eq!(severity(&lost), Some(Severity::Note));
        let mut outage = off_by(-0.5);
        outage.events.push(Event {
            at_s: 20.0,
            until_s: Some(21.0),
            what: "outage".to_owned(),
            count: 64,
            ..Event::default()
        });
        assert_eq!(severity(&outage), Some(Severity::Note));
        // One that was over before the window began does not matter.
        outage.events[0].at_s = 1.0;
        outage.events[0].until_s = Some(2.0);
        assert_eq!(severity(&outage), Some(Severity::Invalid));
    }

    #[test]
    fn not_for_transactions_that_are_long_beside_the_window() {
        let mut run = healthy();
        let few = &mut run.measured.kinds[0];
        // 64 clients in 60 s, 0.7 s each.
        few.committed = 5_485;
        assert_eq!(severity(&run), Some(Severity::Note));
    }

    #[test]
    fn a_stall_at_the_edge_is_a_caveat() {
        let mut run = off_by(-0.03);
        run.measured.kinds[0].response.max_ns = 2_000_000_000;
        assert_eq!(severity(&run), Some(Severity::Caveat));
        run.measured.kinds[0].response.max_ns = 1_000_000_000;
        assert_eq!(severity(&run), Some(Severity::Invalid));
    }

    #[test]
    fn clients_with_a_count_may_be_done_early() {
        let mut few = off_by(-0.2);
        few.plan = json!({"run": {"transactions": 1000}});
        assert_eq!(check(&few), None);
        let mut many = off_by(0.2);
        many.plan = few.plan.clone();
        assert_eq!(severity(&many), Some(Severity::Invalid));
        few.plan = json!({"run": {"transactions": null}});
        assert_eq!(severity(&few), Some(Severity::Invalid));
    }
}
