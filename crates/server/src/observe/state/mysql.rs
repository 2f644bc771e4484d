//! Reads the state of MySQL or MariaDB.
//!
//! Must never: read a user's table; the data dictionary and the status variables suffice.

use super::super::{Reader, ServerFacts, cell, durability, first_cell, number, tally};
use super::{MAX_LISTED_TABLES, MAX_TABLE_IDS, parse_replica, table_ids};
use crate::control::{Control, Error, TextRow};
use prony_document::{ObservedTopic, Replica, Replication, ServerState, TableState};

/// This statement works in all versions; the table that has this value is named differently in MySQL
/// 5.6, in MySQL since 5.7 and in MariaDB.
const UPTIME_QUERY: &str = "SHOW GLOBAL STATUS LIKE 'Uptime'";
const CLOCK_QUERY: &str = "SELECT UNIX_TIMESTAMP()";
const PLUGINS_QUERY: &str = "SELECT CONCAT(PLUGIN_NAME, ' ', PLUGIN_VERSION) FROM \
     information_schema.PLUGINS WHERE PLUGIN_STATUS = 'ACTIVE' AND PLUGIN_LIBRARY IS NOT NULL \
     ORDER BY 1";
const SIZE_QUERY: &str = "SELECT COALESCE(SUM(DATA_LENGTH + INDEX_LENGTH), 0) FROM information_schema.TABLES \
     WHERE TABLE_SCHEMA = DATABASE()";
const STATISTICS_QUERY: &str = "SELECT table_name, TIMESTAMPDIFF(SECOND, last_update, NOW()) \
     FROM mysql.innodb_table_stats WHERE database_name = DATABASE()";
const SEMI_SYNC_QUERY: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Rpl_semi_sync_master_status', \
     'Rpl_semi_sync_source_status')";
/// The number of nodes of a Galera cluster, 0 or absent without one, and the state of this node.
const GALERA_QUERY: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_cluster_size', \
     'wsrep_cluster_status', 'wsrep_local_state_comment')";
/// The other members of group replication.
const GROUP_QUERY: &str = "SELECT MEMBER_HOST FROM performance_schema.replication_group_members \
     WHERE MEMBER_STATE = 'ONLINE' AND MEMBER_ID <> @@server_uuid";
/// Threads that send the binary log to replicas.
const REPLICAS_QUERY: &str = "SELECT CONCAT(USER, '@', HOST), STATE FROM information_schema.PROCESSLIST \
     WHERE COMMAND LIKE 'Binlog Dump%'";

/// Storage engines with a write-ahead log; their tables survive a crash.
const LOGGED_ENGINES: [&str; 5] = ["innodb", "rocksdb", "ndbcluster", "aria", "tokudb"];

/// Query for tables of storage engines without a log, including tables too small to be listed.
/// Tables that the user has no privileges on are not visible.
fn unlogged_query() -> String {
    let logged = LOGGED_ENGINES
        .map(|engine| format!("'{engine}'"))
        .join(", ");
    format!(
        "SELECT TABLE_NAME, ENGINE FROM information_schema.TABLES \
         WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' \
         AND LOWER(COALESCE(ENGINE, '')) NOT IN ({logged}) ORDER BY 1 LIMIT {MAX_LISTED_TABLES}"
    )
}

fn tables_query() -> String {
    format!(
        "SELECT TABLE_NAME, ENGINE, TABLE_ROWS, DATA_LENGTH + INDEX_LENGTH \
         FROM information_schema.TABLES \
         WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' \
         ORDER BY 4 DESC LIMIT {MAX_LISTED_TABLES}"
    )
}

/// Query for table ids: recreating, truncating or rebuilding a table changes its creation time.
fn table_ids_query() -> String {
    format!(
        "SELECT TABLE_NAME, CREATE_TIME FROM information_schema.TABLES \
         WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' \
         AND CREATE_TIME IS NOT NULL ORDER BY 1 LIMIT {MAX_TABLE_IDS}"
    )
}

/// A table's display name, with its engine if the engine has no log; and whether it has no log.
fn display_name(row: &TextRow) -> Option<(String, bool)> {
    let (name, engine) = (cell(row, 0)?, cell(row, 1).unwrap_or_default());
    Some(
        if LOGGED_ENGINES.contains(&engine.to_ascii_lowercase().as_str()) {
            (name.to_owned(), false)
        } else {
            (format!("{name} ({engine})"), true)
        },
    )
}

fn parse_table(row: &TextRow) -> Option<TableState> {
    let (name, unlogged) = display_name(row)?;
    Some(TableState {
        name,
        bytes: tally(row, 3),
        rows: tally(row, 2),
        unlogged,
        ..TableState::default()
    })
}

