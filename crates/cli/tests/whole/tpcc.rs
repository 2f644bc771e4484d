//! The tpcc workload as the program runs it: its primary metric, and the other figures.

use crate::common::{Bench, last, number, ok, stderr_text};
use prony_server::embedded::{EmbeddedOptions, EmbeddedPostgres, find};
use prony_store::{IndustryMetric, Run};

/// A separate server for this test, on which nobody else ends transactions: the server counts those
/// of the whole cluster.
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
fn tpm_is_reported_beside_nopm() {
    let server = server();
    let bench = loaded(&server, "counted");
    // Observing the server makes it commit too.
    let words = "run tpcc --clients 2 --warmup 1s --duration 6s --no-observe";
    // The server is read near the ends of the window: the figures agree under an even load, and on a
    // machine that pauses for seconds it is not even.
    let mut others = Vec::new();
    let run = loop {
        let run = bench.run(&format!("{words} --profile hammerdb --mode statements"));
        let all = &run.measured.kinds[0];
        let ended = (all.committed + all.rolled_back) as f64 / run.measured.length_s * 60.0;
        let tpm = rate(&run, "TPM").expect("it can be read").value;
        let nopm = rate(&run, "NOPM").expect("new orders").value;
        // Allow for ten transactions at the edges of the window, however few it has.
        let edges = 10.0 / run.measured.length_s * 60.0;
        if (tpm - ended).abs() < 0.3 * ended + edges && tpm + edges > 1.8 * nopm {
            break run;
        }
        others.push((tpm, ended, nopm));
        assert!(others.len() < 5, "{others:?}");
    };
    let tpm = rate(&run, "TPM").expect("it can be read").value;
    let nopm = rate(&run, "NOPM").expect("new orders");
    assert_eq!(run.rates[0], *nopm, "it leads");
    assert!(nopm.note.as_deref().expect("far above").contains("unpaced"));

    assert_eq!(last(&bench), run, "it is stored");
    let shown = ok(&bench.local("show last"));
    let at = |what: &str| {
        shown
            .find(what)
            .unwrap_or_else(|| panic!("no {what} in {shown}"))
    };
    assert!(at(" NOPM ") < at(" TPM ") && at(" TPM ") < at("transactions/s committed"));
    shares_are_as_meant(&run, &shown);
    // Its rows are the specification's, and its profile does not maintain one of the counters.
    let population = run.checks.iter().find(|check| check.id == "population");
    let finding = &population.expect("loaded without a profile").finding;
    assert!(finding.contains("The profile hammerdb ran on customers of the population standard"));
    let checked = ok(&bench.prony("check tpcc"));
    let words: Vec<&str> = checked.split_whitespace().collect();
    let words = words.join(" ");
    assert!(
        words.contains("note condition-12: c_balance + c_ytd_payment is the delivered amount: not")
    );
    assert!(words.contains("not expected to hold here"), "{checked}");
    assert!(words.contains("ok condition-11:"), "{checked}");
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
    let wait = |run: &Run| {
        assert!(rate(run, "NOPM").is_some());
        assert_eq!(rate(run, "TPM"), None);
    };
    wait(&bench.run("run tpcc --clients 1 --duration 1s"));
    wait(&bench.run("run tpcc --clients 1 --transactions 50"));
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
    wait(&run);
    assert!(!ok(&bench.local("show last")).contains("TPM"));
    assert!(number(&mut control, "select count(*) from orders") > 30_000);
}

#[test]
fn different_profiles_and_modes_are_not_comparable() {
    let server = server();
    let bench = loaded(&server, "mixed");
    let run = |words: &str| {
        let words = format!("run tpcc --clients 1 --duration 1s --profile {words}");
        bench.run(&words).id
    };
    let (first, again) = (run("standard"), run("standard"));
    let other = [run("hammerdb-4.6"), run("standard --mode statements")];
    // Which checks fire in such a short run on a busy machine is irrelevant here.
    let differs = |other: &str| {
        let output = bench.local(&format!("compare {first} {other} --json"));
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let differences = found["differences"].as_array().expect("a list").clone();
        let names = differences
            .iter()
            .map(|one| one["what"].as_str().map(str::to_owned));
        (
            output.status.code(),
            names.map(Option::unwrap).collect::<Vec<_>>(),
        )
    };
    let (_, like) = differs(&again);
    for what in ["workload", "statements", "mode", "profile", "scale"] {
        assert!(!like.iter().any(|one| one == what), "{what}: {like:?}");
    }
    for (other, what) in other.iter().zip(["profile", "mode"]) {
        let (code, found) = differs(other);
        assert_eq!(code, Some(7), "{found:?}");
        assert!(found.iter().any(|one| one == what), "{what}: {found:?}");
        let shown = bench.local(&format!("compare {first} {other}"));
        let text = String::from_utf8_lossy(&shown.stdout).into_owned();
        assert!(text.starts_with("NOT COMPARABLE"), "{text}");
        assert!(text.contains(what) && !text.contains("NOPM"), "{text}");
    }
    let missing = bench.local(&format!("compare {first} none-such"));
    assert_eq!(missing.status.code(), Some(2), "{}", stderr_text(&missing));
}

/// With 1 warehouse, nothing comes from another one.
fn shares_are_as_meant(run: &Run, shown: &str) {
    let of = |name: &str, of: &str| {
        let found = run
            .shares
            .iter()
            .find(|share| (&*share.name, &*share.of) == (name, of));
        found.unwrap_or_else(|| panic!("no {name} of {of}: {:?}", run.shares))
    };
    let payments = of("payment", "transactions");
    let all: u64 = run.shares[..5].iter().map(|share| share.part).sum();
    assert_eq!(payments.whole, all, "the five kinds are all there is");
    let measured = &run.measured.kinds[0];
    assert!(
        all >= measured.committed + measured.rolled_back,
        "the warm-up is in it"
    );
    // Five standard deviations of this many draws.
    let most = 5.0 * (10.0 / 23.0 * 13.0 / 23.0 / all as f64).sqrt();
    let share = payments.part as f64 / all as f64;
    assert!((share - 10.0 / 23.0).abs() < most, "{share} of {all}");
    assert_eq!(of("by last name", "payments").expected_share, Some(0.6));
    assert_eq!(of("of another warehouse", "payments").part, 0);
    let off = run.checks.iter().find(|check| check.id == "shares");
    assert_eq!(off, None);
    assert!(shown.contains("Shares over the whole run"), "{shown}");
    assert!(!shown.to_lowercase().contains("tpmc"), "not ours to claim");
}
