//! Faults: each changes a healthy run as the fault would, at the size that [`FOUND_FAULTS`] promises to find.

use crate::found_faults::FOUND_FAULTS;
use crate::healthy::Load;
use crate::random::Random;
use prony_store::{
    ClientHealth, ErrorClass, ErrorCount, Event, EventKind, Gap, MachineSecond, Run, Second,
    Severity,
};

pub struct Fault {
    /// The fault with its size, as in [`FOUND_FAULTS`].
    pub name: &'static str,
    pub load: Load,
    /// The least severity of the finding.
    pub severity: Severity,
    /// Changes a healthy run.
    pub cause: fn(&mut Run, &mut Random),
}

use Load::{ClosedLoop, OpenLoop};
use Severity::{Caveat, Invalid};

const fn fault(
    name: &'static str,
    load: Load,
    severity: Severity,
    cause: fn(&mut Run, &mut Random),
) -> Fault {
    Fault {
        name,
        load,
        severity,
        cause,
    }
}

impl Fault {
    /// Ids of the checks, at least one of which must find the fault.
    pub fn found_by(&self) -> &'static [&'static str] {
        let promise = FOUND_FAULTS.iter().find(|(name, _)| *name == self.name);
        promise.expect("a promise").1
    }
}

pub const FAULTS: &[Fault] = &[
    fault("throughput falls by 15 %", ClosedLoop, Caveat, |run, _| {
        scale_throughput(run, |at| 1.0 - 0.15 * at);
    }),
    fault(
        "throughput falls by 15 % in a step",
        ClosedLoop,
        Caveat,
        |run, random| {
            let step = random.between(0.3, 0.7);
            scale_throughput(run, |at| if at < step { 1.0 } else { 0.85 });
        },
    ),
    fault(
        "throughput falls by 60 % in a step",
        ClosedLoop,
        Caveat,
        |run, random| {
            let step = random.between(0.3, 0.7);
            scale_throughput(run, |at| if at < step { 1.0 } else { 0.4 });
        },
    ),
    fault(
        "throughput a third lower in the first fifth",
        ClosedLoop,
        Caveat,
        |run, _| {
            scale_throughput(run, |at| if at < 0.2 { 0.66 } else { 1.0 });
        },
    ),
    fault(
        "throughput in waves of 30 %",
        ClosedLoop,
        Caveat,
        |run, _| {
            scale_throughput(run, |at| 1.0 + 0.3 * (at * 15.0).sin());
        },
    ),
    fault("response times rise by 20 %", OpenLoop, Caveat, |run, _| {
        scale_latency(run, |at| [1.0 + 0.2 * at; 2]);
    }),
    fault(
        "response times rise 200 times",
        OpenLoop,
        Invalid,
        |run, _| {
            scale_latency(run, |at| [200_f64.powf(at); 2]);
        },
    ),
    fault(
        "response times rise by 25 % in a step",
        OpenLoop,
        Caveat,
        |run, random| {
            let step = random.between(0.3, 0.7);
            scale_latency(run, |at| [if at < step { 1.0 } else { 1.25 }; 2]);
        },
    ),
    fault(
        "the 99th percentile rises by 60 %",
        OpenLoop,
        Caveat,
        |run, _| {
            scale_latency(run, |at| [1.0, 1.0 + 0.6 * at]);
        },
    ),
    fault(
        "stalls of 0.25 s every 5 s",
        ClosedLoop,
        Caveat,
        |run, random| {
            let first = random.between(0.0, 4.0) as usize;
            for second in run.series.iter_mut().skip(first).step_by(5) {
                second.gaps = vec![Gap {
                    at_s: second.at_s + 0.4 + random.between(0.0, 0.1),
                    length_s: 0.25,
                }];
                second.max_ns = second.max_ns.max(250_000_000);
            }
        },
    ),
    fault(
        "one client stopped for 5 % of the window",
        ClosedLoop,
        Caveat,
        |run, random| {
            let stalled_s = 0.05 * run.measured.length_s;
            let at = random.between(stalled_s, run.measured.length_s - 2.0) as usize + 1;
            run.series[at].max_ns = (stalled_s * 1e9) as u64;
        },
    ),
    fault(
        "stalls of 2 s in 6 % of the seconds",
        ClosedLoop,
        Invalid,
        add_stalls,
    ),
    fault(
        "times missing for 4 % of the clients",
        ClosedLoop,
        Invalid,
        |run, random| {
            run.measured.kinds[0].busy_s *= 1.0 - random.between(0.04, 0.06);
        },
    ),
    fault(
        "times counted twice for 4 % of the clients",
        ClosedLoop,
        Invalid,
        |run, random| {
            run.measured.kinds[0].busy_s *= 1.0 + random.between(0.04, 0.06);
        },
    ),
    fault(
        "4 % of the clients start late, threads without a CPU",
        ClosedLoop,
        Invalid,
        |run, _| {
            run.measured.kinds[0].busy_s *= 0.955;
            set_run_queue_share(run, 0.5);
        },
    ),
    fault(
        "2 % of the transactions fail",
        ClosedLoop,
        Invalid,
        |run, _| {
            let all = &mut run.measured.kinds[0];
            all.failed = all.committed / 49;
            let count = all.failed;
            run.measured.errors.push(ErrorCount {
                class: ErrorClass::Deadlock,
                count,
                ..ErrorCount::default()
            });
        },
    ),
    fault("8 % of the rate missing", OpenLoop, Invalid, |run, _| {
        scale_throughput(run, |_| 0.92);
    }),
    fault("a thread 98 % busy", ClosedLoop, Invalid, |run, random| {
        health(run).busiest_thread_share = Some(random.between(0.98, 1.0));
    }),
    fault(
        "a thread 30 % busy and 70 % waiting for a CPU",
        ClosedLoop,
        Invalid,
        |run, _| {
            health(run).busiest_thread_share = Some(0.3);
            set_run_queue_share(run, 0.7);
        },
    ),
    fault(
        "threads waiting for a CPU for 8 %",
        ClosedLoop,
        Caveat,
        |run, _| {
            set_run_queue_share(run, 0.08);
        },
    ),
    fault(
        "replies waiting for 15 % of the time",
        ClosedLoop,
        Caveat,
        |run, _| {
            let all = &mut run.measured.kinds[0];
            let split = all.parts.as_mut().expect("the sample has a split");
            split.client_wait.mean_ns = 0.15 * all.service.mean_ns;
            split.server.mean_ns = 0.83 * all.service.mean_ns;
        },
    ),
    fault(
        "4 % of the client's CPUs stolen",
        ClosedLoop,
        Caveat,
        |run, _| {
            health(run).steal_share = Some(0.04);
        },
    ),
    fault(
        "4 % of the server's CPUs stolen",
        ClosedLoop,
        Caveat,
        |run, random| {
            vary_machine(run, random, |machine, random| {
                machine.steal_share = Some(random.between(0.03, 0.06))
            });
        },
    ),
    fault(
        "others use 25 % of the server's CPUs",
        ClosedLoop,
        Caveat,
        |run, random| {
            vary_machine(run, random, |machine, random| {
                machine.busy_share = Some(random.between(0.6, 0.9));
                machine.server_cpu_s = Some(16.0 * (machine.busy_share.unwrap_or(0.0) - 0.25));
            });
        },
    ),
    fault(
        "the client stopped by a CPU limit for 5 %",
        ClosedLoop,
        Caveat,
        |run, random| {
            let observed = run.observed.as_mut().expect("it was observed");
            for row in &mut observed.series {
                let client = row.client.get_or_insert_default();
                client.throttled_s = Some(random.between(0.03, 0.07));
            }
        },
    ),
    fault(
        "the client's network link 85 % used",
        ClosedLoop,
        Caveat,
        |run, random| {
            let observed = run.observed.as_mut().expect("it was observed");
            for row in &mut observed.series {
                let client = row.client.get_or_insert_default();
                client.link_busy_share = Some(random.between(0.7, 1.0));
            }
        },
    ),
    fault(
        "the server is missing 3 % of the commits",
        ClosedLoop,
        Invalid,
        |run, _| {
            // Statistics may lag by a second, which is a larger share of a shorter run.
            let after = run
                .observed
                .as_mut()
                .and_then(|observed| observed.after.as_mut());
            let commits = &mut after.expect("it was observed").commits;
            *commits = commits.map(|commits| (commits as f64 * 0.96) as u64);
        },
    ),
    fault("a restart of the server", ClosedLoop, Invalid, |run, _| {
        let after = run
            .observed
            .as_mut()
            .and_then(|observed| observed.after.as_mut());
        let after = after.expect("it was observed");
        after.started_unix_s = after.started_unix_s.map(|at| at + 100.0);
        after.commits = Some(0);
    }),
    fault(
        "connections lost for 6 % of the window",
        ClosedLoop,
        Invalid,
        |run, _| {
            let (from_s, length_s) = (run.window.warmup_s + 20.0, run.measured.length_s);
            run.events.push(Event {
                at_s: from_s,
                until_s: Some(from_s + 0.065 * length_s),
                kind: EventKind::Outage,
                count: u64::from(run.drive.clients),
                ..Event::default()
            });
        },
    ),
    fault(
        "1 % of the timestamps unusable",
        ClosedLoop,
        Caveat,
        |run, _| {
            run.timing.doubtful = run.timing.with_timestamp / 100;
        },
    ),
    fault(
        "observing takes 4 % of the machine",
        ClosedLoop,
        Caveat,
        |run, _| {
            let load_s = run.window.warmup_s + run.measured.length_s;
            let cost = run
                .observed
                .as_mut()
                .and_then(|observed| observed.cost.as_mut());
            cost.expect("it was observed").server_cpu_s = Some(0.04 * 16.0 * load_s);
        },
    ),
];

