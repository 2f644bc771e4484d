//! Users of arbitrary scripts on a server with arbitrary replies: none may panic or hang.

use crate::script::options::ScriptSet;
use crate::script::program::ScriptProgram;
use crate::script::{MessageListener, OnError, ScriptPolicy};
use crate::script::{Script, VariableNames};
use crate::tests::mock_postgres::message;
use prony_assertions::cases;
use prony_session::{Conn, Db, Program, StartRules, UserExit, UserId, UserPhase, WorkerContext};
use prony_wire::{Exchange, FeedStatus, QueryMode};
use proptest::prelude::*;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// More requests than a user with five transactions can need.
const REQUESTS_MAX: usize = 2000;

// Choices of a reply, for `reply`.
const ONE_ROW: u8 = 0;
const SERIALIZATION_FAILURE: u8 = 3;
const ONE_ROW_IN_OPEN_BLOCK: u8 = ONE_ROW + 6;
const SERIALIZATION_FAILURE_IN_FAILED_BLOCK: u8 = SERIALIZATION_FAILURE + 12;

/// Lines of which scripts are composed.
const SCRIPT_LINES: &[&str] = &[
    "SELECT :a + 1;",
    "SELECT ':b', :c",
    "BEGIN;",
    "END;",
    "INSERT INTO t VALUES (:a, :d) \\; SELECT 2 AS a \\gset",
    "SELECT 1 AS a, 'x' AS b \\gset",
    "SELECT 1 AS a \\gset 5",
    "SELECT 1 AS a \\; SELECT 2 AS c \\aset p_",
    "\\set a 1",
    "\\set a :a + 1",
    "\\set b 1.5 / :a",
    "\\set c random(1, :a)",
    "\\set d :p_a",
    "\\set a 1 / 0",
    "\\set c debug(true)",
    "\\if :a > 1",
    "\\if :c",
    "\\elif :b",
    "\\else",
    "\\endif",
    "\\sleep 1 ms",
    "\\sleep :a s",
    "\\sleep 9223372036854775807 s",
    "\\startpipeline",
    "\\syncpipeline",
    "\\endpipeline",
    "\\shell echo",
    "\\setshell a echo 1",
];

/// The reply that `choice` selects: `choice` modulo 6 selects the messages, which answer each statement of a pipeline,
/// and `choice` divided by 6 the transaction status. After a rollback the status is idle.
fn reply(choice: u8, request: &[u8]) -> Vec<u8> {
    let columns = b"\0\x02a\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0\
        b\0\0\0\0\0\0\0\0\0\0\x19\0\x04\xff\xff\xff\xff\0\0";
    let row = message(b'D', b"\0\x02\0\0\0\x017\xff\xff\xff\xff");
    let row_description = message(b'T', columns);
    let done = message(b'C', b"SELECT 1\0");
    let body = match choice % 6 {
        0 => [row_description, row, done].concat(),
        1 => [
            row_description.clone(),
            row.clone(),
            done.clone(),
            row_description,
            row,
            done,
        ]
        .concat(),
        2 => [row_description, done].concat(),
        3 => message(b'E', b"SERROR\0C40001\0Mfailed\0\0"),
        4 => [
            message(b'T', b"\0\x05ab"),
            row,
            message(b'D', b"\0\0"),
            done,
        ]
        .concat(),
        _ => message(b'I', b""),
    };
    let is_error = choice % 6 == SERIALIZATION_FAILURE;
    let statements = if is_error { 1 } else { executions(request).max(1) };
    let body = body.repeat(statements);
    let is_rollback = request.ends_with(b"ROLLBACK\0");
    let block: &[u8] = match choice / 6 {
        _ if is_rollback => b"I",
        1 => b"T",
        2 => b"E",
        _ => b"I",
    };
    [body, message(b'Z', block)].concat()
}

/// The number of a request's messages that execute a statement of the extended protocol.
fn executions(mut request: &[u8]) -> usize {
    let mut count = 0;
    while let Some((&kind, rest)) = request.split_first() {
        let length = u32::from_be_bytes(*rest.first_chunk().expect("a message has a length"));
        request = &rest[length as usize..];
        count += usize::from(kind == b'E');
    }
    count
}

