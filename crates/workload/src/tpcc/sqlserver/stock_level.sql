create procedure {prefix}stock_level(
  @p_w_id int, @p_d_id smallint, @p_threshold smallint
)
as
begin
  set nocount on;
  declare @next int, @low int;
  select @next = d_next_o_id from district where d_w_id = @p_w_id and d_id = @p_d_id;
  {missing}
  select @low = count(distinct s_i_id) from order_line
    join stock on s_i_id = ol_i_id and s_w_id = ol_w_id
    where ol_w_id = @p_w_id and ol_d_id = @p_d_id and ol_o_id >= @next - 20 and ol_o_id < @next
      and s_quantity < @p_threshold;
  select @low;
end
