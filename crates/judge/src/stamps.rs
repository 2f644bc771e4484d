//! How far the split of the response time can be trusted.
//!
//! In: a Run. Out: `stamps`, `clock-steps`, `no-split`. Must never: report on the split if no transaction was
//! measured.

use crate::formatting::{count, percent, share};
use crate::thresholds::BAD_STAMPS;
use crate::{all_kinds, new_check};
use prony_store::{Check, Network, Run, Severity, SplitSource};

pub(crate) fn bad_stamps(run: &Run) -> Option<Check> {
    let timing = &run.timing;
    let bad = timing.impossible + timing.doubtful;
    // Discarded stamps are not counted as usable.
    let bad_share = share(bad, timing.stamped + timing.impossible);
    if bad_share <= BAD_STAMPS {
        return None;
    }
    new_check(
        "stamps",
        Severity::Caveat,
        format!(
            "{} of the kernel's time stamps are unreliable: {} impossible and discarded, {} \
             doubtful because the clock had moved.",
            percent(bad_share),
            timing.impossible,
            timing.doubtful,
        ),
        "Interpret send wait, server time and client wait with care; response and service times do not \
         depend on stamps. Check whether a time service is stepping the clock.",
    )
}

pub(crate) fn clock_steps(run: &Run) -> Option<Check> {
    let steps = run.timing.clock_steps;
    if steps == 0 {
        return None;
    }
    new_check(
        "clock-steps",
        Severity::Note,
        format!(
            "The offset between the clocks of Prony and of the kernel's stamps moved by more than \
             a microsecond {}.",
            count(steps, "time")
        ),
        "No action needed, unless it happens often: then let the time service settle before a run.",
    )
}

pub(crate) fn no_split(run: &Run) -> Option<Check> {
    let figures = all_kinds(run)?;
    if figures.split.is_some() || figures.committed == 0 {
        return None;
    }
    let reason = match &run.timing.split {
        SplitSource::Unavailable { reason } if !reason.is_empty() => format!(" ({reason})"),
        _ => String::new(),
    };
    let advice = match run.drive.network {
        Some(Network::Unix | Network::UnixWithTcpSample { .. }) => {
            // An eighth of the clients estimates the mean well and does not change the load.
            let sample = (run.drive.clients / 8).max(1);
            format!(
                "Unix sockets provide no time stamps. If the server also listens on TCP, \
                 --tcp-sample {sample} estimates the split on {}.",
                count(u64::from(sample), "client")
            )
        }
        Some(Network::Tcp) | None => {
            "Check whether this kernel and network device provide receive stamps (SO_TIMESTAMPING)."
                .to_owned()
        }
    };
    new_check(
        "no-split",
        Severity::Note,
        format!(
            "The split of the response time into the server's part and the client's is not \
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
    fn unreliable_stamps_are_a_caveat_above_the_threshold() {
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
    fn clock_steps_are_a_note() {
        let mut run = healthy();
        assert_eq!(clock_steps(&run), None);
        run.timing.clock_steps = 2;
        assert!(clock_steps(&run).unwrap().finding.ends_with("2 times."));
    }

    #[test]
    fn a_missing_split_is_a_note() {
        let mut run = healthy();
        assert_eq!(no_split(&run), None);
        run.measured.kinds[0].split = None;
        run.timing.split = SplitSource::unavailable("unix sockets give no stamps");
        run.drive.network = Some(Network::Unix);
        let check = no_split(&run).unwrap();
        assert_eq!(check.severity, Severity::Note);
        assert!(
            check
                .finding
                .contains("known (unix sockets give no stamps):"),
            "{check:?}"
        );
        assert!(check.advice.contains("--tcp-sample 8 "), "{check:?}");
        run.drive.network = Some(Network::Tcp);
        run.timing.split = SplitSource::default();
        let check = no_split(&run).unwrap();
        assert!(check.finding.contains("not known: it"), "{check:?}");
        assert!(!check.advice.contains("--tcp-sample"), "{check:?}");
        run.measured.kinds[0].committed = 0;
        assert_eq!(no_split(&run), None);
    }
}
