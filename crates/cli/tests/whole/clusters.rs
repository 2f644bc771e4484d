//! Clusters under a drill: synchronous and quorum standbys, semi-synchronous replication, Galera, Patroni, a pooler, a
//! proxy.

use crate::common::*;
use crate::controls::account;
use crate::lost_commits::{
    disturbed, disturbed_run, kill_at_once, kill_children, lost_of_ledger, start_standby,
};
use prony_server::observe::is_replica;
use prony_test_servers::{Galera, HaProxy, Patroni, PgBouncer, ProxiedServer, signal};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

/// Waits until a query of an integer has this value.
fn wait_for_number(url: &str, sql: &str, value: u64) {
    wait_for(sql, || query_number(&mut connect(url), sql) == value);
}

/// Lets commits wait for standbys, and waits until so many of them are waited for.
fn wait_for_standbys(primary: &EmbeddedPostgres, names: &str, count: u64) {
    // The standbys have no copy of it.
    connect(&primary.url()).run(format!(
        "alter system set synchronous_standby_names = '{names}'"
    ));
    connect(&primary.url()).run("select pg_reload_conf()");
    let waited_for =
        "select count(*) from pg_stat_replication where sync_state in ('sync', 'quorum')";
    wait_for_number(&primary.url(), waited_for, count);
}

#[test]
fn a_failover_to_a_synchronous_standby_loses_nothing() {
    for names in ["*", "ANY 1 (*)"] {
        let primary = own_postgres();
        let bench = TestBench::loaded_on(&primary, "sync", 4);
        let standbys = [start_standby(&primary), start_standby(&primary)];
        wait_for_standbys(&primary, names, if names == "*" { 1 } else { 2 });
        let [first, second] = standbys.each_ref().map(|standby| standby.port());
        let url = format!(
            "postgres://postgres:{}@127.0.0.1:{},127.0.0.1:{first},127.0.0.1:{second}/sync?target_session_attrs=read-write",
            bench.password,
            primary.port(),
        );
        let options = "--duration 8s --expect-outage --ledger";
        let run = disturbed_run(&bench, &url, options, || {
            kill_at_once(&primary);
            // What a cluster manager does: the one that has received most.
            let received = "select (pg_last_wal_receive_lsn() - '0/0')::bigint";
            let best = standbys
                .iter()
                .max_by_key(|standby| query_number(&mut connect(&standby.url()), received));
            connect(&best.expect("two").url()).run("select pg_promote(wait => false)");
        });
        assert_eq!(lost_of_ledger(&run), 0, "{names}");
        let timelines = [&account(&run).server_before, &account(&run).server_after];
        assert_eq!(
            timelines.map(|position| position["timeline"].as_str()),
            ["1", "2"]
        );
    }
}

fn with_binary_log(id: u32) -> MariaDb {
    let arguments = ["--log-bin=binlog", "--sync-binlog=1", "--gtid-domain-id=0"];
    let mut arguments: Vec<String> = arguments.map(str::to_owned).to_vec();
    arguments.push(format!("--server-id={id}"));
    MariaDb::start(MariaDbOptions {
        arguments,
        ..MariaDbOptions::default()
    })
    .expect("it starts")
}

/// How the primary of MariaDB is replaced.
#[derive(Clone, Copy, PartialEq)]
enum Replacement {
    /// It is killed, and commits waited for the replica.
    AfterSemiSynchronous,
    /// It is killed when the replica lags.
    OfLagging,
    /// It becomes read-only, and stays.
    Switchover,
}

