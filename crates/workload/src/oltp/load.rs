//! Creates and fills the tables, with keys, indexes and statistics.
//!
//! Each table has its own note. On PostgreSQL, with at least as many tables as jobs, a part is one complete
//! table, so that COPY may freeze its rows; otherwise a part is a range of rows. The note records the number
//! of rows in a part, so that a load with a different number of jobs continues with the same parts.

use super::Oltp;
use super::distribution::RangeSampler;
use super::options::{self, OltpOptions};
use super::rows::RowContent;
use super::statements;
use super::statements::{Index, table_name};
use super::tables::{self, SbtestTable, describe_data};
use crate::copy::RowSource;
use crate::loader::dataset::{Dataset, ExistingTables, IndexBuild, LoadPart};
use crate::loader::load_state::LoadSubject;
use crate::loader::procedure;
use crate::note::{LoadNote, TableStage};
use crate::row_format::RowFormat;
use crate::{LoadReport, LoadRequest, Result, TableFacts, sql};
use prony_document::SqlDialect;
use prony_server::Control;
use std::collections::HashSet;
use std::ops::Range;

/// Maximum tables that a single job loads in one transaction: each takes several of the server's locks.
const ONE_TRANSACTION_TABLES_MAX: u32 = 200;
/// Maximum rows that a single job loads in one transaction, which limits its duration.
const ONE_TRANSACTION_ROWS_MAX: u64 = 20_000_000;
/// Rows of a part that is a range of a table; about 8 MB.
const PART_ROWS: u32 = 40_000;
/// Bytes of a row, including its share of the indexes.
const ROW_BYTES: u64 = 270;

pub fn load(workload: &Oltp, request: &LoadRequest<'_>) -> Result<LoadReport> {
    let options = options::read(request.plan, workload)?;
    let tables = options.tables.unwrap_or(1);
    let size = options.table_size.unwrap_or(workload.default_table_size);
    let rows = workload.loaded_rows(&options);
    let subject = LoadSubject {
        load: workload.load_spec(vec![("scale", tables.to_string())]),
        scale: tables,
        bytes: u64::from(tables) * u64::from(rows) * ROW_BYTES,
    };
    procedure::load(request, &subject, |control| {
        let dialect = control.dialect();
        let description = describe_data(&options, tables, rows, size, request.seed);
        let part_rows = match unfinished_part_rows(control, &description)? {
            Some(part_rows) => part_rows,
            // With at least as many tables as jobs, a part is a whole table.
            None if dialect == SqlDialect::PostgreSql && tables >= request.jobs => rows,
            None => rows.min(PART_ROWS),
        };
        Ok(SbtestTables {
            workload,
            dialect,
            table_count: tables,
            table_rows: rows,
            part_rows,
            jobs: request.jobs,
            content: RowContent {
                seed: request.seed,
                k: RangeSampler::new(options.distribution(), 1, i64::from(size)),
            },
            description,
            options,
        })
    })
}

/// The number of rows in a part of an unfinished load of the described data; `None` if there is no such load.
fn unfinished_part_rows(control: &mut Control, description: &str) -> Result<Option<u32>> {
    let tables = tables::find(control)?;
    let mut notes = tables.iter().filter_map(|table| table.note.as_ref());
    let part_rows = notes.find_map(|note| {
        let part_rows = note.number("part_rows").filter(|_| note.is_unfinished())?;
        let part_rows = u32::try_from(part_rows).ok()?;
        let is_same = note.description == description_in_parts(description, part_rows);
        is_same.then_some(part_rows)
    });
    Ok(part_rows)
}

/// The description in the notes of an unfinished load, which also have the number of rows in a part.
fn description_in_parts(description: &str, part_rows: u32) -> String {
    format!("part_rows {part_rows}, {description}")
}

struct SbtestTables<'a> {
    workload: &'a Oltp,
    options: OltpOptions,
    dialect: SqlDialect,
    table_count: u32,
    table_rows: u32,
    /// Number of rows in a part.
    part_rows: u32,
    jobs: u32,
    content: RowContent,
    /// See [`describe_data`]; identical for identical data.
    description: String,
}

fn table_number(index: usize) -> u32 {
    index as u32 + 1
}

impl SbtestTables<'_> {
    fn primary_key(&self, table: &str) -> IndexBuild {
        let name = format!("{table}_pkey");
        match self.dialect {
            SqlDialect::PostgreSql | SqlDialect::MySql => {
                IndexBuild::primary_key(table, &name, "id")
            }
            SqlDialect::TransactSql => IndexBuild::clustered_key(table, &name, "id"),
        }
    }

    fn note(&self, stage: TableStage) -> String {
        let description = match stage {
            TableStage::Filling | TableStage::Filled => {
                description_in_parts(&self.description, self.part_rows)
            }
            TableStage::Loaded => self.description.clone(),
        };
        LoadNote { description, stage }.text()
    }
}

