//! A stock-level [2.8]: how many items of a district's last 20 orders run low.
//!
//! In: its input. Out: a count. Must never: change a row. Read committed suffices.

use super::input::StockLevel;
use super::procedures::Function;
use super::profile::Profile;
use super::way::{BEGIN, COMMIT, Mode, Set, Way, call, int, int_of, missing};
use prony_session::{Db, DbError};
use prony_wire::Statement;

/// Carries out stock-levels.
#[derive(Debug)]
pub struct StockLevels {
    way: Way<Sql>,
}

#[derive(Debug)]
struct Sql {
    begin: Statement,
    district: Statement,
    low: Statement,
    commit: Statement,
}

const DISTRICT: &str = "SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2";
const LOW: &str = "SELECT count(DISTINCT s_i_id) FROM order_line \
     JOIN stock ON s_i_id = ol_i_id AND s_w_id = ol_w_id \
     WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 AND ol_o_id < $4 AND s_quantity < $5";

/// Orders that are looked at.
const ORDERS: i64 = 20;

impl StockLevels {
    /// In this mode, by this profile.
    pub fn new(set: &mut Set, mode: Mode, profile: &Profile) -> Self {
        let call = call(set.engine, &function(profile).name, 3, true);
        let each = |set: &mut Set| Sql {
            begin: set.add(BEGIN),
            district: set.add(DISTRICT),
            low: set.add(LOW),
            commit: set.add(COMMIT),
        };
        StockLevels {
            way: Way::new(mode, set, &call, each),
        }
    }

    /// Carries one out; gives how many items run low.
    pub async fn run(&self, input: &StockLevel, db: &mut Db) -> Result<u32, DbError> {
        let [w, d, low] = [int(input.w_id), int(input.d_id), int(input.threshold)];
        let count = match &self.way {
            Way::Call(call) => {
                let rows = db.exec(call, &[w, d, low]).await?;
                int_of(&rows, 0, "the count of items")?
            }
            Way::Each(sql) => {
                db.exec(&sql.begin, &[]).await?;
                let rows = db.exec(&sql.district, &[w, d]).await?;
                let next = int_of(&rows, 0, "the district")?;
                drop(rows);
                let values = [w, d, int(next - ORDERS), int(next), low];
                let rows = db.exec(&sql.low, &values).await?;
                let count = int_of(&rows, 0, "the count of items")?;
                drop(rows);
                db.exec(&sql.commit, &[]).await?;
                count
            }
            Way::Pipelined(sql) => {
                db.push(&sql.begin, &[])?;
                db.push(&sql.district, &[w, d])?;
                let rows = db.sync().await?;
                let next = rows.int(0).ok_or_else(|| missing("the district"))?;
                drop(rows);
                let values = [w, d, int(next - ORDERS), int(next), low];
                db.push(&sql.low, &values)?;
                db.push(&sql.commit, &[])?;
                let rows = db.sync().await?;
                int_of(&rows, 0, "the count of items")?
            }
        };
        Ok(count as u32)
    }
}

/// The function.
pub fn function(profile: &Profile) -> Function {
    let body = BODY.to_owned();
    Function::new(profile.routine, "stock_level", PARAMETERS, true, body)
}

const PARAMETERS: &str = "p_w_id int, p_d_id int, p_threshold int, out r_low int";

const BODY: &str = "
declare
  v_next int;
begin
  select d_next_o_id into strict v_next from district where d_w_id = p_w_id and d_id = p_d_id;
  select count(distinct s_i_id) into r_low from order_line
    join stock on s_i_id = ol_i_id and s_w_id = ol_w_id
    where ol_w_id = p_w_id and ol_d_id = p_d_id and ol_o_id >= v_next - 20 and ol_o_id < v_next
      and s_quantity < p_threshold;
end
";
