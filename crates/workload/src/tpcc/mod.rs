//! The order-entry workload `tpcc`, derived from TPC-C, on HammerDB's tables.
//!
//! In: a scale (warehouses), a control connection. Out: what `Workload` asks for. Must never: give
//! its figure the name of the specification's, or refuse tables that HammerDB made.

mod check;
mod conditions;
mod customers;
pub mod deck;
mod delivery;
mod indexes;
pub mod input;
pub mod layout;
mod load;
mod new_order;
pub mod observed;
pub mod options;
mod order_status;
mod pacing;
mod payment;
mod procedures;
pub mod profile;
mod program;
pub mod random;
mod ready;
mod record;
mod rights;
pub mod rows;
pub mod schema;
pub mod schema_mysql;
mod shares;
mod stock_level;
mod texts;
pub mod way;

#[cfg(test)]
mod tests;

use crate::{
    CheckReport, Counted, Error, LoadReport, LoadRequest, Loaded, Most, Progress, RateOf, Workload,
    catalog, sql,
};
use input::Kind;
pub use program::OrderEntryProgram;
use prony_plan::{QueryMode, WorkloadPlan};
use prony_server::Control;
use schema::Table;
use std::sync::atomic::AtomicBool;

static RATES: [RateOf; 2] = [
    RateOf {
        name: "NOPM",
        title: "new orders committed a minute",
        counted: Counted::Kind(Kind::NAMES[Kind::NewOrder as usize]),
        // With keying and think times a warehouse gives no more (clause 4.1, note 3), but by chance.
        most_per_scale: Some(Most {
            value: 12.86,
            above: "unpaced",
            unless: "pacing spec",
        }),
    },
    RateOf {
        name: "TPM",
        title: "transactions a minute by the server's own count: commits and rollbacks of all its \
                databases",
        counted: Counted::Server,
        most_per_scale: None,
    },
];

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
        options::KEYS
    }

    fn rates(&self) -> &'static [RateOf] {
        &RATES
    }

    fn check_options(&self, plan: &WorkloadPlan, protocol: QueryMode) -> Vec<Error> {
        options::problems(plan, protocol)
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
        check::check(control)
    }

    fn clean(&self, control: &mut Control) -> Result<Vec<String>, Error> {
        let cleaned = catalog::clean::<Table>(control)?;
        procedures::remove(control)?;
        sql::run(control, "dropping the note of a load", &record::remove())?;
        Ok(cleaned)
    }

    fn program(&self, control: &mut Control, plan: &WorkloadPlan) -> Result<Loaded, Error> {
        program::program(control, plan)
    }
}
