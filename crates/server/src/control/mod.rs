//! The control connection: a blocking connection for everything that is not load.
//!
//! In: a [`Target`], SQL. Out: rows as text, counts, a stream into a table. Must never: drive load,
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

mod cancel;
mod copy;
mod error;
mod kind;
mod link;
mod mysql;
mod open;
mod postgres;
mod quote;
mod route;
mod socket;
mod talk;

pub use cancel::Canceller;
pub use copy::CopyIn;
pub use error::{Cause, Error, Failure};
pub use kind::{Aspect, unfit};
pub use quote::{quote_identifier, quote_literal};
pub use route::{Account, Next, Route, attempts};
pub use talk::Talk;

use crate::target::{Endpoint, Target};
use prony_wire::ServerError;

/// A row: its columns as text, `None` for NULL.
pub type Row = Vec<Option<String>>;

/// Which product answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// PostgreSQL, or what speaks its protocol.
    Postgres,
    /// MySQL, or what speaks its protocol and does not say that it is MariaDB.
    Mysql,
    /// MariaDB.
    MariaDb,
}

/// A blocking connection to the server.
pub struct Control(Session);

enum Session {
    Postgres(Box<postgres::Control>),
    Mysql(Box<mysql::Control>),
}

impl Control {
    /// Connects to the first endpoint that answers and suits (`target_session_attrs`).
    ///
    /// # Errors
    /// [`Error::Connect`] with every failure on the way.
    pub fn connect(target: &Target) -> Result<Control, Error> {
        open::connect(target)
    }

    /// Runs one or more statements; gives the rows that the last of them affected or returned, as
    /// the server counts them.
    ///
    /// # Errors
    /// [`Error::Statement`] when the server refuses; the connection is then still good.
    pub fn execute(&mut self, sql: &str) -> Result<u64, Error> {
        match &mut self.0 {
            Session::Postgres(control) => control.execute(sql),
            Session::Mysql(control) => control.execute(sql),
        }
    }

    /// Runs one or more statements; gives the rows of the last that returns any.
    ///
    /// # Errors
    /// As for [`Control::execute`].
    pub fn query(&mut self, sql: &str) -> Result<Vec<Row>, Error> {
        match &mut self.0 {
            Session::Postgres(control) => control.query(sql),
            Session::Mysql(control) => control.query(sql),
        }
    }

    /// Runs a statement; gives the first column of its first row. `None`: NULL, or no row.
    ///
    /// # Errors
    /// As for [`Control::execute`].
    pub fn query_value(&mut self, sql: &str) -> Result<Option<String>, Error> {
        let first = self.query(sql)?.into_iter().next();
        Ok(first.and_then(|row| row.into_iter().next()).flatten())
    }

    /// Runs one statement with text for its parameters `$1`, `$2`...; gives its rows. The values
    /// travel beside it, so that none needs to be quoted.
    ///
    /// # Errors
    /// As for [`Control::execute`].
    pub fn query_with(&mut self, sql: &str, values: &[&str]) -> Result<Vec<Row>, Error> {
        match &mut self.0 {
            Session::Postgres(control) => control.query_with(sql, values),
            Session::Mysql(control) => control.query_with(sql, values),
        }
    }

    /// Starts `COPY ... FROM STDIN`.
    ///
    /// # Errors
    /// As for [`Control::execute`]; [`Error::Usage`] if the statement is another, or the server is
    /// no PostgreSQL.
    pub fn copy_in(&mut self, sql: &str) -> Result<CopyIn<'_>, Error> {
        match &mut self.0 {
            Session::Postgres(control) => control.copy_in(sql),
            Session::Mysql(_) => Err(Error::Usage(
                "MySQL has no COPY: use INSERT with many rows, or load_data",
            )),
        }
    }

    /// Runs a `LOAD DATA LOCAL INFILE`; whatever file it names, the server gets `data` for it. Gives
    /// the rows that were loaded. The target must allow it (`local-infile=1`), and the server too.
    ///
    /// # Errors
    /// As for [`Control::execute`]; [`Error::Usage`] if the server is no MySQL or MariaDB.
    pub fn load_data(&mut self, sql: &str, data: &[u8]) -> Result<u64, Error> {
        match &mut self.0 {
            Session::Postgres(_) => Err(Error::Usage("PostgreSQL has no LOAD DATA: use copy_in")),
            Session::Mysql(control) => control.load_data(sql, data),
        }
    }

    /// Which product answers, by what it says of itself.
    pub fn product(&self) -> Product {
        match &self.0 {
            Session::Postgres(_) => Product::Postgres,
            Session::Mysql(control) => control.product(),
        }
    }

    /// The server's version as a number; 0 if it told none. PostgreSQL: 150020 for 15.20, 90603
    /// for 9.6.3. MySQL and MariaDB: 80031 for 8.0.31, 101119 for 10.11.19.
    pub fn server_version(&self) -> u32 {
        match &self.0 {
            Session::Postgres(control) => control.server_version(),
            Session::Mysql(control) => control.server_version(),
        }
    }

    /// A setting that the server reports of itself, as last reported: `server_version`, and what
    /// else PostgreSQL tells.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        match &self.0 {
            Session::Postgres(control) => control.parameter(name),
            Session::Mysql(control) => (name == "server_version").then(|| control.version()),
        }
    }

    /// The endpoint in use.
    pub fn endpoint(&self) -> &Endpoint {
        &self.route().endpoint
    }

    /// The way that led to the server: further connections should follow it.
    pub fn route(&self) -> &Route {
        match &self.0 {
            Session::Postgres(control) => control.route(),
            Session::Mysql(control) => control.route(),
        }
    }

    /// Version and cipher of TLS, such as `TLSv1.3 TLS_AES_256_GCM_SHA384`; `None` without TLS.
    pub fn tls(&self) -> Option<&str> {
        match &self.0 {
            Session::Postgres(control) => control.tls(),
            Session::Mysql(control) => control.tls(),
        }
    }

    /// The server process, or its number of the connection, that serves this connection.
    pub fn backend_pid(&self) -> u32 {
        match &self.0 {
            Session::Postgres(control) => control.backend_pid(),
            Session::Mysql(control) => control.connection_id(),
        }
    }

    /// A handle that cancels what this connection does, from any thread.
    pub fn canceller(&self) -> Canceller {
        match &self.0 {
            Session::Postgres(control) => control.canceller(),
            Session::Mysql(control) => {
                Canceller::kill_query(control.route().clone(), control.connection_id())
            }
        }
    }

    /// Notices and warnings of the server since the last call. MySQL sends none of itself.
    pub fn take_notices(&mut self) -> Vec<ServerError> {
        match &mut self.0 {
            Session::Postgres(control) => control.take_notices(),
            Session::Mysql(_) => Vec::new(),
        }
    }
}
