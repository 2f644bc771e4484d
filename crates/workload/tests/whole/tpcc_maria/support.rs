//! The tpcc workload's data on MariaDB, and runs on any engine.

pub use crate::common::*;
use prony_plan::DrivePlan;
use prony_workload::tpcc::OrderEntryProgram;
use prony_workload::tpcc::counts::TpccCounts;
use prony_workload::tpcc::input::TpccTransaction;

pub const NEW_ORDER: usize = TpccTransaction::NewOrder as usize;

/// Creates a database on the MariaDB that all tests share, and drops it at the end, because it is large.
pub fn large_database(name: &str) -> TestDatabase {
    let other = TestDatabase::on_existing_maria(prony_test_servers::shared_mariadb(), "test");
    let statement = format!("drop database if exists {name}");
    TestDatabase::maria(name).dropped_by(&other, statement)
}

pub struct TpccOutcome {
    pub counts: TpccCounts,
    pub failed: u64,
    pub retries: u64,
    /// The distinct codes under which the failures are counted.
    pub error_codes: Vec<String>,
    pub outages: usize,
}

pub fn run_tpcc(
    database: &TestDatabase,
    options: &[(&str, &str)],
    drive_plan: &DrivePlan,
    seed: u64,
) -> TpccOutcome {
    let plan = workload_plan("tpcc", options);
    let program = OrderEntryProgram::prepare(&mut database.control(), &plan);
    let program = program.expect("the data is loaded");
    let driven = drive(database, &program, drive_plan, seed);
    let measured = &driven.collected.measured;
    TpccOutcome {
        counts: program.counts(),
        failed: measured.kinds.iter().map(|kind| kind.failed).sum(),
        retries: measured.kinds.iter().map(|kind| kind.retries).sum(),
        error_codes: error_codes(measured),
        outages: driven.events.len(),
    }
}

/// The timestamp columns, whose values depend on when the load and the run took place.
const TIMESTAMP_COLUMNS: [&str; 5] = ["c_since", "h_date", "o_entry_d", "ol_delivery_d", "began"];

/// A checksum of each table over all values; of timestamps, only whether they are NULL.
pub fn checksums(database: &TestDatabase) -> Vec<String> {
    let mut control = database.control();
    let tables = prony_workload::tpcc::schema::Table::ALL
        .iter()
        .map(|table| {
            let columns = table.columns(prony_document::SqlDialect::MySql).into_iter();
            let values: Vec<String> = columns
                .map(|(name, _)| {
                    if TIMESTAMP_COLUMNS.contains(&name) {
                        format!("{name} is null")
                    } else {
                        format!("ifnull({name}, '-')")
                    }
                })
                .collect();
            let sql = format!(
                "select concat(count(*), ' ', sum(crc32(concat_ws('|', {})))) from {}",
                values.join(", "),
                table.name()
            );
            let sum = control.query_value(&sql).expect(&sql).expect("rows");
            format!("{}: {sum}", table.name())
        });
    tables.collect()
}
