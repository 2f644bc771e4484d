//! The supported protocols, one folder each.

/// A database protocol. Servers of several engines may speak the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// PostgreSQL's, version 3.0.
    PostgreSql,
    /// MySQL's and MariaDB's, version 10.
    MySql,
    /// SQL Server's, TDS 7.2 to 7.4 and 8.0.
    Tds,
}
