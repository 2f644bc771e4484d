//! The inputs of the console: files, standard input and arguments.

use crate::hammer::backend::FakeBackend;
use crate::support::{lines, run_file, run_input};
use prony_assertions::TextAssertions;
use prony_dialect::hammerdb::{Console, Invocation, Session, Settings, parse_args};

#[test]
fn scripts_may_use_loops_and_files() {
    let (backend, status) = run_file(
        "#!/bin/tclsh
         puts \"SETTING CONFIGURATION\"
         dbset db pg
         diset connection pg_host $::env(PGHOST)
         set tmpdir /tmp
         proc wait_for {seconds} {
             set x 0
             while {!$x} { incr x; after [expr {$seconds * 1000}]; if { [vucomplete] } { break } }
         }
         foreach z { 1 2 4 } {
             puts \"$z VU TEST\"
             vuset vu $z
             vucreate
             set jobid [ vurun ]
             wait_for 5
             vudestroy
             set of [ open $tmpdir/pg_tprocc a ]
             puts $of $jobid
             close $of
         }
         puts \"TEST COMPLETE [ llength [ list a b ] ]\"
         giset commandline keepalive_margin 60
         if { [catch {nosuch} message] } { puts stderr $message } else { puts never }
         exit 3",
    );
    assert_eq!(status, 3);
    let users: Vec<u32> = backend.runs.iter().map(|run| run.vusers).collect();
    assert_eq!(users, [1, 2, 4]);
    assert!(backend.runs.iter().all(|run| run.login.host == "10.0.0.5"));
    assert_eq!(backend.memory.slept_ms, 15_000);
    assert_eq!(
        backend.memory.files["/tmp/pg_tprocc"],
        "jobid=6B00C84B660B03E283635333\n".repeat(3)
    );
    assert_eq!(backend.memory.error, "invalid command name \"nosuch\"\n");
    let printed = lines(&backend.memory.out);
    assert_eq!(printed[0], "SETTING CONFIGURATION");
    assert_eq!(
        printed[printed.len() - 2..],
        [
            "TEST COMPLETE 2",
            "Changed commandline:keepalive_margin from 10 to 60 for generic"
        ]
    );
}

#[test]
fn input_waits_for_complete_commands_and_continues_after_errors() {
    let mut backend = FakeBackend::default();
    let (console, status) = run_input(
        &mut backend,
        Settings::default(),
        "foreach z {1 2} {\nvuset vu $z\n}\nnosuch\nset a 5\nputs \"a",
    );
    assert_eq!((status, console.prompt()), (None, ""));
    assert_eq!(
        backend.memory.out,
        "\n\n\n\n\ninvalid command name \"nosuch\"\n\n5\n\n"
    );
    let mut console = console;
    assert_eq!(console.end_input(&mut backend), 1);
    assert_eq!(backend.memory.error, "missing \"\n");
    let mut console = Console::new(Session::default(), true);
    assert_eq!(console.prompt(), "hammerdb>");
    console.run_line(&mut backend, "if 1 {");
    assert_eq!(console.prompt(), "> ");
    backend.memory.is_stopped = true;
    assert_eq!(console.run_line(&mut backend, "puts x }"), Some(130));
}

#[test]
fn deleting_prints_the_question_and_its_answer() {
    let (backend, _) = run_file("deleteschema\nvudestroy");
    assert_eq!(backend.delete_requests.len(), 1);
    backend.memory.out.assert_starts_with("Script cleared\n\rDeleting schema with 1 Virtual User\nDo you want to delete the TPCC TPROC-C schema and role TPCC\n in host LOCALHOST:5432 under user POSTGRES?\n\rEnter yes or no: replied yes\n\rVuser 1 created - WAIT IDLE\n\r");
}

#[test]
fn arguments_select_the_input() {
    assert_eq!(parse_args::<&str>(&[]), Ok(Invocation::Input));
    assert_eq!(parse_args(&["tcl"]), Ok(Invocation::Input));
    assert_eq!(
        parse_args(&["auto", "x.tcl"]),
        Ok(Invocation::Auto("x.tcl".to_owned()))
    );
    assert_eq!(
        parse_args(&["tcl", "auto", "x.tcl"]),
        Ok(Invocation::Auto("x.tcl".to_owned()))
    );
    parse_args(&["py", "auto", "x.py"])
        .unwrap_err()
        .assert_contains("Python");
    parse_args(&["auto"])
        .unwrap_err()
        .assert_starts_with("Usage:");
}
