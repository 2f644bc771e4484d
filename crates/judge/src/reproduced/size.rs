//! How large the data of a workload is.
//!
//! In: a Run with what was seen of its server before the load. Out: the size of the workload's own tables,
//! or of the database. Must never: call a size that of the workload's data where a table of it is missing.

use crate::watch;
use prony_store::{Run, ServerState, TableState};

const TPCB: [&str; 4] = [
    "pgbench_accounts",
    "pgbench_branches",
    "pgbench_history",
    "pgbench_tellers",
];
const TPCC: [&str; 9] = [
    "customer",
    "district",
    "history",
    "item",
    "new_order",
    "order_line",
    "orders",
    "stock",
    "warehouse",
];

/// A size, and what it is the size of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    /// Bytes, with indexes.
    pub bytes: u64,
    /// It is that of the database: the workload's own tables are not all known.
    pub whole_database: bool,
}

/// How large the data was before the run; absent where nobody saw it, or where there was none.
pub(super) fn before(run: &Run) -> Option<Size> {
    let state = watch::observed(run)?.before.as_ref()?;
    let own = own(run, state)
        .filter(|bytes| *bytes > 0)
        .map(|bytes| Size {
            bytes,
            whole_database: false,
        });
    let all = state.database_bytes.filter(|bytes| *bytes > 0);
    own.or(all.map(|bytes| Size {
        bytes,
        whole_database: true,
    }))
}

/// The sum of the workload's own tables, if all of them are listed with a size.
fn own(run: &Run, state: &ServerState) -> Option<u64> {
    let names = names(run)?;
    let sizes = names.iter().map(|name| table(name, &state.tables));
    sizes.sum()
}

/// The names of a workload's tables; absent where they are its user's.
fn names(run: &Run) -> Option<Vec<String>> {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    match run.workload.name.as_str() {
        "tpcb" | "simple-update" | "select-only" => Some(owned(&TPCB)),
        "tpcc" => Some(owned(&TPCC)),
        // The published scripts are all of the account tables.
        "script" if run.scenario.is_some() => Some(owned(&TPCB)),
        // The scale of these is how many tables there are.
        oltp if oltp.starts_with("oltp_") || oltp.starts_with("select_random_") => {
            let tables = 1..=run.workload.scale;
            Some(tables.map(|number| format!("sbtest{number}")).collect())
        }
        _ => None,
    }
}

/// The size of one table with its indexes. Of one in partitions the server lists these alone, and as no
/// more than the largest are listed it is not known whether these are all of them.
fn table(name: &str, listed: &[TableState]) -> Option<u64> {
    // An engine without a log stands behind the name.
    let own = |one: &&TableState| one.name.split(" (").next() == Some(name);
    let mut found = listed.iter().filter(own);
    found.next()?.bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::healthy;

    fn with(workload: &str, scale: u32, tables: &[(&str, Option<u64>)]) -> Run {
        let mut run = healthy();
        run.workload.name = workload.to_owned();
        run.workload.scale = scale;
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

    fn size(bytes: u64, whole_database: bool) -> Option<Size> {
        Some(Size {
            bytes,
            whole_database,
        })
    }

    #[test]
    fn tables_of_others_do_not_count() {
        let mut tables: Vec<(&str, Option<u64>)> =
            TPCB.iter().map(|name| (*name, Some(3))).collect();
        tables.extend([("stock", Some(200)), ("other.pgbench_accounts", Some(20))]);
        for workload in ["tpcb", "simple-update", "select-only"] {
            assert_eq!(before(&with(workload, 1, &tables)), size(12, false));
        }
        // Those of another workload are not all there; those of a script are its user's.
        for workload in ["tpcc", "script"] {
            assert_eq!(before(&with(workload, 1, &tables)), size(242, true));
        }
        let mut scenario = with("script", 1, &tables);
        scenario.scenario = Some(prony_store::Scenario::default());
        assert_eq!(before(&scenario), size(12, false));
        let tables = TPCC.map(|name| (name, Some(2)));
        assert_eq!(before(&with("tpcc", 1, &tables)), size(18, false));
    }

    #[test]
    fn a_table_that_is_not_known_leaves_the_database() {
        let two = [("sbtest1", Some(5)), ("sbtest2 (MyISAM)", Some(6))];
        assert_eq!(before(&with("oltp_read_only", 2, &two)), size(11, false));
        assert_eq!(before(&with("oltp_read_only", 3, &two)), size(242, true));
        assert_eq!(before(&with("oltp_read_only", 1, &two)), size(5, false));
        let unknown = [("sbtest1", Some(5)), ("sbtest2", None)];
        assert_eq!(
            before(&with("select_random_points", 2, &unknown)),
            size(242, true)
        );
        // Nothing was analysed: a sum of nothing is no size.
        let empty = [("sbtest1", Some(0))];
        assert_eq!(before(&with("oltp_insert", 1, &empty)), size(242, true));
        let mut unseen = with("oltp_insert", 1, &two);
        unseen.observed = None;
        assert_eq!(before(&unseen), None);
    }
}
