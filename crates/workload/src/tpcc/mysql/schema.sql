-- The nine tables as HammerDB creates them on MySQL and MariaDB, in the same order, except for one type:
-- HammerDB's `ol_amount` is a whole number, which loses the cents. The tables of the profile `standard` store
-- cents, because the specification requires it [1.3.1]. Display widths of integers (`INT(6)`), which newer
-- servers warn about, are left out: they do not change what is stored. `BINARY` after a text type selects the
-- collation `latin1_bin`.

create table item (
  i_id int not null,
  i_im_id int null,
  i_name varchar(24) null,
  i_price decimal(5,2) null,
  i_data varchar(50) null,
  primary key (i_id)
) engine = innodb default character set latin1 collate latin1_bin;

create table warehouse (
  w_id int not null,
  w_ytd decimal(12,2) null,
  w_tax decimal(4,4) null,
  w_name varchar(10) null,
  w_street_1 varchar(20) null,
  w_street_2 varchar(20) null,
  w_city varchar(20) null,
  w_state char(2) null,
  w_zip char(9) null,
  primary key (w_id)
) engine = innodb default character set latin1 collate latin1_bin;

create table district (
  d_id int not null,
  d_w_id int not null,
  d_ytd decimal(12,2) null,
  d_tax decimal(4,4) null,
  d_next_o_id int null,
  d_name varchar(10) null,
  d_street_1 varchar(20) null,
  d_street_2 varchar(20) null,
  d_city varchar(20) null,
  d_state char(2) null,
  d_zip char(9) null,
  primary key (d_w_id, d_id)
) engine = innodb default character set latin1 collate latin1_bin;

create table stock (
  s_i_id int not null,
  s_w_id int not null,
  s_quantity int null,
  s_dist_01 char(24) null,
  s_dist_02 char(24) null,
  s_dist_03 char(24) null,
  s_dist_04 char(24) null,
  s_dist_05 char(24) null,
  s_dist_06 char(24) null,
  s_dist_07 char(24) null,
  s_dist_08 char(24) null,
  s_dist_09 char(24) null,
  s_dist_10 char(24) null,
  s_ytd bigint null,
  s_order_cnt int null,
  s_remote_cnt int null,
  s_data varchar(50) null,
  primary key (s_w_id, s_i_id)
) engine = innodb default character set latin1 collate latin1_bin;

create table customer (
  c_id int not null,
  c_d_id int not null,
  c_w_id int not null,
  c_first varchar(16) null,
  c_middle char(2) null,
  c_last varchar(16) null,
  c_street_1 varchar(20) null,
  c_street_2 varchar(20) null,
  c_city varchar(20) null,
  c_state char(2) null,
  c_zip char(9) null,
  c_phone char(16) null,
  c_since datetime null,
  c_credit char(2) null,
  c_credit_lim decimal(12,2) null,
  c_discount decimal(4,4) null,
  c_balance decimal(12,2) null,
  c_ytd_payment decimal(12,2) null,
  c_payment_cnt int null,
  c_delivery_cnt int null,
  c_data varchar(500) null,
  primary key (c_w_id, c_d_id, c_id)
) engine = innodb default character set latin1 collate latin1_bin;

create table history (
  h_c_id int null,
  h_c_d_id int null,
  h_c_w_id int null,
  h_d_id int null,
  h_w_id int null,
  h_date datetime null,
  h_amount decimal(6,2) null,
  h_data varchar(24) null
) engine = innodb default character set latin1 collate latin1_bin;

create table orders (
  o_id int not null,
  o_w_id int not null,
  o_d_id int not null,
  o_c_id int null,
  o_carrier_id int null,
  o_ol_cnt int null,
  o_all_local int null,
  o_entry_d datetime null,
  primary key (o_w_id, o_d_id, o_id)
) engine = innodb default character set latin1 collate latin1_bin;

create table new_order (
  no_w_id int not null,
  no_d_id int not null,
  no_o_id int not null,
  primary key (no_w_id, no_d_id, no_o_id)
) engine = innodb default character set latin1 collate latin1_bin;

create table order_line (
  ol_w_id int not null,
  ol_d_id int not null,
  ol_o_id int not null,
  ol_number int not null,
  ol_i_id int null,
  ol_delivery_d datetime null,
  ol_amount {hammerdb:int}{!hammerdb:decimal(6,2)} null,
  ol_supply_w_id int null,
  ol_quantity int null,
  ol_dist_info char(24) null,
  primary key (ol_w_id, ol_d_id, ol_o_id, ol_number)
) engine = innodb default character set latin1 collate latin1_bin;
