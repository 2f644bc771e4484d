//! Errors, and their messages.

use super::{Hammer, lines};
use crate::common::{WAIT_TIMEOUT, control, last, number, ok, signal, stderr_text};
use prony_server::embedded::{self, EmbeddedOptions, EmbeddedPostgres, shared_postgres};
use prony_store::RunState;
use std::io::Read;
use std::process::Child;
use std::time::{Duration, Instant};

/// The lines that begin with `Error`.
fn errors(shown: &str) -> Vec<String> {
    let mut all = lines(shown);
    all.retain(|line| line.starts_with("Error"));
    all
}

#[test]
fn mistakes_are_reported_and_change_nothing() {
    let hammer = Hammer::new("mistakes");
    let head = hammer.head();
    let fails = |more: &str, expected: &str| {
        let shown = ok(&hammer.input(&format!("{head}{more}vudestroy\nquit\n")));
        assert!(shown.contains(expected), "{expected}: {shown}");
        shown
    };
    let wrong = fails(
        "diset tpcc pg_superuserpass wrong\nbuildschema\n",
        "FATAL:  password authentication failed for user \"postgres\"",
    );
    assert!(wrong.contains("Vuser 1:FINISHED FAILED"), "{wrong}");
    fails(
        "diset tpcc pg_num_vu 3\ndiset tpcc pg_count_ware 2\nbuildschema\n",
        "You have 3 virtual users building 2 warehouses",
    );
    fails(
        "diset tpcc pg_num_vu 1\n",
        "Changed tpcc:pg_num_vu from 3 to 1",
    );
    let mut control = hammer.bench.control();
    control
        .execute("CREATE TABLE mine (n int)")
        .expect("a table");
    let database = "diset tpcc pg_dbase mistakes_beside\n";
    fails(
        &format!("{database}buildschema\n"),
        "Database mistakes_beside exists but is not empty, specify a new or empty database name",
    );
    // A refused build changes no password, and tables that are not TPROC-C's are not dropped.
    control
        .execute("CREATE ROLE mistakes LOGIN PASSWORD 'of-before'")
        .expect("a role");
    fails(&format!("{database}buildschema\n"), "is not empty");
    let before = hammer.bench.url.replace(
        &format!("postgres:{}@", hammer.bench.password),
        "mistakes:of-before@",
    );
    assert_eq!(number(&mut crate::common::control(&before), "SELECT 7"), 7);
    control.execute("DROP ROLE mistakes").expect("it goes");
    fails(
        &format!("{database}deleteschema\n"),
        "contains tables that are not TPROC-C's (mine...): nothing was deleted",
    );
    assert_eq!(number(&mut control, "SELECT count(*) FROM mine"), 0);
    let postgres = format!(
        "{database}diset tpcc pg_user postgres\ndiset tpcc pg_pass {}\n",
        hammer.bench.password
    );
    let none = fails(
        &format!("{postgres}loadscript\nvurun\n"),
        "table item is missing",
    );
    assert!(none.contains("buildschema creates the schema"), "{none}");
    assert!(!none.contains("NOPM"), "{none}");
    fails(
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
        fails(unknown, complaint);
    }
    let databases = "SELECT count(*) FROM pg_database WHERE datname = 'mistakes'";
    assert_eq!(number(&mut control, databases), 0);
}

#[test]
fn a_script_that_changes_its_directory_uses_one_store() {
    let hammer = Hammer::new("hammer_folder");
    let (start, other) = (hammer.temp(), hammer.temp().join("other"));
    std::fs::create_dir_all(&other).expect("a folder");
    let mut command = hammer.command();
    command.current_dir(&start).env("PRONY_HOME", "./store");
    let child = hammer.start(command, "cd other\ndbset db mysql\nputs [pwd]\nquit\n");
    let output = hammer.assert_no_password(child.wait_with_output().expect("it ends"));
    assert!(ok(&output).contains("/temp/other\n"), "{output:?}");
    assert!(start.join("store/hammerdb/settings.json").is_file());
    assert!(!other.join("store").exists());
}

