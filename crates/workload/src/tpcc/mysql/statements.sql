-- The statements of the five transactions, in the order in which the code names them. An empty line ends a
-- step; the last statement returns its rows. Without RETURNING, a step updates a row and then reads it, under
-- the transaction's own lock.

---- new-order

-- begin
BEGIN;

-- warehouse
SELECT w_tax FROM warehouse WHERE w_id = $1:int;

-- customer
SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = $1:int AND c_d_id = $2:int AND c_id = $3:int;

-- district
UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1:int AND d_id = $2:int;
SELECT d_next_o_id - 1, d_tax FROM district WHERE d_w_id = $1:int AND d_id = $2:int;

-- order
INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
  VALUES ($1:int, $2:int, $3:int, $4:int, now(), NULL, $5:int, $6:int);

-- queue
INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES ($1:int, $2:int, $3:int);

-- item
SELECT i_price, i_name, i_data FROM item WHERE i_id = $1:int;

-- stock, one step per district
{districts:SELECT s_quantity, s_dist_{dd}, s_data FROM stock WHERE s_i_id = $1:int AND s_w_id = $2:int FOR UPDATE;

}

-- update stock
UPDATE stock SET s_quantity = $3:int{counters:, s_ytd = s_ytd + $4:int, s_order_cnt = s_order_cnt + 1,
    s_remote_cnt = s_remote_cnt + $5:int}
  WHERE s_i_id = $1:int AND s_w_id = $2:int;

-- line
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
    ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
  VALUES ($1:int, $2:int, $3:int, $4:int, $5:int, $6:int, NULL, $7:int, $8:decimal(6,2), $9:char(24));

-- commit
COMMIT;

-- rollback
ROLLBACK;

---- payment

-- begin
BEGIN;

-- names
SELECT c_id
  FROM customer
  WHERE c_w_id = $1:int AND c_d_id = $2:int AND c_last = $3:varchar(16)
  ORDER BY c_first, c_id;

-- customer; the connection's character set differs from the column's
UPDATE customer SET c_balance = c_balance - $4:decimal(12,2){counters:, c_ytd_payment = c_ytd_payment + $4,
    c_payment_cnt = c_payment_cnt + 1},
  c_data = CASE WHEN c_credit = 'BC' THEN left(concat(convert($5:varchar(500) using latin1), c_data), 500) ELSE
    c_data END
  WHERE c_w_id = $1:int AND c_d_id = $2:int AND c_id = $3:int;
SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since,
    c_credit, c_credit_lim, c_discount, c_balance, CASE WHEN c_credit = 'BC' THEN left(c_data, 200)
    END
  FROM customer
  WHERE c_w_id = $1:int AND c_d_id = $2:int AND c_id = $3:int;

-- district
UPDATE district SET d_ytd = d_ytd + $3:decimal(12,2) WHERE d_w_id = $1:int AND d_id = $2:int;
SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip
  FROM district
  WHERE d_w_id = $1:int AND d_id = $2:int;

-- warehouse
UPDATE warehouse SET w_ytd = w_ytd + $2:decimal(12,2) WHERE w_id = $1:int;
SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = $1:int;

-- history
INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data)
  VALUES ($1:int, $2:int, $3:int, $4:int, $5:int, now(), $6:decimal(6,2), $7:varchar(24));

-- commit
COMMIT;

---- order-status

-- begin: one snapshot for all statements; this needs repeatable read, which is the default unless the
-- administrator has changed it
START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY;

-- names
SELECT c_id, c_balance, c_first, c_middle
  FROM customer
  WHERE c_w_id = $1:int AND c_d_id = $2:int AND c_last = $3:varchar(16)
  ORDER BY c_first, c_id;

-- customer
SELECT c_balance, c_first, c_middle, c_last
  FROM customer
  WHERE c_w_id = $1:int AND c_d_id = $2:int AND c_id = $3:int;

-- order
SELECT o_id, o_carrier_id, o_entry_d
  FROM orders
  WHERE o_w_id = $1:int AND o_d_id = $2:int AND o_c_id = $3:int
  ORDER BY o_id DESC LIMIT 1;

-- lines
SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
  FROM order_line
  WHERE ol_w_id = $1:int AND ol_d_id = $2:int AND ol_o_id = $3:int;

-- commit
COMMIT;

---- delivery

-- begin
BEGIN;

-- oldest; FOR UPDATE skips an order that a concurrent delivery has deleted
SELECT no_o_id
  FROM new_order
  WHERE no_w_id = $1:int AND no_d_id = $2:int
  ORDER BY no_o_id LIMIT 1 FOR UPDATE;

-- dequeue
DELETE FROM new_order WHERE no_w_id = $1:int AND no_d_id = $2:int AND no_o_id = $3:int;

-- order
UPDATE orders SET o_carrier_id = $4:int WHERE o_w_id = $1:int AND o_d_id = $2:int AND o_id = $3:int;
SELECT o_c_id FROM orders WHERE o_w_id = $1:int AND o_d_id = $2:int AND o_id = $3:int;

-- lines
UPDATE order_line SET ol_delivery_d = now()
  WHERE ol_w_id = $1:int AND ol_d_id = $2:int AND ol_o_id = $3:int;

-- sum
SELECT coalesce(sum(ol_amount), 0)
  FROM order_line
  WHERE ol_w_id = $1:int AND ol_d_id = $2:int AND ol_o_id = $3:int;

-- customer
UPDATE customer SET c_balance = c_balance + $4:decimal(12,2){counters:, c_delivery_cnt = c_delivery_cnt + 1}
  WHERE c_w_id = $1:int AND c_d_id = $2:int AND c_id = $3:int;

-- commit
COMMIT;

---- stock-level

-- begin
BEGIN;

-- district
SELECT d_next_o_id FROM district WHERE d_w_id = $1:int AND d_id = $2:int;

-- low
SELECT count(DISTINCT s_i_id)
  FROM order_line
  JOIN stock ON s_i_id = ol_i_id AND s_w_id = ol_w_id
  WHERE ol_w_id = $1:int AND ol_d_id = $2:int AND ol_o_id >= $3:int AND ol_o_id < $4:int
    AND s_quantity < $5:int;

-- commit
COMMIT;
