//! The search for the number of clients with the highest throughput of a closed loop.
//!
//! In: the steps so far. Out: the next number of clients, or none; the answer. Must never: take a single step that is no
//! faster for the end: it may have been disturbed.
//!
//! The clients double from one on, until two steps in a row are hardly faster than the best one before, or two miss what
//! is required. Then the numbers beside the best one are measured.

use super::{CapacityStep, OVER_CLIENTS, in_order, is_step, judge_step, required_of};
use crate::sweep::Sweep;
use prony_store::{AnswerVerdict, Requirement, Run, RunState};
use serde::Serialize;
use std::borrow::Borrow;

/// Share by which a step must be faster than the best one before for the clients to double again, as a multiple of the
/// precision: what is gained falls with each doubling, and the sum of the rest is below twice the next gain.
const MIN_GAIN_PRECISIONS: f64 = 1.5;
/// Steps in a row without such a gain after which the clients do not double again.
const STEPS_WITHOUT_GAIN: usize = 2;
const MAX_CLIENTS: u32 = 100_000;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientsSearch {
    /// The search ends if no other number of clients brings more than this share.
    pub precision: f64,
    /// The number of steps after which it ends at the latest.
    pub max_steps: usize,
    /// How many clients the server has connections for; `None` if that is not known.
    pub max_clients: Option<u32>,
}

/// A step of a search over clients.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClientsStep {
    pub clients: u32,
    /// Committed transactions per second.
    pub tps: f64,
    /// Whether it meets what is required.
    pub verdict: AnswerVerdict,
    pub is_client_limit: bool,
    /// Ids of other checks by which its figures must not be used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub invalid_by: Vec<String>,
}

impl ClientsStep {
    pub fn new(clients: u32, step: CapacityStep) -> ClientsStep {
        ClientsStep {
            clients,
            tps: step.achieved.unwrap_or_default(),
            verdict: step.verdict,
            is_client_limit: step.is_client_limit,
            invalid_by: step.invalid_by,
        }
    }
}

/// The answer of a search over clients.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClientsResult {
    /// Id of the experiment whose runs are the steps.
    pub experiment: String,
    pub workload: String,
    pub requirements: Vec<Requirement>,
    /// The step with the highest throughput among those that meet what is required.
    pub best: Option<ClientsStep>,
    /// Whether another number of clients may be better, because the search ended before it was done.
    pub is_unfinished: bool,
    /// How many clients the server has connections for, if the search asked for more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_clients: Option<u32>,
    /// The steps in their order.
    pub steps: Vec<ClientsStep>,
    /// Their curve.
    pub sweep: Option<Sweep>,
}

impl ClientsResult {
    /// The answer of these steps; `runs` are theirs, in the same order.
    pub fn new(
        search: &ClientsSearch,
        requirements: &[Requirement],
        steps: Vec<ClientsStep>,
        runs: &[impl Borrow<Run>],
    ) -> ClientsResult {
        let runs: Vec<&Run> = runs.iter().map(Borrow::borrow).collect();
        let endless = ClientsSearch {
            max_steps: usize::MAX,
            ..*search
        };
        let last = runs.last();
        let is_last_complete = last.is_none_or(|run| run.state == RunState::Complete);
        let first = runs.first();
        let experiment = first.and_then(|run| run.experiment.as_ref());
        ClientsResult {
            experiment: experiment.map_or_else(String::new, |experiment| experiment.id.clone()),
            workload: first.map_or_else(String::new, |run| run.workload.name.clone()),
            requirements: requirements.to_vec(),
            best: best_clients(&steps).cloned(),
            is_unfinished: endless.next_clients(&steps).is_some() || !is_last_complete,
            max_clients: (search.max_clients)
                .filter(|max| steps.iter().any(|step| step.clients == *max)),
            sweep: Sweep::of(&runs),
            steps,
        }
    }

    /// The answer of stored runs, with their seconds and in any order, to what was required of the last one; `None` unless
    /// they are the steps of a search over clients.
    pub fn of(runs: &[&Run]) -> Option<ClientsResult> {
        let runs = in_order(runs);
        let last = runs.last()?;
        let settings = last.search()?;
        if !runs.iter().all(|run| is_step(run, OVER_CLIENTS)) {
            return None;
        }
        let requirements = required_of(last);
        let search = ClientsSearch {
            precision: settings.precision,
            max_steps: settings.max_steps as usize,
            max_clients: max_clients(runs[0]),
        };
        let step = |run: &&Run| ClientsStep::new(run.drive.clients, judge_step(run, &requirements));
        let steps = runs.iter().map(step).collect();
        Some(ClientsResult::new(&search, &requirements, steps, &runs))
    }

    /// Whether there is an answer: it fails if no number of clients meets what is required, and is undecided if another
    /// one may be better, or if the best step must not be used.
    pub fn verdict(&self) -> AnswerVerdict {
        let fails = |step: &ClientsStep| step.verdict == AnswerVerdict::Fail;
        match &self.best {
            _ if self.is_unfinished => AnswerVerdict::Undecided,
            Some(best) if best.invalid_by.is_empty() => AnswerVerdict::Pass,
            None if self.steps.iter().any(fails) => AnswerVerdict::Fail,
            _ => AnswerVerdict::Undecided,
        }
    }

