-- Delivers in all districts at once.
create function {prefix}delivery(
  p_w_id int, p_carrier int, out r_delivered int
) language plpgsql volatile as
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
  update customer set c_balance = c_balance + owed.amount{counters:, c_delivery_cnt = c_delivery_cnt + 1}
    from sent join owed using (district)
    where c_w_id = p_w_id and c_d_id = sent.district and c_id = sent.o_c_id;
  get diagnostics r_delivered = row_count;
end