/// The run of a failover from a MariaDB to its replica.
fn fail_over_mariadb(replacement: Replacement) -> Run {
    let (primary, replica) = (with_binary_log(1), with_binary_log(2));
    let bench = TestBench::on_maria(&primary, "failover");
    bench.ok("load oltp_write_only --scale 1 -o table_size=1000");
    let (mut on_primary, mut on_replica) = (connect(&primary.url()), connect(&replica.url()));
    let password = primary.password().reveal();
    on_replica.run("set global rpl_semi_sync_slave_enabled = on");
    on_replica.run(format!(
        "change master to master_host = '127.0.0.1', master_port = {}, master_user = 'prony', \
         master_password = '{password}', master_use_gtid = slave_pos",
        primary.port()
    ));
    on_replica.run("set global read_only = 1");
    on_replica.run("start slave");
    // An administrator writes nevertheless.
    on_primary.run("revoke super, read_only admin on *.* from prony@'127.0.0.1'");
    if replacement == Replacement::AfterSemiSynchronous {
        on_primary.run("set global rpl_semi_sync_master_timeout = 60000");
        on_primary.run("set global rpl_semi_sync_master_wait_point = after_sync");
        on_primary.run("set global rpl_semi_sync_master_enabled = on");
    }
    let loaded = "select count(*) from information_schema.tables where table_name = 'sbtest1'";
    wait_for_number(&replica.url(), loaded, 1);
    on_replica.run("set session sql_log_bin = 0");
    on_replica.run(format!(
        "alter user prony@'127.0.0.1' identified by '{password}'"
    ));
    let url = format!(
        "mysql://prony:{password}@127.0.0.1:{},127.0.0.1:{}/failover",
        primary.port(),
        replica.port()
    );
    // Setting read_only waits for the statements in progress and holds up others: with updates, which wait for each other's
    // rows, that is a deadlock for as long as innodb_lock_wait_timeout.
    let workload = match replacement {
        Replacement::Switchover => "oltp_insert",
        Replacement::AfterSemiSynchronous | Replacement::OfLagging => "oltp_write_only",
    };
    let mut command = bench.command(&format!(
        "run {workload} -o table_size=1000 --clients 4 --duration 15s --expect-outage --ledger --json"
    ));
    command.args(["--url", &url]);
    disturbed(command, &bench.home, password, || {
        match replacement {
            Replacement::AfterSemiSynchronous => primary.kill(),
            Replacement::OfLagging => {
                on_replica.run("stop slave io_thread");
                std::thread::sleep(Duration::from_millis(1_500));
                primary.kill();
            }
            Replacement::Switchover => {
                on_primary.run("set global read_only = 1");
                std::thread::sleep(Duration::from_secs(1));
            }
        }
        on_replica.run("stop slave io_thread");
        // Promoted when it has executed all that it has received.
        let executes = "select count(*) from information_schema.processlist \
                        where command = 'Slave_SQL' and state not like '%has read all%'";
        wait_for_number(&replica.url(), executes, 0);
        for sql in ["stop slave", "reset slave all", "set global read_only = 0"] {
            on_replica.run(sql);
        }
    })
}

#[test]
fn a_failover_to_a_replica_of_mariadb_loses_commits_unless_they_wait_for_it() {
    let run = fail_over_mariadb(Replacement::AfterSemiSynchronous);
    let durable = account(&run);
    assert_eq!(durable.lost, 0, "{durable:?}");
    let positions = [&durable.server_before, &durable.server_after];
    let transactions = positions.map(|position| {
        let position = &position["GTIDs"];
        let number = position.rsplit('-').next().map(str::parse::<u64>);
        number
            .and_then(Result::ok)
            .unwrap_or_else(|| panic!("{position}"))
    });
    assert!(
        transactions[1] >= transactions[0] + durable.acknowledged,
        "{positions:?}"
    );
    assert_ne!(positions[0]["server"], positions[1]["server"]);
    let mut names = positions.into_iter().flat_map(|position| position.keys());
    assert!(!names.any(|name| name.starts_with("wsrep_")), "no cluster");
    let run = fail_over_mariadb(Replacement::OfLagging);
    let lossy = account(&run);
    assert!(lossy.lost > 0 && lossy.clients_scattered == 0, "{lossy:?}");
    // The server that only reads accepts log-ins, and is the first of the URL.
    let run = fail_over_mariadb(Replacement::Switchover);
    assert_eq!(account(&run).lost, 0, "{:?}", run.ledger);
    let gap = run.commit_gap.as_ref().expect("measured");
    assert!(
        gap.until_s.is_some() && gap.clients.not_back == 0,
        "{gap:?} {:?} {:?}",
        run.events,
        run.measured.errors
    );
    let at_end = [0, 1].map(|host: usize| run.endpoints[host].connections_at_end);
    assert_eq!(at_end, [0, 4], "{:?}", run.endpoints);
}

