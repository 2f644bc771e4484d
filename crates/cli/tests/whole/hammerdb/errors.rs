//! Errors of hammerdbcli scripts and their messages.

use super::{HammerdbCli, lines};
use crate::common::*;
use std::io::Read;

/// Returns the lines that start with `Error`.
fn errors(stdout: &str) -> Vec<String> {
    let mut errors = lines(stdout);
    errors.retain(|line| line.starts_with("Error"));
    errors
}

#[test]
fn invalid_settings_are_reported_and_change_nothing() {
    let hammer = HammerdbCli::new("mistakes");
    let head = hammer.login_lines();
    let assert_printed = |commands: &str, expected: &str| {
        let stdout = ok_stdout(&hammer.execute(&format!("{head}{commands}vudestroy\nquit\n")));
        stdout.assert_contains(expected);
        stdout
    };
    let failed = assert_printed(
        "diset tpcc pg_superuserpass wrong\nbuildschema\n",
        "FATAL:  password authentication failed for user \"postgres\"",
    );
    failed.assert_contains("Vuser 1:FINISHED FAILED");
    assert_printed(
        "diset tpcc pg_num_vu 3\ndiset tpcc pg_count_ware 2\nbuildschema\n",
        "You have 3 virtual users building 2 warehouses",
    );
    assert_printed(
        "diset tpcc pg_num_vu 1\n",
        "Changed tpcc:pg_num_vu from 3 to 1",
    );
    let mut control = hammer.bench.control();
    control.run("CREATE TABLE mine (n int)");
    let database = "diset tpcc pg_dbase mistakes_beside\n";
    assert_printed(
        &format!("{database}buildschema\n"),
        "Database mistakes_beside exists but is not empty, specify a new or empty database name",
    );
    // A refused build changes no password, and tables that are not TPROC-C's are not dropped.
    control.run("CREATE ROLE mistakes LOGIN PASSWORD 'of-before'");
    assert_printed(&format!("{database}buildschema\n"), "is not empty");
    let url = hammer.bench.url.replace(
        &format!("postgres:{}@", hammer.bench.password),
        "mistakes:of-before@",
    );
    assert_eq!(query_number(&mut connect(&url), "SELECT 7"), 7);
    control.run("DROP ROLE mistakes");
    assert_printed(
        &format!("{database}deleteschema\n"),
        "contains tables that are not TPROC-C's (mine...): nothing was deleted",
    );
    assert_eq!(query_number(&mut control, "SELECT count(*) FROM mine"), 0);
    let postgres = format!(
        "{database}diset tpcc pg_user postgres\ndiset tpcc pg_pass {}\n",
        hammer.bench.password
    );
    let no_schema = assert_printed(
        &format!("{postgres}loadscript\nvurun\n"),
        "table item is missing",
    );
    no_schema.assert_contains("buildschema creates the schema");
    no_schema.assert_lacks("NOPM");
    assert_printed(
        &format!("{database}diset tpcc pg_oracompat true\nbuildschema\n"),
        "Prony does not support pg_oracompat",
    );
    let unknown = "diset tpcc pg_nosuch 1\ndiset nosuch pg_host h\ndbset db nosuch\nfrob\n";
    for complaint in [
        "Dictionary \"tpcc\" for PostgreSQL exists but key \"pg_nosuch\" doesn't",
        "Dictionary \"nosuch\" for PostgreSQL does not exist",
        "Unknown prefix nosuch, choose one from ora mssqls db2 mysql pg maria",
        "invalid command name \"frob\"",
    ] {
        assert_printed(unknown, complaint);
    }
    let databases = "SELECT count(*) FROM pg_database WHERE datname = 'mistakes'";
    assert_eq!(query_number(&mut control, databases), 0);
}

#[test]
fn a_relative_store_path_does_not_change_with_cd() {
    let hammer = HammerdbCli::new("hammer_folder");
    let (start, subfolder) = (hammer.log_folder(), hammer.log_folder().join("other"));
    std::fs::create_dir_all(&subfolder).expect("a folder");
    let mut command = hammer.command();
    command.current_dir(&start).env("PRONY_HOME", "./store");
    let child = hammer.start(command, "cd other\ndbset db mysql\nputs [pwd]\nquit\n");
    let output = hammer.finish(child);
    ok_stdout(&output).assert_contains("/temp/other\n");
    assert!(start.join("store/hammerdb/settings.json").is_file());
    assert!(!subfolder.join("store").exists());
}

