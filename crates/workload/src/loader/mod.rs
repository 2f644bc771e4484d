//! Loading, common to all workloads. `procedure` defines the steps; this module opens sessions suited for a
//! long load, and sends rows. It must not know any workload.

mod completion;
pub mod dataset;
pub mod load_state;
pub mod mysql;
pub mod procedure;
mod small_transactions;
pub mod sqlserver;

use crate::copy::{RowSource, send_rows};
use crate::progress::ProgressMeter;
use crate::stop::StopWatcher;
use crate::{Error, Result, sql};
use mysql::BulkStatement;
use prony_document::SqlDialect;
use prony_server::{Control, Target, UserLock};
use sqlserver::BulkStream;

/// Maximum number of loaders; more would only queue for a table's extension lock.
const JOBS_MAX: u32 = 1000;

/// Overrides, for the session, settings of a role or database that would break a long load, and suppresses
/// notices about tables that do not exist.
const POSTGRES_SESSION: &str = "set client_min_messages = warning; set statement_timeout = 0; set lock_timeout = 0; \
     set idle_in_transaction_session_timeout = 0";

/// Lets the server notice within two seconds that the loader has vanished, also while it builds an index. PostgreSQL
/// has the setting since version 14, and only on some systems.
const POSTGRES_CONNECTION_CHECK: &str = "set client_connection_check_interval = '2s'";

/// In the files of LOAD DATA a backslash introduces NULL, which NO_BACKSLASH_ESCAPES would load as text.
const MYSQL_SESSION: &str = "set sql_mode = 'STRICT_ALL_TABLES'";

/// The settings of a session on SQL Server. An error ends the transaction and the text, so that no later
/// statement of the text runs outside a transaction; the server reports the number of rows that a statement
/// affected.
const SQL_SERVER_SESSION: &str =
    "set xact_abort on; set nocount off; set implicit_transactions off; set lock_timeout -1";

pub fn check_jobs(jobs: u32) -> Result<()> {
    if (1..=JOBS_MAX).contains(&jobs) {
        return Ok(());
    }
    Err(Error::InvalidRequest {
        problem: format!("{jobs} is not a valid number of jobs"),
        hint: format!("1 to {JOBS_MAX}; more jobs than idle cores on the server do not help"),
    })
}

/// How the rows of a load reach the server, by engine.
#[derive(Clone, Debug)]
pub enum RowTransfer {
    /// PostgreSQL's COPY.
    Copy,
    /// MySQL's and MariaDB's statements.
    Statements(BulkStatement),
    /// SQL Server's bulk streams.
    Streams(BulkStream),
}

impl RowTransfer {
    /// Chooses by the server's engine and settings. `loaders` is the argument of [`BulkStatement::choose`];
    /// `target` is used by the connections that will send the rows, and is changed to allow `LOAD DATA`.
    pub fn choose(control: &mut Control, target: &mut Target, loaders: u32) -> Result<Self> {
        Ok(match control.dialect() {
            SqlDialect::PostgreSql => RowTransfer::Copy,
            SqlDialect::MySql => {
                // Prony answers a LOAD DATA with rows from memory, and never with the file that it names.
                target.allow_load_data();
                RowTransfer::Statements(BulkStatement::choose(control, loaders)?)
            }
            SqlDialect::TransactSql => RowTransfer::Streams(BulkStream::of(control)?),
        })
    }
}

/// Refuses a scale that is not from 1 to `max`; `steps` says in the hint what each step is.
pub fn check_scale(scale: u32, max: u32, steps: &str) -> Result<()> {
    if (1..=max).contains(&scale) {
        return Ok(());
    }
    Err(Error::InvalidRequest {
        problem: format!("a scale of {scale} is not possible"),
        hint: format!("1 to {max}{steps}"),
    })
}

/// The state of one load that all its connections share.
#[derive(Clone, Copy)]
pub struct Loader<'a> {
    pub meter: &'a ProgressMeter<'a>,
    /// Tells the loaders whether to continue.
    pub watcher: &'a StopWatcher<'a>,
}

