//! The SQLite index of stored runs.
//!
//! In: documents. Out: one row of a few figures each, for listing. Must never: be the only place
//! of anything: it can be deleted at any time, and is made again from the documents.

use crate::error::StoreError;
use crate::experiment::Experiment;
use crate::id::epoch_ns;
use crate::lock;
use crate::run::{Run, Severity, State};
use rusqlite::{Connection, ErrorCode, Row, TransactionBehavior, params};
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

/// Version of the tables. An index of another version is left alone and not used.
const TABLES_VERSION: i64 = 1;

/// How long to wait for another Prony that writes to the index.
const BUSY: Duration = Duration::from_secs(20);

/// A few figures of a stored run.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Its id.
    pub id: String,
    /// Start, RFC 3339.
    pub started_at: String,
    /// How it ended.
    pub state: State,
    /// Workload.
    pub workload: String,
    /// Scale factor.
    pub scale: u32,
    /// Clients.
    pub clients: u32,
    /// Asked rate, transactions a second; absent in a closed loop.
    pub rate_tps: Option<f64>,
    /// Committed transactions a second of the measured window; absent if nothing was measured.
    pub tps: Option<f64>,
    /// 99th percentile of the response time, nanoseconds.
    pub p99_ns: Option<u64>,
    /// Engine and version of the server.
    pub server: String,
    /// The gravest finding of its checks.
    pub worst: Option<Severity>,
    /// Its place among the repeats of an experiment.
    pub experiment: Option<Experiment>,
}

impl Summary {
    /// The summary of a run, under the id that it is stored by.
    pub fn of(id: &str, run: &Run) -> Summary {
        let all = run.measured.kinds.iter().find(|kind| kind.kind == "all");
        let measured = all.filter(|_| run.measured.seconds > 0.0);
        Summary {
            id: id.to_owned(),
            started_at: run.started_at.clone(),
            state: run.state,
            workload: run.workload.name.clone(),
            scale: run.workload.scale,
            clients: run.drive.clients,
            rate_tps: run.drive.rate_tps,
            tps: measured.map(|all| all.tps),
            p99_ns: measured.and_then(|all| all.response.p99_ns),
            server: match &run.imported {
                Some(imported) => format!("imported {}", imported.tool),
                None => format!("{} {}", run.server.engine, run.server.version),
            },
            worst: run.checks.iter().map(|check| check.severity).max(),
            experiment: run.experiment.clone(),
        }
    }

    /// When it started, nanoseconds since 1970: the order of runs.
    pub(crate) fn epoch_ns(&self) -> i64 {
        epoch_ns(&self.started_at)
    }
}

/// How a document is told to be the one that was indexed: size and time of its last change.
pub(crate) type Print = (i64, i64);

/// The open index.
pub(crate) struct Index {
    db: Connection,
}

impl Index {
    /// Opens the index of a store. One that is broken is made anew, empty; one that cannot be
    /// used at all is replaced by an empty one in memory.
    pub(crate) fn open(path: &Path) -> Result<Index, StoreError> {
        let error = match open_file(path) {
            Ok(db) => return Ok(Index { db }),
            Err(error) => error,
        };
        if is_broken(&error) {
            return Index::replace(path);
        }
        Index::in_memory()
    }

    /// Makes an index anew, empty, that is broken; in memory if that cannot be.
    pub(crate) fn replace(path: &Path) -> Result<Index, StoreError> {
        match replace_file(path) {
            Some(db) => Ok(Index { db }),
            None => Index::in_memory(),
        }
    }

    pub(crate) fn in_memory() -> Result<Index, StoreError> {
        let db = Connection::open_in_memory()?;
        create(&db)?;
        Ok(Index { db })
    }

    /// Which documents are in it, and as they were then.
    pub(crate) fn prints(&self) -> Result<HashMap<String, Print>, StoreError> {
        let mut query = self.db.prepare("SELECT id, bytes, changed_ns FROM runs")?;
        let rows = query.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Adds, replaces and removes rows, all or nothing.
    pub(crate) fn change(
        &mut self,
        put: &[(Summary, Print)],
        remove: &[String],
    ) -> Result<(), StoreError> {
        let change = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        for id in remove {
            change.execute("DELETE FROM runs WHERE id = ?1", [id])?;
        }
        for (summary, (bytes, changed_ns)) in put {
            change.execute(
                "INSERT OR REPLACE INTO runs (id, bytes, changed_ns, started_ns, started_at, state,
                     workload, scale, clients, rate_tps, tps, p99_ns, server, worst, experiment)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
                params![
                    summary.id,
                    bytes,
                    changed_ns,
                    summary.epoch_ns(),
                    summary.started_at,
                    state_name(summary.state),
                    summary.workload,
                    summary.scale,
                    summary.clients,
                    summary.rate_tps,
                    summary.tps,
                    summary
                        .p99_ns
                        .map(|ns| i64::try_from(ns).unwrap_or(i64::MAX)),
                    summary.server,
                    summary.worst.map(severity_name),
                    written(summary.experiment.as_ref()),
                ],
            )?;
        }
        Ok(change.commit()?)
    }