#[test]
fn clients_of_a_galera_cluster_go_on_at_other_nodes() {
    let Some(cluster) = Galera::start(3).expect("it starts") else {
        return eprintln!("skipped: Galera's library is not installed");
    };
    let [killed, stopped, last] = &cluster.nodes[..] else {
        panic!("three nodes");
    };
    let ready_is = |node, expected| Galera::wait_until_ready_is(node, expected).expect("its state");
    let bench = TestBench::on_maria(killed, "drill");
    bench.ok("load oltp_write_only --scale 1 -o table_size=1000");
    let password = killed.password().reveal();
    let run_on = |nodes: &[&MariaDb], read_timeout_s: u32, workload: &str, disturb: &dyn Fn()| {
        let hosts: Vec<String> = nodes
            .iter()
            .map(|node| format!("127.0.0.1:{}", node.port()))
            .collect();
        let hosts = hosts.join(",");
        let arguments = format!(
            "run {workload} -o table_size=1000 --clients 4 --warmup 0s --expect-outage --ledger --json --url"
        );
        let mut command = prony_command(&arguments, &bench.home);
        command.arg(format!(
            "mysql://prony:{password}@{hosts}/drill?connect-timeout=2&read-timeout={read_timeout_s}"
        ));
        let run = disturbed(command, &bench.home, password, disturb);
        let account = account(&run);
        assert_eq!((account.lost, account.reordered), (0, None), "{account:?}");
        let gap = run.commit_gap.as_ref().expect("measured");
        assert_eq!(gap.clients.not_back, 0, "{gap:?}");
        let after = &account.server_after;
        assert_eq!(after["wsrep_cluster_status"], "Primary", "{after:?}");
        assert_eq!(after["wsrep_local_state_comment"], "Synced", "{after:?}");
        let committed = [&account.server_before, after].map(|position| {
            position["wsrep_last_committed"]
                .parse::<u64>()
                .expect("a number")
        });
        assert!(committed[1] > committed[0], "{committed:?}");
        let sizes =
            [&account.server_before, after].map(|position| position["wsrep_cluster_size"].clone());
        (sizes, run)
    };
    // Its group notices only after seconds that it hangs, and goes on without it.
    let (sizes, run) = run_on(
        &[stopped, killed, last],
        3,
        "oltp_write_only --duration 20s",
        &|| {
            let pid = stopped.pid().expect("it runs");
            signal(pid, libc::SIGSTOP);
        },
    );
    assert_eq!(sizes, ["3", "2"]);
    let events = run.events.iter();
    let causes: BTreeSet<_> = events.filter_map(|event| event.cause.as_deref()).collect();
    assert!(causes.contains("silent"), "{causes:?}");
    signal(stopped.pid().expect("it runs"), libc::SIGCONT);
    let size = "select variable_value from information_schema.global_status where variable_name = 'wsrep_cluster_size'";
    wait_for_number(&last.url_for("root", ""), size, 3);
    ready_is(stopped, "ON");
    // A node that is cut off accepts log-ins, and refuses statements: its clients go on elsewhere until it is back. They
    // insert, because nodes abort each other's updates of one row, and not more than a node can apply that was away.
    let on_cut_off = RefCell::new(connect(&stopped.url_for("root", "")));
    let was_replica = Cell::new(false);
    let cut_off_during = |duration_s: u64| {
        let back_after = Cell::new(Duration::ZERO);
        let workload =
            format!("oltp_insert --spread round-robin --rate 200 --duration {duration_s}s");
        // Nobody leaves for silence while the nodes find out who is left: only the refusal moves a client.
        let (sizes, run) = run_on(&[stopped, killed, last], 30, &workload, &|| {
            let started = Instant::now();
            let mut control = connect(&stopped.url_for("root", ""));
            let isolate =
                |value| format!("set global wsrep_provider_options = 'gmcast.isolate={value}'");
            control.run(isolate(1));
            ready_is(stopped, "OFF");
            // Its clients look each second whether it is back.
            std::thread::sleep(Duration::from_secs(6));
            was_replica.set(is_replica(&mut on_cut_off.borrow_mut()));
            control.run(isolate(0));
            ready_is(stopped, "ON");
            back_after.set(started.elapsed());
        });
        (sizes, run, back_after.get())
    };
    // A busy machine may need longer for its return than the run takes, which then shows nothing of it.
    let [usual_s, longer_s] = [100, 400];
    let is_late = |back_after: Duration| back_after > Duration::from_secs(usual_s - 20);
    let (sizes, run, back_after) = match cut_off_during(usual_s) {
        (.., back_after) if is_late(back_after) => {
            eprintln!("the node was back only after {back_after:?}");
            wait_for_number(&last.url_for("root", ""), size, 3);
            cut_off_during(longer_s)
        }
        in_time => in_time,
    };
    assert_eq!(sizes, ["3", "3"]);
    assert!(was_replica.get());
    // Each of its clients learns it once: a statement is refused, or a commit fails of which the others may know.
    let learned = run.measured.errors.iter();
    let learned = learned.filter(|error| ["08S01", "01180"].contains(&&*error.code));
    let learned: u64 = learned.map(|error| error.count).sum();
    assert!((1..=4).contains(&learned), "{:?}", run.measured.errors);
    let returned = run.endpoints[0].returned;
    assert!(returned > 0, "{back_after:?}, {:?}", run.events);
    let (sizes, _) = run_on(
        &[killed, stopped, last],
        3,
        "oltp_write_only --duration 20s",
        &|| killed.kill(),
    );
    assert_eq!(sizes, ["3", "2"]);
}

