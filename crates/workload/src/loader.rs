//! What the loaders of all workloads do alike: connect, run a statement, send rows.
//!
//! In: a meter, the watch of the user's stop. Out: sessions fit for a long load; rows sent. Must
//! never: know a workload.

use crate::commands::caller;
use crate::copy::{RowSource, send};
use crate::parts::{self, Queue};
use crate::progress::Meter;
use crate::stop::Watch;
use crate::{Error, products, sql};
use prony_server::{Control, Product, Target};

/// More loaders than this only queue for a table's extension lock.
const JOBS_MAX: u32 = 1000;

/// Settings of a role or database that would break a long load, and notices of tables that do not
/// exist. For this session only.
const SESSION: &str = "set client_min_messages = warning; set statement_timeout = 0; set lock_timeout = 0; \
     set idle_in_transaction_session_timeout = 0";

/// The same on MySQL and MariaDB: the rows are committed statement by statement.
const MYSQL_SESSION: &str = "set autocommit = 1";

/// # Errors
/// So many loaders are not possible.
pub fn check_jobs(jobs: u32) -> Result<(), Error> {
    if (1..=JOBS_MAX).contains(&jobs) {
        return Ok(());
    }
    Err(Error::Asked {
        problem: format!("{jobs} jobs are not possible"),
        hint: format!("1 to {JOBS_MAX}; more than the server has idle cores gain nothing"),
    })
}

/// One load, as all its connections share it.
#[derive(Clone, Copy)]
pub struct Loader<'a> {
    /// Counts and shows.
    pub meter: &'a Meter<'a>,
    /// Knows whether to go on.
    pub watch: &'a Watch<'a>,
}

impl Loader<'_> {
    /// A session with PostgreSQL for a long load, cancelled when the load is over early.
    pub fn connect(&self, target: &Target) -> Result<Control, Error> {
        let mut control = self.open(target)?;
        products::need_postgres(&control)?;
        sql::run(&mut control, "preparing the session", SESSION)?;
        Ok(control)
    }

    /// The same with a server of any product.
    pub fn connect_any(&self, target: &Target) -> Result<Control, Error> {
        let mut control = self.open(target)?;
        let session = match control.product() {
            Product::Postgres => SESSION,
            Product::Mysql | Product::MariaDb => MYSQL_SESSION,
        };
        sql::run(&mut control, "preparing the session", session)?;
        Ok(control)
    }

    fn open(&self, target: &Target) -> Result<Control, Error> {
        let control =
            Control::connect(target).map_err(|source| sql::server("connecting", source))?;
        self.watch.add(&control);
        Ok(control)
    }

    /// Two loads at once would fill the same tables. `workload` as `prony load` takes it.
    pub fn lock_out_others(&self, control: &mut Control, workload: &str) -> Result<(), Error> {
        let busy = || Error::Data {
            problem: format!(
                "another `{}` is under way in this database",
                caller().load(workload, &[])
            ),
            hint: "wait for its end, or stop it: it can be continued".to_owned(),
        };
        let doing = "locking out other loads";
        // Until the session ends; the number is any fixed one. A load that has just ended, or was
        // broken off, may take the server a moment to notice.
        if control.product() != Product::Postgres {
            let name = lock_name(&format!("prony load {workload}"));
            let lock = sql::row(control, doing, &format!("select get_lock({name}, 5)"))?;
            return match lock.int(0) {
                Some(1) => Ok(()),
                _ => Err(busy()),
            };
        }
        let sql = format!(
            "set lock_timeout = '5s'; select pg_advisory_lock(hashtext('prony load {workload}')); \
             set lock_timeout = 0"
        );
        match control.execute(&sql) {
            Err(error) if error.sqlstate() == Some("55P03") => Err(busy()),
            locked => locked
                .map(drop)
                .map_err(|source| sql::server(doing, source)),
        }
    }

    /// The server that a connection leads to: with several hosts, the others must load the one
    /// that has the tables.
    pub fn same_server(control: &Control, target: &Target) -> Target {
        Target {
            endpoints: vec![control.endpoint().clone()],
            ..target.clone()
        }
    }

    /// Has the session's counts of inserted rows written down now. A session keeps them back for
    /// up to a second; coming after the VACUUM they would look like rows not yet vacuumed.
    pub fn flush_counts(&self, control: &mut Control) -> Result<(), Error> {
        let doing = "flushing the session's statistics";
        let version = "select current_setting('server_version_num')::int";
        if sql::row(control, doing, version)?.int(0) >= Some(150_000) {
            sql::run(control, doing, "select pg_stat_force_next_flush()")?;
        }
        Ok(())
    }

    /// Runs a statement unless the load is over.
    pub fn statement(
        &self,
        control: &mut Control,
        doing: &str,
        statement: &str,
    ) -> Result<(), Error> {
        self.go_on()?;
        sql::run(control, doing, statement)
    }

    /// Runs statements that do not wait for each other, over at most so many sessions.
    pub fn spread(
        &self,
        target: &Target,
        jobs: u32,
        doing: &str,
        statements: &[String],
    ) -> Result<(), Error> {
        let queue = Queue::new(statements);
        let sessions = (0..jobs.min(statements.len() as u32)).collect();
        parts::together(self.watch, sessions, |_| {
            let mut control = self.connect_any(target)?;
            while let Some(statement) = queue.next() {
                self.statement(&mut control, doing, statement)?;
            }
            Ok(())
        })
    }

    /// Sends rows of a table; `options` are those of the COPY statement, comma-separated.
    pub fn copy(
        &self,
        control: &mut Control,
        table: &str,
        options: &str,
        mut rows: impl RowSource,
    ) -> Result<(), Error> {
        let doing = format!("sending rows of {table}");
        let failed = |source| sql::server(&doing, source);
        self.go_on()?;
        let with = match options {
            "" => String::new(),
            options => format!(" with ({options})"),
        };
        let statement = format!("copy {table} from stdin{with}");
        let mut copy = control.copy_in(&statement).map_err(failed)?;
        let sent = send(&mut rows, &mut copy, |count, bytes| {
            self.meter.sent(count, bytes);
            self.watch.goes_on()
        });
        let Some(sent) = sent.map_err(failed)? else {
            // Given up, the copy is aborted by its drop.
            drop(copy);
            return self.go_on();
        };
        let stored = copy.finish().map_err(failed)?;
        all_stored(table, sent, stored)
    }

    /// # Errors
    /// The user asked to stop, or another loader failed (whose error counts, not this one).
    pub fn go_on(&self) -> Result<(), Error> {
        if self.watch.goes_on() {
            return Ok(());
        }
        Err(Error::Stopped {
            remains: String::new(),
        })
    }
}

/// SQL for the name of a lock of MySQL or MariaDB: such locks are the whole server's, and their names
/// have 64 characters at most. Not by a hash that newer servers leave out, as MySQL 9.6 does MD5.
pub fn lock_name(what: &str) -> String {
    format!("concat('{what} ', crc32(database()), ' ', left(database(), 16))")
}

/// # Errors
/// The server stored more or fewer rows than it was sent.
pub fn all_stored(table: &str, sent: u64, stored: u64) -> Result<(), Error> {
    if stored == sent {
        return Ok(());
    }
    Err(Error::Data {
        problem: format!("{sent} rows were sent to {table}, and the server stored {stored}"),
        hint: "look for a trigger or rule on the table, and for somebody else who writes to it"
            .to_owned(),
    })
}
