//! Types of values, as the catalogs of all engines name them.

use prony_document::SqlDialect;

pub(in crate::capture) fn literal(data_type: &str, dialect: SqlDialect) -> &'static str {
    match data_type {
        "boolean" => "true",
        // `INTERVAL 1 DAY`
        "interval" if dialect == SqlDialect::MySql => "1",
        "interval" => "'1 day'",
        "extract" => "'epoch'",
        "time" | "time without time zone" => "'12:00:00'",
        "uuid" => "'00000000-0000-0000-0000-000000000000'",
        "json" | "jsonb" => "'{}'",
        kind if kind.starts_with("timestamp") || kind.starts_with("date") => "'2000-01-01'",
        kind if kind.ends_with("[]") => "'{}'",
        _ => "''",
    }
}

pub(super) fn is_integer(data_type: &str) -> bool {
    matches!(
        data_type,
        "integer" | "int" | "bigint" | "smallint" | "tinyint" | "mediumint"
    )
}

pub(super) fn is_number(data_type: &str) -> bool {
    is_integer(data_type)
        || matches!(
            data_type,
            "numeric" | "decimal" | "double precision" | "double" | "real" | "float" | "money"
        )
}
