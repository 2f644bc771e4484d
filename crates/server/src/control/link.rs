//! Whole messages over a socket, through TLS where there is any.
//!
//! In: messages to send. Out: messages received. Must never: make room for more than has arrived,
//! whatever length a message claims.

use super::error::Error;
use super::socket::{Deadline, Socket};
use prony_wire::Channel;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::time::Duration;

/// The longest message that is taken, in bytes: a control connection asks for little.
const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;

/// How long a goodbye may take.
const GOODBYE: Duration = Duration::from_secs(1);

/// A logged-in connection, as messages.
pub(super) struct Link {
    socket: Socket,
    channel: Channel,
    /// Bytes received and not yet taken, after TLS.
    inbox: Vec<u8>,
    /// How much of `inbox` was handed out.
    taken: usize,
    /// Bytes for and from the socket when TLS stands between.
    to_socket: Vec<u8>,
    from_socket: Vec<u8>,
    /// How long to wait for the server.
    patience: Deadline,
}

/// A message: its tag, and where in the inbox its body is.
pub(super) type Message = (u8, Range<usize>);

impl Link {
    pub(super) fn new(socket: Socket, channel: Channel, leftover: Vec<u8>) -> Link {
        Link {
            socket,
            channel,
            inbox: leftover,
            taken: 0,
            to_socket: Vec::new(),
            from_socket: Vec::new(),
            patience: Deadline::NEVER,
        }
    }

    pub(super) fn tls_description(&self) -> Option<String> {
        self.channel.description()
    }

    /// The body of the message last received.
    pub(super) fn body(&self, message: &Message) -> &[u8] {
        &self.inbox[message.1.clone()]
    }

    /// Sends one message whose body is `parts`, one after another.
    pub(super) fn send(&mut self, tag: u8, parts: [&[u8]; 2]) -> Result<(), Error> {
        let body_bytes = parts[0].len() + parts[1].len();
        let length = u32::try_from(body_bytes + 4)
            .map_err(|_| Error::Usage("a message to the server cannot be that long"))?;
        let mut header = [tag; 5];
        header[1..].copy_from_slice(&length.to_be_bytes());

        self.send_parts([&header[..], parts[0], parts[1]])
    }

    /// Sends whole messages.
    pub(super) fn send_messages(&mut self, messages: &[u8]) -> Result<(), Error> {
        self.send_parts([messages])
    }

    fn send_parts<const N: usize>(&mut self, parts: [&[u8]; N]) -> Result<(), Error> {
        if self.channel.is_plain() {
            return self.push(&mut parts.map(IoSlice::new));
        }
        let mut sealed = std::mem::take(&mut self.to_socket);
        sealed.clear();
        for part in parts {
            self.channel.send(part, &mut sealed);
        }
        let sent = self.push(&mut [IoSlice::new(&sealed)]);
        self.to_socket = sealed;
        sent
    }

    /// Sends bytes as they are, and takes in what the server sends if it reads nothing meanwhile.
    fn push(&mut self, parts: &mut [IoSlice<'_>]) -> Result<(), Error> {
        let (channel, inbox, from_socket) =
            (&mut self.channel, &mut self.inbox, &mut self.from_socket);
        let mut answers = Vec::new();
        let incoming = |socket: &Socket| {
            // At the end of the stream there is nothing to take in; sending will fail by itself.
            take_in(socket, channel, from_socket, inbox, &mut answers).map(drop)
        };
        self.socket
            .send_all(parts, self.patience, incoming)
            .map_err(Error::Io)?;
        self.send_raw(&answers)
    }

    /// Waits for the next message.
    pub(super) fn next(&mut self) -> Result<Message, Error> {
        loop {
            if let Some(message) = self.buffered()? {
                return Ok(message);
            }
            let plain = self.channel.is_plain();
            let into = if plain {
                &mut self.inbox
            } else {
                &mut self.from_socket
            };
            if self
                .socket
                .receive(into, self.patience)
                .map_err(Error::Io)?
                == 0
            {
                return Err(Error::Closed);
            }
            if !plain {
                let mut answers = Vec::new();
                let from_socket = std::mem::take(&mut self.from_socket);
                let result = self
                    .channel
                    .receive(&from_socket, &mut self.inbox, &mut answers);
                self.from_socket = from_socket;
                self.from_socket.clear();
                self.send_raw(&answers)?;
                result.map_err(Error::Tls)?;
            }
        }
    }

    /// The next message if it has already arrived.
    pub(super) fn next_now(&mut self) -> Result<Option<Message>, Error> {
        loop {
            if let Some(message) = self.buffered()? {
                return Ok(Some(message));
            }
            let mut answers = Vec::new();
            let taken = take_in(
                &self.socket,
                &mut self.channel,
                &mut self.from_socket,
                &mut self.inbox,
                &mut answers,
            );
            self.send_raw(&answers)?;
            match taken.map_err(Error::Io)? {
                None => return Ok(None),
                Some(0) => return Err(Error::Closed),
                Some(_) => {}
            }
        }
    }

    /// Takes a whole message out of the inbox.
    fn buffered(&mut self) -> Result<Option<Message>, Error> {
        if self.taken == self.inbox.len() {
            self.inbox.clear();
            self.taken = 0;
        }
        let Some((header, rest)) = self.inbox[self.taken..].split_first_chunk::<5>() else {
            self.compact();
            return Ok(None);
        };
        let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
        let Some(body) = length
            .checked_sub(4)
            .filter(|body| *body <= MAX_MESSAGE_BYTES)
        else {
            return Err(Error::Protocol(format!("a message of {length} bytes")));
        };
        if rest.len() < body {
            self.compact();
            return Ok(None);
        }
        let tag = header[0];
        let start = self.taken + 5;
        self.taken = start + body;
        Ok(Some((tag, start..start + body)))
    }

    /// Moves what is not taken to the front.
    fn compact(&mut self) {
        self.inbox.drain(..self.taken);
        self.taken = 0;
    }

    fn send_raw(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.socket
            .send_all(&mut [IoSlice::new(bytes)], self.patience, |_| Ok(()))
            .map_err(Error::Io)
    }

    /// Says goodbye, if the server takes it at once or soon.
    pub(super) fn goodbye(&mut self) {
        self.patience = Deadline::after(Some(GOODBYE));
        if self.send(b'X', [&[], &[]]).is_ok() {
            let mut close = Vec::new();
            self.channel.close(&mut close);
            let _ = self.send_raw(&close);
        }
    }

    /// Limits how long the server may take from here on.
    pub(super) fn set_patience(&mut self, deadline: Deadline) {
        self.patience = deadline;
    }
}

/// Moves what has arrived to the inbox; `None`: nothing has, `Some(0)`: the peer has closed.
fn take_in(
    socket: &Socket,
    channel: &mut Channel,
    from_socket: &mut Vec<u8>,
    inbox: &mut Vec<u8>,
    answers: &mut Vec<u8>,
) -> io::Result<Option<usize>> {
    if channel.is_plain() {
        return socket.receive_now(inbox);
    }
    from_socket.clear();
    let count = socket.receive_now(from_socket)?;
    let result = channel
        .receive(from_socket, inbox, answers)
        .map_err(io::Error::other);
    from_socket.clear();
    result.map(|()| count)
}
