//! Who owns tables that are about to be dropped.
//!
//! In: their names. Out: what changes the owner of all of them, where PostgreSQL's error names one. Must
//! never: execute these.

use crate::remedy::Remedy;
use crate::{Error, Result, sql};
use prony_document::SqlDialect;
use prony_server::Control;

/// Refuses to drop tables that others own.
pub fn require_ownership(control: &mut Control, names: &[&str]) -> Result<()> {
    if control.dialect() != SqlDialect::PostgreSql || names.is_empty() {
        return Ok(());
    }
    let quoted = |name: &&str| SqlDialect::PostgreSql.quote_literal(name);
    let names: Vec<String> = names.iter().map(quoted).collect();
    // The owner of a schema may drop its tables too.
    let query = format!(
        "select c.oid::regclass, pg_get_userbyid(c.relowner), quote_ident(current_user) \
         from pg_class c join pg_namespace n on n.oid = c.relnamespace \
         where c.relkind in ('r', 'p') and pg_table_is_visible(c.oid) and c.relname in ({}) \
         and not pg_has_role(c.relowner, 'USAGE') and not pg_has_role(n.nspowner, 'USAGE') order by c.oid",
        names.join(", ")
    );
    let rows = sql::query_rows(control, "reading the owners of the tables", &query)?;
    let Some((owner, role)) = rows.first().and_then(|row| row.text(1).zip(row.text(2))) else {
        return Ok(());
    };
    let tables: Vec<&str> = rows.iter().filter_map(|row| row.text(0)).collect();
    Err(Error::Data {
        problem: format!(
            "only the owner, {owner}, may drop {} of the tables",
            tables.len()
        ),
        remedy: Remedy::Advice(format!(
            "connect as {owner}, or as a superuser ALTER TABLE t OWNER TO {role}; for each t of {}",
            listed(&tables)
        )),
    })
}

/// The first texts, and how many more there are.
fn listed(texts: &[&str]) -> String {
    const LISTED_MAX: usize = 10;
    let (first, others) = texts.split_at(texts.len().min(LISTED_MAX));
    let text = first.join(", ");
    match others.len() {
        0 => text,
        count => format!("{text} and {count} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn many_tables_are_counted() {
        assert_eq!(listed(&["a", "b"]), "a, b");
        assert_eq!(
            listed(&["a"; 12]),
            format!("{}a and 2 more", "a, ".repeat(9))
        );
    }
}
