use super::*;
use prony_assertions::TextAssertions;
use prony_store::MachineSecond;
use std::collections::{BTreeMap, BTreeSet};

fn text(all: &Exposition) -> String {
    crate::sample_run::written(|out| all.write(out))
}

/// The metrics of a run with two kinds, an error and observations of the server.
fn sample_exposition() -> Exposition {
    let mut pay = KindTotals {
        name: "pay \"now\"\\\nline".into(),
        committed: 5,
        failed: 3,
        samples: 5,
        sum_s: 120.5,
        ..KindTotals::default()
    };
    let mut histogram = Histogram::<u32>::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
    for time_ns in [1, 900_000, 999_000, 40_000_000, 120_000_000_000] {
        histogram.record(time_ns).unwrap();
    }
    pay.add_times(&histogram);
    let look = KindTotals {
        name: "look".into(),
        ..KindTotals::default()
    };
    let mut server = ServerTotals::default();
    for commits in [Some(900), None, Some(100)] {
        server.add(&ServerSecond {
            commits,
            connections: Some(8),
            waits: [("IO/WalSync".to_owned(), 3)].into(),
            machine: Some(MachineSecond {
                busy_share: Some(0.75),
                server_cpu_s: Some(1.5),
                ..MachineSecond::default()
            }),
            ..ServerSecond::default()
        });
    }
    let mut last = crate::sample_run::closed().series[1].clone();
    last.p95_ns = None;
    Exposition {
        labels: vec![("run", "20261120-a".into()), ("workload", "tpcb".into())],
        clients: 64,
        target_tps: Some(5_000.0),
        kinds: vec![pay, look],
        errors: vec![ErrorTotals {
            kind: "look".into(),
            class: "deadlock".into(),
            code: "40P01".into(),
            count: 3,
        }],
        client_cpu_s: Some(0.8),
        waiting_starts: Some(7),
        last: Some(last),
        server,
    }
}

/// Checks a text by the rules of the format and of `promtool check metrics`; returns the samples.
pub(crate) fn lint(text: &str) -> BTreeMap<String, f64> {
    assert!(text.ends_with('\n'));
    let (mut helped, mut types) = (BTreeSet::new(), BTreeMap::new());
    let (mut samples, mut current) = (BTreeMap::new(), String::new());
    for line in text.lines() {
        if let Some(description) = line.strip_prefix("# HELP ") {
            let (name, help) = description.split_once(' ').expect("a help text");
            assert!(helped.insert(name.to_owned()), "{name} twice");
            assert!(!help.is_empty());
            continue;
        }
        if let Some(description) = line.strip_prefix("# TYPE ") {
            let (name, metric_type) = description.split_once(' ').expect("a type");
            assert!(helped.contains(name), "{name} without a help text before");
            assert!(["counter", "gauge", "histogram", "summary"].contains(&metric_type));
            assert_eq!(name.ends_with("_total"), metric_type == "counter", "{name}");
            let is_valid = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(
                name.starts_with("prony_") && name.chars().all(is_valid),
                "{name}"
            );
            assert!(
                !["_bucket", "_sum", "_count"]
                    .iter()
                    .any(|end| name.ends_with(end))
            );
            for unit in ["milliseconds", "_ms", "_ns", "_percent", "kilobytes"] {
                name.assert_lacks(unit);
            }
            types.insert(name.to_owned(), metric_type.to_owned());
            current = name.to_owned();
            continue;
        }
        let (series, value) = line.rsplit_once(' ').expect("a sample");
        let name = series.split('{').next().unwrap();
        let metric_type = types[&current].as_str();
        let in_family = name == current && metric_type != "histogram"
            || ["_sum", "_count"].iter().any(|end| {
                ["histogram", "summary"].contains(&metric_type) && name == format!("{current}{end}")
            })
            || metric_type == "histogram" && name == format!("{current}_bucket");
        assert!(in_family, "{name} in the family {current}");
        assert_eq!(
            series.contains(",le=\""),
            name.ends_with("_bucket"),
            "{series}"
        );
        assert!(
            !series.contains("quantile=") || metric_type == "summary",
            "{series}"
        );
        if series.contains('{') {
            series.assert_ends_with("\"}");
        }
        let value: f64 = value.parse().expect("a number");
        assert!(
            samples.insert(series.to_owned(), value).is_none(),
            "{series} twice"
        );
    }
    samples
}

