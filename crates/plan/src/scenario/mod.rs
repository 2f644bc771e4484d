//! Scenarios: published benchmark runs, each with its description and figures.
//!
//! The tables in `data` contain facts from the documents, not their sentences. A figure is never invented: a
//! value that a document does not state is absent here too. If a value was computed from stated ones, a note
//! of the scenario says how.
//!
//! `figure` defines the metrics, `read` reads the tables, `size` shrinks a scenario and computes the size of its
//! data, and `suite` lists the scenarios of a document that are run together.

mod figure;
mod read;
mod size;
mod suite;

#[cfg(test)]
mod tests;

pub use figure::{PublishedFigure, PublishedMetric};
pub use size::{ScenarioSize, parse_fraction, parse_share, scale_for_memory};
pub use suite::{Suite, find_suite, suites};

use crate::choice::choices;
use crate::plan::QueryMode;
use crate::suggest;
use crate::user_error::{ErrorParts, UserError};
use prony_document::{HighAvailability, SqlDialect};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Duration;

/// The scenarios of one section.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScenarioTable {
    /// Number of the section, from 1.
    pub section: u32,
    /// The common subject of the scenarios.
    pub title: String,
    pub scenarios: Vec<Scenario>,
}

/// One scenario. Values that its document does not state are absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The scenario's id, as `prony reproduce` accepts it.
    pub id: String,
    /// A one-line description.
    pub title: String,
    /// The SQL that the scenario's server understands; `mysql` also means MariaDB.
    pub dialect: SqlDialect,
    #[serde(flatten)]
    pub setup: PublishedSetup,
    /// Memory of the machine, in GB as the document writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_gb: Option<u64>,
    /// Prony's workload for the scenario.
    pub workload: String,
    /// Options of that workload.
    #[serde(default)]
    pub options: BTreeMap<String, toml::Value>,
    /// The script, for the workload `script`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<ScenarioScript>,
    /// The variables of the script, `NAME=VALUE`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub define: Vec<String>,
    /// The number of accounts in the script's hot set.
    #[serde(rename = "range", skip_serializing_if = "Option::is_none")]
    pub hot_set_accounts: Option<u64>,
    /// Number of statements per transaction that the document's QPS counts; absent if it counts all.
    #[serde(rename = "statements", skip_serializing_if = "Option::is_none")]
    pub qps_statements_per_txn: Option<u32>,
    /// Columns of `pgbench_history`, each of which gets an index before the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indexes: Vec<String>,
    /// Scale: branches, warehouses or tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<u64>,
    /// Clients; the tools in the documents ran the same number of threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<u64>,
    /// Warm-up.
    #[serde(
        with = "duration_as_text",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub warmup: Option<Duration>,
    /// Measured window.
    #[serde(
        with = "duration_as_text",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub duration: Option<Duration>,
    /// How much of the data was in the server's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached: Option<CachedPortion>,
    /// Whether the server is restarted before the run, so that its caches are cold.
    #[serde(default)]
    pub cold: bool,
    /// Whether the tables are vacuumed before the run.
    #[serde(default)]
    pub vacuum: bool,
    /// How the server was replicated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replication: Option<String>,
    #[serde(default, deserialize_with = "figure::from_lists")]
    pub figures: Vec<PublishedFigure>,
    /// The document, by its short name.
    pub source: ScenarioSource,
    /// The page or section of the document.
    #[serde(rename = "place")]
    pub source_location: String,
    /// Remarks, such as errors in the document.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// What a document states of the server, its client and the load, in the table of scenarios and in the Run document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PublishedSetup {
    /// The database product.
    pub product: String,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// A description of the server's machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Number of CPUs of that machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// The disks that held the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    /// Size of the storage, as the document writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_size: Option<String>,
    /// The storage's limit of operations per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iops: Option<u64>,
    /// The server's limit of connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_connections: Option<u64>,
    /// The number of the workload's rows that the instance can store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rows: Option<u64>,
    /// The protocol mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<QueryMode>,
    /// Settings of the server: a value as the server writes it, or a share of the machine's memory as
    /// `20% of memory`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// The settings that decide whether a commit is durable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durability: Option<String>,
    /// Size of the data, GB as the document writes it, which may mean GiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_gb: Option<u64>,
    /// What took over if the server's machine failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high_availability: Option<HighAvailability>,
    /// In how many availability zones the server's copies were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zones: Option<u32>,
    /// The region of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// A description of the client's machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_machine: Option<String>,
    /// CPUs of the client's machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_cpus: Option<u32>,
}

choices! {
    /// How much of the data was in the server's cache.
    pub enum CachedPortion {
        /// All of the data.
        Whole = "100%",
        /// About 30 % of the data.
        ThirtyPercent = "30%",
        /// A part of the data; the document does not state its size.
        Part = "part",
    }
}

