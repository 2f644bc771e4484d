//! What another tool's output says, and the Run that it makes.
//!
//! In: figures as they were printed, by a dialect's reader. Out: [`Reported`], plain data; a [`Run`]
//! that is marked as imported. Must never: fill in what was not printed.

use crate::named::{QueryCounts, Rate, Share};
use crate::run::*;
use serde::{Deserialize, Serialize};

/// Where the figures of an imported Run come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imported {
    /// The tool that printed them.
    pub tool: String,
    /// Its version, as it says it; empty where it does not.
    pub version: String,
    /// The file that was read; `-` is standard input.
    pub source: String,
    /// What its output does not tell.
    pub untold: Vec<String>,
}

/// What one run of another tool says of itself. What it does not say is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reported {
    /// `pgbench`, `sysbench` or `HammerDB`.
    pub tool: &'static str,
    /// Its version.
    pub version: String,
    /// `postgresql`, `mysql`, `mariadb`...
    pub engine: String,
    /// The server's version.
    pub server_version: String,
    /// The workload under this house's name, where it is known.
    pub workload: Option<&'static str>,
    /// What the tool calls it.
    pub title: String,
    /// Scale factor, or warehouses.
    pub scale: Option<u32>,
    /// What decides what its figures mean, as `name value`.
    pub settings: Vec<String>,
    /// `simple`, `extended` or `prepared`.
    pub protocol: String,
    /// Clients, threads of sysbench, virtual users.
    pub clients: Option<u32>,
    /// Threads.
    pub threads: Option<u32>,
    /// Clients wait for a schedule: they are not always at work.
    pub scheduled: bool,
    /// The schedule's rate, transactions a second, where it is printed.
    pub rate_tps: Option<f64>,
    /// A connection for each transaction.
    pub connect_per_transaction: bool,
    /// Time for connecting is in the throughput and not in the latency.
    pub connecting_counts: bool,
    /// How long it was to run, seconds.
    pub asked_s: Option<f64>,
    /// How long it ran, seconds.
    pub ran_s: Option<f64>,
    /// How many transactions were to be done.
    pub asked_transactions: Option<u64>,
    /// Transactions that ended well.
    pub transactions: Option<u64>,
    /// The same a second.
    pub tps: Option<f64>,
    /// Failed for good.
    pub failed: u64,
    /// Never started.
    pub skipped: u64,
    /// Over the latency limit.
    pub late: u64,
    /// Tried again.
    pub retried: u64,
    /// Extra tries.
    pub retries: u64,
    /// Errors after which a transaction began again (sysbench).
    pub ignored_errors: u64,
    /// Mean response time, ms.
    pub mean_ms: Option<f64>,
    /// By so much the mean may be off because it is rounded, ms.
    pub mean_slack_ms: f64,
    /// The mean was not measured, but reckoned from clients and throughput.
    pub mean_derived: bool,
    /// Shortest, ms.
    pub min_ms: Option<f64>,
    /// Longest, ms.
    pub max_ms: Option<f64>,
    /// Percentiles: per cent, and ms.
    pub percentiles_ms: Vec<(f64, f64)>,
    /// Reads and writes of one transaction, where the workload is known by them.
    pub mix: Option<[u64; 2]>,
    /// Queries of all transactions.
    pub queries: Option<QueryCounts>,
    /// New orders a minute.
    pub nopm: Option<f64>,
    /// Transactions a minute, as the server counted them.
    pub tpm: Option<f64>,
    /// Kinds of transaction.
    pub kinds: Vec<ReportedKind>,
    /// Shares that were meant, and those that were counted.
    pub shares: Vec<Share>,
    /// The progress lines.
    pub series: Vec<Second>,
    /// Figures that must agree with each other.
    pub relations: Vec<Relation>,
    /// What went wrong, in the tool's words.
    pub troubles: Vec<String>,
    /// What should stand in a whole output and does not; empty where all is there.
    pub lacks: Vec<&'static str>,
}

/// One kind of transaction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportedKind {
    /// Its name.
    pub name: String,
    /// How many.
    pub count: u64,
    /// Mean, ms.
    pub mean_ms: Option<f64>,
    /// Longest, ms.
    pub max_ms: Option<f64>,
    /// Percentiles: per cent, and ms.
    pub percentiles_ms: Vec<(f64, f64)>,
}

/// Two figures that must agree.
#[derive(Clone, Debug, PartialEq)]
pub struct Relation {
    /// How they must agree.
    pub kind: RelationKind,
    /// What is said, such as `queries, total`.
    pub what: String,
    /// What it follows from, such as `read + write + other`.
    pub from: String,
    /// As printed.
    pub says: f64,
    /// As it follows from the others.
    pub follows: f64,
    /// By so much they may differ because they are rounded.
    pub slack: f64,
}

/// How two figures must agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelationKind {
    /// They are equal.
    Sum,
    /// A share or mean: equal, but for rounding.
    Share,
    /// A length of time that two figures give: seconds.
    Time,
    /// The length that was asked for: the last transactions may need longer.
    AskedTime,
    /// The printed one is at most the other.
    AtMost,
}

