//! Collects the statements of a log by session, and writes them to a recording.
//!
//! In: events in the order of the log. Out: the file. Memory: [`BUFFERED_MAX`] bytes of statements that are not written
//! yet, the texts of [`STATEMENTS_MAX`] different statements, and some 200 bytes a session with 12 for each of its
//! chunks. Must never: hold more of the log, or write a literal unless told to.

use super::encoding::put_number;
use super::file::{Index, RecordedSession, SessionWriter, put_execution};
use super::statements::{
    RecordedStatement, StatementEffect, effect, executes_comment, is_alone, placeholders,
    short_name, with_values,
};
use crate::capture::without_literals;
use prony_document::SqlDialect;
use std::collections::HashMap;
use std::io::{self, Write};

/// The most bytes of statements that wait to be written.
const BUFFERED_MAX: usize = 32 << 20;
/// A session's statements are written when they have this many bytes.
const CHUNK_BYTES: usize = 16 << 10;
/// A longer transaction is recorded in parts.
const TRANSACTION_BYTES_MAX: usize = 1 << 20;
/// More different statements share one entry.
const STATEMENTS_MAX: usize = 5_000;
/// A longer text shares that entry.
const TEXT_BYTES_MAX: usize = 16 << 10;
/// More different transactions share one kind.
const KINDS_MAX: usize = 20;
const OTHER: &str = "other";

/// Something that a log says of a session.
#[derive(Clone, Debug, PartialEq)]
pub enum LogEvent<'a> {
    /// A statement began at `at_us`. Without a duration, it is that of the next [`LogEvent::Duration`].
    Statement {
        at_us: i64,
        duration_us: Option<u64>,
        text: &'a str,
        /// The values of its parameters, if the client sent them apart from the text.
        values: Option<Vec<Option<String>>>,
        /// Whether it was prepared under a name.
        is_named: bool,
    },
    /// A step before the statement took this long, such as parsing it.
    Step {
        at_us: i64,
        duration_us: u64,
    },
    /// The last statement took this long.
    Duration {
        at_us: i64,
        duration_us: u64,
    },
    /// A statement failed: that of this text, or the last one.
    Failed {
        at_us: i64,
        text: Option<&'a str>,
    },
    /// A new session with this name.
    Connected {
        at_us: i64,
    },
    Disconnected {
        at_us: i64,
    },
}

/// What the recorder did not record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Statements that take data of the client, such as COPY FROM STDIN.
    pub client_data: u64,
    /// Statements whose parameters the log does not have, or not all of them.
    pub without_values: u64,
    /// Records of the logs without a time, or cut off.
    pub unreadable_records: u64,
    /// Statements of triggers and functions.
    pub of_routines: u64,
}

/// What was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    pub sessions: usize,
    pub transactions: u64,
    pub statements: u64,
    /// Number of different statements.
    pub different: usize,
    pub writes: u64,
    pub errors: u64,
    /// From the first statement to the end of the last one, in microseconds.
    pub length_us: u64,
    pub left_out: LeftOut,
}

/// A statement that waits for its duration.
struct Waiting {
    at_us: i64,
    text: String,
    values: Option<Vec<Option<String>>>,
    is_named: bool,
}

/// An execution of a statement, as the log has it.
struct Executed<'a> {
    at_us: i64,
    duration_us: Option<u64>,
    text: &'a str,
    values: Option<&'a [Option<String>]>,
    is_named: bool,
    has_failed: bool,
}

/// What is known of a statement by its text.
#[derive(Clone, Copy)]
struct Known {
    index: usize,
    effect: StatementEffect,
    /// The number of values that its text needs, if it is sent with values.
    values: usize,
}

/// A session while the log is read.
#[derive(Default)]
struct OpenSession {
    recorded: RecordedSession,
    /// When the last statement that was written began.
    previous_us: u64,
    waiting: Option<Box<Waiting>>,
    /// When the first step of the next statement began, and what the steps took.
    steps: Option<(i64, u64)>,
    /// Whole transactions that are not in the file.
    chunk: Vec<u8>,
    /// The statements of the transaction that has not ended.
    transaction: Vec<u8>,
    executions: u64,
    /// The statements of the transaction, by which it is of a kind.
    shape: Vec<usize>,
    is_in_block: bool,
    /// Whether a statement of the block failed, so that PostgreSQL rolls it back at its end.
    has_failed_block: bool,
    /// Whether statements begin transactions by themselves: MySQL's autocommit is off.
    is_manual: bool,
}

