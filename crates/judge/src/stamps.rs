//! How far the split of the service time by kernel timestamps can be trusted.
//!
//! In: a Run. Out: `stamps`, `clock-steps`, `no-split`. Must never: report on the split if no transaction was
//! measured.

use crate::all_kinds;
use crate::checks::{Finding, caveat, note};
use crate::formatting::{count, percent, share};
use crate::thresholds::BAD_TIMESTAMPS_MAX_SHARE;
use prony_store::{Network, Run, ServiceTimePartsSource};

pub(crate) fn check_stamps(run: &Run) -> Option<Finding> {
    let timing = &run.timing;
    // `with_timestamp` counts usable timestamps, doubtful ones included; impossible ones were discarded.
    let all = timing.with_timestamp + timing.impossible;
    let unreliable_share = share(timing.impossible + timing.doubtful, all);
    if unreliable_share <= BAD_TIMESTAMPS_MAX_SHARE {
        return None;
    }
    let source = &timing.parts_source;
    let is_unavailable = matches!(source, ServiceTimePartsSource::Unavailable { .. });
    if is_unavailable && timing.impossible > 0 {
        return caveat(
            format!(
                "{} of the kernel's timestamps are impossible, so the split of the response time into the server's \
                 part and the client's is not reported.",
                percent(share(timing.impossible, all)),
            ),
            "Response and service times do not depend on timestamps. Check whether a time service is stepping the \
             clock, and whether something between client and server (a proxy, a virtual network device) sets them.",
        );
    }
    caveat(
        format!(
            "{} of the kernel's timestamps are unreliable: {} impossible and discarded, {} \
             doubtful because the clock had moved.",
            percent(unreliable_share),
            timing.impossible,
            timing.doubtful,
        ),
        "Interpret send wait, server time and client wait with care; response and service times do not \
         depend on timestamps. Check whether a time service is stepping the clock.",
    )
}

pub(crate) fn check_clock_steps(run: &Run) -> Option<Finding> {
    let steps = run.timing.clock_steps;
    if steps == 0 {
        return None;
    }
    note(
        format!(
            "The offset between the clocks of Prony and of the kernel's timestamps moved by more than \
             a microsecond {}.",
            count(steps, "time")
        ),
        "No action needed, unless it happens often: then let the time service settle before a run.",
    )
}

pub(crate) fn check_no_split(run: &Run) -> Option<Finding> {
    let figures = all_kinds(run)?;
    if figures.parts.is_some() || figures.committed == 0 || check_stamps(run).is_some() {
        return None;
    }
    let reason = match &run.timing.parts_source {
        ServiceTimePartsSource::Unavailable { reason } if !reason.is_empty() => {
            format!(" ({reason})")
        }
        _ => String::new(),
    };
    let advice = match run.drive.network {
        Some(Network::Unix | Network::UnixWithTcpSample { .. }) => {
            // An eighth of the clients estimates the mean well and does not change the load.
            let sample = (run.drive.clients / 8).max(1);
            format!(
                "Unix sockets provide no timestamps. If the server also listens on TCP, \
                 --tcp-sample {sample} estimates the split on {}.",
                count(u64::from(sample), "client")
            )
        }
        Some(Network::Tcp) | None => {
            "Check whether this kernel and network device provide receive timestamps (SO_TIMESTAMPING)."
                .to_owned()
        }
    };
    note(
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
    use prony_assertions::TextAssertions;
    use prony_store::Severity;

    #[test]
    fn unreliable_timestamps_are_a_caveat_above_the_threshold() {
        let mut run = healthy();
        run.timing.with_timestamp = 100_000;
        run.timing.impossible = 50;
        run.timing.doubtful = 50;
        assert_eq!(check_stamps(&run), None);
        run.timing.doubtful = 450;
        let check = check_stamps(&run).unwrap();
        assert_eq!(check.severity, Severity::Caveat);
        check.finding.assert_starts_with("0.50 % of");
        // When most are impossible, the others are no basis for a split.
        run.timing.impossible = 100_000;
        run.remove_unreliable_parts();
        assert!(run.measured.kinds.iter().all(|kind| kind.parts.is_none()));
        let check = check_stamps(&run).unwrap();
        assert_eq!(check.severity, Severity::Caveat);
        check.finding.assert_starts_with("50 % of");
        check.finding.assert_contains("is not reported");
        assert_eq!(check_no_split(&run), None);
        run.timing = Default::default();
        assert_eq!(check_stamps(&run), None, "there are no timestamps");
    }

    #[test]
    fn clock_steps_are_a_note() {
        let mut run = healthy();
        assert_eq!(check_clock_steps(&run), None);
        run.timing.clock_steps = 2;
        let finding = check_clock_steps(&run).unwrap().finding;
        finding.assert_ends_with("2 times.");
    }

    #[test]
    fn a_missing_split_is_a_note() {
        let mut run = healthy();
        assert_eq!(check_no_split(&run), None);
        run.measured.kinds[0].parts = None;
        run.timing.parts_source =
            ServiceTimePartsSource::unavailable("unix sockets have no timestamps");
        run.drive.network = Some(Network::Unix);
        let check = check_no_split(&run).unwrap();
        assert_eq!(check.severity, Severity::Note);
        let finding = &check.finding;
        finding.assert_contains("known (unix sockets have no timestamps):");
        check.advice.assert_contains("--tcp-sample 8 ");
        run.drive.network = Some(Network::Tcp);
        run.timing.parts_source = ServiceTimePartsSource::default();
        let check = check_no_split(&run).unwrap();
        check.finding.assert_contains("not known: it");
        check.advice.assert_lacks("--tcp-sample");
        run.measured.kinds[0].committed = 0;
        assert_eq!(check_no_split(&run), None);
    }
}
