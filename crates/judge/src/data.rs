//! Whether the data was what was loaded, and what a commit of it was worth.
//!
//! In: a Run. Out: `data-scale`, `data-grown`, `dead-rows`, `statistics`, `durability`. Must never: take
//! the server's estimates of rows for counts.

use crate::found;
use crate::thresholds::{
    DATA_GROWN, DATA_SCALE, DATA_SCALE_INNODB, DEAD_ROWS, DEAD_ROWS_LEAST, STATISTICS_LEAST,
};
use crate::watch::observed;
use crate::words::{count, percent, thousands};
use prony_store::{Check, Run, Severity, TableState};

/// Rows for each unit of scale: those that no transaction adds or removes.
const FIXED: [(&str, &str, u64); 4] = [
    ("tpcb", "pgbench_accounts", 100_000),
    ("simple-update", "pgbench_accounts", 100_000),
    ("tpcc", "customer", 30_000),
    ("tpcc", "stock", 100_000),
];
/// Rows for each unit of scale as loaded, of tables that grow with each run, and the rows for each unit
/// of scale that the growth is measured by.
const GROWING: [(&str, &str, u64, u64); 4] = [
    ("tpcb", "pgbench_history", 0, 100_000),
    ("simple-update", "pgbench_history", 0, 100_000),
    ("tpcc", "orders", 30_000, 30_000),
    ("tpcc", "history", 30_000, 30_000),
];

/// The tables before the run; another workload may have left some of the same name elsewhere.
fn tables(run: &Run) -> Option<&[TableState]> {
    Some(&observed(run)?.before.as_ref()?.tables)
}

fn rows(tables: &[TableState], name: &str) -> Option<u64> {
    let table = tables.iter().find(|table| table.name == name);
    table.and_then(|table| table.rows)
}

pub(crate) fn scale(run: &Run) -> Option<Check> {
    let tables = tables(run)?;
    let slack = match run.server.engine.as_str() {
        "postgresql" => DATA_SCALE,
        _ => DATA_SCALE_INNODB,
    };
    let wrong = FIXED.iter().find_map(|(workload, name, each)| {
        let meant = each * u64::from(run.workload.scale);
        let rows = rows(tables, name).filter(|_| *workload == run.workload.name && meant > 0)?;
        let off = (rows as f64 / meant as f64 - 1.0).abs();
        (off > slack).then_some((name, rows, meant))
    });
    let (name, rows, meant) = wrong?;
    found(
        "data-scale",
        Severity::Caveat,
        format!(
            "{name} has about {} by the server's statistics, where scale {} has {}: the data may not be \
             that of this scale.",
            count(rows, "row"),
            run.workload.scale,
            thousands(meant)
        ),
        "Check it with `prony check`, analyze the tables if the statistics are old, or load anew.",
    )
}

pub(crate) fn grown(run: &Run) -> Option<Check> {
    let tables = tables(run)?;
    let scale = u64::from(run.workload.scale);
    let worst = GROWING.iter().filter_map(|(workload, name, loaded, by)| {
        let rows = rows(tables, name).filter(|_| *workload == run.workload.name && scale > 0)?;
        let more = rows.saturating_sub(loaded * scale);
        Some((*name, more, more as f64 / (by * scale) as f64))
    });
    let (name, more, share) = worst.max_by(|a, b| a.2.total_cmp(&b.2))?;
    if share <= DATA_GROWN {
        return None;
    }
    found(
        "data-grown",
        Severity::Caveat,
        format!(
            "Former runs have left about {} in {name}: the data is larger than a fresh one of this scale, \
             and caches and indexes with it.",
            count(more, "row")
        ),
        "Load anew before a run whose figure is to be compared with that of another one.",
    )
}

pub(crate) fn dead_rows(run: &Run) -> Option<Check> {
    let worst = tables(run)?.iter().filter_map(|table| {
        let (rows, dead) = (table.rows?, table.dead_rows?);
        let share = dead as f64 / (rows + dead).max(1) as f64;
        (dead >= DEAD_ROWS_LEAST && share > DEAD_ROWS).then_some((table, dead, share))
    });
    let (table, dead, share) = worst.max_by_key(|(_, dead, _)| *dead)?;
    found(
        "dead-rows",
        Severity::Caveat,
        format!(
            "Before the run {} of {} were dead rows that former work has left, {} of them: they are \
             read past, and the server may clean up within the window.",
            thousands(dead),
            table.name,
            percent(share)
        ),
        "Vacuum before the run (VACUUM ANALYZE), or load anew.",
    )
}

pub(crate) fn statistics(run: &Run) -> Option<Check> {
    let never = tables(run)?.iter().find(|table| {
        let large = table.rows.is_some_and(|rows| rows >= STATISTICS_LEAST);
        large && table.statistics_age_s.is_none() && table.analyses == Some(0)
    })?;
    found(
        "statistics",
        Severity::Note,
        format!(
            "{} has {} and was never analyzed since the server's statistics began: plans may be poor.",
            never.name,
            count(never.rows.unwrap_or(0), "row")
        ),
        "ANALYZE the tables after loading them.",
    )
}

