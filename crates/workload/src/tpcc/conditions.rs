//! The twelve consistency conditions of TPC-C [3.3.2], as sums that the server computes.
//!
//! Takes a control connection inside a snapshot; returns, for each condition, the number of entities
//! that violate it and one example. Must never fetch a row per order or customer.
//!
//! The sums account for the loaded state: the history has a payment of 10.00 per customer, and
//! delivered lines have an amount of 0.00. Condition 11 describes the state after loading (2,100
//! orders of a district are delivered); orders delivered since are added, so that it holds after
//! any run.

use super::engine::{EngineSql, statements};
use crate::{Error, sql};
use prony_document::SqlDialect;
use prony_server::Control;

#[derive(Clone, Debug)]
pub struct ConditionResult {
    pub number: u8,
    pub compared: u64,
    pub violations: u64,
    /// One of those entities, with its figures.
    pub example: String,
}

/// One condition within a query over entities, such as districts.
struct ConditionTest {
    number: u8,
    /// SQL for whether a row of the query violates the condition; for conditions 5 to 7, which are about
    /// orders, SQL for the number of violating orders in the row's district.
    violation: &'static str,
    /// Format of the description of an entity, with `%s` for values.
    entity_format: &'static str,
    /// SQL for the values of `entity_format`.
    entity_values: &'static str,
}

/// A query over entities, and the conditions that it checks.
struct ConditionQuery {
    action: &'static str,
    /// Index, in the engine's `conditions.sql`, of the relation that has the entities.
    relation: usize,
    tests: &'static [ConditionTest],
}

/// The number, in [`ConditionResult`], of a test that is not a condition: it counts the customers that
/// violate condition 12 only because a profile does not count their payments.
pub const UNCOUNTED_PAYMENTS: u8 = 0;

/// Warehouses and districts against the history.
const PAYMENTS: ConditionQuery = ConditionQuery {
    action: "adding up payments",
    relation: 0,
    tests: &[
        ConditionTest {
            number: 1,
            violation: "d is null and ytd <> d_ytd",
            entity_format: "warehouse %s: %s and %s",
            entity_values: "w, ytd, d_ytd",
        },
        ConditionTest {
            number: 8,
            violation: "d is null and ytd <> amount",
            entity_format: "warehouse %s: %s and %s",
            entity_values: "w, ytd, amount",
        },
        ConditionTest {
            number: 9,
            violation: "d is not null and ytd <> amount",
            entity_format: "district %s of warehouse %s: %s and %s",
            entity_values: "d, w, ytd, amount",
        },
    ],
};

/// Orders, their lines and new orders, per district.
const ORDERS: ConditionQuery = ConditionQuery {
    action: "comparing orders with their lines",
    relation: 1,
    tests: &[
        ConditionTest {
            number: 2,
            violation: "next - 1 <> last or open_last <> last",
            entity_format: "district %s of warehouse %s: %s, %s and %s",
            entity_values: "d, w, next - 1, last, open_shown",
        },
        ConditionTest {
            number: 3,
            violation: "open_last - open_first + 1 <> open",
            entity_format: "district %s of warehouse %s: %s rows from %s to %s",
            entity_values: "d, w, open, open_first, open_last",
        },
        ConditionTest {
            number: 4,
            violation: "cnt <> rows_",
            entity_format: "district %s of warehouse %s: %s and %s",
            entity_values: "d, w, cnt, rows_",
        },
        ConditionTest {
            number: 5,
            violation: "b5",
            entity_format: "order %s of district %s of warehouse %s",
            entity_values: "e5, d, w",
        },
        ConditionTest {
            number: 6,
            violation: "b6",
            entity_format: "order %s of district %s of warehouse %s",
            entity_values: "e6, d, w",
        },
        ConditionTest {
            number: 7,
            violation: "b7",
            entity_format: "order %s of district %s of warehouse %s",
            entity_values: "e7, d, w",
        },
        ConditionTest {
            number: 11,
            violation: "orders - open <> 2100 + since",
            entity_format: "district %s of warehouse %s: %s, and %s delivered since",
            entity_values: "d, w, orders - open, since",
        },
    ],
};

