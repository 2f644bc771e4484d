//! `prony price` end to end, and pages with prices; `prony audit`.

use crate::document::{complete_run, set_figures};
use crate::home::Home;
use prony_assertions::TextAssertions;
use serde_json::{Value, json};

impl Home {
    /// Stores a run of 64 clients and ten minutes after those already stored; returns its id.
    fn store_next_run(&self, tps: f64, p99_ms: f64) -> String {
        let stored = std::fs::read_dir(self.0.join("runs")).expect("a folder");
        let number = stored.count() + 1;
        let id = format!("20261121-10{number:02}");
        let mut run = complete_run(&id, &format!("2026-11-21T10:{number:02}:00+00:00"));
        run["workload"]["scale"] = json!(100);
        run["drive"]["clients"] = json!(64);
        run["window"]["measured_s"] = json!(600.0);
        set_figures(
            &mut run,
            600.0,
            tps,
            [64e9 / tps, p99_ms * 1e6],
            64.0 * 600.0,
        );
        self.store(&run);
        id
    }
}

/// A price sheet with the configurations small and big, on which these runs were measured.
fn sheet(runs: [&str; 2], as_of: &str) -> String {
    let head = format!(
        "[sheet]\ncurrency = \"EUR\"\nregion = \"r\"\nterm = \"on demand\"\nas_of = \"{as_of}\"\n\
         source = \"a letter\"\nentered_by = \"dba\"\n"
    );
    let configurations = ["small", "big"].into_iter().zip(runs).zip([100, 300]);
    let configurations = configurations.map(|((name, run), price)| {
        format!(
            "[[configuration]]\nname = \"{name}\"\nruns = [\"{run}\"]\n[[configuration.item]]\n\
             name = \"machine\"\nquantity = 1\nunit_price = {price}\nper = \"month\"\n"
        )
    });
    head + &configurations.collect::<String>()
}

#[test]
fn runs_are_compared_and_priced() {
    let home = Home::new();
    let (small, big) = (
        home.store_next_run(10_000.0, 15.0),
        home.store_next_run(25_000.0, 8.0),
    );
    let compared = home.run(&["compare", &small, &big], 0);
    compared.assert_contains("\nCOMPARABLE");
    compared.assert_contains("+150.0 %");

    let prices = home.write_file("sheet.toml", &sheet([&small, &big], "2026-11"));
    let json = home.json(&["price", "--sheet", &prices, "--json"]);
    assert_eq!(json["points"][0]["tps_per_money"], 100.0);
    assert_eq!(json["ranking"]["order"], json!([0, 1]));
    assert_eq!(json["ranking"]["frontier"], json!([0, 1]));
    // 100 EUR x 25,000 / 10,000.
    assert_eq!(json["points"][1]["break_even"], 250.0);

    for (rate, p99, code, expected) in [
        (
            "20000tps",
            "20ms",
            0,
            "  big: 300.00 EUR per month, by one run.",
        ),
        (
            "5000",
            "20ms",
            0,
            "  small: 100.00 EUR per month, by one run.",
        ),
        ("20000tps", "5ms", 7, "None, according to these runs"),
    ] {
        let load = ["--rate", rate, "--p99", p99];
        let text = home.run(&[&["price", "--sheet", &prices], &load[..]].concat(), code);
        text.assert_contains(expected);
    }
}

#[test]
fn the_default_sheet_is_read_and_configurations_are_not_guessed() {
    let home = Home::new();
    let small = home.store_next_run(10_000.0, 15.0);
    home.run(&["price", "last"], 2);
    home.write_file("prices.toml", &sheet([&small, &small], "2019"));
    home.messages(&["price", "last"], 2)
        .assert_contains("small, big");
    let text = home.run(&["price", "small=last"], 0);
    text.assert_contains("old-prices");
    text.assert_contains("durability-unknown");
    let future = home.write_file("future.toml", &sheet([&small, &small], "9999"));
    let text = home.run(&["price", "small=last", "--sheet", &future], 7);
    text.unwrapped().assert_contains("in the future");
    // Sheets in two currencies are refused.
    let dollars = sheet([&small, &small], "2019")
        .replace("EUR", "USD")
        .replace("small\"", "tiny\"");
    let dollars = home.write_file("dollars.toml", &dollars);
    let euros = home.0.join("prices.toml").display().to_string();
    let sheets = ["--sheet", &euros, "--sheet", &dollars];
    let both = [&["price", "small=last", "tiny=last"], &sheets[..]].concat();
    home.messages(&both, 2)
        .assert_contains("does not convert currencies");
}

