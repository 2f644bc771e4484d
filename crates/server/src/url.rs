//! Connection URLs of all engines.
//!
//! `mysql://` and `mariadb://` are MySQL's. `sqlserver://`, `mssql://`, `jdbc:sqlserver://` and connection strings of
//! ADO.NET and ODBC are SQL Server's. All other text is parsed as by libpq.

use crate::error::Error;
use crate::postgres::{self, Environment};
use crate::{Target, mysql, sqlserver};
use prony_document::SqlDialect;
use std::net::IpAddr;

/// Resolves a URL, with the environment that the engine's own clients read: `mysql://` and
/// `mariadb://` URLs as MySQL's client, connection strings of SQL Server as its clients, all others as libpq.
///
/// Host names are resolved and certificate files read here, once, not for each connection.
///
/// # Errors
/// Says which option is wrong, where it was set, and which values it accepts.
pub fn resolve(url: &str, env: &Environment) -> Result<Target, Error> {
    if let Some(text) = sqlserver::recognize(url) {
        return sqlserver::resolve(text, env);
    }
    match mysql::strip_scheme(url) {
        Some(rest) => Ok(Target {
            // Only the scheme says how connections are spread, and `rest` does not have it.
            spread: mysql::spread(url),
            ..mysql::resolve(rest, env)?
        }),
        None if is_address(url) => Err(Error::Conninfo {
            problem: "it has no scheme, so libpq takes all of it for the name of a database"
                .to_owned(),
            hint: "begin with postgres://, mysql://, mariadb:// or sqlserver://, such as \
                   postgres://USER@HOST:PORT/DATABASE; such a database is named by dbname='...'"
                .to_owned(),
        }),
        None => postgres::resolve(url, env),
    }
}

/// Whether the text looks like an address without a scheme, such as `db1:5432/bench`: libpq would take it for the name of a
/// database.
fn is_address(text: &str) -> bool {
    !text.contains("://")
        && !text.contains('=')
        && (text.contains([':', '/', '@']) || text.parse::<IpAddr>().is_ok())
}

/// The target of options of a protocol's client library. `origin`: where they were set. `database`: libpq's name of the
/// database, which may be a connection string; other libraries have an option for it.
///
/// # Errors
/// As [`resolve`].
pub fn resolve_client_options(
    dialect: SqlDialect,
    options: &[(&str, &str)],
    origin: &'static str,
    database: &str,
    env: &Environment,
) -> Result<Target, Error> {
    match dialect {
        SqlDialect::PostgreSql => {
            postgres::resolve_postgres_options(options, origin, database, env)
        }
        SqlDialect::MySql => mysql::resolve_mysql_options(options, origin, env),
        SqlDialect::TransactSql => sqlserver::resolve_sql_server_options(options, origin, env),
    }
}

/// The URL with every password replaced by `***`.
///
/// If the text cannot be parsed, or an unescaped `/` or `@` may have moved part of a password
/// elsewhere, only the scheme is shown.
pub fn redact(url: &str) -> String {
    sqlserver::redact(url)
        .or_else(|| mysql::redact(url))
        .unwrap_or_else(|| postgres::redact(url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_scheme_is_not_the_name_of_a_database() {
        let environment = Environment::without_home("ann");
        let database = |url: &str| resolve(url, &environment).map(|target| target.database);
        for url in [
            "127.0.0.1:5432",
            "127.0.0.1",
            "::1",
            "db1:5432/bench",
            "ann:secret@db1/bench",
        ] {
            let error = database(url).expect_err(url).to_string();
            assert!(error.contains("it has no scheme"), "{error}");
            assert!(error.contains("begin with postgres://"), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
        assert_eq!(database("bench").unwrap(), "bench");
        assert_eq!(database("dbname=a:b host=127.0.0.1").unwrap(), "a:b");
    }
}
