//! The commands of the guides with MariaDB's settings.

use super::{HammerdbCli, lines, parse_result_of};
use crate::common::*;

/// Script lines that set the server's address (TCP) and the login.
pub fn maria_head(database: &str) -> String {
    let server = shared_mariadb();
    format!(
        "dbset db maria\ndbset bm TPC-C\ndiset connection maria_host 127.0.0.1\n\
         diset connection maria_port {}\ndiset connection maria_socket null\n\
         diset tpcc maria_user prony\ndiset tpcc maria_pass {}\ndiset tpcc maria_dbase {database}\n",
        server.port(),
        server.password().reveal(),
    )
}

/// Returns the number of COMMITs and ROLLBACKs of all sessions since the server's start.
fn ended_transactions(root: &mut Control) -> u64 {
    let counts =
        root.query("show global status where variable_name in ('Com_commit', 'Com_rollback')");
    let number =
        |row: &Vec<Option<String>>| row[1].as_deref().and_then(|text| text.parse::<u64>().ok());
    counts.expect("its status").iter().filter_map(number).sum()
}

#[test]
fn a_schema_on_mariadb_is_built_checked_run_and_deleted() {
    let hammer = HammerdbCli::new("maria_whole");
    let head = maria_head("hammer_whole");
    let mut root = connect(&shared_mariadb().url());
    let schemas = "select count(*) from information_schema.schemata \
                   where schema_name = 'hammer_whole'";
    let build = format!(
        "{head}diset tpcc maria_count_ware 2\ndiset tpcc maria_num_vu 2\ndiset tpcc maria_history_pk true\nbuildschema\nvudestroy\n\
         checkschema\nvudestroy\n"
    );
    let stdout = ok_stdout(&hammer.execute_file(&build));
    let printed_lines = lines(&stdout);
    for line in [
        "Building 2 Warehouses with 3 Virtual Users, 2 active + 1 Monitor VU(dict value maria_num_vu is set to 2)",
        "Ready to create a 2 Warehouse MariaDB TPROC-C schema",
        "Vuser 1:CREATING DATABASE hammer_whole",
        "Vuser 1:Workers: 0 Active 2 Done",
        "Vuser 1:CREATING TPCC STORED PROCEDURES",
        "Vuser 1:HAMMER_WHOLE SCHEMA COMPLETE",
        "Vuser 1:hammer_whole TPROC-C Schema has been checked successfully.",
    ] {
        assert!(
            printed_lines.iter().any(|printed| printed == line),
            "{line}: {stdout}"
        );
    }
    assert_eq!(query_number(&mut root, schemas), 1);
    let orders = "select sum(d_next_o_id) from hammer_whole.district";
    let before = query_number(&mut root, orders);
    assert_eq!(before, 2 * 10 * 3001);
    let second_build = ok_stdout(&hammer.execute_file(&format!("{head}buildschema\n")));
    let refusal = "Database hammer_whole exists but is not empty, specify a new or empty database";
    second_build.assert_contains(refusal);

    let ended_before = ended_transactions(&mut root);
    let output = hammer.execute_file(&format!(
        "{head}diset tpcc maria_rampup 1\ndiset tpcc maria_duration 2\n\
         diset tpcc maria_allwarehouse true\nloadscript\nvuset vu 3\ntcset refreshrate 1\n\
         tcstart\nvurun\nvudestroy\n"
    ));
    let stdout = ok_stdout(&output);
    let (nopm, tpm) = parse_result_of("MariaDB", &stdout);
    // Two minutes are four seconds.
    let (in_window, ordered) = (nopm / 15, query_number(&mut root, orders) - before);
    assert!(nopm > 0 && in_window <= ordered, "{in_window} {ordered}");
    // Each transaction ends with one COMMIT or ROLLBACK, and 10 of 23 are new orders. The transactions of
    // the two minutes are a part of those between the two readings.
    let ended = ended_transactions(&mut root) - ended_before;
    assert!(tpm > nopm && tpm / 15 <= ended, "{tpm} {nopm} {ended}");
    stdout.assert_contains(" MariaDB tpm");
    let run = last_run(&hammer.bench);
    assert_eq!((run.workload.scale, run.drive.clients), (2, 3));
    assert_eq!(run.state, RunState::Complete, "{}", stderr_text(&output));
    let names: Vec<&str> = run.rates.iter().map(|rate| rate.name.as_str()).collect();
    assert_eq!(names, ["NOPM", "TPM"]);
    let jobs = ok_stdout(&hammer.execute_file("puts [ jobs ]\n"));
    assert!(!jobs.is_empty());

    // HammerDB on MariaDB never leaves a used order number, so Prony reports the error and does not repair it.
    root.execute("update hammer_whole.district set d_next_o_id = 7 where d_w_id = 1 and d_id = 3")
        .expect("an update");
    let refused = ok_stdout(
        &hammer.execute_file(&format!("{head}loadscript\nvuset vu 1\nvurun\nvudestroy\n")),
    );
    let reason = "in 1 district (in warehouse 1) the next order's number is taken";
    refused.assert_contains(reason);
    refused
        .assert_contains("set each of these d_next_o_id to the highest o_id of its district plus 1")
        .assert_lacks("prony check");
    let next = "select d_next_o_id from hammer_whole.district where d_w_id = 1 and d_id = 3";
    assert_eq!(query_number(&mut root, next), 7);

    // Tables that are not TPROC-C's are not dropped.
    let foreign_table = "create table hammer_whole.mine (n int)";
    root.run(foreign_table);
    let refused = ok_stdout(&hammer.execute_file(&format!("{head}deleteschema\n")));
    refused.assert_contains("contains tables that are not TPROC-C's (mine...)");
    root.execute("drop table hammer_whole.mine")
        .expect("drops the table");
    let deleted = ok_stdout(&hammer.execute_file(&format!("{head}deleteschema\n")));
    deleted.assert_contains("Vuser 1:TPCC SCHEMA DELETED");
    assert_eq!(query_number(&mut root, schemas), 0);
}

#[test]
fn problems_with_mariadb_are_reported() {
    let hammer = HammerdbCli::new("maria_wrong");
    let head = maria_head("hammer_wrong");
    let assert_failed = |commands: &str, expected: &str| {
        let stdout = ok_stdout(&hammer.execute_file(&format!("{head}{commands}vudestroy\n")));
        stdout.assert_contains(expected);
        stdout.assert_contains("Vuser 1:FINISHED FAILED");
    };
    let password = "diset tpcc maria_pass wrong\nbuildschema\n";
    assert_failed(password, "Access denied for user 'prony'");
    assert_failed(password, "Passwords are not stored between calls");
    let missing_socket = std::env::temp_dir().join(format!("prony-absent-{}", std::process::id()));
    let socket = format!(
        "diset connection maria_socket {}\nbuildschema\n",
        missing_socket.display()
    );
    assert_failed(&socket, "diset connection maria_socket null");
    let no_schema = "diset connection maria_socket null\nloadscript\nvurun\n";
    assert_failed(no_schema, "hammer_wrong");
}