/// Collects statements by session.
pub struct SessionRecorder<W> {
    writer: SessionWriter<W>,
    index: Index,
    /// The open sessions by their name in the log.
    open: HashMap<Box<str>, OpenSession>,
    known: HashMap<Box<str>, Known>,
    kinds: HashMap<Vec<usize>, usize>,
    names: HashMap<String, u32>,
    buffered: usize,
    buffered_max: usize,
    /// The time of the first statement.
    zero_us: Option<i64>,
    recorded: Recorded,
}

impl<W: Write> SessionRecorder<W> {
    /// # Errors
    /// The file cannot be written.
    pub fn new(
        out: W,
        dialect: SqlDialect,
        keeps_literals: bool,
    ) -> io::Result<SessionRecorder<W>> {
        let other = RecordedStatement {
            name: OTHER.to_owned(),
            text: OTHER.to_owned(),
            ..RecordedStatement::default()
        };
        Ok(SessionRecorder {
            writer: SessionWriter::new(out)?,
            index: Index {
                dialect,
                is_masked: !keeps_literals,
                statements: vec![other],
                kinds: vec![OTHER.to_owned()],
                sessions: Vec::new(),
                errors: 0,
                unnamed: 0,
                named: 0,
            },
            open: HashMap::new(),
            known: HashMap::new(),
            kinds: HashMap::new(),
            names: HashMap::new(),
            buffered: 0,
            buffered_max: BUFFERED_MAX,
            zero_us: None,
            recorded: Recorded::default(),
        })
    }

    /// Sets how many bytes of statements may wait to be written.
    #[cfg(test)]
    pub(super) fn with_buffered_max(self, buffered_max: usize) -> SessionRecorder<W> {
        SessionRecorder {
            buffered_max,
            ..self
        }
    }

