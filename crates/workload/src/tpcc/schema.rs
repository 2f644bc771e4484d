//! The nine tables of TPC-C as HammerDB makes them on PostgreSQL: names, columns, keys, sizes.
//!
//! In: a scale (warehouses). Out: numbers and statements. Must never: differ from HammerDB's schema
//! in a table, a column, its place or its type, because its users' queries are to run unchanged.

use super::schema_mysql;
use crate::catalog::Tables;
use crate::oltp::engine::Engine;

/// Items, whatever the scale.
pub const ITEMS: u32 = 100_000;
/// Districts of one warehouse.
pub const DISTRICTS: u32 = 10;
/// Customers of one district; also its orders after loading.
pub const CUSTOMERS: u32 = 3_000;
/// Orders of one district that are delivered after loading; the later ones are in `new_order`.
pub const DELIVERED: u32 = 2_100;
/// Largest scale: more would take order lines beyond what one table holds (32 TiB).
pub const MAX_SCALE: u32 = 1_000_000;

/// One of the nine tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Table {
    /// `item`: the only one that does not grow with the scale.
    Item,
    /// `warehouse`.
    Warehouse,
    /// `district`.
    District,
    /// `stock`.
    Stock,
    /// `customer`.
    Customer,
    /// `history`: without a key.
    History,
    /// `orders`.
    Orders,
    /// `new_order`.
    NewOrder,
    /// `order_line`.
    OrderLine,
}

impl Table {
    /// In the order in which they are loaded.
    pub const ALL: [Table; 9] = [
        Table::Item,
        Table::Warehouse,
        Table::District,
        Table::Stock,
        Table::Customer,
        Table::History,
        Table::Orders,
        Table::NewOrder,
        Table::OrderLine,
    ];

    /// Its name, without a schema: it stands in the first schema of the search path.
    pub fn name(self) -> &'static str {
        match self {
            Table::Item => "item",
            Table::Warehouse => "warehouse",
            Table::District => "district",
            Table::Stock => "stock",
            Table::Customer => "customer",
            Table::History => "history",
            Table::Orders => "orders",
            Table::NewOrder => "new_order",
            Table::OrderLine => "order_line",
        }
    }

    /// Its columns in order: name and type.
    pub fn columns(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Table::Item => ITEM,
            Table::Warehouse => WAREHOUSE,
            Table::District => DISTRICT,
            Table::Stock => STOCK,
            Table::Customer => CUSTOMER,
            Table::History => HISTORY,
            Table::Orders => ORDERS,
            Table::NewOrder => NEW_ORDER,
            Table::OrderLine => ORDER_LINE,
        }
    }

    /// Columns of the primary key; none for history.
    pub fn key(self) -> &'static [&'static str] {
        match self {
            Table::Item => &["i_id"],
            Table::Warehouse => &["w_id"],
            Table::District => &["d_w_id", "d_id"],
            // The item first: the other way round it would be cheaper to load, and not HammerDB's.
            Table::Stock => &["s_i_id", "s_w_id"],
            Table::Customer => &["c_w_id", "c_d_id", "c_id"],
            Table::History => &[],
            Table::Orders => &["o_w_id", "o_d_id", "o_id"],
            Table::NewOrder => &["no_w_id", "no_d_id", "no_o_id"],
            Table::OrderLine => &["ol_w_id", "ol_d_id", "ol_o_id", "ol_number"],
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

    /// The statement that creates it, without key.
    pub fn create(self) -> String {
        let columns: Vec<String> = self
            .columns()
            .iter()
            .map(|(name, kind)| {
                let null = NULLABLE.contains(name);
                format!("{name} {kind}{}", if null { "" } else { " not null" })
            })
            .collect();
        format!("create table {} ({})", self.name(), columns.join(", "))
    }
}

impl Tables for Table {
    const ALL: &'static [Table] = &Table::ALL;

    fn name(self) -> &'static str {
        Table::name(self)
    }

    fn columns(self, engine: Engine) -> Vec<&'static str> {
        let columns = match engine {
            Engine::Postgres => Table::columns(self),
            Engine::MySql => schema_mysql::columns(self),
        };
        columns.iter().map(|(name, _)| *name).collect()
    }

    fn key(self, engine: Engine) -> &'static [&'static str] {
        match engine {
            Engine::Postgres => Table::key(self),
            Engine::MySql => schema_mysql::key(self),
        }
    }
}

