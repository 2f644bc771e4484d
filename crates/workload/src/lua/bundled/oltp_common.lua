-- What the bundled OLTP scripts share, and scripts that extend them: options, tables, statements. Written
-- for Prony from what sysbench 1.0 sends; the names of functions and tables are the interface.

if sysbench.cmdline.command == nil then
   error("Command is required. Supported commands: prepare, prewarm, run, cleanup, help")
end

local newer = sysbench.version:sub(1, 3) ~= "1.0"

sysbench.cmdline.options = {
   table_size = { "Number of rows per table", 10000 },
   tables = { "Number of tables", 1 },
   range_size = { "Range size for range SELECT queries", 100 },
   point_selects = { "Number of point SELECT queries per transaction", 10 },
   simple_ranges = { "Number of simple range SELECT queries per transaction", 1 },
   sum_ranges = { "Number of SELECT SUM() queries per transaction", 1 },
   order_ranges = { "Number of SELECT ORDER BY queries per transaction", 1 },
   distinct_ranges = { "Number of SELECT DISTINCT queries per transaction", 1 },
   index_updates = { "Number of UPDATE index queries per transaction", 1 },
   non_index_updates = { "Number of UPDATE non-index queries per transaction", 1 },
   delete_inserts = { "Number of DELETE/INSERT combinations per transaction", 1 },
   range_selects = { "Enable/disable all range SELECT queries", true },
   auto_inc = { "Use AUTO_INCREMENT column as Primary Key (for MySQL), or its alternatives in other DBMS. When disabled, use client-generated IDs", true },
   skip_trx = { "Don't start explicit transactions and execute all queries in the AUTOCOMMIT mode", false },
   secondary = { "Use a secondary index in place of the PRIMARY KEY", false },
   create_secondary = { "Create a secondary index in addition to the PRIMARY KEY", true },
   mysql_storage_engine = { "Storage engine, if MySQL is used", "innodb" },
   pgsql_variant = { "Use this PostgreSQL variant when running with the PostgreSQL driver. The only currently supported variant is 'redshift'. When enabled, create_secondary is automatically disabled, and delete_inserts is set to 0" },
}
if newer then
   sysbench.cmdline.options.create_table_options = { "Extra CREATE TABLE options", "" }
   sysbench.cmdline.options.reconnect = { "Reconnect after every N events. The default (0) is to not reconnect", 0 }
end

local kinds = sysbench.sql.type

-- Tables ------------------------------------------------------------------------------------------

-- Calls a function for each table that is this thread's share.
local function for_own_tables(each)
   local number = sysbench.tid % sysbench.opt.threads + 1
   while number <= sysbench.opt.tables do
      each(number)
      number = number + sysbench.opt.threads
   end
end

function cmd_prepare()
   local drv = sysbench.sql.driver()
   local con = drv:connect()
   for_own_tables(function(number)
      create_table(drv, con, number)
   end)
end

-- Reads tables and their indexes into the server's memory.
function cmd_prewarm()
   local drv = sysbench.sql.driver()
   assert(drv:name() == "mysql", "prewarm is currently MySQL only")
   local con = drv:connect()
   for_own_tables(function(number)
      local name = "sbtest" .. number
      print("Prewarming table " .. name)
      con:query("ANALYZE TABLE " .. name)
      con:query("SELECT SUM(id), SUM(LENGTH(c)), SUM(LENGTH(pad)) FROM " .. name)
      if sysbench.opt.create_secondary then
         con:query(("SELECT SUM(k) FROM %s FORCE INDEX (k_%d)"):format(name, number))
      end
   end)
end

sysbench.cmdline.commands = {
   prepare = { cmd_prepare, sysbench.cmdline.PARALLEL_COMMAND },
   prewarm = { cmd_prewarm, sysbench.cmdline.PARALLEL_COMMAND },
}
if newer then
   sysbench.cmdline.commands.warmup = sysbench.cmdline.commands.prewarm
end

function init()
   assert(event ~= nil, "oltp_common is a library: run one of the oltp_* scripts, or a script that requires it")
end

local c_format = ("###########-"):rep(9) .. "###########"
local pad_format = ("###########-"):rep(4) .. "###########"

function get_c_value()
   return sysbench.rand.string(c_format)