pub(super) fn read(
    reader: &mut Reader<'_>,
    facts: &ServerFacts,
    state: &mut ServerState,
) -> Result<(), Error> {
    if let Some(uptime) = reader.rows(ObservedTopic::ServerStart, UPTIME_QUERY)?
        && let Some(clock) = reader.rows(ObservedTopic::ServerStart, CLOCK_QUERY)?
    {
        state.started_unix_s = start_time(&uptime, &clock);
    }
    let cache = facts.setting("innodb_buffer_pool_size");
    state.cache_bytes = cache.and_then(|bytes| bytes.parse().ok());
    state.database_bytes =
        reader.first(ObservedTopic::DatabaseSize, SIZE_QUERY, |row| tally(row, 0))?;
    let plugins = reader.each(ObservedTopic::Plugins, PLUGINS_QUERY, first_cell)?;
    state.extensions = plugins.unwrap_or_default();
    let ids = reader.rows(ObservedTopic::TableIds, &table_ids_query())?;
    state.table_ids = ids.as_deref().and_then(table_ids);
    let tables = reader.each(ObservedTopic::Tables, &tables_query(), parse_table)?;
    state.tables = tables.unwrap_or_default();
    let name = |row: &TextRow| display_name(row).map(|(name, _)| name);
    let unlogged = reader.each(ObservedTopic::UnloggedTables, &unlogged_query(), name)?;
    if let Some(rows) = reader.rows(ObservedTopic::StatisticsAge, STATISTICS_QUERY)? {
        set_statistics_ages(&mut state.tables, &rows);
    }
    let in_other_machines = read_replication(reader, state)?;
    state.durability = durability::mysql(facts, in_other_machines, unlogged.as_deref());
    Ok(())
}

/// The server's clock minus its uptime.
fn start_time(uptime: &[TextRow], clock: &[TextRow]) -> Option<f64> {
    let up_s: f64 = number(uptime.first()?, 1)?;
    let now_s: f64 = number(clock.first()?, 0)?;
    Some(now_s - up_s)
}

fn set_statistics_ages(tables: &mut [TableState], rows: &[TextRow]) {
    for row in rows {
        let mut tables = tables.iter_mut();
        if let Some(table) = tables.find(|table| cell(row, 0) == Some(&table.name)) {
            table.statistics_age_s = number(row, 1);
        }
    }
}

/// Reads the replicas and whether the server is itself a replica. Returns why other machines have each commit before the
/// client is told; `None` if they may not.
fn read_replication(
    reader: &mut Reader<'_>,
    state: &mut ServerState,
) -> Result<Option<String>, Error> {
    let rows = reader.rows(ObservedTopic::SemiSynchronousReplication, SEMI_SYNC_QUERY)?;
    let is_on = |row: &TextRow| cell(row, 1).is_some_and(|value| value.eq_ignore_ascii_case("on"));
    let semi_sync = rows.is_some_and(|rows| rows.iter().any(is_on));
    // Without the privilege PROCESS, the process list has only this user's threads: it would seem that no
    // replica is connected.
    if let Some(grants) = reader.rows(ObservedTopic::Privileges, "SHOW GRANTS")?
        && !sees_all_threads(&grants)
    {
        let reason = "without the privilege PROCESS only this user's threads are visible; run GRANT PROCESS ON *.* TO the user";
        reader.miss(ObservedTopic::OtherUsersThreads, reason);
    } else if let Some(replicas) =
        reader.each(ObservedTopic::Replicas, REPLICAS_QUERY, parse_replica)?
    {
        state.replication = Some(match (replicas.len(), semi_sync) {
            (0, _) => Replication::NotVisible,
            (_, true) => Replication::SemiSynchronous,
            (_, false) => Replication::Asynchronous,
        });
        state.replicas = replicas;
    }
    let in_cluster = read_cluster(reader, state)?;
    let status = reader.rows(ObservedTopic::IsReplica, replica_status(reader.control))?;
    state.is_replica = status.map(|rows| !rows.is_empty());
    // Its status stays on after the last replica has left, until a commit has waited in vain.
    let by_semi_sync = (semi_sync && state.replication != Some(Replication::NotVisible))
        .then(|| "semi-synchronous replication".to_owned());
    Ok(in_cluster.or(by_semi_sync))
}

