//! The figures of a Run by name, for comparisons.
//!
//! In: Runs. Out: industry metrics, throughput, response times of committed transactions, those of all attempts and of
//! failed transactions, whose names say so, and CPU time per committed transaction. Must never: give one name to two populations.

use super::{FigurePair, Unit};
use crate::all_kinds;
use crate::noise::{self, CLIENT_CPU_FIGURE, SERVER_CPU_FIGURE};
use crate::outage::{longest_outage_s, recovery_s};
use crate::reproduced::counts_batch_requests;
use prony_store::{KindFigures, NOPM, Run, TPM};

/// Name of the figure of committed transactions per second.
pub(crate) const TPS_FIGURE: &str = "TPS";

/// Name of the mean response time, which is exact; percentiles are rounded to a cell of a histogram.
pub(crate) const MEAN_FIGURE: &str = "mean response";

/// Name of the 99th percentile of the response time.
pub(crate) const P99_FIGURE: &str = "p99";

/// The figures that say most of a run, the first one most: for a load at a rate the response time, otherwise the
/// throughput.
pub(crate) fn preferred_figures(paced: bool) -> [&'static str; 3] {
    let by_time = [P99_FIGURE, NOPM, TPS_FIGURE];
    if paced { by_time } else { [NOPM, TPS_FIGURE, P99_FIGURE] }
}

/// Name of the 99th percentile of the response time of all transactions that ended, whatever their outcome.
const ATTEMPTS_P99_FIGURE: &str = "p99 of all attempts";

/// Names of the percentiles of the response time of failed transactions.
const FAILED_P50_FIGURE: &str = "p50 of failed";
const FAILED_P99_FIGURE: &str = "p99 of failed";

/// Names of the lengths of the longest outage and of the time until the throughput was back.
const OUTAGE_FIGURES: [&str; 2] = ["outage", "recovery"];

/// Whether a figure is the length of an outage, not a response time.
pub(crate) fn is_outage_figure(name: &str) -> bool {
    OUTAGE_FIGURES.contains(&name)
}

/// The lengths of an outage, nanoseconds; `None` where there was none, it is not known or not over.
fn outage_times(run: &Run) -> [Option<f64>; 2] {
    let times_s = [longest_outage_s(run).ok(), recovery_s(run)];
    times_s.map(|time_s| Some(time_s? * 1e9).filter(|time_ns| *time_ns > 0.0))
}

/// Figures that both Runs have: industry metrics first, then TPS, then response times.
pub(super) fn common_figures(a: &Run, b: &Run) -> Vec<FigurePair> {
    let values_b = figure_values(b);
    let pairs = figure_values(a)
        .into_iter()
        .filter(|figure| is_compared(&figure.name, &[a, b]))
        .filter_map(
            |FigureValue {
                 name,
                 unit,
                 value: a,
             }| {
                let b = values_b
                    .iter()
                    .find(|other| other.is_same(&name, unit))?
                    .value;
                Some(FigurePair { name, unit, a, b })
            },
        );
    pairs.collect()
}

/// A figure of a Run.
pub(crate) struct FigureValue {
    pub name: String,
    pub unit: Unit,
    pub value: f64,
}

impl FigureValue {
    fn new(name: &str, unit: Unit, value: f64) -> FigureValue {
        FigureValue {
            name: name.to_owned(),
            unit,
            value,
        }
    }

    pub fn is_same(&self, name: &str, unit: Unit) -> bool {
        self.name == name && self.unit == unit
    }
}

/// A Run's figures, in the order in which [`common_figures`] returns them.
pub(crate) fn figure_values(run: &Run) -> Vec<FigureValue> {
    let rates = run.rates.iter();
    let mut values: Vec<FigureValue> = rates
        .map(|rate| FigureValue::new(&rate.name, Unit::Rate, rate.value))
        .collect();
    let Some(all) = all_kinds(run) else {
        return values;
    };
    values.push(FigureValue::new(TPS_FIGURE, Unit::Rate, all.tps));
    let (response, failed) = (&all.response, all.failed_response.as_ref());
    let as_float = |ns: Option<u64>| ns.map(|ns| ns as f64);
    let mean_ns = (response.samples > 0).then_some(response.mean_ns);
    let times = [
        (MEAN_FIGURE, mean_ns),
        ("p50", as_float(response.p50_ns)),
        ("p95", as_float(response.p95_ns)),
        (P99_FIGURE, as_float(response.p99_ns)),
        ("p99.9", as_float(response.p999_ns)),
        (ATTEMPTS_P99_FIGURE, as_float(attempts_p99(all))),
        (
            FAILED_P50_FIGURE,
            as_float(failed.and_then(|times| times.p50_ns)),
        ),
        (
            FAILED_P99_FIGURE,
            as_float(failed.and_then(|times| times.p99_ns)),
        ),
        (SERVER_CPU_FIGURE, noise::server_cpu_ns(run)),
        (CLIENT_CPU_FIGURE, noise::client_cpu_ns(run)),
    ];
    let outages = OUTAGE_FIGURES.into_iter().zip(outage_times(run));
    for (name, time_ns) in times.into_iter().chain(outages) {
        values.extend(time_ns.map(|ns| FigureValue::new(name, Unit::Nanoseconds, ns)));
    }
    values
}

/// The 99th percentile of all transactions that ended: that of the committed ones if all committed.
pub(crate) fn attempts_p99(all: &KindFigures) -> Option<u64> {
    match &all.attempts {
        Some(attempts) => attempts.p99_ns,
        None if all.failed + all.rolled_back == 0 => all.response.p99_ns,
        None => None,
    }
}

/// Whether a figure of these runs is compared. That of all attempts repeats that of the committed transactions
/// unless a transaction failed. TPM counts batch requests on SQL Server and transactions on the other engines.
pub(crate) fn is_compared(name: &str, runs: &[&Run]) -> bool {
    if name == TPM {
        let mut counts_requests = runs.iter().map(|run| counts_batch_requests(run));
        let first = counts_requests.next();
        return counts_requests.all(|other| Some(other) == first);
    }
    let has_failures = |run: &&Run| all_kinds(run).is_some_and(|all| all.failed > 0);
    name != ATTEMPTS_P99_FIGURE || runs.iter().any(has_failures)
}
