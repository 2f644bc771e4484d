//! Counter queries of MySQL and MariaDB.
//!
//! Must never: query status variables that are not used: the server adds up all threads for each.

use super::super::state::replica_status;
use super::super::{Topic, cell, number, tally};
use super::{Activity, ActivityKind, Checkpoint, CounterQuery, Counters};
use crate::control::{Control, TextRow};
use prony_wire::Engine;
use std::collections::HashMap;

/// Status variables to read; a server omits those that it does not have.
const STATUS: [&str; 16] = [
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
];
const CLOCK: &str = "SELECT UNIX_TIMESTAMP(NOW(6))";
const METRICS: &str = "SELECT NAME, COUNT FROM information_schema.INNODB_METRICS \
     WHERE NAME IN ('trx_rseg_history_len', 'lock_deadlocks') AND STATUS = 'enabled'";
/// Client threads by command and state. The first table needs no lock that sessions need too.
const THREADS: [&str; 2] = [
    "SELECT PROCESSLIST_COMMAND, PROCESSLIST_STATE, COUNT(*), \
     MIN(LEFT(PROCESSLIST_INFO, 60)) FROM performance_schema.threads WHERE TYPE = 'FOREGROUND' \
     AND PROCESSLIST_ID <> CONNECTION_ID() GROUP BY 1, 2",
    "SELECT COMMAND, STATE, COUNT(*), MIN(LEFT(INFO, 60)) FROM information_schema.PROCESSLIST \
     WHERE ID <> CONNECTION_ID() GROUP BY 1, 2",
];
/// Maintenance statements: how each begins, and the kind of activity. mysqldump reads tables with
/// the comment.
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
/// Column of `Seconds_Behind_Master` (or `_Source`) in a replica's status, from 0.
const SECONDS_BEHIND: usize = 32;

pub(super) fn counter_queries(control: &Control) -> Vec<CounterQuery> {
    let names: Vec<String> = STATUS.iter().map(|name| format!("'{name}'")).collect();
    let status = format!(
        "SHOW GLOBAL STATUS WHERE Variable_name IN ({})",
        names.join(", ")
    );
    let mut queries = vec![
        CounterQuery::new(Topic::ServerClock, CLOCK, |rows, to| {
            to.clock_unix_s = rows.first().and_then(|row| number(row, 0));
        }),
        CounterQuery::new(Topic::Status, status, read_status),
        CounterQuery {
            topic: Topic::SessionsAndWaits,
            // MariaDB's performance_schema is empty unless it is switched on.
            variants: match control.engine() {
                Engine::MySql => THREADS.map(str::to_owned).into(),
                Engine::MariaDb | Engine::PostgreSql => vec![THREADS[1].to_owned()],
            },
            read_rows: read_threads,
        },
        CounterQuery::new(
            Topic::ReplicationLag,
            replica_status(control),
            |rows, to| {
                to.is_replica = Some(!rows.is_empty());
                to.replication_lag_s = rows.first().and_then(|row| number(row, SECONDS_BEHIND));
            },
        ),
    ];
    match control.engine() {
        Engine::MySql => queries.push(CounterQuery::new(
            Topic::PurgeAndDeadlocks,
            METRICS,
            read_metrics,
        )),
        Engine::MariaDb | Engine::PostgreSql => {}
    }
    queries
}

fn read_status(rows: &[TextRow], to: &mut Counters) {
    let values: HashMap<&str, u64> = rows
        .iter()
        .filter_map(|row| Some((cell(row, 0)?, tally(row, 1)?)))
        .collect();
    let value = |name: &str| values.get(name).copied();
    let small = |name: &str| value(name).map(|count| u32::try_from(count).unwrap_or(u32::MAX));
    to.commits = value("Handler_commit");
    to.rollbacks = value("Handler_rollback");
    let (requests, reads) = (
        value("Innodb_buffer_pool_read_requests"),
        value("Innodb_buffer_pool_reads"),
    );
    to.cache_hits = requests
        .zip(reads)
        .map(|(all, reads)| all.saturating_sub(reads));
    to.cache_reads = reads;
    let end = value("Innodb_redo_log_current_lsn").or(value("Innodb_lsn_current"));
    let at = value("Innodb_redo_log_checkpoint_lsn").or(value("Innodb_lsn_last_checkpoint"));
    // The end of the log is exact; the bytes written to it come in blocks.
    to.log_bytes = end.or(value("Innodb_os_log_written"));
    to.checkpoint = at.zip(end).map(|(at, end)| Checkpoint::Fuzzy { at, end });
    to.history_length = value("Innodb_history_list_length");
    to.deadlocks = value("Innodb_deadlocks");
    // Without this connection, which is connected and active.
    let others = |count: u32| count.saturating_sub(1);
    to.connections = small("Threads_connected").map(others);
    to.active = small("Threads_running").map(others);
    to.lock_waits = small("Innodb_row_lock_current_waits");
    let started = to.clock_unix_s.zip(value("Uptime"));
    to.started_unix_s = started.map(|(now_s, up_s)| now_s - up_s as f64);
}

fn read_metrics(rows: &[TextRow], to: &mut Counters) {
    for row in rows {
        match cell(row, 0) {
            Some("trx_rseg_history_len") => to.history_length = tally(row, 1),
            Some("lock_deadlocks") => to.deadlocks = tally(row, 1),
            _ => {}
        }
    }
}

/// Reads threads by state. An active thread without a state counts as `CPU`; other states are named
/// as the server names them.
fn read_threads(rows: &[TextRow], to: &mut Counters) {
    let activities = to.activities.get_or_insert_default();
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
        *to.waits.entry(wait).or_default() += count;
        let text = cell(row, 3).unwrap_or_default().trim_start();
        let upper = text.to_ascii_uppercase();
        let work = MAINTENANCE
            .iter()
            .find(|(beginning, _)| upper.starts_with(beginning));
        activities.extend(work.map(|(beginning, kind)| Activity {
            kind: *kind,
            detail: beginning.trim().to_owned(),
        }));
    }
    row_locks(to);
}

/// Moves waits for row locks to `Lock/row`. Such a thread shows the state of its statement, but a
/// status variable counts them.
fn row_locks(to: &mut Counters) {
    let mut left = to.lock_waits.unwrap_or(0);
    let mut moved = 0;
    for state in [
        "State/Updating",
        "State/updating",
        "State/Update",
        "State/update",
        "CPU",
    ] {
        if let Some(count) = to.waits.get_mut(state) {
            let some = left.min(*count);
            (*count, left, moved) = (*count - some, left - some, moved + some);
        }
    }
    to.waits.retain(|_, count| *count > 0);
    if moved > 0 {
        to.waits.insert("Lock/row".to_owned(), moved);
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
        let moving = Checkpoint::Fuzzy {
            at: 4000,
            end: 5000,
        };
        assert_eq!(counters.checkpoint, Some(moving));
        assert_eq!(counters.connections, Some(8));
        assert_eq!(counters.started_unix_s, Some(1_000_000.5));
        assert_eq!(
            (counters.rollbacks, counters.active),
            (None, None),
            "not reported"
        );
        let old = rows(&[("Innodb_os_log_written", "77")]);
        read_status(&old, &mut counters);
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
        let list = [
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
        read_threads(&list, &mut counters);
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
