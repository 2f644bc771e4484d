//! The tables are whole, and their figures hold the relations that they must.

use super::*;

fn figure(scenario: &Scenario, measure: Measure) -> Option<f64> {
    let mut figures = scenario.figures.iter();
    Some(figures.find(|one| one.measure == measure)?.value)
}

#[test]
fn every_row_of_every_section_is_there_once() {
    let tables = read::tables().expect("they can be read");
    let counts: Vec<(u32, usize)> = tables
        .iter()
        .map(|table| (table.section, table.scenarios.len()))
        .collect();
    // 4 machines; 4 runs, 12 sizes by machine and the wider ranges; 30 + 3 samples + 2 editions;
    // 10 + 5; 17 hot sets, each read and written.
    assert_eq!(counts, [(1, 4), (2, 17), (3, 35), (4, 15), (5, 34)]);
    let mut ids: Vec<&str> = each().map(|scenario| scenario.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 105);
    for scenario in each() {
        let id = &scenario.id;
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
        assert!(id.chars().all(plain), "{id}");
        // Only sizes of a table of machines have no figure.
        let sized = id.contains("-web-") && scenario.cpus != Some(16);
        assert_eq!(scenario.figures.is_empty(), sized, "{id}");
        assert_eq!(
            scenario.workload == "script",
            scenario.script.is_some(),
            "{id}"
        );
        assert_eq!(scenario.range.is_some(), id.starts_with("hotset-"), "{id}");
        if scenario.engine != Engine::SqlServer {
            assert!(
                scenario.scale.is_some() && scenario.duration.is_some(),
                "{id}"
            );
        }
        for one in &scenario.figures {
            assert!(one.value > 0.0 && !one.unit.is_empty(), "{id}");
        }
    }
}

/// Little's law: throughput times mean latency is the number of clients.
#[test]
fn published_pairs_keep_littles_law() {
    let mut pairs = 0;
    for scenario in each() {
        let tps = figure(scenario, Measure::Tps);
        let mean_ms = figure(scenario, Measure::LatencyMean);
        let (Some(tps), Some(mean_ms)) = (tps, mean_ms) else {
            continue;
        };
        let clients = scenario.clients.expect("known") as f64;
        let by_law = tps * mean_ms / 1e3;
        assert!(
            (by_law / clients - 1.0).abs() < 1e-3,
            "{}: {by_law}",
            scenario.id
        );
        pairs += 1;
    }
    assert_eq!(pairs, 7);
}

#[test]
fn reads_and_writes_have_their_ratio_but_in_two_rows_that_say_so() {
    let (mut held, mut broken) = (0, Vec::new());
    for scenario in each() {
        let reads = figure(scenario, Measure::Reads);
        let writes = figure(scenario, Measure::Writes);
        let (Some(reads), Some(writes)) = (reads, writes) else {
            continue;
        };
        match (reads / writes - 3.5).abs() < 1e-4 {
            true => held += 1,
            false => {
                assert!(scenario.notes.iter().any(|note| note.contains("3.5")));
                broken.push(scenario.id.as_str());
            }
        }
    }
    assert_eq!(held, 28);
    assert_eq!(broken, ["mysql57-rw-2c4g-disk", "mysql56-rw-4c16g-disk"]);
}

#[test]
fn transactions_a_second_are_a_sixtieth_of_those_a_minute() {
    for scenario in &all()[0].scenarios {
        let tpm = figure(scenario, Measure::Tpm).expect("published");
        let tps = figure(scenario, Measure::Tps).expect("published");
        assert!((tpm / 60.0 - tps).abs() < 1.0, "{}", scenario.id);
    }
}

#[test]
fn what_a_group_says_is_in_its_rows() {
    let row = find("mysql80-rw-4c16g-cached").expect("listed");
    assert_eq!(
        (row.scale, row.clients, row.cpus),
        (Some(128), Some(16), Some(4))
    );
    assert_eq!(row.version.as_deref(), Some("8.0"));
    assert_eq!(row.options["table_size"].as_integer(), Some(25_000));
    let row = find("tpcc-64vcpu-30pct").expect("listed");
    assert_eq!(row.notes.len(), 3);
    assert!(row.notes[0].contains("12,800"), "{:?}", row.notes);
    assert_eq!(row.warmup, Some(Duration::from_secs(600)));
}