#[test]
fn interrupted_builds_and_runs_are_reported_and_stored() {
    let hammer = HammerdbCli::new("broken");
    // Fifty warehouses load long enough to be interrupted.
    let child = hammer.start(hammer.command(), &hammer.build_script(50, 2));
    let mut control = connect(&shared_postgres().url());
    let loading = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'broken' AND query ILIKE 'copy stock %'";
    wait_for("it does not load", || {
        query_number(&mut control, loading) != 0
    });
    send_signal(&child, "-INT");
    let output = hammer.finish(child);
    let stdout = stdout_text(&output);
    assert!(
        output.status.code().is_none(),
        "ended by the signal: {output:?}"
    );
    errors(&stdout)[0].assert_contains("the build was stopped");
    stdout.assert_contains("buildschema with the same settings continues");
    let check = format!(
        "{}diset tpcc pg_count_ware 50\ncheckschema\n",
        hammer.login_lines()
    );
    let checked = String::from_utf8_lossy(&hammer.execute(&check).stdout).into_owned();
    checked.assert_contains("`buildschema` ");
    checked.assert_lacks("prony load");
    control.run("DROP DATABASE broken WITH (FORCE)");

    let stdout = ok_stdout(&hammer.execute(&hammer.build_script(1, 1)));
    stdout.assert_contains("BROKEN SCHEMA COMPLETE");
    check_interrupted_run(&hammer);
    check_raiseerror(&hammer);
    check_test_driver(&hammer);
    check_used_order_numbers(&hammer);
}

/// HammerDB before 4.11 may leave next order numbers that are already used: a run replaces them by unused
/// ones, or reports why it cannot.
fn check_used_order_numbers(hammer: &HammerdbCli) {
    let mut control = connect(&shared_postgres().url_for("broken"));
    let next_number = "SELECT d_next_o_id FROM district WHERE d_id = 3";
    let unused = query_number(&mut control, next_number);
    for sql in [
        "UPDATE district SET d_next_o_id = 7 WHERE d_id = 3",
        "ALTER TABLE district ADD CONSTRAINT kept CHECK (d_next_o_id < 0) NOT VALID",
    ] {
        control.execute(sql).expect(sql);
    }
    let stdout = ok_stdout(&hammer.execute(&hammer.test_script(0, 1)));
    let reason = &errors(&stdout)[0];
    assert!(reason.contains("setting d_next_o_id"), "{stdout}");
    assert_eq!(query_number(&mut control, next_number), 7);
    control.run("ALTER TABLE district DROP CONSTRAINT kept");
    let output = hammer.execute(&hammer.test_script(0, 1));
    ok_stdout(&output).assert_contains("NOPM");
    let stderr = stderr_text(&output);
    stderr.assert_contains("d_next_o_id of 1 district was");
    assert!(query_number(&mut control, next_number) >= unused);
}

/// If the server is killed, the run has no result, but no data is lost.
#[test]
fn a_run_on_a_restarted_server_has_no_result() {
    let server = own_postgres();
    let hammer = HammerdbCli::on(&server, "killed");
    ok_stdout(&hammer.execute(&hammer.build_script(1, 1)));
    let mut command = hammer.command();
    command.env("PRONY_HAMMERDB_MINUTE", "10s");
    let mut child = hammer.start(command, &hammer.test_script(0, 2));
    let mut stdout = read_until(&mut child, "Timing test period of 1 in minutes");
    std::thread::sleep(Duration::from_secs(2));
    server.kill();
    server.restart().expect("it comes back");
    let output = hammer.finish(child);
    stdout += &stdout_text(&output);
    assert_eq!(output.status.code(), Some(0), "{stdout}");
    stdout.assert_lacks("NOPM");
    let reason = &errors(&stdout)[0];
    assert!(
        reason.contains("lost its count of transactions") || reason.contains("could not be read"),
        "{stdout}"
    );
    let checked = ok_stdout(&hammer.execute(&format!("{}checkschema\n", hammer.login_lines())));
    let success = "killed TPROC-C Schema has been checked successfully.";
    checked.assert_contains(success);
}

/// If the server does not restart, the run reports that it waits, and waits at most 10 s.
#[test]
fn a_run_on_a_killed_server_has_no_result() {
    let server = own_postgres();
    let hammer = HammerdbCli::on(&server, "gone");
    ok_stdout(&hammer.execute(&hammer.build_script(1, 1)));
    let mut command = hammer.command();
    command.env("PRONY_HAMMERDB_MINUTE", "5s");
    let mut child = hammer.start(command, &hammer.test_script(0, 2));
    let mut stdout = read_until(&mut child, "Timing test period of 1 in minutes");
    std::thread::sleep(Duration::from_secs(1));
    server.kill();
    let output = hammer.finish(child);
    stdout += &stdout_text(&output);
    assert_eq!(output.status.code(), Some(0), "{stdout}");
    let notice = "The server does not answer: waiting up to 10 s for its counts";
    stdout.assert_contains(notice);
    errors(&stdout)[0].assert_contains("could not be read");
    stdout.assert_lacks("NOPM");
}

