//! A session while its log is read.

use super::super::effect::{StatementEffect, effect, is_alone, is_end};
use super::super::file::RecordedSession;
use super::event::LoggedStatement;
use crate::capture::{Token, tokens};
use prony_document::SqlDialect;
use std::collections::HashSet;

/// A session while the log is read.
#[derive(Default)]
pub(super) struct OpenSession {
    pub recorded: RecordedSession,
    /// Whether the file has a part of it already.
    pub is_later_part: bool,
    /// When the last statement that was written began.
    pub previous_us: u64,
    /// A statement that waits for its duration.
    pub waiting: Option<Box<LoggedStatement<'static>>>,
    /// When the first step of the next statement began, and what the steps took.
    pub steps: Option<(i64, u64)>,
    /// Whole transactions that are not in the file.
    pub chunk: Vec<u8>,
    /// The statements of the transaction that has not ended.
    pub transaction: Vec<u8>,
    /// When the statement before that transaction began.
    pub before_us: u64,
    pub executions: u64,
    /// The statements of the transaction, by which it is of a kind.
    pub shape: Vec<usize>,
    /// Whether the session was reset before the transaction.
    pub is_reset: bool,
    pub is_in_block: bool,
    /// Whether a statement of the block failed, so that PostgreSQL rolls it back at its end.
    pub has_failed_block: bool,
    /// Whether statements begin transactions by themselves: MySQL's autocommit is off.
    pub is_manual: bool,
    /// Names of the statements that it has prepared with PREPARE, not through the protocol.
    pub prepared: HashSet<Box<str>>,
}

impl OpenSession {
    /// Whether nothing is lost if its next statements are recorded as another part of it.
    pub fn can_be_split(&self) -> bool {
        let is_between = self.executions == 0 && !self.is_in_block && !self.is_reset;
        let waits = self.waiting.is_some() || self.steps.is_some();
        is_between && !waits && !self.is_manual && self.prepared.is_empty()
    }

    /// Resets the state to that of a new session.
    pub fn reset(&mut self) {
        self.is_reset = self.recorded.transactions > 0;
        self.steps = None;
        self.has_failed_block = false;
        self.is_manual = false;
        self.prepared.clear();
    }

    pub fn add_step(&mut self, at_us: i64, duration_us: u64) {
        let (_, sum_us) = self.steps.get_or_insert((at_us, 0));
        *sum_us = sum_us.saturating_add(duration_us);
    }

    /// Notes that a statement failed, after which PostgreSQL commits nothing of its block.
    pub fn note_failure(&mut self, dialect: SqlDialect) {
        self.has_failed_block |= self.is_in_block && dialect == SqlDialect::PostgreSql;
    }

    /// Notes what a statement does to the session's transaction block. Its failure is noted already.
    pub fn follow_block(
        &mut self,
        known: StatementEffect,
        text: &str,
        has_failed: bool,
        dialect: SqlDialect,
    ) {
        if has_failed {
            // A COMMIT that fails rolls back.
            let has_ended = known.leaves_block == Some(false) && is_alone(text, dialect);
            self.is_in_block &= !has_ended;
        } else if let Some(is_in_block) = known.leaves_block {
            self.is_in_block = is_in_block;
        } else if known.sets_autocommit.is_some() {
            // Texts that differ in a literal share what is known of them.
            let own = effect(text, dialect);
            self.is_manual = own.sets_autocommit == Some(false);
            self.is_in_block &= self.is_manual;
        } else {
            self.is_in_block |= self.is_manual;
            self.has_failed_block &= !known.restores_savepoint;
        }
        self.has_failed_block &= self.is_in_block && (has_failed || known.leaves_block.is_none());
    }

    /// Whether a statement of PostgreSQL drops a statement that a driver prepared through the protocol, under a name that a
    /// replay does not use. Records the names that PREPARE creates.
    pub fn drops_statement_of_driver(&mut self, text: &str) -> bool {
        let is_word = |token: &Token<'_>, word: &str| !token.is_quoted && token.text == word;
        let mut words = tokens(text, SqlDialect::PostgreSql)
            .filter(|token| !is_end(token))
            .peekable();
        let verb = words.next().map(|verb| verb.text);
        match verb.as_deref() {
            Some("prepare") => {
                let name = words.next().filter(|name| !is_word(name, "transaction"));
                self.prepared.extend(name.map(|name| name.text.into()));
                false
            }
            Some("deallocate") => {
                words.next_if(|word| is_word(word, "prepare"));
                let name = words.next().filter(|name| !is_word(name, "all"));
                // More after it is another statement.
                name.is_some_and(|name| {
                    words.next().is_none() && !self.prepared.remove(&*name.text)
                })
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_text_has_prepared_is_dropped_by_a_text() {
        let mut session = OpenSession::default();
        for (text, is_of_driver) in [
            ("DEALLOCATE \"S_1\"", true),
            ("deallocate pdo_stmt_00000001;", true),
            ("PREPARE Q(int) AS SELECT $1", false),
            ("DEALLOCATE PREPARE q", false),
            // Dropped already: the server refused it.
            ("DEALLOCATE q", true),
            ("PREPARE \"Q r\" AS SELECT 1", false),
            ("DEALLOCATE PREPARE \"Q r\";", false),
            ("DEALLOCATE ALL", false),
            ("DEALLOCATE \"all\"", true),
            ("PREPARE TRANSACTION 'x'", false),
            ("DISCARD PLANS", false),
            ("SELECT 'deallocate a'", false),
            ("DEALLOCATE a; DELETE FROM t", false),
            ("/* a */ PREPARE q AS SELECT 1", false),
            ("-- a\nDEALLOCATE/* b */q", false),
            ("/* a */ DEALLOCATE q", true),
        ] {
            assert_eq!(
                session.drops_statement_of_driver(text),
                is_of_driver,
                "{text}"
            );
        }
        assert!(session.prepared.is_empty());
    }
}
