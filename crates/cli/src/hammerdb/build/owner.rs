//! The role and the database of a build.
//!
//! In: a superuser's connection. Out: a role that can log in, a database that it may fill. Must
//! never: show a password, or change a database that has tables.

use super::super::connection;
use prony_dialect::hammerdb::{BuildRequest, Login};
use prony_server::Control;
use prony_server::control::{Error, quote_identifier, quote_literal};

/// What became of the database.
pub enum Database {
    /// It is new.
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
    if owner.user == superuser {
        return Ok(());
    }
    let name = quote_identifier(&owner.user);
    let password = quote_literal(owner.password.reveal());
    let exists = exists(control, "pg_roles", "rolname", &owner.user)?;
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

/// Creates the database, or looks whether the one that is there can be used.
///
/// # Errors
/// It has tables, or the server refuses it.
pub fn database(control: &mut Control, request: &BuildRequest) -> Result<Database, String> {
    let owner = &request.owner;
    if !exists(control, "pg_database", "datname", &owner.database)? {
        let mut sql = format!(
            "create database {} owner {}",
            quote_identifier(&owner.database),
            quote_identifier(&owner.user)
        );
        if request.tablespace != "pg_default" && !request.tablespace.is_empty() {
            sql += &format!(" tablespace {}", quote_identifier(&request.tablespace));
        }
        return match control.execute(&sql) {
            Ok(_) => Ok(Database::Created),
            Err(error) => Err(refused(&sql, &error)),
        };
    }
    let inside = Login {
        database: owner.database.clone(),
        ..request.superuser.clone()
    };
    let (_, mut control) = connection::open(&inside)?;
    // A build that was broken off has Prony's note of it beside its tables.
    let sql = "select count(*), count(*) filter (where c.relname = 'prony_tpcc_load') \
         from pg_class c join pg_namespace n on n.oid = c.relnamespace \
         where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname !~ '^pg_' \
         and n.nspname <> 'information_schema'";
    let rows = control
        .query(sql)
        .map_err(|error| refused("looking for tables", &error))?;
    let count = |column: usize| rows.first().and_then(|row| row.get(column)?.as_deref());
    match (count(0), count(1)) {
        (Some("0"), _) => {
            let sql = format!(
                "grant create, usage on schema public to {}",
                quote_identifier(&owner.user)
            );
            control
                .execute(&sql)
                .map_err(|error| refused(&sql, &error))?;
            Ok(Database::Empty)
        }
        (_, Some("1")) => Ok(Database::Begun),
        _ => Err(format!(
            "Database {} exists but is not empty, specify a new or empty database name",
            owner.database
        )),
    }
}

fn exists(control: &mut Control, catalog: &str, column: &str, name: &str) -> Result<bool, String> {
    let sql = format!(
        "select 1 from {catalog} where {column} = {}",
        quote_literal(name)
    );
    let found = control.query_value(&sql);
    found
        .map(|value| value.is_some())
        .map_err(|error| refused(&format!("reading {catalog}"), &error))
}

fn refused(doing: &str, error: &Error) -> String {
    format!("{doing}: {error}")
}
