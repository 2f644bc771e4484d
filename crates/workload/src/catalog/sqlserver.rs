//! Reads SQL Server's catalog of the connection's default schema.
//!
//! Must never need more rights than those on the tables: of sizes that the server does not show, the reason is returned.

use super::{CatalogEntry, READING_CATALOG, RelationNames, build_entries};
use crate::sql;
use crate::{Error, Result};
use prony_document::{COMMENT_PROPERTY, SqlDialect};
use prony_server::Control;

/// Whether an index is the key of its table: the primary key; without one, the unique clustered index, which
/// HammerDB creates instead; without that, the first unique index, because Babelfish clusters no table.
const IS_KEY: &str = "i.index_id = (select top (1) u.index_id from sys.indexes u \
     where u.object_id = i.object_id and u.is_unique = 1 order by u.is_primary_key desc, u.type, u.index_id)";

/// The query for all indexes: table, name, and `t` for a primary key.
pub const INDEX_QUERY: &str = "\
select o.name, i.name, case i.is_primary_key when 1 then 't' end \
from sys.indexes i join sys.objects o on o.object_id = i.object_id \
where o.schema_id = schema_id() and i.name is not null and i.is_disabled = 0";

/// Returns the existing relations with these names; see [`super::read_entries`].
pub fn read(control: &mut Control, names: &RelationNames<'_>) -> Result<Vec<CatalogEntry>> {
    debug_assert_eq!(control.dialect(), SqlDialect::TransactSql);
    let predicate = name_predicate(names);
    let mut read_rows = |select: &str, order: &str| {
        let select =
            format!("{select} where o.schema_id = schema_id() and o.name {predicate}{order}");
        sql::query_rows(control, READING_CATALOG, &select)
    };
    let tables = read_rows(
        &format!(
            "select o.name, case o.type when 'U' then 'BASE TABLE' end, \
             (select sum(p.rows) from sys.partitions p \
               where p.object_id = o.object_id and p.index_id in (0, 1)), 0, 0, \
             (select cast(e.value as nvarchar(4000)) from sys.extended_properties e \
               where e.class = 1 and e.major_id = o.object_id and e.minor_id = 0 \
               and e.name = '{COMMENT_PROPERTY}') \
             from sys.objects o"
        ),
        " and o.type in ('U', 'V')",
    )?;
    let columns = read_rows(
        "select o.name, c.name, null from sys.objects o \
         join sys.columns c on c.object_id = o.object_id",
        " order by c.column_id",
    )?;
    let indexes = read_rows(
        &format!(
            "select o.name, c.name, case when {IS_KEY} then 'PRIMARY' else i.name end, \
             k.key_ordinal from sys.objects o \
             join sys.indexes i on i.object_id = o.object_id \
             join sys.index_columns k on k.object_id = i.object_id and k.index_id = i.index_id \
             join sys.columns c on c.object_id = k.object_id and c.column_id = k.column_id"
        ),
        " and i.is_disabled = 0 and k.key_ordinal > 0 order by k.key_ordinal",
    )?;
    let mut entries = build_entries(names, &tables, &columns, &indexes);
    if let RelationNames::Numbered(prefix) = names {
        entries.retain(|entry| is_numbered(&entry.facts.name, prefix));
    }
    add_sizes(control, &mut entries)?;
    Ok(entries)
}

/// The condition on a name. For numbered names it also accepts other names, because a pattern of T-SQL cannot
/// repeat a digit; the caller removes them.
fn name_predicate(names: &RelationNames<'_>) -> String {
    match names {
        RelationNames::Listed(names) => format!("in ('{}')", names.join("', '")),
        RelationNames::Numbered(prefix) => format!("like '{prefix}%'"),
    }
}

/// Whether a name is the prefix and a number from 1 to 99,999.
fn is_numbered(name: &str, prefix: &str) -> bool {
    let digits = name.strip_prefix(prefix).unwrap_or_default();
    let has_only_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    (1..=5).contains(&digits.len()) && has_only_digits && !digits.starts_with('0')
}

