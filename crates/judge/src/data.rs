//! Whether the data was as loaded, and how durable a commit was.
//!
//! In: a Run. Out: `data-scale`, `data-size`, `data-grown`, `dead-rows`, `statistics`, `durability`, `no-standby`. Must
//! never: treat the server's row estimates as counts.

use crate::checks::{Finding, caveat, note};
use crate::formatting::{count, percent, thousands};
use crate::thresholds::{
    DATA_GROWN_MAX_SHARE, DATA_SCALE_INNODB_MAX_DEVIATION, DATA_SCALE_MAX_DEVIATION,
    DEAD_ROWS_MAX_SHARE, DEAD_ROWS_MIN_COUNT, ROWS_PER_SCALE_MIN, STATISTICS_MIN_ROWS,
};
use crate::workload::description;
use prony_store::{DurabilityClass, Replication, Run, ScaledTable, SqlDialect, TableState};

/// The tables of the database before the run, not only those of the workload.
fn tables_before(run: &Run) -> Option<&[TableState]> {
    Some(&run.state_before()?.tables)
}

/// The workload's tables whose size depends on the scale.
fn scaled_tables(run: &Run) -> &[ScaledTable] {
    description(run).map_or(&[], |description| &description.tables)
}

fn row_count(tables: &[TableState], name: &str) -> Option<u64> {
    let table = tables.iter().find(|table| table.name == name);
    table.and_then(|table| table.rows)
}

pub(crate) fn check_data_scale(run: &Run) -> Option<Finding> {
    let tables = tables_before(run)?;
    let max_deviation = match run.server.dialect() {
        Some(SqlDialect::PostgreSql) => DATA_SCALE_MAX_DEVIATION,
        // The partitions' counts of rows are exact.
        Some(SqlDialect::TransactSql) => DATA_SCALE_MAX_DEVIATION,
        Some(SqlDialect::MySql) | None => DATA_SCALE_INNODB_MAX_DEVIATION,
    };
    let has_fixed_size = |table: &&ScaledTable| {
        table.grows_per_scale.is_none() && table.rows_per_scale >= ROWS_PER_SCALE_MIN
    };
    let mismatch = scaled_tables(run)
        .iter()
        .filter(has_fixed_size)
        .find_map(|table| {
            let expected = table.rows_per_scale * u64::from(run.workload.scale);
            let rows = row_count(tables, &table.name).filter(|_| expected > 0)?;
            let deviation = (rows as f64 / expected as f64 - 1.0).abs();
            (deviation > max_deviation).then_some((&table.name, rows, expected))
        });
    let (name, rows, expected) = mismatch?;
    caveat(
        format!(
            "{name} has about {} by the server's statistics, but scale {} has {}: the data may be of \
             another scale.",
            count(rows, "row"),
            run.workload.scale,
            thousands(expected)
        ),
        "Verify with `prony check`; analyze the tables if the statistics are old, or load again.",
    )
}

pub(crate) fn check_data_size(run: &Run) -> Option<Finding> {
    let observed = run.observed.as_ref()?;
    let states = [observed.before.as_ref(), observed.after.as_ref()];
    let mut known_states = states.into_iter().flatten();
    let is_known = known_states.any(|state| state.database_bytes.is_some());
    if is_known || !scaled_tables(run).is_empty() {
        return None;
    }
    note("The size of the data is not known: whether it fits into the server's cache, and whether reads reached a \
         disk, cannot be told."
            .to_owned(),
        "Compare only with runs on the same data; observe the server with a role that may read the size of the \
         database.",
    )
}

pub(crate) fn check_data_grown(run: &Run) -> Option<Finding> {
    let tables = tables_before(run)?;
    let scale = u64::from(run.workload.scale);
    let growths = scaled_tables(run).iter().filter_map(|table| {
        let growth = table.grows_per_scale? * scale;
        let rows = row_count(tables, &table.name).filter(|_| growth > 0)?;
        let added = rows.saturating_sub(table.rows_per_scale * scale);
        Some((&table.name, added, added as f64 / growth as f64))
    });
    let (name, added, share) = growths.max_by(|a, b| a.2.total_cmp(&b.2))?;
    if share <= DATA_GROWN_MAX_SHARE {
        return None;
    }
    caveat(
        format!(
            "Earlier runs have added about {} to {name}: the data and its indexes are larger than freshly \
             loaded ones of this scale.",
            count(added, "row")
        ),
        "Load again before a run that you want to compare with another.",
    )
}

pub(crate) fn check_dead_rows(run: &Run) -> Option<Finding> {
    let with_dead_rows = tables_before(run)?.iter().filter_map(|table| {
        let (rows, dead) = (table.rows?, table.dead_rows?);
        let share = dead as f64 / rows.saturating_add(dead).max(1) as f64;
        (dead >= DEAD_ROWS_MIN_COUNT && share > DEAD_ROWS_MAX_SHARE).then_some((table, dead, share))
    });
    let (table, dead, share) = with_dead_rows.max_by_key(|(_, dead, _)| *dead)?;
    caveat(
        format!(
            "Before the run, {} rows of {} were dead rows left by earlier work ({}): the server has to skip \
             them, and may clean them up within the window.",
            thousands(dead),
            table.name,
            percent(share)
        ),
        "Vacuum before the run (VACUUM ANALYZE), or load again.",
    )
}

