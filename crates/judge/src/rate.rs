//! Whether an open loop kept its rate.
//!
//! In: a Run. Out: `rate`, `never-started`. Must never: blame chance on the server; the number of
//! Poisson arrivals in a window scatters by its square root.

use crate::thresholds::{NEVER_STARTED_CAVEAT, RATE_CAVEAT, RATE_CHANCE_SIGMAS, RATE_INVALID};
use crate::words::{count, percent, thousands};
use crate::{all, ended, found};
use prony_store::{Check, Run, Severity, State};

/// Transactions that should have started in the window; absent in a closed loop.
fn due(run: &Run) -> Option<f64> {
    let rate_tps = run.drive.rate_tps.filter(|_| run.drive.pace == "rate")?;
    let due = rate_tps * run.measured.seconds;
    (due > 0.0).then_some(due)
}

pub(crate) fn achieved(run: &Run) -> Option<Check> {
    let figures = all(run)?;
    let due = due(run)?;
    let done = ended(figures) as f64;
    let chance = match run.drive.arrival.as_deref() {
        Some("even") => 0.0,
        _ => RATE_CHANCE_SIGMAS * due.sqrt(),
    };
    // One transaction may be due just before the end and be right to end after it.
    let favourable = (done + chance + 1.0) / due;
    let severity = match favourable {
        share if share < RATE_INVALID => Severity::Invalid,
        share if share < RATE_CAVEAT => Severity::Caveat,
        _ => return None,
    };
    // A run that was cut off, as its journal tells of it, does not know its end.
    let waiting = match (run.state, run.measured.never_started) {
        (State::Complete, waiting) | (_, waiting @ 1..) => {
            let waiting = count(waiting, "due transaction");
            format!("; {waiting} had not started at the end")
        }
        _ => String::new(),
    };
    let finding = format!(
        "{} transactions a second ended, {} of the {} asked for{waiting}.",
        thousands((done / run.measured.seconds).round() as u64),
        percent(done / due),
        thousands((due / run.measured.seconds).round() as u64),
    );
    let advice = "The system is overloaded at this rate, and its response times grow with the \
                  length of the run. Ask for a lower rate; or, if all clients were busy while the \
                  server was not, for more clients.";
    found("rate", severity, finding, advice)
}

pub(crate) fn never_started(run: &Run) -> Option<Check> {
    let due = due(run)?;
    let waiting = run.measured.never_started;
    if waiting == 0 {
        return None;
    }
    let share = waiting as f64 / due;
    let severity = if share > NEVER_STARTED_CAVEAT {
        Severity::Caveat
    } else {
        Severity::Note
    };
    let verb = if waiting == 1 { "was" } else { "were" };
    found(
        "never-started",
        severity,
        format!(
            "{} {verb} waiting for a free client at the end of the window, {} of all: the response \
             times do not contain them.",
            count(waiting, "due transaction"),
            percent(share),
        ),
        "Use more clients, so that one is free when a transaction is due, or a lower rate.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{healthy, healthy_at_rate};

    fn at(committed: u64, arrival: &str) -> Option<Severity> {
        let mut run = healthy_at_rate();
        run.drive.arrival = Some(arrival.to_owned());
        run.measured.kinds[0].committed = committed;
        achieved(&run).map(|check| check.severity)
    }

    #[test]
    fn the_rate_by_its_share() {
        // Due are 960,000.
        assert_eq!(at(960_000, "even"), None);
        assert_eq!(at(951_000, "even"), None);
        assert_eq!(at(950_000, "even"), Some(Severity::Caveat));
        assert_eq!(at(911_000, "even"), Some(Severity::Invalid));
        // Three standard deviations are 2939.
        assert_eq!(at(948_000, "poisson"), None);
        assert_eq!(at(947_000, "poisson"), Some(Severity::Caveat));
    }

    #[test]
    fn failed_transactions_were_started_too() {
        let mut run = healthy_at_rate();
        run.measured.kinds[0].committed = 900_000;
        run.measured.kinds[0].failed = 60_000;
        assert_eq!(achieved(&run), None);
    }

    #[test]
    fn few_arrivals_scatter() {
        let mut run = healthy_at_rate();
        run.drive.rate_tps = Some(2.0);
        run.measured.kinds[0].committed = 100;
        assert_eq!(achieved(&run), None, "120 expected, give or take 33");
        run.measured.kinds[0].committed = 70;
        assert!(achieved(&run).is_some());
    }

    #[test]
    fn the_finding_has_the_figures() {
        let mut run = healthy_at_rate();
        run.measured.kinds[0].committed = 480_000;
        run.measured.never_started = 479_000;
        assert_eq!(
            achieved(&run).unwrap().finding,
            "8,000 transactions a second ended, 50 % of the 16,000 asked for; 479,000 due \
             transactions had not started at the end."
        );
    }

    #[test]
    fn never_started_by_its_share() {
        let mut run = healthy_at_rate();
        assert_eq!(never_started(&run), None);
        run.measured.never_started = 1;
        assert_eq!(never_started(&run).unwrap().severity, Severity::Note);
        run.measured.never_started = 9_700;
        assert_eq!(never_started(&run).unwrap().severity, Severity::Caveat);
    }

    #[test]
    fn a_closed_loop_has_no_rate() {
        let mut run = healthy();
        run.measured.never_started = 5;
        run.measured.kinds[0].committed = 1;
        assert_eq!(achieved(&run), None);
        assert_eq!(never_started(&run), None);
    }
}