/// Customers against their deliveries and payments.
const CUSTOMERS: ConditionQuery = ConditionQuery {
    action: "adding up the customers' balances",
    relation: 2,
    tests: &[
        ConditionTest {
            number: 10,
            violation: "balance <> delivered - paid",
            entity_format: "customer %s of district %s of warehouse %s: %s and %s",
            entity_values: "c, d, w, balance, delivered - paid",
        },
        ConditionTest {
            number: 12,
            violation: "balance + ytd <> delivered and counted",
            entity_format: "customer %s of district %s of warehouse %s: %s and %s",
            entity_values: "c, d, w, balance + ytd, delivered",
        },
        ConditionTest {
            number: UNCOUNTED_PAYMENTS,
            violation: "balance + ytd <> delivered and not counted",
            entity_format: "customer %s of district %s of warehouse %s",
            entity_values: "c, d, w",
        },
    ],
};

/// Checks all conditions, in the order of their numbers; the result for [`UNCOUNTED_PAYMENTS`] comes first.
pub fn check_all(control: &mut Control) -> Result<Vec<ConditionResult>, Error> {
    let dialect = control.dialect();
    let mut results = Vec::new();
    for query in [PAYMENTS, ORDERS, CUSTOMERS] {
        results.extend(query.run(control, dialect)?);
    }
    results.sort_by_key(|result| result.number);
    Ok(results)
}

#[cfg(test)]
pub fn query_texts(dialect: SqlDialect) -> [String; 3] {
    [PAYMENTS, ORDERS, CUSTOMERS].map(|query| query.query_text(dialect))
}

impl ConditionQuery {
    fn query_text(&self, dialect: SqlDialect) -> String {
        let columns: Vec<String> = self
            .tests
            .iter()
            .map(|test| test.columns(dialect))
            .collect();
        let columns = columns.join(", ");
        let relations = EngineSql::of(dialect).conditions;
        let relation = statements(relations).nth(self.relation).unwrap_or_default();
        match dialect {
            SqlDialect::PostgreSql => format!("{relation} select {columns} from p"),
            SqlDialect::MySql | SqlDialect::TransactSql => {
                format!("select {columns} from ({relation}) p")
            }
        }
    }

    fn run(
        &self,
        control: &mut Control,
        dialect: SqlDialect,
    ) -> Result<Vec<ConditionResult>, Error> {
        let sql = self.query_text(dialect);
        let row = sql::query_row(control, self.action, &sql)?;
        let count = |column| {
            let value = row.int(column);
            value.and_then(|value| u64::try_from(value).ok())
        };
        let results = self
            .tests
            .iter()
            .enumerate()
            .map(|(index, test)| ConditionResult {
                number: test.number,
                compared: count(3 * index).unwrap_or(0),
                violations: count(3 * index + 1).unwrap_or(0),
                example: row.text(3 * index + 2).unwrap_or_default().to_owned(),
            });
        Ok(results.collect())
    }
}

/// Translates SQL of a condition to the dialect: T-SQL has no boolean columns, and reserves the word
/// `open`.
fn translate(dialect: SqlDialect, text: &str) -> String {
    match dialect {
        SqlDialect::PostgreSql | SqlDialect::MySql => text.to_owned(),
        SqlDialect::TransactSql => {
            let words = text
                .split_inclusive([' ', ','])
                .map(|word| match word.trim_end() {
                    "open" => word.replace("open", "[open]"),
                    "open," => word.replace("open,", "[open],"),
                    _ => word.to_owned(),
                });
            let text: String = words.collect();
            match (
                text.strip_suffix("and not counted"),
                text.strip_suffix("and counted"),
            ) {
                (Some(comparison), _) => format!("{comparison}and counted = 0"),
                (None, Some(comparison)) => format!("{comparison}and counted = 1"),
                (None, None) => text,
            }
        }
    }
}

