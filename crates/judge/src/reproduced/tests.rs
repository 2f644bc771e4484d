//! Deviations and differences of made-up runs.

use super::*;
use crate::sample::healthy as run;
use prony_store::scenario::{Cached, Original, Published, Scenario};
use prony_store::{QueryCounts, Rate, ServerSecond, ServerState, TableState};

fn published(name: &str, value: f64) -> Published {
    Published {
        name: name.to_owned(),
        value,
        unit: "a unit".to_owned(),
    }
}

/// A run whose scenario has these figures.
fn of(figures: &[(&str, f64)]) -> Run {
    let mut run = run();
    run.scenario = Some(Scenario {
        id: "tpcb-cached".to_owned(),
        published: figures
            .iter()
            .map(|(name, value)| published(name, *value))
            .collect(),
        original: Original {
            engine: "postgresql".to_owned(),
            product: "AlloyDB".to_owned(),
            cpus: Some(16),
            clients: Some(run.drive.clients),
            duration_s: Some(run.measured.seconds),
            ..Original::default()
        },
        shrink: 1.0,
        loaded: true,
        ..Scenario::default()
    });
    run
}

fn one(run: &Run) -> Deviation {
    deviations(run).remove(0)
}

#[test]
fn a_rate_is_set_beside_the_same_rate() {
    let mut run = of(&[
        ("TPS", 1000.0),
        ("latency mean", 2.0),
        ("batch requests", 7.0),
    ]);
    run.measured.kinds[0].tps = 250.0;
    run.measured.kinds[0].response.mean_ns = 3e6;
    let found = deviations(&run);
    assert_eq!(
        (found[0].measured, found[0].change),
        (Some(250.0), Some(-0.75))
    );
    assert_eq!((found[1].measured, found[1].change), (Some(3.0), Some(0.5)));
    assert_eq!((found[2].measured, found[2].change), (None, None));
}

#[test]
fn statements_are_counted_as_the_scenario_counts_them() {
    let mut run = of(&[("QPS", 1000.0)]);
    run.measured.kinds[0].tps = 100.0;
    run.scenario.as_mut().unwrap().statements = Some(5);
    assert_eq!(one(&run).measured, Some(500.0));
    run.scenario.as_mut().unwrap().statements = None;
    run.measured.seconds = 10.0;
    run.measured.queries = Some(QueryCounts {
        reads: 70,
        writes: 20,
        others: 10,
        ..QueryCounts::default()
    });
    assert_eq!(one(&run).measured, Some(10.0));
    run.scenario.as_mut().unwrap().published = vec![published("reads", 840.0)];
    assert_eq!(
        (one(&run).measured, one(&run).change),
        (Some(420.0), Some(-0.5))
    );
}

#[test]
fn reads_a_write_are_off_where_tries_began_anew() {
    let mut run = of(&[("reads", 1_400.0), ("writes", 400.0)]);
    let mut row = |reads, writes, tries| {
        run.measured.kinds[0].retries = tries;
        run.measured.queries = Some(QueryCounts {
            reads,
            writes,
            ..QueryCounts::default()
        });
        let found = differences(&run).into_iter();
        let mut found = found.filter(|one| one.what == "reads a write");
        found.next().map(|one| (one.published, one.here))
    };
    assert_eq!(row(14_010, 4_000, 3), None);
    assert_eq!(row(14_000, 0, 3), None);
    let (there, here) = row(28_000, 4_500, 1_000).expect("other than published");
    assert_eq!(there, "3.50");
    assert!(
        here.starts_with("6.22: ") && here.contains("1,000"),
        "{here}"
    );
    let (_, here) = row(28_000, 4_500, 0).expect("other than published");
    assert_eq!(here, "6.22");
}

#[test]
fn order_entry_counts_what_the_server_ended() {
    let mut run = of(&[("NOPM", 100.0), ("TPM", 240.0), ("TPS", 4.0)]);
    let rate = |name: &str, value| Rate {
        name: name.to_owned(),
        value,
        ..Rate::default()
    };
    run.rates = vec![rate("NOPM", 50.0), rate("TPM", 120.0)];
    let changes: Vec<Option<f64>> = deviations(&run).iter().map(|one| one.change).collect();
    assert_eq!(changes, [Some(-0.5); 3]);
}

