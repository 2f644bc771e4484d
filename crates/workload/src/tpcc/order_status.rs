//! An order-status [2.6]: a customer's newest order and its lines.
//!
//! In: its input. Out: what a terminal shows. Must never: change a row, or show an order of one
//! state of the database with lines of another.

use super::customers::{Names, choosing, chosen};
use super::input::{OrderStatus, Who};
use super::procedures::Function;
use super::profile::Profile;
use super::way::{COMMIT, Mode, Set, Way, call, int, missing};
use crate::oltp::engine::Engine;
use prony_session::{Db, DbError, Rows};
use prony_wire::{Statement, Value};

/// Carries out order-statuses.
#[derive(Debug)]
pub struct Statuses {
    way: Way<Sql>,
}

#[derive(Debug)]
struct Sql {
    begin: Statement,
    names: Statement,
    customer: Statement,
    order: Statement,
    lines: Statement,
    commit: Statement,
}

/// One state of the database for all statements; only reading, this cannot fail by serialization.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
/// The same: repeatable read is the level of a session unless the server's administrator chose
/// another, and then whoever uses the server has chosen it too.
pub(super) const MYSQL_BEGIN: &str = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY";
const NAMES: &str = "SELECT c_id, c_balance, c_first, c_middle FROM customer \
     WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first, c_id";
const CUSTOMER: &str = "SELECT c_balance, c_first, c_middle, c_last FROM customer \
     WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3";
const ORDER: &str = "SELECT o_id, o_carrier_id, o_entry_d FROM orders \
     WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 ORDER BY o_id DESC LIMIT 1";
const LINES: &str = "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d \
     FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3";

impl Statuses {
    /// In this mode, by this profile.
    pub fn new(set: &mut Set, mode: Mode, profile: &Profile) -> Self {
        let call = call(set.engine, &function(profile).name, 4, false);
        let each = |set: &mut Set| Sql {
            begin: set.add(match set.engine {
                Engine::Postgres => BEGIN,
                Engine::MySql => MYSQL_BEGIN,
            }),
            names: set.add(NAMES),
            customer: set.add(CUSTOMER),
            order: set.add(ORDER),
            lines: set.add(LINES),
            commit: set.add(COMMIT),
        };
        Statuses {
            way: Way::new(mode, set, &call, each),
        }
    }

    /// Carries one out; gives how many lines the order has: 0 where the customer has none, which
    /// HammerDB's data allows.
    pub async fn run(
        &self,
        input: &OrderStatus,
        names: &Names,
        db: &mut Db,
    ) -> Result<u32, DbError> {
        match &self.way {
            Way::Call(call) => {
                let [number, name] = names.values(input.who);
                let values = [int(input.w_id), int(input.d_id), number, name];
                let rows = db.exec(call, &values).await?;
                let lines = rows.int(0).ok_or_else(|| missing("the customer"))?;
                Ok(lines as u32)
            }
            Way::Each(sql) => each(sql, input, names, db).await,
            Way::Pipelined(sql) => pipelined(sql, input, names, db).await,
        }
    }
}

async fn each(sql: &Sql, input: &OrderStatus, names: &Names, db: &mut Db) -> Result<u32, DbError> {
    let [w, d] = [int(input.w_id), int(input.d_id)];
    db.exec(&sql.begin, &[]).await?;
    let c_id = match input.who {
        Who::Number(c_id) => c_id,
        Who::Name { name, otherwise } => {
            let name = Value::Text(names.get(name));
            let rows = db.exec(&sql.names, &[w, d, name]).await?;
            match (chosen(&rows, 0, None), otherwise) {
                (Ok(c_id), _) => {
                    drop(rows);
                    return rest(sql, [w, d, int(c_id)], db).await;
                }
                (Err(error), None) => return Err(error),
                (Err(_), Some(c_id)) => c_id,
            }
        }
    };
    let c = int(c_id);
    let rows = db.exec(&sql.customer, &[w, d, c]).await?;
    has(&rows, 0)?;
    drop(rows);
    rest(sql, [w, d, c], db).await
}

