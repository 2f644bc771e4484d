//! Finds the existing tables, their properties, and the note that a load leaves on them; also drops
//! them.
//!
//! Must never touch a foreign table with the same name.
//!
//! The note is the comment on each table: it records the loaded data, and whether the load has finished.
//! Tables that sysbench created have no note; runs use them unchanged.

use super::options::OltpOptions;
use super::statements;
use crate::catalog::{self, RelationNames};
use crate::foreign_table::foreign_table_error;
use crate::note::LoadNote;
use crate::ownership::require_ownership;
use crate::remedy::{LoadOption, LoadSpec, Remedy};
use crate::{Result, TableFacts, sql};
use prony_server::Control;

/// Tables dropped per statement: each takes several of the server's locks.
const TABLES_PER_DROP: usize = 100;

/// An existing table named `sbtest` and a number; the first in the search path.
#[derive(Clone, Debug)]
pub struct SbtestTable {
    /// The number, from 1.
    pub number: u32,
    /// Names of its columns, comma-separated.
    pub columns: String,
    /// Whether it has a primary key on `id`.
    pub has_primary_key: bool,
    /// Whether an index begins with `id`.
    pub has_index_on_id: bool,
    /// Whether an index begins with `k`.
    pub has_index_on_k: bool,
    pub note: Option<LoadNote>,
    pub facts: TableFacts,
}

/// The description that the notes record: `rows` rows were loaded into each of `tables` tables, and `size` is the
/// option `table_size`.
pub fn describe_data(
    options: &OltpOptions,
    tables: u32,
    rows: u32,
    size: u32,
    seed: u64,
) -> String {
    let switch = |on: bool| if on { "on" } else { "off" };
    let mut description = format!(
        "tables {tables}, table_size {size}, rows {rows}, seed {seed}, auto_inc {}, \
         secondary {}, create_secondary {}",
        switch(options.auto_inc),
        switch(options.secondary),
        switch(options.create_secondary),
    );
    for (name, value) in options.distribution_settings() {
        description += &format!(", {name} {value}");
    }
    // On MySQL, a column comment has at most 1,024 characters, and backslashes in it may be escapes.
    let table_options: String = options.create_table_options.chars().take(500).collect();
    description + &format!(", options ({})", table_options.replace('\\', "/"))
}

/// The options of the load that left this note.
pub fn load_options_from_note(note: &LoadNote) -> Vec<LoadOption> {
    let names = [
        ("tables", "scale"),
        ("table_size", "table_size"),
        ("seed", "seed"),
    ];
    let option = |(note_name, option_name)| {
        let number = note.number(note_name).filter(|number| *number > 0)?;
        Some((option_name, number.to_string()))
    };
    names.into_iter().filter_map(option).collect()
}

pub fn find(control: &mut Control) -> Result<Vec<SbtestTable>> {
    const PREFIX: &str = "sbtest";
    let entries = catalog::read_entries(control, &RelationNames::Numbered(PREFIX))?.into_iter();
    let tables = entries.filter(|entry| entry.is_table).filter_map(|entry| {
        let has_index_on = |column| entry.indexed_columns.split(',').any(|name| name == column);
        Some(SbtestTable {
            number: entry.facts.name.strip_prefix(PREFIX)?.parse().ok()?,
            has_primary_key: entry.key == "id",
            has_index_on_id: has_index_on("id"),
            has_index_on_k: has_index_on("k"),
            columns: entry.columns,
            note: entry.note,
            facts: entry.facts,
        })
    });
    Ok(tables.collect())
}

/// Rejects foreign tables, which have different columns, among those numbered up to `last_number`.
pub fn reject_foreign_tables(
    tables: &[SbtestTable],
    columns: &str,
    last_number: u32,
) -> Result<()> {
    let mut tables = tables.iter().filter(|table| table.number <= last_number);
    let Some(foreign) = tables.find(|table| table.columns != columns) else {
        return Ok(());
    };
    let drop_remedy = |data| {
        let options = vec![("scale", foreign.number.to_string())];
        Remedy::Clean(LoadSpec::of(data, options), "drops it")
    };
    let remedy = match foreign.columns.as_str() {
        super::BULK_COLUMNS => Some(drop_remedy("bulk_insert")),
        super::COLUMNS => Some(drop_remedy("oltp_read_write")),
        _ => None,
    };
    let name = &foreign.facts.name;
    Err(foreign_table_error(name, &foreign.columns, columns, remedy))
}

/// Drops the tables with these columns; returns their names.
pub fn drop_all(control: &mut Control, columns: &str) -> Result<Vec<String>> {
    let tables = find(control)?;
    reject_foreign_tables(&tables, columns, u32::MAX)?;
    let names: Vec<&str> = tables
        .iter()
        .map(|table| table.facts.name.as_str())
        .collect();
    let dialect = control.dialect();
    require_ownership(control, &names)?;
    for batch in names.chunks(TABLES_PER_DROP) {
        sql::execute(
            control,
            "dropping the tables",
            &statements::drop_tables(dialect, batch),
        )?;
    }
    Ok(names.into_iter().map(str::to_owned).collect())
}

/// Returns the facts of the tables: one entry per table, or one sum if there are more than ten.
pub fn facts(tables: Vec<SbtestTable>) -> Vec<TableFacts> {
    const LISTED_MAX: usize = 10;
    if tables.len() <= LISTED_MAX {
        return tables.into_iter().map(|table| table.facts).collect();
    }
    let sum = |field: fn(&TableFacts) -> u64| tables.iter().map(|table| field(&table.facts)).sum();
    // The age of all is unknown if that of one table is.
    let oldest = |age: Option<f64>, other: Option<f64>| Some(age?.max(other?));
    let ages = tables.iter().map(|table| table.facts.statistics_age_s);
    let visible_shares = tables
        .iter()
        .filter_map(|table| table.facts.all_visible_share);
    vec![TableFacts {
        name: format!("{} tables sbtest", tables.len()),
        rows: sum(|facts| facts.rows),
        table_bytes: sum(|facts| facts.table_bytes),
        index_bytes: sum(|facts| facts.index_bytes),
        dead_rows: sum(|facts| facts.dead_rows),
        statistics_age_s: ages.reduce(oldest).flatten(),
        all_visible_share: visible_shares.reduce(f64::min),
        sizes_unknown: tables
            .iter()
            .find_map(|table| table.facts.sizes_unknown.clone()),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::note::TableStage;
    use prony_assertions::TextAssertions;

    #[test]
    fn a_note_can_be_parsed_from_the_table_comment() {
        let options = OltpOptions {
            create_table_options: "with (fillfactor = 80, x = 'y; z')".to_owned(),
            ..OltpOptions::default()
        };
        let note = LoadNote {
            description: describe_data(&options, 10, 0, 25_000, 7),
            stage: TableStage::Filled,
        };
        let statement =
            prony_document::SqlDialect::PostgreSql.comment_statement("sbtest3", &note.text());
        let text = statement
            .strip_prefix("comment on table sbtest3 is '")
            .expect("the statement");
        let text = text
            .strip_suffix('\'')
            .expect("the quote")
            .replace("''", "'");
        assert_eq!(LoadNote::parse(&text), Some(note.clone()));
        assert_eq!(note.number("tables"), Some(10));
        assert_eq!(note.number("table_size"), Some(25_000));
        assert_eq!(note.number("rows"), Some(0));
        Remedy::Load(LoadSpec::of("hot-row", load_options_from_note(&note)))
            .to_string()
            .assert_equals("prony load hot-row --scale 10 -o table_size=25000 --seed 7");
    }
}
