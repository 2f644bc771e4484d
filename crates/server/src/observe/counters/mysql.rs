//! Counter queries of MySQL and MariaDB.
//!
//! Must never: query unused status variables, because the server sums each over all threads.

use super::super::state::{is_cluster_size, replica_status};
use super::super::{Reader, cell, first_line, number, tally};
use super::{
    Activity, ActivityKind, Checkpoint, CounterQuery, Counters, named_values, read_clock,
    read_session_groups,
};
use crate::control::{Error, TextRow};
use prony_document::ObservedTopic;

/// Status variables to read; a server omits those that it does not have.
const STATUS_VARIABLES: [&str; 20] = [
    "Handler_commit",
    "Handler_rollback",
    "Innodb_buffer_pool_read_requests",
    "Innodb_buffer_pool_reads",
    "Innodb_checkpoint_age",
    "Innodb_deadlocks",
    "Innodb_history_list_length",
    "Innodb_lsn_current",
    "Innodb_lsn_last_checkpoint",
    "Innodb_os_log_written",
    "Innodb_redo_log_checkpoint_lsn",
    "Innodb_redo_log_current_lsn",
    "Innodb_row_lock_current_waits",
    "Threads_connected",
    "Threads_running",
    "Uptime",
    "wsrep_cluster_size",
    "wsrep_flow_control_paused_ns",
    "wsrep_local_bf_aborts",
    "wsrep_local_cert_failures",
];
const CLOCK_QUERY: &str = "SELECT UNIX_TIMESTAMP(NOW(6))";
const METRICS_QUERY: &str = "SELECT NAME, COUNT FROM information_schema.INNODB_METRICS \
     WHERE NAME IN ('trx_rseg_history_len', 'lock_deadlocks') AND STATUS = 'enabled'";
/// Client threads by command and state. The first query is preferred, because its table takes no lock that
/// sessions use.
const THREAD_QUERIES: [&str; 2] = [
    "SELECT PROCESSLIST_COMMAND, PROCESSLIST_STATE, COUNT(*), \
     MIN(LEFT(PROCESSLIST_INFO, 60)) FROM performance_schema.threads WHERE TYPE = 'FOREGROUND' \
     AND PROCESSLIST_ID <> CONNECTION_ID() GROUP BY 1, 2",
    "SELECT COMMAND, STATE, COUNT(*), MIN(LEFT(INFO, 60)) FROM information_schema.PROCESSLIST \
     WHERE ID <> CONNECTION_ID() GROUP BY 1, 2",
];
/// Whether MySQL records when the last statement of each thread ended. Without `performance_schema`, its tables are
/// empty.
const RECORDS_STATEMENTS_QUERY: &str = "SELECT 1 FROM performance_schema.setup_consumers \
     WHERE NAME = 'events_statements_current' AND ENABLED = 'YES' AND @@performance_schema";
/// MySQL's client threads, when the last statement of each ended, and 20 ms before this query began, in picoseconds.
const MYSQL_THREADS: &str = "performance_schema.threads LEFT JOIN (SELECT THREAD_ID, MAX(TIMER_END) AS ended \
     FROM performance_schema.events_statements_current GROUP BY THREAD_ID) AS statements USING (THREAD_ID) \
     JOIN (SELECT MAX(TIMER_START) - 20000000000 AS recently \
     FROM performance_schema.events_statements_current) AS clock";
const PROCESS_LIST: &str = "information_schema.PROCESSLIST";
/// The programs of MySQL's client threads, as they call themselves.
const MYSQL_PROGRAMS: &str = " LEFT JOIN (SELECT PROCESSLIST_ID, MAX(ATTR_VALUE) AS program \
     FROM performance_schema.session_connect_attrs WHERE ATTR_NAME = 'program_name' GROUP BY PROCESSLIST_ID) \
     AS attributes USING (PROCESSLIST_ID)";
/// The program of a thread and that of this session. Behind a proxy, both are the proxy's.
const OWN_PROGRAM: &str = "COALESCE((SELECT MAX(ATTR_VALUE) FROM performance_schema.session_connect_attrs \
     WHERE ATTR_NAME = 'program_name' AND PROCESSLIST_ID = CONNECTION_ID()), '')";

