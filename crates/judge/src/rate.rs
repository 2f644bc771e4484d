//! Whether an open loop reached its rate.
//!
//! In: a Run. Out: `rate`, `never-started`. Must never: mistake chance for an overloaded server: the number
//! of Poisson arrivals in a window scatters by its square root.

use crate::all_kinds;
use crate::checks::{Finding, caveat_or_note, invalid_or_caveat, new_finding};
use crate::errors::expects_outage;
use crate::formatting::{count, percent, thousands};
use crate::thresholds::{
    NEVER_STARTED_CAVEAT_SHARE, RATE_CAVEAT_BELOW_SHARE, RATE_CHANCE_SIGMAS,
    RATE_INVALID_BELOW_SHARE,
};
use prony_store::{Arrival, Run, RunState};

/// Transactions that should have started in the window; `None` for a closed loop.
fn due_count(run: &Run) -> Option<f64> {
    let rate_tps = run.drive.rate_tps.filter(|_| run.drive.open_loop)?;
    let due = rate_tps * run.measured.length_s;
    (due > 0.0).then_some(due)
}

pub(crate) fn check_rate(run: &Run) -> Option<Finding> {
    let figures = all_kinds(run)?;
    let due = due_count(run)?;
    let ended = figures.ended() as f64;
    let chance = match run.drive.arrival {
        Some(Arrival::Even) => 0.0,
        Some(Arrival::Poisson) | None => RATE_CHANCE_SIGMAS * due.sqrt(),
    };
    // One transaction more may have been due just before the end, and ended after it.
    let max_share = (ended + chance + 1.0) / due;
    if max_share >= RATE_CAVEAT_BELOW_SHARE {
        return None;
    }
    // Transactions that were due in an expected outage may be missing.
    let severity = invalid_or_caveat(max_share < RATE_INVALID_BELOW_SHARE && !expects_outage(run));
    let never_started_count = run.measured.never_started;
    // The journal of a killed run does not contain this count, so that 0 means unknown.
    let is_count_known = run.state == RunState::Complete || never_started_count > 0;
    let never_started_text = if is_count_known {
        let due_transactions = count(never_started_count, "due transaction");
        format!("; {due_transactions} had not started at the end")
    } else {
        String::new()
    };
    let finding = format!(
        "{} transactions per second ended, {} of the {} requested{never_started_text}.",
        thousands((ended / run.measured.length_s).round() as u64),
        percent(ended / due),
        thousands((due / run.measured.length_s).round() as u64),
    );
    let advice = "The system is overloaded at this rate, and its response times grow with the \
                  length of the run. Request a lower rate or, if all clients were busy while the \
                  server was not, more clients.";
    new_finding(severity, finding, advice)
}

pub(crate) fn check_never_started(run: &Run) -> Option<Finding> {
    let due = due_count(run)?;
    let never_started_count = run.measured.never_started;
    if never_started_count == 0 {
        return None;
    }
    let share = never_started_count as f64 / due;
    let severity = caveat_or_note(share > NEVER_STARTED_CAVEAT_SHARE);
    let verb = if never_started_count == 1 { "was" } else { "were" };
    new_finding(
        severity,
        format!(
            "{} {verb} waiting for a free client at the end of the window, {} of all: the response \
             times do not contain them.",
            count(never_started_count, "due transaction"),
            percent(share),
        ),
        "Use more clients, so that one is free when a transaction is due, or a lower rate.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{healthy, healthy_at_rate};
    use Severity::{Caveat, Invalid, Note};
    use prony_store::Severity;

    fn severity_with(committed: u64, arrival: Arrival) -> Option<Severity> {
        let mut run = healthy_at_rate();
        run.drive.arrival = Some(arrival);
        run.measured.kinds[0].committed = committed;
        check_rate(&run).map(|check| check.severity)
    }

    #[test]
    fn an_expected_outage_makes_a_missed_rate_a_caveat() {
        let mut run = healthy_at_rate();
        run.measured.kinds[0].committed = 700_000;
        assert_eq!(check_rate(&run).unwrap().severity, Invalid);
        run.plan = serde_json::json!({ "run": { "expect_outage": true } });
        assert_eq!(check_rate(&run).unwrap().severity, Caveat);
    }

    #[test]
    fn severity_follows_the_share_of_the_rate() {
        // 960,000 transactions are due.
        assert_eq!(severity_with(960_000, Arrival::Even), None);
        assert_eq!(severity_with(951_000, Arrival::Even), None);
        assert_eq!(severity_with(950_000, Arrival::Even), Some(Caveat));
        assert_eq!(severity_with(911_000, Arrival::Even), Some(Invalid));
        // Three standard deviations are 2,939 transactions.
        assert_eq!(severity_with(948_000, Arrival::Poisson), None);
        assert_eq!(severity_with(947_000, Arrival::Poisson), Some(Caveat));
    }

    #[test]
    fn failed_transactions_count_as_started() {
        let mut run = healthy_at_rate();
        run.measured.kinds[0].committed = 900_000;
        run.measured.kinds[0].failed = 60_000;
        assert_eq!(check_rate(&run), None);
    }

    #[test]
    fn few_arrivals_may_scatter() {
        let mut run = healthy_at_rate();
        run.drive.rate_tps = Some(2.0);
        run.measured.kinds[0].committed = 100;
        assert_eq!(
            check_rate(&run),
            None,
            "120 are expected, with three standard deviations of 33"
        );
        run.measured.kinds[0].committed = 70;
        assert!(check_rate(&run).is_some());
    }

    #[test]
    fn the_finding_has_the_figures() {
        let mut run = healthy_at_rate();
        run.measured.kinds[0].committed = 480_000;
        run.measured.never_started = 479_000;
        assert_eq!(
            check_rate(&run).unwrap().finding,
            "8,000 transactions per second ended, 50 % of the 16,000 requested; 479,000 due \
             transactions had not started at the end."
        );
    }

    #[test]
    fn severity_follows_the_share_of_starts() {
        let mut run = healthy_at_rate();
        assert_eq!(check_never_started(&run), None);
        run.measured.never_started = 1;
        assert_eq!(check_never_started(&run).unwrap().severity, Note);
        run.measured.never_started = 9_700;
        assert_eq!(check_never_started(&run).unwrap().severity, Caveat);
    }

    #[test]
    fn a_closed_loop_has_no_rate() {
        let mut run = healthy();
        run.measured.never_started = 5;
        run.measured.kinds[0].committed = 1;
        assert_eq!(check_rate(&run), None);
        assert_eq!(check_never_started(&run), None);
    }
}
