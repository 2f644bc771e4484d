-- Connections, statements, results. Makes requests to the event loop, whose answers are `rows, fields` or
-- `nil, number, state, message, ignorable`. As in sysbench, a result is never kept past the connection's next
-- statement.

local host, core = ...

local ask = core.ask
local calls, COLUMN_FACTOR = core.calls, core.COLUMN_FACTOR
local send_query, execute, execute_with_number = calls.query, calls.execute, calls.execute_with_number
local push_number, push_text, push_null = calls.push_number, calls.push_text, calls.push_null
local type, tonumber, tostring, setmetatable, error = type, tonumber, tostring, setmetatable, error
local newproxy = newproxy
local floor, ceil, concat, select = math.floor, math.ceil, table.concat, select

local sysbench = core.sysbench
local sql = {}
sysbench.sql = sql

sql.type = {
   NONE = 0, TINYINT = 1, SMALLINT = 2, INT = 3, BIGINT = 4, FLOAT = 5, DOUBLE = 6, TIME = 7,
   DATE = 8, DATETIME = 9, TIMESTAMP = 10, CHAR = 11, VARCHAR = 12,
}
sql.error = { NONE = 0, IGNORABLE = 1, FATAL = 2 }
sysbench.error = { NONE = 0, RESTART_EVENT = 1 }

local function class(name)
   local methods = {}
   local text = "<sql_" .. name .. ">"
   local meta = {
      __index = methods,
      __tostring = function()
         return text
      end,
   }
   return methods, meta
end

local driver, driver_meta = class("driver")
local connection, connection_meta = class("connection")
local statement, statement_meta = class("statement")
-- One class for each type of parameter, so that setting one is fast: 11 instructions in compiled code. A store in C data
-- takes 9 there, but 500 where LuaJIT interprets, and a store in a table 50; so parameters are tables.
local integer, integer_meta = class("param")
local text, text_meta = class("param")
local double, double_meta = class("param")
local result, result_meta = class("result")

-- Drivers ---------------------------------------------------------------------------------------

local the_driver = setmetatable({ kind = host.driver }, driver_meta)

function sql.driver(name)
   if name == nil then
      name = sysbench.opt and sysbench.opt.db_driver or host.driver
   end
   if name ~= host.driver then
      if name == "mysql" or name == "pgsql" then
         host.fatal("the driver '" .. name .. "' was requested, but the command line names '" .. host.driver
            .. "': Prony connects the threads of a run to one server (--db-driver=" .. name .. ")")
      else
         host.fatal("invalid database driver name: '" .. tostring(name) .. "'")
      end
      error("failed to initialize the DB driver", 2)
   end
   if host.no_driver then
      host.server_unavailable(host.no_driver)
      error("failed to initialize the DB driver", 2)
   end
   return the_driver
end

function driver:name()
   return self.kind
end

-- The connection that the loop currently uses; the script must switch to any other one first.
local current
-- Numbers of connections that were garbage-collected: they are closed before the next one is opened.
local unreferenced = {}

