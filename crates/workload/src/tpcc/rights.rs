//! Whether the role of a run may do what the transactions do.
//!
//! In: a control connection, tables that are there. Out: nothing, or what is missing. Must never:
//! change a right.

use super::schema::Table;
use crate::catalog::Tables;
use crate::oltp::engine::Engine;
use crate::{Error, sql};
use prony_server::Control;

/// What the transactions of all profiles and modes need of a table.
fn needed(table: Table) -> &'static [&'static str] {
    match table {
        Table::Item => &["select"],
        Table::Warehouse | Table::District | Table::Stock | Table::Customer => {
            &["select", "update"]
        }
        Table::History => &["insert"],
        Table::Orders | Table::OrderLine => &["select", "insert", "update"],
        // A row that is locked to be deleted needs the right to update, too.
        Table::NewOrder => &["select", "insert", "update", "delete"],
    }
}

/// # Errors
/// The role lacks a right; the error names all that it lacks, and what grants them.
pub fn check(control: &mut Control) -> Result<(), Error> {
    let lacking = match Engine::of(control) {
        Engine::Postgres => lacking(control)?,
        Engine::MySql => lacking_mysql(control)?,
    };
    let Some((role, lacking)) = lacking else {
        return Ok(());
    };
    let words = |(rights, table): &(String, &str)| format!("{rights} on {table}");
    let missing: Vec<String> = lacking.iter().map(words).collect();
    let grant = |(rights, table): &(String, &str)| format!("grant {rights} on {table} to {role};");
    let grants: Vec<String> = lacking.iter().map(grant).collect();
    Err(Error::Data {
        problem: format!("the role {role} lacks the right to {}", missing.join("; ")),
        hint: format!(
            "run as the owner of the tables, or as their owner: {}",
            grants.join(" ")
        ),
    })
}

/// A role, and of each table what it may not do; none where it may do all.
type Lacking = Option<(String, Vec<(String, &'static str)>)>;

fn lacking(control: &mut Control) -> Result<Lacking, Error> {
    let wanted = Table::ALL.into_iter().flat_map(|table| {
        let rights = needed(table).iter();
        rights.map(move |right| format!("('{}', '{right}')", table.name()))
    });
    let wanted: Vec<String> = wanted.collect();
    // A right on some columns may be all that a careful owner gave; only DELETE has no columns.
    let sql = format!(
        "select w.name, w.asked, quote_ident(current_user) \
         from (values {}) w(name, asked) \
         where not case w.asked when 'delete' then has_table_privilege(w.name, w.asked) \
          else has_any_column_privilege(w.name, w.asked) end",
        wanted.join(", ")
    );
    let rows = sql::rows(control, "asking for the rights on the tables", &sql)?;
    let Some(role) = rows.first().and_then(|row| row.text(2)) else {
        return Ok(None);
    };
    let lacks = |table: &Table| {
        let rights = rows.iter().filter(|row| row.text(0) == Some(table.name()));
        let rights: Vec<&str> = rights.filter_map(|row| row.text(1)).collect();
        (!rights.is_empty()).then(|| (rights.join(", "), table.name()))
    };
    let lacking = Table::ALL.iter().filter_map(lacks).collect();
    Ok(Some((role.to_owned(), lacking)))
}

/// By asking how the server would carry out what needs the right: it may come by roles, by the
/// database, by columns or by the whole server, and each is kept in another place.
fn lacking_mysql(control: &mut Control) -> Result<Lacking, Error> {
    const DENIED: [u16; 3] = [1142, 1143, 1044];
    let mut lacking = Vec::new();
    for table in Table::ALL {
        let (name, column) = (table.name(), touched(table));
        let mut rights = Vec::new();
        for right in needed(table) {
            // There a lock asks for no more than the right to delete.
            if (table, *right) == (Table::NewOrder, "update") {
                continue;
            }
            let statement = match *right {
                "select" => format!("select {column} from {name} where false"),
                "update" => format!("update {name} set {column} = {column} where false"),
                "delete" => format!("delete from {name} where false"),
                _ => {
                    let columns = Tables::columns(table, Engine::MySql);
                    let zeros = vec!["0"; columns.len()].join(", ");
                    format!(
                        "insert into {name} ({}) values ({zeros})",
                        columns.join(", ")
                    )
                }
            };
            match control.query(&format!("explain {statement}")) {
                Ok(_) => {}
                Err(error)
                    if error
                        .server()
                        .is_some_and(|said| DENIED.contains(&said.number)) =>
                {
                    rights.push(*right);
                }
                Err(source) => {
                    return Err(sql::server("asking for the rights on the tables", source));
                }
            }
        }
        if !rights.is_empty() {
            lacking.push((rights.join(", "), name));
        }
    }
    if lacking.is_empty() {
        return Ok(None);
    }
    let role = sql::row(control, "asking for the user", "select current_user()")?;
    // `user@host`; a host may hold no @.
    let role = role.text(0).unwrap_or_default();
    let (user, host) = role.rsplit_once('@').unwrap_or((role, "%"));
    let quote = |text| control.product().quote_literal(text);
    Ok(Some((format!("{}@{}", quote(user), quote(host)), lacking)))
}

/// A column that the transactions read and, where they change the table, write.
fn touched(table: Table) -> &'static str {
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