/// The order and its lines, statement by statement.
async fn rest(sql: &Sql, [w, d, c]: [Value<'_>; 3], db: &mut Db) -> Result<u32, DbError> {
    let o_id = db.exec(&sql.order, &[w, d, c]).await?.int(0);
    let mut lines = 0;
    if let Some(o_id) = o_id {
        let rows = db.exec(&sql.lines, &[w, d, int(o_id)]).await?;
        lines = rows.iter().count() as u32;
    }
    db.exec(&sql.commit, &[]).await?;
    Ok(lines)
}

async fn pipelined(
    sql: &Sql,
    input: &OrderStatus,
    names: &Names,
    db: &mut Db,
) -> Result<u32, DbError> {
    let [w, d] = [int(input.w_id), int(input.d_id)];
    db.push(&sql.begin, &[])?;
    let (rows, order) = match input.who {
        Who::Number(c_id) => {
            db.push(&sql.customer, &[w, d, int(c_id)])?;
            db.push(&sql.order, &[w, d, int(c_id)])?;
            let rows = db.sync().await?;
            has(&rows, 1)?;
            (rows, 2)
        }
        Who::Name { name, otherwise } => {
            db.push(&sql.names, &[w, d, Value::Text(names.get(name))])?;
            let rows = db.sync().await?;
            let found = chosen(&rows, 1, None);
            drop(rows);
            let (c_id, order) = match (found, otherwise) {
                (Ok(c_id), _) => (c_id, 0),
                (Err(error), None) => return Err(error),
                (Err(_), Some(c_id)) => {
                    db.push(&sql.customer, &[w, d, int(c_id)])?;
                    (c_id.into(), 1)
                }
            };
            db.push(&sql.order, &[w, d, int(c_id)])?;
            let rows = db.sync().await?;
            if order > 0 {
                has(&rows, 0)?;
            }
            (rows, order)
        }
    };
    let newest = rows.iter().find(|(result, _)| *result == order);
    let o_id = newest.and_then(|(_, row)| row.int(0));
    drop(rows);
    if let Some(o_id) = o_id {
        db.push(&sql.lines, &[w, d, int(o_id)])?;
    }
    db.push(&sql.commit, &[])?;
    let rows = db.sync().await?;
    Ok(rows.iter().count() as u32)
}

/// Whether the customer is there.
fn has(rows: &Rows<'_>, result: usize) -> Result<(), DbError> {
    match rows.iter().any(|(number, _)| number == result) {
        true => Ok(()),
        false => Err(missing("the customer")),
    }
}

/// The function.
pub fn function(profile: &Profile) -> Function {
    let body = BODY.replace("{choosing}", &choosing("p_w_id", "p_d_id"));
    Function::new(profile.routine, "order_status", PARAMETERS, true, body)
}

const PARAMETERS: &str = "p_w_id int, p_d_id int, p_c_id int, p_c_last text, out r_lines int, \
     out r_c_id int, out r_balance numeric, out r_first text, out r_middle text, out r_last text, \
     out r_o_id int, out r_carrier_id int, out r_entry_d timestamptz, out r_items int[], \
     out r_supplies int[], out r_quantities int[], out r_amounts numeric[], \
     out r_delivery_d timestamptz[]";

const BODY: &str = "
declare
  v_c_id int;
  v_found int[];
begin
{choosing}
  select c_id, c_balance, c_first, c_middle, c_last
    into strict r_c_id, r_balance, r_first, r_middle, r_last
    from customer where c_w_id = p_w_id and c_d_id = p_d_id and c_id = v_c_id;
  select o_id, o_carrier_id, o_entry_d into r_o_id, r_carrier_id, r_entry_d
    from orders where o_w_id = p_w_id and o_d_id = p_d_id and o_c_id = v_c_id
    order by o_id desc limit 1;
  select count(*), array_agg(ol_i_id), array_agg(ol_supply_w_id), array_agg(ol_quantity::int),
      array_agg(ol_amount::numeric), array_agg(ol_delivery_d)
    into r_lines, r_items, r_supplies, r_quantities, r_amounts, r_delivery_d
    from order_line where ol_w_id = p_w_id and ol_d_id = p_d_id and ol_o_id = r_o_id;
end
";
