//! Every sample is counted once, whichever worker recorded it and whenever it ended.

use prony_measure::{
    BatchScheduling, CollectedFigures, Collector, ErrorClass, ExcludedTransactions, Health,
    IntervalRow, Outcome, Recorder, RecorderLayout, RunPhase, RunSchedule, Sample,
    ServiceTimeParts, Tally,
};
use proptest::prelude::*;

const S: u64 = 1_000_000_000;

fn sample_ending_at(ended_ns: u64) -> Sample {
    Sample {
        kind: 0,
        outcome: Outcome::Committed,
        scheduled_ns: ended_ns.saturating_sub(1_000),
        started_ns: ended_ns.saturating_sub(1_000),
        ended_ns,
        connect_ns: 0,
        retries: 0,
        parts: None,
    }
}

fn deliver(recorder: &mut Recorder, worker: usize, collector: &mut Collector) {
    while let Some(interval) = recorder.take_finished() {
        recorder.give_back(collector.add(worker, interval));
    }
}

/// Records samples on one worker and returns all rows with the result.
fn record_on_one_worker(
    schedule: RunSchedule,
    samples: &[Sample],
    end_ns: u64,
) -> (Vec<IntervalRow>, CollectedFigures) {
    let layout = RecorderLayout::closed_loop(1);
    let mut recorder = Recorder::new(schedule, layout);
    let mut collector = Collector::new(schedule, layout, 1);
    for sample in samples {
        recorder.record(sample);
        deliver(&mut recorder, 0, &mut collector);
    }
    recorder.finish(end_ns, ExcludedTransactions::default());
    deliver(&mut recorder, 0, &mut collector);
    let mut rows: Vec<IntervalRow> = std::iter::from_fn(|| collector.next_row()).collect();
    let collected = collector.finish();
    rows.extend(collected.rows.iter().cloned());
    (rows, collected)
}

fn committed_in(row: &IntervalRow) -> u64 {
    row.interval.all_kinds().map_or(0, |all| all.committed)
}

#[test]
fn a_sample_on_a_boundary_belongs_to_the_later_interval() {
    let schedule = RunSchedule::seconds(0, 0, Some(3 * S));
    let ends = [S - 1, S, 2 * S, 3 * S - 1, 3 * S];
    let (rows, collected) = record_on_one_worker(schedule, &ends.map(sample_ending_at), 3 * S + 5);
    assert_eq!(rows.iter().map(committed_in).collect::<Vec<_>>(), [1, 1, 2]);
    assert_eq!(collected.measured.all_kinds().committed, 4);
    assert_eq!(collected.measured.excluded.unfinished, 1);
    assert_eq!(collected.measured.excluded.counted_in_later_interval, 0);
    let started_ns = sample_ending_at(3 * S).started_ns;
    let in_window_ns = 3 * S - started_ns;
    assert_eq!(collected.measured.excluded.in_flight_ns, in_window_ns);
    assert!(in_window_ns > 0);
    assert_eq!(collected.measured.seconds(), 3.0);
    assert!((collected.drain_s - 5e-9).abs() < 1e-15);
}

