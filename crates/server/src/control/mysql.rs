//! A session with MySQL or MariaDB on the control connection.
//!
//! In: SQL. Out: rows as text, counts. Must never: drive load, show a password.

use super::error::Error;
use super::route::Route;
use super::socket::Socket;
use super::talk::Talk;
use super::{Product, Row};
use prony_wire::{Exchange, LoggedIn, QueryMode, Statements, Value};

/// A session with MySQL or MariaDB.
pub(super) struct Control {
    /// In extended mode: a statement with values is prepared, executed and forgotten.
    talk: Talk,
    route: Route,
    version: String,
    connection_id: u32,
    tls: Option<String>,
}

impl Control {
    pub(super) fn new(route: Route, socket: Socket, mut session: LoggedIn) -> Control {
        Control {
            tls: session.channel.description(),
            version: session.version.take().unwrap_or_default(),
            connection_id: session.connection_id,
            talk: Talk::new(socket, session, Exchange::mysql(QueryMode::Extended)),
            route,
        }
    }

    pub(super) fn execute(&mut self, sql: &str) -> Result<u64, Error> {
        self.run(sql, |exchange| exchange.query(sql))?;
        Ok(self.talk.exchange().affected())
    }

    pub(super) fn query(&mut self, sql: &str) -> Result<Vec<Row>, Error> {
        self.run(sql, |exchange| exchange.query(sql))?;
        Ok(self.rows())
    }

    pub(super) fn query_with(&mut self, sql: &str, values: &[&str]) -> Result<Vec<Row>, Error> {
        let statement = Statements::new().add(sql);
        let values: Vec<Value<'_>> = values.iter().copied().map(Value::Text).collect();
        if values.len() != statement.parameters() {
            return Err(Error::Usage("a value for each parameter is needed"));
        }
        self.run(sql, |exchange| {
            exchange.request(std::iter::once((&statement, &values[..])));
        })?;
        Ok(self.rows())
    }

    pub(super) fn load_data(&mut self, sql: &str, data: &[u8]) -> Result<u64, Error> {
        self.run(sql, |exchange| {
            exchange.load(sql, data);
        })?;
        Ok(self.talk.exchange().affected())
    }

    pub(super) fn product(&self) -> Product {
        match self.version.to_ascii_lowercase().contains("mariadb") {
            true => Product::MariaDb,
            false => Product::Mysql,
        }
    }

    pub(super) fn version(&self) -> &str {
        &self.version
    }

    pub(super) fn server_version(&self) -> u32 {
        version_number(&self.version)
    }

    pub(super) fn route(&self) -> &Route {
        &self.route
    }

    pub(super) fn tls(&self) -> Option<&str> {
        self.tls.as_deref()
    }

    pub(super) fn connection_id(&self) -> u32 {
        self.connection_id
    }

    /// The rows of the last result that has any columns.
    fn rows(&self) -> Vec<Row> {
        let exchange = self.talk.exchange();
        let has_columns = |result: &usize| exchange.columns(*result).next().is_some();
        let Some(last) = (0..exchange.results()).rev().find(has_columns) else {
            return Vec::new();
        };
        let text = |value: Option<&[u8]>| value.map(|v| String::from_utf8_lossy(v).into_owned());
        let rows = exchange.rows().filter(|(result, _)| *result == last);
        rows.map(|(_, row)| row.values().map(text).collect())
            .collect()
    }

    /// Makes a request and waits for its reply.
    fn run(&mut self, sql: &str, request: impl FnOnce(&mut Exchange)) -> Result<(), Error> {
        if sql.contains('\0') {
            return Err(Error::Usage("a statement cannot contain a zero byte"));
        }
        self.talk.ask(request)
    }
}

/// `8.0.31` is 80031, `10.11.19-MariaDB-0+deb12u1` is 101119.
fn version_number(text: &str) -> u32 {
    let digits = text.split(|c: char| !c.is_ascii_digit() && c != '.').next();
    let mut parts = digits.unwrap_or_default().split('.');
    let mut next = || {
        let part = parts.next().and_then(|part| part.parse::<u32>().ok());
        part.unwrap_or(0).min(99)
    };
    let (major, minor, patch) = (next(), next(), next());
    major * 10_000 + minor * 100 + patch
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_numbers() {
        assert_eq!(version_number("8.0.31"), 80_031);
        assert_eq!(version_number("10.11.19-MariaDB-0+deb12u1"), 101_119);
        assert_eq!(version_number("5.7.22-log"), 50_722);
        assert_eq!(version_number("9.7.4-2"), 90_704);
        assert_eq!(version_number(""), 0);
        assert_eq!(version_number("999999999999.1"), 100);
    }
}