#[test]
fn interrupted_builds_and_runs_are_reported_and_stored() {
    let hammer = Hammer::new("broken");
    // The test does not wait for all fifty warehouses.
    let child = hammer.start(hammer.command(), &hammer.build(50, 2));
    let mut control = control(&shared_postgres().url());
    let loading = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'broken' AND query ILIKE 'copy stock %'";
    let begun = Instant::now();
    while number(&mut control, loading) == 0 {
        assert!(begun.elapsed() < WAIT_TIMEOUT, "it does not load");
        std::thread::sleep(Duration::from_millis(20));
    }
    signal(&child, "-INT");
    let output = hammer.assert_no_password(child.wait_with_output().expect("it ends"));
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.code().is_none(),
        "ended by the signal: {output:?}"
    );
    assert!(
        errors(&shown)[0].contains("the build was stopped"),
        "{shown}"
    );
    assert!(
        shown.contains("buildschema with the same settings continues"),
        "{shown}"
    );
    let check = format!(
        "{}diset tpcc pg_count_ware 50\ncheckschema\n",
        hammer.head()
    );
    let checked = String::from_utf8_lossy(&hammer.input(&check).stdout).into_owned();
    assert!(checked.contains("`buildschema` "), "{checked}");
    assert!(!checked.contains("prony load"), "{checked}");
    control
        .execute("DROP DATABASE broken WITH (FORCE)")
        .expect("it goes");

    let shown = ok(&hammer.input(&hammer.build(1, 1)));
    assert!(shown.contains("BROKEN SCHEMA COMPLETE"), "{shown}");
    interrupted(&hammer);
    ended_by_an_error(&hammer);
    tested(&hammer);
    numbers_taken(&hammer);
}

/// HammerDB before 4.11 leaves numbers of next orders that are already taken: a run sets them to free ones, or
/// reports why it cannot.
fn numbers_taken(hammer: &Hammer) {
    let mut control = control(&shared_postgres().url_for("broken"));
    let next = "SELECT d_next_o_id FROM district WHERE d_id = 3";
    let free = number(&mut control, next);
    for sql in [
        "UPDATE district SET d_next_o_id = 7 WHERE d_id = 3",
        "ALTER TABLE district ADD CONSTRAINT kept CHECK (d_next_o_id < 0) NOT VALID",
    ] {
        control.execute(sql).expect(sql);
    }
    let shown = ok(&hammer.input(&hammer.run(0, 1)));
    let reason = &errors(&shown)[0];
    assert!(reason.contains("setting d_next_o_id"), "{shown}");
    assert_eq!(number(&mut control, next), 7);
    control
        .execute("ALTER TABLE district DROP CONSTRAINT kept")
        .expect("it goes");
    let output = hammer.input(&hammer.run(0, 1));
    assert!(ok(&output).contains("NOPM"), "{}", ok(&output));
    let stderr = stderr_text(&output);
    assert!(stderr.contains("d_next_o_id of 1 district was"), "{stderr}");
    assert!(number(&mut control, next) >= free);
}

/// If a server is killed, the result is lost, but no data.
#[test]
fn a_run_waits_for_a_killed_server_and_reports_it() {
    let installation = embedded::find().expect("PostgreSQL's programs");
    let server =
        EmbeddedPostgres::start(&installation, &EmbeddedOptions::default()).expect("it starts");
    let hammer = Hammer::on(&server, "killed");
    ok(&hammer.input(&hammer.build(1, 1)));
    let mut command = hammer.command();
    command.env("PRONY_HAMMERDB_MINUTE", "10s");
    let mut child = hammer.start(command, &hammer.run(0, 2));
    let mut shown = until(&mut child, "Timing test period of 1 in minutes");
    std::thread::sleep(Duration::from_secs(2));
    server.kill();
    server.restart().expect("it comes back");
    let output = hammer.assert_no_password(child.wait_with_output().expect("it ends"));
    shown += &String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    assert!(!shown.contains("NOPM"), "{shown}");
    let reason = &errors(&shown)[0];
    assert!(
        reason.contains("lost its count of transactions") || reason.contains("could not be read"),
        "{shown}"
    );
    let checked = ok(&hammer.input(&format!("{}checkschema\n", hammer.head())));
    let fine = "killed TPROC-C Schema has been checked successfully.";
    assert!(checked.contains(fine), "{checked}");
}

/// The wait for a server that stays away is reported, and is short.
#[test]
fn a_server_that_does_not_return_is_reported() {
    let installation = embedded::find().expect("PostgreSQL's programs");
    let server =
        EmbeddedPostgres::start(&installation, &EmbeddedOptions::default()).expect("it starts");
    let hammer = Hammer::on(&server, "gone");
    ok(&hammer.input(&hammer.build(1, 1)));
    let mut command = hammer.command();
    command.env("PRONY_HAMMERDB_MINUTE", "5s");
    let mut child = hammer.start(command, &hammer.run(0, 2));
    let mut shown = until(&mut child, "Timing test period of 1 in minutes");
    std::thread::sleep(Duration::from_secs(1));
    server.kill();
    let output = hammer.assert_no_password(child.wait_with_output().expect("it ends"));
    shown += &String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    let waits = "The server does not answer: waiting up to 10 s for its counts";
    assert!(shown.contains(waits), "{shown}");
    assert!(errors(&shown)[0].contains("could not be read"), "{shown}");
    assert!(!shown.contains("NOPM"), "{shown}");
}

