//! A load that is spread over several servers, one of which is killed.

use crate::common::*;
use crate::lost_commits::start_standby;
use prony_store::{EndpointFigures, Spread};

/// Three loaded servers, and a conninfo string with the unix sockets of all.
fn three_servers(name: &str) -> (Vec<EmbeddedPostgres>, Vec<TestBench>, String) {
    let options = EmbeddedOptions {
        shared_buffers_mib: 32,
        ..EmbeddedOptions::default()
    };
    let start = |_| own_postgres_with(&options);
    let servers: Vec<EmbeddedPostgres> = (0..3).map(start).collect();
    let benches: Vec<TestBench> = servers
        .iter()
        .map(|server| TestBench::on(server, name))
        .collect();
    for bench in &benches {
        bench.ok("load tpcb --scale 1");
    }
    let list = |text: fn(&EmbeddedPostgres) -> String| {
        servers.iter().map(text).collect::<Vec<_>>().join(",")
    };
    let hosts = list(|server| server.socket_dir().display().to_string());
    let ports = list(|server| server.port().to_string());
    let conninfo = format!("host={hosts} port={ports} user=postgres dbname={name}");
    (servers, benches, conninfo)
}

fn connections(endpoints: &[EndpointFigures], count: fn(&EndpointFigures) -> u32) -> Vec<u32> {
    endpoints.iter().map(count).collect()
}

#[test]
fn connections_are_spread_and_go_on_at_other_servers_when_one_is_killed() {
    let (servers, benches, conninfo) = three_servers("spread_over");
    let bench = &benches[0];
    let run = |arguments: &str| -> Run {
        let arguments = format!("run tpcb --duration 2s --json {arguments}");
        parse_run(&bench.prony_with(&arguments, &["--url", &conninfo]))
    };
    let first = run("--clients 7");
    assert_eq!(first.drive.spread, Some(Spread::First));
    assert_eq!(
        connections(&first.endpoints, |at| at.connections_at_start),
        [7, 0, 0]
    );

    let spread = run("--clients 7 --spread round-robin");
    let endpoints = &spread.endpoints;
    assert_eq!(
        connections(endpoints, |at| at.connections_at_start),
        [3, 2, 2]
    );
    assert_eq!(
        connections(endpoints, |at| at.connections_at_end),
        [3, 2, 2]
    );
    let all = total_figures(&spread.measured);
    let committed: u64 = endpoints.iter().map(|at| at.response.samples).sum();
    assert_eq!(committed, all.committed, "{endpoints:?}");
    for endpoint in endpoints {
        assert!(endpoint.tps > 0.0 && endpoint.failed == 0, "{endpoint:?}");
        let [before, after] = [&endpoint.before, &endpoint.after].map(|state| {
            let state = state.as_ref().expect("it was observed");
            state.commits.expect("its counter")
        });
        assert!(
            after >= before + endpoint.response.samples / 2,
            "{endpoint:?}"
        );
        assert!(!endpoint.version.is_empty());
    }
    // Each counts only its own commits.
    let checks = spread.checks.iter();
    let ids: Vec<&str> = checks.map(|check| check.id.as_str()).collect();
    assert!(!ids.contains(&"server-commits"), "{:?}", spread.checks);
    let shown = bench.ok_without_server("show last --full");
    shown.assert_contains("by the rule round-robin");

    let random = run("--spread random --clients 6");
    let at_start: u32 = random
        .endpoints
        .iter()
        .map(|at| at.connections_at_start)
        .sum();
    assert_eq!(at_start, 6);

    // A setting of the whole server is that of each server that the clients use, and put back on each.
    let mut command = bench.command("run tpcb --clients 3 --transactions 20 --spread round-robin");
    let set = command.args(["--setting", "full_page_writes=off", "--url", &conninfo]);
    let set = stderr_text(&set.output().expect("it starts"));
    for server in &servers {
        let name = format!("unix:{}", server.socket_dir().display());
        for text in [
            format!("full_page_writes of {name}"),
            format!("put back on {name}"),
        ] {
            assert!(set.contains(&text), "{text}: {set}");
        }
        let left = "select count(*) from pg_file_settings where sourcefile like '%auto.conf'";
        assert_eq!(query_number(&mut connect(&server.url()), left), 0);
    }

    let arguments =
        "run tpcb --clients 7 --duration 6s --expect-outage --spread round-robin --progress 1s";
    let mut command = bench.command(arguments);
    command.args(["--url", &conninfo]);
    let (child, _) = start_run(command);
    wait_until(&bench.home, |run| {
        run.series.iter().any(|second| second.committed > 0)
    });
    servers[1].kill();
    let output = child.wait_with_output().expect("it ends");
    ok_stdout(&output);
    let killed: Run = parse_run(&bench.prony_without_server("show last --json"));
    let endpoints = &killed.endpoints;
    assert_eq!(
        connections(endpoints, |at| at.connections_at_start),
        [3, 2, 2]
    );
    assert_eq!(endpoints[1].lost, 2, "{endpoints:?}");
    assert_eq!(endpoints[1].connections_at_end, 0);
    // The next server in the list takes them.
    assert_eq!((endpoints[0].arrived, endpoints[2].arrived), (0, 2));
    assert_eq!(
        connections(endpoints, |at| at.connections_at_end),
        [3, 0, 4]
    );
    let reason = endpoints[1].not_observed.as_ref().expect("it is dead");
    reason.assert_starts_with("after the load: ");
    let check = killed.check("endpoints");
    let check = check.expect("it is named");
    check.finding.assert_contains("2 connections went on");
    // Each second has its share, and each server beside the first was read in each second.
    let lost = &endpoints[1].seconds;
    assert!(lost.iter().any(|second| second.committed > 0));
    assert_eq!(lost.last().map(|second| second.connections), Some(0));
    let most = |at: &EndpointFigures| at.seconds.iter().map(|second| second.connections).max();
    let most: Vec<_> = endpoints.iter().map(most).collect();
    assert_eq!(most, [3, 2, 4].map(Some));
    let others = [&endpoints[1], &endpoints[2]];
    for endpoint in others {
        let series = endpoint.series.iter();
        let read = series.filter(|row| row.is_replica == Some(false));
        let commits: u64 = read.filter_map(|row| row.commits).sum();
        assert!(commits > 0, "{endpoint:?}");
        let series = endpoint.series.iter();
        let machine = series.filter_map(|row| row.machine.as_ref());
        let cpu_s: f64 = machine.filter_map(|machine| machine.server_cpu_s).sum();
        assert!(cpu_s > 0.0, "{endpoint:?}");
    }
}

