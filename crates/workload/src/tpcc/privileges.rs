//! Checks that the role of a run has the privileges that the transactions need.

use super::schema::Table;
use crate::catalog::Tables;
use crate::{Error, Result, sql};
use prony_document::SqlDialect;
use prony_server::Control;
use prony_server::control::is_about_privileges;

/// The privileges on a table that the transactions of all profiles and modes need.
fn required_privileges(table: Table) -> &'static [&'static str] {
    match table {
        Table::Item => &["select"],
        Table::Warehouse | Table::District | Table::Stock | Table::Customer => {
            &["select", "update"]
        }
        Table::History => &["insert"],
        Table::Orders | Table::OrderLine => &["select", "insert", "update"],
        // SELECT ... FOR UPDATE also needs the privilege UPDATE.
        Table::NewOrder => &["select", "insert", "update", "delete"],
    }
}

/// Checks that the role has all required privileges.
///
/// # Errors
/// The role lacks a privilege; the error lists all missing ones and the statements that grant them.
pub fn check(control: &mut Control) -> Result<()> {
    let missing = match control.dialect() {
        SqlDialect::PostgreSql => missing_on_postgres(control)?,
        SqlDialect::MySql => missing_on_mysql(control)?,
        SqlDialect::TransactSql => missing_on_sql_server(control)?,
    };
    match missing {
        Some(missing) => Err(missing.into_error()),
        None => Ok(()),
    }
}

/// The privileges that a role lacks, at least one.
struct MissingPrivileges {
    /// `None` if its name is not known.
    role: Option<String>,
    by_table: Vec<MissingOnTable>,
}

struct MissingOnTable {
    table: &'static str,
    /// The privileges, separated by commas.
    privileges: String,
}

impl MissingPrivileges {
    fn into_error(self) -> Error {
        let describe = |MissingOnTable { table, privileges }: &MissingOnTable| {
            format!("{privileges} on {table}")
        };
        let descriptions: Vec<String> = self.by_table.iter().map(describe).collect();
        let descriptions = descriptions.join("; ");
        let Some(role) = self.role else {
            return Error::Data {
                problem: format!("the role lacks privileges: {descriptions}"),
                remedy: "run as the owner of the tables, or let their owner grant these".into(),
            };
        };
        let grant = |MissingOnTable { table, privileges }: &MissingOnTable| {
            format!("grant {privileges} on {table} to {role};")
        };
        let grants: Vec<String> = self.by_table.iter().map(grant).collect();
        Error::Data {
            problem: format!("the role {role} lacks privileges: {descriptions}"),
            remedy: format!(
                "run as the owner of the tables, or as their owner: {}",
                grants.join(" ")
            )
            .into(),
        }
    }
}

/// Each required privilege as a row of a query: the table and the privilege.
fn required_rows() -> String {
    let rows = Table::ALL.into_iter().flat_map(|table| {
        let privileges = required_privileges(table).iter();
        privileges.map(move |privilege| format!("('{}', '{privilege}')", table.name()))
    });
    rows.collect::<Vec<_>>().join(", ")
}

fn missing_on_postgres(control: &mut Control) -> Result<Option<MissingPrivileges>> {
    // The owner may have granted privileges on some columns only; DELETE has no column privileges.
    let sql = format!(
        "select w.name, w.privilege, quote_ident(current_user) \
         from (values {}) w(name, privilege) \
         where not case w.privilege when 'delete' then has_table_privilege(w.name, w.privilege) \
          else has_any_column_privilege(w.name, w.privilege) end",
        required_rows()
    );
    query_missing(control, &sql)
}