#[test]
fn an_error_of_the_store_is_not_reported_as_something_else() {
    let home = Home::new();
    let ids = [10_000.0, 12_000.0].map(|tps| home.store_next_run(tps, 8.0));
    let prices = home.write_file("sheet.toml", &sheet([&ids[0], &ids[1]], "2026-11"));
    // The text before the sign is that of a label, and not of a configuration.
    for id in &ids {
        home.run(&["runs", "label", id, "v=1"], 0);
    }
    home.messages(&["price", "v=1", "--sheet", &prices], 2)
        .assert_contains("matches 2 runs");
    home.messages(&["price", "smal=last", "--sheet", &prices], 2)
        .assert_contains("no configuration of the sheet is named smal");
    // A document outside the store, whose folder of runs cannot be read.
    let runs = home.0.join("runs");
    let copy = home.0.join("copy.json").display().to_string();
    std::fs::copy(runs.join(format!("{}.json", ids[0])), &copy).expect("a copy");
    std::fs::rename(&runs, home.0.join("moved")).expect("it is moved");
    home.write_file("runs", "");
    home.messages(&["price", &copy, "--sheet", &prices], 1)
        .assert_contains(&runs.display().to_string());
}

#[test]
fn a_sheet_may_list_runs_with_commas() {
    let home = Home::new();
    let ids = [10_000.0, 12_000.0, 25_000.0].map(|tps| home.store_next_run(tps, 8.0));
    let list = format!("{}, {}", ids[0], ids[1]);
    let prices = home.write_file("sheet.toml", &sheet([&list, &ids[2]], "2026-11"));
    let points = |runs: &[&str]| {
        let json = home.json(&[&["price", "--json", "--sheet", &prices], runs].concat());
        let points = json["points"].as_array().expect("points").clone();
        let rows = points.iter().map(|point| {
            let name = point["configuration"].as_str().expect("a name");
            (name.to_owned(), point["tps"].as_f64().expect("TPS"))
        });
        rows.collect::<Vec<_>>()
    };
    let (small, big) = ("small".to_owned(), "big".to_owned());
    assert_eq!(
        points(&[]),
        [(small.clone(), 11_000.0), (big.clone(), 25_000.0)]
    );
    for (index, tps) in [(0, 10_000.0), (1, 12_000.0)] {
        assert_eq!(points(&[&ids[index]]), [(small.clone(), tps)]);
    }
    assert_eq!(points(&[&list]), [(small.clone(), 11_000.0)]);
    assert_eq!(
        points(&[&ids[2], &ids[1]]),
        [(big, 25_000.0), (small, 12_000.0)]
    );
    // A document outside the store is assigned by its file name, if the sheet gives the same name.
    let copy = home.0.join("copy.json").display().to_string();
    let stored = home.0.join("runs").join(format!("{}.json", ids[0]));
    let text = std::fs::read_to_string(stored).expect("it is kept");
    home.write_file("copy.json", &text.replace(&ids[0], "elsewhere"));
    let list = format!("{},{copy}", ids[1]);
    let named = home.write_file("named.toml", &sheet([&list, &ids[2]], "2026-11"));
    let json = home.json(&["price", &copy, "--json", "--sheet", &named]);
    assert_eq!(json["points"][0]["configuration"], "small");
}

#[test]
fn show_names_the_file_that_was_read() {
    let home = Home::new();
    let id = home.store_next_run(10_000.0, 15.0);
    let stored = home.0.join("runs").join(format!("{id}.json"));
    let expected = format!("Read from {}\n", stored.display());
    let text = home.run(&["show", "last", "--full"], 0);
    text.assert_ends_with(&expected);
    // A copy in the current folder is another file, although its id is that of a run in the store.
    std::fs::copy(&stored, home.0.join("copy.json")).expect("a copy");
    let mut command = home.command(&["show", "copy.json", "--full"]);
    let output = command.current_dir(&home.0).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.assert_ends_with("Read from copy.json\n");
}

