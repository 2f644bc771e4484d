//! Counter queries of SQL Server.
//!
//! Must never: read a view that is incomplete for a login without the permission for it.
//! Source: documentation of sys.dm_os_performance_counters: names are padded, and counters with `/sec` in
//! their names are cumulative.

use super::super::{Reader, cell, first_cell, number, tally};
use super::{
    Activity, ActivityKind, CounterQuery, Counters, is_active, named_values, read_clock,
    read_session_groups, read_waits,
};
use crate::control::{Error, TextRow};
use prony_document::{LimitUse, ObservedTopic};
use std::collections::BTreeMap;

/// Whether the login may read the server's state. The permission for that is VIEW SERVER STATE; since SQL
/// Server 2022 a part of it suffices, and in Azure SQL Database (edition 5) that of the database.
const RIGHTS_QUERY: &str = "select case when has_perms_by_name(null, null, 'VIEW SERVER STATE') = 1 \
     or has_perms_by_name(null, null, 'VIEW SERVER PERFORMANCE STATE') = 1 \
     or (serverproperty('EngineEdition') = 5 \
     and has_perms_by_name(db_name(), 'DATABASE', 'VIEW DATABASE STATE') = 1) then 1 else 0 end";
const CLOCK_QUERY: &str = "select datediff(second, '20000101', sysutcdatetime()) + 946684800.0 \
     + datepart(microsecond, sysutcdatetime()) / 1000000.0";
const START_QUERY: &str =
    "select datediff(second, sqlserver_start_time, getdate()) from sys.dm_os_sys_info";
/// The name of the database among the counters: Azure SQL Database shows the physical name there, a GUID, and older
/// versions have no column for it. The names have several collations.
const INSTANCE_NAMES: [&str; 2] = [
    "(select coalesce(physical_database_name, name) collate database_default from sys.databases \
     where database_id = db_id())",
    "db_name()",
];

/// Counters of the database, and counters of the whole server.
fn status_query(database_instance: &str) -> String {
    format!(
        "select rtrim(counter_name), cntr_value from sys.dm_os_performance_counters \
         where (counter_name = 'Log Bytes Flushed/sec' \
         and instance_name collate database_default in (db_name(), {database_instance})) \
         or (counter_name = 'Number of Deadlocks/sec' and instance_name = '_Total') \
         or (counter_name in ('Page lookups/sec', 'Page reads/sec') \
         and object_name like '%Buffer Manager%')"
    )
}

/// Sessions of clients by what their requests wait for; a session without a request is idle.
const SESSIONS_QUERY: &str = "select case when r.session_id is null then 'idle' else 'active' end, \
     r.wait_type, r.command, count(*) from sys.dm_exec_sessions s \
     left join sys.dm_exec_requests r on r.session_id = s.session_id \
     where s.is_user_process = 1 and s.session_id <> @@spid \
     group by case when r.session_id is null then 'idle' else 'active' end, r.wait_type, r.command";
/// The sessions of clients by who they are; one whose request ended in the last 20 ms is busy. Of another database's
/// sessions, Azure SQL Database shows nothing.
const SESSION_GROUPS_QUERY: &str = "select coalesce(db_name(s.database_id), ''), s.login_name, \
     coalesce(s.program_name, ''), max(case when s.database_id = me.database_id \
     and s.login_name = me.login_name and s.program_name = me.program_name then 1 else 0 end), \
     sum(case when r.session_id is not null \
     or s.last_request_end_time > dateadd(second, -1, getdate()) then 1 else 0 end), \
     sum(case when r.session_id is null and s.last_request_end_time > dateadd(millisecond, -20, getdate()) \
     or r.session_id is not null and coalesce(r.wait_type, '') not in \
     ('WAITFOR', 'ASYNC_NETWORK_IO') then 1 else 0 end) from sys.dm_exec_sessions s \
     left join sys.dm_exec_requests r on r.session_id = s.session_id \
     join sys.dm_exec_sessions me on me.session_id = @@spid \
     where s.is_user_process = 1 and s.session_id <> @@spid \
     group by s.database_id, s.login_name, s.program_name";

/// The waits whose times are summed: a name, and the condition for their wait types.
const WAIT_TIMES: [(&str, &str); 8] = [
    // Writing the log of a commit to disk.
    ("WRITELOG", "wait_type = 'WRITELOG'"),
    // A synchronous replica.
    ("HADR_SYNC_COMMIT", "wait_type = 'HADR_SYNC_COMMIT'"),
    // Other sessions that use a page in memory, or read it from disk.
    ("PAGELATCH", "wait_type like 'PAGELATCH[_]%'"),
    ("PAGEIOLATCH", "wait_type like 'PAGEIOLATCH[_]%'"),
    ("LCK_M", "wait_type like 'LCK[_]M[_]%'"),
    // A CPU.
    ("SOS_SCHEDULER_YIELD", "wait_type = 'SOS_SCHEDULER_YIELD'"),
    // The limit of the log's rate in Azure.
    (
        "LOG_RATE_GOVERNOR",
        "wait_type like '%LOG[_]RATE[_]GOVERNOR'",
    ),
    // This client, which reads too slowly.
    ("ASYNC_NETWORK_IO", "wait_type = 'ASYNC_NETWORK_IO'"),
];
/// SQL Server 2008 does not have these columns.
const CPU_QUERY: &str =
    "select (process_user_time_ms + process_kernel_time_ms) / 1000.0 from sys.dm_os_sys_info";
