//! Observed differences of servers and their settings.

use super::*;
use crate::compare::{Verdict, compare};
use crate::sample::{healthy, observed_mut, observed_run, set};
use DurabilityClass::{D1, D3};
use prony_store::{DurabilityClass, Replication};

#[test]
fn values_observed_on_both_sides_are_compared() {
    let names = |a: &Run, b: &Run| -> Vec<String> {
        observed_differences(a, b)
            .into_iter()
            .map(|difference| difference.what)
            .collect()
    };
    assert_eq!(names(&observed_run(), &observed_run()), [""; 0]);
    let mut different = observed_run();
    let before = observed_mut(&mut different).before.as_mut().unwrap();
    before.durability.as_mut().unwrap().class = D1;
    before.replication = Some(Replication::Asynchronous);
    let machine = &mut observed_mut(&mut different).machine;
    machine.cpus = Some(8);
    // What only one of two documents records is not compared.
    machine.cpu = Some("Xeon".to_owned());
    assert_eq!(
        names(&observed_run(), &different),
        ["durability", "server's CPUs"]
    );
    let mut other_cpu = different.clone();
    let machine = &mut observed_mut(&mut other_cpu).machine;
    machine.cpu = Some("Epyc".to_owned());
    assert_eq!(names(&different, &other_cpu), ["server's CPU"]);
    let with_data = |bytes: u64| {
        let mut run = observed_run();
        let before = observed_mut(&mut run).before.as_mut().unwrap();
        (before.database_bytes, before.cache_bytes) = (Some(bytes), Some(1 << 30));
        compare(
            &run,
            &{
                let mut cached = run.clone();
                let before = observed_mut(&mut cached).before.as_mut().unwrap();
                before.database_bytes = Some(900 << 20);
                cached
            },
            false,
        )
    };
    assert_eq!(with_data(910 << 20).differences, []);
    let larger = with_data(3 << 30);
    assert_eq!(larger.differences[0].what, DATA_AND_CACHE_PROPERTY);
    assert_eq!(larger.differences[0].a, "3.00 times the cache");
    assert_eq!(
        compare(&observed_run(), &different, false).verdict,
        Verdict::NotComparable
    );
    assert_eq!(
        names(&healthy(), &different),
        ["observation"],
        "one was not observed"
    );
}

#[test]
fn unknown_durability_is_a_caveat() {
    let unknown = |class: DurabilityClass| {
        let mut run = observed_run();
        let before = observed_mut(&mut run).before.as_mut().unwrap();
        before.durability = Some(Durability {
            class,
            because: Vec::new(),
            tables_unknown: true,
        });
        run
    };
    let comparison = compare(&observed_run(), &unknown(D3), false);
    assert_eq!(comparison.verdict, Verdict::WithCaveats);
    let [difference] = &comparison.differences[..] else {
        panic!("{comparison:?}");
    };
    assert_eq!(
        (
            difference.what.as_str(),
            difference.a.as_str(),
            difference.b.as_str()
        ),
        ("durability", "D3", "D3, unlogged tables not known")
    );
    assert_eq!(difference.severity, Severity::Caveat);
    assert_eq!(
        compare(&unknown(D3), &unknown(D3), false).verdict,
        Verdict::Comparable
    );
    assert_eq!(
        compare(&observed_run(), &unknown(D1), false).verdict,
        Verdict::NotComparable
    );
    // The keys of the two Runs differ too, so that they are not put into one group.
    assert_ne!(settings_key(&observed_run()), settings_key(&unknown(D3)));
}

#[test]
fn settings_differ_by_relevance() {
    let run_with_settings = |count: usize, value: &str| {
        let mut run = healthy();
        for name in ["work_mem", "port", "ssl_ca_file", "geqo_seed"] {
            set(&mut run, name, value);
        }
        for number in 0..count {
            set(&mut run, &format!("setting{number}"), "on");
        }
        run
    };
    let run_with_names = |names: &[&str], value: &str| {
        let mut run = run_with_settings(80, "1");
        let settings = names.iter().map(|name| ((*name).to_owned(), value.into()));
        run.server.settings.extend(settings);
        run
    };
    // A session shows the settings of a language only after it has loaded it.
    let language = ["plpgsql.variable_conflict", "plpgsql.check_asserts"];
    assert_eq!(
        setting_differences(&run_with_names(&language, "on"), &run_with_names(&[], "")),
        []
    );
    let irrelevant = ["DateStyle", "IntervalStyle", "lc_time", "log_line_prefix"];
    assert_eq!(
        setting_differences(
            &run_with_names(&irrelevant, "a"),
            &run_with_names(&irrelevant, "b")
        ),
        []
    );
    let extension = ["pg_stat_statements.track", "log_statement"];
    let all = run_with_names(&extension, "all");
    let differences = setting_differences(&all, &run_with_names(&extension, "none"));
    assert_eq!(differences.len(), 2, "{differences:?}");

    let settings_differences = |a: &Run, b: &Run| -> Vec<(String, Severity)> {
        setting_differences(a, b)
            .into_iter()
            .map(|difference| (difference.what, difference.severity))
            .collect()
    };
    let work_mem = ("work_mem".to_owned(), Severity::Caveat);
    let seed = ("geqo_seed".to_owned(), Severity::Note);
    assert_eq!(
        settings_differences(&run_with_settings(80, "1"), &run_with_settings(80, "2")),
        [seed, work_mem.clone()]
    );
    assert_eq!(
        settings_differences(&run_with_settings(80, "1"), &run_with_settings(0, "2")),
        [work_mem],
        "not all settings were read"
    );
}
