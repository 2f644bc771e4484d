//! A payment [2.5].
//!
//! In: its input. Out: changed balances and a row of history. Must never: differ between the modes
//! in what is in the database afterwards.
//!
//! In each mode the customer's row is changed first, then the district's, and the warehouse's, which
//! all payments of a warehouse wait for, last.

use super::customers::{Names, choosing, chosen};
use super::input::{Payment, Who};
use super::procedures::Function;
use super::profile::Profile;
use super::texts::{Texts, money, write};
use super::way::{BEGIN, COMMIT, Change, Mode, Set, Way, call, int, missing};
use crate::oltp::engine::Engine;
use prony_session::{Db, DbError, Rows};
use prony_wire::{Statement, Value};

/// Carries out payments.
#[derive(Debug)]
pub struct Payments {
    way: Way<Sql>,
}

#[derive(Debug)]
struct Sql {
    begin: Statement,
    names: Statement,
    customer: Change,
    district: Change,
    warehouse: Change,
    history: Statement,
    commit: Statement,
}

const NAMES: &str = "SELECT c_id FROM customer \
     WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first, c_id";
const CUSTOMER: &str = "c_balance = c_balance - $4{counted}, \
     c_data = CASE WHEN c_credit = 'BC' THEN left({data}, 500) ELSE c_data END";
const CUSTOMER_KEY: &str = "c_w_id = $1 AND c_d_id = $2 AND c_id = $3";
const CUSTOMER_SHOWN: &str = "c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, \
     c_since, c_credit, c_credit_lim, c_discount, c_balance, \
     CASE WHEN c_credit = 'BC' THEN left(c_data, 200) END";
const COUNTED: &str = ", c_ytd_payment = c_ytd_payment + $4, c_payment_cnt = c_payment_cnt + 1";
const DISTRICT_SHOWN: &str = "d_name, d_street_1, d_street_2, d_city, d_state, d_zip";
const WAREHOUSE_SHOWN: &str = "w_name, w_street_1, w_street_2, w_city, w_state, w_zip";
const HISTORY: &str = "INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, \
     h_amount, h_data) VALUES ($1, $2, $3, $4, $5, now(), $6, $7)";

impl Sql {
    fn new(set: &mut Set, profile: &Profile) -> Self {
        let counted = if profile.counters { COUNTED } else { "" };
        let data = match set.engine {
            Engine::Postgres => "$5 || c_data",
            // The connection's character set is another than the column's.
            Engine::MySql => "concat(convert($5 using latin1), c_data)",
        };
        let customer = CUSTOMER
            .replace("{counted}", counted)
            .replace("{data}", data);
        let ytd = "d_ytd = d_ytd + $3";
        let district = "d_w_id = $1 AND d_id = $2";
        Sql {
            begin: set.add(BEGIN),
            names: set.add(NAMES),
            customer: set.change("customer", &customer, CUSTOMER_KEY, CUSTOMER_SHOWN),
            district: set.change("district", ytd, district, DISTRICT_SHOWN),
            warehouse: set.change(
                "warehouse",
                "w_ytd = w_ytd + $2",
                "w_id = $1",
                WAREHOUSE_SHOWN,
            ),
            history: set.add(HISTORY),
            commit: set.add(COMMIT),
        }
    }
}

impl Payments {
    /// In this mode, by this profile.
    pub fn new(set: &mut Set, mode: Mode, profile: &Profile) -> Self {
        let call = call(set.engine, &function(profile).name, 7, !profile.outputs);
        let way = Way::new(mode, set, &call, |set| Sql::new(set, profile));
        Payments { way: way.writing() }
    }

    /// Carries one out.
    pub async fn run(
        &self,
        input: &Payment,
        names: &Names,
        db: &mut Db,
        texts: &mut Texts,
    ) -> Result<(), DbError> {
        money(&mut texts.amount, input.cents);
        match &self.way {
            Way::Call(call) => {
                let [number, name] = names.values(input.who);
                let values = [
                    int(input.w_id),
                    int(input.d_id),
                    int(input.c_w_id),
                    int(input.c_d_id),
                    number,
                    name,
                    Value::Text(&texts.amount),
                ];
                let rows = db.exec(call, &values).await?;
                rows.int(0).ok_or_else(|| missing("the customer"))?;
                Ok(())
            }
            Way::Each(sql) => each(sql, input, names, db, texts).await,
            Way::Pipelined(sql) => pipelined(sql, input, names, db, texts).await,
        }
    }
}

