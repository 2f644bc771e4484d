//! Which server answers, and where its log is: what an administrator compares before and after a failover.
//!
//! Must never: fail because a product or a version does not have a value.

use super::state::replica_status;
use crate::control::{Control, SessionProperty};
use crate::settings::is_secondary;
use prony_document::SqlDialect;
use std::collections::BTreeMap;

/// Each by itself, because products refuse some. A standby's timeline is that of its last restart point.
const POSTGRES: [&str; 4] = [
    "select 'server', coalesce(host(inet_server_addr()) || ':', 'port ') || current_setting('port')",
    "select 'role', case when pg_is_in_recovery() then 'standby' else 'primary' end",
    "select 'timeline', case when pg_is_in_recovery() \
         then (select timeline_id::text from pg_control_checkpoint()) \
         else ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int::text end",
    "select 'LSN', (case when pg_is_in_recovery() \
         then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end)::text",
];

/// MySQL has the first set of GTIDs, MariaDB the second one.
const MYSQL: [&str; 4] = [
    "SELECT 'server', CONCAT(@@hostname, ':', @@port)",
    "SELECT 'GTIDs', @@global.gtid_executed",
    "SELECT 'GTIDs', @@global.gtid_current_pos",
    "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_cluster_state_uuid', 'wsrep_cluster_status', \
     'wsrep_cluster_size', 'wsrep_last_committed', 'wsrep_local_state_comment')",
];

const SQL_SERVER: [&str; 2] = [
    "SELECT 'server', @@SERVERNAME",
    "SELECT 'LSN', CONVERT(varchar(40), last_hardened_lsn) FROM sys.dm_hadr_database_replica_states \
     WHERE is_local = 1 AND database_id = DB_ID()",
];

/// Whether the server is a replica, or a node that is cut off from its Galera cluster, which may lack what others have
/// acknowledged; not if it does not say so.
pub fn is_replica(control: &mut Control) -> bool {
    match control.dialect() {
        SqlDialect::PostgreSql => has_value(control, SessionProperty::Standby.query(), |value| {
            value == "t"
        }),
        SqlDialect::MySql => {
            let has_channel = [
                "SELECT 1 FROM performance_schema.replication_connection_configuration LIMIT 1",
                replica_status(control),
            ];
            let status = control.query(GALERA_STATE);
            let is_cut_off = |row: &Vec<Option<String>>| {
                let state = row.get(1).and_then(Option::as_deref);
                state.is_some_and(is_galera_cut_off)
            };
            // A server that was promoted may keep its channel.
            status.is_ok_and(|rows| rows.iter().any(is_cut_off))
                || only_reads(control)
                    && has_channel.iter().any(|sql| {
                        let rows = control.query(sql);
                        rows.is_ok_and(|rows| !rows.is_empty())
                    })
        }
        SqlDialect::TransactSql => is_secondary(control).unwrap_or(false),
    }
}

/// The query for the state of a node of Galera; without a cluster it has no row, whereas `wsrep_ready` is off.
pub const GALERA_STATE: &str = "SHOW GLOBAL STATUS LIKE 'wsrep_local_state_comment'";

/// Whether the server is a node of a Galera cluster.
pub fn is_galera(control: &mut Control) -> bool {
    let state = control.query(GALERA_STATE);
    state.is_ok_and(|rows| !rows.is_empty())
}

/// Whether a node of Galera in this state refuses statements: it is cut off, or has not yet received what the others have.
pub fn is_galera_cut_off(state: &str) -> bool {
    !["Synced", "Donor/Desynced"].contains(&state)
}

/// Whether a value of `read_only` refuses writes; MariaDB 12 names the kinds.
pub fn is_read_only(value: &str) -> bool {
    ["1", "ON", "NO_LOCK", "NO_LOCK_NO_ADMIN"].contains(&value)
}

/// Whether a server of MySQL's protocol is read-only: next to a writable one, it is the one that was replaced, even before
/// it becomes a replica.
pub fn only_reads(control: &mut Control) -> bool {
    control.dialect() == SqlDialect::MySql
        && has_value(control, "SELECT @@global.read_only", is_read_only)
}

fn has_value(control: &mut Control, sql: &str, is_it: impl Fn(&str) -> bool) -> bool {
    let found = control.query_value(sql).ok().flatten();
    found.is_some_and(|found| is_it(&found))
}

/// The values by name; what the server refuses or does not have is absent.
pub fn read_log_position(control: &mut Control) -> BTreeMap<String, String> {
    let queries: &[&str] = match control.dialect() {
        SqlDialect::PostgreSql => &POSTGRES,
        SqlDialect::MySql => &MYSQL,
        SqlDialect::TransactSql => &SQL_SERVER,
    };
    let rows = queries
        .iter()
        .flat_map(|query| control.query(query).unwrap_or_default());
    let values = rows.filter_map(|row| {
        let mut cells = row.into_iter();
        let (name, value) = (cells.next()??, cells.next()??);
        // Without GTIDs or a cluster.
        (!value.is_empty()).then_some((name, value))
    });
    without_absent_cluster(values.collect())
}

/// The values, without those of Galera if the server is in no cluster: MariaDB has some of them all the same, such as a
/// size of 0.
fn without_absent_cluster(mut values: BTreeMap<String, String>) -> BTreeMap<String, String> {
    if !values.contains_key("wsrep_local_state_comment") {
        values.retain(|name, _| !name.starts_with("wsrep_"));
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_without_a_cluster_has_no_size_of_one() {
        let names = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter().map(|(a, b)| (a.to_string(), b.to_string()));
            let values = without_absent_cluster(pairs.collect());
            values.into_keys().collect::<Vec<_>>()
        };
        let alone = [
            ("server", "db1:3306"),
            ("wsrep_cluster_size", "0"),
            ("wsrep_cluster_status", "Disconnected"),
        ];
        assert_eq!(names(&alone), ["server"]);
        let node = [&alone[..], &[("wsrep_local_state_comment", "Initialized")]].concat();
        assert_eq!(names(&node).len(), 4, "a node that is cut off");
    }
}
