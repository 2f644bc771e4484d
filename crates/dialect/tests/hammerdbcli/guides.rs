//! The scripts of HammerDB's guides cause the requests that the guides describe.

use crate::hammer::backend::FakeBackend;
use crate::support::{BUILD_SCRIPT, lines, run_file, run_input};
use prony_assertions::TextAssertions;
use prony_dialect::hammerdb::{Driver, Settings};
use prony_document::Product;

#[test]
fn the_guides_build_script_requests_a_build() {
    let mut backend = FakeBackend::default();
    let (_, status) = run_input(&mut backend, Settings::default(), BUILD_SCRIPT);
    assert_eq!(status, Some(0));
    let request = &backend.builds[0];
    assert_eq!(backend.builds.len(), 1);
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
    assert!(!request.stored_procedures && !request.partitions_order_line);
    assert_eq!(
        request.output.log_path.as_deref(),
        Some("/tmp/hammerdb.log")
    );

    let out = &backend.memory.out;
    assert!(!out.contains("AlloyDB"), "a password was printed: {out}");
    // As recorded from HammerDB: an input line that prints nothing adds two line ends, and a line end
    // precedes the output of a command.
    out.assert_starts_with("\n\n\n\n\nDatabase set to PostgreSQL\n\r\n\nBenchmark set to TPC-C for PostgreSQL\n\r\n\n\n\n\n\nChanged connection:pg_host from localhost to 10.0.0.5 for PostgreSQL\n\r\n");
    let tail = "ALL VIRTUAL USERS COMPLETE\n\r\n\nwaittocomplete command has been deprecated and is not required for version v4.6\n\r\n\nvudestroy success\n\r\n\nShutting down HammerDB CLI\n";
    out.assert_ends_with(tail);
    let printed = lines(out);
    let start = printed
        .iter()
        .position(|line| *line == "Script cleared")
        .unwrap();
    assert_eq!(
        printed[start..start + 6],
        [
            "Script cleared",
            "Building 576 Warehouses with 11 Virtual Users, 10 active + 1 Monitor VU(dict value pg_num_vu is set to 10)",
            "Ready to create a 576 Warehouse PostgreSQL TPROC-C schema",
            "in host 10.0.0.5:5432 sslmode PREFER under user TPCC in database TPCC?",
            "Enter yes or no: replied yes",
            "Vuser 1 created - WAIT IDLE",
        ]
    );
    out.assert_contains("Vuser 11 created - WAIT IDLE\n\rLogging activated\nto /tmp/hammerdb.log\n\rVuser 1:RUNNING\n\rVuser 1:CREATING TPCC SCHEMA\n\rVuser 1:CREATING DATABASE tpcc under OWNER tpcc\n\rVuser 1:TPCC SCHEMA COMPLETE\n\rVuser 1:FINISHED SUCCESS\n\r");
    out.assert_contains("Value postgres for tpcc:pg_superuser is the same as existing value postgres, no change made\n\r");
}