    /// Takes an event of a session.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn event(&mut self, session: &str, event: LogEvent<'_>) -> io::Result<()> {
        if matches!(event, LogEvent::Connected { .. }) {
            // A server that was restarted may use a name again.
            self.close(session)?;
        }
        // A new name is stored once; the state is moved out and back.
        let mut state = match self.open.get_mut(session) {
            Some(state) => std::mem::take(state),
            None => {
                self.open.insert(session.into(), OpenSession::default());
                OpenSession::default()
            }
        };
        match event {
            LogEvent::Statement {
                at_us,
                duration_us,
                text,
                values,
                is_named,
            } => {
                self.end_waiting(&mut state, None, false)?;
                if duration_us.is_some() {
                    let executed = Executed {
                        at_us,
                        duration_us,
                        text,
                        values: values.as_deref(),
                        is_named,
                        has_failed: false,
                    };
                    self.add(&mut state, executed)?;
                } else {
                    state.waiting = Some(Box::new(Waiting {
                        at_us,
                        text: text.to_owned(),
                        values,
                        is_named,
                    }));
                }
            }
            LogEvent::Step { at_us, duration_us } => add_step(&mut state, at_us, duration_us),
            LogEvent::Duration { at_us, duration_us } => match state.waiting {
                Some(_) => self.end_waiting(&mut state, Some(duration_us), false)?,
                None => add_step(&mut state, at_us, duration_us),
            },
            LogEvent::Failed { at_us, text } => self.fail(&mut state, at_us, text)?,
            LogEvent::Connected { .. } => {}
            LogEvent::Disconnected { at_us } => {
                self.end_waiting(&mut state, None, false)?;
                if let (Some(zero_us), true) = (self.zero_us, state.recorded.transactions > 0) {
                    let end_us = u64::try_from(at_us - zero_us).unwrap_or(0);
                    state.recorded.end_us = state.recorded.end_us.max(end_us);
                }
                self.open.remove(session);
                return self.end_session(state);
            }
        }
        if let Some(slot) = self.open.get_mut(session) {
            *slot = state;
        }
        if self.buffered > self.buffered_max {
            self.write_all()?;
        }
        Ok(())
    }

    /// A statement failed: the one that waits for its duration, or one of which nothing else is in the log.
    fn fail(&mut self, state: &mut OpenSession, at_us: i64, text: Option<&str>) -> io::Result<()> {
        let is_waiting = state
            .waiting
            .as_ref()
            .is_some_and(|waiting| text.is_none_or(|text| text == waiting.text));
        if is_waiting {
            return self.end_waiting(state, None, true);
        }
        self.end_waiting(state, None, false)?;
        state.steps = None;
        let Some(text) = text else {
            self.note_failure(state);
            return Ok(());
        };
        if placeholders(text, self.index.dialect) > 0 {
            self.recorded.left_out.without_values += 1;
            self.note_failure(state);
            return Ok(());
        }
        let executed = Executed {
            at_us,
            duration_us: None,
            text,
            values: None,
            is_named: false,
            has_failed: true,
        };
        self.add(state, executed)
    }

    /// Notes that a statement failed, which ends what a block of PostgreSQL can commit.
    fn note_failure(&self, state: &mut OpenSession) {
        state.has_failed_block |= state.is_in_block && self.index.dialect == SqlDialect::PostgreSql;
    }

    /// Records the statement that waits for its duration.
    fn end_waiting(
        &mut self,
        state: &mut OpenSession,
        duration_us: Option<u64>,
        has_failed: bool,
    ) -> io::Result<()> {
        let Some(waiting) = state.waiting.take() else {
            return Ok(());
        };
        let executed = Executed {
            at_us: waiting.at_us,
            duration_us,
            text: &waiting.text,
            values: waiting.values.as_deref(),
            is_named: waiting.is_named,
            has_failed,
        };
        self.add(state, executed)
    }

    fn add(&mut self, state: &mut OpenSession, executed: Executed<'_>) -> io::Result<()> {
        let Executed {
            mut at_us,
            mut duration_us,
            text,
            values,
            is_named,
            has_failed,
        } = executed;
        if let Some((first_us, steps_us)) = state.steps.take() {
            at_us = at_us.min(first_us);
            duration_us = duration_us.map(|duration| duration.saturating_add(steps_us));
        }
        if values.is_some() {
            let count = if is_named {
                &mut self.index.named
            } else {
                &mut self.index.unnamed
            };
            *count += 1;
        }
        // A prepared statement without parameters has its literals in its text, as others have.
        let values = values.filter(|values| {
            !values.is_empty()
                || (self.keeps_literals() && placeholders(text, self.index.dialect) > 0)
        });
        let (text, known) = self.as_executed(text, values.is_some(), has_failed, state);
        if self.keeps_literals() && values.is_some_and(|values| values.len() < known.values) {
            self.recorded.left_out.without_values += 1;
            return Ok(());
        }
        let left_out = &mut self.recorded.left_out;
        if known.effect.needs_client_data || known.effect.is_of_routine {
            left_out.client_data += u64::from(known.effect.needs_client_data);
            left_out.of_routines += u64::from(known.effect.is_of_routine);
            return Ok(());
        }
        let zero_us = *self.zero_us.get_or_insert(at_us);
        // The log's times have milliseconds: a statement may seem to begin before the one before it.
        let at_us = u64::try_from(at_us - zero_us)
            .unwrap_or(0)
            .max(state.previous_us);
        if state.recorded.transactions == 0 && state.executions == 0 {
            (state.recorded.start_us, state.previous_us) = (at_us, at_us);
        }
        let statement = &mut self.index.statements[known.index];
        statement.calls += 1;
        if let (Some(duration_us), false) = (duration_us, has_failed) {
            statement.times.add(duration_us);
        }
        let needs_values = statement.has_placeholders;
        let before = state.transaction.len();
        let kept = self.text_to_keep(text, known.index, values);
        let values = values.filter(|_| needs_values && self.keeps_literals());
        put_execution(
            at_us - state.previous_us,
            duration_us,
            known.index,
            kept.as_deref(),
            values.unwrap_or_default(),
            has_failed,
            &mut state.transaction,
        );
        self.buffered += state.transaction.len() - before;
        state.executions += 1;
        state.shape.push(known.index);
        state.previous_us = at_us;
        state.recorded.end_us = state
            .recorded
            .end_us
            .max(at_us.saturating_add(duration_us.unwrap_or_default()));
        self.count(known.effect, has_failed);
        self.follow_block(state, known.effect, text, has_failed);
        if !state.is_in_block || state.transaction.len() > TRANSACTION_BYTES_MAX {
            self.end_transaction(state)?;
        }
        Ok(())
    }

    /// The statement that the server executed: ROLLBACK for a COMMIT of a block in which a statement has failed. Here that
    /// statement may succeed, or is left out.
    fn as_executed<'t>(
        &mut self,
        text: &'t str,
        has_values: bool,
        has_failed: bool,
        state: &mut OpenSession,
    ) -> (&'t str, Known) {
        let known = self.know(text, has_values);
        if has_failed {
            // Also of a statement that is left out: the server refused what followed in its block.
            self.note_failure(state);
            return (text, known);
        }
        let ends_failed = known.effect.leaves_block.filter(|_| state.has_failed_block);
        let text = match ends_failed.filter(|_| !known.effect.rolls_back) {
            Some(begins_next) if is_alone(text, self.index.dialect) => {
                if begins_next {
                    "ROLLBACK AND CHAIN"
                } else {
                    "ROLLBACK"
                }
            }
            _ => return (text, known),
        };
        (text, self.know(text, false))
    }

    /// Notes what a statement makes of the session's transaction block.
    fn follow_block(
        &self,
        state: &mut OpenSession,
        known: StatementEffect,
        text: &str,
        has_failed: bool,
    ) {
        if has_failed {
            // A COMMIT that fails rolls back.
            let has_ended = known.leaves_block == Some(false) && is_alone(text, self.index.dialect);
            state.is_in_block &= !has_ended;
        } else if let Some(is_in_block) = known.leaves_block {
            state.is_in_block = is_in_block;
        } else if known.sets_autocommit.is_some() {
            // Texts that differ in a literal share what is known of them.
            let own = effect(text, self.index.dialect);
            state.is_manual = own.sets_autocommit == Some(false);
            state.is_in_block &= state.is_manual;
        } else {
            state.is_in_block |= state.is_manual;
            state.has_failed_block &= !known.restores_savepoint;
        }
        state.has_failed_block &= state.is_in_block && (has_failed || known.leaves_block.is_none());
    }

    fn count(&mut self, effect: StatementEffect, has_failed: bool) {
        self.recorded.statements += 1;
        self.recorded.writes += u64::from(effect.writes);
        self.recorded.errors += u64::from(has_failed);
    }

    fn keeps_literals(&self) -> bool {
        !self.index.is_masked
    }

    /// The text of an execution, if it is not that of the statement.
    fn text_to_keep(
        &self,
        text: &str,
        index: usize,
        values: Option<&[Option<String>]>,
    ) -> Option<String> {
        let statement = &self.index.statements[index];
        if !self.keeps_literals() || statement.has_placeholders || statement.text == text {
            return None;
        }
        Some(match values {
            Some(values) => with_values(text, values),
            None => text.to_owned(),
        })
    }

    /// The entry of a statement; a new one if its text is new.
    fn know(&mut self, text: &str, has_values: bool) -> Known {
        let dialect = self.index.dialect;
        // The text of a prepared statement is the same in each execution. Its literals are its own.
        let key = if has_values && self.keeps_literals() {
            text.to_owned()
        } else if executes_comment(text, dialect) {
            // It does more than the same text without comments.
            without_literals(text, dialect) + " /*!*/"
        } else {
            without_literals(text, dialect)
        };
        if let Some(known) = self.known.get(&*key) {
            return *known;
        }
        let effect = effect(text, dialect);
        let is_full = self.index.statements.len() >= STATEMENTS_MAX || key.len() > TEXT_BYTES_MAX;
        let index = if is_full {
            let shared = &mut self.index.statements[0];
            shared.writes |= effect.writes;
            shared.ends_read_only |= effect.ends_read_only;
            shared.drops_prepared |= effect.drops_prepared;
            0
        } else {
            let name = self.unique_name(short_name(text, dialect));
            self.index.statements.push(RecordedStatement {
                name,
                text: key.clone(),
                has_placeholders: has_values,
                writes: effect.writes,
                rolls_back: effect.rolls_back,
                ends_read_only: effect.ends_read_only,
                drops_prepared: effect.drops_prepared,
                ..RecordedStatement::default()
            });
            self.index.statements.len() - 1
        };
        let values = placeholders(text, self.index.dialect);
        let known = Known {
            index,
            effect,
            values,
        };
        if !is_full {
            self.known.insert(key.into(), known);
        }
        known
    }

    /// The name, with a number if another statement has it.
    fn unique_name(&mut self, name: String) -> String {
        let count = self.names.entry(name.clone()).or_insert(0);
        *count += 1;
        match *count {
            1 => name,
            number => format!("{name} #{number}"),
        }
    }

    /// The kind of a transaction of these statements.
    fn kind_of(&mut self, shape: &[usize]) -> usize {
        if let Some(kind) = self.kinds.get(shape) {
            return *kind;
        }
        if self.index.kinds.len() > KINDS_MAX || shape.len() > 100 {
            return 0;
        }
        let dialect = self.index.dialect;
        let work: Vec<&RecordedStatement> = shape
            .iter()
            .map(|index| &self.index.statements[*index])
            .filter(|statement| effect(&statement.text, dialect).leaves_block.is_none())
            .collect();
        let mut name = work
            .first()
            .map_or("no statement", |first| &*first.name)
            .to_owned();
        if work.len() > 1 {
            name += &format!(" + {}", work.len() - 1);
        }
        while self.index.kinds.contains(&name) {
            name.push('\'');
        }
        self.index.kinds.push(name);
        let kind = self.index.kinds.len() - 1;
        self.kinds.insert(shape.to_vec(), kind);
        kind
    }

    /// Moves the statements of a transaction that has ended, or of a part of it, to those that are written next.
    fn end_transaction(&mut self, state: &mut OpenSession) -> io::Result<()> {
        if state.executions == 0 {
            return Ok(());
        }
        let kind = self.kind_of(&state.shape);
        let before = state.chunk.len();
        put_number(
            (kind as u64) << 1 | u64::from(state.is_in_block),
            &mut state.chunk,
        );
        put_number(state.executions, &mut state.chunk);
        self.buffered += state.chunk.len() - before;
        state.chunk.append(&mut state.transaction);
        state.shape.clear();
        state.executions = 0;
        state.recorded.transactions += 1;
        self.recorded.transactions += 1;
        if state.chunk.len() >= CHUNK_BYTES {
            write_chunk(&mut self.writer, &mut self.buffered, state)?;
        }
        Ok(())
    }

    /// Writes what waits in all sessions.
    fn write_all(&mut self) -> io::Result<()> {
        for state in self.open.values_mut() {
            write_chunk(&mut self.writer, &mut self.buffered, state)?;
        }
        Ok(())
    }

    fn close(&mut self, session: &str) -> io::Result<()> {
        match self.open.remove(session) {
            Some(mut state) => {
                self.end_waiting(&mut state, None, false)?;
                self.end_session(state)
            }
            None => Ok(()),
        }
    }

    /// Ends a session; one without statements is not recorded.
    fn end_session(&mut self, mut state: OpenSession) -> io::Result<()> {
        self.end_transaction(&mut state)?;
        write_chunk(&mut self.writer, &mut self.buffered, &mut state)?;
        if state.recorded.transactions > 0 {
            self.index.sessions.push(state.recorded);
        }
        Ok(())
    }

    /// Writes the rest and the index.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self) -> io::Result<Recorded> {
        let mut names: Vec<Box<str>> = self.open.keys().cloned().collect();
        names.sort_unstable();
        for name in names {
            self.close(&name)?;
        }
        self.index.sessions.sort_by_key(|session| session.start_us);
        self.index.errors = self.recorded.errors;
        let ends = self.index.sessions.iter().map(|session| session.end_us);
        self.recorded.length_us = ends.max().unwrap_or(0);
        self.recorded.sessions = self.index.sessions.len();
        let statements = self.index.statements.iter();
        self.recorded.different = statements.filter(|statement| statement.calls > 0).count();
        self.writer.finish(&self.index)?;
        Ok(self.recorded)
    }
}

fn add_step(state: &mut OpenSession, at_us: i64, duration_us: u64) {
    let (_, sum_us) = state.steps.get_or_insert((at_us, 0));
    *sum_us = sum_us.saturating_add(duration_us);
}

fn write_chunk<W: Write>(
    writer: &mut SessionWriter<W>,
    buffered: &mut usize,
    state: &mut OpenSession,
) -> io::Result<()> {
    if state.chunk.is_empty() {
        return Ok(());
    }
    state.recorded.chunks.push(writer.chunk(&state.chunk)?);
    *buffered -= state.chunk.len();
    state.chunk = Vec::new();
    Ok(())
}