/// A query for client threads by who they are, from a table whose columns have this prefix. `program` and `own_program`
/// are those of the thread and of this session; MariaDB does not show them. `between_statements` is the condition of idle
/// threads that count as busy, because they had a statement in the last 20 ms: clients with short statements are idle in
/// most readings, because the server works for them only for a part of each round trip. Threads of replication and of the
/// server itself are no clients.
fn session_groups_query(
    table: &str,
    prefix: &str,
    (program, own_program): (&str, &str),
    between_statements: &str,
) -> String {
    let column = |name: &str| format!("{prefix}{name}");
    let [id, user, database, command, state, time] =
        ["ID", "USER", "DB", "COMMAND", "STATE", "TIME"].map(column);
    format!(
        "SELECT COALESCE({database}, ''), {user}, {program}, \
         COALESCE({database} = DATABASE() AND {user} = SUBSTRING_INDEX(USER(), '@', 1) \
         AND {program} = {own_program}, 0), \
         SUM({command} <> 'Sleep' OR {time} <= 1), \
         SUM(IF({command} = 'Sleep', {between_statements}, COALESCE({state}, '') <> 'User sleep')) FROM {table} \
         WHERE {id} <> CONNECTION_ID() AND {user} NOT IN ('system user', 'event_scheduler') \
         AND {command} NOT IN ('Daemon', 'Connect', 'Binlog Dump', 'Binlog Dump GTID') GROUP BY 1, 2, 3, 4"
    )
}

/// Maintenance statements: their beginning and the kind of activity. mysqldump reads tables with the
/// `SQL_NO_CACHE` comment.
const MAINTENANCE: [(&str, ActivityKind); 8] = [
    ("BACKUP STAGE", ActivityKind::Backup),
    ("LOCK INSTANCE FOR BACKUP", ActivityKind::Backup),
    ("SELECT /*!40001 SQL_NO_CACHE */", ActivityKind::Backup),
    ("FLUSH TABLES WITH READ LOCK", ActivityKind::Backup),
    ("OPTIMIZE ", ActivityKind::TableRebuild),
    ("ALTER TABLE", ActivityKind::TableRebuild),
    ("CREATE INDEX", ActivityKind::IndexBuild),
    ("ANALYZE ", ActivityKind::Analyze),
];
/// Index of the column `Seconds_Behind_Master` (or `_Source`) in a replica's status.
const SECONDS_BEHIND_COLUMN: usize = 32;

/// The counter queries. Adds the values that this user may not see, or that the server does not record, to the missing ones.
pub(super) fn counter_queries(reader: &mut Reader<'_>) -> Result<Vec<CounterQuery>, Error> {
    let product = reader.control.product();
    let no_program = ("''", "''");
    let (threads, groups) = if !product.records_statement_ends {
        let groups = session_groups_query(PROCESS_LIST, "", no_program, "TIME_MS < 20");
        (&THREAD_QUERIES[1..], vec![groups])
    } else if records_statements(reader)? {
        let (prefix, ended) = ("PROCESSLIST_", "ended > recently");
        let threads = format!("{MYSQL_THREADS}{MYSQL_PROGRAMS}");
        let programs = ("COALESCE(program, '')", OWN_PROGRAM);
        let groups = [
            session_groups_query(&threads, prefix, programs, ended),
            // MySQL 5.5 has no attributes, and a right may be missing.
            session_groups_query(MYSQL_THREADS, prefix, no_program, ended),
        ];
        (&THREAD_QUERIES[..], groups.to_vec())
    } else {
        let groups = session_groups_query(PROCESS_LIST, "", no_program, "FALSE");
        (&THREAD_QUERIES[1..], vec![groups])
    };
    let names: Vec<String> = STATUS_VARIABLES
        .iter()
        .map(|name| format!("'{name}'"))
        .collect();
    let status = format!(
        "SHOW GLOBAL STATUS WHERE Variable_name IN ({})",
        names.join(", ")
    );
    let mut queries = vec![
        CounterQuery::new(ObservedTopic::ServerClock, CLOCK_QUERY, read_clock),
        CounterQuery::new(ObservedTopic::Status, status, read_status),
        CounterQuery {
            topic: ObservedTopic::SessionsAndWaits,
            // MariaDB's performance_schema is empty unless it is switched on.
            variants: threads.iter().map(|sql| (*sql).to_owned()).collect(),
            read_rows: read_threads,
        },
        CounterQuery {
            topic: ObservedTopic::OtherSessions,
            variants: groups,
            read_rows: read_session_groups,
        },
        CounterQuery::new(
            ObservedTopic::ReplicationLag,
            replica_status(reader.control),
            |rows, counters| {
                counters.is_replica = Some(!rows.is_empty());
                let seconds = rows
                    .first()
                    .and_then(|row| number(row, SECONDS_BEHIND_COLUMN));
                counters.replication_lag_s = seconds;
            },
        ),
    ];
    if product.has_innodb_metrics {
        queries.push(CounterQuery::new(
            ObservedTopic::PurgeAndDeadlocks,
            METRICS_QUERY,
            read_metrics,
        ));
    }
    Ok(queries)
}

