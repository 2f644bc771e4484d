//! Once it is warm, a user allocates nothing for a transaction that succeeds, in any mode.

use crate::counting::ALLOCATED;
use crate::tpcc::OrderEntryProgram;
use crate::tpcc::input::Kind;
use crate::tpcc::options::Asked;
use crate::tpcc::profile::PROFILES;
use crate::tpcc::way::Mode;
use prony_session::{Ask, Conn, Db, Desk, Outcome, Program, Rules, UserId};
use prony_wire::{Exchange, QueryMode};
use std::collections::HashMap;
use std::rc::Rc;
use std::task::{Context, Waker};

const WARM: u64 = 2_000;
const COUNTED: u64 = 2_000;

/// A server that gives one row of sevens to everything but `BEGIN` and its like.
#[derive(Default)]
struct Sevens {
    statements: HashMap<Vec<u8>, Vec<u8>>,
    in_block: bool,
}

impl Sevens {
    fn answer(&mut self, request: &[u8]) -> Vec<u8> {
        let (mut at, mut out) = (0, Vec::new());
        let mut sql = Vec::new();
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
                    sql = self.statements[name].clone();
                    out.extend(message(b'2', b""));
                }
                b'E' => out.extend(self.result(&sql)),
                b'S' => out.extend(message(b'Z', if self.in_block { b"T" } else { b"I" })),
                other => panic!("message {other}"),
            }
            at += 1 + length as usize;
        }
        out
    }

    fn result(&mut self, sql: &[u8]) -> Vec<u8> {
        let begins = |word: &[u8]| sql.starts_with(word);
        if begins(b"BEGIN") || begins(b"COMMIT") || begins(b"ROLLBACK") {
            self.in_block = begins(b"BEGIN");
            return message(b'C', b"DONE\0");
        }
        let mut row = 3_u16.to_be_bytes().to_vec();
        for _ in 0..3 {
            row.extend_from_slice(&[0, 0, 0, 1, b'7']);
        }
        [message(b'D', &row), message(b'C', b"SELECT 1\0")].concat()
    }
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("short").to_be_bytes();
    [&[kind][..], &length, body].concat()
}

#[test]
fn no_transaction_allocates() {
    for (profile, mode) in PROFILES
        .iter()
        .flat_map(|p| Mode::ALL.map(|mode| (p, mode)))
    {
        let asked = Asked {
            profile,
            mode,
            ..Asked::default()
        };
        let program = OrderEntryProgram::new(asked, 3);
        let conn = Rc::new(Conn::new(Exchange::postgres(QueryMode::Prepared, false)));
        let desk = Rc::new(Desk::new(Rules {
            transactions: WARM + COUNTED,
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
        let mut server = Sevens::default();
        let (mut done, mut allocated, mut clock_ns) = ([0; 5], 0, 0);
        loop {
            let before = ALLOCATED.get();
            let ended = user.as_mut().poll(&mut context).is_ready();
            if done.iter().sum::<u64>() > WARM {
                allocated += ALLOCATED.get() - before;
            }
            desk.drain_samples(|sample| {
                assert!(matches!(sample.outcome, Outcome::Committed), "{sample:?}");
                done[usize::from(sample.kind)] += 1;
            });
            if ended {
                break;
            }
            assert_eq!(conn.ask(), Ask::Send);
            let reply = server.answer(&conn.outgoing());
            conn.take_up();
            conn.feed(&reply).expect("the protocol holds");
            clock_ns += 1000;
            conn.ready(clock_ns);
        }
        assert_eq!(done.iter().sum::<u64>(), WARM + COUNTED);
        assert!(done.iter().all(|count| *count > 100), "{done:?}");
        assert_eq!(
            allocated,
            0,
            "allocations in {COUNTED} transactions: {} {mode:?}, {:?}",
            profile.name,
            Kind::NAMES
        );
    }
}
