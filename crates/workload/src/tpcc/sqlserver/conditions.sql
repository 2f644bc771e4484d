-- The relations that the consistency conditions are checked on, each used as a subquery in FROM. The columns have
-- the same names on every engine; reserved words are in brackets. Values of comparisons are 1 and 0: T-SQL has no
-- boolean columns.

-- Warehouses and districts against the history. UNION ALL, with zeros for missing columns, also includes rows
-- that exist in only one of the tables.
select w, d, sum(ytd) ytd, sum(d_ytd) d_ytd, sum(amount) amount from (
select w_id w, cast(null as int) d, cast(w_ytd as decimal(19,2)) ytd, cast(0 as decimal(19,2)) d_ytd,
  cast(0 as decimal(19,2)) amount from warehouse
union all select d_w_id, null, 0, sum(d_ytd), 0 from district group by d_w_id
union all select h_w_id, null, 0, 0, sum(h_amount) from history group by h_w_id
union all select d_w_id, d_id, d_ytd, 0, 0 from district
union all select h_w_id, h_d_id, 0, 0, sum(h_amount) from history group by h_w_id, h_d_id
) a group by w, d;

-- Orders, their lines and new orders, per district.
select w, d, sum([next]) [next], sum(orders) orders, sum([last]) [last], sum([open]) [open],
min(open_first) open_first, max(open_last) open_last,
coalesce(cast(max(open_last) as varchar(12)), 'none') open_shown, sum(cnt) cnt, sum(rows_) rows_,
sum(since) since, sum(b5) b5, min(e5) e5, sum(b6) b6, min(e6) e6, sum(b7) b7, min(e7) e7
from (select d_w_id w, d_id d, d_next_o_id [next], 0 orders, 0 [last], 0 [open],
cast(null as int) open_first, cast(null as int) open_last, 0 cnt, 0 rows_, 0 since, 0 b5,
cast(null as int) e5, 0 b6, cast(null as int) e6, 0 b7, cast(null as int) e7 from district
  union all select w, d, 0, sum(known), max(case when known = 1 then o else 0 end), sum([open]),
min(case when [open] = 1 then o end), max(case when [open] = 1 then o end), sum(cnt),
sum(rows_), sum(case when known = 1 and o > 2100 and carried = 1 then 1 else 0 end), sum(b5),
min(case when b5 = 1 then o end), sum(b6), min(case when b6 = 1 then o end), sum(b7),
min(case when b7 = 1 then o end)
  from (select w, d, o, known, carried, [open], cnt, rows_,
  case when known = 1 and carried = [open] or known = 0 and [open] = 1 then 1 else 0 end b5,
  case when rows_ <> cnt then 1 else 0 end b6,
  case when known = 1 and dated <> case when carried = 0 then 0 else rows_ end then 1 else 0 end b7
from (select w, d, o, sum(known) known, sum(carried) carried, sum(cnt) cnt,
    sum(rows_) rows_, sum(dated) dated, sum([open]) [open]
  from (select o_w_id w, o_d_id d, o_id o, 1 known,
      case when o_carrier_id is not null then 1 else 0 end carried,
      cast(coalesce(o_ol_cnt, 0) as int) cnt, 0 rows_, 0 dated, 0 [open] from orders
    union all select ol_w_id, ol_d_id, ol_o_id, 0, 0, 0, count(*), count(ol_delivery_d), 0
      from order_line group by ol_w_id, ol_d_id, ol_o_id
    union all select no_w_id, no_d_id, no_o_id, 0, 0, 0, 0, 0, 1 from new_order) a
  group by w, d, o) f) g
  group by w, d) h group by w, d;

-- Customers against their deliveries and payments.
select w, d, c, sum(balance) balance, sum(ytd) ytd, sum(delivered) delivered, sum(paid) paid,
case when sum(counts) >= sum(payments) then 1 else 0 end counted from (
select c_w_id w, c_d_id d, c_id c, cast(c_balance as decimal(19,2)) balance,
  cast(c_ytd_payment as decimal(19,2)) ytd, cast(0 as decimal(19,2)) delivered,
  cast(0 as decimal(19,2)) paid, cast(c_payment_cnt as int) counts, 0 payments, 1 known from customer
union all select o_w_id, o_d_id, o_c_id, 0, 0, sum(amount), 0, 0, 0, 0 from orders
  join (select ol_w_id w, ol_d_id d, ol_o_id o, sum(ol_amount) amount from order_line
    where ol_delivery_d is not null group by ol_w_id, ol_d_id, ol_o_id) l
  on o_w_id = w and o_d_id = d and o_id = o group by o_w_id, o_d_id, o_c_id
union all select h_c_w_id, h_c_d_id, h_c_id, 0, 0, 0, sum(h_amount), 0, count(*), 0
  from history group by h_c_w_id, h_c_d_id, h_c_id
) a group by w, d, c having sum(known) > 0;
