//! A new order [2.4].
//!
//! In: its input. Out: an order with its lines, or what an intended rollback leaves: nothing. Must
//! never: differ between the modes in what is in the database afterwards.

mod function;
mod sold;

use super::input::{LINES_MAX, Line, NewOrder};
use super::profile::Profile;
use super::texts::{Sold, Texts, array, decimal, money, packed};
use super::way::{
    BEGIN, COMMIT, Change, Mode, ROLLBACK, Set, UNUSED_CODE, Way, call, decimal_of, int, int_of,
    missing,
};
use crate::oltp::engine::Engine;
pub use function::function;
use prony_session::{Db, DbError, Rows};
use prony_wire::{Statement, Value};

/// What a new order came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ordered {
    /// Rolled back as intended.
    pub rolled_back: bool,
    /// What the customer is to pay, cents; 0 where the profile does not compute it.
    pub total_cents: i64,
    /// Lines of which item and stock are both original.
    pub brand_lines: u32,
}

impl Ordered {
    fn unused() -> Self {
        Ordered {
            rolled_back: true,
            ..Ordered::default()
        }
    }
}

/// Carries out new orders.
#[derive(Debug)]
pub struct NewOrders {
    engine: Engine,
    profile: &'static Profile,
    way: Way<Box<Sql>>,
}

/// The statements.
#[derive(Debug)]
struct Sql {
    begin: Statement,
    warehouse: Statement,
    customer: Statement,
    district: Change,
    order: Statement,
    queue: Statement,
    item: Statement,
    /// By district.
    stock: [Statement; 10],
    take: Statement,
    line: Statement,
    commit: Statement,
    rollback: Statement,
}

const WAREHOUSE: &str = "SELECT w_tax FROM warehouse WHERE w_id = $1";
const CUSTOMER: &str = "SELECT c_discount, c_last, c_credit FROM customer \
     WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3";
const DISTRICT: &str = "d_w_id = $1 AND d_id = $2";
const ORDER: &str = "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, \
     o_ol_cnt, o_all_local) VALUES ($1, $2, $3, $4, now(), NULL, $5, $6)";
const QUEUE: &str = "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES ($1, $2, $3)";
const ITEM: &str = "SELECT i_price, i_name, i_data FROM item WHERE i_id = $1";
const TAKE: &str = "UPDATE stock SET s_quantity = $3 WHERE s_i_id = $1 AND s_w_id = $2";
const TAKE_COUNTED: &str = "UPDATE stock SET s_quantity = $3, s_ytd = s_ytd + $4, \
     s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + $5 \
     WHERE s_i_id = $1 AND s_w_id = $2";
const LINE: &str = "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, \
     ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) \
     VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9)";

impl Sql {
    fn new(set: &mut Set, profile: &Profile) -> Self {
        Sql {
            begin: set.add(BEGIN),
            warehouse: set.add(WAREHOUSE),
            customer: set.add(CUSTOMER),
            district: set.change(
                "district",
                "d_next_o_id = d_next_o_id + 1",
                DISTRICT,
                "d_next_o_id - 1, d_tax",
            ),
            order: set.add(ORDER),
            queue: set.add(QUEUE),
            item: set.add(ITEM),
            stock: std::array::from_fn(|place| {
                set.add(&format!(
                    "SELECT s_quantity, s_dist_{:02}, s_data FROM stock \
                     WHERE s_i_id = $1 AND s_w_id = $2 FOR UPDATE",
                    place + 1
                ))
            }),
            take: set.add(if profile.counters { TAKE_COUNTED } else { TAKE }),
            line: set.add(LINE),
            commit: set.add(COMMIT),
            rollback: set.add(ROLLBACK),
        }
    }
}

impl NewOrders {
    /// In this mode, by this profile.
    pub fn new(set: &mut Set, mode: Mode, profile: &'static Profile) -> Self {
        // MySQL's procedures have no arrays: the lines are one text.
        let arguments = match set.engine {
            Engine::Postgres => 9,
            Engine::MySql => 5,
        };
        let call = call(
            set.engine,
            &function(profile).name,
            arguments,
            !profile.outputs,
        );
        let way = Way::new(mode, set, &call, |set| Box::new(Sql::new(set, profile)));
        NewOrders {
            engine: set.engine,
            profile,
            way: way.writing(),
        }
    }

