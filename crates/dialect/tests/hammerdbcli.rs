//! Scripts as HammerDB's users write them, and what HammerDB 4.6 printed for them.

#[allow(dead_code)]
mod hammer;

use hammer::world::Fake;
use prony_dialect::hammerdb::text::{counted, counter_log_header, log, log_header, share};
use prony_dialect::hammerdb::{
    BuildLine, Console, Driver, Invocation, ProcTiming, Product, RunLine, Session, Settings,
    TimeProfile, UserTiming, compat, read,
};
use proptest::prelude::*;

/// Feeds a script by standard input, as `hammerdbcli << EOF` does.
fn input(world: &mut Fake, settings: Settings, script: &str) -> (Console, Option<u8>) {
    let mut console = Console::new(Session::new(settings), false);
    for line in script.lines() {
        if let Some(status) = console.line(world, line) {
            return (console, Some(status));
        }
    }
    (console, None)
}

fn auto(script: &str) -> (Fake, u8) {
    let mut world = Fake::default();
    world
        .memory
        .files
        .insert("s.tcl".to_owned(), script.to_owned());
    let mut console = Console::new(Session::default(), false);
    let status = console.run_file(&mut world, "s.tcl");
    (world, status)
}

/// The lines of an output, without the carriage returns and the empty ones.
fn lines(out: &str) -> Vec<&str> {
    let all = out.lines().map(|line| line.trim_matches('\r'));
    all.filter(|line| !line.is_empty()).collect()
}

const BUILD: &str = "
# Connection
dbset db pg
dbset bm tpc-c

# Where
diset connection pg_host 10.0.0.5
diset connection pg_port 5432

# Who and how much
diset tpcc pg_superuser postgres
diset tpcc pg_superuserpass AlloyDB#123
diset tpcc pg_user tpcc
diset tpcc pg_pass AlloyDB#123
diset tpcc pg_dbase tpcc
diset tpcc pg_count_ware 576
diset tpcc pg_num_vu 10

vuset logtotemp 1
print dict
buildschema
waittocomplete
vudestroy
quit
";

#[test]
fn the_guides_build_script_asks_for_what_it_says() {
    let mut world = Fake::default();
    let (_, status) = input(&mut world, Settings::default(), BUILD);
    assert_eq!(status, Some(0));
    let request = &world.builds[0];
    assert_eq!(world.builds.len(), 1);
    assert_eq!((request.warehouses, request.vusers), (576, 10));
    assert_eq!(request.superuser.host, "10.0.0.5");
    assert_eq!(request.superuser.port, 5432);
    assert_eq!(request.superuser.user, "postgres");
    assert_eq!(request.superuser.database, "postgres");
    assert_eq!(request.superuser.password.reveal(), "AlloyDB#123");
    assert_eq!(
        (request.owner.user.as_str(), request.owner.database.as_str()),
        ("tpcc", "tpcc")
    );
    assert_eq!(request.owner.password.reveal(), "AlloyDB#123");
    assert!(!request.stored_procedures && !request.partition);
    assert_eq!(request.output.log.as_deref(), Some("/tmp/hammerdb.log"));

    let out = &world.memory.out;
    assert!(!out.contains("AlloyDB"), "a password was printed: {out}");
    // As recorded: two line ends for each line of input that prints nothing, the first of a
    // command's before its text.
    assert!(out.starts_with(
        "\n\n\n\n\nDatabase set to PostgreSQL\n\r\n\nBenchmark set to TPC-C for PostgreSQL\n\r\n\n\n\n\n\nChanged connection:pg_host from localhost to 10.0.0.5 for PostgreSQL\n\r\n"
    ));
    let tail = "ALL VIRTUAL USERS COMPLETE\n\r\n\nwaittocomplete command has been deprecated and is not required for version v4.6\n\r\n\nvudestroy success\n\r\n\nShutting down HammerDB CLI\n";
    assert!(out.ends_with(tail), "{out}");
    let said = lines(out);
    let at = said
        .iter()
        .position(|line| *line == "Script cleared")
        .unwrap();
    assert_eq!(
        said[at..at + 6],
        [
            "Script cleared",
            "Building 576 Warehouses with 11 Virtual Users, 10 active + 1 Monitor VU(dict value pg_num_vu is set to 10)",
            "Ready to create a 576 Warehouse PostgreSQL TPROC-C schema",
            "in host 10.0.0.5:5432 sslmode PREFER under user TPCC in database TPCC?",
            "Enter yes or no: replied yes",
            "Vuser 1 created - WAIT IDLE",
        ]
    );
    assert!(out.contains("Vuser 11 created - WAIT IDLE\n\rLogging activated\nto /tmp/hammerdb.log\n\rVuser 1:RUNNING\n\rVuser 1:CREATING TPCC SCHEMA\n\rVuser 1:CREATING DATABASE tpcc under OWNER tpcc\n\rVuser 1:TPCC SCHEMA COMPLETE\n\rVuser 1:FINISHED SUCCESS\n\r"));
    assert!(out.contains("Value postgres for tpcc:pg_superuser is the same as existing value postgres, no change made\n\r"));
}

