//! The figures in another tool's output.
//!
//! A dialect's reader fills in [`ReportedRun`] with the figures as they were printed. Figures that were not printed are
//! never filled in.

use crate::run::*;
use prony_document::{
    IndustryMetric, NOPM, ObservedShare, Product, QueryCounts, QueryMode, RunState, Setting, TPM,
};
use serde::Serialize;

/// One run of another tool, as its output reports it. Facts that it does not report are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReportedRun {
    /// `pgbench`, `sysbench` or `HammerDB`.
    pub tool: &'static str,
    pub version: String,
    /// The server's product.
    pub product: Option<Product>,
    pub server_version: String,
    /// Prony's name of the workload, if Prony has it.
    pub workload: Option<&'static str>,
    /// The tool's name of the workload.
    pub title: String,
    /// Scale factor, or warehouses.
    pub scale: Option<u32>,
    /// Options that decide what its figures mean.
    pub settings: Vec<Setting>,
    pub protocol: Option<QueryMode>,
    /// Clients of pgbench, threads of sysbench, or virtual users of HammerDB.
    pub clients: Option<u32>,
    pub threads: Option<u32>,
    /// Transactions start by a schedule, for which clients wait, so that they are not always busy.
    pub scheduled: bool,
    /// The schedule's rate, transactions per second, if it is printed.
    pub rate_tps: Option<f64>,
    /// A connection for each transaction.
    pub connect_per_transaction: bool,
    /// Time for connecting is included in the throughput but not in the latency.
    pub connecting_in_throughput: bool,
    /// The requested duration, seconds.
    pub requested_s: Option<f64>,
    /// The actual duration, seconds.
    pub actual_s: Option<f64>,
    pub requested_transactions: Option<u64>,
    /// Transactions that succeeded.
    pub transactions: Option<u64>,
    /// Successful transactions per second.
    pub tps: Option<f64>,
    /// Transactions that failed after all retries.
    pub failed: u64,
    /// Transactions that never started, because they were late.
    pub skipped: u64,
    /// Transactions that took longer than the latency limit.
    pub over_latency_limit: u64,
    /// Transactions that were retried.
    pub retried: u64,
    /// Extra tries.
    pub retries: u64,
    /// Errors after which a transaction began again (sysbench).
    pub ignored_errors: u64,
    /// Mean response time, ms.
    pub mean_ms: Option<f64>,
    /// Maximum rounding error of the mean, ms.
    pub mean_tolerance_ms: f64,
    /// The mean was not measured, but computed from clients and throughput.
    pub mean_derived: bool,
    /// Shortest, ms.
    pub min_ms: Option<f64>,
    /// Longest, ms.
    pub max_ms: Option<f64>,
    /// Percentiles: per cent, and ms.
    pub percentiles_ms: Vec<(f64, f64)>,
    /// Reads and writes of one transaction, if they identify the workload.
    pub reads_and_writes_per_txn: Option<[u64; 2]>,
    /// Queries of all transactions.
    pub queries: Option<QueryCounts>,
    /// New orders per minute.
    pub nopm: Option<f64>,
    /// Transactions per minute, as the server counted them.
    pub tpm: Option<f64>,
    pub kinds: Vec<ReportedKind>,
    /// Expected and observed shares of the mix.
    pub shares: Vec<ObservedShare>,
    /// The progress lines.
    pub series: Vec<Second>,
    /// Pairs of figures that must agree.
    pub relations: Vec<Relation>,
    /// Errors and warnings, as the tool printed them.
    pub messages: Vec<String>,
    /// Parts that are missing from the output; empty if it is complete.
    pub missing_parts: Vec<&'static str>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReportedKind {
    pub name: String,
    /// Number of transactions.
    pub count: u64,
    pub mean_ms: Option<f64>,
    /// Longest, ms.
    pub max_ms: Option<f64>,
    /// Percentiles: per cent, and ms.
    pub percentiles_ms: Vec<(f64, f64)>,
}

/// Two figures that must agree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Relation {
    /// How they must agree.
    pub kind: RelationKind,
    /// Name of the printed figure, such as `queries, total`.
    pub figure: String,
    /// The figures that it is computed from, such as `read + write + other`.
    pub computed_from: String,
    pub printed: f64,
    pub computed: f64,
    /// Largest difference that rounding explains.
    pub tolerance: f64,
}

/// How two figures must agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RelationKind {
    /// They are equal.
    Sum,
    /// A share or mean: equal except for rounding.
    Share,
    /// A duration in seconds, which must equal a total divided by its rate.
    Time,
    /// The requested duration, which the last transactions may exceed.
    RequestedTime,
    /// The printed figure is at most the computed one.
    AtMost,
}

