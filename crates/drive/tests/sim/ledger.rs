//! The account of commits on MySQL's protocol, at a simulated server that refuses statements at every place.

use crate::mysql::{MySql, mysql_target};
use crate::support::*;
use prony_drive::io::sim::{Action, Answer, Machine, SimServer};
use prony_drive::run_simulated;
use prony_plan::{DrivePlan, QueryMode};
use prony_session::{
    Db, DbError, EntryPlacement, Ledger, LedgerProgram, Outcome, Program, StatementTable, User,
};
use prony_wire::{Statement, StatementIds};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

const CLIENTS: u32 = 2;
/// One in this many statements is refused, and aborts its block. With this number, each place of a block has its turn.
const ABORT_INTERVAL: u64 = 7;

/// What the server does when it has aborted a block between two statements of one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AfterAbort {
    /// Refuses the next one.
    Refuses,
    /// Executes it outside a block, as a node of Galera may.
    GoesOn,
}

/// A server that executes texts of the statements that this test sends.
struct LedgerServer {
    after_abort: AfterAbort,
    statements: u64,
    /// The entries of each connection's open block.
    blocks: HashMap<u32, Vec<(u32, u64)>>,
    committed: Arc<Mutex<Vec<(u32, u64)>>>,
}

impl LedgerServer {
    /// Executes a statement; returns whether it was refused.
    fn execute(&mut self, slot: u32, is_first: bool, statement: &str) -> bool {
        self.statements += 1;
        if self.statements.is_multiple_of(ABORT_INTERVAL) {
            self.blocks.remove(&slot);
            if is_first || self.after_abort == AfterAbort::Refuses {
                return true;
            }
        }
        let mut committed = self.committed.lock().expect("no panic");
        let entry = statement.strip_prefix("INSERT INTO l VALUES (");
        if let Some(entry) = entry.and_then(|entry| entry.strip_suffix(')')) {
            let (client, sequence) = entry.split_once(", ").expect("two values");
            let entry = (client.parse().unwrap(), sequence.parse().unwrap());
            match self.blocks.get_mut(&slot) {
                Some(block) => block.push(entry),
                None => committed.push(entry),
            }
        } else {
            match statement {
                "BEGIN" => drop(self.blocks.insert(slot, Vec::new())),
                "COMMIT" => committed.extend(self.blocks.remove(&slot).unwrap_or_default()),
                "ROLLBACK" => drop(self.blocks.remove(&slot)),
                other => assert_eq!(other, "UPDATE t"),
            }
        }
        false
    }

    fn reply(&mut self, slot: u32, text: &str) -> Vec<u8> {
        let mut reply = Vec::new();
        let statements: Vec<&str> = text.split(';').map(str::trim).collect();
        for (index, statement) in statements.iter().enumerate() {
            let number = index as u8 + 1;
            if self.execute(slot, index == 0, statement) {
                reply.extend_from_slice(&[12, 0, 0, number, 0xff]);
                reply.extend_from_slice(&1213_u16.to_le_bytes());
                reply.extend_from_slice(b"#40001why");
                return reply;
            }
            // Autocommit is on; a block may be open, and more results may follow.
            let status = 2
                | u8::from(self.blocks.contains_key(&slot))
                | u8::from(index + 1 < statements.len()) << 3;
            reply.extend_from_slice(&[7, 0, 0, number, 0, 0, 0, status, 0, 0, 0]);
        }
        reply
    }
}

impl SimServer for LedgerServer {
    fn connect(&mut self, slot: u32, now_ns: u64) -> Result<u64, i32> {
        MySql.connect(slot, now_ns)
    }

    fn greet(&mut self, slot: u32, answers: &mut Vec<Answer>) {
        MySql.greet(slot, answers);
    }

    fn request(&mut self, slot: u32, bytes: &[u8], now_ns: u64, answers: &mut Vec<Answer>) {
        // Byte 3 is the packet's number, which is 1 while the client logs in; byte 4 is the command.
        const QUERY: u8 = 3;
        const PREPARE: u8 = 0x16;
        match (bytes.get(3), bytes.get(4)) {
            (Some(1), _) => MySql.request(slot, bytes, now_ns, answers),
            (_, Some(&QUERY)) => {
                let text = std::str::from_utf8(&bytes[5..]).expect("UTF-8");
                answers.push(Answer {
                    after_ns: 50_000,
                    action: Action::Send(self.reply(slot, text).into()),
                });
            }
            // It can prepare nothing, so all comes as text.
            (_, Some(&PREPARE)) => answers.push(send(50_000, b"\x0c\0\0\x01\xff\x0f\x05#HY000why")),
            _ => {}
        }
    }
}

