//! A server that a test plays, and a user on it.

use crate::oltp::{Oltp, OltpProgram, engine::Engine, options::Asked};
use crate::played::{self, Memory, message};
use prony_session::{Desk, Outcome, Sample};
use prony_wire::{Exchange, QueryMode};

/// Answers every statement: rows of sevens to a `SELECT`, one changed row to all else.
#[derive(Default)]
pub struct Server {
    /// What it was told of.
    pub memory: Memory,
    /// What was asked, with the values bound to it, where it is to be kept.
    pub heard: Option<Vec<String>>,
    /// Statements that are to fail with this code, by a part of their text; each fails once.
    pub fails: Vec<(&'static str, &'static str)>,
    /// Statements that change nothing, by a part of their text.
    pub misses: &'static str,
}

impl Server {
    /// The reply to a request.
    fn answer(&mut self, request: &[u8]) -> Vec<u8> {
        let mut memory = std::mem::take(&mut self.memory);
        let reply = memory.answer(request, |memory, sql, values| {
            let values = match values {
                [] => Vec::new(),
                values => bound(values),
            };
            self.result(memory, sql, &values)
        });
        self.memory = memory;
        reply
    }

    fn result(&mut self, memory: &mut Memory, sql: &[u8], values: &[String]) -> Vec<u8> {
        let text = std::str::from_utf8(sql).expect("text");
        if let Some(heard) = &mut self.heard {
            let values: String = values.iter().map(|value| format!(" | {value}")).collect();
            heard.push(format!("{text}{values}"));
        }
        if let Some(at) = self.fails.iter().position(|(part, _)| text.contains(part)) {
            let (_, code) = self.fails.remove(at);
            return message(b'E', format!("SERROR\0C{code}\0Mfailed\0\0").as_bytes());
        }
        match text.split(' ').next() {
            Some("BEGIN") => memory.in_block = true,
            Some("COMMIT" | "ROLLBACK") => memory.in_block = false,
            Some("SELECT") => {
                let row = [0, 1, 0, 0, 0, 1, b'7'];
                return [message(b'D', &row), message(b'C', b"SELECT 1\0")].concat();
            }
            _ if !self.misses.is_empty() && text.contains(self.misses) => {
                return message(b'C', b"UPDATE 0\0");
            }
            _ => return message(b'C', b"UPDATE 1\0"),
        }
        message(b'C', b"DONE\0")
    }
}

/// The values of a Bind message after the names.
fn bound(body: &[u8]) -> Vec<String> {
    let two = |at: usize| usize::from(u16::from_be_bytes([body[at], body[at + 1]]));
    let mut at = 2 + 2 * two(0);
    let count = two(at);
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

/// One user's run of so many transactions; `poll` is called around each turn of the user.
pub fn play(
    program: &OltpProgram,
    server: &mut Server,
    mode: QueryMode,
    transactions: u64,
    poll: impl FnMut(&mut dyn FnMut() -> bool, &Desk) -> bool,
) {
    let answer = |request: &[u8]| server.answer(request);
    played::play(
        program,
        Exchange::postgres(mode, false),
        transactions,
        answer,
        poll,
    );
}

/// A program on `tables` tables of 1,000 rows.
pub fn program(workload: &Oltp, asked: Asked, tables: u32) -> OltpProgram {
    let last = match workload.name {
        "bulk_insert" => vec![0; tables as usize],
        _ => Vec::new(),
    };
    OltpProgram::new(*workload, asked, Engine::Postgres, (tables, 1_000), last)
}

/// What a user of so many transactions leaves: its samples.
pub fn samples(
    program: &OltpProgram,
    server: &mut Server,
    mode: QueryMode,
    transactions: u64,
) -> Vec<Sample> {
    let mut samples: Vec<Sample> = Vec::new();
    play(program, server, mode, transactions, |poll, desk| {
        let ended = poll();
        desk.drain_samples(|sample| samples.push(sample));
        ended
    });
    samples
}

/// The statements of so many transactions, all of which are to succeed.
pub fn heard(workload: &Oltp, asked: Asked, mode: QueryMode, transactions: u64) -> Vec<String> {
    let program = program(workload, asked, 3);
    let mut server = Server {
        heard: Some(Vec::new()),
        ..Server::default()
    };
    let samples = samples(&program, &mut server, mode, transactions);
    assert_eq!(samples.len() as u64, transactions);
    let committed = |sample: &Sample| matches!(sample.outcome, Outcome::Committed);
    assert!(samples.iter().all(committed));
    server.heard.expect("kept")
}
