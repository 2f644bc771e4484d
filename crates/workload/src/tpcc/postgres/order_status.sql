create function {prefix}order_status(
  p_w_id int, p_d_id int, p_c_id int, p_c_last text, out r_lines int, out r_c_id int,
  out r_balance numeric, out r_first text, out r_middle text, out r_last text, out r_o_id int,
  out r_carrier_id int, out r_entry_d timestamptz, out r_items int[], out r_supplies int[],
  out r_quantities int[], out r_amounts numeric[], out r_delivery_d timestamptz[]
) language plpgsql stable as
declare
  v_c_id int;
  v_found int[];
begin
  v_c_id := p_c_id;
  if p_c_last is not null then
    v_found := array(select c_id from customer
      where c_w_id = p_w_id and c_d_id = p_d_id and c_last = p_c_last order by c_first, c_id);
    if cardinality(v_found) > 0 then
      v_c_id := v_found[(cardinality(v_found) + 1) / 2];
    elsif v_c_id is null then
      raise no_data_found using message = 'a customer of that last name is not there';
    end if;
  end if;
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