async fn each(
    sql: &Sql,
    input: &Payment,
    names: &Names,
    db: &mut Db,
    texts: &mut Texts,
) -> Result<(), DbError> {
    let [c_w, c_d] = [int(input.c_w_id), int(input.c_d_id)];
    db.exec(&sql.begin, &[]).await?;
    let c_id = match input.who {
        Who::Number(c_id) => c_id.into(),
        Who::Name { name, otherwise } => {
            let name = Value::Text(names.get(name));
            let rows = db.exec(&sql.names, &[c_w, c_d, name]).await?;
            chosen(&rows, 0, otherwise)?
        }
    };
    note(&mut texts.data, input, c_id, &texts.amount);
    let amount = Value::Text(&texts.amount);
    let values = [c_w, c_d, int(c_id), amount, Value::Text(&texts.data)];
    let rows = sql.customer.run(db, &values).await?;
    rows.first().ok_or_else(|| missing("the customer"))?;
    drop(rows);
    let values = [int(input.w_id), int(input.d_id), amount];
    let rows = sql.district.run(db, &values).await?;
    let district = Name::of(&rows, 0, "the district")?;
    drop(rows);
    let values = [int(input.w_id), amount];
    let rows = sql.warehouse.run(db, &values).await?;
    let warehouse = Name::of(&rows, 0, "the warehouse")?;
    drop(rows);
    history_data(&mut texts.data, &warehouse, &district);
    let values = history(input, c_id, &texts.amount, &texts.data);
    db.exec(&sql.history, &values).await?;
    db.exec(&sql.commit, &[]).await?;
    Ok(())
}

async fn pipelined(
    sql: &Sql,
    input: &Payment,
    names: &Names,
    db: &mut Db,
    texts: &mut Texts,
) -> Result<(), DbError> {
    let [c_w, c_d] = [int(input.c_w_id), int(input.c_d_id)];
    db.push(&sql.begin, &[])?;
    let (c_id, first) = match input.who {
        Who::Number(c_id) => (c_id.into(), 1),
        Who::Name { name, otherwise } => {
            db.push(&sql.names, &[c_w, c_d, Value::Text(names.get(name))])?;
            let rows = db.sync().await?;
            (chosen(&rows, 1, otherwise)?, 0)
        }
    };
    note(&mut texts.data, input, c_id, &texts.amount);
    let amount = Value::Text(&texts.amount);
    let values = [c_w, c_d, int(c_id), amount, Value::Text(&texts.data)];
    sql.customer.push(db, &values)?;
    let values = [int(input.w_id), int(input.d_id), amount];
    sql.district.push(db, &values)?;
    sql.warehouse.push(db, &[int(input.w_id), amount])?;
    let rows = db.sync().await?;
    // The last results of the three.
    let customer_at = first + sql.customer.results() - 1;
    let district_at = customer_at + sql.district.results();
    let warehouse_at = district_at + sql.warehouse.results();
    let customer = rows.iter().any(|(result, _)| result == customer_at);
    let district = Name::of(&rows, district_at, "the district")?;
    let warehouse = Name::of(&rows, warehouse_at, "the warehouse")?;
    drop(rows);
    if !customer {
        return Err(missing("the customer"));
    }
    history_data(&mut texts.data, &warehouse, &district);
    let values = history(input, c_id, &texts.amount, &texts.data);
    db.push(&sql.history, &values)?;
    db.push(&sql.commit, &[])?;
    db.sync().await?;
    Ok(())
}

/// What goes in front of the data of a customer of bad credit [2.5.2.2].
fn note(out: &mut String, input: &Payment, c_id: i64, amount: &str) {
    let Payment {
        w_id,
        d_id,
        c_w_id,
        c_d_id,
        ..
    } = input;
    out.clear();
    write(
        out,
        format_args!("{c_id} {c_d_id} {c_w_id} {d_id} {w_id} {amount}|"),
    );
}

/// A name of a warehouse or district, kept while the next statement runs: at most 10 letters, of at
/// most 4 bytes each.
struct Name {
    bytes: [u8; 40],
    length: usize,
}