    /// Carries one out.
    pub async fn run(
        &self,
        input: &NewOrder,
        db: &mut Db,
        texts: &mut Texts,
    ) -> Result<Ordered, DbError> {
        match &self.way {
            Way::Call(call) => self.call(call, input, db, texts).await,
            Way::Each(sql) => self.each(sql, input, db, texts).await,
            Way::Pipelined(sql) => self.pipelined(sql, input, db, texts).await,
        }
    }
}

/// What is known of the customer, the district and the warehouse.
#[derive(Clone, Copy)]
struct Terms {
    o_id: i64,
    /// Ten-thousandths, as the taxes are.
    discount: i64,
    w_tax: i64,
    d_tax: i64,
}

impl Terms {
    /// Sum x (1 - discount) x (1 + both taxes), in cents, rounded [2.4.3.3].
    fn total_cents(self, sum_cents: i64) -> i64 {
        let scaled = sum_cents * (10_000 - self.discount) * (10_000 + self.w_tax + self.d_tax);
        (scaled + 50_000_000) / 100_000_000
    }
}

impl NewOrders {
    async fn call(
        &self,
        call: &Statement,
        input: &NewOrder,
        db: &mut Db,
        texts: &mut Texts,
    ) -> Result<Ordered, DbError> {
        match self.asked(call, input, db, texts).await {
            // How a procedure says that it met an unused item.
            Ok(rows) if input.unused && rows.int(0).is_none() => Ok(Ordered::unused()),
            Ok(rows) => {
                int_of(&rows, 0, "the order that was made")?;
                if !self.profile.outputs {
                    return Ok(Ordered::default());
                }
                let row = rows.first();
                let brands = row.and_then(|row| row.text(2)).unwrap_or("");
                Ok(Ordered {
                    rolled_back: false,
                    total_cents: decimal_of(row, 1, 2, "the total of an order")?,
                    brand_lines: brands.bytes().filter(|letter| *letter == b'B').count() as u32,
                })
            }
            // How a function says it.
            Err(error) if error.code == UNUSED_CODE && input.unused => Ok(Ordered::unused()),
            Err(error) => Err(error),
        }
    }

