CALL {prefix}new_order($1:int, $2:int, $3:int, $4:int, $5:varchar(255));
CALL {prefix}payment($1:int, $2:int, $3:int, $4:int, $5:int, $6:varchar(16), $7:decimal(6,2));
CALL {prefix}order_status($1:int, $2:int, $3:int, $4:varchar(16));
CALL {prefix}delivery($1:int, $2:int);
CALL {prefix}stock_level($1:int, $2:int, $3:int);
