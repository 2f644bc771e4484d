//! Deviations and differences of synthetic runs.

use super::*;
use crate::sample::healthy as run;
use DeclaredFact::{HighAvailability, Iops, Memory, Region, Storage, StorageSize, Zones};
use prony_assertions::TextAssertions;
use prony_store::scenario::{
    CachedShare, OriginalSetup, PublishedFigure, PublishedSetup, Scenario, ScenarioLoad,
};
use prony_store::{
    Choice, DeclaredFact, IndustryMetric, QueryCounts, ServerSecond, ServerState, TableState,
};

fn published(name: &str, value: f64) -> PublishedFigure {
    PublishedFigure {
        name: PublishedMetric::from_name(name).unwrap(),
        value,
        high: None,
        unit: "a unit".to_owned(),
    }
}

fn run_with_figures(figures: &[(&str, f64)]) -> Run {
    let mut run = run();
    run.scenario = Some(Scenario {
        id: "tpcb-cached".to_owned(),
        published: figures
            .iter()
            .map(|(name, value)| published(name, *value))
            .collect(),
        original: OriginalSetup {
            dialect: Some(prony_store::SqlDialect::PostgreSql),
            setup: PublishedSetup {
                product: "AlloyDB".to_owned(),
                cpus: Some(16),
                ..PublishedSetup::default()
            },
            clients: Some(run.drive.clients),
            duration_s: Some(run.measured.length_s),
            ..OriginalSetup::default()
        },
        size_share: 1.0,
        loaded: true,
        ..Scenario::default()
    });
    run
}

fn first_deviation(run: &Run) -> ComparedFigure {
    deviations(run).remove(0)
}

#[test]
fn tpm_on_sql_server_is_compared_as_batch_requests() {
    let mut run = run_with_figures(&[
        ("TPM", 120_000.0),
        ("batch requests", 1_900.0),
        ("TPS", 2_500.0),
    ]);
    let metric = |name: &str, value: f64| IndustryMetric {
        name: name.into(),
        value,
        ..IndustryMetric::default()
    };
    run.rates = vec![
        metric("NOPM", 50_000.0),
        metric("TPM", 114_000.0),
        metric("TPM by transactions", 150_000.0),
    ];
    let measured = |run: &Run| {
        deviations(run)
            .iter()
            .map(|one| one.measured)
            .collect::<Vec<_>>()
    };
    // Elsewhere TPM counts transactions.
    assert_eq!(measured(&run), [Some(114_000.0), None, Some(1_900.0)]);
    run.server.product = Some(prony_store::Product::SQL_SERVER);
    assert_eq!(
        measured(&run),
        [Some(114_000.0), Some(1_900.0), Some(2_500.0)]
    );
    run.rates.truncate(2);
    assert_eq!(measured(&run)[2], None, "the server did not show its count");
}

#[test]
fn rates_are_compared_with_the_published_ones() {
    let mut run = run_with_figures(&[
        ("TPS", 1000.0),
        ("latency mean", 2.0),
        ("batch requests", 7.0),
    ]);
    run.measured.kinds[0].tps = 250.0;
    run.measured.kinds[0].response.mean_ns = 3e6;
    let deviations = deviations(&run);
    assert_eq!(
        (deviations[0].measured, deviations[0].change),
        (Some(250.0), Some(-0.75))
    );
    assert_eq!(
        (deviations[1].measured, deviations[1].change),
        (Some(3.0), Some(0.5))
    );
    assert_eq!((deviations[2].measured, deviations[2].change), (None, None));
}

#[test]
fn statements_are_counted_as_the_scenario_counts_them() {
    let mut run = run_with_figures(&[("QPS", 1000.0)]);
    run.measured.kinds[0].tps = 100.0;
    run.scenario.as_mut().unwrap().qps_statements_per_txn = Some(5);
    assert_eq!(first_deviation(&run).measured, Some(500.0));
    run.scenario.as_mut().unwrap().qps_statements_per_txn = None;
    run.measured.length_s = 10.0;
    run.scenario.as_mut().unwrap().original.duration_s = Some(10.0);
    run.measured.queries = Some(QueryCounts {
        reads: 70,
        writes: 20,
        others: 10,
        ..QueryCounts::default()
    });
    assert_eq!(first_deviation(&run).measured, Some(10.0));
    run.scenario.as_mut().unwrap().published = vec![published("reads", 840.0)];
    assert_eq!(
        (first_deviation(&run).measured, first_deviation(&run).change),
        (Some(420.0), Some(-0.5))
    );
}

