//! Controls of the ledger: what loses commits, so that it must find them, and what does not, so that it must find none.
//! Others are in `lost_commits`, `liar`, `power_cut` and `drills`.

use crate::common::*;
use crate::lost_commits::{disturbed, disturbed_run, lost_of_ledger};
use crate::relay::Relay;
use prony_server::embedded::{process, server_user};
use prony_store::LedgerAccount;
use prony_test_servers::children;

/// How often each control is repeated: 20 times before a release, by `PRONY_CONTROL_ROUNDS`.
pub fn rounds() -> u32 {
    let rounds = std::env::var("PRONY_CONTROL_ROUNDS");
    rounds.map_or(1, |rounds| rounds.parse().expect("a number"))
}

const MIB: u64 = 1 << 20;

/// The account of a run whose entries the test has not changed.
pub fn account(run: &Run) -> &LedgerAccount {
    let account = run.ledger.as_ref().expect("kept");
    assert_eq!(
        (&account.not_read, account.duplicated, account.phantom),
        (&None, 0, 0),
        "{:?}, {account:?}",
        run.measured.errors
    );
    assert_ne!(account.acknowledged, 0);
    assert!(account.ambiguous_found <= account.ambiguous, "{account:?}");
    account
}

#[test]
fn a_crash_of_mariadb_loses_commits_only_if_they_are_not_durable() {
    let server = own_mariadb(&[]);
    let bench = TestBench::on_maria(&server, "crash");
    bench.ok("load oltp_write_only --scale 1 -o table_size=1000");
    let crash = |flush: u32| {
        connect(&server.url()).run(format!(
            "set global innodb_flush_log_at_trx_commit = {flush}"
        ));
        let arguments = "run oltp_write_only -o table_size=1000 --clients 4 --duration 8s \
                         --expect-outage --ledger --json";
        let command = bench.command_with_url(arguments);
        disturbed(command, &bench.home, server.password().reveal(), || {
            server.kill();
            server.restart().expect("it starts again");
        })
    };
    for _ in 0..rounds() {
        let run = crash(0);
        let lossy = account(&run);
        assert!(lossy.lost > 0, "{lossy:?}");
        assert_eq!((lossy.clients_scattered, lossy.reordered), (0, Some(0)));
        let count = format!("select count(*) from crash.{}", lossy.table);
        assert_eq!(
            query_number(&mut connect(&server.url()), &count),
            lossy.acknowledged + lossy.ambiguous_found - lossy.lost,
            "{lossy:?}"
        );
        let run = crash(1);
        assert_eq!(account(&run).lost, 0, "{:?}", run.ledger);
    }
}

/// Limits the size of the files that a process of a server writes: `unlimited`, or bytes.
fn limit_file_sizes(server: &EmbeddedPostgres, pid: u32, size: &str) {
    let user = server_user().expect("a user");
    let mut command = process::command(
        Path::new("/usr/bin/prlimit"),
        user.as_ref(),
        server.directory(),
    );
    command.args(["--pid", &pid.to_string(), &format!("--fsize={size}:")]);
    // One that has ended meanwhile writes nothing.
    assert!(command.status().expect("util-linux").success() || children(pid).is_empty());
}

#[test]
fn a_full_disk_of_the_server_loses_nothing() {
    let server = own_postgres();
    let bench = TestBench::loaded_on(&server, "full_server", 1);
    // The size of a file of the log.
    let limit = 16 * MIB;
    let set_limit = |size: &str| {
        let postmaster = server.pid().expect("it runs");
        // Those that it starts meanwhile get its limit.
        limit_file_sizes(&server, postmaster, size);
        let children = children(postmaster).into_iter();
        children.for_each(|pid| limit_file_sizes(&server, pid, size));
    };
    for _ in 0..rounds() {
        let mut control = bench.control();
        control.run("truncate pgbench_history");
        control.run("vacuum pgbench_accounts");
        let size = "select pg_relation_size('pgbench_history')";
        loop {
            // The last two pages are for the run.
            let free = limit - query_number(&mut control, size);
            if free <= MIB / 64 {
                break;
            }
            let rows = if free > MIB / 8 { 1000 } else { 50 };
            control.run(format!(
                "insert into pgbench_history (tid, bid, aid, delta, mtime) \
                 select 1, 1, 1, 0, now() from generate_series(1, {rows})"
            ));
        }
        // Before the run: clients that wait for each other let the server extend the table by many pages at once.
        set_limit(&limit.to_string());
        let run = disturbed_run(
            &bench,
            &bench.url,
            "--duration 10s --warmup 0s --ledger",
            || {
                let has_failed =
                    |run: &Run| run.series.iter().any(|second| !second.errors.is_empty());
                wait_until(&bench.home, has_failed);
                set_limit("unlimited");
            },
        );
        assert_eq!(lost_of_ledger(&run), 0);
        assert_ne!(account(&run).acknowledged, 0);
        let errors = run.measured.errors.iter();
        let errors = errors.map(|error| error.example.as_str());
        let errors: Vec<&str> = errors.collect();
        assert!(
            errors
                .iter()
                .any(|text| text.contains("could not extend file")),
            "{errors:?}"
        );
    }
}

