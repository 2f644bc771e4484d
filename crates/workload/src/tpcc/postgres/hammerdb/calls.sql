SELECT {prefix}neword($1:int, $2:int, $3:int, $4:int, $5:int, 0);
SELECT {prefix}payment($1:int, $2:int, $3:int, $4:int, $5:int, $6:int, $7:decimal(6,2), $8:varchar(16), '0', 0);
SELECT * FROM {prefix}ostat($1:int, $2:int, $3:int, $4:int, $5:varchar(16))
  AS (ol_i_id int, ol_supply_w_id int, ol_quantity smallint, ol_amount numeric, ol_delivery_d
    timestamptz, c_id int, c_last varchar, c_first varchar, c_middle varchar, c_balance numeric, o_id
    int, o_entry_d timestamp, o_carrier_id int);
SELECT {prefix}delivery($1:int, $2:int);
SELECT {prefix}slev($1:int, $2:int, $3:int);
