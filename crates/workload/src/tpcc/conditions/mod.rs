//! The twelve consistency conditions of TPC-C [3.3.2], as sums that the server makes.
//!
//! In: a control connection inside a snapshot. Out: of each condition how many places break it, and
//! one of them. Must never: fetch a row for each order or customer.
//!
//! The sums count in what the load begins with: payments of 10.00 a customer stand in the history,
//! delivered lines have an amount of 0.00. Condition 11 speaks of the state after loading (2,100
//! orders of a district are delivered); orders delivered since are counted in, so that it holds
//! after any run.

mod mysql;
mod postgres;

use crate::oltp::engine::Engine;
use crate::{Error, sql};
use prony_server::Control;

/// What was found of one condition.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Number of the condition.
    pub number: u8,
    /// Places that were compared.
    pub compared: u64,
    /// Places that break it.
    pub broken: u64,
    /// One of them, with its figures.
    pub example: String,
}

/// One condition within a query over places: what breaks it, and the place in words.
struct Test {
    number: u8,
    /// Broken places of a row of the query.
    broken: &'static str,
    /// What is said of a place, with `%s` for values.
    place: &'static str,
    /// These.
    values: &'static str,
}

/// A query over places, and the conditions that it decides.
struct Query {
    doing: &'static str,
    /// Its relation of places on an engine; the columns are the same on all.
    places: fn(Engine) -> &'static str,
    tests: &'static [Test],
}

/// Not a condition: customers that would break 12, but whose payments were not counted at all.
pub const UNCOUNTED: u8 = 0;

/// Warehouses and districts against the history.
const PAYMENTS: Query = Query {
    doing: "adding up payments",
    places: |engine| match engine {
        Engine::Postgres => postgres::PAYMENTS,
        Engine::MySql => mysql::PAYMENTS,
    },
    tests: &[
        Test {
            number: 1,
            broken: "d is null and ytd <> d_ytd",
            place: "warehouse %s: %s and %s",
            values: "w, ytd, d_ytd",
        },
        Test {
            number: 8,
            broken: "d is null and ytd <> amount",
            place: "warehouse %s: %s and %s",
            values: "w, ytd, amount",
        },
        Test {
            number: 9,
            broken: "d is not null and ytd <> amount",
            place: "district %s of warehouse %s: %s and %s",
            values: "d, w, ytd, amount",
        },
    ],
};

/// Orders, their lines and new orders, a district.
const ORDERS: Query = Query {
    doing: "comparing orders with their lines",
    places: |engine| match engine {
        Engine::Postgres => postgres::ORDERS,
        Engine::MySql => mysql::ORDERS,
    },
    tests: &[
        Test {
            number: 2,
            broken: "next - 1 <> last or open_last <> last",
            place: "district %s of warehouse %s: %s, %s and %s",
            values: "d, w, next - 1, last, open_shown",
        },
        Test {
            number: 3,
            broken: "open_last - open_first + 1 <> open",
            place: "district %s of warehouse %s: %s rows from %s to %s",
            values: "d, w, open, open_first, open_last",
        },
        Test {
            number: 4,
            broken: "cnt <> rows_",
            place: "district %s of warehouse %s: %s and %s",
            values: "d, w, cnt, rows_",
        },
        Test {
            number: 5,
            broken: "b5",
            place: "order %s of district %s of warehouse %s",
            values: "e5, d, w",
        },
        Test {
            number: 6,
            broken: "b6",
            place: "order %s of district %s of warehouse %s",
            values: "e6, d, w",
        },
        Test {
            number: 7,
            broken: "b7",
            place: "order %s of district %s of warehouse %s",
            values: "e7, d, w",
        },
        Test {
            number: 11,
            broken: "orders - open <> 2100 + since",
            place: "district %s of warehouse %s: %s, and %s delivered since",
            values: "d, w, orders - open, since",
        },
    ],
};

/// Customers against what was delivered to them and what they paid.
const CUSTOMERS: Query = Query {
    doing: "adding up the customers' balances",
    places: |engine| match engine {
        Engine::Postgres => postgres::CUSTOMERS,
        Engine::MySql => mysql::CUSTOMERS,
    },
    tests: &[
        Test {
            number: 10,
            broken: "balance <> delivered - paid",
            place: "customer %s of district %s of warehouse %s: %s and %s",
            values: "c, d, w, balance, delivered - paid",
        },
        Test {
            number: 12,
            broken: "balance + ytd <> delivered and counted",
            place: "customer %s of district %s of warehouse %s: %s and %s",
            values: "c, d, w, balance + ytd, delivered",
        },
        Test {
            number: UNCOUNTED,
            broken: "balance + ytd <> delivered and not counted",
            place: "customer %s of district %s of warehouse %s",
            values: "c, d, w",
        },
    ],
};

