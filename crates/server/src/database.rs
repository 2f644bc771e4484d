//! Looks up, creates and drops databases, and PostgreSQL roles that own them.
//!
//! In: a control connection of a user with the privileges. Must never: show a password, or send a
//! password that the server would log.

use crate::Control;
use crate::control::Error;
use prony_document::SqlDialect;
use prony_wire::Secret;
use prony_wire::postgres::stored_password;

/// The quoting rules for roles, owners and schemas, which only PostgreSQL has.
const POSTGRES: SqlDialect = SqlDialect::PostgreSql;

/// Why a role or a database could not be looked up or created.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The server refused a statement.
    #[error("{action}: {source}")]
    Refused {
        /// The action: a statement without passwords, or a phrase such as "reading pg_roles".
        action: String,
        source: Error,
    },
    /// `password_encryption` has an unknown value.
    #[error("the server's password_encryption is {0}, which Prony does not know")]
    PasswordEncryption(String),
}

/// For `map_err`: the error for a refused action.
fn to_refused(action: impl Into<String>) -> impl FnOnce(Error) -> DatabaseError {
    let action = action.into();
    move |source| DatabaseError::Refused { action, source }
}

fn execute(control: &mut Control, sql: &str) -> Result<(), DatabaseError> {
    control.execute(sql).map(drop).map_err(to_refused(sql))
}

pub fn database_exists(control: &mut Control, name: &str) -> Result<bool, DatabaseError> {
    let (catalog, column) = match control.dialect() {
        SqlDialect::PostgreSql => ("pg_database", "datname"),
        SqlDialect::MySql => ("information_schema.schemata", "schema_name"),
        SqlDialect::TransactSql => ("sys.databases", "name"),
    };
    exists(control, catalog, column, name)
}

pub fn role_exists(control: &mut Control, name: &str) -> Result<bool, DatabaseError> {
    exists(control, "pg_roles", "rolname", name)
}

fn exists(
    control: &mut Control,
    catalog: &str,
    column: &str,
    name: &str,
) -> Result<bool, DatabaseError> {
    let name = control.dialect().quote_literal(name);
    let sql = format!("select 1 from {catalog} where {column} = {name}");
    let found = control.query_value(&sql);
    found
        .map(|value| value.is_some())
        .map_err(to_refused(format!("reading {catalog}")))
}

/// Names of the user's tables and views in this connection's database, sorted.
pub fn table_names(control: &mut Control) -> Result<Vec<String>, DatabaseError> {
    let sql = match control.dialect() {
        SqlDialect::PostgreSql => {
            "select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace \
             where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname !~ '^pg_' \
             and n.nspname <> 'information_schema' order by 1"
        }
        SqlDialect::MySql => {
            "select table_name from information_schema.tables where table_schema = database() \
             order by 1"
        }
        SqlDialect::TransactSql => {
            "select name from sys.objects where type in ('U', 'V') and is_ms_shipped = 0 order by 1"
        }
    };
    let rows = control
        .query(sql)
        .map_err(to_refused("looking for tables"))?;
    let names = rows.into_iter();
    Ok(names
        .filter_map(|row| row.into_iter().next().flatten())
        .collect())
}

/// SQL Server's error for a database to which sessions are connected.
const DATABASE_IN_USE: u32 = 3702;

/// Drops a database. SQL Server refuses while sessions are connected to it: they are then disconnected first.
pub fn drop_database(control: &mut Control, name: &str) -> Result<(), Error> {
    let dialect = control.dialect();
    let name = dialect.quote_identifier(name);
    let drop_statement = format!("drop database {name}");
    let error = match control.execute(&drop_statement) {
        Ok(_) => return Ok(()),
        Err(error) => error,
    };
    let is_in_use = error
        .server_error()
        .is_some_and(|error| error.number == DATABASE_IN_USE);
    if dialect != SqlDialect::TransactSql || !is_in_use {
        return Err(error);
    }
    control.execute(&format!(
        "alter database {name} set single_user with rollback immediate"
    ))?;
    let dropped = control.execute(&drop_statement);
    if dropped.is_err() {
        // Otherwise a single session could use it.
        control.execute(&format!("alter database {name} set multi_user"))?;
    }
    dropped.map(drop)
}

