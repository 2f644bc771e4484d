create procedure {prefix}neword(
  @no_w_id int, @no_max_w_id int, @no_d_id int, @no_c_id int, @no_o_ol_cnt int, @TIMESTAMP datetime2(0)
)
as
begin
  set nocount on;
  set xact_abort on;
  declare @w_tax decimal(4,4), @d_tax decimal(4,4), @discount decimal(4,4), @last varchar(16),
    @credit char(2), @o_id int, @item int, @supply int, @quantity int, @stock int, @number int = 1,
    @price decimal(6,2), @name varchar(24), @i_data varchar(50), @s_data varchar(50), @dist char(24),
    @all_local smallint = 1, @rolls_back bit = 0, @unused bit = 0;
  select @discount = c_discount, @last = c_last, @credit = c_credit, @w_tax = w_tax
    from warehouse join customer on c_w_id = w_id
    where w_id = @no_w_id and c_d_id = @no_d_id and c_id = @no_c_id;
  {missing}
  set @rolls_back = case when rand() < 0.01 then 1 else 0 end;
  begin transaction;
  update district set d_next_o_id = d_next_o_id + 1 where d_w_id = @no_w_id and d_id = @no_d_id;
  {missing}
  select @o_id = d_next_o_id - 1, @d_tax = d_tax from district where d_w_id = @no_w_id and d_id = @no_d_id;
  while @number <= @no_o_ol_cnt and @unused = 0
  begin
    set @item = 1 + cast(rand() * 100000 as int);
    if @rolls_back = 1 and @number = @no_o_ol_cnt
      set @item = 100001;
    set @supply = @no_w_id;
    if @no_max_w_id > 1 and rand() < 0.01
    begin
      set @all_local = 0;
      set @supply = 1 + (@no_w_id + cast(rand() * (@no_max_w_id - 1) as int)) % @no_max_w_id;
    end;
    set @quantity = 1 + cast(rand() * 10 as int);
    select @price = i_price, @name = i_name, @i_data = i_data from item where i_id = @item;
    if @@rowcount = 0
      set @unused = 1;
    else
    begin
      select @stock = s_quantity, @s_data = s_data, @dist = case @no_d_id{districts: when {d} then s_dist_{dd}} end
        from stock with (updlock) where s_w_id = @supply and s_i_id = @item;
      {missing}
      set @stock = @stock - @quantity + case when @stock - @quantity >= 10 then 0 else 91 end;
      update stock set s_quantity = @stock where s_w_id = @supply and s_i_id = @item;
      insert into order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
          ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
        values (@o_id, @no_d_id, @no_w_id, @number, @item, @supply, null, @quantity, @quantity * @price, @dist);
    end;
    set @number = @number + 1;
  end;
  if @unused = 1
  begin
    rollback transaction;
    set @o_id = null;
  end
  else
  begin
    insert into orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
      values (@o_id, @no_d_id, @no_w_id, @no_c_id, @TIMESTAMP, null, @no_o_ol_cnt, @all_local);
    insert into new_order (no_o_id, no_d_id, no_w_id) values (@o_id, @no_d_id, @no_w_id);
    commit transaction;
  end;
  select @discount, @last, @credit, @d_tax, @w_tax, @o_id;
end
