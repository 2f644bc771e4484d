//! For tests: a user of any program on a server that a test plays.
//!
//! In: a program, what the server says to each execution. Out: the user's turns. Must never: know a
//! workload.

use prony_session::{Ask, Conn, Db, Desk, Program, Rules, UserId};
use prony_wire::{Exchange, Fed};
use std::collections::HashMap;
use std::rc::Rc;
use std::task::{Context, Waker};

/// A message of the server's.
pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("short").to_be_bytes();
    [&[kind][..], &length, body].concat()
}

/// What a server keeps of a session.
#[derive(Default)]
pub struct Memory {
    /// Text of each prepared statement, by name.
    statements: HashMap<Vec<u8>, Vec<u8>>,
    /// Whether a block is open.
    pub in_block: bool,
}

impl Memory {
    /// The reply to a request. `result` gives that to one execution, of a text and what follows the
    /// names in its Bind message.
    pub fn answer(
        &mut self,
        request: &[u8],
        mut result: impl FnMut(&mut Memory, &[u8], &[u8]) -> Vec<u8>,
    ) -> Vec<u8> {
        let (mut at, mut out, mut sql, mut bound) = (0, Vec::new(), Vec::new(), &[][..]);
        while at < request.len() {
            let length = u32::from_be_bytes(request[at + 1..at + 5].try_into().expect("four"));
            let body = &request[at + 5..at + 1 + length as usize];
            let mut texts = body.split(|byte| *byte == 0);
            match request[at] {
                b'P' => {
                    let mut next = || texts.next().expect("a text").to_vec();
                    let (name, text) = (next(), next());
                    self.statements.insert(name, text);
                    out.extend(message(b'1', b""));
                }
                b'B' => {
                    let name = texts.nth(1).expect("a name");
                    sql.clone_from(&self.statements[name]);
                    bound = &body[name.len() + 2..];
                    out.extend(message(b'2', b""));
                }
                b'E' => out.extend(result(self, &sql, bound)),
                b'Q' => {
                    out.extend(result(self, &body[..body.len() - 1], &[]));
                    out.extend(self.ready());
                }
                b'S' => out.extend(self.ready()),
                other => panic!("message {other}"),
            }
            at += 1 + length as usize;
        }
        out
    }

    fn ready(&self) -> Vec<u8> {
        message(b'Z', if self.in_block { b"T" } else { b"I" })
    }
}

/// One user's run of so many transactions; `poll` is called around each turn of the user, and says
/// when that has ended.
pub fn play<R: AsRef<[u8]>>(
    program: &dyn Program,
    exchange: Exchange,
    transactions: u64,
    mut answer: impl FnMut(&[u8]) -> R,
    mut poll: impl FnMut(&mut dyn FnMut() -> bool, &Desk) -> bool,
) {
    let conn = Rc::new(Conn::new(exchange));
    let desk = Rc::new(Desk::new(Rules {
        transactions,
        ..Rules::default()
    }));
    conn.opened();
    let id = UserId {
        client: 0,
        clients: 1,
        worker: 0,
        workers: 1,
        seed: 7,
    };
    let mut user = program.user(id, Db::new(Rc::clone(&conn), Rc::clone(&desk)));
    let mut context = Context::from_waker(Waker::noop());
    let mut clock_ns = 0;
    while !poll(&mut || user.as_mut().poll(&mut context).is_ready(), &desk) {
        assert_eq!(conn.ask(), Ask::Send);
        conn.take_up();
        loop {
            let reply = answer(&conn.outgoing());
            let fed = conn.feed(reply.as_ref()).expect("the protocol holds");
            // Else the request goes on: MySQL's commands follow each other.
            if fed == Fed::Complete {
                break;
            }
        }
        clock_ns += 1000;
        conn.ready(clock_ns);
    }
}
