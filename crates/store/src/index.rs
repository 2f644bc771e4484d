//! The SQLite index of stored runs.
//!
//! It has one row for each document, for listing, and no information of its own: it can be deleted at any
//! time and is rebuilt from the documents.

use crate::MetricName;
use crate::annotation::Annotation;
use crate::contradictions::contradictions;
use crate::error::StoreError;
use crate::files;
use crate::filter::{RunVerdict, is_judged};
use crate::id::epoch_ns;
use crate::lock;
use crate::run::{Experiment, Run, RunState, ServerEngine, Severity};
use rusqlite::{Connection, ErrorCode, Row, TransactionBehavior, params};
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

/// Version of the tables. An index of another version is neither used nor changed.
const TABLES_VERSION: i64 = 1;

/// The text for a run without doubts. In a row of a Prony that did not tell doubts from other findings the column is
/// null: that row is not used, and written again from its document.
const NO_DOUBT: &str = "none";

/// How long to wait for another Prony that writes to the index.
const BUSY_TIMEOUT: Duration = Duration::from_secs(20);

/// The main figures of a stored run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary {
    /// Id of the run.
    pub id: String,
    /// Start, RFC 3339.
    pub started_at: String,
    /// Whether it is in progress, or how it ended.
    pub state: RunState,
    /// Workload.
    pub workload: String,
    /// Scale factor.
    pub scale: u32,
    /// Clients.
    pub clients: u32,
    /// Scheduled rate, transactions per second; absent in a closed loop.
    pub rate_tps: Option<f64>,
    /// Committed transactions per second of the measured window; absent if nothing was measured.
    pub tps: Option<f64>,
    /// New orders committed per minute; absent if the workload has none, or if nothing was measured.
    pub nopm: Option<f64>,
    /// 99th percentile of the response time of committed transactions, nanoseconds.
    pub p99_ns: Option<u64>,
    /// Failed transactions; absent if nothing was measured, and in rows of older versions.
    pub failed: Option<u64>,
    /// 99th percentile of the response time of all transactions that ended, nanoseconds; absent if all
    /// committed.
    pub attempts_p99_ns: Option<u64>,
    /// 99th percentile of the response time of failed transactions, nanoseconds; absent with too few.
    pub failed_p99_ns: Option<u64>,
    /// Engine and version of the server.
    pub server: String,
    /// The highest severity among the findings that cast doubt on it; absent if none does.
    pub worst_doubt: Option<Severity>,
    /// Whether the document has findings, or the version of the rules that found none.
    pub is_judged: bool,
    /// Its position in an experiment.
    pub experiment: Option<Experiment>,
    /// Its label and note; filled in by listing.
    pub annotation: Annotation,
}

impl RunSummary {
    /// The summary of a run that is stored under this id.
    pub fn new(id: &str, run: &Run) -> RunSummary {
        let all = run.measured.all_kinds();
        let measured = all.filter(|_| run.measured.length_s > 0.0);
        let doubts = run.checks.iter().filter(|check| check.is_doubt());
        let doubts = doubts.map(|check| check.severity);
        let contradicts = (!contradictions(run).is_empty()).then_some(Severity::Invalid);
        RunSummary {
            id: id.to_owned(),
            started_at: run.started_at.clone(),
            state: run.state,
            workload: run.workload.name.clone(),
            scale: run.workload.scale,
            clients: run.drive.clients,
            rate_tps: run.drive.rate_tps,
            tps: measured.map(|all| all.tps),
            nopm: measured.and_then(|_| nopm(run)),
            p99_ns: measured.and_then(|all| all.response.p99_ns),
            failed: measured.map(|all| all.failed),
            attempts_p99_ns: measured.and_then(|all| all.attempts.as_ref()?.p99_ns),
            failed_p99_ns: measured.and_then(|all| all.failed_response.as_ref()?.p99_ns),
            server: match &run.imported {
                Some(imported) => format!("imported {}", imported.tool),
                None => {
                    let engine = run.server.engine.as_ref().map_or("", ServerEngine::id);
                    format!("{engine} {}", run.server.version)
                }
            },
            worst_doubt: doubts.chain(contradicts).max(),
            is_judged: is_judged(run),
            experiment: run.experiment.clone(),
            annotation: Annotation::default(),
        }
    }

    /// Start, nanoseconds since 1970; runs are sorted by it.
    pub fn epoch_ns(&self) -> i64 {
        epoch_ns(&self.started_at)
    }
}

/// Size and modification time of a document. A difference shows that it changed after it was indexed.
pub(crate) type FileStamp = (i64, i64);

/// The open index.
pub(crate) struct Index {
    db: Connection,
}

impl Index {
    /// Opens the index of a store. A broken index is replaced by an empty one; an unusable one by an empty
    /// one in memory.
    pub(crate) fn open(path: &Path) -> Result<Index, StoreError> {
        let error = match open_file(path) {
            Ok(db) => return Ok(Index { db }),
            Err(error) => error,
        };
        if is_corrupt(&error) {
            return Index::replace(path);
        }
        Index::in_memory()
    }

