//! How a PostgreSQL stands.
//!
//! In: a control connection, the settings. Out: a [`State`]. Must never: read a table; the catalog and
//! the statistics say it all.

use super::super::durability;
use super::super::{Facts, ask, cell, number, tally};
use super::{Replica, State, TABLES, TableState};
use crate::control::{Control, Error, Row};

const SERVER: &str = "select extract(epoch from pg_postmaster_start_time()), pg_is_in_recovery(), \
     pg_size_bytes(current_setting('shared_buffers'))";
const SIZE: &str = "select pg_database_size(current_database())";
const EXTENSIONS: &str =
    "select extname || ' ' || extversion from pg_extension where extname <> 'plpgsql' order by 1";
const REPLICAS: &str = "select coalesce(nullif(application_name, ''), client_addr::text, pid::text), \
     state, sync_state from pg_stat_replication where state is distinct from 'backup' order by 1";

/// A table's name as it is shown.
const NAME: &str = "case when n.nspname = 'public' then '' else n.nspname || '.' end || c.relname";
/// The tables of the user.
const OWN: &str = "c.relkind in ('r', 'm') and c.relpersistence <> 't' \
     and n.nspname not in ('pg_catalog', 'information_schema')";

/// Tables without a log, of the catalog alone: it is read by all, also where the statistics are not, and
/// knows of those that are too small to be listed.
fn unlogged() -> String {
    format!(
        "select {NAME} from pg_class c join pg_namespace n on n.oid = c.relnamespace \
         where {OWN} and c.relpersistence = 'u' order by 1 limit {TABLES}"
    )
}

/// A table's size waits for whoever has locked it for himself. Statements that are sent together are one
/// transaction: the setting ends with it, also behind a pooler.
const PATIENCE: &str = "set local lock_timeout = '2s'; ";

/// Rows: those counted as alive, or where nothing was counted yet those of the last analysis.
fn tables() -> String {
    format!(
        "select {NAME}, \
            pg_total_relation_size(c.oid), \
            coalesce(nullif(s.n_live_tup, 0), case when c.reltuples >= 0 then c.reltuples::bigint \
                end), \
            s.n_dead_tup, \
            extract(epoch from now() - greatest(s.last_analyze, s.last_autoanalyze)), \
            c.relpersistence = 'u', \
            s.vacuum_count + s.autovacuum_count, \
            s.analyze_count + s.autoanalyze_count \
         from pg_class c join pg_namespace n on n.oid = c.relnamespace \
            left join pg_stat_user_tables s on s.relid = c.oid \
         where {OWN} \
         order by 2 desc nulls last limit {TABLES}"
    )
}

fn table(row: &Row) -> Option<TableState> {
    Some(TableState {
        name: cell(row, 0)?.to_owned(),
        bytes: tally(row, 1),
        rows: tally(row, 2),
        dead_rows: tally(row, 3),
        statistics_age_s: number(row, 4),
        unlogged: cell(row, 5) == Some("t"),
        vacuums: tally(row, 6),
        analyses: tally(row, 7),
    })
}

fn replica(row: &Row) -> Replica {
    let text = |column| cell(row, column).unwrap_or_default().to_owned();
    Replica {
        name: text(0),
        state: text(1),
        mode: text(2),
    }
}

pub(super) fn read(control: &mut Control, facts: &Facts, state: &mut State) -> Result<(), Error> {
    let missing = &mut state.missing;
    if let Some(rows) = ask(control, "start of the server", SERVER, missing)?
        && let Some(row) = rows.first()
    {
        state.started_unix_s = number(row, 0);
        state.is_replica = cell(row, 1).map(|value| value == "t");
        state.cache_bytes = tally(row, 2);
    }
    if let Some(rows) = ask(control, "size of the database", SIZE, missing)? {
        state.database_bytes = rows.first().and_then(|row| tally(row, 0));
    }
    if let Some(rows) = ask(control, "extensions", EXTENSIONS, missing)? {
        let name = |row: &Row| cell(row, 0).map(str::to_owned);
        state.extensions = rows.iter().filter_map(name).collect();
    }
    if let Some(rows) = ask(
        control,
        "tables",
        &(PATIENCE.to_owned() + &tables()),
        missing,
    )? {
        state.tables = rows.iter().filter_map(table).collect();
    }
    let unlogged = ask(control, "tables without a log", &unlogged(), missing)?.map(|rows| {
        let name = |row: &Row| cell(row, 0).map(str::to_owned);
        rows.iter().filter_map(name).collect::<Vec<_>>()
    });
    let mut waited_for = 0;
    if let Some(rows) = ask(control, "replicas", REPLICAS, missing)? {
        state.replicas = rows.iter().map(replica).collect();
        let waits = |one: &&Replica| matches!(one.mode.as_str(), "sync" | "quorum");
        waited_for = state.replicas.iter().filter(waits).count();
        state.replication = Some(match (state.replicas.len(), waited_for) {
            (0, _) => "none",
            (_, 0) => "asynchronous",
            _ => "synchronous",
        });
    }
    state.durability = durability::postgres(facts, waited_for, unlogged.as_deref());
    Ok(())
}