/// Azure SQL Database adds a row every 15 s.
const LIMITS_QUERY: &str = "select top (1) avg_cpu_percent, avg_data_io_percent, avg_log_write_percent \
     from sys.dm_db_resource_stats order by end_time desc";
const EDITION_QUERY: &str = "select cast(serverproperty('EngineEdition') as int)";
/// The edition Azure SQL Database, which shows a database what concerns it, and not the machine, because that has
/// other databases too.
const AZURE_SQL_DATABASE: &str = "5";

/// Beginnings of wait types, and the classes under which they are listed.
const WAIT_CLASSES: [(&str, &str); 8] = [
    ("LCK_M_", "Lock"),
    ("PAGEIOLATCH_", "IO"),
    ("PAGELATCH_", "Latch"),
    ("LATCH_", "Latch"),
    ("WRITELOG", "Log"),
    ("LOG", "Log"),
    ("HADR_", "Replication"),
    ("ASYNC_NETWORK_IO", "Client"),
];

/// Beginnings of commands that are not part of the load.
const MAINTENANCE: [(&str, ActivityKind); 6] = [
    ("BACKUP", ActivityKind::Backup),
    ("CREATE INDEX", ActivityKind::IndexBuild),
    ("ALTER INDEX", ActivityKind::IndexBuild),
    ("UPDATE STATISTIC", ActivityKind::Analyze),
    ("DBCC", ActivityKind::TableRebuild),
    ("ALTER TABLE", ActivityKind::TableRebuild),
];

/// The counter queries. Lists the values that this login may not see as missing.
pub(super) fn counter_queries(reader: &mut Reader<'_>) -> Result<Vec<CounterQuery>, Error> {
    let reason = "SQL Server counts the transactions that begin, not those that commit";
    reader.miss(ObservedTopic::CommitsAndCache, reason);
    let clock = CounterQuery::new(ObservedTopic::ServerClock, CLOCK_QUERY, read_clock);
    let mut queries = vec![clock];
    let may_read = reader.first(ObservedTopic::RoleRights, RIGHTS_QUERY, first_cell)?;
    if may_read.as_deref() != Some("1") {
        let reason = "this login may not read the server's counters, sessions and waits; run GRANT VIEW SERVER STATE \
                      TO the login (Azure SQL Database: GRANT VIEW DATABASE STATE TO the user)";
        reader.miss(ObservedTopic::OtherUsersThreads, reason);
        return Ok(queries);
    }
    queries.extend([
        CounterQuery::new(ObservedTopic::ServerStart, START_QUERY, |rows, counters| {
            let uptime_s: Option<f64> = rows.first().and_then(|row| number(row, 0));
            let clock = counters.clock_unix_s.zip(uptime_s);
            counters.started_unix_s = clock.map(|(now_s, uptime_s)| now_s - uptime_s);
        }),
        CounterQuery {
            variants: INSTANCE_NAMES.map(status_query).into(),
            ..CounterQuery::new(ObservedTopic::Status, "", read_status)
        },
        CounterQuery::new(
            ObservedTopic::SessionsAndWaits,
            SESSIONS_QUERY,
            read_sessions,
        ),
        CounterQuery::new(
            ObservedTopic::OtherSessions,
            SESSION_GROUPS_QUERY,
            read_session_groups,
        ),
    ]);
    let edition = reader.first(ObservedTopic::ServiceLimits, EDITION_QUERY, first_cell)?;
    let view = if edition.as_deref() == Some(AZURE_SQL_DATABASE) {
        queries.push(CounterQuery::new(
            ObservedTopic::ServiceLimits,
            LIMITS_QUERY,
            |rows, counters| counters.limit_use = rows.first().map(read_limit_use),
        ));
        "sys.dm_db_wait_stats"
    } else {
        queries.push(CounterQuery::new(
            ObservedTopic::ServerCpu,
            CPU_QUERY,
            |rows, counters| {
                counters.server_cpu_s = rows.first().and_then(|row| number(row, 0));
            },
        ));
        "sys.dm_os_wait_stats"
    };
    queries.push(CounterQuery::new(
        ObservedTopic::WaitTimes,
        wait_times_query(view),
        |rows, counters| counters.wait_ms = rows.first().and_then(read_wait_times),
    ));
    Ok(queries)
}

/// One row, with a sum for each of [`WAIT_TIMES`].
fn wait_times_query(view: &str) -> String {
    let sums = WAIT_TIMES
        .map(|(_, condition)| format!("sum(case when {condition} then wait_time_ms else 0 end)"));
    format!("select {} from {view}", sums.join(", "))
}