const RUN: &str = "
dbset db pg
dbset bm tpc-c
diset connection pg_host 10.0.0.5
diset tpcc pg_user postgres
diset tpcc pg_pass AlloyDB#123
diset tpcc pg_driver timed
diset tpcc pg_rampup 10
diset tpcc pg_duration 60
diset tpcc pg_vacuum false
diset tpcc pg_partition false
diset tpcc pg_allwarehouse true
diset tpcc pg_timeprofile true
diset tpcc pg_connect_pool false
diset tpcc pg_dritasnap false
vuset vu 256
loadscript
vucreate
vurun
waittocomplete
quit
";

#[test]
fn the_guides_run_script_asks_for_what_it_says() {
    let mut world = Fake::default();
    let (_, status) = input(&mut world, Settings::default(), RUN);
    assert_eq!(status, Some(0));
    let request = &world.runs[0];
    assert_eq!(world.runs.len(), 1);
    let timed = Driver::Timed {
        rampup_min: 10,
        duration_min: 60,
        vacuum: false,
    };
    assert_eq!(request.driver, timed);
    assert_eq!((request.vusers, request.iterations), (256, 10_000_000));
    assert!(request.all_warehouses && !request.key_and_think && !request.stored_procedures);
    assert_eq!(
        request.time_profile.as_deref(),
        Some("/tmp/hdbxtprofile.log")
    );
    assert_eq!(
        (request.user_delay_ms, request.output.log.as_deref()),
        (500, None)
    );
    assert_eq!(request.login.user, "postgres");
    assert_eq!(request.login.password.reveal(), "AlloyDB#123");
    assert!(!format!("{request:?} {world_saved:?}", world_saved = world.saved).contains("AlloyDB"));

    let out = &world.memory.out;
    assert!(!out.contains("AlloyDB"));
    assert!(out.contains(
        "Value timed for tpcc:pg_driver is the same as existing value timed, no change made\n\r\n"
    ));
    assert!(out.contains("Script loaded, Type \"print script\" to view\n\r\n\nVuser 1 created MONITOR - WAIT IDLE\n\rVuser 2 created - WAIT IDLE\n\r"));
    assert!(out.contains("Vuser 257 created - WAIT IDLE\n\r257 Virtual Users Created with Monitor VU\n\r\n\nVuser 1:RUNNING\n\rVuser 1:Beginning rampup time of 10 minutes\n\r"));
    let found: Vec<&str> = out.lines().filter(|line| line.contains("NOPM")).collect();
    assert_eq!(
        found,
        ["\rVuser 1:TEST RESULT : System achieved 252970 NOPM from 582385 PostgreSQL TPM"]
    );
    assert!(out.contains("\rALL VIRTUAL USERS COMPLETE\n\rjobid=6B00C84B660B03E283635333\n"));
}

