//! The counts of a run balance: what it reports as committed is on the server, and nothing else except
//! what it reports as ambiguous, however the run ends.

use crate::common::{
    Bench, WAIT_TIMEOUT, assert_hidden, control, document, ok, program, signal, start_run,
};
use crate::relay::Relay;
use prony_server::embedded::{EmbeddedOptions, EmbeddedPostgres, MariaDb, MariaDbOptions, find};
use prony_store::{Figures, Run};
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

/// A server, and a workload whose transactions add one row each.
struct TestServer {
    /// Over TCP, with the password in it.
    url: String,
    password: String,
    port: u16,
    home: PathBuf,
    /// For the sessions of the test itself.
    own_url: String,
    workload: String,
    rows: &'static str,
    others: &'static str,
}

impl TestServer {
    /// Rows of the table, once nobody else is connected: a server may still be working for a client that
    /// has gone.
    fn rows(&self) -> u64 {
        let begun = Instant::now();
        loop {
            let mut own = control(&self.own_url);
            let mut number = |sql| {
                let value = own.query_value(sql).expect(sql).expect("not null");
                value.parse::<u64>().expect("a number")
            };
            if number(self.others) == 0 {
                return number(self.rows);
            }
            assert!(begun.elapsed() < WAIT_TIMEOUT, "somebody stays connected");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Starts a run; `more` holds further arguments.
    fn start(&self, more: &str, url: &str) -> Child {
        let words = format!("run {} --clients 8 --json {more}", self.workload);
        let mut command = program(&words, &self.home);
        command.args(["--url", url]);
        start_run(command).0
    }

    fn end(&self, child: Child) -> Run {
        let output = child.wait_with_output().expect("it ends");
        assert_hidden(&self.password, &output, &self.home);
        if output.status.code() == Some(130) {
            return serde_json::from_slice(&output.stdout).expect("a document");
        }
        document(&output)
    }

    /// Runs with `disturb` applied; returns the run and the number of rows it added.
    fn run(&self, more: &str, disturb: impl FnOnce(&Child)) -> (Run, u64) {
        let before = self.rows();
        let child = self.start(more, &self.url);
        disturb(&child);
        let run = self.end(child);
        (run, self.rows() - before)
    }

    /// A run that does not wait for its last transactions.
    fn check_cut_off(&self) {
        let (run, rows) = self.run("--duration 3s --grace 0s", |_| ());
        assert_balanced(&run, rows);
        let left = of_in_flight(&run, |of| of.ambiguous + of.cut_off);
        assert!(
            left > 0,
            "nothing was cut off: {:?}",
            run.measured.in_flight
        );
    }

    /// A run whose connections are cut ten times.
    fn check_cut_links(&self) {
        let relay = Relay::to(self.port);
        let (from, to) = (format!(":{}/", self.port), format!(":{}/", relay.port));
        let before = self.rows();
        let child = self.start("--duration 6s", &self.url.replace(&from, &to));
        for _ in 0..10 {
            relay.cut();
            std::thread::sleep(Duration::from_millis(200));
        }
        let run = self.end(child);
        let rows = self.rows() - before;
        assert_balanced(&run, rows);
        assert!(run.measured.kinds[0].failed > 0, "nothing was cut");
    }

    /// Checks every way in which a run can end.
    fn check_every_ending(&self, crash: impl FnOnce()) {
        let (run, rows) = self.run("--duration 3s --warmup 1s --grace 1m", |_| ());
        assert_eq!(reported_commits(&run), (rows, 0), "{:?}", run.measured);
        assert!(
            of_in_flight(&run, |of| of.committed) > 0,
            "none was in flight"
        );

        self.check_cut_off();

        for warmup in ["0s", "5m"] {
            let more = format!("--duration 5m --warmup {warmup}");
            let (run, rows) = self.run(&more, |child| signal(child, "-INT"));
            assert_balanced(&run, rows);
        }

        self.check_cut_links();

        let (run, rows) = self.run("--duration 12s", |_| crash());
        assert_balanced(&run, rows);
        assert!(run.measured.kinds[0].failed > 0, "nothing was killed");
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

fn parts(run: &Run) -> impl Iterator<Item = &Figures> {
    run.warmup.iter().chain([&run.measured])
}

fn of_in_flight(run: &Run, of: impl Fn(&prony_store::InFlight) -> u64) -> u64 {
    parts(run)
        .filter_map(|part| part.in_flight.as_ref())
        .map(of)
        .sum()
}

/// Committed and possibly committed transactions, by the document.
fn reported_commits(run: &Run) -> (u64, u64) {
    for part in parts(run) {
        let outcomes = part.in_flight.as_ref().expect("it is known");
        let all = outcomes.committed
            + outcomes.rolled_back
            + outcomes.failed
            + outcomes.ambiguous
            + outcomes.cut_off;
        assert_eq!(all, part.unfinished, "{outcomes:?}");
    }
    let committed: u64 = parts(run).map(|part| part.kinds[0].committed).sum();
    let errors = parts(run).flat_map(|part| &part.errors);
    let ambiguous = errors.filter(|error| error.class == prony_store::ErrorClass::AmbiguousCommit);
    let ambiguous: u64 = ambiguous.map(|error| error.count).sum();
    (
        committed + of_in_flight(run, |of| of.committed),
        ambiguous + of_in_flight(run, |of| of.ambiguous),
    )
}

fn assert_balanced(run: &Run, rows: u64) {
    let (committed, ambiguous) = reported_commits(run);
    assert!(committed > 0, "nothing to count");
    let most = committed + ambiguous;
    assert!(
        (committed..=most).contains(&rows),
        "{committed} committed, {ambiguous} ambiguous, {rows} rows: {:?} {:?}",
        run.measured.in_flight,
        run.measured.errors
    );
}

#[test]
fn commits_balance_on_postgres() {
    let installation = find().expect("PostgreSQL's programs");
    let server =
        EmbeddedPostgres::start(&installation, &EmbeddedOptions::default()).expect("it starts");
    let bench = Bench::on(&server, "account");
    ok(&bench.prony("load tpcb --scale 4"));
    let mut server_under_test = TestServer {
        url: bench.url.clone(),
        password: bench.password.clone(),
        port: server.port(),
        home: bench.home.clone(),
        own_url: bench.socket_url.clone(),
        workload: "tpcb".to_owned(),
        rows: "select count(*) from pgbench_history",
        others: "select count(*) from pg_stat_activity where backend_type = 'client backend' \
                 and pid <> pg_backend_pid()",
    };
    server_under_test.check_every_ending(|| {
        server.kill();
        server.restart().expect("it starts again");
    });

    // Commits are sent as text.
    server_under_test.workload = "script -b tpcb-like --protocol simple".to_owned();
    server_under_test.check_cut_links();
    server_under_test.check_cut_off();

    // Writes commit by themselves, long before the transaction ends.
    let script = bench.home.join("no-block.sql");
    let text = "INSERT INTO pgbench_history (tid, bid, aid, delta) VALUES (1, 1, 1, 1);\n\
                SELECT pg_sleep(0.05);\n";
    std::fs::write(&script, text).expect("a file");
    server_under_test.workload = format!("script -f {} --protocol prepared", script.display());
    server_under_test.check_cut_links();
    server_under_test.check_cut_off();
}

#[test]
fn commits_balance_on_mariadb() {
    let server = MariaDb::start(MariaDbOptions::default()).expect("it starts");
    control(&server.url())
        .execute("create database account")
        .expect("a database");
    let (password, port) = (server.password().reveal().to_owned(), server.port());
    let home = std::env::temp_dir().join(format!("prony-my-account-{}", std::process::id()));
    std::fs::create_dir_all(&home).expect("a folder");
    let url = format!("mysql://prony:{password}@127.0.0.1:{port}/account");
    let server_under_test = TestServer {
        own_url: url.clone(),
        url,
        password,
        port,
        home,
        workload: "oltp_insert".to_owned(),
        rows: "select count(*) from sbtest1",
        others: "select count(*) from information_schema.processlist \
                 where command <> 'Daemon' and user <> 'system user' and id <> connection_id()",
    };
    let load = program(
        "load oltp_insert --scale 1 -o table_size=1000",
        &server_under_test.home,
    )
    .args(["--url", &server_under_test.url])
    .output();
    ok(&load.expect("it starts"));
    server_under_test.check_every_ending(|| {
        server.kill();
        server.restart().expect("it starts again");
    });
}
