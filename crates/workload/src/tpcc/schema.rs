//! The nine tables of TPC-C as HammerDB creates them: names, columns, keys, sizes.
//!
//! They must not differ from HammerDB's schema in a table, a column, its position or (with one
//! exception) its type, because queries of HammerDB's users must run unchanged.

use super::engine::EngineSql;
use super::layout::Population;
use super::template::{Template, on_one_line};
use crate::catalog::Tables;
use crate::names::named_enum;
use prony_document::SqlDialect;

/// Number of items, at every scale.
pub const ITEMS: u32 = 100_000;
/// Districts of a warehouse.
pub const DISTRICTS: u32 = 10;
/// Customers of one district; also its orders after loading.
pub const CUSTOMERS: u32 = 3_000;
/// Orders of one district that are delivered after loading; the later ones are also in `new_order`.
pub const DELIVERED: u32 = 2_100;
/// Maximum scale: beyond it, order_line would exceed the size limit of a table (32 TiB).
pub const MAX_SCALE: u32 = 1_000_000;

named_enum! {
    /// The tables, in the order in which they are loaded, by their names without a schema: they are in the first schema
    /// of the search path.
    pub enum Table {
        /// `item`: the only table that does not grow with the scale.
        Item = "item",
        Warehouse = "warehouse",
        District = "district",
        Stock = "stock",
        Customer = "customer",
        /// `history`: has no key.
        History = "history",
        Orders = "orders",
        NewOrder = "new_order",
        OrderLine = "order_line",
    }
}

impl Table {
    /// The template of the statement that creates it, from the engine's `schema.sql`.
    fn template(self, dialect: SqlDialect) -> &'static str {
        let mut tables = EngineSql::of(dialect).schema.split(';');
        tables.nth(self as usize).unwrap_or_default()
    }

    /// The name and the type of each column, in the order of the engine's schema.
    pub fn columns(self, dialect: SqlDialect) -> Vec<(&'static str, &'static str)> {
        let lines = self.template(dialect).lines();
        let definitions = lines.filter_map(|line| line.strip_prefix("  ")?.split_once(' '));
        let columns = definitions.filter(|(name, _)| *name != "primary");
        let with_type = |(name, definition): (_, &'static str)| {
            let data_type = definition.split([' ', ',']).next();
            (name, data_type.unwrap_or_default())
        };
        columns.map(with_type).collect()
    }

    /// HammerDB's padding on SQL Server, with which each row has a page of its own: number of characters, and the
    /// character. Without it, updates of different rows wait for the latch of their page.
    pub fn padding(self) -> Option<(u32, char)> {
        match self {
            Table::Warehouse => Some((4_000, 'x')),
            Table::District => Some((6_000, 'X')),
            Table::Item
            | Table::Stock
            | Table::Customer
            | Table::History
            | Table::Orders
            | Table::NewOrder
            | Table::OrderLine => None,
        }
    }

    /// Rows after loading; for order lines, whose number is random, the mean.
    pub fn rows(self, scale: u32) -> u64 {
        let scale = u64::from(scale);
        let (districts, customers) = (u64::from(DISTRICTS), u64::from(CUSTOMERS));
        match self {
            Table::Item => u64::from(ITEMS),
            Table::Warehouse => scale,
            Table::District => scale * districts,
            Table::Stock => scale * u64::from(ITEMS),
            Table::Customer | Table::History | Table::Orders => scale * districts * customers,
            Table::NewOrder => scale * districts * u64::from(CUSTOMERS - DELIVERED),
            Table::OrderLine => scale * districts * customers * 10,
        }
    }

    /// The statement that creates it. On MySQL and MariaDB it includes the primary key, because the rows
    /// are stored in it.
    pub fn create(self, dialect: SqlDialect, population: Population) -> String {
        let template = Template {
            flags: &[("hammerdb", population == Population::HammerDb)],
            values: &[],
        };
        on_one_line(&template.fill(self.template(dialect)))
    }
}

impl Tables for Table {
    const ALL: &'static [Table] = &Table::ALL;

    fn name(self) -> &'static str {
        Table::name(self)
    }

    fn columns(self, dialect: SqlDialect) -> Vec<&'static str> {
        let columns = Table::columns(self, dialect).into_iter();
        columns.map(|(name, _)| name).collect()
    }

    fn has_columns(self, dialect: SqlDialect, columns: &str) -> bool {
        let own = Tables::columns(self, dialect).join(",");
        // On SQL Server, HammerDB's tables that all users update have one row per page.
        let rest = columns.strip_prefix(&own);
        let is_padded = self.padding().is_some() && dialect == SqlDialect::TransactSql;
        rest == Some("") || rest == Some(",padding") && is_padded
    }

    fn key(self, dialect: SqlDialect) -> &'static [&'static str] {
        match self {
            Table::Item => &["i_id"],
            Table::Warehouse => &["w_id"],
            Table::District => &["d_w_id", "d_id"],
            Table::Stock => match dialect {
                // The other order would be cheaper to load, but it is not HammerDB's.
                SqlDialect::PostgreSql => &["s_i_id", "s_w_id"],
                SqlDialect::MySql | SqlDialect::TransactSql => &["s_w_id", "s_i_id"],
            },
            Table::Customer => &["c_w_id", "c_d_id", "c_id"],
            Table::History => &[],
            Table::Orders => &["o_w_id", "o_d_id", "o_id"],
            Table::NewOrder => &["no_w_id", "no_d_id", "no_o_id"],
            Table::OrderLine => &["ol_w_id", "ol_d_id", "ol_o_id", "ol_number"],
        }
    }
}

