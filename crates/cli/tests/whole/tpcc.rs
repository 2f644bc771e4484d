//! The tpcc workload end to end: its metrics, shares and comparability.

use crate::common::*;
use prony_store::IndustryMetric;

/// Starts a separate server without other sessions, because TPM counts the transactions of all databases.
fn start_server() -> EmbeddedPostgres {
    let options = EmbeddedOptions::default().set("autovacuum", "off");
    own_postgres_with(&options)
}

fn bench_with_warehouse(server: &EmbeddedPostgres, name: &str) -> TestBench {
    let bench = TestBench::on(server, name);
    // A schema whose name needs quotes.
    let mut control = bench.control();
    for sql in [
        "create schema \"My bench\"".to_owned(),
        format!("alter database {name} set search_path = 'My bench'"),
    ] {
        control.execute(&sql).expect(&sql);
    }
    bench.ok("load tpcc --scale 1");
    bench
}

fn find_rate<'a>(run: &'a Run, name: &str) -> Option<&'a IndustryMetric> {
    run.rates.iter().find(|rate| rate.name.as_str() == name)
}

#[test]
fn tpm_is_reported_with_nopm() {
    let server = start_server();
    let bench = bench_with_warehouse(&server, "counted");
    // Observation is disabled because its queries commit too.
    let arguments = "run tpcc --clients 2 --warmup 1s --duration 6s --no-observe";
    // The server's counts are read near the ends of the window, so TPM agrees with Prony's count only under
    // an even load; on a busy machine the load may pause for seconds.
    let mut attempts = Vec::new();
    let run = loop {
        let run = bench.run(&format!("{arguments} --profile hammerdb --mode statements"));
        let totals = total_figures(&run.measured);
        let ended_per_minute =
            (totals.committed + totals.rolled_back) as f64 / run.measured.length_s * 60.0;
        let tpm = find_rate(&run, "TPM").expect("it can be read").value;
        let nopm = find_rate(&run, "NOPM").expect("new orders").value;
        // Allow for ten transactions at the edges of the window.
        let edge_tpm = 10.0 / run.measured.length_s * 60.0;
        if (tpm - ended_per_minute).abs() < 0.3 * ended_per_minute + edge_tpm
            && tpm + edge_tpm > 1.8 * nopm
        {
            break run;
        }
        attempts.push((tpm, ended_per_minute, nopm));
        assert!(attempts.len() < 5, "{attempts:?}");
    };
    let tpm = find_rate(&run, "TPM").expect("it can be read").value;
    let nopm = find_rate(&run, "NOPM").expect("new orders");
    assert_eq!(run.rates[0], *nopm, "NOPM is the first rate");
    nopm.note
        .as_deref()
        .expect("far above")
        .assert_contains("unpaced");

    assert_eq!(last_run(&bench), run, "it is stored");
    let stdout = bench.ok_without_server("show last --full");
    let position = |text: &str| {
        stdout
            .find(text)
            .unwrap_or_else(|| panic!("no {text} in {stdout}"))
    };
    assert!(position(" NOPM ") < position(" TPM "));
    assert!(position(" TPM ") < position("transactions/s committed"));
    assert_shares(&run, &stdout);
    // The data was loaded with the profile standard, and the profile hammerdb does not maintain one counter.
    let population = run.check("population");
    let finding = &population.expect("loaded without a profile").finding;
    finding.assert_contains("The profile hammerdb ran on customers of the population standard");
    let checked = bench.ok("check tpcc");
    let text = checked.unwrapped();
    text.assert_contains(
        "note condition-12: c_balance + c_ytd_payment is the delivered amount: not",
    );
    assert!(text.contains("not expected to hold here"), "{checked}");
    assert!(text.contains("ok condition-11:"), "{checked}");
    let table = bench.ok_without_server("show last --rates");
    let lines = table.lines();
    let names: Vec<_> = lines.filter_map(|line| line.split(',').next()).collect();
    assert_eq!(names, ["name", "NOPM", "TPM", "TPS"]);
    table.assert_contains(&format!("\nTPM,{tpm},"));
}

