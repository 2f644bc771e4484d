//! The products that answer: each is one file with a table of what distinguishes it, and one line here.
//!
//! What to write follows from [`Product::dialect`], never from the product. Must never: hold what only one version, or
//! the configuration of one server, determines.

mod mariadb;
mod mysql;
mod postgresql;
mod sqlserver;

use crate::SqlDialect;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

/// A database product, as its server identifies itself. Documents store its identifier. Versions are numbers such as 80_022
/// for 8.0.22, those of `Control::server_version`; `None` means that no version has the feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    /// Its identifier in documents, such as `postgresql`.
    pub id: &'static str,
    /// Its name, such as `PostgreSQL`.
    pub name: &'static str,
    /// The SQL that it understands.
    pub dialect: SqlDialect,
    /// The setting for the size of its own cache; the cache's name if it has no such setting.
    pub cache_setting: &'static str,
    /// How to make its cache fit its machine.
    pub cache_advice: &'static str,
    /// The parameter of a URL that encrypts the connection.
    pub tls_parameter: &'static str,
    /// Whether it removes old row versions by vacuums, which its views report.
    pub has_vacuum: bool,
    /// Whether its licences, above all of older versions, may forbid the publication of results.
    pub may_forbid_publication: bool,
    /// A query for the id of the operating system's thread that serves this session; `None` if it does not show one.
    pub thread_id_query: Option<&'static str>,
    /// Whether performance_schema records when a session's last statement ended.
    pub records_statement_ends: bool,
    /// Whether information_schema.INNODB_METRICS has the counters of purge and deadlocks.
    pub has_innodb_metrics: bool,
    /// The first version with SHOW REPLICA STATUS.
    pub show_replica_status_since: Option<u32>,
    /// The first version in which a primary key may be invisible.
    pub invisible_key_since: Option<u32>,
    /// The first version that generates primary keys and hides them from its catalog.
    pub generated_key_since: Option<u32>,
}

impl Product {
    /// PostgreSQL, or a server that speaks its protocol.
    pub const POSTGRESQL: Product = postgresql::PRODUCT;
    /// MySQL, or a server that speaks its protocol and does not identify itself as MariaDB.
    pub const MYSQL: Product = mysql::PRODUCT;
    /// MariaDB.
    pub const MARIADB: Product = mariadb::PRODUCT;
    /// Microsoft SQL Server, or a server that speaks its protocol.
    pub const SQL_SERVER: Product = sqlserver::PRODUCT;

    /// Every product.
    pub const ALL: [Product; 4] = [
        Product::POSTGRESQL,
        Product::MYSQL,
        Product::MARIADB,
        Product::SQL_SERVER,
    ];
}

impl Serialize for Product {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id)
    }
}

impl<'de> Deserialize<'de> for Product {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Product, D::Error> {
        let id = String::deserialize(deserializer)?;
        let product = Product::ALL.into_iter().find(|product| product.id == id);
        product.ok_or_else(|| D::Error::custom(format!("unknown product `{id}`")))
    }
}

impl JsonSchema for Product {
    fn schema_name() -> Cow<'static, str> {
        "Product".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A database product, as its server identifies itself.",
            "oneOf": Product::ALL.map(|product| serde_json::json!({
                "const": product.id,
                "description": format!("{}.", product.name),
            })),
        })
    }
}
