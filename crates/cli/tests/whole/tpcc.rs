//! The tpcc workload end to end: its metrics, shares and comparability.

use crate::common::{Bench, last_run, number, ok, stderr_text};
use prony_server::embedded::{EmbeddedOptions, EmbeddedPostgres, find};
use prony_store::{IndustryMetric, Run};

/// Starts a separate server without other sessions, because TPM counts the transactions of all databases.
fn server() -> EmbeddedPostgres {
    let options = EmbeddedOptions::default().set("autovacuum", "off");
    let installation = find().expect("PostgreSQL's programs");
    EmbeddedPostgres::start(&installation, &options).expect("it starts")
}

/// A database with one warehouse.
fn loaded(server: &EmbeddedPostgres, name: &str) -> Bench {
    let bench = Bench::on(server, name);
    ok(&bench.prony("load tpcc --scale 1"));
    bench
}

fn rate<'a>(run: &'a Run, name: &str) -> Option<&'a IndustryMetric> {
    run.rates.iter().find(|rate| rate.name.as_str() == name)
}

#[test]
fn tpm_is_reported_with_nopm() {
    let server = server();
    let bench = loaded(&server, "counted");
    // Observation is disabled because its queries commit too.
    let arguments = "run tpcc --clients 2 --warmup 1s --duration 6s --no-observe";
    // The server's counts are read near the ends of the window, so TPM agrees with Prony's count only under
    // an even load; on a busy machine the load may pause for seconds.
    let mut attempts = Vec::new();
    let run = loop {
        let run = bench.run(&format!("{arguments} --profile hammerdb --mode statements"));
        let all = &run.measured.kinds[0];
        let ended = (all.committed + all.rolled_back) as f64 / run.measured.length_s * 60.0;
        let tpm = rate(&run, "TPM").expect("it can be read").value;
        let nopm = rate(&run, "NOPM").expect("new orders").value;
        // Allow for ten transactions at the edges of the window.
        let edges = 10.0 / run.measured.length_s * 60.0;
        if (tpm - ended).abs() < 0.3 * ended + edges && tpm + edges > 1.8 * nopm {
            break run;
        }
        attempts.push((tpm, ended, nopm));
        assert!(attempts.len() < 5, "{attempts:?}");
    };
    let tpm = rate(&run, "TPM").expect("it can be read").value;
    let nopm = rate(&run, "NOPM").expect("new orders");
    assert_eq!(run.rates[0], *nopm, "NOPM is the first rate");
    assert!(nopm.note.as_deref().expect("far above").contains("unpaced"));

    assert_eq!(last_run(&bench), run, "it is stored");
    let shown = ok(&bench.local("show last"));
    let at = |text: &str| {
        shown
            .find(text)
            .unwrap_or_else(|| panic!("no {text} in {shown}"))
    };
    assert!(at(" NOPM ") < at(" TPM ") && at(" TPM ") < at("transactions/s committed"));
    assert_shares(&run, &shown);
    // The data was loaded with the profile standard, and the profile hammerdb does not maintain one counter.
    let population = run.checks.iter().find(|check| check.id == "population");
    let finding = &population.expect("loaded without a profile").finding;
    assert!(finding.contains("The profile hammerdb ran on customers of the population standard"));
    let checked = ok(&bench.prony("check tpcc"));
    let text = checked.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("note condition-12: c_balance + c_ytd_payment is the delivered amount: not")
    );
    assert!(text.contains("not expected to hold here"), "{checked}");
    assert!(text.contains("ok condition-11:"), "{checked}");
    let table = ok(&bench.local("show last --rates"));
    let names: Vec<_> = table
        .lines()
        .filter_map(|line| line.split(',').next())
        .collect();
    assert_eq!(names, ["name", "NOPM", "TPM", "TPS"]);
    assert!(table.contains(&format!("\nTPM,{tpm},")), "{table}");
}

