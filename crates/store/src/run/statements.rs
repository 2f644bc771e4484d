//! Latencies of the statements of a workload.

use super::measured::Latency;
use prony_document::RecordedLatency;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The latency of one of the workload's statements, or of a round trip of several, in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatementLatency {
    /// Name of the statement, or of the first one of the round trip, such as `update-account`.
    pub name: String,
    /// Number of statements that share the round trip; 1 for a single statement.
    pub statements: u32,
    /// Text of the named statement. Statements that differ only in a table or a field have the same name;
    /// the text is the first one's.
    pub text: String,
    /// From the moment at which the client could send the request to the moment at which it noticed the reply;
    /// of successful requests only. The histogram has two significant digits.
    pub latency: Latency,
    /// Sum of these times as a share of the service times of all transactions that ended in the window,
    /// 0 to 1; absent if none ended.
    pub service_time_share: Option<f64>,
    /// How long it took in the log from which it is replayed; absent if it is not a replay, or the log has no times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<RecordedLatency>,
}

impl StatementLatency {
    /// The name in reports, with the number of the other statements of the round trip.
    pub fn display_name(&self) -> String {
        match self.statements {
            0 | 1 => self.name.clone(),
            statements => format!("{} + {} more", self.name, statements - 1),
        }
    }
}
