//! Creates and fills the table: records, key and statistics.

use super::inserted;
use super::layout::Layout;
use super::table::{NAME, UserTable};
use super::{NAME as WORKLOAD, engine};
use crate::copy::{NumberedRows, RowSource};
use crate::loader::dataset::{self, Dataset, ExistingTables, IndexBuild, LoadPart};
use crate::loader::load_state::LoadSubject;
use crate::loader::procedure;
use crate::note::TableStage;
use crate::row_format::RowFormat;
use crate::{LoadReport, LoadRequest, Result, TableFacts};
use prony_document::SqlDialect;
use prony_server::Control;
use std::ops::Range;

/// Bytes of records per transaction, if a load uses several.
const PART_BYTES: u64 = 8 << 20;
/// Maximum bytes that a single loader stores in one transaction.
const ONE_TRANSACTION_BYTES_MAX: u64 = 2 << 30;

pub fn load(request: &LoadRequest<'_>) -> Result<LoadReport> {
    let layout = Layout::for_plan(request.plan, request.seed)?;
    let subject = LoadSubject {
        load: layout.load_spec(),
        scale: layout.scale(),
        bytes: layout.records * layout.value_bytes(),
    };
    procedure::load(request, &subject, |control| {
        Ok(YcsbDataset {
            layout,
            dialect: control.dialect(),
        })
    })
}

struct YcsbDataset {
    layout: Layout,
    dialect: SqlDialect,
}

impl Dataset for YcsbDataset {
    fn find_existing_tables(&self, control: &mut Control) -> Result<ExistingTables> {
        let is_same_data = |note: &crate::note::LoadNote| *note == self.layout.note(note.stage);
        dataset::find_existing_tables::<UserTable>(control, WORKLOAD, is_same_data)
    }

    fn table_count(&self) -> usize {
        1
    }

    fn label(&self, _: usize) -> &'static str {
        NAME
    }

    fn columns(&self, _: usize) -> String {
        engine::column_list(self.layout.field_count)
    }

    fn create_statement(&self, _: usize, stage: TableStage) -> String {
        let note = self.layout.note(stage).text();
        engine::create_statement(self.dialect, self.layout.field_count, &note)
    }

    fn finish_statements(&self) -> Vec<String> {
        let note = self.layout.note(TableStage::Loaded).text();
        vec![self.dialect.comment_statement(NAME, &note)]
    }

    fn parts(&self) -> Vec<LoadPart> {
        let part_records = (PART_BYTES / self.layout.value_bytes()).max(1);
        LoadPart::split(&(0..1), self.layout.records, part_records).collect()
    }

    fn missing_parts(&self, control: &mut Control, all: &[LoadPart]) -> Result<Vec<LoadPart>> {
        // On PostgreSQL the key does not exist yet, so the query scans the table, but only once.
        let existing = inserted::find_existing(control, all.iter().map(|part| part.units.start))?;
        let missing = all
            .iter()
            .filter(|part| !existing.contains(&part.units.start));
        Ok(missing.cloned().collect())
    }

    fn rows<F: RowFormat>(&self, _: usize, records: Range<u64>) -> impl RowSource {
        let content = self.layout.content();
        NumberedRows::<F, _>::new(records, move |number, out| {
            content.write_record::<F>(number, out)
        })
    }

    fn indexes(&self) -> Vec<IndexBuild> {
        let build = match self.dialect {
            SqlDialect::PostgreSql => IndexBuild::primary_key,
            SqlDialect::MySql => return Vec::new(),
            SqlDialect::TransactSql => IndexBuild::clustered_key,
        };
        vec![build(NAME, "usertable_pkey", "ycsb_key")]
    }

    fn fits_one_transaction(&self) -> bool {
        self.layout.records * self.layout.value_bytes() <= ONE_TRANSACTION_BYTES_MAX
    }

    fn facts(&self, control: &mut Control) -> Result<Vec<TableFacts>> {
        dataset::facts(control, |_: UserTable| self.layout.records)
    }
}
