//! Scripts for SQL Server: settings, requests and texts.

use crate::hammer::backend::FakeBackend;
use crate::support::{lines, run_file};
use prony_assertions::TextAssertions;
use prony_dialect::hammerdb::{Driver, Login, SqlServerConnection, read_output, text};
use prony_document::Product;

/// Commands as in HammerDB's sample scripts, with this host, password and size.
const SAMPLE: &str = "
    set tmpdir $::env(PGHOST)
    puts \"SETTING CONFIGURATION\"
    dbset db mssqls\ndbset bm TPC-C
    diset connection mssqls_tcp true
    diset connection mssqls_port 14330
    diset connection mssqls_azure false
    diset connection mssqls_encrypt_connection true
    diset connection mssqls_trust_server_cert true
    diset connection mssqls_authentication windows
    diset connection mssqls_server {(local)}
    diset connection mssqls_linux_server {db1}
    diset connection mssqls_uid tester
    diset connection mssqls_pass s3cret
    diset connection mssqls_linux_authent sql
    diset connection mssqls_linux_odbc {ODBC Driver 18 for SQL Server}
    set vu 2
    set warehouse [ expr {$vu * 5} ]
    diset tpcc mssqls_count_ware $warehouse
    diset tpcc mssqls_num_vu $vu
    diset tpcc mssqls_dbase shop
    diset tpcc mssqls_use_bcp false
    buildschema\nvudestroy
    diset tpcc mssqls_driver timed
    diset tpcc mssqls_total_iterations 2147483647
    diset tpcc mssqls_rampup 2
    diset tpcc mssqls_duration 5
    diset tpcc mssqls_checkpoint true
    diset tpcc mssqls_timeprofile true
    diset tpcc mssqls_allwarehouse true
    loadscript
    vuset vu vcpu\nvucreate\ntcstart\ntcstatus
    set jobid [ vurun ]
    vudestroy\ntcstop\ncheckschema\nvudestroy\ndeleteschema\n";

fn host_and_port(login: &Login) -> (&str, Option<u16>) {
    let connection = login.sql_server.expect("SQL Server");
    (
        login.host.as_str(),
        connection.uses_port.then_some(login.port),
    )
}

#[test]
fn the_sample_scripts_request_a_build_a_run_and_a_deletion() {
    let (backend, status) = run_file(SAMPLE);
    assert_eq!(status, 0, "{}", backend.memory.error);
    let build = &backend.builds[0];
    assert_eq!((build.warehouses, build.vusers), (10, 2));
    assert!(build.stored_procedures && !build.partitions_order_line);
    assert_eq!(build.owner.product, Product::SQL_SERVER);
    assert_eq!(host_and_port(&build.owner), ("db1", Some(14_330)));
    let names = |login: &Login| (login.user.clone(), login.database.clone());
    assert_eq!(names(&build.owner), ("tester".into(), "shop".into()));
    assert_eq!(names(&build.superuser), ("tester".into(), "master".into()));
    assert_eq!(build.owner.password.reveal(), "s3cret");
    let expected = SqlServerConnection {
        uses_port: true,
        encrypts: true,
        trusts_certificate: true,
        azure: false,
    };
    assert_eq!(build.owner.sql_server, Some(expected));
    assert_eq!((&build.owner.socket, &build.owner.ssl), (&None, &None));
    let run = &backend.runs[0];
    let timed = Driver::Timed {
        rampup_min: 2,
        duration_min: 5,
        checkpoint: true,
    };
    assert_eq!((run.driver, run.vusers), (timed, 16));
    assert!(run.all_warehouses && run.counter.is_some() && run.time_profile_path.is_some());
    assert_eq!(names(&run.superuser), ("tester".into(), "shop".into()));
    assert_eq!(backend.delete_requests[0].superuser.database, "master");
    let out = &backend.memory.out;
    format!("{out}{run:?}{:?}", backend.saved_settings).assert_lacks("s3cret");
    let printed = lines(out);
    for expected in [
        "SETTING CONFIGURATION",
        "Database set to MSSQLServer",
        "Benchmark set to TPC-C for MSSQLServer",
        "Changed connection:mssqls_linux_server from localhost to db1 for MSSQLServer",
        "Changed connection:mssqls_pass from ******** to ******** for MSSQLServer",
        "Changed tpcc:mssqls_use_bcp from true to false for MSSQLServer",
        "Building 10 Warehouses with 3 Virtual Users, 2 active + 1 Monitor VU(dict value mssqls_num_vu is set to 2)",
        "Ready to create a 10 Warehouse SQL Server TPROC-C schema",
        "in host TCP:DB1,14330 under user TESTER in database SHOP?",
        "Vuser 1:CREATING SHOP SCHEMA",
        "Vuser 1:CREATING DATABASE shop",
        "Vuser 1:SHOP SCHEMA COMPLETE",
        "Vuser 1:TEST RESULT : System achieved 252970 NOPM from 582385 SQL Server TPM",
        "Do you want to delete the SHOP TPROC-C schema",
        " in host TCP:DB1,14330 under user TESTER?",
    ] {
        assert!(printed.contains(&expected), "{expected}\n{printed:#?}");
    }
}

