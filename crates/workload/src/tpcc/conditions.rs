//! The twelve consistency conditions of TPC-C [3.3.2], as sums that the server makes.
//!
//! In: a control connection inside a snapshot. Out: of each condition how many places break it, and
//! one of them. Must never: fetch a row for each order or customer.
//!
//! The sums count in what the load begins with: payments of 10.00 a customer stand in the history,
//! delivered lines have an amount of 0.00. Condition 11 speaks of the state after loading (2,100
//! orders of a district are delivered); orders delivered since are counted in, so that it holds
//! after any run.

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
    /// SQL for text.
    place: &'static str,
}

/// A query over places, and the conditions that it decides.
struct Query {
    doing: &'static str,
    /// `with ...`, ending in a relation `p` of places.
    places: &'static str,
    tests: &'static [Test],
}

/// Warehouses and districts against the history.
const PAYMENTS: Query = Query {
    doing: "adding up payments",
    places: "with h as (select h_w_id w, h_d_id d, sum(h_amount) amount from history group by 1, 2), \
        d as (select coalesce(d_w_id, w) w, coalesce(d_id, d) d, coalesce(d_ytd, 0) ytd, \
          coalesce(amount, 0) amount \
          from district full join h on d_w_id = w and d_id = d), \
        s as (select w, sum(ytd) ytd, sum(amount) amount from d group by 1), \
        w as (select coalesce(w_id, w) w, coalesce(w_ytd, 0) ytd, coalesce(ytd, 0) d_ytd, \
          coalesce(amount, 0) amount from warehouse full join s on w_id = w), \
        p as (select w, null::int d, ytd, d_ytd, amount from w \
          union all select w, d, ytd, null, amount from d)",
    tests: &[
        Test {
            number: 1,
            broken: "d is null and ytd <> d_ytd",
            place: "format('warehouse %s: %s and %s', w, ytd, d_ytd)",
        },
        Test {
            number: 8,
            broken: "d is null and ytd <> amount",
            place: "format('warehouse %s: %s and %s', w, ytd, amount)",
        },
        Test {
            number: 9,
            broken: "d is not null and ytd <> amount",
            place: "format('district %s of warehouse %s: %s and %s', d, w, ytd, amount)",
        },
    ],
};

/// Orders, their lines and new orders, a district.
const ORDERS: Query = Query {
    doing: "comparing orders with their lines",
    places: "with l as (select ol_w_id w, ol_d_id d, ol_o_id o, count(*) lines, \
          count(ol_delivery_d) dated from order_line group by 1, 2, 3), \
        o as (select coalesce(o_w_id, w) w, coalesce(o_d_id, d) d, coalesce(o_id, o) o, \
          o_id is not null known, o_carrier_id carrier, coalesce(o_ol_cnt, 0) cnt, \
          coalesce(lines, 0) lines, coalesce(dated, 0) dated \
          from orders full join l on o_w_id = w and o_d_id = d and o_id = o), \
        a as (select coalesce(w, no_w_id) w, coalesce(d, no_d_id) d, coalesce(o, no_o_id) o, \
          coalesce(known, false) known, carrier, coalesce(cnt, 0) cnt, coalesce(lines, 0) lines, \
          coalesce(dated, 0) dated, no_o_id is not null open \
          from o full join new_order on no_w_id = w and no_d_id = d and no_o_id = o), \
        f as (select *, (carrier is null) <> open or not known and open b5, lines <> cnt b6, \
          known and dated <> case when carrier is null then 0 else lines end b7 from a), \
        k as (select w, d, count(*) filter (where known) orders, max(o) filter (where known) last, \
          count(*) filter (where open) open, min(o) filter (where open) open_first, \
          max(o) filter (where open) open_last, sum(cnt) cnt, sum(lines) lines, \
          count(*) filter (where known and o > 2100 and carrier is not null) since, \
          count(*) filter (where b5) b5, min(o) filter (where b5) e5, \
          count(*) filter (where b6) b6, min(o) filter (where b6) e6, \
          count(*) filter (where b7) b7, min(o) filter (where b7) e7 from f group by 1, 2), \
        p as (select coalesce(w, d_w_id) w, coalesce(d, d_id) d, coalesce(d_next_o_id, 0) next, \
          coalesce(orders, 0) orders, coalesce(last, 0) last, coalesce(open, 0) open, open_first, \
          open_last, coalesce(cnt, 0) cnt, coalesce(lines, 0) lines, coalesce(since, 0) since, \
          b5, e5, b6, e6, b7, e7 from k full join district on d_w_id = w and d_id = d)",
    tests: &[
        Test {
            number: 2,
            broken: "next - 1 <> last or open_last <> last",
            place: "format('district %s of warehouse %s: %s, %s and %s', d, w, next - 1, last, \
                coalesce(open_last::text, 'none'))",
        },
        Test {
            number: 3,
            broken: "open_last - open_first + 1 <> open",
            place: "format('district %s of warehouse %s: %s rows from %s to %s', d, w, open, \
                open_first, open_last)",
        },
        Test {
            number: 4,
            broken: "cnt <> lines",
            place: "format('district %s of warehouse %s: %s and %s', d, w, cnt, lines)",
        },
        Test {
            number: 5,
            broken: "b5",
            place: "format('order %s of district %s of warehouse %s', e5, d, w)",
        },
        Test {
            number: 6,
            broken: "b6",
            place: "format('order %s of district %s of warehouse %s', e6, d, w)",
        },
        Test {
            number: 7,
            broken: "b7",
            place: "format('order %s of district %s of warehouse %s', e7, d, w)",
        },
        Test {
            number: 11,
            broken: "orders - open <> 2100 + since",
            place: "format('district %s of warehouse %s: %s, and %s delivered since', d, w, \
                orders - open, since)",
        },
    ],
};

