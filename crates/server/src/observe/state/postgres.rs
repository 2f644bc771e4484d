//! Reads the state of PostgreSQL.
//!
//! Must never: read a user's table; the catalog and the statistics suffice.

use super::super::durability;
use super::super::{Reader, ServerFacts, cell, first_cell, number, tally};
use super::{MAX_LISTED_TABLES, MAX_TABLE_IDS, parse_replica, replication, table_ids};
use crate::control::{Error, TextRow};
use prony_document::{ObservedTopic, Replica, ServerState, TableState};

const SERVER_QUERY: &str = "select extract(epoch from pg_postmaster_start_time()), pg_is_in_recovery(), \
     pg_size_bytes(current_setting('shared_buffers'))";
const SIZE_QUERY: &str = "select pg_database_size(current_database())";
const EXTENSIONS_QUERY: &str =
    "select extname || ' ' || extversion from pg_extension where extname <> 'plpgsql' order by 1";
const REPLICAS_QUERY: &str = "select coalesce(nullif(application_name, ''), client_addr::text, pid::text), \
     state, sync_state from pg_stat_replication where state is distinct from 'backup' order by 1";

const DISPLAY_NAME: &str =
    "case when n.nspname = 'public' then '' else n.nspname || '.' end || c.relname";
/// Condition for the user's tables.
const USER_TABLES: &str = "c.relkind in ('r', 'm') and c.relpersistence <> 't' \
     and n.nspname not in ('pg_catalog', 'information_schema')";

/// Query for unlogged tables, including tables too small to be listed. It reads only the catalog,
/// which every role may read even if the statistics are hidden.
fn unlogged_query() -> String {
    format!(
        "select {DISPLAY_NAME} from pg_class c join pg_namespace n on n.oid = c.relnamespace \
         where {USER_TABLES} and c.relpersistence = 'u' order by 1 limit {MAX_LISTED_TABLES}"
    )
}

/// Query for table ids. It reads only the catalog, which works even while other sessions lock
/// the tables. Recreating a table changes its oid; truncating or rewriting it changes its file
/// node. For a partition it adds the name of the top-level table, which statements use.
fn table_ids_query() -> String {
    const TOP_LEVEL_TABLE: &str = "with recursive up as ( \
            select i.inhparent, 1 as level from pg_inherits i where i.inhrelid = c.oid \
            union all \
            select i.inhparent, up.level + 1 from pg_inherits i join up on i.inhrelid = up.inhparent) \
         select relname from up join pg_class p on p.oid = up.inhparent order by level desc limit 1";
    format!(
        "select {DISPLAY_NAME}, \
            c.oid::text || '/' || c.relfilenode || coalesce('/' || ({TOP_LEVEL_TABLE}), '') \
         from pg_class c join pg_namespace n on n.oid = c.relnamespace \
         where {USER_TABLES} and c.relkind = 'r' order by 1 limit {MAX_TABLE_IDS}"
    )
}

/// Limits how long the query for tables waits: reading the size of a table waits while another session has
/// an exclusive lock on it. Statements sent together form one transaction, and the setting ends with that
/// transaction, even behind a pooler.
const LOCK_TIMEOUT: &str = "set local lock_timeout = '2s'; ";

/// Query for the largest tables. Rows are the live tuples of the statistics or, if there are none
/// yet, the estimate of the last ANALYZE. A crash of the server resets the counts of analyses, but not what they
/// found: their number is not known then.
fn tables_query() -> String {
    format!(
        "select {DISPLAY_NAME}, \
            pg_total_relation_size(c.oid), \
            coalesce(nullif(s.n_live_tup, 0), case when c.reltuples >= 0 then c.reltuples::bigint \
                end), \
            s.n_dead_tup, \
            extract(epoch from now() - greatest(s.last_analyze, s.last_autoanalyze)), \
            c.relpersistence = 'u', \
            s.vacuum_count + s.autovacuum_count, \
            case when s.analyze_count + s.autoanalyze_count > 0 or not exists (select 1 from pg_stats p \
                where p.schemaname = n.nspname and p.tablename = c.relname) \
                then s.analyze_count + s.autoanalyze_count end \
         from pg_class c join pg_namespace n on n.oid = c.relnamespace \
            left join pg_stat_user_tables s on s.relid = c.oid \
         where {USER_TABLES} \
         order by 2 desc nulls last limit {MAX_LISTED_TABLES}"
    )
}

fn parse_table(row: &TextRow) -> Option<TableState> {
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

pub(super) fn read(
    reader: &mut Reader<'_>,
    facts: &ServerFacts,
    state: &mut ServerState,
) -> Result<(), Error> {
    let server = reader.rows(ObservedTopic::ServerStart, SERVER_QUERY)?;
    if let Some(row) = server.iter().flatten().next() {
        state.started_unix_s = number(row, 0);
        state.is_replica = cell(row, 1).map(|value| value == "t");
        state.cache_bytes = tally(row, 2);
    }
    if let Some(pooler) = &facts.pooler {
        let reason = format!(
            "{} is between, whose sessions report their commits late; connect to the server itself",
            pooler.name()
        );
        reader.miss(ObservedTopic::CommitsThroughPooler, reason);
    }
    state.database_bytes =
        reader.first(ObservedTopic::DatabaseSize, SIZE_QUERY, |row| tally(row, 0))?;
    let extensions = reader.each(ObservedTopic::Extensions, EXTENSIONS_QUERY, first_cell)?;
    state.extensions = extensions.unwrap_or_default();
    let ids = reader.rows(ObservedTopic::TableIds, &table_ids_query())?;
    state.table_ids = ids.as_deref().and_then(table_ids);
    let tables_query = LOCK_TIMEOUT.to_owned() + &tables_query();
    let tables = reader.each(ObservedTopic::Tables, &tables_query, parse_table)?;
    state.tables = tables.unwrap_or_default();
    let unlogged = reader.each(ObservedTopic::UnloggedTables, &unlogged_query(), first_cell)?;
    let sync_replicas = read_replication(reader, state)?;
    state.durability = durability::postgres(facts, sync_replicas, unlogged.as_deref());
    Ok(())
}

/// Reads the connected replicas. Returns the number of those for which a commit waits.
fn read_replication(reader: &mut Reader<'_>, state: &mut ServerState) -> Result<usize, Error> {
    let replicas = reader.each(ObservedTopic::Replicas, REPLICAS_QUERY, parse_replica)?;
    let Some(replicas) = replicas else {
        return Ok(0);
    };
    let is_synchronous = |replica: &&Replica| matches!(replica.mode.as_str(), "sync" | "quorum");
    let sync_replicas = replicas.iter().filter(is_synchronous).count();
    state.replication = Some(replication(&replicas, sync_replicas));
    state.replicas = replicas;
    Ok(sync_replicas)
}
