//! The interface between a virtual user and the loop: the user's code calls its [`Db`], and the worker
//! reads a small record per connection. It does not depend on workloads or sockets.

pub mod budget;
pub mod conn;
pub mod db;
pub mod error;
mod ledger;
mod ledger_program;
pub mod program;
mod reads;
pub mod statement_table;
mod statement_timer;
pub mod worker_context;

pub use budget::StartBudget;
pub use conn::{Conn, READ_ROW_BYTES_MAX, UNREAD_ROW_BYTES_MAX, UserPhase};
pub use db::{Db, DbReply};
pub use error::{DbError, DbErrorDetails};
pub use ledger::{EntryPlacement, Ledger, LedgerEntry};
pub use ledger_program::LedgerProgram;
pub use program::{P90Limit, Program, User, UserExit, UserId};
pub use prony_measure::{
    ErrorClass, Outcome, QueryCounts, QueryKind, Sample, ServiceTimeParts, TxnKind,
};
pub use reads::Reads;
pub use statement_table::{NamedStatement, StatementTable};
pub use worker_context::{StartRules, WorkerContext};