    /// Ids of checks by which the best step must not be used.
    pub fn invalid_by(&self) -> &[String] {
        self.best.as_ref().map_or(&[], |best| &best.invalid_by)
    }
}

/// How many clients the server of a run has connections for, if it says so: without those that it reserves, and two for
/// Prony's own sessions.
pub fn max_clients(run: &Run) -> Option<u32> {
    let setting = |name: &str| run.server.settings.get(name)?.as_str()?.parse::<u32>().ok();
    let is_direct = run.server.pooler.is_none() && run.drive.spread.is_none();
    let max = setting("max_connections").filter(|max| is_direct && *max > 0)?;
    let reserved = ["superuser_reserved_connections", "reserved_connections"]
        .into_iter()
        .filter_map(setting)
        .sum::<u32>();
    Some(max.saturating_sub(reserved + 2).max(1))
}

/// The step with the highest throughput among those that meet what is required.
fn best_clients(steps: &[ClientsStep]) -> Option<&ClientsStep> {
    let steps = steps.iter();
    let passed = steps.filter(|step| step.verdict == AnswerVerdict::Pass);
    passed.max_by(|a, b| a.tps.total_cmp(&b.tps))
}

impl ClientsSearch {
    /// The number of clients to measure next; `None` if the search has ended.
    pub fn next_clients(&self, steps: &[ClientsStep]) -> Option<u32> {
        if steps.len() >= self.max_steps {
            return None;
        }
        let largest = steps.iter().map(|step| step.clients).max().unwrap_or(0);
        let is_at_limit = self.max_clients.is_some_and(|max| largest >= max);
        if !is_at_limit && !self.has_ended_doubling(steps) {
            let next = largest.saturating_mul(2).max(1);
            let max = self.max_clients.unwrap_or(MAX_CLIENTS);
            return (next <= MAX_CLIENTS).then_some(next.min(max));
        }
        let best = best_clients(steps)?.clients;
        let mut sorted: Vec<&ClientsStep> = steps.iter().collect();
        sorted.sort_unstable_by_key(|step| step.clients);
        let gaps = sorted
            .windows(2)
            .filter(|pair| pair.iter().any(|step| step.clients == best));
        let middles = gaps.filter_map(|pair| {
            let [low, high] = [pair[0].clients, pair[1].clients];
            let middle = (f64::from(low) * f64::from(high)).sqrt().round() as u32;
            let excess = self.excess(pair);
            (excess > 1.0 && low < middle && middle < high).then_some((middle, excess))
        });
        let widest = middles.max_by(|a, b| a.1.total_cmp(&b.1));
        widest.map(|(middle, _)| middle)
    }

    /// How much wider the gap between two steps is than the precision allows, by the logarithms of both ratios. Beside a
    /// number of clients that is too many for what is required, throughput rises with them. At its peak it is flat: by the
    /// universal scalability law, clients that differ by the share `d` from the best ones bring less by `d²/2`.
    fn excess(&self, pair: &[&ClientsStep]) -> f64 {
        let is_limited = pair[1].verdict == AnswerVerdict::Fail;
        let at_peak = 1.0 + (2.0 * self.precision).sqrt();
        let allowed = if is_limited { (1.0 + self.precision).powi(2) } else { at_peak };
        let ratio = f64::from(pair[1].clients) / f64::from(pair[0].clients);
        ratio.ln() / allowed.ln()
    }

