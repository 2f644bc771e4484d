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
use crate::{Result, sql};
use prony_document::SqlDialect;
use prony_server::Control;

#[derive(Clone, Debug)]
pub struct ConditionResult {
    pub condition: &'static Condition,
    /// Number of entities compared.
    pub compared: u64,
    /// Number of entities that violate the condition.
    pub violations: u64,
    /// One of the entities that violate the condition, with its figures.
    pub example: String,
}

/// One condition, as part of a query over entities, such as districts.
#[derive(Debug)]
pub struct Condition {
    pub number: u8,
    /// The entities that the condition compares, as a plural noun.
    pub entities: &'static str,
    pub requirement: &'static str,
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
    conditions: &'static [Condition],
}

/// The number, in [`Condition`], of a test that is not a condition: it counts the customers that
/// violate condition 12 only because a profile does not count their payments.
pub const UNCOUNTED_PAYMENTS: u8 = 0;

/// Each condition: its number, entities and requirement; the violation; the format of an entity and its values.
macro_rules! conditions {
    ($($number:tt $entities:literal $requirement:literal: $violation:literal, $format:literal $values:literal;)+) => {
        &[$(Condition {
            number: $number,
            entities: $entities,
            requirement: $requirement,
            violation: $violation,
            entity_format: $format,
            entity_values: $values,
        }),+]
    };
}

/// Warehouses and districts against the history.
const PAYMENTS: ConditionQuery = ConditionQuery {
    action: "adding up payments",
    relation: 0,
    conditions: conditions! {
        1 "warehouses" "w_ytd is the sum of d_ytd":
            "d is null and ytd <> d_ytd", "warehouse %s: %s and %s" "w, ytd, d_ytd";
        8 "warehouses" "w_ytd is the sum of h_amount":
            "d is null and ytd <> amount", "warehouse %s: %s and %s" "w, ytd, amount";
        9 "districts" "d_ytd is the sum of h_amount":
            "d is not null and ytd <> amount", "district %s of warehouse %s: %s and %s" "d, w, ytd, amount";
    },
};

/// Orders, their lines and new orders, per district.
const ORDERS: ConditionQuery = ConditionQuery {
    action: "comparing orders with their lines",
    relation: 1,
    conditions: conditions! {
        2 "districts" "d_next_o_id - 1 is the largest o_id and the largest no_o_id":
            "next - 1 <> last or open_last <> last",
            "district %s of warehouse %s: %s, %s and %s" "d, w, next - 1, last, open_shown";
        3 "districts" "no_o_id has no gaps within a district":
            "open_last - open_first + 1 <> open",
            "district %s of warehouse %s: %s rows from %s to %s" "d, w, open, open_first, open_last";
        4 "districts" "the sum of o_ol_cnt is the number of order lines of a district":
            "cnt <> rows_", "district %s of warehouse %s: %s and %s" "d, w, cnt, rows_";
        5 "orders" "o_carrier_id is null if and only if new_order has the order":
            "b5", "order %s of district %s of warehouse %s" "e5, d, w";
        6 "orders" "o_ol_cnt is the number of lines of an order":
            "b6", "order %s of district %s of warehouse %s" "e6, d, w";
        7 "orders" "ol_delivery_d is null if and only if o_carrier_id is null":
            "b7", "order %s of district %s of warehouse %s" "e7, d, w";
        11 "districts" "the delivered orders of a district are 2,100 plus those delivered since the load":
            "orders - open <> 2100 + since",
            "district %s of warehouse %s: %s, and %s delivered since" "d, w, orders - open, since";
    },
};

