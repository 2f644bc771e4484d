//! A mock server, and a user that runs on it.

use crate::oltp::table_check::RunTables;
use crate::oltp::{Oltp, OltpProgram, options::OltpOptions};
use crate::tests::mock_postgres::{self, MockSession, bound_values, message};
use prony_document::SqlDialect;
use prony_session::{Outcome, Sample, WorkerContext};
use prony_wire::{Exchange, QueryMode};

/// Replies to every statement: to a `SELECT` with one row (7), to any other with one changed row.
#[derive(Default)]
pub struct MockServer {
    pub session: MockSession,
    /// The received statements with their bound values; `None` if they are not recorded.
    pub received: Option<Vec<String>>,
    /// Statements that fail once: part of the text, and SQLSTATE.
    pub failures: Vec<(&'static str, &'static str)>,
    /// Part of the text of statements that change no row.
    pub no_row_pattern: &'static str,
}

impl MockServer {
    fn answer(&mut self, request: &[u8]) -> Vec<u8> {
        let mut session = std::mem::take(&mut self.session);
        let reply = session.answer(request, |session, sql, values| {
            let values = match values {
                [] => Vec::new(),
                values => bound_values(values),
            };
            self.execute(session, sql, &values)
        });
        self.session = session;
        reply
    }

    /// Executes one statement; returns the messages of its result.
    fn execute(&mut self, session: &mut MockSession, sql: &[u8], values: &[String]) -> Vec<u8> {
        let text = std::str::from_utf8(sql).expect("text");
        if let Some(received) = &mut self.received {
            let values: String = values.iter().map(|value| format!(" | {value}")).collect();
            received.push(format!("{text}{values}"));
        }
        if let Some(index) = self
            .failures
            .iter()
            .position(|(part, _)| text.contains(part))
        {
            let (_, code) = self.failures.remove(index);
            return message(b'E', format!("SERROR\0C{code}\0Mfailed\0\0").as_bytes());
        }
        match text.split(' ').next() {
            Some("BEGIN") => session.in_block = true,
            Some("COMMIT" | "ROLLBACK") => session.in_block = false,
            Some("SELECT") => {
                let row = [0, 1, 0, 0, 0, 1, b'7'];
                return [message(b'D', &row), message(b'C', b"SELECT 1\0")].concat();
            }
            _ if !self.no_row_pattern.is_empty() && text.contains(self.no_row_pattern) => {
                return message(b'C', b"UPDATE 0\0");
            }
            _ => return message(b'C', b"UPDATE 1\0"),
        }
        message(b'C', b"DONE\0")
    }
}

/// Runs one user for this many transactions; `poll` is called for each poll of the user.
pub fn run_user(
    program: &OltpProgram,
    server: &mut MockServer,
    mode: QueryMode,
    transactions: u64,
    poll: impl FnMut(&mut dyn FnMut() -> bool, &WorkerContext) -> bool,
) {
    let answer = |request: &[u8]| server.answer(request);
    mock_postgres::run_user(
        program,
        Exchange::postgres(mode, false),
        transactions,
        answer,
        poll,
    );
}

/// A program on `tables` tables of 1,000 rows.
pub fn program(workload: &Oltp, options: OltpOptions, tables: u32) -> OltpProgram {
    let highest_ids = match workload.name {
        "bulk_insert" => vec![0; tables as usize],
        _ => Vec::new(),
    };
    OltpProgram::new(
        *workload,
        options,
        SqlDialect::PostgreSql,
        RunTables {
            table_count: tables,
            table_size: 1_000,
        },
        highest_ids,
    )
}

/// The samples of a user that runs this many transactions.
pub fn samples(
    program: &OltpProgram,
    server: &mut MockServer,
    mode: QueryMode,
    transactions: u64,
) -> Vec<Sample> {
    let mut samples: Vec<Sample> = Vec::new();
    run_user(program, server, mode, transactions, |poll, context| {
        let has_ended = poll();
        context.drain_samples(|sample| samples.push(*sample));
        has_ended
    });
    samples
}

/// The statements of this many transactions, all of which must commit.
pub fn statements_sent(
    workload: &Oltp,
    options: OltpOptions,
    mode: QueryMode,
    transactions: u64,
) -> Vec<String> {
    let program = program(workload, options, 3);
    let mut server = MockServer {
        received: Some(Vec::new()),
        ..MockServer::default()
    };
    let samples = samples(&program, &mut server, mode, transactions);
    assert_eq!(samples.len() as u64, transactions);
    let committed = |sample: &Sample| matches!(sample.outcome, Outcome::Committed);
    assert!(samples.iter().all(committed));
    server.received.expect("recorded")
}