/// An index on PostgreSQL, named as in HammerDB; on SQL Server, the standard population has the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index {
    pub table: Table,
    pub name: &'static str,
    pub columns: &'static [&'static str],
    /// Whether it is the primary key; all indexes are unique.
    pub primary: bool,
}

impl Index {
    /// All indexes, the slowest first, so that parallel builds end at about the same time.
    pub fn all() -> Vec<Index> {
        let primary = |table: Table, name| Index {
            table,
            name,
            columns: table.key(SqlDialect::PostgreSql),
            primary: true,
        };
        let secondary = |table, name, columns| Index {
            table,
            name,
            columns,
            primary: false,
        };
        vec![
            primary(Table::OrderLine, "order_line_i1"),
            secondary(
                Table::Customer,
                "customer_i2",
                &["c_w_id", "c_d_id", "c_last", "c_first", "c_id"],
            ),
            primary(Table::Stock, "stock_i1"),
            primary(Table::Customer, "customer_i1"),
            primary(Table::Orders, "orders_i1"),
            secondary(
                Table::Orders,
                "orders_i2",
                &["o_w_id", "o_d_id", "o_c_id", "o_id"],
            ),
            primary(Table::NewOrder, "new_order_i1"),
            primary(Table::Item, "item_i1"),
            primary(Table::District, "district_i1"),
            primary(Table::Warehouse, "warehouse_i1"),
        ]
    }

    /// The statement that builds it.
    pub fn build(&self) -> String {
        let (table, name, columns) = (self.table.name(), self.name, self.columns.join(", "));
        format!("create unique index {name} on {table} ({columns})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    const ALL: [SqlDialect; 3] = [
        SqlDialect::PostgreSql,
        SqlDialect::MySql,
        SqlDialect::TransactSql,
    ];

    #[test]
    fn keys_and_indexes_name_columns_that_exist() {
        for dialect in ALL {
            let has = |table: Table, column: &str| {
                let columns = table.columns(dialect);
                columns.iter().any(|(name, _)| *name == column)
            };
            for table in Table::ALL {
                assert!(table.key(dialect).iter().all(|column| has(table, column)));
            }
            for index in Index::all() {
                assert!(index.columns.iter().all(|column| has(index.table, column)));
            }
        }
    }

    #[test]
    fn all_engines_have_the_same_columns_in_different_orders() {
        for table in Table::ALL {
            let [postgres, mysql, sql_server] = ALL.map(|dialect| {
                let mut names = Tables::columns(table, dialect);
                names.sort_unstable();
                let mut key = table.key(dialect).to_vec();
                key.sort_unstable();
                (names, key)
            });
            assert_eq!(postgres, mysql);
            assert_eq!(postgres, sql_server);
        }
    }

    #[test]
    fn hammerdbs_padded_tables_are_recognized_on_sql_server() {
        let [postgres, _, sql_server] = ALL;
        for table in Table::ALL {
            let columns = Tables::columns(table, sql_server).join(",");
            let padded = format!("{columns},padding");
            assert!(table.has_columns(sql_server, &columns));
            assert_eq!(
                table.has_columns(sql_server, &padded),
                table.padding().is_some()
            );
            assert!(!table.has_columns(sql_server, &format!("{padded},more")));
            let columns = Tables::columns(table, postgres).join(",");
            assert!(!table.has_columns(postgres, &format!("{columns},padding")));
        }
    }

    #[test]
    fn a_created_table_has_its_columns_in_order_and_its_key() {
        let [standard, hammerdb] = Population::ALL;
        Table::NewOrder
            .create(SqlDialect::PostgreSql, standard)
            .assert_equals(
                "create table new_order ( no_w_id integer not null, no_o_id integer not null, \
             no_d_id smallint not null )",
            );
        Table::NewOrder
            .create(SqlDialect::MySql, hammerdb)
            .assert_equals(
                "create table new_order ( no_w_id int not null, no_d_id int not null, \
             no_o_id int not null, primary key (no_w_id, no_d_id, no_o_id) ) engine = innodb \
             default character set latin1 collate latin1_bin",
            );
        for table in Table::ALL {
            let key = format!("primary key ({})", table.key(SqlDialect::MySql).join(", "));
            let create = table.create(SqlDialect::MySql, standard);
            assert_eq!(create.contains(&key), table != Table::History, "{create}");
        }
        for (population, amount) in [(standard, "decimal(6,2) null"), (hammerdb, "int null")] {
            let create = Table::OrderLine.create(SqlDialect::MySql, population);
            create.assert_contains(&format!(" ol_amount {amount},"));
        }
        let columns = Table::Orders.columns(SqlDialect::PostgreSql);
        let expected = [("o_entry_d", "timestamptz"), ("o_id", "integer")];
        assert_eq!(columns[..2], expected);
    }
}
