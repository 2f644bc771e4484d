//! The program of a replay: each client replays its sessions one after the other, each on a connection of its own.
//!
//! In a timetable, each statement is sent at its recorded time, divided by the speed, or when the one before it has its
//! reply, whichever is later. As fast as possible, nothing waits but for replies.

use super::file::SessionRecording;
use super::statements::{RecordedStatement, without_quoted};
use super::timetable::{Appearance, CONNECT_LEAD_NS, assign};
use super::transactions::{Execution, SessionReader};
use crate::capture::without_literals;
use crate::user_counts::{Counts, SharedCounts, UserCounts};
use prony_document::{ObservedShare, RecordedLatency, add_counts};
use prony_session::{Db, DbError, Outcome, Program, StatementTable, User, UserExit, UserId};
use prony_wire::{Statement, StatementIds, Value};
use std::sync::{Arc, OnceLock};

/// The most parameters whose values need no memory of their own.
const INLINE_VALUES: usize = 32;

/// What a replay does with a recording.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ReplayOptions {
    /// How much faster than recorded; `None`: as fast as possible.
    pub speed: Option<f64>,
    /// How often each session is replayed at the same time.
    pub copies: u32,
    pub allows_writes: bool,
}

pub(super) struct ReplayProgram {
    shared: Arc<Replay>,
    kinds: Vec<&'static str>,
    settings: Vec<(&'static str, String)>,
}

/// The state that all users share; read-only except for the counts.
struct Replay {
    recording: Arc<SessionRecording>,
    options: ReplayOptions,
    /// The statement of each entry of the recording.
    statements: Vec<Statement>,
    /// What makes the server refuse writes in a session, unless they are allowed.
    read_only_text: Option<&'static str>,
    /// The sessions of each client.
    assignment: OnceLock<Vec<Vec<Appearance>>>,
    counts: SharedCounts<ReplayCounts>,
}

/// What the users that have ended did.
#[derive(Clone, Debug, Default)]
struct ReplayCounts {
    /// Executions of each statement that were sent.
    calls: Vec<u64>,
    /// Statements that failed in the recording too.
    failed_again: u64,
    /// Statements that failed in the recording and not here.
    failed_only_before: u64,
}

impl Counts for ReplayCounts {
    fn add(&mut self, other: &ReplayCounts) {
        self.calls.resize(other.calls.len(), 0);
        for (sum, calls) in self.calls.iter_mut().zip(&other.calls) {
            *sum += calls;
        }
        add_counts!(self, other, [failed_again, failed_only_before]);
    }
}

impl ReplayProgram {
    pub fn new(
        recording: Arc<SessionRecording>,
        options: ReplayOptions,
        read_only_text: &'static str,
        settings: Vec<(&'static str, String)>,
    ) -> ReplayProgram {
        let mut ids = StatementIds::new();
        let entries = recording.index.statements.iter();
        let statements = entries.map(|entry| {
            if entry.has_placeholders {
                ids.add(&entry.text)
            } else {
                ids.add_with_placeholders(entry.text.as_str(), [])
            }
        });
        let statements = statements.collect();
        let kinds = recording.index.kinds.iter();
        // Leaked, because kinds are `'static`; a process runs one or two programs.
        let kinds = kinds.map(|kind| &*Box::leak(kind.clone().into_boxed_str()));
        ReplayProgram {
            kinds: kinds.collect(),
            settings,
            shared: Arc::new(Replay {
                read_only_text: (!options.allows_writes).then_some(read_only_text),
                counts: SharedCounts::default(),
                assignment: OnceLock::new(),
                statements,
                recording,
                options,
            }),
        }
    }
}

impl Replay {
    /// The text of a statement for documents and pages, which may go to others: without literals.
    fn shown(&self, entry: &RecordedStatement) -> String {
        without_literals(&entry.text, self.recording.index.dialect)
    }
}

impl Program for ReplayProgram {
    fn kinds(&self) -> &[&'static str] {
        &self.kinds
    }

    fn statements(&self) -> Vec<String> {
        let entries = self.shared.recording.index.statements.iter();
        let used = entries.filter(|entry| entry.calls > 0);
        used.map(|entry| self.shared.shown(entry)).collect()
    }

