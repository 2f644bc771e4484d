//! The control connection: a blocking connection for everything except the load.
//!
//! In: a [`Target`] and SQL. Out: rows as text, row counts, COPY streams. Must never: drive load,
//! show a password.
//!
//! ```no_run
//! # fn f(target: &prony_server::Target) -> Result<(), prony_server::control::Error> {
//! let mut control = prony_server::control::Control::connect(target)?;
//! control.execute("CREATE TABLE t (n int)")?;
//! let mut copy = control.copy_in("COPY t FROM STDIN")?;
//! copy.write(b"1\n2\n")?;
//! assert_eq!(copy.finish()?, 2);
//! # Ok(())
//! # }
//! ```

mod bulk;
mod cancel;
mod connect_failure;
mod connection;
mod copy;
mod error;
mod grant;
mod hints;
mod open;
mod probe;
mod route;
mod session_attrs;
mod socket;
mod waiting;

pub use bulk::BulkIn;
use cancel::CancelMethod;
pub use cancel::Canceller;
pub use connect_failure::{ConnectFailure, FailureCause, connect_parts};
pub use connection::BlockingConnection;
pub use copy::CopyIn;
pub use error::Error;
pub use grant::is_about_privileges;
pub use probe::LossReason;
use prony_document::{Product, SqlDialect};
pub use route::{Account, AfterFailure, Route, routes_to_endpoint};
pub use session_attrs::{SessionProperty, mismatch};
pub use waiting::{CONNECT_TIMEOUT, IO_TIMEOUT, NOTICE_AFTER, Silence, StopSignal, WaitOptions};

use crate::target::{Endpoint, Target};
use prony_wire::mysql::SessionUse;
use prony_wire::{
    Exchange, FeedStatus, QueryMode, ServerError, Session, Statement, StatementIds, Value,
};
use socket::Deadline;
use std::time::Duration;

/// Limit for one reply, in bytes: only a broken or hostile server sends more to a control
/// connection.
const MAX_REPLY_BYTES: u64 = 1 << 28;

/// Number of notices that are stored until the caller takes them; further ones are dropped.
const MAX_NOTICES: usize = 1000;

/// Why a COPY that is not started by [`Control::copy_in`] fails.
const COPY_NEEDS_DATA: &str = "COPY ... FROM STDIN needs rows from the client, and Prony sends none \
                               here: insert them with another statement, or copy them with psql";

/// The columns of a row as text; `None` for NULL.
pub type TextRow = Vec<Option<String>>;

pub struct Control {
    /// Uses extended mode, so that statements with parameters do not stay prepared.
    connection: BlockingConnection,
    route: Route,
    session: Session,
    tls: Option<String>,
    mysql_account: MysqlAccount,
    /// How long the reply to a statement may take; `None`: as long as the server answers new connections.
    reply_limit: Option<Duration>,
}

/// The account whose privileges a session of MySQL or MariaDB has, quoted for a GRANT. A session keeps its account.
enum MysqlAccount {
    NotRead,
    /// `None`: the server did not say.
    Read(Option<String>),
}

impl Control {
    /// Connects to the first endpoint that answers and matches `target_session_attrs`. If the statements are Prony's own
    /// ([`Target::has_own_statements`]), the session has no time limits for them.
    ///
    /// # Errors
    /// [`Error::Connect`] with the failure of each attempt.
    pub fn connect(target: &Target) -> Result<Control, Error> {
        let session_use =
            if target.has_own_statements { SessionUse::Control } else { SessionUse::Foreign };
        let opened = open::connect(target, QueryMode::Extended, session_use)?;
        Ok(Control::of(opened))
    }

    fn of(opened: open::NewConnection) -> Control {
        Control {
            tls: opened.connection.tls(),
            connection: opened.connection,
            route: opened.route,
            session: opened.session,
            mysql_account: MysqlAccount::NotRead,
            reply_limit: None,
        }
    }