#[test]
fn the_printed_dictionary_has_all_keys_in_hammerdbs_order() {
    let (backend, _) = run_file("dbset db mssqls\nprint dict");
    let expected = "Dictionary Settings for MSSQLServer
connection {
 mssqls_server             = (local)
 mssqls_linux_server       = localhost
 mssqls_tcp                = false
 mssqls_port               = 1433
 mssqls_azure              = false
 mssqls_authentication     = windows
 mssqls_linux_authent      = sql
 mssqls_msi_object_id      = null
 mssqls_odbc_driver        = ODBC Driver 18 for SQL Server
 mssqls_linux_odbc         = ODBC Driver 18 for SQL Server
 mssqls_uid                = sa
 mssqls_pass               = ********
 mssqls_encrypt_connection = true
 mssqls_trust_server_cert  = true
}
tpcc       {
 mssqls_count_ware       = 1
 mssqls_num_vu           = 1
 mssqls_dbase            = tpcc
 mssqls_imdb             = false
 mssqls_bucket           = 1
 mssqls_durability       = SCHEMA_AND_DATA
 mssqls_use_bcp          = true
 mssqls_total_iterations = 10000000
 mssqls_raiseerror       = false
 mssqls_keyandthink      = false
 mssqls_checkpoint       = false
 mssqls_driver           = timed
";
    let out = &backend.memory.out;
    out.assert_contains(expected);
    out.assert_ends_with(" mssqls_connect_pool     = false\n}\n");
}

/// The host and port of the build that this script requests.
fn build_login(script: &str) -> Login {
    let (backend, _) = run_file(&format!("dbset db mssqls\n{script}\nbuildschema"));
    backend.builds[0].owner.clone()
}

#[test]
fn the_port_applies_only_with_tcp() {
    let login = build_login("diset connection mssqls_port 14330");
    assert_eq!(host_and_port(&login), ("localhost", None));
    assert_eq!(login.address(), "localhost");
    let login = build_login("diset connection mssqls_tcp true");
    assert_eq!(host_and_port(&login), ("localhost", Some(1433)));
    assert_eq!(login.address(), "tcp:localhost,1433");
    let login = build_login("diset connection mssqls_linux_server {(localhost)}");
    assert_eq!(login.host, "localhost");
    let login = build_login("diset connection mssqls_linux_server {db1\\sales}");
    assert_eq!(login.host, "db1\\sales");
}

#[test]
fn in_azure_the_database_is_never_left() {
    let (backend, _) = run_file("dbset db mssqls\ndiset connection mssqls_azure true\nbuildschema");
    assert_eq!(backend.builds[0].superuser.database, "tpcc");
}

fn refused(command: &str) -> (FakeBackend, String) {
    let (backend, _) = run_file(&format!("dbset db mssqls\n{command}\nbuildschema\nvurun"));
    let out = backend.memory.out.clone();
    (backend, out)
}

#[test]
fn unsupported_settings_are_refused_in_words() {
    for (command, expected) in [
        (
            "diset tpcc mssqls_imdb true",
            "Error: Prony does not support mssqls_imdb: diset tpcc mssqls_imdb false",
        ),
        (
            "diset connection mssqls_linux_authent entra",
            "Error: Prony does not support mssqls_linux_authent entra: diset connection mssqls_linux_authent sql",
        ),
        (
            "diset tpcc mssqls_dbase Master",
            "Error: mssqls_dbase Master is a database of the server itself: diset tpcc mssqls_dbase tpcc",
        ),
        (
            "diset connection mssqls_encrypt_connection maybe",
            "Error: mssqls_encrypt_connection must be true or false, not \"maybe\"",
        ),
        (
            "diset tpcc mssqls_use_bcp maybe",
            "Error: mssqls_use_bcp must be true or false, not \"maybe\"",
        ),
    ] {
        let (backend, out) = refused(command);
        assert!(
            backend.builds.is_empty() && backend.runs.is_empty(),
            "{command}"
        );
        assert_eq!(
            lines(&out).iter().filter(|line| **line == expected).count(),
            2,
            "{out}"
        );
    }
    let (backend, _) = run_file("dbset db ora");
    let out = &backend.memory.out;
    let expected = "does not support Oracle, choose one from mssqls mysql pg maria";
    out.assert_contains(expected);
}

#[test]
fn a_result_without_tpm_says_so_and_is_read_back() {
    for (tpm, tpm_first, expected) in [
        (Some(2_760), false, "1200 NOPM from 2760 SQL Server TPM"),
        (None, false, "1200 NOPM from unknown SQL Server TPM"),
        (None, true, "unknown SQL Server TPM at 1200 NOPM"),
    ] {
        let line = text::result_line(1_200, tpm, "SQL Server", tpm_first);
        assert_eq!(line, format!("TEST RESULT : System achieved {expected}"));
        let runs = read_output(&format!(
            "Vuser 1:Timing test period of 1 in minutes\n mssqls_count_ware = 7\nVuser 1:{line}\n"
        ));
        assert_eq!(runs.len(), 1);
        assert_eq!(runs[0].nopm, Some(1_200.0), "{line}");
        assert_eq!(runs[0].tpm, tpm.map(|tpm| tpm as f64), "{line}");
        assert_eq!(runs[0].tps, tpm.map(|tpm| tpm as f64 / 60.0), "{line}");
        assert_eq!(runs[0].scale, Some(7));
    }
}