/// PostgreSQL waits for no standby if none is synchronous, whatever a session asks for. The level `on` is not reported: it
/// is the default also of servers that have no standby.
pub(crate) fn check_standby(run: &Run) -> Option<Finding> {
    let before = run.state_before()?;
    let level = run.server.settings.get("synchronous_commit")?.as_str()?;
    if !matches!(level, "remote_write" | "remote_apply") {
        return None;
    }
    // A role that may not see the standbys sees them without their modes.
    let mut replicas = before.replicas.iter();
    let may_wait = replicas.any(|replica| replica.mode.is_empty())
        || before
            .replication
            .is_none_or(|mode| mode == Replication::Synchronous);
    if may_wait {
        return None;
    }
    caveat(
        format!(
            "synchronous_commit is {level}, but no synchronous standby is connected: commits waited for this server's disk \
             only."
        ),
        "Attach a standby and name it in synchronous_standby_names.",
    )
}

pub(crate) fn check_statistics(run: &Run) -> Option<Finding> {
    let never_analyzed = tables_before(run)?.iter().find(|table| {
        let needs_statistics = table.rows.is_some_and(|rows| rows >= STATISTICS_MIN_ROWS);
        needs_statistics && table.statistics_age_s.is_none() && table.analyses == Some(0)
    })?;
    note(
        format!(
            "{} has {} and has not been analyzed since the server began to keep statistics: plans may be poor.",
            never_analyzed.name,
            count(never_analyzed.rows.unwrap_or(0), "row")
        ),
        "ANALYZE the tables after loading them.",
    )
}

