//! A delivery [2.7]: the oldest undelivered order of each district of a warehouse.
//!
//! In: its input. Out: delivered orders. Must never: deliver an order twice, or pass one over because
//! another delivery has just taken the one before it.
//!
//! All districts are one transaction. Who waits for it is `pacing`'s matter.

use super::input::Delivery;
use super::procedures::Function;
use super::profile::Profile;
use super::schema::DISTRICTS;
use super::texts::{Texts, decimal, money};
use super::way::{BEGIN, COMMIT, Change, Mode, Set, Way, call, int, int_of, missing};
use prony_session::{Db, DbError};
use prony_wire::{Row, Statement, Value};

/// Carries out deliveries.
#[derive(Debug)]
pub struct Deliveries {
    way: Way<Sql>,
}

#[derive(Debug)]
struct Sql {
    begin: Statement,
    oldest: Statement,
    unqueue: Statement,
    order: Change,
    lines: Statement,
    sum: Statement,
    customer: Statement,
    commit: Statement,
}

/// The lock passes on to the next order where another delivery takes this one meanwhile.
const OLDEST: &str = "SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 \
     ORDER BY no_o_id LIMIT 1 FOR UPDATE";
const UNQUEUE: &str = "DELETE FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = $3";
const ORDER: &str = "o_w_id = $1 AND o_d_id = $2 AND o_id = $3";
const LINES: &str = "UPDATE order_line SET ol_delivery_d = now() \
     WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3";
const SUM: &str = "SELECT coalesce(sum(ol_amount), 0) FROM order_line \
     WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3";
const CUSTOMER: &str = "UPDATE customer SET c_balance = c_balance + $4{counted} \
     WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3";
const COUNTED: &str = ", c_delivery_cnt = c_delivery_cnt + 1";

impl Deliveries {
    /// In this mode, by this profile.
    pub fn new(set: &mut Set, mode: Mode, profile: &Profile) -> Self {
        let call = call(set.engine, &function(profile).name, 2, true);
        let counted = if profile.counters { COUNTED } else { "" };
        let each = |set: &mut Set| Sql {
            begin: set.add(BEGIN),
            oldest: set.add(OLDEST),
            unqueue: set.add(UNQUEUE),
            order: set.change("orders", "o_carrier_id = $4", ORDER, "o_c_id"),
            lines: set.add(LINES),
            sum: set.add(SUM),
            customer: set.add(&CUSTOMER.replace("{counted}", counted)),
            commit: set.add(COMMIT),
        };
        Deliveries {
            way: Way::new(mode, set, &call, each).writing(),
        }
    }

    /// Carries one out; gives how many districts had an order to deliver.
    pub async fn run(
        &self,
        input: &Delivery,
        db: &mut Db,
        texts: &mut Texts,
    ) -> Result<u32, DbError> {
        match &self.way {
            Way::Call(call) => {
                let values = [int(input.w_id), int(input.carrier)];
                let rows = db.exec(call, &values).await?;
                Ok(int_of(&rows, 0, "the count of deliveries")? as u32)
            }
            Way::Each(sql) => each(sql, input, db, texts).await,
            Way::Pipelined(sql) => pipelined(sql, input, db, texts).await,
        }
    }
}

async fn each(sql: &Sql, input: &Delivery, db: &mut Db, texts: &mut Texts) -> Result<u32, DbError> {
    let w = int(input.w_id);
    let mut delivered = 0;
    db.exec(&sql.begin, &[]).await?;
    for district in 1..=DISTRICTS {
        let d = int(district);
        let oldest = db.exec(&sql.oldest, &[w, d]).await?.int(0);
        let Some(o_id) = oldest else {
            continue;
        };
        let o = int(o_id);
        db.exec(&sql.unqueue, &[w, d, o]).await?;
        let values = [w, d, o, int(input.carrier)];
        let rows = sql.order.run(db, &values).await?;
        let c_id = int_of(&rows, 0, "a queued order")?;
        drop(rows);
        db.exec(&sql.lines, &[w, d, o]).await?;
        let rows = db.exec(&sql.sum, &[w, d, o]).await?;
        sum_of(&mut texts.amount, rows.first())?;
        drop(rows);
        let values = [w, d, int(c_id), Value::Text(&texts.amount)];
        db.exec(&sql.customer, &values).await?;
        delivered += 1;
    }
    db.exec(&sql.commit, &[]).await?;
    Ok(delivered)
}

/// What is known of one district's order.
#[derive(Clone, Copy, Default)]
struct Found {
    o_id: i64,
    c_id: Option<i64>,
    cents: Option<i64>,
}

