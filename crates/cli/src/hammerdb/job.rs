//! What is kept of one build, check, deletion or run.
//!
//! In: what it said and found. Out: a document. Must never: hold a password.

use super::clock;
use prony_dialect::hammerdb::Settings;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A job.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Job {
    /// 24 hexadecimal digits.
    pub id: String,
    /// When it began: `2026-11-20 22:30:42`.
    pub timestamp: String,
    /// `PostgreSQL`.
    pub database: String,
    /// `TPC-C`.
    pub benchmark: String,
    /// The dictionary, passwords hidden.
    pub dictionary: Map<String, Value>,
    /// The run's name in Prony's store, where it is there.
    pub run: Option<String>,
    /// What the virtual users said.
    pub lines: Vec<String>,
    /// `2 Active Virtual Users configured` and `TEST RESULT : ...`.
    pub result: Vec<String>,
    /// Times by virtual user and routine.
    pub timing: Map<String, Value>,
    /// The transaction counter: moments and transactions a minute.
    pub counts: Vec<(String, u64)>,
}

impl Job {
    /// A job that begins now.
    pub fn begin(id: &str, settings: &Settings) -> Job {
        let section = |(name, keys): (&str, Vec<(&str, String)>)| {
            let keys = keys.into_iter();
            let keys: Map<String, Value> = keys
                .map(|(key, value)| (key.to_owned(), Value::String(value)))
                .collect();
            (name.to_owned(), Value::Object(keys))
        };
        Job {
            id: id.to_owned(),
            timestamp: clock::moment(),
            database: settings.database_name().to_owned(),
            benchmark: "TPC-C".to_owned(),
            dictionary: settings.shown().into_iter().map(section).collect(),
            ..Job::default()
        }
    }
}
