//! How a MySQL or MariaDB stands.
//!
//! In: a control connection, the settings. Out: a [`State`]. Must never: read a table; the data
//! dictionary and the status say it all.

use super::super::{Facts, Missing, ask, cell, durability, number, tally};
use super::{Replica, State, TABLES, TableState};
use crate::control::{Control, Error, Product, Row};

/// How long it has been up, and its clock. The table with the same status has another name in MySQL
/// 5.6, in MySQL since 5.7 and in MariaDB; this statement is the same in all.
const UPTIME: &str = "SHOW GLOBAL STATUS LIKE 'Uptime'";
const CLOCK: &str = "SELECT UNIX_TIMESTAMP()";
const PLUGINS: &str = "SELECT CONCAT(PLUGIN_NAME, ' ', PLUGIN_VERSION) FROM \
     information_schema.PLUGINS WHERE PLUGIN_STATUS = 'ACTIVE' AND PLUGIN_LIBRARY IS NOT NULL \
     ORDER BY 1";
const SIZE: &str = "SELECT SUM(DATA_LENGTH + INDEX_LENGTH) FROM information_schema.TABLES \
     WHERE TABLE_SCHEMA = DATABASE()";
const STATISTICS: &str = "SELECT table_name, TIMESTAMPDIFF(SECOND, last_update, NOW()) \
     FROM mysql.innodb_table_stats WHERE database_name = DATABASE()";
const SEMI_SYNC: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Rpl_semi_sync_master_status', \
     'Rpl_semi_sync_source_status')";
/// Threads that send the binary log to replicas.
const REPLICAS: &str = "SELECT CONCAT(USER, '@', HOST), STATE FROM information_schema.PROCESSLIST \
     WHERE COMMAND LIKE 'Binlog Dump%'";

/// Engines that write a log ahead: what is in their tables is there after a crash.
const LOGGED: [&str; 5] = ["innodb", "rocksdb", "ndbcluster", "aria", "tokudb"];

/// Tables of other engines, also those that are too small to be listed. A table that the user may not
/// use at all is not shown to him.
fn unlogged() -> String {
    let logged = LOGGED.map(|engine| format!("'{engine}'")).join(", ");
    format!(
        "SELECT TABLE_NAME, ENGINE FROM information_schema.TABLES \
         WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' \
         AND LOWER(COALESCE(ENGINE, '')) NOT IN ({logged}) ORDER BY 1 LIMIT {TABLES}"
    )
}

fn tables() -> String {
    format!(
        "SELECT TABLE_NAME, ENGINE, TABLE_ROWS, DATA_LENGTH + INDEX_LENGTH \
         FROM information_schema.TABLES \
         WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' \
         ORDER BY 4 DESC LIMIT {TABLES}"
    )
}

/// A table's name, that of one without a log with its engine; and whether it has none.
fn named(row: &Row) -> Option<(String, bool)> {
    let (name, engine) = (cell(row, 0)?, cell(row, 1).unwrap_or_default());
    Some(
        match LOGGED.contains(&engine.to_ascii_lowercase().as_str()) {
            true => (name.to_owned(), false),
            false => (format!("{name} ({engine})"), true),
        },
    )
}

fn table(row: &Row) -> Option<TableState> {
    let (name, unlogged) = named(row)?;
    Some(TableState {
        name,
        bytes: tally(row, 3),
        rows: tally(row, 2),
        unlogged,
        ..TableState::default()
    })
}

pub(super) fn read(control: &mut Control, facts: &Facts, state: &mut State) -> Result<(), Error> {
    let missing = &mut state.missing;
    let uptime = ask(control, "start of the server", UPTIME, missing)?;
    let clock = match uptime {
        Some(_) => ask(control, "start of the server", CLOCK, missing)?,
        None => None,
    };
    if let Some((uptime, clock)) = uptime.zip(clock) {
        state.started_unix_s = started(&uptime, &clock);
    }
    let cache = facts.setting("innodb_buffer_pool_size");
    state.cache_bytes = cache.and_then(|bytes| bytes.parse().ok());
    if let Some(rows) = ask(control, "size of the database", SIZE, missing)? {
        state.database_bytes = rows.first().and_then(|row| tally(row, 0));
    }
    if let Some(rows) = ask(control, "plugins", PLUGINS, missing)? {
        let name = |row: &Row| cell(row, 0).map(str::to_owned);
        state.extensions = rows.iter().filter_map(name).collect();
    }
    if let Some(rows) = ask(control, "tables", &tables(), missing)? {
        state.tables = rows.iter().filter_map(table).collect();
    }
    let unlogged = ask(control, "tables without a log", &unlogged(), missing)?.map(|rows| {
        let names = rows.iter().filter_map(named).map(|(name, _)| name);
        names.collect::<Vec<_>>()
    });
    if let Some(rows) = ask(control, "age of the statistics", STATISTICS, missing)? {
        ages(&mut state.tables, &rows);
    }
    let semi_sync = replication(control, state)?;
    state.durability = durability::mysql(facts, semi_sync, unlogged.as_deref());
    Ok(())
}

