//! Runs the server on a TCP port, for clients with sockets.

use crate::config::Config;
use crate::connection::Connection;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// A server on a port of this machine, which runs until the process ends.
pub struct Listener {
    address: SocketAddr,
}

impl Listener {
    /// Starts listening on a free port, with one thread per connection.
    ///
    /// # Panics
    /// If no port is free.
    pub fn start(config: Config) -> Listener {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let config = Arc::new(config);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let config = config.clone();
                thread::spawn(move || serve(stream, config));
            }
        });
        Listener { address }
    }

    /// The address on which the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

fn serve(mut stream: TcpStream, config: Arc<Config>) {
    let mut connection = Connection::new(config);
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        let answer = connection.receive(&buffer[..count]);
        if stream.write_all(&answer).is_err() || connection.is_closed() {
            break;
        }
    }
}