#[test]
fn reads_per_write_other_than_published_are_reported_with_the_retries() {
    let mut run = run_with_figures(&[("reads", 1_400.0), ("writes", 400.0)]);
    let mut reads_per_write = |reads, writes, retries| {
        run.measured.kinds[0].retries = retries;
        run.measured.queries = Some(QueryCounts {
            reads,
            writes,
            ..QueryCounts::default()
        });
        let rows = differences(&run).into_iter();
        let mut rows = rows.filter(|row| row.what == "reads per write");
        rows.next().map(|row| (row.published, row.measured))
    };
    assert_eq!(reads_per_write(14_010, 4_000, 3), None);
    assert_eq!(reads_per_write(14_000, 0, 3), None);
    let (published, measured) = reads_per_write(28_000, 4_500, 1_000).expect("a difference");
    assert_eq!(published, "3.50");
    measured.assert_starts_with("6.22: ");
    measured.assert_contains("1,000");
    let (_, measured) = reads_per_write(28_000, 4_500, 0).expect("a difference");
    assert_eq!(measured, "6.22");
}

#[test]
fn new_order_rates_are_compared_with_the_published_ones() {
    let mut run = run_with_figures(&[("NOPM", 100.0), ("TPM", 240.0), ("TPS", 4.0)]);
    let rate = |name: &str, value| IndustryMetric {
        name: name.into(),
        value,
        ..IndustryMetric::default()
    };
    run.rates = vec![rate("NOPM", 50.0), rate("TPM", 120.0)];
    let changes: Vec<Option<f64>> = deviations(&run)
        .iter()
        .map(|deviation| deviation.change)
        .collect();
    assert_eq!(changes, [Some(-0.5); 3]);
}

#[test]
fn settings_are_compared_by_their_size_and_by_their_share_of_the_memory() {
    let mut run = run_with_figures(&[]);
    let settings = [
        ("shared_buffers", "20% of memory"),
        ("work_mem", "32MB"),
        ("wal_level", "replica"),
    ];
    run.scenario.as_mut().unwrap().original.setup.settings = settings
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    run.observed.get_or_insert_default().machine.memory_bytes = Some(10 << 30);
    let mut differing = |values: [&str; 3]| {
        run.server.settings.clear();
        for ((name, _), value) in settings.iter().zip(values) {
            run.server.settings.insert((*name).to_owned(), value.into());
        }
        let rows = differences(&run).into_iter();
        let rows = rows.filter(|row| row.what == "setting");
        rows.map(|row| row.measured).collect::<Vec<_>>()
    };
    assert_eq!(differing(["2GB", "32768kB", "replica"]), [""; 0]);
    assert_eq!(
        differing(["128MB", "4MB", "minimal"]),
        [
            "shared_buffers 128MB, 1.2 % of memory",
            "wal_level minimal",
            "work_mem 4MB"
        ]
    );
    // A machine that nobody observed may be declared.
    run.observed = None;
    for (fact, value) in [(Memory, "1GiB"), (Storage, "gp3")] {
        run.server.declared.declare(fact, value).unwrap();
    }
    run.server
        .settings
        .insert("shared_buffers".to_owned(), "256MB".into());
    run.scenario.as_mut().unwrap().original.setup.disk = Some("local".to_owned());
    let rows = differences(&run);
    let measured = rows.iter().map(|row| row.measured.as_str());
    assert!(measured.clone().any(|text| text == "gp3"), "{rows:?}");
    assert!(
        measured
            .clone()
            .any(|text| text == "shared_buffers 256MB, 25 % of memory"),
        "{rows:?}"
    );
    run.server.settings.clear();
    let unknown = differences(&run).into_iter();
    let unknown = unknown.filter(|row| row.measured.ends_with(" unknown"));
    assert_eq!(unknown.count(), 3);
}

#[test]
fn the_load_of_a_run_is_compared_with_the_published_one() {
    let figures = [
        ("load time", 2_000.0),
        ("load: vacuum", 100.0),
        ("load: keys", 10.0),
    ];
    let mut run = run_with_figures(&figures);
    let measured = |run: &Run| {
        let deviations = deviations(run).into_iter();
        deviations.map(|one| one.measured).collect::<Vec<_>>()
    };
    assert_eq!(measured(&run), [None; 3]);
    run.scenario.as_mut().unwrap().load = Some(ScenarioLoad {
        seconds: 1_000.0,
        phases: [("statistics", 150.0)]
            .map(|(name, s)| (name.to_owned(), s))
            .into(),
        ..ScenarioLoad::default()
    });
    assert_eq!(measured(&run), [Some(1_000.0), Some(150.0), None]);
    assert_eq!(deviations(&run)[0].change, Some(-0.5));
}

