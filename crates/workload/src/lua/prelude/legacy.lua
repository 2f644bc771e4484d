-- The API of 0.4 and 0.5, as 1.0 still provides it: globals that call the current API. Not present in 1.1, which dropped
-- it.

local host, core = ...

local sysbench = core.sysbench
local sql = sysbench.sql

test = host.script_path
thread_id = host.tid
myisam_max_rows = 1000000
mysql_table_engine = "innodb"
DB_ERROR_NONE, DB_ERROR_RESTART_TRANSACTION, DB_ERROR_FAILED = 0, 1, 2

sb_rand = core.draw.default
sb_rand_uniform = core.draw.uniform
sb_rand_gaussian = core.draw.gaussian
sb_rand_special = core.draw.special
sb_rand_str = core.string

function sb_rnd()
   return core.draw.uniform(0, 2 ^ 30 - 1)
end

function sb_rand_uniq(low, high)
   if low == nil then
      return core.unique()
   end
   return core.unique_in(low, high)
end

-- The single connection, opened when it is first needed.
local con

local function connection()
   if not con or not con.open then
      local driver = sql.driver()
      local ok, made = pcall(driver.connect, driver)
      if not ok then
         error("Failed to connect to the database", 3)
      end
      con = made
   end
   return con
end

-- These functions return nothing, except where those of sysbench do.
function db_connect()
   connection()
end

function db_disconnect()
   if con then
      con:disconnect()
      con = nil
   end
end

-- Calls a method of a connection or a statement. An error that restarts the event is passed on unchanged; any other
-- error names the function, at the line of the script that called it.
local function call(name, method, object, ...)
   local ok, result = pcall(method, object, ...)
   if ok then
      return result
   end
   if type(result) == "string" then
      error(name .. "() failed", 3)
   end
   error(result, 0)
end

local function text_of(value, name, given)
   if type(value) ~= "string" and type(value) ~= "number" then
      local got = given == 0 and "no value" or type(value)
      error("bad argument #1 to '" .. name .. "' (string expected, got " .. got .. ")", 3)
   end
   return tostring(value)
end

function db_query(...)
   local text = text_of((...), "db_query", select("#", ...))
   local c = connection()
   call("db_query", c.query, c, text)
end

function db_bulk_insert_init(...)
   local text = text_of((...), "db_bulk_insert_init", select("#", ...))
   local c = connection()
   call("db_bulk_insert_init", c.bulk_insert_init, c, text)
end

-- The connection of a bulk insert, which must already be open.
local function bulk_connection()
   if not con or not con.open then
      error("Uninitialized database connection", 3)
   end
   return con
end

function db_bulk_insert_next(...)
   local values = text_of((...), "db_bulk_insert_next", select("#", ...))
   local c = bulk_connection()
   call("db_bulk_insert_next", c.bulk_insert_next, c, values)
end

-- The server may reject the last rows: the error is logged, and the event continues.
function db_bulk_insert_done()
   local c = bulk_connection()
   local ok, problem = pcall(c.bulk_insert_done, c)
   if not ok and type(problem) ~= "string" then
      error(problem, 0)
   end
end

function db_prepare(...)
   local text = text_of((...), "db_prepare", select("#", ...))
   local c = connection()
   local statement = call("db_prepare", c.prepare, c, text)
   return statement
end

local function statement_of(value, name)
   if type(value) ~= "table" or value.expected == nil then
      error("bad argument #1 to '" .. name .. "' (sysbench.stmt expected, got " .. type(value) .. ")", 3)
   end
   return value
end

-- The values stay in the script's own table, which each execution reads.
function db_bind_param(statement, values)
   if type(values) ~= "table" then
      error("table was expected", 2)
   end
   statement_of(statement, "db_bind_param").legacy = values
end

-- Does nothing, because scripts never read bound results.
function db_bind_result() end

function db_execute(statement)
   statement_of(statement, "db_execute")
   local values, params = statement.legacy or {}, {}
   for i = 1, statement.expected do
      local value = values[i]
      if type(value) == "boolean" then
         value = value and 1 or 0
      end
      params[i] = { value = value }
   end
   statement.params, statement.bound = params, statement.expected
   local rs = call("db_execute", statement.execute, statement)
   return rs
end

function db_store_results() end

function db_free_results() end

function db_close(statement)
   statement_of(statement, "db_close"):close()
end

-- The same functions under other names.
for _, name in ipairs({
   "connect", "disconnect", "query", "bulk_insert_init", "bulk_insert_next", "bulk_insert_done", "prepare",
   "bind_param", "bind_result", "execute", "store_results", "free_results", "close",
}) do
   sysbench.db[name] = _G["db_" .. name]
end
for _, name in ipairs({ "NONE", "RESTART_TRANSACTION", "FAILED" }) do
   sysbench.db["DB_ERROR_" .. name] = _G["DB_ERROR_" .. name]
end