    /// All rows, newest first.
    pub(crate) fn summaries(&self) -> Result<Vec<Summary>, StoreError> {
        let mut query = self.db.prepare(
            "SELECT id, started_at, state, workload, scale, clients, rate_tps, tps, p99_ns, server,
                 worst, experiment FROM runs ORDER BY started_ns DESC, id DESC",
        )?;
        let rows = query.query_map([], summary)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

fn summary(row: &Row<'_>) -> rusqlite::Result<Summary> {
    let p99_ns: Option<i64> = row.get(8)?;
    let (state, worst): (String, Option<String>) = (row.get(2)?, row.get(10)?);
    let experiment: Option<String> = row.get(11)?;
    Ok(Summary {
        id: row.get(0)?,
        started_at: row.get(1)?,
        state: [State::Running, State::Complete, State::Partial]
            .into_iter()
            .find(|known| state_name(*known) == state)
            .unwrap_or(State::Partial),
        workload: row.get(3)?,
        scale: row.get(4)?,
        clients: row.get(5)?,
        rate_tps: row.get(6)?,
        tps: row.get(7)?,
        p99_ns: p99_ns.and_then(|ns| u64::try_from(ns).ok()),
        server: row.get(9)?,
        worst: [Severity::Note, Severity::Caveat, Severity::Invalid]
            .into_iter()
            .find(|known| Some(severity_name(*known)) == worst.as_deref()),
        experiment: experiment.and_then(|text| serde_json::from_str(&text).ok()),
    })
}

/// An experiment's part of a document, as the document has it.
fn written(experiment: Option<&Experiment>) -> Option<String> {
    serde_json::to_string(experiment?).ok()
}

fn state_name(state: State) -> &'static str {
    match state {
        State::Running => "running",
        State::Complete => "complete",
        State::Partial => "partial",
    }
}

fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Caveat => "caveat",
        Severity::Invalid => "invalid",
    }
}

fn open_file(path: &Path) -> rusqlite::Result<Connection> {
    let db = Connection::open(path)?;
    db.busy_timeout(BUSY)?;
    // On file systems without shared memory SQLite stays with its rollback journal: as good. A
    // broken file shows below.
    let _ = db.pragma_update(None, "journal_mode", "WAL");
    db.pragma_update(None, "synchronous", "NORMAL")?;
    create(&db)?;
    Ok(db)
}

/// Creates the tables of a new index; refuses those of another version.
fn create(db: &Connection) -> rusqlite::Result<()> {
    let version = |db: &Connection| db.pragma_query_value(None, "user_version", |row| row.get(0));
    let mut found: i64 = version(db)?;
    if found == 0 {
        db.execute_batch("BEGIN IMMEDIATE")?;
        let created = version(db).and_then(|again: i64| match again {
            0 => db.execute_batch(&format!("{TABLES} PRAGMA user_version = {TABLES_VERSION};")),
            // Another Prony was faster.
            _ => Ok(()),
        });
        db.execute_batch(if created.is_ok() {
            "COMMIT"
        } else {
            "ROLLBACK"
        })?;
        created?;
        found = version(db)?;
    }
    if found != TABLES_VERSION {
        return Err(rusqlite::Error::InvalidQuery);
    }
    add_experiment(db)?;
    // Reads the whole table's root, so that a broken file shows here.
    db.query_row("SELECT count(*) FROM runs", [], |_| Ok(()))
}

/// Adds the column that tables of this version did not have at first. The version stays: Prony before
/// it names the columns that it reads and writes, and goes on with them; its rows have no experiment.
fn add_experiment(db: &Connection) -> rusqlite::Result<()> {
    let missing = |db: &Connection| {
        let column = "SELECT count(*) FROM pragma_table_info('runs') WHERE name = 'experiment'";
        db.query_row(column, [], |row| row.get::<_, i64>(0))
            .map(|count| count == 0)
    };
    if !missing(db)? {
        return Ok(());
    }
    db.execute_batch("BEGIN IMMEDIATE")?;
    let added = missing(db).and_then(|still| match still {
        true => db.execute_batch("ALTER TABLE runs ADD COLUMN experiment TEXT"),
        // Another Prony was faster.
        false => Ok(()),
    });
    db.execute_batch(if added.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    added
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
    experiment TEXT
) STRICT;
CREATE INDEX runs_by_start ON runs (started_ns);";

/// Whether the file is not, or no longer, an index that SQLite can read.
pub(crate) fn is_broken(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    )
}

/// Removes an index and opens a new one, one Prony at a time. One that has it open goes on with
/// the removed file; what it writes there is found missing and mended at the next listing.
fn replace_file(path: &Path) -> Option<Connection> {
    let _held = lock::wait(&path.with_extension("lock")).ok()?;
    for ending in ["", "-wal", "-shm", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        // What cannot be removed shows when the new one is opened.
        let _ = std::fs::remove_file(name);
    }
    open_file(path).ok()
}