end

function get_pad_value()
   return sysbench.rand.string(pad_format)
end

-- How the key of the tables is declared; what is said of the engine.
local function declared(drv)
   local opt = sysbench.opt
   if drv:name() == "mysql" then
      local key = "INTEGER NOT NULL" .. (opt.auto_inc and " AUTO_INCREMENT" or "")
      return key, "/*! ENGINE = " .. opt.mysql_storage_engine .. " */"
   elseif drv:name() == "pgsql" then
      return opt.auto_inc and "SERIAL" or "INTEGER NOT NULL", ""
   end
   error("Unsupported database driver:" .. drv:name())
end

function create_table(drv, con, table_num)
   local opt = sysbench.opt
   local name = "sbtest" .. table_num
   local key, engine = declared(drv)
   print(("Creating table '%s'..."):format(name))
   con:query(("CREATE TABLE %s(\n  id %s,\n  k INTEGER DEFAULT '0' NOT NULL,\n  c CHAR(120) DEFAULT '' NOT NULL,\n"
      .. "  pad CHAR(60) DEFAULT '' NOT NULL,\n  %s (id)\n) %s %s"):format(name, key,
      opt.secondary and "KEY xid" or "PRIMARY KEY", engine, opt.create_table_options or mysql_table_options or ""))
   if opt.table_size > 0 then
      print(("Inserting %d records into '%s'"):format(opt.table_size, name))
   end
   local columns = opt.auto_inc and "(k, c, pad)" or "(id, k, c, pad)"
   con:bulk_insert_init("INSERT INTO " .. name .. columns .. " VALUES")
   local rand = sysbench.rand.default
   for id = 1, opt.table_size do
      local row = ("%d, '%s', '%s')"):format(rand(1, opt.table_size), get_c_value(), get_pad_value())
      con:bulk_insert_next((opt.auto_inc and "(" or "(" .. id .. ", ") .. row)
   end
   con:bulk_insert_done()
   if opt.create_secondary then
      print(("Creating a secondary index on '%s'..."):format(name))
      con:query(("CREATE INDEX k_%d ON %s(k)"):format(table_num, name))
   end
end

function cleanup()
   local con = sysbench.sql.driver():connect()
   for number = 1, sysbench.opt.tables do
      print(("Dropping table 'sbtest%d'..."):format(number))
      con:query("DROP TABLE IF EXISTS sbtest" .. number)
   end
end

-- Statements --------------------------------------------------------------------------------------

local INT, CHAR = kinds.INT, kinds.CHAR

-- Text, and the sorts of its parameters.
local stmt_defs = {
   point_selects = { "SELECT c FROM sbtest%u WHERE id=?", INT },
   simple_ranges = { "SELECT c FROM sbtest%u WHERE id BETWEEN ? AND ?", INT, INT },
   sum_ranges = { "SELECT SUM(k) FROM sbtest%u WHERE id BETWEEN ? AND ?", INT, INT },
   order_ranges = { "SELECT c FROM sbtest%u WHERE id BETWEEN ? AND ? ORDER BY c", INT, INT },
   distinct_ranges = { "SELECT DISTINCT c FROM sbtest%u WHERE id BETWEEN ? AND ? ORDER BY c", INT, INT },
   index_updates = { "UPDATE sbtest%u SET k=k+1 WHERE id=?", INT },
   non_index_updates = { "UPDATE sbtest%u SET c=? WHERE id=?", { CHAR, 120 }, INT },
   deletes = { "DELETE FROM sbtest%u WHERE id=?", INT },
   inserts = { "INSERT INTO sbtest%u (id, k, c, pad) VALUES (?, ?, ?, ?)", INT, INT, { CHAR, 120 }, { CHAR, 60 } },
}

function prepare_begin()
   stmt.begin = con:prepare("BEGIN")
end

function prepare_commit()
   stmt.commit = con:prepare("COMMIT")
end

-- One statement of a kind for each table, with its parameters.
function prepare_for_each_table(key)
   local definition = stmt_defs[key]
   for number = 1, sysbench.opt.tables do
      local statement = con:prepare(definition[1]:format(number))
      local params = {}
      for place = 2, #definition do
         local kind = definition[place]
         if type(kind) == "table" then
            params[place - 1] = statement:bind_create(kind[1], kind[2])
         else
            params[place - 1] = statement:bind_create(kind)
         end
      end
      statement:bind_param(unpack(params))
      stmt[number][key], param[number][key] = statement, params
   end
