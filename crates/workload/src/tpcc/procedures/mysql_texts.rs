//! The texts of the procedures on MySQL and MariaDB.
//!
//! In: a profile. Out: procedures. Must never: leave another state than the statements do, or use
//! what MySQL 5.6 does not know.
//!
//! They go line by line, as the statements do and as HammerDB's do: these servers have no arrays,
//! and a statement inside a procedure costs them little. Each gives one row: of an order that met
//! an unused item NULLs. A row that should be there and is not is an error (SQLSTATE P0002); what
//! the server itself says goes to the client as it is, with the transaction still open.

use super::mysql::Procedure;
use super::postgres::Function;
use crate::tpcc::new_order;
use crate::tpcc::order_status::MYSQL_BEGIN;
use crate::tpcc::profile::Profile;
use crate::tpcc::texts::PACKED;
use crate::tpcc::{delivery, order_status, payment, stock_level};

/// Those of a profile.
pub fn procedures(profile: &Profile) -> [Procedure; 5] {
    let of = |function: Function, parameters: &str, body: String| Procedure {
        name: function.name,
        parameters: parameters.to_owned(),
        body: body
            .replace("{begin}", "start transaction")
            .replace("{reading}", &MYSQL_BEGIN.to_lowercase())
            .replace("{missing}", MISSING),
    };
    [
        of(
            new_order::function(profile),
            NEW_ORDER_PARAMETERS,
            new_order_body(profile),
        ),
        of(
            payment::function(profile),
            &format!("{PAYMENT_PARAMETERS}, {NAME_PARAMETER}, p_amount decimal(6,2)"),
            payment_body(profile),
        ),
        of(
            order_status::function(profile),
            &format!("p_w_id int, p_d_id int, p_c_id int, {NAME_PARAMETER}"),
            choosing(ORDER_STATUS, "p_w_id", "p_d_id"),
        ),
        of(
            delivery::function(profile),
            "p_w_id int, p_carrier int",
            DELIVERY.replace(
                "{counted}",
                counted(profile, ", c_delivery_cnt = c_delivery_cnt + 1"),
            ),
        ),
        of(
            stock_level::function(profile),
            "p_w_id int, p_d_id int, p_threshold int",
            STOCK_LEVEL.to_owned(),
        ),
    ]
}

