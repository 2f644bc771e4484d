//! MySQL.

use super::Product;
use crate::SqlDialect;

pub(super) const PRODUCT: Product = Product {
    id: "mysql",
    name: "MySQL",
    dialect: SqlDialect::MySql,
    cache_setting: "innodb_buffer_pool_size",
    cache_advice: "Set innodb_buffer_pool_size to half of the memory or more.",
    tls_parameter: "ssl-mode=REQUIRED",
    has_vacuum: false,
    may_forbid_publication: false,
    thread_id_query: Some(THREAD_ID_QUERY),
    records_statement_ends: true,
    has_innodb_metrics: true,
    show_replica_status_since: Some(80_022),
    invisible_key_since: Some(80_023),
    generated_key_since: Some(80_030),
};

/// The id of the operating system's thread that serves this session.
const THREAD_ID_QUERY: &str =
    "SELECT THREAD_OS_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()";
