//! Loads: the same data by any method, interrupted and continued, refused if necessary.

use crate::stop::StopAt;
use crate::support::{TestDatabase, private_server, sums};
use prony_server::embedded::MariaDb;
use prony_workload::{LoadPhase, Progress, ProgressUpdate, find};
use std::sync::atomic::{AtomicBool, Ordering};

/// Tables with their keys and indexes, and the types that matter.
fn shape(database: &TestDatabase) -> Vec<Option<String>> {
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
    let database = TestDatabase::new("tpcc_load");
    let report = database.load(2, 1, &[]);
    assert!(report.method.contains("LOAD DATA"), "{}", report.method);
    let (expected, expected_shape) = (sums(&database), shape(&database));
    assert_eq!(database.wrong(), [""; 0]);
    let has = |what: &str| expected_shape.iter().flatten().any(|line| line == what);
    for what in [
        "customer c_w_id c_w_id,c_d_id,c_last,c_first",
        "customer PRIMARY c_w_id,c_d_id,c_id",
        "orders o_w_id o_w_id,o_d_id,o_c_id,o_id",
        "stock PRIMARY s_w_id,s_i_id",
        "ol_amount decimal(6,2) YES",
        "c_last varchar(16) YES latin1_bin",
        "w_id int(11) NO",
    ] {
        assert!(has(what), "{what}: {expected_shape:?}");
    }
    // A second load replaces the tables; stopped in each phase, it is continued.
    for (phase, rows) in [(LoadPhase::Rows, 800_000), (LoadPhase::Keys, 0)] {
        let stop = AtomicBool::new(false);
        let progress = StopAt(phase, rows, &stop);
        let stopped = database.load_with(2, 2, &[], &progress, &stop);
        let message = stopped.expect_err("stopped").to_string();
        assert!(
            message.contains("with the same options continues it"),
            "{message}"
        );
        let continues = "`prony load tpcc --scale 2 --seed 1` continues it";
        assert!(database.refused(&[], None).contains(continues));
        let other = database.load_with(3, 2, &[], &(), &AtomicBool::new(false));
        let other = other.expect_err("another load").to_string();
        assert!(
            other.contains(continues)
                && other.contains("the requested load has 3 warehouses (seed 1)")
        );
        let wrong = database.wrong();
        assert!(wrong[0].contains(continues), "{wrong:?}");
        let known = |one: &String| one.starts_with("load-unfinished") || one.starts_with("rows-");
        assert!(
            wrong.iter().all(known),
            "existing tables are complete: {wrong:?}"
        );
        let report = database.load(2, 3, &[]);
        assert!(report.method.contains("continued: "), "{}", report.method);
        assert_eq!(sums(&database), expected, "{phase:?}");
        assert_eq!(shape(&database), expected_shape, "{phase:?}");
        assert_eq!(database.wrong(), [""; 0]);
    }
    assert!(
        database
            .refused(&[], Some(3))
            .contains("has scale 2, but scale 3")
    );
    database.execute("alter table customer drop key c_w_id");
    assert!(
        database.wrong()[0].contains("add key c_w_id (c_w_id, c_d_id, c_last(16), c_first(16))")
    );
    database.execute("delete from stock where s_i_id = 100000");
    assert!(database.refused(&[], None).contains("stock has 1 of 2"));
    let cleaned = find("tpcc").expect("listed").clean(&mut database.control());
    assert_eq!(cleaned.expect("drops").len(), 9);
    assert!(
        database
            .refused(&[], Some(4))
            .contains("prony load tpcc --scale 4")
    );
    database.execute("create table orders (precious text)");
    let foreign = database.load_with(1, 1, &[], &(), &AtomicBool::new(false));
    let foreign = foreign.expect_err("the table is not ours").to_string();
    assert!(foreign.contains("orders exists and is not"), "{foreign}");
}

#[test]
fn rows_are_the_same_as_on_postgresql() {
    let ours = TestDatabase::new("tpcc_alike");
    let theirs = TestDatabase::postgres("tpcc_maria_alike");
    ours.load(1, 1, &[]);
    theirs.load(1, 1, &[]);
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
        assert_eq!(rows(&ours), rows(&theirs), "{sql}");
    }
}

#[test]
fn a_restricted_server_is_loaded_by_small_inserts_into_partitions_too() {
    let server = private_server(&["--local-infile=0", "--max-allowed-packet=64K"]);
    let small = TestDatabase::on(&server, "small");
    let usual = TestDatabase::new("tpcc_usual");
    let options = [("profile", "hammerdb"), ("partitions", "2")];
    let report = small.load(1, 2, &options);
    assert!(report.method.contains("INSERTs"), "{}", report.method);
    usual.load(1, 1, &options);
    assert_eq!(sums(&small), sums(&usual));
    assert_eq!(small.wrong(), [""; 0]);
    let texts = small.check().findings.into_iter();
    let texts: Vec<String> = texts.map(|finding| finding.text).collect();
    assert!(
        texts
            .iter()
            .any(|text| text.contains("50 % have bad credit; order_line has 2 part"))
    );
    let kind = "select count(*) from information_schema.columns where table_schema = database() \
         and column_name = 'ol_amount' and data_type = 'int'";
    assert_eq!(usual.number(kind), 1, "HammerDB's own");
    assert!(
        usual
            .refused(&[("partitions", "3")], None)
            .contains("has 2 partitions, but 3")
    );
}

/// Kills a server, as a power failure would, once this many rows have been sent.
struct KillAt<'a>(u64, &'a MariaDb, AtomicBool);

impl Progress for KillAt<'_> {
    fn update(&self, step: &ProgressUpdate) {
        if step.rows_done > self.0 && !self.2.swap(true, Ordering::Relaxed) {
            self.1.kill();
        }
    }
}

#[test]
fn a_server_killed_during_a_load_loses_only_unfinished_parts() {
    let server = private_server(&[]);
    let database = TestDatabase::on(&server, "killed");
    let kill = KillAt(900_000, &server, AtomicBool::new(false));
    let broken = database.load_with(3, 2, &[], &kill, &AtomicBool::new(false));
    let message = broken.expect_err("killed").to_string();
    assert!(
        message.contains("with the same options continues it"),
        "{message}"
    );
    server.restart().expect("restarts");
    let wrong = database.wrong();
    assert!(wrong[0].starts_with("load-unfinished"), "{wrong:?}");
    assert!(
        !wrong.iter().any(|one| one.starts_with("condition")),
        "{wrong:?}"
    );
    let report = database.load(3, 2, &[]);
    assert!(report.rows < 1_700_000, "{} sent again", report.rows);
    assert_eq!(database.wrong(), [""; 0]);
    assert_eq!(database.check().scale, Some(3));
}
