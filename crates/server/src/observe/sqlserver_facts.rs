//! Reads the settings of SQL Server: of the server, and of the connection's database.
//!
//! Must never: fail because a version has no such view.

use crate::control::{Control, Error, TextRow};

/// What the server is. Source: documentation of SERVERPROPERTY.
const PROPERTIES: [&str; 9] = [
    "ProductVersion",
    "ProductLevel",
    "ProductUpdateLevel",
    "Edition",
    "EngineEdition",
    "Collation",
    "IsHadrEnabled",
    "IsXTPSupported",
    "IsClustered",
];

/// Columns of sys.databases that change how the database behaves, by the version that introduced them.
const DATABASE_COLUMNS: [(&str, u32); 14] = [
    ("compatibility_level", 0),
    ("collation_name", 0),
    ("recovery_model_desc", 0),
    ("page_verify_option_desc", 0),
    ("snapshot_isolation_state_desc", 0),
    ("is_read_committed_snapshot_on", 0),
    ("is_auto_create_stats_on", 0),
    ("is_auto_update_stats_on", 0),
    ("is_auto_update_stats_async_on", 0),
    ("is_parameterization_forced", 0),
    ("is_encrypted", 10_000_000),
    ("delayed_durability_desc", 12_000_000),
    ("is_memory_optimized_elevate_to_snapshot_on", 12_000_000),
    ("is_accelerated_database_recovery_on", 15_000_000),
];

const CONFIGURATIONS: &str =
    "select name, cast(value_in_use as nvarchar(400)) from sys.configurations";
const SCOPED_CONFIGURATIONS: &str = "select 'database.' + name, cast(value as nvarchar(400)) \
     from sys.database_scoped_configurations";

/// Names and values of all settings. Those of the database begin with `database.`.
///
/// # Errors
/// The connection is lost.
pub(super) fn read(control: &mut Control) -> Result<Vec<TextRow>, Error> {
    let version = control.server_version();
    let mut rows = Vec::new();
    for sql in [
        properties_query(),
        CONFIGURATIONS.to_owned(),
        database_query(version),
        SCOPED_CONFIGURATIONS.to_owned(),
    ] {
        match control.query(&sql) {
            Ok(settings) => rows.extend(settings),
            Err(error) if error.is_lost() => return Err(error),
            // Not in this version, or not allowed.
            Err(_) => {}
        }
    }
    Ok(rows)
}

fn properties_query() -> String {
    let selects = PROPERTIES
        .map(|name| format!("select '{name}', cast(serverproperty('{name}') as nvarchar(400))"));
    selects.join(" union all ")
}

fn database_query(version: u32) -> String {
    let columns = DATABASE_COLUMNS
        .iter()
        .filter(|(_, since)| version >= *since);
    let selects = columns.map(|(name, _)| {
        format!(
            "select 'database.{name}', cast({name} as nvarchar(400)) from sys.databases \
             where name = db_name()"
        )
    });
    selects.collect::<Vec<_>>().join(" union all ")
}

/// The version for display: `16.0.4105.2 (Developer Edition (64-bit))`. `reported`: that of the login.
pub(super) fn version(rows: &[TextRow], reported: &str) -> String {
    let value = |name: &str| {
        let row = rows.iter().find(|row| super::cell(row, 0) == Some(name))?;
        super::cell(row, 1)
    };
    let version = value("ProductVersion").unwrap_or(reported);
    match value("Edition") {
        Some(edition) => format!("{version} ({edition})"),
        None => version.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_columns_that_the_version_has_are_queried() {
        assert!(!database_query(11_000_000).contains("delayed_durability"));
        assert!(database_query(11_000_000).contains("is_encrypted"));
        let newest = database_query(16_004_105);
        assert!(newest.contains("is_accelerated_database_recovery_on"));
        assert_eq!(
            newest.matches("union all").count(),
            DATABASE_COLUMNS.len() - 1
        );
    }

    #[test]
    fn the_version_names_the_edition() {
        let row = |name: &str, value: &str| vec![Some(name.to_owned()), Some(value.to_owned())];
        let rows = [
            row("ProductVersion", "16.0.4105.2"),
            row("Edition", "Developer Edition"),
        ];
        assert_eq!(
            version(&rows, "16.0.4105"),
            "16.0.4105.2 (Developer Edition)"
        );
        assert_eq!(version(&[], "16.0.4105"), "16.0.4105");
    }
}