impl Dataset for SbtestTables<'_> {
    fn find_existing_tables(&self, control: &mut Control) -> Result<ExistingTables> {
        let tables = tables::find(control)?;
        tables::reject_foreign_tables(&tables, self.workload.columns(), self.table_count)?;
        let description = description_in_parts(&self.description, self.part_rows);
        let is_unfinished = |table: &SbtestTable| {
            let is_of_this_load =
                |note: &LoadNote| note.is_unfinished() && note.description == description;
            table.number <= self.table_count && table.note.as_ref().is_some_and(is_of_this_load)
        };
        let own_tables = tables
            .into_iter()
            .filter(|table| table.columns == self.workload.columns());
        let (unfinished, obsolete): (Vec<_>, Vec<_>) = own_tables.partition(is_unfinished);
        let names = |tables: Vec<SbtestTable>| {
            let names = tables.into_iter().map(|table| table.facts.name);
            names.collect()
        };
        Ok(ExistingTables {
            unfinished: names(unfinished),
            obsolete: names(obsolete),
        })
    }

    fn table_count(&self) -> usize {
        self.table_count as usize
    }

    fn name(&self, index: usize) -> String {
        table_name(table_number(index))
    }

    fn columns(&self, _: usize) -> String {
        "id, k, c, pad".to_owned()
    }

    fn create_statement(&self, index: usize, stage: TableStage) -> String {
        let (number, is_bulk) = (table_number(index), self.workload.is_bulk());
        let create = statements::create_table(self.dialect, number, &self.options, is_bulk);
        let note = self.note(stage);
        // On MySQL, the statement includes the note, so that no table ever lacks one; this also saves a
        // statement that waits for the disk. The user's table options rule it out, because they may set a
        // comment, or end in something that no comment can follow.
        if self.dialect == SqlDialect::MySql && self.options.create_table_options.is_empty() {
            return statements::with_comment(&create, &note);
        }
        let mut statements = vec![
            create,
            statements::note_statement(self.dialect, number, &note, &self.options),
        ];
        let sequence_statement =
            statements::sequence_statement(self.dialect, number, &self.options, self.table_rows);
        statements.extend(sequence_statement.filter(|_| !is_bulk));
        self.dialect.join_statements(&statements)
    }

    fn drop_statement(&self, dialect: SqlDialect, names: &[&str]) -> String {
        statements::drop_tables(dialect, names)
    }

    fn finish_statements(&self) -> Vec<String> {
        let note = self.note(TableStage::Loaded);
        let tables = 1..=self.table_count;
        tables
            .map(|number| statements::note_statement(self.dialect, number, &note, &self.options))
            .collect()
    }

    /// Returns the parts. Consecutive parts belong to different tables, so that loaders work on different
    /// tables.
    fn parts(&self) -> Vec<LoadPart> {
        let parts_of_each_table = |part: LoadPart| {
            (0..self.table_count()).map(move |index| LoadPart {
                tables: index..index + 1,
                ..part.clone()
            })
        };
        let (rows, size) = (u64::from(self.table_rows), u64::from(self.part_rows));
        LoadPart::split(&(0..1), rows, size)
            .flat_map(parts_of_each_table)
            .collect()
    }

    fn missing_parts(&self, control: &mut Control, all: &[LoadPart]) -> Result<Vec<LoadPart>> {
        let mut stored = HashSet::new();
        let size = self.part_rows.max(1);
        let parts = self.table_rows.div_ceil(size);
        for index in 0..self.table_count() {
            let select = format!(
                "id - 1 from {} where (id - 1) % {size} = 0",
                self.name(index)
            );
            let select = self.dialect.select_first(parts, &select);
            let rows = sql::query_rows(control, "looking for stored rows", &select)?;
            stored.extend(rows.iter().map(|row| (index, row.count(0))));
        }
        let is_missing =
            |part: &&LoadPart| !stored.contains(&(part.tables.start, part.units.start));
        Ok(all.iter().filter(is_missing).cloned().collect())
    }

    fn rows<F: RowFormat>(&self, index: usize, rows: Range<u64>) -> impl RowSource {
        self.content.rows::<F>(table_number(index), rows)
    }

    fn indexes(&self) -> Vec<IndexBuild> {
        let kinds = statements::indexes(self.dialect, &self.options, self.workload.is_bulk());
        let indexes_of_table = |number| {
            kinds.iter().map(move |kind: &Index| {
                let name = table_name(number);
                match kind {
                    Index::Primary => self.primary_key(&name),
                    Index::Plain => IndexBuild::non_unique(&name, &format!("{name}_xid"), "id"),
                    Index::Secondary => IndexBuild::non_unique(&name, &format!("k_{number}"), "k"),
                }
            })
        };
        (1..=self.table_count).flat_map(indexes_of_table).collect()
    }

    fn fits_one_transaction(&self) -> bool {
        self.table_count <= ONE_TRANSACTION_TABLES_MAX
            && u64::from(self.table_rows) * u64::from(self.table_count) <= ONE_TRANSACTION_ROWS_MAX
    }

    fn parts_are_whole_tables(&self) -> bool {
        self.part_rows >= self.table_rows
    }

    fn loaders_per_table(&self) -> u32 {
        let is_shared = self.table_count < self.jobs && self.options.auto_inc;
        if is_shared { self.jobs } else { 0 }
    }

    fn facts(&self, control: &mut Control) -> Result<Vec<TableFacts>> {
        let mut tables = tables::find(control)?;
        tables.retain(|table| table.number <= self.table_count);
        for table in &mut tables {
            table.facts.rows = u64::from(self.table_rows);
        }
        Ok(tables::facts(tables))
    }
}
