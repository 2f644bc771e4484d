create procedure OSTAT(
  p_w_id int, p_d_id int, inout v_c_id int, p_by_name int,
  inout v_last varchar(16) character set latin1 collate latin1_bin, out v_first varchar(16),
  out v_middle char(2), out v_balance decimal(12,2), out v_o_id int, out v_entry_d datetime,
  out v_carrier_id int
)
begin
  declare v_count, v_place int default 0;
  declare v_done bool default false;
  declare v_item, v_supply, v_quantity int;
  declare v_amount decimal(8,2);
  declare v_delivery_d datetime;
  declare v_named cursor for
    select c_id, c_balance, c_first, c_middle from customer
      where c_last = v_last and c_d_id = p_d_id and c_w_id = p_w_id order by c_first;
  declare v_lines cursor for
    select ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
      from order_line where ol_o_id = v_o_id and ol_d_id = p_d_id and ol_w_id = p_w_id;
  {error}
  declare continue handler for not found set v_done = true;
  start transaction;
  if p_by_name = 1 then
    select count(c_id) into v_count from customer
      where c_last = v_last and c_d_id = p_d_id and c_w_id = p_w_id;
    open v_named;
    while v_place < (v_count + 1) div 2 do
      fetch v_named into v_c_id, v_balance, v_first, v_middle;
      set v_place = v_place + 1;
    end while;
    close v_named;
  else
    select c_balance, c_first, c_middle, c_last into v_balance, v_first, v_middle, v_last
      from customer where c_id = v_c_id and c_d_id = p_d_id and c_w_id = p_w_id;
  end if;
  select o_id, o_carrier_id, o_entry_d into v_o_id, v_carrier_id, v_entry_d
    from orders where o_d_id = p_d_id and o_w_id = p_w_id and o_c_id = v_c_id
    order by o_id desc limit 1;
  set v_done = false;
  open v_lines;
  while not v_done do
    fetch v_lines into v_item, v_supply, v_quantity, v_amount, v_delivery_d;
  end while;
  close v_lines;
  commit;
end