#[test]
fn tpm_is_omitted_if_it_cannot_be_counted() {
    let server = server();
    let bench = loaded(&server, "uncounted");
    let mut control = bench.control();
    let assert_no_tpm = |run: &Run| {
        assert!(rate(run, "NOPM").is_some());
        assert_eq!(rate(run, "TPM"), None);
    };
    assert_no_tpm(&bench.run("run tpcc --clients 1 --duration 1s"));
    assert_no_tpm(&bench.run("run tpcc --clients 1 --transactions 50"));
    control
        .execute("create role clerk login password 'clerk-only'")
        .expect("a role");
    control
        .execute("grant all on all tables in schema public to clerk")
        .expect("rights");
    control
        .execute("revoke select on pg_stat_database from public")
        .expect("no rights");
    let output = bench
        .command("run tpcc --clients 1 --duration 4s --json")
        .args(["--url", &bench.socket_url.replace("postgres@", "clerk@")])
        .output()
        .expect("it starts");
    let run: Run = serde_json::from_str(&ok(&output)).expect("a document");
    assert_eq!(run.server.user, "clerk", "{}", stderr_text(&output));
    assert_no_tpm(&run);
    assert!(!ok(&bench.local("show last")).contains("TPM"));
    assert!(number(&mut control, "select count(*) from orders") > 30_000);
}

#[test]
fn different_profiles_and_modes_are_not_comparable() {
    let server = server();
    let bench = loaded(&server, "mixed");
    let run = |options: &str| {
        let arguments = format!("run tpcc --clients 1 --duration 1s --profile {options}");
        bench.run(&arguments).id
    };
    let (first, repeat) = (run("standard"), run("standard"));
    let others = [run("hammerdb-4.6"), run("standard --mode statements")];
    // The checks of such short runs are irrelevant here.
    let differences = |other: &str| {
        let output = bench.local(&format!("compare {first} {other} --json"));
        let comparison: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let list = comparison["differences"]
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
    for (other, name) in others.iter().zip(["profile", "mode"]) {
        let (code, names) = differences(other);
        assert_eq!(code, Some(7), "{names:?}");
        assert!(names.iter().any(|other| other == name), "{name}: {names:?}");
        let shown = bench.local(&format!("compare {first} {other}"));
        let text = String::from_utf8_lossy(&shown.stdout).into_owned();
        assert!(text.starts_with("NOT COMPARABLE"), "{text}");
        assert!(text.contains(name) && !text.contains("NOPM"), "{text}");
    }
    let missing = bench.local(&format!("compare {first} none-such"));
    assert_eq!(missing.status.code(), Some(2), "{}", stderr_text(&missing));
}

/// Asserts the shares of a run with one warehouse, which has no remote payments.
fn assert_shares(run: &Run, shown: &str) {
    let share_of = |name: &str, group: &str| {
        let share = run
            .shares
            .iter()
            .find(|share| (&*share.name, &*share.of) == (name, group));
        share.unwrap_or_else(|| panic!("no {name} of {group}: {:?}", run.shares))
    };
    let payments = share_of("payment", "transactions");
    let all: u64 = run.shares[..5].iter().map(|share| share.part).sum();
    assert_eq!(payments.whole, all, "the five kinds are all transactions");
    let measured = &run.measured.kinds[0];
    assert!(
        all >= measured.committed + measured.rolled_back,
        "the shares include the warm-up"
    );
    // Five standard deviations of the observed share.
    let tolerance = 5.0 * (10.0 / 23.0 * 13.0 / 23.0 / all as f64).sqrt();
    let share = payments.part as f64 / all as f64;
    assert!((share - 10.0 / 23.0).abs() < tolerance, "{share} of {all}");
    assert_eq!(
        share_of("by last name", "payments").expected_share,
        Some(0.6)
    );
    assert_eq!(share_of("of another warehouse", "payments").part, 0);
    let check = run.checks.iter().find(|check| check.id == "shares");
    assert_eq!(check, None);
    assert!(shown.contains("Shares over the whole run"), "{shown}");
    assert!(
        !shown.to_lowercase().contains("tpmc"),
        "tpmC is reserved for audited results"
    );
}
