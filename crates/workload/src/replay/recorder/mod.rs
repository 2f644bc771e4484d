//! Collects the statements of a log by session, and writes them to a recording.
//!
//! In: events in the order of the log. Out: the file. Memory: [`BUFFERED_MAX`] bytes of statements that are not written
//! yet, the texts of 5,000 different statements, up to [`OPEN_SESSIONS_MAX`] sessions and those that have set autocommit off or
//! prepared statements, and some 20 bytes for each other session without an end in the log. Must never: hold more of the
//! log, or write a literal unless told to.

mod event;
mod known;
mod parts;
mod session;

pub use event::{LeftOut, LogEvent, LoggedStatement, Recorded};

use super::effect::StatementEffect;
use super::encoding::put_number;
use super::file::{Index, SessionWriter};
use super::raw_bytes::{has_raw_bytes, with_hex_literals};
use super::statements::{placeholders, with_values};
use super::transactions::{NewExecution, put_execution, put_header};
use known::{Known, KnownStatements};
use parts::session_key;
use prony_document::SqlDialect;
use session::OpenSession;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

/// The most bytes of statements that wait to be written.
const BUFFERED_MAX: usize = 32 << 20;
/// A session's statements are written when they have this many bytes.
const CHUNK_BYTES: usize = 16 << 10;
/// A longer transaction is recorded in parts.
const TRANSACTION_BYTES_MAX: usize = 1 << 20;
/// With more open sessions, those that executed nothing for the longest time are recorded in parts. A log without
/// disconnections never ends a session.
const OPEN_SESSIONS_MAX: usize = 50_000;

/// Collects statements by session.
pub struct SessionRecorder<W> {
    writer: SessionWriter<W>,
    known: KnownStatements,
    /// The open sessions by their name in the log.
    open: HashMap<Box<str>, OpenSession>,
    open_max: usize,
    /// The keys of sessions of which a part is in the file, and another one may follow.
    split: HashSet<u64>,
    buffered: usize,
    buffered_max: usize,
    /// The time of the first statement.
    zero_us: Option<i64>,
    /// Executions of statements that were prepared without a name, and with one.
    unnamed: u64,
    named: u64,
    recorded: Recorded,
}

impl<W: Write> SessionRecorder<W> {
    pub fn new(
        out: W,
        dialect: SqlDialect,
        keeps_literals: bool,
    ) -> io::Result<SessionRecorder<W>> {
        Ok(SessionRecorder {
            writer: SessionWriter::new(out)?,
            known: KnownStatements::new(dialect, keeps_literals),
            open: HashMap::new(),
            open_max: OPEN_SESSIONS_MAX,
            split: HashSet::new(),
            buffered: 0,
            buffered_max: BUFFERED_MAX,
            zero_us: None,
            unnamed: 0,
            named: 0,
            recorded: Recorded::default(),
        })
    }

    /// Sets how many bytes of statements may wait to be written, and how many sessions may be open.
    #[cfg(test)]
    pub(super) fn with_limits(self, buffered_max: usize, open_max: usize) -> SessionRecorder<W> {
        SessionRecorder {
            buffered_max,
            open_max,
            ..self
        }
    }

    pub(super) fn left_out(&mut self) -> &mut LeftOut {
        &mut self.recorded.left_out
    }

    /// Takes an event of a session.
    pub fn event(&mut self, session: &str, event: LogEvent<'_>) -> io::Result<()> {
        let is_new = matches!(event, LogEvent::Connected { .. });
        if is_new {
            // A server that was restarted may use a name again.
            self.close(session)?;
        }
        // A new name is stored once; the state is moved out and back.
        let mut state = match self.open.get_mut(session) {
            Some(state) => std::mem::take(state),
            None => {
                let is_known = self.split.remove(&session_key(session));
                self.open.insert(session.into(), OpenSession::default());
                OpenSession {
                    is_later_part: is_known && !is_new,
                    ..OpenSession::default()
                }
            }
        };
        if let LogEvent::Disconnected { at_us } = event {
            self.end_waiting(&mut state, None, false)?;
            if let (Some(zero_us), true) = (self.zero_us, state.recorded.transactions > 0) {
                let end_us = u64::try_from(at_us - zero_us).unwrap_or(0);
                state.recorded.end_us = state.recorded.end_us.max(end_us);
            }
            self.open.remove(session);
            return self.end_session(session, state, false);
        }
        self.event_of_open(&mut state, event)?;
        if let Some(slot) = self.open.get_mut(session) {
            *slot = state;
        }
        if self.buffered > self.buffered_max {
            self.write_all()?;
        }
        if self.open.len() > self.open_max {
            self.split_old_sessions()?;
        }
        Ok(())
    }

