//! The size of a workload's data.
//!
//! In: a Run with the state of its server before the load. Out: the size of the workload's own tables, or
//! of the database. Must never: sum up the workload's tables if one of
//! them is missing.

use crate::workload::description;
use prony_store::{Run, ServerState, TableState};

const TPCB_TABLES: [&str; 4] = [
    "pgbench_accounts",
    "pgbench_branches",
    "pgbench_history",
    "pgbench_tellers",
];

/// How large the data of a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DataSize {
    /// Bytes, with indexes.
    pub bytes: u64,
    /// Whether it is the size of the database, because not all of the workload's tables are known.
    pub whole_database: bool,
}

/// The size of the data before the run; `None` if it was not observed, or is 0.
pub(super) fn data_size_before(run: &Run) -> Option<DataSize> {
    let state = run.state_before()?;
    if let Some(bytes) = workload_bytes(run, state).filter(|bytes| *bytes > 0) {
        return Some(DataSize {
            bytes,
            whole_database: false,
        });
    }
    let bytes = state.database_bytes.filter(|bytes| *bytes > 0)?;
    Some(DataSize {
        bytes,
        whole_database: true,
    })
}

/// The sum of the workload's own tables; `None` unless all of them are listed with a size.
fn workload_bytes(run: &Run, state: &ServerState) -> Option<u64> {
    let names = table_names(run)?;
    let sizes = names.iter().map(|name| table_bytes(name, &state.tables));
    sizes.sum()
}

/// The names of a workload's tables; `None` if the user defines them.
fn table_names(run: &Run) -> Option<Vec<String>> {
    let names = &description(run)?.table_names;
    // The first of a numbered series, whose length is the scale.
    if let [first] = &names[..]
        && let Some(prefix) = first.strip_suffix('1')
    {
        let numbers = 1..=run.workload.scale;
        return Some(numbers.map(|number| format!("{prefix}{number}")).collect());
    }
    // All published scripts use the account tables.
    if names.is_empty() && run.scenario.is_some() {
        return Some(TPCB_TABLES.map(str::to_owned).to_vec());
    }
    (!names.is_empty()).then(|| names.clone())
}

/// The size of one table with its indexes; `None` if it is not listed. A partitioned table is not listed: the
/// server lists partitions, and only the largest, so that their sum is unknown.
fn table_bytes(name: &str, listed: &[TableState]) -> Option<u64> {
    // The name of a storage engine without a log follows the table's name: `sbtest2 (MyISAM)`.
    let is_table = |table: &&TableState| table.name.split(" (").next() == Some(name);
    let mut matching = listed.iter().filter(is_table);
    matching.next()?.bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::healthy;

    const TPCC_TABLES: [&str; 2] = ["stock", "warehouse"];

    fn run_with_tables(workload: &str, scale: u32, tables: &[(&str, Option<u64>)]) -> Run {
        let mut run = healthy();
        run.workload.name = workload.to_owned();
        run.workload.scale = scale;
        let table_names: &[&str] = match workload {
            "tpcb" => &TPCB_TABLES,
            "tpcc" => &TPCC_TABLES,
            "script" => &[],
            _ => &["sbtest1"],
        };
        let description = run.workload.description.as_mut().unwrap();
        description.table_names = table_names.iter().map(|&name| name.to_owned()).collect();
        let tables = tables.iter().map(|(name, bytes)| TableState {
            name: (*name).to_owned(),
            bytes: *bytes,
            ..TableState::default()
        });
        run.observed.get_or_insert_default().before = Some(ServerState {
            database_bytes: Some(242),
            tables: tables.collect(),
            ..ServerState::default()
        });
        run
    }

    fn size(bytes: u64, whole_database: bool) -> Option<DataSize> {
        Some(DataSize {
            bytes,
            whole_database,
        })
    }

    #[test]
    fn tables_of_other_workloads_do_not_count() {
        let mut tables: Vec<(&str, Option<u64>)> =
            TPCB_TABLES.iter().map(|name| (*name, Some(3))).collect();
        tables.extend([("stock", Some(200)), ("other.pgbench_accounts", Some(20))]);
        assert_eq!(
            data_size_before(&run_with_tables("tpcb", 1, &tables)),
            size(12, false)
        );
        // Some tables of tpcc are missing, and the tables of a script are not known.
        for workload in ["tpcc", "script"] {
            assert_eq!(
                data_size_before(&run_with_tables(workload, 1, &tables)),
                size(242, true)
            );
        }
        let mut scenario = run_with_tables("script", 1, &tables);
        scenario.scenario = Some(prony_store::Scenario::default());
        assert_eq!(data_size_before(&scenario), size(12, false));
        let tables = TPCC_TABLES.map(|name| (name, Some(2)));
        assert_eq!(
            data_size_before(&run_with_tables("tpcc", 1, &tables)),
            size(4, false)
        );
    }

    #[test]
    fn an_unknown_table_falls_back_to_the_database_size() {
        let two_tables = [("sbtest1", Some(5)), ("sbtest2 (MyISAM)", Some(6))];
        assert_eq!(
            data_size_before(&run_with_tables("oltp_read_only", 2, &two_tables)),
            size(11, false)
        );
        assert_eq!(
            data_size_before(&run_with_tables("oltp_read_only", 3, &two_tables)),
            size(242, true)
        );
        assert_eq!(
            data_size_before(&run_with_tables("oltp_read_only", 1, &two_tables)),
            size(5, false)
        );
        let unknown = [("sbtest1", Some(5)), ("sbtest2", None)];
        assert_eq!(
            data_size_before(&run_with_tables("select_random_points", 2, &unknown)),
            size(242, true)
        );
        // A sum of 0 means that the tables were not analyzed.
        let empty = [("sbtest1", Some(0))];
        assert_eq!(
            data_size_before(&run_with_tables("oltp_insert", 1, &empty)),
            size(242, true)
        );
        let mut unobserved = run_with_tables("oltp_insert", 1, &two_tables);
        unobserved.observed = None;
        assert_eq!(data_size_before(&unobserved), None);
    }
}
