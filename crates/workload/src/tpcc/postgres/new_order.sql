-- Processes the lines as sets. Lines that take from the same row of stock are processed in successive waves.
-- The line of an unused item is left out, or inserted without an amount, depending on the profile.
create function {prefix}new_order(
  p_w_id int, p_d_id int, p_c_id int, p_all_local int, p_items int[], p_supplies int[],
  p_quantities int[], p_wave_of int[], p_waves int,
  out r_o_id int{outputs:, out r_total numeric, out r_brands text[], out r_last text,
  out r_credit text, out r_discount numeric, out r_w_tax numeric, out r_d_tax numeric,
  out r_entry_d timestamptz, out r_numbers int[], out r_names text[], out r_stocks int[],
  out r_prices numeric[], out r_amounts numeric[]}
) language plpgsql volatile as
declare
  v_w_tax numeric;
  v_d_tax numeric;
  v_discount numeric;
  v_last text;
  v_credit text;
  v_lines int := cardinality(p_items);
  v_sold int := 0;
  v_some int;{outputs:
  v_sum numeric := 0;
  v_part record;}
begin
  select w_tax into strict v_w_tax from warehouse where w_id = p_w_id;
  select c_discount, c_last, c_credit into strict v_discount, v_last, v_credit
    from customer where c_w_id = p_w_id and c_d_id = p_d_id and c_id = p_c_id;
  update district set d_next_o_id = d_next_o_id + 1
    where d_w_id = p_w_id and d_id = p_d_id
    returning d_next_o_id - 1, d_tax into strict r_o_id, v_d_tax;
  insert into orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    values (r_o_id, p_d_id, p_w_id, p_c_id, now(), null, v_lines, p_all_local);
  insert into new_order (no_o_id, no_d_id, no_w_id) values (r_o_id, p_d_id, p_w_id);
  for v_wave in 1 .. p_waves loop
    with line as materialized (
      select * from unnest(p_items, p_supplies, p_quantities, p_wave_of) with ordinality
        as l (item, supply, quantity, wave, number)
      where wave = v_wave
    ), taken as (
      update stock set s_quantity = case when s_quantity - line.quantity >= 10
          then s_quantity - line.quantity else s_quantity - line.quantity + 91 end{counters:, s_ytd = s_ytd + line.quantity, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + (s_w_id <> p_w_id)::int}
      from line where s_i_id = line.item and s_w_id = line.supply
      returning line.number, case p_d_id {districts:when {d} then s_dist_{dd} }end as dist{outputs:, s_quantity, s_data}
    ){outputs:, sold as (
      select line.*, i_name, i_price, line.quantity * i_price as amount, taken.dist, s_quantity,
        case when i_data like '%ORIGINAL%' and s_data like '%ORIGINAL%' then 'B' else 'G' end as brand
      from line {!rolls_back:left }join taken on taken.number = line.number {!rolls_back:left }join item on i_id = line.item
    ), put as (
      insert into order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
        ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
      select r_o_id, p_d_id, p_w_id, number, item, supply, null, quantity, amount, dist from sold
    )
    select count(*) as lines, coalesce(sum(amount), 0) as total, array_agg(brand) as brands,
      array_agg(number::int) as numbers, array_agg(i_name::text) as names,
      array_agg(s_quantity::int) as stocks, array_agg(i_price::numeric) as prices,
      array_agg(amount) as amounts
      into v_part from sold;
    v_some := v_part.lines;
    v_sum := v_sum + v_part.total;
    r_brands := r_brands || v_part.brands;
    r_numbers := r_numbers || v_part.numbers;
    r_names := r_names || v_part.names;
    r_stocks := r_stocks || v_part.stocks;
    r_prices := r_prices || v_part.prices;
    r_amounts := r_amounts || v_part.amounts;}{!outputs:
    insert into order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
        ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
      select r_o_id, p_d_id, p_w_id, line.number, line.item, line.supply, null, line.quantity,
        line.quantity * i_price, taken.dist
      from line {!rolls_back:left }join taken on taken.number = line.number {!rolls_back:left }join item on i_id = line.item;
    get diagnostics v_some = row_count;}
    v_sold := v_sold + v_some;
  end loop;
  if v_sold < v_lines then
    raise exception 'an item of the order does not exist' using errcode = 'PRN01';
  end if;{outputs:
  r_total := round(v_sum * (1 - v_discount) * (1 + v_w_tax + v_d_tax), 2);
  r_last := v_last;
  r_credit := v_credit;
  r_discount := v_discount;
  r_w_tax := v_w_tax;
  r_d_tax := v_d_tax;
  r_entry_d := now();}
end