async fn pipelined(
    sql: &Sql,
    input: &Delivery,
    db: &mut Db,
    texts: &mut Texts,
) -> Result<u32, DbError> {
    let w = int(input.w_id);
    let mut found = [None::<Found>; DISTRICTS as usize];
    db.push(&sql.begin, &[])?;
    for district in 1..=DISTRICTS {
        db.push(&sql.oldest, &[w, int(district)])?;
    }
    for (result, row) in db.sync().await?.iter() {
        // Result 0 is that of BEGIN.
        if let (Some(found), Some(o_id)) = (found.get_mut(result.wrapping_sub(1)), row.int(0)) {
            *found = Some(Found {
                o_id,
                ..Found::default()
            });
        }
    }
    for (district, found) in (1..).zip(&found) {
        let Some(found) = found else {
            continue;
        };
        let [d, o] = [int(district), int(found.o_id)];
        db.push(&sql.unqueue, &[w, d, o])?;
        sql.order.push(db, &[w, d, o, int(input.carrier)])?;
        db.push(&sql.lines, &[w, d, o])?;
        db.push(&sql.sum, &[w, d, o])?;
    }
    let delivered = found.iter().flatten().count();
    if delivered > 0 {
        customers(sql, db, &mut found).await?;
    }
    for (district, found) in (1..).zip(&found) {
        let Some(found) = found else {
            continue;
        };
        let c_id = found.c_id.ok_or_else(|| missing("a queued order"))?;
        let cents = found.cents.ok_or_else(|| missing("the sum of an order"))?;
        money(&mut texts.amount, cents);
        let amount = Value::Text(&texts.amount);
        db.push(&sql.customer, &[w, int(district), int(c_id), amount])?;
    }
    db.push(&sql.commit, &[])?;
    db.sync().await?;
    Ok(delivered as u32)
}

/// Sends what was pushed, and takes the customer and the sum of each order: the last result of its
/// change, behind that of the queue, and the last one of all.
async fn customers(sql: &Sql, db: &mut Db, found: &mut [Option<Found>]) -> Result<(), DbError> {
    let customer_at = sql.order.results();
    let sum_at = customer_at + 2;
    let rows = db.sync().await?;
    for (result, row) in rows.iter() {
        let Some(found) = found.iter_mut().flatten().nth(result / (sum_at + 1)) else {
            continue;
        };
        let at = result % (sum_at + 1);
        if at == customer_at {
            found.c_id = row.int(0);
        } else if at == sum_at {
            found.cents = row.text(0).and_then(|text| decimal(text, 2));
        }
    }
    Ok(())
}

fn sum_of(out: &mut String, row: Option<Row<'_>>) -> Result<(), DbError> {
    let sum = row.and_then(|row| row.text(0));
    out.clear();
    out.push_str(sum.ok_or_else(|| missing("the sum of an order"))?);
    Ok(())
}

/// The function: all districts at once.
pub fn function(profile: &Profile) -> Function {
    let counted = if profile.counters { COUNTED } else { "" };
    let body = BODY.replace("{counted}", counted);
    Function::new(profile.routine, "delivery", PARAMETERS, false, body)
}

const PARAMETERS: &str = "p_w_id int, p_carrier int, out r_delivered int";

const BODY: &str = "
begin
  with oldest as materialized (
    select district, no_o_id from generate_series(1, 10) as d (district)
      cross join lateral (select no_o_id from new_order
        where no_w_id = p_w_id and no_d_id = district
        order by no_o_id limit 1 for update) as o
  ), gone as (
    delete from new_order using oldest
      where no_w_id = p_w_id and no_d_id = district and new_order.no_o_id = oldest.no_o_id
      returning district, oldest.no_o_id as o_id
  ), sent as (
    update orders set o_carrier_id = p_carrier from gone
      where o_w_id = p_w_id and o_d_id = gone.district and orders.o_id = gone.o_id
      returning gone.district, o_c_id
  ), line as (
    update order_line set ol_delivery_d = now() from gone
      where ol_w_id = p_w_id and ol_d_id = gone.district and ol_o_id = gone.o_id
      returning gone.district, ol_amount
  ), owed as (
    select district, coalesce(sum(ol_amount), 0) as amount from line group by district
  )
  update customer set c_balance = c_balance + owed.amount{counted}
    from sent join owed using (district)
    where c_w_id = p_w_id and c_d_id = sent.district and c_id = sent.o_c_id;
  get diagnostics r_delivered = row_count;
end
";
