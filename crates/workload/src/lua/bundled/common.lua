-- Common code of sysbench 0.5 scripts: options as globals, tables, loading. Written for Prony; the names are the
-- interface. Sets the defaults of `oltp_*` options.

local function number(text, default)
   return text == nil and default or tonumber(text) or default
end

local function is_on(text, default)
   if text == nil then
      return default
   end
   return text == true or text == "on" or text == "1" or text == "true"
end

function set_vars()
   oltp_table_size = number(oltp_table_size, 10000)
   oltp_range_size = number(oltp_range_size, 100)
   oltp_tables_count = number(oltp_tables_count, 1)
   oltp_point_selects = number(oltp_point_selects, 10)
   oltp_simple_ranges = number(oltp_simple_ranges, 1)
   oltp_sum_ranges = number(oltp_sum_ranges, 1)
   oltp_order_ranges = number(oltp_order_ranges, 1)
   oltp_distinct_ranges = number(oltp_distinct_ranges, 1)
   oltp_index_updates = number(oltp_index_updates, 1)
   oltp_non_index_updates = number(oltp_non_index_updates, 1)
   oltp_delete_inserts = number(oltp_delete_inserts, 1)
   oltp_range_selects = is_on(oltp_range_selects, true)
   oltp_auto_inc = is_on(oltp_auto_inc, true)
   oltp_read_only = is_on(oltp_read_only, false)
   oltp_write_only = is_on(oltp_write_only, false)
   oltp_skip_trx = is_on(oltp_skip_trx, false)
   oltp_create_secondary = is_on(oltp_create_secondary, true)
   oltp_secondary = is_on(oltp_secondary, false)
   mysql_table_engine = mysql_table_engine or "innodb"
   mysql_table_options = mysql_table_options or ""
end

local c_format = ("###########-"):rep(9) .. "###########"
local pad_format = ("###########-"):rep(4) .. "###########"

function create_insert(table_id)
   local name = "sbtest" .. table_id
   local is_mysql = db_driver ~= "pgsql"
   local key = "INTEGER NOT NULL"
   if oltp_auto_inc then
      key = is_mysql and "INTEGER UNSIGNED NOT NULL AUTO_INCREMENT" or "SERIAL NOT NULL"
   elseif is_mysql then
      key = "INTEGER UNSIGNED NOT NULL"
   end
   print("Creating table '" .. name .. "'...")
   db_query(("CREATE TABLE %s (\nid %s,\nk INTEGER%s DEFAULT '0' NOT NULL,\nc CHAR(120) DEFAULT '' NOT NULL,\n"
      .. "pad CHAR(60) DEFAULT '' NOT NULL,\n%s (id)\n) %s %s"):format(name, key, is_mysql and " UNSIGNED" or "",
      oltp_secondary and "KEY xid" or "PRIMARY KEY", is_mysql and "/*! ENGINE = " .. mysql_table_engine .. " */" or "",
      is_mysql and mysql_table_options or ""))
   print("Inserting " .. oltp_table_size .. " records into '" .. name .. "'")
   local columns = oltp_auto_inc and "(k, c, pad)" or "(id, k, c, pad)"
   db_bulk_insert_init("INSERT INTO " .. name .. columns .. " VALUES")
   for id = 1, oltp_table_size do
      local row = ("%d, '%s', '%s')"):format(sb_rand(1, oltp_table_size), sb_rand_str(c_format), sb_rand_str(pad_format))
      db_bulk_insert_next((oltp_auto_inc and "(" or "(" .. id .. ", ") .. row)
   end
   db_bulk_insert_done()
   if oltp_create_secondary then
      print("Creating secondary indexes on '" .. name .. "'...")
      db_query("CREATE INDEX k_" .. table_id .. " on " .. name .. "(k)")
   end
end

function prepare()
   set_vars()
   db_connect()
   for table_id = 1, oltp_tables_count do
      create_insert(table_id)
   end
   return 0
end

function cleanup()
   set_vars()
   db_connect()
   for table_id = 1, oltp_tables_count do
      print("Dropping table 'sbtest" .. table_id .. "'...")
      db_query("DROP TABLE IF EXISTS sbtest" .. table_id)
   end
end