#[test]
fn connections_return_to_a_server_that_answers_again() {
    let (servers, benches, conninfo) = three_servers("spread_back");
    let bench = &benches[0];
    let mut command = bench.command(
        "run tpcb --clients 7 --duration 600s --expect-outage --spread round-robin --progress 1s",
    );
    command.args(["--url", &conninfo]);
    let (child, _) = start_run(command);
    wait_until(&bench.home, |run| {
        run.series.iter().any(|second| second.committed > 0)
    });
    servers[1].kill();
    let sessions = |server: &EmbeddedPostgres, wanted: u64| {
        let started = Instant::now();
        let mut control = connect(&server.url());
        let of_clients = "select count(*) from pg_stat_activity where datname = 'spread_back' and query ~ \
                          '^(BEGIN|END|UPDATE pgbench|SELECT abalance|INSERT INTO pgbench)'";
        loop {
            let count = query_number(&mut control, of_clients);
            if count >= wanted {
                return;
            }
            assert!(
                started.elapsed() < WAIT_TIMEOUT,
                "{count} of {wanted} sessions"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    sessions(&servers[2], 4);
    servers[1].restart().expect("it starts again");
    sessions(&servers[1], 2);
    send_signal(&child, "-INT");
    child.wait_with_output().expect("it ends");
    let back: Run = parse_run(&bench.prony_without_server("show last --json"));
    assert_eq!(back.endpoints[1].returned, 2, "{:?}", back.endpoints);
    assert_eq!(
        connections(&back.endpoints, |at| at.connections_at_end),
        [3, 2, 2]
    );
    let check = back.checks.iter().find(|check| check.id == "endpoints");
    let finding = &check.expect("it is named").finding;
    finding.assert_contains("2 connections came back");
}

#[test]
fn a_standby_takes_a_share_of_the_reads_and_only_of_them() {
    let primary = own_postgres();
    let bench = TestBench::on(&primary, "reads");
    bench.ok("load tpcc --scale 1");
    bench.ok("load tpcb --scale 1");
    let standby = start_standby(&primary);
    // The URL of the standby has the password too, which no output may contain.
    let at_primary = format!(":{}/", primary.port());
    let read_from = bench
        .url
        .replace(&at_primary, &format!(":{}/", standby.port()));
    let run = |arguments: &str| {
        let urls = ["--url", &bench.url, "--read-from", &read_from];
        bench.prony_with(&format!("run {arguments} --clients 3"), &urls)
    };
    for mode in ["procedures", "statements"] {
        let mixed = parse_run(&run(&format!(
            "tpcc -o mode={mode} --transactions 60 --json"
        )));
        let [main, reads] = &mixed.endpoints[..] else {
            panic!("two servers: {:?}", mixed.endpoints);
        };
        assert_eq!([main.only_reads, reads.only_reads], [false, true]);
        assert_eq!(
            (main.connections_at_start, reads.connections_at_start),
            (3, 3)
        );
        let state = reads.before.as_ref().expect("it was observed");
        assert_eq!(state.is_replica, Some(true));
        // Nothing that writes went to the standby, which would have refused it.
        let figures = total_figures(&mixed.measured);
        assert_eq!(
            (figures.failed, main.failed, reads.failed),
            (0, 0, 0),
            "{mode}"
        );
        let of_kinds = |names: [&str; 2]| -> u64 {
            let kinds = mixed.measured.kinds.iter();
            let wanted = kinds.filter(|kind| {
                kind.kind
                    .as_deref()
                    .is_some_and(|kind| names.contains(&kind))
            });
            wanted.map(|kind| kind.committed).sum()
        };
        let read = of_kinds(["order-status", "stock-level"]);
        assert!(read > 0, "{mode}");
        assert_eq!(reads.response.samples, read, "{mode}");
        assert_eq!(main.response.samples, figures.committed - read, "{mode}");
        assert_eq!(mixed.drive.read_share_percent, Some(100));
        let ids: Vec<&str> = mixed.checks.iter().map(|check| check.id.as_str()).collect();
        assert!(
            !ids.contains(&"server-commits") && !ids.contains(&"growth"),
            "{ids:?}"
        );
    }
    let shown = bench.ok_without_server("show last --full");
    let shown = shown.unwrapped();
    shown.assert_contains(", reads");
    shown.assert_contains("100 % of the read-only");

    // A share, with transactions that open their own connections.
    let share = "select-only --transactions 200 --read-share 25 --json";
    for options in ["", "--connect-per-transaction", "--protocol simple"] {
        let shared = parse_run(&run(&format!("{share} {options}")));
        let endpoints = shared.endpoints.iter();
        let samples = endpoints.map(|endpoint| endpoint.response.samples);
        assert_eq!(samples.collect::<Vec<_>>(), [450, 150], "{options}");
    }
    // Two agents send the same transactions there as one machine.
    let mut command = bench.command(&format!("run {share} --clients 3 --threads 2"));
    command.args(["--url", &bench.url, "--read-from", &read_from]);
    command.args(["--agent", "env A=1", "--agent", "env A=2"]);
    let by_agents = parse_run(&bench.execute(&mut command));
    let endpoints = by_agents.endpoints.iter();
    let samples = endpoints.map(|endpoint| endpoint.response.samples);
    assert_eq!(samples.collect::<Vec<_>>(), [450, 150]);

    let refused = run("tpcb --duration 1s");
    assert_eq!(refused.status.code(), Some(2));
    let text = stderr_text(&refused);
    text.assert_contains("no transaction of tpcb is known to only read");
    let hint = "use a workload that reads, such as tpcc, select-only";
    text.unwrapped().assert_contains(hint);

    // The user says which of their own transactions read.
    let own = "[workload]\nname = \"sql\"\n\
        [[workload.transactions]]\nname = \"pay\"\nsql = \"UPDATE pgbench_branches SET bbalance = 1\"\n\
        [[workload.transactions]]\nname = \"look\"\nreads = true\nsql = \"SELECT count(*) FROM pgbench_tellers\"\n";
    let plan = bench.home.write("own.toml", own);
    let own = parse_run(&run(&format!(
        "{} --transactions 100 --json",
        plan.display()
    )));
    let kind = |name: &str| {
        let mut kinds = own.measured.kinds.iter();
        let kind = kinds.find(|kind| kind.kind.as_deref() == Some(name));
        kind.expect("it ran").committed
    };
    let endpoints = own.endpoints.iter();
    let samples = endpoints.map(|endpoint| endpoint.response.samples);
    assert_eq!(samples.collect::<Vec<_>>(), [kind("pay"), kind("look")]);
}

#[test]
fn a_list_of_mysql_hosts_is_spread_as_one_of_postgresql() {
    let start = || {
        let statements = [
            "CREATE DATABASE IF NOT EXISTS spread;",
            "CREATE USER IF NOT EXISTS ann@'%' IDENTIFIED BY 'sesame';",
            "GRANT ALL ON *.* TO ann@'%';",
        ];
        let options = MariaDbOptions {
            statements: statements.map(str::to_owned).into(),
            ..MariaDbOptions::default()
        };
        MariaDb::start(options).expect("a server")
    };
    let servers = [start(), start()];
    let home = TestFolder::create();
    let prony = |arguments: &str, hosts: &str| {
        let url = format!("mysql://ann:sesame@{hosts}/spread");
        let mut command = prony_command(arguments, &home);
        let output = command.args(["--url", &url]).output().expect("it starts");
        assert_hidden("sesame", &output, &home);
        output
    };
    let hosts = servers
        .each_ref()
        .map(|server| format!("127.0.0.1:{}", server.port()));
    for host in &hosts {
        ok_stdout(&prony("load oltp_read_only --option table_size=500", host));
    }
    let list = hosts.join(",");
    let arguments = "run oltp_read_only --clients 5 --duration 2s --json";
    for (spread, expected) in [("first", [5, 0]), ("round-robin", [3, 2])] {
        let run = parse_run(&prony(&format!("{arguments} --spread {spread}"), &list));
        let at_start = connections(&run.endpoints, |at| at.connections_at_start);
        assert_eq!(at_start, expected, "{spread}");
        // Servers for the case that the first does not answer are left alone.
        let is_observed = |at: &EndpointFigures| at.version.contains("MariaDB");
        let observed = run.endpoints.iter().filter(|at| is_observed(at)).count();
        assert_eq!(observed, if spread == "first" { 0 } else { 2 });
    }
}