/// Blocks of writers on several nodes abort each other, and each node applies the commits of the others later.
#[test]
fn commits_on_all_nodes_of_a_galera_cluster_are_accounted_for() {
    let Some(cluster) = Galera::start(3).expect("it starts") else {
        return eprintln!("skipped: Galera's library is not installed");
    };
    let [first, _, last] = &cluster.nodes[..] else {
        panic!("three nodes");
    };
    let bench = TestBench::on_maria(first, "drill");
    bench.ok("load oltp_write_only --scale 1 -o table_size=40");
    let hosts = cluster.nodes.iter();
    let hosts: Vec<String> = hosts
        .map(|node| format!("127.0.0.1:{}", node.port()))
        .collect();
    let all = bench.url.replace(&hosts[0], &hosts.join(","));
    for protocol in ["prepared", "simple"] {
        let arguments = format!(
            "run oltp_write_only -o table_size=40 --clients 6 --warmup 0s --duration 15s \
             --spread round-robin --protocol {protocol} --ledger --json"
        );
        let run = parse_run(&bench.prony_with(&arguments, &["--url", &all]));
        let account = account(&run);
        assert!(account.lost == 0 && account.acknowledged > 0, "{account:?}");
    }
    let conflicts = "select cast(sum(variable_value) as integer) from information_schema.global_status \
                     where variable_name in ('wsrep_local_bf_aborts', 'wsrep_local_cert_failures')";
    let of_node = |node: &MariaDb| query_number(&mut connect(&node.url_for("root", "")), conflicts);
    let conflicts: u64 = cluster.nodes.iter().map(of_node).sum();
    assert!(conflicts > 20, "{conflicts}");

    let run = "run oltp_insert -o table_size=40 --clients 2 --rate 100 --duration 60s --ledger";
    let (mut child, _) = start_run(bench.command(&format!("{run} --url {}", bench.url)));
    let acknowledges = |at_least: u64| {
        let mut acknowledged = 0;
        wait_until(&bench.home, |run| {
            acknowledged = run.ledger.as_ref().map_or(0, |it| it.acknowledged);
            acknowledged > at_least
        });
        acknowledged
    };
    let before = acknowledges(10);
    // With this lock a node applies nothing.
    let mut on_last = connect(&last.url_for("root", ""));
    on_last.run("flush tables with read lock");
    acknowledges(before + 100);
    child.kill().expect("it runs");
    child.wait().expect("it ended");
    let unlocked = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(2));
        on_last.run("unlock tables");
    });
    let on_last = bench.url.replace(&hosts[0], &hosts[2]);
    let checked = bench.prony_with("check ledger --run last", &["--url", &on_last]);
    ok_stdout(&checked).assert_contains("lost 0 of ");
    unlocked.join().expect("it unlocks");
}

