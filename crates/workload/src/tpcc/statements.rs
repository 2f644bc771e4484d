//! The statements of the transactions, numbered for a program.
//!
//! The steps of a transaction come in the order of `statements.sql`, and their text is exactly the file's for the engine,
//! without the types of the parameters (`parameters.rs`). Each transaction follows a line that begins with `----`.

use super::engine::{EngineSql, RoutineForm, statements};
use super::input::TpccTransaction;
use super::parameters::split_types;
use super::profile::Profile;
use prony_document::SqlDialect;
use prony_wire::{Statement, StatementIds};

/// A step of a transaction: one or more statements, the last of which returns the rows. On servers without
/// `RETURNING`, an `UPDATE` and the `SELECT` of the updated values are one step.
pub type TransactionStep = Box<[Statement]>;

#[derive(Debug)]
pub struct StatementSet {
    dialect: SqlDialect,
    statements: StatementIds,
    /// The texts in order, as they are sent to the server.
    pub texts: Vec<String>,
}

impl StatementSet {
    pub fn new(dialect: SqlDialect) -> Self {
        StatementSet {
            dialect,
            statements: StatementIds::new(),
            texts: Vec::new(),
        }
    }

    /// Adds a statement; its placeholders may be followed by types.
    pub fn add(&mut self, sql: &str) -> Statement {
        let (text, types) = split_types(sql);
        let statement = self.statements.add(&text).with_types(types);
        self.texts.push(self.dialect.with_native_placeholders(text));
        statement
    }

    /// Adds the steps of a transaction. With `pipelined`, the steps of one request share a round trip
    /// on every engine.
    pub fn steps(
        &mut self,
        kind: TpccTransaction,
        profile: &Profile,
        pipelined: bool,
    ) -> Box<[TransactionStep]> {
        let engine = EngineSql::of(self.dialect);
        let mut sections = include_str!("statements.sql").split("\n----").skip(1);
        let section = sections.nth(kind as usize).unwrap_or_default();
        let (_, section) = section.split_once('\n').unwrap_or_default();
        let section = engine.fill(section, profile, "", RoutineForm::ENGINE);
        let steps = section.split("\n\n").map(|step| {
            let statements = statements(step).map(|sql| {
                if pipelined { self.add(&sql).with_joining() } else { self.add(&sql) }
            });
            statements.collect()
        });
        steps
            .filter(|step: &TransactionStep| !step.is_empty())
            .collect()
    }
}
