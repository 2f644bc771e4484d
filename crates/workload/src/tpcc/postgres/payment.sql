-- Updates the customer first, then the district, and last the warehouse, for which all its payments contend.
create function {prefix}payment(
  p_w_id int, p_d_id int, p_c_w_id int, p_c_d_id int, p_c_id int, p_c_last text, p_amount numeric,
  out r_c_id int{outputs:, out r_customer text[], out r_balance numeric, out r_data text,
  out r_district text[], out r_warehouse text[]}
) language plpgsql volatile as
declare
  v_c_id int;
  v_found int[];
  v_district record;
  v_warehouse record;
begin
  v_c_id := p_c_id;
  if p_c_last is not null then
    v_found := array(select c_id from customer
      where c_w_id = p_c_w_id and c_d_id = p_c_d_id and c_last = p_c_last order by c_first, c_id);
    if cardinality(v_found) > 0 then
      v_c_id := v_found[(cardinality(v_found) + 1) / 2];
    elsif v_c_id is null then
      raise no_data_found using message = 'a customer of that last name is not there';
    end if;
  end if;
  update customer set c_balance = c_balance - p_amount{counters:,
      c_ytd_payment = c_ytd_payment + p_amount, c_payment_cnt = c_payment_cnt + 1},
      c_data = case when c_credit = 'BC' then left(v_c_id || ' ' || p_c_d_id || ' ' || p_c_w_id
        || ' ' || p_d_id || ' ' || p_w_id || ' ' || p_amount || '|' || c_data, 500) else c_data end
    where c_w_id = p_c_w_id and c_d_id = p_c_d_id and c_id = v_c_id
    returning {outputs:c_id,
      array[c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone,
        c_since::text, c_credit, c_credit_lim::text, c_discount::text],
      c_balance, case when c_credit = 'BC' then left(c_data, 200) end}{!outputs:c_id}
    into strict r_c_id{outputs:, r_customer, r_balance, r_data};
  update district set d_ytd = d_ytd + p_amount where d_w_id = p_w_id and d_id = p_d_id
    returning d_name, d_street_1, d_street_2, d_city, d_state, d_zip into strict v_district;
  update warehouse set w_ytd = w_ytd + p_amount where w_id = p_w_id
    returning w_name, w_street_1, w_street_2, w_city, w_state, w_zip into strict v_warehouse;
  insert into history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    values (p_c_d_id, p_c_w_id, v_c_id, p_d_id, p_w_id, now(), p_amount,
      v_warehouse.w_name || '    ' || v_district.d_name);{outputs:
  r_district := array[v_district.d_name, v_district.d_street_1, v_district.d_street_2,
    v_district.d_city, v_district.d_state, v_district.d_zip];
  r_warehouse := array[v_warehouse.w_name, v_warehouse.w_street_1, v_warehouse.w_street_2,
    v_warehouse.w_city, v_warehouse.w_state, v_warehouse.w_zip];}
end