#[test]
fn an_outage_behind_a_pooler_is_accounted_for() {
    let server = own_postgres();
    let bench = TestBench::on(&server, "pooled");
    let Some(pooler) = PgBouncer::start(&server, "pooled") else {
        return eprintln!("skipped: PgBouncer is not installed");
    };
    bench.ok("load tpcb --scale 4");
    let url = format!(
        "postgres://postgres:{}@127.0.0.1:{}/pooled",
        bench.password,
        pooler.port()
    );
    let options = "--protocol simple --duration 8s --expect-outage --ledger";
    let run = disturbed_run(&bench, &url, options, || {
        kill_at_once(&server);
        server.restart().expect("it starts again");
    });
    assert_eq!(lost_of_ledger(&run), 0);
    let gap = run.commit_gap.as_ref().expect("measured");
    assert_eq!(gap.clients.not_back, 0, "{gap:?}");
}

#[test]
fn a_failover_behind_a_proxy_is_accounted_for() {
    let primary = own_postgres();
    let bench = TestBench::loaded_on(&primary, "proxied", 4);
    let standby = start_standby(&primary);
    let servers = [&primary, &standby].map(|server| ProxiedServer {
        port: server.port(),
        patroni_port: None,
    });
    let Some(proxy) = HaProxy::start(&servers) else {
        return eprintln!("skipped: HAProxy is not installed");
    };
    wait_for_standbys(&primary, "*", 1);
    let url = format!(
        "postgres://postgres:{}@127.0.0.1:{}/proxied?target_session_attrs=read-write",
        bench.password,
        proxy.port()
    );
    let run = disturbed_run(
        &bench,
        &url,
        "--duration 10s --expect-outage --ledger",
        || {
            kill_at_once(&primary);
            std::thread::sleep(Duration::from_millis(500));
            connect(&standby.url()).run("select pg_promote(wait => false)");
        },
    );
    assert_eq!(lost_of_ledger(&run), 0);
    let gap = run.commit_gap.as_ref().expect("measured");
    assert_eq!(gap.clients.not_back, 0, "{gap:?}");
    // The proxy accepts every connection, and closes it while no server is well.
    let events = run.events.iter();
    let causes: BTreeSet<_> = events.filter_map(|event| event.cause.as_deref()).collect();
    assert!(
        causes.contains("role") || causes.contains("closed"),
        "{causes:?}"
    );
}

#[test]
fn patroni_fails_over_by_itself() {
    let Some(mut cluster) = Patroni::start() else {
        return eprintln!("skipped: Patroni or etcd is not installed");
    };
    let servers = cluster.servers();
    let proxy = HaProxy::start(&servers);
    let ports = match &proxy {
        Some(proxy) => vec![proxy.port()],
        None => servers.iter().map(|server| server.port).collect(),
    };
    let hosts: Vec<String> = ports
        .iter()
        .map(|port| format!("127.0.0.1:{port}"))
        .collect();
    let password = cluster.password().to_owned();
    let home = TestFolder::create();
    let bench = TestBench {
        url: format!(
            "postgres://postgres:{password}@{}/postgres?target_session_attrs=read-write",
            hosts.join(",")
        ),
        home,
        password,
        socket_url: String::new(),
    };
    // A proxy takes each server for the primary until it has asked it.
    let started = Instant::now();
    loop {
        let load = bench.prony("load tpcb --scale 4");
        if load.status.code() != Some(3) || started.elapsed() > WAIT_TIMEOUT {
            ok_stdout(&load);
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    // Newer versions of Patroni wait for at least 20 s.
    let options = "--duration 45s --expect-outage --ledger";
    let run = disturbed_run(&bench, &bench.url, options, || {
        let postmaster = cluster.postmaster(0).expect("it runs");
        cluster.kill_watcher(0);
        signal(postmaster, libc::SIGSTOP);
        kill_children(postmaster);
        signal(postmaster, libc::SIGKILL);
    });
    assert_eq!(lost_of_ledger(&run), 0);
    let gap = run.commit_gap.as_ref().expect("measured");
    assert!(
        gap.until_s.is_some() && gap.clients.not_back == 0,
        "{gap:?}"
    );
    let timelines = [&account(&run).server_before, &account(&run).server_after];
    assert_eq!(
        timelines.map(|position| position["timeline"].as_str()),
        ["1", "2"]
    );
}
