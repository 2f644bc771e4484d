//! Transactions that a run reports as committed are on the server, and no others except those reported as
//! ambiguous, however the run ends.

use crate::common::*;
use crate::relay::Relay;

/// A server with a workload whose transactions each insert one row.
struct TestServer {
    /// URL over TCP that contains the password.
    url: String,
    password: String,
    port: u16,
    home: PathBuf,
    /// URL of the connections that the test opens itself.
    admin_url: String,
    workload: String,
    row_count_sql: &'static str,
    session_count_sql: &'static str,
}

impl TestServer {
    /// Returns the number of rows of the table after all other sessions have ended: a server may still
    /// execute statements of a client that has disconnected.
    fn count_rows(&self) -> u64 {
        let started = Instant::now();
        loop {
            let mut session = connect(&self.admin_url);
            let mut number = |sql| {
                let value = session.query_value(sql).expect(sql).expect("not null");
                value.parse::<u64>().expect("a number")
            };
            if number(self.session_count_sql) == 0 {
                return number(self.row_count_sql);
            }
            assert!(
                started.elapsed() < WAIT_TIMEOUT,
                "another session does not end"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Starts a run with additional `options`.
    fn start(&self, options: &str, url: &str) -> Child {
        let arguments = format!("run {} --clients 8 --json {options}", self.workload);
        let mut command = prony_command(&arguments, &self.home);
        command.args(["--url", url]);
        start_run(command).0
    }

    /// Waits for the end of a run; returns its document.
    fn finish(&self, child: Child) -> Run {
        let output = child.wait_with_output().expect("it ends");
        assert_hidden(&self.password, &output, &self.home);
        if output.status.code() == Some(130) {
            return serde_json::from_slice(&output.stdout).expect("a document");
        }
        parse_run(&output)
    }

    /// Executes a run and calls `disturb` during it; returns the run and the number of rows it added.
    fn run(&self, options: &str, disturb: impl FnOnce(&Child)) -> (Run, u64) {
        let before = self.count_rows();
        let child = self.start(options, &self.url);
        disturb(&child);
        let run = self.finish(child);
        assert_growth_is_read(&run);
        (run, self.count_rows() - before)
    }

    /// Checks a run that does not wait for its last transactions.
    fn check_cut_off(&self) {
        let (run, rows) = self.run("--duration 3s --grace 0s", |_| ());
        assert_commits_match(&run, rows);
        let cut_off = sum_in_flight(&run, |outcomes| outcomes.ambiguous + outcomes.cut_off);
        assert!(
            cut_off > 0,
            "nothing was cut off: {:?}",
            run.measured.in_flight
        );
    }

    /// Checks a run during which all connections are cut ten times.
    fn check_cut_connections(&self) {
        let relay = Relay::to_port(self.port);
        let (from, to) = (format!(":{}/", self.port), format!(":{}/", relay.port));
        let before = self.count_rows();
        let child = self.start("--duration 6s", &self.url.replace(&from, &to));
        for _ in 0..10 {
            relay.close_connections();
            std::thread::sleep(Duration::from_millis(200));
        }
        let run = self.finish(child);
        assert_growth_is_read(&run);
        let rows = self.count_rows() - before;
        assert_commits_match(&run, rows);
        assert!(total_figures(&run.measured).failed > 0, "nothing was cut");
    }

    /// Checks the counts after each kind of end of a run; `crash` kills and restarts the server.
    fn check_every_ending(&self, crash: impl FnOnce()) {
        let (run, rows) = self.run("--duration 3s --warmup 1s --grace 1m", |_| ());
        assert_eq!(reported_commits(&run), (rows, 0), "{:?}", run.measured);
        assert!(
            sum_in_flight(&run, |outcomes| outcomes.committed) > 0,
            "no transaction in flight was committed"
        );

        self.check_cut_off();

        for warmup in ["0s", "5m"] {
            let options = format!("--duration 5m --warmup {warmup}");
            let (run, rows) = self.run(&options, |child| send_signal(child, "-INT"));
            assert_commits_match(&run, rows);
        }

        self.check_cut_connections();

        let (run, rows) = self.run("--duration 12s", |_| crash());
        assert_commits_match(&run, rows);
        assert!(
            total_figures(&run.measured).failed > 0,
            "nothing was killed"
        );
    }
}

/// The figures of the warm-up and of the window.
fn warmup_and_window(run: &Run) -> impl Iterator<Item = &Figures> {
    run.warmup.iter().chain([&run.measured])
}

/// Sums a count of the transactions in flight over the warm-up and the window.
fn sum_in_flight(run: &Run, count: impl Fn(&prony_store::InFlight) -> u64) -> u64 {
    warmup_and_window(run)
        .filter_map(|part| part.in_flight.as_ref())
        .map(count)
        .sum()
}

/// Returns the numbers of committed and of ambiguous transactions in the document.
fn reported_commits(run: &Run) -> (u64, u64) {
    for figures in warmup_and_window(run) {
        let outcomes = figures.in_flight.as_ref().expect("it is known");
        let in_flight = outcomes.committed
            + outcomes.rolled_back
            + outcomes.failed
            + outcomes.ambiguous
            + outcomes.cut_off;
        assert_eq!(in_flight, figures.unfinished, "{outcomes:?}");
    }
    let committed: u64 = warmup_and_window(run)
        .map(|figures| total_figures(figures).committed)
        .sum();
    let errors = warmup_and_window(run).flat_map(|figures| &figures.errors);
    let ambiguous = errors.filter(|error| error.class == prony_store::ErrorClass::AmbiguousCommit);
    let ambiguous: u64 = ambiguous.map(|error| error.count).sum();
    (
        committed + sum_in_flight(run, |outcomes| outcomes.committed),
        ambiguous + sum_in_flight(run, |outcomes| outcomes.ambiguous),
    )
}

/// Asserts that the run itself has found that no commit is missing and none is doubled; unless it was interrupted or
/// executes the user's own script.
fn assert_growth_is_read(run: &Run) {
    let [growth] = &run.growth[..] else {
        panic!("{:?}", run.growth);
    };
    if growth.kinds.is_empty() || run.ended_because.is_some() {
        assert!(growth.not_read.is_some(), "{growth:?}");
        return;
    }
    let rows = growth.after.expect("read") - growth.before.expect("read");
    let maximum = growth.committed + growth.ambiguous;
    assert!((growth.committed..=maximum).contains(&rows), "{growth:?}");
    let (committed, ambiguous) = reported_commits(run);
    assert_eq!(growth.committed, committed, "{growth:?}");
    assert!(growth.ambiguous >= ambiguous, "{growth:?}");
    let checks = &run.checks;
    assert!(
        !checks.iter().any(|check| check.id == "lost-commits"),
        "{checks:?}"
    );
}

/// Asserts that `rows` is between the committed and the possibly committed transactions.
fn assert_commits_match(run: &Run, rows: u64) {
    let (committed, ambiguous) = reported_commits(run);
    assert!(committed > 0, "nothing was committed");
    let max = committed + ambiguous;
    assert!(
        (committed..=max).contains(&rows),
        "{committed} committed, {ambiguous} ambiguous, {rows} rows: {:?} {:?}",
        run.measured.in_flight,
        run.measured.errors
    );
}

#[test]
fn reported_commits_match_rows_on_postgres() {
    let server = own_postgres();
    let bench = TestBench::loaded_on(&server, "account", 4);
    let mut server_under_test = TestServer {
        url: bench.url.clone(),
        password: bench.password.clone(),
        port: server.port(),
        home: bench.home.to_path_buf(),
        admin_url: bench.socket_url.clone(),
        workload: "tpcb".to_owned(),
        row_count_sql: "select count(*) from pgbench_history",
        session_count_sql: "select count(*) from pg_stat_activity where backend_type = 'client backend' \
                 and pid <> pg_backend_pid()",
    };
    server_under_test.check_every_ending(|| {
        server.kill();
        server.restart().expect("it starts again");
    });

    // In the simple protocol, commits are sent as text.
    server_under_test.workload = "script -b tpcb-like --protocol simple".to_owned();
    server_under_test.check_cut_connections();
    server_under_test.check_cut_off();

    // Writes outside a transaction block commit at once, long before Prony's transaction ends.
    let text = "INSERT INTO pgbench_history (tid, bid, aid, delta) VALUES (1, 1, 1, 1);\n\
                SELECT pg_sleep(0.05);\n";
    let script = bench.home.write("no-block.sql", text);
    server_under_test.workload = format!("script -f {} --protocol prepared", script.display());
    server_under_test.check_cut_connections();
    server_under_test.check_cut_off();
}

#[test]
fn reported_commits_match_rows_on_mariadb() {
    let server = own_mariadb(&[]);
    connect(&server.url()).run("create database account");
    let (password, port) = (server.password().reveal().to_owned(), server.port());
    let home = TestFolder::create();
    let url = format!("mysql://prony:{password}@127.0.0.1:{port}/account");
    let server_under_test = TestServer {
        admin_url: url.clone(),
        url,
        password,
        port,
        home: home.to_path_buf(),
        workload: "oltp_insert".to_owned(),
        row_count_sql: "select count(*) from sbtest1",
        session_count_sql: "select count(*) from information_schema.processlist \
                 where command <> 'Daemon' and user <> 'system user' and id <> connection_id()",
    };
    let load = prony_command(
        "load oltp_insert --scale 1 -o table_size=1000",
        &server_under_test.home,
    )
    .args(["--url", &server_under_test.url])
    .output();
    ok_stdout(&load.expect("it starts"));
    server_under_test.check_every_ending(|| {
        server.kill();
        server.restart().expect("it starts again");
    });
}