/// Adds the sizes of tables and indexes, or the reason why the server does not show them.
fn add_sizes(control: &mut Control, entries: &mut [CatalogEntry]) -> Result<()> {
    // The inner query is only compiled if the view exists, because an error would end the transaction of a
    // check.
    let select = "\
        if object_id('sys.allocation_units') is not null exec sp_executesql N'\
        select o.name, sum(case when p.index_id in (0, 1) then a.total_pages else 0 end) * 8192, \
         sum(case when p.index_id in (0, 1) then 0 else a.total_pages end) * 8192 \
        from sys.objects o join sys.partitions p on p.object_id = o.object_id \
        join sys.allocation_units a on a.container_id = p.partition_id \
        where o.schema_id = schema_id() and o.type = ''U'' group by o.name'";
    let (sizes, reason) = match sql::query_rows(control, READING_CATALOG, select) {
        Ok(sizes) => (sizes, "sys.allocation_units does not show them".to_owned()),
        Err(Error::Server { source, .. }) if !source.is_lost() => {
            let text = source.to_string();
            (
                Vec::new(),
                text.split_whitespace().collect::<Vec<_>>().join(" "),
            )
        }
        Err(error) => return Err(error),
    };
    for entry in entries.iter_mut().filter(|entry| entry.is_table) {
        let name = Some(entry.facts.name.as_str());
        match sizes.iter().find(|row| row.text(0) == name) {
            Some(row) => {
                (entry.facts.table_bytes, entry.facts.index_bytes) = (row.count(1), row.count(2));
            }
            None => entry.facts.sizes_unknown = Some(reason.clone()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use prony_server::Environment;
    use prony_tds_server::{Column, Config, Datum, Listener, Outcome, Type};

    /// A row of texts; an empty text is NULL.
    fn row(cells: &[&'static str]) -> Vec<Outcome> {
        let columns = cells.iter().map(|_| Column::new("c", Type::VarChar(99)));
        let values = cells.iter().map(|cell| match *cell {
            "" => Datum::Null,
            text => Datum::Bytes(text.as_bytes().to_vec()),
        });
        vec![Outcome::Rows(columns.collect(), vec![values.collect()])]
    }

    #[test]
    fn sizes_that_the_server_refuses_are_not_zero_but_have_a_reason() {
        for is_refused in [true, false] {
            let config = Config::new(move |sql, _| match sql {
                _ if sql.contains("BASE TABLE") => row(&["t", "BASE TABLE", "7", "0", "0", ""]),
                _ if sql.contains("allocation_units") && is_refused => vec![Outcome::Error(
                    229,
                    5,
                    14,
                    "The SELECT permission was denied".to_owned(),
                )],
                _ if sql.contains("allocation_units") => row(&["t", "8192", "16384"]),
                _ => row(&["t", "c", "", "1"]),
            });
            let port = Listener::start(config).address().port();
            let url = format!("sqlserver://sa:Sesame1@127.0.0.1:{port}?encrypt=disable");
            let target = prony_server::resolve(&url, &Environment::without_home("tester"));
            let mut control = Control::connect(&target.expect("a good URL")).expect("connects");
            let entries = read(&mut control, &RelationNames::Listed(vec!["t"])).expect("entries");
            let facts = &entries[0].facts;
            let sizes = (facts.table_bytes, facts.index_bytes);
            if is_refused {
                let reason = facts.sizes_unknown.as_deref().expect("a reason");
                reason.assert_contains("permission was denied");
            } else {
                assert_eq!((sizes, &facts.sizes_unknown), ((8192, 16384), &None))
            }
        }
    }

    #[test]
    fn numbered_names_have_no_leading_zero_and_at_most_five_digits() {
        for (name, expected) in [
            ("sbtest1", true),
            ("sbtest99999", true),
            ("sbtest", false),
            ("sbtest01", false),
            ("sbtest100000", false),
            ("sbtest1_old", false),
            ("other1", false),
        ] {
            assert_eq!(is_numbered(name, "sbtest"), expected, "{name}");
        }
    }
}
