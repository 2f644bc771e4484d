//! The role and the database of a build.
//!
//! In: a superuser's connection. Out: a role that can log in, a database that it may fill. Must
//! never: show a password, or change a database that has tables.

use super::super::connection;
use prony_dialect::hammerdb::{BuildRequest, Login, Product};
use prony_server::control::{Error, quote_identifier, quote_literal};
use prony_server::{Control, Product as Engine};
use prony_wire::postgres::stored_password;

/// What became of the database.
pub enum Database {
    /// There is none yet.
    Created,
    /// It was there, without tables.
    Empty,
    /// A build in it was broken off.
    Begun,
}

/// Creates the role and lets the superuser act for it; one that is there gets the password asked
/// for.
///
/// # Errors
/// The server refuses it.
pub fn role(control: &mut Control, owner: &Login, superuser: &str) -> Result<(), String> {
    // On the others the user that builds is the one that asks.
    if owner.user == superuser || owner.product != Product::PostgreSql {
        return Ok(());
    }
    let name = quote_identifier(&owner.user);
    let password = quote_literal(&kept_password(control, owner)?);
    let exists = role_exists(control, &owner.user)?;
    let verb = if exists { "alter" } else { "create" };
    let sql = format!("{verb} user {name} password {password}");
    control
        .execute(&sql)
        .map_err(|error| refused(&format!("{verb} user {name}"), &error))?;
    // Whoever may create roles and is no superuser could not grant it once more.
    let sql = format!(
        "select 1 from pg_auth_members m join pg_roles r on r.oid = m.roleid \
         join pg_roles u on u.oid = m.member where r.rolname = {} and u.rolname = {}",
        quote_literal(&owner.user),
        quote_literal(superuser)
    );
    let granted = control.query_value(&sql);
    if granted
        .map_err(|error| refused("reading memberships", &error))?
        .is_some()
    {
        return Ok(());
    }
    let grant = format!("grant {name} to {}", quote_identifier(superuser));
    control
        .execute(&grant)
        .map(drop)
        .map_err(|error| refused(&grant, &error))
}

/// The password as the server keeps it, so that its log has none.
fn kept_password(control: &mut Control, owner: &Login) -> Result<String, String> {
    let encryption = control
        .query_value("show password_encryption")
        .map_err(|error| refused("reading password_encryption", &error))?;
    let encryption = encryption.unwrap_or_default();
    stored_password(&encryption, &owner.user, &owner.password).ok_or_else(|| {
        format!("the server's password_encryption is {encryption}, which Prony does not know")
    })
}

/// Looks at the database, before anything is changed.
///
/// # Errors
/// It has tables, or the server does not let us look.
pub fn look(control: &mut Control, request: &BuildRequest) -> Result<Database, String> {
    let owner = &request.owner;
    if !database_exists(control, &owner.database)? {
        return Ok(Database::Created);
    }
    let inside = Login {
        database: owner.database.clone(),
        ..request.superuser.clone()
    };
    let (_, mut control) = connection::open(&inside)?;
    match tables(&mut control)? {
        Tables { all: 0, .. } => Ok(Database::Empty),
        Tables { begun: true, .. } => Ok(Database::Begun),
        _ => Err(format!(
            "Database {} exists but is not empty, specify a new or empty database name",
            owner.database
        )),
    }
}

/// What a database has.
pub struct Tables {
    /// Tables and views.
    pub all: u64,
    /// Those that are not TPROC-C's, some of their names.
    pub strange: Vec<String>,
    /// A build in it was broken off.
    pub begun: bool,
}

