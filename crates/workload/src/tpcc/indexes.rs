//! Which indexes the tables have.
//!
//! In: a control connection. Out: names; the statements that make what is missing. Must never: take an
//! index that is not yet valid for one.

use super::schema::{Index, Table};
use super::schema_mysql::SECOND;
use crate::oltp::engine::Engine;
use crate::{Error, sql};
use prony_server::Control;

const DOING: &str = "reading the indexes";

/// Names of the valid indexes of the nine tables on PostgreSQL, partitions included, of which this
/// holds.
pub fn valid(control: &mut Control, holds: &str) -> Result<Vec<String>, Error> {
    let tables = Table::ALL.map(|table| format!("to_regclass('{}')", table.name()));
    let sql = format!(
        "select c.relname from pg_index i join pg_class c on c.oid = i.indexrelid \
         where (i.indrelid in ({}) or i.indrelid in (select inhrelid from pg_inherits \
          where inhparent = to_regclass('order_line'))) and i.indisvalid and {holds}",
        tables.join(", ")
    );
    names(control, &sql)
}

/// An index beside the primary keys: columns, and what makes it.
pub struct Second {
    /// Name.
    pub name: &'static str,
    /// Its columns.
    pub columns: String,
    /// The statement that builds it.
    pub build: String,
    /// Whether it is there.
    pub is_there: bool,
}

/// Those of the engine.
pub fn second(control: &mut Control) -> Result<Vec<Second>, Error> {
    match Engine::of(control) {
        Engine::Postgres => {
            let there = valid(control, "true")?;
            let second = Index::all().into_iter().filter(|index| !index.primary);
            let of = |index: Index| Second {
                name: index.name,
                columns: index.columns.join(", "),
                build: index.build(),
                is_there: there.iter().any(|name| name == index.name),
            };
            Ok(second.map(of).collect())
        }
        Engine::MySql => {
            let sql = "select index_name from information_schema.statistics \
                 where table_schema = database() and table_name in ('customer', 'orders') \
                 and seq_in_index = 1";
            let there = names(control, sql)?;
            let of = SECOND.iter().map(|index| Second {
                name: index.name,
                columns: index.columns.to_owned(),
                build: index.build(),
                is_there: there.iter().any(|name| name == index.name),
            });
            Ok(of.collect())
        }
    }
}

fn names(control: &mut Control, sql: &str) -> Result<Vec<String>, Error> {
    let rows = sql::rows(control, DOING, sql)?;
    let names = rows.iter().filter_map(|row| row.text(0));
    Ok(names.map(str::to_owned).collect())
}