impl ConditionTest {
    /// SQL for three columns: the number of entities compared, the number that violate the condition, and an
    /// example.
    fn columns(&self, dialect: SqlDialect) -> String {
        let number = self.number;
        let violation = &translate(dialect, self.violation);
        let with_count = |columns: &str, predicate: &str| match dialect {
            SqlDialect::PostgreSql => format!("count(*) filter (where {predicate}), {columns}"),
            SqlDialect::MySql | SqlDialect::TransactSql => {
                format!("{}, {columns}", dialect.count_where(predicate))
            }
        };
        let entity = self.entity_description(dialect);
        let example = |predicate: &str| match dialect {
            SqlDialect::PostgreSql => format!("min({entity}) filter (where {predicate})"),
            SqlDialect::MySql | SqlDialect::TransactSql => {
                format!("min(case when {predicate} then {entity} end)")
            }
        };
        match number {
            // The entities are orders, but a row of the query is a district.
            5..=7 => format!(
                "{}, coalesce({}, 0), {}",
                dialect.sum_of("orders"),
                dialect.sum_of(violation),
                example(&format!("{violation} > 0"))
            ),
            1 | 8 => with_count(&with_count(&example(violation), violation), "d is null"),
            9 => format!("count(d), {}", with_count(&example(violation), violation)),
            _ => format!(
                "{}, {}",
                dialect.count_all(),
                with_count(&example(violation), violation)
            ),
        }
    }

    fn entity_description(&self, dialect: SqlDialect) -> String {
        let entity_format = self.entity_format;
        let values = &translate(dialect, self.entity_values);
        match dialect {
            SqlDialect::PostgreSql => format!("format('{entity_format}', {values})"),
            SqlDialect::MySql | SqlDialect::TransactSql => {
                let mut values = values.split(", ");
                let mut pieces = entity_format.split("%s");
                let mut parts = vec![format!("'{}'", pieces.next().unwrap_or_default())];
                for (piece, value) in pieces.zip(&mut values) {
                    parts.push(value.to_owned());
                    parts.push(format!("'{piece}'"));
                }
                format!("concat({})", parts.join(", "))
            }
        }
    }
}

pub fn requirement(number: u8) -> &'static str {
    match number {
        1 => "w_ytd is the sum of d_ytd",
        2 => "d_next_o_id - 1 is the largest o_id and the largest no_o_id",
        3 => "no_o_id has no gaps within a district",
        4 => "the sum of o_ol_cnt is the number of order lines of a district",
        5 => "o_carrier_id is null if and only if new_order has the order",
        6 => "o_ol_cnt is the number of lines of an order",
        7 => "ol_delivery_d is null if and only if o_carrier_id is null",
        8 => "w_ytd is the sum of h_amount",
        9 => "d_ytd is the sum of h_amount",
        10 => "c_balance is the delivered amount minus the paid amount",
        11 => "the delivered orders of a district are 2,100 plus those delivered since the load",
        12 => "c_balance + c_ytd_payment is the delivered amount",
        _ => "",
    }
}

/// The id of a condition's finding: `condition-1` to `condition-12`.
pub fn finding_id(number: u8) -> &'static str {
    const IDS: [&str; 13] = [
        "condition",
        "condition-1",
        "condition-2",
        "condition-3",
        "condition-4",
        "condition-5",
        "condition-6",
        "condition-7",
        "condition-8",
        "condition-9",
        "condition-10",
        "condition-11",
        "condition-12",
    ];
    IDS[usize::from(number)]
}

/// The entities that a condition compares, as a plural noun.
pub fn entities(number: u8) -> &'static str {
    match number {
        1 | 8 => "warehouses",
        2 | 3 | 4 | 9 | 11 => "districts",
        5..=7 => "orders",
        _ => "customers",
    }
}