/// An index, with HammerDB's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index {
    /// Of which table.
    pub table: Table,
    /// Name.
    pub name: &'static str,
    /// Columns.
    pub columns: &'static [&'static str],
    /// Whether it is the primary key; all are unique.
    pub primary: bool,
}

impl Index {
    /// All of them, the ones that take longest first, so that several builders end together.
    pub fn all() -> Vec<Index> {
        let primary = |table: Table, name| Index {
            table,
            name,
            columns: table.key(),
            primary: true,
        };
        let second = |table, name, columns| Index {
            table,
            name,
            columns,
            primary: false,
        };
        vec![
            primary(Table::OrderLine, "order_line_i1"),
            second(
                Table::Customer,
                "customer_i2",
                &["c_w_id", "c_d_id", "c_last", "c_first", "c_id"],
            ),
            primary(Table::Stock, "stock_i1"),
            primary(Table::Customer, "customer_i1"),
            primary(Table::Orders, "orders_i1"),
            second(
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

    /// The statement that builds it. A primary key is one only once it was attached.
    pub fn build(&self) -> String {
        let (table, name, columns) = (self.table.name(), self.name, self.columns.join(", "));
        format!("create unique index {name} on {table} ({columns})")
    }

    /// The statement that makes a primary key of the index, in no time; `None` for another one.
    ///
    /// Apart from building it, because `add primary key (...)` would hold off every reader, such as
    /// a check, and every other builder of the same table all the while.
    pub fn attach(&self) -> Option<String> {
        let (table, name) = (self.table.name(), self.name);
        self.primary.then(|| {
            format!("alter table {table} add constraint {name} primary key using index {name}")
        })
    }
}

/// Columns that may be NULL.
const NULLABLE: &[&str] = &[
    "h_c_id",
    "o_carrier_id",
    "ol_delivery_d",
    "ol_amount",
    "ol_dist_info",
];

const ITEM: &[(&str, &str)] = &[
    ("i_id", "integer"),
    ("i_im_id", "integer"),
    ("i_name", "varchar(24)"),
    ("i_price", "numeric(5,2)"),
    ("i_data", "varchar(50)"),
];

const WAREHOUSE: &[(&str, &str)] = &[
    ("w_id", "integer"),
    ("w_name", "varchar(10)"),
    ("w_street_1", "varchar(20)"),
    ("w_street_2", "varchar(20)"),
    ("w_city", "varchar(20)"),
    ("w_state", "char(2)"),
    ("w_zip", "char(9)"),
    ("w_tax", "numeric(4,4)"),
    ("w_ytd", "numeric(12,2)"),
];

const DISTRICT: &[(&str, &str)] = &[
    ("d_w_id", "integer"),
    ("d_next_o_id", "integer"),
    ("d_id", "smallint"),
    ("d_ytd", "numeric(12,2)"),
    ("d_tax", "numeric(4,4)"),
    ("d_name", "varchar(10)"),
    ("d_street_1", "varchar(20)"),
    ("d_street_2", "varchar(20)"),
    ("d_city", "varchar(20)"),
    ("d_state", "char(2)"),
    ("d_zip", "char(9)"),
];

const STOCK: &[(&str, &str)] = &[
    ("s_i_id", "integer"),
    ("s_w_id", "integer"),
    ("s_ytd", "integer"),
    ("s_quantity", "smallint"),
    ("s_order_cnt", "smallint"),
    ("s_remote_cnt", "smallint"),
    ("s_dist_01", "char(24)"),
    ("s_dist_02", "char(24)"),
    ("s_dist_03", "char(24)"),
    ("s_dist_04", "char(24)"),
    ("s_dist_05", "char(24)"),
    ("s_dist_06", "char(24)"),
    ("s_dist_07", "char(24)"),
    ("s_dist_08", "char(24)"),
    ("s_dist_09", "char(24)"),
    ("s_dist_10", "char(24)"),
    ("s_data", "varchar(50)"),
];

const CUSTOMER: &[(&str, &str)] = &[
    ("c_since", "timestamptz"),
    ("c_id", "integer"),
    ("c_w_id", "integer"),
    ("c_d_id", "smallint"),
    ("c_payment_cnt", "smallint"),
    ("c_delivery_cnt", "smallint"),
    ("c_first", "varchar(16)"),
    ("c_middle", "char(2)"),
    ("c_last", "varchar(16)"),
    ("c_street_1", "varchar(20)"),
    ("c_street_2", "varchar(20)"),
    ("c_city", "varchar(20)"),
    ("c_state", "char(2)"),
    ("c_zip", "char(9)"),
    ("c_phone", "char(16)"),
    ("c_credit", "char(2)"),
    ("c_credit_lim", "numeric(12,2)"),
    ("c_discount", "numeric(4,4)"),
    ("c_balance", "numeric(12,2)"),
    ("c_ytd_payment", "numeric(12,2)"),
    ("c_data", "varchar(500)"),
];

const HISTORY: &[(&str, &str)] = &[
    ("h_date", "timestamptz"),
    ("h_c_id", "integer"),
    ("h_c_w_id", "integer"),
    ("h_w_id", "integer"),
    ("h_c_d_id", "smallint"),
    ("h_d_id", "smallint"),
    ("h_amount", "numeric(6,2)"),
    ("h_data", "varchar(24)"),
];

const ORDERS: &[(&str, &str)] = &[
    ("o_entry_d", "timestamptz"),
    ("o_id", "integer"),
    ("o_w_id", "integer"),
    ("o_c_id", "integer"),
    ("o_d_id", "smallint"),
    ("o_carrier_id", "smallint"),
    ("o_ol_cnt", "smallint"),
    ("o_all_local", "smallint"),
];

const NEW_ORDER: &[(&str, &str)] = &[
    ("no_w_id", "integer"),
    ("no_o_id", "integer"),
    ("no_d_id", "smallint"),
];

const ORDER_LINE: &[(&str, &str)] = &[
    ("ol_delivery_d", "timestamptz"),
    ("ol_o_id", "integer"),
    ("ol_w_id", "integer"),
    ("ol_i_id", "integer"),
    ("ol_supply_w_id", "integer"),
    ("ol_d_id", "smallint"),
    ("ol_number", "smallint"),
    ("ol_quantity", "smallint"),
    ("ol_amount", "numeric(6,2)"),
    ("ol_dist_info", "char(24)"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_indexes_name_columns_that_exist() {
        let has = |table: Table, column: &str| table.columns().iter().any(|(n, _)| *n == column);
        for index in Index::all() {
            assert!(index.columns.iter().all(|column| has(index.table, column)));
        }
        let keyed = Table::ALL.iter().filter(|table| !table.key().is_empty());
        assert_eq!(keyed.count(), 8);
        for column in NULLABLE {
            assert!(Table::ALL.iter().any(|table| has(*table, column)));
        }
    }

    #[test]
    fn a_created_table_has_its_columns_in_order() {
        assert_eq!(
            Table::Orders.create(),
            "create table orders (o_entry_d timestamptz not null, o_id integer not null, \
             o_w_id integer not null, o_c_id integer not null, o_d_id smallint not null, \
             o_carrier_id smallint, o_ol_cnt smallint not null, o_all_local smallint not null)"
        );
    }
}
