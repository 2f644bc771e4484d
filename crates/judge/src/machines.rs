//! Whether several machines drove one load together, and whether half of them would have.
//!
//! In: a Run, or two. Out: `machines`, or a sentence. Must never: accept a run without a machine that began it.

use crate::checks::{Finding, caveat, invalid, note};
use crate::formatting::time;
use crate::thresholds::{
    CLIENT_PROOF_MAX_LOSS, MACHINES_MAX_CPU_DIFFERENCE, MACHINES_MAX_RATIO, START_SKEW_MAX_NS,
    START_SKEW_MAX_SHARE,
};
use prony_store::{ClientMachine, MachinePart, Run};

/// The machines of a run with their numbers, from 1, and their parts of the load. Only machines that an agent drove have a
/// part: there are none if Prony drove all clients itself.
fn parts(run: &Run) -> impl Iterator<Item = (usize, &ClientMachine, &MachinePart)> {
    let machines = (1..).zip(&run.machines);
    machines.filter_map(|(number, machine)| Some((number, machine, machine.part.as_ref()?)))
}

pub(crate) fn check_machines(run: &Run) -> Option<Finding> {
    check_lost(run)
        .or_else(|| check_start_skew(run))
        .or_else(|| check_apart(run))
        .or_else(|| check_imbalance(run))
}

/// Looks for machines whose threads are much busier than those of another one.
fn check_imbalance(run: &Run) -> Option<Finding> {
    let shares = parts(run).filter_map(|(number, machine, _)| {
        let share = machine.health.busiest_thread_share?;
        Some((share, format!("machine {number} ({})", machine.host.name)))
    });
    let mut shares: Vec<(f64, String)> = shares.collect();
    shares.sort_by(|a, b| a.0.total_cmp(&b.0));
    let [(least, idle), .., (most, busy)] = &shares[..] else {
        return None;
    };
    if most - least <= MACHINES_MAX_CPU_DIFFERENCE {
        return None;
    }
    note(
        format!(
            "The busiest thread of {busy} used {:.0} % of a CPU, that of {idle} {:.0} %.",
            most * 100.0,
            least * 100.0
        ),
        "Divide the clients by what the machines can do, as with --agent 'weight=3 ssh vm1'.",
    )
}

/// Whether half of the machines reached the throughput of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientProof {
    pub sentence: String,
    /// Whether half of the machines drove so much less that the client limited the throughput.
    pub was_client_limited: bool,
}

/// Compares a run with one of the same load from half of its machines.
pub fn client_proof(whole: &Run, half: &Run) -> ClientProof {
    let tps = |run: &Run| -> f64 { parts(run).map(|(.., part)| part.tps).sum() };
    let (of_all, of_half) = (tps(whole), tps(half));
    let loss = if of_all > 0.0 { 1.0 - of_half / of_all } else { 0.0 };
    let was_client_limited = loss > CLIENT_PROOF_MAX_LOSS;
    let verdict = if was_client_limited {
        "the client was a limit: use more machines, and prove it again"
    } else {
        "the client was not the limit"
    };
    ClientProof {
        sentence: format!(
            "{verdict}, as far as one pair of runs can say. {} machines drove {of_all:.1} transactions per second, {} of them {of_half:.1} ({:+.1} %)",
            whole.machines.len(),
            half.machines.len(),
            -loss * 100.0
        ),
        was_client_limited,
    }
}