/// Whether this user can read when the last statement of each thread ended. If not, lists it as missing with the reason.
fn records_statements(reader: &mut Reader<'_>) -> Result<bool, Error> {
    let reason = match reader.control.query(RECORDS_STATEMENTS_QUERY) {
        Ok(rows) if !rows.is_empty() => return Ok(true),
        Ok(_) => "performance_schema or its consumer events_statements_current is off".to_owned(),
        Err(error) if error.is_lost() => return Err(error),
        Err(error) => format!(
            "{}; run GRANT SELECT ON performance_schema.* TO the user",
            first_line(&error)
        ),
    };
    let reason = format!(
        "sessions count only while they execute a statement, which misses short ones: {reason}"
    );
    reader.miss(ObservedTopic::OtherSessions, reason);
    Ok(false)
}

fn read_status(rows: &[TextRow], counters: &mut Counters) {
    let values = named_values(rows);
    let value = |name: &str| values.get(name).copied();
    let value_u32 = |name: &str| value(name).map(|count| u32::try_from(count).unwrap_or(u32::MAX));
    counters.commits = value("Handler_commit");
    counters.rollbacks = value("Handler_rollback");
    let (requests, reads) = (
        value("Innodb_buffer_pool_read_requests"),
        value("Innodb_buffer_pool_reads"),
    );
    counters.cache_hits = requests
        .zip(reads)
        .map(|(requests, reads)| requests.saturating_sub(reads));
    counters.cache_reads = reads;
    let end_lsn = value("Innodb_redo_log_current_lsn").or(value("Innodb_lsn_current"));
    let checkpoint_lsn =
        value("Innodb_redo_log_checkpoint_lsn").or(value("Innodb_lsn_last_checkpoint"));
    // The end of the log is exact; the number of bytes written grows in blocks.
    counters.log_bytes = end_lsn.or(value("Innodb_os_log_written"));
    counters.checkpoint = checkpoint_lsn
        .zip(end_lsn)
        .map(|(checkpoint_lsn, end_lsn)| Checkpoint::Fuzzy {
            checkpoint_lsn,
            end_lsn,
        });
    counters.history_length = value("Innodb_history_list_length");
    counters.deadlocks = value("Innodb_deadlocks");
    if value("wsrep_cluster_size").is_some_and(is_cluster_size) {
        let failures = value("wsrep_local_cert_failures");
        let aborts = value("wsrep_local_bf_aborts");
        counters.node_conflicts = failures
            .zip(aborts)
            .map(|(failures, aborts)| failures + aborts);
        counters.flow_control_ns = value("wsrep_flow_control_paused_ns");
    }
    // The server counts this connection too, as connected and active.
    let without_this = |count: u32| count.saturating_sub(1);
    counters.connections = value_u32("Threads_connected").map(without_this);
    counters.active = value_u32("Threads_running").map(without_this);
    counters.lock_waits = value_u32("Innodb_row_lock_current_waits");
    let started = counters.clock_unix_s.zip(value("Uptime"));
    counters.started_unix_s = started.map(|(now_s, up_s)| now_s - up_s as f64);
}

fn read_metrics(rows: &[TextRow], counters: &mut Counters) {
    for row in rows {
        match cell(row, 0) {
            Some("trx_rseg_history_len") => counters.history_length = tally(row, 1),
            Some("lock_deadlocks") => counters.deadlocks = tally(row, 1),
            _ => {}
        }
    }
}

