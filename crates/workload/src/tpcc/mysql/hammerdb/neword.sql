create procedure NEWORD(
  p_w_id int, p_max_w_id int, p_d_id int, p_c_id int, p_lines int, out v_discount decimal(4,4),
  out v_last varchar(16), out v_credit varchar(2), out v_d_tax decimal(4,4),
  out v_w_tax decimal(4,4), inout v_o_id int, in p_moment datetime
)
begin
  declare v_item, v_supply, v_quantity, v_stock, v_unused int;
  declare v_all_local, v_line int default 1;
  declare v_price decimal(5,2);
  declare v_name varchar(24);
  declare v_i_data, v_s_data varchar(50);
  declare v_dist char(24);
  {error}
  declare exit handler for not found
  begin
    rollback;
    set v_o_id = null;
  end;
  select c_discount, c_last, c_credit, w_tax into v_discount, v_last, v_credit, v_w_tax
    from warehouse join customer on c_w_id = w_id
    where w_id = p_w_id and c_d_id = p_d_id and c_id = p_c_id;
  start transaction;
  select d_next_o_id, d_tax into v_o_id, v_d_tax
    from district where d_id = p_d_id and d_w_id = p_w_id for update;
  update district set d_next_o_id = d_next_o_id + 1 where d_id = p_d_id and d_w_id = p_w_id;
  set v_unused = floor(1 + rand() * 100);
  while v_line <= p_lines do
    set v_item = if(v_line = p_lines and v_unused = 1, 100001, floor(1 + rand() * 100000));
    set v_supply = p_w_id;
    if p_max_w_id > 1 and floor(1 + rand() * 100) = 1 then
      set v_all_local = 0,
        v_supply = 1 + mod(p_w_id - 1 + floor(1 + rand() * (p_max_w_id - 1)), p_max_w_id);
    end if;
    set v_quantity = floor(1 + rand() * 10);
    select i_price, i_name, i_data into v_price, v_name, v_i_data from item where i_id = v_item;
    select s_quantity, s_data, case p_d_id{districts: when {d} then s_dist_{dd}} end into v_stock, v_s_data, v_dist
      from stock where s_i_id = v_item and s_w_id = v_supply for update;
    set v_stock = v_stock - v_quantity + if(v_stock - v_quantity >= 10, 0, 91);
    update stock set s_quantity = v_stock where s_i_id = v_item and s_w_id = v_supply;
    insert into order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
        ol_quantity, ol_amount, ol_dist_info)
      values (v_o_id, p_d_id, p_w_id, v_line, v_item, v_supply, v_quantity, v_quantity * v_price,
        v_dist);
    set v_line = v_line + 1;
  end while;
  insert into orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
    values (v_o_id, p_d_id, p_w_id, p_c_id, p_moment, p_lines, v_all_local);
  insert into new_order (no_o_id, no_d_id, no_w_id) values (v_o_id, p_d_id, p_w_id);
  commit;
end