impl ReportedRun {
    /// The figures as a Run, for the checks of Prony's own runs. It is never stored.
    pub fn to_run(&self) -> Run {
        let seconds = self.actual_s.or(self.requested_s).unwrap_or(0.0);
        let figures = self.figures(seconds);
        Run {
            state: if self.missing_parts.is_empty() {
                RunState::Complete
            } else {
                RunState::Partial
            },
            server: Server {
                product: self.product,
                version: self.server_version.clone(),
                ..Server::default()
            },
            workload: Workload {
                name: self.workload.unwrap_or_default().to_owned(),
                title: self.title.clone(),
                scale: self.scale.unwrap_or(0),
                settings: self.settings.clone(),
                kinds: self.kinds.iter().map(|kind| kind.name.clone()).collect(),
                ..Workload::default()
            },
            drive: Drive {
                clients: self.clients.unwrap_or(0),
                threads: self.threads.unwrap_or(0),
                open_loop: self.scheduled,
                rate_tps: self.rate_tps,
                protocol: self.protocol,
                connect_per_transaction: self.connect_per_transaction,
                ..Drive::default()
            },
            window: Window {
                measured_s: seconds,
                ..Window::default()
            },
            measured: figures,
            rates: self.rates(),
            shares: self.shares.clone(),
            series: self.series.clone(),
            ..Run::default()
        }
    }

    fn figures(&self, seconds: f64) -> Figures {
        let committed = self.transactions.unwrap_or(0);
        let mean_ms = self.mean_ms.filter(|_| !self.mean_derived);
        let response = Latency {
            min_ns: self.min_ms.map_or(0, ms_in_ns),
            ..latency(committed, mean_ms, self.max_ms, &self.percentiles_ms)
        };
        let all = KindFigures {
            kind: None,
            committed,
            failed: self.failed,
            skipped: self.skipped,
            retries: self.retries,
            retried: self.retried,
            over_latency_limit: self.over_latency_limit,
            tps: self.tps.unwrap_or(0.0),
            busy_s: response.mean_ns * committed as f64 / 1e9,
            service: response.clone(),
            response,
            ..KindFigures::default()
        };
        let mut kinds = vec![all];
        kinds.extend(self.kinds.iter().map(|kind| {
            let percentiles_ms = &kind.percentiles_ms;
            let response = latency(kind.count, kind.mean_ms, kind.max_ms, percentiles_ms);
            KindFigures {
                kind: Some(kind.name.clone()),
                committed: kind.count,
                tps: if seconds > 0.0 { kind.count as f64 / seconds } else { 0.0 },
                service: response.clone(),
                response,
                ..KindFigures::default()
            }
        }));
        Figures {
            length_s: seconds,
            kinds,
            queries: self.queries,
            ..Figures::default()
        }
    }

    fn rates(&self) -> Vec<IndustryMetric> {
        let metrics = [
            (NOPM, "new orders committed per minute", self.nopm),
            (
                TPM,
                "transactions per minute by the server's count, rollbacks among them",
                self.tpm,
            ),
        ];
        let scale = f64::from(self.scale.unwrap_or(0));
        metrics
            .into_iter()
            .filter_map(|(name, title, value)| {
                Some(IndustryMetric {
                    name: name.to_owned(),
                    title: title.into(),
                    value: value?,
                    per_scale: if scale > 0.0 { value? / scale } else { 0.0 },
                    note: None,
                })
            })
            .collect()
    }
}

/// A distribution of which only some figures are known. Its `samples` are 0, which means not measured, if the mean is unknown.
fn latency(
    count: u64,
    mean_ms: Option<f64>,
    max_ms: Option<f64>,
    percentiles_ms: &[(f64, f64)],
) -> Latency {
    let percentile = |expected_percent: f64| {
        let mut percentiles = percentiles_ms.iter();
        let entry = percentiles.find(|(percent, _)| *percent == expected_percent);
        entry.map(|(_, ms)| ms_in_ns(*ms))
    };
    Latency {
        samples: mean_ms.map_or(0, |_| count),
        mean_ns: mean_ms.unwrap_or(0.0) * 1e6,
        min_ns: 0,
        max_ns: max_ms.map_or(0, ms_in_ns),
        p50_ns: percentile(50.0),
        p90_ns: percentile(90.0),
        p95_ns: percentile(95.0),
        p99_ns: percentile(99.0),
        p999_ns: percentile(99.9),
        histogram: String::new(),
    }
}

fn ms_in_ns(ms: f64) -> u64 {
    (ms * 1e6).round().clamp(0.0, 1e18) as u64
}