end

function prepare_point_selects()
   prepare_for_each_table("point_selects")
end

function prepare_simple_ranges()
   prepare_for_each_table("simple_ranges")
end

function prepare_sum_ranges()
   prepare_for_each_table("sum_ranges")
end

function prepare_order_ranges()
   prepare_for_each_table("order_ranges")
end

function prepare_distinct_ranges()
   prepare_for_each_table("distinct_ranges")
end

function prepare_index_updates()
   prepare_for_each_table("index_updates")
end

function prepare_non_index_updates()
   prepare_for_each_table("non_index_updates")
end

function prepare_delete_inserts()
   prepare_for_each_table("deletes")
   prepare_for_each_table("inserts")
end

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   stmt, param = {}, {}
   for number = 1, sysbench.opt.tables do
      stmt[number], param[number] = {}, {}
   end
   prepare_statements()
end

function close_statements()
   for number = 1, sysbench.opt.tables do
      for _, statement in pairs(stmt[number]) do
         statement:close()
      end
   end
   for _, name in ipairs({ "begin", "commit" }) do
      if stmt[name] then
         stmt[name]:close()
      end
   end
end

function thread_done()
   close_statements()
   con:disconnect()
end

-- Events ------------------------------------------------------------------------------------------

local rand, uniform = sysbench.rand.default, sysbench.rand.uniform

local function get_table_num()
   return uniform(1, sysbench.opt.tables)
end

local function get_id()
   return rand(1, sysbench.opt.table_size)
end

function begin()
   stmt.begin:execute()
end

function commit()
   stmt.commit:execute()
end

function execute_point_selects()
   local number = get_table_num()
   local statement, id = stmt[number].point_selects, param[number].point_selects[1]
   for _ = 1, sysbench.opt.point_selects do
      id:set(get_id())
      statement:execute()
   end
end

local function execute_range(key)
   local number = get_table_num()
   local statement, bounds = stmt[number][key], param[number][key]
   for _ = 1, sysbench.opt[key] do
      local id = get_id()
      bounds[1]:set(id)
      bounds[2]:set(id + sysbench.opt.range_size - 1)
      statement:execute()
   end
end

function execute_simple_ranges()
   execute_range("simple_ranges")
end

function execute_sum_ranges()
   execute_range("sum_ranges")
end

function execute_order_ranges()
   execute_range("order_ranges")
end

function execute_distinct_ranges()
   execute_range("distinct_ranges")
end

function execute_index_updates()
   local number = get_table_num()
   for _ = 1, sysbench.opt.index_updates do
      param[number].index_updates[1]:set(get_id())
      stmt[number].index_updates:execute()
   end
end

function execute_non_index_updates()
   local number = get_table_num()
   local values = param[number].non_index_updates
   for _ = 1, sysbench.opt.non_index_updates do
      values[1]:set(get_c_value())
      values[2]:set(get_id())
      stmt[number].non_index_updates:execute()
   end
end

function execute_delete_inserts()
   local number = get_table_num()
   local values = param[number].inserts
   for _ = 1, sysbench.opt.delete_inserts do
      local id, k = get_id(), get_id()
      param[number].deletes[1]:set(id)
      values[1]:set(id)
      values[2]:set(k)
      values[3]:set(get_c_value())
      values[4]:set(get_pad_value())
      stmt[number].deletes:execute()
      stmt[number].inserts:execute()
   end
end

-- A connection that came back knows no statements.
local LOST = { [2013] = true, [2055] = true, [2006] = true, [2011] = true }

function sysbench.hooks.before_restart_event(problem)
   if LOST[problem.sql_errno] then
      close_statements()
      prepare_statements()
   end
end

local events = 0

-- 1.1: a new connection after so many events.
function check_reconnect()
   if (sysbench.opt.reconnect or 0) > 0 then
      events = events + 1
      if events % sysbench.opt.reconnect == 0 then
         close_statements()
         con:reconnect()
         prepare_statements()
      end
   end
end
