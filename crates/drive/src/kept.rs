//! Connections that stay open from one load to the next.
//!
//! In: connections that are up and idle when a load ends. Out: the same ones, for the clients of the next load. Must
//! never: hand over a connection that waits for a reply, is in a transaction, or was closed by the server.

use crate::io::OpenSocket;
use crate::io::socket;
use prony_wire::{Channel, Exchange};
use std::collections::HashMap;
use std::os::fd::AsRawFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The connections between two loads of the same program on the same server, by the numbers of their clients. Dropping it
/// closes them.
#[derive(Default)]
pub struct KeptConnections(Mutex<HashMap<u64, KeptConnection>>);

pub(crate) struct KeptConnection {
    pub exchange: Exchange,
    pub channel: Channel,
    pub socket: OpenSocket,
    /// Name of the engine that opened the socket. Another one sets other options of a socket.
    pub engine: &'static str,
}

impl KeptConnections {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, KeptConnection>> {
        // A worker that panicked has put in a whole connection or none.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn put(&self, client: u64, connection: KeptConnection) {
        self.lock().insert(client, connection);
    }

    /// Takes the connection of a client, if it can be used with this engine; otherwise closes it.
    pub(crate) fn take(&self, client: u64, engine: &str) -> Option<KeptConnection> {
        let connection = self.lock().remove(&client)?;
        let is_usable =
            connection.engine == engine && socket::is_open(&connection.socket.descriptor);
        if is_usable {
            return Some(connection);
        }
        connection.close();
        None
    }
}

impl KeptConnection {
    pub fn close(mut self) {
        let mut message = Vec::new();
        let closing_message = self.exchange.closing_message();
        self.channel.send(closing_message, &mut message);
        socket::send_now(self.socket.descriptor.as_raw_fd(), &message);
    }
}

impl Drop for KeptConnections {
    fn drop(&mut self) {
        let connections = std::mem::take(&mut *self.lock());
        connections.into_values().for_each(KeptConnection::close);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_wire::QueryMode;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_connection_that_the_server_closed_is_not_handed_over_and_the_others_end_with_a_message() {
        let kept = KeptConnections::default();
        let mut servers: Vec<UnixStream> = (0..4)
            .map(|client| {
                let (socket, server) = UnixStream::pair().unwrap();
                let connection = KeptConnection {
                    exchange: Exchange::postgres(QueryMode::Prepared, false),
                    channel: Channel::Plain,
                    socket: OpenSocket {
                        descriptor: socket.into(),
                        is_tcp: false,
                    },
                    engine: "epoll",
                };
                kept.put(client, connection);
                server
            })
            .collect();
        drop(servers.remove(0));
        assert!(kept.take(0, "epoll").is_none());
        assert!(kept.take(1, "ring").is_none(), "of another engine");
        let taken = kept.take(2, "epoll").unwrap();
        assert!(kept.take(2, "epoll").is_none());
        kept.put(2, taken);
        // Before the server closes a connection, it says why.
        let mut failed_server = servers.pop().unwrap();
        failed_server.write_all(b"E").unwrap();
        assert!(kept.take(3, "epoll").is_none(), "with an error");
        assert!(kept.take(4, "epoll").is_none());
        drop(kept);
        for mut server in servers {
            let mut bytes = Vec::new();
            server.read_to_end(&mut bytes).unwrap();
            assert_eq!(bytes, b"X\0\0\0\x04", "Terminate");
        }
    }
}
