//! The dictionary, the commands available in each state, and errors.

use crate::hammer::backend::FakeBackend;
use crate::support::{BUILD_SCRIPT, lines, run_file, run_input};
use prony_assertions::TextAssertions;
use prony_dialect::hammerdb::Settings;

#[test]
fn the_printed_dictionary_matches_hammerdb() {
    let (backend, status) = run_file("dbset db pg\ndiset connection pg_port 6202\nprint dict");
    assert_eq!(status, 0);
    backend.memory.out.assert_starts_with("Database set to PostgreSQL\n\rChanged connection:pg_port from 5432 to 6202 for PostgreSQL\n\rDictionary Settings for PostgreSQL\nconnection {\n pg_host    = localhost\n pg_port    = 6202\n pg_sslmode = prefer\n}\ntpcc       {\n pg_count_ware       = 1\n pg_num_vu           = 1\n pg_superuser        = postgres\n pg_superuserpass    = ********\n pg_defaultdbase     = postgres\n");
    backend
        .memory
        .out
        .assert_ends_with(" pg_async_delay      = 1000\n pg_connect_pool     = false\n}\n");
    let (backend, _) = run_file("dbset db maria\nprint dict");
    backend
        .memory
        .out
        .assert_contains("\n maria_ssl_windows_capath = C:\\mysql\\certs\n");
}

#[test]
fn error_messages_match_hammerdb() {
    let (backend, status) = run_file(
        "diset tpcc nosuchkey 1\ndiset nosuchdict a 1\ndbset db nosuch\ndbset bm nosuch\nvuset foo 1
         diset tpcc pg_port 1\ndiset tpcc pg_driver never\ndiset tpcc pg_driver test\nvuset vu x\nvuset logtotemp 2",
    );
    assert_eq!(status, 0);
    assert_eq!(
        lines(&backend.memory.out),
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
    let (backend, status) = run_file("dbset db pg\nnosuchcommand 1");
    assert_eq!(status, 1);
    backend
        .memory
        .error
        .assert_starts_with("invalid command name \"nosuchcommand\"\n");
}

#[test]
fn invalid_requests_are_errors() {
    let (backend, _) = run_file(
        "diset tpcc pg_oracompat true\ndiset tpcc pg_cituscompat true\nbuildschema
         diset tpcc pg_oracompat false\ndiset tpcc pg_cituscompat false
         diset tpcc pg_count_ware 2\ndiset tpcc pg_num_vu 3\nbuildschema\ndiset tpcc pg_count_ware x\nbuildschema
         diset tpcc pg_async_scale true\ndiset tpcc pg_rampup -1\nvurun\ndbset db mysql
         diset tpcc mysql_storage_engine tokudb\nbuildschema\ndiset tpcc mysql_duration x\nvurun",
    );
    assert!(backend.builds.is_empty() && backend.runs.is_empty());
    let printed = lines(&backend.memory.out);
    for expected in [
        "Error: Prony does not support pg_oracompat: diset tpcc pg_oracompat false",
        "Error: Prony does not support pg_cituscompat: diset tpcc pg_cituscompat false",
        "Error:Build virtual users must be less than or equal to number of warehouses",
        "You have 3 virtual users building 2 warehouses",
        "Error: pg_count_ware must be an integer of 1 or greater, not \"x\"",
        "Error: Prony does not support pg_async_scale: diset tpcc pg_async_scale false",
        "Error: pg_rampup must be an integer of 0 to 1000000, not \"-1\"",
        "Error: Prony does not support mysql_storage_engine tokudb: diset tpcc mysql_storage_engine innodb",
        "Error: mysql_duration must be an integer of 1 to 1000000, not \"x\"",
    ] {
        assert!(printed.contains(&expected), "{expected}\n{printed:#?}");
    }
}

#[test]
fn status_commands_print_the_states_of_virtual_users() {
    let (backend, _) = run_file(
        "vuset vu 2\nvuset unique 1\nvuset logtotemp 1\nprint vuconf\nvustatus\nvurun\nvustatus\nputs [vucomplete]
         vucreate\nbuildschema\nvudestroy\nvudestroy\nputs [vucomplete]\nputs [numberOfCPUs]",
    );
    let printed = lines(&backend.memory.out);
    assert_eq!(
        printed[..4],
        [
            "Virtual Users = 2",
            "User Delay(ms) = 500",
            "Repeat Delay(ms) = 500",
            "Iterations = 1"
        ]
    );
    assert_eq!(printed[9], "No Virtual Users found");
    assert_eq!(backend.runs[0].vusers, 2);
    assert_eq!(
        backend.runs[0].output.log_path.as_deref(),
        Some("/tmp/hammerdb_6B00C84B660B03E283635333.log")
    );
    let end = printed
        .iter()
        .position(|line| *line == "ALL VIRTUAL USERS COMPLETE")
        .unwrap();
    assert_eq!(
        printed[end + 1..],
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
fn vurun_needs_virtual_users_of_the_loaded_driver() {
    for script in [
        "buildschema\nloadscript\nvurun",
        "diset tpcc pg_driver test\nvucreate\ndiset tpcc pg_driver timed\nloadscript\nvurun",
    ] {
        let (backend, _) = run_file(script);
        assert!(backend.runs.is_empty());
        let printed = lines(&backend.memory.out);
        assert_eq!(
            *printed.last().unwrap(),
            "Error: Virtual Users exist, destroy with vudestroy before creating"
        );
        let (backend, _) = run_file(&script.replace("vurun", "vudestroy\nvurun"));
        assert_eq!(backend.runs[0].vusers, 1);
    }
}

#[test]
fn a_failed_build_prints_the_reason() {
    let mut backend = FakeBackend {
        build_error: Some("Database tpcc exists but is not empty".to_owned()),
        ..FakeBackend::default()
    };
    run_input(&mut backend, Settings::default(), "buildschema\nvustatus\n");
    backend.memory.out.assert_contains("\rVuser 1:RUNNING\n\rError in Virtual User 1: Database tpcc exists but is not empty\n\rVuser 1:FINISHED FAILED\n\rALL VIRTUAL USERS COMPLETE\n\r\n\n1 = FINISH FAILED\n\n");
}

#[test]
fn settings_persist_without_passwords() {
    let mut backend = FakeBackend::default();
    run_input(&mut backend, Settings::default(), BUILD_SCRIPT);
    let stored = serde_json::to_string(&backend.saved_settings).unwrap();
    stored.assert_lacks("AlloyDB");
    let restored: Settings = serde_json::from_str(&stored).unwrap();
    let mut backend = FakeBackend::default();
    run_input(
        &mut backend,
        restored,
        "diset tpcc pg_count_ware 576\nprint vuconf\n",
    );
    backend.memory.out.assert_contains(
        "Value 576 for tpcc:pg_count_ware is the same as existing value 576, no change made",
    );
    backend.memory.out.assert_contains("Log Output = 1\n");
    // Settings stored by an older or newer version must not prevent a start.
    let partial: Settings = serde_json::from_str("{\"database\":\"pg\",\"new\":1}").unwrap();
    assert_eq!(partial, Settings::default());
}
