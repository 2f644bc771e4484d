//! The names of the statements, for latencies per statement: the kind of transaction and the step.

use super::Transactions;
use crate::tpcc::execution::Execution;
use crate::tpcc::input::TpccTransaction;
use prony_session::StatementTable;
use std::iter::repeat_n;

impl Transactions {
    /// The statements by name. Those that differ only in the district share a name.
    pub fn statement_table(&self) -> StatementTable {
        let mut table = StatementTable::new();
        for kind in TpccTransaction::ALL {
            let kind_name = kind.name();
            let native_text = |sql: &str| self.dialect.with_native_placeholders(sql.to_owned());
            match self.execution(kind) {
                Execution::Call(call) | Execution::HammerdbCall(call) => {
                    table.add(kind_name, native_text(call.sql()), call);
                }
                Execution::Steps(steps) => {
                    for (step_name, step) in step_names(kind, steps.len()).zip(steps) {
                        for (number, statement) in (1..).zip(step) {
                            let name = match step.len() {
                                1 => format!("{kind_name}: {step_name}"),
                                _ => format!("{kind_name}: {step_name} {number}"),
                            };
                            table.add(&name, native_text(statement.sql()), statement);
                        }
                    }
                }
            }
        }
        table
    }
}

/// The names of the steps, in the order of `statements.sql`. A new order has as many steps that read stock as there are
/// districts.
fn step_names(kind: TpccTransaction, count: usize) -> impl Iterator<Item = &'static str> {
    let names = match kind {
        TpccTransaction::NewOrder => {
            "begin warehouse customer district order queue item stock update-stock line commit rollback"
        }
        TpccTransaction::Payment => "begin names customer district warehouse history commit",
        TpccTransaction::OrderStatus => "begin names customer order lines commit",
        TpccTransaction::Delivery => "begin oldest dequeue order lines sum customer commit",
        TpccTransaction::StockLevel => "begin district low commit",
    };
    let stock_steps = (count + 1).saturating_sub(names.split(' ').count());
    let repeats = move |name| if name == "stock" { stock_steps } else { 1 };
    let names = names.split(' ');
    names.flat_map(move |name| repeat_n(name, repeats(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::execution::Mode;
    use crate::tpcc::profile::PROFILES;
    use prony_assertions::TextAssertions;
    use prony_document::SqlDialect;

    fn transactions(dialect: SqlDialect, mode: Mode) -> Transactions {
        Transactions::new(dialect, mode, PROFILES[0].on(dialect), 1).0
    }

    fn names(transactions: &Transactions) -> Vec<String> {
        let table = transactions.statement_table();
        let statements = table.statements().iter();
        statements.map(|named| named.name.clone()).collect()
    }

    #[test]
    fn steps_have_their_names_on_every_engine() {
        for dialect in SqlDialect::ALL {
            let transactions = transactions(dialect, Mode::Statements);
            let names = names(&transactions);
            let of_kind = |kind: &str| {
                let prefix = format!("{kind}: ");
                let names = names.iter().filter_map(|name| name.strip_prefix(&prefix));
                // Without the numbers of the statements of a step.
                let mut steps: Vec<&str> = names
                    .map(|name| name.trim_end_matches(|c: char| c == ' ' || c.is_ascii_digit()))
                    .collect();
                steps.dedup();
                steps.join(" ")
            };
            of_kind("new-order").assert_equals("begin warehouse customer district order queue item stock update-stock line commit rollback");
            of_kind("payment")
                .assert_equals("begin names customer district warehouse history commit");
            assert_eq!(of_kind("stock-level"), "begin district low commit");
            for kind in TpccTransaction::ALL {
                let Execution::Steps(steps) = transactions.execution(kind) else {
                    panic!("{kind:?} is not executed in steps");
                };
                assert_eq!(step_names(kind, steps.len()).count(), steps.len());
            }
        }
    }

    #[test]
    fn a_call_has_the_name_of_its_transaction() {
        let transactions = transactions(SqlDialect::PostgreSql, Mode::Procedures);
        assert_eq!(names(&transactions), TpccTransaction::NAMES);
    }
}
