//! Reads from the catalog which tables of a workload exist, whether they are its own, and their sizes;
//! also drops them.
//!
//! Must never touch another application's table with the same name. Must not query MySQL's catalog separately
//! for each table, because each such query makes an old server open all tables.

use crate::foreign_table::foreign_table_error;
use crate::note::LoadNote;
use crate::ownership::require_ownership;
use crate::remedy::{LoadSpec, Remedy};
use crate::sql::{self, ResultRow};
use crate::{Error, Result, TableFacts};
use prony_document::SqlDialect;
use prony_server::Control;
use std::collections::HashMap;

mod sqlserver;

const READING_CATALOG: &str = "reading the catalog";

pub trait Tables: Copy + PartialEq + 'static {
    /// All tables, in the order in which they are listed to users and created.
    const ALL: &'static [Self];

    /// The name, without a schema.
    fn name(self) -> &'static str;

    /// The names of its columns, in order.
    fn columns(self, dialect: SqlDialect) -> Vec<&'static str>;

    /// Whether a table with these columns, comma-separated, belongs to the workload.
    fn has_columns(self, dialect: SqlDialect, columns: &str) -> bool {
        columns == self.columns(dialect).join(",")
    }

    /// The columns of its primary key, in order; empty if it has no key.
    fn key(self, dialect: SqlDialect) -> &'static [&'static str];
}

/// An existing table with the name of one of the workload's tables; the first in the search path.
pub struct CatalogTable<T> {
    pub table: T,
    /// Whether it is a table (plain or partitioned) with the workload's columns.
    pub is_own: bool,
    /// Whether it has a valid primary key on the expected columns, if it should have one.
    pub has_primary_key: bool,
    /// Whether its file was replaced since it was created, as by TRUNCATE, VACUUM FULL or CLUSTER.
    pub is_rewritten: bool,
    /// Names of its columns, comma-separated.
    pub columns: String,
    /// Names of the expected columns, comma-separated.
    pub expected_columns: String,
    /// The columns of its expected primary key; empty if it should have none.
    pub key: &'static [&'static str],
    /// The note that a load left in its comment, if any.
    pub note: Option<LoadNote>,
    pub facts: TableFacts,
}

/// A relation as the catalog describes it. Lists are comma-separated.
#[derive(Clone, Debug, Default)]
pub struct CatalogEntry {
    /// Whether it is a table, plain or partitioned.
    pub is_table: bool,
    pub columns: String,
    /// Columns of its valid primary key.
    pub key: String,
    pub indexed_columns: String,
    /// See [`CatalogTable::is_rewritten`].
    pub is_rewritten: bool,
    /// The note in its comment, or in that of a column.
    pub note: Option<LoadNote>,
    /// Name, sizes and statistics.
    pub facts: TableFacts,
}