#[test]
fn half_open_connections_leave_an_account_that_adds_up() {
    let (postgres, maria) = (
        TestBench::new("half_open_ledger"),
        TestBench::maria("half_open_ledger"),
    );
    postgres.ok("load tpcb --scale 4");
    maria.ok("load oltp_write_only --scale 1 -o table_size=1000");
    let maria_password = shared_mariadb().password();
    let engines = [
        (
            shared_postgres().port(),
            &postgres.home,
            postgres.password.as_str(),
            postgres.url.as_str(),
            "tpcb",
        ),
        (
            shared_mariadb().port(),
            &maria.home,
            maria_password.reveal(),
            &maria.url,
            "oltp_write_only -o table_size=1000",
        ),
    ];
    for (port, home, password, url, workload) in engines {
        for holds_requests in (0..rounds()).flat_map(|_| [true, false]) {
            let relay = Relay::to_port(port);
            let arguments = format!(
                "run {workload} --clients 4 --duration 6s --warmup 0s --expect-outage --ledger --json --url"
            );
            let mut command = prony_command(&arguments, home);
            command.arg(url.replace(&format!(":{port}/"), &format!(":{}/", relay.port)));
            let run = disturbed(command, home, password, || {
                relay.set_half_open(holds_requests, !holds_requests);
                std::thread::sleep(Duration::from_millis(500));
                relay.close_connections();
                relay.set_half_open(false, false);
            });
            let account = account(&run);
            assert_eq!(account.lost, 0, "{workload}: {account:?}");
            // A commit that did not leave is not there; one whose reply did not arrive is. On MariaDB it may have waited
            // for the reply to the entry.
            if holds_requests {
                assert_eq!(account.ambiguous_found, 0, "{workload}: {account:?}");
            } else if workload == "tpcb" {
                assert_eq!(account.ambiguous_found, account.ambiguous, "{account:?}");
            }
        }
    }
}

/// A run over a network that is cut, with these options of the URL.
fn cut_network(home: &Path, port: u16, url: &str, workload: &str, options: &str) -> Run {
    let relay = Relay::to_port(port);
    let url = url.replace(&format!(":{port}/"), &format!(":{}/", relay.port));
    let separator = if url.contains('?') { '&' } else { '?' };
    let arguments = format!(
        "run {workload} --clients 4 --duration 8s --warmup 0s --grace 1s --expect-outage --ledger --json --url"
    );
    let mut command = prony_command(&arguments, home);
    command.arg(format!("{url}{separator}{options}"));
    let (child, _) = start_run(command);
    wait_until(home, any_committed);
    relay.cut_off();
    parse_run(&child.wait_with_output().expect("it ends"))
}

#[test]
fn a_network_that_is_cut_keeps_no_client_waiting_beyond_its_time_out() {
    let (postgres, maria) = (TestBench::new("cut_off"), TestBench::maria("cut_off"));
    postgres.ok("load tpcb --scale 4");
    maria.ok("load oltp_write_only --scale 1 -o table_size=50000");
    // The server keeps the transactions that are cut off, and their locks: these meet none.
    let workload = "oltp_write_only -o table_size=50000 -o rand_type=uniform";
    let (pg_port, maria_port) = (shared_postgres().port(), shared_mariadb().port());
    let on_postgres = |options| {
        cut_network(
            &postgres.home,
            pg_port,
            &postgres.url,
            "simple-update",
            options,
        )
    };
    let on_maria = |options| cut_network(&maria.home, maria_port, &maria.url, workload, options);
    // A request that was received before the cut has nothing left that could time out but probes of the connection; the
    // time-out of a write does not limit the wait for a reply.
    let probed = "tcp_user_timeout=1000&keepalives_idle=1&keepalives_interval=1&keepalives_count=1";
    for (with, without, not_back_max) in [
        (on_postgres(probed), on_postgres("tcp_user_timeout=0"), 0),
        (on_maria("read-timeout=1"), on_maria("read-timeout=0"), 0),
        (
            on_maria("write-timeout=1"),
            on_maria("connect-timeout=5"),
            3,
        ),
    ] {
        let gaps = |run: &Run| run.commit_gap.clone().expect("measured");
        let not_back = gaps(&with).clients.not_back;
        assert!(not_back <= not_back_max, "{:?}", gaps(&with));
        assert_eq!(account(&with).lost, 0, "{:?}", with.ledger);
        assert_eq!(gaps(&without).clients.not_back, 4, "{:?}", gaps(&without));
    }
}
