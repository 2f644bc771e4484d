//! A blocking connection that can make every request of the load loop: text in any encoding,
//! prepared statements, replies with several results, COPY data.
//!
//! Must never: drive load; show a password; block on sending while the server waits for this side
//! to read.

use super::MAX_REPLY_BYTES;
use super::connect_failure::FailureCause;
use super::error::Error;
use super::open::connect;
use super::session_attrs;
use super::socket::{Deadline, Socket};
use super::waiting::{AttentionRequest, WaitError};
use crate::target::{SessionAttrs, Target};
use prony_wire::{Channel, Exchange, FeedStatus, QueryMode, Session, Statement};
use std::io::IoSlice;
use std::time::Duration;

/// Time limit for sending the closing message, and for looking for the server's last one.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

pub struct BlockingConnection {
    socket: Socket,
    channel: Channel,
    exchange: Exchange,
    /// Received bytes, still encrypted if the connection uses TLS.
    from_socket: Vec<u8>,
    /// Received bytes after decryption; unused without TLS.
    decrypted: Vec<u8>,
    /// Bytes to send, after encryption.
    to_socket: Vec<u8>,
    reply_status: FeedStatus,
    reply_bytes: u64,
    /// Limit for one reply, in bytes.
    max_reply_bytes: u64,
    /// Whether the connection has failed or ended, and can no longer be used.
    dead: bool,
    deadline: Deadline,
}

impl BlockingConnection {
    /// Connects to the first endpoint whose session has the target's `target_session_attrs`.
    /// `mode`: how statements are sent.
    ///
    /// # Errors
    /// [`Error::Connect`] with the failure of each attempt.
    pub fn connect(target: &Target, mode: QueryMode) -> Result<BlockingConnection, Error> {
        connect(target, mode, target.session_use()).map(|opened| opened.connection)
    }

    pub(super) fn new(
        socket: Socket,
        channel: Channel,
        session: &Session,
        mut exchange: Exchange,
    ) -> BlockingConnection {
        exchange.set_session_flags(session.flags);
        // These bytes are at most the last messages of the login. A protocol violation in them is
        // reported with the first reply.
        let _ = exchange.feed(&session.trailing_bytes);
        BlockingConnection {
            socket,
            channel,
            exchange,
            from_socket: Vec::new(),
            decrypted: Vec::new(),
            to_socket: Vec::new(),
            reply_status: FeedStatus::Complete,
            reply_bytes: 0,
            max_reply_bytes: MAX_REPLY_BYTES,
            dead: false,
            deadline: Deadline::NEVER,
        }
    }

    /// With this, another thread requests that the statement be canceled by an attention.
    pub(super) fn attention_request(&self) -> AttentionRequest {
        self.socket.attention_request().clone()
    }

    /// Checks the session's properties; queries those that its login did not report.
    pub(super) fn check_session(
        &mut self,
        wanted: SessionAttrs,
        session: &Session,
        deadline: Deadline,
    ) -> Result<(), FailureCause> {
        self.deadline = deadline;
        session_attrs::check(wanted, |property| match property.reported(session) {
            Some(value) => Ok(value),
            None => {
                self.request(|exchange| exchange.query(property.query()))?;
                let first_row = self.exchange.rows().next();
                Ok(session_attrs::is_true(
                    first_row.and_then(|(_, row)| row.text(0)),
                ))
            }
        })?;
        self.deadline = Deadline::NEVER;
        Ok(())
    }

    /// Sets after how long without a byte the server is probed; `None`: never.
    pub(super) fn set_io_timeout(&mut self, limit: Option<Duration>) {
        self.socket.set_io_timeout(limit);
    }

    /// Names what the next request waits for; see [`WaitOptions::notice`](super::WaitOptions::notice).
    pub(super) fn set_awaited(&self, describe: impl FnOnce() -> String) {
        self.socket.set_awaited(describe);
    }

    pub(super) fn set_deadline(&mut self, deadline: Deadline) {
        self.deadline = deadline;
    }

    /// TLS version and cipher, for display; `None` without TLS.
    pub(super) fn tls(&self) -> Option<String> {
        self.channel.description()
    }

    /// The last reply and the prepared statements.
    pub fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// Limits the memory of the rows of further replies.
    pub(super) fn limit_rows(&mut self, bytes_max: usize) {
        self.exchange.limit_rows(bytes_max);
    }

    /// Marks a statement as no longer used; a later request closes it on the server.
    pub fn close_statement(&mut self, statement: &Statement) {
        self.exchange.close(statement);
    }

    pub(super) fn mark_unusable(&mut self) {
        self.dead = true;
    }

