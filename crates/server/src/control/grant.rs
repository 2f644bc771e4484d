//! Suggests the statement that grants a missing privilege.
//!
//! In: the server's error. Out: a GRANT or ALTER statement, if the error names the privilege. Must
//! never: execute it; leave a name unquoted that needs quotes.

use prony_document::SqlDialect;
use prony_wire::{Protocol, ServerError};

/// MySQL's and MariaDB's errors for a missing privilege on a table, a column or a database.
const PRIVILEGE_ERRORS: [u32; 3] = [1142, 1143, 1044];

/// Kinds of objects that have the same name in the server's message and in `ALTER ... OWNER TO`,
/// and need no more than a name there (`aclcheck_error` of PostgreSQL). `relation` is not in the list,
/// because it can be a table or another kind of object.
const OBJECT_KINDS: [&str; 12] = [
    "collation",
    "conversion",
    "database",
    "domain",
    "foreign table",
    "materialized view",
    "schema",
    "sequence",
    "table",
    "tablespace",
    "type",
    "view",
];

/// How PostgreSQL's message begins if only the owner may do something.
const NOT_OWNER: &str = "must be owner of ";

/// Whether the error is that of a missing privilege on PostgreSQL, MySQL or MariaDB.
pub fn is_about_privileges(error: &ServerError) -> bool {
    match error.protocol {
        Protocol::PostgreSql => &error.code == b"42501",
        Protocol::MySql => PRIVILEGE_ERRORS.contains(&error.number),
        Protocol::Tds => false,
    }
}

/// The hint on how to grant a missing privilege; `None` for other errors.
pub(super) fn hint(error: &ServerError) -> Option<String> {
    if !is_about_privileges(error) {
        return None;
    }
    match error.protocol {
        Protocol::PostgreSql => Some(postgres_hint(error)),
        Protocol::MySql => Some(mysql_hint(error)),
        Protocol::Tds => None,
    }
}

fn mysql_hint(error: &ServerError) -> String {
    match mysql_grant(&error.message, error.role.as_deref()) {
        Some(grant) if is_on_table(error) => format!("Each table needs {grant};"),
        Some(grant) => format!("Needs {grant};"),
        None => "GRANT the account privileges on this table.".to_owned(),
    }
}

fn postgres_hint(error: &ServerError) -> String {
    let role = error.role.as_deref().map(quote_if_needed);
    let role = role.as_deref().unwrap_or("the role");
    match postgres_grant(&error.message, role) {
        // The owner may not give an object to a role it is not a member of.
        Some(alter) if error.message.starts_with(NOT_OWNER) => {
            format!("Connect as the owner, or as a superuser execute {alter};")
        }
        Some(grant) if is_on_table(error) => {
            format!("As owner, for each table: {grant};")
        }
        Some(grant) => format!("Have the owner execute {grant};"),
        None => {
            format!("Connect as the owner, or GRANT {role} the privilege that its message names.")
        }
    }
}

/// Whether the privilege is one on a table. The server names the first one; the user most likely lacks it on the others
/// too.
fn is_on_table(error: &ServerError) -> bool {
    error.message.contains(" table ")
}

/// The statement that grants a missing privilege, from `permission denied for table t` or `must be
/// owner of table t`.
fn postgres_grant(message: &str, role: &str) -> Option<String> {
    if let Some(rest) = message.strip_prefix(NOT_OWNER) {
        let (kind, name) = rest.rsplit_once(' ')?;
        if !OBJECT_KINDS.contains(&kind) {
            return None;
        }
        let (kind, name) = (kind.to_uppercase(), quote_if_needed(name));
        return Some(format!("ALTER {kind} {name} OWNER TO {role}"));
    }
    let rest = message.strip_prefix("permission denied for ")?;
    let (kind, name) = rest.rsplit_once(' ')?;
    let name = quote_if_needed(name);
    let (privileges, object_type) = match kind {
        "schema" => ("USAGE, CREATE", "SCHEMA "),
        "database" => ("CREATE, TEMPORARY", "DATABASE "),
        "tablespace" => ("CREATE", "TABLESPACE "),
        "sequence" => ("USAGE, SELECT", "SEQUENCE "),
        "function" => ("EXECUTE", "FUNCTION "),
        "procedure" => ("EXECUTE", "PROCEDURE "),
        "table" | "relation" | "view" | "materialized view" | "foreign table" => {
            ("SELECT, INSERT, UPDATE, DELETE, TRUNCATE", "")
        }
        _ => return None,
    };
    Some(format!(
        "GRANT {privileges} ON {object_type}{name} TO {role}"
    ))
}