#[test]
fn tpm_is_omitted_if_it_cannot_be_counted() {
    let server = start_server();
    let bench = bench_with_warehouse(&server, "uncounted");
    let mut control = bench.control();
    let assert_no_tpm = |run: &Run| {
        assert!(find_rate(run, "NOPM").is_some());
        assert_eq!(find_rate(run, "TPM"), None);
    };
    assert_no_tpm(&bench.run("run tpcc --clients 1 --duration 1s"));
    assert_no_tpm(&bench.run("run tpcc --clients 1 --transactions 50"));
    control.run("create role clerk login password 'clerk-only'");
    control.run(
        "grant usage on schema \"My bench\" to clerk; \
             grant all on all tables in schema \"My bench\" to clerk",
    );
    control.run("revoke select on pg_stat_database from public");
    let output = bench
        .command("run tpcc --clients 1 --duration 4s --json")
        .args(["--url", &bench.socket_url.replace("postgres@", "clerk@")])
        .output()
        .expect("it starts");
    let run = parse_run(&output);
    assert_eq!(run.server.user, "clerk", "{}", stderr_text(&output));
    assert_no_tpm(&run);
    bench
        .ok_without_server("show last --full")
        .assert_lacks("TPM");
    assert!(query_number(&mut control, "select count(*) from orders") > 30_000);
}

#[test]
fn different_profiles_and_modes_are_not_comparable() {
    let server = start_server();
    let bench = bench_with_warehouse(&server, "mixed");
    let execute_run = |options: &str| {
        let arguments = format!("run tpcc --clients 1 --duration 1s --profile {options}");
        bench.run(&arguments).id
    };
    let (first, repeat) = (execute_run("standard"), execute_run("standard"));
    let other_ids = [
        execute_run("hammerdb-4.6"),
        execute_run("standard --mode statements"),
    ];
    // Checks may fail in such short runs, so the exit code is asserted only where it must be 7.
    let differences = |other: &str| {
        let output = bench.prony_without_server(&format!("compare {first} {other} --json"));
        let comparison: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let list = comparison["side_comparisons"][0]["differences"]
            .as_array()
            .expect("a list")
            .clone();
        let names = list
            .iter()
            .map(|difference| difference["what"].as_str().map(str::to_owned));
        (
            output.status.code(),
            names.map(Option::unwrap).collect::<Vec<_>>(),
        )
    };
    let (_, names) = differences(&repeat);
    for name in ["workload", "statements", "mode", "profile", "scale"] {
        assert!(
            !names.iter().any(|other| other == name),
            "{name}: {names:?}"
        );
    }
    for (other, name) in other_ids.iter().zip(["profile", "mode"]) {
        let (code, names) = differences(other);
        assert_eq!(code, Some(7), "{names:?}");
        assert!(names.iter().any(|other| other == name), "{name}: {names:?}");
        let output = bench.prony_without_server(&format!("compare {first} {other}"));
        let text = stdout_text(&output);
        text.assert_starts_with("NOT COMPARABLE");
        text.assert_contains(name).assert_lacks("NOPM");
    }
    let unknown_run = bench.prony_without_server(&format!("compare {first} none-such"));
    assert_code(&unknown_run, 2);
}

/// Asserts the shares of a run with one warehouse, which has no remote payments.
fn assert_shares(run: &Run, stdout: &str) {
    let share_of = |name: &str, group: &str| {
        let share = run
            .shares
            .iter()
            .find(|share| (&*share.name, &*share.base) == (name, group));
        share.unwrap_or_else(|| panic!("no {name} of {group}: {:?}", run.shares))
    };
    let payments = share_of("payment", "transactions");
    let total: u64 = run.shares[..5].iter().map(|share| share.count).sum();
    assert_eq!(payments.total, total, "the five kinds are all transactions");
    let totals = total_figures(&run.measured);
    assert!(
        total >= totals.committed + totals.rolled_back,
        "the shares include the warm-up"
    );
    // Five standard deviations of the observed share.
    let tolerance = 5.0 * (10.0 / 23.0 * 13.0 / 23.0 / total as f64).sqrt();
    let share = payments.count as f64 / total as f64;
    assert!(
        (share - 10.0 / 23.0).abs() < tolerance,
        "{share} of {total}"
    );
    assert_eq!(
        share_of("by last name", "payments").expected_share,
        Some(0.6)
    );
    assert_eq!(share_of("of another warehouse", "payments").count, 0);
    let check = run.check("shares");
    assert_eq!(check, None);
    stdout.assert_contains("Shares over the whole run");
    assert!(
        !stdout.to_lowercase().contains("tpmc"),
        "tpmC is reserved for audited results"
    );
}