    fn statement_table(&self) -> StatementTable {
        let mut table = StatementTable::new();
        let entries = self.shared.recording.index.statements.iter();
        for (entry, statement) in entries.zip(&self.shared.statements) {
            let quantile_ns = |share: f64| {
                let has_enough = entry.times.count() as f64 * (1.0 - share) >= 10.0;
                let quantile = entry.times.quantile_ns(share).filter(|_| has_enough);
                quantile.map(|ns| ns.round() as u64)
            };
            table.add(&entry.name, self.shared.shown(entry), statement);
            if let Some(mean_ns) = entry.times.mean_ns() {
                table.set_recorded(RecordedLatency {
                    samples: entry.times.count(),
                    mean_ns,
                    p50_ns: quantile_ns(0.5),
                    p95_ns: quantile_ns(0.95),
                    p99_ns: quantile_ns(0.99),
                });
            }
        }
        table
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        self.settings.clone()
    }

    fn action_shares(&self) -> Vec<ObservedShare> {
        let counts = self.shared.counts.get();
        let entries = &self.shared.recording.index.statements;
        let recorded: u64 = entries.iter().map(|entry| entry.calls).sum();
        let total = counts.calls.iter().sum();
        let shares = entries
            .iter()
            .zip(&counts.calls)
            .filter(|(entry, _)| entry.calls > 0);
        let shares = shares.map(|(entry, calls)| ObservedShare {
            name: entry.name.clone(),
            base: "statements".to_owned(),
            count: *calls,
            total,
            expected_share: Some(entry.calls as f64 / recorded as f64),
            ..ObservedShare::default()
        });
        let errors = [
            ("failed as recorded", counts.failed_again),
            ("failed only in the recording", counts.failed_only_before),
        ];
        let errors = errors.into_iter().filter(|(_, count)| *count > 0);
        let errors = errors.map(|(name, count)| ObservedShare {
            name: name.to_owned(),
            base: "statements".to_owned(),
            count,
            total,
            ..ObservedShare::default()
        });
        shares.chain(errors).collect()
    }

    fn opens_connections(&self) -> bool {
        true
    }

    fn create_user(&self, id: UserId, db: Db) -> User {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let sessions = &shared.recording.sessions;
            let assignment = shared
                .assignment
                .get_or_init(|| assign(sessions, shared.options.copies, id.clients, id.seed));
            let mut user = ReplayUser {
                counts: UserCounts::new(&shared.counts),
                replay: &shared,
                guarded: None,
                db,
            };
            user.counts.sums.calls = vec![0; shared.statements.len()];
            for appearance in &assignment[id.client as usize] {
                if let Err(exit) = user.replay_session(*appearance).await {
                    return exit;
                }
            }
            UserExit::Finished
        })
    }
}

/// A user that replays sessions.
struct ReplayUser<'a> {
    replay: &'a Replay,
    db: Db,
    /// The opening of the connection ([`Db::times_opened`]) after which the server was told to refuse writes.
    guarded: Option<u32>,
    counts: UserCounts<'a, ReplayCounts>,
}