#[test]
fn an_unknown_id_is_answered_with_near_ones() {
    for (asked, near) in [
        ("tpcb-cache", "tpcb-cached"),
        ("tpbc-cached", "tpcb-cached"),
        ("TPCC-16vcpu-cached", "tpcc-16vcpu-cached"),
        ("mysql80-rw-4c16g", "mysql80-rw-4c16g-cached"),
        ("hot-row", "hot-row-ha"),
    ] {
        let error = find(asked).expect_err("not an id");
        assert!(error.hint.contains(near), "{asked}: {error}");
    }
    assert_eq!(
        find("banana").expect_err("no").hint,
        "`prony scenarios` lists them"
    );
}

#[test]
fn a_shrunk_scenario_keeps_what_it_needs() {
    let size = |id: &str, shrink: f64| find(id).expect("listed").size(shrink);
    let whole = size("hotset-16c128g-0.5b-ro", 1.0);
    assert_eq!((whole.scale, whole.range), (10_000, Some(500_000_000)));
    let small = size("hotset-16c128g-0.5b-ro", 1e-3);
    assert_eq!((small.scale, small.range), (10, Some(500_000)));
    // All accounts, and one branch at least.
    assert_eq!(size("hotset-2c16g-0.1b-rw", 1e-5).range, Some(1_000));
    assert_eq!(size("tpcc-16vcpu-cached", 1e-3).scale, 1);
    let tables = size("mysql80-rw-4c16g-disk", 0.1);
    assert_eq!((tables.scale, tables.table_size), (13, Some(787_692)));
    let rows = size("mysql80-rw-4c16g-disk", 1e-3);
    assert_eq!((rows.scale, rows.table_size), (1, Some(102_400)));
    assert_eq!(size("mysql80-rw-1c1g-cached", 1e-6).table_size, Some(100));
    let tables = find("mysql80-rw-4c16g-cached")
        .expect("listed")
        .at_scale(12_800);
    assert_eq!((tables.scale, tables.table_size), (128, Some(2_500_000)));
    let hot = find("hotset-2c16g-0.1b-ro").expect("listed").at_scale(500);
    assert_eq!((hot.scale, hot.range), (500, Some(50_000_000)));
    let hot = size("hot-row-ha", 1e-3);
    assert_eq!((hot.scale, hot.table_size), (1, Some(100)));
}

#[test]
fn parts_and_shares_are_read() {
    assert_eq!(parse_shrink("1/1000"), Ok(0.001));
    assert_eq!(parse_shrink("50%"), Ok(0.5));
    assert_eq!(parse_shrink("1"), Ok(1.0));
    for text in ["", "0", "2", "1/0", "nan", "-1/2", "a/b", "150%"] {
        assert!(parse_shrink(text).is_err(), "{text}");
    }
    assert_eq!((parse_share("30%"), parse_share("0.3")), (Ok(0.3), Ok(0.3)));
    assert!(parse_share("1/3").is_err() && parse_share("0").is_err());
}

#[test]
fn data_is_sized_by_its_workload() {
    let none = BTreeMap::new();
    let bytes = |data| data_bytes(data, &none, Engine::PostgreSql);
    // 30 % of 52.3 GB fit into 15.7 GB.
    assert_eq!(
        scale_for(15_700_000_000, 0.3, bytes("tpcb").unwrap()),
        3_333
    );
    assert_eq!(scale_for(1, 1.0, 15_000_000), 1);
    let rows: BTreeMap<_, _> = [("table_size".to_owned(), 20_000.into())].into();
    let twice = data_bytes("oltp_read_only", &rows, Engine::MySql);
    assert_eq!(
        twice,
        data_bytes("oltp_read_only", &none, Engine::MySql).map(|one| 2 * one)
    );
    assert_eq!(bytes("script"), None);
}
