//! Healthy runs: how figures vary if neither the server nor the client has a fault.
//!
//! Scatter and correlation of the seconds were measured with pgbench, tpcb and select-only, on an idle
//! machine and on one with other work: the throughput of seconds scatters by 0.5 to 3 %, and neighbouring
//! seconds correlate by up to 0.5; 99th percentiles scatter by 3 to 12 %, with peaks.

use crate::random::Random;
use crate::sample::{healthy_at_rate, observed_run};
use prony_store::{Event, EventKind, Gap, Run, Second, SecondPhase};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Each client starts its next transaction when its previous one has ended.
    ClosedLoop,
    /// Transactions start at a rate.
    OpenLoop,
}

/// A healthy run of 60 to 600 s on a server of its own, with all observations.
pub fn simulate(random: &mut Random, load: Load) -> Run {
    let length_s = random.between(60.0, 600.0).round();
    simulate_seconds(random, load, length_s, None)
}

/// A healthy run of a closed loop on a virtual machine: its throughput wanders by this share, and neighbouring seconds have
/// this correlation.
pub fn simulate_wandering(random: &mut Random, length_s: f64, scatter: f64, memory: f64) -> Run {
    simulate_seconds(random, Load::ClosedLoop, length_s, Some((scatter, memory)))
}

fn simulate_seconds(
    random: &mut Random,
    load: Load,
    length: f64,
    wandering: Option<(f64, f64)>,
) -> Run {
    let mut run = observed_run();
    let tps = random.between(3_000.0, 30_000.0);
    let clients = (16.0 * random.between(1.0, 8.0)).round();
    run.drive.clients = clients as u32;
    run.drive.threads = (clients / 16.0).ceil() as u32;
    if load == Load::OpenLoop {
        run.drive = healthy_at_rate().drive;
        run.drive.rate_tps = Some(tps);
    }
    run.measured.length_s = length;
    run.window.measured_s = length;
    let (scatter, memory) =
        wandering.unwrap_or_else(|| (random.between(0.005, 0.03), random.between(0.0, 0.5)));
    let throughput = random.series(length as usize, scatter, memory);
    fill_series(
        random,
        &mut run,
        load,
        (tps, clients / tps * 1e9),
        &throughput,
    );
    add_hiccups(&mut Random(random.0 ^ 7), &mut run);
    fill_totals(random, &mut run, load);
    fill_machines(random, &mut run);
    run
}

/// In one of thirty seconds all clients wait for up to 0.15 s, and in one of fifty a client for up to 0.6 s: a disk, or a
/// machine with other work.
fn add_hiccups(random: &mut Random, run: &mut Run) {
    for second in &mut run.series {
        if random.chance(1.0 / 30.0) {
            let gap = Gap {
                at_s: second.at_s + random.between(0.0, 0.8),
                length_s: random.between(0.05, 0.15),
            };
            second.max_ns = second.max_ns.max((gap.length_s * 1e9) as u64);
            second.gaps.push(gap);
        }
        if random.chance(1.0 / 50.0) {
            let waited_ns = random.between(0.1e9, 0.6e9) as u64;
            second.max_ns = second.max_ns.max(waited_ns);
        }
    }
}

/// Fills in the seconds of the window, in which figures change only by chance; `throughput` has the relative deviations.
fn fill_series(
    random: &mut Random,
    run: &mut Run,
    load: Load,
    (tps, mean_ns): (f64, f64),
    throughput: &[f64],
) {
    let count = throughput.len();
    let (scatter, memory) = (random.between(0.005, 0.03), random.between(0.0, 0.5));
    let response = random.series(count, scatter, memory);
    let (scatter, memory) = (random.between(0.03, 0.12), random.between(0.0, 0.4));
    let tail = random.series(count, scatter, memory);
    let peaks = random.between(0.0, 0.05);
    let warmup_s = run.window.warmup_s;
    run.series = (0..count)
        .map(|at| {
            // In an open loop, arrivals scatter by the square root of their number.
            let (committed, p50) = match load {
                Load::ClosedLoop => (tps * (1.0 + throughput[at]), 1.0 / (1.0 + throughput[at])),
                Load::OpenLoop => (tps + tps.sqrt() * random.normal(), 1.0 + response[at]),
            };
            let peak = if random.chance(peaks) { random.between(1.2, 6.0) } else { 1.0 };
            let p99_ns = 3.0 * mean_ns * p50 * (tail[at]).exp() * peak;
            Second {
                at_s: warmup_s + at as f64,
                length_s: 1.0,
                phase: SecondPhase::Measured,
                committed: committed.round() as u64,
                mean_ns: mean_ns * p50,
                p50_ns: Some((0.9 * mean_ns * p50) as u64),
                p95_ns: Some((0.6 * p99_ns) as u64),
                p99_ns: Some(p99_ns as u64),
                max_ns: (2.0 * p99_ns) as u64,
                connections: run.drive.clients,
                ..Second::default()
            }
        })
        .collect();
}

