//! The order-entry workload `tpcc`, derived from TPC-C, on HammerDB's tables.
//!
//! It must never call its metric tpmC, or reject tables that HammerDB created. Numbers in brackets, such as
//! `[2.4.1]`, are clauses of TPC-C, revision 5.11.

mod check;
mod conditions;
pub mod counts;
mod customers;
pub mod deck;
mod engine;
pub mod execution;
mod indexes;
pub mod input;
pub mod layout;
mod load;
mod mysql;
pub mod options;
mod pacing;
mod parameters;
mod population_remark;
mod postgres;
mod privileges;
pub mod profile;
mod program;
pub mod random;
mod readiness;
mod routines;
pub mod rows;
pub mod schema;
mod sequences;
mod shares;
pub(crate) mod sqlserver;
mod statements;
pub(crate) mod template;
mod texts;
mod transactions;
mod unfinished_load;

#[cfg(test)]
mod tests;

use crate::describe::{
    Contention, CountedGrowth, Growth, GrowthCounter, MinimumDuration, OptionSpec, ScaleUnit,
    TableGrowth::{self, Constant, Grows, Varies},
    TableRows::{self, Fixed, PerScale},
    TableSpec,
};
use crate::workload::scale_if_loaded;
use crate::{
    CheckReport, Error, LoadReport, LoadRequest, MetricSource, RateCeiling, RateMetric,
    ReadyWorkload, Result, Workload, catalog,
};
use input::TpccTransaction;
pub use program::OrderEntryProgram;
use prony_document::SqlDialect;
use prony_plan::{QueryMode, WorkloadPlan};
use prony_server::Control;
use schema::Table;
pub use sequences::next_order_number_sum;

static RATE_METRICS: [RateMetric; 3] = [
    RateMetric {
        name: "NOPM",
        title: "new orders committed per minute",
        sql_server_title: None,
        source: MetricSource::TransactionKind(TpccTransaction::NewOrder.name()),
        // With keying and think times, a warehouse cannot yield more [4.1, note 3], except by
        // chance.
        ceiling_per_scale: Some(RateCeiling {
            value: 12.86,
            label_above: "unpaced",
            enforcing_setting: ("pacing", "spec"),
        }),
    },
    RateMetric {
        name: "TPM",
        title: "transactions per minute by the server's own count: commits and rollbacks of all its \
                databases",
        sql_server_title: Some(
            "batch requests of all sessions per minute by the server's own count, which HammerDB calls \
             transactions",
        ),
        source: MetricSource::ServerCounters,
        ceiling_per_scale: None,
    },
    RateMetric {
        name: "TPM by transactions",
        title: "only on SQL Server: transactions begun per minute in all its databases by the server's own \
                count, whose TPM are batch requests",
        sql_server_title: Some(
            "transactions begun per minute in all databases by the server's own count (Transactions/sec)",
        ),
        source: MetricSource::TransactionsBegun,
        ceiling_per_scale: None,
    },
];

/// Terminals per warehouse [4.2.2].
const TERMINALS_PER_WAREHOUSE: u32 = 10;

const fn table(name: &'static str, rows: TableRows, growth: TableGrowth) -> TableSpec {
    TableSpec { name, rows, growth }
}

/// Row counts after a load [1.2.1]. The size of the data counts as changed once a growing table has doubled.
static TABLES: [TableSpec; 9] = [
    table("warehouse", PerScale(1), Constant),
    table("district", PerScale(10), Constant),
    table("customer", PerScale(30_000), Constant),
    table("history", PerScale(30_000), Grows(30_000)),
    table("new_order", PerScale(9_000), Varies),
    table("orders", PerScale(30_000), Grows(30_000)),
    table("order_line", PerScale(300_000), Varies),
    table("stock", PerScale(100_000), Constant),
    table("item", Fixed(100_000), Constant),
];