#[test]
fn the_dictionary_prints_as_hammerdb_does() {
    let (world, status) = auto("dbset db pg\ndiset connection pg_port 6202\nprint dict");
    assert_eq!(status, 0);
    assert!(world.memory.out.starts_with("Database set to PostgreSQL\n\rChanged connection:pg_port from 5432 to 6202 for PostgreSQL\n\rDictionary Settings for PostgreSQL\nconnection {\n pg_host    = localhost\n pg_port    = 6202\n pg_sslmode = prefer\n}\ntpcc       {\n pg_count_ware       = 1\n pg_num_vu           = 1\n pg_superuser        = postgres\n pg_superuserpass    = ********\n pg_defaultdbase     = postgres\n"));
    assert!(
        world
            .memory
            .out
            .ends_with(" pg_async_delay      = 1000\n pg_connect_pool     = false\n}\n")
    );
    let (world, _) = auto("dbset db maria\nprint dict");
    assert!(
        world
            .memory
            .out
            .contains("\n maria_ssl_windows_capath = C:\\mysql\\certs\n")
    );
}

#[test]
fn complaints_are_hammerdbs() {
    let (world, status) = auto(
        "diset tpcc nosuchkey 1\ndiset nosuchdict a 1\ndbset db nosuch\ndbset bm nosuch\nvuset foo 1
         diset tpcc pg_port 1\ndiset tpcc pg_driver never\ndiset tpcc pg_driver test\nvuset vu x\nvuset logtotemp 2",
    );
    assert_eq!(status, 0);
    assert_eq!(
        lines(&world.memory.out),
        [
            "Dictionary \"tpcc\" for PostgreSQL exists but key \"nosuchkey\" doesn't, key \"nosuchkey\" cannot be found in any PostgreSQL dictionary",
            "Type \"print dict\" for valid dictionaries and keys for PostgreSQL",
            "Usage: diset dict key value",
            "Dictionary \"nosuchdict\" for PostgreSQL does not exist",
            "Type \"print dict\" for valid dictionaries and keys for PostgreSQL",
            "Unknown prefix nosuch, choose one from ora mssqls db2 mysql pg maria",
            "Unknown benchmark NOSUCH, choose one from TPROC-C TPROC-H (or compatible names TPC-C TPC-H)",
            "Error: invalid option",
            "Usage: vuset [vu|delay|repeat|iterations|showoutput|logtotemp|unique|nobuff|timestamps] value",
            "Dictionary \"tpcc\" for PostgreSQL exists but key \"pg_port\" doesn't, key \"pg_port\" is in the \"connection\" dictionary",
            "Type \"print dict\" for valid dictionaries and keys for PostgreSQL",
            "Clearing Script, reload script to activate new setting",
            "Script cleared",
            "Error: Driver script must be either \"test\" or \"timed\"",
            "Clearing Script, reload script to activate new setting",
            "Script cleared",
            "Changed tpcc:pg_driver from timed to test for PostgreSQL",
            "The number of virtual users must be an integer",
            "setting to value: Log Output must be 0 or 1",
            "setting to value: ",
        ]
    );
    let (world, status) = auto("dbset db pg\nnosuchcommand 1");
    assert_eq!(status, 1);
    assert!(
        world
            .memory
            .error
            .starts_with("invalid command name \"nosuchcommand\"\n")
    );
}

#[test]
fn a_request_that_cannot_be_is_refused() {
    let (world, _) = auto(
        "diset tpcc pg_count_ware 2\ndiset tpcc pg_num_vu 3\nbuildschema\ndiset tpcc pg_count_ware x\nbuildschema
         diset tpcc pg_async_scale true\ndiset tpcc pg_rampup -1\nvurun\ndbset db mysql
         diset tpcc mysql_storage_engine tokudb\nbuildschema\ndiset tpcc mysql_duration x\nvurun",
    );
    assert!(world.builds.is_empty() && world.runs.is_empty());
    let said = lines(&world.memory.out);
    for expected in [
        "Error:Build virtual users must be less than or equal to number of warehouses",
        "You have 3 virtual users building 2 warehouses",
        "Error: pg_count_ware must be an integer of 1 or greater, not \"x\"",
        "Error: Prony does not offer pg_async_scale: diset tpcc pg_async_scale false",
        "Error: pg_rampup must be an integer of 0 to 1000000, not \"-1\"",
        "Error: Prony does not offer mysql_storage_engine tokudb: diset tpcc mysql_storage_engine innodb",
        "Error: mysql_duration must be an integer of 1 to 1000000, not \"x\"",
    ] {
        assert!(said.contains(&expected), "{expected}\n{said:#?}");
    }
}

