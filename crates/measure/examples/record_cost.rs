//! Measures the cost of recording one sample. Not a test: the figure depends on the machine. Run with
//! `cargo run --release -p prony-measure --example record_cost`.

use prony_measure::{
    Collector, ExcludedTransactions, Outcome, Recorder, RecorderLayout, RunSchedule, Sample,
    ServiceTimeParts,
};
use std::hint::black_box;
use std::time::Instant;

const SAMPLES: u64 = 20_000_000;

/// Cost of recording one sample, nanoseconds.
fn record_cost_ns(layout: RecorderLayout) -> f64 {
    let mut recorder = Recorder::new(RunSchedule::seconds(0, 0, None), layout);
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let began = Instant::now();
    for number in 0..SAMPLES {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // Service times of 50 microseconds with a long tail, at a hundred thousand transactions per second.
        let service_ns = 50_000 + (random & 0x3fff) * (1 + ((random >> 20) & 63) / 60 * 40);
        let ended_ns = number * 10_000;
        recorder.record(black_box(&Sample {
            kind: 0,
            outcome: Outcome::Committed,
            scheduled_ns: ended_ns.saturating_sub(service_ns + 2_000),
            started_ns: ended_ns.saturating_sub(service_ns),
            ended_ns,
            connect_ns: 0,
            retries: 0,
            parts: layout.has_parts.then_some(ServiceTimeParts {
                send_wait_ns: 2_000 + (random >> 40 & 0xff),
                server_ns: service_ns - 10_000,
                client_wait_ns: 8_000 - (random >> 40 & 0xff),
                server_is_upper_bound: false,
            }),
        }));
        if let Some(mut interval) = recorder.take_finished() {
            interval.clear();
            recorder.give_back(interval);
        }
    }
    black_box(&mut recorder);
    began.elapsed().as_nanos() as f64 / SAMPLES as f64
}

/// Cost of collecting one second of two workers, microseconds.
fn collect_cost_us(layout: RecorderLayout) -> f64 {
    let second_ns = 1_000_000_000;
    let schedule = RunSchedule::seconds(0, 0, None);
    let mut collector = Collector::new(schedule, layout, 2);
    let seconds = 200;
    let mut spent_ns = 0;
    let mut recorders = [(); 2].map(|()| Recorder::new(schedule, layout));
    for second in 0..seconds {
        for (worker, recorder) in recorders.iter_mut().enumerate() {
            for number in 0..20_000 {
                let ended_ns: u64 = second * second_ns + number * 50_000;
                let service_ns = 50_000 + number * 7_919 % 1_000_000;
                let started_ns = ended_ns.saturating_sub(service_ns);
                recorder.record(&Sample {
                    kind: 0,
                    outcome: Outcome::Committed,
                    scheduled_ns: started_ns,
                    started_ns,
                    ended_ns,
                    connect_ns: 0,
                    retries: 0,
                    parts: layout.has_parts.then_some(ServiceTimeParts {
                        server_ns: service_ns,
                        ..ServiceTimeParts::default()
                    }),
                });
            }
            recorder.rotate((second + 1) * second_ns);
            let began = Instant::now();
            while let Some(interval) = recorder.take_finished() {
                recorder.give_back(collector.add(worker, interval));
            }
            while let Some(row) = collector.next_row() {
                collector.recycle(row);
            }
            spent_ns += began.elapsed().as_nanos();
        }
    }
    recorders[0].finish(seconds * second_ns, ExcludedTransactions::default());
    spent_ns as f64 / seconds as f64 / 1e3
}

fn main() {
    let closed = RecorderLayout::closed_loop(1);
    println!(
        "closed loop, no timestamps: {:.1} ns per sample",
        record_cost_ns(closed)
    );
    let with_parts = RecorderLayout {
        has_parts: true,
        ..closed
    };
    println!(
        "closed loop, with parts: {:.1} ns per sample",
        record_cost_ns(with_parts)
    );
    let open_loop = RecorderLayout {
        open_loop: true,
        ..with_parts
    };
    println!(
        "open loop, with parts: {:.1} ns per sample",
        record_cost_ns(open_loop)
    );
    println!(
        "collecting a second of two workers: {:.0} us",
        collect_cost_us(closed)
    );
    println!("the same with parts: {:.0} us", collect_cost_us(with_parts));
}
