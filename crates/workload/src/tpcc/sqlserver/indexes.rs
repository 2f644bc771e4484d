//! The keys and indexes of the nine tables on SQL Server, and the statements that build them.
//!
//! Takes a population, because HammerDB's layout has its own names, its own kinds of locks, and indexes that no
//! transaction needs. The statements of a table build only what is missing, so that a stopped load continues.

use super::super::layout::Population;
use super::super::schema::{Index, Table};
use crate::catalog::Tables;
use crate::loader::dataset::IndexBuild;
use prony_document::SqlDialect;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IndexKind {
    /// The primary key, in whose order the rows are stored.
    PrimaryKey,
    /// A unique index in whose order the rows are stored.
    UniqueClustered,
    /// An index in whose order the rows are stored.
    Clustered,
    /// A unique index beside the rows.
    Unique,
    /// An index beside the rows.
    Plain,
}

/// The locks that the server may take on an index, besides those on the whole table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LockLevels {
    /// Locks on rows and on pages: the server's default.
    RowsAndPages,
    Rows,
    Pages,
}

impl LockLevels {
    fn options(self) -> &'static str {
        match self {
            LockLevels::RowsAndPages => "",
            LockLevels::Rows => " with (allow_row_locks = on, allow_page_locks = off)",
            LockLevels::Pages => " with (allow_row_locks = off, allow_page_locks = on)",
        }
    }
}

#[derive(Debug)]
struct SqlServerIndex {
    table: Table,
    name: &'static str,
    columns: &'static [&'static str],
    kind: IndexKind,
    locks: LockLevels,
}

impl SqlServerIndex {
    /// An index of HammerDB's layout on the columns of the table's key.
    fn on_key(table: Table, name: &'static str, kind: IndexKind, locks: LockLevels) -> Self {
        SqlServerIndex {
            table,
            name,
            columns: table.key(SqlDialect::TransactSql),
            kind,
            locks,
        }
    }

    /// The statement that builds it if it is missing. Only the beginning of the name is compared: Babelfish
    /// appends a hash to the names of indexes.
    fn build(&self) -> String {
        let (table, name, columns) = (self.table.name(), self.name, self.columns.join(", "));
        let statement = match self.kind {
            IndexKind::PrimaryKey => {
                format!(
                    "alter table {table} add constraint {name} primary key clustered ({columns})"
                )
            }
            IndexKind::UniqueClustered => {
                format!("create unique clustered index {name} on {table} ({columns})")
            }
            IndexKind::Clustered => format!("create clustered index {name} on {table} ({columns})"),
            IndexKind::Unique => format!("create unique index {name} on {table} ({columns})"),
            IndexKind::Plain => format!("create index {name} on {table} ({columns})"),
        };
        format!(
            "if not exists (select 1 from sys.indexes where object_id = object_id('{table}') \
             and left(name, {}) = '{name}') {statement}{}",
            name.len(),
            self.locks.options()
        )
    }
}

/// The indexes of a population, by table, the slowest table first. The index in whose order a table is stored
/// precedes the table's others, which building it would otherwise rebuild.
fn indexes(population: Population) -> Vec<SqlServerIndex> {
    match population {
        Population::Standard => {
            let all = Index::all();
            let (keys, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|index| index.primary);
            let mut indexes = Vec::new();
            for Index { table, name, .. } in keys {
                let kind = IndexKind::PrimaryKey;
                let locks = LockLevels::RowsAndPages;
                indexes.push(SqlServerIndex::on_key(table, name, kind, locks));
            }
            for index in others {
                indexes.push(SqlServerIndex {
                    table: index.table,
                    name: index.name,
                    columns: index.columns,
                    kind: IndexKind::Unique,
                    locks: LockLevels::RowsAndPages,
                });
            }
            indexes
        }
        Population::HammerDb => hammerdb_indexes(),
    }
}

fn hammerdb_indexes() -> Vec<SqlServerIndex> {
    use IndexKind::{Clustered, Plain, PrimaryKey, UniqueClustered};
    use LockLevels::{Pages, Rows, RowsAndPages};
    let on_key = SqlServerIndex::on_key;
    let on_columns = |table, name, columns, kind, locks| SqlServerIndex {
        table,
        name,
        columns,
        kind,
        locks,
    };
    vec![
        on_key(Table::OrderLine, "order_line_i1", UniqueClustered, Pages),
        on_key(Table::Stock, "PK_STOCK", PrimaryKey, Rows),
        on_key(Table::Customer, "customer_i1", UniqueClustered, Rows),
        on_columns(
            Table::Customer,
            "customer_c_last",
            &["c_w_id", "c_d_id", "c_last", "c_first", "c_id"],
            Plain,
            Rows,
        ),
        on_columns(
            Table::History,
            "history_i1",
            &["h_c_w_id", "h_date", "h_c_d_id", "h_c_id", "h_amount"],
            Clustered,
            RowsAndPages,
        ),
        on_key(Table::Orders, "orders_i1", UniqueClustered, Pages),
        on_columns(
            Table::Orders,
            "orders_i2",
            &["o_w_id", "o_d_id", "o_c_id", "o_id"],
            Plain,
            Pages,
        ),
        on_key(Table::NewOrder, "new_order_i1", UniqueClustered, Pages),
        on_key(Table::Item, "PK_ITEM", PrimaryKey, Rows),
        on_key(Table::District, "PK_DISTRICT", PrimaryKey, Rows),
        on_columns(Table::District, "district_d_id", &["d_id"], Plain, Rows),
        on_key(Table::Warehouse, "PK_WAREHOUSE", PrimaryKey, Rows),
    ]
}

