//! A program whose transactions write their numbers into a ledger.

use crate::ledger::Ledger;
use crate::{Db, P90Limit, Program, StatementTable, User, UserId};
use prony_document::ObservedShare;
use std::sync::Arc;

/// A program whose transactions write their numbers.
pub struct LedgerProgram<'a> {
    program: &'a dyn Program,
    ledger: Arc<Ledger>,
}

impl<'a> LedgerProgram<'a> {
    pub fn new(program: &'a dyn Program, ledger: &Arc<Ledger>) -> LedgerProgram<'a> {
        LedgerProgram {
            program,
            ledger: Arc::clone(ledger),
        }
    }
}

impl Program for LedgerProgram<'_> {
    fn kinds(&self) -> &[&'static str] {
        self.program.kinds()
    }

    fn statements(&self) -> Vec<String> {
        self.program.statements()
    }

    fn statement_table(&self) -> StatementTable {
        self.program.statement_table()
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        self.program.settings()
    }

    fn action_shares(&self) -> Vec<ObservedShare> {
        self.program.action_shares()
    }

    fn commits_once(&self) -> bool {
        self.program.commits_once()
    }

    fn only_reads(&self, kind: usize) -> bool {
        self.program.only_reads(kind)
    }

    fn p90_limits(&self) -> Vec<P90Limit> {
        self.program.p90_limits()
    }

    fn has_prologue(&self) -> bool {
        self.program.has_prologue()
    }

    fn opens_connections(&self) -> bool {
        self.program.opens_connections()
    }

    fn create_user(&self, id: UserId, db: Db) -> User {
        self.program
            .create_user(id, db.with_ledger(Arc::clone(&self.ledger), id.client))
    }
}