/// Size of a loaded warehouse with its indexes.
fn warehouse_bytes(dialect: SqlDialect) -> u64 {
    match dialect {
        SqlDialect::PostgreSql => 102_000_000,
        SqlDialect::MySql => 88_000_000,
        // Its pages hold the same rows as PostgreSQL's.
        SqlDialect::TransactSql => 102_000_000,
    }
}

pub fn has_unfinished_load(control: &mut Control) -> Result<bool> {
    Ok(unfinished_load::find(control)?.is_some())
}

/// Whether users have keying and think times.
fn is_paced(plan: &WorkloadPlan) -> bool {
    options::read(plan).is_ok_and(|options| options.paced)
}

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

    fn options(&self) -> &'static [OptionSpec] {
        options::OPTIONS
    }

    fn scale_unit(&self) -> Option<ScaleUnit> {
        Some(ScaleUnit::new("warehouse", "warehouses"))
    }

    fn tables(&self) -> &'static [TableSpec] {
        &TABLES
    }

    fn bytes_per_scale(&self, dialect: SqlDialect, _plan: &WorkloadPlan) -> Option<u64> {
        Some(warehouse_bytes(dialect))
    }

    fn contention(&self, plan: &WorkloadPlan) -> Option<Contention> {
        // Each payment updates its warehouse. Users with think times rarely wait for each other.
        Some(if is_paced(plan) {
            Contention {
                clients_per_scale: TERMINALS_PER_WAREHOUSE,
                because:
                    "each payment locks the row of its warehouse, and the specification has ten \
                          terminals per warehouse"
                        .into(),
            }
        } else {
            Contention {
                clients_per_scale: 1,
                because: "each payment locks the row of its warehouse, so waiting for these locks \
                          dominates the results"
                    .into(),
            }
        })
    }

    fn growth(&self, _plan: &WorkloadPlan, _scale: u32) -> Growth {
        // Each new order takes the next number of its district; counting the orders would read a large table.
        let orders = CountedGrowth {
            what: "order numbers taken in district".to_owned(),
            kinds: vec![TpccTransaction::NewOrder.name()],
            counter: GrowthCounter::SumOf {
                table: "district",
                column: "d_next_o_id",
            },
        };
        let payments = Growth::rows_of("history", vec![TpccTransaction::Payment.name()]);
        Growth::Counted(vec![orders, payments])
    }

    fn minimum_duration(&self, plan: &WorkloadPlan) -> Option<MinimumDuration> {
        is_paced(plan).then_some(MinimumDuration {
            duration_s: 7_200.0,
            source: "that TPC-C requires of a measurement interval".into(),
        })
    }

    fn rate_metrics(&self) -> &'static [RateMetric] {
        &RATE_METRICS
    }

    fn check_options(&self, plan: &WorkloadPlan, protocol: QueryMode) -> Vec<Error> {
        options::find_problems(plan, protocol)
    }

    fn load(&self, request: &LoadRequest<'_>) -> Result<LoadReport> {
        load::load(request)
    }

    fn loaded_scale(&self, control: &mut Control) -> Result<Option<u32>> {
        scale_if_loaded(readiness::loaded_scale(control))
    }

    fn check(&self, control: &mut Control) -> Result<CheckReport> {
        crate::engines::require_engine(control, self.dialects())?;
        check::check(control)
    }

    fn repair_order_numbers(&self, control: &mut Control) -> Result<u64> {
        sequences::repair(control)
    }

    fn clean(&self, control: &mut Control) -> Result<Vec<String>> {
        crate::engines::require_engine(control, self.dialects())?;
        let cleaned = catalog::drop_existing::<Table>(control)?;
        routines::drop_all(control)?;
        Ok(cleaned)
    }

    fn program(&self, control: &mut Control, plan: &WorkloadPlan) -> Result<ReadyWorkload> {
        crate::engines::require_engine(control, self.dialects())?;
        program::program(control, plan)
    }
}
