//! A session with PostgreSQL on the control connection.
//!
//! In: SQL. Out: rows as text, counts. Must never: drive load, show a password.

use super::Row;
use super::cancel::Canceller;
use super::copy::CopyIn;
use super::error::Error;
use super::link::{Link, Message};
use super::route::Route;
use prony_wire::postgres::codec::Codec;
use prony_wire::postgres::{CancelKey, Parameters, Session};
use prony_wire::{QueryMode, ServerError, Statements, Value};

/// How many notices are kept until they are taken; later ones are dropped.
const MAX_NOTICES: usize = 1000;

/// A session with PostgreSQL.
pub(super) struct Control {
    pub(super) link: Link,
    route: Route,
    cancel: CancelKey,
    parameters: Parameters,
    notices: Vec<ServerError>,
    tls: Option<String>,
    /// The connection failed or ended; nothing more can be done with it.
    pub(super) dead: bool,
}

impl Control {
    pub(super) fn new(
        route: Route,
        session: Session,
        link: impl FnOnce(Vec<u8>) -> Link,
    ) -> Control {
        let link = link(session.leftover);
        Control {
            tls: link.tls_description(),
            link,
            route,
            cancel: session.cancel,
            parameters: session.parameters,
            notices: session.notices,
            dead: false,
        }
    }

    /// Runs one or more statements; gives the rows that the last of them affected or returned, as
    /// the server counts them.
    ///
    /// # Errors
    /// [`Error::Statement`] when the server refuses; the connection is then still good.
    pub(super) fn execute(&mut self, sql: &str) -> Result<u64, Error> {
        self.simple_query(sql, |_| Ok(()))
    }

    /// Runs one or more statements; gives the rows of the last that returns any.
    ///
    /// # Errors
    /// As for [`Control::execute`].
    pub(super) fn query(&mut self, sql: &str) -> Result<Vec<Row>, Error> {
        let mut rows = Vec::new();
        self.simple_query(sql, |event| {
            match event {
                Event::Columns => rows.clear(),
                Event::Row(body) => rows.push(row(body)?),
            }
            Ok(())
        })?;
        Ok(rows)
    }

    /// Runs a statement; gives the first column of its first row. `None`: NULL, or no row.
    ///
    /// # Errors
    /// As for [`Control::execute`].
    pub(super) fn query_value(&mut self, sql: &str) -> Result<Option<String>, Error> {
        let first = self.query(sql)?.into_iter().next();
        Ok(first.and_then(|row| row.into_iter().next()).flatten())
    }

    /// Runs one statement with text for its parameters `$1`, `$2`...; gives its rows. It goes by the
    /// extended protocol, so that no value needs to be quoted.
    ///
    /// # Errors
    /// As for [`Control::execute`].
    pub(super) fn query_with(&mut self, sql: &str, values: &[&str]) -> Result<Vec<Row>, Error> {
        let statement = Statements::new().add(sql);
        let values: Vec<Value<'_>> = values.iter().copied().map(Value::Text).collect();
        if values.len() != statement.parameters() {
            return Err(Error::Usage("a value for each parameter is needed"));
        }
        let mut request = Vec::new();
        Codec::new(QueryMode::Extended, true)
            .request(std::iter::once((&statement, &values[..])), &mut request);
        self.send_sql(sql, |link| link.send_messages(&request))?;
        let mut rows = Vec::new();
        self.answers(|event| {
            if let Event::Row(body) = event {
                rows.push(row(body)?);
            }
            Ok(())
        })?;
        Ok(rows)
    }

