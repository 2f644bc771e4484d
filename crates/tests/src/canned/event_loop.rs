//! One thread that serves all connections, with epoll.

use rustix::event::epoll::{self, EventData, EventFlags};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener;

/// The largest read, in bytes; a longer request takes several reads.
const READ_BYTES: usize = 64 * 1024;
/// The largest number of connections that one wait reports.
const EVENTS_MAX: usize = 256;

/// The server's side of the protocol on one connection.
pub trait Session: Send {
    /// Appends what the server sends first.
    fn greet(&mut self, out: &mut Vec<u8>);

    /// Handles the complete messages at the start of `input`, appends their replies to `out`, and returns the
    /// length of these messages in bytes.
    fn receive(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<usize, SessionEnd>;
}

#[derive(Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// The client ended it.
    ClosedByClient,
    /// The client sent a message that this server does not support.
    Unsupported(String),
}

enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

struct Client {
    /// In blocking mode: epoll says when there is something to read, and replies are far smaller than the buffer of a
    /// socket.
    socket: File,
    session: Box<dyn Session>,
    /// The start of a message whose end has not arrived.
    incomplete: Vec<u8>,
}

impl Client {
    /// Reads once, and writes the replies to the messages that are complete. Returns whether the connection
    /// stays open.
    fn serve(&mut self, buffer: &mut [u8], out: &mut Vec<u8>, on_problem: fn(&str)) -> bool {
        let Ok(read @ 1..) = self.socket.read(buffer) else {
            return false;
        };
        out.clear();
        let result = if self.incomplete.is_empty() {
            let result = self.session.receive(&buffer[..read], out);
            if let Ok(handled) = result {
                self.incomplete.extend_from_slice(&buffer[handled..read]);
            }
            result
        } else {
            self.incomplete.extend_from_slice(&buffer[..read]);
            let result = self.session.receive(&self.incomplete, out);
            if let Ok(handled) = result {
                self.incomplete.drain(..handled);
            }
            result
        };
        match result {
            Ok(_) => out.is_empty() || self.socket.write_all(out).is_ok(),
            Err(SessionEnd::ClosedByClient) => false,
            Err(SessionEnd::Unsupported(message)) => {
                on_problem(&message);
                false
            }
        }
    }
}

pub type NewSession = Box<dyn Fn() -> Box<dyn Session> + Send>;

/// Listeners and connections. Events carry the index of a listener, or the number of listeners plus the index
/// of a client.
pub struct EventLoop {
    epoll: OwnedFd,
    new_session: NewSession,
    /// Called with what is wrong with a client.
    on_problem: fn(&str),
    listeners: Vec<Listener>,
    clients: Vec<Option<Client>>,
    free_indexes: Vec<usize>,
}

impl EventLoop {
    /// Creates a loop without listeners.
    pub fn new(new_session: NewSession, on_problem: fn(&str)) -> io::Result<Self> {
        Ok(EventLoop {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            new_session,
            on_problem,
            listeners: Vec::new(),
            clients: Vec::new(),
            free_indexes: Vec::new(),
        })
    }

    /// Listens on the path of a unix socket, which starts with a slash, or on `IP:PORT`; returns the port, 0 for a
    /// unix socket. All calls come before [`run`](Self::run).
    pub fn listen(&mut self, address: &str) -> io::Result<u16> {
        let listener = if address.starts_with('/') {
            Listener::Unix(UnixListener::bind(address)?)
        } else {
            Listener::Tcp(TcpListener::bind(address)?)
        };
        let index = self.listeners.len() as u64;
        let port = match &listener {
            Listener::Unix(socket) => {
                self.watch(socket, index)?;
                0
            }
            Listener::Tcp(socket) => {
                self.watch(socket, index)?;
                socket.local_addr()?.port()
            }
        };
        self.listeners.push(listener);
        Ok(port)
    }

    fn watch(&self, socket: impl AsFd, data: u64) -> io::Result<()> {
        let data = EventData::new_u64(data);
        Ok(epoll::add(&self.epoll, socket, data, EventFlags::IN)?)
    }

