//! A server's own counters, again and again.
//!
//! In: a control connection. Out: [`Counters`], each time they are asked for. Must never: take heavy
//! locks (`pg_locks` holds up all others), ask again for what was refused once, or give a zero for
//! what could not be read.

mod mysql;
mod postgres;

use super::{Missing, first_line};
use crate::control::{Control, Error, Product, Row};
use std::collections::BTreeMap;
use std::time::Instant;

/// What a server shows at one moment. Counts are since its counters were reset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters {
    /// The server's clock, seconds since 1970.
    pub clock_unix_s: Option<f64>,
    /// When the server was started, seconds since 1970.
    pub started_unix_s: Option<f64>,
    /// Whether it is a replica.
    pub is_replica: Option<bool>,
    /// Transactions committed: PostgreSQL of this database, else of the server.
    pub commits: Option<u64>,
    /// Transactions rolled back.
    pub rollbacks: Option<u64>,
    /// Pages found in the cache.
    pub cache_hits: Option<u64>,
    /// Pages read into it.
    pub cache_reads: Option<u64>,
    /// Bytes of the write-ahead or redo log.
    pub log_bytes: Option<u64>,
    /// Bytes of temporary files.
    pub temp_bytes: Option<u64>,
    /// Deadlocks.
    pub deadlocks: Option<u64>,
    /// Connections of clients, without this one.
    pub connections: Option<u32>,
    /// Of them inside a statement.
    pub active: Option<u32>,
    /// Of them waiting for a lock.
    pub lock_waits: Option<u32>,
    /// What those inside a statement wait for, as `class/event`; `CPU` is no wait.
    pub waits: BTreeMap<String, u32>,
    /// The last complete checkpoint.
    pub checkpoint: Option<Checkpoint>,
    /// Vacuums, backups and their like that are under way; none: not known.
    pub activities: Option<Vec<Activity>>,
    /// Old versions that purge has not removed.
    pub history_length: Option<u64>,
    /// The slowest replica is behind by so many bytes.
    pub replication_lag_bytes: Option<u64>,
    /// And by so many seconds.
    pub replication_lag_s: Option<f64>,
}

/// The last complete checkpoint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Checkpoint {
    /// PostgreSQL's: up to this place in the log, begun at this time of the server's clock.
    Whole {
        /// Place in the log from which a restart would begin.
        redo: u64,
        /// When it began, seconds since 1970.
        began_unix_s: f64,
    },
    /// InnoDB's moves on all the time: pages changed before this place are on disk.
    Moving {
        /// That place in the log.
        at: u64,
        /// The end of the log.
        end: u64,
    },
}

/// Something that a server does beside the load.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Activity {
    /// `vacuum`, `analyze`, `backup`, `index build`, `table rebuild`.
    pub what: &'static str,
    /// Of which table, or by whom.
    pub detail: String,
}

/// One question: what it is about, the ways to ask it (the first that is not refused is kept), and what
/// its rows say.
struct Question {
    what: &'static str,
    ways: Vec<String>,
    take: fn(&[Row], &mut Counters),
}

impl Question {
    fn new(
        what: &'static str,
        sql: impl Into<String>,
        take: fn(&[Row], &mut Counters),
    ) -> Question {
        Question {
            what,
            ways: vec![sql.into()],
            take,
        }
    }
}

/// Reads a server's counters.
pub struct Reader {
    questions: Vec<Question>,
    missing: Vec<Missing>,
    queries: u64,
    query_s: f64,
}

impl Reader {
    /// For the server of this connection.
    ///
    /// # Errors
    /// If the connection is lost.
    pub fn new(control: &mut Control) -> Result<Reader, Error> {
        let mut missing = Vec::new();
        let questions = match control.product() {
            Product::Postgres => postgres::questions(control, &mut missing)?,
            Product::Mysql | Product::MariaDb => mysql::questions(control),
        };
        Ok(Reader {
            questions,
            missing,
            queries: 0,
            query_s: 0.0,
        })
    }

    /// Reads them now. What is refused is listed as missing and not asked for again.
    ///
    /// # Errors
    /// If the connection is lost.
    pub fn read(&mut self, control: &mut Control) -> Result<Counters, Error> {
        let mut counters = Counters::default();
        let mut place = 0;
        while let Some(question) = self.questions.get_mut(place) {
            let began = Instant::now();
            let answer = control.query(&question.ways[0]);
            self.queries += 1;
            self.query_s += began.elapsed().as_secs_f64();
            match answer {
                Ok(rows) => {
                    (question.take)(&rows, &mut counters);
                    place += 1;
                }
                Err(error) if error.is_lost() => return Err(error),
                Err(_) if question.ways.len() > 1 => drop(question.ways.remove(0)),
                Err(error) => {
                    let what = self.questions.remove(place).what;
                    self.missing.push(Missing::new(what, first_line(&error)));
                }
            }
        }
        Ok(counters)
    }

    /// What was refused since the last call.
    pub fn take_missing(&mut self) -> Vec<Missing> {
        std::mem::take(&mut self.missing)
    }

    /// Statements that were sent so far.
    pub fn queries(&self) -> u64 {
        self.queries
    }

    /// Time from sending them to their replies so far, seconds.
    pub fn query_s(&self) -> f64 {
        self.query_s
    }
}
