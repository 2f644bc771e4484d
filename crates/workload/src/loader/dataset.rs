//! The loader's view of a workload's data: tables, rows, indexes, and the parts that are already loaded.

use crate::catalog::{self, Tables};
use crate::copy::RowSource;
use crate::note::{LoadNote, TableStage, UNFINISHED_OPTIONS_CHARS};
use crate::remedy::{self, Remedy};
use crate::row_format::{CopyBinary, RowFormat};
use crate::{Error, Result, TableFacts, sql};
use prony_document::SqlDialect;
use prony_server::Control;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// The content of one transaction: a range of units, such as warehouses, in a range of tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadPart {
    /// The tables, as indexes in the data set.
    pub tables: Range<usize>,
    /// Units; the data set knows how many rows a unit has.
    pub units: Range<u64>,
}

impl LoadPart {
    /// Parts of at most `size` units each that cover the units of some tables.
    pub fn split(tables: &Range<usize>, units: u64, size: u64) -> impl Iterator<Item = LoadPart> {
        let tables = tables.clone();
        let size = size.max(1);
        (0..units.div_ceil(size)).map(move |part| LoadPart {
            tables: tables.clone(),
            units: part * size..((part + 1) * size).min(units),
        })
    }
}

/// Returns the parts whose first rows are missing. `query` selects the first unit of each loaded part, and -1
/// if the part that begins with the first table is loaded.
pub fn missing_parts(
    control: &mut Control,
    all: &[LoadPart],
    query: &str,
) -> Result<Vec<LoadPart>> {
    let rows = sql::query_rows(control, "looking for loaded rows", query)?;
    let loaded: HashSet<i64> = rows.iter().filter_map(|row| row.int(0)).collect();
    let is_missing = |part: &&LoadPart| match part.tables.start {
        0 => !loaded.contains(&-1),
        _ => !loaded.contains(&part.units.start.cast_signed()),
    };
    Ok(all.iter().filter(is_missing).cloned().collect())
}

#[derive(Debug, Default)]
pub struct ExistingTables {
    /// Tables of an unfinished load of the same data; the load continues it.
    pub unfinished: Vec<String>,
    /// Other tables; the load replaces them.
    pub obsolete: Vec<String>,
}

/// An index that is built after the rows are loaded.
#[derive(Clone, Debug)]
pub struct IndexBuild {
    pub table: String,
    pub name: String,
    /// The statement that builds it; `None` if `attach` creates it from other indexes.
    pub build: Option<String>,
    /// The statement that turns it into a primary key.
    pub attach: Option<String>,
}

impl IndexBuild {
    /// An index that this statement builds.
    pub fn of_statement(table: &str, name: &str, build: String) -> IndexBuild {
        IndexBuild {
            table: table.to_owned(),
            name: name.to_owned(),
            build: Some(build),
            attach: None,
        }
    }

    pub fn non_unique(table: &str, name: &str, columns: &str) -> IndexBuild {
        let build = format!("create index {name} on {table} ({columns})");
        IndexBuild::of_statement(table, name, build)
    }

    /// A SQL Server primary key, in whose order the rows are stored. It is built after the rows are loaded:
    /// only a table without an index takes rows from several connections with minimal logging.
    pub fn clustered_key(table: &str, name: &str, columns: &str) -> IndexBuild {
        let build =
            format!("alter table {table} add constraint {name} primary key clustered ({columns})");
        IndexBuild::of_statement(table, name, build)
    }

    /// A PostgreSQL primary key: a unique index until it is attached, which takes no time.
    ///
    /// Attaching is separate from building the index, because `add primary key (...)` would block every reader, such as a
    /// check, and every other index build of the same table until the index is complete.
    pub fn primary_key(table: &str, name: &str, columns: &str) -> IndexBuild {
        let build = format!("create unique index {name} on {table} ({columns})");
        IndexBuild {
            attach: Some(format!(
                "alter table {table} add constraint {name} primary key using index {name}"
            )),
            ..IndexBuild::of_statement(table, name, build)
        }
    }
}

/// The names of tables in the order of their indexes, of which the slowest comes first; tables without an index come
/// last. If several sessions share the work, none should begin the largest table when the others are about to end.
pub fn slowest_first(mut names: Vec<String>, indexes: &[IndexBuild]) -> Vec<String> {
    let mut positions = HashMap::new();
    for (position, index) in indexes.iter().enumerate() {
        positions.entry(index.table.as_str()).or_insert(position);
    }
    names.sort_by_key(|name| positions.get(name.as_str()).copied().unwrap_or(usize::MAX));
    names
}

pub trait Dataset: Sync {
    const COPY_OPTIONS: &'static str = CopyBinary::OPTION;

    /// Finds the existing tables.
    ///
    /// # Errors
    /// A table is not the workload's, or belongs to a load that must not be replaced.
    fn find_existing_tables(&self, control: &mut Control) -> Result<ExistingTables>;

    /// Number of tables; they are created in the order of their indexes.
    fn table_count(&self) -> usize;

    fn name(&self, table: usize) -> String {
        self.label(table).to_owned()
    }