/// Reads the output of a command until it contains `text`.
fn read_until(child: &mut Child, text: &str) -> String {
    let pipe = child.stdout.as_mut().expect("piped");
    let (mut stdout, mut bytes) = (String::new(), [0; 4096]);
    while !stdout.contains(text) {
        let count = pipe.read(&mut bytes).expect("a pipe");
        assert!(count > 0, "it ended: {stdout}");
        stdout += &String::from_utf8_lossy(&bytes[..count]);
    }
    stdout
}

/// Asserts that an interrupted run is stored and has no result.
fn check_interrupted_run(hammer: &HammerdbCli) {
    let mut command = hammer.command();
    command.env_remove("PRONY_HAMMERDB_MINUTE");
    let mut child = hammer.start(command, &hammer.test_script(0, 2));
    let mut stdout = read_until(&mut child, "Timing test period of 1 in minutes");
    // Wait until at least one second is stored.
    wait_until(&hammer.bench.home, |run| !run.series.is_empty());
    send_signal(&child, "-INT");
    let output = hammer.finish(child);
    stdout += &stdout_text(&output);
    assert!(
        output.status.code().is_none(),
        "ended by the signal: {output:?}"
    );
    stdout.assert_lacks("NOPM");
    let run = last_run(&hammer.bench);
    let expected = format!(
        "the run was ended by SIGINT (Ctrl-C); the measured part is stored: prony show {}",
        run.id
    );
    errors(&stdout)[0].assert_contains(&expected);
    assert_eq!(run.state, RunState::Partial);
}

/// Asserts that a virtual user ends at its first error if pg_raiseerror is set, and continues otherwise.
fn check_raiseerror(hammer: &HammerdbCli) {
    let mut control = connect(&shared_postgres().url_for("broken"));
    control.run("ALTER TABLE new_order ADD CONSTRAINT full_up CHECK (no_o_id < 0) NOT VALID");
    let script = hammer.test_script(0, 2);
    for (raise, minute, line) in [
        (
            "false",
            "2s",
            "Vuser 2:New Order Procedure Error set RAISEERROR for Details",
        ),
        (
            "true",
            // The virtual users end before the minute does.
            "60s",
            "Error in Virtual User 2: New Order failed with SQLSTATE 23514",
        ),
    ] {
        let script = script.replace(
            "loadscript",
            &format!(
                "diset tpcc pg_storedprocs true\ndiset tpcc pg_raiseerror {raise}\nloadscript"
            ),
        );
        let mut command = hammer.command();
        command.env("PRONY_HAMMERDB_MINUTE", minute);
        let child = hammer.start(command, &script);
        let output = hammer.finish(child);
        let stdout = ok_stdout(&output);
        assert!(
            lines(&stdout).iter().any(|printed| printed == line),
            "{line}: {stdout}"
        );
        assert_eq!(
            stdout.contains("Vuser 2:FINISHED FAILED"),
            raise == "true",
            "{stdout}"
        );
        for text in [
            "NOPM",
            "1:pg_storedprocs is not supported: each transaction called a function",
        ] {
            assert_eq!(stdout.contains(text), raise == "false", "{text}: {stdout}");
        }
        let stderr = stderr_text(&output);
        stderr.assert_contains("of new-order failed: other (SQLSTATE 23514): ");
    }
    control.run("ALTER TABLE new_order DROP CONSTRAINT full_up");
}

/// Asserts that the test driver prints the name of each transaction and ends after pg_total_iterations.
fn check_test_driver(hammer: &HammerdbCli) {
    let script = format!(
        "{}diset tpcc pg_raiseerror false\ndiset tpcc pg_driver test\n\
         diset tpcc pg_total_iterations 7\nvuset vu 2\nloadscript\nvucreate\n\
         set job [ vurun ]\nputs \"ended $job\"\nvustatus\nvudestroy\n",
        hammer.login_lines()
    );
    let path = hammer.bench.home.write("test.tcl", script);
    let mut command = hammer.command();
    command.args(["tcl", "auto"]).arg(&path);
    command.env("PRONY_HAMMERDB_COMPAT", "4.6");
    let child = hammer.start(command, "");
    let output = child.wait_with_output().expect("it ends");
    std::fs::remove_file(&path).expect("the file exists");
    let output = hammer.assert_no_password(output);
    let stdout = ok_stdout(&output);
    let workload = last_run(&hammer.bench).workload;
    assert_eq!(workload.setting("profile"), Some("hammerdb-4.6"));
    let printed_lines = lines(&stdout);
    let kinds = [
        "new order",
        "payment",
        "delivery",
        "order status",
        "stock level",
    ];
    for user in [1, 2] {
        let is_kind = |line: &&String| {
            let text = line.strip_prefix(&format!("Vuser {user}:"));
            text.is_some_and(|text| kinds.contains(&text))
        };
        assert_eq!(printed_lines.iter().filter(is_kind).count(), 7, "{stdout}");
    }
    assert!(
        printed_lines.contains(&"2 = FINISH SUCCESS".to_owned()),
        "{stdout}"
    );
    stdout.assert_contains("ended jobid=");
}