/// The commands and the texts of the recorded session with MariaDB.
#[test]
fn mariadb_is_asked_for_by_its_own_settings() {
    let (world, status) = auto(
        "dbset db maria\ndbset bm TPC-C
         diset connection maria_host localhost\ndiset connection maria_port 6201
         diset connection maria_socket /tmp/mysql.sock
         diset tpcc maria_user maria\ndiset tpcc maria_pass geheim\ndiset tpcc maria_count_ware 2
         buildschema\nvudestroy
         diset tpcc maria_num_vu 2\ndiset connection maria_socket null\nbuildschema\nvudestroy
         diset tpcc maria_rampup 0\ndiset tpcc maria_duration 1\ndiset tpcc maria_timeprofile true
         diset tpcc maria_allwarehouse true\ndiset connection maria_ssl true
         loadscript\nprint dict\nvuset vu 1\nvurun\nvudestroy\ncheckschema\nvudestroy\ndeleteschema",
    );
    assert_eq!(status, 0);
    let [one, two] = &world.builds[..] else {
        panic!("two builds");
    };
    assert_eq!((one.warehouses, one.vusers), (2, 1));
    assert_eq!(one.owner.socket.as_deref(), Some("/tmp/mysql.sock"));
    assert_eq!(
        (one.owner.user.as_str(), one.owner.database.as_str()),
        ("maria", "tpcc")
    );
    assert_eq!(
        (one.superuser.user.as_str(), one.superuser.database.as_str()),
        ("maria", "")
    );
    assert_eq!(one.owner.password.reveal(), "geheim");
    assert_eq!(
        (one.owner.ssl.clone(), one.owner.product),
        (None, Product::MariaDb)
    );
    assert_eq!((two.owner.socket.as_deref(), two.owner.port), (None, 6201));
    let run = &world.runs[0];
    assert!(run.all_warehouses && run.time_profile.is_some() && !run.stored_procedures);
    let ssl = run.login.ssl.as_ref().expect("it is asked for");
    assert_eq!(
        (ssl.ca.as_str(), &ssl.own),
        ("/etc/mysql/certs/ca-cert.pem", &None)
    );
    let Driver::Timed {
        rampup_min,
        duration_min,
        vacuum,
    } = run.driver
    else {
        panic!("timed");
    };
    assert_eq!((rampup_min, duration_min, vacuum), (0, 1, false));
    assert_eq!(world.deleted[0].owner.database, "tpcc");
    let out = &world.memory.out;
    assert!(!out.contains("geheim"), "{out}");
    let said = lines(out);
    for expected in [
        "Database set to MariaDB",
        "Benchmark set to TPC-C for MariaDB",
        "Changed connection:maria_host from 127.0.0.1 to localhost for MariaDB",
        "Changed tpcc:maria_user from root to maria for MariaDB",
        "Building 2 Warehouses(s) with 1 Virtual User",
        "Ready to create a 2 Warehouse MariaDB TPROC-C schema",
        "in host LOCALHOST:/TMP/MYSQL.SOCK under user MARIA in database TPCC with storage engine INNODB?",
        "Building 2 Warehouses with 3 Virtual Users, 2 active + 1 Monitor VU(dict value maria_num_vu is set to 2)",
        "in host LOCALHOST:6201 under user MARIA in database TPCC with storage engine INNODB?",
        "Vuser 1:CREATING DATABASE tpcc",
        "Dictionary Settings for MariaDB",
        " maria_ssl_windows_capath = C:\\mysql\\certs",
        " maria_count_ware       = 2",
        "Vuser 1:TEST RESULT : System achieved 252970 NOPM from 582385 MariaDB TPM",
        "Do you want to check the TPCC TPROC-C schema",
        "Do you want to delete the TPCC TPROC-C schema",
        " in host LOCALHOST:6201 under user MARIA?",
    ] {
        assert!(said.contains(&expected), "{expected}\n{said:#?}");
    }
}

