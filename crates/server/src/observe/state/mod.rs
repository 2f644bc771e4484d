//! Reads a server's state before and after the load.
//!
//! Must never: fail because a value is not available to this user or in this version; such a value
//! is listed as missing.

mod mysql;
mod postgres;
mod sqlserver;

pub(super) use mysql::{is_cluster_size, replica_status};

use super::{Reader, ServerFacts, cell};
use crate::control::{Control, Error, TextRow};
use prony_document::{
    MissingObservation, ObservedTopic, Replica, Replication, ServerState, Service, SqlDialect,
};
use std::collections::BTreeMap;

const MAX_LISTED_TABLES: usize = 100;

const MAX_TABLE_IDS: usize = 1000;

/// Names and ids of tables; `None` unless all of them could be read.
fn table_ids(rows: &[TextRow]) -> Option<BTreeMap<String, String>> {
    let id = |row: &TextRow| Some((cell(row, 0)?.to_owned(), cell(row, 1)?.to_owned()));
    rows.iter().map(id).collect()
}

/// Reads the server's state, without its counters, and what could not be read or is absent from its service.
pub fn read_server_state(
    control: &mut Control,
    facts: &ServerFacts,
) -> Result<(ServerState, Vec<MissingObservation>), Error> {
    let mut state = ServerState::default();
    let absent = facts
        .service
        .into_iter()
        .flat_map(MissingObservation::absent_from);
    let mut reader = Reader {
        control,
        missing: absent.collect(),
    };
    let is_absent = |topic| {
        let mut absent = facts.service.into_iter().flat_map(Service::absent);
        absent.any(|(absent, _)| absent == topic)
    };
    let read = match reader.control.dialect() {
        SqlDialect::PostgreSql => postgres::read,
        SqlDialect::MySql => mysql::read,
        SqlDialect::TransactSql => sqlserver::read,
    };
    read(&mut reader, facts, &mut state)?;
    if is_absent(ObservedTopic::Durability) {
        state.durability = None;
    }
    if is_absent(ObservedTopic::Replicas) {
        state.replication = None;
    }
    Ok((state, reader.missing))
}

/// Columns: name, state, mode.
fn parse_replica(row: &TextRow) -> Option<Replica> {
    let text = |column| cell(row, column).unwrap_or_default().to_owned();
    Some(Replica {
        name: text(0),
        state: text(1),
        mode: text(2),
    })
}

/// How a server replicates to some replicas, for `synchronous` of which a commit waits.
fn replication(replicas: &[Replica], synchronous: usize) -> Replication {
    match (replicas.len(), synchronous) {
        (0, _) => Replication::NotVisible,
        (_, 0) => Replication::Asynchronous,
        _ => Replication::Synchronous,
    }
}
