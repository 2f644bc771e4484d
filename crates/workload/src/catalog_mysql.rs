//! Which of a workload's tables exist, by the catalog of MySQL and MariaDB.
//!
//! In: what the tables should be, a control connection. Out: facts. Must never: ask the catalog table
//! by table, each of which makes an old server open all of them.

use crate::catalog::{Found, Tables};
use crate::oltp::engine::Engine;
use crate::{Error, TableFacts, sql};
use prony_server::Control;

const DOING: &str = "reading the catalog";

/// The tables that exist in the database of the connection, in the order of [`Tables::ALL`].
///
/// # Errors
/// The connection has no database, or the server refuses.
pub fn find<T: Tables>(control: &mut Control) -> Result<Vec<Found<T>>, Error> {
    let row = sql::row(control, DOING, "select database()")?;
    if row.text(0).is_none() {
        return Err(Error::Asked {
            problem: "the connection has no database".to_owned(),
            hint: "name one in the URL: mysql://user@host/database".to_owned(),
        });
    }
    let names: Vec<String> = T::ALL
        .iter()
        .map(|table| format!("'{}'", table.name()))
        .collect();
    let of = |what: &str, view: &str, rest: &str| {
        format!(
            "select table_name, {what} from information_schema.{view} \
             where table_schema = database() and table_name in ({}) {rest}",
            names.join(", ")
        )
    };
    let tables = of(
        "table_type, table_rows, data_length, index_length",
        "tables",
        "",
    );
    let columns = of(
        "column_name",
        "columns",
        "order by table_name, ordinal_position",
    );
    let primary = "and index_name = 'PRIMARY' order by table_name, seq_in_index";
    let key = of("column_name", "statistics", primary);
    let tables = sql::rows(control, DOING, &tables)?;
    let columns = sql::rows(control, DOING, &columns)?;
    let keys = sql::rows(control, DOING, &key)?;
    let found = T::ALL.iter().filter_map(|table| {
        let is_it = |row: &&sql::Row| row.text(0) == Some(table.name());
        let row = tables.iter().find(is_it)?;
        let list = |rows: &[sql::Row]| {
            let named: Vec<&str> = rows
                .iter()
                .filter(is_it)
                .filter_map(|r| r.text(1))
                .collect();
            named.join(",")
        };
        Some(read(*table, row, list(&columns), &list(&keys)))
    });
    Ok(found.collect())
}

/// Sizes and rows are the server's estimates.
fn read<T: Tables>(table: T, row: &sql::Row, columns: String, keyed: &str) -> Found<T> {
    let count = |column| {
        let value = row.int(column).and_then(|value| u64::try_from(value).ok());
        value.unwrap_or(0)
    };
    let wanted = table.columns(Engine::MySql).join(",");
    let key = table.key(Engine::MySql);
    Found {
        table,
        ours: row.text(1) == Some("BASE TABLE") && columns == wanted,
        keyed: keyed == key.join(","),
        rewritten: false,
        columns,
        wanted,
        key,
        facts: TableFacts {
            name: table.name().to_owned(),
            rows: count(2),
            table_bytes: count(3),
            index_bytes: count(4),
            ..TableFacts::default()
        },
    }
}