#[test]
fn empty_seconds_have_rows() {
    let schedule = RunSchedule::seconds(0, 0, None);
    let (rows, collected) = record_on_one_worker(
        schedule,
        &[sample_ending_at(5), sample_ending_at(4 * S + 5)],
        6 * S + S / 2,
    );
    assert_eq!(
        rows.iter().map(committed_in).collect::<Vec<_>>(),
        [1, 0, 0, 0, 1, 0, 0]
    );
    let indexes: Vec<u32> = rows.iter().map(|row| row.interval.span.index).collect();
    assert_eq!(indexes, [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(rows[6].interval.span.length_ns(), S / 2);
    assert_eq!(collected.measured.seconds(), 6.5);
    assert_eq!(collected.drain_s, 0.0);
    assert!(collected.warmup.is_none());
}

#[test]
fn a_run_that_ends_on_a_boundary_has_no_empty_row() {
    let schedule = RunSchedule::seconds(0, 0, None);
    let (rows, collected) = record_on_one_worker(schedule, &[sample_ending_at(5)], S);
    assert_eq!(rows.len(), 1);
    assert_eq!(collected.measured.seconds(), 1.0);
}

#[test]
fn the_warm_up_has_separate_figures_and_intervals() {
    let schedule = RunSchedule::seconds(7, 3 * S / 2, Some(2 * S));
    let ends = [7 + S, 6 + 3 * S / 2, 7 + 3 * S / 2, 7 + 3 * S];
    let (rows, collected) = record_on_one_worker(schedule, &ends.map(sample_ending_at), 8 * S);
    let phases: Vec<RunPhase> = rows.iter().map(|row| row.interval.span.phase).collect();
    use RunPhase::{Measured, Warmup};
    assert_eq!(phases, [Warmup, Warmup, Measured, Measured]);
    let warmup = collected.warmup.expect("there is a warm-up");
    assert_eq!((warmup.all_kinds().committed, warmup.seconds()), (2, 1.5));
    assert_eq!(collected.measured.all_kinds().committed, 2);
    assert_eq!(collected.measured.seconds(), 2.0);
}

#[test]
fn samples_with_impossible_times_are_counted_nevertheless() {
    let schedule = RunSchedule::seconds(S, 0, Some(3 * S));
    let mut backwards = sample_ending_at(2 * S);
    backwards.started_ns = 3 * S;
    backwards.scheduled_ns = 3 * S;
    // The first sample ended before the load began, the second in the second interval, the third in the first
    // interval, which has already been taken.
    let samples = [sample_ending_at(5), backwards, sample_ending_at(S + 5)];
    let (rows, collected) = record_on_one_worker(schedule, &samples, 4 * S);
    assert_eq!(rows.iter().map(committed_in).collect::<Vec<_>>(), [1, 2, 0]);
    let all = collected.measured.all_kinds();
    assert_eq!((all.committed, all.response.min_ns), (3, 0));
    assert_eq!(collected.measured.excluded.counted_in_later_interval, 1);
    assert_eq!(
        collected.measured.seconds(),
        3.0,
        "the empty last second counts too"
    );
}

#[test]
fn a_late_sample_is_counted_in_its_interval_until_that_is_taken() {
    let schedule = RunSchedule::seconds(0, 0, Some(S));
    let mut recorder = Recorder::new(schedule, RecorderLayout::closed_loop(1));
    assert!(recorder.rotate(S + 3), "the drain begins");
    recorder.record(&sample_ending_at(S - 1));
    let interval = recorder
        .take_finished()
        .expect("the window's only interval");
    assert_eq!(interval.kinds[0].committed, 1);
    assert_eq!(interval.excluded, ExcludedTransactions::default());
    recorder.record(&sample_ending_at(S - 1));
    recorder.finish(S + 9, ExcludedTransactions::default());
    let drain = recorder.take_finished().expect("the drain");
    assert_eq!(drain.excluded.unfinished, 1);
    assert_eq!(drain.excluded.counted_in_later_interval, 1);
    assert!(recorder.take_finished().is_none());
}

#[test]
fn a_row_is_complete_once_every_worker_has_delivered_it() {
    let schedule = RunSchedule::seconds(0, 0, None);
    let layout = RecorderLayout::closed_loop(1);
    let mut collector = Collector::new(schedule, layout, 2);
    let mut recorders = [(); 2].map(|()| Recorder::new(schedule, layout));
    recorders[0].record(&sample_ending_at(5));
    recorders[0].rotate(S);
    deliver(&mut recorders[0], 0, &mut collector);
    assert!(collector.next_row().is_none(), "worker 1 has not delivered");
    recorders[1].set_connections(4, 0);
    recorders[1].record(&sample_ending_at(6));
    recorders[1].rotate(2 * S + 1);
    deliver(&mut recorders[1], 1, &mut collector);
    let row = collector.next_row().expect("both delivered");
    assert_eq!(committed_in(&row), 2);
    assert_eq!(row.interval.health.connections, 4);
    assert_eq!(row.worker_cpu_ns.len(), 2);
    assert!(collector.next_row().is_none());
    recorders[0].record(&sample_ending_at(S + 5));
    recorders[0].finish(S + 10, ExcludedTransactions::default());
    deliver(&mut recorders[0], 0, &mut collector);
    collector.end_worker(0);
    assert!(collector.next_row().is_none(), "worker 1 may still deliver");
    assert_eq!(collector.finish().measured.all_kinds().committed, 2 + 1);
}

/// On a busy machine a worker may not run for seconds; other workers deliver the intervals that it skips.
#[test]
fn connections_count_as_up_while_their_worker_gets_no_cpu() {
    let schedule = RunSchedule::seconds(0, 0, Some(5 * S));
    let layout = RecorderLayout::closed_loop(1);
    let mut collector = Collector::new(schedule, layout, 2);
    let rotations_every_second = [S, 2 * S, 3 * S, 4 * S, 5 * S];
    let rare_rotations = [S, 3 * S + 1, 5 * S + 1];
    for (worker, connections, rotations_ns) in
        [(0, 3, &rotations_every_second[..]), (1, 4, &rare_rotations)]
    {
        let mut recorder = Recorder::new(schedule, layout);
        recorder.set_connections(connections, 0);
        for &now_ns in rotations_ns {
            recorder.rotate(now_ns);
            deliver(&mut recorder, worker, &mut collector);
        }
        recorder.finish(5 * S + 2, ExcludedTransactions::default());
        deliver(&mut recorder, worker, &mut collector);
    }
    let rows: Vec<IntervalRow> = std::iter::from_fn(|| collector.next_row()).collect();
    let up = rows.iter().map(|row| row.interval.health.connections);
    assert_eq!(up.collect::<Vec<_>>(), [7; 5]);
    assert_eq!(collector.finish().measured.health.connections, 7);
}

/// Delivers a worker's intervals to the collector, each with the worker's state at that time.
fn deliver_with_state(
    recorder: &mut Recorder,
    worker: usize,
    collector: &mut Collector,
    end_state: Health,
) {
    while let Some(mut interval) = recorder.take_finished() {
        let health = &mut interval.health;
        (health.starts_waiting, health.in_progress) =
            (end_state.starts_waiting, end_state.in_progress);
        health.batch = end_state.batch;
        health.pinned_workers = end_state.pinned_workers;
        recorder.give_back(collector.add(worker, interval));
    }
}

#[test]
fn waiting_starts_are_counted_while_their_worker_gets_no_cpu() {
    let schedule = RunSchedule::seconds(0, 0, Some(4 * S));
    let layout = RecorderLayout::closed_loop(1);
    let mut collector = Collector::new(schedule, layout, 2);
    let end_state = Health {
        starts_waiting: 10,
        in_progress: 2,
        batch: ACTIVE,
        ..Health::default()
    };
    let rotations_every_second = [S, 2 * S, 3 * S, 4 * S];
    let rare_rotations = [S, 4 * S + 1];
    for (worker, rotations_ns) in [(0, &rotations_every_second[..]), (1, &rare_rotations)] {
        let mut recorder = Recorder::new(schedule, layout);
        for &now_ns in rotations_ns {
            recorder.rotate(now_ns);
            deliver_with_state(&mut recorder, worker, &mut collector, end_state);
        }
        recorder.finish(4 * S + 2, ExcludedTransactions::default());
        deliver_with_state(&mut recorder, worker, &mut collector, end_state);
    }
    let rows: Vec<IntervalRow> = std::iter::from_fn(|| collector.next_row()).collect();
    assert_eq!(rows.len(), 4);
    for Health {
        starts_waiting,
        in_progress,
        batch,
        ..
    } in rows.iter().map(|row| row.interval.health)
    {
        assert_eq!((starts_waiting, in_progress, batch.active), (20, 4, 2));
    }
}

const ACTIVE: BatchScheduling = BatchScheduling {
    active: 1,
    reverted: 0,
    refused: 0,
};
const REVERTED: BatchScheduling = BatchScheduling {
    active: 0,
    reverted: 1,
    refused: 0,
};

/// Workers that end by count end at different times; the scheduling of each belongs to the run.
#[test]
fn the_policy_of_a_worker_that_ended_early_is_in_the_totals() {
    let schedule = RunSchedule::seconds(0, 0, None);
    let layout = RecorderLayout::closed_loop(1);
    let mut collector = Collector::new(schedule, layout, 2);
    let mut recorders = [(); 2].map(|()| Recorder::new(schedule, layout));
    for (worker, end_ns, batch) in [(0, 39 * S / 10, REVERTED), (1, 405 * S / 100, ACTIVE)] {
        let recorder = &mut recorders[worker];
        recorder.set_connections(16, 0);
        let end_state = Health {
            batch,
            pinned_workers: 1,
            ..Health::default()
        };
        for second in 1..=4 {
            recorder.rotate((second * S).min(end_ns));
            deliver_with_state(recorder, worker, &mut collector, end_state);
        }
        recorder.finish(end_ns, ExcludedTransactions::default());
        deliver_with_state(recorder, worker, &mut collector, end_state);
        collector.end_worker(worker);
    }
    let rows: Vec<IntervalRow> = std::iter::from_fn(|| collector.next_row()).collect();
    let both_policies = BatchScheduling {
        reverted: 1,
        ..ACTIVE
    };
    let policies = rows.iter().map(|row| row.interval.health.batch);
    assert_eq!(policies.collect::<Vec<_>>(), [both_policies; 5]);
    let up = rows.iter().map(|row| row.interval.health.connections);
    assert_eq!(
        up.collect::<Vec<_>>(),
        [32, 32, 32, 32, 16],
        "the connections of an ended worker are closed"
    );
    let health = collector.finish().measured.health;
    assert_eq!((health.batch, health.pinned_workers), (both_policies, 2));
}

/// In the last second no worker got a CPU, so the scheduling policies of the second before still apply.
#[test]
fn an_empty_last_row_keeps_the_policies() {
    let schedule = RunSchedule::seconds(0, 0, Some(3 * S));
    let layout = RecorderLayout::closed_loop(1);
    let mut collector = Collector::new(schedule, layout, 2);
    let end_state = Health {
        batch: ACTIVE,
        ..Health::default()
    };
    for worker in 0..2 {
        let mut recorder = Recorder::new(schedule, layout);
        recorder.rotate(S);
        recorder.rotate(3 * S + 1);
        recorder.finish(3 * S + 2, ExcludedTransactions::default());
        deliver_with_state(&mut recorder, worker, &mut collector, end_state);
    }
    let collected = collector.finish();
    assert_eq!(collected.rows.len(), 3);
    assert_eq!(collected.measured.health.batch.active, 2);
}

#[test]
fn only_open_loops_record_service_times() {
    let mut tally = Tally::<u32>::new(RecorderLayout::closed_loop(1));
    tally.record(&sample_ending_at(5_000));
    assert!(tally.service.is_none() && tally.parts.is_none() && tally.connect.is_none());
    assert_eq!(tally.service().samples, 1);
    let mut open = Tally::<u32>::new(RecorderLayout {
        open_loop: true,
        has_parts: true,
        ..RecorderLayout::closed_loop(1)
    });
    let mut late = sample_ending_at(5_000);
    late.scheduled_ns = 0;
    late.parts = Some(ServiceTimeParts {
        server_is_upper_bound: true,
        server_ns: 700,
        ..ServiceTimeParts::default()
    });
    open.record(&late);
    assert_eq!(
        (open.response.max_ns, open.service().max_ns),
        (5_000, 1_000)
    );
    let parts = open.parts.expect("requested");
    assert_eq!(
        (parts.server.max_ns, parts.server_times_upper_bound),
        (700, 1)
    );
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        5 => Just(Outcome::Committed),
        1 => Just(Outcome::RolledBack),
        1 => Just(Outcome::Skipped),
        1 => Just(Outcome::Failed(ErrorClass::Deadlock, *b"40P01")),
        1 => Just(Outcome::Failed(ErrorClass::Serialization, *b"40001")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Phases and excluded transactions of all workers add up to the number of samples; the rows add up to
    /// the totals.
    #[test]
    fn every_sample_is_counted_exactly_once(
        mut samples in proptest::collection::vec(
            (0u64..9 * S, 0u64..S, 0usize..3, 0u16..2, any_outcome()), 0..200),
        warmup_ns in 0u64..3 * S,
        window_ns in proptest::option::of(1u64..5 * S),
        deliver_early in any::<bool>(),
    ) {
        let schedule = RunSchedule::seconds(10, warmup_ns, window_ns);
        let layout = RecorderLayout { open_loop: true, ..RecorderLayout::closed_loop(2) };
        let mut collector = Collector::new(schedule, layout, 3);
        let mut recorders = [(); 3].map(|()| Recorder::new(schedule, layout));
        let mut expected = [0u64; 4];
        let (mut warm, mut measured) = (0u64, 0u64);
        samples.sort_by_key(|sample| sample.0);
        let mut rows = Vec::new();
        for &(ended_ns, length_ns, worker, kind, outcome) in &samples {
            let scheduled_ns = ended_ns.saturating_sub(length_ns);
            recorders[worker].record(&Sample {
                kind, outcome, scheduled_ns, started_ns: scheduled_ns + length_ns / 2, ended_ns,
                connect_ns: 0, retries: 0, parts: None,
            });
            let counted = ended_ns < schedule.window_end_ns();
            let index = match outcome {
                Outcome::Committed => 0,
                Outcome::RolledBack => 1,
                Outcome::Failed(..) => 2,
                Outcome::Skipped => 3,
            };
            expected[index] += u64::from(counted);
            let in_warmup = ended_ns < schedule.window_start_ns();
            warm += u64::from(counted && in_warmup);
            measured += u64::from(counted && !in_warmup);
            if deliver_early {
                deliver(&mut recorders[worker], worker, &mut collector);
                rows.extend(std::iter::from_fn(|| collector.next_row()));
            }
        }
        for (worker, recorder) in recorders.iter_mut().enumerate() {
            recorder.finish(9 * S, ExcludedTransactions::default());
            deliver(recorder, worker, &mut collector);
        }
        let collected = collector.finish();
        rows.extend(collected.rows.iter().cloned());
        let counts = |tally: &Tally<u64>| {
            [tally.committed, tally.rolled_back, tally.failed, tally.skipped]
        };
        let total = |counts: [u64; 4]| counts.iter().sum::<u64>();
        let warmup = collected.warmup.as_ref().map_or([0; 4], |warmup| counts(&warmup.all_kinds()));
        let window = counts(&collected.measured.all_kinds());
        prop_assert_eq!(std::array::from_fn::<u64, 4, _>(|i| warmup[i] + window[i]), expected);
        prop_assert_eq!((total(warmup), total(window)), (warm, measured));
        let excluded = collected.measured.excluded;
        prop_assert_eq!(
            excluded.unfinished + excluded.never_started + warm + measured,
            samples.len() as u64
        );
        prop_assert_eq!(excluded.counted_in_later_interval, 0);
        let failed = collected.measured.errors.total()
            + collected.warmup.as_ref().map_or(0, |warmup| warmup.errors.total());
        prop_assert_eq!(failed, expected[2]);
        prop_assert_eq!(rows.iter().map(committed_in).sum::<u64>(), expected[0]);
        for (index, row) in rows.iter().enumerate() {
            prop_assert_eq!(row.interval.span.index as usize, index);
        }
    }
}
