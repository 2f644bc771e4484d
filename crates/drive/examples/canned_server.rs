//! A server that answers from memory, to find out how much load a client can drive:
//! `canned_server postgres|mysql|sqlserver ADDRESS...`; an address is the path of a unix socket or `IP:PORT`.
//!
//! Prints `listening` when clients can connect, and runs until it is killed. It accepts every login without a
//! password. A query returns one row that is always the same, and a change affects one row; there is no data. One
//! thread serves all connections, with one read and one write for each request. Never use it as a model of a
//! server's response time.

use prony_test_servers::canned::{CannedProtocol, Conversation, event_loop};
use std::sync::Arc;

fn main() {
    let usage = "usage: canned_server postgres|mysql|sqlserver PATH|IP:PORT ...";
    let mut arguments = std::env::args().skip(1);
    let protocol = match arguments.next().as_deref() {
        Some("postgres") => CannedProtocol::PostgreSql,
        Some("mysql") => CannedProtocol::MySql,
        Some("sqlserver") => CannedProtocol::Tds,
        _ => exit(usage),
    };
    let addresses: Vec<String> = arguments.collect();
    if addresses.is_empty() {
        exit(usage);
    }
    let server = event_loop(protocol, Arc::new(Conversation::default()), |problem| {
        eprintln!("canned_server: {problem}");
    });
    let mut server = server.unwrap_or_else(|error| exit(&error.to_string()));
    for address in &addresses {
        if let Err(error) = server.listen(address) {
            exit(&format!("cannot listen on {address}: {error}"));
        }
    }
    println!("listening");
    if let Err(error) = server.run() {
        exit(&error.to_string());
    }
}

fn exit(message: &str) -> ! {
    eprintln!("{message}");
    std::process::exit(1);
}
