create procedure {prefix}stock_level(
  p_w_id int, p_d_id int, p_threshold int
)
begin
  declare v_next, v_low int;
  declare exit handler for not found {missing};
  start transaction;
  select d_next_o_id into v_next from district where d_w_id = p_w_id and d_id = p_d_id;
  select count(distinct s_i_id) into v_low from order_line
    join stock on s_i_id = ol_i_id and s_w_id = ol_w_id
    where ol_w_id = p_w_id and ol_d_id = p_d_id and ol_o_id >= v_next - 20 and ol_o_id < v_next
      and s_quantity < p_threshold;
  commit;
  select v_low;
end