    fn event_of_open(&mut self, state: &mut OpenSession, event: LogEvent<'_>) -> io::Result<()> {
        match event {
            LogEvent::Statement(statement) => {
                self.end_waiting(state, None, false)?;
                // No log of MySQL has the duration in another record.
                let has_duration = statement.duration_us.is_some();
                if has_duration || self.known.dialect == SqlDialect::MySql {
                    return self.add(state, statement, false);
                }
                state.waiting = Some(Box::new(LoggedStatement {
                    text: statement.text.into_owned().into(),
                    ..statement
                }));
            }
            LogEvent::Step { at_us, duration_us } => state.add_step(at_us, duration_us),
            LogEvent::Duration { at_us, duration_us } => match state.waiting {
                Some(_) => self.end_waiting(state, Some(duration_us), false)?,
                None => state.add_step(at_us, duration_us),
            },
            LogEvent::Failed { at_us, text } => self.fail(state, at_us, text)?,
            LogEvent::Reset => {
                self.end_waiting(state, None, false)?;
                // Its end is not in the log: the server rolls back what was open.
                state.is_in_block = false;
                self.end_transaction(state)?;
                state.reset();
            }
            LogEvent::Connected { .. } | LogEvent::Disconnected { .. } => {}
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
            state.note_failure(self.known.dialect);
            return Ok(());
        };
        if placeholders(text, self.known.dialect) > 0 {
            self.recorded.left_out.without_values += 1;
            state.note_failure(self.known.dialect);
            return Ok(());
        }
        let statement = LoggedStatement {
            at_us,
            text: text.into(),
            ..LoggedStatement::default()
        };
        self.add(state, statement, true)
    }

    /// Records the statement that waits for its duration.
    fn end_waiting(
        &mut self,
        state: &mut OpenSession,
        duration_us: Option<u64>,
        has_failed: bool,
    ) -> io::Result<()> {
        let Some(mut waiting) = state.waiting.take() else {
            return Ok(());
        };
        waiting.duration_us = duration_us;
        self.add(state, *waiting, has_failed)
    }

    fn add(
        &mut self,
        state: &mut OpenSession,
        mut statement: LoggedStatement<'_>,
        has_failed: bool,
    ) -> io::Result<()> {
        let (dialect, keeps_literals) = (self.known.dialect, self.known.keeps_literals);
        if has_failed {
            // Also if it is left out: the server refused what followed in its block.
            state.note_failure(dialect);
        }
        if let Some((first_us, steps_us)) = state.steps.take() {
            statement.at_us = statement.at_us.min(first_us);
            let duration_us = &mut statement.duration_us;
            *duration_us = duration_us.map(|duration| duration.saturating_add(steps_us));
        }
        let values = statement.values.as_deref();
        let executions = if statement.is_named { &mut self.named } else { &mut self.unnamed };
        *executions += u64::from(values.is_some());
        let Some(text) = self.sendable(&statement.text, values) else {
            self.recorded.left_out.not_utf8 += 1;
            return Ok(());
        };
        if dialect == SqlDialect::PostgreSql && state.drops_statement_of_driver(&text) {
            self.recorded.left_out.of_drivers += 1;
            return Ok(());
        }
        // A prepared statement without parameters has its literals in its text, as others have.
        let values = values.filter(|values| {
            !values.is_empty() || (keeps_literals && placeholders(&text, dialect) > 0)
        });
        let (text, known) = self
            .known
            .as_executed(&text, values.is_some(), has_failed, state);
        if known.effect.drops_prepared && !has_failed {
            state.prepared.clear();
        }
        if keeps_literals && values.is_some_and(|values| values.len() < known.values) {
            self.recorded.left_out.without_values += 1;
            return Ok(());
        }
        let left_out = &mut self.recorded.left_out;
        if known.effect.needs_client_data || known.effect.is_of_routine {
            left_out.client_data += u64::from(known.effect.needs_client_data);
            left_out.of_routines += u64::from(known.effect.is_of_routine);
            return Ok(());
        }
        let times = (statement.at_us, statement.duration_us);
        self.write(state, known, times, text, values, has_failed);
        self.count(known.effect, has_failed);
        state.follow_block(known.effect, text, has_failed, dialect);
        if !state.is_in_block || state.transaction.len() > TRANSACTION_BYTES_MAX {
            self.end_transaction(state)?;
        }
        Ok(())
    }

