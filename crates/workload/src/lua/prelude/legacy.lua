-- The API of 0.4 and 0.5, as 1.0 keeps it. In: globals that scripts call. Out: the calls of today. Must
-- never: exist in 1.1, which dropped it.

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
   local number = core.unique()
   if low == nil then
      return number
   end
   return low + number % (high - low + 1)
end

-- The one connection: opened when it is first needed.
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

function db_connect()
   connection()
   return DB_ERROR_NONE
end

function db_disconnect()
   if con then
      con:disconnect()
      con = nil
   end
   return DB_ERROR_NONE
end

-- Calls a method; an error is one of the line of the script that called.
local function call(method, object, ...)
   local ok, result = pcall(method, object, ...)
   if ok then
      return result
   end
   if type(result) == "string" then
      error((result:gsub("^[^\n]-:%d+: ", "", 1)), 3)
   end
   error(result, 0)
end

function db_query(text)
   local c = connection()
   local rs = call(c.query, c, text)
   return rs
end

function db_bulk_insert_init(text)
   local c = connection()
   local status = call(c.bulk_insert_init, c, text)
   return status
end

function db_bulk_insert_next(values)
   local c = connection()
   local status = call(c.bulk_insert_next, c, values)
   return status
end

function db_bulk_insert_done()
   local c = connection()
   local status = call(c.bulk_insert_done, c)
   return status
end

function db_prepare(text)
   local c = connection()
   local statement = call(c.prepare, c, text)
   return statement
end

-- Values are the script's own table, read at each execution.
function db_bind_param(statement, values)
   statement.legacy = values
   return DB_ERROR_NONE
end

-- Nobody reads the results.
function db_bind_result()
   return DB_ERROR_NONE
end

function db_execute(statement)
   local values, params = statement.legacy or {}, {}
   for i = 1, statement.expected do
      local value = values[i]
      if type(value) == "boolean" then
         value = value and 1 or 0
      end
      params[i] = { value = value }
   end
   statement.params, statement.bound = params, statement.expected
   local rs = call(statement.execute, statement)
   return rs
end

function db_store_results(rs)
   return rs
end

function db_free_results()
   return DB_ERROR_NONE
end

function db_close(statement)
   statement:close()
   return DB_ERROR_NONE
end