#[test]
fn an_implausible_output_of_another_tool_has_exit_code_7() {
    let home = Home::new();
    let report = "pgbench (15.18)\ntransaction type: <builtin: TPC-B (sort of)>\nscaling factor: 100\n\
         query mode: prepared\nnumber of clients: 64\nnumber of threads: 2\nduration: 600 s\n\
         number of transactions actually processed: 6000000\nnumber of failed transactions: 0 (0.000%)\n\
         latency average = 6.400 ms\nlatency stddev = 1.000 ms\nlatency p99 = 15.000 ms\n\
         tps = 10000.000000 (without initial connection time)\n";
    let plausible = home.write_file("pgbench.out", report);
    let text = home.run(&["audit", &plausible], 0);
    text.assert_contains("no problems found");
    let json: Value =
        serde_json::from_str(&home.run(&["audit", &plausible, "--json"], 0)).expect("JSON");
    assert_eq!(json["runs"][0]["reported"]["clients"], 64);
    let wrong = home.write_file("wrong.out", &report.replace("clients: 64", "clients: 32"));
    let text = home.run(&["audit", &wrong], 7);
    text.assert_contains("littles-law");
    let cut = home.write_file(
        "cut.out",
        "transaction type: <builtin: TPC-B (sort of)>\nscaling",
    );
    let text = home.run(&["audit", &cut], 7);
    text.assert_contains("truncated");
}

#[test]
fn an_invalid_run_has_no_price() {
    let home = Home::new();
    let id = home.store_next_run(10_000.0, 15.0);
    let path = home.0.join("runs").join(format!("{id}.json"));
    let text = std::fs::read_to_string(&path).expect("it is stored");
    let mut run: Value = serde_json::from_str(&text).expect("JSON");
    run["checks"] =
        json!([{"id": "outage", "severity": "invalid", "finding": "No server.", "advice": ""}]);
    std::fs::write(&path, run.to_string()).expect("it is written");
    let prices = home.write_file("sheet.toml", &sheet(["last", "last"], "2026-11"));
    let text = home.run(&["price", "small=last", "--sheet", &prices], 7);
    text.unwrapped().assert_contains("must not be used: outage");
}

#[test]
fn a_report_with_prices_is_verified_with_its_sheet() {
    let home = Home::new();
    let (small, big) = (
        home.store_next_run(10_000.0, 15.0),
        home.store_next_run(25_000.0, 8.0),
    );
    let prices = home.write_file("sheet.toml", &sheet([&small, &big], "2019"));
    let page = home.0.join("report.html").display().to_string();
    // The sheet assigns each run to a configuration.
    let arguments = [
        "report", &small, &big, "--sheet", &prices, "--output", &page,
    ];
    home.run(&arguments, 0);
    let html = std::fs::read_to_string(&page).expect("it is written");
    html.assert_contains_all([
        "1: small: 100.00 EUR per month, 10,000 transactions per second by one run, on the frontier",
        "2: big: 300.00 EUR per month, 25,000 transactions per second by one run, on the frontier",
        "2019, OLD",
        "a letter (",
    ]);
    home.run(&["verify", &page], 0)
        .assert_contains("are unchanged");
    let changed = html.replace("300.00 EUR per month", "200.00 EUR per month");
    std::fs::write(&page, changed).expect("written");
    home.run(&["verify", &page], 7);
    // Without a sheet, the page has no section of prices.
    home.run(&["report", &small, &big, "--output", &page], 0);
    let plain = std::fs::read_to_string(&page).expect("it is written");
    plain.assert_lacks("What throughput costs");
    let unknown = home.write_file("unknown.toml", &sheet(["x", "y"], "2019"));
    for (arguments, expected) in [
        (
            vec!["report", &small, "--sheet", &unknown],
            "on which configuration",
        ),
        (vec!["report", "huge=last", "--sheet", &prices], "huge"),
        (vec!["report", &small, "--sheet", "none.toml"], "none.toml"),
        (vec!["report", &small, "--across-regions"], "--sheet"),
    ] {
        home.messages(&[&arguments[..], &["--output", &page]].concat(), 2)
            .assert_contains(expected);
    }
    assert_eq!(std::fs::read_to_string(&page).expect("still there"), plain);
}

/// Makes stored runs part of an experiment with two alternating variants.
fn add_to_experiment(home: &Home, ids: &[String]) {
    for (index, id) in ids.iter().enumerate() {
        let path = home.0.join("runs").join(format!("{id}.json"));
        let text = std::fs::read_to_string(&path).expect("it is kept");
        let mut run: Value = serde_json::from_str(&text).expect("JSON");
        let variant = ["old", "new"][index % 2];
        run["experiment"] = json!({
            "id": ids[0], "kind": "variants", "variant": variant, "repeat": index / 2 + 1,
            "position": index + 1, "runs": ids.len(), "order": "sequential", "variants": ["old", "new"],
        });
        std::fs::write(path, run.to_string()).expect("written");
    }
}

