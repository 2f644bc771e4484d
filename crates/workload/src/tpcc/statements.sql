-- The statements of the five transactions, in the order in which the code names them. An empty line ends a
-- step; the last statement returns its rows. MySQL has no RETURNING: a step updates a row and then reads it, under the
-- transaction's own lock.
--
-- The type after a placeholder is the one that the server would infer; varchar columns are compared as text on
-- PostgreSQL. On SQL Server it is its column's: `nvarchar` would convert the column and scan the table. Amounts are
-- returned there with two decimal places, which HammerDB's `money` does not have, and UPDLOCK takes the lock of the update
-- that follows: two transactions that both hold the shared lock of a row would deadlock.

---- new-order

-- begin
BEGIN{sqlserver: TRANSACTION};

-- warehouse
SELECT w_tax FROM warehouse WHERE w_id = $1:int;

-- customer
SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = $1:int AND c_d_id = $2:{small} AND c_id = $3:int;

-- district
UPDATE district SET d_next_o_id = d_next_o_id + 1{sqlserver: OUTPUT inserted.d_next_o_id - 1, inserted.d_tax}
  WHERE d_w_id = $1:int AND d_id = $2:{small}{postgresql: RETURNING d_next_o_id - 1, d_tax};
{mysql:SELECT d_next_o_id - 1, d_tax FROM district WHERE d_w_id = $1:int AND d_id = $2:int;}

-- order
INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
  VALUES ($1:int, $2:{small}, $3:int, $4:int, {now}, NULL, $5:{small}, $6:{small});

-- queue
INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES ($1:int, $2:{small}, $3:int);

-- item
SELECT {sqlserver:CAST(i_price AS decimal(5,2))}{!sqlserver:i_price}, i_name, i_data FROM item WHERE i_id = $1:int;

-- stock, one step per district
{districts:SELECT s_quantity, s_dist_{dd}, s_data FROM stock{sqlserver: WITH (UPDLOCK)}
  WHERE s_i_id = $1:int AND s_w_id = $2:int{!sqlserver: FOR UPDATE};

}

-- update stock
UPDATE stock SET s_quantity = $3:{small}{counters:, s_ytd = s_ytd + $4:int, s_order_cnt = s_order_cnt + 1,
    s_remote_cnt = s_remote_cnt + $5:{small}}
  WHERE s_i_id = $1:int AND s_w_id = $2:int;

-- line
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
    ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
  VALUES ($1:int, $2:{small}, $3:int, $4:{small}, $5:int, $6:int, NULL, $7:{small}, $8:decimal(6,2),
    $9:char(24));

-- commit
COMMIT{sqlserver: TRANSACTION};

-- rollback
ROLLBACK{sqlserver: TRANSACTION};

---- payment

-- begin
BEGIN{sqlserver: TRANSACTION};

-- names
SELECT c_id
  FROM customer
  WHERE c_w_id = $1:int AND c_d_id = $2:{small} AND c_last = $3:{name}
  ORDER BY c_first, c_id;

-- customer; the character set of MySQL's connection differs from the column's
UPDATE customer SET c_balance = c_balance - $4:decimal(12,2){counters:, c_ytd_payment = c_ytd_payment + $4,
    c_payment_cnt = c_payment_cnt + 1},
  c_data = CASE WHEN c_credit = 'BC' THEN left({postgresql:$5:text || c_data}{mysql:concat(convert($5:varchar(500)
    using latin1), c_data)}{sqlserver:$5:varchar(500) + c_data}, 500) ELSE c_data END{sqlserver: OUTPUT
    inserted.c_first, inserted.c_middle, inserted.c_last, inserted.c_street_1, inserted.c_street_2, inserted.c_city,
    inserted.c_state, inserted.c_zip, inserted.c_phone, inserted.c_since, inserted.c_credit, inserted.c_credit_lim,
    inserted.c_discount, inserted.c_balance, left(inserted.c_data, 200)}
  WHERE c_w_id = $1:int AND c_d_id = $2:{small} AND c_id = $3:int{mysql:;}
  {!sqlserver:{mysql:SELECT}{postgresql:RETURNING} c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state,
    c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance, CASE WHEN c_credit = 'BC' THEN
    left(c_data, 200) END}
  {mysql:FROM customer WHERE c_w_id = $1:int AND c_d_id = $2:int AND c_id = $3:int};

-- district
UPDATE district SET d_ytd = d_ytd + $3:decimal(12,2){sqlserver: OUTPUT inserted.d_name, inserted.d_street_1,
    inserted.d_street_2, inserted.d_city, inserted.d_state, inserted.d_zip}
  WHERE d_w_id = $1:int AND d_id = $2:{small}{mysql:;}
  {!sqlserver:{mysql:SELECT}{postgresql:RETURNING} d_name, d_street_1, d_street_2, d_city, d_state, d_zip}
  {mysql:FROM district WHERE d_w_id = $1:int AND d_id = $2:int};

