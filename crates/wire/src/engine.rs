//! The database engines that Prony drives.
//!
//! Every decision that depends on the engine is an exhaustive `match` on [`Engine`] without a `_` arm,
//! so that the compiler finds each place that a new engine affects.

/// A database engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// PostgreSQL, or a server that speaks its protocol.
    PostgreSql,
    /// MySQL, or a server that speaks its protocol and does not identify itself as MariaDB.
    MySql,
    /// MariaDB.
    MariaDb,
    /// Microsoft SQL Server, or a server that speaks its protocol.
    SqlServer,
}

impl Engine {
    /// Every engine.
    pub const ALL: [Engine; 4] = [
        Engine::PostgreSql,
        Engine::MySql,
        Engine::MariaDb,
        Engine::SqlServer,
    ];

    /// The engine's name in messages and reports, such as `PostgreSQL`.
    pub fn name(self) -> &'static str {
        match self {
            Engine::PostgreSql => "PostgreSQL",
            Engine::MySql => "MySQL",
            Engine::MariaDb => "MariaDB",
            Engine::SqlServer => "SQL Server",
        }
    }

    /// The engine's identifier in stored documents, such as `postgresql`.
    pub fn id(self) -> &'static str {
        match self {
            Engine::PostgreSql => "postgresql",
            Engine::MySql => "mysql",
            Engine::MariaDb => "mariadb",
            Engine::SqlServer => "sqlserver",
        }
    }

    /// Quotes an identifier.
    pub fn quote_identifier(self, name: &str) -> String {
        match self {
            Engine::PostgreSql => format!("\"{}\"", name.replace('"', "\"\"")),
            Engine::MySql | Engine::MariaDb => format!("`{}`", name.replace('`', "``")),
            Engine::SqlServer => format!("[{}]", name.replace(']', "]]")),
        }
    }

    /// Quotes a string literal so that it means the same under any session settings:
    /// `standard_conforming_strings` and `sql_mode` determine what a backslash means in `'...'`. If the text
    /// contains a backslash, the literal is `E'...'` for PostgreSQL, and hexadecimal for MySQL and MariaDB.
    pub fn quote_literal(self, text: &str) -> String {
        let quoted = text.replace('\'', "''");
        match (self, text.contains('\\')) {
            (Engine::PostgreSql, true) => format!(" E'{}'", quoted.replace('\\', "\\\\")),
            (Engine::MySql | Engine::MariaDb, true) => {
                let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
                format!("_utf8mb4 x'{hex}'")
            }
            (Engine::PostgreSql | Engine::MySql | Engine::MariaDb, false) => format!("'{quoted}'"),
            (Engine::SqlServer, _) => {
                // A literal without N loses characters that the database's encoding does not have. The server
                // removes a backslash and a line break that follow each other: add another pair of them.
                let unicode = if text.is_ascii() { "" } else { "N" };
                let quoted = quoted.replace("\\\n", "\\\\\n\n");
                let quoted = quoted.replace("\\\r\n", "\\\\\r\n\r\n");
                format!("{unicode}'{quoted}'")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_and_literals_are_quoted() {
        let postgres = Engine::PostgreSql;
        assert_eq!(postgres.quote_identifier("a\"b"), "\"a\"\"b\"");
        assert_eq!(postgres.quote_literal("it's"), "'it''s'");
        assert_eq!(postgres.quote_literal("a\\'b"), " E'a\\\\''b'");
        for engine in [Engine::MySql, Engine::MariaDb] {
            assert_eq!(engine.quote_identifier("a`b"), "`a``b`");
            assert_eq!(engine.quote_literal("it's"), "'it''s'");
            assert_eq!(engine.quote_literal("\\'"), "_utf8mb4 x'5c27'");
        }
        let server = Engine::SqlServer;
        assert_eq!(server.quote_identifier("a]b"), "[a]]b]");
        assert_eq!(server.quote_literal("it's\\"), "'it''s\\'");
        assert_eq!(server.quote_literal("é"), "N'é'");
        assert_eq!(server.quote_literal("a\\\nb"), "'a\\\\\n\nb'");
    }
}
