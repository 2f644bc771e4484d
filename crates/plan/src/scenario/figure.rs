//! Published figures: their metrics and units.
//!
//! A figure keeps the unit in which it was published.

use crate::choice::choices;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// One published figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedFigure {
    /// The metric.
    pub name: PublishedMetric,
    /// The published value, or the lower end of a published range.
    pub value: f64,
    /// Upper end of a published range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Its unit.
    pub unit: String,
}

/// Reads figures as a file of scenarios has them: `[metric, value]`, or `[metric, low, high]`.
pub(super) fn from_lists<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<PublishedFigure>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Entry {
        Range(PublishedMetric, f64, f64),
        Value(PublishedMetric, f64),
    }
    let figure = |name: PublishedMetric, value, high| PublishedFigure {
        name,
        value,
        high,
        unit: name.unit().to_owned(),
    };
    let entries = Vec::<Entry>::deserialize(deserializer)?.into_iter();
    Ok(entries
        .map(|entry| match entry {
            Entry::Range(name, low, high) => figure(name, low, Some(high)),
            Entry::Value(name, value) => figure(name, value, None),
        })
        .collect())
}

choices! {
    /// The metric of a published figure.
    pub enum PublishedMetric {
        /// New orders per minute.
        Nopm = "NOPM",
        /// Commits and rollbacks per minute, as the server counts them; on SQL Server batch requests.
        Tpm = "TPM",
        /// Transactions per second.
        Tps = "TPS",
        /// Statements per second.
        Qps = "QPS",
        LatencyMean = "latency mean",
        /// Standard deviation of the latency.
        LatencyStddev = "latency stddev",
        /// 95th percentile of the latency.
        LatencyP95 = "latency p95",
        /// CPU utilization of the server.
        Cpu = "CPU",
        /// Number of read statements in 60 s.
        Reads = "reads",
        /// Number of write statements in 60 s.
        Writes = "writes",
        /// Batch requests per second, as SQL Server counts them.
        BatchRequests = "batch requests",
        /// Transactions per second for one US dollar per month.
        TpsPerDollar = "TPS per dollar",
        /// The share of the throughput that backups cost.
        BackupOverhead = "backup overhead",
        /// Time of the whole load.
        LoadTime = "load time",
        /// Time in which the load sent rows.
        LoadRows = "load: rows",
        /// Time in which the load vacuumed the tables.
        LoadVacuum = "load: vacuum",
        /// Time in which the load built primary keys.
        LoadKeys = "load: keys",
    }
}

impl PublishedMetric {
    pub fn unit(self) -> &'static str {
        match self {
            Self::Nopm => "new orders/min",
            Self::Tpm => "transactions/min",
            Self::Tps => "transactions/s",
            Self::Qps => "statements/s",
            Self::LatencyMean | Self::LatencyStddev | Self::LatencyP95 => "ms",
            Self::Cpu | Self::BackupOverhead => "%",
            Self::LoadTime | Self::LoadRows | Self::LoadVacuum | Self::LoadKeys => "s",
            Self::Reads | Self::Writes => "statements in 60 s",
            Self::BatchRequests => "requests/s",
            Self::TpsPerDollar => "transactions/s for 1 USD a month",
        }
    }
}
