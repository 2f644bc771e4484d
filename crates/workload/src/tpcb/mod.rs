//! The account workloads: `tpcb`, `simple-update` and `select-only`, on pgbench's tables.
//!
//! In: a scale, a control connection. Out: what `Workload` asks for. Must never: make tables that
//! pgbench cannot run on, or refuse tables that pgbench made.

mod check;
mod load;
mod program;
mod remains;
mod rows;
mod schema;

use crate::catalog;
use crate::products;
use crate::{CheckReport, Error, LoadReport, LoadRequest, Loaded, Progress, Workload};
pub(crate) use check::scale_for_run;
use program::{Accounts, Kind};
use prony_plan::WorkloadPlan;
use prony_server::Control;
pub use rows::Rows;
pub use schema::{TELLERS_PER_BRANCH, Table};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Deposits and withdrawals with a history, as pgbench's `tpcb-like`.
pub static TPCB: AccountWorkload = AccountWorkload {
    kind: Kind::Tpcb,
    name: "tpcb",
    title: "TPC-B-like: update an account, its teller and branch, add to the history (7 statements)",
};

/// The same without tellers and branches, so that clients do not queue for a branch's row.
pub static SIMPLE_UPDATE: AccountWorkload = AccountWorkload {
    kind: Kind::SimpleUpdate,
    name: "simple-update",
    title: "TPC-B-like without tellers and branches: update an account, add to the history (5 statements)",
};

/// One account's balance by its key.
pub static SELECT_ONLY: AccountWorkload = AccountWorkload {
    kind: Kind::SelectOnly,
    name: "select-only",
    title: "read one account's balance by primary key (1 statement)",
};

/// One of the three; they share the tables.
pub struct AccountWorkload {
    kind: Kind,
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

    fn data(&self) -> &'static str {
        TPCB.name
    }

    fn statements(&self) -> Vec<String> {
        program::statements(self.kind)
            .iter()
            .map(|sql| (*sql).to_owned())
            .collect()
    }

    fn load(
        &self,
        request: &LoadRequest<'_>,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<LoadReport, Error> {
        load::load(request, progress, stop)
    }

    fn check(&self, control: &mut Control) -> Result<CheckReport, Error> {
        products::need_postgres(control)?;
        check::check(control)
    }

    fn clean(&self, control: &mut Control) -> Result<Vec<String>, Error> {
        products::need_postgres(control)?;
        catalog::clean::<Table>(control)
    }

    fn program(&self, control: &mut Control, plan: &WorkloadPlan) -> Result<Loaded, Error> {
        let scale = scale_for_run(control, self.name, plan.scale)?;
        let program = Accounts::new(self.kind, self.name, scale);
        Ok(Loaded {
            program: Arc::new(program),
            scale,
        })
    }
}
