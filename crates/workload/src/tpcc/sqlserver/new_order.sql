-- Each line in `p_lines` has 15 digits: 6 for the item, 7 for the supplying warehouse, 2 for the quantity. A line takes
-- two statements, as in HammerDB: one reads the item, and one changes the stock and inserts the order's line.
create procedure {prefix}new_order(
  @p_w_id int, @p_d_id smallint, @p_c_id int, @p_all_local smallint, @p_lines varchar(255)
)
as
begin
  set nocount on;
  set xact_abort on;
  declare @w_tax decimal(4,4), @d_tax decimal(4,4), @discount decimal(4,4), @last varchar(16),
    @credit char(2), @next int, @item int, @supply int, @quantity int, @stock int, @at int = 1,
    @number int = 1, @price decimal(6,2), @name varchar(24), @i_data varchar(50), @s_data varchar(50),
    @amount decimal(8,2), @sum decimal(12,2) = 0, @brands varchar(15) = '',
    @shown varchar(1000) = '', @unused bit = 0{babelfish:, @dists varchar(240)};
  begin transaction;
  select @w_tax = w_tax from warehouse where w_id = @p_w_id;
  {missing}
  select @discount = c_discount, @last = c_last, @credit = c_credit
    from customer where c_w_id = @p_w_id and c_d_id = @p_d_id and c_id = @p_c_id;
  {missing}
  update district set @next = d_next_o_id = d_next_o_id + 1, @d_tax = d_tax
    where d_w_id = @p_w_id and d_id = @p_d_id
  {missing}
  insert into orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    values (@next - 1, @p_d_id, @p_w_id, @p_c_id, sysdatetime(), null, len(@p_lines) / 15, @p_all_local);
  insert into new_order (no_o_id, no_d_id, no_w_id) values (@next - 1, @p_d_id, @p_w_id);
  while @at < len(@p_lines) and @unused = 0
  begin
    set @item = cast(substring(@p_lines, @at, 6) as int);
    set @supply = cast(substring(@p_lines, @at + 6, 7) as int);
    set @quantity = cast(substring(@p_lines, @at + 13, 2) as int);
    select @price = i_price, @name = i_name, @i_data = i_data from item where i_id = @item;
    if @@rowcount = 0
      set @unused = 1;
    else
    begin
      set @amount = @quantity * @price;
      update stock set{counters:
      s_ytd = s_ytd + @quantity, s_order_cnt = s_order_cnt + 1,
      s_remote_cnt = s_remote_cnt + case when @supply <> @p_w_id then 1 else 0 end,}
        @stock = s_quantity{babelfish:, s_quantity} = s_quantity - @quantity + case
          when s_quantity - @quantity >= 10 then 0 else 91 end, @s_data = s_data{babelfish:,
        @dists = ''{districts: + s_dist_{dd}}}{!babelfish:
        output @next - 1, @p_d_id, @p_w_id, @number, @item, @supply, @quantity, @amount,
          case @p_d_id{districts: when {d} then inserted.s_dist_{dd}} end
        into order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount,
          ol_dist_info)}
        where s_w_id = @supply and s_i_id = @item
      {missing}{babelfish:
      insert into order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount,
        ol_dist_info) values (@next - 1, @p_d_id, @p_w_id, @number, @item, @supply, @quantity, @amount,
        substring(@dists, 24 * @p_d_id - 23, 24));}{outputs:
      set @sum = @sum + @amount;
      set @brands = @brands + case when charindex('ORIGINAL', @i_data) > 0
        and charindex('ORIGINAL', @s_data) > 0 then 'B' else 'G' end;
      set @shown = @shown + '|' + @name + '|' + cast(@stock as varchar(10)) + '|'
        + cast(@price as varchar(10)) + '|' + cast(@amount as varchar(10));}
    end;
    set @at = @at + 15;
    set @number = @number + 1;
  end;
  if @unused = 1
  begin
    rollback transaction;
    select cast(null as int){outputs:, null, null};
  end
  else
  begin
    commit transaction;
    select @next - 1{outputs:,
      cast(round(@sum * (1 - @discount) * (1 + @w_tax + @d_tax), 2) as decimal(12,2)), @brands, @last, @credit,
      @discount, @w_tax, @d_tax, sysdatetime(), @shown};
  end;
end