/// Looks for tables in the database of this connection.
///
/// # Errors
/// The server refuses it.
pub fn tables(control: &mut Control) -> Result<Tables, String> {
    // A build that was broken off has Prony's note of it beside its tables.
    let sql = match control.product() {
        Engine::Postgres => POSTGRES_TABLES,
        Engine::Mysql | Engine::MariaDb => {
            "select table_name from information_schema.tables where table_schema = database() \
             order by 1"
        }
    };
    let rows = control
        .query(sql)
        .map_err(|error| refused("looking for tables", &error))?;
    let names = rows.iter().filter_map(|row| row.first()?.as_deref());
    let is_ours =
        |name: &str| NAMES.contains(&name) || name.strip_prefix("ol_").is_some_and(is_number);
    Ok(Tables {
        all: rows.len() as u64,
        strange: names
            .clone()
            .filter(|name| !is_ours(name))
            .take(3)
            .map(str::to_owned)
            .collect(),
        begun: names.clone().any(|name| name == NOTE),
    })
}

const POSTGRES_TABLES: &str = "select c.relname from pg_class c \
     join pg_namespace n on n.oid = c.relnamespace \
     where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname !~ '^pg_' \
     and n.nspname <> 'information_schema' order by 1";

/// The note of a build that goes on.
const NOTE: &str = "prony_tpcc_load";
/// TPROC-C's tables, and the note.
const NAMES: [&str; 10] = [
    "warehouse",
    "district",
    "customer",
    "history",
    "new_order",
    "orders",
    "order_line",
    "item",
    "stock",
    NOTE,
];

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Makes the database, or lets the role fill the one that is there.
///
/// # Errors
/// The server refuses it.
pub fn database(
    control: &mut Control,
    request: &BuildRequest,
    found: &Database,
) -> Result<(), String> {
    let owner = &request.owner;
    if owner.product != Product::PostgreSql {
        if !matches!(found, Database::Created) {
            return Ok(());
        }
        let name = control.product().quote_identifier(&owner.database);
        // As HammerDB's: a letter is a byte.
        let sql = format!("create database {name} character set latin1 collate latin1_swedish_ci");
        return control
            .execute(&sql)
            .map(drop)
            .map_err(|error| refused(&sql, &error));
    }
    if matches!(found, Database::Created) {
        let mut sql = format!(
            "create database {} owner {}",
            quote_identifier(&owner.database),
            quote_identifier(&owner.user)
        );
        if request.tablespace != "pg_default" && !request.tablespace.is_empty() {
            sql += &format!(" tablespace {}", quote_identifier(&request.tablespace));
        }
        return control
            .execute(&sql)
            .map(drop)
            .map_err(|error| refused(&sql, &error));
    }
    if matches!(found, Database::Empty) {
        let inside = Login {
            database: owner.database.clone(),
            ..request.superuser.clone()
        };
        let (_, mut control) = connection::open(&inside)?;
        let sql = format!(
            "grant create, usage on schema public to {}",
            quote_identifier(&owner.user)
        );
        control
            .execute(&sql)
            .map_err(|error| refused(&sql, &error))?;
    }
    Ok(())
}

/// Whether there is a database of this name.
///
/// # Errors
/// The server refuses it.
pub fn database_exists(control: &mut Control, name: &str) -> Result<bool, String> {
    let (catalog, column) = match control.product() {
        Engine::Postgres => ("pg_database", "datname"),
        Engine::Mysql | Engine::MariaDb => ("information_schema.schemata", "schema_name"),
    };
    exists(control, catalog, column, name)
}

/// Whether PostgreSQL has a role of this name.
///
/// # Errors
/// The server refuses it.
pub fn role_exists(control: &mut Control, name: &str) -> Result<bool, String> {
    exists(control, "pg_roles", "rolname", name)
}

fn exists(control: &mut Control, catalog: &str, column: &str, name: &str) -> Result<bool, String> {
    let sql = format!(
        "select 1 from {catalog} where {column} = {}",
        control.product().quote_literal(name)
    );
    let found = control.query_value(&sql);
    found
        .map(|value| value.is_some())
        .map_err(|error| refused(&format!("reading {catalog}"), &error))
}

fn refused(doing: &str, error: &Error) -> String {
    format!("{doing}: {error}")
}