/// Reads the other members of a Galera cluster or of group replication, to which a commit is sent before it returns.
/// Returns what a commit has passed then; `None` without a cluster.
fn read_cluster(reader: &mut Reader<'_>, state: &mut ServerState) -> Result<Option<String>, Error> {
    let rows = reader.rows(ObservedTopic::Replicas, GALERA_QUERY)?;
    let rows = rows.unwrap_or_default();
    let status = |name: &str| rows.iter().find(|row| cell(row, 0) == Some(name));
    let text = |name: &str| {
        status(name)
            .and_then(|row| cell(row, 1))
            .unwrap_or_default()
    };
    let size = status("wsrep_cluster_size").and_then(|row| tally(row, 1));
    let size = size.filter(|size| is_cluster_size(*size)).unwrap_or(0);
    let node_state = format!(
        "this node: {}, {}",
        text("wsrep_cluster_status"),
        text("wsrep_local_state_comment")
    );
    let member = |name: String, state: String| Replica {
        name,
        state,
        mode: "member of the cluster".to_owned(),
    };
    let mut members =
        vec![member("Galera".to_owned(), node_state); size.saturating_sub(1) as usize];
    let passed = (size > 1).then(|| {
        format!("Galera: certified and received by all {size} nodes, flushed on this one")
    });
    let has_group = |plugin: &String| plugin.starts_with("group_replication ");
    if state.extensions.iter().any(has_group)
        && let Some(hosts) = reader.each(ObservedTopic::Replicas, GROUP_QUERY, first_cell)?
    {
        members.extend(hosts.into_iter().map(|host| member(host, String::new())));
    }
    if !members.is_empty() {
        state.replication = Some(Replication::Synchronous);
    }
    state.replicas.extend(members);
    Ok(passed)
}

/// Whether a server is in a Galera cluster: a node that has lost it may report the largest number there is.
pub(in super::super) fn is_cluster_size(nodes: u64) -> bool {
    (1..1_000).contains(&nodes)
}

/// Whether the grants let this user see other users' threads.
fn sees_all_threads(grants: &[TextRow]) -> bool {
    let grant = |row: &TextRow| cell(row, 0).unwrap_or_default().to_ascii_uppercase();
    grants.iter().map(grant).any(|grant| {
        // The user's name follows, and may contain anything.
        let privileges = grant
            .split_once(" ON *.* ")
            .map_or("", |(privileges, _)| privileges);
        let mut privileges = privileges
            .trim_start_matches("GRANT ")
            .split(',')
            .map(str::trim);
        privileges.any(|privilege| ["PROCESS", "ALL PRIVILEGES"].contains(&privilege))
    })
}

/// The statement for a replica's status; MySQL 8.4 removed the older form.
pub(in super::super) fn replica_status(control: &Control) -> &'static str {
    if control.has_since(control.product().show_replica_status_since) {
        "SHOW REPLICA STATUS"
    } else {
        "SHOW SLAVE STATUS"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_time_is_the_clock_minus_the_uptime() {
        let cells = |cells: &[&str]| -> Vec<TextRow> {
            let row = cells.iter().map(|cell| Some((*cell).to_owned()));
            vec![row.collect()]
        };
        // The output of MySQL 5.6.14.
        let (uptime, clock) = (cells(&["Uptime", "41"]), cells(&["1795265041"]));
        assert_eq!(start_time(&uptime, &clock), Some(1_795_265_000.0));
        assert_eq!(start_time(&[], &clock), None);
        assert_eq!(start_time(&cells(&["Uptime", "soon"]), &clock), None);
    }

    #[test]
    fn the_privilege_process_shows_threads_of_other_users() {
        let grants = |text: &str| vec![vec![Some(text.to_owned())]];
        for (text, expected) in [
            ("GRANT USAGE ON *.* TO `u`@`%`", false),
            ("GRANT SELECT, PROCESS ON *.* TO `u`@`%`", true),
            (
                "GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION",
                true,
            ),
            ("GRANT ALL PRIVILEGES ON `bench`.* TO `u`@`%`", false),
        ] {
            assert_eq!(sees_all_threads(&grants(text)), expected, "{text}");
        }
    }

    #[test]
    fn a_table_without_a_log_is_shown_with_its_engine() {
        let row = |engine: &str| -> TextRow {
            let cells = ["t", engine, "12", "16384"];
            cells.map(|cell| Some(cell.to_owned())).into()
        };
        let innodb = parse_table(&row("InnoDB")).unwrap();
        assert_eq!((innodb.name.as_str(), innodb.unlogged), ("t", false));
        assert_eq!((innodb.rows, innodb.bytes), (Some(12), Some(16384)));
        let memory = parse_table(&row("MEMORY")).unwrap();
        assert_eq!(
            (memory.name.as_str(), memory.unlogged),
            ("t (MEMORY)", true)
        );
    }
}
