//! Published figures: what they count, and in which unit.
//!
//! In: names as the tables have them. Out: figures. Must never: convert a figure.

use serde::{Deserialize, Serialize};

/// One published figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// What it counts.
    #[serde(rename = "name")]
    pub measure: Measure,
    /// As published.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
}

impl Figure {
    /// A figure with its unit.
    pub fn new(measure: Measure, value: f64) -> Figure {
        Figure {
            measure,
            value,
            unit: measure.unit(),
        }
    }
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Measure {
    /// New orders.
    #[serde(rename = "NOPM")]
    Nopm,
    /// Commits and rollbacks that the server counted.
    #[serde(rename = "TPM")]
    Tpm,
    /// Transactions.
    #[serde(rename = "TPS")]
    Tps,
    /// Statements.
    #[serde(rename = "QPS")]
    Qps,
    /// Mean latency.
    #[serde(rename = "latency mean")]
    LatencyMean,
    /// Standard deviation of the latency.
    #[serde(rename = "latency stddev")]
    LatencyStddev,
    /// 95th percentile of the latency.
    #[serde(rename = "latency p95")]
    LatencyP95,
    /// Busy CPUs of the server.
    #[serde(rename = "CPU")]
    Cpu,
    /// Statements that read.
    #[serde(rename = "reads")]
    Reads,
    /// Statements that write.
    #[serde(rename = "writes")]
    Writes,
    /// Requests of SQL Server's clients.
    #[serde(rename = "batch requests")]
    BatchRequests,
}

impl Measure {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nopm => "NOPM",
            Self::Tpm => "TPM",
            Self::Tps => "TPS",
            Self::Qps => "QPS",
            Self::LatencyMean => "latency mean",
            Self::LatencyStddev => "latency stddev",
            Self::LatencyP95 => "latency p95",
            Self::Cpu => "CPU",
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::BatchRequests => "batch requests",
        }
    }

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
