-- The relations that the consistency conditions are checked on, each a WITH clause that ends with `p`. The
-- columns have the same names on every engine. Before PostgreSQL 14, a keyword such as `last` needs an `as`.

-- Warehouses and districts against the history.
with h as (select h_w_id w, h_d_id d, sum(h_amount) amount from history group by 1, 2),
d as (select coalesce(d_w_id, w) w, coalesce(d_id, d) d, coalesce(d_ytd, 0) ytd,
  coalesce(amount, 0) amount
  from district full join h on d_w_id = w and d_id = d),
s as (select w, sum(ytd) ytd, sum(amount) amount from d group by 1),
w as (select coalesce(w_id, w) w, coalesce(w_ytd, 0) ytd, coalesce(ytd, 0) d_ytd,
  coalesce(amount, 0) amount from warehouse full join s on w_id = w),
p as (select w, null::int d, ytd, d_ytd, amount from w
  union all select w, d, ytd, null, amount from d);

-- Orders, their lines and new orders, per district.
with l as (select ol_w_id w, ol_d_id d, ol_o_id o, count(*) rows_,
  count(ol_delivery_d) dated from order_line group by 1, 2, 3),
o as (select coalesce(o_w_id, w) w, coalesce(o_d_id, d) d, coalesce(o_id, o) o,
  o_id is not null known, o_carrier_id carrier, coalesce(o_ol_cnt, 0) cnt,
  coalesce(rows_, 0) rows_, coalesce(dated, 0) dated
  from orders full join l on o_w_id = w and o_d_id = d and o_id = o),
a as (select coalesce(w, no_w_id) w, coalesce(d, no_d_id) d, coalesce(o, no_o_id) o,
  coalesce(known, false) known, carrier, coalesce(cnt, 0) cnt, coalesce(rows_, 0) rows_,
  coalesce(dated, 0) dated, no_o_id is not null open
  from o full join new_order on no_w_id = w and no_d_id = d and no_o_id = o),
f as (select *, (carrier is null) <> open or not known and open b5, rows_ <> cnt b6,
  known and dated <> case when carrier is null then 0 else rows_ end b7 from a),
k as (select w, d, count(*) filter (where known) orders, max(o) filter (where known) as last,
  count(*) filter (where open) open, min(o) filter (where open) open_first,
  max(o) filter (where open) open_last, sum(cnt) cnt, sum(rows_) rows_,
  count(*) filter (where known and o > 2100 and carrier is not null) since,
  count(*) filter (where b5) b5, min(o) filter (where b5) e5,
  count(*) filter (where b6) b6, min(o) filter (where b6) e6,
  count(*) filter (where b7) b7, min(o) filter (where b7) e7 from f group by 1, 2),
p as (select coalesce(w, d_w_id) w, coalesce(d, d_id) d, coalesce(d_next_o_id, 0) as next,
  coalesce(orders, 0) orders, coalesce(last, 0) as last, coalesce(open, 0) open, open_first,
  open_last, coalesce(open_last::text, 'none') open_shown, coalesce(cnt, 0) cnt,
  coalesce(rows_, 0) rows_, coalesce(since, 0) since,
  b5, e5, b6, e6, b7, e7 from k full join district on d_w_id = w and d_id = d);

-- Customers against their deliveries and payments.
with l as (select ol_w_id w, ol_d_id d, ol_o_id o, sum(ol_amount) amount
  from order_line where ol_delivery_d is not null group by 1, 2, 3),
o as (select o_w_id w, o_d_id d, o_c_id c, sum(amount) amount
  from orders join l on o_w_id = w and o_d_id = d and o_id = o group by 1, 2, 3),
h as (select h_c_w_id w, h_c_d_id d, h_c_id c, sum(h_amount) amount, count(*) payments
  from history group by 1, 2, 3),
p as (select c_w_id w, c_d_id d, c_id c, c_balance balance, c_ytd_payment ytd,
  coalesce(o.amount, 0) delivered, coalesce(h.amount, 0) paid,
  c_payment_cnt >= coalesce(payments, 0) counted from customer
  left join o on o.w = c_w_id and o.d = c_d_id and o.c = c_id
  left join h on h.w = c_w_id and h.d = c_d_id and h.c = c_id);
