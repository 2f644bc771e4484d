//! Whether several machines drove one load together.
//!
//! In: a Run. Out: `machines`. Must never: accept a run without a machine that began it.

use crate::checks::{Finding, new_finding};
use crate::formatting::time;
use crate::thresholds::{START_SKEW_MAX_NS, START_SKEW_MAX_SHARE};
use prony_store::{ClientMachine, MachinePart, Run, Severity};

/// The machines of a run with their numbers, if several drove it or one at the other end of a command.
fn parts(run: &Run) -> impl Iterator<Item = (usize, &ClientMachine, &MachinePart)> {
    let machines = (1..).zip(&run.machines);
    machines.filter_map(|(number, machine)| Some((number, machine, machine.part.as_ref()?)))
}

pub(crate) fn check_machines(run: &Run) -> Option<Finding> {
    check_lost(run).or_else(|| check_start_skew(run))
}

fn check_lost(run: &Run) -> Option<Finding> {
    let mut lost = parts(run).filter_map(|(number, machine, part)| {
        let reason = part.lost.as_ref()?;
        Some(format!(
            "machine {number} ({}): {reason}",
            machine.host.name
        ))
    });
    let first = lost.next()?;
    let lost: Vec<String> = std::iter::once(first).chain(lost).collect();
    new_finding(
        Severity::Invalid,
        format!(
            "A part of the load was lost, with {}. The figures are those of the rest.",
            lost.join("; ")
        ),
        "Mend the machine or the way to it, and run it again.",
    )
}

/// Checks how far apart the machines may have begun.
fn check_start_skew(run: &Run) -> Option<Finding> {
    let skews = parts(run).filter_map(|(_, _, part)| part.start_skew_max_ns());
    let skew_ns = skews.max()?;
    let limit_ns = (run.measured.length_s * START_SKEW_MAX_SHARE * 1e9) as u64;
    if skew_ns <= START_SKEW_MAX_NS && (skew_ns <= limit_ns || run.measured.length_s <= 0.0) {
        return None;
    }
    new_finding(
        Severity::Caveat,
        format!(
            "A machine may have begun up to {} apart from the common start, so that the load was smaller or larger \
             at both ends.",
            time(skew_ns as f64)
        ),
        "Use --warmup, so that no start is in the window, and a coordinator near the machines.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::healthy;

    fn run_of(parts: [MachinePart; 2]) -> Run {
        let mut run = healthy();
        let machines = parts.into_iter().map(|part| ClientMachine {
            part: Some(part),
            ..run.machines[0].clone()
        });
        run.machines = machines.collect();
        run
    }

    fn part(start_delay_ns: u64) -> MachinePart {
        MachinePart {
            start_delay_ns: Some(start_delay_ns),
            clock_drift_ns: Some(-100_000),
            round_trip_ns: 400_000,
            ..MachinePart::default()
        }
    }

    #[test]
    fn a_lost_machine_makes_a_run_invalid_and_a_late_one_gives_it_a_caveat() {
        assert_eq!(
            check_machines(&run_of([part(200_000), part(4_700_000)])),
            None
        );
        let late = check_machines(&run_of([part(200_000), part(4_700_001)]));
        assert_eq!(late.map(|finding| finding.severity), Some(Severity::Caveat));
        let lost = MachinePart {
            lost: Some("it has not answered for 3 s".to_owned()),
            ..MachinePart::default()
        };
        let lost = check_machines(&run_of([part(200_000), lost])).expect("a finding");
        assert_eq!(lost.severity, Severity::Invalid);
        assert!(
            lost.finding.contains("with machine 2 ("),
            "{}",
            lost.finding
        );
        assert!(
            lost.finding.contains("has not answered for 3 s"),
            "{}",
            lost.finding
        );
    }
}