    /// A further connection on the route of this one, which `change` may alter. It is lost after `limit`.
    pub(crate) fn connect_again(
        &self,
        limit: Duration,
        change: impl FnOnce(&mut Route),
    ) -> Result<Control, Error> {
        let mut route = self.route.clone();
        change(&mut route);
        let deadline = Deadline::after(Some(limit));
        let opened = open::log_in(route, deadline, QueryMode::Extended);
        let mut opened = opened.map_err(|failed| Error::Connect(vec![failed.failure]))?;
        opened.connection.set_deadline(deadline);
        Ok(Control::of(opened))
    }

    /// Runs one or more statements; returns the server's count of rows that the last one affected
    /// or returned.
    ///
    /// # Errors
    /// [`Error::Statement`] if the server refuses, [`Error::Usage`] if it is a `COPY ... FROM STDIN`; the
    /// connection is then still usable.
    pub fn execute(&mut self, sql: &str) -> Result<u64, Error> {
        self.request(sql, |exchange| exchange.query(sql))?;
        Ok(self.connection.exchange().affected_rows())
    }

    /// Runs one or more statements; returns the rows of the last one that has any.
    pub fn query(&mut self, sql: &str) -> Result<Vec<TextRow>, Error> {
        self.request(sql, |exchange| exchange.query(sql))?;
        self.last_rows()
    }

    /// Like [`Control::query`], but `None` if there are more rows or bytes than these, which are dropped as they arrive.
    pub fn query_at_most(
        &mut self,
        sql: &str,
        rows_max: usize,
        bytes_max: usize,
    ) -> Result<Option<Vec<TextRow>>, Error> {
        self.connection.limit_rows(bytes_max);
        let reply = self.request(sql, |exchange| exchange.query(sql));
        self.connection.limit_rows(usize::MAX);
        reply?;
        let exchange = self.connection.exchange();
        if exchange.has_dropped_rows() || exchange.rows().count() > rows_max {
            return Ok(None);
        }
        self.last_rows().map(Some)
    }

    /// Runs a statement; returns the first column of its first row. `None`: NULL, or no row.
    pub fn query_value(&mut self, sql: &str) -> Result<Option<String>, Error> {
        let first_row = self.query(sql)?.into_iter().next();
        Ok(first_row.and_then(|row| row.into_iter().next()).flatten())
    }

    /// Runs one statement with text values for its parameters `$1`, `$2`...; returns its rows. Values are
    /// sent separately, so they need no quoting.
    pub fn query_with(&mut self, sql: &str, values: &[&str]) -> Result<Vec<TextRow>, Error> {
        let statement = StatementIds::new().add(sql);
        let values: Vec<Value<'_>> = values.iter().copied().map(Value::Text).collect();
        if values.len() != statement.parameter_count() {
            return Err(Error::Usage("each parameter needs a value"));
        }
        self.request(sql, |exchange| {
            exchange.request(std::iter::once((&statement, &values[..])));
        })?;
        self.last_rows()
    }

    /// Lets the server prepare a statement, which is not executed.
    pub fn try_prepare(&mut self, statement: &Statement) -> Result<(), Error> {
        let result = self.request(statement.sql(), |exchange| exchange.prepare(statement));
        self.connection.close_statement(statement);
        result
    }

    pub fn execute_statement(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> Result<(), Error> {
        self.request(statement.sql(), |exchange| {
            exchange.request(std::iter::once((statement, values)));
        })
    }

    /// Starts `COPY ... FROM STDIN`.
    ///
    /// # Errors
    /// As for [`Control::execute`]; [`Error::Usage`] if it is a different statement, or the server is
    /// not PostgreSQL.
    pub fn copy_in(&mut self, sql: &str) -> Result<CopyIn<'_>, Error> {
        match self.route.account {
            Account::Postgres(_) => CopyIn::start(self, sql),
            Account::Mysql(_) => Err(Error::Usage(
                "MySQL has no COPY: use INSERT with many rows, or load_data",
            )),
            Account::Tds(_) => Err(Error::Usage("SQL Server has no COPY: use INSERT")),
        }
    }

