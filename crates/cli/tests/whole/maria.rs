//! The whole way over a `mysql://` URL with a password in it: load, run, check, clean.

use crate::common::{control, document, hidden, ok, said, signal, under_way, until};
use prony_server::embedded::shared_mariadb;
use prony_store::{Run, ServerSecond};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A database and a store of a test's own.
pub struct Bench {
    url: String,
    password: String,
    home: PathBuf,
}

impl Bench {
    pub fn new(name: &str) -> Bench {
        let server = shared_mariadb();
        let sql = format!("create database {name}");
        control(&server.url()).execute(&sql).expect("a database");
        let home = std::env::temp_dir().join(format!("prony-my-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&home).expect("a folder");
        let password = server.password().reveal().to_owned();
        let port = server.port();
        Bench {
            url: format!("mysql://prony:{password}@127.0.0.1:{port}/{name}"),
            password,
            home,
        }
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command
            .args(words.split_whitespace())
            .env("PRONY_HOME", &self.home)
            .env("HOME", &self.home)
            .env_remove("MYSQL_PWD")
            .env_remove("MYSQL_HOST")
            .stdin(Stdio::null());
        command
    }

    /// The program without a server's environment, its output looked through for the password.
    pub fn local(&self, words: &str, more: &[&str]) -> Output {
        let output = self.command(words).args(more).output().expect("it starts");
        hidden(&self.password, &output, &self.home);
        output
    }

    pub fn prony(&self, words: &str) -> Output {
        self.local(words, &["--url", &self.url])
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

#[test]
fn mariadb_is_loaded_run_checked_and_cleaned() {
    let bench = Bench::new("whole");
    let loaded = ok(&bench.prony("load oltp_read_write --scale 2 -o table_size=3000 --jobs 2"));
    assert!(
        loaded.contains("Loaded oltp_read_write, scale 2: 6,000 rows"),
        "{loaded}"
    );
    for protocol in ["simple", "prepared"] {
        let words = format!(
            "run oltp_read_write --clients 4 --transactions 25 --protocol {protocol} --json"
        );
        let run: Run = document(&bench.prony(&words));
        assert_eq!(run.measured.kinds[0].committed, 100, "{protocol}");
        assert_eq!(run.measured.kinds[0].failed, 0, "{protocol}");
        assert_eq!(run.server.engine, "mariadb");
        assert!(run.server.version.contains("MariaDB"), "{:?}", run.server);
        for name in [
            "sync_binlog",
            "innodb_flush_log_at_trx_commit",
            "innodb_doublewrite",
            "log_bin",
            "innodb_buffer_pool_size",
        ] {
            assert!(run.server.settings.contains_key(name), "{name}");
        }
        let reads = run.shares.iter().find(|share| share.name == "reads");
        assert_eq!(reads.expect("counted").part, 1_400);
        assert!(
            run.workload.statements.iter().all(|sql| !sql.contains('$')),
            "{:?}",
            run.workload.statements
        );
    }
    let shown = ok(&bench.local("show last", &[]));
    assert!(
        shown.contains("oltp_read_write, scale 2, on MariaDB "),
        "{shown}"
    );
    assert!(
        shown.contains("innodb_flush_log_at_trx_commit 1"),
        "{shown}"
    );
    ok(&bench.prony("check oltp_read_write"));
    let cleaned = ok(&bench.prony("clean oltp_read_write"));
    assert_eq!(cleaned, "Dropped sbtest1, sbtest2.\n");

    let plan = bench.home.join("plan.toml");
    let text = format!(
        "[server]\nurl = \"{}\"\n[workload]\nname = \"hot-row\"\n[run]\nclients = 4\n\
         transactions = 5\n",
        bench.url.replace(&format!(":{}@", bench.password), "@")
    );
    std::fs::write(&plan, text).expect("a plan");
    // A plan's URL has no password; the one given beside it has.
    ok(&bench.prony("load hot-row"));
    let run = bench.prony(&format!("run {} --json", plan.display()));
    assert_eq!(document(&run).measured.kinds[0].committed, 20);
}

#[test]
fn a_run_on_mariadb_has_its_server_beside_it() {
    let bench = Bench::new("watched");
    ok(&bench.prony("load oltp_read_write --scale 1 -o table_size=2000"));
    let words = "run oltp_read_write --clients 4 --duration 3s --json";
    let run: Run = document(&bench.prony(words));
    let seen = run.observed.as_ref().expect("it was looked at");
    assert_eq!(seen.missing, []);
    let (before, after) = (seen.before.as_ref(), seen.after.as_ref());
    let (before, after) = (before.expect("before"), after.expect("after"));
    assert!(after.commits.unwrap() - before.commits.unwrap() >= run.measured.kinds[0].committed);
    assert!(run.checks.iter().all(|check| check.id != "server-commits"));
    assert!(before.durability.is_some() && before.cache_bytes > Some(1 << 20));
    assert!(before.tables.iter().any(|table| table.name == "sbtest1"));
    assert_eq!(
        seen.machine.shared,
        Some(true),
        "{}",
        seen.machine.shared_because
    );
    assert!(seen.cost.as_ref().expect("its cost").server_cpu_s.is_some());

    // Its rows, of a run that goes on until there are enough.
    let mut command = bench.command("run oltp_read_write --clients 4 --duration 5m");
    command.args(["--url", &bench.url]);
    let (child, _) = under_way(command);
    let is_full = |row: &ServerSecond| row.log_bytes > Some(0) && row.connections >= Some(4);
    until(&bench.home, |run| {
        let rows = run.observed.as_ref().map_or(&[][..], |seen| &seen.series);
        rows.len() >= 2 && rows.iter().any(is_full)
    });
    signal(&child, "-INT");
    let output = child.wait_with_output().expect("it ends");
    hidden(&bench.password, &output, &bench.home);
    let run: Run = document(&bench.local("show last --json", &[]));
    for row in &run.observed.as_ref().expect("it was looked at").series {
        assert!(row.commits.is_some() && row.cache_hits.is_some(), "{row:?}");
        assert!(row.checkpoint_age_bytes.is_some() && row.history_length.is_some());
        let machine = row.machine.as_ref().expect("its machine");
        assert!(machine.server_cpu_s.is_some());
    }
}

#[test]
fn order_entry_on_mariadb_is_loaded_run_checked_and_cleaned() {
    let bench = Bench::new("orders");
    let loaded = ok(&bench.prony("load tpcc --scale 1 --jobs 1"));
    assert!(loaded.contains("Loaded tpcc, scale 1: 5"), "{loaded}");
    assert!(loaded.contains("a transaction a warehouse"), "{loaded}");
    for mode in ["procedures", "statements", "pipelined"] {
        let words = format!("run tpcc --mode {mode} --clients 2 -T 5s --json");
        // Each of the users' transactions ends by one COMMIT or ROLLBACK, and nobody else is here
        // but the tests beside this one. The server is read near the ends of the window: on a machine
        // that stands still for seconds less may be under way there.
        let mut others = Vec::new();
        let run = loop {
            let run: Run = document(&bench.prony(&words));
            let names: Vec<&str> = run.rates.iter().map(|rate| rate.name.as_str()).collect();
            assert_eq!(names, ["NOPM", "TPM"], "{mode}");
            let own = run.measured.kinds[0].committed as f64 / run.window.measured_s * 60.0;
            if run.rates[1].value > 0.5 * own {
                break run;
            }
            others.push((run.rates, own));
            assert!(others.len() < 5, "{mode}: {others:?}");
        };
        assert_eq!(run.server.engine, "mariadb", "{mode}");
        // The first kind is all of them.
        let committed = run.measured.kinds[0].committed;
        assert!(committed > 0, "{mode}: {committed}");
        assert!(
            run.workload.settings.contains(&format!("mode {mode}")),
            "{mode}"
        );
    }
    let checked = ok(&bench.prony("check tpcc"));
    assert!(checked.contains("condition-12"), "{checked}");
    let cleaned = ok(&bench.prony("clean tpcc"));
    assert!(cleaned.contains("order_line"), "{cleaned}");
}

#[test]
fn what_mariadb_refuses_is_said() {
    let bench = Bench::new("refused");
    for words in ["load tpcb", "run tpcb", "check select-only", "clean tpcb"] {
        let output = bench.prony(words);
        assert_eq!(output.status.code(), Some(2), "{words}: {}", said(&output));
        let said = said(&output);
        assert!(
            said.contains("this workload runs on PostgreSQL alone, and the server is MariaDB"),
            "{words}: {said}"
        );
    }
    let wrong = "gehe1m-aus-Paris";
    let url = bench.url.replace(&bench.password, wrong);
    let output = bench.local("run oltp_insert", &["--url", &url]);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(said(&output).contains("Access denied"), "{}", said(&output));
    hidden(wrong, &output, &bench.home);
}
