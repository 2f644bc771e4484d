//! Suites: the scenarios of a document that are run together, in the document's order.
//!
//! A suite is a list of ids. Everything else about a row is in its scenario.

use super::{Scenario, ScenarioSource, find_scenario};
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

const FILE: &str = include_str!("data/suites.toml");

/// Scenarios of one document, in its order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Its id, as `prony reproduce` accepts it; never that of a scenario.
    pub id: String,
    /// A one-line description.
    pub title: String,
    /// The document, by its short name.
    pub source: ScenarioSource,
    /// The page or section of the document.
    #[serde(rename = "place")]
    pub source_location: String,
    /// Whether a row uses the data of the row before it, if tables and size are the same.
    #[serde(default)]
    pub keep_data: bool,
    /// Whether its rows are the same load on machines of different sizes.
    #[serde(default)]
    pub scaling: bool,
    /// Whether the document has no table of these rows, but describes or suggests them.
    #[serde(default)]
    pub derived: bool,
    /// Ids of the scenarios.
    pub rows: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Suite {
    /// Its scenarios, in the order of the document.
    pub fn scenarios(&self) -> impl Iterator<Item = &'static Scenario> {
        // A test checks that each id is that of a scenario.
        self.rows.iter().filter_map(|id| find_scenario(id).ok())
    }
}

pub fn suites() -> &'static [Suite] {
    static SUITES: OnceLock<Vec<Suite>> = OnceLock::new();
    // The file is part of the program, and a test reads it: no error occurs.
    SUITES.get_or_init(|| read_suites().unwrap_or_default())
}

pub fn find_suite(id: &str) -> Option<&'static Suite> {
    suites().iter().find(|suite| suite.id == id)
}

/// Reads the suites.
///
/// # Errors
/// If the file is invalid.
pub(super) fn read_suites() -> Result<Vec<Suite>, toml::de::Error> {
    #[derive(Deserialize)]
    struct SuiteFile {
        suite: Vec<Suite>,
    }
    toml::from_str(FILE).map(|file: SuiteFile| file.suite)
}