    /// Sends a request and waits for its reply, which [`BlockingConnection::exchange`] then
    /// contains.
    ///
    /// # Errors
    /// [`Error::Statement`] if the server refuses; the connection is then still usable unless the
    /// error is fatal. After other errors it is lost.
    pub fn request(&mut self, request: impl FnOnce(&mut Exchange)) -> Result<(), Error> {
        self.begin(request)?;
        self.complete()
    }

    pub(super) fn begin(&mut self, request: impl FnOnce(&mut Exchange)) -> Result<(), Error> {
        if self.dead {
            return Err(Error::Dead);
        }
        self.socket.attention_request().clear();
        request(&mut self.exchange);
        self.reply_status = FeedStatus::More;
        self.reply_bytes = 0;
        self.send_outgoing()
    }

    /// Waits for the end of the reply.
    pub(super) fn complete(&mut self) -> Result<(), Error> {
        while self.wait()? != FeedStatus::Complete {
            self.send_outgoing()?;
        }
        match self.exchange.error() {
            None => Ok(()),
            Some(error) => {
                self.dead |= error.is_fatal();
                Err(Error::Statement(Box::new(error)))
            }
        }
    }

    /// Waits until the reply is complete, or the server expects more of the request.
    pub(super) fn wait(&mut self) -> Result<FeedStatus, Error> {
        while self.reply_status == FeedStatus::More {
            self.from_socket.clear();
            let received = self.socket.receive(&mut self.from_socket, self.deadline);
            let processed = match received {
                Ok(0) => Err(Error::Closed),
                Ok(_) => self.process_received(),
                Err(error) if WaitError::is_attention_requested(&error) => self.send_attention(),
                Err(error) => Err(error.into()),
            };
            processed.map_err(|error| self.on_lost(error))?;
        }
        Ok(self.reply_status)
    }

    /// Asks the server to cancel the request in flight; its reply still follows.
    fn send_attention(&mut self) -> Result<(), Error> {
        let mut bytes = Vec::new();
        if let Some(message) = self.exchange.attention() {
            self.channel.send(message, &mut bytes);
        }
        let sent = self.socket.send_all(&bytes, self.deadline);
        sent.map_err(Error::from)
    }

    /// Processes bytes that have already arrived, without waiting; returns the state of the reply.
    pub(super) fn process_arrived(&mut self) -> Result<FeedStatus, Error> {
        loop {
            self.from_socket.clear();
            // A server that never pauses must not keep a signal or the deadline from ending this.
            let received = self.socket.time_left(self.deadline);
            let received = received.and_then(|_| self.socket.receive_now(&mut self.from_socket));
            let processed = match received {
                Ok(None) => return Ok(self.reply_status),
                Ok(Some(0)) => Err(Error::Closed),
                Ok(Some(_)) => self.process_received(),
                Err(error) => Err(error.into()),
            };
            processed.map_err(|error| self.on_lost(error))?;
        }
    }

    /// Feeds the received bytes to the exchange, and sends TLS answers.
    fn process_received(&mut self) -> Result<(), Error> {
        let mut answers = Vec::new();
        let result = self.feed(&mut answers);
        if !answers.is_empty() {
            let sent = self.socket.send_all(&answers, self.deadline);
            sent.map_err(Error::from)?;
        }
        result
    }

    fn feed(&mut self, answers: &mut Vec<u8>) -> Result<(), Error> {
        let plain = if self.channel.is_plain() {
            &self.from_socket
        } else {
            self.decrypted.clear();
            let result = self
                .channel
                .receive(&self.from_socket, &mut self.decrypted, answers);
            result.map_err(Error::Tls)?;
            &self.decrypted
        };
        self.reply_bytes += plain.len() as u64;
        if self.reply_bytes > self.max_reply_bytes {
            let problem = "the server violates the protocol: its reply is too long";
            return Err(Error::Violation(problem.to_owned()));
        }
        let status = self.exchange.feed(plain);
        match status.map_err(|violation| Error::Violation(violation.to_string()))? {
            FeedStatus::More => {}
            status => self.reply_status = status,
        }
        Ok(())
    }

    /// Sends the request's pending bytes.
    fn send_outgoing(&mut self) -> Result<(), Error> {
        let mut bytes = std::mem::take(&mut self.to_socket);
        bytes.clear();
        self.channel.send(self.exchange.outgoing(), &mut bytes);
        let sent = self.send_plain([&bytes, &[]]);
        self.to_socket = bytes;
        sent
    }

    /// Sends bytes of the request.
    pub(super) fn send(&mut self, parts: [&[u8]; 2]) -> Result<(), Error> {
        if self.dead {
            return Err(Error::Dead);
        }
        if self.channel.is_plain() {
            return self.send_plain(parts);
        }
        let mut encrypted = std::mem::take(&mut self.to_socket);
        encrypted.clear();
        for part in parts {
            self.channel.send(part, &mut encrypted);
        }
        let sent = self.send_plain([&encrypted, &[]]);
        self.to_socket = encrypted;
        sent
    }

