//! Tests the options: defaults, values, and an error for every mistake.

use crate::Workload;
use crate::oltp::distribution::Distribution;
use crate::oltp::options::{OPTIONS, OltpOptions, read};
use crate::oltp::{self, Oltp};
use prony_assertions::TextAssertions;
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
fn options_default_to_those_of_sysbench() {
    let options = read(&plan(None, &[]), &oltp::OLTP_READ_WRITE).expect("valid options");
    assert_eq!(options, OltpOptions::default());
    assert!(
        OPTIONS.is_sorted_by_key(|option| option.name),
        "error messages list them in this order"
    );
    for workload in oltp::ALL {
        assert!(
            problems(workload, None, &[]).is_empty(),
            "{}",
            workload.name
        );
    }
}

#[test]
fn values_are_accepted_as_text_and_as_their_own_type() {
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
    let options = read(&plan, &oltp::OLTP_READ_WRITE).expect("valid options");
    let expected = OltpOptions {
        tables: Some(4),
        table_size: Some(25_000),
        range_selects: false,
        skip_trx: true,
        auto_inc: false,
        rand_type: 3,
        rand_pareto_h: 0.3,
        ..OltpOptions::default()
    };
    assert_eq!(options, expected);
    for (name, expected) in [
        ("uniform", Distribution::Uniform),
        ("gaussian", Distribution::Gaussian { iterations: 12 }),
        ("zipfian", Distribution::Zipfian { exponent: 0.8 }),
    ] {
        let options = read(
            &self::plan(None, &[("rand_type", name)]),
            &oltp::OLTP_DELETE,
        );
        assert_eq!(options.expect("known").distribution(), expected);
        assert_eq!(expected.name(), name);
    }
}

#[test]
fn the_rows_of_a_load_are_those_of_its_options() {
    for (workload, options, expected) in [
        (&oltp::OLTP_READ_WRITE, &[][..], 20_000),
        (&oltp::OLTP_READ_WRITE, &[("table_size", "300")], 600),
        (&oltp::HOT_ROW, &[], 200),
        (&oltp::OLTP_INSERT, &[("auto_inc", "off")], 0),
        (&oltp::BULK_INSERT, &[], 0),
    ] {
        let rows = workload.rows_to_load(&plan(None, options), 2);
        assert_eq!(rows, expected, "{} {options:?}", workload.name);
    }
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let messages = problems(
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
    let text_of_all = messages.join("\n");
    assert_eq!(messages.len(), 7, "{text_of_all}");
    for text in [
        "table_size = 0 is not a valid number\n  hint: 1 to 2147483647",
        "4 tables and a scale of 3 contradict each other",
        "rand_type = zipf is not known\n  hint: one of uniform, gaussian, special, pareto, zipfian",
        "rand_pareto_h = 1 is not a valid number\n  hint: above 0 and below 1",
        "skip_trx = perhaps is not on or off\n  hint: on or off",
        "point_selects = many is not a valid number",
        "create_table_options = x; drop table y is not a part of one statement",
    ] {
        text_of_all.assert_contains(text);
    }
}

#[test]
fn contradictory_options_are_reported() {
    let no_statements = [
        ("point_selects", "0"),
        ("range_selects", "off"),
        ("skip_trx", "on"),
    ];
    let messages = problems(&oltp::OLTP_READ_ONLY, None, &no_statements);
    messages[0].assert_contains("an event of oltp_read_only has no statement");
    assert!(problems(&oltp::OLTP_READ_WRITE, None, &no_statements).is_empty());
    let messages = problems(&oltp::SELECT_RANDOM_POINTS, Some(2), &[]);
    messages[0].assert_contains("select_random_points runs on one table");
    let messages = problems(&oltp::HOT_ROW, None, &[("table_size", "50")]);
    messages[0].assert_contains("row 100 is not in a table of 50 rows");
    let messages = problems(&oltp::OLTP_READ_ONLY, Some(70_000), &[]);
    messages[0].assert_contains("70000 tables");
}

#[test]
fn settings_include_the_options_that_affect_the_figures() {
    let settings = |workload: &Oltp| {
        let settings = OltpOptions::default().settings(workload, 4, 500);
        let settings: Vec<_> = settings
            .iter()
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        settings.join(", ")
    };
    settings(&oltp::OLTP_READ_WRITE).assert_equals(
        "tables 4, table_size 500, rand_type special, rand_spec_iter 12, rand_spec_pct 1, \
         rand_spec_res 75, point_selects 10, range_size 100, simple_ranges 1, sum_ranges 1, \
         order_ranges 1, distinct_ranges 1, index_updates 1, non_index_updates 1, \
         delete_inserts 1, skip_trx off",
    );
    settings(&oltp::HOT_ROW)
        .assert_equals("tables 4, table_size 500, row 100, hint off, skip_trx off");
    assert_eq!(settings(&oltp::BULK_INSERT), "tables 4");
}