#[test]
fn states_follow_the_virtual_users() {
    let (world, _) = auto(
        "vuset vu 2\nvuset unique 1\nvuset logtotemp 1\nprint vuconf\nvustatus\nvurun\nvustatus\nputs [vucomplete]
         vucreate\nbuildschema\nvudestroy\nvudestroy\nputs [vucomplete]\nputs [numberOfCPUs]",
    );
    let said = lines(&world.memory.out);
    assert_eq!(
        said[..4],
        [
            "Virtual Users = 2",
            "User Delay(ms) = 500",
            "Repeat Delay(ms) = 500",
            "Iterations = 1"
        ]
    );
    assert_eq!(said[9], "No Virtual Users found");
    assert_eq!(world.runs[0].vusers, 2);
    assert_eq!(
        world.runs[0].output.log.as_deref(),
        Some("/tmp/hammerdb_6B00C84B660B03E283635333.log")
    );
    let at = said
        .iter()
        .position(|line| *line == "ALL VIRTUAL USERS COMPLETE")
        .unwrap();
    assert_eq!(
        said[at + 1..],
        [
            "1 = FINISH SUCCESS",
            "2 = FINISH SUCCESS",
            "3 = FINISH FAILED",
            "true",
            "Error: Virtual Users exist, destroy with vudestroy before creating",
            "Error: Cannot build schema with Virtual Users active, destroy Virtual Users first",
            "vudestroy success",
            "No Virtual Users found to destroy",
            "false",
            "16",
        ]
    );
}

#[test]
fn users_of_a_build_or_of_another_driver_do_not_run() {
    for script in [
        "buildschema\nloadscript\nvurun",
        "diset tpcc pg_driver test\nvucreate\ndiset tpcc pg_driver timed\nloadscript\nvurun",
    ] {
        let (world, _) = auto(script);
        assert!(world.runs.is_empty());
        let said = lines(&world.memory.out);
        assert_eq!(
            *said.last().unwrap(),
            "Error: Virtual Users exist, destroy with vudestroy before creating"
        );
        let (world, _) = auto(&script.replace("vurun", "vudestroy\nvurun"));
        assert_eq!(world.runs[0].vusers, 1);
    }
}

#[test]
fn a_failed_build_says_why() {
    let mut world = Fake {
        refusal: Some("Database tpcc exists but is not empty".to_owned()),
        ..Fake::default()
    };
    input(&mut world, Settings::default(), "buildschema\nvustatus\n");
    assert!(world.memory.out.contains("\rVuser 1:RUNNING\n\rError in Virtual User 1: Database tpcc exists but is not empty\n\rVuser 1:FINISHED FAILED\n\rALL VIRTUAL USERS COMPLETE\n\r\n\n1 = FINISH FAILED\n\n"));
}

#[test]
fn settings_persist_without_passwords() {
    let mut world = Fake::default();
    input(&mut world, Settings::default(), BUILD);
    let stored = serde_json::to_string(&world.saved).unwrap();
    assert!(!stored.contains("AlloyDB"), "{stored}");
    let kept: Settings = serde_json::from_str(&stored).unwrap();
    let mut world = Fake::default();
    input(
        &mut world,
        kept,
        "diset tpcc pg_count_ware 576\nprint vuconf\n",
    );
    assert!(world.memory.out.contains(
        "Value 576 for tpcc:pg_count_ware is the same as existing value 576, no change made"
    ));
    assert!(world.memory.out.contains("Log Output = 1\n"));
    // What an older or newer version stored must not keep this one from starting.
    let odd: Settings = serde_json::from_str("{\"database\":\"pg\",\"new\":1}").unwrap();
    assert_eq!(odd, Settings::default());
}

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