/// Fills in the totals that follow from the seconds, as the client and the server count them.
fn fill_totals(random: &mut Random, run: &mut Run, load: Load) {
    let committed: u64 = run.series.iter().map(|second| second.committed).sum();
    let busy_s = f64::from(run.drive.clients) * run.measured.length_s;
    let all = &mut run.measured.kinds[0];
    let mean_ns = match load {
        Load::ClosedLoop => busy_s / committed as f64 * 1e9,
        Load::OpenLoop => {
            run.series.iter().map(|second| second.mean_ns).sum::<f64>() / run.series.len() as f64
        }
    };
    all.committed = committed;
    all.tps = committed as f64 / run.measured.length_s;
    all.busy_s = match load {
        Load::ClosedLoop => busy_s * (1.0 + random.between(-0.004, 0.004)),
        Load::OpenLoop => committed as f64 * mean_ns / 1e9,
    };
    for latency in [&mut all.response, &mut all.service] {
        (latency.samples, latency.mean_ns) = (committed, mean_ns);
        latency.p50_ns = Some((0.9 * mean_ns) as u64);
        latency.p99_ns = Some((3.0 * mean_ns) as u64);
        latency.max_ns = (20.0 * mean_ns) as u64;
    }
    let split = all.parts.as_mut().expect("the sample has one");
    let wait = random.between(0.0, 0.08);
    split.send_wait.mean_ns = 0.02 * mean_ns;
    split.client_wait.mean_ns = wait * mean_ns;
    split.server.mean_ns = (0.98 - wait) * mean_ns;
    for part in [
        &mut split.send_wait,
        &mut split.server,
        &mut split.client_wait,
    ] {
        part.samples = committed;
    }
    run.timing.with_timestamp = 7 * committed;
    let warmup = run.warmup.as_mut().expect("the sample has one");
    warmup.kinds[0].committed = (run.measured.kinds[0].tps * 10.0) as u64;
    let client = committed + warmup.kinds[0].committed;
    let observed = run.observed.as_mut().expect("the sample has one");
    let after = observed.after.as_mut().expect("the sample has one");
    after.commits = Some(1_000 + (client as f64 * (1.0 + random.between(-0.004, 0.004))) as u64);
    let round_trip = observed.round_trip.as_mut().expect("the sample has one");
    round_trip.p50_ns = (mean_ns * random.between(0.02, 0.3)) as u64;
    round_trip.p99_ns = Some(2 * round_trip.p50_ns);
}

/// Fills in the figures of the machines, which are not overloaded, and a checkpoint.
fn fill_machines(random: &mut Random, run: &mut Run) {
    let (length_s, threads) = (run.measured.length_s, f64::from(run.drive.threads));
    let health = &mut run.machine_mut().health;
    health.busiest_thread_share = Some(random.between(0.02, 0.8));
    health.run_queue_s = Some(threads * length_s * random.between(0.0, 0.03));
    health.steal_share = Some(random.between(0.0, 0.015));
    let observed = run.observed.as_mut().expect("the sample has one");
    observed.series.truncate(10 + length_s as usize);
    let busy = random.between(0.1, 0.95);
    let server = random.between(0.02, 0.12);
    let steal = random.between(0.0, 0.015);
    let (client, throttled) = (random.between(0.02, 0.6), random.between(0.0, 0.005));
    for row in &mut observed.series {
        let machine = row.machine.get_or_insert_default();
        machine.busy_share = Some(busy);
        // The remainder is interrupts and housekeeping.
        machine.server_cpu_s = Some(16.0 * (busy - server).max(0.0));
        machine.steal_share = Some(steal);
        let machine = row.client.get_or_insert_default();
        (machine.busy_share, machine.throttled_s) = (Some(client), Some(throttled));
    }
    observed.events = vec![Event {
        at_s: 11.0,
        until_s: Some(10.0 + length_s * 0.9),
        kind: EventKind::Checkpoint,
        ..Event::default()
    }];
}
