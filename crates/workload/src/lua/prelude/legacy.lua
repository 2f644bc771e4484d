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
   pcall(c.bulk_insert_done, c)
end

function db_prepare(...)
   local text = text_of((...), "db_prepare", select("#", ...))
   local c = connection()
   local statement = call("db_prepare", c.prepare, c, text)
   return statement
end

-- The first argument, an object that has this field.
local function object_of(name, class, field, ...)
   local value = ...
   if type(value) ~= "table" or value[field] == nil then
      local got = select("#", ...) == 0 and "no value" or type(value)
      error("bad argument #1 to '" .. name .. "' (sysbench." .. class .. " expected, got " .. got .. ")", 3)
   end
   return value
end

-- The values stay in the script's own table, which each execution reads. Their types are those of this call.
function db_bind_param(...)
   local statement = object_of("db_bind_param", "stmt", "expected", ...)
   local values = select(2, ...)
   if type(values) ~= "table" then
      error("table was expected", 2)
   end
   local count, kinds = #values, {}
   if count == 0 then
      error("table is empty", 2)
   end
   for i = 1, count do
      kinds[i] = type(values[i])
      if kinds[i] ~= "number" and kinds[i] ~= "string" then
         error("Unsupported variable type: " .. kinds[i], 0)
      end
   end
   if count ~= statement.expected and sysbench.opt.db_ps_mode ~= "disable" then
      if host.driver == "mysql" then
         host.fatal("Wrong number of parameters to mysql_stmt_bind_param")
      else
         host.alert("wrong number of parameters in prepared statement")
      end
      error(count, 0)
   end
   statement.legacy, statement.kinds = values, kinds
end

-- Does nothing, because scripts never read bound results.
function db_bind_result() end

-- sysbench logs an error that is not ignored, and returns a result all the same: the event goes on.
function db_execute(...)
   local statement = object_of("db_execute", "stmt", "expected", ...)
   local con, values, kinds, params = statement.connection, statement.legacy, statement.kinds, {}
   for i = 1, values and statement.expected or 0 do
      local value = values[i]
      if kinds[i] == "number" then
         value = tonumber(value)
         if not value then
            local got = type(values[i])
            error("bad argument #4 to 'db_execute' (number expected, got " .. got .. ")", 2)
         end
         -- Numbers are bound as integers.
         value = value >= 0 and math.floor(value) or math.ceil(value)
      end
      params[i] = { value = value }
   end
   statement.params, statement.bound = params, statement.expected
   local ok, result = pcall(statement.execute, statement)
   if ok then
      return con.result
   elseif type(result) ~= "string" then
      error(result, 0)
   elseif not con.open or not statement.id then
      error("db_execute() failed", 2)
   end
   return con.result
end

function db_store_results(...)
   object_of("db_store_results", "rs", "nrows", ...)
end

function db_free_results(...)
   object_of("db_free_results", "rs", "nrows", ...)
end

function db_close(...)
   object_of("db_close", "stmt", "expected", ...):close()
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