/// Selects the relations to read.
pub enum RelationNames<'a> {
    Listed(Vec<&'a str>),
    /// Tables of this name followed by a number from 1 to 99,999.
    Numbered(&'a str),
}

/// The query for the entries on PostgreSQL. `{names}` stands for a query that returns (position, name). Sums
/// cover the table and, if it is partitioned, its partitions.
const POSTGRES_QUERY: &str = "\
select t.name, c.relkind in ('r', 'p'), \
 (select string_agg(a.attname, ',' order by a.attnum) from pg_attribute a \
   where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped), \
 (select string_agg(a.attname, ',' order by array_position(i.indkey::int2[], a.attnum)) \
   from pg_index i join pg_attribute a \
   on a.attrelid = i.indrelid and a.attnum = any(i.indkey) \
   where i.indrelid = c.oid and i.indisprimary and i.indisvalid), \
 pg_relation_filenode(c.oid) is distinct from c.oid, \
 f.rows, f.table_bytes, f.index_bytes, f.dead, \
 extract(epoch from clock_timestamp() - f.analyzed), f.visible, f.pages, \
 obj_description(c.oid, 'pg_class'), \
 (select string_agg(a.attname, ',') from pg_index i join pg_attribute a \
   on a.attrelid = c.oid and a.attnum = i.indkey[0] where i.indrelid = c.oid and i.indisvalid) \
from ({names}) t(place, name) \
join pg_class c on c.oid = to_regclass(t.name) \
cross join lateral (select sum(greatest(p.reltuples, 0))::bigint as rows, \
  sum(pg_table_size(p.oid))::bigint as table_bytes, \
  sum(pg_indexes_size(p.oid))::bigint as index_bytes, \
  sum(pg_stat_get_dead_tuples(p.oid))::bigint as dead, \
  max(greatest(pg_stat_get_last_analyze_time(p.oid), \
   pg_stat_get_last_autoanalyze_time(p.oid))) as analyzed, \
  sum(p.relallvisible)::bigint as visible, sum(p.relpages)::bigint as pages \
 from (select c.oid where c.relkind <> 'p' \
  union all select inhrelid from pg_inherits where inhparent = c.oid) o \
 join pg_class p on p.oid = o.oid) f \
order by t.place";

impl RelationNames<'_> {
    fn postgres_query(&self) -> String {
        match self {
            RelationNames::Listed(names) => {
                let indexed_names = names.iter().enumerate();
                let rows: Vec<String> = indexed_names
                    .map(|(n, name)| format!("({n}, '{name}')"))
                    .collect();
                format!("values {}", rows.join(", "))
            }
            RelationNames::Numbered(prefix) => format!(
                "select substr(relname, {})::int, relname::text from pg_class \
                 where relkind in ('r', 'p') and relname ~ '^{prefix}[1-9][0-9]{{0,4}}$' \
                 and pg_table_is_visible(oid)",
                prefix.len() + 1
            ),
        }
    }

    fn mysql_predicate(&self) -> String {
        match self {
            RelationNames::Listed(names) => format!("in ('{}')", names.join("', '")),
            RelationNames::Numbered(prefix) => format!("regexp '^{prefix}[1-9][0-9]{{0,4}}$'"),
        }
    }
}

/// Returns the existing relations with these names, in the order of the list or of the numbers. Searches
/// the search path on PostgreSQL, the connection's database on MySQL, and its default schema on SQL Server.
pub fn read_entries(control: &mut Control, names: &RelationNames<'_>) -> Result<Vec<CatalogEntry>> {
    match control.dialect() {
        SqlDialect::PostgreSql => {
            let rows = sql::query_rows(
                control,
                READING_CATALOG,
                &POSTGRES_QUERY.replace("{names}", &names.postgres_query()),
            )?;
            Ok(rows.iter().map(postgres_entry).collect())
        }
        SqlDialect::MySql => read_on_mysql(control, names),
        SqlDialect::TransactSql => sqlserver::read(control, names),
    }
}

fn postgres_entry(row: &ResultRow) -> CatalogEntry {
    let text = |column| row.text(column).unwrap_or_default().to_owned();
    let pages = row.count(11);
    CatalogEntry {
        is_table: row.is_true(1),
        columns: text(2),
        key: text(3),
        is_rewritten: row.is_true(4),
        note: row.text(12).and_then(LoadNote::parse),
        indexed_columns: text(13),
        facts: TableFacts {
            name: text(0),
            rows: row.count(5),
            table_bytes: row.count(6),
            index_bytes: row.count(7),
            dead_rows: row.count(8),
            statistics_age_s: row.float(9),
            sizes_unknown: None,
            all_visible_share: (pages > 0).then(|| row.count(10) as f64 / pages as f64),
        },
    }
}

/// Reads the catalog of MySQL or MariaDB; sizes and row counts are the server's estimates.
fn read_on_mysql(control: &mut Control, names: &RelationNames<'_>) -> Result<Vec<CatalogEntry>> {
    sql::require_mysql_database(control, READING_CATALOG)?;
    let mut read_view = |columns: &str, view: &str, condition_and_order: &str| {
        let select = format!(
            "select table_name, {columns} from information_schema.{view} \
             where table_schema = database() and table_name {}{condition_and_order}",
            names.mysql_predicate()
        );
        sql::query_rows(control, READING_CATALOG, &select)
    };
    let tables = read_view(
        "table_type, table_rows, data_length, index_length, table_comment",
        "tables",
        "",
    )?;
    let columns = read_view(
        "column_name, column_comment",
        "columns",
        // Statements that do not name an invisible column, such as a generated key, never see it.
        " and extra not like '%INVISIBLE%' order by ordinal_position",
    )?;
    let indexes = read_view(
        "column_name, index_name, seq_in_index",
        "statistics",
        " order by seq_in_index",
    )?;
    Ok(build_entries(names, &tables, &columns, &indexes))
}

