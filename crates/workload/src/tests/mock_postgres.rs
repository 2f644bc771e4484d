//! A mock PostgreSQL server for tests, and a user of any program that runs on it. This module must not
//! know any workload.

use prony_session::{Conn, Db, Program, StartRules, UserId, UserPhase, WorkerContext};
use prony_wire::{Exchange, FeedStatus};
use std::collections::HashMap;
use std::rc::Rc;
use std::task::{Context, Waker};

pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("short").to_be_bytes();
    [&[kind][..], &length, body].concat()
}

#[derive(Default)]
pub struct MockSession {
    statements: HashMap<Vec<u8>, Vec<u8>>,
    pub in_block: bool,
}

impl MockSession {
    /// Returns the reply to a request. `execute` returns the result of one execution; its arguments are the
    /// session, the SQL text, and the part of the Bind message after the names.
    pub fn answer(
        &mut self,
        request: &[u8],
        mut execute: impl FnMut(&mut MockSession, &[u8], &[u8]) -> Vec<u8>,
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
                b'E' => out.extend(execute(self, &sql, bound)),
                b'Q' => {
                    out.extend(execute(self, &body[..body.len() - 1], &[]));
                    out.extend(self.ready_for_query());
                }
                b'S' => out.extend(self.ready_for_query()),
                other => panic!("message {other}"),
            }
            at += 1 + length as usize;
        }
        out
    }

    fn ready_for_query(&self) -> Vec<u8> {
        message(b'Z', if self.in_block { b"T" } else { b"I" })
    }
}

/// Returns the values of a Bind message; `body` is its part after the names.
pub fn bound_values(body: &[u8]) -> Vec<String> {
    let u16_at = |at: usize| usize::from(u16::from_be_bytes([body[at], body[at + 1]]));
    let mut at = 2 + 2 * u16_at(0);
    let count = u16_at(at);
    at += 2;
    let mut values = Vec::new();
    for _ in 0..count {
        let length = u32::from_be_bytes(body[at..at + 4].try_into().expect("four")) as usize;
        let value = &body[at + 4..at + 4 + length];
        values.push(String::from_utf8(value.to_vec()).expect("text"));
        at += 4 + length;
    }
    values
}

/// Runs one user for this many transactions; `poll` is called for each poll of the user, and
/// returns whether the user has ended.
pub fn run_user<R: AsRef<[u8]>>(
    program: &dyn Program,
    exchange: Exchange,
    transactions: u64,
    mut answer: impl FnMut(&[u8]) -> R,
    mut poll: impl FnMut(&mut dyn FnMut() -> bool, &WorkerContext) -> bool,
) {
    let conn = Rc::new(Conn::new(exchange));
    let worker = Rc::new(WorkerContext::new(StartRules {
        max_transactions: transactions,
        ..StartRules::default()
    }));
    conn.mark_opened();
    let id = UserId {
        client: 0,
        clients: 1,
        worker: 0,
        workers: 1,
        seed: 7,
    };
    let mut user = program.create_user(id, Db::new(Rc::clone(&conn), Rc::clone(&worker)));
    let mut context = Context::from_waker(Waker::noop());
    let mut clock_ns = 0;
    while !poll(&mut || user.as_mut().poll(&mut context).is_ready(), &worker) {
        if conn.phase() == UserPhase::CommonStart {
            // The only user does not wait for others.
            conn.mark_ready(clock_ns);
            continue;
        }
        assert_eq!(conn.phase(), UserPhase::Send);
        conn.mark_busy();
        loop {
            let reply = answer(&conn.outgoing());
            let progress = conn.feed(reply.as_ref()).expect("a valid reply");
            // An incomplete exchange has more to send: MySQL commands are sent one at a time.
            if progress == FeedStatus::Complete {
                break;
            }
        }
        clock_ns += 1000;
        conn.mark_ready(clock_ns);
    }
}
