//! Who owns tables that are about to be dropped.
//!
//! In: their names. Out: the statements that change the owner of all of them, where PostgreSQL's error names one. Must
//! never: execute these.

use crate::remedy::Remedy;
use crate::{Error, sql};
use prony_document::SqlDialect;
use prony_server::Control;

/// Refuses to drop tables that others own.
///
/// # Errors
/// This role may not drop a table, or the server did not answer.
pub fn require_ownership(control: &mut Control, names: &[&str]) -> Result<(), Error> {
    if control.dialect() != SqlDialect::PostgreSql || names.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    // The owner of a schema may drop its tables too.
    let query = format!(
        "select c.relname, pg_get_userbyid(c.relowner), format('ALTER TABLE %s OWNER TO %I;', c.oid::regclass, current_user) \
         from pg_class c join pg_namespace n on n.oid = c.relnamespace \
         where c.relkind in ('r', 'p') and pg_table_is_visible(c.oid) and c.relname in ({}) \
         and not pg_has_role(c.relowner, 'USAGE') and not pg_has_role(n.nspowner, 'USAGE') order by c.oid",
        names.join(", ")
    );
    let rows = sql::query_rows(control, "reading the owners of the tables", &query)?;
    let cells = |column| rows.iter().filter_map(move |row| row.text(column));
    let Some(owner) = cells(1).next() else {
        return Ok(());
    };
    let tables: Vec<&str> = cells(0).collect();
    let statements: Vec<&str> = cells(2).collect();
    Err(Error::Data {
        problem: format!(
            "only the owner, {owner}, may drop {}",
            listed(&tables, ", ")
        ),
        remedy: Remedy::Advice(format!(
            "Connect as {owner}, or execute as {owner}: {}",
            listed(&statements, " ")
        )),
    })
}

/// The first texts, and how many more there are.
fn listed(texts: &[&str], separator: &str) -> String {
    const LISTED_MAX: usize = 10;
    let (first, others) = texts.split_at(texts.len().min(LISTED_MAX));
    let text = first.join(separator);
    match others.len() {
        0 => text,
        count => format!("{text}{separator}and {count} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn many_tables_are_counted() {
        assert_eq!(listed(&["a", "b"], ", "), "a, b");
        assert_eq!(
            listed(&["a"; 12], " "),
            format!("{}and 2 more", "a ".repeat(10))
        );
    }
}