/// Builds the entries of tables from a catalog without arrays, which returns one row per table, column or
/// index column. Keeps the order of the list or of the numbers. A row of `tables` has a name, `BASE TABLE` if
/// it is a table, rows, bytes of the table and of its indexes, and a comment.
fn build_entries(
    names: &RelationNames<'_>,
    tables: &[ResultRow],
    columns: &[ResultRow],
    indexes: &[ResultRow],
) -> Vec<CatalogEntry> {
    let mut entries: HashMap<&str, CatalogEntry> = HashMap::new();
    for row in tables {
        let entry = CatalogEntry {
            is_table: row.text(1) == Some("BASE TABLE"),
            note: row.text(5).and_then(LoadNote::parse),
            facts: TableFacts {
                name: row.text(0).unwrap_or_default().to_owned(),
                rows: row.count(2),
                table_bytes: row.count(3),
                index_bytes: row.count(4),
                ..TableFacts::default()
            },
            ..CatalogEntry::default()
        };
        entries.insert(row.text(0).unwrap_or_default(), entry);
    }
    add_columns(&mut entries, columns);
    add_indexes(&mut entries, indexes);
    match names {
        RelationNames::Listed(names) => names
            .iter()
            .filter_map(|name| entries.remove(name))
            .collect(),
        RelationNames::Numbered(_) => {
            let mut entries: Vec<CatalogEntry> = entries.into_values().collect();
            entries.sort_by_key(|entry| (entry.facts.name.len(), entry.facts.name.clone()));
            entries
        }
    }
}

fn append_to_list(list: &mut String, name: &str) {
    if !list.is_empty() {
        list.push(',');
    }
    list.push_str(name);
}

/// Adds columns to their tables; each row has a table, a column and its comment.
fn add_columns(entries: &mut HashMap<&str, CatalogEntry>, columns: &[ResultRow]) {
    for row in columns {
        let Some(entry) = row.text(0).and_then(|name| entries.get_mut(name)) else {
            continue;
        };
        append_to_list(&mut entry.columns, row.text(1).unwrap_or_default());
        // If the table already has a comment by the user, the load puts its note on a column.
        entry.note = entry
            .note
            .take()
            .or_else(|| row.text(2).and_then(LoadNote::parse));
    }
}

/// Adds indexed columns to their tables; each row has a table, a column, an index and the position in it.
fn add_indexes(entries: &mut HashMap<&str, CatalogEntry>, indexes: &[ResultRow]) {
    for row in indexes {
        let Some(entry) = row.text(0).and_then(|name| entries.get_mut(name)) else {
            continue;
        };
        let column = row.text(1).unwrap_or_default();
        if row.text(2) == Some("PRIMARY") {
            append_to_list(&mut entry.key, column);
        }
        if row.int(3) == Some(1) {
            append_to_list(&mut entry.indexed_columns, column);
        }
    }
}

/// Returns the existing tables, in the order of [`Tables::ALL`].
pub fn find<T: Tables>(control: &mut Control) -> Result<Vec<CatalogTable<T>>> {
    let dialect = control.dialect();
    let names = T::ALL.iter().map(|table| table.name()).collect();
    let entries = read_entries(control, &RelationNames::Listed(names))?.into_iter();
    let tables = entries.filter_map(|entry| {
        let mut expected = T::ALL.iter();
        let table = *expected.find(|table| table.name() == entry.facts.name)?;
        let key = table.key(dialect);
        Some(CatalogTable {
            table,
            is_own: entry.is_table && table.has_columns(dialect, &entry.columns),
            // Column names are case-insensitive on MySQL.
            has_primary_key: key.is_empty() || entry.key.eq_ignore_ascii_case(&key.join(",")),
            is_rewritten: entry.is_rewritten,
            columns: entry.columns,
            expected_columns: table.columns(dialect).join(","),
            key,
            note: entry.note,
            facts: entry.facts,
        })
    });
    Ok(tables.collect())
}

