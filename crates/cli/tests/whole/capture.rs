//! `prony capture` on real servers: an application's load, the plan that is captured of it, and the run of that plan.

use crate::common::*;
use prony_plan::PlanInput;
use prony_store::ROWS_OF_CALLS;

/// What an application does: it looks three times for each order, and its texts hold values that nobody else may see.
const APPLICATION: &str = r"
[workload]
name = 'sql'
[[workload.transactions]]
name = 'look'
weight = 3
sql = '''
\set customer random(1, 100)
SELECT id, note FROM orders WHERE customer = :customer AND status = 'secret open' ORDER BY id LIMIT 7;
'''
[[workload.transactions]]
name = 'order'
weight = 1
sql = '''
\set customer random(1, 100)
INSERT INTO orders (customer, status, note) VALUES (:customer, 'secret open', 'secret note');
UPDATE orders SET note = 'secret change' WHERE id IN (:customer, 7);
SELECT count(*) FROM orders WHERE id BETWEEN :customer AND :customer + 20;
'''
[run]
clients = 2
transactions = 400
protocol = 'simple'
";

/// Writes the application's plan; returns its path.
fn write_application(home: &TestFolder) -> String {
    let path = home.write("application.toml", APPLICATION);
    path.display().to_string()
}

/// The transactions of a captured plan: name, weight and text.
fn transactions(plan: &str) -> Vec<(String, i64, String)> {
    let input = PlanInput::from_toml("mix.toml", plan).expect("TOML");
    let workload = input.check().expect("valid").workload;
    let transactions = workload.options["transactions"].as_array();
    let text = |table: &toml::Value, key: &str| table[key].as_str().unwrap_or_default().to_owned();
    let transactions = transactions.into_iter().flatten().map(|table| {
        let weight = table["weight"].as_integer().expect("a weight");
        (text(table, "name"), weight, text(table, "sql"))
    });
    transactions.collect()
}

/// Asserts that the plan has the application's mix and none of its values.
fn assert_captured(plan: &str) {
    assert!(!plan.contains("secret"), "{plan}");
    plan.assert_contains("# guess: :customer");
    plan.assert_contains("transaction of its own");
    let transactions = transactions(plan);
    let weight = |part: &str| {
        let found = transactions.iter().find(|(_, _, sql)| sql.contains(part));
        found.unwrap_or_else(|| panic!("{part}: {plan}")).1
    };
    let (looks, inserts) = (weight("= :customer"), weight(":note);"));
    // Of 800 transactions, of which three quarters look.
    assert_eq!(looks + inserts, 800, "{plan}");
    assert!((500..700).contains(&looks), "{looks} looks");
    assert_eq!(weight(":id_high"), inserts);
    assert_eq!(weight("(:id, :id_2"), inserts);
}

fn assert_driven(run: &Run, plan: &str) {
    let totals = total_figures(&run.measured);
    let errors = &run.measured.errors;
    assert_eq!((totals.committed, totals.failed), (2000, 0), "{errors:?}");
    let transactions = transactions(plan);
    let all: i64 = transactions.iter().map(|(_, weight, _)| weight).sum();
    for (name, weight, _) in &transactions {
        let shares = run.shares.iter();
        let mut rows = shares.filter(|share| share.base == ROWS_OF_CALLS);
        let rows = rows.find(|share| share.name == *name).expect("its rows");
        // Those of Prony's own connections are too few to be drawn for certain.
        if *weight * 200 > all {
            assert!(rows.count > 0 && rows.total > 0, "{rows:?}");
        }
        let mut kinds = run.measured.kinds.iter();
        let kind = kinds.find(|kind| kind.kind.as_ref() == Some(name));
        let share = kind.map_or(0.0, |kind| kind.committed as f64 / 2000.0);
        // Five standard deviations of 2000 draws are below 0.056.
        let expected = *weight as f64 / all as f64;
        assert!(
            (share - expected).abs() < 0.06,
            "{name}: {share} is not {expected}"
        );
    }
}

#[test]
fn a_captured_plan_runs_the_mix_of_an_application_on_postgres() {
    let options = EmbeddedOptions::default().set("shared_preload_libraries", "pg_stat_statements");
    let server = own_postgres_with(&options);
    let bench = TestBench::on(&server, "capture");
    let out = bench.home.join("mix.toml").display().to_string();
    let capture = format!("capture --for 0s --share 100 --out {out}");
    assert_code(&bench.prony(&capture), 3).assert_contains("no extension pg_stat_statements");
    let mut control = bench.control();
    control
        .execute(
            "CREATE EXTENSION pg_stat_statements;
             CREATE TABLE orders (id bigserial PRIMARY KEY, customer int, status text, note text);
             INSERT INTO orders (customer, status, note) SELECT n % 100 + 1, 'secret open', 'secret' FROM generate_series(1, 2000) n;
             CREATE ROLE weak LOGIN",
        )
        .expect("tables");
    let reset = "SELECT pg_stat_statements_reset()";
    control.execute(reset).expect("a reset");
    let application = write_application(&bench.home);
    bench.ok(&format!("run {application} --no-observe"));
    let captured = bench.prony(&capture);
    assert!(captured.status.success(), "{}", stderr_text(&captured));
    let plan = std::fs::read_to_string(&out).expect("the plan");
    assert_captured(&plan);
    let run = bench.run(&format!("run {out} --transactions 1000 --clients 2"));
    assert_driven(&run, &plan);
    let shown = bench.ok_without_server("show last");
    shown.unwrapped().assert_contains("when captured");
    // Who may not see the statements of others is told so.
    let weak_url = bench.socket_url.replace("postgres@", "weak@");
    let weak = bench.command(&capture).args(["--url", &weak_url]).output();
    stderr_text(&weak.expect("it starts")).assert_contains("GRANT pg_read_all_stats");
    // A file that is no captured plan is not replaced.
    std::fs::write(&out, "mine").expect("a file");
    assert_eq!(bench.prony(&capture).status.code(), Some(2));
}

#[test]
fn a_captured_plan_runs_the_mix_of_an_application_on_mariadb() {
    let server = own_mariadb(&["--performance-schema=ON"]);
    let bench = TestBench::on_maria(&server, "capture");
    let mut control = connect(&bench.url);
    for sql in [
        "CREATE TABLE orders (id bigint AUTO_INCREMENT PRIMARY KEY, customer int, status varchar(20), note varchar(20))",
        "INSERT INTO orders (customer, status, note) SELECT seq % 100 + 1, 'secret open', 'secret' FROM seq_1_to_2000",
        "TRUNCATE performance_schema.events_statements_summary_by_digest",
    ] {
        control.execute(sql).expect(sql);
    }
    let application = write_application(&bench.home);
    bench.ok(&format!("run {application} --no-observe"));
    let out = bench.home.join("mix.toml").display().to_string();
    let captured = bench.prony(&format!("capture --for 0s --share 100 --out {out}"));
    assert!(captured.status.success(), "{}", stderr_text(&captured));
    let plan = std::fs::read_to_string(&out).expect("the plan");
    assert_captured(&plan);
    let output = bench.prony(&format!("run {out} --transactions 1000 --clients 2 --json"));
    assert_driven(&parse_run(&output), &plan);
}

#[test]
fn mariadb_without_performance_schema_is_told_what_is_missing() {
    let bench = TestBench::maria("capture_off");
    let out = bench.home.join("mix.toml").display().to_string();
    let refused = bench.prony(&format!("capture --for 0s --out {out}"));
    assert_code(&refused, 3).assert_contains("performance_schema is off");
}
