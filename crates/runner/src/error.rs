//! Errors in preparing and starting a run.

use crate::refused::Refused;
use prony_plan::{ErrorParts, UserError};
use prony_store::StoreError;
use std::fmt;

/// Why a run could not be prepared or started.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The data is not loaded or does not match the plan.
    Workload(#[source] prony_workload::Error),
    /// The server's version and settings could not be read.
    Server(#[source] prony_server::control::Error),
    /// The URL of the node_exporter is invalid.
    ExporterUrl {
        /// The problem, as a message.
        problem: String,
        /// The flag or the location in the plan that set the URL.
        origin: String,
    },
    /// The node_exporter does not answer.
    ExporterSilent {
        /// The problem, as a message.
        problem: String,
        /// The flag or the location in the plan that set the URL.
        origin: String,
    },
    /// The transactions of this workload cannot write their numbers.
    NoLedger(String),
    /// No transaction of this workload is known to only read, so that a server for reads has nothing to do.
    NoReads(String),
    /// The run must be stored but cannot be.
    NotStored(#[source] StoreError),
    /// The load could not start.
    NotStarted(#[source] prony_drive::Error),
    /// The machines that were to drive the clients cannot.
    Fleet(#[source] prony_fleet::Error),
    /// The server refuses the transactions.
    Refused(#[source] Refused),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Workload(error) => error.fmt(f),
            Error::Server(error) => error.fmt(f),
            Error::NotStored(error) => error.fmt(f),
            Error::NotStarted(error) => error.fmt(f),
            Error::Fleet(error) => error.fmt(f),
            Error::Refused(error) => error.fmt(f),
            Error::ExporterUrl { .. }
            | Error::ExporterSilent { .. }
            | Error::NoLedger(_)
            | Error::NoReads(_) => f.write_str(&self.parts().sentence()),
        }
    }
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
            Error::NoLedger(workload) => ErrorParts::new(format!(
                "no ledger: the transactions of {workload} only read, or are text or those of a script, and cannot write their numbers"
            ))
            .with_hint(
                "leave out --ledger, or use a workload of Prony's own statements, such as tpcb, tpcc or oltp_read_write",
            ),
        }
    }
}
