//! Scenarios: workloads that published documents ran, each with all that is said of it and its figures.
//!
//! In: the tables in `data`, which hold facts of the documents and none of their sentences. Out:
//! scenarios by their id, and their sizes as they are to be run. Must never: hold a figure that is in no
//! document; where a document is silent, there is nothing here either.
//!
//! `figure` knows what the figures count, `read` reads the tables, `size` shrinks a scenario and knows how
//! large data becomes.

mod figure;
mod read;
mod size;

#[cfg(test)]
mod tests;

pub use figure::{Figure, Measure};
pub use size::{Size, data_bytes, parse_share, parse_shrink, scale_for};

use crate::choice::Choice;
use crate::duration::format_duration;
use crate::plan::QueryMode;
use crate::suggest;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Duration;

/// The scenarios of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    /// Its number, from 1.
    pub section: u32,
    /// What they have in common.
    pub title: String,
    /// They themselves.
    pub scenarios: Vec<Scenario>,
}

/// One scenario. What its document does not say is absent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scenario {
    /// Its name, as `prony reproduce` takes it.
    pub id: String,
    /// One line in words.
    pub title: String,
    /// Which server it is for.
    pub engine: Engine,
    /// What ran there.
    pub product: String,
    /// The version of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The server's machine, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Its CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// Its memory, as the document has it: GB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_gb: Option<u64>,
    /// The workload of Prony that it is.
    pub workload: String,
    /// Options of that workload.
    pub options: BTreeMap<String, toml::Value>,
    /// Of the workload `script`: which script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<Script>,
    /// And its variables, `NAME=VALUE`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub define: Vec<String>,
    /// And how many accounts are in its hot set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<u64>,
    /// Statements of a transaction that its QPS counts; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statements: Option<u32>,
    /// Columns of `pgbench_history` that get an index each before the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub indexes: Vec<String>,
    /// Scale: branches, warehouses or tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<u64>,
    /// Clients; the tools of the documents ran as many threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<u64>,
    /// How statements were sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<QueryMode>,
    /// Warm-up.
    #[serde(serialize_with = "time", skip_serializing_if = "Option::is_none")]
    pub warmup: Option<Duration>,
    /// Measured window.
    #[serde(serialize_with = "time", skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
    /// How much of the data was in the server's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached: Option<Cached>,
    /// Size of the data there, GB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_gb: Option<u64>,
    /// The server is restarted first, so that its caches are cold.
    pub cold: bool,
    /// The tables are vacuumed before the run.
    pub vacuum: bool,
    /// What was set that decides whether a commit lasts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durability: Option<String>,
    /// How it was replicated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replication: Option<String>,
    /// What was measured there.
    pub figures: Vec<Figure>,
    /// The document, by its short name.
    pub source: Source,
    /// Where in it.
    pub place: String,
    /// What else is to be known, slips of the document among it.
    pub notes: Vec<String>,
}

/// Which server a scenario is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// PostgreSQL.
    PostgreSql,
    /// MySQL or MariaDB.
    MySql,
    /// SQL Server.
    SqlServer,
}

impl Choice for Engine {
    const ALL: &'static [(&'static str, Self)] = &[
        ("PostgreSQL", Self::PostgreSql),
        ("MySQL", Self::MySql),
        ("SQL Server", Self::SqlServer),
    ];
}

/// How much of the data was in the server's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cached {
    /// All of it.
    #[serde(rename = "100%")]
    Whole,
    /// About 30 %.
    #[serde(rename = "30%")]
    Third,
    /// A part that the document does not name.
    #[serde(rename = "part")]
    Part,
}

impl Cached {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Whole => "all of the data",
            Self::Third => "about 30 % of the data",
            Self::Part => "a part of the data",
        }
    }
}

/// A script in pgbench's language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Script {
    /// A row into `pgbench_history`.
    IndexInsert,
    /// Read an account of the hot set.
    HotSetRo,
    /// The TPC-B-like transaction on an account of the hot set.
    HotSetRw,
}

