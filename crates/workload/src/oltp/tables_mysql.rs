//! Which of the tables exist, by the catalog of MySQL and MariaDB.
//!
//! In: a control connection. Out: facts. Must never: ask the catalog table by table, each of which
//! makes an old server open all of them.

use super::engine::table;
use super::tables::{Found, Note};
use crate::{Error, TableFacts, sql};
use prony_server::Control;
use std::collections::BTreeMap;

const DOING: &str = "reading the catalog";

/// The tables that exist in the database of the connection, by number.
///
/// # Errors
/// The connection has no database, or the server refuses.
pub fn find(control: &mut Control) -> Result<Vec<Found>, Error> {
    let row = sql::row(control, DOING, "select database()")?;
    let Some(database) = row.text(0) else {
        return Err(Error::Asked {
            problem: "the connection has no database".to_owned(),
            hint: "name one in the URL: mysql://user@host/database".to_owned(),
        });
    };
    let quoted = control.product().quote_literal(database);
    let of = |what: &str, view: &str, order: &str| {
        format!(
            "select table_name, {what} from information_schema.{view} \
             where table_schema = {quoted} and table_name like 'sbtest%' {order}"
        )
    };
    let tables = of(
        "table_comment, table_rows, data_length, index_length, table_type",
        "tables",
        "",
    );
    let columns = of("column_name", "columns", "order by ordinal_position");
    let indexes = of("index_name, column_name, seq_in_index", "statistics", "");
    let mut found = BTreeMap::new();
    for row in sql::rows(control, DOING, &tables)? {
        found.extend(read(&row).map(|one| (one.number, one)));
    }
    let place = |row: &sql::Row| row.text(0).and_then(number);
    for row in sql::rows(control, DOING, &columns)? {
        let one = place(&row).and_then(|number| found.get_mut(&number));
        if let (Some(one), Some(column)) = (one, row.text(1)) {
            if !one.columns.is_empty() {
                one.columns.push(',');
            }
            one.columns.push_str(column);
        }
    }
    // Keys of several columns are told by their second one.
    let indexes = sql::rows(control, DOING, &indexes)?;
    for row in &indexes {
        let one = place(row).and_then(|number| found.get_mut(&number));
        let (Some(one), Some(1)) = (one, row.int(3)) else {
            continue;
        };
        let column = row.text(2).unwrap_or_default();
        one.indexed[0] |= column == "id";
        one.indexed[1] |= column == "k";
        one.keyed |= column == "id" && row.text(1) == Some("PRIMARY");
    }
    for row in indexes.iter().filter(|row| row.int(3) == Some(2)) {
        let one = place(row).and_then(|number| found.get_mut(&number));
        if let (Some(one), Some("PRIMARY")) = (one, row.text(1)) {
            one.keyed = false;
        }
    }
    Ok(found.into_values().collect())
}

/// The number of a table of this name: from 1, without leading zeros, at most five digits.
fn number(name: &str) -> Option<u32> {
    let digits = name.strip_prefix("sbtest")?;
    let number: u32 = digits.parse().ok().filter(|number| *number < 100_000)?;
    (number > 0 && number.to_string() == digits).then_some(number)
}

/// Sizes and statistics, which the server estimates; views are none of ours.
fn read(row: &sql::Row) -> Option<Found> {
    let number = number(row.text(0)?)?;
    row.text(5).filter(|kind| *kind == "BASE TABLE")?;
    let count = |column| {
        let value = row.int(column).and_then(|value| u64::try_from(value).ok());
        value.unwrap_or(0)
    };
    Some(Found {
        number,
        columns: String::new(),
        keyed: false,
        indexed: [false; 2],
        note: row.text(1).and_then(Note::parse),
        facts: TableFacts {
            name: table(number),
            rows: count(2),
            table_bytes: count(3),
            index_bytes: count(4),
            ..TableFacts::default()
        },
    })
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn only_numbers_as_sysbench_writes_them_name_a_table() {
        assert_eq!(number("sbtest1"), Some(1));
        assert_eq!(number("sbtest99999"), Some(99_999));
        for name in [
            "sbtest",
            "sbtest0",
            "sbtest01",
            "sbtest100000",
            "sbtest+1",
            "sbtest1x",
        ] {
            assert_eq!(number(name), None, "{name}");
        }
    }
}
