//! The names of the statements, for latencies per statement: the kind of transaction and the step.

use super::Transactions;
use crate::tpcc::execution::Execution;
use crate::tpcc::input::TpccTransaction;
use prony_session::StatementTable;

/// The steps of a new order before and after those that read stock, of which there is one per district.
const NEW_ORDER_STEPS: ([&str; 7], [&str; 4]) = (
    [
        "begin",
        "warehouse",
        "customer",
        "district",
        "order",
        "queue",
        "item",
    ],
    ["update-stock", "line", "commit", "rollback"],
);

impl Transactions {
    /// The statements by name. Those that differ only in the district share a name.
    pub fn statement_table(&self) -> StatementTable {
        let mut table = StatementTable::new();
        for kind in TpccTransaction::ALL {
            let kind_name = TpccTransaction::NAMES[kind as usize];
            let native_text = |sql: &str| self.dialect.with_native_placeholders(sql.to_owned());
            match self.execution(kind) {
                Execution::Call(call) | Execution::HammerdbCall(call) => {
                    table.add(kind_name, native_text(call.sql()), call);
                }
                Execution::Steps(steps) => {
                    for (index, step) in steps.iter().enumerate() {
                        let step_name = step_name(kind, index, steps.len());
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

/// The name of the step at `index` of `count`, in the order of `statements.sql`.
fn step_name(kind: TpccTransaction, index: usize, count: usize) -> &'static str {
    let names: &[&str] = match kind {
        TpccTransaction::NewOrder => {
            let (first, last) = NEW_ORDER_STEPS;
            let index_from_last = (index + last.len()).checked_sub(count);
            let last_name = index_from_last.and_then(|index| last.get(index));
            return first.get(index).or(last_name).unwrap_or(&"stock");
        }
        TpccTransaction::Payment => &[
            "begin",
            "names",
            "customer",
            "district",
            "warehouse",
            "history",
            "commit",
        ],
        TpccTransaction::OrderStatus => &["begin", "names", "customer", "order", "lines", "commit"],
        TpccTransaction::Delivery => &[
            "begin", "oldest", "dequeue", "order", "lines", "sum", "customer", "commit",
        ],
        TpccTransaction::StockLevel => &["begin", "district", "low", "commit"],
    };
    names.get(index).unwrap_or(&"step")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::execution::Mode;
    use crate::tpcc::profile::PROFILES;
    use prony_document::SqlDialect;

    fn names(dialect: SqlDialect, mode: Mode) -> Vec<String> {
        let profile = PROFILES[0].on(dialect);
        let (transactions, _) = Transactions::new(dialect, mode, profile, 1);
        let table = transactions.statement_table();
        let statements = table.statements().iter();
        statements.map(|named| named.name.clone()).collect()
    }

    #[test]
    fn steps_have_their_names_on_every_engine() {
        for dialect in [
            SqlDialect::PostgreSql,
            SqlDialect::MySql,
            SqlDialect::TransactSql,
        ] {
            let names = names(dialect, Mode::Statements);
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
            assert_eq!(
                of_kind("new-order"),
                "begin warehouse customer district order queue item stock update-stock line commit rollback"
            );
            assert_eq!(
                of_kind("payment"),
                "begin names customer district warehouse history commit"
            );
            assert_eq!(of_kind("stock-level"), "begin district low commit");
            assert!(
                !names.iter().any(|name| name.ends_with("step")),
                "{names:?}"
            );
        }
    }

    #[test]
    fn a_call_has_the_name_of_its_transaction() {
        assert_eq!(
            names(SqlDialect::PostgreSql, Mode::Procedures),
            TpccTransaction::NAMES
        );
    }
}
