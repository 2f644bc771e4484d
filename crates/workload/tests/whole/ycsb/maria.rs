//! Tests YCSB on MariaDB.

use super::support::*;
use prony_assertions::TextAssertions;

pub fn digest(database: &TestDatabase) -> String {
    database.query_text(
        "select concat(count(*), ' ', sum(crc32(concat_ws('|', ycsb_key, field0, field1, field2, \
         field3, field4, field5, field6, field7, field8, field9)))) from usertable",
    )
}

#[test]
fn records_are_the_same_as_on_postgresql_with_any_load_method() {
    let arguments = ["--local-infile=0", "--max-allowed-packet=64K"];
    let server = private_maria(&arguments);
    let restricted = TestDatabase::on_maria(&server, "small");
    let (unrestricted, postgres) = (
        TestDatabase::maria("ycsb_usual"),
        TestDatabase::postgres("ycsb_alike"),
    );
    load(&restricted, 1, 2).method.assert_contains("INSERTs");
    load(&unrestricted, 1, 1)
        .method
        .assert_contains("LOAD DATA");
    load(&postgres, 1, 1);
    assert_eq!(digest(&restricted), digest(&unrestricted));
    let rows = |database: &TestDatabase| {
        let select = "select ycsb_key, field0, field9 from usertable order by ycsb_key";
        database.control().query(select).expect("rows")
    };
    assert!(rows(&unrestricted) == rows(&postgres), "the rows differ");
    assert_eq!(restricted.problems("ycsb"), [""; 0]);
}

/// Creates the table as in YCSB's instructions, with upper-case names.
#[test]
fn tables_loaded_by_ycsb_require_a_scale() {
    let (database, prony_database) = (
        TestDatabase::maria("ycsb_theirs"),
        TestDatabase::maria("ycsb_ours"),
    );
    let fields: String = (0..10)
        .map(|field| format!(", FIELD{field} TEXT"))
        .collect();
    database.execute(&format!(
        "create table usertable (YCSB_KEY VARCHAR(255) PRIMARY KEY{fields})"
    ));
    load(&prony_database, 1, 1);
    database.execute("insert into usertable select * from ycsb_ours.usertable");
    let loaded = database.program("ycsb", &[("scale", "1")]);
    assert_eq!(loaded.expect("the table exists").scale, 1);
    let message = database.program_error("ycsb", &[]);
    message.assert_contains("was not loaded by Prony");
    let report = database.check("ycsb");
    assert!(report.is_ok() && report.scale.is_none(), "{report:?}");
}
