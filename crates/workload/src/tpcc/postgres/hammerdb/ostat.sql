-- If no customer has the name, there is no order; one row is fetched nevertheless.
create {function:function {prefix}ostat(
  p_w_id int, p_d_id int, p_c_id int, p_by_name int, p_last varchar
) returns setof record language plpgsql volatile}{!function:procedure {prefix}ostat(
  p_w_id int, p_d_id int, inout p_c_id int, p_by_name int, inout p_last varchar,
  inout v_first varchar, inout v_middle varchar, inout v_balance numeric, inout v_o_id int,
  inout v_entry_d timestamp, inout v_carrier_id int, inout v_lines text default ''
) language plpgsql} as
declare{function:
  v_first varchar;
  v_middle varchar;
  v_balance numeric;
  v_o_id int;
  v_entry_d timestamp;
  v_carrier_id int;}
  v_namesakes int;
  v_line record;
  v_named cursor for
    select c_id, c_first, c_middle, c_balance from customer
      where c_w_id = p_w_id and c_d_id = p_d_id and c_last = p_last order by c_first;
begin
  if p_by_name <> 1 then
    select c_last, c_first, c_middle, c_balance into p_last, v_first, v_middle, v_balance
      from customer where c_w_id = p_w_id and c_d_id = p_d_id and c_id = p_c_id;
  else
    select count(*) into v_namesakes
      from customer where c_w_id = p_w_id and c_d_id = p_d_id and c_last = p_last;
    open v_named;
    for v_place in 1 .. greatest(1, (v_namesakes + 1) / 2) loop
      fetch v_named into p_c_id, v_first, v_middle, v_balance;
    end loop;
    close v_named;
  end if;
  select o_id, o_entry_d, o_carrier_id into v_o_id, v_entry_d, v_carrier_id
    from orders where o_w_id = p_w_id and o_d_id = p_d_id and o_c_id = p_c_id
    order by o_id desc limit 1;
  for v_line in
    select ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d, p_c_id, p_last,
        v_first, v_middle, v_balance, v_o_id, v_entry_d, v_carrier_id
      from order_line where ol_w_id = p_w_id and ol_d_id = p_d_id and ol_o_id = v_o_id
  loop
    {function:return next v_line;}{!function:v_lines := concat_ws(',', v_lines, v_line.ol_i_id, v_line.ol_supply_w_id, v_line.ol_quantity, v_line.ol_amount, v_line.ol_delivery_d);}
  end loop;
exception when others then
  raise;
end
