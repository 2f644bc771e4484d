//! SQL Server and Azure SQL.

use super::Product;
use crate::SqlDialect;

pub(super) const PRODUCT: Product = Product {
    id: "sqlserver",
    name: "SQL Server",
    dialect: SqlDialect::TransactSql,
    cache_setting: "the buffer pool",
    cache_advice: "Raise 'max server memory'.",
    tls_parameter: "encrypt=true",
    has_vacuum: false,
    may_forbid_publication: true,
    // No view contains an id of the operating system: on Linux the server runs in its own platform layer.
    thread_id_query: None,
    records_statement_ends: false,
    has_innodb_metrics: false,
    show_replica_status_since: None,
    invisible_key_since: None,
    generated_key_since: None,
};
