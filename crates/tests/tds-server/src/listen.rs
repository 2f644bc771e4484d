//! Runs the server on a TCP port, for clients with sockets.

use crate::config::Config;
use crate::connection::Connection;
use std::any::Any;
use std::io::{Read, Write, stderr};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

/// A server on a port of this machine, which runs until the process ends.
pub struct Listener {
    address: SocketAddr,
}

impl Listener {
    /// Starts listening on a free port, with one thread per connection. A client that violates the protocol, or sends a
    /// statement that is no T-SQL, ends the test program: it might take a lost connection for a missing privilege.
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

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

fn serve(mut stream: TcpStream, config: Arc<Config>) {
    let takes_any_text = config.takes_any_text;
    let mut connection = Connection::new(config);
    if !takes_any_text {
        connection = connection.parsing_sql();
    }
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        let received = AssertUnwindSafe(|| connection.receive(&buffer[..count]));
        let answer = catch_unwind(received).unwrap_or_else(|panic| end_program(&*panic));
        if stream.write_all(&answer).is_err() || connection.is_closed() {
            break;
        }
    }
}

/// Tests capture what their threads print, except what is written to the stream itself.
fn end_program(panic: &dyn Any) -> ! {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or(panic.downcast_ref::<&str>().copied());
    let _ = writeln!(stderr(), "tds-server: {}", text.unwrap_or("a panic"));
    std::process::abort()
}
