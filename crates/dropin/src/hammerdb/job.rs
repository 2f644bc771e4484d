//! The record of one build, check, deletion or run.
//!
//! Must never: contain a password.

use super::clock;
use prony_dialect::hammerdb::Settings;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A job, as stored.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Job {
    /// 24 hexadecimal digits.
    pub id: String,
    /// The start, such as `2026-11-20 22:30:42`.
    pub timestamp: String,
    /// The database's name, such as `PostgreSQL`.
    pub database: String,
    /// The benchmark's name, `TPC-C`.
    pub benchmark: String,
    /// HammerDB's dictionary of settings, without passwords.
    pub dictionary: Map<String, Value>,
    /// The id of the run in Prony's store, if it was stored.
    #[serde(rename = "run")]
    pub run_id: Option<String>,
    /// The lines of the virtual users.
    pub lines: Vec<String>,
    /// The lines of the result, such as `2 Active Virtual Users configured` and `TEST RESULT : ...`.
    #[serde(rename = "result")]
    pub result_lines: Vec<String>,
    /// Timings of the routines: for all virtual users together, then for each user.
    pub timings: Vec<VuserTiming>,
    /// Readings of the transaction counter: the time, and transactions per minute.
    #[serde(rename = "counts")]
    pub tpm_readings: Vec<(String, u64)>,
}

/// Timings of one virtual user's calls, or of all users' calls.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct VuserTiming {
    /// The number of the virtual user; `None` for all users together.
    pub vuser: Option<u32>,
    /// Name and timings of each routine, sorted by total time in descending order.
    pub routines: Vec<(String, RoutineTiming)>,
}

/// Timings of one routine in HammerDB's format: numbers as text, keys in HammerDB's order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoutineTiming {
    pub elapsed_ms: String,
    pub calls: String,
    pub min_ms: String,
    pub avg_ms: String,
    pub max_ms: String,
    pub total_ms: String,
    pub p99_ms: String,
    pub p95_ms: String,
    pub p50_ms: String,
    /// Standard deviation in microseconds, as in the time profile.
    pub sd: String,
    /// Share of the elapsed time, in per cent.
    pub ratio_pct: String,
}

impl Job {
    /// A job that starts now.
    pub fn begin(id: &str, settings: &Settings) -> Job {
        let mut dictionary = Map::new();
        for (section, settings) in settings.masked_dictionary() {
            let settings = settings.into_iter();
            let values = settings.map(|(key, value)| (key.to_owned(), Value::String(value)));
            dictionary.insert(section.to_owned(), Value::Object(values.collect()));
        }
        Job {
            id: id.to_owned(),
            timestamp: clock::job_timestamp(),
            database: settings.database_name().to_owned(),
            benchmark: "TPC-C".to_owned(),
            dictionary,
            ..Job::default()
        }
    }
}