fn health(run: &mut Run) -> &mut ClientHealth {
    &mut run.machine_mut().health
}

/// Makes the client's threads wait for a CPU for this share of their time.
fn set_run_queue_share(run: &mut Run, share: f64) {
    let thread_s = f64::from(run.drive.threads) * run.measured.length_s;
    health(run).run_queue_s = Some(share * thread_s);
}

/// Changes each second of the series; `change` gets the position in the window, 0 to 1, and the second.
fn change_seconds(run: &mut Run, change: impl Fn(f64, &mut Second)) {
    let count = run.series.len() as f64;
    for (at, second) in run.series.iter_mut().enumerate() {
        change(at as f64 / count, second);
    }
}

/// Multiplies the throughput of each second by a factor that depends on its position in the window, 0 to 1.
/// In a closed loop the response times change accordingly.
fn scale_throughput(run: &mut Run, factor: impl Fn(f64) -> f64) {
    let closed = !run.drive.open_loop;
    change_seconds(run, |at, second| {
        let factor = factor(at);
        second.committed = (second.committed as f64 * factor) as u64;
        if closed {
            for ns in [&mut second.p50_ns, &mut second.p95_ns, &mut second.p99_ns] {
                *ns = ns.map(|ns| (ns as f64 / factor) as u64);
            }
        }
    });
    let committed = run.series.iter().map(|second| second.committed).sum();
    let all = &mut run.measured.kinds[0];
    let share = committed as f64 / all.committed as f64;
    all.committed = committed;
    all.tps *= share;
    let observed = run.observed.as_mut().expect("it was observed");
    let after = observed.after.as_mut().expect("it was observed");
    after.commits = after.commits.map(|commits| (commits as f64 * share) as u64);
}

/// Multiplies the median and the upper percentiles of each second by factors that depend on its position.
fn scale_latency(run: &mut Run, factors: impl Fn(f64) -> [f64; 2]) {
    change_seconds(run, |at, second| {
        let [middle, upper] = factors(at);
        second.mean_ns *= middle;
        second.p50_ns = second.p50_ns.map(|ns| (ns as f64 * middle) as u64);
        second.p95_ns = second.p95_ns.map(|ns| (ns as f64 * upper) as u64);
        second.p99_ns = second.p99_ns.map(|ns| (ns as f64 * upper) as u64);
    });
}

/// Removes the transactions from two of every 33 seconds.
fn add_stalls(run: &mut Run, random: &mut Random) {
    let first = random.between(3.0, 28.0) as usize;
    for (at, second) in run.series.iter_mut().enumerate() {
        if at % 33 == first || at % 33 == first + 1 {
            second.committed = 0;
        }
    }
}

fn vary_machine(run: &mut Run, random: &mut Random, change: fn(&mut MachineSecond, &mut Random)) {
    let observed = run.observed.as_mut().expect("it was observed");
    for row in &mut observed.series {
        change(row.machine.get_or_insert_default(), random);
    }
}