    /// Makes the call, with its lines in the engine's form.
    async fn asked<'a>(
        &self,
        call: &Statement,
        input: &NewOrder,
        db: &'a mut Db,
        texts: &mut Texts,
    ) -> Result<Rows<'a>, DbError> {
        let [w, d, c] = [int(input.w_id), int(input.d_id), int(input.c_id)];
        let all_local = int(input.remote_lines() == 0);
        let lines = input.lines();
        if self.engine == Engine::MySql {
            packed(&mut texts.items, lines);
            let values = [w, d, c, all_local, Value::Text(&texts.items)];
            return db.exec(call, &values).await;
        }
        array(&mut texts.items, lines.iter().map(|line| line.item));
        array(&mut texts.supplies, lines.iter().map(|line| line.supply));
        array(
            &mut texts.quantities,
            lines.iter().map(|line| line.quantity),
        );
        array(&mut texts.waves, lines.iter().map(|line| line.wave));
        let values = [
            w,
            d,
            c,
            all_local,
            Value::Text(&texts.items),
            Value::Text(&texts.supplies),
            Value::Text(&texts.quantities),
            Value::Text(&texts.waves),
            int(input.waves()),
        ];
        db.exec(call, &values).await
    }

    async fn each(
        &self,
        sql: &Sql,
        input: &NewOrder,
        db: &mut Db,
        texts: &mut Texts,
    ) -> Result<Ordered, DbError> {
        let [w, d, c] = [int(input.w_id), int(input.d_id), int(input.c_id)];
        db.exec(&sql.begin, &[]).await?;
        let rows = db.exec(&sql.warehouse, &[w]).await?;
        let w_tax = decimal_of(rows.first(), 0, 4, "the warehouse")?;
        drop(rows);
        let rows = db.exec(&sql.customer, &[w, d, c]).await?;
        let discount = decimal_of(rows.first(), 0, 4, "the customer")?;
        drop(rows);
        let rows = sql.district.run(db, &[w, d]).await?;
        let terms = Terms {
            o_id: int_of(&rows, 0, "the district")?,
            discount,
            w_tax,
            d_tax: decimal_of(rows.first(), 1, 4, "the district")?,
        };
        drop(rows);
        db.exec(&sql.order, &order(input, terms.o_id)).await?;
        db.exec(&sql.queue, &[int(terms.o_id), d, w]).await?;
        for (place, line) in input.lines().iter().enumerate() {
            let sold = &mut texts.lines[place];
            sold.clear();
            let rows = db.exec(&sql.item, &[int(line.item)]).await?;
            let original = sold.item(rows.first());
            drop(rows);
            if sold.price_cents.is_none() && self.profile.rolls_back {
                if !input.unused {
                    return Err(missing("an item"));
                }
                db.exec(&sql.rollback, &[]).await?;
                return Ok(Ordered::unused());
            }
            let stock = &sql.stock[input.d_id as usize - 1];
            let rows = db.exec(stock, &[int(line.item), int(line.supply)]).await?;
            sold.stock(rows.first(), original);
            drop(rows);
            if let Some(after) = sold.after(line)? {
                let values = take(line, after, input.w_id);
                db.exec(&sql.take, &values[..sql.take.parameters()]).await?;
            }
            let values = inserted(input, terms.o_id, place, sold, &mut texts.amount);
            db.exec(&sql.line, &values).await?;
        }
        db.exec(&sql.commit, &[]).await?;
        Ok(self.ordered(input, terms, texts))
    }

    async fn pipelined(
        &self,
        sql: &Sql,
        input: &NewOrder,
        db: &mut Db,
        texts: &mut Texts,
    ) -> Result<Ordered, DbError> {
        let terms = ask(sql, input, db, texts).await?;
        db.push(&sql.order, &order(input, terms.o_id))?;
        db.push(
            &sql.queue,
            &[int(terms.o_id), int(input.d_id), int(input.w_id)],
        )?;
        let mut rolls_back = false;
        let mut before: Option<i64> = None;
        for (place, line) in input.lines().iter().enumerate() {
            let sold = &mut texts.lines[place];
            if sold.price_cents.is_none() && self.profile.rolls_back {
                if !input.unused {
                    return Err(missing("an item"));
                }
                rolls_back = true;
                break;
            }
            if line.wave > 1 {
                // The line before it took from the same row, after this one had been read.
                sold.stock = before;
            }
            before = sold.after(line)?;
            if let Some(after) = before {
                let values = take(line, after, input.w_id);
                db.push(&sql.take, &values[..sql.take.parameters()])?;
            }
            let values = inserted(input, terms.o_id, place, sold, &mut texts.amount);
            db.push(&sql.line, &values)?;
        }
        db.push(
            if rolls_back {
                &sql.rollback
            } else {
                &sql.commit
            },
            &[],
        )?;
        db.sync().await?;
        if rolls_back {
            return Ok(Ordered::unused());
        }
        Ok(self.ordered(input, terms, texts))
    }

    /// What a committed order came to.
    fn ordered(&self, input: &NewOrder, terms: Terms, texts: &Texts) -> Ordered {
        if !self.profile.outputs {
            return Ordered::default();
        }
        let lines = || texts.lines.iter().zip(input.lines());
        let amount =
            |(sold, line): (&Sold, &Line)| Some(sold.price_cents? * i64::from(line.quantity));
        Ordered {
            rolled_back: false,
            total_cents: terms.total_cents(lines().filter_map(amount).sum()),
            brand_lines: lines().filter(|(sold, _)| sold.brand).count() as u32,
        }
    }
}

