//! YCSB: the core workloads A to F of the Yahoo! Cloud Serving Benchmark, on its table.
//!
//! Clients must request only records that the load, or a client with the same number, has stored.
//!
//! The workloads are those of B. Cooper et al., "Benchmarking Cloud Serving Systems with YCSB", SoCC 2010,
//! and of the public core workloads of YCSB 0.17; no code of YCSB is used. Differences from YCSB are
//! documented where they occur: in `keys` (numbers of inserted records) and in `requests` (choice of
//! records).

mod check;
mod counts;
mod engine;
mod inserted;
mod keys;
mod layout;
mod load;
mod mix;
mod options;
mod program;
mod readiness;
mod requests;
mod rows;
mod table;

#[cfg(test)]
mod tests;

use crate::describe::{Growth, OptionSpec, ScaleUnit, TableGrowth, TableRows, TableSpec};
use crate::workload::scale_if_loaded;
use crate::{
    CheckReport, Error, LoadReport, LoadRequest, ReadyWorkload, Result, Workload, catalog,
};
use layout::{Layout, RECORDS_PER_SCALE};
use mix::Operation;
use options::YcsbOptions;
use prony_document::SqlDialect;
use prony_plan::{QueryMode, WorkloadPlan};
use prony_server::Control;
use std::sync::Arc;
use table::UserTable;

const NAME: &str = "ycsb";

/// The size of the data counts as changed once runs have inserted as many records as the load.
static TABLES: [TableSpec; 1] = [TableSpec {
    name: table::NAME,
    rows: TableRows::PerScale(RECORDS_PER_SCALE),
    growth: TableGrowth::Grows(RECORDS_PER_SCALE),
}];

/// The workloads A to F, chosen by the option `workload`.
pub static YCSB: Ycsb = Ycsb;

/// The type of [`YCSB`].
#[derive(Clone, Copy, Debug)]
pub struct Ycsb;

impl Workload for Ycsb {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "YCSB's core workloads A to F: reads, updates, inserts and scans of records by key (-o workload=a)"
    }

    fn statements(&self) -> Vec<String> {
        let options = YcsbOptions::default();
        program::statements(&options, options.field_count(), SqlDialect::PostgreSql)
    }

    fn options(&self) -> &'static [OptionSpec] {
        options::OPTIONS
    }

    fn scale_unit(&self) -> Option<ScaleUnit> {
        Some(ScaleUnit::new("thousand records", "thousands of records"))
    }

    fn tables(&self) -> &'static [TableSpec] {
        &TABLES
    }

    fn bytes_per_scale(&self, dialect: SqlDialect, plan: &WorkloadPlan) -> Option<u64> {
        let layout = Layout::for_plan(plan, 0).ok()?;
        Some(RECORDS_PER_SCALE * engine::record_bytes(dialect, &layout))
    }

    fn growth(&self, plan: &WorkloadPlan, _scale: u32) -> Growth {
        let has = |operation| options::read(plan).is_ok_and(|options| options.mix().has(operation));
        if has(Operation::Insert) {
            let kinds = vec![Operation::Insert.name()];
            return Growth::Counted(vec![Growth::rows_of(table::NAME, kinds)]);
        }
        if has(Operation::Update) || has(Operation::ReadModifyWrite) {
            Growth::Uncounted("it updates records and adds none")
        } else {
            Growth::ReadOnly
        }
    }

    fn check_options(&self, plan: &WorkloadPlan, _protocol: QueryMode) -> Vec<Error> {
        options::read(plan).err().unwrap_or_default()
    }

    fn load(&self, request: &LoadRequest<'_>) -> Result<LoadReport> {
        load::load(request)
    }

    fn loaded_scale(&self, control: &mut Control) -> Result<Option<u32>> {
        let plan = WorkloadPlan::default();
        let layout = readiness::loaded_layout(control, &plan, &options::read(&plan)?);
        scale_if_loaded(layout.map(|layout| layout.scale()))
    }

    fn check(&self, control: &mut Control) -> Result<CheckReport> {
        crate::engines::require_engine(control, self.dialects())?;
        check::check(control)
    }

    fn clean(&self, control: &mut Control) -> Result<Vec<String>> {
        crate::engines::require_engine(control, self.dialects())?;
        catalog::drop_existing::<UserTable>(control)
    }

    fn program(&self, control: &mut Control, plan: &WorkloadPlan) -> Result<ReadyWorkload> {
        crate::engines::require_engine(control, self.dialects())?;
        let options = options::read(plan)?;
        let layout = readiness::loaded_layout(control, plan, &options)?;
        let program = program::YcsbProgram::new(options, layout, control.dialect());
        Ok(ReadyWorkload::new(Arc::new(program), layout.scale()))
    }
}
