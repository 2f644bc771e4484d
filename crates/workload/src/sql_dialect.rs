//! The SQL dialects in which workloads are written.
//!
//! SQL texts and decisions that depend on the dialect are exhaustive `match`es on [`SqlDialect`] without
//! a `_` arm, so that the compiler finds each place that a new dialect must handle.

use prony_server::Control;
use prony_wire::Engine;

/// An SQL dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlDialect {
    /// PostgreSQL's.
    PostgreSql,
    /// MySQL's and MariaDB's.
    MySql,
}

impl SqlDialect {
    /// The dialect of the server of a connection.
    pub fn of(control: &Control) -> SqlDialect {
        control.engine().into()
    }

    /// The statement that sets the comment on a table. `text` must not contain backslashes, which may be
    /// escapes.
    pub fn set_comment(self, table: &str, text: &str) -> String {
        let text = text.replace('\'', "''");
        match self {
            SqlDialect::PostgreSql => format!("comment on table {table} is '{text}'"),
            SqlDialect::MySql => format!("alter table {table} comment = '{text}'"),
        }
    }

    /// The statements that begin a read-only transaction with a consistent snapshot.
    pub fn begin_snapshot(self) -> &'static str {
        match self {
            SqlDialect::PostgreSql => "begin transaction isolation level repeatable read read only",
            SqlDialect::MySql => {
                "set transaction isolation level repeatable read; \
                 start transaction with consistent snapshot, read only"
            }
        }
    }

    /// Returns a statement with the placeholders that the server expects: `?` instead of numbered ones on MySQL.
    pub fn with_sent_placeholders(self, sql: String) -> String {
        match self {
            SqlDialect::PostgreSql => sql,
            SqlDialect::MySql => {
                let mut pieces = sql.split('$');
                let first = pieces.next().unwrap_or_default().to_owned();
                pieces.fold(first, |text, piece| {
                    text + "?" + piece.trim_start_matches(|c: char| c.is_ascii_digit())
                })
            }
        }
    }
}

impl From<Engine> for SqlDialect {
    fn from(engine: Engine) -> SqlDialect {
        match engine {
            Engine::PostgreSql => SqlDialect::PostgreSql,
            Engine::MySql | Engine::MariaDb => SqlDialect::MySql,
            // No workload runs there: `engines::require_engine` refuses it first.
            Engine::SqlServer => SqlDialect::PostgreSql,
        }
    }
}