impl Name {
    /// The first value of result `result`.
    fn of(rows: &Rows<'_>, result: usize, what: &str) -> Result<Name, DbError> {
        let text = rows
            .iter()
            .find(|(number, _)| *number == result)
            .and_then(|(_, row)| row.text(0))
            .ok_or_else(|| missing(what))?;
        let length = text.floor_char_boundary(40);
        let mut bytes = [0; 40];
        bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
        Ok(Name { bytes, length })
    }

    fn text(&self) -> &str {
        // It was text, and cut between two letters.
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or("")
    }
}

/// Warehouse and district with four spaces between them [2.5.2.2].
fn history_data(out: &mut String, warehouse: &Name, district: &Name) {
    out.clear();
    out.push_str(warehouse.text());
    out.push_str("    ");
    out.push_str(district.text());
}

fn history<'a>(input: &Payment, c_id: i64, amount: &'a str, data: &'a str) -> [Value<'a>; 7] {
    [
        int(input.c_d_id),
        int(input.c_w_id),
        int(c_id),
        int(input.d_id),
        int(input.w_id),
        Value::Text(amount),
        Value::Text(data),
    ]
}

/// The function.
pub fn function(profile: &Profile) -> Function {
    let counted = match profile.counters {
        true => {
            ",\n      c_ytd_payment = c_ytd_payment + p_amount, c_payment_cnt = c_payment_cnt + 1"
        }
        false => "",
    };
    let (results, given) = match profile.outputs {
        true => (OUTPUTS, "r_c_id, r_customer, r_balance, r_data"),
        false => ("out r_c_id int", "r_c_id"),
    };
    let returned = match profile.outputs {
        true => RETURNED,
        false => "c_id",
    };
    let addresses = if profile.outputs { ADDRESSES } else { "" };
    let body = BODY
        .replace("{choosing}", &choosing("p_c_w_id", "p_c_d_id"))
        .replace("{counted}", counted)
        .replace("{returned}", returned)
        .replace("{given}", given)
        .replace("{addresses}", addresses);
    let parameters = format!("{INPUTS}, {results}");
    Function::new(profile.routine, "payment", &parameters, false, body)
}

const INPUTS: &str = "p_w_id int, p_d_id int, p_c_w_id int, p_c_d_id int, p_c_id int, \
     p_c_last text, p_amount numeric";

const OUTPUTS: &str = "out r_c_id int, out r_customer text[], out r_balance numeric, \
     out r_data text, out r_district text[], out r_warehouse text[]";

const RETURNED: &str = "c_id,
      array[c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone,
        c_since::text, c_credit, c_credit_lim::text, c_discount::text],
      c_balance, case when c_credit = 'BC' then left(c_data, 200) end";

const ADDRESSES: &str = "
  r_district := array[v_district.d_name, v_district.d_street_1, v_district.d_street_2,
    v_district.d_city, v_district.d_state, v_district.d_zip];
  r_warehouse := array[v_warehouse.w_name, v_warehouse.w_street_1, v_warehouse.w_street_2,
    v_warehouse.w_city, v_warehouse.w_state, v_warehouse.w_zip];";

const BODY: &str = "
declare
  v_c_id int;
  v_found int[];
  v_district record;
  v_warehouse record;
begin
{choosing}
  update customer set c_balance = c_balance - p_amount{counted},
      c_data = case when c_credit = 'BC' then left(v_c_id || ' ' || p_c_d_id || ' ' || p_c_w_id
        || ' ' || p_d_id || ' ' || p_w_id || ' ' || p_amount || '|' || c_data, 500) else c_data end
    where c_w_id = p_c_w_id and c_d_id = p_c_d_id and c_id = v_c_id
    returning {returned}
    into strict {given};
  update district set d_ytd = d_ytd + p_amount where d_w_id = p_w_id and d_id = p_d_id
    returning d_name, d_street_1, d_street_2, d_city, d_state, d_zip into strict v_district;
  update warehouse set w_ytd = w_ytd + p_amount where w_id = p_w_id
    returning w_name, w_street_1, w_street_2, w_city, w_state, w_zip into strict v_warehouse;
  insert into history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    values (p_c_d_id, p_c_w_id, v_c_id, p_d_id, p_w_id, now(), p_amount,
      v_warehouse.w_name || '    ' || v_district.d_name);{addresses}
end
";
