//! The search for the number of clients with the highest throughput of a closed loop.
//!
//! In: the steps so far. Out: the next number of clients, or none. Must never: take a single step that is no faster for
//! the end: it may have been disturbed.
//!
//! The clients double from one on, until two steps in a row are hardly faster than the best one before, or two miss what
//! is required. Then the numbers beside the best one are measured.

use prony_store::AnswerVerdict;
use serde::Serialize;

/// Share by which a step must be faster than the best one before for the clients to double again.
const MIN_GAIN_SHARE: f64 = 0.03;
/// Steps in a row without that after which the clients do not double again.
const STEPS_WITHOUT_GAIN: usize = 2;
/// Smallest ratio of two numbers of clients between which there is a step.
const MIN_RATIO: f64 = 1.2;
/// Largest number of clients.
const MAX_CLIENTS: u32 = 100_000;

/// A step of a search over clients.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClientsStep {
    pub clients: u32,
    /// Committed transactions per second.
    pub tps: f64,
    /// Whether it meets what is required.
    pub verdict: AnswerVerdict,
}

/// The step with the highest throughput among those that meet what is required.
pub fn best_clients(steps: &[ClientsStep]) -> Option<&ClientsStep> {
    let passed = steps
        .iter()
        .filter(|step| step.verdict == AnswerVerdict::Pass);
    passed.max_by(|a, b| a.tps.total_cmp(&b.tps))
}

/// The number of clients to measure next; `None` if the search has ended.
pub fn next_clients(steps: &[ClientsStep], max_steps: usize) -> Option<u32> {
    if steps.len() >= max_steps {
        return None;
    }
    let largest = steps.iter().map(|step| step.clients).max();
    if !has_ended_doubling(steps) {
        let next = largest.map_or(1, |clients| clients.saturating_mul(2));
        return (next <= MAX_CLIENTS).then_some(next);
    }
    let best = best_clients(steps)?.clients;
    let mut sorted: Vec<u32> = steps.iter().map(|step| step.clients).collect();
    sorted.sort_unstable();
    let gaps = sorted.windows(2).filter(|pair| pair.contains(&best));
    let widest = gaps.max_by(|a, b| ratio(a).total_cmp(&ratio(b)))?;
    let middle = (f64::from(widest[0]) * f64::from(widest[1])).sqrt().round() as u32;
    (ratio(widest) > MIN_RATIO && !sorted.contains(&middle)).then_some(middle)
}

fn ratio(pair: &[u32]) -> f64 {
    f64::from(pair[1]) / f64::from(pair[0])
}

/// Whether more clients bring no more, by the steps in the order in which the clients doubled.
fn has_ended_doubling(steps: &[ClientsStep]) -> bool {
    let doubling = steps.iter().filter(|step| step.clients.is_power_of_two());
    let (mut best, mut without_gain) = (0.0_f64, 0);
    for step in doubling {
        // Too few transactions for a percentile: more clients have more.
        if step.verdict == AnswerVerdict::Undecided {
            continue;
        }
        let gains = step.verdict == AnswerVerdict::Pass && step.tps > best * (1.0 + MIN_GAIN_SHARE);
        without_gain = if gains { 0 } else { without_gain + 1 };
        if without_gain == STEPS_WITHOUT_GAIN {
            return true;
        }
        best = best.max(step.tps);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_plan::SplitMix;

    /// Searches a server; returns the best step and the number of steps.
    fn search(
        tps: &dyn Fn(f64) -> f64,
        passes: &dyn Fn(u32) -> bool,
        noise: &mut dyn FnMut() -> f64,
    ) -> (Option<ClientsStep>, usize) {
        let mut steps = Vec::new();
        while let Some(clients) = next_clients(&steps, 15) {
            steps.push(ClientsStep {
                clients,
                tps: tps(f64::from(clients)) * noise(),
                verdict: match passes(clients) {
                    true => AnswerVerdict::Pass,
                    false => AnswerVerdict::Fail,
                },
            });
        }
        (best_clients(&steps).cloned(), steps.len())
    }

    #[test]
    fn the_highest_throughput_is_found_within_three_percent_in_95_of_100() {
        let mut near = 0;
        for seed in 0..100 {
            let mut random = SplitMix::new(seed);
            // The universal scalability law, with a peak between 6 and 500 clients.
            let contention = 0.001 + 0.05 * random.uniform();
            let peak = 6.0 * 80.0_f64.powf(random.uniform());
            let crosstalk = (1.0 - contention) / (peak * peak);
            let tps = |clients: f64| {
                clients
                    / (1.0 + contention * (clients - 1.0) + crosstalk * clients * (clients - 1.0))
            };
            let mut noise = || 1.0 + 0.01 * (random.uniform() + random.uniform() - 1.0);
            let (best, steps) = search(&tps, &|_| true, &mut noise);
            assert!(steps <= 15, "{steps}");
            let found = tps(f64::from(best.unwrap().clients));
            near += usize::from(found > 0.97 * tps(peak));
        }
        assert!(near >= 95, "{near}");
    }

    #[test]
    fn what_is_required_limits_the_clients() {
        let mut none = || 1.0;
        let (best, _) = search(&|clients| clients, &|clients| clients <= 40, &mut none);
        let best = best.unwrap().clients;
        assert!((36..=40).contains(&best), "{best}");
        let (best, steps) = search(&|clients| clients, &|_| false, &mut none);
        assert_eq!((best, steps), (None, 2));
    }
}