pub(crate) fn check_durability(run: &Run) -> Option<Finding> {
    let durability = run.state_before()?.durability.as_ref()?;
    let risk = match durability.class {
        DurabilityClass::D0 => "a crash may destroy data that was committed long before",
        DurabilityClass::D1 => "a crash of the server process may lose the last commits",
        DurabilityClass::D2 => "a crash of the machine may lose the last commits",
        DurabilityClass::D3 | DurabilityClass::D4 if durability.tables_unknown => {
            let finding = format!(
                "Durability class {}: a crash would empty any unlogged tables.",
                durability.description()
            );
            let advice = match run.server.dialect() {
                Some(SqlDialect::PostgreSql) => {
                    "Let the role read pg_class, or check yourself that its tables are logged."
                }
                Some(SqlDialect::TransactSql) => {
                    "Check in sys.tables that none of its tables has the durability SCHEMA_ONLY; the stored run \
                     says why it could not be queried."
                }
                Some(SqlDialect::MySql) | None => {
                    "Check with SHOW TABLE STATUS that its tables use InnoDB or another engine with a \
                     log; the stored run says why information_schema could not be queried."
                }
            };
            return caveat(finding, advice);
        }
        DurabilityClass::D3 | DurabilityClass::D4 => return None,
    };
    caveat(
        format!(
            "Durability class {}: {risk} ({}). A safe commit costs more.",
            durability.description(),
            durability.because.join(", ")
        ),
        "Compare only with runs of the same class; to measure a durable system, set the named settings to \
         their safe values.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{healthy, observed_mut, observed_run, set};
    use DurabilityClass::{D0, D1, D2, D3, D4};
    use prony_assertions::TextAssertions;
    use prony_store::Product;
    use prony_store::{Description, Durability, Replica, Severity};

    fn with_tables(change: impl FnOnce(&mut Vec<TableState>)) -> Run {
        let mut run = observed_run();
        change(&mut observed_mut(&mut run).before.as_mut().unwrap().tables);
        run
    }

    #[test]
    fn a_commit_that_waits_for_no_standby_is_reported() {
        let mut run = observed_run();
        let mut check = |level: &str, mode: &str, replication| {
            set(&mut run, "synchronous_commit", level);
            let before = observed_mut(&mut run).before.as_mut().unwrap();
            before.replication = Some(replication);
            before.replicas = vec![Replica {
                mode: mode.to_owned(),
                ..Replica::default()
            }];
            check_standby(&run).map(|found| found.severity)
        };
        let (none, waits) = (Replication::Asynchronous, Replication::Synchronous);
        assert_eq!(check("remote_apply", "async", none), Some(Severity::Caveat));
        assert_eq!(check("remote_apply", "", none), None, "not visible");
        assert_eq!(check("remote_apply", "sync", waits), None);
        assert_eq!(check("on", "async", none), None);
    }

    #[test]
    fn data_of_another_scale_is_reported() {
        assert_eq!(check_data_scale(&observed_run()), None);
        assert_eq!(check_data_scale(&healthy()), None, "not observed");
        let mut run = with_tables(|tables| tables[0].rows = Some(5_000_000));
        let check = check_data_scale(&run).unwrap();
        check.finding.assert_contains("about 5,000,000 rows");
        check.finding.assert_contains("scale 100 has 10,000,000");
        run.server.product = Some(Product::MARIADB);
        assert_eq!(
            check_data_scale(&run),
            None,
            "its estimates may be off by that much"
        );
        run.workload.description = None;
        assert_eq!(check_data_scale(&run), None);
    }

    #[test]
    fn data_of_unknown_size_is_noted() {
        let mut run = observed_run();
        let forget = |run: &mut Run| {
            let observed = observed_mut(run);
            for state in [&mut observed.before, &mut observed.after] {
                state.as_mut().unwrap().database_bytes = None;
            }
        };
        forget(&mut run);
        assert_eq!(check_data_size(&run), None, "the scale says it");
        run.workload.description = None;
        assert_eq!(check_data_size(&run).unwrap().severity, Severity::Note);
        let before = observed_mut(&mut run).before.as_mut().unwrap();
        before.database_bytes = Some(1);
        assert_eq!(check_data_size(&run), None);
    }

    #[test]
    fn rows_added_by_earlier_runs_are_reported() {
        assert_eq!(check_data_grown(&observed_run()), None);
        let few_added = with_tables(|tables| tables[1].rows = Some(900_000));
        assert_eq!(check_data_grown(&few_added), None);
        let many_added = with_tables(|tables| tables[1].rows = Some(1_100_000));
        let check = check_data_grown(&many_added).unwrap();
        assert_eq!(check.severity, Severity::Caveat);
        let finding = &check.finding;
        finding.assert_contains("1,100,000 rows to pgbench_history");
        let mut tpcc = with_tables(|tables| tables[1].name = "orders".to_owned());
        tpcc.workload.description = Some(Description {
            tables: vec![ScaledTable {
                name: "orders".to_owned(),
                rows_per_scale: 30_000,
                grows_per_scale: Some(30_000),
            }],
            ..Description::default()
        });
        let orders = |run: &mut Run, rows| {
            let before = observed_mut(run).before.as_mut().unwrap();
            before.tables[1].rows = Some(rows);
        };
        orders(&mut tpcc, 3_100_000);
        assert_eq!(check_data_grown(&tpcc), None);
        orders(&mut tpcc, 3_500_000);
        let finding = check_data_grown(&tpcc).unwrap().finding;
        finding.assert_contains("500,000 rows to orders");
    }

    #[test]
    fn dead_rows_and_missing_statistics_are_reported() {
        assert_eq!(
            (
                check_dead_rows(&observed_run()),
                check_statistics(&observed_run())
            ),
            (None, None)
        );
        let dead = with_tables(|tables| tables[0].dead_rows = Some(4_000_000));
        let finding = check_dead_rows(&dead).unwrap().finding;
        finding.assert_contains("4,000,000 rows of pgbench_accounts");
        let few_dead = with_tables(|tables| tables[0].dead_rows = Some(1_000_000));
        assert_eq!(check_dead_rows(&few_dead), None);
        let never_analyzed = with_tables(|tables| {
            (tables[0].statistics_age_s, tables[0].analyses) = (None, Some(0));
        });
        assert_eq!(
            check_statistics(&never_analyzed).unwrap().severity,
            Severity::Note
        );
        let unknown = with_tables(|tables| {
            (tables[0].statistics_age_s, tables[0].analyses) = (None, None);
        });
        assert_eq!(check_statistics(&unknown), None);
    }

    #[test]
    fn unknown_tables_are_not_assumed_to_be_logged() {
        let mut run = observed_run();
        let before = observed_mut(&mut run).before.as_mut().unwrap();
        before.durability.as_mut().unwrap().tables_unknown = true;
        let check = check_durability(&run).unwrap();
        assert_eq!(check.severity, Severity::Caveat);
        let expected = "Durability class D3, unlogged tables not known";
        check.finding.assert_starts_with(expected);
        check.advice.assert_contains("pg_class");
        for engine in [Product::MYSQL, Product::MARIADB] {
            run.server.product = Some(engine);
            let advice = check_durability(&run).unwrap().advice;
            advice.assert_contains("information_schema");
            advice.assert_lacks("pg_class");
        }
        assert_eq!(check_durability(&observed_run()), None);
    }

    #[test]
    fn weak_durability_is_reported() {
        let check_of = |class: DurabilityClass| {
            let mut run = observed_run();
            let before = observed_mut(&mut run).before.as_mut().unwrap();
            before.durability = Some(Durability {
                class,
                because: vec!["fsync off".to_owned()],
                tables_unknown: false,
            });
            check_durability(&run)
        };
        for class in [D0, D1, D2] {
            let (check, class) = (check_of(class).expect("a finding"), class.name());
            assert_eq!(check.severity, Severity::Caveat);
            check.finding.assert_contains(class);
            check.finding.assert_contains("(fsync off)");
        }
        assert_eq!((check_of(D3), check_of(D4)), (None, None));
        assert_eq!(check_durability(&healthy()), None, "not known");
    }
}
