//! Published scenarios, at a tiny part of their size, on real servers.

use crate::common::{Bench, PATIENCE, document, last, number, ok, said};
use crate::maria;
use prony_server::embedded::{Options, Server, find};
use prony_store::Run;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

/// A run's note of its scenario.
fn noted(run: &Run) -> &prony_store::Scenario {
    run.scenario.as_ref().expect("noted")
}

/// On one line, with single blanks.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// With an argument that has blanks in it.
fn with(bench: &Bench, words: &str, more: &[&str]) -> Output {
    let mut command = bench.command(words);
    command.args(["--url", &bench.url]).args(more);
    bench.silent(command.output().expect("it starts"))
}

#[test]
fn a_pgbench_row_is_loaded_run_compared_and_cleaned_up() {
    let bench = Bench::new("scenario_tpcb");
    let called = bench.home.join("called");
    let restart = format!("echo called >> '{}' && echo heard", called.display());
    let words = "reproduce tpcb-cached --shrink 1/2000 --minutes 0.05 --clients 3 --cleanup";
    let output = with(&bench, words, &["--restart-command", &restart]);
    let (result, progress) = (ok(&output), said(&output));
    assert_eq!(
        std::fs::read_to_string(&called).expect("it was called"),
        "called\n"
    );
    // Nothing was restarted, and that is found out. What the command prints is no part of the result.
    assert!(
        progress.contains("heard\n") && !result.contains("heard"),
        "{progress}"
    );
    assert!(
        progress.contains("has run since before the restart command"),
        "{progress}"
    );
    assert!(
        progress.contains("prony load tpcb --url postgres://"),
        "{progress}"
    );
    assert!(progress.contains("--scale 2 --clients 3 "), "{progress}");
    assert!(progress.contains("Checked what was loaded"), "{progress}");
    assert!(progress.contains("Dropped pgbench_"), "{progress}");
    let shown = flat(&result);
    assert!(
        shown.contains("Against the scenario tpcb-cached"),
        "{shown}"
    );
    assert!(shown.contains("TPS 20,359 "), "{shown}");
    assert!(shown.contains("latency stddev 13.6 "), "{shown}");
    assert!(shown.contains("clients 256 clients 3 clients"), "{shown}");
    assert!(shown.contains("measured 65 min 3 s"), "{shown}");
    // The tables of the workload, and not what else there is.
    assert!(
        shown.contains("scale 2, 3") && !shown.contains("whole database"),
        "{shown}"
    );
    assert!(
        shown.contains("caches restarted before the load not restarted"),
        "{shown}"
    );
    let again = flat(&ok(&bench.local("show last")));
    assert!(
        again.contains("Against the scenario tpcb-cached"),
        "{again}"
    );
    let run = last(&bench);
    assert_eq!(
        (run.workload.name.as_str(), run.workload.scale),
        ("tpcb", 2)
    );
    assert_eq!(run.drive.protocol, "simple");
    let scenario = noted(&run);
    assert_eq!(
        (scenario.shrink, scenario.original.cpus),
        (0.0005, Some(16))
    );
    assert!(scenario.loaded && scenario.prewarmed && scenario.cold && !scenario.restarted);
    let left = "SELECT count(*) FROM pg_class WHERE relname LIKE 'pgbench%'";
    assert_eq!(number(&mut bench.control(), left), 0);
}

#[test]
fn an_order_entry_row_has_its_rates_beside_the_published_ones() {
    let bench = Bench::new("scenario_tpcc");
    let words = "reproduce tpcc-16vcpu-30pct --shrink 1/3200 --minutes 0.07 --clients 2 --json";
    let run = document(&bench.prony(words));
    assert_eq!(
        (run.workload.name.as_str(), run.workload.scale),
        ("tpcc", 1)
    );
    let settings = &run.workload.settings;
    assert!(
        settings.contains(&"profile hammerdb-4.6".to_owned()),
        "{settings:?}"
    );
    assert!(settings.contains(&"home all".to_owned()), "{settings:?}");
    assert_eq!(run.window.warmup_s.round(), 1.0);
    let scenario = noted(&run);
    let names: Vec<&str> = scenario
        .published
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(names, ["NOPM", "TPM", "TPS"]);
    let shown = flat(&ok(&bench.local("show last")));
    assert!(shown.contains("NOPM 252,970 "), "{shown}");
    assert!(shown.contains("data 3,200 warehouses scale 1"), "{shown}");
    assert!(!shown.contains("whole database"), "{shown}");
}

