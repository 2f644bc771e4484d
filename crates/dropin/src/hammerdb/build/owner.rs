//! The role and the database of a build.
//!
//! In: a superuser's connection. Out: a role that can log in, and a database that the role can fill. Must
//! never: print a password, or change a database that has tables.

use super::super::connection;
use prony_dialect::hammerdb::{BuildRequest, Login};
use prony_document::SqlDialect;
use prony_server::Control;
use prony_server::database::{self, DatabaseError};
use prony_workload::tpcc;

/// The state of the database before the build.
pub enum DatabaseState {
    /// It does not exist yet.
    Missing,
    /// It exists and has no tables.
    Empty,
    /// It has the tables of a build that did not complete.
    UnfinishedBuild,
}

/// Creates the role, or sets the password of an existing one, and makes the superuser a member of it.
pub fn create_role(control: &mut Control, owner: &Login, superuser: &str) -> Result<(), String> {
    match owner.product.dialect {
        SqlDialect::PostgreSql => {}
        // On the other engines the connected user builds the schema.
        SqlDialect::MySql | SqlDialect::TransactSql => return Ok(()),
    }
    if owner.user == superuser {
        return Ok(());
    }
    database::create_or_alter_role(control, &owner.user, &owner.password)
        .and_then(|()| database::grant_role(control, &owner.user, superuser))
        .map_err(error_text)
}

/// Reads the state of the database before anything is changed.
///
/// # Errors
/// The database has tables that no unfinished build left, or the server rejects a query.
pub fn read_database_state(
    control: &mut Control,
    request: &BuildRequest,
) -> Result<DatabaseState, String> {
    let owner = &request.owner;
    if !database::database_exists(control, &owner.database).map_err(error_text)? {
        return Ok(DatabaseState::Missing);
    }
    match list_tables(&mut connect_to_database(
        &request.superuser,
        &owner.database,
    )?)? {
        DatabaseTables { count: 0, .. } => Ok(DatabaseState::Empty),
        DatabaseTables {
            has_unfinished_build: true,
            ..
        } => Ok(DatabaseState::UnfinishedBuild),
        _ => Err(format!(
            "Database {} exists but is not empty, specify a new or empty database name",
            owner.database
        )),
    }
}

/// Connects to a database as the superuser.
pub fn connect_to_database(superuser: &Login, database: &str) -> Result<Control, String> {
    let login = Login {
        database: database.to_owned(),
        ..superuser.clone()
    };
    let (_, control) = connection::open(&login)?;
    Ok(control)
}

/// The tables found in a database.
pub struct DatabaseTables {
    /// The number of tables and views.
    pub count: u64,
    /// Names of some tables that are not TPROC-C's.
    pub other_tables: Vec<String>,
    /// Whether the tables belong to an unfinished build.
    pub has_unfinished_build: bool,
}

/// Lists the tables in the database of this connection.
pub fn list_tables(control: &mut Control) -> Result<DatabaseTables, String> {
    let names = database::table_names(control).map_err(error_text)?;
    let is_tprocc_table = |name: &str| {
        TPROCC_TABLES.contains(&name) || name.strip_prefix("ol_").is_some_and(is_number)
    };
    let other_tables = names.iter().filter(|name| !is_tprocc_table(name));
    Ok(DatabaseTables {
        count: names.len() as u64,
        other_tables: other_tables.take(3).cloned().collect(),
        has_unfinished_build: tpcc::has_unfinished_load(control)
            .map_err(|error| error.to_string())?,
    })
}

const TPROCC_TABLES: [&str; 9] = [
    "warehouse",
    "district",
    "customer",
    "history",
    "new_order",
    "orders",
    "order_line",
    "item",
    "stock",
];

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Creates the database, or grants the role the privileges to fill an existing one.
pub fn create_or_grant_database(
    control: &mut Control,
    request: &BuildRequest,
    state: &DatabaseState,
) -> Result<(), String> {
    let owner = &request.owner;
    let result = match (owner.product.dialect, state) {
        (SqlDialect::PostgreSql, DatabaseState::Missing) => {
            let tablespace = Some(request.tablespace.as_str());
            let tablespace = tablespace.filter(|name| !matches!(*name, "" | "pg_default"));
            database::create_owned_database(control, &owner.database, &owner.user, tablespace)
        }
        (SqlDialect::PostgreSql, DatabaseState::Empty) => {
            let mut control = connect_to_database(&request.superuser, &owner.database)?;
            database::grant_create_on_schema_public(&mut control, &owner.user)
        }
        // The database has the character set latin1, as with HammerDB.
        (SqlDialect::MySql, DatabaseState::Missing) => {
            database::create_latin1_database(control, &owner.database)
        }
        (SqlDialect::TransactSql, DatabaseState::Missing) => {
            database::create_database(control, &owner.database)
        }
        (SqlDialect::MySql | SqlDialect::TransactSql, DatabaseState::Empty)
        | (
            SqlDialect::PostgreSql | SqlDialect::MySql | SqlDialect::TransactSql,
            DatabaseState::UnfinishedBuild,
        ) => Ok(()),
    };
    result.map_err(error_text)
}

fn error_text(error: DatabaseError) -> String {
    error.to_string()
}
