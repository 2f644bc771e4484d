-- Sent as a procedure call instead of a text, except in the simple protocol.
EXEC {prefix}new_order $1:int, $2:smallint, $3:int, $4:smallint, $5:varchar(255);
EXEC {prefix}payment $1:int, $2:smallint, $3:int, $4:smallint, $5:int, $6:varchar(16), $7:decimal(6,2);
EXEC {prefix}order_status $1:int, $2:smallint, $3:int, $4:varchar(16);
EXEC {prefix}delivery $1:int, $2:smallint;
EXEC {prefix}stock_level $1:int, $2:smallint, $3:smallint;