    /// The names of all tables, by [`slowest_first`].
    fn names_slowest_first(&self) -> Vec<String> {
        let names = (0..self.table_count()).map(|table| self.name(table));
        slowest_first(names.collect(), &self.indexes())
    }

    /// The name of a table for progress displays; empty if there are many tables.
    fn label(&self, _table: usize) -> &'static str {
        ""
    }

    /// The columns of a table, in the syntax of an `INSERT`.
    fn columns(&self, table: usize) -> String;

    /// The statement that creates a table, including the load's note if the table carries it. If several
    /// tables share a note, the last one carries it.
    fn create_statement(&self, table: usize, stage: TableStage) -> String;

    /// The statement that drops tables and the objects that belong to them, such as sequences.
    fn drop_statement(&self, dialect: SqlDialect, names: &[&str]) -> String {
        catalog::drop_statement(dialect, names)
    }

    fn finish_statements(&self) -> Vec<String>;

    /// All parts; the same data always has the same parts.
    fn parts(&self) -> Vec<LoadPart>;

    /// Returns the parts of `all` that are not stored yet. A part is one transaction, so its first row proves
    /// that the whole part is stored.
    fn missing_parts(&self, control: &mut Control, all: &[LoadPart]) -> Result<Vec<LoadPart>>;

    /// The number of rows of these parts; of a data set in which a row is a unit.
    fn row_count(&self, parts: &[LoadPart]) -> u64 {
        let units = parts.iter().map(|part| part.units.end - part.units.start);
        units.sum()
    }

    fn rows<F: RowFormat>(&self, table: usize, units: Range<u64>) -> impl RowSource;

    /// The indexes to build, the slowest first.
    fn indexes(&self) -> Vec<IndexBuild>;

    /// Whether the data is small enough to load in one transaction, if there is one loader and the server
    /// supports that.
    fn fits_one_transaction(&self) -> bool;

    fn may_freeze(&self, _table: usize) -> bool {
        true
    }

    /// Whether each part contains all rows of its table. On PostgreSQL, COPY then freezes the rows.
    fn parts_are_whole_tables(&self) -> bool {
        false
    }

    /// Number of loaders that fill one table; the argument `loaders` of
    /// [`BulkStatement::choose`](super::mysql::BulkStatement::choose).
    fn loaders_per_table(&self) -> u32 {
        0
    }

    /// Runs after everything is loaded; returns a text for the report.
    fn after_load(&self, _control: &mut Control) -> Result<String> {
        Ok(String::new())
    }

    /// The loaded tables, with exact row counts.
    fn facts(&self, control: &mut Control) -> Result<Vec<TableFacts>>;
}

/// The facts of the existing tables, with these exact numbers of rows.
pub fn facts<T: Tables>(control: &mut Control, rows: impl Fn(T) -> u64) -> Result<Vec<TableFacts>> {
    let tables = catalog::find::<T>(control)?.into_iter();
    let facts = tables.map(|existing| TableFacts {
        rows: rows(existing.table),
        ..existing.facts
    });
    Ok(facts.collect())
}

/// Finds the existing tables of a data set in which one note covers all tables. `is_same_data` recognises
/// the note of the same data.
///
/// # Errors
/// A table is foreign, or a table of an unfinished load was dropped.
pub fn find_existing_tables<T: Tables>(
    control: &mut Control,
    data: &'static str,
    is_same_data: impl Fn(&LoadNote) -> bool,
) -> Result<ExistingTables> {
    let tables = catalog::find::<T>(control)?;
    catalog::reject_foreign_tables(&tables)?;
    let mut notes = tables.iter().filter_map(|table| table.note.as_ref());
    let note = notes.find(|note| note.is_unfinished() && is_same_data(note));
    let names = tables
        .iter()
        .map(|table| table.facts.name.clone())
        .collect();
    let Some(note) = note else {
        return Ok(ExistingTables {
            obsolete: names,
            ..ExistingTables::default()
        });
    };
    let mut expected_tables = T::ALL.iter();
    if let Some(table) =
        expected_tables.find(|expected| tables.iter().all(|table| table.table != **expected))
    {
        return Err(Error::Data {
            problem: format!(
                "{}, and table {} was dropped since",
                note.unfinished_message(UNFINISHED_OPTIONS_CHARS),
                table.name()
            ),
            remedy: Remedy::Clean(
                remedy::LoadSpec::of(data, Vec::new()),
                "drops the others; then load again",
            ),
        });
    }
    Ok(ExistingTables {
        unfinished: names,
        ..ExistingTables::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_come_in_the_order_of_their_slowest_index() {
        let index = |table: &str| IndexBuild::non_unique(table, &format!("{table}_key"), "id");
        let indexes = [
            index("order_line"),
            index("stock"),
            index("order_line"),
            index("item"),
        ];
        let names = ["item", "history", "stock", "order_line", "log"].map(str::to_owned);
        let expected = ["order_line", "stock", "item", "history", "log"];
        assert_eq!(slowest_first(names.to_vec(), &indexes), expected);
    }
}