    /// Runs a `LOAD DATA LOCAL INFILE`, and sends `data` instead of the file. Returns the number of
    /// loaded rows. The target ([`Target::allow_load_data`]) and the server must allow it.
    ///
    /// # Errors
    /// As for [`Control::execute`]; [`Error::Usage`] if the server is not MySQL or MariaDB.
    pub fn load_data(&mut self, sql: &str, data: &[u8]) -> Result<u64, Error> {
        match self.route.account {
            Account::Postgres(_) => Err(Error::Usage("PostgreSQL has no LOAD DATA: use copy_in")),
            Account::Tds(_) => Err(Error::Usage("SQL Server has no LOAD DATA: use INSERT")),
            Account::Mysql(_) => {
                self.request(sql, |exchange| {
                    exchange.load(sql, data);
                })?;
                Ok(self.connection.exchange().affected_rows())
            }
        }
    }

    /// The server's product, derived from the protocol and the server's version text.
    pub fn product(&self) -> Product {
        recognize_product(self.dialect(), self.version_text())
    }

    pub fn dialect(&self) -> SqlDialect {
        match self.route.account {
            Account::Postgres(_) => SqlDialect::PostgreSql,
            Account::Mysql(_) => SqlDialect::MySql,
            Account::Tds(_) => SqlDialect::TransactSql,
        }
    }

    /// The server's version as a number; 0 if it reported none. PostgreSQL: 150020 for 15.20, 90603
    /// for 9.6.3. MySQL and MariaDB: 80031 for 8.0.31, 101119 for 10.11.19. SQL Server: 16004105 for
    /// 16.0.4105.
    pub fn server_version(&self) -> u32 {
        match self.route.account {
            Account::Postgres(_) => postgres_version(self.version_text()),
            Account::Mysql(_) => mysql_version(self.version_text()),
            Account::Tds(_) => sql_server_version(self.version_text()),
        }
    }

    /// Whether the server has what its product has since this version, such as
    /// [`Product::show_replica_status_since`]; `None`: in no version.
    pub fn has_since(&self, version: Option<u32>) -> bool {
        version.is_some_and(|version| self.server_version() >= version)
    }

    fn version_text(&self) -> &str {
        self.parameter("server_version").unwrap_or_default()
    }