/// Drives a user of five transactions to its end. `replies` are the choices of its replies, repeated in a
/// cycle.
fn drive(scripts: &ScriptProgram, mode: QueryMode, replies: &[u8]) -> UserExit {
    let conn = Rc::new(Conn::new(Exchange::postgres(mode, false)));
    let context = Rc::new(WorkerContext::new(StartRules {
        max_transactions: 5,
        ..StartRules::default()
    }));
    conn.mark_opened();
    let id = UserId {
        client: 1,
        clients: 3,
        worker: 0,
        workers: 1,
        seed: 7,
    };
    let mut user = scripts.create_user(id, Db::new(Rc::clone(&conn), context));
    let mut context = Context::from_waker(Waker::noop());
    let mut choices = replies.iter().cycle();
    for clock_ns in 1..REQUESTS_MAX as u64 {
        if let Poll::Ready(exit) = user.as_mut().poll(&mut context) {
            return exit;
        }
        let phase = conn.phase();
        let request = conn.outgoing().to_vec();
        conn.mark_busy();
        match phase {
            UserPhase::Send => {
                let choice = *choices.next().expect("cycles");
                let status = conn.feed(&reply(choice, &request));
                assert_eq!(status.expect("the protocol holds"), FeedStatus::Complete);
            }
            UserPhase::Sleep => {}
            // A session that cannot be rolled back is replaced by a new one.
            UserPhase::OpenConnection => conn.mark_opened(),
            other => panic!("{other:?} on a connection that is up"),
        }
        conn.mark_ready(clock_ns);
    }
    panic!("the user did not end");
}

pub(super) fn program(texts: &[String]) -> Option<ScriptProgram> {
    program_with(texts, ScriptPolicy::default())
}

fn program_with(texts: &[String], policy: ScriptPolicy) -> Option<ScriptProgram> {
    let mut names = VariableNames::new();
    let parsed = texts
        .iter()
        .map(|text| Script::parse(&mut names, "a.sql", text, 18));
    let scripts = parsed.collect::<Result<Vec<_>, _>>().ok()?;
    let set = ScriptSet {
        scripts,
        names,
        defines: vec![("a".to_owned(), "3".to_owned())],
        has_builtin: false,
    };
    Some(ScriptProgram::new(set, 1, policy))
}

#[derive(Default)]
struct MessageLog(Mutex<Vec<String>>);

impl MessageListener for MessageLog {
    fn error(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }

    fn info(&self, text: &str) {
        self.0.lock().unwrap().push(format!("info: {text}"));
    }

    fn print(&self, _: &str) {}
}

/// pgbench's policy with all messages, but without shell commands.
fn pgbench_policy() -> ScriptPolicy {
    ScriptPolicy {
        on_error: OnError::AbortUnlessTransient,
        max_tries: 3,
        emulate_libpq: true,
        records_command_stats: true,
        verbose_errors: true,
        debug: true,
        listener: Some(Arc::new(MessageLog::default())),
        ..ScriptPolicy::default()
    }
}

#[test]
fn retries_use_the_same_random_numbers() {
    let log = Arc::new(MessageLog::default());
    let policy = ScriptPolicy {
        debug: true,
        listener: Some(log.clone()),
        ..pgbench_policy()
    };
    let text = "\\set r random(1, 1000000)\nSELECT :r;".to_owned();
    let scripts = program_with(&[text], policy).expect("parses");
    // Each transaction fails twice with a serialization failure, then succeeds.
    let exit = drive(
        &scripts,
        QueryMode::Simple,
        &[SERIALIZATION_FAILURE, SERIALIZATION_FAILURE, ONE_ROW],
    );
    assert_eq!(exit, UserExit::Finished);
    let log = log.0.lock().unwrap();
    let is_statement = |line: &&String| line.contains(" sending SELECT ");
    let sent: Vec<&String> = log.iter().filter(is_statement).collect();
    assert_eq!(sent.len(), 15);
    for tries in sent.chunks(3) {
        assert!(tries.iter().all(|line| *line == tries[0]), "{sent:?}");
    }
    assert_ne!(sent[0], sent[3]);
    let repeats = "info: client 1 repeats the transaction after the error (try 2/3)";
    assert_eq!(log.iter().filter(|line| *line == repeats).count(), 5);
    let stats = scripts.command_stats()[0][1];
    assert_eq!((stats.count, stats.retries, stats.failures), (5, 10, 0));
}

