//! Creates and fills the tables.
//!
//! The result is the same as after `pgbench -i`: tables, keys, all pages all-visible, statistics. Until
//! the load has finished, the history also has a note.
//!
//! One job loads everything in one transaction at any scale. Several jobs load unfrozen rows, which VACUUM
//! processes afterwards. On two cores one job is faster (measured at scale 50: COPY takes 2.9 s instead of
//! 2.6 s, but VACUUM 0.2 s instead of 1.0 s), so it is the default; with more idle cores, several jobs are
//! faster.

use super::check::load_spec;
use super::rows::AccountRows;
use super::schema::{ACCOUNTS_PER_BRANCH, MAX_SCALE, Table};
use crate::catalog::Tables;
use crate::copy::RowSource;
use crate::engines::require_postgres;
use crate::loader::check_scale;
use crate::loader::dataset::{self, Dataset, ExistingTables, IndexBuild, LoadPart};
use crate::loader::load_state::LoadSubject;
use crate::loader::procedure;
use crate::note::{LoadNote, TableStage};
use crate::row_format::RowFormat;
use crate::{LoadReport, LoadRequest, Result, TableFacts};
use prony_document::SqlDialect;
use prony_server::Control;
use std::ops::Range;

/// Branches per part of the accounts; about 11 MB.
const PART_BRANCHES: u64 = 8;

pub fn load(workload: &'static str, request: &LoadRequest<'_>) -> Result<LoadReport> {
    let scale = request.plan.scale.unwrap_or(1);
    let steps = "; each step is 100,000 accounts, about 16 MB with their key";
    check_scale(scale, MAX_SCALE, steps)?;
    let subject = LoadSubject {
        load: load_spec(workload, scale.to_string()),
        scale,
        // Measured at scale 50: 671 MB of heap, 112 MB of keys, 644 MB of write-ahead log.
        bytes: u64::from(scale) * 16_000_000,
    };
    procedure::load(request, &subject, |control| {
        require_postgres(control)?;
        Ok(TpcbDataset { branches: scale })
    })
}

struct TpcbDataset {
    /// Number of branches: the scale.
    branches: u32,
}

impl TpcbDataset {
    fn note(&self, stage: TableStage) -> LoadNote {
        LoadNote {
            description: format!("branches {}", self.branches),
            stage,
        }
    }
}

impl Dataset for TpcbDataset {
    const COPY_OPTIONS: &'static str = "";

    fn find_existing_tables(&self, control: &mut Control) -> Result<ExistingTables> {
        dataset::find_existing_tables::<Table>(control, "tpcb", |note| {
            *note == self.note(note.stage)
        })
    }

    fn table_count(&self) -> usize {
        Table::ALL.len()
    }

    fn label(&self, table: usize) -> &'static str {
        Table::ALL[table].name()
    }

    fn columns(&self, table: usize) -> String {
        Table::ALL[table].columns(SqlDialect::PostgreSql).join(", ")
    }

    fn create_statement(&self, table: usize, stage: TableStage) -> String {
        let table = Table::ALL[table];
        let create = table.create(self.branches);
        match (table, stage) {
            (Table::History, TableStage::Filling | TableStage::Filled) => {
                let note = self.note(stage).text();
                format!(
                    "{create}; {}",
                    SqlDialect::PostgreSql.comment_statement(table.name(), &note)
                )
            }
            _ => create,
        }
    }

    /// Removes the note, because pgbench leaves no comment.
    fn finish_statements(&self) -> Vec<String> {
        vec![format!(
            "comment on table {} is null",
            Table::History.name()
        )]
    }

    fn parts(&self) -> Vec<LoadPart> {
        let branches = u64::from(self.branches);
        let branches_and_tellers = LoadPart::split(&(0..2), branches, branches);
        branches_and_tellers
            .chain(LoadPart::split(&(2..3), branches, PART_BRANCHES))
            .collect()
    }

    fn missing_parts(&self, control: &mut Control, all: &[LoadPart]) -> Result<Vec<LoadPart>> {
        let query = format!(
            "select -1 where exists (select from pgbench_branches) union all \
             select (aid - 1) / {ACCOUNTS_PER_BRANCH} from pgbench_accounts \
             where (aid - 1) % {} = 0",
            PART_BRANCHES * ACCOUNTS_PER_BRANCH
        );
        dataset::missing_parts(control, all, &query)
    }

    fn row_count(&self, parts: &[LoadPart]) -> u64 {
        let rows = parts.iter().map(|part| {
            let branches = part.units.end - part.units.start;
            let tables = part.tables.clone().map(|table| Table::ALL[table].rows(1));
            branches * tables.sum::<u64>()
        });
        rows.sum()
    }

    fn rows<F: RowFormat>(&self, table: usize, branches: Range<u64>) -> impl RowSource {
        let table = Table::ALL[table];
        let rows = table.rows(1);
        AccountRows::new(table, branches.start * rows, branches.end * rows)
    }

    fn indexes(&self) -> Vec<IndexBuild> {
        let key = |table: &Table| {
            let (name, key) = (table.name(), table.key(SqlDialect::PostgreSql).first()?);
            Some(IndexBuild::primary_key(name, &format!("{name}_pkey"), key))
        };
        Table::ALL.iter().filter_map(key).collect()
    }

    fn fits_one_transaction(&self) -> bool {
        true
    }

    fn facts(&self, control: &mut Control) -> Result<Vec<TableFacts>> {
        dataset::facts(control, |table: Table| table.rows(self.branches))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_contain_all_branches() {
        let data = TpcbDataset { branches: 17 };
        let parts = data.parts();
        assert_eq!(parts.len(), 1 + 3);
        assert_eq!(parts.last().map(|part| part.units.clone()), Some(16..17));
        assert_eq!(data.row_count(&parts), 17 * 100_011);
    }
}
