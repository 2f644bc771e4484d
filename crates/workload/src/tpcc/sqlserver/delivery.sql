create procedure {prefix}delivery(
  @p_w_id int, @p_carrier smallint
)
as
begin
  set nocount on;
  set xact_abort on;
  declare @d_id smallint = 1, @delivered int = 0, @o_id int, @c_id int;
  begin transaction;
  while @d_id <= 10
  begin
    set @o_id = null;
    select top (1) @o_id = no_o_id from new_order with (updlock)
      where no_w_id = @p_w_id and no_d_id = @d_id order by no_o_id;
    if @o_id is not null
    begin
      delete from new_order where no_w_id = @p_w_id and no_d_id = @d_id and no_o_id = @o_id;
      {taken}
      update orders set o_carrier_id = @p_carrier, @c_id = o_c_id
        where o_w_id = @p_w_id and o_d_id = @d_id and o_id = @o_id
      {missing}
      update order_line set ol_delivery_d = sysdatetime()
        where ol_w_id = @p_w_id and ol_d_id = @d_id and ol_o_id = @o_id;
      update customer set c_balance = c_balance + (select coalesce(sum(ol_amount), 0) from order_line
          where ol_w_id = @p_w_id and ol_d_id = @d_id and ol_o_id = @o_id){counters:, c_delivery_cnt = c_delivery_cnt + 1}
        where c_w_id = @p_w_id and c_d_id = @d_id and c_id = @c_id;
      {missing}
      set @delivered = @delivered + 1;
    end;
    set @d_id = @d_id + 1;
  end;
  commit transaction;
  select @delivered;
end
