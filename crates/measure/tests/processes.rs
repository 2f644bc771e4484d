//! Rows that several processes merged add up to what one process would have merged.

use prony_measure::{
    CollectedFigures, Collector, Counter, Interval, IntervalRow, Outcome, PartTotals,
    RecorderLayout, RunSchedule, Sample, SerializedRow, ServiceTimeParts, Tally,
};

const S: u64 = 1_000_000_000;
/// The process of each worker: the first has one, the second two.
const PROCESS_OF_WORKER: [usize; 3] = [0, 1, 1];

fn schedule() -> RunSchedule {
    RunSchedule::seconds(7 * S, S, Some(3 * S))
}

fn layout() -> RecorderLayout {
    RecorderLayout {
        kinds: 2,
        open_loop: true,
        has_parts: true,
        ..RecorderLayout::closed_loop(2)
    }
}

/// What a worker recorded in an interval; the last one is the drain.
fn interval(worker: u64, index: u32) -> Box<Interval> {
    let mut interval = Interval::new(schedule().span(index), layout());
    let mut state = worker * 31 + u64::from(index) + 1;
    for number in 0..40 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let time_ns = state >> 40;
        let scheduled_ns = interval.span.start_ns + number * S / 50;
        interval.record(&Sample {
            kind: (state >> 20) as u16 % 2,
            outcome: match number % 9 {
                0 => Outcome::RolledBack,
                1 => Outcome::Skipped,
                _ => Outcome::Committed,
            },
            scheduled_ns,
            started_ns: scheduled_ns + time_ns / 3,
            ended_ns: scheduled_ns + time_ns,
            connect_ns: 0,
            retries: 0,
            parts: Some(ServiceTimeParts {
                send_wait_ns: time_ns / 30,
                server_ns: time_ns / 3,
                client_wait_ns: time_ns / 5,
                server_is_upper_bound: number % 7 == 0,
            }),
        });
    }
    interval.health.cpu_user_ns = Some(1_000 * (worker + 1));
    interval.health.connections = worker as u32 + 1;
    interval.excluded.never_started = worker;
    Box::new(interval)
}

/// Runs a collector for these workers to the end of the drain.
fn collect(workers: &[u64]) -> (Vec<IntervalRow>, CollectedFigures) {
    let mut collector = Collector::new(schedule(), layout(), workers.len());
    let mut rows = Vec::new();
    for index in 0..5 {
        for (number, worker) in workers.iter().enumerate() {
            // A worker that got no CPU for a second delivers nothing.
            if (*worker, index) != (1, 2) {
                collector.add(number, interval(*worker, index));
            }
        }
        rows.extend(std::iter::from_fn(|| collector.next_row()));
    }
    let collected = collector.finish();
    rows.extend(collected.rows.iter().cloned());
    (rows, collected)
}

/// The exact part of a tally: counts, sums, and the counts of the histograms.
type ExactTally = (Vec<u64>, Vec<u128>, Vec<Vec<u64>>);

fn exact<C: Counter>(kinds: &[Tally<C>]) -> Vec<ExactTally> {
    let kinds = kinds.iter().map(|tally| {
        let times = [
            Some(&tally.response),
            tally.service.as_ref(),
            tally.lag.as_ref(),
            tally.parts.as_ref().map(|parts| &parts.server),
            Some(&tally.rolled_back_response),
        ];
        let times = || times.into_iter().flatten();
        let counts = times().map(|times| {
            let recorded = times.histogram.iter_recorded();
            recorded
                .map(|value| value.count_at_value().as_u64())
                .collect()
        });
        let outcomes = [
            tally.committed,
            tally.rolled_back,
            tally.failed,
            tally.skipped,
        ];
        let sums = times().map(|times| times.sum_ns).chain([tally.busy_ns]);
        (outcomes.to_vec(), sums.collect(), counts.collect())
    });
    kinds.collect()
}

#[test]
fn rows_of_processes_add_up_to_those_of_their_workers() {
    let (rows, together) = collect(&[0, 1, 2]);
    let mut collector = Collector::of_processes(schedule(), layout(), &[1, 2]);
    let mut parts = Vec::new();
    for process in 0..2 {
        let mut part = PartTotals::new(schedule().window_start_ns());
        // As it arrives from another machine.
        let mut add = |row: &IntervalRow| {
            let sent = serde_json::to_string(&SerializedRow::new(row, schedule().start_ns));
            let received: SerializedRow = serde_json::from_str(&sent.expect("JSON")).expect("JSON");
            let row = received.into_row_of_run(&schedule(), layout(), u64::MAX);
            let row = row.expect("a row of the run");
            part.add(&row);
            collector.add_row(process, &row);
        };
        let workers: Vec<u64> = (0..3)
            .filter(|worker| PROCESS_OF_WORKER[*worker as usize] == process)
            .collect();
        let (rows, collected) = collect(&workers);
        assert_eq!(rows.len(), 4, "a warm-up of one second, and three");
        rows.iter().for_each(&mut add);
        let drain = IntervalRow {
            interval: collected.drain.expect("all workers reached it"),
            worker_cpu_ns: Vec::new(),
            process: Default::default(),
        };
        add(&drain);
        let alone = collected.measured.all_kinds();
        assert_eq!(part.committed, alone.committed);
        assert_eq!(part.response_mean_ns(), Some(alone.response.mean_ns()));
        let server = alone.parts.map(|parts| parts.server.mean_ns());
        assert_eq!(part.server_mean_ns(), server);
        assert_eq!(part.health, collected.measured.health);
        assert_eq!(part.worker_cpu_ns, collected.measured.worker_cpu_ns);
        assert_eq!(part.seconds(), collected.measured.seconds());
        parts.push(part);
    }
    let sum: u64 = parts.iter().map(|part| part.committed).sum();
    assert_eq!(sum, together.measured.all_kinds().committed);
    let mut merged: Vec<IntervalRow> = std::iter::from_fn(|| collector.next_row()).collect();
    let collected = collector.finish();
    merged.extend(collected.rows.iter().cloned());
    assert_eq!(merged.len(), rows.len());
    for (merged, row) in merged.iter().zip(&rows) {
        assert!(exact(&merged.interval.kinds) == exact(&row.interval.kinds));
        assert_eq!(merged.interval.span, row.interval.span);
        assert_eq!(merged.interval.health, row.interval.health);
        assert_eq!(merged.interval.excluded, row.interval.excluded);
        assert_eq!(merged.worker_cpu_ns, row.worker_cpu_ns);
    }
    for (merged, totals) in [
        (Some(&collected.measured), Some(&together.measured)),
        (collected.warmup.as_ref(), together.warmup.as_ref()),
    ] {
        let (merged, totals) = merged.zip(totals).expect("both phases");
        assert!(exact(&merged.kinds) == exact(&totals.kinds));
        assert_eq!(
            (merged.start_ns, merged.end_ns),
            (totals.start_ns, totals.end_ns)
        );
        assert_eq!(merged.health, totals.health);
        assert_eq!(merged.excluded, totals.excluded);
        assert_eq!(merged.worker_cpu_ns, totals.worker_cpu_ns);
    }
    assert_eq!(collected.measured.excluded.never_started, 3 + 2 * 4);
}