pub fn drop_role(control: &mut Control, name: &str) -> Result<(), Error> {
    let name = POSTGRES.quote_identifier(name);
    control.execute(&format!("drop role {name}")).map(drop)
}

/// Creates a PostgreSQL role that may log in, or sets the password of an existing one. The password
/// is sent in the encrypted form that the server stores, so that its log never shows it.
///
/// # Errors
/// The server refuses the statement, or its `password_encryption` is unknown.
pub fn create_or_alter_role(
    control: &mut Control,
    name: &str,
    password: &Secret,
) -> Result<(), DatabaseError> {
    let encryption = control
        .query_value("show password_encryption")
        .map_err(to_refused("reading password_encryption"))?;
    let encryption = encryption.unwrap_or_default();
    let Some(password) = stored_password(&encryption, name, password) else {
        return Err(DatabaseError::PasswordEncryption(encryption));
    };
    let verb = if role_exists(control, name)? { "alter" } else { "create" };
    let role = format!("{verb} user {}", POSTGRES.quote_identifier(name));
    let sql = format!("{role} password {}", POSTGRES.quote_literal(&password));
    control.execute(&sql).map(drop).map_err(to_refused(role))
}

/// Makes the PostgreSQL role `member` a member of `role`, unless it already is one.
pub fn grant_role(control: &mut Control, role: &str, member: &str) -> Result<(), DatabaseError> {
    // Grants only if needed: for a user with CREATEROLE who is not a superuser, a repeated grant fails. Since version 16
    // such a user is a member of the roles that it creates, but only to administer them.
    let may_set = match control.server_version() {
        160_000.. => "m.set_option and m.inherit_option",
        _ => "true",
    };
    let sql = format!(
        "select 1 from pg_auth_members m join pg_roles r on r.oid = m.roleid \
         join pg_roles u on u.oid = m.member where {may_set} and r.rolname = {} and u.rolname = {}",
        POSTGRES.quote_literal(role),
        POSTGRES.quote_literal(member)
    );
    let membership = control.query_value(&sql);
    if membership
        .map_err(to_refused("reading memberships"))?
        .is_some()
    {
        return Ok(());
    }
    let (role, member) = (
        POSTGRES.quote_identifier(role),
        POSTGRES.quote_identifier(member),
    );
    execute(control, &format!("grant {role} to {member}"))
}

/// Lets a PostgreSQL role create tables in the schema `public` of this connection's database.
pub fn grant_create_on_schema_public(
    control: &mut Control,
    role: &str,
) -> Result<(), DatabaseError> {
    let role = POSTGRES.quote_identifier(role);
    execute(
        control,
        &format!("grant create, usage on schema public to {role}"),
    )
}

/// Creates a PostgreSQL database, in `tablespace` if given.
pub fn create_owned_database(
    control: &mut Control,
    name: &str,
    owner: &str,
    tablespace: Option<&str>,
) -> Result<(), DatabaseError> {
    let (name, owner) = (
        POSTGRES.quote_identifier(name),
        POSTGRES.quote_identifier(owner),
    );
    let mut sql = format!("create database {name} owner {owner}");
    if let Some(tablespace) = tablespace {
        sql += &format!(" tablespace {}", POSTGRES.quote_identifier(tablespace));
    }
    execute(control, &sql)
}

/// Creates a SQL Server database with the server's defaults.
pub fn create_database(control: &mut Control, name: &str) -> Result<(), DatabaseError> {
    let name = control.dialect().quote_identifier(name);
    execute(control, &format!("create database {name}"))
}

/// Creates a MySQL or MariaDB database with the single-byte character set latin1.
pub fn create_latin1_database(control: &mut Control, name: &str) -> Result<(), DatabaseError> {
    let name = control.dialect().quote_identifier(name);
    let sql = format!("create database {name} character set latin1 collate latin1_swedish_ci");
    execute(control, &sql)
}
