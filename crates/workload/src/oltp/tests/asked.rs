//! Options: defaults, values, and every mistake named.

use super::allocation::ALL;
use crate::Workload;
use crate::oltp::distribution::Distribution;
use crate::oltp::options::{Asked, KEYS, read};
use crate::oltp::{self, Oltp};
use prony_plan::{QueryMode, WorkloadPlan};

fn plan(scale: Option<u32>, options: &[(&str, &str)]) -> WorkloadPlan {
    let options = options.iter();
    WorkloadPlan {
        name: "oltp_read_write".to_owned(),
        scale,
        options: options
            .map(|(key, value)| ((*key).to_owned(), (*value).into()))
            .collect(),
    }
}

fn problems(workload: &Oltp, scale: Option<u32>, options: &[(&str, &str)]) -> Vec<String> {
    let problems = workload.check_options(&plan(scale, options), QueryMode::Prepared);
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_not_given_is_sysbench_s_default() {
    let asked = read(&plan(None, &[]), &oltp::OLTP_READ_WRITE).expect("nothing wrong");
    assert_eq!(asked, Asked::default());
    assert!(KEYS.is_sorted(), "the error lists them");
    for workload in ALL {
        assert!(
            problems(workload, None, &[]).is_empty(),
            "{}",
            workload.name
        );
    }
}

#[test]
fn values_are_taken_as_text_and_as_what_they_are() {
    let mut plan = plan(
        Some(4),
        &[
            ("rand_type", "pareto"),
            ("rand_pareto_h", "0.3"),
            ("skip_trx", "on"),
            ("auto_inc", "off"),
        ],
    );
    plan.options.insert("table_size".into(), 25_000.into());
    plan.options.insert("range_selects".into(), false.into());
    let asked = read(&plan, &oltp::OLTP_READ_WRITE).expect("all known");
    let wanted = Asked {
        tables: Some(4),
        table_size: Some(25_000),
        range_selects: false,
        skip_trx: true,
        auto_inc: false,
        distribution: Distribution::Pareto { h: 0.3 },
        ..Asked::default()
    };
    assert_eq!(asked, wanted);
    for (name, wanted) in [
        ("uniform", Distribution::Uniform),
        ("gaussian", Distribution::Gaussian { iterations: 12 }),
        ("zipfian", Distribution::Zipfian { exponent: 0.8 }),
    ] {
        let asked = read(
            &self::plan(None, &[("rand_type", name)]),
            &oltp::OLTP_DELETE,
        );
        assert_eq!(asked.expect("known").distribution, wanted);
        assert_eq!(wanted.name(), name);
    }
}

#[test]
fn all_mistakes_are_named_together() {
    let said = problems(
        &oltp::OLTP_READ_WRITE,
        Some(3),
        &[
            ("table_size", "0"),
            ("tables", "4"),
            ("rand_type", "zipf"),
            ("rand_pareto_h", "1"),
            ("skip_trx", "perhaps"),
            ("point_selects", "many"),
            ("create_table_options", "x; drop table y"),
        ],
    );
    let all = said.join("\n");
    assert_eq!(said.len(), 7, "{all}");
    for words in [
        "table_size = 0 is not a possible number\n  hint: 1 to 2147483647",
        "4 tables and a scale of 3 contradict each other",
        "rand_type = zipf is not known\n  hint: one of uniform, gaussian, special, pareto, zipfian",
        "rand_pareto_h = 1 is not a possible number\n  hint: above 0 and below 1",
        "skip_trx = perhaps is not yes or no\n  hint: on or off",
        "point_selects = many is not a possible number",
        "create_table_options = x; drop table y is more than a part of a statement",
    ] {
        assert!(all.contains(words), "{words}\n{all}");
    }
}

#[test]
fn what_does_not_fit_together_is_named() {
    let nothing = [
        ("point_selects", "0"),
        ("range_selects", "off"),
        ("skip_trx", "on"),
    ];
    let said = problems(&oltp::OLTP_READ_ONLY, None, &nothing);
    assert!(
        said[0].contains("an event of oltp_read_only has no statement"),
        "{said:?}"
    );
    assert!(problems(&oltp::OLTP_READ_WRITE, None, &nothing).is_empty());
    let said = problems(&oltp::SELECT_RANDOM_POINTS, Some(2), &[]);
    assert!(
        said[0].contains("select_random_points runs on one table"),
        "{said:?}"
    );
    let said = problems(&oltp::HOT_ROW, None, &[("table_size", "50")]);
    assert!(
        said[0].contains("row 100 is not in a table of 50 rows"),
        "{said:?}"
    );
    let said = problems(&oltp::OLTP_READ_ONLY, Some(70_000), &[]);
    assert!(said[0].contains("70000 tables"), "{said:?}");
}

#[test]
fn a_result_names_what_decides_its_figures() {
    let named = |workload: &Oltp| {
        let named = Asked::default().named(workload, 4, 500);
        let named: Vec<_> = named
            .iter()
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        named.join(", ")
    };
    assert_eq!(
        named(&oltp::OLTP_READ_WRITE),
        "tables 4, table_size 500, rand_type special, rand_spec_iter 12, rand_spec_pct 1, \
         rand_spec_res 75, point_selects 10, range_size 100, simple_ranges 1, sum_ranges 1, \
         order_ranges 1, distinct_ranges 1, index_updates 1, non_index_updates 1, \
         delete_inserts 1, skip_trx off"
    );
    assert_eq!(
        named(&oltp::HOT_ROW),
        "tables 4, table_size 500, row 100, hint off, skip_trx off"
    );
    assert_eq!(named(&oltp::BULK_INSERT), "tables 4");
}
