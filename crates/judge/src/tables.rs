//! Whether the tables are the same after a run as before it.
//!
//! In: a Run. Out: `tables-replaced`. Must never: call a run invalid because of a table that it might not
//! use.

use crate::checks::{Finding, invalid_or_caveat, new_finding};
use crate::formatting::first_and_more;
use crate::observations::{events, observed};
use crate::thresholds::{TABLE_LARGE_MIN_BYTES, TABLE_SHRUNK_MAX_SHARE};
use crate::workload::description;
use prony_store::{EventKind, Observed, Run, ServerState};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of tables that are named for one change.
const MAX_LISTED: usize = 4;
/// Maximum number of tables whose identity a document stores.
const MAX_TABLE_IDS: usize = 1_000;
/// The codes of an error for a table that does not exist: PostgreSQL's, MySQL's, SQL Server's.
const NO_SUCH_TABLE: [&str; 3] = ["42P01", "42S02", "00208"];
/// Keywords of statements by which a script replaces its tables itself.
const REPLACING_KEYWORDS: [&str; 5] = ["alter", "create", "drop", "rename", "truncate"];

/// Checks that the tables are the same after the run as before it; if not, the transactions ran on different
/// rows, or on none.
pub(crate) fn check_tables_replaced(run: &Run) -> Option<Finding> {
    let before = run.state_before()?.table_ids.as_ref()?;
    let words = statement_words(run);
    if REPLACING_KEYWORDS.iter().any(|word| words.contains(*word)) {
        return None;
    }
    // Statements of a script that only call routines name no table, so any table may be used.
    let used: BTreeSet<&str> = before
        .iter()
        .filter(|(name, id)| is_used(run, &words, name, id) && !is_shadowed(before, name))
        .map(|(name, _)| name.as_str())
        .collect();
    let are_used_known = !used.is_empty();
    let changes = describe_changes(run, |name| !are_used_known || used.contains(name))?;
    let consequence = if are_used_known {
        "Not all transactions ran on the same data."
    } else {
        "The statements name no table: if the run used these, not all of its transactions ran on the \
         same data."
    };
    new_finding(
        invalid_or_caveat(are_used_known),
        format!("Tables changed during the run: {changes}. {consequence}"),
        "Find out who loaded, truncated or dropped them during the run, and run again on tables that \
         nobody else changes.",
    )
}

