//! How the rows of a load reach the server, by engine.

use super::mysql::BulkStatement;
use super::sqlserver::BulkStream;
use crate::Error;
use prony_document::SqlDialect;
use prony_server::{Control, Target};

#[derive(Clone, Debug)]
pub enum RowTransfer {
    /// PostgreSQL's COPY.
    Copy,
    /// MySQL's and MariaDB's statements.
    Statements(BulkStatement),
    /// SQL Server's bulk streams.
    Streams(BulkStream),
}

impl RowTransfer {
    /// Chooses by the server's engine and settings. `loaders` is the argument of [`BulkStatement::choose`];
    /// `target` is used by the connections that will send the rows, and is changed to allow `LOAD DATA`.
    pub fn choose(control: &mut Control, target: &mut Target, loaders: u32) -> Result<Self, Error> {
        Ok(match control.dialect() {
            SqlDialect::PostgreSql => RowTransfer::Copy,
            SqlDialect::MySql => {
                // Prony answers a LOAD DATA with rows from memory, and never with the file that it names.
                target.allow_load_data();
                RowTransfer::Statements(BulkStatement::choose(control, loaders)?)
            }
            SqlDialect::TransactSql => RowTransfer::Streams(BulkStream::of(control)?),
        })
    }
}
