//! PostgreSQL.

use super::Product;
use crate::SqlDialect;

pub(super) const PRODUCT: Product = Product {
    id: "postgresql",
    name: "PostgreSQL",
    dialect: SqlDialect::PostgreSql,
    cache_setting: "shared_buffers",
    cache_advice: "Set shared_buffers to a quarter of the memory.",
    tls_parameter: "sslmode=require",
    has_vacuum: true,
    may_forbid_publication: false,
    thread_id_query: None,
    records_statement_ends: false,
    has_innodb_metrics: false,
    show_replica_status_since: None,
    invisible_key_since: None,
    generated_key_since: None,
};
