-- A new order whose lines the server draws. One statement per district, so that each has its own plan. One
-- sorted subquery orders all four arrays; an ORDER BY in each aggregate would sort four times.
create {function:function {prefix}neword(
  p_w_id int, p_max_w_id int, p_d_id int, p_c_id int, p_lines int, v_o_id int
) returns numeric language plpgsql volatile}{!function:procedure {prefix}neword(
  p_w_id int, p_max_w_id int, p_d_id int, p_c_id int, p_lines int, inout v_discount numeric,
  inout v_last varchar, inout v_credit varchar, inout v_d_tax numeric, inout v_w_tax numeric,
  inout v_o_id int, p_moment timestamp
) language plpgsql} as
declare{function:
  v_discount numeric;
  v_last varchar;
  v_credit varchar;
  v_d_tax numeric;
  v_w_tax numeric;}
  v_all_local smallint := 1;
  v_unused boolean := {prefix}dbms_random(1, 100) = 1;
  v_items int[];
  v_supplies int[];
  v_quantities smallint[];
  v_prices numeric(5,2)[];
  v_sold int[];
  v_dists char(24)[];
  v_stocks smallint[];
  v_amounts numeric(6,2)[];
  v_total numeric := 0;
begin
  for v_line in 1 .. p_lines loop
    v_quantities[v_line] := {prefix}dbms_random(1, 10);
    v_supplies[v_line] := p_w_id;
    if {prefix}dbms_random(1, 100) = 1 and p_max_w_id > 1 then
      v_all_local := 0;
      v_supplies[v_line] := 1 + mod(p_w_id - 1 + {prefix}dbms_random(1, p_max_w_id - 1), p_max_w_id);
    end if;
    if v_unused and v_line = p_lines then
      v_items[v_line] := 100001;
    else
      v_items[v_line] := {prefix}dbms_random(1, 100000);
    end if;
  end loop;
  select w_tax, c_last, c_credit, c_discount into v_w_tax, v_last, v_credit, v_discount
    from warehouse join customer on c_w_id = w_id
    where w_id = p_w_id and c_d_id = p_d_id and c_id = p_c_id;
  update district set d_next_o_id = d_next_o_id + 1 where d_w_id = p_w_id and d_id = p_d_id
    returning d_tax, d_next_o_id - 1 into strict v_d_tax, v_o_id;
  insert into orders (o_w_id, o_d_id, o_id, o_c_id, o_ol_cnt, o_all_local, o_entry_d)
    values (p_w_id, p_d_id, v_o_id, p_c_id, p_lines, v_all_local, current_timestamp);
  insert into new_order (no_w_id, no_d_id, no_o_id) values (p_w_id, p_d_id, v_o_id);
  select array_agg(i_price order by number) into v_prices
    from unnest(v_items) with ordinality as line (item, number) left join item on i_id = item;
  case p_d_id
{districts:    when {d} then
      with taken as (
        update stock set s_quantity = s_quantity - line.quantity
            + case when s_quantity - line.quantity >= 10 then 0 else 91 end
          from unnest(v_items, v_supplies, v_quantities, v_prices) with ordinality
            as line (item, supply, quantity, price, number)
          where s_w_id = line.supply and s_i_id = line.item
          returning line.number, line.quantity * line.price as amount, s_quantity, s_dist_{dd} as dist)
      select array_agg(number), array_agg(amount), array_agg(s_quantity), array_agg(dist)
        into v_sold, v_amounts, v_stocks, v_dists
        from (select * from taken order by number) as by_number;
}  end case;
  -- Of two lines with the same item and supplier, the update returns only one. The arrays then have one
  -- element less, and the elements after it must move back to their lines.
  if v_sold[cardinality(v_sold)] > cardinality(v_sold) then
    select array_agg(amount order by line), array_agg(dist order by line) into v_amounts, v_dists
      from generate_series(1, p_lines) as line
      left join unnest(v_sold, v_amounts, v_dists) as sold (number, amount, dist) on number = line;
  end if;
  insert into order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id,
      ol_quantity, ol_amount, ol_dist_info)
    select p_w_id, p_d_id, v_o_id, number, item, supply, quantity, amount, dist
    from unnest(v_items, v_supplies, v_quantities, v_amounts, v_dists) with ordinality
      as line (item, supply, quantity, amount, dist, number);
  for v_line in 1 .. p_lines loop
    v_total := v_total
      + (1 - v_discount) * (1 + v_w_tax + v_d_tax) * coalesce(v_amounts[v_line], 0);
  end loop;{function:
  return v_total;}
exception when others then
  raise;
end