/// Returns the missing privileges, from a query with the columns table, privilege and role; `None` if it has no rows.
fn query_missing(control: &mut Control, sql: &str) -> Result<Option<MissingPrivileges>> {
    let rows = sql::query_rows(control, "reading the privileges on the tables", sql)?;
    let Some(role) = rows.first().and_then(|row| row.text(2)) else {
        return Ok(None);
    };
    let missing_on_table = |table: &Table| {
        let privileges = rows.iter().filter(|row| row.text(0) == Some(table.name()));
        let privileges: Vec<&str> = privileges.filter_map(|row| row.text(1)).collect();
        (!privileges.is_empty()).then(|| MissingOnTable {
            table: table.name(),
            privileges: privileges.join(", "),
        })
    };
    Ok(Some(MissingPrivileges {
        role: Some(role.to_owned()),
        by_table: Table::ALL.iter().filter_map(missing_on_table).collect(),
    }))
}

/// Asks for each privilege on each table, including those that come from roles, the schema or the database.
fn missing_on_sql_server(control: &mut Control) -> Result<Option<MissingPrivileges>> {
    let sql = format!(
        "select w.name, w.privilege, quotename(user_name()) \
         from (values {}) w(name, privilege) \
         where coalesce(has_perms_by_name(w.name, 'OBJECT', w.privilege), 0) = 0",
        required_rows()
    );
    query_missing(control, &sql)
}

/// Tests each privilege with EXPLAIN of a statement that needs it: a privilege may come from roles, the
/// database, columns or the whole server, and each of these is stored in a different table.
fn missing_on_mysql(control: &mut Control) -> Result<Option<MissingPrivileges>> {
    let mut by_table = Vec::new();
    for table in Table::ALL {
        let (name, column) = (table.name(), probe_column(table));
        let mut privileges = Vec::new();
        for privilege in required_privileges(table) {
            // FOR UPDATE needs only DELETE on MySQL.
            if (table, *privilege) == (Table::NewOrder, "update") {
                continue;
            }
            let statement = match *privilege {
                "select" => format!("select {column} from {name} where false"),
                "update" => format!("update {name} set {column} = {column} where false"),
                "delete" => format!("delete from {name} where false"),
                _ => {
                    let columns = Tables::columns(table, SqlDialect::MySql);
                    let zeros = vec!["0"; columns.len()].join(", ");
                    format!(
                        "insert into {name} ({}) values ({zeros})",
                        columns.join(", ")
                    )
                }
            };
            match control.query(&format!("explain {statement}")) {
                Ok(_) => {}
                Err(error) if error.server_error().is_some_and(is_about_privileges) => {
                    privileges.push(*privilege);
                }
                Err(source) => {
                    return Err(sql::server_error(
                        "reading the privileges on the tables",
                        source,
                    ));
                }
            }
        }
        if !privileges.is_empty() {
            by_table.push(MissingOnTable {
                table: name,
                privileges: privileges.join(", "),
            });
        }
    }
    if by_table.is_empty() {
        return Ok(None);
    }
    Ok(Some(MissingPrivileges {
        role: control.mysql_account(),
        by_table,
    }))
}

/// A column that the transactions read and, if they change the table, write.
fn probe_column(table: Table) -> &'static str {
    match table {
        Table::Item => "i_price",
        Table::Warehouse => "w_ytd",
        Table::District => "d_next_o_id",
        Table::Stock => "s_quantity",
        Table::Customer => "c_balance",
        Table::History => "h_amount",
        Table::Orders => "o_carrier_id",
        Table::NewOrder => "no_o_id",
        Table::OrderLine => "ol_delivery_d",
    }
}

#[cfg(test)]
mod tests {
    use super::{MissingOnTable, MissingPrivileges};
    use prony_assertions::TextAssertions;
    use prony_plan::UserError;

    #[test]
    fn only_a_known_role_is_put_into_a_grant() {
        let hint = |role: Option<&str>| {
            let missing = MissingPrivileges {
                role: role.map(str::to_owned),
                by_table: vec![MissingOnTable {
                    table: "item",
                    privileges: "select".to_owned(),
                }],
            };
            missing.into_error().parts().hint.expect("a hint")
        };
        hint(Some("'u'@'%'")).assert_contains("grant select on item to 'u'@'%';");
        hint(None).assert_lacks("grant select").assert_lacks(";");
    }
}
