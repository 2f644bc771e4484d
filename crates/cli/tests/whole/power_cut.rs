//! Controls of the ledger with a disk of which the power is cut: what was not flushed is gone. One that lies loses also what
//! the server believes to be durable.

use crate::common::*;
use crate::controls::{account, rounds};
use crate::lost_commits::{disturbed, disturbed_run, kill_at_once, lost_of_ledger};
use prony_test_servers::LossyDisk;

const SKIPPED: &str = "skipped: the disk is a library, and there is no C compiler";

/// What a disk does for a time before its power is cut.
fn lie_for_a_time(disk: &LossyDisk) {
    disk.set_lying(true);
    std::thread::sleep(Duration::from_millis(700));
}

#[test]
fn a_power_cut_loses_commits_only_if_they_are_not_durable() {
    let Some(disk) = LossyDisk::new() else {
        return eprintln!("{SKIPPED}");
    };
    let programs = disk.programs(&find().expect("PostgreSQL's programs"));
    let server = EmbeddedPostgres::start(&programs, &EmbeddedOptions::default());
    let server = server.expect("it starts");
    let bench = TestBench::loaded_on(&server, "power", 4);
    let cut = |durability: &str, lies: bool| {
        let set = format!("alter database power set synchronous_commit = {durability}");
        connect(&server.url()).run(set);
        let options = "--duration 6s --expect-outage --ledger";
        disturbed_run(&bench, &bench.url, options, || {
            if lies {
                lie_for_a_time(&disk);
            }
            kill_at_once(&server);
            assert_ne!(disk.cut_power(&server.data_dir()), 0);
            if lies {
                disk.set_lying(false);
            }
            server.restart().expect("it starts again");
        })
    };
    for _ in 0..rounds() {
        let run = cut("off", false);
        assert!(lost_of_ledger(&run) > 0);
        assert_eq!(account(&run).clients_scattered, 0, "{:?}", run.ledger);
        assert_eq!(lost_of_ledger(&cut("on", false)), 0);
        assert!(lost_of_ledger(&cut("on", true)) > 0, "the disk lied");
    }
}

#[test]
fn a_power_cut_of_mariadb_loses_what_a_crash_of_the_server_does_not() {
    let Some(disk) = LossyDisk::new() else {
        return eprintln!("{SKIPPED}");
    };
    let server = MariaDb::start(MariaDbOptions {
        // With it, pages are written without a function that a library could replace.
        arguments: vec!["--innodb-use-native-aio=0".to_owned()],
        environment: disk.environment(),
        ..MariaDbOptions::default()
    });
    let server = server.expect("it starts");
    let bench = TestBench::on_maria(&server, "power");
    bench.ok("load oltp_write_only --scale 1 -o table_size=1000");
    let lost = |flush: u32, cuts_power: bool, lies: bool| {
        connect(&server.url()).run(format!(
            "set global innodb_flush_log_at_trx_commit = {flush}"
        ));
        let arguments = "run oltp_write_only -o table_size=1000 --clients 4 --duration 8s \
                         --expect-outage --ledger --json";
        let command = bench.command_with_url(arguments);
        let run = disturbed(command, &bench.home, server.password().reveal(), || {
            if lies {
                lie_for_a_time(&disk);
            }
            server.kill();
            if cuts_power {
                assert_ne!(disk.cut_power(&server.data_dir()), 0);
            }
            if lies {
                disk.set_lying(false);
            }
            server.restart().expect("it starts again");
        });
        if lies && let Some(log) = server.log_of_crash() {
            assert!(run.ledger.expect("kept").not_read.is_some());
            eprintln!("the server did not survive that the disk lied: {log}");
            return None;
        }
        let account = account(&run);
        assert_eq!(account.clients_scattered, 0, "{account:?}");
        Some(account.lost)
    };
    for _ in 0..rounds() {
        assert_eq!(
            lost(2, false, false),
            Some(0),
            "the system has what was written"
        );
        assert_ne!(lost(2, true, false), Some(0));
        assert_eq!(lost(1, true, false), Some(0));
        let Some(lost) = lost(1, true, true) else {
            return;
        };
        assert_ne!(lost, 0, "the disk lied");
    }
}
