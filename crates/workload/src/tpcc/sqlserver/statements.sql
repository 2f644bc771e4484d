-- The statements of the five transactions, in the order in which the code names them. An empty line ends a
-- step; the last statement returns its rows. The type after a placeholder is its column's; `nvarchar` would
-- convert the column and scan the table. Amounts are returned with two decimal places, which HammerDB's `money`
-- does not have. UPDLOCK takes the lock of the update that follows: two transactions that both hold the shared
-- lock of a row would deadlock.

---- new-order

-- begin
BEGIN TRANSACTION;

-- warehouse
SELECT w_tax FROM warehouse WHERE w_id = $1:int;

-- customer
SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = $1:int AND c_d_id = $2:smallint AND c_id = $3:int;

-- district
UPDATE district SET d_next_o_id = d_next_o_id + 1
  OUTPUT inserted.d_next_o_id - 1, inserted.d_tax
  WHERE d_w_id = $1:int AND d_id = $2:smallint;

-- order
INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
  VALUES ($1:int, $2:smallint, $3:int, $4:int, sysdatetime(), NULL, $5:smallint, $6:smallint);

-- queue
INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES ($1:int, $2:smallint, $3:int);

-- item
SELECT CAST(i_price AS decimal(5,2)), i_name, i_data FROM item WHERE i_id = $1:int;

-- stock, one step per district
{districts:SELECT s_quantity, s_dist_{dd}, s_data FROM stock WITH (UPDLOCK) WHERE s_i_id = $1:int AND s_w_id = $2:int;

}

-- update stock
UPDATE stock SET s_quantity = $3:smallint{counters:, s_ytd = s_ytd + $4:int, s_order_cnt = s_order_cnt + 1,
    s_remote_cnt = s_remote_cnt + $5:smallint}
  WHERE s_i_id = $1:int AND s_w_id = $2:int;

-- line
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
    ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
  VALUES ($1:int, $2:smallint, $3:int, $4:smallint, $5:int, $6:int, NULL, $7:smallint, $8:decimal(6,2),
    $9:char(24));

-- commit
COMMIT TRANSACTION;

-- rollback
ROLLBACK TRANSACTION;

---- payment

-- begin
BEGIN TRANSACTION;

-- names
SELECT c_id
  FROM customer
  WHERE c_w_id = $1:int AND c_d_id = $2:smallint AND c_last = $3:varchar(16)
  ORDER BY c_first, c_id;

-- customer
UPDATE customer SET c_balance = c_balance - $4:decimal(12,2){counters:, c_ytd_payment = c_ytd_payment + $4,
    c_payment_cnt = c_payment_cnt + 1},
  c_data = CASE WHEN c_credit = 'BC' THEN left($5:varchar(500) + c_data, 500) ELSE c_data END
  OUTPUT inserted.c_first, inserted.c_middle, inserted.c_last, inserted.c_street_1, inserted.c_street_2,
    inserted.c_city, inserted.c_state, inserted.c_zip, inserted.c_phone, inserted.c_since, inserted.c_credit,
    inserted.c_credit_lim, inserted.c_discount, inserted.c_balance, left(inserted.c_data, 200)
  WHERE c_w_id = $1:int AND c_d_id = $2:smallint AND c_id = $3:int;

-- district
UPDATE district SET d_ytd = d_ytd + $3:decimal(12,2)
  OUTPUT inserted.d_name, inserted.d_street_1, inserted.d_street_2, inserted.d_city, inserted.d_state,
    inserted.d_zip
  WHERE d_w_id = $1:int AND d_id = $2:smallint;

-- warehouse
UPDATE warehouse SET w_ytd = w_ytd + $2:decimal(12,2)
  OUTPUT inserted.w_name, inserted.w_street_1, inserted.w_street_2, inserted.w_city, inserted.w_state,
    inserted.w_zip
  WHERE w_id = $1:int;

-- history
INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data)
  VALUES ($1:smallint, $2:int, $3:int, $4:smallint, $5:int, sysdatetime(), $6:decimal(6,2), $7:varchar(24));

-- commit
COMMIT TRANSACTION;

---- order-status

-- begin; the customer and its order stay locked until the end, so that the two belong together
BEGIN TRANSACTION;

-- names
SELECT c_id, c_balance, c_first, c_middle
  FROM customer WITH (REPEATABLEREAD)
  WHERE c_w_id = $1:int AND c_d_id = $2:smallint AND c_last = $3:varchar(16)
  ORDER BY c_first, c_id;

-- customer
SELECT c_balance, c_first, c_middle, c_last
  FROM customer WITH (REPEATABLEREAD)
  WHERE c_w_id = $1:int AND c_d_id = $2:smallint AND c_id = $3:int;

-- order
SELECT TOP (1) o_id, o_carrier_id, o_entry_d
  FROM orders WITH (REPEATABLEREAD)
  WHERE o_w_id = $1:int AND o_d_id = $2:smallint AND o_c_id = $3:int
  ORDER BY o_id DESC;

-- lines
SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
  FROM order_line
  WHERE ol_w_id = $1:int AND ol_d_id = $2:smallint AND ol_o_id = $3:int;

-- commit
COMMIT TRANSACTION;

---- delivery

-- begin
BEGIN TRANSACTION;

-- oldest; UPDLOCK waits for a concurrent delivery of the order, and then finds the next one
SELECT TOP (1) no_o_id
  FROM new_order WITH (UPDLOCK)
  WHERE no_w_id = $1:int AND no_d_id = $2:smallint
  ORDER BY no_o_id;

-- dequeue
DELETE FROM new_order WHERE no_w_id = $1:int AND no_d_id = $2:smallint AND no_o_id = $3:int;

-- order
UPDATE orders SET o_carrier_id = $4:smallint
  OUTPUT inserted.o_c_id
  WHERE o_w_id = $1:int AND o_d_id = $2:smallint AND o_id = $3:int;

-- lines
UPDATE order_line SET ol_delivery_d = sysdatetime()
  WHERE ol_w_id = $1:int AND ol_d_id = $2:smallint AND ol_o_id = $3:int;

-- sum
SELECT CAST(coalesce(sum(ol_amount), 0) AS decimal(12,2))
  FROM order_line
  WHERE ol_w_id = $1:int AND ol_d_id = $2:smallint AND ol_o_id = $3:int;

-- customer
UPDATE customer SET c_balance = c_balance + $4:decimal(12,2){counters:, c_delivery_cnt = c_delivery_cnt + 1}
  WHERE c_w_id = $1:int AND c_d_id = $2:smallint AND c_id = $3:int;

-- commit
COMMIT TRANSACTION;

---- stock-level

-- begin
BEGIN TRANSACTION;

-- district
SELECT d_next_o_id FROM district WHERE d_w_id = $1:int AND d_id = $2:smallint;

-- low
SELECT count(DISTINCT s_i_id)
  FROM order_line
  JOIN stock ON s_i_id = ol_i_id AND s_w_id = ol_w_id
  WHERE ol_w_id = $1:int AND ol_d_id = $2:smallint AND ol_o_id >= $3:int AND ol_o_id < $4:int
    AND s_quantity < $5:smallint;

-- commit
COMMIT TRANSACTION;
