//! The table into which each transaction of a run writes its number, if the run keeps a ledger.
//!
//! In: the id of a run, a connection. Out: the table, the statement that writes an entry, and what the table has. Must
//! never: touch the table of another run, whose name has that run's id.

use crate::{Error, sql};
use prony_document::SqlDialect;
use prony_server::Control;

const CREATING: &str = "creating the ledger's table";
const READING: &str = "reading the ledger";
/// The pages of PostgreSQL that have the latest entries: more than are added at once under contention.
const LATEST_PAGES: u32 = 600;
/// The entries of MySQL that are the latest ones.
const LATEST_ENTRIES: u32 = 20_000;
/// The start of the names of all such tables.
const PREFIX: &str = "prony_ledger_";

/// The ledger's table of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerTable {
    name: String,
}

/// What the table has of one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientEntries {
    /// The client, from 0.
    pub client: u32,
    pub entries: u64,
    /// Entries with different numbers.
    pub distinct: u64,
    pub highest: u64,
}

impl LedgerTable {
    pub fn of_run(id: &str) -> LedgerTable {
        let id = id.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        LedgerTable {
            name: format!("{PREFIX}{}", id.to_ascii_lowercase()),
        }
    }

    /// The table of this name, which an account of a run has.
    pub fn named(name: String) -> LedgerTable {
        LedgerTable { name }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The statement that writes an entry; its parameters are the client and the number.
    pub fn insert(&self, dialect: SqlDialect) -> String {
        let table = dialect.quote_identifier(&self.name);
        format!("INSERT INTO {table} (client, sequence) VALUES ($1, $2)")
    }

    /// Creates the table, without an index that each transaction would have to update; MySQL has one anyway.
    ///
    /// # Errors
    /// The server refused.
    pub fn create(&self, control: &mut Control) -> Result<(), Error> {
        let dialect = control.dialect();
        let key = match dialect {
            SqlDialect::PostgreSql => {
                // A crash at the start of the load must not take the table along.
                sql::execute(control, CREATING, "set synchronous_commit = on")?;
                ""
            }
            SqlDialect::MySql => {
                sql::require_mysql_database(control, CREATING)?;
                "id bigint not null auto_increment primary key, "
            }
            SqlDialect::TransactSql => "",
        };
        let table = dialect.quote_identifier(&self.name);
        let create = format!(
            "create table {table} ({key}client integer not null, sequence bigint not null)"
        );
        sql::execute(control, CREATING, &create)
    }

    /// What the table has of each client.
    ///
    /// # Errors
    /// The server refused, or the connection was lost.
    pub fn clients(&self, control: &mut Control) -> Result<Vec<ClientEntries>, Error> {
        let dialect = control.dialect();
        let table = dialect.quote_identifier(&self.name);
        let select = format!(
            "select client, {count}, count(distinct sequence), max(sequence) from {table} group by client",
            count = dialect.count_all()
        );
        let rows = sql::query_rows(control, READING, &select)?;
        let clients = rows.iter().map(|row| ClientEntries {
            client: u32::try_from(row.count(0)).unwrap_or(u32::MAX),
            entries: row.count(1),
            distinct: row.count(2),
            highest: row.count(3),
        });
        Ok(clients.collect())
    }

    /// The highest number of each client in the last part of the table, for a reading that must be fast: some hundred
    /// thousand entries. On SQL Server, whose heap has no such order, in the whole table.
    ///
    /// # Errors
    /// The server refused, or the connection was lost.
    pub fn latest(&self, control: &mut Control) -> Result<Vec<(u32, u64)>, Error> {
        let name = &self.name;
        let table = control.dialect().quote_identifier(name);
        let part = match control.dialect() {
            SqlDialect::PostgreSql => format!(
                "{table} where ctid >= format('(%s,0)', greatest(pg_relation_size('{name}') \
                 / current_setting('block_size')::int - {LATEST_PAGES}, 0))::tid"
            ),
            SqlDialect::MySql => format!(
                "(select client, sequence from {table} order by id desc limit {LATEST_ENTRIES}) latest"
            ),
            SqlDialect::TransactSql => table,
        };
        let select = format!("select client, max(sequence) from {part} group by client");
        let rows = sql::query_rows(control, READING, &select)?;
        let entries = rows.iter().map(|row| {
            let client = u32::try_from(row.count(0)).unwrap_or(u32::MAX);
            (client, row.count(1))
        });
        Ok(entries.collect())
    }

    /// All numbers of one client, in order.
    ///
    /// # Errors
    /// The server refused, or the connection was lost.
    pub fn numbers(&self, control: &mut Control, client: u32) -> Result<Vec<u64>, Error> {
        let table = control.dialect().quote_identifier(&self.name);
        let select =
            format!("select sequence from {table} where client = {client} order by sequence");
        let rows = sql::query_rows(control, READING, &select)?;
        Ok(rows.iter().map(|row| row.count(0)).collect())
    }

    /// Drops the table.
    ///
    /// # Errors
    /// The server refused, or the connection was lost.
    pub fn drop(&self, control: &mut Control) -> Result<(), Error> {
        let table = control.dialect().quote_identifier(&self.name);
        sql::execute(
            control,
            "dropping the ledger's table",
            &format!("drop table {table}"),
        )
    }
}