/// Customers against their deliveries and payments.
const CUSTOMERS: ConditionQuery = ConditionQuery {
    action: "adding up the customers' balances",
    relation: 2,
    conditions: conditions! {
        10 "customers" "c_balance is the delivered amount minus the paid amount":
            "balance <> delivered - paid",
            "customer %s of district %s of warehouse %s: %s and %s" "c, d, w, balance, delivered - paid";
        12 "customers" "c_balance + c_ytd_payment is the delivered amount":
            "balance + ytd <> delivered and counted",
            "customer %s of district %s of warehouse %s: %s and %s" "c, d, w, balance + ytd, delivered";
        UNCOUNTED_PAYMENTS "customers" "":
            "balance + ytd <> delivered and not counted",
            "customer %s of district %s of warehouse %s" "c, d, w";
    },
};

/// Checks all conditions, in the order of their numbers; the result for [`UNCOUNTED_PAYMENTS`] comes first.
pub fn check_all(control: &mut Control) -> Result<Vec<ConditionResult>> {
    let dialect = control.dialect();
    let mut results = Vec::new();
    for query in [PAYMENTS, ORDERS, CUSTOMERS] {
        results.extend(query.run(control, dialect)?);
    }
    results.sort_by_key(|result| result.condition.number);
    Ok(results)
}

#[cfg(test)]
pub fn query_texts(dialect: SqlDialect) -> [String; 3] {
    [PAYMENTS, ORDERS, CUSTOMERS].map(|query| query.query_text(dialect))
}

impl ConditionQuery {
    fn query_text(&self, dialect: SqlDialect) -> String {
        let columns = self
            .conditions
            .iter()
            .map(|condition| condition.columns(dialect));
        let columns = columns.collect::<Vec<_>>().join(", ");
        let relations = EngineSql::of(dialect).conditions;
        let relation = statements(relations).nth(self.relation).unwrap_or_default();
        match dialect {
            SqlDialect::PostgreSql => format!("{relation} select {columns} from p"),
            SqlDialect::MySql | SqlDialect::TransactSql => {
                format!("select {columns} from ({relation}) p")
            }
        }
    }

    fn run(&self, control: &mut Control, dialect: SqlDialect) -> Result<Vec<ConditionResult>> {
        let sql = self.query_text(dialect);
        let row = sql::query_row(control, self.action, &sql)?;
        let count = |column| {
            let value = row.int(column);
            value.and_then(|value| u64::try_from(value).ok())
        };
        let conditions = self.conditions.iter().enumerate();
        let results = conditions.map(|(index, condition)| ConditionResult {
            condition,
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
            let quoted: String = words.collect();
            if let Some(comparison) = quoted.strip_suffix("and not counted") {
                format!("{comparison}and counted = 0")
            } else if let Some(comparison) = quoted.strip_suffix("and counted") {
                format!("{comparison}and counted = 1")
            } else {
                quoted
            }
        }
    }
}

impl Condition {
    /// SQL for three columns: the number of entities compared, the number that violate the condition, and an
    /// example.
    fn columns(&self, dialect: SqlDialect) -> String {
        let violation = &translate(dialect, self.violation);
        let count_where = |predicate: &str| match dialect {
            SqlDialect::PostgreSql => format!("count(*) filter (where {predicate})"),
            SqlDialect::MySql | SqlDialect::TransactSql => dialect.count_where(predicate),
        };
        let entity = self.entity_description(dialect);
        let example = |predicate: &str| match dialect {
            SqlDialect::PostgreSql => format!("min({entity}) filter (where {predicate})"),
            SqlDialect::MySql | SqlDialect::TransactSql => {
                format!("min(case when {predicate} then {entity} end)")
            }
        };
        // The entities of conditions 5 to 7 are orders, but a row of their query is a district.
        if let 5..=7 = self.number {
            return format!(
                "{}, coalesce({}, 0), {}",
                dialect.sum_of("orders"),
                dialect.sum_of(violation),
                example(&format!("{violation} > 0"))
            );
        }
        let compared = match self.number {
            1 | 8 => count_where("d is null"),
            9 => "count(d)".to_owned(),
            _ => dialect.count_all().to_owned(),
        };
        format!(
            "{compared}, {}, {}",
            count_where(violation),
            example(violation)
        )
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
