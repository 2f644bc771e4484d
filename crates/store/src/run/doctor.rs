//! Whether the machine and the server were fit for the load, as `prony doctor` found before the run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The findings of `prony doctor`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorReport {
    /// Number of clients for which the machine was examined.
    pub clients: u32,
    /// Number of threads for which it was examined.
    pub threads: u32,
    /// One for each property, those of the machine first.
    pub findings: Vec<DoctorFinding>,
}

impl DoctorReport {
    /// The worst state; [`DoctorState::Ok`] without findings.
    pub fn worst(&self) -> DoctorState {
        let states = self.findings.iter().map(|finding| finding.state);
        states.max().unwrap_or(DoctorState::Ok)
    }
}

/// One property of the machine or of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorFinding {
    /// Short stable name, such as `open-files`.
    pub id: String,
    /// What it is a property of.
    pub subject: DoctorSubject,
    /// Whether it is good enough for the load.
    pub state: DoctorState,
    /// Its value with its unit; empty if it is unknown.
    pub value: String,
    /// Why it is in this state, as a sentence.
    pub reason: String,
    /// Shell commands that mend it, one per line; absent if none is needed, or if no command can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What to do where no command suffices, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DoctorSubject {
    /// The client's machine.
    #[default]
    Machine,
    /// The database server, and the way to it.
    Server,
}

/// Whether a property is good enough for the load, from the best state to the worst.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum DoctorState {
    /// It is.
    #[default]
    Ok,
    /// The system does not report it.
    Unknown,
    /// Figures may be affected.
    Caution,
    /// The load cannot be driven, or its figures will be wrong.
    Bad,
}

impl DoctorState {
    pub fn name(self) -> &'static str {
        match self {
            DoctorState::Ok => "ok",
            DoctorState::Unknown => "unknown",
            DoctorState::Caution => "caution",
            DoctorState::Bad => "bad",
        }
    }
}
