SELECT {outputs:* FROM }{prefix}new_order($1:int, $2:int, $3:int, $4:int, $5, $6, $7, $8, $9:int);
SELECT {outputs:* FROM }{prefix}payment($1:int, $2:int, $3:int, $4:int, $5:int, $6:text, $7:decimal(6,2));
SELECT * FROM {prefix}order_status($1:int, $2:int, $3:int, $4:text);
SELECT {prefix}delivery($1:int, $2:int);
SELECT {prefix}stock_level($1:int, $2:int, $3:int);
