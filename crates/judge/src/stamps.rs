//! How far the split of the response time can be trusted.
//!
//! In: a Run. Out: `stamps`, `clock-steps`, `no-split`. Must never: speak of a split where there
//! was nothing to split.

use crate::thresholds::BAD_STAMPS;
use crate::words::{count, percent, share};
use crate::{all, found};
use prony_store::{Check, Run, Severity};

pub(crate) fn bad_stamps(run: &Run) -> Option<Check> {
    let timing = &run.timing;
    let bad = timing.impossible + timing.doubtful;
    // Discarded stamps are not among the usable ones.
    let bad_share = share(bad, timing.stamped + timing.impossible);
    if bad_share <= BAD_STAMPS {
        return None;
    }
    found(
        "stamps",
        Severity::Caveat,
        format!(
            "{} of the kernel's time stamps cannot be relied on: {} impossible and discarded, {} \
             doubtful because the clock had moved.",
            percent(bad_share),
            timing.impossible,
            timing.doubtful,
        ),
        "Read send wait, server time and client wait with care; response and service times do not \
         depend on stamps. See whether a time service is stepping the clock.",
    )
}

pub(crate) fn clock_steps(run: &Run) -> Option<Check> {
    let steps = run.timing.clock_steps;
    if steps == 0 {
        return None;
    }
    found(
        "clock-steps",
        Severity::Note,
        format!(
            "The offset between the clocks of Prony and of the kernel's stamps moved by more than \
             a microsecond {}.",
            count(steps, "time")
        ),
        "Nothing, unless it is often: then let the time service settle before a run.",
    )
}

pub(crate) fn no_split(run: &Run) -> Option<Check> {
    let figures = all(run)?;
    if figures.split.is_some() || figures.committed == 0 {
        return None;
    }
    let reason = match run.timing.split.trim_start_matches("unavailable") {
        "" => String::new(),
        reason => format!(" ({})", reason.trim_matches([' ', ':', ',', '(', ')'])),
    };
    let advice = if run.drive.network.starts_with("unix") {
        // An eighth of the clients estimates the mean well and leaves the load as it is.
        let sample = (run.drive.clients / 8).max(1);
        format!(
            "Unix sockets give no time stamps. Where the server listens on TCP as well, \
             --tcp-sample {sample} estimates the split on {}.",
            count(u64::from(sample), "client")
        )
    } else {
        "See whether this kernel and network device give receive stamps (SO_TIMESTAMPING)."
            .to_owned()
    };
    found(
        "no-split",
        Severity::Note,
        format!(
            "How the response time splits into the server's part and the client's is not \
             known{reason}: it includes the time that replies waited in the client."
        ),
        advice,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::healthy;

    #[test]
    fn stamps_by_their_share() {
        let mut run = healthy();
        run.timing.stamped = 100_000;
        run.timing.impossible = 50;
        run.timing.doubtful = 50;
        assert_eq!(bad_stamps(&run), None);
        run.timing.doubtful = 450;
        let check = bad_stamps(&run).unwrap();
        assert_eq!(check.severity, Severity::Caveat);
        assert!(check.finding.starts_with("0.50 % of"), "{check:?}");
        run.timing = Default::default();
        assert_eq!(bad_stamps(&run), None, "no stamps, no bad ones");
    }

    #[test]
    fn steps_of_the_clock() {
        let mut run = healthy();
        assert_eq!(clock_steps(&run), None);
        run.timing.clock_steps = 2;
        assert!(clock_steps(&run).unwrap().finding.ends_with("2 times."));
    }

    #[test]
    fn a_run_without_a_split() {
        let mut run = healthy();
        assert_eq!(no_split(&run), None);
        run.measured.kinds[0].split = None;
        run.timing.split = "unavailable: unix sockets give no stamps".to_owned();
        run.drive.network = "unix".to_owned();
        let check = no_split(&run).unwrap();
        assert_eq!(check.severity, Severity::Note);
        assert!(
            check
                .finding
                .contains("known (unix sockets give no stamps):"),
            "{check:?}"
        );
        assert!(check.advice.contains("--tcp-sample 8 "), "{check:?}");
        run.drive.network = "tcp".to_owned();
        run.timing.split = "unavailable".to_owned();
        let check = no_split(&run).unwrap();
        assert!(check.finding.contains("not known: it"), "{check:?}");
        assert!(!check.advice.contains("--tcp-sample"), "{check:?}");
        run.measured.kinds[0].committed = 0;
        assert_eq!(no_split(&run), None);
    }
}