impl Reported {
    /// The Run of it, started now as far as anybody knows. `source` is the file that was read.
    pub fn into_run(self, source: &str, started_at: String) -> Run {
        let untold = self.untold();
        let seconds = self.ran_s.or(self.asked_s).unwrap_or(0.0);
        let figures = self.figures(seconds);
        let rates = self.rates();
        let name = self
            .workload
            .map_or_else(|| self.tool.to_lowercase(), str::to_owned);
        let kinds = figures.kinds.iter().skip(1).map(|kind| kind.kind.clone());
        Run {
            started_at,
            state: match self.lacks.is_empty() {
                true => State::Complete,
                false => State::Partial,
            },
            ended_because: (!self.lacks.is_empty())
                .then(|| format!("its output lacks {}", self.lacks.join(", "))),
            server: Server {
                engine: self.engine,
                version: self.server_version,
                ..Server::default()
            },
            workload: Workload {
                name,
                title: self.title,
                scale: self.scale.unwrap_or(0),
                settings: self.settings,
                kinds: kinds.collect(),
                ..Workload::default()
            },
            drive: Drive {
                clients: self.clients.unwrap_or(0),
                threads: self.threads.unwrap_or(0),
                pace: if self.scheduled { "rate" } else { "closed" }.to_owned(),
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
            rates,
            shares: self.shares,
            series: self.series,
            timing: Timing {
                split: format!("unavailable: {} does not tell", self.tool),
                ..Timing::default()
            },
            imported: Some(Imported {
                tool: self.tool.to_owned(),
                version: self.version,
                source: source.to_owned(),
                untold,
            }),
            ..Run::default()
        }
    }

    /// What a reader of the Run would look for in vain.
    fn untold(&self) -> Vec<String> {
        let mut untold = Vec::new();
        let mut unless = |told: bool, what: &str| {
            if !told {
                untold.push(what.to_owned());
            }
        };
        unless(self.workload.is_some(), "workload");
        unless(self.scale.is_some(), "scale");
        unless(self.clients.is_some(), "clients");
        unless(!self.server_version.is_empty(), "server version");
        unless(false, "server settings");
        unless(false, "durability");
        unless(false, "replicas");
        unless(false, "client machine");
        untold
    }

    fn figures(&self, seconds: f64) -> Figures {
        let committed = self.transactions.unwrap_or(0);
        let response = latency(
            committed,
            [
                self.mean_ms.filter(|_| !self.mean_derived),
                self.min_ms,
                self.max_ms,
            ],
            &self.percentiles_ms,
        );
        let all = KindFigures {
            kind: "all".into(),
            committed,
            failed: self.failed,
            skipped: self.skipped,
            retries: self.retries,
            retried: self.retried,
            late: self.late,
            tps: self.tps.unwrap_or(0.0),
            busy_s: response.mean_ns * committed as f64 / 1e9,
            service: response.clone(),
            response,
            ..KindFigures::default()
        };
        let mut kinds = vec![all];
        kinds.extend(self.kinds.iter().map(|kind| {
            let response = latency(
                kind.count,
                [kind.mean_ms, None, kind.max_ms],
                &kind.percentiles_ms,
            );
            KindFigures {
                kind: kind.name.clone(),
                committed: kind.count,
                tps: if seconds > 0.0 {
                    kind.count as f64 / seconds
                } else {
                    0.0
                },
                service: response.clone(),
                response,
                ..KindFigures::default()
            }
        }));
        Figures {
            seconds,
            kinds,
            queries: self.queries,
            ..Figures::default()
        }
    }

    fn rates(&self) -> Vec<Rate> {
        let titles = [
            ("NOPM", "new orders committed a minute", self.nopm),
            (
                "TPM",
                "transactions a minute by the server's count, rollbacks among them",
                self.tpm,
            ),
        ];
        let scale = f64::from(self.scale.unwrap_or(0));
        titles
            .into_iter()
            .filter_map(|(name, title, value)| {
                Some(Rate {
                    name: name.into(),
                    title: title.into(),
                    value: value?,
                    per_scale: if scale > 0.0 { value? / scale } else { 0.0 },
                    note: None,
                })
            })
            .collect()
    }
}

/// A distribution of which only some figures are known; without a mean it has no samples.
fn latency(count: u64, [mean, min, max]: [Option<f64>; 3], percentiles: &[(f64, f64)]) -> Latency {
    let ns = |ms: f64| (ms * 1e6).round().clamp(0.0, 1e18) as u64;
    let percentile = |wanted: f64| {
        let found = percentiles.iter().find(|(percent, _)| *percent == wanted);
        found.map(|(_, ms)| ns(*ms))
    };
    Latency {
        samples: if mean.is_some() { count } else { 0 },
        mean_ns: mean.unwrap_or(0.0) * 1e6,
        min_ns: min.map_or(0, ns),
        max_ns: max.map_or(0, ns),
        p50_ns: percentile(50.0),
        p90_ns: percentile(90.0),
        p95_ns: percentile(95.0),
        p99_ns: percentile(99.0),
        p999_ns: percentile(99.9),
        histogram: String::new(),
    }
}
