//! The five transactions, each written once for all engines and modes.
//!
//! All modes must leave the same contents in the database.

mod delivery;
mod new_order;
mod order_status;
mod payment;
mod statement_names;
mod stock_level;

use super::customers::{SearchNames, middle_customer};
use super::execution::{Execution, Mode, StepRunner};
use super::input::{CustomerKey, TpccTransaction};
use super::profile::Profile;
use super::routines;
use super::statements::{StatementSet, TransactionStep};
pub use new_order::OrderResult;
use prony_document::SqlDialect;
use prony_session::{Db, DbError};
use prony_wire::Value;

/// The customer of a transaction.
struct FoundCustomer {
    /// The customer's number.
    c_id: i64,
    /// Whether the search has read the customer's row, as one by name does.
    is_row_read: bool,
}

/// Executes the transactions of a profile in one mode.
#[derive(Debug)]
pub struct Transactions {
    dialect: SqlDialect,
    profile: &'static Profile,
    mode: Mode,
    /// Number of warehouses, for routines that choose the supplying warehouses themselves.
    warehouses: u32,
    search_names: SearchNames,
    /// In the order of `TpccTransaction::ALL`.
    executions: [Execution; 5],
}

impl Transactions {
    /// Creates the executor for this mode and profile; returns it with the texts of its statements.
    pub fn new(
        dialect: SqlDialect,
        mode: Mode,
        profile: &'static Profile,
        warehouses: u32,
    ) -> (Self, Vec<String>) {
        let mut set = StatementSet::new(dialect);
        let executions = TpccTransaction::ALL.map(|kind| match mode {
            Mode::Procedures => {
                let call = set.add(&routines::calls(dialect, profile)[kind as usize]);
                // Declare which calls write, because the text of a call does not show it.
                let call = match kind {
                    TpccTransaction::NewOrder
                    | TpccTransaction::Payment
                    | TpccTransaction::Delivery => call.with_write_effect(),
                    TpccTransaction::OrderStatus | TpccTransaction::StockLevel => call,
                };
                if profile.calls_hammerdb_routines {
                    Execution::HammerdbCall(call)
                } else {
                    Execution::Call(call)
                }
            }
            Mode::Statements => Execution::Steps(set.steps(kind, profile, false)),
            Mode::Pipelined => Execution::Steps(set.steps(kind, profile, true)),
        });
        let transactions = Transactions {
            dialect,
            profile,
            mode,
            warehouses,
            search_names: SearchNames::new(profile),
            executions,
        };
        (transactions, set.texts)
    }

    /// Whether the server generates the lines of orders; then only their number is taken from the input.
    pub fn server_generates_order_lines(&self) -> bool {
        matches!(
            self.execution(TpccTransaction::NewOrder),
            Execution::HammerdbCall(_)
        )
    }

    pub fn execution(&self, kind: TpccTransaction) -> &Execution {
        &self.executions[kind as usize]
    }

    /// Finds a transaction's customer. `names` is the step that searches among the customers of a district by name.
    async fn find_customer(
        &self,
        runner: &mut StepRunner<'_>,
        names: &TransactionStep,
        [w, d]: [Value<'_>; 2],
        customer: CustomerKey,
    ) -> Result<FoundCustomer, DbError> {
        let without_row = |c_id: u32| FoundCustomer {
            c_id: c_id.into(),
            is_row_read: false,
        };
        let (name, fallback) = match customer {
            CustomerKey::Number(c_id) => return Ok(without_row(c_id)),
            CustomerKey::Name { name, fallback } => (name, fallback),
        };
        let name = Value::Text(self.search_names.search_text(name));
        let (rows, result) = runner.run_for_rows(names, &[w, d, name]).await?;
        match (middle_customer(&rows, result), fallback) {
            (Err(_), Some(c_id)) => Ok(without_row(c_id)),
            (c_id, _) => Ok(FoundCustomer {
                c_id: c_id?,
                is_row_read: true,
            }),
        }
    }

    fn runner<'a>(&self, db: &'a mut Db) -> StepRunner<'a> {
        StepRunner::new(db, self.mode == Mode::Pipelined)
    }
}

/// The steps of a transaction, to be named in the order of `statements.sql`.
fn named_steps<const N: usize>(steps: &[TransactionStep]) -> &[TransactionStep; N] {
    let steps = steps.try_into();
    steps.expect("statements.sql has these steps")
}
