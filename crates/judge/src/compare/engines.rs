//! Comparisons of two engines.
//!
//! In: two Runs, and their differences. Out: the same differences; those that the engines cause become
//! caveats if the two engines may be compared. Must never: make figures of two workloads comparable, or
//! excuse that one engine guarantees less durability.

use super::rules::{DURABILITY_SETTINGS, UNKNOWN, engine};
use super::{Difference, server::ISOLATION_PROPERTY};
use prony_store::{Product, Run, Severity, SqlDialect};

/// Why engines with the protocol of MySQL may be compared.
const WHY_RELATED_ENGINES: &str =
    "these are two engines with the protocol of MySQL; this compares one with the other";
/// Why other engines may be compared.
const WHY_ACROSS_ENGINES: &str = "these are two engines, compared because of --across-engines; \
                      each ran with its own statements and settings";

/// Downgrades differences that exist only because the engines differ.
pub(super) fn downgrade_engine_differences(
    a: &Run,
    b: &Run,
    across_engines: bool,
    differences: &mut [Difference],
) {
    let engines = [a, b].map(|run| run.server.product);
    let same_workload = a.workload.name == b.workload.name;
    let engines_known = engines.iter().all(Option::is_some);
    if !same_workload || !engines_known || engine(a) == engine(b) {
        return;
    }
    let speaks_mysql = |product: &Option<Product>| {
        product.is_some_and(|product| product.dialect == SqlDialect::MySql)
    };
    let reason = if engines.iter().all(speaks_mysql) {
        WHY_RELATED_ENGINES
    } else if across_engines {
        WHY_ACROSS_ENGINES
    } else {
        return;
    };
    for difference in differences {
        let is_unknown = difference.a == UNKNOWN || difference.b == UNKNOWN;
        let depends_on_engine = match difference.what.as_str() {
            "engine" | "statements" => true,
            // Each engine has a default of its own.
            ISOLATION_PROPERTY => across_engines,
            // Settings of one engine do not exist in the other; the durability class covers both.
            name => DURABILITY_SETTINGS.contains(&name) && is_unknown,
        };
        if depends_on_engine && difference.severity == Severity::Invalid {
            difference.severity = Severity::Caveat;
            difference.why = reason;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::compare::{Verdict, common_figures, compare};
    use crate::sample::{healthy, set};
    use Verdict::{NotComparable, WithCaveats};
    use prony_store::{IndustryMetric, Product, Run, Service, Severity};

    fn run_on(engine: Product) -> Run {
        let mut run = healthy();
        run.server.product = Some(engine);
        run.workload.statements = vec![format!("select {}", engine.name)];
        run
    }

    #[test]
    fn services_differ_with_a_caveat_and_engines_that_answer_as_others_are_engines() {
        let run = |service| {
            let mut run = run_on(Product::MYSQL);
            let known = (0..100).map(|at| (format!("known{at}"), "1".into()));
            run.server.settings.extend(known);
            run.server.service = service;
            run
        };
        let whats = |a: &Run, b: &Run, across| -> (Verdict, Vec<String>) {
            let comparison = compare(a, b, across);
            let differences = comparison.differences.into_iter();
            let whats = differences.map(|difference| difference.what).collect();
            (comparison.verdict, whats)
        };
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let (plain, service) = (run(None), run(Some(Service::Rds)));
        assert_eq!(
            whats(&plain, &service, false),
            (WithCaveats, names(&["service"]))
        );
        // It speaks MySQL's protocol, as MariaDB does.
        assert_eq!(
            whats(&plain, &run(Some(Service::TiDb)), false),
            (WithCaveats, names(&["engine", "service"]))
        );
        // Aurora's fsync says nothing of what a commit survives there.
        let with_fsync = |service, fsync: &str| {
            let mut run = run_on(Product::POSTGRESQL);
            run.server.service = Some(service);
            set(&mut run, "fsync", fsync);
            run
        };
        let aurora = with_fsync(Service::AuroraPostgreSql, "off");
        let rds = with_fsync(Service::Rds, "on");
        let (verdict, found) = whats(&aurora, &rds, false);
        assert_eq!(
            (verdict, found.contains(&"fsync".to_owned())),
            (WithCaveats, true)
        );
        let cloud = with_fsync(Service::CloudSql, "off");
        assert_eq!(whats(&cloud, &rds, false).0, NotComparable);
        let mut cockroach = run_on(Product::POSTGRESQL);
        cockroach.server.service = Some(Service::Cockroach);
        let postgres = run_on(Product::POSTGRESQL);
        let (verdict, _) = whats(&postgres, &cockroach, false);
        assert_eq!(verdict, NotComparable);
        let (verdict, _) = whats(&postgres, &cockroach, true);
        assert_eq!(verdict, WithCaveats);
    }

    #[test]
    fn batch_requests_are_not_compared_with_transactions() {
        let with_tpm = |engine: Product| {
            let mut run = run_on(engine);
            for name in ["NOPM", "TPM"] {
                run.rates.push(IndustryMetric {
                    name: name.into(),
                    value: 1_000.0,
                    ..IndustryMetric::default()
                });
            }
            run
        };
        let names = |a: Product, b: Product| {
            let figures = common_figures(&with_tpm(a), &with_tpm(b));
            let figures = figures.into_iter();
            figures.map(|pair| pair.name).collect::<Vec<_>>()
        };
        let (postgres, server) = (Product::POSTGRESQL, Product::SQL_SERVER);
        for (a, b, expected) in [
            (postgres, Product::MARIADB, true),
            (server, server, true),
            (postgres, server, false),
            (server, Product::MYSQL, false),
        ] {
            let names = names(a, b);
            assert!(names.contains(&"NOPM".to_owned()));
            assert_eq!(names.contains(&"TPM".to_owned()), expected, "{a:?} {b:?}");
        }
    }

    #[test]
    fn mysql_compares_with_mariadb_and_other_engines_only_on_request() {
        let [postgres, mysql, maria] =
            [Product::POSTGRESQL, Product::MYSQL, Product::MARIADB].map(run_on);
        for (a, b, across, expected) in [
            (&mysql, &maria, false, WithCaveats),
            (&maria, &mysql, true, WithCaveats),
            (&postgres, &mysql, false, NotComparable),
            (&postgres, &mysql, true, WithCaveats),
            (&maria, &postgres, true, WithCaveats),
        ] {
            let comparison = compare(a, b, across);
            assert_eq!(comparison.verdict, expected);
            let mut differences = comparison.differences.iter();
            let engine = differences.find(|difference| difference.what == "engine");
            let engine = engine.expect("the engines are named");
            assert_eq!(engine.severity == Severity::Caveat, expected == WithCaveats);
        }
        let mut other_work = mysql.clone();
        other_work.workload.name = "select-only".to_owned();
        assert_eq!(compare(&postgres, &other_work, true).verdict, NotComparable);
        let mut unsafe_mysql = mysql.clone();
        set(&mut unsafe_mysql, "sync_binlog", "0");
        let mut safe_maria = maria.clone();
        set(&mut safe_maria, "sync_binlog", "1");
        assert_eq!(
            compare(&unsafe_mysql, &safe_maria, true).verdict,
            NotComparable
        );
    }
}