impl CachedPortion {
    /// What the cache held, as text.
    pub fn description(self) -> &'static str {
        match self {
            Self::Whole => "all of the data",
            Self::ThirtyPercent => "about 30 % of the data",
            Self::Part => "a part of the data",
        }
    }
}

choices! {
    pub enum ScenarioScript {
        /// Insert a row into `pgbench_history`.
        IndexInsert = "index-insert",
        /// Read an account of the hot set.
        HotSetRo = "hot-set-ro",
        /// The TPC-B-like transaction on an account of the hot set.
        HotSetRw = "hot-set-rw",
    }
}

impl ScenarioScript {
    pub fn file_name(self) -> &'static str {
        match self {
            Self::IndexInsert => "index-insert.sql",
            Self::HotSetRo => "hot-set-ro.sql",
            Self::HotSetRw => "hot-set-rw.sql",
        }
    }

    pub fn text(self) -> &'static str {
        match self {
            Self::IndexInsert => include_str!("data/index-insert.sql"),
            Self::HotSetRo => include_str!("data/hot-set-ro.sql"),
            Self::HotSetRw => include_str!("data/hot-set-rw.sql"),
        }
    }
}

choices! {
    /// The short name of a document that published figures.
    pub enum ScenarioSource {
        /// Google, 2023.
        AlloyDb2023 = "AlloyDB-2023",
        /// Google, the newer web page of that guide.
        AlloyDbWeb = "AlloyDB-web",
        /// Alibaba Cloud, 2022.
        ApsaraDb2022 = "ApsaraDB-2022",
        /// Aiven, 2019.
        Aiven2019 = "Aiven-2019",
    }
}

impl ScenarioSource {
    pub fn title(self) -> &'static str {
        match self {
            Self::AlloyDb2023 => {
                "AlloyDB for PostgreSQL, Transactional (OLTP) Benchmarking Guide, May 2023"
            }
            Self::AlloyDbWeb => "AlloyDB for PostgreSQL, the web page of that guide (German)",
            Self::ApsaraDb2022 => "ApsaraDB for RDS Performance White Paper, 2022-05-30",
            Self::Aiven2019 => {
                "Transactions per Dollar: PostgreSQL in virtual and bare metal clouds, Aiven, PostgresConf US 2019"
            }
        }
    }
}

impl Scenario {
    /// The workload whose loader creates the scenario's tables.
    pub fn data_workload(&self) -> &str {
        match self.workload.as_str() {
            "script" | "select-only" | "simple-update" => "tpcb",
            workload => workload,
        }
    }
}

/// All scenarios, by section.
pub fn scenario_tables() -> &'static [ScenarioTable] {
    static TABLES: OnceLock<Vec<ScenarioTable>> = OnceLock::new();
    // The tables are part of the program, and a test reads them: no error occurs.
    TABLES.get_or_init(|| read::read_tables().unwrap_or_default())
}

pub fn all_scenarios() -> impl Iterator<Item = &'static Scenario> {
    scenario_tables().iter().flat_map(|table| &table.scenarios)
}

/// The error for an id that no scenario has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.parts().sentence())]
pub struct UnknownScenario {
    /// The id as the user wrote it, shortened.
    pub id: String,
    /// Similar ids, or how to list them.
    pub hint: String,
}

impl UserError for UnknownScenario {
    fn parts(&self) -> ErrorParts {
        ErrorParts::new(format!("there is no scenario \"{}\"", self.id)).with_hint(&self.hint)
    }
}

pub fn find_scenario(id: &str) -> Result<&'static Scenario, UnknownScenario> {
    if let Some(scenario) = all_scenarios().find(|scenario| scenario.id == id) {
        return Ok(scenario);
    }
    Err(UnknownScenario {
        id: crate::duration::shorten(id),
        hint: match similar_id(id) {
            None => "`prony scenarios` lists them".to_owned(),
            Some(similar) => format!("did you mean {similar}? `prony scenarios` lists all"),
        },
    })
}

/// The id of a scenario or a suite that is most similar to a word: the first that contains it, otherwise the one
/// with the smallest edit distance.
fn similar_id(word: &str) -> Option<&'static str> {
    let word = word.to_lowercase();
    let mut ids: Vec<&str> = all_scenarios()
        .map(|scenario| scenario.id.as_str())
        .collect();
    ids.extend(suites().iter().map(|suite| suite.id.as_str()));
    // Almost every id contains a word of one or two letters.
    if word.len() >= 3
        && let Some(containing) = ids.iter().find(|id| id.contains(&word))
    {
        return Some(*containing);
    }
    suggest::nearest(&word, &ids)
}

/// For serde's `with`: an optional duration, as text.
mod duration_as_text {
    use crate::duration::{format_duration, parse_duration};
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::time::Duration;

    pub fn serialize<S: Serializer>(
        time: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        time.map(format_duration).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse_duration(&text).map(Some).map_err(D::Error::custom)
    }
}
