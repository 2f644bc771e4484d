//! What recording one sample costs. Not a test: the figure depends on the machine.
//! Run with `cargo run --release -p prony-measure --example record_cost`.

use prony_measure::{Outcome, Parts, Recorder, Sample, Schedule, Shape};
use std::hint::black_box;
use std::time::Instant;

const SAMPLES: u64 = 20_000_000;

fn cost_ns(shape: Shape) -> f64 {
    let mut recorder = Recorder::new(Schedule::seconds(0, 0, None), shape);
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let began = Instant::now();
    for number in 0..SAMPLES {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // 50 microseconds and a long tail, at a hundred thousand a second.
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
            parts: shape.parts.then_some(Parts {
                send_wait_ns: 2_000 + (random >> 40 & 0xff),
                server_ns: service_ns - 10_000,
                client_wait_ns: 8_000 - (random >> 40 & 0xff),
                upper_bound: false,
            }),
        }));
        if let Some(mut interval) = recorder.take() {
            interval.clear();
            recorder.give_back(interval);
        }
    }
    black_box(&mut recorder);
    began.elapsed().as_nanos() as f64 / SAMPLES as f64
}

fn main() {
    let closed = Shape::closed(1);
    println!("closed loop, no stamps: {:.1} ns a sample", cost_ns(closed));
    let parts = Shape {
        parts: true,
        ..closed
    };
    println!("closed loop, with parts: {:.1} ns a sample", cost_ns(parts));
    let open = Shape {
        open_loop: true,
        ..parts
    };
    println!("open loop, with parts: {:.1} ns a sample", cost_ns(open));
}