#[test]
fn a_run_of_an_experiment_selects_the_repeats_of_its_variant() {
    let (home, ids, prices) = home_with_experiment();
    let [first, second, last] = [&ids[0], &ids[1], &ids[5]];
    let points = |arguments: &[&str], sheet: &str| {
        let all = [&["price", "--json", "--sheet", sheet], arguments].concat();
        let json = home.json(&all);
        let points = json["points"].as_array().expect("points").clone();
        let rows = points.iter().map(|point| {
            let runs = point["runs"].as_array().map_or(0, Vec::len);
            let name = |key: &str| point[key].as_str().unwrap_or("").to_owned();
            (
                name("configuration"),
                name("variant"),
                point["tps"].as_f64().expect("TPS"),
                runs,
            )
        });
        rows.collect::<Vec<_>>()
    };
    let point = |configuration: &str, variant: &str, tps: f64, runs: usize| {
        (configuration.to_owned(), variant.to_owned(), tps, runs)
    };
    // Any named run selects all three repeats of its variant, however often it is named.
    let (small, big) = (format!("small={first}"), format!("big={second}"));
    let (again, best) = (format!("small={}", ids[2]), format!("big={last}"));
    let both = [
        point("small", "old", 11_000.0, 3),
        point("big", "new", 22_000.0, 3),
    ];
    assert_eq!(points(&[&small, &big], &prices), both);
    assert_eq!(points(&[&small, &again, &best], &prices), both);
    assert_eq!(points(&[&small], &prices), both[..1]);
    // A list with commas selects only the named runs.
    let first_alone = format!("small={first},");
    assert_eq!(
        points(&[&first_alone], &prices),
        [point("small", "old", 10_000.0, 1)]
    );
    // A sheet that names one run assigns all its repeats. As the only argument, a run selects all variants.
    let named = home.write_file("named.toml", &sheet([first, last], "2026-11"));
    assert_eq!(points(&[], &named), both);
    assert_eq!(points(&[second], &named), both);
    let load = home.run(
        &[
            "price", "--sheet", &named, "--rate", "20000", "--p99", "20ms",
        ],
        0,
    );
    load.assert_contains_all([
        "  big (new): 300.00 EUR per month, by the median of 3 runs.",
        "small (old)     3 ",
        "big (new)       3 ",
    ]);
    let page = home.0.join("report.html").display().to_string();
    let arguments = [
        "report", &small, &best, "--sheet", &prices, "--output", &page,
    ];
    home.run(&arguments, 0);
    let html = std::fs::read_to_string(&page).expect("it is written");
    html.assert_contains_all([
        ">1 small (old), 3 runs</text>",
        ">2 big (new), 3 runs</text>",
    ]);
    home.run(&["verify", &page], 0);
}

/// A home with six runs of an experiment with two variants, and a sheet that names none of them.
fn home_with_experiment() -> (Home, Vec<String>, String) {
    let home = Home::new();
    let all_tps = [10_000.0, 22_000.0, 30_000.0, 21_000.0, 11_000.0, 90_000.0];
    let all_tps = all_tps.iter();
    let ids: Vec<String> = all_tps.map(|tps| home.store_next_run(*tps, 8.0)).collect();
    add_to_experiment(&home, &ids);
    let prices = home.write_file("sheet.toml", &sheet(["x", "y"], "2026-11"));
    (home, ids, prices)
}

/// A configuration with its TPS and number of runs.
type Point = (String, f64, usize);
/// The id of a remark, and what was found.
type Remark = (String, String);

/// Prices runs; returns the configurations and the remarks.
fn price_runs(home: &Home, arguments: &[&str]) -> (Vec<Point>, Vec<Remark>) {
    let json = home.json(&[&["price", "--json", "--sheet"], arguments].concat());
    let list = |key: &str| json[key].as_array().expect("a list").clone();
    let field = |row: &Value, key: &str| row[key].as_str().expect("text").to_owned();
    let points = list("points");
    let points = points.iter().map(|point| {
        let runs = point["runs"].as_array().map_or(0, Vec::len);
        (
            field(point, "configuration"),
            point["tps"].as_f64().expect("TPS"),
            runs,
        )
    });
    let remarks = list("remarks");
    let remarks = remarks
        .iter()
        .map(|remark| (field(remark, "id"), field(remark, "finding")));
    (points.collect(), remarks.collect())
}

