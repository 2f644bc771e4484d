//! Published figures: their metrics and units.
//!
//! Figures are never converted.

use crate::choice::choices;
use serde::{Deserialize, Deserializer, Serialize};

/// One published figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PublishedFigure {
    /// The metric.
    #[serde(rename = "name")]
    pub measure: PublishedMetric,
    /// The published value.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
}

impl<'de> Deserialize<'de> for PublishedFigure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PublishedFigure, D::Error> {
        <(PublishedMetric, f64)>::deserialize(deserializer).map(PublishedFigure::from)
    }
}

impl From<(PublishedMetric, f64)> for PublishedFigure {
    fn from((measure, value): (PublishedMetric, f64)) -> PublishedFigure {
        PublishedFigure {
            measure,
            value,
            unit: measure.unit(),
        }
    }
}

choices! {
    /// The metric of a published figure.
    pub enum PublishedMetric {
        /// New orders.
        Nopm = "NOPM",
        /// Commits and rollbacks that the server counted.
        Tpm = "TPM",
        /// Transactions.
        Tps = "TPS",
        /// Statements.
        Qps = "QPS",
        /// Mean latency.
        LatencyMean = "latency mean",
        /// Standard deviation of the latency.
        LatencyStddev = "latency stddev",
        /// 95th percentile of the latency.
        LatencyP95 = "latency p95",
        /// Busy CPUs of the server.
        Cpu = "CPU",
        /// Statements that read.
        Reads = "reads",
        /// Statements that write.
        Writes = "writes",
        /// Batch requests, as SQL Server counts them.
        BatchRequests = "batch requests",
    }
}

impl PublishedMetric {
    /// Its unit.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Nopm => "new orders/min",
            Self::Tpm => "transactions/min",
            Self::Tps => "transactions/s",
            Self::Qps => "statements/s",
            Self::LatencyMean | Self::LatencyStddev | Self::LatencyP95 => "ms",
            Self::Cpu => "%",
            Self::Reads | Self::Writes => "statements in 60 s",
            Self::BatchRequests => "requests/s",
        }
    }
}
