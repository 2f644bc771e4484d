//! A load that is spread over several servers, one of which is killed.

use crate::common::{
    TestBench, assert_hidden, ok_stdout, parse_run, prony_command, start_run, total_figures,
    wait_until,
};
use prony_assertions::TextAssertions;
use prony_server::embedded::{EmbeddedOptions, EmbeddedPostgres, find};
use prony_store::{EndpointFigures, Run, Spread};
use prony_test_servers::{MariaDb, MariaDbOptions};

/// Three loaded servers, and a conninfo string with the unix sockets of all.
fn three_servers(name: &str) -> (Vec<EmbeddedPostgres>, Vec<TestBench>, String) {
    let installation = find().expect("PostgreSQL's programs");
    let options = EmbeddedOptions {
        shared_buffers_mib: 32,
        ..EmbeddedOptions::default()
    };
    let start = |_| EmbeddedPostgres::start(&installation, &options).expect("a server");
    let servers: Vec<EmbeddedPostgres> = (0..3).map(start).collect();
    let benches: Vec<TestBench> = servers
        .iter()
        .map(|server| TestBench::on(server, name))
        .collect();
    for bench in &benches {
        ok_stdout(&bench.prony("load tpcb --scale 1"));
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
        let output = bench
            .command(&arguments)
            .args(["--url", &conninfo])
            .output();
        parse_run(&bench.assert_no_password(output.expect("it starts")))
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
    let ids: Vec<&str> = spread
        .checks
        .iter()
        .map(|check| check.id.as_str())
        .collect();
    assert!(!ids.contains(&"server-commits"), "{:?}", spread.checks);
    let shown = ok_stdout(&bench.prony_without_server("show last --full"));
    shown.assert_contains("by the rule round-robin");

    let random = run("--spread random --clients 6");
    let at_start: u32 = random
        .endpoints
        .iter()
        .map(|at| at.connections_at_start)
        .sum();
    assert_eq!(at_start, 6);

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
    let home = std::env::temp_dir().join(format!("prony-mysql-spread-{}", std::process::id()));
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
    let _ = std::fs::remove_dir_all(&home);
}
