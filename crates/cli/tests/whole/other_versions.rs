//! All commands on different server versions. `PRONY_TEST_MYSQL` and `PRONY_TEST_POSTGRES` contain URLs,
//! separated by spaces, of accounts that may create databases and need no password; `scripts/servers` prints
//! the URLs of the servers it starts. If a variable is unset, its test is skipped and prints that.

use crate::common::*;
use prony_store::Product;

/// Runs a workload and asserts the number of transactions.
fn run_counted(bench: &TestBench, arguments: &str, transactions: u64) -> Run {
    let run = bench.run(&format!("run {arguments}"));
    // The first entry is all kinds together.
    let totals = total_figures(&run.measured);
    let ended = totals.committed + totals.rolled_back + totals.failed;
    assert_eq!(ended, transactions, "{arguments} on {}", bench.url);
    let observed = run.observed.as_ref().expect("an observation");
    assert!(
        observed.before.is_some() && observed.after.is_some(),
        "{arguments}"
    );
    run
}

fn server_urls(variable: &str) -> Vec<String> {
    let urls = std::env::var(variable).unwrap_or_default();
    if urls.trim().is_empty() {
        eprintln!("skipped: {variable} names no server");
    }
    let urls: Vec<_> = urls.split_whitespace().map(str::to_owned).collect();
    // A password would be visible in the arguments of the processes started here.
    let has_password = |url: &String| {
        let user = url
            .split_once("://")
            .and_then(|(_, address)| address.split_once('@'));
        user.is_some_and(|(user, _)| user.contains(':'))
    };
    assert!(
        !urls.iter().any(has_password),
        "{variable}: a URL with a password"
    );
    urls
}

/// Tests the servers in an environment variable, a few beside each other because a test mostly waits for its server.
fn on_each_server(variable: &str, test: impl Fn(usize, &str) + Sync) {
    const AT_ONCE: usize = 3;
    let urls: Vec<_> = server_urls(variable).into_iter().enumerate().collect();
    for urls in urls.chunks(AT_ONCE) {
        std::thread::scope(|scope| {
            for (index, server) in urls {
                scope.spawn(|| test(*index, server));
            }
        });
    }
}

/// Loads, runs, checks and cleans an OLTP workload.
fn run_oltp(bench: &TestBench, engine: &str, protocols: &[&str]) {
    bench.ok("load oltp_read_write --scale 2 -o table_size=1000 --jobs 2");
    for protocol in protocols {
        let arguments =
            format!("oltp_read_write --clients 4 --transactions 25 --protocol {protocol}");
        let run = run_counted(bench, &arguments, 100);
        let actual = run.server.product.map(|product| product.id);
        assert_eq!(actual, Some(engine), "{}", bench.url);
        let reads = run.shares.iter().find(|share| share.name == "reads");
        assert!(reads.expect("counted").count >= 1_400, "{protocol}");
    }
    bench.ok("check oltp_read_write");
    bench.ok("clean oltp_read_write");
}

/// A setting of the server and one that it reads when it starts, both put back: the user's command restarts nothing, and the
/// run does not begin.
fn set_and_put_back(root: &mut Control, bench: &TestBench) {
    bench.ok("load oltp_read_write -o table_size=100");
    let run = "oltp_read_write --clients 1 --transactions 5";
    let sql = "select @@global.innodb_flush_log_at_trx_commit, @@global.sort_buffer_size, @@performance_schema";
    let before = root.query(sql).unwrap();
    let settings = "--setting innodb_flush_log_at_trx_commit=2 --setting sort_buffer_size=3M";
    let found = run_counted(bench, &format!("{run} {settings}"), 5)
        .server
        .settings;
    let value = |name: &str| serde_json::to_value(&found[name]).unwrap();
    assert_eq!(
        value("innodb_flush_log_at_trx_commit"),
        "2",
        "{}",
        bench.url
    );
    assert_eq!(value("sort_buffer_size"), "3145728", "{}", bench.url);
    assert_eq!(root.query(sql).unwrap(), before, "{}", bench.url);
    let is_on = before[0][2].as_deref() == Some("1");
    let other = if is_on { "OFF" } else { "ON" };
    let text = format!(
        "[workload]\nname = \"oltp_read_write\"\n[run]\ntransactions = 5\n[experiment]\nrepeats = 2\n\
         restart = \"true\"\n[server.settings]\nperformance_schema = \"{other}\"\n"
    );
    let plan = bench.home.write("restart.toml", text);
    let output = bench.prony(&format!("run {}", plan.display()));
    let messages = String::from_utf8_lossy(&output.stderr);
    let persists = root.product() == Product::MYSQL && root.server_version() >= 80_000;
    if !persists {
        messages.assert_contains("the command of `between`");
    } else {
        messages.assert_contains("put back on the server");
        let sql = "select count(*) from performance_schema.persisted_variables";
        assert_eq!(
            root.query_value(sql).unwrap().as_deref(),
            Some("0"),
            "{messages}"
        );
    }
    assert!(!output.status.success(), "{messages}");
    bench.ok("clean oltp_read_write");
}