#[test]
fn lines_are_those_of_the_recorded_runs() {
    let assigning = RunLine::Assigning {
        vuser: 2,
        warehouse: 1,
        users: 1,
        warehouses: 1,
        nth: 1,
        of: 1,
    };
    for (line, expected) in [
        (RunLine::Profiler, "Initializing xtprof time profiler"),
        (
            RunLine::RampupMinutes { minutes: 1 },
            "Rampup 1 minutes complete ...",
        ),
        (
            RunLine::RampupComplete,
            "Rampup complete, Taking start Transaction Count.",
        ),
        (
            RunLine::Timing { minutes: 1 },
            "Timing test period of 1 in minutes",
        ),
        (RunLine::Minute { minutes: 1 }, "1 ...,"),
        (
            RunLine::TestComplete,
            "Test complete, Taking end Transaction Count.",
        ),
        (
            RunLine::ActiveUsers { users: 3 },
            "3 Active Virtual Users configured",
        ),
        (
            assigning,
            "VU 2 : Assigning WID=1 based on VU count 1, Warehouses = 1 (1 out of 1)",
        ),
        (
            RunLine::Processing {
                iterations: 20,
                suppressed: false,
            },
            "Processing 20 transactions without output suppressed...",
        ),
        (
            RunLine::WritingTimings {
                path: "/tmp/hdbxtprofile.log".to_owned(),
            },
            "Writing timing data to /tmp/hdbxtprofile.log",
        ),
    ] {
        assert_eq!(line.to_string(), expected);
    }
    for (line, expected) in [
        (
            BuildLine::LoadingWarehouses { first: 2, last: 2 },
            "Loading 1 Warehouses start:2 end:2",
        ),
        (BuildLine::Items { rows: 10_000 }, "Loading Items - 10000"),
        (
            BuildLine::LoadingStock { warehouse: 2 },
            "Loading Stock Wid=2",
        ),
        (
            BuildLine::LoadingCustomer {
                district: 10,
                warehouse: 2,
            },
            "Loading Customer for DID=10 WID=2",
        ),
        (
            BuildLine::LoadingOrders {
                district: 1,
                warehouse: 1,
            },
            "Loading Orders for D=1 W=1",
        ),
        (BuildLine::Orders { rows: 3000 }, "...3000"),
        (
            BuildLine::Workers { active: 1, done: 1 },
            "Workers: 1 Active 1 Done",
        ),
    ] {
        assert_eq!(line.to_string(), expected);
    }
    let date = "Fri Nov 20 22:30:42 UTC 2026";
    assert_eq!(
        log_header(date),
        "Hammerdb Log @ Fri Nov 20 22:30:42 UTC 2026\n+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-\n"
    );
    let timing = RunLine::Timing { minutes: 1 };
    assert_eq!(
        log(1, timing, Some(date)),
        "Timestamp 1 @ Fri Nov 20 22:30:42 UTC 2026\nVuser 1:Timing test period of 1 in minutes\n"
    );
    assert_eq!(share(3, 2, 5), [2, 4, 1]);
    assert_eq!(share(4, 3, 1), [1]);
}

