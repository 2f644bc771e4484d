create procedure {prefix}slev(
  @st_w_id int, @st_d_id int, @threshold int
)
as
begin
  set nocount on;
  declare @next int;
  select @next = d_next_o_id from district where d_w_id = @st_w_id and d_id = @st_d_id;
  {missing}
  select count(distinct s_i_id) from order_line
    join stock on s_i_id = ol_i_id and s_w_id = ol_w_id
    where ol_w_id = @st_w_id and ol_d_id = @st_d_id and ol_o_id >= @next - 20 and ol_o_id < @next
      and s_quantity < @threshold;
end