/// Runs tpcc on a server that requires or generates primary keys, if its version can; history has an invisible one.
fn run_tpcc_with_keys(root: &mut Control, bench: &TestBench, engine: &str) {
    let (settings, key) = match (engine, root.server_version()) {
        ("mysql", 90_000..) => (
            "sql_generate_invisible_primary_key = 1, global show_gipk_in_create_table_and_information_schema",
            Some("invisible"),
        ),
        ("mysql", 80_023..) => ("sql_require_primary_key", Some("invisible")),
        ("mysql", _) => {
            let refused = bench.prony("load tpcc --scale 1 -o history_key=always");
            let stderr = String::from_utf8_lossy(&refused.stderr).into_owned();
            stderr.assert_contains("from 8.0.23 on");
            return run_tpcc(bench, None);
        }
        _ => return run_tpcc(bench, None),
    };
    let value = u8::from(!settings.contains("show"));
    let before = format!("set global {settings} = {value}");
    root.execute(&before).expect(&before);
    run_tpcc(bench, key);
    let after = before.replace("= 1", "= 0");
    root.execute(&after).expect(&after);
}

fn run_tpcc(bench: &TestBench, history_key: Option<&str>) {
    bench.ok("load tpcc --scale 1");
    for mode in ["procedures", "statements", "pipelined"] {
        let arguments = format!("tpcc --mode {mode} --clients 2 --transactions 20");
        let run = run_counted(bench, &arguments, 40);
        assert_eq!(run.workload.setting("history_key"), history_key);
    }
    bench.ok("check tpcc");
    bench.ok("clean tpcc");
}

fn run_ycsb(bench: &TestBench) {
    bench.ok("load ycsb --scale 2 --jobs 2");
    for letter in ["a", "b", "c", "d", "e", "f"] {
        for protocol in ["simple", "prepared"] {
            let arguments = format!(
                "ycsb -o workload={letter} --clients 2 --transactions 20 --protocol {protocol}"
            );
            let run = run_counted(bench, &arguments, 40);
            let share = run.shares.last().expect("a share");
            assert_eq!(share.count, share.total, "{arguments}");
        }
    }
    bench.ok("check ycsb");
    bench.ok("clean ycsb");
}

#[test]
fn other_versions_of_mysql_and_mariadb() {
    on_each_server("PRONY_TEST_MYSQL", |index, server| {
        let name = format!("prony_other_mysql_{index}_{}", std::process::id());
        let mut root = connect(server);
        let version = root.parameter("server_version").expect("a version");
        let version = version.to_owned();
        eprintln!("{version}");
        root.execute(&format!("create database {name}"))
            .expect("a database");
        let url = format!("{}/{name}", server.trim_end_matches('/'));
        let bench = TestBench::at(url);
        let engine = if version.contains("MariaDB") { "mariadb" } else { "mysql" };
        run_oltp(&bench, engine, &["simple", "prepared"]);
        set_and_put_back(&mut root, &bench);
        run_tpcc_with_keys(&mut root, &bench, engine);
        run_ycsb(&bench);
        run_sysbench(&bench, server, &name);
        run_beside_others(&mut root, &bench, &name);
        root.execute(&format!("drop database {name}"))
            .expect("it is dropped");
    });
}