/// Decides all conditions, in order of their numbers; what [`UNCOUNTED`] counts comes first.
pub fn decide(control: &mut Control) -> Result<Vec<Outcome>, Error> {
    let engine = Engine::of(control);
    let mut outcomes = Vec::new();
    for query in [PAYMENTS, ORDERS, CUSTOMERS] {
        outcomes.extend(query.ask(control, engine)?);
    }
    outcomes.sort_by_key(|outcome| outcome.number);
    Ok(outcomes)
}

impl Query {
    fn ask(&self, control: &mut Control, engine: Engine) -> Result<Vec<Outcome>, Error> {
        let columns: Vec<String> = self.tests.iter().map(|test| test.columns(engine)).collect();
        let columns = columns.join(", ");
        let places = (self.places)(engine);
        let sql = match engine {
            Engine::Postgres => format!("{places} select {columns} from p"),
            Engine::MySql => format!("select {columns} from ({places}) p"),
        };
        let row = sql::row(control, self.doing, &sql)?;
        let count = |column| {
            let value = row.int(column);
            value.and_then(|value| u64::try_from(value).ok())
        };
        let outcomes = self.tests.iter().enumerate().map(|(place, test)| Outcome {
            number: test.number,
            compared: count(3 * place).unwrap_or(0),
            broken: count(3 * place + 1).unwrap_or(0),
            example: row.text(3 * place + 2).unwrap_or_default().to_owned(),
        });
        Ok(outcomes.collect())
    }
}

impl Test {
    /// Compared, broken, one of the broken.
    fn columns(&self, engine: Engine) -> String {
        let Test { broken, number, .. } = self;
        let among = |what: &str, holds: &str| match engine {
            Engine::Postgres => format!("count(*) filter (where {holds}), {what}"),
            Engine::MySql => {
                format!("coalesce(sum(case when {holds} then 1 else 0 end), 0), {what}")
            }
        };
        let place = self.place(engine);
        let example = |holds: &str| match engine {
            Engine::Postgres => format!("min({place}) filter (where {holds})"),
            Engine::MySql => format!("min(case when {holds} then {place} end)"),
        };
        match number {
            // Orders, of which a row of the query has so many that break it.
            5..=7 => format!(
                "sum(orders), coalesce(sum({broken}), 0), {}",
                example(&format!("{broken} > 0"))
            ),
            1 | 8 => among(&among(&example(broken), broken), "d is null"),
            9 => format!("count(d), {}", among(&example(broken), broken)),
            _ => format!("count(*), {}", among(&example(broken), broken)),
        }
    }

    /// SQL for the words of a place.
    fn place(&self, engine: Engine) -> String {
        let Test { place, values, .. } = self;
        match engine {
            Engine::Postgres => format!("format('{place}', {values})"),
            Engine::MySql => {
                let mut values = values.split(", ");
                let mut pieces = place.split("%s");
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

/// What a condition demands, in words.
pub fn demand(number: u8) -> &'static str {
    match number {
        1 => "w_ytd is the sum of d_ytd",
        2 => "d_next_o_id - 1 is the largest o_id and the largest no_o_id",
        3 => "no_o_id has no gaps within a district",
        4 => "the sum of o_ol_cnt is the number of order lines of a district",
        5 => "o_carrier_id is null exactly where new_order has the order",
        6 => "o_ol_cnt is the number of lines of an order",
        7 => "ol_delivery_d is null exactly where o_carrier_id is",
        8 => "w_ytd is the sum of h_amount",
        9 => "d_ytd is the sum of h_amount",
        10 => "c_balance is what was delivered less what was paid",
        11 => "2,100 orders of a district were delivered, and those since",
        12 => "c_balance + c_ytd_payment is what was delivered",
        _ => "",
    }
}

/// `condition-1` to `condition-12`.
pub fn id(number: u8) -> &'static str {
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

/// What the places of a condition are.
pub fn places(number: u8) -> &'static str {
    match number {
        1 | 8 => "warehouses",
        2 | 3 | 4 | 9 | 11 => "districts",
        5..=7 => "orders",
        _ => "customers",
    }
}