    /// Sends bytes as they are. Also processes the data that the server sends meanwhile: the server may
    /// wait for this side to read it.
    fn send_plain(&mut self, parts: [&[u8]; 2]) -> Result<(), Error> {
        if self.reply_status == FeedStatus::Send {
            self.reply_status = FeedStatus::More;
        }
        let mut slices = parts.map(IoSlice::new);
        let mut remaining = &mut slices[..];
        IoSlice::advance_slices(&mut remaining, 0);
        while !remaining.is_empty() {
            match self.socket.send_some(&mut remaining, self.deadline) {
                Ok(true) => {}
                Ok(false) => {
                    self.process_arrived()?;
                }
                Err(error) => return Err(self.on_lost(error.into())),
            }
        }
        Ok(())
    }

    /// Marks the connection as lost. Returns the server's last message, if there is one, because it
    /// explains the loss better than `error`.
    fn on_lost(&mut self, error: Error) -> Error {
        if std::mem::replace(&mut self.dead, true) {
            return error;
        }
        // A server may send without an end.
        let deadline = Deadline::after(Some(CLOSE_TIMEOUT));
        while self.exchange.final_error().is_none() && self.socket.time_left(deadline).is_ok() {
            self.from_socket.clear();
            match self.socket.receive_now(&mut self.from_socket) {
                Ok(Some(1..)) if self.feed(&mut Vec::new()).is_ok() => {}
                _ => break,
            }
        }
        if let Some(final_error) = self.exchange.final_error() {
            return Error::Statement(Box::new(final_error));
        }
        match error {
            Error::Io(error) if is_closed(&error) => Error::Closed,
            other => other,
        }
    }
}

fn is_closed(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionReset};
    matches!(error.kind(), ConnectionReset | BrokenPipe)
}

impl Drop for BlockingConnection {
    fn drop(&mut self) {
        if self.dead {
            return;
        }
        let mut closing_message = Vec::new();
        self.channel
            .send(self.exchange.closing_message(), &mut closing_message);
        self.channel.close(&mut closing_message);
        let deadline = Deadline::after(Some(CLOSE_TIMEOUT));
        let _ = self.socket.send_all(&closing_message, deadline);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Environment, resolve};
    use prony_assertions::TextAssertions;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::path::Path;

    /// A connection to a server that answers a request by this piece, up to 1,000 times; the thread returns how often.
    fn connect_to_flood(piece: Vec<u8>) -> (BlockingConnection, std::thread::JoinHandle<usize>) {
        const HELLO: &[u8] = b"R\0\0\0\x08\0\0\0\0S\0\0\0\x18server_version\x0015.0\0Z\0\0\0\x05I";
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            for answer in [HELLO, b"T\0\0\0\x06\0\0"] {
                assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
                stream.write_all(answer).unwrap();
            }
            // Bounded, so that a failing test does not use up the memory.
            let mut pieces = 0..1_000;
            let refused = pieces.position(|_| stream.write_all(&piece).is_err());
            refused.unwrap_or(1_000)
        });
        let conninfo = format!("host=127.0.0.1 port={port} user=x dbname=x sslmode=disable");
        let target = resolve(&conninfo, &Environment::new("x", Path::new("/"))).unwrap();
        let connection = BlockingConnection::connect(&target, QueryMode::Simple).unwrap();
        (connection, server)
    }

    #[test]
    fn an_endless_reply_is_an_error() {
        let (mut connection, server) = connect_to_flood(b"D\0\0\0\x06\0\0".repeat(10_000));
        connection.max_reply_bytes = 1 << 20;
        let error = connection
            .request(|exchange| exchange.query("SELECT"))
            .unwrap_err();
        assert!(matches!(error, Error::Violation(_)), "{error}");
        error.to_string().assert_contains("too long");
        assert!(matches!(connection.request(|_| ()), Err(Error::Dead)));
        drop(connection);
        assert!(server.join().unwrap() < 1_000, "the client read everything");

        // After the deadline it does not read on for the server's last message.
        let (mut connection, server) = connect_to_flood(b"D\0\0\0\x06\0\0".repeat(36_000));
        connection.set_deadline(Deadline::after(Some(Duration::from_millis(20))));
        let error = connection.request(|exchange| exchange.query("SELECT"));
        assert!(error.is_err(), "{error:?}");
        drop(connection);
        assert!(server.join().unwrap() < 1_000, "the client read everything");
    }
}
