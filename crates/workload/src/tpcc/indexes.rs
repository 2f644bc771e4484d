//! The existing indexes of the tables, and the statements that build missing ones. An index that is not
//! yet valid counts as missing.

use super::schema::{Index, Table};
use crate::loader::dataset::IndexBuild;
use crate::{Result, sql};
use prony_document::SqlDialect;
use prony_server::Control;

const READING_INDEXES: &str = "reading the indexes";

/// Returns the names of the valid indexes on PostgreSQL that meet the condition `predicate`, among those of
/// the nine tables and their partitions.
fn valid_index_names(control: &mut Control, predicate: &str) -> Result<Vec<String>> {
    let tables = Table::ALL.map(|table| format!("to_regclass('{}')", table.name()));
    let sql = format!(
        "select c.relname from pg_index i join pg_class c on c.oid = i.indexrelid \
         where (i.indrelid in ({}) or i.indrelid in (select inhrelid from pg_inherits \
          where inhparent = to_regclass('order_line'))) and i.indisvalid and {predicate}",
        tables.join(", ")
    );
    query_names(control, &sql)
}

/// An index that is not a primary key.
pub struct SecondaryIndex {
    pub name: &'static str,
    /// Its columns, separated by commas.
    pub columns: String,
    /// The statement that builds it.
    pub build: String,
    pub exists: bool,
}

/// The secondary indexes on MySQL and MariaDB: table, name, columns with their prefix lengths. The one that
/// takes longer to build comes first.
const MYSQL_INDEXES: [(&str, &str, &str); 2] = [
    (
        "customer",
        "c_w_id",
        "c_w_id, c_d_id, c_last(16), c_first(16)",
    ),
    ("orders", "o_w_id", "o_w_id, o_d_id, o_c_id, o_id"),
];

/// Returns the secondary indexes that the engine's tables should have, and whether each exists.
pub fn find_secondary(control: &mut Control) -> Result<Vec<SecondaryIndex>> {
    match control.dialect() {
        SqlDialect::PostgreSql => {
            let existing = valid_index_names(control, "true")?;
            let secondary = Index::all().into_iter().filter(|index| !index.primary);
            let with_existence = |index: Index| SecondaryIndex {
                name: index.name,
                columns: index.columns.join(", "),
                build: index.build(),
                exists: existing.iter().any(|name| name == index.name),
            };
            Ok(secondary.map(with_existence).collect())
        }
        SqlDialect::TransactSql => {
            let existing = existing_indexes(control)?;
            let secondary = Index::all().into_iter().filter(|index| !index.primary);
            let with_existence = |index: Index| {
                let found = existing
                    .iter()
                    .find(|existing| existing.columns == index.columns);
                SecondaryIndex {
                    name: found.map_or(index.name, |found| sql_server_name(&index, &found.name)),
                    columns: index.columns.join(", "),
                    build: index.build(),
                    exists: found.is_some(),
                }
            };
            Ok(secondary.map(with_existence).collect())
        }
        SqlDialect::MySql => {
            let sql = "select index_name from information_schema.statistics \
                 where table_schema = database() and table_name in ('customer', 'orders') \
                 and seq_in_index = 1";
            let existing = query_names(control, sql)?;
            let indexes = MYSQL_INDEXES.map(|(table, name, columns)| SecondaryIndex {
                name,
                columns: columns.to_owned(),
                build: mysql_build(table, name, columns),
                exists: existing.iter().any(|existing| existing == name),
            });
            Ok(indexes.into())
        }
    }
}

/// HammerDB's name of the index on customers' last names on SQL Server.
const HAMMERDB_LAST_NAMES: &str = "customer_c_last";

/// The name of an existing index: HammerDB's or Prony's. Babelfish appends a hash to it.
fn sql_server_name(index: &Index, existing: &str) -> &'static str {
    if existing.starts_with(HAMMERDB_LAST_NAMES) { HAMMERDB_LAST_NAMES } else { index.name }
}

struct ExistingIndex {
    name: String,
    columns: Vec<String>,
}

/// The indexes of customer and orders on SQL Server.
fn existing_indexes(control: &mut Control) -> Result<Vec<ExistingIndex>> {
    let sql = "select cast(i.object_id as varchar(20)) + '.' + cast(i.index_id as varchar(20)), c.name, i.name \
         from sys.objects o join sys.indexes i on i.object_id = o.object_id \
         join sys.index_columns k on k.object_id = i.object_id and k.index_id = i.index_id \
         join sys.columns c on c.object_id = k.object_id and c.column_id = k.column_id \
         where o.schema_id = schema_id() and o.name in ('customer', 'orders') and i.is_disabled = 0 \
         and k.key_ordinal > 0 order by i.object_id, i.index_id, k.key_ordinal";
    let rows = sql::query_rows(control, READING_INDEXES, sql)?;
    let mut rows = rows.iter().peekable();
    let mut indexes = Vec::new();
    while let Some(first) = rows.next() {
        let text = |row: &sql::ResultRow, column| row.text(column).unwrap_or_default().to_owned();
        let mut columns = vec![text(first, 1)];
        while let Some(row) = rows.next_if(|row| row.text(0) == first.text(0)) {
            columns.push(text(row, 1));
        }
        let name = text(first, 2);
        indexes.push(ExistingIndex { name, columns });
    }
    Ok(indexes)
}

fn mysql_build(table: &str, name: &str, columns: &str) -> String {
    format!("alter table {table} add key {name} ({columns})")
}

/// The indexes that a load on MySQL builds after loading the rows.
pub fn mysql_builds() -> Vec<IndexBuild> {
    let indexes = MYSQL_INDEXES.map(|(table, name, columns)| {
        IndexBuild::of_statement(table, name, mysql_build(table, name, columns))
    });
    indexes.into()
}

/// Returns the first column of a query on the indexes.
fn query_names(control: &mut Control, sql: &str) -> Result<Vec<String>> {
    let rows = sql::query_rows(control, READING_INDEXES, sql)?;
    let names = rows.iter().filter_map(|row| row.text(0));
    Ok(names.map(str::to_owned).collect())
}
