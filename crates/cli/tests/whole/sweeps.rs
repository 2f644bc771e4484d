//! Sweeps on a real server: every point is run, the curve is printed, compared and drawn, and has prices.

use crate::common::*;
use prony_store::{ExperimentKind, Setting};
use serde_json::Value;

const PLAN: &str = "\
[workload]
name = \"select-only\"
[run]
duration = \"1s\"
[experiment]
repeats = 2
keep_going = true
[sweep]
prices = \"SHEET\"
configuration = \"small\"
clients = [1, 2, 4]
";

const SHEET: &str = "\
[sheet]
currency = \"USD\"
region = \"eu\"
term = \"on demand\"
as_of = 2026-11-01
source = \"https://example.com\"
entered_by = \"a test\"
[[configuration]]
name = \"small\"
[[configuration.item]]
name = \"machine\"
quantity = 1
unit_price = 100
per = \"month\"
";

/// The points of the only curve.
fn points(document: &Value) -> &Vec<Value> {
    let curves = document["sweep"]["curves"].as_array().expect("curves");
    assert_eq!(curves.len(), 1, "{document}");
    curves[0]["points"].as_array().expect("points")
}

#[test]
fn each_point_is_repeated_and_the_curve_is_printed_compared_and_drawn() {
    let bench = TestBench::new("sweep");
    bench.ok("load select-only --scale 1");
    let path = |name: &str| bench.home.join(name).display().to_string();
    std::fs::write(path("sheet.toml"), SHEET).expect("a file");
    let plan = PLAN.replace("SHEET", &path("sheet.toml"));
    std::fs::write(path("sweep.toml"), plan).expect("a file");
    let output = bench.prony(&format!(
        "run {} --declare replicas=0 --no-observe",
        path("sweep.toml")
    ));
    let (printed, messages) = (ok_stdout(&output), stderr_text(&output));
    messages.assert_contains("run 4 of 6: variant clients-4, repeat 2");
    printed.assert_contains_all([
        "Sweep of clients over 3 points",
        "95 % interval",
        "TPS per USD a month",
        "prony report",
    ]);
    let store = RunStore::open(Some(&bench.home)).expect("a store");
    let stored = store.list(&RunFilter::default()).expect("a listing").runs;
    assert_eq!(stored.len(), 6);
    for summary in &stored {
        let run = store.load(&summary.id).expect("a document");
        assert_eq!(run.experiment_kind(), Some(&ExperimentKind::Sweep));
        let clients = run.drive.clients.to_string();
        assert_eq!(run.point(), [Setting::new("clients", clients.clone())]);
        let given = &run.request["given"]["run.clients"];
        assert_eq!(given["value"].to_string(), clients);
        let place = given["place"].as_str().unwrap_or_default();
        place.assert_ends_with("(sweep.clients)");
    }
    let compared = bench.ok_without_server("compare last --json");
    let document: Value = serde_json::from_str(&compared).expect("JSON");
    let xs: Vec<f64> = points(&document)
        .iter()
        .map(|point| point["x"].as_f64().expect("a number"))
        .collect();
    assert_eq!(xs, [1.0, 2.0, 4.0]);
    for point in points(&document) {
        assert_eq!(point["runs"], 2, "{point}");
        let Some(rate) = point["rate"].as_f64() else {
            continue;
        };
        assert!(rate > 0.0, "{point}");
        // A repeat that a busy machine made invalid leaves no interval.
        if point["rate_interval"].is_array() {
            let [low, high] =
                [0, 1].map(|end| point["rate_interval"][end].as_f64().expect("an end"));
            assert!(low <= rate && rate <= high, "{point}");
        }
    }
    assert!(document["sweep"]["curves"][0]["knee_state"].is_string());
    let compared = bench.ok_without_server("compare last");
    compared.assert_contains("Sweep of clients over 3 points");
    let page = path("sweep.html");
    bench.ok_without_server(&format!("report last --output {page}"));
    bench.ok_without_server(&format!("verify {page}"));
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains("id=\"sweep-t\""), "the drawing of the curve");
}

#[test]
fn options_machines_and_mistakes_are_checked_before_the_first_run() {
    let bench = TestBench::new("sweep_machines");
    bench.ok("load select-only --scale 1");
    // Outside of the store, whose files are searched for the password of the URLs.
    let folder = TestFolder::create();
    let path = |name: &str| folder.join(name).display().to_string();
    // One server under two names: its facts are declared, and its password is in no output.
    let machine = |name: &str, cpus: u32| {
        format!(
            "[sweep.machine.{name}]\nurl = \"{}\"\ncpus = {cpus}\n",
            bench.url
        )
    };
    let plan = "[workload]\nname = \"select-only\"\n[run]\nclients = 2\ntransactions = 50\n[experiment]\nrepeats = 1\n";
    let plan = format!("{plan}{}{}", machine("small", 2), machine("large", 4));
    std::fs::write(path("machines.toml"), &plan).expect("a file");
    let run = |arguments: &str| {
        let output = bench.prony_without_server(&format!("run {arguments}"));
        bench.assert_no_password(output)
    };
    let printed = ok_stdout(&run(&format!("{} --no-observe", path("machines.toml"))));
    printed.assert_contains("Sweep of cpus over 2 points");
    let checked = bench.ok_without_server(&format!("plan check {}", path("machines.toml")));
    checked.assert_contains("1 repeat of 2 variants");
    for (arguments, expected) in [
        (
            "select-only --sweep clients=1,x",
            "--sweep clients: x must be from 1 to",
        ),
        ("select-only --sweep colour=1,2", "colour"),
        (
            "select-only --clients 3 --sweep clients=1,2",
            "sweeps what --clients sets",
        ),
    ] {
        let output = run(&format!("{arguments} --duration 1s"));
        assert_eq!(output.status.code(), Some(2), "{arguments}: {output:?}");
        stderr_text(&output).assert_contains(expected);
    }
    std::fs::write(path("sheet.toml"), SHEET).expect("a file");
    let priced = format!("{plan}[sweep]\nprices = \"{}\"\n", path("sheet.toml"));
    std::fs::write(path("priced.toml"), priced).expect("a file");
    let output = run(&path("priced.toml"));
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let message = stderr_text(&output);
    message.assert_contains("has no configuration large");
}

#[test]
fn a_sweep_over_the_size_of_the_data_loads_them_or_is_refused_before_the_first_run() {
    let server = own_postgres();
    let bench = TestBench::on(&server, "sweep_scale");
    bench.ok("load select-only --scale 1");
    let plan = "[workload]\nname = \"select-only\"\n[run]\nclients = 1\ntransactions = 20\n\
                [experiment]\nrepeats = 1\nkeep_going = true\n[sweep]\nscale = [1, 2]\n";
    let run = |plan: &str| {
        let path = bench.home.write("scale.toml", plan);
        bench.prony(&format!("run {}", path.display()))
    };
    let messages = assert_code(&run(plan), 2);
    messages.assert_contains_all(["data of the scales 1 and 2 on one server", "$PRONY_SCALE"]);
    assert!(stored_runs(&bench.home).is_empty());

    let load = format!(
        "between = \"{} load select-only --scale $PRONY_SCALE --url '{}'\"\n",
        env!("CARGO_BIN_EXE_prony"),
        bench.socket_url
    );
    ok_stdout(&run(&plan.replace("[sweep]", &format!("{load}[sweep]"))));
    let scales = stored_runs(&bench.home);
    let mut scales: Vec<_> = scales.iter().map(|run| run.workload.scale).collect();
    scales.sort_unstable();
    assert_eq!(scales, [1, 2]);
}
