-- Each line in `p_lines` has 15 digits: 6 for the item, 7 for the supplying warehouse, 2 for the quantity.
create procedure {prefix}new_order(
  p_w_id int, p_d_id int, p_c_id int, p_all_local int, p_lines varchar(255)
)
begin
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
  start transaction;
  select w_tax into v_w_tax from warehouse where w_id = p_w_id;
  select c_discount, c_last, c_credit into v_discount, v_last, v_credit
    from customer where c_w_id = p_w_id and c_d_id = p_d_id and c_id = p_c_id;
  update district set d_next_o_id = d_next_o_id + 1 where d_w_id = p_w_id and d_id = p_d_id;
  select d_next_o_id - 1, d_tax into v_o_id, v_d_tax
    from district where d_w_id = p_w_id and d_id = p_d_id;
  insert into orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    values (v_o_id, p_d_id, p_w_id, p_c_id, now(), null,
      char_length(p_lines) div 15, p_all_local);
  insert into new_order (no_o_id, no_d_id, no_w_id) values (v_o_id, p_d_id, p_w_id);
  while v_at < char_length(p_lines) and not v_unused do
    set v_item = substr(p_lines, v_at, 6), v_supply = substr(p_lines, v_at + 6, 7),
      v_quantity = substr(p_lines, v_at + 13, 2);
    begin
      declare continue handler for not found set v_unused = true;
      select i_price, i_name, i_data into v_price, v_name, v_i_data from item where i_id = v_item;
    end;
    if not v_unused then
      select s_quantity, s_data, case p_d_id{districts: when {d} then s_dist_{dd}} end into v_stock, v_s_data, v_dist
        from stock where s_w_id = v_supply and s_i_id = v_item for update;
      set v_stock = v_stock - v_quantity + if(v_stock - v_quantity >= 10, 0, 91),
        v_amount = v_quantity * v_price;
      update stock set{counters:
      s_ytd = s_ytd + v_quantity, s_order_cnt = s_order_cnt + 1,
      s_remote_cnt = s_remote_cnt + (v_supply <> p_w_id),}
        s_quantity = v_stock where s_w_id = v_supply and s_i_id = v_item;
      insert into order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
          ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
        values (v_o_id, p_d_id, p_w_id, v_number, v_item, v_supply, null, v_quantity, v_amount,
          v_dist);{outputs:
      set v_sum = v_sum + v_amount,
        v_brands = concat(v_brands, if(instr(v_i_data, 'ORIGINAL') > 0
          and instr(v_s_data, 'ORIGINAL') > 0, 'B', 'G')),
        v_shown = concat_ws('|', v_shown, v_name, v_stock, v_price, v_amount);}
    end if;
    set v_at = v_at + 15, v_number = v_number + 1;
  end while;
  if v_unused then
    rollback;
    select null{outputs:, null, null};
  else
    commit;
    select v_o_id{outputs:,
      round(v_sum * (1 - v_discount) * (1 + v_w_tax + v_d_tax), 2), v_brands, v_last, v_credit,
      v_discount, v_w_tax, v_d_tax, now(), v_shown};
  end if;
end
