-- Each statement aggregates arrays, which the next one unnests together.
create {function:function {prefix}delivery(
  p_w_id int, p_carrier int
) returns int language plpgsql volatile}{!function:procedure {prefix}delivery(
  p_w_id int, p_carrier int, p_moment timestamp
) language plpgsql} as
declare
  v_districts int[];
  v_numbers int[];
  v_customers int[];
  v_totals numeric[];
begin
  with oldest as (
    select place as district, (select no_o_id from new_order
        where no_w_id = p_w_id and no_d_id = place order by no_o_id limit 1) as number
      from generate_series(1, 10) as place),
  taken as (
    delete from new_order using oldest
      where no_w_id = p_w_id and no_d_id = oldest.district and no_o_id = oldest.number
      returning no_d_id as district, no_o_id as number)
  select array_agg(district), array_agg(number) into v_districts, v_numbers from taken;
  update orders set o_carrier_id = p_carrier
    from unnest(v_districts, v_numbers) as taken (district, number)
    where o_w_id = p_w_id and o_d_id = taken.district and o_id = taken.number;
  with line as (
    update order_line set ol_delivery_d = current_timestamp
      from unnest(v_districts, v_numbers) as taken (district, number)
      where ol_w_id = p_w_id and ol_d_id = taken.district and ol_o_id = taken.number
      returning taken.district, taken.number, ol_amount),
  owed as (
    select district, number, coalesce(sum(ol_amount), 0) as total from line group by 1, 2)
  select array_agg(district), array_agg(total), array_agg((select o_c_id from orders
        where o_w_id = p_w_id and o_d_id = owed.district and o_id = owed.number))
    into v_districts, v_totals, v_customers from owed;
  update customer set c_balance = c_balance + owed.total
    from unnest(v_districts, v_customers, v_totals) as owed (district, number, total)
    where c_w_id = p_w_id and c_d_id = owed.district and c_id = owed.number;{function:
  return coalesce(cardinality(v_numbers), 0);}
exception when others then
  raise;
end
