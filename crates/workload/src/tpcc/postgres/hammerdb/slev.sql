-- The query joins the district, so the planner does not know the next order number, and may choose to read all
-- stock of the warehouse.
create {function:function {prefix}slev(
  p_w_id int, p_d_id int, p_threshold int
) returns int language plpgsql volatile}{!function:procedure {prefix}slev(
  p_w_id int, p_d_id int, p_threshold int, inout v_low int
) language plpgsql} as{function:
declare
  v_low int;}
begin
  select count(distinct s_i_id) into v_low
    from district
    join order_line on ol_w_id = d_w_id and ol_d_id = d_id
      and ol_o_id between d_next_o_id - 20 and d_next_o_id - 1
    join stock on s_w_id = ol_w_id and s_i_id = ol_i_id
    where d_w_id = p_w_id and d_id = p_d_id and s_quantity < p_threshold;{function:
  return v_low;}
exception when others then
  raise;
end