/// Returns the valid indexes that a connection sees, by table and name, and whether each is a primary key.
pub fn read_indexes(control: &mut Control) -> Result<HashMap<(String, String), bool>> {
    let select = match control.dialect() {
        SqlDialect::PostgreSql => {
            "select t.relname, c.relname, i.indisprimary from pg_index i \
             join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid \
             where i.indisvalid and pg_table_is_visible(t.oid)"
        }
        SqlDialect::MySql => {
            "select distinct table_name, index_name, case index_name when 'PRIMARY' then 't' end \
             from information_schema.statistics where table_schema = database()"
        }
        SqlDialect::TransactSql => sqlserver::INDEX_QUERY,
    };
    let rows = sql::query_rows(control, "reading the indexes", select)?;
    let index_entry = |row: &ResultRow| {
        let text = |column| row.text(column).map(str::to_owned);
        Some(((text(0)?, text(1)?), row.is_true(2)))
    };
    Ok(rows.iter().filter_map(index_entry).collect())
}

/// Rejects tables of other applications: those with the name of a workload's table, but different columns.
pub fn reject_foreign_tables<T: Tables>(tables: &[CatalogTable<T>]) -> Result<()> {
    let Some(other_table) = tables.iter().find(|table| !table.is_own) else {
        return Ok(());
    };
    Err(foreign_table_error(
        other_table.table.name(),
        &other_table.columns,
        &other_table.expected_columns,
        None,
    ))
}

/// Returns the tables of a workload, if all exist and their load has finished. For the remedy, `load` is the
/// load that creates missing tables, and `load_from_note` returns the load that left a note.
///
/// # Errors
/// A table is missing, belongs to another application or has no key; or the load has not finished.
pub fn find_loaded<T: Tables>(
    control: &mut Control,
    load: &LoadSpec,
    load_from_note: impl Fn(&LoadNote) -> LoadSpec,
) -> Result<Vec<CatalogTable<T>>> {
    let data_error = |problem: String| Error::Data {
        problem,
        remedy: Remedy::Load(load.clone()),
    };
    let tables = find::<T>(control)?;
    let mut expected_tables = T::ALL.iter();
    if let Some(table) =
        expected_tables.find(|expected| tables.iter().all(|table| table.table != **expected))
    {
        return Err(data_error(format!("table {} is missing", table.name())));
    }
    reject_foreign_tables(&tables)?;
    let mut notes = tables.iter().filter_map(|table| table.note.as_ref());
    if let Some(note) = notes.find(|note| note.is_unfinished()) {
        return Err(note.unfinished_error(load_from_note(note)));
    }
    if let Some(table) = tables.iter().find(|table| !table.has_primary_key) {
        return Err(data_error(format!(
            "{} has no primary key: its load did not finish",
            table.table.name()
        )));
    }
    Ok(tables)
}

/// Returns the text that drops tables which may exist: a single statement, because foreign keys (`pgbench -i
/// --foreign-keys`) may link them. SQL Server has `drop table if exists` only since 2016.
pub fn drop_statement(dialect: SqlDialect, names: &[&str]) -> String {
    match dialect {
        SqlDialect::PostgreSql | SqlDialect::MySql => {
            format!("drop table if exists {}", names.join(", "))
        }
        SqlDialect::TransactSql => {
            let drop = |name| format!("if object_id('{name}', 'U') is not null drop table {name}");
            let drops: Vec<String> = names.iter().map(drop).collect();
            drops.join("; ")
        }
    }
}

/// Drops the existing tables; returns their names.
pub fn drop_existing<T: Tables>(control: &mut Control) -> Result<Vec<String>> {
    let tables = find::<T>(control)?;
    reject_foreign_tables(&tables)?;
    let names: Vec<&str> = tables.iter().map(|table| table.table.name()).collect();
    require_ownership(control, &names)?;
    if !names.is_empty() {
        let drop = drop_statement(control.dialect(), &names);
        sql::execute(control, "dropping the tables", &drop)?;
    }
    Ok(names.into_iter().map(str::to_owned).collect())
}
