//! `prony compare` end to end: single runs, repeats, experiments, limits, and every output format.

use crate::document::run_of_a_minute;
use crate::home::Home;
use prony_assertions::TextAssertions;
use serde_json::{Value, json};

/// The two sides of [`Home::store_experiment`]: base and big.
const SIDES: [&str; 2] = [
    "20261121-1001,20261121-1004,20261121-1005",
    "20261121-1002,20261121-1003,20261121-1006",
];

/// A run's place in the experiment of interleaved variants whose first run has this id.
fn experiment(id: &str, variant: &str, position: u32, runs: u32) -> Value {
    json!({
        "id": id, "kind": "variants", "variant": variant, "repeat": 1, "position": position, "runs": runs,
        "order": "interleaved",
    })
}

impl Home {
    /// Stores a complete run of this throughput, modified by `change`.
    fn store_run(&self, id: &str, tps: f64, change: impl Fn(&mut Value)) {
        let start_second: u32 = id[id.len() - 1..].parse().expect("ids end in a digit");
        let started_at = format!("2026-11-21T10:00:{start_second:02}+00:00");
        let mut run = run_of_a_minute(id, &started_at, tps, [4e6, 9e10 / tps], 1.0);
        change(&mut run);
        self.store(&run);
    }

    /// Two variants of three alternating runs each, the second 10 % faster, and a run outside the experiment.
    fn store_experiment(&self) {
        let runs = [
            (1, "base", 9_900.0),
            (2, "big \u{1b}[31m<b>|", 11_000.0),
            (3, "big \u{1b}[31m<b>|", 11_100.0),
            (4, "base", 10_000.0),
            (5, "base", 10_100.0),
            (6, "big \u{1b}[31m<b>|", 10_900.0),
        ];
        for (position, variant, tps) in runs {
            self.store_run(&format!("20261121-100{position}"), tps, |run| {
                run["experiment"] = experiment("20261121-1001", variant, position, 6);
            });
        }
        self.store_run("20261121-1109", 8_000.0, |_| ());
    }
}

/// The first run is not of the first variant, because a random order may begin with any variant.
#[test]
fn the_baseline_is_the_first_variant_of_the_plan() {
    let home = Home::new();
    for (position, variant, tps) in [
        (1, "slow", 4_900.0),
        (2, "base", 10_000.0),
        (3, "base", 10_100.0),
        (4, "slow", 5_000.0),
        (5, "slow", 5_100.0),
        (6, "base", 9_900.0),
    ] {
        home.store_run(&format!("20261121-100{position}"), tps, |run| {
            run["experiment"] = experiment("20261121-1001", variant, position, 6);
            run["experiment"]["order"] = json!("random");
            run["experiment"]["variants"] = json!(["base", "slow"]);
        });
    }
    let text = home.run(&["compare", "last", "--fail-if-slower", "3%"], 8);
    text.assert_contains("  base  3 runs");
    text.assert_contains("slow is 50.0 % slower than base (TPS: ");
    // The page has all runs of the experiment, and its variants in the plan's order.
    let page = home.run(&["report", "last", "--output", "-"], 0);
    let variants = page.split("<caption>The variants, by the medians").nth(1);
    let variants = variants.expect("the variants");
    assert!(
        variants.find(">base<") < variants.find(">slow<"),
        "{variants}"
    );
    assert!(page.contains("id=\"run-6\""), "all six");
}

#[test]
fn an_experiment_is_named_by_any_of_its_runs() {
    let home = Home::new();
    home.store_experiment();
    for name in ["20261121-1001", "20261121-1004"] {
        let text = home.run(&["compare", name], 0);
        text.assert_starts_with("big \\x1b[31m<b>| is 10.0 % faster than base (TPS: ");
        text.assert_contains(
            "\nCOMPARABLE\n  base              3 runs: tpcb, scale 10, 8 clients\n",
        );
        text.assert_contains("big \\x1b[31m<b>|  3 runs");
        text.assert_contains("with 95 % intervals");
        assert!(!text.contains('\u{1b}'), "{text}");
    }
    // Among several sides, the id of the first run of an experiment names the whole experiment, and the id of
    // any other run names only that run.
    let comparison = home.json(&["compare", "20261121-1109", "20261121-1001", "--json"]);
    assert_eq!(comparison["sides"].as_array().map(Vec::len), Some(3));
    assert_eq!(comparison["sides"][0]["runs"], json!(["20261121-1109"]));
    // The trailing comma makes it a list of one run, not the experiment.
    let comparison = home.json(&["compare", "20261121-1001,", "20261121-1002", "--json"]);
    let runs = [0, 1].map(|side| comparison["sides"][side]["runs"].clone());
    assert_eq!(runs, [json!(["20261121-1001"]), json!(["20261121-1002"])]);
    assert_eq!(comparison["verdict"], "with_caveats", "too few repeats");
    // The newest run belongs to no experiment.
    home.messages(&["compare", "last"], 2)
        .assert_contains("only one side");
}