    /// Serves clients until the process is killed.
    pub fn run(mut self) -> io::Result<()> {
        let mut buffer = vec![0; READ_BYTES];
        let mut out = Vec::with_capacity(READ_BYTES);
        let mut events = Vec::with_capacity(EVENTS_MAX);
        loop {
            events.clear();
            let space = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.epoll, space, None) {
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                let data = event.data.u64() as usize;
                let Some(index) = data.checked_sub(self.listeners.len()) else {
                    if let Err(error) = self.accept(data, &mut out) {
                        (self.on_problem)(&format!("cannot accept a connection: {error}"));
                    }
                    continue;
                };
                if let Some(client) = &mut self.clients[index]
                    && !client.serve(&mut buffer, &mut out, self.on_problem)
                {
                    // Closing the socket removes it from epoll.
                    self.clients[index] = None;
                    self.free_indexes.push(index);
                }
            }
        }
    }

    fn accept(&mut self, listener: usize, out: &mut Vec<u8>) -> io::Result<()> {
        let socket = match &self.listeners[listener] {
            Listener::Unix(listener) => OwnedFd::from(listener.accept()?.0),
            Listener::Tcp(listener) => {
                let stream = listener.accept()?.0;
                stream.set_nodelay(true)?;
                OwnedFd::from(stream)
            }
        };
        let mut socket = File::from(socket);
        let mut session = (self.new_session)();
        out.clear();
        session.greet(out);
        socket.write_all(out)?;
        let index = self.free_indexes.pop().unwrap_or_else(|| {
            self.clients.push(None);
            self.clients.len() - 1
        });
        let data = (self.listeners.len() + index) as u64;
        self.watch(&socket, data)?;
        self.clients[index] = Some(Client {
            socket,
            session,
            incomplete: Vec::new(),
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    /// Messages are lines; `bye` ends the session. The reply to a line is the line.
    struct Echo;

    impl Session for Echo {
        fn greet(&mut self, out: &mut Vec<u8>) {
            out.extend_from_slice(b"hello\n");
        }

        fn receive(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<usize, SessionEnd> {
            let Some(end) = input.iter().rposition(|byte| *byte == b'\n') else {
                return Ok(0);
            };
            if input[..end].ends_with(b"bye") {
                return Err(SessionEnd::ClosedByClient);
            }
            out.extend_from_slice(&input[..=end]);
            Ok(end + 1)
        }
    }

    fn send(stream: &mut UnixStream, bytes: &[u8]) {
        stream.write_all(bytes).expect("sent");
    }

    fn expect(stream: &mut UnixStream, bytes: &[u8]) {
        let mut received = vec![0; bytes.len()];
        stream.read_exact(&mut received).expect("a reply");
        assert_eq!(received, bytes);
    }

    #[test]
    fn messages_in_pieces_are_answered_when_they_are_complete() {
        let folder = std::env::temp_dir().join(format!("prony-canned-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("a new folder");
        let path = folder.join("socket");
        let server = EventLoop::new(Box::new(|| Box::new(Echo)), |problem| panic!("{problem}"));
        let mut server = server.expect("epoll");
        let port = server.listen(path.to_str().expect("UTF-8"));
        assert_eq!(port.expect("a listener"), 0, "a unix socket");
        std::thread::spawn(move || server.run());
        let connect = || {
            let mut stream = UnixStream::connect(&path).expect("a connection");
            expect(&mut stream, b"hello\n");
            stream
        };
        let (mut first, mut second) = (connect(), connect());
        send(&mut first, b"one\ntw");
        expect(&mut first, b"one\n");
        send(&mut second, b"three\n");
        expect(&mut second, b"three\n");
        send(&mut first, b"o\n");
        expect(&mut first, b"two\n");
        send(&mut second, b"bye\n");
        assert_eq!(second.read(&mut [0]).expect("the end"), 0);
        // The index of the closed connection is used again, and the open one is unaffected.
        let mut third = connect();
        send(&mut third, b"four\n");
        expect(&mut third, b"four\n");
        send(&mut first, b"five\n");
        expect(&mut first, b"five\n");
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