-- warehouse
UPDATE warehouse SET w_ytd = w_ytd + $2:decimal(12,2){sqlserver: OUTPUT inserted.w_name, inserted.w_street_1,
    inserted.w_street_2, inserted.w_city, inserted.w_state, inserted.w_zip}
  WHERE w_id = $1:int{mysql:;}
  {!sqlserver:{mysql:SELECT}{postgresql:RETURNING} w_name, w_street_1, w_street_2, w_city, w_state, w_zip}
  {mysql:FROM warehouse WHERE w_id = $1:int};

-- history
INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data)
  VALUES ($1:{small}, $2:int, $3:int, $4:{small}, $5:int, {now}, $6:decimal(6,2), $7:varchar(24));

-- commit
COMMIT{sqlserver: TRANSACTION};

---- order-status

-- begin: one snapshot for all statements. On PostgreSQL a read-only transaction cannot fail with a serialization error;
-- MySQL needs repeatable read, which is the default unless the administrator has changed it. On SQL Server the customer and
-- its order stay locked until the end, so that the two belong together.
{postgresql:BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY}{mysql:START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY}
{sqlserver:BEGIN TRANSACTION};

-- names
SELECT c_id, c_balance, c_first, c_middle
  FROM customer{sqlserver: WITH (REPEATABLEREAD)}
  WHERE c_w_id = $1:int AND c_d_id = $2:{small} AND c_last = $3:{name}
  ORDER BY c_first, c_id;

-- customer
SELECT c_balance, c_first, c_middle, c_last
  FROM customer{sqlserver: WITH (REPEATABLEREAD)}
  WHERE c_w_id = $1:int AND c_d_id = $2:{small} AND c_id = $3:int;

-- order
SELECT{sqlserver: TOP (1)} o_id, o_carrier_id, o_entry_d
  FROM orders{sqlserver: WITH (REPEATABLEREAD)}
  WHERE o_w_id = $1:int AND o_d_id = $2:{small} AND o_c_id = $3:int
  ORDER BY o_id DESC{!sqlserver: LIMIT 1};

-- lines
SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
  FROM order_line
  WHERE ol_w_id = $1:int AND ol_d_id = $2:{small} AND ol_o_id = $3:int;

-- commit
COMMIT{sqlserver: TRANSACTION};

---- delivery

-- begin
BEGIN{sqlserver: TRANSACTION};

-- oldest; FOR UPDATE skips an order that a concurrent delivery has deleted, UPDLOCK waits for that delivery and then finds
-- the next one
SELECT{sqlserver: TOP (1)} no_o_id
  FROM new_order{sqlserver: WITH (UPDLOCK)}
  WHERE no_w_id = $1:int AND no_d_id = $2:{small}
  ORDER BY no_o_id{!sqlserver: LIMIT 1 FOR UPDATE};

-- dequeue
DELETE FROM new_order WHERE no_w_id = $1:int AND no_d_id = $2:{small} AND no_o_id = $3:int;

-- order
UPDATE orders SET o_carrier_id = $4:{small}{sqlserver: OUTPUT inserted.o_c_id}
  WHERE o_w_id = $1:int AND o_d_id = $2:{small} AND o_id = $3:int{postgresql: RETURNING o_c_id};
{mysql:SELECT o_c_id FROM orders WHERE o_w_id = $1:int AND o_d_id = $2:int AND o_id = $3:int;}

-- lines
UPDATE order_line SET ol_delivery_d = {now}
  WHERE ol_w_id = $1:int AND ol_d_id = $2:{small} AND ol_o_id = $3:int;

-- sum
SELECT {sqlserver:CAST(coalesce(sum(ol_amount), 0) AS decimal(12,2))}{!sqlserver:coalesce(sum(ol_amount), 0)}
  FROM order_line
  WHERE ol_w_id = $1:int AND ol_d_id = $2:{small} AND ol_o_id = $3:int;

-- customer
UPDATE customer SET c_balance = c_balance + $4:decimal(12,2){counters:, c_delivery_cnt = c_delivery_cnt + 1}
  WHERE c_w_id = $1:int AND c_d_id = $2:{small} AND c_id = $3:int;

-- commit
COMMIT{sqlserver: TRANSACTION};

---- stock-level

-- begin
BEGIN{sqlserver: TRANSACTION};

-- district
SELECT d_next_o_id FROM district WHERE d_w_id = $1:int AND d_id = $2:{small};

-- low
SELECT count(DISTINCT s_i_id)
  FROM order_line
  JOIN stock ON s_i_id = ol_i_id AND s_w_id = ol_w_id
  WHERE ol_w_id = $1:int AND ol_d_id = $2:{small} AND ol_o_id >= $3:int AND ol_o_id < $4:int
    AND s_quantity < $5:{small};

-- commit
COMMIT{sqlserver: TRANSACTION};