    /// Whether more clients bring no more, by the steps in the order in which the clients doubled.
    fn has_ended_doubling(&self, steps: &[ClientsStep]) -> bool {
        let min_gain = 1.0 + MIN_GAIN_PRECISIONS * self.precision;
        let doubling = steps.iter().filter(|step| step.clients.is_power_of_two());
        let (mut best, mut without_gain) = (0.0_f64, 0);
        for step in doubling {
            // Too few transactions for a percentile: more clients have more.
            if step.verdict == AnswerVerdict::Undecided {
                continue;
            }
            let gains = step.verdict == AnswerVerdict::Pass && step.tps > best * min_gain;
            without_gain = if gains { 0 } else { without_gain + 1 };
            if without_gain == STEPS_WITHOUT_GAIN {
                return true;
            }
            best = best.max(step.tps);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AnswerVerdict::{Fail, Pass, Undecided};
    use prony_plan::SplitMix;

    const SEARCH: ClientsSearch = ClientsSearch {
        precision: 0.02,
        max_steps: 15,
        max_clients: None,
    };

    fn step(clients: u32, tps: f64, verdict: AnswerVerdict) -> ClientsStep {
        ClientsStep {
            clients,
            tps,
            verdict,
            is_client_limit: false,
            invalid_by: Vec::new(),
        }
    }

    /// Searches a server; returns the steps.
    fn search(
        search: ClientsSearch,
        tps: &dyn Fn(f64) -> f64,
        passes: &dyn Fn(u32) -> bool,
        noise: &mut dyn FnMut() -> f64,
    ) -> Vec<ClientsStep> {
        let mut steps = Vec::new();
        while let Some(clients) = search.next_clients(&steps) {
            let verdict = if passes(clients) { Pass } else { Fail };
            steps.push(step(clients, tps(f64::from(clients)) * noise(), verdict));
        }
        steps
    }

    /// The universal scalability law with its peak at these clients.
    fn usl(contention: f64, peak: f64) -> impl Fn(f64) -> f64 {
        let crosstalk = (1.0 - contention) / (peak * peak);
        move |clients: f64| {
            clients / (1.0 + contention * (clients - 1.0) + crosstalk * clients * (clients - 1.0))
        }
    }

    #[test]
    fn the_highest_throughput_is_found_within_three_percent_in_95_of_100() {
        let mut near = 0;
        for seed in 0..100 {
            let mut random = SplitMix::new(seed);
            // A peak between 6 and 500 clients.
            let contention = 0.001 + 0.05 * random.uniform();
            let peak = 6.0 * 80.0_f64.powf(random.uniform());
            let tps = usl(contention, peak);
            let mut noise = || 1.0 + 0.01 * (random.uniform() + random.uniform() - 1.0);
            let steps = search(SEARCH, &tps, &|_| true, &mut noise);
            assert!(steps.len() <= 15, "{steps:?}");
            let found = tps(f64::from(best_clients(&steps).unwrap().clients));
            near += usize::from(found > 0.97 * tps(peak));
        }
        assert!(near >= 95, "{near}");
    }

    #[test]
    fn the_precision_decides_how_many_clients_are_tried() {
        let tps = usl(0.01, 150.0);
        let with = |precision| {
            let precise = ClientsSearch {
                precision,
                max_steps: 40,
                max_clients: None,
            };
            let steps = search(precise, &tps, &|_| true, &mut || 1.0);
            let best = f64::from(best_clients(&steps).unwrap().clients);
            (steps.len(), 1.0 - tps(best) / tps(150.0))
        };
        let ((few, _), (many, missed)) = (with(0.1), with(0.002));
        assert!(few < many, "{few} {many}");
        assert!(missed < 0.002, "{missed}");
    }

    #[test]
    fn what_is_required_limits_the_clients() {
        let mut none = || 1.0;
        let steps = search(
            SEARCH,
            &|clients| clients,
            &|clients| clients <= 40,
            &mut none,
        );
        // Throughput rises with the clients, so that 39 would be too imprecise.
        assert_eq!(best_clients(&steps).unwrap().clients, 40);
        assert!(steps.len() <= 13, "{}", steps.len());
        let steps = search(SEARCH, &|clients| clients, &|_| false, &mut none);
        assert_eq!((best_clients(&steps), steps.len()), (None, 2));
    }

    #[test]
    fn no_more_clients_are_tried_than_the_server_has_connections_for() {
        let limited = ClientsSearch {
            max_clients: Some(95),
            ..SEARCH
        };
        let steps = search(limited, &|clients| clients, &|_| true, &mut || 1.0);
        assert_eq!(steps.iter().map(|step| step.clients).max(), Some(95));
        assert_eq!(best_clients(&steps).unwrap().clients, 95);
        let result = ClientsResult::new(&limited, &[], steps, &[] as &[Run]);
        assert!(!result.is_unfinished);
        assert_eq!(result.max_clients, Some(95));
        // The throughput ends to rise before that.
        let steps = search(limited, &usl(0.05, 10.0), &|_| true, &mut || 1.0);
        let result = ClientsResult::new(&limited, &[], steps, &[] as &[Run]);
        assert_eq!(result.max_clients, None);
    }

    #[test]
    fn a_search_without_its_last_steps_is_unfinished_and_decides_nothing() {
        let (pass, fail) = (Pass, Fail);
        let result = |steps: &[(u32, f64, AnswerVerdict)]| {
            let steps = steps.iter();
            let steps = steps.map(|&(clients, tps, verdict)| step(clients, tps, verdict));
            ClientsResult::new(&SEARCH, &[], steps.collect(), &[] as &[Run])
        };
        let rising = result(&[(1, 10.0, pass), (2, 20.0, pass)]);
        assert_eq!((rising.is_unfinished, rising.verdict()), (true, Undecided));
        let mut ended = result(&[(1, 10.0, pass), (2, 10.1, pass), (4, 10.0, pass)]);
        assert_eq!(
            (ended.is_unfinished, ended.verdict()),
            (true, Undecided),
            "3 is between 2 and 4"
        );
        ended = result(&[
            (1, 10.0, pass),
            (2, 10.1, pass),
            (4, 10.0, pass),
            (3, 10.0, pass),
        ]);
        assert_eq!((ended.is_unfinished, ended.verdict()), (false, pass));
        ended.best.as_mut().unwrap().invalid_by = vec!["steal".to_owned()];
        assert_eq!(ended.verdict(), Undecided);
        let failed = result(&[(1, 10.0, fail), (2, 20.0, fail)]);
        assert_eq!((failed.is_unfinished, failed.verdict()), (false, fail));
    }
}
