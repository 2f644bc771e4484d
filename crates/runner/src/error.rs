//! Errors in preparing and starting a run.

use crate::refused::Refused;
use prony_plan::{ErrorParts, UserError};
use prony_store::StoreError;

/// Why a run could not be prepared or started.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.parts().sentence())]
pub enum Error {
    /// The data is not loaded or does not match the plan.
    #[error(transparent)]
    Workload(prony_workload::Error),
    /// The server's version and settings could not be read.
    #[error(transparent)]
    Server(prony_server::control::Error),
    /// The URL of the node_exporter, which the flag or the location in the plan `origin` set, is invalid.
    ExporterUrl { problem: String, origin: String },
    /// The node_exporter at the URL that `origin` set does not answer.
    ExporterSilent { problem: String, origin: String },
    /// The transactions of this workload cannot write their numbers.
    NoLedger(String),
    /// The transactions of this workload are procedures that commit by themselves.
    NoLedgerOfProcedures(String),
    /// No transaction of this workload is known to only read, so that a server for reads has nothing to do.
    NoReads(String),
    /// The run must be stored but cannot be.
    #[error(transparent)]
    NotStored(StoreError),
    /// The load could not start.
    #[error(transparent)]
    NotStarted(prony_drive::Error),
    /// The machines that were to drive the clients cannot.
    #[error(transparent)]
    Fleet(prony_fleet::Error),
    /// The server refuses the transactions.
    #[error(transparent)]
    Refused(Refused),
}

impl UserError for Error {
    fn parts(&self) -> ErrorParts {
        match self {
            Error::Workload(error) => error.parts(),
            Error::Server(error) => error.parts(),
            Error::NotStored(error) => error.parts(),
            Error::NotStarted(error) => error.parts(),
            Error::Fleet(error) => error.parts(),
            Error::Refused(error) => error.parts(),
            Error::ExporterUrl { problem, origin } | Error::ExporterSilent { problem, origin } => {
                ErrorParts::new(problem)
                    .with_hint(format!("see the URL of {origin}, or run without it"))
            }
            Error::NoReads(workload) => ErrorParts::new(format!(
                "no transaction of {workload} is known to only read, so that a server for reads has nothing to do"
            ))
            .with_hint(
                "leave out --read-from, or use a workload that reads, such as tpcc, select-only, oltp_read_only, ycsb, or own SQL with reads = true",
            ),
            Error::NoLedgerOfProcedures(workload) => ErrorParts::new(format!(
                "no ledger: all transactions of {workload} are procedures that commit themselves, before they could write their numbers"
            ))
            .with_hint(
                "execute the statements themselves (tpcc: -o mode=statements), call the procedures in a block of your own SQL, or \
                 leave out --ledger",
            ),
            Error::NoLedger(workload) => ErrorParts::new(format!(
                "no ledger: the transactions of {workload} only read, or are sent as text (a replay, scripts with --protocol simple), \
                 and cannot write their numbers"
            ))
            .with_hint(
                "leave out --ledger, use --protocol prepared with a script, or use a workload of Prony's own statements, such as tpcb, \
                 tpcc or oltp_read_write",
            ),
        }
    }
}
