//! Tests that the tables are complete and their figures consistent, and of the sizes of scenarios.

use super::*;
use prony_assertions::TextAssertions;

fn figure(scenario: &Scenario, metric: PublishedMetric) -> Option<f64> {
    let mut figures = scenario.figures.iter();
    Some(figures.find(|figure| figure.name == metric)?.value)
}

#[test]
fn every_scenario_is_complete_and_has_a_unique_id() {
    let tables = read::read_tables().expect("they can be read");
    let counts: Vec<(u32, usize)> = tables
        .iter()
        .map(|table| (table.section, table.scenarios.len()))
        .collect();
    // 4 machines and 2 counterparts; 4 runs, one without indexes, 5 smaller machines, 12 sizes by machine, the wider
    // ranges and 3 counterparts; 30 + 3 samples + 2 editions; 10 + 5; 17 hot sets, each read and written; 11 machines
    // with 450 GB and 12 with 900 GB.
    assert_eq!(
        counts,
        [(1, 6), (2, 26), (3, 35), (4, 15), (5, 34), (6, 23)]
    );
    let mut ids: Vec<&str> = all_scenarios()
        .map(|scenario| scenario.id.as_str())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 139);
    for scenario in all_scenarios() {
        let id = &scenario.id;
        let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
        assert!(id.chars().all(is_allowed), "{id}");
        // The sizes in a table of machines, and what a document only describes or suggests, have no figures; those of
        // Aiven are mostly in pictures.
        let has_size_only = (id.contains("-web-") || id.starts_with("select-only-"))
            && !matches!(id.as_str(), "select-only-64vcpu")
            && !(id.contains("-web-") && scenario.setup.cpus == Some(16))
            || id.starts_with("cloudsql-")
            || id == "insert-only-without-indexes";
        if scenario.source != ScenarioSource::Aiven2019 {
            assert_eq!(scenario.figures.is_empty(), has_size_only, "{id}");
        }
        assert!(!scenario.setup.product.is_empty(), "{id}");
        assert_eq!(
            scenario.workload == "script",
            scenario.script.is_some(),
            "{id}"
        );
        assert_eq!(
            scenario.hot_set_accounts.is_some(),
            id.starts_with("hotset-"),
            "{id}"
        );
        // The document about SQL Server states neither.
        let has_setup = scenario.dialect != SqlDialect::TransactSql;
        assert_eq!(scenario.scale.is_some(), has_setup, "{id}");
        assert_eq!(scenario.duration.is_some(), has_setup, "{id}");
        for figure in &scenario.figures {
            assert!(figure.value > 0.0 && !figure.unit.is_empty(), "{id}");
        }
    }
}