#[test]
fn the_time_profile_reads_as_xtprofs() {
    let proc = |name: &str, calls, total_ns| ProcTiming {
        name: name.to_owned(),
        calls,
        min_ns: 160_000,
        max_ns: 184_070_000,
        total_ns,
        p99_ns: 4_270_000,
        p95_ns: 1_271_000,
        p50_ns: 324_000,
        deviation_ns: 1_831_759.0,
    };
    let procs = vec![
        proc("OSTAT", 5385, 1_429_287_000),
        proc("NEWORD", 55_132, 29_908_957_000),
    ];
    let profile = TimeProfile {
        database: "PostgreSQL".to_owned(),
        date: "Fri Nov 20 22:24:08 UTC 2026".to_owned(),
        users: vec![UserTiming {
            vuser: 2,
            elapsed_ns: 59_885_000_000,
            procs: procs.clone(),
        }],
        summary: procs,
    };
    let text = profile.text();
    assert!(text.starts_with("PostgreSQL Hammerdb Time Profile Report @ Fri Nov 20 22:24:08 UTC 2026\n+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+\n>>>>> VIRTUAL USER 2 : ELAPSED TIME : 59885ms\n>>>>> PROC: NEWORD\nCALLS: 55132\tMIN: 0.160ms\tAVG: 0.542ms\tMAX: 184.070ms\tTOTAL: 29908.957ms\nP99: 4.270ms\tP95: 1.271ms\tP50: 0.324ms\tSD: 1831.759\tRATIO: 49.944%\n>>>>> PROC: OSTAT\n"), "{text}");
    assert!(
        text.contains(
            "\n>>>>> SUMMARY OF 1 ACTIVE VIRTUAL USERS : MEDIAN ELAPSED TIME : 59885ms\n"
        )
    );
    assert!(text.ends_with("RATIO: 2.387%\n+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+\n"));
}

#[test]
fn the_transaction_counter_goes_with_the_runs() {
    let (world, status) = auto(
        "tcset refreshrate 30\ntcset logtotemp 1\nvurun\ntcstart\ntcstatus\nvurun\ntcstop\nmetstart\nvurun",
    );
    assert_eq!(status, 0, "{}", world.memory.error);
    assert_eq!(world.runs[0].counter, None);
    let counter = world.runs[1].counter.as_ref().unwrap();
    assert_eq!(counter.refresh_s, 30);
    assert_eq!(counter.log.as_deref(), Some("/tmp/hdbtcount.log"));
    assert_eq!(world.runs[2].counter, None);
    let out = &world.memory.out;
    assert!(out.starts_with(
        "Transaction Counter refresh rate set to 30\n\rTransaction Counter log to temp set to 1\n\r"
    ));
    assert!(out.contains("Transaction Counter logging activated to /tmp/hdbtcount.log\n\rTransaction Counter Started\n\r"));
    assert!(out.contains("Stopping Transaction Counter\n\rClosed Transaction Counter Log\n\rProny's hammerdbcli does not offer metstart"));
    assert_eq!(
        counter_log_header("D"),
        "Hammerdb Transaction Counter Log @ D\n+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+\n"
    );
    assert_eq!(counted(270, "PostgreSQL"), "270 PostgreSQL tpm");
    // Another workload in place of TPC-C: to go on would give a figure of something else.
    let (world, status) = auto("customscript other.tcl\nvurun");
    assert_eq!((status, world.runs.len()), (1, 0));
}

#[test]
fn the_profile_is_named() {
    assert_eq!(compat(None).unwrap().0, "hammerdb");
    assert_eq!(compat(Some("4.6")).unwrap().0, "hammerdb-4.6");
    assert!(compat(Some("4.6")).unwrap().1.contains("hammerdb-4.6"));
    assert!(compat(Some("5")).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_line_makes_the_session_panic(words in prop::collection::vec(
        prop::sample::select(vec![
            "dbset", "diset", "giset", "vuset", "print", "loadscript", "vucreate", "vurun", "vudestroy",
            "vustatus", "buildschema", "deleteschema", "checkschema", "tcset", "tcstart", "tcstop", "help",
            "jobs", "db", "bm", "pg", "maria", "tpcc", "connection", "pg_count_ware", "pg_num_vu", "pg_port",
            "pg_driver", "test", "timed", "vu", "delay", "logtotemp", "-1", "0", "1", "2", "é", "true",
            "dict", "generic", "vuconf", "benchmark", "first_result", "TPM", "\n", ";", "\n", ";", "{", "}", "\"",
        ]),
        0..60,
    )) {
        let mut world = Fake::default();
        let (mut console, _) = input(&mut world, Settings::default(), &words.join(" "));
        console.end(&mut world);
        prop_assert!(world.runs.iter().all(|run| run.vusers >= 1));
    }
}
