create {function:function {prefix}payment(
  pay_w_id int, pay_d_id int, of_w_id int, of_d_id int, of_c_id int, by_name int, paid numeric,
  of_name varchar, v_credit varchar, v_balance numeric
) returns int language plpgsql volatile}{!function:procedure {prefix}payment(
  pay_w_id int, pay_d_id int, of_w_id int, of_d_id int, by_name int, paid numeric,
  inout v_credit char(2), inout of_name varchar(16), inout of_c_id int,
  inout v_w_street_1 varchar(20), inout v_w_street_2 varchar(20), inout v_w_city varchar(20),
  inout v_w_state char(2), inout v_w_zip char(9), inout v_d_street_1 varchar(20),
  inout v_d_street_2 varchar(20), inout v_d_city varchar(20), inout v_d_state char(2),
  inout v_d_zip char(9), inout v_first varchar(16), inout v_middle char(2),
  inout v_street_1 varchar(20), inout v_street_2 varchar(20), inout v_city varchar(20),
  inout v_state char(2), inout v_zip char(9), inout v_phone char(16), inout v_since timestamp,
  inout v_limit numeric(12,2), inout v_discount numeric(4,4), inout v_balance numeric(12,2),
  inout v_data varchar(500), p_moment timestamp
) language plpgsql} as
declare{function:
  v_w_street_1 varchar(20);
  v_w_street_2 varchar(20);
  v_w_city varchar(20);
  v_w_state char(2);
  v_w_zip char(9);
  v_d_street_1 varchar(20);
  v_d_street_2 varchar(20);
  v_d_city varchar(20);
  v_d_state char(2);
  v_d_zip char(9);
  v_first varchar(16);
  v_middle char(2);
  v_street_1 varchar(20);
  v_street_2 varchar(20);
  v_city varchar(20);
  v_state char(2);
  v_zip char(9);
  v_phone char(16);
  v_since timestamp;
  v_limit numeric(12,2);
  v_discount numeric(4,4);
  v_data varchar(500);}
  v_namesakes int;
  v_w_name varchar(10);
  v_d_name varchar(10);
  v_named cursor for
    select c_id, c_first, c_middle, c_street_1, c_street_2, c_city, c_state, c_zip,
        c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance
      from customer where c_w_id = of_w_id and c_d_id = of_d_id and c_last = of_name
      order by c_first;
begin
  update warehouse set w_ytd = w_ytd + paid where w_id = pay_w_id
    returning w_name, w_street_1, w_street_2, w_city, w_state, w_zip
    into strict v_w_name, v_w_street_1, v_w_street_2, v_w_city, v_w_state, v_w_zip;
  update district set d_ytd = d_ytd + paid where d_w_id = pay_w_id and d_id = pay_d_id
    returning d_name, d_street_1, d_street_2, d_city, d_state, d_zip
    into strict v_d_name, v_d_street_1, v_d_street_2, v_d_city, v_d_state, v_d_zip;
  if by_name <> 1 then
    select c_last, c_first, c_middle, c_street_1, c_street_2, c_city, c_state, c_zip,
        c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance into of_name, v_first, v_middle, v_street_1, v_street_2, v_city, v_state, v_zip,
        v_phone, v_since, v_credit, v_limit, v_discount, v_balance
      from customer where c_w_id = of_w_id and c_d_id = of_d_id and c_id = of_c_id;
  else
    select count(*) into v_namesakes
      from customer where c_w_id = of_w_id and c_d_id = of_d_id and c_last = of_name;
    open v_named;
    for v_place in 1 .. (v_namesakes + 1) / 2 loop
      fetch v_named into of_c_id, v_first, v_middle, v_street_1, v_street_2, v_city, v_state, v_zip,
        v_phone, v_since, v_credit, v_limit, v_discount, v_balance;
    end loop;
    close v_named;
  end if;
  if v_credit = 'BC' then
    update customer set c_balance = c_balance - paid,
        c_data = left(concat_ws(' ', of_c_id, of_d_id, of_w_id, pay_d_id, pay_w_id,
          to_char(paid, 'FM9990.00')) || '|' || c_data, 500)
      where c_w_id = of_w_id and c_d_id = of_d_id and c_id = of_c_id
      returning c_balance, c_data into strict v_balance, v_data;
  else
    v_data := ' ';
    update customer set c_balance = c_balance - paid
      where c_w_id = of_w_id and c_d_id = of_d_id and c_id = of_c_id
      returning c_balance into strict v_balance;
  end if;
  insert into history (h_w_id, h_d_id, h_c_w_id, h_c_d_id, h_c_id, h_date, h_amount, h_data)
    values (pay_w_id, pay_d_id, of_w_id, of_d_id, of_c_id, current_timestamp, paid,
      v_w_name || '    ' || v_d_name);{function:
  return of_c_id;}
exception when others then
  raise;
end
