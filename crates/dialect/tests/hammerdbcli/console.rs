//! How the console is fed: files, standard input, arguments.

use crate::hammer::world::Fake;
use crate::support::{auto, input, lines};
use prony_dialect::hammerdb::{Console, Invocation, Session, Settings, read};

#[test]
fn a_script_with_loops_and_files_runs() {
    let (world, status) = auto(
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
    let users: Vec<u32> = world.runs.iter().map(|run| run.vusers).collect();
    assert_eq!(users, [1, 2, 4]);
    assert!(world.runs.iter().all(|run| run.login.host == "10.0.0.5"));
    assert_eq!(world.memory.slept_ms, 15_000);
    assert_eq!(
        world.memory.files["/tmp/pg_tprocc"],
        "jobid=6B00C84B660B03E283635333\n".repeat(3)
    );
    assert_eq!(world.memory.error, "invalid command name \"nosuch\"\n");
    let said = lines(&world.memory.out);
    assert_eq!(said[0], "SETTING CONFIGURATION");
    assert_eq!(
        said[said.len() - 2..],
        [
            "TEST COMPLETE 2",
            "Changed commandline:keepalive_margin from 10 to 60 for generic"
        ]
    );
}

#[test]
fn input_waits_for_a_whole_command_and_goes_on_after_an_error() {
    let mut world = Fake::default();
    let (console, status) = input(
        &mut world,
        Settings::default(),
        "foreach z {1 2} {\nvuset vu $z\n}\nnosuch\nset a 5\nputs \"a",
    );
    assert_eq!((status, console.prompt()), (None, ""));
    assert_eq!(
        world.memory.out,
        "\n\n\n\n\ninvalid command name \"nosuch\"\n\n5\n\n"
    );
    let mut console = console;
    assert_eq!(console.end(&mut world), 1);
    assert_eq!(world.memory.error, "missing \"\n");
    let mut console = Console::new(Session::default(), true);
    assert_eq!(console.prompt(), "hammerdb>");
    console.line(&mut world, "if 1 {");
    assert_eq!(console.prompt(), "> ");
    world.stopped = true;
    assert_eq!(console.line(&mut world, "puts x }"), Some(130));
}

#[test]
fn deleting_asks_and_answers() {
    let (world, _) = auto("deleteschema\nvudestroy");
    assert_eq!(world.deleted.len(), 1);
    assert!(world.memory.out.starts_with("Script cleared\n\rDeleting schema with 1 Virtual User\nDo you want to delete the TPCC TPROC-C schema and role TPCC\n in host LOCALHOST:5432 under user POSTGRES?\n\rEnter yes or no: replied yes\n\rVuser 1 created - WAIT IDLE\n\r"));
}

#[test]
fn arguments_choose_the_way() {
    assert_eq!(read::<&str>(&[]), Ok(Invocation::Input));
    assert_eq!(read(&["tcl"]), Ok(Invocation::Input));
    assert_eq!(
        read(&["auto", "x.tcl"]),
        Ok(Invocation::Auto("x.tcl".to_owned()))
    );
    assert_eq!(
        read(&["tcl", "auto", "x.tcl"]),
        Ok(Invocation::Auto("x.tcl".to_owned()))
    );
    assert!(
        read(&["py", "auto", "x.py"])
            .unwrap_err()
            .contains("Python")
    );
    assert!(read(&["auto"]).unwrap_err().starts_with("Usage:"));
}