#[test]
fn the_text_follows_the_format_and_contains_the_figures() {
    let samples = lint(&text(&sample_exposition()));
    let value = |series: &str| samples[series];
    assert_eq!(
        value("prony_run_info{run=\"20261120-a\",workload=\"tpcb\"}"),
        1.0
    );
    assert_eq!(value("prony_clients"), 64.0);
    assert_eq!(value("prony_target_transactions_per_second"), 5_000.0);
    assert_eq!(value("prony_measuring"), 1.0);
    assert_eq!(value("prony_waiting_starts"), 7.0);
    let error = "prony_errors_total{kind=\"look\",class=\"deadlock\",code=\"40P01\"}";
    assert_eq!(value(error), 3.0);
    assert_eq!(
        value("prony_recent_response_seconds{quantile=\"0.99\"}"),
        0.009
    );
    assert!(!samples.contains_key("prony_recent_response_seconds{quantile=\"0.95\"}"));
    assert_eq!(value("prony_recent_response_seconds_count"), 5.0);
    assert_eq!(value("prony_server_commits_total"), 1_000.0);
    assert_eq!(value("prony_server_cpu_seconds_total"), 4.5);
    assert_eq!(value("prony_server_cpu_busy_ratio"), 0.75);
    assert_eq!(
        value("prony_server_session_states{event=\"IO/WalSync\"}"),
        3.0
    );
    assert!(
        !samples.contains_key("prony_server_rollbacks_total"),
        "absent, not zero"
    );
    let escaped =
        "prony_transactions_total{kind=\"pay \\\"now\\\"\\\\\\nline\",outcome=\"committed\"}";
    assert_eq!(value(escaped), 5.0);
}

#[test]
fn buckets_are_cumulative() {
    let samples = lint(&text(&sample_exposition()));
    let kind = "kind=\"pay \\\"now\\\"\\\\\\nline\"";
    let bucket =
        |le: &str| samples[&format!("prony_response_seconds_bucket{{{kind},le=\"{le}\"}}")];
    assert_eq!([bucket("0.00005"), bucket("0.0005")], [1.0, 1.0]);
    assert_eq!(
        [bucket("0.001"), bucket("0.025"), bucket("0.05")],
        [3.0, 3.0, 4.0]
    );
    assert_eq!([bucket("100"), bucket("+Inf")], [4.0, 5.0]);
    assert_eq!(
        samples[&format!("prony_response_seconds_count{{{kind}}}")],
        5.0
    );
    assert_eq!(
        samples[&format!("prony_response_seconds_sum{{{kind}}}")],
        120.5
    );
}

#[test]
fn unknown_values_have_no_samples() {
    let mut all = sample_exposition();
    (
        all.last,
        all.target_tps,
        all.waiting_starts,
        all.client_cpu_s,
    ) = (None, None, None, None);
    all.kinds = vec![KindTotals::default()];
    (all.errors, all.server) = (Vec::new(), ServerTotals::default());
    let text = text(&all);
    let samples = lint(&text);
    assert_eq!(
        samples["prony_transactions_total{kind=\"\",outcome=\"failed\"}"],
        0.0
    );
    for absent in [
        "prony_connections",
        "prony_target",
        "prony_server",
        "quantile=",
        "cpu",
    ] {
        text.assert_lacks(absent);
    }
    text.assert_lacks("-0");
}

#[test]
fn the_lint_rejects_invalid_texts() {
    for invalid in [
        "prony_a 1\n",
        "# HELP prony_a x\n# TYPE prony_a counter\nprony_a 1\n",
        "# HELP prony_a x\n# TYPE prony_a gauge\nprony_a 1\nprony_a 1\n",
        "# HELP prony_a x\n# TYPE prony_a gauge\nprony_b 1\n",
    ] {
        assert!(
            std::panic::catch_unwind(|| lint(invalid)).is_err(),
            "{invalid}"
        );
    }
}
