//! The Run document: what was asked, what was observed, what was measured.
//!
//! In: figures, plan and observations. Out: one JSON document with a schema version. Must never:
//! hold a password; change a figure. All times are seconds or nanoseconds, as the names say.

mod asked;
mod measured;
mod trust;

pub use asked::{Build, Drive, Host, Server, Workload};
pub use measured::{ErrorCount, Event, Figures, KindFigures, Latency, Second, Split, Window};
pub use trust::{Check, Severity, Timing};

use crate::client::Client;
use crate::experiment::Experiment;
use crate::imported::Imported;
use crate::named::{Rate, Share};
use crate::observed::Observed;
use crate::scenario::{Cached, Scenario};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Version of this document. Readers refuse a newer major part.
pub const SCHEMA_VERSION: &str = "1.2";

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Version of this document's form, [`SCHEMA_VERSION`].
    pub schema_version: String,
    /// Sortable name of the run, such as `20261120-233342-tpcb-7f3a`.
    pub id: String,
    /// Start of the run, RFC 3339 with the local offset.
    pub started_at: String,
    /// How it ended.
    pub state: State,
    /// Why it ended early, in words; absent for a complete run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_because: Option<String>,
    /// It was not driven by Prony: its figures are what another tool printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// It is one of the repeats of an experiment; absent for a run by itself, as before version 1.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment: Option<Experiment>,
    /// It repeats a published scenario; absent for a run of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<Scenario>,
    /// The share of the data that was to be cached, where one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<Cached>,
    /// Which Prony.
    pub build: Build,
    /// Which client machine.
    pub host: Host,
    /// The plan as it was asked, without passwords: command line or TOML as written.
    pub asked: Value,
    /// The plan as it was run, every default filled in.
    pub plan: Value,
    /// What the server said of itself.
    pub server: Server,
    /// What was run.
    pub workload: Workload,
    /// How it was driven.
    pub drive: Drive,
    /// The parts of the run in time.
    pub window: Window,
    /// Figures of the warm-up; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup: Option<Figures>,
    /// Figures of the measured window: the result.
    pub measured: Figures,
    /// What the workload's field counts beside transactions a second, such as NOPM; leads the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<Rate>,
    /// What users did, where shares of it are meant: over the whole run, warm-up included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<Share>,
    /// One entry a second, warm-up included.
    pub series: Vec<Second>,
    /// Reconnects, outages and the like, in order of time.
    pub events: Vec<Event>,
    /// What was seen of the server; absent where nobody looked, as before version 1.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Observed>,
    /// The client's own health in the measured window.
    pub client: Client,
    /// How good the split of the response time is.
    pub timing: Timing,
    /// What `judge` found.
    pub checks: Vec<Check>,
}

impl Default for Run {
    /// An empty document of a run that is going on.
    fn default() -> Run {
        Run {
            schema_version: SCHEMA_VERSION.into(),
            id: String::new(),
            started_at: String::new(),
            state: State::Running,
            ended_because: None,
            imported: None,
            experiment: None,
            scenario: None,
            cached: None,
            build: Build::default(),
            host: Host::default(),
            asked: Value::Null,
            plan: Value::Null,
            server: Server::default(),
            workload: Workload::default(),
            drive: Drive::default(),
            window: Window::default(),
            warmup: None,
            measured: Figures::default(),
            rates: Vec::new(),
            shares: Vec::new(),
            series: Vec::new(),
            events: Vec::new(),
            observed: None,
            client: Client::default(),
            timing: Timing::default(),
            checks: Vec::new(),
        }
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Still going on (the document of a live run).
    Running,
    /// As planned.
    Complete,
    /// Ended early by a signal, an error or a kill; its figures cover what was measured.
    Partial,
}