/// Reads threads by state. An active thread without a state counts as `CPU`; other states keep the
/// server's names.
fn read_threads(rows: &[TextRow], counters: &mut Counters) {
    let activities = counters.activities.get_or_insert_default();
    for row in rows {
        let command = cell(row, 0).unwrap_or_default();
        if command == "Sleep" || command == "Daemon" || command.starts_with("Binlog Dump") {
            continue;
        }
        let count: u32 = number(row, 2).unwrap_or(0);
        let wait = match cell(row, 1).unwrap_or_default() {
            "" | "executing" | "Sending data" | "Statistics" | "statistics" => "CPU".to_owned(),
            state if state.to_ascii_lowercase().contains("lock") => format!("Lock/{state}"),
            state => format!("State/{state}"),
        };
        *counters.waits.entry(wait).or_default() += count;
        let text = cell(row, 3).unwrap_or_default().trim_start();
        let upper = text.to_ascii_uppercase();
        let maintenance = MAINTENANCE
            .iter()
            .find(|(prefix, _)| upper.starts_with(prefix));
        activities.extend(maintenance.map(|(prefix, kind)| Activity {
            kind: *kind,
            detail: prefix.trim().to_owned(),
        }));
    }
    move_row_lock_waits(counters);
}

/// Moves waits for row locks to `Lock/row`. A thread that waits for a row lock shows the state of its
/// statement, so these waits are first counted under that state; only a status variable says how many
/// they are.
fn move_row_lock_waits(counters: &mut Counters) {
    let mut remaining = counters.lock_waits.unwrap_or(0);
    let mut moved = 0;
    for state in [
        "State/Updating",
        "State/updating",
        "State/Update",
        "State/update",
        "CPU",
    ] {
        if let Some(count) = counters.waits.get_mut(state) {
            let waiting = remaining.min(*count);
            *count -= waiting;
            remaining -= waiting;
            moved += waiting;
        }
    }
    counters.waits.retain(|_, count| *count > 0);
    if moved > 0 {
        counters.waits.insert("Lock/row".to_owned(), moved);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(pairs: &[(&str, &str)]) -> Vec<TextRow> {
        let row = |(name, value): &(&str, &str)| [name, value].map(|cell| Some((*cell).to_owned()));
        pairs.iter().map(|pair| row(pair).into()).collect()
    }

    #[test]
    fn the_status_of_both_engines_is_parsed() {
        let mut counters = Counters {
            clock_unix_s: Some(1_000_100.5),
            ..Counters::default()
        };
        let maria = rows(&[
            ("Handler_commit", "12"),
            ("Innodb_buffer_pool_read_requests", "100"),
            ("Innodb_buffer_pool_reads", "10"),
            ("Innodb_lsn_current", "5000"),
            ("Innodb_lsn_last_checkpoint", "4000"),
            ("Threads_connected", "9"),
            ("Uptime", "100"),
        ]);
        read_status(&maria, &mut counters);
        assert_eq!(
            (counters.cache_hits, counters.cache_reads),
            (Some(90), Some(10))
        );
        assert_eq!(counters.log_bytes, Some(5000));
        let fuzzy = Checkpoint::Fuzzy {
            checkpoint_lsn: 4000,
            end_lsn: 5000,
        };
        assert_eq!(counters.checkpoint, Some(fuzzy));
        assert_eq!(counters.connections, Some(8));
        assert_eq!(counters.started_unix_s, Some(1_000_000.5));
        assert_eq!(
            (counters.rollbacks, counters.active),
            (None, None),
            "not reported"
        );
        let older = rows(&[("Innodb_os_log_written", "77")]);
        read_status(&older, &mut counters);
        assert_eq!((counters.log_bytes, counters.checkpoint), (Some(77), None));
    }

    #[test]
    fn threads_are_counted_by_state() {
        let row = |command: &str, state: &str, count: &str, text: &str| -> TextRow {
            [command, state, count, text]
                .map(|cell| Some(cell.to_owned()))
                .into()
        };
        let mut counters = Counters::default();
        let threads = [
            row("Sleep", "", "40", ""),
            row(
                "Query",
                "Waiting for table metadata lock",
                "2",
                "alter table t add c int",
            ),
            row("Query", "", "3", "SELECT 1"),
            row("Query", "Commit", "4", "COMMIT"),
        ];
        counters.lock_waits = Some(1);
        read_threads(&threads, &mut counters);
        let waits: Vec<_> = counters
            .waits
            .iter()
            .map(|(k, v)| (k.as_str(), *v))
            .collect();
        let lock = "Lock/Waiting for table metadata lock";
        assert_eq!(
            waits,
            [("CPU", 2), (lock, 2), ("Lock/row", 1), ("State/Commit", 4)]
        );
        assert_eq!(
            counters.activities.unwrap()[0].kind,
            ActivityKind::TableRebuild
        );
    }
}
