-- Common code of the bundled OLTP scripts and of scripts that extend them: options, tables, statements. Written for
-- Prony from the statements that sysbench 1.0 sends; the names of functions and tables are the interface.

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

-- Calls a function for each table of this thread.
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
   assert(drv:name() == "mysql", (newer and "warmup" or "prewarm") .. " is currently MySQL only")
   local con = drv:connect()
   for_own_tables(function(number)
      local name = "sbtest" .. number
      print((newer and "Preloading" or "Prewarming") .. " table " .. name)
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

-- The declaration of the tables' key, and the engine clause.
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

-- `stmt` and `param` hold this thread's prepared statements and parameters: by table, then by statement name.
function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   stmt, param = {}, {}
   for number = 1, sysbench.opt.tables do
      stmt[number], param[number] = {}, {}
   end
   prepare_statements()
end

function thread_done()
   close_statements()
   con:disconnect()
end

-- Each step draws one table for all its statements, and one row for each statement.
local function a_table()
   return sysbench.rand.uniform(1, sysbench.opt.tables)
end

local function a_row()
   return sysbench.rand.default(1, sysbench.opt.table_size)
end

-- Set the parameters of a statement.
local function one_row(values)
   values[1]:set(a_row())
end

local function rows_in_a_range(values)
   local low = a_row()
   values[1]:set(low)
   values[2]:set(low + sysbench.opt.range_size - 1)
end

local function text_and_row(values)
   values[1]:set(get_c_value())
   values[2]:set(a_row())
end

local INT, C, PAD = { kinds.INT }, { kinds.CHAR, 120 }, { kinds.CHAR, 60 }
local ON_ROW, ON_RANGE = " FROM sbtest%u WHERE id=?", " FROM sbtest%u WHERE id BETWEEN ? AND ?"

-- Text, parameter types, and the function that sets the parameters.
local templates = {
   inserts = { "INSERT INTO sbtest%u (id, k, c, pad) VALUES (?, ?, ?, ?)", { INT, INT, C, PAD } },
   deletes = { "DELETE" .. ON_ROW, { INT } },
   non_index_updates = { "UPDATE sbtest%u SET c=? WHERE id=?", { C, INT }, text_and_row },
   index_updates = { "UPDATE sbtest%u SET k=k+1 WHERE id=?", { INT }, one_row },
   distinct_ranges = { "SELECT DISTINCT c" .. ON_RANGE .. " ORDER BY c", { INT, INT }, rows_in_a_range },
   order_ranges = { "SELECT c" .. ON_RANGE .. " ORDER BY c", { INT, INT }, rows_in_a_range },
   sum_ranges = { "SELECT SUM(k)" .. ON_RANGE, { INT, INT }, rows_in_a_range },
   simple_ranges = { "SELECT c" .. ON_RANGE, { INT, INT }, rows_in_a_range },
   point_selects = { "SELECT c" .. ON_ROW, { INT }, one_row },
}

-- Prepares a statement for each table and binds its parameters.
function prepare_for_each_table(name)
   local text, types = templates[name][1], templates[name][2]
   for number = 1, sysbench.opt.tables do
      local statement, values = con:prepare(text:format(number)), {}
      for place, kind in ipairs(types) do
         values[place] = statement:bind_create(unpack(kind))
      end
      statement:bind_param(unpack(values))
      stmt[number][name] = statement
      param[number][name] = values
   end
end

-- A template that is a separate step of a transaction has two functions, `prepare_` and `execute_`. The option of the
-- same name sets how often it is executed.
for name, template in pairs(templates) do
   local set = template[3]
   if set then
      _G["prepare_" .. name] = function()
         prepare_for_each_table(name)
      end
      _G["execute_" .. name] = function()
         local number = a_table()
         local statement, values = stmt[number][name], param[number][name]
         for _ = 1, sysbench.opt[name] do
            set(values)
            statement:execute()
         end
      end
   end
end

-- Inserts each deleted row again.
function prepare_delete_inserts()
   for _, name in ipairs({ "deletes", "inserts" }) do
      prepare_for_each_table(name)
   end
end

function execute_delete_inserts()
   local number = a_table()
   local prepared, values = stmt[number], param[number]
   for _ = 1, sysbench.opt.delete_inserts do
      local row = { a_row(), a_row(), get_c_value(), get_pad_value() }
      values.deletes[1]:set(row[1])
      for place, value in ipairs(row) do
         values.inserts[place]:set(value)
      end
      prepared.deletes:execute()
      prepared.inserts:execute()
   end
end

-- BEGIN and COMMIT are statements like the others.
for name, text in pairs({ begin = "BEGIN", commit = "COMMIT" }) do
   _G["prepare_" .. name] = function()
      stmt[name] = con:prepare(text)
   end
   _G[name] = function()
      stmt[name]:execute()
   end
end

function close_statements()
   for key, prepared in pairs(stmt) do
      -- A table's statements are stored under its number.
      for _, statement in pairs(type(key) == "number" and prepared or { prepared }) do
         statement:close()
      end
   end
end

local function prepare_again(connect)
   close_statements()
   if connect then
      con:reconnect()
   end
   prepare_statements()
end

-- A new connection has no prepared statements.
function sysbench.hooks.before_restart_event(problem)
   local lost = { [2006] = true, [2011] = true, [2013] = true, [2055] = true }
   if lost[problem.sql_errno] then
      prepare_again(false)
   end
end

local since_connected = 0

-- 1.1: reconnects after the configured number of events.
function check_reconnect()
   local limit = sysbench.opt.reconnect or 0
   since_connected = since_connected + 1
   if since_connected == limit then
      since_connected = 0
      prepare_again(true)
   end
end