#[test]
fn comparing_an_incomplete_experiment_reads_no_documents_of_other_runs() {
    let home = Home::new();
    home.store_experiment();
    home.run(&["compare", "20261121-1001"], 0);
    // Delete a run of the experiment, and damage the document of another run. The damaged file keeps its
    // size and modification time, so the index still counts as current, and only reading the file would
    // find the damage.
    let document = |id: &str| home.0.join("runs").join(format!("{id}.json"));
    std::fs::remove_file(document("20261121-1006")).expect("it is there");
    let damaged = document("20261121-1109");
    let meta = std::fs::metadata(&damaged).expect("it is there");
    std::fs::write(&damaged, "x".repeat(meta.len() as usize)).expect("it is written");
    let file = std::fs::File::options().write(true).open(&damaged);
    let file = file.expect("it opens");
    file.set_modified(meta.modified().expect("a time"))
        .expect("it is set");
    let text = home.run(&["compare", "20261121-1001"], 0);
    text.assert_contains("COMPARABLE, WITH 2 CAVEATS");
    text.assert_contains("5 runs of all sides");
}

#[test]
fn variants_of_one_experiment_may_differ_in_what_the_plan_varies() {
    let home = Home::new();
    for position in 1..=6_u32 {
        let protocol = ["simple", "prepared"][usize::from(position % 4 > 1)];
        home.store_run(&format!("20261121-200{position}"), 10_000.0, |run| {
            run["drive"]["protocol"] = json!(protocol);
            run["plan"] = json!({"run": {"protocol": protocol}});
            run["experiment"] = experiment("20261121-2001", protocol, position, 6);
        });
    }
    let text = home.run(&["compare", "20261121-2001"], 0);
    text.assert_starts_with("No difference found between ");
    text.assert_contains("simple and prepared (TPS: ");
    text.assert_contains("\nCOMPARABLE\n");
    text.assert_contains("Because this is what the experiment varied");
    // Other differences still make runs not comparable.
    home.store_run("20261121-2007", 10_000.0, |run| {
        run["drive"]["protocol"] = json!("simple");
    });
    home.run(&["compare", "20261121-2002", "20261121-2007"], 7);
}

#[test]
fn repeats_are_separated_by_commas_and_a_duplicate_is_an_error() {
    let home = Home::new();
    home.store_experiment();
    let [a, b] = SIDES;
    let text = home.run(&["compare", a, b], 0);
    text.assert_contains("<b>| is 10.0 % faster than base");
    text.assert_contains("These intervals assume");
    for (side_a, side_b) in [("20261121-1001,20261121-1001", b), (a, "20261121-1004")] {
        home.messages(&["compare", side_a, side_b], 2)
            .assert_contains("is named twice");
    }
    home.run(&["compare", a, "none,such"], 2);
    home.run(&["compare", a, ","], 2);
    home.run(&["compare"], 2);
}

#[test]
fn a_side_of_runs_that_are_not_repeats_is_not_comparable() {
    let home = Home::new();
    home.store_experiment();
    home.store_run("20261121-1108", 10_000.0, |run| {
        run["workload"]["scale"] = json!(20)
    });
    let mixed = "20261121-1001,20261121-1108";
    let text = home.run(&["compare", mixed, "20261121-1002"], 7);
    text.assert_starts_with("NOT COMPARABLE: the runs of A are not repeats of each other (scale: ");
    text.assert_contains("The runs of A are not repeats of each other");
    // Which figures there are is no question then.
    let unknown = ["compare", mixed, "20261121-1002", "--figure", "nope"];
    home.run(&unknown, 7);
    let limit = ["compare", mixed, "20261121-1002", "--fail-if-slower", "1%"];
    home.run(&limit, 7).assert_lacks("required");
}

#[test]
fn a_slower_side_has_its_own_exit_code() {
    let home = Home::new();
    home.store_experiment();
    let [base, big] = SIDES;
    let slower = ["compare", big, base, "--fail-if-slower", "3%"];
    home.run(&slower, 8)
        .assert_starts_with("FAIL: TPS 90.9 % of A's");
    let faster = ["compare", base, big, "--fail-if-slower", "3%"];
    home.run(&faster, 0).assert_starts_with("PASS: TPS");
    // B is about 9.1 % slower, too close to 9 % to decide.
    let undecided = ["compare", big, base, "--fail-if-slower", "9%"];
    home.run(&undecided, 9).assert_starts_with("UNDECIDED: TPS");
    let passing = [&undecided[..], &["--unsure", "pass"]].concat();
    home.run(&passing, 0).assert_starts_with("UNDECIDED: TPS");
    // With one run per side, a limit is always undecided, which fails, however large the difference is.
    home.store_run("20261121-1108", 4_000.0, |_| ());
    for limit in ["3%", "99%"] {
        let sides = ["compare", "20261121-1002", "20261121-1108"];
        let single = [&sides[..], &["--fail-if-slower", limit]].concat();
        let text = home.run(&single, 9).unwrapped();
        text.assert_contains("a side has 1 run");
    }
    // If one limit is exceeded and another is undecided, the exit code is that of the exceeded limit.
    let two_limits = [&slower[..], &["--fail-if-p99-above", "8200us"]].concat();
    home.run(&two_limits, 8);
    for invalid in ["3", "-1%", "101%", "nan", ""] {
        home.run(&["compare", base, big, "--fail-if-slower", invalid], 2);
    }
}

