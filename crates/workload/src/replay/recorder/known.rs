//! What is known of the statements of a log by their texts, and the kinds of its transactions.

use super::super::effect::{StatementEffect, effect, executes_comment, is_alone};
use super::super::file::Index;
use super::super::statements::{RecordedStatement, key_of, placeholders, short_name};
use super::session::OpenSession;
use prony_document::SqlDialect;
use std::collections::HashMap;

/// More different statements share one entry.
const STATEMENTS_MAX: usize = 5_000;
/// A longer text shares that entry.
const TEXT_BYTES_MAX: usize = 16 << 10;
/// More different transactions share one kind.
const KINDS_MAX: usize = 20;
const OTHER: &str = "other";

/// What is known of a statement by its text.
#[derive(Clone, Copy)]
pub(super) struct Known {
    pub index: usize,
    pub effect: StatementEffect,
    /// The number of values that its text needs, if it is sent with values.
    pub values: usize,
}

/// The statements and kinds of transactions of a log.
pub(super) struct KnownStatements {
    pub dialect: SqlDialect,
    pub keeps_literals: bool,
    pub statements: Vec<RecordedStatement>,
    kinds: Vec<String>,
    by_text: HashMap<Box<str>, Known>,
    by_shape: HashMap<Vec<usize>, usize>,
    names: HashMap<String, u32>,
}

impl KnownStatements {
    pub fn new(dialect: SqlDialect, keeps_literals: bool) -> KnownStatements {
        let other = RecordedStatement {
            name: OTHER.to_owned(),
            text: OTHER.to_owned(),
            ..RecordedStatement::default()
        };
        KnownStatements {
            dialect,
            keeps_literals,
            statements: vec![other],
            kinds: vec![OTHER.to_owned()],
            by_text: HashMap::new(),
            by_shape: HashMap::new(),
            names: HashMap::new(),
        }
    }

    /// The statement that the server executed: ROLLBACK for a COMMIT of a block in which a statement has failed. Here that
    /// statement may succeed, or is left out.
    pub fn as_executed<'t>(
        &mut self,
        text: &'t str,
        has_values: bool,
        has_failed: bool,
        session: &OpenSession,
    ) -> (&'t str, Known) {
        let known = self.know(text, has_values);
        if has_failed {
            return (text, known);
        }
        let ends_failed = known
            .effect
            .leaves_block
            .filter(|_| session.has_failed_block);
        let text = match ends_failed.filter(|_| !known.effect.rolls_back) {
            Some(begins_next) if is_alone(text, self.dialect) => {
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

    /// The entry of a statement; a new one if its text is new.
    fn know(&mut self, text: &str, has_values: bool) -> Known {
        let dialect = self.dialect;
        // The text of a prepared statement is the same in each execution. Its literals are its own.
        let key = if has_values && self.keeps_literals {
            text.to_owned()
        } else if executes_comment(text, dialect) {
            // It does more than the same text without comments.
            key_of(text, dialect) + " /*!*/"
        } else {
            key_of(text, dialect)
        };
        if let Some(known) = self.by_text.get(&*key) {
            return *known;
        }
        let effect = effect(text, dialect);
        let is_full = self.statements.len() >= STATEMENTS_MAX || key.len() > TEXT_BYTES_MAX;
        let index = if is_full {
            let shared = &mut self.statements[0];
            shared.writes |= effect.writes;
            shared.ends_read_only |= effect.ends_read_only;
            shared.drops_prepared |= effect.drops_prepared;
            0
        } else {
            let name = self.unique_name(short_name(text, dialect));
            self.statements.push(RecordedStatement {
                name,
                text: key.clone(),
                has_placeholders: has_values,
                writes: effect.writes,
                rolls_back: effect.rolls_back,
                ends_read_only: effect.ends_read_only,
                drops_prepared: effect.drops_prepared,
                ..RecordedStatement::default()
            });
            self.statements.len() - 1
        };
        let known = Known {
            index,
            effect,
            values: placeholders(text, dialect),
        };
        if !is_full {
            self.by_text.insert(key.into(), known);
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
    pub fn kind_of(&mut self, shape: &[usize]) -> usize {
        if let Some(kind) = self.by_shape.get(shape) {
            return *kind;
        }
        if self.kinds.len() > KINDS_MAX || shape.len() > 100 {
            return 0;
        }
        let dialect = self.dialect;
        let work: Vec<&RecordedStatement> = shape
            .iter()
            .map(|index| &self.statements[*index])
            .filter(|statement| effect(&statement.text, dialect).leaves_block.is_none())
            .collect();
        let mut name = work
            .first()
            .map_or("no statement", |first| &*first.name)
            .to_owned();
        if work.len() > 1 {
            name += &format!(" + {}", work.len() - 1);
        }
        while self.kinds.contains(&name) {
            name.push('\'');
        }
        self.kinds.push(name);
        let kind = self.kinds.len() - 1;
        self.by_shape.insert(shape.to_vec(), kind);
        kind
    }

    /// What a recording has of them.
    pub fn into_index(self) -> Index {
        Index {
            dialect: self.dialect,
            is_masked: !self.keeps_literals,
            statements: self.statements,
            kinds: self.kinds,
            errors: 0,
            unnamed: 0,
            named: 0,
        }
    }
}