local function open(con, level)
   for i = #unreferenced, 1, -1 do
      ask(core.DISCONNECT, unreferenced[i])
      unreferenced[i] = nil
   end
   if host.no_server then
      host.server_unavailable(host.no_server)
      error("connection creation failed", level + 1)
   end
   local number = ask(core.CONNECT)
   if not number then
      error("connection creation failed", level + 1)
   end
   con.number, con.open, current = number, true, con
   -- Not a value of ffi: through one of these a script can reach all memory.
   con.guard = newproxy(true)
   getmetatable(con.guard).__gc = function()
      unreferenced[#unreferenced + 1] = number
   end
   host.mark_connected()
end

-- Whether a connection is still usable; if not, alerts as sysbench does.
local function is_open(con)
   if not con.open then
      host.alert("attempt to use an already closed connection")
   end
   return con.open
end

-- `level`: where the error is located if the connection is closed.
local function switch_to(con, level)
   if not is_open(con) then
      con.error = sql.error.FATAL
      error("SQL API error", level + 1)
   end
   ask(core.USE_CONNECTION, con.number)
   current = con
end

function driver:connect()
   local con = setmetatable({
      open = false, sql_errno = 0, sql_state = "00000", sql_errmsg = "", error = sql.error.NONE,
      statements = setmetatable({}, { __mode = "k" }),
   }, connection_meta)
   con.result = setmetatable({ connection = con, nrows = 0, nfields = 0, index = false, after_error = false }, result_meta)
   open(con, 2)
   return con
end

-- Connections -----------------------------------------------------------------------------------

-- Sets the error fields of a connection, which its next successful statement clears.
local function set_error(con, number, state, message, ignorable)
   con.sql_errno, con.sql_state, con.sql_errmsg = number, state, message
   con.error = ignorable and sql.error.IGNORABLE or sql.error.FATAL
   con.result.after_error = true
end

-- Handles a failed statement: restarts the event, or raises the error in the script.
local function raise_error(con, query, number, state, message, ignorable, level)
   set_error(con, number, state, message, ignorable)
   local problem = {
      connection = con, query = query, sql_errno = number, sql_state = state, sql_errmsg = message,
   }
   local hook = sysbench.hooks.sql_error_ignorable
   if not ignorable and hook and hook(problem) then
      ignorable = true
   end
   if ignorable then
      problem.errcode = sysbench.error.RESTART_EVENT
      error(problem, 0)
   end
   error(("SQL error, errno = %d, state = '%s': %s"):format(number, state, message), level + 1)
end

-- As raise_error, for the last statement.
local function raise_failure(con, query, level)
   local number, state, message, ignorable = calls.failure()
   raise_error(con, query, number, state, message, ignorable, level + 1)
end

-- What a statement without a result set returns, as in sysbench: a null pointer, which equals nil. Its fields are those of
-- the current connection's last result; sysbench crashes where a script reads them.
core.ffi.cdef("typedef struct sql_result sql_result;")
core.ffi.metatype("sql_result", {
   __index = function(_, field)
      return current.result[field]
   end,
   __newindex = function(_, field, value)
      current.result[field] = value
   end,
   __tostring = result_meta.__tostring,
})
local NO_RESULT = core.ffi.cast("sql_result *", 0)

-- Sets the result from the number of a reply, and returns what the script receives.
local function set_result(rs, reply)
   if reply < COLUMN_FACTOR then
      rs.nrows, rs.nfields = reply, 0
   else
      local fields = floor(reply / COLUMN_FACTOR)
      rs.nrows, rs.nfields = reply - fields * COLUMN_FACTOR, fields
   end
   rs.rows, rs.index = nil, false
   if rs.after_error then
      local con = rs.connection
      con.sql_errno, con.sql_state, con.sql_errmsg, con.error = 0, "00000", "", sql.error.NONE
      rs.after_error = false
   end
   if reply < COLUMN_FACTOR then
      return NO_RESULT
   end
   return rs
end

local function handle_reply(con, query, level, rows, fields, state, message, ignorable)
   if rows == nil then
      raise_error(con, query, fields, state, message, ignorable, level + 1)
   end
   local rs = con.result
   rs.nrows, rs.nfields, rs.rows, rs.index = rows, fields, nil, false
   return rs
end

-- In a load, C functions read the rows; outside of it, a request.
local all_rows = host.all_rows or function(result)
   return ask(core.ROWS, result or nil)
end
local first_row, single_row, ROW_CELLS = calls.first_row, calls.single_row, core.ROW_CELLS

function connection:query(text)
   if type(text) ~= "string" then
      error("bad argument #1 to 'query' (string expected, got " .. type(text) .. ")", 2)
   end
   if self ~= current then
      -- sysbench names the caller of the function that used the closed connection.
      switch_to(self, 3)
   end
   local reply = send_query(text)
   if reply < 0 then
      raise_failure(self, text, 2)
   end
   return set_result(self.result, reply)
end

function connection:query_row(text)
   if type(text) ~= "string" then
      error("bad argument #1 to 'query_row' (string expected, got " .. type(text) .. ")", 2)
   end
   if self ~= current then
      switch_to(self, 2)
   end
   local reply = send_query(text)
   if reply < 0 then
      raise_failure(self, text, 2)
   end
   local rs = self.result
   set_result(rs, reply)
   if rs.nrows == 0 or rs.nfields == 0 then
      return nil
   end
   return first_row(rs.nfields)
end

function connection:prepare(text)
   if type(text) ~= "string" then
      error("bad argument #1 to 'prepare' (string expected, got " .. type(text) .. ")", 2)
   end
   if self ~= current then
      if not is_open(self) then
         if self.error ~= sql.error.NONE then
            error("SQL API error", 2)
         end
         -- sysbench returns a statement that can only be closed, unless an earlier call failed.
         return setmetatable({ connection = self, expected = 0, bound = 0, params = {}, text = text }, statement_meta)
      end
      switch_to(self, 2)
   end
   local id, count, state, message = ask(core.PREPARE, text)
   if not id then
      self.sql_errno, self.sql_state, self.sql_errmsg = count, state, message
      error("SQL API error", 2)
   end
   local prepared = setmetatable({
      connection = self, id = id, expected = count, bound = 0, params = {}, text = text,
   }, statement_meta)
   self.statements[prepared] = true
   return prepared
end

function connection:disconnect()
   if self.open then
      self.open = false
      if current == self then
         current = nil
      end
      getmetatable(self.guard).__gc = nil
      -- The next connection with this number has other statements.
      for prepared in pairs(self.statements) do
         prepared.id, self.statements[prepared] = nil, nil
      end
      ask(core.DISCONNECT, self.number)
   else
      host.alert("attempt to close an already closed connection")
   end
   return true
end

function connection:reconnect()
   if not self.open then
      open(self, 2)
   else
      switch_to(self, 2)
      local ok, number, state, message = ask(core.RECONNECT)
      if not ok then
         raise_error(self, "", number, state, message, false, 2)
      end
   end
   ask(core.COUNT, 5, 1)
   return true
end

-- Writes the number of the open transaction into the ledger, if the run keeps one (PRONY_LEDGER). sysbench has no such
-- method: `if con.ledger then con:ledger() end`.
function connection:ledger()
   if self ~= current then
      switch_to(self, 2)
   end
   local written, number, state, message, ignorable = ask(core.WRITE_ENTRY)
   if written == nil then
      raise_error(self, "ledger", number, state, message, ignorable, 2)
   end
   return written
end

function connection:check_error(rs, query)
   if rs ~= nil or self.error == sql.error.NONE then
      return rs
   end
   raise_error(self, query, self.sql_errno, self.sql_state, self.sql_errmsg, self.error == sql.error.IGNORABLE, 2)
end

-- Rows of one INSERT are collected until they fill a packet.
local PACKET_BYTES = 512 * 1024

-- sysbench's messages for calls that fail, which are also the second result of calls that succeed.
local NEXT_FAILED, DONE_FAILED = "db_bulk_insert_next() failed", "db_bulk_insert_done() failed"
local INIT_FAILED, FREE_FAILED = "db_bulk_insert_init() failed", "db_free_results() failed"

-- Sends the rows. Returns whether that succeeded; if not, the rows stay. An error never restarts the event.
local function flush(con)
   local bulk = con.bulk
   if bulk.count == 0 then
      return true
   end
   if con ~= current then
      switch_to(con, 3)
   end
   local reply = send_query(bulk.prefix .. concat(bulk.rows, ",", 1, bulk.count))
   if reply < 0 then
      set_error(con, calls.failure())
      return false
   end
   bulk.count, bulk.size = 0, #bulk.prefix
   set_result(con.result, reply)
   return true
end

function connection:bulk_insert_init(text)
   if self ~= current and is_open(self) then
      switch_to(self, 2)
   end
   self.bulk = { prefix = text, rows = {}, count = 0, size = #text }
   return true, INIT_FAILED
end

function connection:bulk_insert_next(values)
   local bulk = self.bulk
   if not bulk then
      host.alert("attempt to call bulk_insert_next() before bulk_insert_init()")
      error(NEXT_FAILED, 2)
   end
   if bulk.size + #values + 1 > PACKET_BYTES and not flush(self) then
      error(NEXT_FAILED, 2)
   end
   local count = bulk.count + 1
   bulk.rows[count], bulk.count = values, count
   bulk.size = bulk.size + #values + 1
   return true, NEXT_FAILED
end

function connection:bulk_insert_done()
   if self.bulk then
      local sent = flush(self)
      self.bulk = nil
      if not sent then
         error(DONE_FAILED, 2)
      end
   end
   return true, DONE_FAILED
end

-- 1.1: further results of a statement. The event loop has already received all of them and returned the first. If a
-- later statement failed, its error takes the place of its result.
local function next_result(con)
   if con ~= current then
      switch_to(con, 3)
   end
   local rs = con.result
   local index = (rs.index or 0) + 1
   if index >= ask(core.RESULTS) then
      return nil
   end
   handle_reply(con, "", 3, ask(core.RESULT, index))
   rs.index = index
   -- nil at the end of a procedure, or for a statement without rows.
   return rs.nfields > 0 and rs or nil
end

local function more_results(con)
   if con ~= current then
      switch_to(con, 3)
   end
   return (con.result.index or 0) + 1 < ask(core.RESULTS)
end

-- Neither the PostgreSQL driver nor 1.0 supports further results.
local supports_more_results = host.is_v1_1 and host.driver == "mysql"

function connection:more_results()
   return supports_more_results and more_results(self)
end

function connection:next_result()
   return supports_more_results and next_result(self) or nil
end

-- Statements ------------------------------------------------------------------------------------

local function param_meta(kind)
   if kind <= sql.type.BIGINT then
      return integer_meta
   elseif kind == sql.type.FLOAT or kind == sql.type.DOUBLE then
      return double_meta
   elseif kind == sql.type.CHAR or kind == sql.type.VARCHAR then
      return text_meta
   end
   -- Dates and times are bound as strings.
   return nil
end

function statement:bind_create(kind, max_length)
   local meta = type(kind) == "number" and kind >= 1 and param_meta(kind)
   if not meta then
      error("Unsupported argument type: " .. tostring(kind), 2)
   end
   return setmetatable({ kind = kind, max_length = max_length, statement = self }, meta)
end

function statement:bind_param(...)
   local count = select("#", ...)
   if count ~= self.expected then
      host.fatal("Wrong number of parameters to mysql_stmt_bind_param")
      return 1
   end
   self.params, self.bound = { ... }, count
   return 0
end

-- Adds a parameter of the statement that is executed next.
local function push(value)
   if type(value) == "number" then
      push_number(value)
   elseif type(value) == "string" then
      push_text(value)
   else
      push_null()
   end
end

function statement:execute()
   local con, id, p, n = self.connection, self.id, self.params, self.bound
   if con ~= current then
      switch_to(con, 2)
   end
   if not id then
      error("attempt to use an already closed statement", 2)
   end
   if n ~= self.expected then
      error("SQL API error: the statement has " .. self.expected .. " parameters, and " .. n .. " are bound", 2)
   end
   local reply
   -- The cases are written out, because LuaJIT compiles no loop inside of another one.
   if n == 1 then
      local value = p[1].value
      if type(value) == "number" then
         reply = execute_with_number(id, value)
      else
         push(value)
         reply = execute(id)
      end
   else
      if n == 2 then
         push(p[1].value)
         push(p[2].value)
      elseif n == 3 then
         push(p[1].value)
         push(p[2].value)
         push(p[3].value)
      elseif n == 4 then
         push(p[1].value)
         push(p[2].value)
         push(p[3].value)
         push(p[4].value)
      elseif n > 0 then
         for i = 1, n do
            push(p[i].value)
         end
      end
      reply = execute(id)
   end
   if reply < 0 then
      raise_failure(con, self.text, 2)
   end
   return set_result(con.result, reply)
end

function statement:next_result()
   return supports_more_results and next_result(self.connection) or nil
end

function statement:close()
   local con = self.connection
   if self.id then
      if con ~= current then
         switch_to(con, 2)
      end
      ask(core.CLOSE, self.id)
      con.statements[self] = nil
      self.id = nil
   elseif not con.open then
      host.alert("attempt to use an already closed connection")
   end
   return 0
end

local function conversion_error(value, wanted)
   error("cannot convert '" .. type(value) .. "' to '" .. wanted .. "'", 3)
end

-- The digits of a 64-bit C number.
local function digits(value)
   return (tostring(value):gsub("U?LL$", ""))
end

function integer:set(value)
   local kind = type(value)
   if kind == "number" then
      self.value = value >= 0 and floor(value) or ceil(value)
   elseif value == nil then
      self.value = nil
   elseif kind == "cdata" then
      self.value = digits(value)
   elseif kind == "boolean" then
      self.value = value and 1 or 0
   else
      local number = kind == "string" and tonumber(value) or conversion_error(value, "int64_t")
      self.value = number >= 0 and floor(number) or ceil(number)
   end
end

function text:set(value)
   if value == nil then
      self.value = nil
      return
   end
   local kind, max_length = type(value), self.max_length
   local set = kind == "string" and value or kind == "cdata" and digits(value) or tostring(value)
   if max_length and #set > max_length then
      set = set:sub(1, max_length)
   end
   self.value = set
end

function double:set(value)
   if value == nil then
      self.value = nil
   else
      self.value = tonumber(value) or conversion_error(value, "double")
   end
end

for _, methods in ipairs({ integer, text, double }) do
   function methods:set_rand_str(format)
      self:set(core.string(format))
   end
end

-- Results ---------------------------------------------------------------------------------------

-- Replaces the rows of a freed result.
local FREED = {}
-- Replaces the rows of a result with one row, when the script has it.
local NO_MORE_ROWS = {}

function result:fetch_row()
   local rows = self.rows
   if rows == FREED then
      host.alert("attempt to fetch row from an invalid result set")
      return nil
   end
   if not rows then
      if self.nfields == 0 then
         host.alert("attempt to fetch row from an empty result set")
         return nil
      end
      local con = self.connection
      if con ~= current then
         switch_to(con, 2)
      end
      if self.nrows == 1 and self.nfields <= ROW_CELLS and not self.index then
         local row = single_row(self.nfields)
         self.rows, self.at = NO_MORE_ROWS, 0
         return row
      end
      rows = all_rows(self.index, self.nrows, self.nfields)
      self.rows, self.at = rows, 0
   end
   local at = self.at + 1
   self.at = at
   return rows[at]
end

function result:free()
   if self.rows == FREED then
      host.alert("attempt to free an invalid result set")
      error(FREE_FAILED, 2)
   end
   self.rows = FREED
   return true, FREE_FAILED
end