/// The statements that give a table HammerDB's settings: locks never grow to the whole table, and tables with
/// padding get it before their keys, so that building the key stores it.
fn hammerdb_settings(table: Table) -> Vec<String> {
    let name = table.name();
    let mut statements = vec![format!(
        "alter table {name} set (lock_escalation = disable)"
    )];
    if let Some((length, character)) = table.padding() {
        statements.push(format!(
            "if col_length('{name}', 'padding') is null alter table {name} \
             add padding char({length}) not null default replicate('{character}', {length})"
        ));
    }
    statements
}

/// The keys and indexes that a load builds after loading the rows, one entry per table, the slowest first, named
/// like the table's last index. Concurrent builds on one table would wait for each other.
pub fn builds(population: Population) -> Vec<IndexBuild> {
    let indexes = indexes(population);
    let mut tables = Vec::new();
    // The indexes of a table need not be adjacent.
    for index in &indexes {
        if !tables.contains(&index.table) {
            tables.push(index.table);
        }
    }
    let build = |table: Table| {
        let mut statements = match population {
            Population::Standard => Vec::new(),
            Population::HammerDb => hammerdb_settings(table),
        };
        let mut last_name = "";
        for index in indexes.iter().filter(|index| index.table == table) {
            statements.push(index.build());
            last_name = index.name;
        }
        IndexBuild::of_statement(table.name(), last_name, statements.join("; "))
    };
    tables.into_iter().map(build).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::{TextAssertions, cases};

    fn build_of(population: Population, table: &str) -> (String, String) {
        let build = builds(population)
            .into_iter()
            .find(|build| build.table == table);
        let build = build.expect("an index");
        (build.name, build.build.expect("a statement"))
    }

    #[test]
    fn hammerdbs_tables_have_its_names_locks_and_padding() {
        let hammerdb = Population::HammerDb;
        assert_eq!(builds(hammerdb).len(), Table::ALL.len());
        let (name, build) = build_of(hammerdb, "district");
        assert_eq!(name, "district_d_id");
        let steps: Vec<&str> = build.split("; ").collect();
        assert_eq!(steps.len(), 4, "{build}");
        steps[0].assert_equals("alter table district set (lock_escalation = disable)");
        steps[1].assert_contains("add padding char(6000) not null default replicate('X', 6000)");
        steps[2].assert_ends_with(
            "add constraint PK_DISTRICT primary key clustered (d_w_id, d_id) \
             with (allow_row_locks = on, allow_page_locks = off)",
        );
        steps[3].assert_contains("left(name, 13) = 'district_d_id') create index district_d_id on");
        for [table, expected] in cases(
            r#"
                orders
                    => create unique clustered index orders_i1 on orders (o_w_id, o_d_id, o_id) with \
                    (allow_row_locks = off, allow_page_locks = on)
                orders
                    => create index orders_i2 on orders (o_w_id, o_d_id, o_c_id, o_id) with (allow_row_locks = \
                    off, allow_page_locks = on)
                customer
                    => create index customer_c_last on customer (c_w_id, c_d_id, c_last, c_first, c_id) with \
                    (allow_row_locks = on, allow_page_locks = off)
                stock => add constraint PK_STOCK primary key clustered (s_w_id, s_i_id) with
            "#,
        ) {
            let (_, build) = build_of(hammerdb, table);
            build.assert_contains(expected);
        }
        let (_, history) = build_of(hammerdb, "history");
        let expected = "create clustered index history_i1 on history \
                        (h_c_w_id, h_date, h_c_d_id, h_c_id, h_amount)";
        history.assert_ends_with(expected);
    }

    #[test]
    fn standard_tables_have_primary_keys_and_the_servers_locks() {
        for build in builds(Population::Standard) {
            let statement = build.build.expect("a statement");
            assert_eq!(statement.matches("primary key clustered").count(), 1);
            for other in ["lock_escalation", "allow_", "padding"] {
                statement.assert_lacks(other);
            }
        }
        let (name, build) = build_of(Population::Standard, "customer");
        assert_eq!(name, "customer_i2");
        let key = build.find("constraint customer_i1").expect("the key");
        assert!(
            key < build
                .find("create unique index customer_i2")
                .expect("an index")
        );
    }
}