/// The relevant tables that were replaced or emptied, and how; `None` if all are unchanged.
fn describe_changes(run: &Run, is_relevant: impl Fn(&str) -> bool) -> Option<String> {
    let observed = observed(run)?;
    let before = observed.before.as_ref()?.table_ids.as_ref()?;
    let after = observed.after.as_ref()?.table_ids.as_ref()?;
    let deletes = statement_words(run).contains("delete");
    let all_are_listed = after.len() < MAX_TABLE_IDS;
    let (mut replaced_by_namesake, mut emptied) = (vec![], vec![]);
    let (mut dropped, mut shrunk) = (vec![], vec![]);
    for (name, id) in before.iter().filter(|(name, _)| is_relevant(name)) {
        let rebuilt = is_rebuilt(run, name, id);
        // PostgreSQL's identity begins with the table and its file.
        let table = |id: &str| id.split('/').next().map(str::to_owned);
        match after.get(name) {
            None if all_are_listed => dropped.push(name.as_str()),
            Some(current) if current != id && id.contains('/') && table(current) != table(id) => {
                replaced_by_namesake.push(name.as_str());
            }
            // A rebuild changes the identity and not the data; `maintenance` reports it.
            Some(current) if current != id && !rebuilt => emptied.push(name.as_str()),
            // The size shows what the identity does not: in MariaDB a truncated table keeps its creation
            // time.
            Some(_) if !rebuilt && !deletes && has_shrunk(observed, name) => {
                shrunk.push(name.as_str());
            }
            _ => {}
        }
    }
    let changes = [
        (replaced_by_namesake, "replaced by others of the same name"),
        (emptied, "replaced, emptied or rewritten"),
        (dropped, "dropped"),
        (shrunk, "emptied or rewritten: less than half of its size"),
    ];
    let texts: Vec<String> = changes
        .iter()
        .filter(|(names, _)| !names.is_empty())
        .map(|(names, change)| format!("{} ({change})", first_and_more(names, MAX_LISTED, ", ")))
        .collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

/// Whether the run uses this table, according to the tables that its workload names or to the words of its
/// statements. Both name a partitioned table, not its partitions; the identity of a partition ends in the
/// name of the partitioned table.
fn is_used(run: &Run, words: &BTreeSet<String>, name: &str, id: &str) -> bool {
    let partitioned = id.split('/').nth(2).unwrap_or(name);
    [name, partitioned].iter().any(|name| {
        let table = unqualified(name).to_ascii_lowercase();
        match description(run).map_or(&[][..], |description| &description.table_names) {
            [] => words.contains(&table),
            names => names.iter().any(|workload_table| {
                is_workload_table(&table, workload_table, run.workload.scale)
            }),
        }
    })
}

/// Whether `table` is the workload's table `workload_table`. If that is the first of several numbered tables,
/// `table` may be any of them.
fn is_workload_table(table: &str, workload_table: &str, scale: u32) -> bool {
    let number = || {
        let digits = table.strip_prefix(workload_table.strip_suffix('1')?)?;
        digits
            .parse::<u32>()
            .ok()
            .filter(|_| !digits.starts_with('0'))
    };
    workload_table == table || number().is_some_and(|number| number <= scale)
}

/// A table's name without its schema; a table of the schema `public` has no schema in its name.
fn unqualified(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// Whether a table of another schema has the same name as a table in `public`, which the run uses instead.
fn is_shadowed(tables: &BTreeMap<String, String>, name: &str) -> bool {
    unqualified(name) != name && tables.contains_key(unqualified(name))
}

/// Whether a rebuild of this table was observed. PostgreSQL reports which table is rebuilt, and for other
/// databases the name of the database; MySQL reports only that some table is rebuilt.
fn is_rebuilt(run: &Run, name: &str, id: &str) -> bool {
    // A rebuild never takes the table away: if transactions did not find one, it was dropped, and the statement that
    // seems to rebuild is the load of its successor.
    let figures = run.warmup.iter().chain([&run.measured]);
    let mut errors = figures.flat_map(|figures| &figures.errors);
    if errors.any(|error| NO_SUCH_TABLE.contains(&error.code.as_str())) {
        return false;
    }
    let names_tables = id.contains('/');
    events(run, &[EventKind::TableRebuild])
        .any(|event| !names_tables || event.detail == unqualified(name))
}

/// Whether a large table takes less than half of its space after the run.
fn has_shrunk(observed: &Observed, name: &str) -> bool {
    let bytes = |state: &Option<ServerState>| {
        let mut tables = state.as_ref()?.tables.iter();
        tables.find(|table| table.name == name)?.bytes
    };
    let (Some(before), Some(after)) = (bytes(&observed.before), bytes(&observed.after)) else {
        return false;
    };
    before >= TABLE_LARGE_MIN_BYTES && (after as f64) < before as f64 * TABLE_SHRUNK_MAX_SHARE
}

/// All words of the run's statements, in lower case.
fn statement_words(run: &Run) -> BTreeSet<String> {
    let statements = run.workload.statements.iter();
    let words = statements.flat_map(|text| text.split(|c: char| !c.is_alphanumeric() && c != '_'));
    words.map(str::to_ascii_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{observed_mut, observed_run};
    use prony_assertions::TextAssertions;
    use prony_store::Severity;

    fn with_ids(before: &[(&str, &str)], after: &[(&str, &str)]) -> Run {
        let mut run = observed_run();
        run.workload.statements = vec![
            "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2".to_owned(),
            "INSERT INTO pgbench_history (tid) VALUES ($1)".to_owned(),
        ];
        let ids = |tables: &[(&str, &str)]| {
            let ids = tables
                .iter()
                .map(|(name, id)| ((*name).to_owned(), (*id).to_owned()));
            Some(ids.collect())
        };
        let observed = observed_mut(&mut run);
        observed.before.as_mut().unwrap().table_ids = ids(before);
        observed.after.as_mut().unwrap().table_ids = ids(after);
        run
    }

    #[test]
    fn replaced_tables_are_reported() {
        const BEFORE: [(&str, &str); 3] = [
            ("pgbench_accounts", "16384/16384"),
            ("pgbench_history", "16390/16390"),
            ("staging", "16400/16400"),
        ];
        assert_eq!(check_tables_replaced(&observed_run()), None, "not known");
        assert_eq!(check_tables_replaced(&with_ids(&BEFORE, &BEFORE)), None);
        let mut after = BEFORE;
        (after[0].1, after[1].1) = ("17001/17001", "16390/17002");
        let check = check_tables_replaced(&with_ids(&BEFORE, &after)).expect("replaced");
        assert_eq!(check.severity, Severity::Invalid);
        let expected = "pgbench_accounts (replaced by others of the same name); pgbench_history \
                    (replaced, emptied or rewritten).";
        check.finding.assert_contains(expected);
        let check = check_tables_replaced(&with_ids(&BEFORE, &BEFORE[1..])).expect("dropped");
        check.finding.assert_contains("pgbench_accounts (dropped)");
        // Tables that the run does not use, and new tables, do not matter.
        let mut unused_replaced = BEFORE.to_vec();
        unused_replaced[2].1 = "17003/17003";
        unused_replaced.push(("staging_2", "17004/17004"));
        assert_eq!(
            check_tables_replaced(&with_ids(&BEFORE, &unused_replaced)),
            None
        );
        // A script may replace its tables itself.
        let mut script = with_ids(&BEFORE, &after);
        script
            .workload
            .statements
            .push("TRUNCATE pgbench_history".to_owned());
        assert_eq!(check_tables_replaced(&script), None);
        // A rebuild such as VACUUM FULL explains a new file.
        after[0] = BEFORE[0];
        let mut rebuilt = with_ids(&BEFORE, &after);
        assert!(check_tables_replaced(&rebuilt).is_some());
        observed_mut(&mut rebuilt).events.push(prony_store::Event {
            at_s: 100.0,
            until_s: Some(101.0),
            kind: EventKind::TableRebuild,
            detail: "pgbench_history".to_owned(),
            ..Default::default()
        });
        assert_eq!(check_tables_replaced(&rebuilt), None);
        // Transactions that found no table say that it was dropped.
        let mut dropped = rebuilt.clone();
        dropped.measured.errors = vec![prony_store::ErrorCount {
            code: "42P01".to_owned(),
            count: 3,
            ..Default::default()
        }];
        assert!(check_tables_replaced(&dropped).is_some());
        // A rebuild of another table, or in another database, does not explain the change.
        for detail in ["staging", "elsewhere 16390"] {
            observed_mut(&mut rebuilt).events.last_mut().unwrap().detail = detail.to_owned();
            assert!(check_tables_replaced(&rebuilt).is_some(), "{detail}");
        }
        // MariaDB's tables are distinguished by their creation time.
        let (created_before, created_after) = ("2026-11-22 10:00:00", "2026-11-22 10:00:31");
        let times = with_ids(
            &[("pgbench_accounts", created_before)],
            &[("pgbench_accounts", created_after)],
        );
        assert!(check_tables_replaced(&times).is_some());
    }

    #[test]
    fn replaced_partitions_are_reported() {
        let before = [
            ("pgbench_accounts_1", "16384/16384/pgbench_accounts"),
            ("pgbench_history", "16390/16390"),
            ("staging_1", "16400/16400/staging"),
        ];
        let mut after = before;
        after[2].1 = "17000/17000/staging";
        assert_eq!(check_tables_replaced(&with_ids(&before, &after)), None);
        after[0].1 = "16384/17001/pgbench_accounts";
        let check = check_tables_replaced(&with_ids(&before, &after)).expect("emptied");
        let expected = "pgbench_accounts_1 (replaced, emptied or rewritten)";
        check.finding.assert_contains(expected);
    }

    #[test]
    fn other_tables_do_not_count_if_statements_only_call_routines() {
        const BEFORE: [(&str, &str); 4] = [
            ("pgbench_accounts", "16384/16384"),
            ("pgbench_history", "16390/16390"),
            ("etl.pgbench_history", "16395/16395"),
            ("etl.staging", "16400/16400"),
        ];
        let run_of_calls = |after: &[(&str, &str)]| {
            let mut run = with_ids(&BEFORE, after);
            run.workload.statements = vec!["SELECT payment($1)".to_owned()];
            run
        };
        let mut after = BEFORE;
        (after[2].1, after[3].1) = ("17000/17000", "17001/17001");
        assert_eq!(
            check_tables_replaced(&run_of_calls(&after)),
            None,
            "tables of an ETL job"
        );
        after[1].1 = "16390/17002";
        let check =
            check_tables_replaced(&run_of_calls(&after)).expect("a table that the routine may use");
        assert_eq!(check.severity, Severity::Invalid);
        let expected = "during the run: pgbench_history (replaced, emptied or rewritten). Not";
        check.finding.assert_contains(expected);
        // The tables that a script's routines use are not known.
        let mut script = run_of_calls(&BEFORE[..2]);
        script.workload.description = None;
        let check = check_tables_replaced(&script).expect("a table that it may use");
        assert_eq!(check.severity, Severity::Caveat);
        check.finding.assert_contains("name no table");
        // The description names only the first of numbered tables, and the document lists only the first
        // statements.
        let mut numbered = with_ids(
            &[("sbtest1", "1/1"), ("sbtest4", "4/4"), ("sbtest5", "5/5")],
            &[("sbtest1", "1/1"), ("sbtest4", "4/4"), ("sbtest5", "5/9")],
        );
        numbered.workload.scale = 4;
        numbered.workload.statements = vec!["SELECT c FROM sbtest1 WHERE id = $1".to_owned()];
        let description = numbered.workload.description.as_mut();
        description.expect("tables").table_names = vec!["sbtest1".to_owned()];
        assert_eq!(
            check_tables_replaced(&numbered),
            None,
            "it has only four tables"
        );
        numbered.workload.scale = 5;
        assert!(check_tables_replaced(&numbered).is_some());
    }

    #[test]
    fn a_table_that_lost_most_of_its_size_is_reported() {
        let ids = [("pgbench_accounts", "2026-11-22 10:00:00")];
        let with_sizes = |before: u64, after: u64| {
            let mut run = with_ids(&ids, &ids);
            let observed = observed_mut(&mut run);
            for (state, bytes) in [(&mut observed.before, before), (&mut observed.after, after)] {
                let tables = &mut state.as_mut().expect("observed").tables;
                tables[0].name = ids[0].0.to_owned();
                tables[0].bytes = Some(bytes);
            }
            run
        };
        assert_eq!(
            check_tables_replaced(&with_sizes(100_000_000, 60_000_000)),
            None
        );
        let emptied = with_sizes(100_000_000, 16_384);
        let check = check_tables_replaced(&emptied).expect("it is empty");
        check.finding.assert_contains("less than half of its size");
        assert_eq!(
            check_tables_replaced(&with_sizes(100_000, 16_384)),
            None,
            "small tables vary"
        );
        let mut deletes = emptied;
        deletes
            .workload
            .statements
            .push("DELETE FROM pgbench_accounts WHERE aid = $1".to_owned());
        assert_eq!(
            check_tables_replaced(&deletes),
            None,
            "the run itself deletes rows"
        );
    }
}