#[test]
fn a_hot_set_row_counts_statements() {
    let bench = Bench::new("scenario_hot");
    let words = "reproduce hotset-2c16g-0.05b-rw --shrink 1/1000 --minutes 0.05 --clients 2 --json";
    let output = bench.prony(words);
    let run = document(&output);
    assert!(said(&output).contains("Vacuuming."), "{}", said(&output));
    assert_eq!(
        (run.workload.name.as_str(), run.workload.scale),
        ("script", 1)
    );
    assert_eq!(noted(&run).statements, Some(5));
    let statements = &run.workload.statements;
    assert_eq!(statements.len(), 7, "{statements:?}");
    assert!(run.plan.to_string().contains("range=50000"), "{}", run.plan);
    // The published figure is compared with five statements a transaction.
    let qps = run.measured.kinds[0].tps * 5.0;
    let change = format!("{:+.1} %", (qps / 24_520.0 - 1.0) * 100.0);
    let shown = flat(&ok(&bench.local("show last")));
    assert!(shown.contains(&change), "{change}: {shown}");
    assert!(!shown.contains("whole database"), "{shown}");
    // Accounts of the hot set alone, and all branches.
    let beyond = "SELECT count(*) FROM pgbench_history WHERE aid > 50000";
    assert_eq!(number(&mut bench.control(), beyond), 0);
    // The data that is there is taken again, and its script is where the plan says.
    let words = "reproduce hotset-2c16g-0.05b-ro --shrink 1/1000 --minutes 0.02 --clients 2 --no-load --json";
    let run = document(&bench.prony(words));
    assert!(!noted(&run).loaded);
    assert!(bench.home.join("scenarios/hot-set-ro.sql").is_file());
}

#[test]
fn the_index_insert_row_has_five_indexes() {
    let bench = Bench::new("scenario_index");
    let words = "reproduce index-insert-only --shrink 1/25000 --minutes 0.02 --clients 2 --json";
    let run = document(&bench.prony(words));
    assert!(run.measured.kinds[0].committed > 0);
    let mut control = bench.control();
    let sql = "SELECT count(*) FROM pg_indexes WHERE tablename = 'pgbench_history'";
    assert_eq!(number(&mut control, sql), 5);
    let sql = "SELECT count(*) FROM pgbench_history WHERE tid > 1000 AND bid > 1000";
    assert!(number(&mut control, sql) > 0);
}

#[test]
fn a_mysql_row_runs_on_mariadb() {
    let bench = maria::Bench::new("scenario");
    let words = "reproduce mysql80-rw-1c1g-cached --shrink 1/400 --minutes 0.05 --clients 2";
    let output = bench.prony(words);
    let shown = flat(&ok(&output));
    assert!(shown.contains("reads 432,922 "), "{shown}");
    assert!(
        shown.contains("server ApsaraDB RDS for MySQL, MariaDB 10."),
        "{shown}"
    );
    assert!(
        shown.contains("32 tables of 25,000 rows scale 1 of 2,000 rows"),
        "{shown}"
    );
    assert!(!shown.contains("whole database"), "{shown}");
    let run = document(&bench.local("show last --json", &[]));
    let queries = run.measured.queries.as_ref().expect("counted");
    assert!(queries.reads > 0 && noted(&run).prewarmed);
}