    /// The text as a replay can send it; `None` if it or a value has bytes that cannot be sent.
    fn sendable<'t>(
        &self,
        text: &'t str,
        values: Option<&[Option<String>]>,
    ) -> Option<Cow<'t, str>> {
        if !self.known.keeps_literals {
            return Some(Cow::Borrowed(text));
        }
        if values
            .into_iter()
            .flatten()
            .flatten()
            .any(|value| has_raw_bytes(value))
        {
            return None;
        }
        match self.known.dialect {
            _ if !has_raw_bytes(text) => Some(Cow::Borrowed(text)),
            SqlDialect::MySql => with_hex_literals(text).map(Cow::Owned),
            SqlDialect::PostgreSql | SqlDialect::TransactSql => None,
        }
    }

    /// Appends an execution to the transaction of its session.
    fn write(
        &mut self,
        state: &mut OpenSession,
        known: Known,
        (at_us, duration_us): (i64, Option<u64>),
        text: &str,
        values: Option<&[Option<String>]>,
        has_failed: bool,
    ) {
        let zero_us = *self.zero_us.get_or_insert(at_us);
        // The log's times have milliseconds: a statement may seem to begin before the one before it.
        let at_us = u64::try_from(at_us - zero_us)
            .unwrap_or(0)
            .max(state.previous_us);
        if state.executions == 0 {
            if state.recorded.transactions == 0 {
                (state.recorded.start_us, state.previous_us) = (at_us, at_us);
            }
            state.before_us = state.previous_us;
        }
        let kept = self.text_to_keep(text, known.index, values);
        let statement = &mut self.known.statements[known.index];
        statement.calls += 1;
        if let (Some(duration_us), false) = (duration_us, has_failed) {
            statement.times.add(duration_us);
        }
        let needs_values = statement.has_placeholders && self.known.keeps_literals;
        let values = values.filter(|_| needs_values);
        let before = state.transaction.len();
        let execution = NewExecution {
            since_us: at_us - state.previous_us,
            duration_us,
            statement: known.index,
            text: kept.as_deref(),
            values: values.unwrap_or_default(),
            has_failed,
        };
        put_execution(&execution, &mut state.transaction);
        self.buffered += state.transaction.len() - before;
        state.executions += 1;
        state.shape.push(known.index);
        state.previous_us = at_us;
        let end_us = at_us.saturating_add(duration_us.unwrap_or_default());
        state.recorded.end_us = state.recorded.end_us.max(end_us);
    }

    fn count(&mut self, effect: StatementEffect, has_failed: bool) {
        self.recorded.statements += 1;
        self.recorded.writes += u64::from(effect.writes);
        self.recorded.errors += u64::from(has_failed);
    }

    /// The text of an execution, if it is not that of the statement.
    fn text_to_keep(
        &self,
        text: &str,
        index: usize,
        values: Option<&[Option<String>]>,
    ) -> Option<String> {
        let statement = &self.known.statements[index];
        if !self.known.keeps_literals || statement.has_placeholders || statement.text == text {
            return None;
        }
        Some(match values {
            Some(values) => with_values(text, values),
            None => text.to_owned(),
        })
    }

    /// Moves the statements of a transaction that has ended, or of a part of it, to those that are written next.
    fn end_transaction(&mut self, state: &mut OpenSession) -> io::Result<()> {
        if state.executions == 0 {
            return Ok(());
        }
        let kind = self.known.kind_of(&state.shape);
        let before = state.chunk.len();
        if state.chunk.is_empty() {
            put_number(state.before_us, &mut state.chunk);
        }
        put_header(kind, state.is_in_block, state.is_reset, &mut state.chunk);
        put_number(state.executions, &mut state.chunk);
        self.buffered += state.chunk.len() - before;
        state.chunk.extend(std::mem::take(&mut state.transaction));
        state.shape = Vec::new();
        state.executions = 0;
        state.is_reset = false;
        state.recorded.transactions += 1;
        self.recorded.transactions += 1;
        if state.chunk.len() >= CHUNK_BYTES {
            self.write_chunk(state)?;
        }
        Ok(())
    }

    /// Writes the rest and the index.
    pub fn finish(mut self) -> io::Result<Recorded> {
        let mut names: Vec<Box<str>> = self.open.keys().cloned().collect();
        names.sort_unstable();
        for name in names {
            self.close(&name)?;
        }
        let index = Index {
            errors: self.recorded.errors,
            unnamed: self.unnamed,
            named: self.named,
            ..self.known.into_index()
        };
        let statements = index.statements.iter();
        self.recorded.different = statements.filter(|statement| statement.calls > 0).count();
        self.writer.finish(&index)?;
        Ok(self.recorded)
    }
}
