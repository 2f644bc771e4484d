//! One row of a result, for all protocols.
//!
//! In: a row of a protocol's folder. Out: its values. Must never: expose the protocol to a caller.

use crate::{mysql, postgres, tds};

/// One row of a result.
#[derive(Clone, Copy, Debug)]
pub struct WireRow<'a>(Inner<'a>);

#[derive(Clone, Copy, Debug)]
enum Inner<'a> {
    Postgres(postgres::reply::Row<'a>),
    Mysql(mysql::row::Row<'a>),
    Tds(tds::row::Row<'a>),
}

impl<'a> From<postgres::reply::Row<'a>> for WireRow<'a> {
    fn from(row: postgres::reply::Row<'a>) -> Self {
        WireRow(Inner::Postgres(row))
    }
}

impl<'a> From<mysql::row::Row<'a>> for WireRow<'a> {
    fn from(row: mysql::row::Row<'a>) -> Self {
        WireRow(Inner::Mysql(row))
    }
}

impl<'a> From<tds::row::Row<'a>> for WireRow<'a> {
    fn from(row: tds::row::Row<'a>) -> Self {
        WireRow(Inner::Tds(row))
    }
}

impl<'a> WireRow<'a> {
    /// The values as text in order; `None` is NULL. Ends early if the row is malformed.
    pub fn values(self) -> impl Iterator<Item = Option<&'a [u8]>> {
        let (postgres, mysql, tds) = match self.0 {
            Inner::Postgres(row) => (Some(row.values()), None, None),
            Inner::Mysql(row) => (None, Some(row.values()), None),
            Inner::Tds(row) => (None, None, Some(row.values())),
        };
        let postgres = postgres.into_iter().flatten();
        let mysql = mysql.into_iter().flatten();
        postgres.chain(mysql).chain(tds.into_iter().flatten())
    }

    /// A value as text; `None` if it is NULL, missing, or not UTF-8.
    pub fn text(self, column: usize) -> Option<&'a str> {
        match self.0 {
            Inner::Postgres(row) => row.text(column),
            Inner::Mysql(row) => std::str::from_utf8(row.bytes(column)?).ok(),
            Inner::Tds(row) => std::str::from_utf8(row.bytes(column)?).ok(),
        }
    }

    /// A value as an integer.
    pub fn int(self, column: usize) -> Option<i64> {
        match self.0 {
            Inner::Postgres(row) => row.int(column),
            Inner::Mysql(row) => row.int(column),
            Inner::Tds(row) => row.int(column),
        }
    }
}