    /// Starts `COPY ... FROM STDIN`.
    ///
    /// # Errors
    /// As for [`Control::execute`]; [`Error::Usage`] if the statement is another.
    pub(super) fn copy_in(&mut self, sql: &str) -> Result<CopyIn<'_>, Error> {
        CopyIn::start(self, sql)
    }

    /// The server's version as a number: 150020 for 15.20, 90603 for 9.6.3; 0 if it told none.
    pub(super) fn server_version(&self) -> u32 {
        self.parameter("server_version").map_or(0, version_number)
    }

    /// A setting that the server reports, such as `server_version`, as last reported.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name)
    }

    /// The way that led to the server: further connections should follow it.
    pub(super) fn route(&self) -> &Route {
        &self.route
    }

    /// Version and cipher of TLS, such as `TLSv1.3 TLS_AES_256_GCM_SHA384`; `None` without TLS.
    pub(super) fn tls(&self) -> Option<&str> {
        self.tls.as_deref()
    }

    /// The server process that serves this connection.
    pub(super) fn backend_pid(&self) -> u32 {
        self.cancel.backend_pid
    }

    /// A handle that cancels what this connection does, from any thread.
    pub(super) fn canceller(&self) -> Canceller {
        Canceller::new(self.route.clone(), self.cancel.clone(), self.tls.is_some())
    }

    /// Notices and warnings of the server since the last call.
    pub(super) fn take_notices(&mut self) -> Vec<ServerError> {
        std::mem::take(&mut self.notices)
    }

    /// Runs statements by the simple protocol; gives the count of the last command tag.
    fn simple_query(
        &mut self,
        sql: &str,
        on_event: impl FnMut(Event<'_>) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        self.send_query(sql)?;
        self.answers(on_event)
    }

    /// Reads the answers to a request up to its end; gives the count of the last command tag.
    fn answers(
        &mut self,
        mut on_event: impl FnMut(Event<'_>) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let (mut count, mut failed) = (0, None);
        loop {
            let message = self.next(&mut failed)?;
            let body = self.link.body(&message);
            let outcome = match message.0 {
                b'Z' => break,
                b'T' => on_event(Event::Columns),
                b'D' => on_event(Event::Row(body)),
                b'C' => {
                    count = affected_rows(body);
                    Ok(())
                }
                // A COPY into the server waits for data that nobody has: refuse it.
                b'G' => {
                    failed.get_or_insert(Error::Usage("COPY FROM STDIN needs copy_in"));
                    self.guard(|link| link.send(b'f', [b"no data\0", &[]]))
                }
                // Copied out data is dropped; CopyOutResponse, CopyData, CopyDone.
                b'H' | b'd' | b'c' | b'I' => Ok(()),
                // ParseComplete, BindComplete, NoData.
                b'1' | b'2' | b'n' => Ok(()),
                tag => Err(unexpected(tag)),
            };
            if let Err(error) = outcome {
                self.dead = true;
                return Err(error);
            }
        }
        failed.map_or(Ok(count), Err)
    }

    pub(super) fn send_query(&mut self, sql: &str) -> Result<(), Error> {
        self.send_sql(sql, |link| link.send(b'Q', [sql.as_bytes(), b"\0"]))
    }

    fn send_sql(
        &mut self,
        sql: &str,
        send: impl FnOnce(&mut Link) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if sql.contains('\0') {
            return Err(Error::Usage("a statement cannot contain a zero byte"));
        }
        if self.dead {
            return Err(Error::Dead);
        }
        match self.guard(send) {
            // The server may have said why it closed, before this statement was sent.
            Err(error) => Err(self.last_words(error)),
            Ok(()) => Ok(()),
        }
    }

    /// Waits for the next message that is about the statement. Notices and settings are kept; a
    /// server's error goes to `failed` (the first counts), or ends the connection with it.
    pub(super) fn next(&mut self, failed: &mut Option<Error>) -> Result<Message, Error> {
        loop {
            let message = match self.guard(Link::next) {
                Ok(message) => message,
                // After a fatal error the server closes: that error is the reason.
                Err(error) => return Err(failed.take().unwrap_or(error)),
            };
            if let Some(message) = self.sort_out(message, failed)? {
                return Ok(message);
            }
        }
    }

    /// Keeps what may come at any time; gives back the rest.
    pub(super) fn sort_out(
        &mut self,
        message: Message,
        failed: &mut Option<Error>,
    ) -> Result<Option<Message>, Error> {
        let body = self.link.body(&message);
        match message.0 {
            b'E' => {
                let error = ServerError::parse(body);
                self.dead |= error.is_fatal();
                failed.get_or_insert(Error::Statement(Box::new(error)));
            }
            b'N' if self.notices.len() < MAX_NOTICES => self.notices.push(ServerError::parse(body)),
            b'N' | b'A' => {}
            b'S' => {
                let body = body.to_vec();
                let added = self.parameters.add(&body);
                added.map_err(|error| Error::Protocol(error.to_string()))?;
            }
            _ => return Ok(Some(message)),
        }
        Ok(None)
    }

    /// Does something with the link; a failure ends its use.
    pub(super) fn guard<T>(
        &mut self,
        act: impl FnOnce(&mut Link) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let result = act(&mut self.link);
        self.dead |= matches!(&result, Err(error) if error.is_lost());
        result
    }

    /// Sending failed: what the server said before it closed explains it better.
    pub(super) fn last_words(&mut self, error: Error) -> Error {
        let mut failed = None;
        while let Ok(Some(message)) = self.link.next_now() {
            if self.sort_out(message, &mut failed).is_err() {
                break;
            }
        }
        self.dead |= error.is_lost();
        failed.unwrap_or(match error {
            Error::Io(_) => Error::Closed,
            other => other,
        })
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        if !self.dead {
            self.link.goodbye();
        }
    }
}

/// What a simple query brings, as it comes.
enum Event<'a> {
    /// A new result begins.
    Columns,
    /// The body of a DataRow.
    Row(&'a [u8]),
}

pub(super) fn unexpected(tag: u8) -> Error {
    Error::Protocol(format!(
        "unexpected message '{}'",
        char::from(tag).escape_default()
    ))
}

/// The number at the end of a command tag: `INSERT 0 5`, `COPY 10`; 0 where there is none.
pub(super) fn affected_rows(body: &[u8]) -> u64 {
    let text = body.strip_suffix(&[0]).unwrap_or(body);
    let last = text.rsplit(|&byte| byte == b' ').next().unwrap_or_default();
    std::str::from_utf8(last)
        .ok()
        .and_then(|digits| digits.parse().ok())
        .unwrap_or(0)
}

/// Reads the body of a DataRow whose columns are text.
fn row(body: &[u8]) -> Result<Row, Error> {
    let malformed = || Error::Protocol("malformed row".into());
    let (count, mut rest) = body.split_first_chunk::<2>().ok_or_else(malformed)?;
    let mut row = Row::new();
    for _ in 0..u16::from_be_bytes(*count) {
        let (length, tail) = rest.split_first_chunk::<4>().ok_or_else(malformed)?;
        let length = i32::from_be_bytes(*length);
        let Ok(length) = usize::try_from(length) else {
            row.push(None);
            rest = tail;
            continue;
        };
        let (value, tail) = tail.split_at_checked(length).ok_or_else(malformed)?;
        row.push(Some(String::from_utf8_lossy(value).into_owned()));
        rest = tail;
    }
    Ok(row)
}

/// `15.18 (Debian 15.18-0)` is 150018, `9.6.3` is 90603, `18beta1` is 180000.
fn version_number(text: &str) -> u32 {
    let mut numbers = text
        .split(|c: char| !c.is_ascii_digit() && c != '.')
        .next()
        .unwrap_or_default()
        .split('.')
        .map(|part| part.parse::<u32>().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0).min(9999);
    match next() {
        major @ 10.. => major * 10_000 + next(),
        major => major * 10_000 + next() * 100 + next(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_numbers() {
        assert_eq!(version_number("15.18 (Debian 15.18-0+deb12u1)"), 150_018);
        assert_eq!(version_number("9.6.3"), 90_603);
        assert_eq!(version_number("18beta1"), 180_000);
        assert_eq!(version_number(""), 0);
        assert_eq!(version_number("99999999.99999999"), 99_990_000 + 9_999);
    }

    #[test]
    fn command_tags() {
        assert_eq!(affected_rows(b"INSERT 0 5\0"), 5);
        assert_eq!(affected_rows(b"COPY 10\0"), 10);
        assert_eq!(affected_rows(b"CREATE TABLE\0"), 0);
        assert_eq!(affected_rows(b""), 0);
    }

    #[test]
    fn rows_are_bounded_by_their_message() {
        let good = b"\0\x02\0\0\0\x01a\xff\xff\xff\xff";
        assert_eq!(row(good).unwrap(), vec![Some("a".to_owned()), None]);
        for end in 0..good.len() {
            assert!(row(&good[..end]).is_err());
        }
        assert!(row(b"\0\x01\x7f\xff\xff\xffa").is_err());
    }
}
