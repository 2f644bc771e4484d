-- The nine tables as HammerDB creates them on SQL Server, with its order of columns. The tables of the profile
-- `hammerdb` have its types too. Those of `standard` have the types of the other engines: texts of variable
-- length, and amounts with two decimal places [1.3.1]. Texts have one byte per character, so that a parameter
-- declared `varchar` finds its rows by an index. The keys are added after the rows, because a table without an
-- index is loaded with minimal logging. Before them, the padding of HammerDB's warehouses and districts is added.

create table item (
  i_id int not null,
  i_name {hammerdb:char}{!hammerdb:varchar}(24) null,
  i_price {hammerdb:smallmoney}{!hammerdb:decimal(5,2)} null,
  i_data {hammerdb:char}{!hammerdb:varchar}(50) null,
  i_im_id int null
);

create table warehouse (
  w_id int not null,
  w_ytd {hammerdb:money}{!hammerdb:decimal(12,2)} not null,
  w_tax {hammerdb:smallmoney}{!hammerdb:decimal(4,4)} not null,
  w_name {hammerdb:char}{!hammerdb:varchar}(10) null,
  w_street_1 {hammerdb:char}{!hammerdb:varchar}(20) null,
  w_street_2 {hammerdb:char}{!hammerdb:varchar}(20) null,
  w_city {hammerdb:char}{!hammerdb:varchar}(20) null,
  w_state char(2) null,
  w_zip char(9) null
);

create table district (
  d_id {hammerdb:tinyint}{!hammerdb:smallint} not null,
  d_w_id int not null,
  d_ytd {hammerdb:money}{!hammerdb:decimal(12,2)} not null,
  d_next_o_id int null,
  d_tax {hammerdb:smallmoney}{!hammerdb:decimal(4,4)} null,
  d_name {hammerdb:char}{!hammerdb:varchar}(10) null,
  d_street_1 {hammerdb:char}{!hammerdb:varchar}(20) null,
  d_street_2 {hammerdb:char}{!hammerdb:varchar}(20) null,
  d_city {hammerdb:char}{!hammerdb:varchar}(20) null,
  d_state char(2) null,
  d_zip char(9) null
);

create table stock (
  s_i_id int not null,
  s_w_id int not null,
  s_quantity smallint not null,
  s_ytd int not null,
  s_order_cnt smallint null,
  s_remote_cnt smallint null,
  s_data {hammerdb:char}{!hammerdb:varchar}(50) null,
  s_dist_01 char(24) null,
  s_dist_02 char(24) null,
  s_dist_03 char(24) null,
  s_dist_04 char(24) null,
  s_dist_05 char(24) null,
  s_dist_06 char(24) null,
  s_dist_07 char(24) null,
  s_dist_08 char(24) null,
  s_dist_09 char(24) null,
  s_dist_10 char(24) null
);

create table customer (
  c_id int not null,
  c_d_id {hammerdb:tinyint}{!hammerdb:smallint} not null,
  c_w_id int not null,
  c_discount {hammerdb:smallmoney}{!hammerdb:decimal(4,4)} null,
  c_credit_lim {hammerdb:money}{!hammerdb:decimal(12,2)} null,
  c_last {hammerdb:char}{!hammerdb:varchar}(16) null,
  c_first {hammerdb:char}{!hammerdb:varchar}(16) null,
  c_credit char(2) null,
  c_balance {hammerdb:money}{!hammerdb:decimal(12,2)} null,
  c_ytd_payment {hammerdb:money}{!hammerdb:decimal(12,2)} null,
  c_payment_cnt smallint null,
  c_delivery_cnt smallint null,
  c_street_1 {hammerdb:char}{!hammerdb:varchar}(20) null,
  c_street_2 {hammerdb:char}{!hammerdb:varchar}(20) null,
  c_city {hammerdb:char}{!hammerdb:varchar}(20) null,
  c_state char(2) null,
  c_zip char(9) null,
  c_phone char(16) null,
  c_since {hammerdb:datetime}{!hammerdb:datetime2(0)} null,
  c_middle char(2) null,
  c_data {hammerdb:char}{!hammerdb:varchar}(500) null
);

create table history (
  h_c_id int null,
  h_c_d_id {hammerdb:tinyint}{!hammerdb:smallint} null,
  h_c_w_id int null,
  h_d_id {hammerdb:tinyint}{!hammerdb:smallint} null,
  h_w_id int null,
  h_date {hammerdb:datetime}{!hammerdb:datetime2(0)} null,
  h_amount {hammerdb:smallmoney}{!hammerdb:decimal(6,2)} null,
  h_data {hammerdb:char}{!hammerdb:varchar}(24) null
);

create table orders (
  o_id int not null,
  o_d_id {hammerdb:tinyint}{!hammerdb:smallint} not null,
  o_w_id int not null,
  o_c_id int not null,
  o_carrier_id {hammerdb:tinyint}{!hammerdb:smallint} null,
  o_ol_cnt {hammerdb:tinyint}{!hammerdb:smallint} null,
  o_all_local {hammerdb:tinyint}{!hammerdb:smallint} null,
  o_entry_d {hammerdb:datetime}{!hammerdb:datetime2(0)} null
);

create table new_order (
  no_o_id int not null,
  no_d_id {hammerdb:tinyint}{!hammerdb:smallint} not null,
  no_w_id int not null
);

create table order_line (
  ol_o_id int not null,
  ol_d_id {hammerdb:tinyint}{!hammerdb:smallint} not null,
  ol_w_id int not null,
  ol_number {hammerdb:tinyint}{!hammerdb:smallint} not null,
  ol_i_id int null,
  ol_delivery_d {hammerdb:datetime}{!hammerdb:datetime2(0)} null,
  ol_amount {hammerdb:smallmoney}{!hammerdb:decimal(6,2)} null,
  ol_supply_w_id int null,
  ol_quantity smallint null,
  ol_dist_info char(24) null
);
