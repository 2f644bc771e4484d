//! Reads the state of SQL Server.
//!
//! Must never: read a user's table; the catalog and the statistics suffice.

use super::super::durability;
use super::super::{Reader, ServerFacts, cell, first_cell, number, tally};
use super::{MAX_LISTED_TABLES, MAX_TABLE_IDS, parse_replica, replication, table_ids};
use crate::control::{Error, TextRow};
use prony_document::{ObservedTopic, Replica, Replication, ServerState, TableState};

const START_QUERY: &str = "select datediff(second, '20000101', sysutcdatetime()) + 946684800.0 \
     - datediff(second, sqlserver_start_time, getdate()) from sys.dm_os_sys_info";
const CACHE_QUERY: &str = "select committed_target_kb * 1024.0 from sys.dm_os_sys_info";
const SIZE_QUERY: &str =
    "select sum(cast(size as bigint)) * 8192 from sys.database_files where type = 0";
/// Replicas of the availability group of this database, as its primary sees them.
const REPLICAS_QUERY: &str = "select r.replica_server_name, s.synchronization_state_desc, \
     r.availability_mode_desc from sys.dm_hadr_database_replica_states s \
     join sys.availability_replicas r on r.replica_id = s.replica_id \
     where s.database_id = db_id() and s.is_local = 0 order by 1";
const IS_REPLICA_QUERY: &str = "select count(*) from sys.dm_hadr_database_replica_states \
     where database_id = db_id() and is_local = 1 and is_primary_replica = 0";
/// Number of synchronous secondaries without which no transaction commits; since SQL Server 2017.
const REQUIRED_QUERY: &str = "select max(required_synchronized_secondaries_to_commit) \
     from sys.availability_groups g join sys.dm_hadr_database_replica_states s \
     on s.group_id = g.group_id where s.database_id = db_id()";
/// Tables whose rows a restart destroys; since SQL Server 2014.
const UNLOGGED_QUERY: &str =
    "select name from sys.tables where durability_desc = 'SCHEMA_ONLY' order by 1";
/// First version with memory-optimized tables and with delayed durability.
const VERSION_2014: u32 = 12_000_000;

const DISPLAY_NAME: &str = "case when s.name = 'dbo' then '' else s.name + '.' end + t.name";

fn table_ids_query() -> String {
    format!(
        "select top ({MAX_TABLE_IDS}) {DISPLAY_NAME}, cast(t.object_id as varchar(20)) + '/' \
         + convert(varchar(30), t.create_date, 126) \
         from sys.tables t join sys.schemas s on s.schema_id = t.schema_id \
         where t.is_ms_shipped = 0 order by 1"
    )
}

fn tables_query() -> String {
    format!(
        "select top ({MAX_LISTED_TABLES}) {DISPLAY_NAME}, sum(p.used_page_count) * 8192, \
         sum(case when p.index_id < 2 then p.row_count else 0 end) \
         from sys.tables t join sys.schemas s on s.schema_id = t.schema_id \
         join sys.dm_db_partition_stats p on p.object_id = t.object_id \
         where t.is_ms_shipped = 0 group by s.name, t.name order by 2 desc"
    )
}

pub(super) fn read(
    reader: &mut Reader<'_>,
    facts: &ServerFacts,
    state: &mut ServerState,
) -> Result<(), Error> {
    state.started_unix_s = reader.first(ObservedTopic::ServerStart, START_QUERY, |row| {
        number(row, 0)
    })?;
    if state.started_unix_s.is_some() {
        // In SQL Server 2008 the column has a different name: its size then stays unknown.
        state.cache_bytes =
            reader.first(ObservedTopic::ServerStart, CACHE_QUERY, |row| tally(row, 0))?;
    }
    state.database_bytes =
        reader.first(ObservedTopic::DatabaseSize, SIZE_QUERY, |row| tally(row, 0))?;
    let ids = reader.rows(ObservedTopic::TableIds, &table_ids_query())?;
    state.table_ids = ids.as_deref().and_then(table_ids);
    let unlogged = if reader.control.server_version() >= VERSION_2014 {
        reader.each(ObservedTopic::UnloggedTables, UNLOGGED_QUERY, first_cell)?
    } else {
        Some(Vec::new())
    };
    let is_unlogged = |name: &str| unlogged.iter().flatten().any(|table| table == name);
    let tables = reader.each(ObservedTopic::Tables, &tables_query(), |row| {
        parse_table(row, is_unlogged)
    })?;
    state.tables = tables.unwrap_or_default();
    let waits_for = read_replication(reader, facts, state)?;
    state.durability = durability::sql_server(facts, waits_for, unlogged.as_deref());
    Ok(())
}

fn parse_table(row: &TextRow, is_unlogged: impl Fn(&str) -> bool) -> Option<TableState> {
    let name = cell(row, 0)?;
    Some(TableState {
        name: name.to_owned(),
        bytes: tally(row, 1),
        rows: tally(row, 2),
        unlogged: is_unlogged(name),
        ..TableState::default()
    })
}

/// Reads the replicas of the availability group. Returns how many synchronized replicas a commit requires.
fn read_replication(
    reader: &mut Reader<'_>,
    facts: &ServerFacts,
    state: &mut ServerState,
) -> Result<u32, Error> {
    if facts.setting("IsHadrEnabled") != Some("1") {
        if facts.setting("IsHadrEnabled").is_none() {
            let reason = "the server does not say whether it has availability groups";
            reader.miss(ObservedTopic::Replicas, reason);
        } else {
            state.replication = Some(Replication::NotVisible);
            state.is_replica = Some(false);
        }
        return Ok(0);
    }
    let replicas_here = reader.first(ObservedTopic::IsReplica, IS_REPLICA_QUERY, |row| {
        tally(row, 0)
    })?;
    state.is_replica = replicas_here.map(|count| count > 0);
    let replicas = reader.each(ObservedTopic::Replicas, REPLICAS_QUERY, parse_replica)?;
    let Some(replicas) = replicas else {
        return Ok(0);
    };
    let synchronized = |replica: &&Replica| {
        replica.mode == "SYNCHRONOUS_COMMIT" && replica.state == "SYNCHRONIZED"
    };
    let synchronized = replicas.iter().filter(synchronized).count();
    state.replication = Some(replication(&replicas, synchronized));
    state.replicas = replicas;
    if synchronized == 0 {
        return Ok(0);
    }
    let required = reader.first(ObservedTopic::Replicas, REQUIRED_QUERY, |row| {
        number(row, 0)
    })?;
    Ok(required.unwrap_or(0))
}