fn counted(profile: &Profile, text: &'static str) -> &'static str {
    if profile.counters { text } else { "" }
}

/// In the character set of the column, whatever the database's own is: else the index on names is
/// of no use.
const NAME_PARAMETER: &str = "p_c_last varchar(16) character set latin1 collate latin1_bin";

/// Ends a procedure that has not found a row that must be there.
const MISSING: &str = "begin
    rollback;
    signal sqlstate 'P0002'
      set message_text = 'a row is not there: prony check tpcc says what is wrong with the data';
  end";

const NEW_ORDER_PARAMETERS: &str =
    "p_w_id int, p_d_id int, p_c_id int, p_all_local int, p_lines varchar(255)";

fn new_order_body(profile: &Profile) -> String {
    let [item, supply, quantity] = PACKED;
    let width = item + supply + quantity;
    let dist: String = (1..=10)
        .map(|district| format!(" when {district} then s_dist_{district:02}"))
        .collect();
    let kept = "
      s_ytd = s_ytd + v_quantity, s_order_cnt = s_order_cnt + 1,
      s_remote_cnt = s_remote_cnt + (v_supply <> p_w_id),";
    let (show, shown, nothing) = match profile.outputs {
        true => (SHOW, SHOWN, ", null, null"),
        false => ("", "", ""),
    };
    NEW_ORDER
        .replace("{item}", &format!("v_at, {item}"))
        .replace("{supply}", &format!("v_at + {item}, {supply}"))
        .replace(
            "{quantity}",
            &format!("v_at + {}, {quantity}", item + supply),
        )
        .replace("{width}", &width.to_string())
        .replace("{dist}", &dist)
        .replace("{counted}", counted(profile, kept))
        .replace("{show}", show)
        .replace("{shown}", shown)
        .replace("{nothing}", nothing)
}

const NEW_ORDER: &str = "begin
  declare v_w_tax, v_d_tax, v_discount decimal(4,4);
  declare v_last varchar(16);
  declare v_credit char(2);
  declare v_o_id, v_item, v_supply, v_quantity, v_stock int;
  declare v_at, v_number int default 1;
  declare v_price decimal(5,2);
  declare v_name varchar(24);
  declare v_i_data, v_s_data varchar(50);
  declare v_dist char(24);
  declare v_amount decimal(8,2);
  declare v_sum decimal(12,2) default 0;
  declare v_brands varchar(15) default '';
  declare v_shown varchar(1000) default '';
  declare v_unused bool default false;
  declare exit handler for not found {missing};
  {begin};
  select w_tax into v_w_tax from warehouse where w_id = p_w_id;
  select c_discount, c_last, c_credit into v_discount, v_last, v_credit
    from customer where c_w_id = p_w_id and c_d_id = p_d_id and c_id = p_c_id;
  update district set d_next_o_id = d_next_o_id + 1 where d_w_id = p_w_id and d_id = p_d_id;
  select d_next_o_id - 1, d_tax into v_o_id, v_d_tax
    from district where d_w_id = p_w_id and d_id = p_d_id;
  insert into orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    values (v_o_id, p_d_id, p_w_id, p_c_id, now(), null,
      char_length(p_lines) div {width}, p_all_local);
  insert into new_order (no_o_id, no_d_id, no_w_id) values (v_o_id, p_d_id, p_w_id);
  while v_at < char_length(p_lines) and not v_unused do
    set v_item = substr(p_lines, {item}), v_supply = substr(p_lines, {supply}),
      v_quantity = substr(p_lines, {quantity});
    begin
      declare continue handler for not found set v_unused = true;
      select i_price, i_name, i_data into v_price, v_name, v_i_data from item where i_id = v_item;
    end;
    if not v_unused then
      select s_quantity, s_data, case p_d_id{dist} end into v_stock, v_s_data, v_dist
        from stock where s_w_id = v_supply and s_i_id = v_item for update;
      set v_stock = v_stock - v_quantity + if(v_stock - v_quantity >= 10, 0, 91),
        v_amount = v_quantity * v_price;
      update stock set{counted}
        s_quantity = v_stock where s_w_id = v_supply and s_i_id = v_item;
      insert into order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
          ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
        values (v_o_id, p_d_id, p_w_id, v_number, v_item, v_supply, null, v_quantity, v_amount,
          v_dist);{show}
    end if;
    set v_at = v_at + {width}, v_number = v_number + 1;
  end while;
  if v_unused then
    rollback;
    select null{nothing};
  else
    commit;
    select v_o_id{shown};
  end if;
end";

const SHOW: &str = "
      set v_sum = v_sum + v_amount,
        v_brands = concat(v_brands, if(instr(v_i_data, 'ORIGINAL') > 0
          and instr(v_s_data, 'ORIGINAL') > 0, 'B', 'G')),
        v_shown = concat_ws('|', v_shown, v_name, v_stock, v_price, v_amount);";

const SHOWN: &str = ",
      round(v_sum * (1 - v_discount) * (1 + v_w_tax + v_d_tax), 2), v_brands, v_last, v_credit,
      v_discount, v_w_tax, v_d_tax, now(), v_shown";

const PAYMENT_PARAMETERS: &str = "p_w_id int, p_d_id int, p_c_w_id int, p_c_d_id int, p_c_id int";

fn payment_body(profile: &Profile) -> String {
    let kept = ",
      c_ytd_payment = c_ytd_payment + p_amount, c_payment_cnt = c_payment_cnt + 1";
    let shown = match profile.outputs {
        true => PAYMENT_SHOWN,
        false => "v_c_id",
    };
    choosing(PAYMENT, "p_c_w_id", "p_c_d_id")
        .replace("{counted}", counted(profile, kept))
        .replace("{shown}", shown)
}

/// The customer: by number, or of those of one name the middle one, rounded up [2.5.2.2].
fn choosing(body: &str, w_id: &str, d_id: &str) -> String {
    body.replace("{choosing}", CHOOSING)
        .replace("{w}", w_id)
        .replace("{d}", d_id)
}

const CHOOSING: &str = "set v_c_id = p_c_id;
  if p_c_last is not null then
    select count(*) into v_count from customer
      where c_w_id = {w} and c_d_id = {d} and c_last = p_c_last;
    if v_count > 0 then
      set v_count = (v_count - 1) div 2;
      select c_id into v_c_id from customer
        where c_w_id = {w} and c_d_id = {d} and c_last = p_c_last
        order by c_first, c_id limit v_count, 1;
    end if;
  end if;";

const PAYMENT: &str = "begin
  declare v_c_id, v_count int;
  declare v_first, v_last varchar(16);
  declare v_middle, v_state, v_d_state, v_w_state, v_credit char(2);
  declare v_street_1, v_street_2, v_city, v_d_street_1, v_d_street_2, v_d_city, v_w_street_1,
    v_w_street_2, v_w_city varchar(20);
  declare v_zip, v_d_zip, v_w_zip char(9);
  declare v_phone char(16);
  declare v_since datetime;
  declare v_limit, v_balance decimal(12,2);
  declare v_discount decimal(4,4);
  declare v_data varchar(200);
  declare v_d_name, v_w_name varchar(10);
  declare exit handler for not found {missing};
  {begin};
  {choosing}
  update customer set c_balance = c_balance - p_amount{counted},
      c_data = if(c_credit = 'BC', left(concat(concat_ws(' ', v_c_id, p_c_d_id, p_c_w_id, p_d_id,
        p_w_id, p_amount), '|', c_data), 500), c_data)
    where c_w_id = p_c_w_id and c_d_id = p_c_d_id and c_id = v_c_id;
  select c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone,
      c_since, c_credit, c_credit_lim, c_discount, c_balance,
      if(c_credit = 'BC', left(c_data, 200), null)
    into v_first, v_middle, v_last, v_street_1, v_street_2, v_city, v_state, v_zip, v_phone,
      v_since, v_credit, v_limit, v_discount, v_balance, v_data
    from customer where c_w_id = p_c_w_id and c_d_id = p_c_d_id and c_id = v_c_id;
  update district set d_ytd = d_ytd + p_amount where d_w_id = p_w_id and d_id = p_d_id;
  select d_name, d_street_1, d_street_2, d_city, d_state, d_zip
    into v_d_name, v_d_street_1, v_d_street_2, v_d_city, v_d_state, v_d_zip
    from district where d_w_id = p_w_id and d_id = p_d_id;
  update warehouse set w_ytd = w_ytd + p_amount where w_id = p_w_id;
  select w_name, w_street_1, w_street_2, w_city, w_state, w_zip
    into v_w_name, v_w_street_1, v_w_street_2, v_w_city, v_w_state, v_w_zip
    from warehouse where w_id = p_w_id;
  insert into history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    values (p_c_d_id, p_c_w_id, v_c_id, p_d_id, p_w_id, now(), p_amount,
      concat(v_w_name, '    ', v_d_name));
  commit;
  select {shown};
end";

const PAYMENT_SHOWN: &str = "v_c_id, v_first, v_middle, v_last, v_street_1, v_street_2, v_city,
    v_state, v_zip, v_phone, v_since, v_credit, v_limit, v_discount, v_balance, v_data, v_d_name,
    v_d_street_1, v_d_street_2, v_d_city, v_d_state, v_d_zip, v_w_name, v_w_street_1, v_w_street_2,
    v_w_city, v_w_state, v_w_zip";

const ORDER_STATUS: &str = "begin
  declare v_c_id, v_count, v_o_id, v_carrier_id, v_lines int;
  declare v_balance decimal(12,2);
  declare v_first, v_last varchar(16);
  declare v_middle char(2);
  declare v_entry_d datetime;
  declare v_shown varchar(2000);
  declare exit handler for not found {missing};
  {reading};
  {choosing}
  select c_balance, c_first, c_middle, c_last into v_balance, v_first, v_middle, v_last
    from customer where c_w_id = {w} and c_d_id = {d} and c_id = v_c_id;
  begin
    declare continue handler for not found set v_o_id = null;
    select o_id, o_carrier_id, o_entry_d into v_o_id, v_carrier_id, v_entry_d
      from orders where o_w_id = {w} and o_d_id = {d} and o_c_id = v_c_id
      order by o_id desc limit 1;
  end;
  select count(*), group_concat(concat_ws('|', ol_i_id, ol_supply_w_id, ol_quantity, ol_amount,
      coalesce(ol_delivery_d, ''))) into v_lines, v_shown
    from order_line where ol_w_id = {w} and ol_d_id = {d} and ol_o_id = v_o_id;
  commit;
  select v_lines, v_c_id, v_balance, v_first, v_middle, v_last, v_o_id, v_carrier_id, v_entry_d,
    v_shown;
end";

const DELIVERY: &str = "begin
  declare v_d_id int default 1;
  declare v_delivered int default 0;
  declare v_o_id, v_c_id int;
  declare v_amount decimal(12,2);
  declare exit handler for not found {missing};
  {begin};
  while v_d_id <= 10 do
    begin
      declare continue handler for not found set v_o_id = null;
      select no_o_id into v_o_id from new_order where no_w_id = p_w_id and no_d_id = v_d_id
        order by no_o_id limit 1 for update;
    end;
    if v_o_id is not null then
      delete from new_order where no_w_id = p_w_id and no_d_id = v_d_id and no_o_id = v_o_id;
      update orders set o_carrier_id = p_carrier
        where o_w_id = p_w_id and o_d_id = v_d_id and o_id = v_o_id;
      select o_c_id into v_c_id from orders
        where o_w_id = p_w_id and o_d_id = v_d_id and o_id = v_o_id;
      update order_line set ol_delivery_d = now()
        where ol_w_id = p_w_id and ol_d_id = v_d_id and ol_o_id = v_o_id;
      select coalesce(sum(ol_amount), 0) into v_amount from order_line
        where ol_w_id = p_w_id and ol_d_id = v_d_id and ol_o_id = v_o_id;
      update customer set c_balance = c_balance + v_amount{counted}
        where c_w_id = p_w_id and c_d_id = v_d_id and c_id = v_c_id;
      set v_delivered = v_delivered + 1;
    end if;
    set v_d_id = v_d_id + 1;
  end while;
  commit;
  select v_delivered;
end";

const STOCK_LEVEL: &str = "begin
  declare v_next, v_low int;
  declare exit handler for not found {missing};
  {begin};
  select d_next_o_id into v_next from district where d_w_id = p_w_id and d_id = p_d_id;
  select count(distinct s_i_id) into v_low from order_line
    join stock on s_i_id = ol_i_id and s_w_id = ol_w_id
    where ol_w_id = p_w_id and ol_d_id = p_d_id and ol_o_id >= v_next - 20 and ol_o_id < v_next
      and s_quantity < p_threshold;
  commit;
  select v_low;
end";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::profile::PROFILES;

    #[test]
    fn nothing_is_left_to_fill_in() {
        for profile in &PROFILES {
            for procedure in procedures(profile) {
                let Procedure { name, body, .. } = &procedure;
                assert!(!body.contains('{') && !body.contains('}'), "{name}: {body}");
                assert!(name.starts_with(super::super::PREFIX), "{name}");
                assert_eq!(body.contains("c_payment_cnt + 1"), {
                    profile.counters && name.ends_with("payment")
                });
            }
        }
    }
}