/// All that is read, in one round trip: nothing of it depends on the rest.
async fn ask(
    sql: &Sql,
    input: &NewOrder,
    db: &mut Db,
    texts: &mut Texts,
) -> Result<Terms, DbError> {
    let [w, d, c] = [int(input.w_id), int(input.d_id), int(input.c_id)];
    db.push(&sql.begin, &[])?;
    db.push(&sql.warehouse, &[w])?;
    db.push(&sql.customer, &[w, d, c])?;
    sql.district.push(db, &[w, d])?;
    for line in input.lines() {
        db.push(&sql.item, &[int(line.item)])?;
        let stock = &sql.stock[input.d_id as usize - 1];
        db.push(stock, &[int(line.item), int(line.supply)])?;
    }
    texts.lines.iter_mut().for_each(Sold::clear);
    let (mut w_tax, mut discount, mut d_tax, mut o_id) = (None, None, None, None);
    let mut originals = [false; LINES_MAX];
    let rows = db.sync().await?;
    // Behind those of BEGIN, the warehouse and the customer; then of each line an item and a stock.
    let district_at = 2 + sql.district.results();
    for (result, row) in rows.iter() {
        let tax = |column| row.text(column).and_then(|text| decimal(text, 4));
        match result {
            1 => w_tax = tax(0),
            2 => discount = tax(0),
            _ if result == district_at => (o_id, d_tax) = (row.int(0), tax(1)),
            _ if result > district_at => {
                let at = result - district_at - 1;
                let place = at / 2;
                let Some(sold) = texts.lines.get_mut(place) else {
                    continue;
                };
                if at.is_multiple_of(2) {
                    originals[place] = sold.item(Some(row));
                } else {
                    sold.stock(Some(row), originals[place]);
                }
            }
            _ => {}
        }
    }
    Ok(Terms {
        o_id: o_id.ok_or_else(|| missing("the district"))?,
        discount: discount.ok_or_else(|| missing("the customer"))?,
        w_tax: w_tax.ok_or_else(|| missing("the warehouse"))?,
        d_tax: d_tax.ok_or_else(|| missing("the district"))?,
    })
}

/// Values of the order's own row.
fn order(input: &NewOrder, o_id: i64) -> [Value<'static>; 6] {
    [
        int(o_id),
        int(input.d_id),
        int(input.w_id),
        int(input.c_id),
        int(input.lines().len() as i64),
        int(input.remote_lines() == 0),
    ]
}

/// Values of an update of stock; those after the third where counters are kept.
fn take(line: &Line, after: i64, w_id: u32) -> [Value<'static>; 5] {
    [
        int(line.item),
        int(line.supply),
        int(after),
        int(line.quantity),
        int(line.supply != w_id),
    ]
}

/// Values of a line's row.
fn inserted<'a>(
    input: &NewOrder,
    o_id: i64,
    place: usize,
    sold: &'a Sold,
    amount: &'a mut String,
) -> [Value<'a>; 9] {
    let line = &input.lines()[place];
    let known = sold.price_cents.inspect(|price| {
        money(amount, price * i64::from(line.quantity));
    });
    [
        int(o_id),
        int(input.d_id),
        int(input.w_id),
        int(place as i64 + 1),
        int(line.item),
        int(line.supply),
        int(line.quantity),
        known.map_or(Value::Null, |_| Value::Text(amount)),
        sold.stock.map_or(Value::Null, |_| Value::Text(&sold.dist)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_discounted_taxed_and_rounded() {
        let terms = |discount, w_tax, d_tax| Terms {
            o_id: 1,
            discount,
            w_tax,
            d_tax,
        };
        assert_eq!(terms(0, 0, 0).total_cents(12_345), 12_345);
        assert_eq!(terms(5_000, 2_000, 0).total_cents(1_000), 600);
        // 0.01 x 0.5 = 0.005, rounded up.
        assert_eq!(terms(5_000, 0, 0).total_cents(1), 1);
        assert_eq!(terms(1_234, 567, 890).total_cents(100_000), 100_432);
    }
}
