create procedure DELIVERY(
  p_w_id int, p_carrier int, in p_moment datetime
)
begin
  declare v_o_id, v_c_id int;
  declare v_d_id int default 1;
  declare v_delivered int default 0;
  declare v_amount decimal(12,2);
  {error}
  start transaction;
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
      update order_line set ol_delivery_d = p_moment
        where ol_w_id = p_w_id and ol_d_id = v_d_id and ol_o_id = v_o_id;
      select coalesce(sum(ol_amount), 0) into v_amount from order_line
        where ol_w_id = p_w_id and ol_d_id = v_d_id and ol_o_id = v_o_id;
      update customer set c_balance = c_balance + v_amount
        where c_w_id = p_w_id and c_d_id = v_d_id and c_id = v_c_id;
      set v_delivered = v_delivered + 1;
    end if;
    set v_d_id = v_d_id + 1;
  end while;
  commit;
end
