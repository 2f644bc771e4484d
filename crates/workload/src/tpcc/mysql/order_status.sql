create procedure {prefix}order_status(
  p_w_id int, p_d_id int, p_c_id int, p_c_last varchar(16) character set latin1 collate latin1_bin
)
begin
  declare v_c_id, v_count, v_o_id, v_carrier_id, v_lines int;
  declare v_balance decimal(12,2);
  declare v_first, v_last varchar(16);
  declare v_middle char(2);
  declare v_entry_d datetime;
  declare v_shown varchar(2000);
  declare exit handler for not found {missing};
  start transaction with consistent snapshot, read only;
  set v_c_id = p_c_id;
  if p_c_last is not null then
    select count(*) into v_count from customer
      where c_w_id = p_w_id and c_d_id = p_d_id and c_last = p_c_last;
    if v_count > 0 then
      set v_count = (v_count - 1) div 2;
      select c_id into v_c_id from customer
        where c_w_id = p_w_id and c_d_id = p_d_id and c_last = p_c_last
        order by c_first, c_id limit v_count, 1;
    end if;
  end if;
  select c_balance, c_first, c_middle, c_last into v_balance, v_first, v_middle, v_last
    from customer where c_w_id = p_w_id and c_d_id = p_d_id and c_id = v_c_id;
  begin
    declare continue handler for not found set v_o_id = null;
    select o_id, o_carrier_id, o_entry_d into v_o_id, v_carrier_id, v_entry_d
      from orders where o_w_id = p_w_id and o_d_id = p_d_id and o_c_id = v_c_id
      order by o_id desc limit 1;
  end;
  select count(*), group_concat(concat_ws('|', ol_i_id, ol_supply_w_id, ol_quantity, ol_amount,
      coalesce(ol_delivery_d, ''))) into v_lines, v_shown
    from order_line where ol_w_id = p_w_id and ol_d_id = p_d_id and ol_o_id = v_o_id;
  commit;
  select v_lines, v_c_id, v_balance, v_first, v_middle, v_last, v_o_id, v_carrier_id, v_entry_d,
    v_shown;
end