/// `None` if one of the sums is unknown: the view is then empty.
fn read_wait_times(row: &TextRow) -> Option<BTreeMap<&'static str, u64>> {
    let times = WAIT_TIMES.iter().enumerate();
    times
        .map(|(column, (name, _))| Some((*name, tally(row, column)?)))
        .collect()
}

fn read_limit_use(row: &TextRow) -> LimitUse {
    let share = |column| number::<f64>(row, column).map(|percent| percent / 100.0);
    LimitUse {
        cpu_share: share(0),
        data_io_share: share(1),
        log_write_share: share(2),
    }
}

fn read_status(rows: &[TextRow], counters: &mut Counters) {
    let values = named_values(rows);
    let value = |name: &str| values.get(name).copied();
    counters.log_bytes = value("Log Bytes Flushed/sec");
    counters.deadlocks = value("Number of Deadlocks/sec");
    counters.cache_reads = value("Page reads/sec");
    let lookups = value("Page lookups/sec").zip(counters.cache_reads);
    counters.cache_hits = lookups.map(|(lookups, reads)| lookups.saturating_sub(reads));
}

fn read_sessions(rows: &[TextRow], counters: &mut Counters) {
    read_waits(rows, counters, |row| {
        let wait_type = cell(row, 1).unwrap_or_default();
        let class = WAIT_CLASSES
            .iter()
            .find(|(prefix, _)| wait_type.starts_with(prefix));
        match (wait_type, class) {
            ("" | "SOS_SCHEDULER_YIELD", _) => "CPU".to_owned(),
            (_, Some((_, class))) => format!("{class}/{wait_type}"),
            (_, None) => format!("Wait/{wait_type}"),
        }
    });
    let active = rows.iter().filter(|row| is_active(row));
    let activities = active.filter_map(|row| {
        let command = cell(row, 2).unwrap_or_default();
        let mut maintenance = MAINTENANCE.iter();
        let (_, kind) = maintenance.find(|(prefix, _)| command.starts_with(prefix))?;
        Some(Activity {
            kind: *kind,
            detail: command.trim().to_owned(),
        })
    });
    counters.activities = Some(activities.collect());
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    fn row(cells: &[&str]) -> TextRow {
        let text = |cell: &&str| (!cell.is_empty()).then(|| (*cell).to_owned());
        cells.iter().map(text).collect()
    }

    #[test]
    fn the_counters_are_parsed() {
        let mut counters = Counters::default();
        let rows = [
            row(&["Log Bytes Flushed/sec", "4096"]),
            row(&["Page lookups/sec", "100"]),
            row(&["Page reads/sec", "10"]),
        ];
        read_status(&rows, &mut counters);
        assert_eq!((counters.log_bytes, counters.deadlocks), (Some(4096), None));
        assert_eq!(
            (counters.cache_hits, counters.cache_reads),
            (Some(90), Some(10))
        );
    }

    #[test]
    fn times_of_waits_are_known_together_or_not_at_all() {
        let query = wait_times_query("sys.dm_db_wait_stats");
        query.assert_ends_with("from sys.dm_db_wait_stats");
        assert_eq!(query.matches("sum(").count(), WAIT_TIMES.len());
        let times = read_wait_times(&row(&["7", "0", "1", "2", "3", "4", "5", "6"])).unwrap();
        assert_eq!((times["WRITELOG"], times["HADR_SYNC_COMMIT"]), (7, 0));
        assert_eq!(times["ASYNC_NETWORK_IO"], 6);
        // The sums of a view without rows are NULL.
        assert_eq!(read_wait_times(&row(&[""; 8])), None);
    }

    #[test]
    fn use_of_limits_is_a_share() {
        let limit_use = read_limit_use(&row(&["12.50", "", "100.00"]));
        let shares = (
            limit_use.cpu_share,
            limit_use.data_io_share,
            limit_use.log_write_share,
        );
        assert_eq!(shares, (Some(0.125), None, Some(1.0)));
    }

    #[test]
    fn sessions_are_counted_by_what_they_wait_for() {
        let mut counters = Counters::default();
        let rows = [
            row(&["idle", "", "", "40"]),
            row(&["active", "", "SELECT", "2"]),
            row(&["active", "SOS_SCHEDULER_YIELD", "SELECT", "1"]),
            row(&["active", "LCK_M_X", "UPDATE", "3"]),
            row(&["active", "WRITELOG", "COMMIT TRANSACTION", "4"]),
            row(&["active", "BACKUPIO", "BACKUP DATABASE", "1"]),
        ];
        read_sessions(&rows, &mut counters);
        let figures = (counters.connections, counters.active, counters.lock_waits);
        assert_eq!(figures, (Some(51), Some(11), Some(3)));
        let waits: Vec<_> = counters
            .waits
            .iter()
            .map(|(wait, count)| (wait.as_str(), *count))
            .collect();
        assert_eq!(
            waits,
            [
                ("CPU", 3),
                ("Lock/LCK_M_X", 3),
                ("Log/WRITELOG", 4),
                ("Wait/BACKUPIO", 1)
            ]
        );
        let activities = counters.activities.unwrap_or_default();
        assert_eq!(
            (activities.len(), activities[0].kind),
            (1, ActivityKind::Backup)
        );
    }
}
