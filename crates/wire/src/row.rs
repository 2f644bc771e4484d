//! One row of a result, for all protocols.
//!
//! In: a row of a protocol's folder. Out: its values. Must never: expose the protocol to a caller.

use crate::{mysql, postgres, tds};

#[derive(Clone, Copy, Debug)]
pub struct WireRow<'a>(ProtocolRow<'a>);

#[derive(Clone, Copy, Debug)]
enum ProtocolRow<'a> {
    Postgres(postgres::row::Row<'a>),
    Mysql(mysql::row::Row<'a>),
    Tds(tds::row::Row<'a>),
}

impl<'a> From<postgres::row::Row<'a>> for WireRow<'a> {
    fn from(row: postgres::row::Row<'a>) -> Self {
        WireRow(ProtocolRow::Postgres(row))
    }
}

impl<'a> From<mysql::row::Row<'a>> for WireRow<'a> {
    fn from(row: mysql::row::Row<'a>) -> Self {
        WireRow(ProtocolRow::Mysql(row))
    }
}

impl<'a> From<tds::row::Row<'a>> for WireRow<'a> {
    fn from(row: tds::row::Row<'a>) -> Self {
        WireRow(ProtocolRow::Tds(row))
    }
}

impl<'a> WireRow<'a> {
    /// The values as text in order; `None` is NULL. Ends early if the row is malformed.
    pub fn values(self) -> impl Iterator<Item = Option<&'a [u8]>> {
        // The iterator must have one type: it chains those of the protocols, of which one is set.
        let (mut postgres, mut mysql, mut tds) = (None, None, None);
        match self.0 {
            ProtocolRow::Postgres(row) => postgres = Some(row.values()),
            ProtocolRow::Mysql(row) => mysql = Some(row.values()),
            ProtocolRow::Tds(row) => tds = Some(row.values()),
        }
        let postgres_values = postgres.into_iter().flatten();
        let mysql_values = mysql.into_iter().flatten();
        postgres_values
            .chain(mysql_values)
            .chain(tds.into_iter().flatten())
    }

    /// A value as text; `None` if it is NULL, missing, or not UTF-8.
    pub fn text(self, column: usize) -> Option<&'a str> {
        match self.0 {
            ProtocolRow::Postgres(row) => row.text(column),
            ProtocolRow::Mysql(row) => std::str::from_utf8(row.bytes(column)?).ok(),
            ProtocolRow::Tds(row) => std::str::from_utf8(row.bytes(column)?).ok(),
        }
    }

    /// A value as an integer; `None` if it is NULL, missing, or not an integer.
    pub fn int(self, column: usize) -> Option<i64> {
        match self.0 {
            ProtocolRow::Postgres(row) => row.int(column),
            ProtocolRow::Mysql(row) => row.int(column),
            ProtocolRow::Tds(row) => row.int(column),
        }
    }
}