const RUN_SCRIPT: &str = "
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
fn the_guides_run_script_requests_a_run() {
    let mut backend = FakeBackend::default();
    let (_, status) = run_input(&mut backend, Settings::default(), RUN_SCRIPT);
    assert_eq!(status, Some(0));
    let request = &backend.runs[0];
    assert_eq!(backend.runs.len(), 1);
    let timed = Driver::Timed {
        rampup_min: 10,
        duration_min: 60,
        checkpoint: false,
    };
    assert_eq!(request.driver, timed);
    assert_eq!((request.vusers, request.iterations), (256, 10_000_000));
    assert!(request.all_warehouses && !request.key_and_think && !request.stored_procedures);
    assert_eq!(
        request.time_profile_path.as_deref(),
        Some("/tmp/hdbxtprofile.log")
    );
    assert_eq!(
        (request.user_delay_ms, request.output.log_path.as_deref()),
        (500, None)
    );
    assert_eq!(request.login.user, "postgres");
    assert_eq!(request.login.password.reveal(), "AlloyDB#123");
    format!(
        "{request:?} {settings:?}",
        settings = backend.saved_settings
    )
    .assert_lacks("AlloyDB");

    let out = &backend.memory.out;
    out.assert_lacks("AlloyDB");
    out.assert_contains(
        "Value timed for tpcc:pg_driver is the same as existing value timed, no change made\n\r\n",
    );
    out.assert_contains("Script loaded, Type \"print script\" to view\n\r\n\nVuser 1 created MONITOR - WAIT IDLE\n\rVuser 2 created - WAIT IDLE\n\r");
    out.assert_contains("Vuser 257 created - WAIT IDLE\n\r257 Virtual Users Created with Monitor VU\n\r\n\nVuser 1:RUNNING\n\rVuser 1:Beginning rampup time of 10 minutes\n\r");
    let results: Vec<&str> = out.lines().filter(|line| line.contains("NOPM")).collect();
    assert_eq!(
        results,
        ["\rVuser 1:TEST RESULT : System achieved 252970 NOPM from 582385 PostgreSQL TPM"]
    );
    out.assert_contains("\rALL VIRTUAL USERS COMPLETE\n\rjobid=6B00C84B660B03E283635333\n");
}

/// The commands and the texts of the recorded session with MariaDB.
#[test]
fn mariadb_uses_its_own_settings() {
    let (backend, status) = run_file(
        "dbset db maria\ndbset bm TPC-C
         diset connection maria_host localhost\ndiset connection maria_port 6201
         diset connection maria_socket /tmp/mysql.sock
         diset tpcc maria_user maria\ndiset tpcc maria_pass s3cret\ndiset tpcc maria_count_ware 2
         buildschema\nvudestroy
         diset tpcc maria_num_vu 2\ndiset connection maria_socket null
         diset tpcc maria_pass null\nbuildschema\nvudestroy
         diset tpcc maria_rampup 0\ndiset tpcc maria_duration 1\ndiset tpcc maria_timeprofile true
         diset tpcc maria_allwarehouse true\ndiset connection maria_ssl true
         loadscript\nprint dict\nvuset vu 1\nvurun\nvudestroy\ncheckschema\nvudestroy\ndeleteschema",
    );
    assert_eq!(status, 0);
    let [first, second] = &backend.builds[..] else {
        panic!("two builds");
    };
    assert_eq!((first.warehouses, first.vusers), (2, 1));
    assert_eq!(first.owner.socket.as_deref(), Some("/tmp/mysql.sock"));
    assert_eq!(
        (first.owner.user.as_str(), first.owner.database.as_str()),
        ("maria", "tpcc")
    );
    assert_eq!(
        (
            first.superuser.user.as_str(),
            first.superuser.database.as_str()
        ),
        ("maria", "")
    );
    assert_eq!(first.owner.password.reveal(), "s3cret");
    assert_eq!(
        (first.owner.ssl.clone(), first.owner.product),
        (None, Product::MARIADB)
    );
    assert_eq!(
        (second.owner.socket.as_deref(), second.owner.port),
        (None, 6201)
    );
    assert_eq!(second.owner.password.reveal(), "");
    let run = &backend.runs[0];
    assert!(run.all_warehouses && run.time_profile_path.is_some() && !run.stored_procedures);
    let ssl = run.login.ssl.as_ref().expect("TLS is enabled");
    assert_eq!(
        (ssl.ca.as_str(), &ssl.client_cert),
        ("/etc/mysql/certs/ca-cert.pem", &None)
    );
    let Driver::Timed {
        rampup_min,
        duration_min,
        checkpoint,
    } = run.driver
    else {
        panic!("timed");
    };
    assert_eq!((rampup_min, duration_min, checkpoint), (0, 1, false));
    assert_eq!(backend.delete_requests[0].owner.database, "tpcc");
    let out = &backend.memory.out;
    out.assert_lacks("s3cret");
    let printed = lines(out);
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
        assert!(printed.contains(&expected), "{expected}\n{printed:#?}");
    }
}
