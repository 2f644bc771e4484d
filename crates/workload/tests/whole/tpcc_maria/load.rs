//! Loads: any method and number of loaders, stops and continuations, refusals.

use super::support::*;
use prony_assertions::TextAssertions;
use prony_workload::LoadPhase;
use std::sync::atomic::AtomicBool;

/// The keys and indexes of the tables, and the types of some columns.
fn structure(database: &TestDatabase) -> Vec<Option<String>> {
    let sql = "select concat_ws(' ', table_name, index_name, group_concat(column_name, \
         ifnull(concat('(', sub_part, ')'), '') order by seq_in_index)) from \
         information_schema.statistics where table_schema = database() group by table_name, \
         index_name union all select concat_ws(' ', column_name, column_type, is_nullable, \
         collation_name) from information_schema.columns where table_schema = database() and \
         column_name in ('ol_amount', 'c_last', 's_ytd', 'w_id', 'h_c_id') order by 1";
    let rows = database.control().query(sql).expect("a good query");
    rows.into_iter().flatten().collect()
}

#[test]
fn every_number_of_loaders_produces_the_same_data_even_after_stops() {
    let database = large_database("tpcc_load");
    let report = database.load("tpcc", &[("scale", "2")], 1);
    report.method.assert_contains("LOAD DATA");
    let (expected, expected_structure) = (checksums(&database), structure(&database));
    assert_eq!(database.problems("tpcc"), [""; 0]);
    let has_line = |expected: &str| {
        expected_structure
            .iter()
            .flatten()
            .any(|line| line == expected)
    };
    for expected in [
        "customer c_w_id c_w_id,c_d_id,c_last,c_first",
        "customer PRIMARY c_w_id,c_d_id,c_id",
        "orders o_w_id o_w_id,o_d_id,o_c_id,o_id",
        "stock PRIMARY s_w_id,s_i_id",
        "ol_amount decimal(6,2) YES",
        "c_last varchar(16) YES latin1_bin",
        "w_id int(11) NO",
    ] {
        assert!(has_line(expected), "{expected}: {expected_structure:?}");
    }
    // A second load, which replaces the tables, is stopped in each phase and continued.
    for (phase, rows) in [(LoadPhase::Rows, 800_000), (LoadPhase::Keys, 0)] {
        let stop = AtomicBool::new(false);
        let progress = StopAt(phase, rows, &stop);
        let result = database.load_with("tpcc", &[("scale", "2")], 2, &progress, &stop);
        let message = result.expect_err("stopped").to_string();
        message.assert_contains("with the same options continues it");
        let continues = "`prony load tpcc --scale 2 --seed 1` continues it";
        database
            .program_error("tpcc", &[])
            .assert_contains(continues);
        let result = database.load_with("tpcc", &[("scale", "3")], 2, &(), &AtomicBool::new(false));
        let message = result.expect_err("a different load").to_string();
        message.assert_contains(continues);
        message.assert_contains("the requested load has 3 warehouses (seed 1)");
        let problems = database.problems("tpcc");
        problems[0].assert_contains(continues);
        let is_expected =
            |text: &String| text.starts_with("load-unfinished") || text.starts_with("rows-");
        assert!(
            problems.iter().all(is_expected),
            "existing tables are complete: {problems:?}"
        );
        let report = database.load("tpcc", &[("scale", "2")], 3);
        report.method.assert_contains("continued: ");
        assert_eq!(checksums(&database), expected, "{phase:?}");
        assert_eq!(structure(&database), expected_structure, "{phase:?}");
        assert_eq!(database.problems("tpcc"), [""; 0]);
    }
    database
        .program_error("tpcc", &[("scale", "3")])
        .assert_contains("has scale 2, but scale 3");
    database.execute("alter table customer drop key c_w_id");
    database.problems("tpcc")[0]
        .assert_contains("add key c_w_id (c_w_id, c_d_id, c_last(16), c_first(16))");
    database.execute("delete from stock where s_i_id = 100000");
    database
        .program_error("tpcc", &[])
        .assert_contains("stock has 1 of 2");
    let cleaned = database.clean("tpcc");
    assert_eq!(cleaned.expect("drops").len(), 9);
    database
        .program_error("tpcc", &[("scale", "4")])
        .assert_contains("prony load tpcc --scale 4");
    database.execute("create table orders (precious text)");
    let result = database.load_with("tpcc", &[("scale", "1")], 1, &(), &AtomicBool::new(false));
    let message = result.expect_err("a foreign table").to_string();
    message.assert_contains("orders exists and is not");
}

#[test]
fn rows_are_the_same_as_on_postgresql() {
    let maria = large_database("tpcc_alike");
    let postgres = TestDatabase::postgres("tpcc_maria_alike");
    maria.load("tpcc", &[("scale", "1")], 1);
    postgres.load("tpcc", &[("scale", "1")], 1);
    for sql in [
        "select i_id, i_im_id, i_name, i_price, i_data from item where i_id > 99900 order by i_id",
        "select w_id, w_name, w_street_1, w_zip, w_tax, w_ytd from warehouse",
        "select s_i_id, s_quantity, s_dist_03, s_data from stock where s_i_id < 50 order by s_i_id",
        "select c_id, c_last, c_first, c_credit, c_discount, c_balance, c_data from customer \
         where c_d_id = 3 and c_id > 2900 order by c_id",
        "select o_id, o_c_id, o_carrier_id, o_ol_cnt from orders where o_d_id = 10 \
         and o_id between 2050 and 2150 order by o_id",
        "select ol_number, ol_i_id, ol_amount, ol_dist_info from order_line \
         where ol_d_id = 4 and ol_o_id = 2500 order by ol_number",
    ] {
        let rows = |database: &TestDatabase| database.control().query(sql).expect("a good query");
        assert_eq!(rows(&maria), rows(&postgres), "{sql}");
    }
}

#[test]
fn a_server_without_local_infile_is_loaded_by_small_inserts() {
    let server = private_maria(&["--local-infile=0", "--max-allowed-packet=64K"]);
    let restricted = TestDatabase::on_maria(&server, "restricted");
    let unrestricted = large_database("tpcc_usual");
    let options = [("scale", "1"), ("profile", "hammerdb"), ("partitions", "2")];
    let report = restricted.load("tpcc", &options, 2);
    report.method.assert_contains("INSERTs");
    unrestricted.load("tpcc", &options, 1);
    assert_eq!(checksums(&restricted), checksums(&unrestricted));
    assert_eq!(restricted.problems("tpcc"), [""; 0]);
    let texts = restricted.check("tpcc").findings.into_iter();
    let texts: Vec<String> = texts.map(|finding| finding.text).collect();
    assert!(
        texts
            .iter()
            .any(|text| text.contains("50 % have bad credit; order_line has 2 part"))
    );
    let count_int_amounts = "select count(*) from information_schema.columns where table_schema = database() \
         and column_name = 'ol_amount' and data_type = 'int'";
    assert_eq!(
        unrestricted.query_number(count_int_amounts),
        1,
        "HammerDB's type"
    );
    unrestricted
        .program_error("tpcc", &[("partitions", "3")])
        .assert_contains("has 2 partitions, but 3");
}