/// Looks for a machine whose figures lie far from those of the others together.
fn check_apart(run: &Run) -> Option<Finding> {
    let all: Vec<_> = parts(run).collect();
    let apart = all.iter().find_map(|(number, machine, part)| {
        let (mut tps, mut clients) = (0.0, 0.0);
        let (mut server_ns, mut committed) = (0.0, 0.0);
        for (_, _, other) in all.iter().filter(|(other, ..)| other != number) {
            tps += other.tps;
            clients += f64::from(other.clients);
            if let Some(mean_ns) = other.server_mean_ns {
                server_ns += mean_ns * other.committed as f64;
                committed += other.committed as f64;
            }
        }
        let name = format!("machine {number} ({})", machine.host.name);
        let (of_each, of_others) = (part.tps / f64::from(part.clients), tps / clients);
        if of_each * MACHINES_MAX_RATIO < of_others {
            return Some(format!(
                "A client of {name} committed {of_each:.1} transactions per second, one of the others {of_others:.1}."
            ));
        }
        let (mean_ns, of_others_ns) = (part.server_mean_ns?, server_ns / committed);
        (mean_ns > of_others_ns * MACHINES_MAX_RATIO).then(|| {
            format!(
                "The mean server time of {name} was {}, that of the others {}.",
                time(mean_ns),
                time(of_others_ns)
            )
        })
    })?;
    note(
        apart,
        "Is it slower than the others, further from the server, or busy with something else? Its table is in the full result.",
    )
}

fn check_lost(run: &Run) -> Option<Finding> {
    let lost = parts(run).filter_map(|(number, machine, part)| {
        let reason = part.lost.as_ref()?;
        Some(format!(
            "machine {number} ({}): {reason}",
            machine.host.name
        ))
    });
    let texts: Vec<String> = lost.collect();
    if texts.is_empty() {
        return None;
    }
    invalid(
        format!(
            "A part of the load was lost, with {}. The figures are those of the rest.",
            texts.join("; ")
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
    caveat(
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
    use prony_assertions::TextAssertions;
    use prony_store::Severity;

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
    fn an_uneven_division_is_named() {
        let mut run = run_of([part(0), part(0)]);
        run.machines[0].health.busiest_thread_share = Some(0.95);
        run.machines[1].health.busiest_thread_share = Some(0.6);
        assert_eq!(check_machines(&run), None);
        run.machines[1].health.busiest_thread_share = Some(0.5);
        let uneven = check_machines(&run).expect("one");
        assert_eq!(uneven.severity, Severity::Note);
        uneven.finding.assert_contains("machine 1 (");
        let finding = &uneven.finding;
        finding.assert_contains("95 % of a CPU, that of machine 2");
    }

    #[test]
    fn half_of_the_machines_prove_that_the_client_was_not_the_limit() {
        let with = |tps: f64| MachinePart { tps, ..part(0) };
        let whole = run_of([with(500.0), with(500.0)]);
        for (tps, is_limit) in [(1_010.0, false), (951.0, false), (949.0, true)] {
            let mut half = run_of([with(tps), with(0.0)]);
            half.machines.truncate(1);
            let proof = client_proof(&whole, &half);
            assert_eq!(proof.was_client_limited, is_limit, "{}", proof.sentence);
            proof.sentence.assert_contains("2 machines drove 1000.0");
        }
    }

    #[test]
    fn a_machine_whose_figures_lie_apart_is_named() {
        let with = |tps: f64, server_mean_ns: f64| MachinePart {
            clients: 8,
            committed: 100,
            tps,
            server_mean_ns: Some(server_mean_ns),
            ..part(0)
        };
        assert_eq!(
            check_machines(&run_of([with(100.0, 1e6), with(60.0, 1.9e6)])),
            None
        );
        let slow = check_machines(&run_of([with(100.0, 1e6), with(49.0, 1e6)])).expect("one");
        assert_eq!(slow.severity, Severity::Note);
        slow.finding.assert_contains("machine 2 (");
        let far = check_machines(&run_of([with(60.0, 2.1e6), with(100.0, 1e6)])).expect("one");
        far.finding.assert_contains("server time of machine 1 (");
        // A single machine has no others.
        let mut single = run_of([with(1.0, 1e9), with(1.0, 1.0)]);
        single.machines.truncate(1);
        assert_eq!(check_machines(&single), None);
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
        lost.finding.assert_contains("with machine 2 (");
        lost.finding.assert_contains("has not answered for 3 s");
    }
}