impl Loader<'_> {
    /// Opens a session for a long load; its statement is cancelled if the load ends early.
    pub fn connect(&self, target: &Target) -> Result<Control> {
        let connected = Control::connect(&Target {
            has_own_statements: true,
            ..target.clone()
        });
        let mut control = connected.map_err(|source| sql::server_error("connecting", source))?;
        self.watcher.register(&control);
        let session = match control.dialect() {
            SqlDialect::PostgreSql => POSTGRES_SESSION,
            SqlDialect::MySql => MYSQL_SESSION,
            SqlDialect::TransactSql => SQL_SERVER_SESSION,
        };
        sql::execute(&mut control, "preparing the session", session)?;
        if control.dialect() == SqlDialect::PostgreSql && control.server_version() >= 140_000 {
            // Without it, the server finishes its statement first.
            let _ = control.execute(POSTGRES_CONNECTION_CHECK);
        }
        Ok(control)
    }

    /// Locks out other loads of the same tables. `workload` is the name for `prony load`.
    ///
    /// # Errors
    /// Another load is under way, the connection has no database, or the server refuses.
    pub fn lock_out_other_loads(&self, control: &mut Control, workload: &str) -> Result<()> {
        let busy_error = || Error::Data {
            problem: format!("another load of {workload} is under way in this database"),
            remedy: "wait until it ends, or stop it: it can be continued".into(),
        };
        let activity = "locking out other loads";
        // The lock lasts until the session ends; its number is arbitrary but fixed. The server may
        // take a moment to notice that a previous load has ended or was interrupted.
        match control.dialect() {
            SqlDialect::MySql => {
                // The lock's name contains that of the database.
                sql::require_mysql_database(control, activity)?;
                let name = lock_name(&format!("prony load {workload}"));
                match prony_server::take_user_lock(control, &name, 5) {
                    // Some clusters have no such lock.
                    Ok(UserLock::Held | UserLock::Refused) => Ok(()),
                    Ok(UserLock::HeldByOther) => Err(busy_error()),
                    Err(source) => Err(sql::server_error(activity, source)),
                }
            }
            SqlDialect::TransactSql => {
                let sql = format!(
                    "declare @result int; \
                     exec @result = sp_getapplock 'prony load {workload}', 'Exclusive', 'Session', 5000; \
                     select @result"
                );
                match sql::query_row(control, activity, &sql)?.int(0) {
                    Some(0 | 1) => Ok(()),
                    _ => Err(busy_error()),
                }
            }
            SqlDialect::PostgreSql => {
                let sql = format!(
                    "set lock_timeout = '5s'; \
                     select pg_advisory_lock(hashtext('prony load {workload}')); \
                     set lock_timeout = 0"
                );
                match control.execute(&sql) {
                    Err(error) if error.sqlstate() == Some("55P03") => Err(busy_error()),
                    result => result
                        .map(drop)
                        .map_err(|source| sql::server_error(activity, source)),
                }
            }
        }
    }

    /// Restricts a target to the server of an existing connection: if the target has several hosts, all
    /// connections must load into the same one.
    pub fn target_of_same_server(control: &Control, target: &Target) -> Target {
        Target {
            endpoints: vec![control.endpoint().clone()],
            ..target.clone()
        }
    }

    /// Flushes the session's counts of inserted rows. A session withholds them for up to a second; counts
    /// that arrived after the VACUUM would look like rows not yet vacuumed.
    pub fn flush_counts(&self, control: &mut Control) -> Result<()> {
        let activity = "flushing the session's statistics";
        let version = "select current_setting('server_version_num')::int";
        if sql::query_row(control, activity, version)?.int(0) >= Some(150_000) {
            sql::execute(control, activity, "select pg_stat_force_next_flush()")?;
        }
        Ok(())
    }

    /// Runs a statement unless the load has ended.
    pub fn execute(&self, control: &mut Control, activity: &str, statement: &str) -> Result<()> {
        self.check_stop()?;
        sql::execute(control, activity, statement)
    }

    /// Sends rows of a table; `options` are COPY options, comma-separated.
    pub fn copy(
        &self,
        control: &mut Control,
        table: &str,
        options: &str,
        mut rows: impl RowSource,
    ) -> Result<()> {
        let activity = format!("sending rows of {table}");
        let copy_error = |source| sql::server_error(&activity, source);
        self.check_stop()?;
        let with_clause = match options {
            "" => String::new(),
            options => format!(" with ({options})"),
        };
        let statement = format!("copy {table} from stdin{with_clause}");
        let mut copy = control.copy_in(&statement).map_err(copy_error)?;
        let sent = send_rows(&mut rows, &mut copy, |count, bytes| {
            self.meter.add_sent(count, bytes);
            self.watcher.should_continue()
        });
        let Some(sent) = sent.map_err(copy_error)? else {
            // Dropping an unfinished copy aborts it.
            drop(copy);
            return self.check_stop();
        };
        let stored = copy.finish().map_err(copy_error)?;
        check_all_stored(table, sent, stored)
    }

    /// Checks whether the load must end.
    ///
    /// # Errors
    /// The user requested a stop, or a loader failed; that loader's error is then reported instead.
    pub fn check_stop(&self) -> Result<()> {
        if self.watcher.should_continue() {
            return Ok(());
        }
        Err(Error::Stopped {
            left_behind: String::new(),
            remedy: None,
        })
    }
}

/// SQL for the name of a user-level lock of MySQL or MariaDB. Such locks are server-wide, and their names
/// have at most 64 characters. Uses CRC32, because newer servers drop other hashes: MySQL 9.6 has no MD5.
pub fn lock_name(prefix: &str) -> String {
    format!("concat('{prefix} ', crc32(database()), ' ', left(database(), 16))")
}

pub fn check_all_stored(table: &str, sent: u64, stored: u64) -> Result<()> {
    if stored == sent {
        return Ok(());
    }
    Err(Error::Data {
        problem: format!("{sent} rows were sent to {table}, but the server stored {stored}"),
        remedy: "look for a trigger or rule on the table, and for other clients that write to it"
            .into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    #[test]
    fn impossible_scales_are_refused_with_the_range() {
        assert!(check_scale(1, 7, "").is_ok() && check_scale(7, 7, "").is_ok());
        for scale in [0, 8] {
            let error = check_scale(scale, 7, " warehouses").expect_err("impossible");
            error.to_string().assert_contains("hint: 1 to 7 warehouses");
        }
    }
}
