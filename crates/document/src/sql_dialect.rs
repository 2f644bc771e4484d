//! The SQL dialects: what a server understands, and how names and texts are quoted in it.
//!
//! SQL texts and decisions that depend on the dialect are exhaustive `match`es on [`SqlDialect`] without
//! a `_` arm, so that the compiler finds each place that a new dialect must handle.

use crate::{Product, hex};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a server understands. Several products may understand the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SqlDialect {
    /// PostgreSQL's.
    #[serde(rename = "postgresql")]
    PostgreSql,
    /// MySQL's and MariaDB's.
    #[serde(rename = "mysql")]
    MySql,
    /// SQL Server's.
    #[serde(rename = "sqlserver")]
    TransactSql,
}

/// The name of the extended property that holds a comment on SQL Server, which has no comments on tables.
pub const COMMENT_PROPERTY: &str = "prony";

impl SqlDialect {
    pub const ALL: [SqlDialect; 3] = [
        SqlDialect::PostgreSql,
        SqlDialect::MySql,
        SqlDialect::TransactSql,
    ];

    /// The products that understand it.
    pub fn products(self) -> impl Iterator<Item = Product> {
        let products = Product::ALL.into_iter();
        products.filter(move |product| product.dialect == self)
    }

    /// The name of the product that it comes from.
    pub fn name(self) -> &'static str {
        match self {
            SqlDialect::PostgreSql => "PostgreSQL",
            SqlDialect::MySql => "MySQL",
            SqlDialect::TransactSql => "SQL Server",
        }
    }

    pub fn quote_identifier(self, name: &str) -> String {
        match self {
            SqlDialect::PostgreSql => format!("\"{}\"", name.replace('"', "\"\"")),
            SqlDialect::MySql => format!("`{}`", name.replace('`', "``")),
            SqlDialect::TransactSql => format!("[{}]", name.replace(']', "]]")),
        }
    }

    /// Quotes a string literal so that it means the same under any session settings:
    /// `standard_conforming_strings` and `sql_mode` determine what a backslash means in `'...'`. If the text
    /// contains a backslash, the literal is `E'...'` for PostgreSQL, and hexadecimal for MySQL and MariaDB.
    pub fn quote_literal(self, text: &str) -> String {
        let quoted = text.replace('\'', "''");
        let has_backslash = text.contains('\\');
        match self {
            // The space separates E from a word before the literal.
            SqlDialect::PostgreSql if has_backslash => {
                format!(" E'{}'", quoted.replace('\\', "\\\\"))
            }
            SqlDialect::MySql if has_backslash => format!("_utf8mb4 x'{}'", hex(text.as_bytes())),
            SqlDialect::PostgreSql | SqlDialect::MySql => format!("'{quoted}'"),
            SqlDialect::TransactSql => {
                // A literal without N loses characters that the database's encoding does not have.
                let unicode = if text.is_ascii() { "" } else { "N" };
                // The server removes a backslash and the line break after it: write `\\` and two line breaks.
                let quoted = quoted.replace("\\\n", "\\\\\n\n");
                let quoted = quoted.replace("\\\r\n", "\\\\\r\n\r\n");
                format!("{unicode}'{quoted}'")
            }
        }
    }

    /// The statement that sets the comment on a table. `text` must not contain backslashes, which begin
    /// escape sequences on MySQL.
    pub fn comment_statement(self, table: &str, text: &str) -> String {
        let text = text.replace('\'', "''");
        match self {
            SqlDialect::PostgreSql => format!("comment on table {table} is '{text}'"),
            SqlDialect::MySql => format!("alter table {table} comment = '{text}'"),
            SqlDialect::TransactSql => {
                let arguments = format!(
                    "'{COMMENT_PROPERTY}', N'{text}', 'SCHEMA', @schema, 'TABLE', '{table}'"
                );
                format!(
                    "declare @schema sysname = schema_name(); \
                     if exists (select 1 from sys.extended_properties where class = 1 and minor_id = 0 \
                      and major_id = object_id('{table}') and name = '{COMMENT_PROPERTY}') \
                     exec sp_updateextendedproperty {arguments} else exec sp_addextendedproperty {arguments}"
                )
            }
        }
    }

    /// The statement that begins a transaction.
    pub fn begin(self) -> &'static str {
        match self {
            SqlDialect::PostgreSql | SqlDialect::MySql => "begin",
            SqlDialect::TransactSql => "begin transaction",
        }
    }

    /// Joins statements to one text. If one of them fails, none has an effect on a server that can roll back
    /// the creation of a table. On SQL Server the session must have `XACT_ABORT` on.
    pub fn join_statements(self, statements: &[String]) -> String {
        let text = statements.join("; ");
        match self {
            // PostgreSQL executes a text of several statements as one transaction.
            SqlDialect::PostgreSql | SqlDialect::MySql => text,
            SqlDialect::TransactSql => format!("begin transaction; {text}; commit"),
        }
    }

    /// The statement that reads at most `count` rows; `select` is the text after `SELECT`.
    pub fn select_first(self, count: u32, select: &str) -> String {
        match self {
            SqlDialect::PostgreSql | SqlDialect::MySql => format!("select {select} limit {count}"),
            SqlDialect::TransactSql => format!("select top ({count}) {select}"),
        }
    }

    /// The function that returns the number of characters of a text.
    pub fn length_function(self) -> &'static str {
        match self {
            SqlDialect::PostgreSql | SqlDialect::MySql => "length",
            // Trailing spaces are not counted.
            SqlDialect::TransactSql => "len",
        }
    }

    /// The statements that begin a read-only transaction with a consistent snapshot.
    pub fn begin_snapshot(self) -> &'static str {
        match self {
            SqlDialect::PostgreSql => "begin transaction isolation level repeatable read read only",
            // The snapshot is that of its first read; Dolt does not know WITH CONSISTENT SNAPSHOT.
            SqlDialect::MySql => {
                "set transaction isolation level repeatable read; start transaction read only"
            }
            // A database may forbid snapshots; the locks of a serializable transaction then give the same
            // view.
            SqlDialect::TransactSql => {
                "if exists (select 1 from sys.databases where database_id = db_id() \
                 and snapshot_isolation_state = 1) set transaction isolation level snapshot \
                 else set transaction isolation level serializable; begin transaction"
            }
        }
    }

    /// The statement that ends a transaction of [`SqlDialect::begin_snapshot`], also if an error has ended it.
    pub fn end_snapshot(self) -> &'static str {
        match self {
            SqlDialect::PostgreSql | SqlDialect::MySql => "rollback",
            // The isolation level is the session's, not the transaction's.
            SqlDialect::TransactSql => {
                "if @@trancount > 0 rollback; set transaction isolation level read committed"
            }
        }
    }

    /// The expression that counts rows, as a number of 64 bits.
    pub fn count_all(self) -> &'static str {
        match self {
            SqlDialect::PostgreSql | SqlDialect::MySql => "count(*)",
            SqlDialect::TransactSql => "count_big(*)",
        }
    }

    /// The expression that adds up integers, as a number of at least 64 bits.
    pub fn sum_of(self, expression: &str) -> String {
        match self {
            SqlDialect::PostgreSql | SqlDialect::MySql => format!("sum({expression})"),
            // The sum has the type of its terms, and an overflow is an error.
            SqlDialect::TransactSql => format!("sum(cast({expression} as bigint))"),
        }
    }

    /// The expression that counts the rows for which a condition holds; 0 without rows.
    pub fn count_where(self, condition: &str) -> String {
        let sum = self.sum_of(&format!("case when {condition} then 1 else 0 end"));
        format!("coalesce({sum}, 0)")
    }

    /// Replaces the placeholders `$1`, `$2` of a statement, which has no other `$`, with those that the server expects: `?` on
    /// MySQL, in the order of the text, and `@P1` on SQL Server.
    pub fn with_native_placeholders(self, sql: String) -> String {
        match self {
            SqlDialect::PostgreSql => sql,
            SqlDialect::MySql => {
                let mut pieces = sql.split('$');
                let mut text = pieces.next().unwrap_or_default().to_owned();
                for piece in pieces {
                    text.push('?');
                    text.push_str(piece.trim_start_matches(|c: char| c.is_ascii_digit()));
                }
                text
            }
            SqlDialect::TransactSql => sql.replace('$', "@P"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_and_literals_are_quoted() {
        let postgres = SqlDialect::PostgreSql;
        assert_eq!(postgres.quote_identifier("a\"b"), "\"a\"\"b\"");
        assert_eq!(postgres.quote_literal("it's"), "'it''s'");
        assert_eq!(postgres.quote_literal("a\\'b"), " E'a\\\\''b'");
        let mysql = SqlDialect::MySql;
        assert_eq!(mysql.quote_identifier("a`b"), "`a``b`");
        assert_eq!(mysql.quote_literal("it's"), "'it''s'");
        assert_eq!(mysql.quote_literal("\\'"), "_utf8mb4 x'5c27'");
        let server = SqlDialect::TransactSql;
        assert_eq!(server.quote_identifier("a]b"), "[a]]b]");
        assert_eq!(server.quote_literal("it's\\"), "'it''s\\'");
        assert_eq!(server.quote_literal("é"), "N'é'");
        assert_eq!(server.quote_literal("a\\\nb"), "'a\\\\\n\nb'");
    }
}