impl ReplayUser<'_> {
    async fn replay_session(&mut self, appearance: Appearance) -> Result<(), UserExit> {
        let recording = Arc::clone(&self.replay.recording);
        let mut reader = SessionReader::new(recording, appearance.session);
        if !reader.next().map_err(UserExit::Failed)? {
            return Ok(());
        }
        let mut opened = self.open_before(&reader, appearance).await?;
        // The opening of the connection whose block the next part of a transaction belongs to.
        let mut block = None;
        'transactions: loop {
            if reader.is_reset {
                // The driver's command is none of the load's protocols. A new connection is as a session after it.
                self.db.close_connection().await;
                opened = self.open_before(&reader, appearance).await?;
                block = None;
            }
            let first = &reader.executions[0];
            match self.due_ns(first, appearance) {
                Some(due_ns) => self.db.start_at(reader.kind as _, due_ns).await?,
                None => self.db.start(reader.kind as _).await?,
            }
            let result = match opened {
                // The connection may have been opened again since the last transaction.
                Ok(()) => match self.continue_on(block).await {
                    Ok(()) => self.replay_transaction(&reader, appearance).await,
                    Err(error) => Err(error),
                },
                Err(error) => Err(error),
            };
            opened = Ok(());
            block = Some(self.db.times_opened()).filter(|_| reader.continues);
            let mut is_left_out = result.is_err() && reader.continues;
            let result = result.map_err(|mut error| {
                error.message = without_quoted(&error.code, &error.message);
                error
            });
            match result {
                // The rest of the block is recorded as another transaction.
                Ok(outcome) if self.db.is_in_block() => self.db.end_with_open_block(outcome),
                result => self.db.end(result).await?,
            }
            // The rest of a block that failed would be executed outside of it.
            while reader.next().map_err(UserExit::Failed)? {
                if !is_left_out {
                    continue 'transactions;
                }
                (is_left_out, block) = (reader.continues, None);
            }
            break;
        }
        self.db.close_connection().await;
        Ok(())
    }

    /// Prepares for a transaction, or for the next part of one in a block on the connection that was opened so often.
    async fn continue_on(&mut self, block: Option<u32>) -> Result<(), DbError> {
        if block.is_some_and(|opened| opened != self.db.times_opened()) {
            return Err(lost_within_transaction());
        }
        self.forbid_writes().await
    }

    /// Opens a connection in time for a transaction.
    async fn open_before(
        &mut self,
        reader: &SessionReader,
        appearance: Appearance,
    ) -> Result<Result<(), DbError>, UserExit> {
        if let Some(due_ns) = self.due_ns(&reader.executions[0], appearance) {
            self.db.sleep_until(due_ns - CONNECT_LEAD_NS).await;
        }
        if self.db.is_load_over() {
            return Err(UserExit::Stopped);
        }
        Ok(match self.db.open_connection().await {
            Ok(()) => self.forbid_writes().await,
            Err(error) => Err(error),
        })
    }

    /// Makes the session read-only, unless writes are allowed or it is.
    async fn forbid_writes(&mut self) -> Result<(), DbError> {
        if let Some(text) = self.replay.read_only_text
            && !self.is_guarded()
        {
            let opened = self.db.times_opened();
            self.db.query(text).await?;
            self.guarded = Some(opened);
        }
        Ok(())
    }

    /// Whether writes are allowed, or the server was told to refuse them on this connection.
    fn is_guarded(&self) -> bool {
        self.replay.read_only_text.is_none() || self.guarded == Some(self.db.times_opened())
    }

    /// When an execution is due, in nanoseconds of the run's clock; `None` if nothing waits for its time.
    fn due_ns(&self, execution: &Execution, appearance: Appearance) -> Option<u64> {
        let speed = self.replay.options.speed?;
        let at_us = execution.at_us.saturating_add(appearance.shift_us);
        let since_start_ns = at_us as f64 * 1e3 / speed;
        let start_ns = self.db.load_start_ns() + CONNECT_LEAD_NS;
        Some(start_ns.saturating_add(since_start_ns as u64))
    }

    /// Replays the statements of a transaction. After an error that the recording does not have, the rest is left out.
    async fn replay_transaction(
        &mut self,
        reader: &SessionReader,
        appearance: Appearance,
    ) -> Result<Outcome, DbError> {
        let mut outcome = Outcome::Committed;
        for (number, execution) in reader.executions.iter().enumerate() {
            if let Some(due_ns) = self.due_ns(execution, appearance).filter(|_| number > 0) {
                self.db.sleep_until(due_ns).await;
            }
            self.counts.sums.calls[execution.statement] += 1;
            let failed = match self.execute(reader, execution).await {
                Ok(()) => None,
                Err(error) if execution.has_failed && self.db.is_up() => Some(error),
                Err(error) => return Err(error),
            };
            let entry = &self.replay.recording.index.statements[execution.statement];
            if entry.drops_prepared && failed.is_none() {
                self.db.forget_prepared();
            }
            if entry.ends_read_only && failed.is_none() {
                self.guarded = None;
                self.forbid_writes().await?;
            }
            if entry.rolls_back || failed.is_some() {
                outcome = Outcome::RolledBack;
            }
            self.counts.sums.failed_again += u64::from(failed.is_some());
            self.counts.sums.failed_only_before +=
                u64::from(execution.has_failed && failed.is_none());
        }
        Ok(outcome)
    }

    async fn execute(
        &mut self,
        reader: &SessionReader,
        execution: &Execution,
    ) -> Result<(), DbError> {
        if !self.is_guarded() {
            return Err(lost_within_transaction());
        }
        let statement = &self.replay.statements[execution.statement];
        let entry = &self.replay.recording.index.statements[execution.statement];
        if !entry.has_placeholders {
            let text = execution
                .text
                .as_ref()
                .map_or(&*entry.text, |text| reader.text(text));
            return self.db.query_as(statement, text).await.map(drop);
        }
        let values = reader
            .values(execution)
            .map(|value| value.map_or(Value::Null, Value::Text));
        // The log may have fewer values than the text has placeholders, if it was told to cut them off.
        let count = statement.parameter_count();
        if count > INLINE_VALUES {
            let mut values: Vec<Value<'_>> = values.collect();
            values.resize(count, Value::Null);
            return self.db.exec(statement, &values).await.map(drop);
        }
        let mut inline = [Value::Null; INLINE_VALUES];
        for (place, value) in inline.iter_mut().zip(values) {
            *place = value;
        }
        self.db.exec(statement, &inline[..count]).await.map(drop)
    }
}

fn lost_within_transaction() -> DbError {
    let text = "the connection was lost and opened again within a transaction";
    DbError::lost(text.to_owned(), false)
}
