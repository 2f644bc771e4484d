create procedure {prefix}neword(
  @no_w_id int, @no_max_w_id int, @no_d_id int, @no_c_id int, @no_o_ol_cnt int, @TIMESTAMP datetime2(0)
)
as
begin
  set nocount on;
  set xact_abort on;
  declare @w_tax decimal(4,4), @d_tax decimal(4,4), @discount decimal(4,4), @last varchar(16),
    @credit char(2), @next int, @item int, @supply int, @quantity int, @number int = 1, @changed int = 0,
    @price decimal(6,2), @name varchar(24), @i_data varchar(50), @all_local smallint = 1, @unused int = 0{babelfish:,
    @dists varchar(240)};
  begin transaction;
  select @discount = c_discount, @last = c_last, @credit = c_credit
    from customer where c_w_id = @no_w_id and c_d_id = @no_d_id and c_id = @no_c_id;
  {missing}
  update district set @next = d_next_o_id = d_next_o_id + 1, @d_tax = d_tax
    where d_w_id = @no_w_id and d_id = @no_d_id
  {missing}
  if rand() < 0.01
    set @unused = 1;
  while @number <= @no_o_ol_cnt
  begin
    set @item = 1 + cast(rand() * 100000 as int);
    if @unused = 1 and @number = @no_o_ol_cnt
      set @item = 100001;
    set @supply = @no_w_id;
    if @no_max_w_id > 1 and rand() < 0.01
    begin
      set @all_local = 0;
      set @supply = 1 + (@no_w_id + cast(rand() * (@no_max_w_id - 1) as int)) % @no_max_w_id;
    end;
    set @quantity = 1 + cast(rand() * 10 as int);
    select @price = i_price, @name = i_name, @i_data = i_data from item where i_id = @item;
    update stock
      set s_quantity = s_quantity - @quantity + case when s_quantity - @quantity >= 10 then 0 else 91 end{babelfish:,
      @dists = ''{districts: + s_dist_{dd}}}{!babelfish:
      output @next - 1, @no_d_id, @no_w_id, @number, @item, @supply, @quantity, @quantity * @price,
        case @no_d_id{districts: when {d} then inserted.s_dist_{dd}} end
      into order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount,
        ol_dist_info)}
      where s_w_id = @supply and s_i_id = @item
    if @@rowcount > 0
      set @changed = @changed + 1;{babelfish:
    insert into order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount,
      ol_dist_info) values (@next - 1, @no_d_id, @no_w_id, @number, @item, @supply, @quantity, @quantity * @price,
      substring(@dists, 24 * @no_d_id - 23, 24));}
    set @number = @number + 1;
  end;
  insert into orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    values (@next - 1, @no_d_id, @no_w_id, @no_c_id, @TIMESTAMP, null, @no_o_ol_cnt, @all_local);
  insert into new_order (no_o_id, no_d_id, no_w_id) values (@next - 1, @no_d_id, @no_w_id);
  select @w_tax = w_tax from warehouse where w_id = @no_w_id and @changed + @unused >= @no_o_ol_cnt;
  {missing}
  if @unused = 1
  begin
    rollback transaction;
    set @next = null;
  end
  else
    commit transaction;
  select @discount, @last, @credit, @d_tax, @w_tax, @next - 1;
end
