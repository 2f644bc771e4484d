//! What a MySQL or MariaDB is asked each second.
//!
//! In: which product, which version. Out: questions. Must never: ask for more of the status than is
//! used: the server adds up all threads for each answer.

use super::super::state::replica_status;
use super::super::{cell, number, tally};
use super::{Activity, Checkpoint, Counters, Question};
use crate::control::{Control, Product, Row};
use std::collections::HashMap;

/// Status variables that are read; a server leaves out what it does not have.
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
/// Threads of clients by what they do; the newer table takes no lock that sessions need.
const THREADS: [&str; 2] = [
    "SELECT PROCESSLIST_COMMAND, PROCESSLIST_STATE, COUNT(*), \
     MIN(LEFT(PROCESSLIST_INFO, 60)) FROM performance_schema.threads WHERE TYPE = 'FOREGROUND' \
     AND PROCESSLIST_ID <> CONNECTION_ID() GROUP BY 1, 2",
    "SELECT COMMAND, STATE, COUNT(*), MIN(LEFT(INFO, 60)) FROM information_schema.PROCESSLIST \
     WHERE ID <> CONNECTION_ID() GROUP BY 1, 2",
];
/// Statements that keep a server busy beside a load; their beginnings, and what they are. The comment
/// is how mysqldump reads a table.
const WORK: [(&str, &str); 8] = [
    ("BACKUP STAGE", "backup"),
    ("LOCK INSTANCE FOR BACKUP", "backup"),
    ("SELECT /*!40001 SQL_NO_CACHE */", "backup"),
    ("FLUSH TABLES WITH READ LOCK", "backup"),
    ("OPTIMIZE ", "table rebuild"),
    ("ALTER TABLE", "table rebuild"),
    ("CREATE INDEX", "index build"),
    ("ANALYZE ", "analyze"),
];
/// Place of `Seconds_Behind_Master` (or `_Source`) in the status of a replica, from 0.
const SECONDS_BEHIND: usize = 32;

pub(super) fn questions(control: &Control) -> Vec<Question> {
    let names: Vec<String> = STATUS.iter().map(|name| format!("'{name}'")).collect();
    let status = format!(
        "SHOW GLOBAL STATUS WHERE Variable_name IN ({})",
        names.join(", ")
    );
    let mut questions = vec![
        Question::new("clock of the server", CLOCK, |rows, to| {
            to.clock_unix_s = rows.first().and_then(|row| number(row, 0));
        }),
        Question::new("status", status, take_status),
        Question {
            what: "sessions and waits",
            // MariaDB fills the one of performance_schema only where that is switched on.
            ways: match control.product() {
                Product::Mysql => THREADS.map(str::to_owned).into(),
                _ => vec![THREADS[1].to_owned()],
            },
            take: threads,
        },
        Question::new("replication lag", replica_status(control), |rows, to| {
            to.is_replica = Some(!rows.is_empty());
            to.replication_lag_s = rows.first().and_then(|row| number(row, SECONDS_BEHIND));
        }),
    ];
    if control.product() == Product::Mysql {
        questions.push(Question::new("purge and deadlocks", METRICS, metrics));
    }
    questions
}

fn take_status(rows: &[Row], to: &mut Counters) {
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
    // The end of the log tells its growth exactly; what is written to it comes in blocks.
    to.log_bytes = end.or(value("Innodb_os_log_written"));
    to.checkpoint = at.zip(end).map(|(at, end)| Checkpoint::Moving { at, end });
    to.history_length = value("Innodb_history_list_length");
    to.deadlocks = value("Innodb_deadlocks");
    // Without this connection, which is connected and at work.
    let others = |count: u32| count.saturating_sub(1);
    to.connections = small("Threads_connected").map(others);
    to.active = small("Threads_running").map(others);
    to.lock_waits = small("Innodb_row_lock_current_waits");
    let started = to.clock_unix_s.zip(value("Uptime"));
    to.started_unix_s = started.map(|(now_s, up_s)| now_s - up_s as f64);
}

fn metrics(rows: &[Row], to: &mut Counters) {
    for row in rows {
        match cell(row, 0) {
            Some("trx_rseg_history_len") => to.history_length = tally(row, 1),
            Some("lock_deadlocks") => to.deadlocks = tally(row, 1),
            _ => {}
        }
    }
}

/// A thread at work in no state of its own computes; the states are the server's words.
fn threads(rows: &[Row], to: &mut Counters) {
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
        let work = WORK
            .iter()
            .find(|(beginning, _)| upper.starts_with(beginning));
        activities.extend(work.map(|(beginning, what)| Activity {
            what,
            detail: beginning.trim().to_owned(),
        }));
    }
    row_locks(to);
}

/// Who waits for a row is in the state of its statement; how many there are is counted elsewhere.
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

    fn rows(pairs: &[(&str, &str)]) -> Vec<Row> {
        let row = |(name, value): &(&str, &str)| [name, value].map(|cell| Some((*cell).to_owned()));
        pairs.iter().map(|pair| row(pair).into()).collect()
    }

    #[test]
    fn the_status_of_either_product() {
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
        take_status(&maria, &mut counters);
        assert_eq!(
            (counters.cache_hits, counters.cache_reads),
            (Some(90), Some(10))
        );
        assert_eq!(counters.log_bytes, Some(5000));
        let moving = Checkpoint::Moving {
            at: 4000,
            end: 5000,
        };
        assert_eq!(counters.checkpoint, Some(moving));
        assert_eq!(counters.connections, Some(8));
        assert_eq!(counters.started_unix_s, Some(1_000_000.5));
        assert_eq!(
            (counters.rollbacks, counters.active),
            (None, None),
            "not told"
        );
        let old = rows(&[("Innodb_os_log_written", "77")]);
        take_status(&old, &mut counters);
        assert_eq!((counters.log_bytes, counters.checkpoint), (Some(77), None));
    }

    #[test]
    fn threads_by_what_they_do() {
        let row = |command: &str, state: &str, count: &str, text: &str| -> Row {
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
        threads(&list, &mut counters);
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
        assert_eq!(counters.activities.unwrap()[0].what, "table rebuild");
    }
}
