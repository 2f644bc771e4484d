//! Loads whose rows several machines send, and what agents of a killed coordinator kept.

use crate::common::*;
use crate::fleet::{agent, assert_all_end, command, command_with_path, long_run};

#[test]
fn several_machines_load_the_same_rows_as_one() {
    let bench = TestBench::new("fleet_load");
    let contents = |tables: &[&str]| -> Vec<String> {
        let mut control = bench.control();
        let checksum = |table: &&str| {
            let sql =
                format!("select md5(string_agg(t::text, ',' order by t::text)) from {table} t");
            control.query_value(&sql).expect("a table").expect("rows")
        };
        tables.iter().map(checksum).collect()
    };
    for (workload, tables) in [
        (
            "tpcb --scale 3",
            &["pgbench_accounts", "pgbench_tellers"][..],
        ),
        (
            "oltp_read_write --scale 3 -o table_size=500",
            &["sbtest1", "sbtest3"],
        ),
        ("ycsb --scale 3", &["usertable"]),
    ] {
        bench.ok(&format!("load {workload} --jobs 2 --seed 5"));
        let expected = contents(tables);
        let arguments = format!("load {workload} --jobs 2 --seed 5");
        let stdout = ok_stdout(&bench.execute(command(&bench, "load", 2, &arguments)));
        stdout.assert_contains("2 connections of 2 other machines");
        assert_eq!(contents(tables), expected, "{workload}");
        let name = workload.split(' ').next().expect("a name");
        bench.ok(&format!("check {name}"));
        assert_all_end("load", 2, Duration::from_secs(5));
    }
}

#[test]
fn a_lost_agent_ends_a_load_that_another_one_continues() {
    let bench = TestBench::new("fleet_load_lost");
    let lost = "timeout -s KILL 1";
    let arguments = "load tpcc --scale 40 --jobs 2 --yes";
    let command = command_with_path(&bench, &[&agent("load_lost", 1), lost], arguments);
    let stderr = assert_code(&bench.execute(command), 6);
    stderr.assert_contains("agent 2 (timeout -s KILL 1) was lost");
    stderr.assert_contains("incomplete tables");
    assert_all_end("load_lost", 1, Duration::from_secs(20));
    bench.ok("clean tpcc");
}

/// The coordinator of a load is killed, and the next load begins at once: what the agents of the first still send is in
/// the tables once, or not at all.
#[test]
fn a_load_after_a_killed_one_has_each_row_once() {
    let bench = TestBench::new("fleet_two_loads");
    let arguments = "load tpcb --scale 12 --jobs 2 --seed 5 --yes";
    bench.ok(arguments);
    let mut control = bench.control();
    let checksum =
        "select count(*) || ' ' || sum(hashtext(t::text)::bigint) from pgbench_accounts t";
    let mut contents = || {
        control
            .query_value(checksum)
            .expect("a table")
            .expect("rows")
    };
    let expected = contents();
    for (attempt, after_ms) in [300, 600, 1_000].into_iter().enumerate() {
        bench.ok("clean tpcb");
        let name = format!("two_loads{attempt}");
        let mut killed = command(&bench, &name, 2, arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        std::thread::sleep(Duration::from_millis(after_ms));
        killed.kill().expect("it runs");
        killed.wait().expect("it ends");
        let output = bench.execute(command(&bench, "second_load", 2, arguments));
        // It may say that the server is still busy with the first load, but never that all is well when it is not.
        if !output.status.success() {
            assert_all_end(&name, 2, Duration::from_secs(20));
            bench.ok(arguments);
        }
        assert_eq!(contents(), expected, "killed after {after_ms} ms");
        bench.ok("check tpcb");
        assert_all_end(&name, 2, Duration::from_secs(20));
    }
}

/// The coordinator is killed: what the agents measured is on their disks, and is fetched once.
#[test]
fn what_agents_of_a_killed_coordinator_measured_is_collected() {
    let bench = TestBench::loaded("fleet_collect", 1);
    let mut child = long_run(&bench, "kept");
    send_signal(&child, "-KILL");
    child.wait().expect("it ends");
    assert_all_end("kept", 2, Duration::from_secs(20));
    let committed = "select count(*) from pgbench_history";
    let committed = query_number(&mut bench.control(), committed);
    let folder = bench.home.join("collected");
    std::fs::create_dir(&folder).expect("a folder");
    let collect = || {
        // Both agents are on this machine, and have one disk.
        let mut command = bench.command("fleet collect --output");
        command.arg(&folder).args(["--agent", &agent("collect", 1)]);
        ok_stdout(&bench.execute(command))
    };
    collect().assert_contains("tpcb");
    let kept = std::fs::read_dir(&folder).expect("a folder").flatten();
    let mut sum = 0;
    for file in kept {
        let text = std::fs::read_to_string(file.path()).expect("a file");
        let end = text.lines().next_back().expect("an end");
        let end: serde_json::Value = serde_json::from_str(end).expect("JSON");
        sum += end["counts"][0].as_u64().expect("a count");
    }
    // Transactions that were cut off may have committed: at most one for each of the four clients.
    assert!((sum..=sum + 4).contains(&committed), "{sum} of {committed}");
    collect().assert_contains("the agents kept nothing");
}

/// A load of hours keeps more than a frame can have.
#[test]
fn a_long_file_of_an_agent_is_collected() {
    let bench = TestBench::new("fleet_long");
    let kept = bench.home.join("agent");
    std::fs::create_dir(&kept).expect("a folder");
    let header = r#"{"run":"7","machine":"vm1","workload":"tpcb","kinds":["tpcb"],"clients":3,"first_worker":0,"end_worker":2}"#;
    let end = r#"{"rows":70,"counts":[1,2,3,4],"failure":null}"#;
    let row = "\"x\"".repeat(350_000);
    let text = format!("{header}\n{}{end}\n", format!("{row}\n").repeat(70));
    assert!(text.len() > 70 << 20);
    std::fs::write(kept.join("7-0.jsonl"), &text).expect("a file");
    let mut command = bench.command("fleet collect --output");
    command
        .arg(&bench.home)
        .args(["--agent", &agent("long", 1)]);
    let stdout = ok_stdout(&bench.execute(command));
    stdout.assert_contains("vm1").assert_contains("70");
    let collected = std::fs::read_to_string(bench.home.join("prony-7-vm1-0.jsonl"));
    assert!(collected.expect("a file") == text);
    assert_eq!(std::fs::read_dir(&kept).expect("a folder").count(), 0);
}
