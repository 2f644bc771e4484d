create procedure {prefix}payment(
  p_w_id int, p_d_id int, p_c_w_id int, p_c_d_id int, p_c_id int,
  p_c_last varchar(16) character set latin1 collate latin1_bin, p_amount decimal(6,2)
)
begin
  declare v_c_id, v_count int;
  declare v_first, v_last varchar(16);
  declare v_middle, v_state, v_d_state, v_w_state, v_credit char(2);
  declare v_street_1, v_street_2, v_city, v_d_street_1, v_d_street_2, v_d_city, v_w_street_1,
    v_w_street_2, v_w_city varchar(20);
  declare v_zip, v_d_zip, v_w_zip char(9);
  declare v_phone char(16);
  declare v_since datetime;
  declare v_limit, v_balance decimal(12,2);
  declare v_discount decimal(4,4);
  declare v_data varchar(200);
  declare v_d_name, v_w_name varchar(10);
  declare exit handler for not found {missing};
  start transaction;
  set v_c_id = p_c_id;
  if p_c_last is not null then
    select count(*) into v_count from customer
      where c_w_id = p_c_w_id and c_d_id = p_c_d_id and c_last = p_c_last;
    if v_count > 0 then
      set v_count = (v_count - 1) div 2;
      select c_id into v_c_id from customer
        where c_w_id = p_c_w_id and c_d_id = p_c_d_id and c_last = p_c_last
        order by c_first, c_id limit v_count, 1;
    end if;
  end if;
  update customer set c_balance = c_balance - p_amount{counters:,
      c_ytd_payment = c_ytd_payment + p_amount, c_payment_cnt = c_payment_cnt + 1},
      c_data = if(c_credit = 'BC', left(concat(concat_ws(' ', v_c_id, p_c_d_id, p_c_w_id, p_d_id,
        p_w_id, p_amount), '|', c_data), 500), c_data)
    where c_w_id = p_c_w_id and c_d_id = p_c_d_id and c_id = v_c_id;
  select c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone,
      c_since, c_credit, c_credit_lim, c_discount, c_balance,
      if(c_credit = 'BC', left(c_data, 200), null)
    into v_first, v_middle, v_last, v_street_1, v_street_2, v_city, v_state, v_zip, v_phone,
      v_since, v_credit, v_limit, v_discount, v_balance, v_data
    from customer where c_w_id = p_c_w_id and c_d_id = p_c_d_id and c_id = v_c_id;
  update district set d_ytd = d_ytd + p_amount where d_w_id = p_w_id and d_id = p_d_id;
  select d_name, d_street_1, d_street_2, d_city, d_state, d_zip
    into v_d_name, v_d_street_1, v_d_street_2, v_d_city, v_d_state, v_d_zip
    from district where d_w_id = p_w_id and d_id = p_d_id;
  update warehouse set w_ytd = w_ytd + p_amount where w_id = p_w_id;
  select w_name, w_street_1, w_street_2, w_city, w_state, w_zip
    into v_w_name, v_w_street_1, v_w_street_2, v_w_city, v_w_state, v_w_zip
    from warehouse where w_id = p_w_id;
  insert into history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    values (p_c_d_id, p_c_w_id, v_c_id, p_d_id, p_w_id, now(), p_amount,
      concat(v_w_name, '    ', v_d_name));
  commit;
  select {outputs:v_c_id, v_first, v_middle, v_last, v_street_1, v_street_2, v_city,
    v_state, v_zip, v_phone, v_since, v_credit, v_limit, v_discount, v_balance, v_data, v_d_name,
    v_d_street_1, v_d_street_2, v_d_city, v_d_state, v_d_zip, v_w_name, v_w_street_1, v_w_street_2,
    v_w_city, v_w_state, v_w_zip}{!outputs:v_c_id};
end