/// Its output up to this text, which must occur.
fn until(child: &mut Child, text: &str) -> String {
    let stdout = child.stdout.as_mut().expect("piped");
    let (mut shown, mut bytes) = (String::new(), [0; 4096]);
    while !shown.contains(text) {
        let count = stdout.read(&mut bytes).expect("a pipe");
        assert!(count > 0, "it ended: {shown}");
        shown += &String::from_utf8_lossy(&bytes[..count]);
    }
    shown
}

/// An interrupted run has no result, and is stored.
fn interrupted(hammer: &Hammer) {
    let mut command = hammer.command();
    command.env_remove("PRONY_HAMMERDB_MINUTE");
    let mut child = hammer.start(command, &hammer.run(0, 2));
    let mut shown = until(&mut child, "Timing test period of 1 in minutes");
    // At least one second of it must be stored.
    crate::common::until(&hammer.bench.home, |run| !run.series.is_empty());
    signal(&child, "-INT");
    let output = hammer.assert_no_password(child.wait_with_output().expect("it ends"));
    shown += &String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.code().is_none(),
        "ended by the signal: {output:?}"
    );
    assert!(!shown.contains("NOPM"), "{shown}");
    let run = last(&hammer.bench);
    let expected = format!(
        "the run was ended by SIGINT (Ctrl-C); the measured part is stored: prony show {}",
        run.id
    );
    assert!(errors(&shown)[0].contains(&expected), "{shown}");
    assert_eq!(run.state, RunState::Partial);
}

/// With pg_raiseerror, a virtual user ends at its first error.
fn ended_by_an_error(hammer: &Hammer) {
    let mut control = control(&shared_postgres().url_for("broken"));
    control
        .execute("ALTER TABLE new_order ADD CONSTRAINT full_up CHECK (no_o_id < 0) NOT VALID")
        .expect("a constraint");
    let script = hammer.run(0, 2);
    for (raise, minute, line) in [
        (
            "false",
            "2s",
            "Vuser 2:New Order Procedure Error set RAISEERROR for Details",
        ),
        (
            "true",
            // They end long before.
            "60s",
            "Error in Virtual User 2: New Order failed with SQLSTATE 23514",
        ),
    ] {
        let script = script.replace(
            "loadscript",
            &format!("diset tpcc pg_raiseerror {raise}\nloadscript"),
        );
        let mut command = hammer.command();
        command.env("PRONY_HAMMERDB_MINUTE", minute);
        let child = hammer.start(command, &script);
        let output = hammer.assert_no_password(child.wait_with_output().expect("it ends"));
        let shown = ok(&output);
        assert!(
            lines(&shown).iter().any(|printed| printed == line),
            "{line}: {shown}"
        );
        assert_eq!(
            shown.contains("Vuser 2:FINISHED FAILED"),
            raise == "true",
            "{shown}"
        );
        assert_eq!(shown.contains("NOPM"), raise == "false", "{shown}");
        let stderr = stderr_text(&output);
        assert!(
            stderr.contains("of new-order failed: other (SQLSTATE 23514): "),
            "{stderr}"
        );
    }
    control
        .execute("ALTER TABLE new_order DROP CONSTRAINT full_up")
        .expect("it goes");
}

/// The test driver prints the name of each transaction, and ends after a number of them.
fn tested(hammer: &Hammer) {
    let path = hammer.bench.home.join("test.tcl");
    let script = format!(
        "{}diset tpcc pg_raiseerror false\ndiset tpcc pg_driver test\n\
         diset tpcc pg_total_iterations 7\nvuset vu 2\nloadscript\nvucreate\n\
         set job [ vurun ]\nputs \"ended $job\"\nvustatus\nvudestroy\n",
        hammer.head()
    );
    std::fs::write(&path, script).expect("a file");
    let mut command = hammer.command();
    command.args(["tcl", "auto"]).arg(&path);
    command.env("PRONY_HAMMERDB_COMPAT", "4.6");
    let child = hammer.start(command, "");
    let output = child.wait_with_output().expect("it ends");
    std::fs::remove_file(&path).expect("there");
    let output = hammer.assert_no_password(output);
    let shown = ok(&output);
    let workload = last(&hammer.bench).workload;
    assert_eq!(workload.setting("profile"), Some("hammerdb-4.6"));
    let printed_lines = lines(&shown);
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
        assert_eq!(printed_lines.iter().filter(is_kind).count(), 7, "{shown}");
    }
    assert!(
        printed_lines.contains(&"2 = FINISH SUCCESS".to_owned()),
        "{shown}"
    );
    assert!(shown.contains("ended jobid="), "{shown}");
}
