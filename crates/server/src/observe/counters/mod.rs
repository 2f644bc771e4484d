//! Reads a server's counters, by default once per second.
//!
//! Must never: take heavy locks (reading `pg_locks` blocks all other sessions), repeat a query that
//! was refused, or return zero for a value that could not be read.

mod mysql;
mod postgres;
mod sqlserver;

use super::{Reader, cell, first_line, number, tally};
use crate::control::{Control, Error, TextRow};
use prony_document::{
    LimitUse, MissingObservation, ObservedTopic, Service, SessionGroup, SqlDialect,
};
use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

/// A server's counters at one moment, counted since the last reset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters {
    /// The server's clock, seconds since 1970.
    pub clock_unix_s: Option<f64>,
    /// When the server was started, seconds since 1970.
    pub started_unix_s: Option<f64>,
    pub is_replica: Option<bool>,
    /// Committed transactions: of this database in PostgreSQL, otherwise of the server.
    pub commits: Option<u64>,
    /// Rolled-back transactions.
    pub rollbacks: Option<u64>,
    pub cache_hits: Option<u64>,
    pub cache_reads: Option<u64>,
    /// Bytes of the write-ahead or redo log.
    pub log_bytes: Option<u64>,
    pub temp_bytes: Option<u64>,
    pub deadlocks: Option<u64>,
    /// Transactions that lost to one of another node (Galera).
    pub node_conflicts: Option<u64>,
    /// Time for which flow control stopped commits, nanoseconds (Galera).
    pub flow_control_ns: Option<u64>,
    /// Committed transactions of the server's other databases (PostgreSQL).
    pub other_commits: Option<u64>,
    /// Rolled-back transactions of the server's other databases (PostgreSQL).
    pub other_rollbacks: Option<u64>,
    /// Client sessions by database, user and program: the group of this connection, and others with a busy session.
    pub sessions: Vec<SessionGroup>,
    /// Client connections, without this one.
    pub connections: Option<u32>,
    /// Number of these connections that execute a statement.
    pub active: Option<u32>,
    /// Number of these connections that wait for a lock.
    pub lock_waits: Option<u32>,
    /// Number of active connections by wait event, as `class/event`; `CPU` means not waiting.
    pub waits: BTreeMap<String, u32>,
    /// Time that all sessions have waited since the server's start, by wait type, in milliseconds (SQL Server).
    pub wait_ms: Option<BTreeMap<&'static str, u64>>,
    /// CPU time of the server's processes since its start, by its own count, in seconds (SQL Server).
    pub server_cpu_s: Option<f64>,
    /// How much of its service's limits the database uses (Azure SQL Database).
    pub limit_use: Option<LimitUse>,
    pub checkpoint: Option<Checkpoint>,
    /// Vacuums, backups and similar work in progress; `None`: not known.
    pub activities: Option<Vec<Activity>>,
    /// InnoDB's history list length: undo logs that purge has not yet removed.
    pub history_length: Option<u64>,
    /// Lag of the slowest replica, bytes.
    pub replication_lag_bytes: Option<u64>,
    /// Lag of the slowest replica, seconds.
    pub replication_lag_s: Option<f64>,
}

impl Counters {
    /// Removes what one query read of this topic besides others.
    fn clear(&mut self, topic: ObservedTopic) {
        match topic {
            ObservedTopic::ServerStart => self.started_unix_s = None,
            ObservedTopic::CommitsAndCache => {
                (self.commits, self.rollbacks) = (None, None);
                (self.cache_hits, self.cache_reads) = (None, None);
            }
            ObservedTopic::WriteAheadLog => self.log_bytes = None,
            ObservedTopic::Checkpoints => self.checkpoint = None,
            ObservedTopic::PurgeAndDeadlocks => {
                (self.history_length, self.deadlocks) = (None, None);
            }
            ObservedTopic::IsReplica => self.is_replica = None,
            _ => {}
        }
    }
}

/// Reads session groups. Columns: database, user, program, whether they are this connection's, recent sessions,
/// busy sessions.
fn read_session_groups(rows: &[TextRow], counters: &mut Counters) {
    let text = |row: &TextRow, column| cell(row, column).unwrap_or_default().to_owned();
    let group = |row: &TextRow| SessionGroup {
        database: text(row, 0),
        user: text(row, 1),
        application: text(row, 2),
        own: matches!(cell(row, 3), Some("t" | "1")),
        recent: tally(row, 4).unwrap_or(0) as u32,
        busy: tally(row, 5).unwrap_or(0) as u32,
    };
    let groups = rows.iter().map(group);
    counters.sessions = groups.filter(|group| group.own || group.busy > 0).collect();
}

/// Counts sessions, and what the active ones wait for, as `class/event`. Columns: `active` or another state, and in column 3
/// their number.
fn read_waits(rows: &[TextRow], counters: &mut Counters, wait_of: impl Fn(&TextRow) -> String) {
    let (mut connections, mut active, mut lock_waits) = (0, 0, 0);
    for row in rows {
        let count: u32 = number(row, 3).unwrap_or(0);
        connections += count;
        if !is_active(row) {
            continue;
        }
        active += count;
        let wait = wait_of(row);
        if wait.starts_with("Lock/") {
            lock_waits += count;
        }
        *counters.waits.entry(wait).or_default() += count;
    }
    counters.connections = Some(connections);
    counters.active = Some(active);
    counters.lock_waits = Some(lock_waits);
}