/// The clock's time less the time it has been up.
fn started(uptime: &[Row], clock: &[Row]) -> Option<f64> {
    let up_s: f64 = number(uptime.first()?, 1)?;
    let now_s: f64 = number(clock.first()?, 0)?;
    Some(now_s - up_s)
}

/// The age of each table's statistics.
fn ages(tables: &mut [TableState], rows: &[Row]) {
    for row in rows {
        let mut named = tables.iter_mut();
        if let Some(table) = named.find(|table| cell(row, 0) == Some(&table.name)) {
            table.statistics_age_s = number(row, 1);
        }
    }
}

/// Replicas, and whether the server is one; gives whether a commit waits for a replica now.
fn replication(control: &mut Control, state: &mut State) -> Result<bool, Error> {
    let missing = &mut state.missing;
    let rows = ask(control, "semi-synchronous replication", SEMI_SYNC, missing)?;
    let on = |row: &Row| cell(row, 1).is_some_and(|value| value.eq_ignore_ascii_case("on"));
    let semi_sync = rows.is_some_and(|rows| rows.iter().any(on));
    // Without the privilege PROCESS the list holds the threads of this user alone.
    if let Some(grants) = ask(control, "privileges", "SHOW GRANTS", missing)?
        && !sees_all_threads(&grants)
    {
        let why = "without the privilege PROCESS only this user's threads are shown; GRANT PROCESS \
                   ON *.* TO the user shows them";
        missing.push(Missing::new("replicas and threads of other users", why));
    } else if let Some(rows) = ask(control, "replicas", REPLICAS, missing)? {
        let replica = |row: &Row| Replica {
            name: cell(row, 0).unwrap_or_default().to_owned(),
            state: cell(row, 1).unwrap_or_default().to_owned(),
            mode: String::new(),
        };
        state.replicas = rows.iter().map(replica).collect();
        state.replication = Some(match (state.replicas.len(), semi_sync) {
            (0, _) => "none",
            (_, true) => "semi-synchronous",
            (_, false) => "asynchronous",
        });
    }
    let status = replica_status(control);
    if let Some(rows) = ask(control, "whether it is a replica", status, missing)? {
        state.is_replica = Some(!rows.is_empty());
    }
    Ok(semi_sync)
}

/// Whether the grants let this user see the threads of others.
fn sees_all_threads(grants: &[Row]) -> bool {
    let grant = |row: &Row| cell(row, 0).unwrap_or_default().to_ascii_uppercase();
    grants.iter().map(grant).any(|grant| {
        let everywhere = grant.contains(" ON *.* ");
        everywhere && (grant.contains("PROCESS") || grant.contains("ALL PRIVILEGES"))
    })
}

/// The statement that tells how a replica does; by MySQL 8.4 the old word is gone.
pub(in super::super) fn replica_status(control: &Control) -> &'static str {
    match (control.product(), control.server_version()) {
        (Product::Mysql, 80_022..) | (Product::MariaDb, 100_501..) => "SHOW REPLICA STATUS",
        _ => "SHOW SLAVE STATUS",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_is_the_clock_less_the_uptime() {
        let cells = |cells: &[&str]| -> Vec<Row> {
            let row = cells.iter().map(|cell| Some((*cell).to_owned()));
            vec![row.collect()]
        };
        // As MySQL 5.6.14 answers.
        let (uptime, clock) = (cells(&["Uptime", "41"]), cells(&["1795265041"]));
        assert_eq!(started(&uptime, &clock), Some(1_795_265_000.0));
        assert_eq!(started(&[], &clock), None);
        assert_eq!(started(&cells(&["Uptime", "soon"]), &clock), None);
    }

    #[test]
    fn who_sees_the_threads_of_others() {
        let grants = |text: &str| vec![vec![Some(text.to_owned())]];
        for (text, all) in [
            ("GRANT USAGE ON *.* TO `u`@`%`", false),
            ("GRANT SELECT, PROCESS ON *.* TO `u`@`%`", true),
            (
                "GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION",
                true,
            ),
            ("GRANT ALL PRIVILEGES ON `bench`.* TO `u`@`%`", false),
        ] {
            assert_eq!(sees_all_threads(&grants(text)), all, "{text}");
        }
    }

    #[test]
    fn a_table_without_a_log_is_named_with_its_engine() {
        let row = |engine: &str| -> Row {
            let cells = ["t", engine, "12", "16384"];
            cells.map(|cell| Some(cell.to_owned())).into()
        };
        let safe = table(&row("InnoDB")).unwrap();
        assert_eq!((safe.name.as_str(), safe.unlogged), ("t", false));
        assert_eq!((safe.rows, safe.bytes), (Some(12), Some(16384)));
        let unsafe_ = table(&row("MEMORY")).unwrap();
        assert_eq!(
            (unsafe_.name.as_str(), unsafe_.unlogged),
            ("t (MEMORY)", true)
        );
    }
}
