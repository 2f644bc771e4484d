//! Calibrates the search for a highest rate on simulated servers, whose true capacity is known.
//!
//! Transactions start at random, wait in one queue and are served by a number of servers. Each step is a run of 20 s,
//! judged as any run is. The generator has a fixed seed, so that each test is deterministic.

#[allow(dead_code)]
#[path = "simulated/random.rs"]
mod random;
#[allow(dead_code)]
#[path = "../src/sample.rs"]
mod sample;

use hdrhistogram::Histogram;
use prony_judge::capacity::{CapacityState, NextStep, Search, judge_step};
use prony_judge::judge;
use prony_store::{Requirement, Run, Second, SecondPhase, encode_histogram};
use random::Random;

/// Searches of each server.
const SEARCHES: usize = 40;
/// Smallest number of them that must be near the truth.
const MIN_NEAR: usize = 38;
/// Smallest number of intervals that must contain the truth.
const MIN_COVERED: usize = 36;
/// What is near.
const NEAR_SHARE: f64 = 0.03;
/// Steps of a search, as `prony find` has them.
const MAX_STEPS: usize = 13;
const WARMUP_S: f64 = 2.0;
const STEP_S: usize = 20;
const CLIENTS: usize = 64;

/// A queue before servers.
#[derive(Clone, Copy, Debug)]
struct System {
    servers: usize,
    /// Transactions per second of one server.
    rate: f64,
    /// Whether service times are exponential; otherwise they are all the same.
    is_random: bool,
}

impl System {
    /// The share of the transactions that take longer than a time, if service times are exponential: the response time
    /// of M/M/c.
    fn share_above(&self, rate: f64, time_s: f64) -> f64 {
        let load = rate / self.rate;
        let servers = self.servers as f64;
        let mut term = 1.0;
        let mut sum = 1.0;
        for k in 1..self.servers {
            term *= load / k as f64;
            sum += term;
        }
        let full = term * load / servers * servers / (servers - load);
        let waits = full / (sum + full);
        let spare = servers - 1.0 - load;
        let decay = (1.0 - (-self.rate * time_s * spare).exp()) / spare;
        (-self.rate * time_s).exp() * (1.0 + waits * decay)
    }

    /// The rate at which the 99th percentile is this time.
    fn capacity(&self, p99_s: f64) -> f64 {
        let (mut low, mut high) = (0.0, self.servers as f64 * self.rate * 0.999_9);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            match self.share_above(middle, p99_s) < 0.01 {
                true => low = middle,
                false => high = middle,
            }
        }
        low
    }

    /// Response times, each with the time of its end, and the number of transactions that had not started.
    fn respond(&self, random: &mut Random, rate: f64, end_s: f64) -> (Vec<(f64, f64)>, u64) {
        let mut exponential = |rate: f64| -(1.0 - random.uniform()).ln() / rate;
        let mut free_s = vec![0.0_f64; self.servers];
        let (mut responses, mut waiting) = (Vec::new(), 0);
        let mut due_s = exponential(rate);
        while due_s < end_s {
            let server = (0..self.servers)
                .min_by(|a, b| free_s[*a].total_cmp(&free_s[*b]))
                .unwrap();
            let service_s = match self.is_random {
                true => exponential(self.rate),
                false => 1.0 / self.rate,
            };
            free_s[server] = free_s[server].max(due_s) + service_s;
            if free_s[server] < end_s {
                responses.push((free_s[server], free_s[server] - due_s));
            } else {
                waiting += 1;
            }
            due_s += exponential(rate);
        }
        (responses, waiting)
    }

    /// A run at a rate, for so many times the usual length.
    fn run(&self, random: &mut Random, rate: f64, lengths: u32) -> Run {
        let seconds = STEP_S * lengths as usize;
        let end_s = WARMUP_S + seconds as f64;
        let (responses, waiting) = self.respond(random, rate, end_s);
        let mut by_second = vec![Vec::new(); seconds];
        for (at_s, response_s) in responses {
            if at_s >= WARMUP_S {
                let second = ((at_s - WARMUP_S) as usize).min(seconds - 1);
                by_second[second].push((response_s * 1e9) as u64);
            }
        }
        let mut run = sample::healthy_at_rate();
        run.drive.rate_tps = Some(rate);
        (run.measured.length_s, run.window.measured_s) = (seconds as f64, seconds as f64);
        // With each client busy, the others have not started.
        run.measured.never_started = waiting.saturating_sub(CLIENTS as u64);
        let mut histogram = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        for (index, times_ns) in by_second.iter_mut().enumerate() {
            times_ns.sort_unstable();
            times_ns
                .iter()
                .for_each(|ns| histogram.record(*ns).unwrap());
            run.series.push(second(WARMUP_S + index as f64, times_ns));
        }
        let all = &mut run.measured.kinds[0];
        all.committed = histogram.len();
        all.tps = all.committed as f64 / seconds as f64;
        all.response.samples = histogram.len();
        all.response.mean_ns = histogram.mean();
        all.response.p50_ns = Some(histogram.value_at_quantile(0.5));
        all.response.p95_ns = Some(histogram.value_at_quantile(0.95));
        all.response.p99_ns = Some(histogram.value_at_quantile(0.99));
        all.response.histogram = encode_histogram(&histogram);
        run.checks = judge(&run);
        run
    }
}

