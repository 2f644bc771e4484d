//! A session with MySQL or MariaDB on the control connection.
//!
//! In: SQL. Out: rows as text, counts. Must never: drive load, show a password.

use super::error::Error;
use super::route::Route;
use super::socket::{Deadline, Socket};
use super::{Product, Row};
use prony_wire::{Channel, Exchange, Fed, LoggedIn, QueryMode, Statements, Value};
use std::io::IoSlice;
use std::time::Duration;

/// How long a goodbye may take.
const GOODBYE: Duration = Duration::from_secs(1);

/// A session with MySQL or MariaDB.
pub(super) struct Control {
    socket: Socket,
    channel: Channel,
    /// In extended mode: a statement with values is prepared, executed and forgotten.
    exchange: Exchange,
    route: Route,
    version: String,
    connection_id: u32,
    tls: Option<String>,
    /// The connection failed or ended; nothing more can be done with it.
    dead: bool,
}

impl Control {
    pub(super) fn new(route: Route, socket: Socket, session: LoggedIn) -> Control {
        let mut exchange = Exchange::mysql(QueryMode::Extended);
        exchange.agree(session.agreed);
        // Only the end of the session can be here; what breaks the protocol shows with the first
        // reply.
        let _ = exchange.feed(&session.leftover);
        Control {
            socket,
            tls: session.channel.description(),
            channel: session.channel,
            exchange,
            route,
            version: session.version.unwrap_or_default(),
            connection_id: session.connection_id,
            dead: false,
        }
    }

    pub(super) fn execute(&mut self, sql: &str) -> Result<u64, Error> {
        self.run(sql, |exchange| exchange.query(sql))?;
        Ok(self.exchange.affected())
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
        Ok(self.exchange.affected())
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
        let exchange = &self.exchange;
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
        if self.dead {
            return Err(Error::Dead);
        }
        request(&mut self.exchange);
        if let Err(error) = self.converse() {
            self.dead = true;
            // What the server said before it closed explains it better.
            return Err(match self.exchange.last_words() {
                Some(said) => Error::Statement(Box::new(said)),
                None => error,
            });
        }
        match self.exchange.error() {
            None => Ok(()),
            Some(error) => {
                self.dead = error.is_fatal();
                Err(Error::Statement(Box::new(error)))
            }
        }
    }

    fn converse(&mut self) -> Result<(), Error> {
        let sent = self.send();
        let (mut from_socket, mut plain) = (Vec::new(), Vec::new());
        loop {
            from_socket.clear();
            let received = self.socket.receive(&mut from_socket, Deadline::NEVER);
            match received {
                Ok(0) => return Err(sent.err().unwrap_or(Error::Closed)),
                Ok(_) => {}
                Err(error) => return Err(closed(error)),
            }
            plain.clear();
            let mut answers = Vec::new();
            let taken = self.channel.receive(&from_socket, &mut plain, &mut answers);
            self.put(&answers)?;
            taken.map_err(Error::Tls)?;
            if plain.is_empty() {
                continue;
            }
            let fed = self.exchange.feed(&plain);
            match fed.map_err(|violation| Error::Violation(violation.to_string()))? {
                Fed::More => {}
                Fed::Send => self.send()?,
                Fed::Complete => return Ok(()),
            }
        }
    }

    fn send(&mut self) -> Result<(), Error> {
        if self.channel.is_plain() {
            return self.put(self.exchange.outgoing());
        }
        let mut sealed = Vec::new();
        self.channel.send(self.exchange.outgoing(), &mut sealed);
        self.put(&sealed)
    }

    fn put(&self, bytes: &[u8]) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.socket
            .send_all(&mut [IoSlice::new(bytes)], Deadline::NEVER, wait_for_reader)
            .map_err(closed)
    }
}

/// While the server does not read, it has something to say: it is read behind the request. A server
/// that says so much that it waits for us to read before it reads on does not exist: each command
/// is answered when it has been read.
fn wait_for_reader(_: &Socket) -> std::io::Result<()> {
    std::thread::sleep(Duration::from_millis(1));
    Ok(())
}

fn closed(error: std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::ConnectionReset | std::io::ErrorKind::BrokenPipe => Error::Closed,
        _ => Error::Io(error),
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        if self.dead {
            return;
        }
        let mut goodbye = Vec::new();
        self.channel.send(self.exchange.farewell(), &mut goodbye);
        self.channel.close(&mut goodbye);
        let deadline = Deadline::after(Some(GOODBYE));
        let _ = self
            .socket
            .send_all(&mut [IoSlice::new(&goodbye)], deadline, |_| Ok(()));
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