/// Runs `prony sysbench` with sysbench's login options.
fn run_sysbench(bench: &TestBench, server: &str, database: &str) {
    let authority = server.trim_start_matches("mysql://").trim_end_matches('/');
    let (user, address) = authority.split_once('@').expect("an account in the URL");
    let (host, port) = address.split_once(':').expect("a port in the URL");
    let login = format!(
        "sysbench --mysql-user={user} --mysql-host={host} --mysql-port={port} \
         --mysql-db={database} --tables=2 --table-size=500 --threads=4"
    );
    let sysbench_stdout = |arguments: &str| {
        ok_stdout(
            &bench
                .command(&format!("{login} {arguments}"))
                .output()
                .unwrap(),
        )
    };
    let prepared = sysbench_stdout("oltp_read_write prepare");
    prepared.assert_contains("Creating a secondary index on 'sbtest2'");
    let output = sysbench_stdout("--events=50 --time=60 oltp_read_write run");
    output.assert_contains("transactions:                        50");
    let cleaned = sysbench_stdout("oltp_read_write cleanup");
    cleaned.assert_contains("Dropping table 'sbtest1'");
}

/// Clients of another database whose statements are so short that most readings find them idle.
fn run_beside_others(root: &mut Control, bench: &TestBench, name: &str) {
    let rival_name = format!("{name}_rival");
    let create = format!("create database {rival_name}");
    root.run(create);
    let rival_url = bench.url.replacen(name, &rival_name, 1);
    let rival = TestBench::at(rival_url);
    for bench in [bench, &rival] {
        bench.ok("load oltp_point_select --scale 1 -o table_size=1000");
    }
    let arguments = "run oltp_point_select --clients 4 --rate 400";
    let load = rival.start(&format!("{arguments} --duration 5m --warmup 0s"));
    let run = bench.run(&format!("{arguments} --duration 8s"));
    send_signal(&load, "-INT");
    load.wait_with_output().expect("it ends");
    let series = &run.observed.as_ref().expect("an observation").series;
    let groups = series.iter().flat_map(|row| &row.sessions);
    let of_rival = groups.filter(|group| group.database == rival_name);
    let busy: u32 = of_rival.map(|group| group.busy).sum();
    assert!(busy as usize > series.len(), "{busy} in {} s", series.len());
    let check = run.check("foreign-load");
    let check = check.unwrap_or_else(|| panic!("{}: {:?}", bench.url, run.observed));
    let expected = format!("database {rival_name}, user root");
    check.finding.assert_contains(&expected);
    root.execute(&format!("drop database {rival_name}"))
        .expect("it is dropped");
}

#[test]
fn clients_of_another_database_of_mariadb_are_named() {
    let server = shared_mariadb();
    let name = format!("prony_beside_{}", std::process::id());
    let mut root = connect(&server.url());
    root.execute(&format!("create database {name}"))
        .expect("a database");
    let bench = TestBench::at(server.url_for("root", &name));
    run_beside_others(&mut root, &bench, &name);
}

#[test]
fn other_versions_of_postgresql() {
    on_each_server("PRONY_TEST_POSTGRES", |index, server| {
        let name = format!("prony_other_postgres_{index}_{}", std::process::id());
        let mut root = connect(server);
        eprintln!("{}", root.parameter("server_version").expect("a version"));
        root.execute(&format!("create database {name}"))
            .expect("a database");
        let url = server.replacen("@/postgres?", &format!("@/{name}?"), 1);
        assert_ne!(
            url, server,
            "the URL must have the form postgresql://USER@/postgres?host=…"
        );
        let bench = TestBench::at(url);
        bench.ok("load tpcb --scale 2 --jobs 2");
        for protocol in ["simple", "extended", "prepared"] {
            let arguments = format!("tpcb --clients 4 --transactions 25 --protocol {protocol}");
            let server = run_counted(&bench, &arguments, 100).server;
            assert_eq!(server.product, Some(prony_store::Product::POSTGRESQL));
        }
        bench.ok("check tpcb");
        bench.ok("clean tpcb");
        run_oltp(&bench, "postgresql", &["simple", "prepared"]);
        run_tpcc(&bench, None);
        run_ycsb(&bench);
        // A connection of a run may take a moment to close.
        root.execute(&format!("drop database {name} with (force)"))
            .expect("it is dropped");
    });
}