#[test]
fn on_error_abort_ends_the_client() {
    let log = Arc::new(MessageLog::default());
    let policy = ScriptPolicy {
        on_error: OnError::Abort,
        debug: false,
        verbose_errors: false,
        listener: Some(log.clone()),
        ..pgbench_policy()
    };
    let text = "SELECT 1;\nSELECT 2;".to_owned();
    let scripts = program_with(&[text], policy).expect("parses");
    let exit = drive(
        &scripts,
        QueryMode::Simple,
        &[ONE_ROW, SERIALIZATION_FAILURE],
    );
    assert!(matches!(exit, UserExit::Failed(_)), "{exit:?}");
    assert_eq!(
        *log.0.lock().unwrap(),
        ["client 1 script 0 aborted in command 1 query 0: ERROR:  failed\n"]
    );
}

/// The text of a script, which is usually valid because most conditions and pipelines in it are closed.
fn script_text() -> impl Strategy<Value = String> {
    let line = proptest::sample::select(SCRIPT_LINES).prop_map(str::to_owned);
    let line_or_block = prop_oneof![
        6 => line.clone(),
        1 => line.clone().prop_map(|line| format!("\\if :a % 2 = 1\n{line}\n\\else\nSELECT 3;\n\\endif")),
        1 => line.prop_map(|line| format!("\\startpipeline\n{line}\nSELECT :a;\n\\endpipeline")),
    ];
    proptest::collection::vec(line_or_block, 1..8).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_script_or_reply_makes_a_user_panic(
        texts in proptest::collection::vec(script_text(), 1..3),
        replies in proptest::collection::vec(0_u8..18, 1..40),
    ) {
        for policy in [ScriptPolicy::default(), pgbench_policy()] {
            if let Some(scripts) = program_with(&texts, policy) {
                for mode in [QueryMode::Simple, QueryMode::Extended, QueryMode::Prepared] {
                    drive(&scripts, mode, &replies);
                }
            }
        }
    }
}

#[test]
fn abort_reasons_contain_file_line_and_command() {
    let in_simple_mode = r#"
        SELECT 1;\n\set x 1 / 0\n
            => a.sql:2: division by zero; command 2 (\set x 1 / 0): evaluation of meta-command failed
        \n\startpipeline\nSELECT 1; => a.sql:2: cannot use pipeline mode with the simple query protocol
        \sleep :x
            => a.sql:1: sleep: undefined variable "x"; command 1 (\sleep :x): execution of meta-command failed
    "#;
    let in_extended_mode = r"
        \endpipeline => a.sql:1: command 1 (\endpipeline): not in pipeline mode
        \startpipeline\nSELECT 1 \gset\n\endpipeline
            => a.sql:2: command 2 (SELECT 1): \gset is not allowed in pipeline mode
        \startpipeline\nSELECT 1; => a.sql: end of script reached with pipeline open
    ";
    let when_prepared = r#"
        \if :nothing\nSELECT 1;\n\endif
            => a.sql:1: undefined variable "nothing"; command 1 (\if :nothing): evaluation of meta-command failed
    "#;
    for (mode, texts) in [
        (QueryMode::Simple, in_simple_mode),
        (QueryMode::Extended, in_extended_mode),
        (QueryMode::Prepared, when_prepared),
    ] {
        for [text, reason] in cases(texts) {
            let scripts = program(&[text.to_owned()]).expect("parses");
            let exit = drive(&scripts, mode, &[ONE_ROW]);
            assert_eq!(exit, UserExit::Failed(reason.to_owned()));
        }
    }
}

#[test]
fn an_open_transaction_ends_the_user_but_a_failed_statement_does_not() {
    let scripts = program(&["BEGIN;".to_owned()]).expect("parses");
    let exit = drive(&scripts, QueryMode::Simple, &[ONE_ROW_IN_OPEN_BLOCK]);
    let reason = "a.sql: end of script reached without completing the last transaction";
    assert_eq!(exit, UserExit::Failed(reason.to_owned()));
    for (mode, failure) in [
        (QueryMode::Simple, SERIALIZATION_FAILURE),
        (QueryMode::Prepared, SERIALIZATION_FAILURE_IN_FAILED_BLOCK),
    ] {
        assert_eq!(drive(&scripts, mode, &[failure]), UserExit::Finished);
    }
}
