//! The tpcc workload's data on MariaDB, and runs on any engine.

pub use crate::tpcc_run::support::*;

/// Creates a database on the MariaDB that all tests share, and drops it at the end, because it is large.
pub fn large_database(name: &str) -> TestDatabase {
    let other = TestDatabase::on_existing_maria(prony_test_servers::shared_mariadb(), "test");
    let statement = format!("drop database if exists {name}");
    TestDatabase::maria(name).dropped_by(&other, statement)
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