#[test]
fn variants_without_a_configuration_are_listed_and_the_others_priced() {
    let (home, ids, prices) = home_with_experiment();
    let experiment = ids[0].as_str();
    // The sheet names only a run of the first variant.
    let named = home.write_file("named.toml", &sheet([experiment, "y"], "2026-11"));
    let (points, remarks) = price_runs(&home, &[&named, experiment]);
    assert_eq!(points, [("small".to_owned(), 11_000.0, 3)]);
    let remark = remarks.iter().find(|(id, _)| id == "variant-unpriced");
    let (_, finding) = remark.expect("it is listed");
    finding.assert_contains("the variant new was measured");
    // If the sheet names no run of the experiment, there is nothing to price.
    home.run(&["price", "--sheet", &prices, experiment], 2);
    // The only configuration of a sheet that names its runs is not that of others.
    let both = sheet([experiment, "y"], "2026-11");
    let (one, _) = both.split_at(both.rfind("[[configuration]]").expect("two"));
    let one = home.write_file("one.toml", one);
    let (points, remarks) = price_runs(&home, &[&one, experiment]);
    assert_eq!(points, [("small".to_owned(), 11_000.0, 3)]);
    assert!(remarks.iter().any(|(id, _)| id == "variant-unpriced"));
}

#[test]
fn repeats_named_for_two_configurations_are_priced_alone() {
    let (home, ids, prices) = home_with_experiment();
    let [small, big] = [("small", 0), ("big", 4)].map(|(name, run)| format!("{name}={}", ids[run]));
    let point = |name: &str, tps: f64, runs: usize| (name.to_owned(), tps, runs);
    let expected = [point("small", 10_000.0, 1), point("big", 11_000.0, 1)];
    let (points, remarks) = price_runs(&home, &[&prices, &small, &big]);
    assert_eq!(points, expected);
    let count_of = |remarks: &[Remark], id: &str| remarks.iter().filter(|r| r.0 == id).count();
    assert_eq!(count_of(&remarks, "repeats-apart"), 1, "{remarks:?}");
    assert_eq!(count_of(&remarks, "repeats-taken"), 0, "{remarks:?}");
    assert_eq!(count_of(&remarks, "same-run"), 0, "{remarks:?}");
    // The result is the same if the sheet names the runs, with and without arguments.
    let named = home.write_file("named.toml", &sheet([&ids[0], &ids[4]], "2026-11"));
    assert_eq!(price_runs(&home, &[&named]).0, expected);
    assert_eq!(price_runs(&home, &[&named, &ids[0], &ids[4]]).0, expected);
    // Two repeats are named for small, and the third, with a trailing comma, for big.
    let third = format!("big={},", ids[2]);
    let (points, _) = price_runs(
        &home,
        &[&prices, &small, &format!("small={}", ids[4]), &third],
    );
    assert_eq!(
        points,
        [point("small", 10_500.0, 2), point("big", 30_000.0, 1)]
    );
    // If one run is named for both configurations, each gets all repeats, with a caveat.
    let (points, remarks) = price_runs(&home, &[&prices, &small, &format!("big={}", ids[0])]);
    assert_eq!(
        points,
        [point("small", 11_000.0, 3), point("big", 11_000.0, 3)]
    );
    assert_eq!(count_of(&remarks, "same-run"), 1, "{remarks:?}");
}

#[test]
fn a_remark_says_that_a_run_selects_its_repeats() {
    let (home, ids, prices) = home_with_experiment();
    let (id, small) = (&ids[4], format!("small={}", ids[4]));
    let text = home.run(&["price", "--sheet", &prices, &small], 0);
    let expected = format!(
        "repeats-taken: {id}: selects all 3 repeats of its variant; to price that run alone, write '{id},'"
    );
    text.unwrapped().assert_contains(&expected);
    let alone = home.run(&["price", "--sheet", &prices, &format!("{small},")], 0);
    alone.assert_lacks("repeats-taken");
    // `prony report` prints the remark when it writes the page.
    let page = home.0.join("report.html").display().to_string();
    let output = home.prony(&["report", &small, "--sheet", &prices, "--output", &page]);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    stderr.assert_contains("selects all 3 repeats");
}

#[test]
fn a_load_that_one_repeat_did_not_sustain_has_a_caveat() {
    let (home, ids, prices) = home_with_experiment();
    let small = format!("small={}", ids[0]);
    let load = |tps: &str| {
        let text = home.run(&["price", "--sheet", &prices, "--rate", tps, &small], 0);
        text.unwrapped()
    };
    let text = load("10500tps");
    text.assert_contains_all([
        "by the median of 3 runs, but 1 of 3 runs did not sustain the load: 10,000 transactions per second.",
        "in 2 of 3 runs",
        "load-not-always-held",
    ]);
    let text = load("9000tps");
    text.assert_lacks("did not sustain");
    text.assert_contains(" yes ");
}
