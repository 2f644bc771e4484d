create procedure {prefix}ostat(
  @os_w_id int, @os_d_id int, @os_c_id int, @byname int, @os_c_last char(20)
)
as
begin
  set nocount on;
  set xact_abort on;
  declare @c_id int = @os_c_id, @o_id int, @carrier_id int, @entry_d datetime,
    @balance decimal(12,2), @first varchar(16), @middle char(2), @last varchar(16);
  begin transaction;
  if @byname = 1
    select @c_id = c_id, @balance = c_balance, @first = c_first, @middle = c_middle, @last = c_last
      from (select c_id, c_balance, c_first, c_middle, c_last, count(*) over () matching,
          row_number() over (order by c_first, c_id) position from customer with (repeatableread)
        where c_w_id = @os_w_id and c_d_id = @os_d_id and c_last = @os_c_last) named
      where position = (matching + 1) / 2;
  else
    select @balance = c_balance, @first = c_first, @middle = c_middle, @last = c_last
      from customer with (repeatableread) where c_w_id = @os_w_id and c_d_id = @os_d_id and c_id = @c_id;
  {missing}
  select top (1) @o_id = o_id, @carrier_id = o_carrier_id, @entry_d = o_entry_d
    from orders with (repeatableread) where o_w_id = @os_w_id and o_d_id = @os_d_id and o_c_id = @c_id
    order by o_id desc;
  select ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
    from order_line where ol_w_id = @os_w_id and ol_d_id = @os_d_id and ol_o_id = @o_id;
  commit transaction;
  select @c_id, @last, @first, @middle, @entry_d, @carrier_id, @balance, @o_id;
end