#[test]
fn published_facts_of_the_service_are_compared_with_the_declared_ones() {
    let mut run = run_with_figures(&[]);
    let original = &mut run.scenario.as_mut().unwrap().original;
    original.setup.high_availability = Some(prony_store::HighAvailability::MultiZone);
    (original.setup.zones, original.setup.region) = (Some(2), Some("us-central1".to_owned()));
    (original.setup.client_machine, original.setup.client_cpus) =
        (Some("E2".to_owned()), Some(4_096));
    let differing = |run: &Run| {
        let rows = differences(run).into_iter();
        let names = ["high availability", "zones", "region", "client's machine"];
        let rows = rows.filter(|row| names.contains(&row.what));
        rows.map(|row| row.measured).collect::<Vec<_>>()
    };
    assert_eq!(differing(&run)[..3], ["unknown"; 3]);
    for (fact, value) in [
        (HighAvailability, "multi-zone"),
        (Zones, "3"),
        (Region, "us-central1"),
    ] {
        run.server.declared.declare(fact, value).unwrap();
    }
    assert_eq!(differing(&run)[0], "3");
    assert_eq!(differing(&run).len(), 2);
    run.scenario.as_mut().unwrap().original.setup.client_cpus = Some(run.machine().host.cpus);
    assert_eq!(differing(&run), ["3"]);
}

#[test]
fn limits_of_the_instance_are_compared_with_the_observed_and_the_declared_ones() {
    let mut run = run_with_figures(&[]);
    let original = &mut run.scenario.as_mut().unwrap().original;
    (original.setup.max_connections, original.setup.iops) = (Some(4_000), Some(7_000));
    original.setup.storage_size = Some("2 TB".to_owned());
    let differing = |run: &Run| {
        let rows = differences(run).into_iter();
        let names = ["size of storage", "IOPS limit", "maximum connections"];
        let rows = rows.filter(|row| names.contains(&row.what));
        rows.map(|row| row.measured).collect::<Vec<_>>()
    };
    run.server.settings.clear();
    assert_eq!(differing(&run), ["unknown"; 3]);
    let settings = &mut run.server.settings;
    settings.insert("max_connections".to_owned(), "1000".into());
    let declared = &mut run.server.declared;
    declared.declare(Iops, "3000").unwrap();
    declared.declare(StorageSize, "2000 GB").unwrap();
    assert_eq!(differing(&run), ["3000", "1,000"]);
    run.server.declared.declare(Iops, "7000").unwrap();
    let settings = &mut run.server.settings;
    settings.insert("max_connections".to_owned(), 4_000.into());
    assert_eq!(differing(&run), [""; 0]);
}

#[test]
fn the_size_of_the_data_is_judged_by_the_published_one() {
    let mut run = run_with_figures(&[]);
    run.workload.name = "tpcb".to_owned();
    let scenario = run.scenario.as_mut().unwrap();
    (scenario.original.setup.data_gb, scenario.size_share) = (Some(60), 0.5);
    let mut differing = |bytes: u64| {
        let names = ["accounts", "branches", "history", "tellers"];
        let table = |name: &str| TableState {
            name: format!("pgbench_{name}"),
            bytes: Some(bytes / 4),
            ..TableState::default()
        };
        run.observed.get_or_insert_default().before = Some(ServerState {
            tables: names.map(table).into(),
            ..ServerState::default()
        });
        let mut rows = differences(&run).into_iter();
        rows.find(|row| row.what == "size of the data")
            .map(|row| (row.published, row.measured))
    };
    assert_eq!(differing(30_000_000_000), None);
    assert_eq!(differing(30 << 30), None, "documents write GB for GiB");
    let (published, measured) = differing(12_000_000_000).expect("a difference");
    assert_eq!(published, "about 60 GB, of which 50 % is 30 GB");
    assert_eq!(measured, "12 GB");
}

#[test]
fn a_value_within_a_published_range_does_not_deviate() {
    let range = PublishedFigure {
        high: Some(10.0),
        ..published("TPS per dollar", 9.0)
    };
    for (measured, expected) in [(4.5, -0.5), (9.0, 0.0), (9.7, 0.0), (15.0, 0.5)] {
        assert_eq!(relative_change(&range, measured), Some(expected));
    }
}

#[test]
fn only_different_and_unknown_values_are_listed() {
    let run = run_with_figures(&[]);
    let subjects: Vec<&str> = differences(&run)
        .iter()
        .map(|difference| difference.what)
        .collect();
    assert!(
        !subjects.contains(&"clients") && !subjects.contains(&"measured"),
        "{subjects:?}"
    );
    assert!(
        subjects.contains(&"server") && subjects.contains(&"durability"),
        "{subjects:?}"
    );
    let mut different = run_with_figures(&[]);
    different.drive.clients += 1;
    let scenario = different.scenario.as_mut().unwrap();
    scenario.size_share = 0.001;
    scenario.cold = true;
    scenario.original.setup.protocol = Some(prony_store::QueryMode::Extended);
    scenario.original.duration_s = Some(3_900.0);
    let subjects: Vec<&str> = differences(&different)
        .iter()
        .map(|difference| difference.what)
        .collect();
    for needed in ["clients", "data", "caches", "protocol", "measured"] {
        assert!(subjects.contains(&needed), "{needed}: {subjects:?}");
    }
    let mut without_scenario = different;
    without_scenario.scenario = None;
    assert!(differences(&without_scenario).is_empty() && deviations(&without_scenario).is_empty());
}

