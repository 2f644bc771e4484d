//! The table into which each transaction of a run writes its number, if the run keeps a ledger.
//!
//! In: the id of a run, a connection. Out: the table, the statement that writes an entry, and what the table has. Must
//! never: touch the table of another run, whose name has that run's id.

use crate::{Result, sql};
use prony_document::{Service, SqlDialect};
use prony_server::Control;
use prony_server::observe::is_galera;
use prony_session::{EntryPlacement, Ledger, StatementTable};

const CREATING: &str = "creating the ledger's table";
const READING: &str = "reading the ledger";
/// The pages of PostgreSQL before the end of the table that may still get entries: more than are added at once under
/// contention.
const OPEN_PAGES: u64 = 600;
/// The same of MySQL's ids: those of transactions in progress.
const OPEN_ENTRIES: u64 = 20_000;
/// The start of the names of all such tables.
const PREFIX: &str = "prony_ledger_";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerTable {
    name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientEntries {
    /// The client, from 0.
    pub client: u32,
    pub entries: u64,
    /// Entries with different numbers.
    pub distinct: u64,
    pub highest: u64,
}

/// Whether a server of PostgreSQL's protocol has another engine, by its version: CockroachDB requires that a common table
/// expression returns something.
fn is_other_engine(control: &mut Control) -> bool {
    let dialect = control.dialect();
    if dialect != SqlDialect::PostgreSql {
        return false;
    }
    // A server that does not tell its version is none of PostgreSQL's.
    let version = control.query_value("select version()").ok().flatten();
    version.is_none_or(|version| {
        let service = Service::recognize(dialect, &version, &[]);
        service.is_some_and(|service| service.quirks().is_other_engine)
    })
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

    /// An empty account of this many clients of a program with these statements, whose entries go to the table of this
    /// server.
    pub fn ledger(
        &self,
        control: &mut Control,
        clients: u32,
        statements: &StatementTable,
    ) -> Ledger {
        let dialect = control.dialect();
        let placement = match dialect {
            SqlDialect::PostgreSql => EntryPlacement::InRequest,
            SqlDialect::MySql if is_galera(control) => EntryPlacement::InTexts,
            SqlDialect::MySql => EntryPlacement::InText,
            SqlDialect::TransactSql => EntryPlacement::WithWrite,
        };
        let ledger = Ledger::new(self.insert(dialect), placement, clients, statements);
        if is_other_engine(control) { ledger.with_returning_expressions() } else { ledger }
    }

    /// Creates the table, without an index that each transaction would have to update; MySQL has one anyway.
    pub fn create(&self, control: &mut Control) -> Result<()> {
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

    pub fn clients(&self, control: &mut Control) -> Result<Vec<ClientEntries>> {
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

    /// The highest number of each client in the part of the table that may have changed since the reading before at the
    /// same server, for a reading that must be fast. On SQL Server, whose heap has no such order, in the whole table.
    /// `end`: where the table ended then, 0 for the first time; afterwards where it ends now.
    pub fn latest(&self, control: &mut Control, end: &mut u64) -> Result<Vec<(u32, u64)>> {
        let name = &self.name;
        let table = control.dialect().quote_identifier(name);
        let (size, part): (String, fn(u64) -> String) = match control.dialect() {
            SqlDialect::PostgreSql => (
                format!("select pg_relation_size('{name}') / current_setting('block_size')::int"),
                |end| format!(" where ctid >= '({},0)'", end.saturating_sub(OPEN_PAGES)),
            ),
            SqlDialect::MySql => (format!("select max(id) from {table}"), |end| {
                format!(" where id > {}", end.saturating_sub(OPEN_ENTRIES))
            }),
            SqlDialect::TransactSql => (String::new(), |_| String::new()),
        };
        let now = match size.as_str() {
            "" => 0,
            size => sql::query_row(control, READING, size)?.count(0),
        };
        // A server that was replaced may have less.
        let part = part(now.min(*end));
        let select = format!("select client, max(sequence) from {table}{part} group by client");
        let rows = sql::query_rows(control, READING, &select)?;
        let entries = rows.iter().map(|row| {
            let client = u32::try_from(row.count(0)).unwrap_or(u32::MAX);
            (client, row.count(1))
        });
        *end = now;
        Ok(entries.collect())
    }

    pub fn numbers(&self, control: &mut Control, client: u32) -> Result<Vec<u64>> {
        let table = control.dialect().quote_identifier(&self.name);
        let select =
            format!("select sequence from {table} where client = {client} order by sequence");
        let rows = sql::query_rows(control, READING, &select)?;
        Ok(rows.iter().map(|row| row.count(0)).collect())
    }

    /// How many entries took effect before an earlier one of the same client, by the order of transactions' numbers or of
    /// ids; `None` if the server does not show it: nodes of Galera draw ids by themselves.
    pub fn reordered(&self, control: &mut Control) -> Option<u64> {
        let order = match control.dialect() {
            SqlDialect::PostgreSql => "xmin::text::bigint",
            SqlDialect::MySql => {
                let increment = control.query_value("select @@auto_increment_increment");
                increment.ok().flatten().filter(|step| step == "1")?;
                "id"
            }
            SqlDialect::TransactSql => return None,
        };
        let table = control.dialect().quote_identifier(&self.name);
        // Numbers of transactions begin again after 2^32; an entry that is there twice is another fault. Entries that were
        // copied or restored have the number of one transaction.
        let select = format!(
            "select count(*) from (select {order} - lag({order}) over of_client as step, \
             sequence - lag(sequence) over of_client as distance from {table} \
             window of_client as (partition by client order by sequence)) as steps \
             where step between -2147483648 and -1 and distance > 0"
        );
        let count = sql::query_row(control, READING, &select).ok()?;
        Some(count.count(0))
    }

    pub fn drop(&self, control: &mut Control) -> Result<()> {
        let table = control.dialect().quote_identifier(&self.name);
        sql::execute(
            control,
            "dropping the ledger's table",
            &format!("drop table {table}"),
        )
    }
}
