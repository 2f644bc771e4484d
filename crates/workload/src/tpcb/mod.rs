//! The account workloads: `tpcb`, `simple-update` and `select-only`, on pgbench's tables.
//!
//! They must never create tables that pgbench cannot run on, or reject tables that pgbench created.

mod check;
mod load;
mod program;
mod rows;
mod schema;

use crate::catalog;
use crate::describe::{Contention, Growth, ScaleUnit, TableGrowth, TableRows, TableSpec};
use crate::engines;
use crate::workload::scale_if_loaded;
use crate::{CheckReport, LoadReport, LoadRequest, ReadyWorkload, Result, Workload};
pub(crate) use check::scale_for_run;
use program::{AccountProgram, TpcbVariant};
use prony_document::SqlDialect;
use prony_plan::WorkloadPlan;
use prony_server::Control;
pub use rows::AccountRows;
use schema::ACCOUNTS_PER_BRANCH;
pub use schema::{TELLERS_PER_BRANCH, Table};
use std::sync::Arc;

const fn table(name: &'static str, rows: u64, growth: TableGrowth) -> TableSpec {
    TableSpec {
        name,
        rows: TableRows::PerScale(rows),
        growth,
    }
}

/// The table to which each transaction that writes adds a row.
pub(crate) const HISTORY: &str = "pgbench_history";

/// The size of the data counts as changed once the history has as many rows as there are accounts.
static TABLES: [TableSpec; 4] = [
    table(
        "pgbench_accounts",
        ACCOUNTS_PER_BRANCH,
        TableGrowth::Constant,
    ),
    table("pgbench_branches", 1, TableGrowth::Constant),
    table("pgbench_tellers", TELLERS_PER_BRANCH, TableGrowth::Constant),
    table(HISTORY, 0, TableGrowth::Grows(ACCOUNTS_PER_BRANCH)),
];

/// pgbench's `tpcb-like`: deposits and withdrawals with a history.
pub static TPCB: AccountWorkload = AccountWorkload {
    variant: TpcbVariant::Tpcb,
    name: "tpcb",
    title: "TPC-B-like: update an account, its teller and branch, add to the history (7 statements)",
};

/// pgbench's `simple-update`: `tpcb` without tellers and branches, so that clients do not queue for a
/// branch's row.
pub static SIMPLE_UPDATE: AccountWorkload = AccountWorkload {
    variant: TpcbVariant::SimpleUpdate,
    name: "simple-update",
    title: "TPC-B-like without tellers and branches: update an account, add to the history (5 statements)",
};

/// pgbench's `select-only`: reads one account's balance by its key.
pub static SELECT_ONLY: AccountWorkload = AccountWorkload {
    variant: TpcbVariant::SelectOnly,
    name: "select-only",
    title: "read one account's balance by primary key (1 statement)",
};

/// One of the three workloads; they share the tables.
pub struct AccountWorkload {
    variant: TpcbVariant,
    name: &'static str,
    title: &'static str,
}

impl Workload for AccountWorkload {
    fn name(&self) -> &'static str {
        self.name
    }

    fn title(&self) -> &'static str {
        self.title
    }

    fn dataset(&self) -> &'static str {
        TPCB.name
    }

    fn dialects(&self) -> &'static [SqlDialect] {
        &[SqlDialect::PostgreSql]
    }

    fn scale_unit(&self) -> Option<ScaleUnit> {
        Some(ScaleUnit::new("branch", "branches"))
    }

    fn tables(&self) -> &'static [TableSpec] {
        &TABLES
    }

    fn bytes_per_scale(&self, _dialect: SqlDialect, _plan: &WorkloadPlan) -> Option<u64> {
        // AlloyDB's guides report 14.6 MB at scale 25,000 and 16.7 MB at 50,000.
        Some(15_700_000)
    }

    fn contention(&self, _plan: &WorkloadPlan) -> Option<Contention> {
        if self.variant != TpcbVariant::Tpcb {
            return None;
        }
        Some(Contention {
            clients_per_scale: 1,
            because: "each transaction locks the row of its branch, so waiting for these locks \
                      dominates the results"
                .into(),
        })
    }

    fn growth(&self, _plan: &WorkloadPlan, _scale: u32) -> Growth {
        match self.variant {
            TpcbVariant::Tpcb | TpcbVariant::SimpleUpdate => {
                Growth::Counted(vec![Growth::rows_of(HISTORY, vec![self.name])])
            }
            TpcbVariant::SelectOnly => Growth::ReadOnly,
        }
    }

    fn has_one_commit_per_transaction(&self) -> bool {
        true
    }

    fn statements(&self) -> Vec<String> {
        program::statements(self.variant)
            .iter()
            .map(|sql| (*sql).to_owned())
            .collect()
    }

    fn load(&self, request: &LoadRequest<'_>) -> Result<LoadReport> {
        load::load(self.name, request)
    }

    fn loaded_scale(&self, control: &mut Control) -> Result<Option<u32>> {
        scale_if_loaded(scale_for_run(control, self.name, None))
    }

    fn check(&self, control: &mut Control) -> Result<CheckReport> {
        engines::require_postgres(control)?;
        check::check(control)
    }

    fn clean(&self, control: &mut Control) -> Result<Vec<String>> {
        engines::require_postgres(control)?;
        catalog::drop_existing::<Table>(control)
    }

    fn program(&self, control: &mut Control, plan: &WorkloadPlan) -> Result<ReadyWorkload> {
        let scale = scale_for_run(control, self.name, plan.scale)?;
        let program = AccountProgram::new(self.variant, self.name, scale);
        Ok(ReadyWorkload::new(Arc::new(program), scale))
    }
}