    /// The last value of a setting that the server reports without a query: `server_version`, and
    /// on PostgreSQL other settings such as `TimeZone`.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.session.parameters.get(name)
    }

    pub fn endpoint(&self) -> &Endpoint {
        &self.route.endpoint
    }

    /// The route of this connection; further connections should use it too.
    pub fn route(&self) -> &Route {
        &self.route
    }

    /// Version and cipher of TLS, such as `TLSv1.3 TLS_AES_256_GCM_SHA384`; `None` without TLS.
    pub fn tls(&self) -> Option<&str> {
        self.tls.as_deref()
    }

    /// The process id of the backend (PostgreSQL), the connection id (MySQL) or the session id (SQL Server).
    pub fn backend_pid(&self) -> u32 {
        self.session.cancel.backend_pid
    }

    /// A handle that cancels this connection's statement from any thread.
    pub fn canceller(&self) -> Canceller {
        let (route, key) = (self.route.clone(), self.session.cancel.clone());
        let method = match self.route.account {
            Account::Postgres(_) => CancelMethod::Request {
                key,
                over_tls: self.tls.is_some(),
            },
            Account::Mysql(_) => CancelMethod::KillQuery(key.backend_pid),
            Account::Tds(_) => {
                let attention = self.connection.attention_request();
                CancelMethod::AttentionThenKill(key.backend_pid, attention)
            }
        };
        Canceller::new(route, method)
    }

    /// Changes [`WaitOptions::io_timeout`] of this connection; has no effect if it was `None`.
    pub fn set_io_timeout(&mut self, limit: Option<Duration>) {
        self.connection.set_io_timeout(limit);
    }

    /// Limits how long the reply to each further statement may take; the connection is lost after it ([`Error::NoReply`]).
    pub fn set_reply_limit(&mut self, limit: Option<Duration>) {
        self.reply_limit = limit;
        self.connection.set_deadline(Deadline::NEVER);
    }

    /// Whether the login sent the password in clear text over a network without TLS. Never true for
    /// MySQL, whose clear-text plugin is refused there.
    pub fn exposed_password(&self) -> bool {
        self.session.password_in_clear && self.endpoint().is_remote()
    }

    /// Notices and warnings of the server since the last call; always empty for MySQL and MariaDB.
    pub fn take_notices(&mut self) -> Vec<ServerError> {
        std::mem::take(&mut self.session.notices)
    }

    /// Sends a request and waits for its reply.
    fn request(&mut self, sql: &str, request: impl FnOnce(&mut Exchange)) -> Result<(), Error> {
        refuse_zero_bytes(sql)?;
        let endpoint = &self.route.endpoint;
        self.connection
            .set_awaited(|| format!("the server {endpoint} to answer {}", begin_of(sql)));
        if let Some(limit) = self.reply_limit {
            self.connection.set_deadline(Deadline::after(Some(limit)));
        }
        let sent = self.connection.begin(request);
        let status = sent.and_then(|()| self.connection.wait());
        let needs_data = match self.route.account {
            // PostgreSQL waits for more only if the statement is a COPY FROM STDIN. No data is sent
            // here, so `complete` aborts the COPY.
            Account::Postgres(_) => matches!(status, Ok(FeedStatus::Send)),
            Account::Mysql(_) | Account::Tds(_) => false,
        };
        let reply = status.and_then(|_| self.connection.complete());
        match self.finish_request(reply) {
            // The server reports an aborted COPY with the error of a cancelled statement (57014).
            Err(error) if needs_data && !error.is_lost() => Err(Error::Usage(COPY_NEEDS_DATA)),
            result => result,
        }
    }

    /// Waits for the end of the reply.
    fn complete(&mut self) -> Result<(), Error> {
        let reply = self.connection.complete();
        self.finish_request(reply)
    }

    /// Stores the notices and settings of a reply; adds the role or account to an error about missing
    /// privileges.
    fn finish_request(&mut self, reply: Result<(), Error>) -> Result<(), Error> {
        let exchange = self.connection.exchange();
        let remaining = MAX_NOTICES.saturating_sub(self.session.notices.len());
        let notices = exchange.notices().take(remaining);
        self.session.notices.extend(notices);
        exchange
            .add_parameters(&mut self.session.parameters)
            .map_err(|error| Error::Violation(error.to_string()))?;
        reply.map_err(|mut error| {
            if let (Error::Io(io), Some(limit)) = (&error, self.reply_limit)
                && io.kind() == std::io::ErrorKind::TimedOut
            {
                return Error::NoReply(limit);
            }
            if let Error::Statement(refusal) = &mut error
                && grant::is_about_privileges(refusal)
            {
                refusal.role = match &self.route.account {
                    Account::Postgres(login) => Some(login.user.clone()),
                    Account::Mysql(_) => self.mysql_account(),
                    Account::Tds(_) => None,
                };
            }
            error
        })
    }

    /// The account whose privileges a session of MySQL or MariaDB has, quoted for a GRANT: errors name the client's host
    /// in place of the account's.
    pub fn mysql_account(&mut self) -> Option<String> {
        if let MysqlAccount::Read(account) = &self.mysql_account {
            return account.clone();
        }
        // If the server refuses this query too, its error does not ask for the account again.
        self.mysql_account = MysqlAccount::Read(None);
        let account = self.read_mysql_account();
        self.mysql_account = MysqlAccount::Read(account.clone());
        account
    }

    fn read_mysql_account(&mut self) -> Option<String> {
        let account = self.query_value("SELECT CURRENT_USER()").ok().flatten()?;
        // The host cannot contain an @.
        let (user, host) = account.rsplit_once('@')?;
        let quote = |text| SqlDialect::MySql.quote_literal(text);
        Some(format!("{}@{}", quote(user), quote(host)))
    }

    fn last_rows(&mut self) -> Result<Vec<TextRow>, Error> {
        let exchange = self.connection.exchange();
        let column_count = |result: usize| exchange.column_names(result).count();
        let results = 0..exchange.result_count();
        let Some(last) = results.rev().find(|result| column_count(*result) > 0) else {
            return Ok(Vec::new());
        };
        let columns = column_count(last);
        let text = |value: Option<&[u8]>| value.map(|v| String::from_utf8_lossy(v).into_owned());
        let rows = exchange.rows().filter(|(result, _)| *result == last);
        let rows: Vec<TextRow> = rows
            .map(|(_, row)| row.values().map(text).collect())
            .collect();
        if rows.iter().any(|row: &TextRow| row.len() != columns) {
            self.connection.mark_unusable();
            return Err(Error::Violation(
                "the server sent a malformed row".to_owned(),
            ));
        }
        Ok(rows)
    }
}