/// A second with these response times, which are sorted.
fn second(at_s: f64, times_ns: &[u64]) -> Second {
    let count = times_ns.len();
    let percentile = |share: f64| {
        let enough = count as f64 >= 10.0 / (1.0 - share);
        enough.then(|| times_ns[((share * count as f64).ceil() as usize).max(1) - 1])
    };
    Second {
        at_s,
        length_s: 1.0,
        phase: SecondPhase::Measured,
        committed: count as u64,
        mean_ns: times_ns.iter().sum::<u64>() as f64 / count.max(1) as f64,
        p50_ns: percentile(0.5),
        p95_ns: percentile(0.95),
        p99_ns: percentile(0.99),
        ..Second::default()
    }
}

/// Searches a server often; returns how many answers are near the truth, and how many intervals have it.
fn search_often(system: System, limits: &[Requirement], truth: f64) -> (usize, usize) {
    let mut random = Random(11);
    let (mut near, mut covered, mut most_steps) = (0, 0, 0);
    for _ in 0..SEARCHES {
        let search = Search {
            // What a closed loop with enough clients finds.
            start: 0.8 * system.servers as f64 * system.rate * random.between(0.95, 1.05),
            is_estimate: true,
            precision: 0.02,
            max_steps: MAX_STEPS,
        };
        let mut steps = Vec::new();
        let found = loop {
            match search.next_step(&steps) {
                NextStep::Done(found) => break found,
                NextStep::Measure { rate, lengths } => {
                    let run = system.run(&mut random, rate, lengths);
                    let step = judge_step(&run, limits);
                    steps.push(step.rate_verdict());
                }
            }
        };
        most_steps = most_steps.max(steps.len());
        let is_near = found
            .rate
            .is_some_and(|rate| (rate / truth - 1.0).abs() <= NEAR_SHARE);
        near += usize::from(is_near);
        let has_truth = found.low.is_some_and(|low| low <= truth)
            && found.high.is_some_and(|high| high >= truth);
        covered += usize::from(has_truth);
        if !is_near || found.state != CapacityState::Found {
            println!("{system:?} {truth}: {found:?} {steps:?}");
        }
    }
    println!("{system:?}: {near} near, {covered} covered, at most {most_steps} steps");
    assert!(most_steps <= MAX_STEPS);
    (near, covered)
}

#[test]
fn the_formula_of_the_queue_is_that_of_the_simulation() {
    let system = System {
        servers: 4,
        rate: 500.0,
        is_random: true,
    };
    let rate = system.capacity(0.015);
    assert!((1_500.0..2_000.0).contains(&rate), "{rate}");
    let (responses, _) = system.respond(&mut Random(1), rate, 300.0);
    let above = responses
        .iter()
        .filter(|(_, time_s)| *time_s > 0.015)
        .count();
    let share = above as f64 / responses.len() as f64;
    assert!((share - 0.01).abs() < 0.002, "{share}");
}

#[test]
fn the_capacity_of_a_queue_is_found_within_three_percent_in_19_of_20_searches() {
    let system = System {
        servers: 4,
        rate: 500.0,
        is_random: true,
    };
    let limits = [Requirement::parse("p99<15ms").unwrap()];
    let (near, covered) = search_often(system, &limits, system.capacity(0.015));
    assert!(near >= MIN_NEAR, "{near}");
    assert!(covered >= MIN_COVERED, "{covered}");
}

#[test]
fn a_hard_ceiling_is_found_within_three_percent_in_19_of_20_searches() {
    let system = System {
        servers: 1,
        rate: 2_000.0,
        is_random: false,
    };
    for limits in [&[Requirement::parse("p99<100ms").unwrap()][..], &[]] {
        let (near, _) = search_often(system, limits, 2_000.0);
        assert!(near >= MIN_NEAR, "{near} with {limits:?}");
    }
}