impl Script {
    /// The name of its file.
    pub fn file(self) -> &'static str {
        match self {
            Self::IndexInsert => "index-insert.sql",
            Self::HotSetRo => "hot-set-ro.sql",
            Self::HotSetRw => "hot-set-rw.sql",
        }
    }

    /// Its text.
    pub fn text(self) -> &'static str {
        match self {
            Self::IndexInsert => include_str!("data/index-insert.sql"),
            Self::HotSetRo => include_str!("data/hot-set-ro.sql"),
            Self::HotSetRw => include_str!("data/hot-set-rw.sql"),
        }
    }
}

/// A document that figures were published in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// Google, 2023.
    #[serde(rename = "AlloyDB-2023")]
    AlloyDb2023,
    /// Google, the newer page of that guide.
    #[serde(rename = "AlloyDB-web")]
    AlloyDbWeb,
    /// Alibaba Cloud, 2022.
    #[serde(rename = "ApsaraDB-2022")]
    ApsaraDb2022,
}

impl Source {
    /// Its short name.
    pub fn name(self) -> &'static str {
        match self {
            Self::AlloyDb2023 => "AlloyDB-2023",
            Self::AlloyDbWeb => "AlloyDB-web",
            Self::ApsaraDb2022 => "ApsaraDB-2022",
        }
    }

    /// Its title.
    pub fn title(self) -> &'static str {
        match self {
            Self::AlloyDb2023 => {
                "AlloyDB for PostgreSQL, Transactional (OLTP) Benchmarking Guide, May 2023"
            }
            Self::AlloyDbWeb => "AlloyDB for PostgreSQL, the web page of that guide (German)",
            Self::ApsaraDb2022 => "ApsaraDB for RDS Performance White Paper, 2022-05-30",
        }
    }
}

impl Scenario {
    /// The workload whose load makes its tables.
    pub fn data(&self) -> &str {
        match self.workload.as_str() {
            "script" | "select-only" | "simple-update" => "tpcb",
            own => own,
        }
    }

    /// What a unit of its scale is, one and several.
    pub fn unit(&self) -> (&'static str, &'static str) {
        match self.data() {
            "tpcb" => ("branch", "branches"),
            "tpcc" => ("warehouse", "warehouses"),
            _ => ("table", "tables"),
        }
    }
}

/// All scenarios, in the order in which they are listed.
pub fn all() -> &'static [Table] {
    static ALL: OnceLock<Vec<Table>> = OnceLock::new();
    // That they can be read is tested.
    ALL.get_or_init(|| read::tables().unwrap_or_default())
}

/// Those of all tables.
pub fn each() -> impl Iterator<Item = &'static Scenario> {
    all().iter().flat_map(|table| &table.scenarios)
}

/// There is no such scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no scenario \"{id}\"; {hint}")]
pub struct UnknownScenario {
    /// What was asked for.
    pub id: String,
    /// Those that may have been meant, or where to look.
    pub hint: String,
}

/// Most ids that are suggested.
const NEAR: usize = 3;

/// The scenario of this id.
///
/// # Errors
/// There is none; the error names those near it.
pub fn find(id: &str) -> Result<&'static Scenario, UnknownScenario> {
    if let Some(found) = each().find(|scenario| scenario.id == id) {
        return Ok(found);
    }
    let near = near(id);
    Err(UnknownScenario {
        id: crate::duration::shorten(id),
        hint: match near.is_empty() {
            true => "`prony scenarios` lists them".to_owned(),
            false => format!("did you mean {}?", near.join(", ")),
        },
    })
}

/// Ids near a word: those that begin with it or hold it, else those with the fewest edits.
fn near(word: &str) -> Vec<&'static str> {
    let word = word.to_lowercase();
    let ids: Vec<&str> = each().map(|scenario| scenario.id.as_str()).collect();
    let holding = ids
        .iter()
        .filter(|id| word.len() >= 3 && id.contains(&word));
    let holding: Vec<&str> = holding.copied().take(NEAR).collect();
    if !holding.is_empty() {
        return holding;
    }
    let mut left = ids;
    let mut found = Vec::new();
    while let Some(near) = suggest::nearest(&word, &left).filter(|_| found.len() < NEAR) {
        found.push(near);
        left.retain(|id| *id != near);
    }
    found
}

fn time<S: Serializer>(time: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => serializer.serialize_str(&format_duration(*time)),
        None => serializer.serialize_none(),
    }
}
