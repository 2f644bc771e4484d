create procedure SLEV(
  p_w_id int, p_d_id int, p_threshold int, out v_low int
)
begin
  declare v_next int;
  {error}
  start transaction;
  select d_next_o_id into v_next from district where d_w_id = p_w_id and d_id = p_d_id;
  select count(distinct s_i_id) into v_low
    from order_line join stock on s_w_id = ol_w_id and s_i_id = ol_i_id
    where ol_w_id = p_w_id and ol_d_id = p_d_id and ol_o_id between v_next - 20 and v_next - 1
      and s_quantity < p_threshold;
  commit;
end