async fn execute(
    db: &mut Db,
    turn: u32,
    [begin, update, commit]: &[Statement; 3],
) -> Result<Outcome, DbError> {
    match turn % 3 {
        0 => {
            for statement in [begin, update, commit] {
                db.exec(statement, &[]).await?;
            }
        }
        1 => {
            let results = db.exec(update, &[]).await?.result_count();
            // The ledger's statements are in no reply that a user sees.
            let of_last = [db.last_reply().result_count(), db.result_count()];
            assert_eq!((results, of_last), (1, [1, 1]));
        }
        _ => drop(db.write("UPDATE t").await?),
    }
    Ok(Outcome::Committed)
}

/// A block, a single statement and a text, in turns.
fn program() -> impl Program {
    let mut ids = StatementIds::new();
    let statements = Arc::new(["BEGIN", "UPDATE t", "COMMIT"].map(|sql| ids.add(sql)));
    ClosureProgram(move |_, mut db: Db| -> User {
        let statements = Arc::clone(&statements);
        user(async move {
            for turn in 0.. {
                db.start(0).await?;
                let result = execute(&mut db, turn, &statements).await;
                db.end(result).await?;
            }
            Ok(())
        })
    })
}

/// The acknowledged commits that are not at the server, and those that are there although they were refused.
fn differences(
    placement: EntryPlacement,
    mode: QueryMode,
    after_abort: AfterAbort,
) -> (usize, usize) {
    let insert = "INSERT INTO l VALUES ($1, $2)".to_owned();
    let ledger = Ledger::new(insert, placement, CLIENTS, &StatementTable::new());
    let (ledger, program) = (Arc::new(ledger), program());
    let program = LedgerProgram::new(&program, &ledger);
    let plan = DrivePlan {
        protocol: mode,
        ..plan(CLIENTS, 1.0)
    };
    let committed = Arc::default();
    let server = LedgerServer {
        after_abort,
        statements: 0,
        blocks: HashMap::new(),
        committed: Arc::clone(&committed),
    };
    let target = mysql_target();
    let job = job(&program, &plan, &target);
    let machine = Machine::default();
    let driven = run_simulated(&job, machine, server, &mut TestObserver::default());
    let measured = driven.expect("it starts").collected.measured;
    let tally = measured.all_kinds();
    assert!(tally.committed > 300 && tally.failed > 100, "{tally:?}");
    let committed = committed.lock().expect("no panic");
    let found: BTreeSet<(u32, u64)> = committed.iter().copied().collect();
    assert_eq!(found.len(), committed.len(), "none is there twice");
    let ambiguous = ledger.ambiguous();
    assert!(ambiguous.len() <= CLIENTS as usize, "{ambiguous:?}");
    let is_known = |entry: &(u32, u64)| {
        let mut ambiguous = ambiguous.iter();
        !ambiguous.any(|one| (one.client, one.sequence) == *entry)
    };
    let last = ledger.last_numbers();
    let acknowledged = (0..CLIENTS)
        .zip(&last)
        .flat_map(|(client, last)| (1..=*last).map(move |sequence| (client, sequence)));
    let acknowledged: BTreeSet<(u32, u64)> = acknowledged.filter(is_known).collect();
    let lost = acknowledged.difference(&found).count();
    let phantom = found.difference(&acknowledged).filter(|it| is_known(it));
    (lost, phantom.count())
}

const MODES: [QueryMode; 3] = [QueryMode::Simple, QueryMode::Extended, QueryMode::Prepared];

#[test]
fn a_commit_that_is_refused_at_any_place_of_its_block_is_not_acknowledged() {
    for placement in [EntryPlacement::InText, EntryPlacement::InTexts] {
        for mode in MODES {
            let differences = differences(placement, mode, AfterAbort::Refuses);
            assert_eq!(differences, (0, 0), "{placement:?} {mode:?}");
        }
    }
}

#[test]
fn a_node_that_forgets_an_abort_within_a_text_loses_nothing_of_texts_of_their_own() {
    for mode in MODES {
        let in_text = differences(EntryPlacement::InText, mode, AfterAbort::GoesOn);
        assert!(in_text.0 > 10, "the ledger sees it: {in_text:?}");
        let in_texts = differences(EntryPlacement::InTexts, mode, AfterAbort::GoesOn);
        assert_eq!(in_texts, (0, 0), "{mode:?}");
    }
}
