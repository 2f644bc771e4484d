create procedure PAYMENT(
  p_w_id int, p_d_id int, p_c_w_id int, p_c_d_id int, inout v_c_id int, p_by_name int,
  p_amount decimal(6,2), inout v_last varchar(16) character set latin1 collate latin1_bin,
  out v_w_street_1 varchar(20), out v_w_street_2 varchar(20), out v_w_city varchar(20),
  out v_w_state char(2), out v_w_zip char(9), out v_d_street_1 varchar(20),
  out v_d_street_2 varchar(20), out v_d_city varchar(20), out v_d_state char(2),
  out v_d_zip char(9), out v_first varchar(16), out v_middle char(2), out v_street_1 varchar(20),
  out v_street_2 varchar(20), out v_city varchar(20), out v_state char(2), out v_zip char(9),
  out v_phone char(16), out v_since datetime, inout v_credit char(2), out v_limit decimal(12,2),
  out v_discount decimal(4,4), inout v_balance decimal(12,2), out v_data varchar(500),
  in p_moment datetime
)
begin
  declare v_count, v_place int default 0;
  declare v_w_name, v_d_name varchar(10);
  declare v_named cursor for
    select c_id, c_first, c_middle, c_street_1, c_street_2, c_city, c_state, c_zip,
        c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance
      from customer where c_w_id = p_c_w_id and c_d_id = p_c_d_id and c_last = v_last
      order by c_first;
  {error}
  start transaction;
  update warehouse set w_ytd = w_ytd + p_amount where w_id = p_w_id;
  select w_name, w_street_1, w_street_2, w_city, w_state, w_zip
    into v_w_name, v_w_street_1, v_w_street_2, v_w_city, v_w_state, v_w_zip
    from warehouse where w_id = p_w_id;
  update district set d_ytd = d_ytd + p_amount where d_w_id = p_w_id and d_id = p_d_id;
  select d_name, d_street_1, d_street_2, d_city, d_state, d_zip
    into v_d_name, v_d_street_1, v_d_street_2, v_d_city, v_d_state, v_d_zip
    from district where d_w_id = p_w_id and d_id = p_d_id;
  if p_by_name = 1 then
    select count(c_id) into v_count from customer
      where c_last = v_last and c_d_id = p_c_d_id and c_w_id = p_c_w_id;
    open v_named;
    while v_place < (v_count + 1) div 2 do
      fetch v_named into v_c_id, v_first, v_middle, v_street_1, v_street_2, v_city, v_state, v_zip,
        v_phone, v_since, v_credit, v_limit, v_discount, v_balance;
      set v_place = v_place + 1;
    end while;
    close v_named;
  else
    select c_last, c_first, c_middle, c_street_1, c_street_2, c_city, c_state, c_zip,
        c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance into v_last, v_first, v_middle, v_street_1, v_street_2, v_city, v_state, v_zip,
        v_phone, v_since, v_credit, v_limit, v_discount, v_balance
      from customer where c_w_id = p_c_w_id and c_d_id = p_c_d_id and c_id = v_c_id;
  end if;
  set v_balance = v_balance - p_amount;
  if v_credit = 'BC' then
    select c_data into v_data
      from customer where c_w_id = p_c_w_id and c_d_id = p_c_d_id and c_id = v_c_id;
    set v_data = left(concat(concat_ws(' ', v_c_id, p_c_d_id, p_c_w_id, p_d_id, p_w_id, p_amount),
      '|', v_data), 500);
    update customer set c_balance = c_balance - p_amount, c_data = v_data
      where c_w_id = p_c_w_id and c_d_id = p_c_d_id and c_id = v_c_id;
  else
    update customer set c_balance = c_balance - p_amount
      where c_w_id = p_c_w_id and c_d_id = p_c_d_id and c_id = v_c_id;
  end if;
  insert into history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    values (p_c_d_id, p_c_w_id, v_c_id, p_d_id, p_w_id, p_moment, p_amount,
      concat(v_w_name, '    ', v_d_name));
  commit;
end