/// Customers against what was delivered to them and what they paid.
const CUSTOMERS: Query = Query {
    doing: "adding up the customers' balances",
    places: "with l as (select ol_w_id w, ol_d_id d, ol_o_id o, sum(ol_amount) amount \
          from order_line where ol_delivery_d is not null group by 1, 2, 3), \
        o as (select o_w_id w, o_d_id d, o_c_id c, sum(amount) amount \
          from orders join l on o_w_id = w and o_d_id = d and o_id = o group by 1, 2, 3), \
        h as (select h_c_w_id w, h_c_d_id d, h_c_id c, sum(h_amount) amount, count(*) payments \
          from history group by 1, 2, 3), \
        p as (select c_w_id w, c_d_id d, c_id c, c_balance balance, c_ytd_payment ytd, \
          coalesce(o.amount, 0) delivered, coalesce(h.amount, 0) paid, \
          c_payment_cnt >= coalesce(payments, 0) counted from customer \
          left join o on o.w = c_w_id and o.d = c_d_id and o.c = c_id \
          left join h on h.w = c_w_id and h.d = c_d_id and h.c = c_id)",
    tests: &[
        Test {
            number: 10,
            broken: "balance <> delivered - paid",
            place: "format('customer %s of district %s of warehouse %s: %s and %s', c, d, w, \
                balance, delivered - paid)",
        },
        Test {
            number: 12,
            broken: "balance + ytd <> delivered and counted",
            place: "format('customer %s of district %s of warehouse %s: %s and %s', c, d, w, \
                balance + ytd, delivered)",
        },
        Test {
            number: UNCOUNTED,
            broken: "balance + ytd <> delivered and not counted",
            place: "format('customer %s of district %s of warehouse %s', c, d, w)",
        },
    ],
};

/// Not a condition: customers that would break 12, but whose payments were not counted at all.
pub const UNCOUNTED: u8 = 0;

/// Decides all conditions, in order of their numbers; what [`UNCOUNTED`] counts comes first.
pub fn decide(control: &mut Control) -> Result<Vec<Outcome>, Error> {
    let mut outcomes = Vec::new();
    for query in [&PAYMENTS, &ORDERS, &CUSTOMERS] {
        outcomes.extend(query.ask(control)?);
    }
    outcomes.sort_by_key(|outcome| outcome.number);
    Ok(outcomes)
}

impl Query {
    fn ask(&self, control: &mut Control) -> Result<Vec<Outcome>, Error> {
        let columns: Vec<String> = self.tests.iter().map(Test::columns).collect();
        let sql = format!("{} select {} from p", self.places, columns.join(", "));
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
    fn columns(&self) -> String {
        let Test { broken, place, .. } = self;
        match self.number {
            // Orders, of which a row of the query has so many that break it.
            5..=7 => format!(
                "sum(orders), coalesce(sum({broken}), 0), min({place}) filter (where {broken} > 0)"
            ),
            1 | 8 => format!(
                "count(*) filter (where d is null), count(*) filter (where {broken}), \
                 min({place}) filter (where {broken})"
            ),
            9 => format!(
                "count(d), count(*) filter (where {broken}), min({place}) filter (where {broken})"
            ),
            _ => format!(
                "count(*), count(*) filter (where {broken}), min({place}) filter (where {broken})"
            ),
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