fn is_active(session: &TextRow) -> bool {
    cell(session, 0) == Some("active")
}

/// Reads the server's clock from the first cell.
fn read_clock(rows: &[TextRow], counters: &mut Counters) {
    counters.clock_unix_s = rows.first().and_then(|row| number(row, 0));
}

fn named_values(rows: &[TextRow]) -> HashMap<&str, u64> {
    rows.iter()
        .filter_map(|row| Some((cell(row, 0)?, tally(row, 1)?)))
        .collect()
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Checkpoint {
    /// PostgreSQL's checkpoint.
    Complete {
        /// WAL position from which recovery would start.
        redo_lsn: u64,
        /// When it began, seconds since 1970 on the server's clock.
        began_unix_s: f64,
    },
    /// InnoDB's checkpoint, which advances continuously.
    Fuzzy {
        /// Log position up to which all changed pages are on disk.
        checkpoint_lsn: u64,
        /// Position of the end of the log.
        end_lsn: u64,
    },
}

/// Work that a server does besides the load.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Activity {
    pub kind: ActivityKind,
    /// The table or program concerned.
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ActivityKind {
    /// A vacuum of a table.
    Vacuum,
    /// The statistics of a table are collected.
    Analyze,
    Backup,
    IndexBuild,
    TableRebuild,
}

/// A query that fills some of the counters: its topic, its SQL in several variants (the first that
/// the server accepts is used), and the function that reads its rows.
struct CounterQuery {
    topic: ObservedTopic,
    variants: Vec<String>,
    read_rows: fn(&[TextRow], &mut Counters),
}

impl CounterQuery {
    fn new(
        topic: ObservedTopic,
        sql: impl Into<String>,
        read_rows: fn(&[TextRow], &mut Counters),
    ) -> CounterQuery {
        CounterQuery {
            topic,
            variants: vec![sql.into()],
            read_rows,
        }
    }
}

pub struct CounterReader {
    /// The queries that each read sends; refused ones are removed.
    queries: Vec<CounterQuery>,
    missing: Vec<MissingObservation>,
    /// What the service does not have.
    absent: Vec<ObservedTopic>,
    pub statements_sent: u64,
    /// Total time of all statements so far, from sending to reply, in seconds.
    pub statement_time_s: f64,
}

impl CounterReader {
    pub fn new(control: &mut Control) -> Result<CounterReader, Error> {
        let mut reader = Reader {
            control,
            missing: Vec::new(),
        };
        let queries = match reader.control.dialect() {
            SqlDialect::PostgreSql => postgres::counter_queries(&mut reader)?,
            SqlDialect::MySql => mysql::counter_queries(&mut reader)?,
            SqlDialect::TransactSql => sqlserver::counter_queries(&mut reader)?,
        };
        Ok(CounterReader {
            queries,
            missing: reader.missing,
            absent: Vec::new(),
            statements_sent: 0,
            statement_time_s: 0.0,
        })
    }

    /// Reads nothing that this service does not have.
    #[must_use]
    pub fn of_service(mut self, service: Option<Service>) -> CounterReader {
        let absent = service.into_iter().flat_map(Service::absent);
        self.absent = absent.map(|(topic, _)| topic).collect();
        self.queries
            .retain(|query| !self.absent.contains(&query.topic));
        self.missing
            .retain(|missing| !self.absent.contains(&missing.what));
        self
    }

    #[must_use]
    pub fn limited_to(mut self, topics: &[ObservedTopic]) -> CounterReader {
        self.queries.retain(|query| topics.contains(&query.topic));
        self
    }

    /// Reads the counters now. A refused query is listed as missing and not repeated.
    pub fn read(&mut self, control: &mut Control) -> Result<Counters, Error> {
        let mut counters = Counters::default();
        let mut index = 0;
        while let Some(query) = self.queries.get_mut(index) {
            let start = Instant::now();
            let result = control.query(&query.variants[0]);
            self.statements_sent += 1;
            self.statement_time_s += start.elapsed().as_secs_f64();
            match result {
                Ok(rows) => {
                    (query.read_rows)(&rows, &mut counters);
                    index += 1;
                }
                Err(error) if error.is_lost() => return Err(error),
                Err(_) if query.variants.len() > 1 => drop(query.variants.remove(0)),
                Err(error) => {
                    let topic = self.queries.remove(index).topic;
                    self.missing
                        .push(MissingObservation::new(topic, first_line(&error)));
                }
            }
        }
        self.absent.iter().for_each(|topic| counters.clear(*topic));
        Ok(counters)
    }

    /// The values whose queries were refused since the last call.
    pub fn take_missing(&mut self) -> Vec<MissingObservation> {
        std::mem::take(&mut self.missing)
    }
}