/// The first words of a statement, on one line.
fn begin_of(sql: &str) -> String {
    const LETTERS_MAX: usize = 60;
    let words: Vec<_> = sql.split_whitespace().take(LETTERS_MAX / 2).collect();
    let line = words.join(" ");
    match line.char_indices().nth(LETTERS_MAX) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

fn refuse_zero_bytes(sql: &str) -> Result<(), Error> {
    if sql.contains('\0') {
        Err(Error::Usage("a statement cannot contain a zero byte"))
    } else {
        Ok(())
    }
}

/// The product that understands this dialect and reports this version. Nothing else decides on a product.
pub(crate) fn recognize_product(dialect: SqlDialect, version: &str) -> Product {
    match dialect {
        SqlDialect::PostgreSql => Product::POSTGRESQL,
        SqlDialect::MySql if version.to_ascii_lowercase().contains("mariadb") => Product::MARIADB,
        SqlDialect::MySql => Product::MYSQL,
        SqlDialect::TransactSql => Product::SQL_SERVER,
    }
}

/// `15.18 (Debian 15.18-0)` is 150018, `9.6.3` is 90603, `18beta1` is 180000.
fn postgres_version(text: &str) -> u32 {
    match version_parts(text, 9999) {
        [major, minor, _] if major >= 10 => major * 10_000 + minor,
        [major, minor, patch] => major * 10_000 + minor * 100 + patch,
    }
}

/// `8.0.31` is 80031, `10.11.19-MariaDB-0+deb12u1` is 101119.
fn mysql_version(text: &str) -> u32 {
    let [major, minor, patch] = version_parts(text, 99);
    major * 10_000 + minor * 100 + patch
}

/// `16.0.4105` is 16004105.
fn sql_server_version(text: &str) -> u32 {
    let [major, minor, build] = version_parts(text, 9999);
    major.min(999) * 1_000_000 + minor.min(99) * 10_000 + build
}

/// The first three numbers of a version; larger numbers become `max`.
fn version_parts(text: &str, max: u32) -> [u32; 3] {
    let digits = text.split(|c: char| !c.is_ascii_digit() && c != '.').next();
    let mut parts = digits.unwrap_or_default().split('.');
    [(); 3].map(|()| {
        let part = parts.next().and_then(|part| part.parse::<u32>().ok());
        part.unwrap_or(0).min(max)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_converted_to_numbers() {
        assert_eq!(postgres_version("15.18 (Debian 15.18-0+deb12u1)"), 150_018);
        assert_eq!(postgres_version("9.6.3"), 90_603);
        assert_eq!(postgres_version("18beta1"), 180_000);
        assert_eq!(postgres_version(""), 0);
        assert_eq!(postgres_version("99999999.99999999"), 99_990_000 + 9_999);
        assert_eq!(mysql_version("8.0.31"), 80_031);
        assert_eq!(mysql_version("10.11.19-MariaDB-0+deb12u1"), 101_119);
        assert_eq!(mysql_version("5.7.22-log"), 50_722);
        assert_eq!(mysql_version("9.7.4-2"), 90_704);
        assert_eq!(mysql_version(""), 0);
        assert_eq!(mysql_version("999999999999.1"), 100);
        assert_eq!(sql_server_version("16.0.4105"), 16_004_105);
        assert_eq!(sql_server_version("12.0.2000"), 12_002_000);
        assert_eq!(sql_server_version("9999.9999.99999"), 999_999_999);
    }
}