    /// Replaces a broken index by an empty one, in memory if the file cannot be replaced.
    pub(crate) fn replace(path: &Path) -> Result<Index, StoreError> {
        match replace_file(path) {
            Some(db) => Ok(Index { db }),
            None => Index::in_memory(),
        }
    }

    pub(crate) fn in_memory() -> Result<Index, StoreError> {
        let db = Connection::open_in_memory()?;
        create_tables(&db)?;
        Ok(Index { db })
    }

    /// The indexed documents, each with its size and modification time when it was indexed.
    pub(crate) fn file_stamps(&self) -> Result<HashMap<String, FileStamp>, StoreError> {
        let mut query = self
            .db
            .prepare("SELECT id, bytes, changed_ns FROM runs WHERE doubt IS NOT NULL")?;
        let rows = query.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Adds, replaces and removes rows, all or nothing.
    pub(crate) fn change(
        &mut self,
        put: &[(RunSummary, FileStamp)],
        remove: &[String],
    ) -> Result<(), StoreError> {
        let transaction = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        for id in remove {
            transaction.execute("DELETE FROM runs WHERE id = ?1", [id])?;
        }
        for (summary, (bytes, changed_ns)) in put {
            let doubt = match summary.is_judged {
                true => summary.worst_doubt.map_or(NO_DOUBT, Severity::name),
                false => RunVerdict::NotJudged.name(),
            };
            transaction.execute(
                "INSERT OR REPLACE INTO runs (id, bytes, changed_ns, started_ns, started_at, state,
                     workload, scale, clients, rate_tps, tps, p99_ns, server, doubt, experiment, nopm,
                     failed, attempts_p99_ns, failed_p99_ns)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,
                     ?17, ?18, ?19)",
                params![
                    summary.id,
                    bytes,
                    changed_ns,
                    summary.epoch_ns(),
                    summary.started_at,
                    summary.state.name(),
                    summary.workload,
                    summary.scale,
                    summary.clients,
                    summary.rate_tps,
                    summary.tps,
                    summary.p99_ns.map(to_integer),
                    summary.server,
                    doubt,
                    experiment_json(summary.experiment.as_ref()),
                    summary.nopm,
                    summary.failed.map(to_integer),
                    summary.attempts_p99_ns.map(to_integer),
                    summary.failed_p99_ns.map(to_integer),
                ],
            )?;
        }
        Ok(transaction.commit()?)
    }

    /// All rows, newest first.
    pub(crate) fn summaries(&self) -> Result<Vec<RunSummary>, StoreError> {
        let mut query = self.db.prepare(
            "SELECT id, started_at, state, workload, scale, clients, rate_tps, tps, p99_ns, server,
                 doubt, experiment, nopm, failed, attempts_p99_ns, failed_p99_ns FROM runs WHERE doubt IS NOT NULL
                 ORDER BY started_ns DESC, id DESC",
        )?;
        let rows = query.query_map([], summary)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

fn summary(row: &Row<'_>) -> rusqlite::Result<RunSummary> {
    let count = |column: usize| -> rusqlite::Result<Option<u64>> {
        let value: Option<i64> = row.get(column)?;
        Ok(value.and_then(|value| u64::try_from(value).ok()))
    };
    let (state, doubt): (String, String) = (row.get(2)?, row.get(10)?);
    let experiment: Option<String> = row.get(11)?;
    Ok(RunSummary {
        id: row.get(0)?,
        started_at: row.get(1)?,
        state: RunState::from_name(&state).unwrap_or(RunState::Partial),
        workload: row.get(3)?,
        scale: row.get(4)?,
        clients: row.get(5)?,
        rate_tps: row.get(6)?,
        tps: row.get(7)?,
        nopm: row.get(12)?,
        p99_ns: count(8)?,
        failed: count(13)?,
        attempts_p99_ns: count(14)?,
        failed_p99_ns: count(15)?,
        server: row.get(9)?,
        worst_doubt: Severity::from_name(&doubt),
        is_judged: doubt != RunVerdict::NotJudged.name(),
        experiment: experiment.and_then(|text| serde_json::from_str(&text).ok()),
        annotation: Annotation::default(),
    })
}

/// A count or a time as SQLite stores it.
fn to_integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// New orders committed per minute.
fn nopm(run: &Run) -> Option<f64> {
    let mut rates = run.rates.iter();
    let rate = rates.find(|rate| rate.name == MetricName::Nopm)?;
    Some(rate.value)
}

/// The experiment as JSON, as in the document.
fn experiment_json(experiment: Option<&Experiment>) -> Option<String> {
    serde_json::to_string(experiment?).ok()
}

fn open_file(path: &Path) -> rusqlite::Result<Connection> {
    // SQLite gives its -wal and -shm files the same mode. An existing file is not opened here: closing it
    // would drop the locks that another connection of this process holds on it
    // (https://sqlite.org/howtocorrupt.html, 2.2).
    let _ = files::create_new(path);
    files::make_private(path);
    let db = Connection::open(path)?;
    db.busy_timeout(BUSY_TIMEOUT)?;
    // On file systems without shared memory SQLite keeps its rollback journal, which is equally safe. A
    // corrupt file is detected below.
    let _ = db.pragma_update(None, "journal_mode", "WAL");
    db.pragma_update(None, "synchronous", "NORMAL")?;
    create_tables(&db)?;
    Ok(db)
}

/// Creates the tables of a new index; refuses those of another version.
fn create_tables(db: &Connection) -> rusqlite::Result<()> {
    let version = |db: &Connection| db.pragma_query_value(None, "user_version", |row| row.get(0));
    let mut version_found: i64 = version(db)?;
    if version_found == 0 {
        db.execute_batch("BEGIN IMMEDIATE")?;
        let created = version(db).and_then(|current: i64| match current {
            0 => db.execute_batch(&format!("{TABLES} PRAGMA user_version = {TABLES_VERSION};")),
            // Another process has created them first.
            _ => Ok(()),
        });
        db.execute_batch(if created.is_ok() {
            "COMMIT"
        } else {
            "ROLLBACK"
        })?;
        created?;
        version_found = version(db)?;
    }
    if version_found != TABLES_VERSION {
        return Err(rusqlite::Error::InvalidQuery);
    }
    add_later_columns(db)?;
    // Reads the table, so that a broken file is detected here.
    db.query_row("SELECT count(*) FROM runs", [], |_| Ok(()))
}

/// Columns that the first tables of this version did not have, each with the statements that add it. Rows are
/// removed if their documents have the value: the next listing reads these again.
const LATER_COLUMNS: [(&str, &str); 6] = [
    ("experiment", "ALTER TABLE runs ADD COLUMN experiment TEXT;"),
    (
        "nopm",
        "ALTER TABLE runs ADD COLUMN nopm REAL; DELETE FROM runs;",
    ),
    ("doubt", "ALTER TABLE runs ADD COLUMN doubt TEXT;"),
    ("failed", "ALTER TABLE runs ADD COLUMN failed INTEGER;"),
    (
        "attempts_p99_ns",
        "ALTER TABLE runs ADD COLUMN attempts_p99_ns INTEGER;",
    ),
    (
        "failed_p99_ns",
        "ALTER TABLE runs ADD COLUMN failed_p99_ns INTEGER; DELETE FROM runs;",
    ),
];

/// Adds the columns that are missing. The version stays the same: an older Prony names the columns that it reads and
/// writes, so it still works; its rows have no experiment, NOPM, doubt or failures.
fn add_later_columns(db: &Connection) -> rusqlite::Result<()> {
    let is_missing = |db: &Connection, name: &str| {
        let column = "SELECT count(*) FROM pragma_table_info('runs') WHERE name = ?1";
        db.query_row(column, [name], |row| row.get::<_, i64>(0))
            .map(|count| count == 0)
    };
    for (name, statements) in LATER_COLUMNS {
        if !is_missing(db, name)? {
            continue;
        }
        db.execute_batch("BEGIN IMMEDIATE")?;
        let added = is_missing(db, name).and_then(|is_missing| match is_missing {
            true => db.execute_batch(statements),
            // Another process has added it first.
            false => Ok(()),
        });
        db.execute_batch(if added.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
        added?;
    }
    Ok(())
}

const TABLES: &str = "CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    bytes INTEGER NOT NULL,
    changed_ns INTEGER NOT NULL,
    started_ns INTEGER NOT NULL,
    started_at TEXT NOT NULL,
    state TEXT NOT NULL,
    workload TEXT NOT NULL,
    scale INTEGER NOT NULL,
    clients INTEGER NOT NULL,
    rate_tps REAL,
    tps REAL,
    p99_ns INTEGER,
    server TEXT NOT NULL,
    worst TEXT,
    experiment TEXT,
    nopm REAL,
    doubt TEXT,
    failed INTEGER,
    attempts_p99_ns INTEGER,
    failed_p99_ns INTEGER
) STRICT;
CREATE INDEX runs_by_start ON runs (started_ns);";

/// Whether the file is not, or no longer, an index that SQLite can read.
pub(crate) fn is_corrupt(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    )
}

/// Removes an index and opens a new one, one process at a time. A process that has the old one open continues
/// with the removed file; the next listing adds the rows that it writes there.
fn replace_file(path: &Path) -> Option<Connection> {
    let _lock = lock::lock_file(&path.with_extension("lock")).ok()?;
    for ending in ["", "-wal", "-shm", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        // If this fails, opening the new one fails.
        let _ = std::fs::remove_file(name);
    }
    open_file(path).ok()
}

#[cfg(test)]
mod tests;
