//! Which server answers, and where its log is: what an administrator compares before and after a failover.
//!
//! Must never: fail because a product or a version does not have a value.

use crate::control::Control;
use prony_document::SqlDialect;
use std::collections::BTreeMap;

/// A standby's timeline is that of its last restart point.
const POSTGRES: &str = "select 'server', coalesce(host(inet_server_addr()) || ':', 'port ') || current_setting('port') \
     union all select 'role', case when pg_is_in_recovery() then 'standby' else 'primary' end \
     union all select 'timeline', case when pg_is_in_recovery() \
         then (select timeline_id::text from pg_control_checkpoint()) \
         else ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int::text end \
     union all select 'LSN', (case when pg_is_in_recovery() \
         then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end)::text";

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

/// The values by name; what the server refuses or does not have is absent.
pub fn read_log_position(control: &mut Control) -> BTreeMap<String, String> {
    let queries: &[&str] = match control.dialect() {
        SqlDialect::PostgreSql => &[POSTGRES],
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
    values.collect()
}