#[test]
fn what_is_the_same_is_not_listed_and_what_is_unknown_is() {
    let run = of(&[]);
    let what: Vec<&str> = differences(&run).iter().map(|one| one.what).collect();
    assert!(
        !what.contains(&"clients") && !what.contains(&"measured"),
        "{what:?}"
    );
    assert!(
        what.contains(&"server") && what.contains(&"durability"),
        "{what:?}"
    );
    let mut other = of(&[]);
    other.drive.clients += 1;
    let scenario = other.scenario.as_mut().unwrap();
    scenario.shrink = 0.001;
    scenario.cold = true;
    scenario.original.protocol = Some("another".to_owned());
    scenario.original.duration_s = Some(3_900.0);
    let what: Vec<&str> = differences(&other).iter().map(|one| one.what).collect();
    for needed in ["clients", "data", "caches", "protocol", "measured"] {
        assert!(what.contains(&needed), "{needed}: {what:?}");
    }
    let mut own = other;
    own.scenario = None;
    assert!(differences(&own).is_empty() && deviations(&own).is_empty());
}

/// A run that asked for a share of its data of 100 bytes in so many bytes, with a cache of its own of
/// so many, and found so many pages of a hundred there.
fn with_cache(share: f64, of_bytes: u64, cache_bytes: u64, hits: u64) -> CachedSeen {
    let mut run = of(&[]);
    run.cached = Some(Cached {
        share,
        of_bytes,
        ..Cached::default()
    });
    let (from_s, _) = watch::window_s(&run);
    let seconds = run.measured.seconds / 2.0;
    let seen = run.observed.get_or_insert_default();
    seen.before = Some(ServerState {
        cache_bytes: Some(cache_bytes),
        database_bytes: Some(100),
        ..ServerState::default()
    });
    seen.series = vec![ServerSecond {
        at_s: from_s,
        seconds,
        cache_hits: Some(hits),
        cache_reads: Some(100 - hits),
        ..ServerSecond::default()
    }];
    cached(&run).expect("asked for")
}

#[test]
fn a_cached_share_is_seen_in_sizes_and_in_the_hit_ratio() {
    for (share, of_bytes, hits, fits) in [
        // The server's own cache: the hit ratio has a word.
        (0.3, 30, 60, true),
        (0.3, 30, 100, false),
        (0.5, 30, 60, false),
        // The machine's memory: what the own cache does not find may be in that.
        (1.0, 200, 60, true),
        (0.5, 55, 100, true),
        (0.3, 55, 60, false),
    ] {
        let seen = with_cache(share, of_bytes, 30, hits);
        assert_eq!(seen.fits, Some(fits), "{share} {of_bytes} {hits}");
        assert_eq!((seen.holds, seen.data_bytes), (Some(0.3), Some(100)));
    }
    let mut blind = of(&[]);
    blind.cached = Some(Cached::default());
    blind.observed = None;
    assert_eq!(cached(&blind).expect("asked for").fits, None);
    assert_eq!(cached(&of(&[])), None);
}

#[test]
fn all_of_the_data_in_the_own_cache_is_all_of_the_pages() {
    for (hits, fits) in [(100, true), (90, false)] {
        let seen = with_cache(1.0, 110, 110, hits);
        assert_eq!(seen.fits, Some(fits), "{hits}");
    }
}

#[test]
fn what_else_the_database_holds_is_not_the_data_of_the_scenario() {
    let mut run = of(&[]);
    run.workload.name = "tpcb".to_owned();
    run.workload.scale = 1;
    run.scenario.as_mut().unwrap().shrink = 0.001;
    run.cached = Some(Cached {
        share: 1.0,
        of_bytes: 134_000_000,
        ..Cached::default()
    });
    let table = |name: &str, bytes| TableState {
        name: name.to_owned(),
        bytes: Some(bytes),
        ..TableState::default()
    };
    let own = ["accounts", "branches", "history", "tellers"];
    let own = own.map(|name| table(&format!("pgbench_{name}"), 3_750_000));
    run.observed.get_or_insert_default().before = Some(ServerState {
        cache_bytes: Some(134_000_000),
        database_bytes: Some(242_000_000),
        tables: [&own[..], &[table("stock", 200_000_000)]].concat(),
        ..ServerState::default()
    });
    let told = |run: &Run| {
        let rows = differences(run).into_iter();
        let rows = rows.filter(|one| one.what.starts_with("data"));
        rows.map(|one| one.here).collect::<Vec<_>>()
    };
    assert_eq!(
        told(&run),
        ["scale 1, 15 MB in all", "the cache of 134 MB holds 100 %"]
    );
    let seen = cached(&run).expect("asked for");
    assert_eq!(
        (seen.data_bytes, seen.share, seen.whole_database),
        (Some(15_000_000), Some(1.0), false)
    );
    // A table is missing: it is the database, and called that.
    let before = run.observed.as_mut().unwrap().before.as_mut().unwrap();
    before.tables.remove(0);
    assert_eq!(
        told(&run),
        [
            "scale 1, 242 MB in the whole database",
            "the cache of 134 MB holds 55 % of the whole database"
        ]
    );
    let seen = cached(&run).expect("asked for");
    assert!(seen.whole_database && seen.share < Some(0.6), "{seen:?}");
}