/// Quotes a name if needed; the server's message shows names without quotes.
fn quote_if_needed(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if name.chars().all(is_plain) && !name.starts_with(|c: char| c.is_ascii_digit()) {
        name.to_owned()
    } else {
        SqlDialect::PostgreSql.quote_identifier(name)
    }
}

/// The statement that grants the missing privilege, from `INSERT command denied to user 'u'@'h' for table
/// 't'`, where MariaDB writes `` `d`.`t` ``, or `Access denied for user 'u'@'h' to database 'd'`.
/// `role`: the account that needs it, if known; that of the message has the host of the client.
fn mysql_grant(message: &str, role: Option<&str>) -> Option<String> {
    if let Some(rest) = message.strip_prefix("Access denied for user ") {
        let (account, database) = rest.split_once(" to database ")?;
        let database = database.trim_matches(['\'', '`']).replace('`', "``");
        let account = role.unwrap_or(account);
        return Some(format!("GRANT ALL ON `{database}`.* TO {account}"));
    }
    let (privilege, rest) = message.split_once(" command denied to user ")?;
    let (account, rest) = rest.split_once(" for ")?;
    let account = role.unwrap_or(account);
    let table = rest.rsplit_once("table ").map(|(_, table)| table)?;
    let table = match table
        .strip_prefix('\'')
        .and_then(|rest| rest.strip_suffix('\''))
    {
        Some(name) => format!("`{}`", name.replace('`', "``")),
        None => table.to_owned(),
    };
    Some(format!("GRANT {privilege} ON {table} TO {account}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    fn postgres_hint_for(code: &[u8; 5], message: &str) -> Option<String> {
        let error = ServerError::new(Protocol::PostgreSql, 0, *code, message.to_owned());
        hint(&ServerError {
            role: Some("Bench user".to_owned()),
            ..error
        })
    }

    #[test]
    fn the_hint_names_the_statement_that_grants_the_privilege() {
        for (message, statement) in [
            (
                "permission denied for schema public",
                "GRANT USAGE, CREATE ON SCHEMA public TO \"Bench user\";",
            ),
            (
                "permission denied for table Odd;",
                "ON \"Odd;\" TO \"Bench user\";",
            ),
            (
                "must be owner of table pgbench_accounts",
                "ALTER TABLE pgbench_accounts OWNER TO \"Bench user\";",
            ),
            (
                "must be owner of materialized view m",
                "ALTER MATERIALIZED VIEW m OWNER TO \"Bench user\";",
            ),
            (
                "must be owner of relation x",
                "GRANT \"Bench user\" the privilege that its message names.",
            ),
            (
                "must be owner of statistics object s",
                "GRANT \"Bench user\" the privilege that its message names.",
            ),
            (
                "permission refusée",
                "GRANT \"Bench user\" the privilege that its message names.",
            ),
        ] {
            let hint = postgres_hint_for(b"42501", message).expect("a hint");
            hint.assert_ends_with(statement);
            let grants_on_table = message.contains("for table ");
            assert_eq!(hint.contains("for each table"), grants_on_table, "{hint}");
            let alters = statement.starts_with("ALTER");
            assert_eq!(hint.contains("as a superuser"), alters, "{hint}");
        }
        assert_eq!(
            postgres_hint_for(b"42P01", "permission denied for table t"),
            None
        );
    }

    #[test]
    fn mysql_and_mariadb_errors_have_grant_hints() {
        for (number, message, statement) in [
            (
                1142,
                "INSERT command denied to user 'u'@'localhost' for table 'sbtest1'",
                "GRANT INSERT ON `sbtest1` TO 'u'@'localhost';",
            ),
            (
                1142,
                "SELECT, UPDATE command denied to user 'u'@'%' for table `d`.`t`",
                "GRANT SELECT, UPDATE ON `d`.`t` TO 'u'@'%';",
            ),
            (
                1143,
                "SELECT command denied to user 'u'@'%' for column 'c' in table 't'",
                "GRANT SELECT ON `t` TO 'u'@'%';",
            ),
            (
                1044,
                "Access denied for user 'u'@'%' to database 'd'",
                "GRANT ALL ON `d`.* TO 'u'@'%';",
            ),
        ] {
            let text = message.to_owned();
            let error = ServerError::new(Protocol::MySql, number, *b"42000", text);
            let hint = hint(&error).expect("a hint");
            hint.assert_ends_with(statement);
            let role = Some("'u'@'10.%'".to_owned());
            let of_account = super::hint(&ServerError { role, ..error }).expect("a hint");
            of_account.assert_ends_with(" TO 'u'@'10.%';");
            let is_on_table = message.contains(" table ");
            assert_eq!(hint.starts_with("Each table"), is_on_table, "{hint}");
        }
    }
}
