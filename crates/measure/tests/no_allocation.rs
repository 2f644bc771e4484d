//! Recording a sample does not allocate, nor does rotating intervals if they are given back.

use prony_allocations::allocations_of;
use prony_measure::{
    Collector, ErrorClass, ExcludedTransactions, Outcome, Recorder, RecorderLayout, RunSchedule,
    Sample, ServiceTimeParts,
};

fn sample(ended_ns: u64, outcome: Outcome) -> Sample {
    let started_ns = ended_ns.saturating_sub(90_000 + ended_ns % 7_919);
    Sample {
        kind: (ended_ns % 2) as u16,
        outcome,
        scheduled_ns: started_ns.saturating_sub(5_000),
        started_ns,
        ended_ns,
        connect_ns: 10,
        retries: 1,
        parts: Some(ServiceTimeParts {
            send_wait_ns: 1_000,
            server_ns: 80_000,
            client_wait_ns: 9_000,
            server_is_upper_bound: false,
        }),
    }
}

#[test]
fn the_allocator_counts() {
    let mut number = None;
    assert_eq!(allocations_of(|| number = Some(Box::new(7u64))), 1);
    drop(number);
}

#[test]
fn recording_and_rotating_allocate_nothing() {
    let layout = RecorderLayout {
        kinds: 2,
        open_loop: true,
        has_parts: true,
        has_connect_time: true,
        ..RecorderLayout::closed_loop(2)
    };
    let second_ns = 1_000_000_000;
    let schedule = RunSchedule::seconds(0, 2 * second_ns, Some(20 * second_ns));
    let mut recorder = Recorder::new(schedule, layout);
    let mut collector = Collector::new(schedule, layout, 1);
    let mut rotations = 0;
    for second in 0..30 {
        let allocations = allocations_of(|| {
            for number in 0..1_000u64 {
                let outcome = match number % 10 {
                    0 => Outcome::Failed(ErrorClass::Other, *b"23505"),
                    1 => Outcome::RolledBack,
                    2 => Outcome::Skipped,
                    3 => Outcome::Failed(ErrorClass::Deadlock, [b'0' + (second % 10) as u8; 5]),
                    _ => Outcome::Committed,
                };
                recorder.record(&sample(second * second_ns + number * 1_000_000, outcome));
                recorder.record_iteration(100 + number, 3);
                recorder.timestamps().usable += 1;
            }
        });
        assert_eq!(allocations, 0, "second {second}");
        let mut finished = None;
        let allocations = allocations_of(|| {
            assert_eq!(recorder.rotate((second + 1) * second_ns), second < 22);
            finished = recorder.take_finished();
        });
        assert_eq!(allocations, 0, "rotation after second {second}");
        if let Some(interval) = finished {
            recorder.give_back(collector.add(0, interval));
            rotations += 1;
        }
        while let Some(row) = collector.next_row() {
            collector.recycle(row);
        }
    }
    recorder.finish(30 * second_ns, ExcludedTransactions::default());
    assert_eq!(rotations, 22);
}