#[test]
fn clients_are_capped_by_the_server_and_a_share_of_its_cache_sizes_the_data() {
    let installation = find().expect("PostgreSQL's programs");
    let options = Options {
        max_connections: 20,
        ..Options::default()
    };
    let server = Server::start(&installation, &options).expect("a server");
    let bench = Bench::on(&server, "scenario_cap");
    let words = "reproduce select-only-64vcpu --cached 100% --cached-of cache --minutes 0.05";
    let output = bench.prony(words);
    let (shown, progress) = (flat(&ok(&output)), said(&output));
    assert!(
        progress.contains("in place of 256: the server has connections for no more"),
        "{progress}"
    );
    assert!(
        progress.contains("of which 100 % fit into shared_buffers"),
        "{progress}"
    );
    let run = last(&bench);
    assert!(
        (5..20).contains(&run.drive.clients),
        "{}",
        run.drive.clients
    );
    let cached = run.cached.clone().expect("asked for");
    assert_eq!((cached.share, cached.of.as_str()), (1.0, "shared_buffers"));
    assert_eq!(
        u64::from(run.workload.scale),
        (cached.of_bytes as f64 / 15.7e6).floor() as u64
    );
    let asked = "Cached, as asked for 100.0 % was asked for.";
    assert!(shown.contains(asked), "{shown}");
    assert!(shown.contains(" of the pages were found. "), "{shown}");
    // What was expected of the data is what it is, within a tenth of it.
    let sql = "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class WHERE relname ~ '^pgbench_[a-z]*$'";
    let size = number(&mut bench.control(), sql) as f64;
    assert!(
        (size / (f64::from(run.workload.scale) * 15.7e6) - 1.0).abs() < 0.1,
        "{size} {cached:?}"
    );
    // A plain run says the same of the data that is there.
    let words = "run select-only --clients 2 --duration 1s --cached 30% --cached-of cache";
    let own = flat(&ok(&bench.prony(words)));
    assert!(
        own.contains("Cached, as asked for 30.0 % was asked for."),
        "{own}"
    );
    assert!(own.contains("That is not what was asked for."), "{own}");
    assert!(!own.contains("Against the scenario"), "{own}");
    // What cannot be run is refused before the tables are replaced.
    for (wrong, told) in [
        ("--threads 0", "--threads"),
        ("--clients 5000", "the server has connections for"),
        ("--server-metrics foo", "--server-metrics"),
    ] {
        let words = format!("reproduce select-only-64vcpu --shrink 1/15000 {wrong}");
        let output = bench.prony(&words);
        assert_eq!(output.status.code(), Some(2), "{wrong}: {}", said(&output));
        assert!(said(&output).contains(told), "{wrong}: {}", said(&output));
    }
    let branches = number(
        &mut bench.control(),
        "SELECT count(*) FROM pgbench_branches",
    );
    assert_eq!(branches, u64::from(run.workload.scale));
    restarted(&bench, &server);
}

/// A restart that really happens makes cold caches of it.
fn restarted(bench: &Bench, server: &Server) {
    let (asked, done) = (bench.home.join("asked"), bench.home.join("done"));
    let wait = format!(
        "touch '{}'; until [ -e '{}' ]; do sleep 0.05; done",
        asked.display(),
        done.display()
    );
    let words = "reproduce tpcb-cached --shrink 1/4000 --minutes 0.02 --clients 2 --json";
    let mut command = bench.command(words);
    command.args(["--url", &bench.url, "--restart-command", &wait]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("it starts");
    let since = Instant::now();
    while !asked.exists() {
        assert!(since.elapsed() < PATIENCE, "the command is not called");
        std::thread::sleep(Duration::from_millis(20));
    }
    // The tables of the run before went first.
    let left = "SELECT count(*) FROM pg_class WHERE relname LIKE 'pgbench%'";
    assert_eq!(number(&mut bench.control(), left), 0);
    server.restart().expect("it restarts");
    std::fs::write(&done, "").expect("a file");
    let output = child.wait_with_output().expect("it ends");
    let run = document(&bench.silent(output));
    assert!(noted(&run).restarted && noted(&run).loaded);
    let shown = flat(&ok(&bench.local("show last")));
    assert!(
        !shown.contains("caches restarted before the load"),
        "{shown}"
    );
}

#[test]
fn what_cannot_be_reproduced_is_said() {
    let bench = Bench::new("scenario_none");
    let script = ok(&bench.local("scenarios hotset-2c16g-0.1b-ro --script"));
    assert!(
        script.contains("\n\\set aid random_gaussian(1, :range, 10.0)\n"),
        "{script}"
    );
    let output = bench.prony("reproduce mssql-2012-s2.large");
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("SQL Server, whose protocol Prony does not speak yet"));
    let output = bench.prony("reproduce tpbc-cached");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said(&output).contains("did you mean tpcb-cached"),
        "{}",
        said(&output)
    );
    let output = bench.prony("load hot-row --cached 30%");
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("give --scale"), "{}", said(&output));
}
