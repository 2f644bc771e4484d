//! Which of a workload's tables exist, whether they are its own, and their sizes.
//!
//! In: what the tables should be, a control connection. Out: facts of the catalog; tables dropped.
//! Must never: touch a table that merely has one of the names.

use crate::oltp::engine::Engine;
use crate::sql::{self, Row};
use crate::{Error, TableFacts};
use prony_server::Control;

/// The tables of a workload, as an enumeration.
pub trait Tables: Copy + PartialEq + 'static {
    /// All of them, in the order in which they are listed to users.
    const ALL: &'static [Self];

    /// The name, without a schema.
    fn name(self) -> &'static str;

    /// The names of its columns, in order.
    fn columns(self, engine: Engine) -> Vec<&'static str>;

    /// The columns of its primary key, in order; none where it has no key.
    fn key(self, engine: Engine) -> &'static [&'static str];
}

/// A table that exists under one of the names, first in the search path.
pub struct Found<T> {
    /// Which one.
    pub table: T,
    /// Whether it is a table with the workload's columns, plain or partitioned.
    pub ours: bool,
    /// Whether it has a valid primary key on the right columns.
    pub keyed: bool,
    /// Whether its file was exchanged since it was created: TRUNCATE, VACUUM FULL, CLUSTER.
    pub rewritten: bool,
    /// Names of its columns, comma-separated.
    pub columns: String,
    /// Those that it should have.
    pub wanted: String,
    /// The columns of the key that it should have; none where it should have none.
    pub key: &'static [&'static str],
    /// Sizes and statistics.
    pub facts: TableFacts,
}

/// `{names}` stands for rows of a place and a name. Sums are taken over the table and, where it is
/// partitioned, its partitions.
const FIND: &str = "\
select t.name, c.relkind in ('r', 'p'), \
 (select string_agg(a.attname, ',' order by a.attnum) from pg_attribute a \
   where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped), \
 (select string_agg(a.attname, ',' order by array_position(i.indkey::int2[], a.attnum)) \
   from pg_index i join pg_attribute a \
   on a.attrelid = i.indrelid and a.attnum = any(i.indkey) \
   where i.indrelid = c.oid and i.indisprimary and i.indisvalid), \
 pg_relation_filenode(c.oid) is distinct from c.oid, \
 f.rows, f.table_bytes, f.index_bytes, f.dead, \
 extract(epoch from clock_timestamp() - f.analyzed), f.visible, f.pages \
from (values {names}) t(place, name) \
join pg_class c on c.oid = to_regclass(t.name) \
cross join lateral (select sum(greatest(p.reltuples, 0))::bigint as rows, \
  sum(pg_table_size(p.oid))::bigint as table_bytes, \
  sum(pg_indexes_size(p.oid))::bigint as index_bytes, \
  sum(pg_stat_get_dead_tuples(p.oid))::bigint as dead, \
  max(greatest(pg_stat_get_last_analyze_time(p.oid), \
   pg_stat_get_last_autoanalyze_time(p.oid))) as analyzed, \
  sum(p.relallvisible)::bigint as visible, sum(p.relpages)::bigint as pages \
 from pg_class p where p.oid = c.oid and p.relkind <> 'p' \
  or p.oid in (select inhrelid from pg_inherits where inhparent = c.oid)) f \
order by t.place";

/// The tables that exist, in the order of [`Tables::ALL`].
pub fn find<T: Tables>(control: &mut Control) -> Result<Vec<Found<T>>, Error> {
    if Engine::of(control) == Engine::MySql {
        return crate::catalog_mysql::find(control);
    }
    let names: Vec<String> = T::ALL
        .iter()
        .enumerate()
        .map(|(place, table)| format!("({place}, '{}')", table.name()))
        .collect();
    let find = FIND.replace("{names}", &names.join(", "));
    let rows = sql::rows(control, "reading the catalog", &find)?;
    Ok(rows.iter().filter_map(read).collect())
}

fn read<T: Tables>(row: &Row) -> Option<Found<T>> {
    let table = *T::ALL
        .iter()
        .find(|table| Some(table.name()) == row.text(0))?;
    let columns = row.text(2).unwrap_or_default().to_owned();
    let count = |column| {
        row.int(column)
            .and_then(|value| u64::try_from(value).ok())
            .unwrap_or(0)
    };
    let pages = count(11);
    let wanted = table.columns(Engine::Postgres).join(",");
    let key = table.key(Engine::Postgres);
    Some(Found {
        table,
        ours: row.is_true(1) && columns == wanted,
        keyed: row.text(3).unwrap_or_default() == key.join(","),
        rewritten: row.is_true(4),
        columns,
        wanted,
        key,
        facts: TableFacts {
            name: table.name().to_owned(),
            rows: count(5),
            table_bytes: count(6),
            index_bytes: count(7),
            dead_rows: count(8),
            statistics_age_s: row.float(9),
            all_visible: (pages > 0).then(|| count(10) as f64 / pages as f64),
        },
    })
}

/// Gives an error if a table of one of the names is not the workload's.
///
/// # Errors
/// Names the first such table.
pub fn refuse_foreign<T: Tables>(found: &[Found<T>]) -> Result<(), Error> {
    let Some(foreign) = found.iter().find(|found| !found.ours) else {
        return Ok(());
    };
    Err(Error::Data {
        problem: format!(
            "{} exists and is not a table of this workload: it has the columns ({}) instead of ({})",
            foreign.table.name(),
            foreign.columns,
            foreign.wanted
        ),
        hint: "rename it, or use another database or search_path: Prony drops only its own tables"
            .to_owned(),
    })
}

/// The statement that drops all of them, as far as they exist; one, because foreign keys
/// (`pgbench -i --foreign-keys`) may join them.
pub fn drop_all<T: Tables>() -> String {
    let names: Vec<&str> = T::ALL.iter().map(|table| table.name()).collect();
    format!("drop table if exists {}", names.join(", "))
}

/// Drops the tables that exist; gives their names.
///
/// # Errors
/// One of them is not the workload's (then none is dropped), or the server refuses.
pub fn clean<T: Tables>(control: &mut Control) -> Result<Vec<String>, Error> {
    let found = find::<T>(control)?;
    refuse_foreign(&found)?;
    if !found.is_empty() {
        sql::run(control, "dropping the tables", &drop_all::<T>())?;
    }
    Ok(found
        .iter()
        .map(|found| found.table.name().to_owned())
        .collect())
}
