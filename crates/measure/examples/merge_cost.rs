//! Measures what a fleet's coordinator and agents spend on a second of a run:
//! `cargo run --release -p prony-measure --example merge_cost -- [AGENTS [KINDS [TRANSACTIONS]]]`.
//!
//! In: numbers of agents, of kinds of transaction, and of transactions of each kind that an agent ends in a second. Out: the
//! CPU time of an agent for its row, and of the coordinator from the bytes of all rows to the merged row. Must never: time
//! the making of the samples, or print a time without having checked the sum.

use prony_measure::{
    Collector, Interval, IntervalRow, Outcome, PartTotals, ProcessHealth, RecorderLayout,
    RunSchedule, Sample, SerializedRow, ServiceTimeParts,
};

const SECOND_NS: u64 = 1_000_000_000;
const SECONDS: u32 = 8;
/// Threads of an agent.
const THREADS: usize = 16;

/// What an agent records in a second: times over two powers of ten, as a busy server has them.
fn recorded(interval: &mut Interval, agent: u64, kinds: u16, transactions: u64) {
    let start_ns = interval.span.start_ns;
    let mut state = agent * 1_000 + u64::from(interval.span.index) + 1;
    for kind in 0..kinds {
        for _ in 0..transactions {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let share = (state >> 11) as f64 / (1_u64 << 53) as f64;
            let service_ns = (200_000.0 * 100_f64.powf(share * share)) as u64;
            interval.record(&Sample {
                kind,
                outcome: Outcome::Committed,
                scheduled_ns: start_ns,
                started_ns: start_ns,
                ended_ns: start_ns + service_ns,
                connect_ns: 0,
                retries: 0,
                parts: Some(ServiceTimeParts {
                    send_wait_ns: service_ns / 50,
                    server_ns: service_ns - service_ns / 10,
                    client_wait_ns: service_ns / 10 - service_ns / 50,
                    server_is_upper_bound: false,
                }),
            });
        }
    }
}

fn main() {
    let arguments = std::env::args().skip(1).map(|text| text.parse().ok());
    let numbers: Option<Vec<u64>> = arguments.collect();
    let numbers = numbers.expect("usage: merge_cost [AGENTS [KINDS [TRANSACTIONS]]]");
    let number = |index: usize, default: u64| numbers.get(index).copied().unwrap_or(default);
    let (agents, kinds, transactions) = (number(0, 50), number(1, 20) as u16, number(2, 200));
    let schedule = RunSchedule::seconds(0, 0, Some(u64::from(SECONDS) * SECOND_NS));
    let layout = RecorderLayout {
        has_parts: true,
        ..RecorderLayout::closed_loop(kinds.into())
    };
    let threads = vec![THREADS; agents as usize];
    let mut collector = Collector::of_processes(schedule, layout, &threads);
    let mut parts = vec![PartTotals::new(0); agents as usize];
    let (mut agent_ms, mut coordinator_ms) = (Vec::new(), Vec::new());
    for second in 0..SECONDS {
        let mut row = IntervalRow {
            interval: Box::new(Interval::new(schedule.span(second), layout)),
            worker_cpu_ns: vec![Some(1); THREADS],
            process: ProcessHealth::default(),
        };
        let mut sent = Vec::new();
        for agent in 0..agents {
            row.interval.clear();
            recorded(&mut row.interval, agent, kinds, transactions);
            let since_ms = cpu_ms();
            sent.push(serde_json::to_vec(&SerializedRow::new(&row, 0)).expect("memory"));
            agent_ms.push(cpu_ms() - since_ms);
        }
        let since_ms = cpu_ms();
        for (agent, bytes) in sent.iter().enumerate() {
            let row: SerializedRow = serde_json::from_slice(bytes).expect("a row");
            let row = row
                .into_row_of_run(&schedule, layout, u64::MAX)
                .expect("a row of the run");
            parts[agent].add(&row);
            collector.add_row(agent, &row);
        }
        let merged = collector.next_row().expect("a row");
        let time_ms = cpu_ms() - since_ms;
        coordinator_ms.push(time_ms);
        let all = merged.interval.all_kinds().expect("kinds");
        let expected = agents * u64::from(kinds) * transactions;
        assert_eq!((all.committed, all.response.samples), (expected, expected));
        assert_eq!(all.response.histogram.len(), expected);
        let bytes: usize = sent.iter().map(Vec::len).sum();
        println!(
            "second {second}: {} KB of {agents} agents merged in {time_ms:.1} ms",
            bytes / 1_000
        );
        collector.recycle(merged);
    }
    println!(
        "median: an agent spends {:.2} ms of a second on its row, the coordinator {:.1} ms on {agents} agents with {kinds} \
         kinds of transaction",
        median(agent_ms),
        median(coordinator_ms)
    );
}

/// CPU time of this thread, which other processes disturb less than the clock.
fn cpu_ms() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the time is valid for the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