/// A run that requested `share` of its 100 bytes of data in `of_bytes` bytes, with a server cache of
/// `cache_bytes`, and that found `hits` of a hundred pages there.
fn with_cache(share: f64, of_bytes: u64, cache_bytes: u64, hits: u64) -> CacheObservation {
    let mut run = run_with_figures(&[]);
    run.cached = Some(CachedShare {
        share,
        of_bytes,
        ..CachedShare::default()
    });
    let (from_s, _) = observations::window_s(&run);
    let seconds = run.measured.length_s / 2.0;
    let observed = run.observed.get_or_insert_default();
    observed.before = Some(ServerState {
        cache_bytes: Some(cache_bytes),
        database_bytes: Some(100),
        ..ServerState::default()
    });
    observed.series = vec![ServerSecond {
        at_s: from_s,
        length_s: seconds,
        cache_hits: Some(hits),
        cache_reads: Some(100 - hits),
        ..ServerSecond::default()
    }];
    cache_observation(&run).expect("a requested share")
}

#[test]
fn the_cached_share_is_checked_by_size_and_hit_ratio() {
    for (share, of_bytes, hits, expected) in [
        // The server's own cache: the hit ratio counts.
        (0.3, 30, 60, true),
        (0.3, 30, 100, false),
        (0.5, 30, 60, false),
        // The machine's memory: pages that the server's cache misses may be there.
        (1.0, 200, 60, true),
        (0.5, 55, 100, true),
        (0.3, 55, 60, false),
    ] {
        let observation = with_cache(share, of_bytes, 30, hits);
        assert_eq!(
            observation.is_as_requested,
            Some(expected),
            "{share} {of_bytes} {hits}"
        );
        assert_eq!(
            (observation.server_cache_share, observation.data_bytes),
            (Some(0.3), Some(100))
        );
    }
    let mut unobserved = run_with_figures(&[]);
    unobserved.cached = Some(CachedShare::default());
    unobserved.observed = None;
    assert_eq!(
        cache_observation(&unobserved)
            .expect("a requested share")
            .is_as_requested,
        None
    );
    assert_eq!(cache_observation(&run_with_figures(&[])), None);
}

#[test]
fn wholly_cached_data_needs_a_hit_ratio_of_one() {
    for (hits, expected) in [(100, true), (90, false)] {
        let observation = with_cache(1.0, 110, 110, hits);
        assert_eq!(observation.is_as_requested, Some(expected), "{hits}");
    }
}

#[test]
fn other_tables_are_not_data_of_the_scenario() {
    let mut run = run_with_figures(&[]);
    run.workload.name = "tpcb".to_owned();
    run.workload.scale = 1;
    run.scenario.as_mut().unwrap().size_share = 0.001;
    run.cached = Some(CachedShare {
        share: 1.0,
        of_bytes: 134_000_000,
        ..CachedShare::default()
    });
    let table = |name: &str, bytes| TableState {
        name: name.to_owned(),
        bytes: Some(bytes),
        ..TableState::default()
    };
    let workload_tables = ["accounts", "branches", "history", "tellers"];
    let workload_tables = workload_tables.map(|name| table(&format!("pgbench_{name}"), 3_750_000));
    run.observed.get_or_insert_default().before = Some(ServerState {
        cache_bytes: Some(134_000_000),
        database_bytes: Some(242_000_000),
        tables: [&workload_tables[..], &[table("stock", 200_000_000)]].concat(),
        ..ServerState::default()
    });
    let data_differences = |run: &Run| {
        let rows = differences(run).into_iter();
        let rows = rows.filter(|row| row.what.starts_with("data"));
        rows.map(|row| row.measured).collect::<Vec<_>>()
    };
    assert_eq!(
        data_differences(&run),
        ["scale 1, 15 MB in all", "the cache of 134 MB holds 100 %"]
    );
    let observation = cache_observation(&run).expect("a requested share");
    assert_eq!(
        (
            observation.data_bytes,
            observation.share,
            observation.whole_database
        ),
        (Some(15_000_000), Some(1.0), false)
    );
    // With a table missing, the size is the database's, and is reported as such.
    let before = run.observed.as_mut().unwrap().before.as_mut().unwrap();
    before.tables.remove(0);
    assert_eq!(
        data_differences(&run),
        [
            "scale 1, 242 MB in the whole database",
            "the cache of 134 MB holds 55 % of the whole database"
        ]
    );
    let observation = cache_observation(&run).expect("a requested share");
    assert!(
        observation.whole_database && observation.share < Some(0.6),
        "{observation:?}"
    );
}
