//! Whether the role of a run may do what the transactions do.
//!
//! In: a control connection, tables that are there. Out: nothing, or what is missing. Must never:
//! change a right.

use super::schema::Table;
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
        return Ok(());
    };
    let lacks = |table: &Table| {
        let rights = rows.iter().filter(|row| row.text(0) == Some(table.name()));
        let rights: Vec<&str> = rights.filter_map(|row| row.text(1)).collect();
        (!rights.is_empty()).then(|| (rights.join(", "), table.name()))
    };
    let lacking: Vec<(String, &str)> = Table::ALL.iter().filter_map(lacks).collect();
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