pub(crate) fn durability(run: &Run) -> Option<Check> {
    let durability = observed(run)?.before.as_ref()?.durability.as_ref()?;
    let risk = match durability.class.as_str() {
        "D0" => "a crash may destroy data that was committed long before",
        "D1" => "a crash of the server process may lose the last commits",
        "D2" => "a crash of the machine may lose the last commits",
        _ if durability.tables_unknown => {
            let finding = format!(
                "Durability class {}: a crash empties what tables there are without a log.",
                durability.words()
            );
            let advice = match run.server.engine.as_str() {
                "postgresql" => {
                    "Let the role read pg_class, or see by hand that its tables have a log."
                }
                _ => {
                    "See by hand, with SHOW TABLE STATUS, that its tables are of InnoDB or another \
                     engine with a log; the stored run says why information_schema could not be asked."
                }
            };
            return found("durability", Severity::Caveat, finding, advice);
        }
        _ => return None,
    };
    found(
        "durability",
        Severity::Caveat,
        format!(
            "Durability class {}: {risk} ({}). A safe commit costs more.",
            durability.words(),
            durability.because.join(", ")
        ),
        "Compare with runs of the same class only; set what is named to its safe value for the figure of \
         a system that is to keep its data.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{healthy, observed_mut, watched};
    use prony_store::Durability;

    fn spoilt(spoil: impl FnOnce(&mut Vec<TableState>)) -> Run {
        let mut run = watched();
        spoil(&mut observed_mut(&mut run).before.as_mut().unwrap().tables);
        run
    }

    #[test]
    fn data_of_another_scale() {
        assert_eq!(scale(&watched()), None);
        assert_eq!(scale(&healthy()), None, "nobody looked");
        let mut run = spoilt(|tables| tables[0].rows = Some(5_000_000));
        let check = scale(&run).unwrap();
        assert!(check.finding.contains("about 5,000,000 rows"), "{check:?}");
        assert!(
            check.finding.contains("scale 100 has 10,000,000"),
            "{check:?}"
        );
        run.server.engine = "mariadb".to_owned();
        assert_eq!(scale(&run), None, "its estimates may be off by so much");
        run.workload.name = "script".to_owned();
        assert_eq!(scale(&run), None);
    }

    #[test]
    fn what_former_runs_have_left() {
        assert_eq!(grown(&watched()), None);
        let few = spoilt(|tables| tables[1].rows = Some(900_000));
        assert_eq!(grown(&few), None);
        let much = spoilt(|tables| tables[1].rows = Some(1_100_000));
        let check = grown(&much).unwrap();
        assert_eq!(check.severity, Severity::Caveat);
        assert!(
            check.finding.contains("1,100,000 rows in pgbench_history"),
            "{check:?}"
        );
        let mut tpcc = spoilt(|tables| tables[1].name = "orders".to_owned());
        tpcc.workload.name = "tpcc".to_owned();
        let orders = |run: &mut Run, rows| {
            let before = observed_mut(run).before.as_mut().unwrap();
            before.tables[1].rows = Some(rows);
        };
        orders(&mut tpcc, 3_100_000);
        assert_eq!(grown(&tpcc), None);
        orders(&mut tpcc, 3_500_000);
        assert!(
            grown(&tpcc)
                .unwrap()
                .finding
                .contains("500,000 rows in orders")
        );
    }

    #[test]
    fn dead_rows_and_missing_statistics() {
        assert_eq!(
            (dead_rows(&watched()), statistics(&watched())),
            (None, None)
        );
        let dead = spoilt(|tables| tables[0].dead_rows = Some(4_000_000));
        assert!(
            dead_rows(&dead)
                .unwrap()
                .finding
                .contains("4,000,000 of pgbench_accounts")
        );
        let some = spoilt(|tables| tables[0].dead_rows = Some(1_000_000));
        assert_eq!(dead_rows(&some), None);
        let never = spoilt(|tables| {
            (tables[0].statistics_age_s, tables[0].analyses) = (None, Some(0));
        });
        assert_eq!(statistics(&never).unwrap().severity, Severity::Note);
        let unknown = spoilt(|tables| {
            (tables[0].statistics_age_s, tables[0].analyses) = (None, None);
        });
        assert_eq!(statistics(&unknown), None);
    }

    #[test]
    fn tables_of_which_nobody_knows_are_not_taken_for_logged() {
        let mut run = watched();
        let before = observed_mut(&mut run).before.as_mut().unwrap();
        before.durability.as_mut().unwrap().tables_unknown = true;
        let check = durability(&run).unwrap();
        assert_eq!(check.severity, Severity::Caveat);
        let said = "Durability class D3, unlogged tables not known";
        assert!(check.finding.starts_with(said), "{check:?}");
        assert!(check.advice.contains("pg_class"), "{check:?}");
        for engine in ["mysql", "mariadb"] {
            run.server.engine = engine.to_owned();
            let advice = durability(&run).unwrap().advice;
            assert!(advice.contains("information_schema"), "{advice}");
            assert!(!advice.contains("pg_class"), "{advice}");
        }
        assert_eq!(durability(&watched()), None);
    }

    #[test]
    fn what_a_commit_is_worth() {
        let of = |class: &str| {
            let mut run = watched();
            let before = observed_mut(&mut run).before.as_mut().unwrap();
            before.durability = Some(Durability {
                class: class.to_owned(),
                because: vec!["fsync off".to_owned()],
                tables_unknown: false,
            });
            durability(&run)
        };
        for class in ["D0", "D1", "D2"] {
            let check = of(class).expect(class);
            assert_eq!(check.severity, Severity::Caveat);
            assert!(check.finding.contains(class) && check.finding.contains("(fsync off)"));
        }
        assert_eq!((of("D3"), of("D4")), (None, None));
        assert_eq!(durability(&healthy()), None, "not known");
    }
}