#[test]
fn the_primary_figure_can_be_chosen() {
    let home = Home::new();
    home.store_experiment();
    let tested_figures = |options: &[&str]| {
        let comparison = home.json(&[&["compare", "20261121-1001", "--json"], options].concat());
        let figures = comparison["side_comparisons"][0]["figures"]
            .as_array()
            .expect("figures")
            .clone();
        let tested = figures
            .iter()
            .filter(|figure| !figure["significance"]["is_significant"].is_null());
        tested
            .map(|figure| figure["name"].as_str().expect("a name").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(tested_figures(&[]), ["TPS"]);
    assert_eq!(tested_figures(&["--figure", "p99"]), ["p99"]);
    home.messages(&["compare", "20261121-1001", "--figure", "NOPM"], 2)
        .assert_contains("name one of TPS, mean response, p99");
}

/// Runs of 9,900 to 10,100 transactions per second have a 99th percentile of about 9 ms.
#[test]
fn limits_apply_to_the_99th_percentile() {
    let home = Home::new();
    home.store_experiment();
    let [base, big] = SIDES;
    for (limit, code) in [
        (["--fail-if-p99-above", "8ms"], 8),
        (["--fail-if-p99-above", "9ms"], 9),
        (["--fail-if-p99-above", "10ms"], 0),
        (["--fail-if-p99-slower", "3%"], 8),
        (["--fail-if-p99-slower", "10%"], 9),
        (["--fail-if-p99-slower", "20%"], 0),
    ] {
        let text = home.run(&[&["compare", big, base], &limit[..]].concat(), code);
        let line = text.lines().next();
        assert!(line.is_some_and(|line| line.contains(": p99 ")), "{text}");
    }
    // With one run per side, a limit is undecided.
    let sides = ["compare", "20261121-1002", "20261121-1004"];
    home.run(&[&sides[..], &["--fail-if-p99-above", "1s"]].concat(), 9);
    home.run(&["compare", base, big, "--fail-if-p99-above", "20x"], 2);
}

#[test]
fn markdown_and_junit_are_written() {
    let home = Home::new();
    home.store_experiment();
    let text = home.run(&["compare", "20261121-1001", "--markdown"], 0);
    text.assert_starts_with(
        "**big &#92;x1b&#91;31m&#60;b&#62;&#124; is 10.0 % faster than base (TPS",
    );
    text.assert_contains("\n\nCOMPARABLE\n\n");
    text.assert_contains("| TPS | 10,000 | 11,000 | +10.0 % | +");
    assert!(!text.contains("<b>") && !text.contains('\u{1b}'), "{text}");

    let file = home.0.join("junit.xml").display().to_string();
    for _ in 0..2 {
        let text = home.run(&["compare", "20261121-1001", "--junit", &file], 0);
        text.assert_contains("\nCOMPARABLE\n");
    }
    let file_text = std::fs::read_to_string(&file).expect("it is there");
    let printed = home.run(&["compare", "20261121-1001", "--junit", "-"], 0);
    assert_eq!(file_text, printed);
    printed.assert_starts_with("<?xml");
    printed.assert_contains("failures=\"0\"");
    assert!(
        printed.contains("&lt;b&gt;|") && !printed.contains('\u{1b}'),
        "{printed}"
    );
    // A file that is not XML is not replaced.
    let document = home.0.join("runs/20261121-1001.json").display().to_string();
    home.run(&["compare", "20261121-1001", "--junit", &document], 2);
    home.run(&["compare", "20261121-1001"], 0)
        .assert_contains("\nCOMPARABLE\n");
    let absent = home.0.join("absent/x.xml");
    let absent = absent.to_str().expect("UTF-8");
    home.run(&["compare", "20261121-1001", "--junit", absent], 1);
}

/// No case in which the figures cannot decide a limit passes, whatever the limit is.
#[test]
fn no_undecided_limit_passes() {
    let home = Home::new();
    let kind = "/measured/kinds/0";
    let set = |run: &mut Value, pointer: &str, value: Value| {
        *run.pointer_mut(pointer).expect("a member") = value;
    };
    let store_sides = |change: &dyn Fn(&mut Value, usize)| {
        for n in 1..=6_usize {
            let tps = 10_000.0 + n as f64;
            home.store_run(&format!("20261121-100{n}"), tps, |run| change(run, n));
        }
    };
    let sides = [
        "20261121-1001,20261121-1002,20261121-1003",
        "20261121-1004,20261121-1005,20261121-1006",
    ];
    let limits = [
        ["--fail-if-slower", "50%"],
        ["--fail-if-p99-slower", "50%"],
        ["--fail-if-p99-above", "1h"],
    ];
    let codes = || {
        limits.map(|limit| {
            let output = home.prony(&[&["compare"], &sides[..], &limit[..]].concat());
            output.status.code().expect("a code")
        })
    };
    store_sides(&|_, _| ());
    assert_eq!(codes(), [0, 0, 0], "these decide");
    store_sides(&|run, n| {
        if n > 3 {
            set(run, &format!("{kind}/response/p99_ns"), json!(0));
        }
    });
    assert_eq!(codes(), [0, 9, 9], "a percentile of zero");
    store_sides(&|run, n| {
        if n == 5 {
            set(run, &format!("{kind}/response/p99_ns"), Value::Null);
        }
    });
    assert_eq!(codes(), [0, 9, 9], "a percentile is missing");
    store_sides(&|run, n| {
        if n == 5 {
            set(run, &format!("{kind}/tps"), json!(0.0));
        }
    });
    assert_eq!(
        codes(),
        [9, 9, 9],
        "it contradicts itself: left out, and two runs are no interval"
    );
    store_sides(&|run, n| {
        if n > 3 {
            set(run, "/drive/clients", json!(256));
        }
    });
    assert_eq!(codes(), [7, 7, 7], "different clients");
    store_sides(&|run, n| {
        if n > 3 {
            run["checks"] =
                json!([{"id": "errors", "severity": "invalid", "finding": "f", "advice": ""}]);
        }
    });
    assert_eq!(codes(), [7, 7, 7], "invalid runs");
    // At a rate, the throughput of both sides is the rate: it does not show that a side is not slower.
    store_sides(&|run, _| {
        run["drive"]["open_loop"] = json!(true);
        run["drive"]["rate_tps"] = json!(10_000.0);
        set(run, &format!("{kind}/response/p99_ns"), Value::Null);
        set(run, &format!("{kind}/response/samples"), json!(0));
    });
    assert_eq!(codes(), [9, 9, 9], "no response time at a rate");
    let text = home.run(&[&["compare"], &sides[..], &limits[0][..]].concat(), 9);
    let text = text.replace('\n', " ");
    text.assert_contains("at a rate, the throughput is");
}

/// A variant whose runs all failed to finish is no side of the comparison; its limits are not kept. Nor are those of an
/// experiment that was interrupted.
#[test]
fn an_unfinished_experiment_leaves_the_limits_undecided() {
    let planned = ["base", "big", "crashes"];
    check_unfinished(&planned, "no finished run of crashes");
    check_unfinished(&planned[..2], "completed 6 of 9 runs");
}

fn check_unfinished(planned: &[&str], message: &str) {
    let home = Home::new();
    for position in 1..=6_u32 {
        let variant = ["base", "big"][usize::from(position % 4 > 1)];
        let (id, tps) = (
            format!("20261121-300{position}"),
            10_000.0 + f64::from(position),
        );
        home.store_run(&id, tps, |run| {
            run["experiment"] = experiment("20261121-3001", variant, position, 9);
            run["experiment"]["variants"] = json!(planned);
        });
    }
    let limit = ["compare", "20261121-3001", "--fail-if-slower", "50%"];
    home.messages(&limit, 9).assert_contains(message);
    home.run(&[&limit[..], &["--unsure", "pass"]].concat(), 0);
    home.run(&["compare", "20261121-3001"], 0);
}

#[test]
fn a_sweep_of_more_points_than_letters_has_its_curve_only() {
    let home = Home::new();
    for clients in 1..=27 {
        let id = format!("20261121-10{clients:02}");
        home.store_run(&id, 100.0 * f64::from(clients), |run| {
            run["drive"]["clients"] = json!(clients);
            run["experiment"] = json!({
                "id": "20261121-1001", "kind": "sweep", "variant": format!("clients-{clients}"), "repeat": 1, "position": clients,
                "runs": 27, "order": "sequential",
                "point": [{"name": "clients", "value": clients.to_string()}],
            });
        });
    }
    let (text, notice) = home.texts(&["compare", "20261121-1001"], 0);
    text.assert_contains("Sweep of clients over 27 points");
    notice.assert_contains("are not compared with the first one");
    home.run(&["compare", "20261121-1001", "--markdown"], 2);
}
