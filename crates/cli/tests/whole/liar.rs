//! A ledger finds the losses of something between client and server that lies: it acknowledges what it drops, repeats it,
//! or executes it in another order.

use crate::common::*;
use crate::controls::rounds;
use prony_store::LedgerAccount;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// What a liar does to the commits that pass it.
#[derive(Clone, Copy)]
enum Lie {
    /// Rolls back every seventh, and says that it was committed.
    DropSome,
    /// The same of all after the hundredth.
    DropLast,
    /// Executes each fifth entry twice.
    Double,
    /// Executes the second of two transactions of a client before the first, whose commit it acknowledges at once.
    Reorder,
}

/// What a liar does to the request with this number, from 1, which ends a transaction with an entry.
fn change(lie: Lie, number: u64, body: &mut Vec<u8>) {
    let end = find_last(body, b"END").expect("it ends a transaction");
    match lie {
        Lie::DropSome if number.is_multiple_of(7) => {
            body.splice(end..end + 3, *b"ROLLBACK");
        }
        Lie::DropLast if number > 100 => {
            body.splice(end..end + 3, *b"ROLLBACK");
        }
        Lie::Double if number.is_multiple_of(5) => {
            let entry = body[..end].to_vec();
            body.splice(0..0, entry);
        }
        Lie::Reorder => {
            let values = b" VALUES (";
            let start = find_last(&body[..end], values).expect("an entry") + values.len();
            let length = body[start..].iter().position(|byte| *byte == b')');
            let end = start + length.expect("its end");
            let entry = String::from_utf8_lossy(&body[start..end]).into_owned();
            let (client, sequence) = entry.split_once(", ").expect("two values");
            let sequence: u64 = sequence.parse().expect("a number");
            // The entries of 1 and 2, 3 and 4 ... change places.
            let other = if sequence % 2 == 1 { sequence + 1 } else { sequence - 1 };
            body.splice(start..end, format!("{client}, {other}").into_bytes());
        }
        _ => {}
    }
}

fn find_last(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).rposition(|window| window == part)
}

/// Starts a liar in front of a server; returns its port.
fn start_liar(server_port: u16, lie: Lie) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let commits = Arc::new(AtomicU64::new(0));
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(("127.0.0.1", server_port)) else {
                return;
            };
            for socket in [&client, &server] {
                socket.set_nodelay(true).expect("an option");
            }
            let commits = Arc::clone(&commits);
            let sockets = [&client, &server].map(|socket| socket.try_clone().expect("a socket"));
            thread::spawn(move || to_server(client, server, lie, &commits));
            let [client, server] = sockets;
            thread::spawn(move || to_client(server, client));
        }
    });
    port
}

/// Reads a message: its type, and its body.
fn read_message(from: &mut TcpStream) -> io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 5];
    from.read_exact(&mut head)?;
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
    let mut body = vec![0; length as usize - 4];
    from.read_exact(&mut body)?;
    Ok((head[0], body))
}

fn write_message(to: &mut TcpStream, kind: u8, body: &[u8]) -> io::Result<()> {
    let mut message = vec![kind];
    message.extend((body.len() as u32 + 4).to_be_bytes());
    message.extend(body);
    to.write_all(&message)
}

fn to_server(mut from: TcpStream, mut to: TcpStream, lie: Lie, commits: &AtomicU64) {
    let mut forward = || -> io::Result<()> {
        // The first message has no type.
        let mut length = [0; 4];
        from.read_exact(&mut length)?;
        let mut startup = vec![0; u32::from_be_bytes(length) as usize - 4];
        from.read_exact(&mut startup)?;
        to.write_all(&[&length[..], &startup].concat())?;
        loop {
            let (kind, mut body) = read_message(&mut from)?;
            let has_entry = find_last(&body, b"prony_ledger_").is_some();
            if kind == b'Q' && has_entry && find_last(&body, b"END").is_some() {
                let number = commits.fetch_add(1, Ordering::Relaxed) + 1;
                change(lie, number, &mut body);
            }
            write_message(&mut to, kind, &body)?;
        }
    };
    let _ = forward();
    let _ = to.shutdown(std::net::Shutdown::Both);
}

fn to_client(mut from: TcpStream, mut to: TcpStream) {
    let mut entries = 0;
    let mut forward = || -> io::Result<()> {
        loop {
            let (kind, mut body) = read_message(&mut from)?;
            match (kind, &body[..]) {
                (b'C', b"ROLLBACK\0") => body = b"COMMIT\0".to_vec(),
                (b'C', b"INSERT 0 1\0") => entries += 1,
                (b'Z', _) => entries = 0,
                _ => {}
            }
            // The client has sent one.
            if !(kind == b'C' && entries > 1 && body == b"INSERT 0 1\0") {
                write_message(&mut to, kind, &body)?;
            }
        }
    };
    let _ = forward();
    let _ = to.shutdown(std::net::Shutdown::Both);
}

fn account(bench: &TestBench, lie: Lie) -> LedgerAccount {
    let port = start_liar(shared_postgres().port(), lie);
    let password = &bench.password;
    let url = format!("postgres://postgres:{password}@127.0.0.1:{port}/liar_proxy");
    let mut command =
        bench.command("run tpcb --clients 3 --transactions 100 --ledger --protocol simple --json");
    command.args(["--url", &format!("{url}?sslmode=disable")]);
    let run = parse_run(&command.output().expect("it starts"));
    let account = run.ledger.expect("kept");
    assert_eq!(
        (&account.not_read, account.acknowledged),
        (&None, 300),
        "{account:?}"
    );
    account
}

#[test]
fn a_ledger_finds_what_a_proxy_drops_doubles_or_reorders() {
    let bench = TestBench::loaded("liar_proxy", 4);
    (0..rounds()).for_each(|_| find_all_lies(&bench));
}

fn find_all_lies(bench: &TestBench) {
    let some = account(bench, Lie::DropSome);
    assert_eq!((some.lost, some.duplicated), (300 / 7, 0), "{some:?}");
    assert!(some.clients_scattered > 0, "{some:?}");
    let last = account(bench, Lie::DropLast);
    assert_eq!((last.lost, last.clients_scattered), (200, 0), "{last:?}");
    let doubled = account(bench, Lie::Double);
    assert_eq!(
        (doubled.lost, doubled.duplicated),
        (0, 300 / 5),
        "{doubled:?}"
    );
    assert_eq!(doubled.reordered, Some(0), "{doubled:?}");
    let reordered = account(bench, Lie::Reorder);
    assert_eq!(
        (reordered.lost, reordered.duplicated, reordered.phantom),
        (0, 0, 0),
        "{reordered:?}"
    );
    assert_eq!(reordered.reordered, Some(300 / 2), "{reordered:?}");
}
