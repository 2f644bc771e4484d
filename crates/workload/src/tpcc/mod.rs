//! The order-entry workload `tpcc`, derived from TPC-C, on HammerDB's tables.
//!
//! In: a scale (warehouses), a control connection. Out: what `Workload` asks for. Must never: call
//! its figure tpmC, or refuse tables that HammerDB made.

mod program;
pub mod random;
pub mod schema;

use crate::{CheckReport, Error, LoadReport, LoadRequest, Loaded, Progress, Workload};
use prony_plan::WorkloadPlan;
use prony_server::Control;
use std::sync::atomic::AtomicBool;

/// The order-entry workload.
pub static TPCC: OrderEntry = OrderEntry;

/// See [`TPCC`].
pub struct OrderEntry;

impl Workload for OrderEntry {
    fn name(&self) -> &'static str {
        "tpcc"
    }

    fn title(&self) -> &'static str {
        "TPC-C-derived order entry: new orders, payments, deliveries, order and stock queries"
    }

    fn statements(&self) -> Vec<String> {
        program::statements()
    }

    fn options(&self) -> &'static [&'static str] {
        program::OPTIONS
    }

    fn load(
        &self,
        _request: &LoadRequest<'_>,
        _progress: &dyn Progress,
        _stop: &AtomicBool,
    ) -> Result<LoadReport, Error> {
        Err(program::not_yet())
    }

    fn check(&self, _control: &mut Control) -> Result<CheckReport, Error> {
        Err(program::not_yet())
    }

    fn clean(&self, _control: &mut Control) -> Result<Vec<String>, Error> {
        Err(program::not_yet())
    }

    fn program(&self, control: &mut Control, plan: &WorkloadPlan) -> Result<Loaded, Error> {
        program::program(control, plan)
    }
}
