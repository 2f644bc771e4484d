//! MariaDB.

use super::{Product, mysql};

pub(super) const PRODUCT: Product = Product {
    id: "mariadb",
    name: "MariaDB",
    thread_id_query: Some(THREAD_ID_QUERY),
    // Its performance_schema is empty unless it is switched on.
    records_statement_ends: false,
    has_innodb_metrics: false,
    show_replica_status_since: Some(100_501),
    invisible_key_since: Some(100_300),
    generated_key_since: None,
    ..mysql::PRODUCT
};

/// As MySQL's, from a view that only MariaDB has.
const THREAD_ID_QUERY: &str =
    "SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()";
