create procedure {prefix}payment(
  @p_w_id int, @p_d_id int, @p_c_w_id int, @p_c_d_id int, @p_c_id int, @byname int,
  @p_h_amount numeric(6,2), @p_c_last char(16), @TIMESTAMP datetime2(0)
)
as
begin
  set nocount on;
  set xact_abort on;
  declare @c_id int = @p_c_id, @first varchar(16), @last varchar(16), @middle char(2),
    @street_1 varchar(20), @street_2 varchar(20), @city varchar(20), @state char(2), @zip char(9),
    @phone char(16), @since datetime, @credit char(2), @limit decimal(12,2), @discount decimal(4,4),
    @balance decimal(12,2), @data varchar(500), @d_name varchar(10), @d_street_1 varchar(20),
    @d_street_2 varchar(20), @d_city varchar(20), @d_state char(2), @d_zip char(9), @w_name varchar(10),
    @w_street_1 varchar(20), @w_street_2 varchar(20), @w_city varchar(20), @w_state char(2), @w_zip char(9);
  if @byname = 1
    select @c_id = c_id
      from (select c_id, count(*) over () matching, row_number() over (order by c_first, c_id) position
        from customer where c_w_id = @p_c_w_id and c_d_id = @p_c_d_id and c_last = @p_c_last) named
      where position = (matching + 1) / 2;
  begin transaction;
  update customer set @balance = c_balance{babelfish:, c_balance} = c_balance - @p_h_amount,
      @data = c_data{babelfish:, c_data} = case when c_credit = 'BC' then left(concat(@c_id, ' ', @p_c_d_id, ' ',
        @p_c_w_id, ' ', @p_d_id, ' ', @p_w_id, ' ', @p_h_amount, '|', c_data), 500) else c_data end,
      @first = c_first, @middle = c_middle, @last = c_last, @street_1 = c_street_1, @street_2 = c_street_2,
      @city = c_city, @state = c_state, @zip = c_zip, @phone = c_phone, @since = c_since, @credit = c_credit,
      @limit = c_credit_lim, @discount = c_discount
    where c_w_id = @p_c_w_id and c_d_id = @p_c_d_id and c_id = @c_id
  {missing}
  update district set d_ytd = d_ytd + @p_h_amount, @d_name = d_name, @d_street_1 = d_street_1,
      @d_street_2 = d_street_2, @d_city = d_city, @d_state = d_state, @d_zip = d_zip
    where d_w_id = @p_w_id and d_id = @p_d_id
  {missing}
  update warehouse set w_ytd = w_ytd + @p_h_amount, @w_name = w_name, @w_street_1 = w_street_1,
      @w_street_2 = w_street_2, @w_city = w_city, @w_state = w_state, @w_zip = w_zip
    where w_id = @p_w_id
  {missing}
  insert into history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    values (@p_c_d_id, @p_c_w_id, @c_id, @p_d_id, @p_w_id, @TIMESTAMP, @p_h_amount,
      left(rtrim(@w_name) + '    ' + rtrim(@d_name), 24));
  commit transaction;
  select @c_id, @last, @w_street_1, @w_street_2, @w_city, @w_state, @w_zip, @d_street_1, @d_street_2,
    @d_city, @d_state, @d_zip, @first, @middle, @street_1, @street_2, @city, @state, @zip, @phone, @since,
    @credit, @limit, @discount, @balance, case when @credit = 'BC' then @data end;
end