/// Little's law: throughput times mean latency is the number of clients.
#[test]
fn published_throughput_and_latency_obey_littles_law() {
    let mut pairs = 0;
    for scenario in all_scenarios() {
        let tps = figure(scenario, PublishedMetric::Tps);
        let mean_ms = figure(scenario, PublishedMetric::LatencyMean);
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
fn reads_and_writes_have_the_ratio_of_the_workload_except_in_two_rows() {
    let (mut matching, mut deviating) = (0, Vec::new());
    for scenario in all_scenarios() {
        let reads = figure(scenario, PublishedMetric::Reads);
        let writes = figure(scenario, PublishedMetric::Writes);
        let (Some(reads), Some(writes)) = (reads, writes) else {
            continue;
        };
        if (reads / writes - 3.5).abs() < 1e-4 {
            matching += 1
        } else {
            assert!(scenario.notes.iter().any(|note| note.contains("3.5")));
            deviating.push(scenario.id.as_str());
        }
    }
    assert_eq!(matching, 28);
    assert_eq!(deviating, ["mysql57-rw-2c4g-disk", "mysql56-rw-4c16g-disk"]);
}

/// TPM on SQL Server is HammerDB's: batch requests per minute. The published pairs deviate by up to 10 %, because
/// they were read at different times.
#[test]
fn tpm_on_sql_server_counts_batch_requests() {
    let mut pairs = 0;
    for scenario in &scenario_tables()[3].scenarios {
        assert_eq!(scenario.dialect, SqlDialect::TransactSql);
        let tpm = figure(scenario, PublishedMetric::Tpm).expect("published");
        let requests = figure(scenario, PublishedMetric::BatchRequests).expect("published");
        let ratio = tpm / (60.0 * requests);
        assert!((0.99..1.1).contains(&ratio), "{}: {ratio}", scenario.id);
        let tps = figure(scenario, PublishedMetric::Tps).expect("published");
        assert!((1.06..1.52).contains(&(tps / requests)), "{}", scenario.id);
        pairs += 1;
    }
    assert_eq!(pairs, 15);
}

#[test]
fn tps_is_a_sixtieth_of_tpm() {
    for scenario in &scenario_tables()[0].scenarios[..4] {
        let tpm = figure(scenario, PublishedMetric::Tpm).expect("published");
        let tps = figure(scenario, PublishedMetric::Tps).expect("published");
        assert!((tpm / 60.0 - tps).abs() < 1.0, "{}", scenario.id);
    }
}

#[test]
fn rows_inherit_the_values_of_their_group() {
    let row = find_scenario("mysql80-rw-4c16g-cached").expect("listed");
    assert_eq!(
        (row.scale, row.clients, row.setup.cpus),
        (Some(128), Some(16), Some(4))
    );
    assert_eq!(row.setup.version.as_deref(), Some("8.0"));
    assert_eq!(row.options["table_size"].as_integer(), Some(25_000));
    let row = find_scenario("tpcc-64vcpu-30pct").expect("listed");
    assert_eq!(row.notes.len(), 3);
    row.notes[0].assert_contains("12,800");
    assert_eq!(row.warmup, Some(Duration::from_secs(600)));
}

#[test]
fn the_machines_of_aiven_have_its_settings_and_the_stated_figures() {
    let rows: Vec<&Scenario> = all_scenarios()
        .filter(|row| row.source == ScenarioSource::Aiven2019)
        .collect();
    for row in &rows {
        let setup = (row.scale, row.clients, row.setup.data_gb);
        if row.id.starts_with("aiven-450-") {
            assert_eq!(setup, (Some(25_000), Some(100), Some(450)), "{}", row.id)
        } else {
            assert_eq!(setup, (Some(50_000), Some(200), Some(900)), "{}", row.id)
        }
        assert_eq!(row.duration, Some(Duration::from_secs(3_600)), "{}", row.id);
        assert_eq!(row.setup.settings.len(), 4, "{}", row.id);
        assert!(
            row.setup.machine.is_some() && row.setup.disk.is_some(),
            "{}",
            row.id
        );
    }
    let ratios = rows.iter().filter_map(|row| {
        let mut figures = row.figures.iter();
        let ratio = figures.find(|figure| figure.name == PublishedMetric::TpsPerDollar)?;
        Some((row.id.as_str(), ratio.value, ratio.high))
    });
    let expected = [
        ("aiven-450-aws-i3.4xlarge", 9.0, Some(10.0)),
        ("aiven-450-aws-i3.8xlarge", 9.0, Some(10.0)),
        ("aiven-450-gcp-20x120", 11.0, Some(13.0)),
        ("aiven-450-gcp-32x192", 11.0, Some(13.0)),
        ("aiven-900-aws-i3.8xlarge", 9.0, None),
        ("aiven-900-gcp-32x192", 12.0, None),
    ];
    assert_eq!(ratios.collect::<Vec<_>>(), expected);
    let row = find_scenario("aiven-450-gcp-20x120").expect("listed");
    assert_eq!(figure(row, PublishedMetric::BackupOverhead), Some(10.0));
}

/// Every scenario of the white paper and of the talk is in one suite of its document; of AlloyDB's guide those with
/// figures of 2023.
#[test]
fn suites_have_every_row_of_their_documents_once() {
    let suites = suite::read_suites().expect("it can be read");
    let in_suites = |source: ScenarioSource| {
        let of_source = suites.iter().filter(move |suite| suite.source == source);
        let mut rows: Vec<&str> = of_source
            .filter(|suite| !suite.derived)
            .flat_map(|suite| &suite.rows)
            .map(String::as_str)
            .collect();
        rows.sort_unstable();
        rows
    };
    for source in [
        ScenarioSource::AlloyDb2023,
        ScenarioSource::ApsaraDb2022,
        ScenarioSource::Aiven2019,
    ] {
        let published = all_scenarios().filter(|scenario| scenario.source == source);
        let published = published
            .filter(|scenario| source == ScenarioSource::Aiven2019 || !scenario.figures.is_empty());
        let mut ids: Vec<&str> = published.map(|scenario| scenario.id.as_str()).collect();
        ids.sort_unstable();
        assert_eq!(in_suites(source), ids, "{source:?}");
    }
    for suite in &suites {
        assert_eq!(suite.scenarios().count(), suite.rows.len(), "{}", suite.id);
        assert!(find_scenario(&suite.id).is_err(), "{}", suite.id);
        let mut dialects: Vec<&str> = suite.scenarios().map(|row| row.dialect.name()).collect();
        dialects.dedup();
        assert_eq!(dialects.len(), 1, "{}", suite.id);
    }
}

/// The order and the figures of the documents' own tables.
#[test]
fn suites_have_the_order_and_the_figures_of_their_documents() {
    let figures = |id: &str, metric: PublishedMetric| {
        let suite = find_suite(id).expect("listed");
        suite
            .scenarios()
            .filter_map(|scenario| figure(scenario, metric))
            .collect::<Vec<_>>()
    };
    use PublishedMetric::{Nopm, Qps, Reads, Tpm, Tps};
    assert_eq!(figures("alloydb-16", Nopm), [252_970.0, 428_316.0]);
    assert_eq!(figures("alloydb-64", Nopm), [589_598.0, 716_138.0]);
    let expected = [9_706.0, 16_238.0, 20_359.0, 14_060.0, 51_742.0];
    assert_eq!(figures("alloydb-16", Tps), expected);
    let reads = figures("apsaradb-mysql", Reads);
    assert_eq!(
        (reads.len(), reads[0], reads[29]),
        (30, 432_922.0, 4_434_220.0)
    );
    let tpm = figures("apsaradb-sqlserver", Tpm);
    assert_eq!((tpm.len(), tpm[0], tpm[10]), (15, 162_000.0, 122_000.0));
    let qps = figures("apsaradb-postgresql", Qps);
    assert_eq!(
        (qps.len(), qps[..2].to_vec()),
        (34, vec![573_651.0, 336_850.0])
    );
    assert_eq!(qps[33], 19_880.0);
    let machines = |id: &str| find_suite(id).map(|suite| suite.rows.len());
    assert_eq!(
        (machines("aiven-450"), machines("aiven-900")),
        (Some(11), Some(12))
    );
}

/// The phases of the printed loads do not exceed their totals, and the facts of the guide's servers are known.
#[test]
fn published_loads_and_facts_of_the_guide_are_complete() {
    let load = |id: &str| {
        let scenario = find_scenario(id).expect("listed");
        use PublishedMetric::{LoadKeys, LoadRows, LoadTime, LoadVacuum};
        [LoadTime, LoadRows, LoadVacuum, LoadKeys].map(|metric| figure(scenario, metric))
    };
    for (id, total, dropped) in [
        ("tpcb-cached", 1_482.0, 0.0),
        ("select-only-64vcpu", 2_205.0, 2.0),
        ("index-insert-only", 12_851.0, 999.0),
    ] {
        let [whole, phases @ ..] = load(id);
        let phases = phases.into_iter();
        let phases: f64 = phases.map(|phase| phase.expect("published")).sum();
        assert_eq!(whole, Some(total), "{id}");
        assert!((total - phases - dropped).abs() < 2.0, "{id}: {phases}");
    }
    assert_eq!(load("tpcb-partly-cached")[0], Some(21_600.0));
    let of_guide = all_scenarios().filter(|row| row.source == ScenarioSource::AlloyDb2023);
    for row in of_guide {
        assert_eq!(row.setup.version.as_deref(), Some("14.4"), "{}", row.id);
        assert_eq!(
            (row.setup.high_availability, row.setup.zones),
            (Some(HighAvailability::MultiZone), Some(2))
        );
    }
    let client_cpus = |id: &str| find_scenario(id).expect("listed").setup.client_cpus;
    for (id, cpus) in [
        ("tpcc-16vcpu-cached", 32),
        ("tpcc-64vcpu-cached", 64),
        ("tpcb-cached", 16),
        ("select-only-64vcpu", 64),
        ("cloudsql-tpcb-cached", 16),
    ] {
        assert_eq!(client_cpus(id), Some(cpus), "{id}");
    }
    let curve = find_suite("alloydb-select-only").expect("listed");
    let cpus: Vec<Option<u32>> = curve.scenarios().map(|row| row.setup.cpus).collect();
    assert_eq!(cpus, [2, 4, 8, 16, 32, 64].map(Some));
    let scales: Vec<Option<u64>> = curve.scenarios().map(|row| row.scale).collect();
    assert_eq!(scales, [469, 938, 1_875, 3_750, 7_500, 15_000].map(Some));
    let twins = find_suite("cloudsql-16").expect("listed");
    assert!(
        twins
            .scenarios()
            .all(|row| row.memory_gb == Some(104) && row.figures.is_empty())
    );
}

#[test]
fn rows_have_the_limits_of_their_instance_type() {
    let limits = |id: &str| {
        let scenario = find_scenario(id).expect("listed");
        (
            scenario.setup.max_connections,
            scenario.setup.iops,
            scenario.setup.max_rows,
        )
    };
    for version in ["80", "57", "56"] {
        for (size, connections, iops) in [
            ("1c1g", 300, 600),
            ("2c4g", 1_200, 2_000),
            ("4c16g", 4_000, 7_000),
            ("8c32g", 8_000, 12_000),
            ("16c64g", 16_000, 14_000),
        ] {
            for cached in ["cached", "disk"] {
                let id = format!("mysql{version}-rw-{size}-{cached}");
                assert_eq!(limits(&id), (Some(connections), Some(iops), None), "{id}");
            }
        }
    }
    // The document gives no limits of this machine, and no IOPS with SQL Server 2012.
    assert_eq!(limits("hot-row-ha"), (None, None, None));
    assert_eq!(limits("mssql-2012-s1.small").1, None);
    assert_eq!(limits("mssql-2008r2-c1.xlarge").1, Some(12_000));
    let hot_set = all_scenarios().filter(|row| row.id.starts_with("hotset-"));
    for row in hot_set {
        // An account takes about 200 bytes in the document's estimate.
        let gb = match row
            .setup
            .storage_size
            .as_deref()
            .expect(&row.id)
            .split_once(' ')
        {
            Some((number, "TB")) => number.parse::<u64>().unwrap() * 1_000,
            Some((number, _)) => number.parse().unwrap(),
            None => panic!("{}", row.id),
        };
        assert_eq!(row.setup.max_rows, Some(gb * 5_000_000), "{}", row.id);
    }
}

#[test]
fn similar_ids_are_suggested_for_an_unknown_id() {
    for (id, expected) in [
        ("tpcb-cache", "tpcb-cached"),
        ("tpbc-cached", "tpcb-cached"),
        ("TPCC-16vcpu-cached", "tpcc-16vcpu-cached"),
        ("mysql80-rw-4c16g", "mysql80-rw-4c16g-cached"),
        ("hot-row", "hot-row-ha"),
        ("alloydb-61", "alloydb-16"),
    ] {
        let error = find_scenario(id).expect_err("not an id");
        assert!(error.hint.contains(expected), "{id}: {error}");
    }
    assert_eq!(
        find_scenario("banana").expect_err("no").hint,
        "`prony scenarios` lists them"
    );
}

#[test]
fn a_shrunk_scenario_keeps_the_minimum_that_it_needs() {
    let size = |id: &str, size_share: f64| find_scenario(id).expect("listed").size(size_share);
    let full = size("hotset-16c128g-0.5b-ro", 1.0);
    assert_eq!(
        (full.scale, full.hot_set_accounts),
        (10_000, Some(500_000_000))
    );
    let small = size("hotset-16c128g-0.5b-ro", 1e-3);
    assert_eq!((small.scale, small.hot_set_accounts), (10, Some(500_000)));
    // All accounts of at least one branch.
    assert_eq!(
        size("hotset-2c16g-0.1b-rw", 1e-5).hot_set_accounts,
        Some(1_000)
    );
    assert_eq!(size("tpcc-16vcpu-cached", 1e-3).scale, 1);
    let tables = size("mysql80-rw-4c16g-disk", 0.1);
    assert_eq!((tables.scale, tables.table_size), (13, Some(787_692)));
    let rows = size("mysql80-rw-4c16g-disk", 1e-3);
    assert_eq!((rows.scale, rows.table_size), (1, Some(102_400)));
    assert_eq!(size("mysql80-rw-1c1g-cached", 1e-6).table_size, Some(100));
    let tables = find_scenario("mysql80-rw-4c16g-cached")
        .expect("listed")
        .size_at_scale(12_800);
    assert_eq!((tables.scale, tables.table_size), (128, Some(2_500_000)));
    let hot_set = find_scenario("hotset-2c16g-0.1b-ro")
        .expect("listed")
        .size_at_scale(500);
    assert_eq!(
        (hot_set.scale, hot_set.hot_set_accounts),
        (500, Some(50_000_000))
    );
    let hot_row = size("hot-row-ha", 1e-3);
    assert_eq!((hot_row.scale, hot_row.table_size), (1, Some(100)));
}

#[test]
fn fractions_are_parsed() {
    assert_eq!(parse_fraction("1/1000"), Ok(0.001));
    assert_eq!(parse_fraction("50%"), Ok(0.5));
    assert_eq!(parse_fraction("1"), Ok(1.0));
    for text in ["", "0", "2", "1/0", "nan", "-1/2", "a/b", "150%"] {
        assert!(parse_fraction(text).is_err(), "{text}");
    }
    assert_eq!((parse_share("30%"), parse_share("0.3")), (Ok(0.3), Ok(0.3)));
    assert!(parse_share("1/3").is_err() && parse_share("0").is_err());
}

#[test]
fn a_scale_is_computed_from_the_memory() {
    // 30% of 52.3 GB fit into 15.7 GB.
    assert_eq!(scale_for_memory(15_700_000_000, 0.3, 15_700_000), 3_333);
    assert_eq!(scale_for_memory(1, 1.0, 15_000_000), 1);
}

#[test]
fn a_key_that_no_scenario_has_is_refused() {
    let text = "id = 'x'\ntitle = 't'\ndialect = 'mysql'\nproduct = 'p'\nworkload = 'tpcb'\n\
                source = 'Aiven-2019'\nplace = 'a table'\n";
    let known: toml::Table = toml::from_str(text).expect("TOML");
    assert!(known.clone().try_into::<Scenario>().is_ok());
    let mut misspelt = known;
    misspelt.insert("prodct".to_owned(), "a".into());
    let error = misspelt.try_into::<Scenario>().expect_err("unknown");
    error.to_string().assert_contains("prodct");
}
