//! Reads the settings of SQL Server: of the server, and of the connection's database.
//!
//! Must never: fail because a version has no such view.

use super::facts::extend_or_explain;
use crate::control::{Control, Error, TextRow};

/// What the server is. Source: documentation of SERVERPROPERTY.
const PROPERTIES: [&str; 10] = [
    "ProductVersion",
    "ProductLevel",
    "ProductUpdateLevel",
    "Edition",
    "EngineEdition",
    "Collation",
    "IsHadrEnabled",
    "IsXTPSupported",
    "IsClustered",
    "babelfish",
];

/// What only the servers of a service have, and the function that finds it: a database of RDS, and a server role of Cloud
/// SQL. 1 if it is there. Sources: the services' guides.
const OF_SERVICES: [(&str, &str); 2] = [("rdsadmin", "db_id"), ("CustomerDbRootRole", "suser_id")];

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

/// The version that introduced `sys.database_scoped_configurations`.
const SCOPED_CONFIGURATIONS_SINCE: u32 = 13_000_000;

/// Names and values of all settings. Those of the database begin with `database.`. In place of settings that cannot be
/// read, there is one with the reason as its value.
pub(super) fn read(control: &mut Control) -> Result<Vec<TextRow>, Error> {
    let version = control.server_version();
    let database_columns: Vec<&str> = DATABASE_COLUMNS
        .iter()
        .filter(|(_, since)| version >= *since)
        .map(|(name, _)| *name)
        .collect();
    let mut rows = Vec::new();
    let properties = control.query(&properties_query());
    let names: Vec<&str> = PROPERTIES
        .into_iter()
        .chain(OF_SERVICES.map(|(name, _)| name))
        .collect();
    let properties = properties.map(|found| named_columns("", &names, found));
    extend_or_explain(&mut rows, "serverproperty", properties)?;
    extend_or_explain(
        &mut rows,
        "sys.configurations",
        control.query(CONFIGURATIONS),
    )?;
    let database = control.query(&database_query(&database_columns));
    let database = database.map(|found| named_columns("database.", &database_columns, found));
    extend_or_explain(&mut rows, "database.sys.databases", database)?;
    if version >= SCOPED_CONFIGURATIONS_SINCE {
        let scoped = control.query(SCOPED_CONFIGURATIONS);
        extend_or_explain(&mut rows, "database.scoped_configurations", scoped)?;
    }
    Ok(rows)
}

fn named_columns(prefix: &str, names: &[&str], found: Vec<TextRow>) -> Vec<TextRow> {
    let values = found.into_iter().next().unwrap_or_default();
    let named = names.iter().zip(values);
    named
        .map(|(name, value)| vec![Some(format!("{prefix}{name}")), value])
        .collect()
}

fn properties_query() -> String {
    let properties = PROPERTIES.map(|name| format!("serverproperty('{name}')"));
    let of_services = OF_SERVICES
        .map(|(name, function)| format!("case when {function}('{name}') is not null then 1 end"));
    let values = properties.into_iter().chain(of_services);
    let columns: Vec<_> = values
        .map(|value| format!("cast({value} as nvarchar(400))"))
        .collect();
    format!("select {}", columns.join(", "))
}

/// One row: texts of these columns have several collations, which a union of rows would have to resolve.
fn database_query(columns: &[&str]) -> String {
    let columns: Vec<_> = columns
        .iter()
        .map(|name| format!("cast({name} as nvarchar(400))"))
        .collect();
    format!(
        "select {} from sys.databases where name = db_name()",
        columns.join(", ")
    )
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
