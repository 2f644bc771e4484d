-- Connections, statements, results. In: what the script calls. Out: requests to the loop, whose answers
-- are `rows, fields` or `nil, number, state, message, ignorable`. Must never: keep a result longer than
-- until the connection's next statement, as sysbench.

local host, core = ...

local ask, QUERY, EXECUTE = core.ask, core.QUERY, core.EXECUTE
local type, tonumber, tostring, setmetatable, error = type, tonumber, tostring, setmetatable, error
local floor, ceil, concat, unpack, select = math.floor, math.ceil, table.concat, unpack, select

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
   local shown = "<sql_" .. name .. ">"
   local meta = {
      __index = methods,
      __tostring = function()
         return shown
      end,
   }
   return methods, meta
end

local driver, driver_meta = class("driver")
local connection, connection_meta = class("connection")
local statement, statement_meta = class("statement")
-- One class a sort of parameter, so that setting one is short.
local whole, whole_meta = class("param")
local text, text_meta = class("param")
local double, double_meta = class("param")
local other, other_meta = class("param")
local result, result_meta = class("result")

-- Drivers ---------------------------------------------------------------------------------------

local the_driver = setmetatable({ kind = host.driver }, driver_meta)

function sql.driver(name)
   if name == nil then
      name = sysbench.opt and sysbench.opt.db_driver or host.driver
   end
   if name ~= host.driver then
      if name == "mysql" or name == "pgsql" then
         host.fatal("the driver '" .. name .. "' was asked for, and the command line names '" .. host.driver
            .. "': Prony connects the threads of a run to one server (--db-driver=" .. name .. ")")
      else
         host.fatal("invalid database driver name: '" .. tostring(name) .. "'")
      end
      error("failed to initialize the DB driver", 2)
   end
   if host.no_driver then
      host.unreachable(host.no_driver)
      error("failed to initialize the DB driver", 2)
   end
   return the_driver
end

function driver:name()
   return self.kind
end

-- The connection that the loop takes what is asked for; the others are turned to first.
local current
-- Lines whose connections the script has lost sight of: they are closed before the next one is opened.
local lost = {}

local function open(con, level)
   for i = #lost, 1, -1 do
      ask(core.DISCONNECT, lost[i])
      lost[i] = nil
   end
   if host.no_server then
      host.unreachable(host.no_server)
      error("connection creation failed", level + 1)
   end
   local line = ask(core.CONNECT)
   if not line then
      error("connection creation failed", level + 1)
   end
   con.line, con.open, current = line, true, con
   con.guard = core.ffi.gc(core.ffi.new("char[1]"), function()
      lost[#lost + 1] = line
   end)
   host.has_connected()
end

local function turn_to(con, level)
   if not con or not con.open then
      error("the connection is closed", level + 1)
   end
   ask(core.LINE, con.line)
   current = con
end

function driver:connect()
   local con = setmetatable({
      open = false, sql_errno = 0, sql_state = "00000", sql_errmsg = "", error = sql.error.NONE,
      statements = setmetatable({}, { __mode = "k" }),
   }, connection_meta)
   con.result = setmetatable({ connection = con, nrows = 0, nfields = 0, place = false }, result_meta)
   open(con, 2)
   return con
end

-- Connections -----------------------------------------------------------------------------------

-- A statement failed: the event begins anew, or its error goes up to the script.
local function failed(con, query, number, state, message, ignorable, level)
   con.sql_errno, con.sql_state, con.sql_errmsg = number, state, message
   con.error = ignorable and sql.error.IGNORABLE or sql.error.FATAL
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

local function answered(con, query, level, rows, fields, state, message, ignorable)
   if rows == nil then
      failed(con, query, fields, state, message, ignorable, level + 1)
   end
   local rs = con.result
   rs.nrows, rs.nfields, rs.rows, rs.place = rows, fields, nil, false
   return rs
end

function connection:query(text)
   if type(text) ~= "string" then
      error("bad argument #1 to 'query' (string expected, got " .. type(text) .. ")", 2)
   end
   if self ~= current then
      turn_to(self, 2)
   end
   local rs = answered(self, text, 2, ask(QUERY, text))
   return rs
end

function connection:query_row(text)
   if type(text) ~= "string" then
      error("bad argument #1 to 'query_row' (string expected, got " .. type(text) .. ")", 2)
   end
   if self ~= current then
      turn_to(self, 2)
   end
   local rs = answered(self, text, 2, ask(QUERY, text))
   if rs.nrows == 0 or rs.nfields == 0 then
      return nil
   end
   return unpack(rs:fetch_row(), 1, rs.nfields)
end

function connection:prepare(text)
   if type(text) ~= "string" then
      error("bad argument #1 to 'prepare' (string expected, got " .. type(text) .. ")", 2)
   end
   if self ~= current then
      turn_to(self, 2)
   end
   local id, count, state, message = ask(core.PREPARE, text)
   if not id then
      self.sql_errno, self.sql_state, self.sql_errmsg = count, state, message
      error("SQL API error", 2)
   end
   local made = setmetatable({
      connection = self, id = id, expected = count, bound = 0, params = {}, text = text,
   }, statement_meta)
   self.statements[made] = true
   return made
end

function connection:disconnect()
   if self.open then
      self.open = false
      if current == self then
         current = nil
      end
      core.ffi.gc(self.guard, nil)
      -- The next connection on this line has statements of its own.
      for made in pairs(self.statements) do
         made.id, self.statements[made] = nil, nil
      end
      ask(core.DISCONNECT, self.line)
   end
   return 0
end

function connection:reconnect()
   if not self.open then
      open(self, 2)
   else
      turn_to(self, 2)
      local ok, number, state, message = ask(core.RENEW)
      if not ok then
         failed(self, "", number, state, message, false, 2)
      end
   end
   ask(core.COUNT, 5, 1)
   return 0
end

function connection:check_error(rs, query)
   if rs ~= nil or self.error == sql.error.NONE then
      return rs
   end
   failed(self, query, self.sql_errno, self.sql_state, self.sql_errmsg, self.error == sql.error.IGNORABLE, 2)
end

-- Rows of one INSERT are gathered until they fill a packet.
local PACKET = 512 * 1024

local function flush(con)
   local bulk = con.bulk
   if bulk.count == 0 then
      return
   end
   local text = bulk.head .. concat(bulk.rows, ",", 1, bulk.count)
   bulk.count, bulk.size = 0, #bulk.head
   if con ~= current then
      turn_to(con, 3)
   end
   answered(con, "INSERT", 3, ask(QUERY, text))
end

function connection:bulk_insert_init(text)
   if self ~= current then
      turn_to(self, 2)
   end
   self.bulk = { head = text, rows = {}, count = 0, size = #text }
   return 0
end

function connection:bulk_insert_next(values)
   local bulk = self.bulk
   if not bulk then
      error("attempt to call bulk_insert_next() before bulk_insert_init()", 2)
   end
   if bulk.size + #values + 1 > PACKET then
      flush(self)
   end
   local count = bulk.count + 1
   bulk.rows[count], bulk.count = values, count
   bulk.size = bulk.size + #values + 1
   return 0
end

function connection:bulk_insert_done()
   if not self.bulk then
      return 0
   end
   flush(self)
   self.bulk = nil
   return 0
end

-- 1.1: further results of a statement. The loop has taken them all together; the first was answered. Where
-- a later statement failed, its error stands in place of its result.
local function next_result(con)
   if con ~= current then
      turn_to(con, 3)
   end
   local rs = con.result
   local place = (rs.place or 0) + 1
   if place >= ask(core.RESULTS) then
      return nil
   end
   answered(con, "", 3, ask(core.RESULT, place))
   rs.place = place
   return rs
end

local function more_results(con)
   if con ~= current then
      turn_to(con, 3)
   end
   return (con.result.place or 0) + 1 < ask(core.RESULTS)
end

-- The driver of PostgreSQL has none, nor has 1.0.
local has_more = host.newer and host.driver == "mysql"

function connection:more_results()
   return has_more and more_results(self)
end

function connection:next_result()
   return has_more and next_result(self) or nil
end

-- Statements ------------------------------------------------------------------------------------

local function meta_of(kind)
   if kind <= sql.type.BIGINT then
      return whole_meta
   elseif kind == sql.type.FLOAT or kind == sql.type.DOUBLE then
      return double_meta
   elseif kind >= sql.type.CHAR then
      return text_meta
   end
   return other_meta
end

function statement:bind_create(kind, longest)
   if type(kind) ~= "number" or kind < 1 or kind > 12 then
      error("Unsupported argument type: " .. tostring(kind), 2)
   end
   return setmetatable({ kind = kind, longest = longest, statement = self }, meta_of(kind))
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

function statement:execute()
   local con, id, p, n = self.connection, self.id, self.params, self.bound
   if not id then
      error("attempt to use an already closed statement", 2)
   end
   if con ~= current then
      turn_to(con, 2)
   end
   if n ~= self.expected then
      error("SQL API error: the statement has " .. self.expected .. " parameters, and " .. n .. " are bound", 2)
   end
   local rs
   if n == 1 then
      rs = answered(con, self.text, 2, ask(EXECUTE, id, p[1].value))
   elseif n == 2 then
      rs = answered(con, self.text, 2, ask(EXECUTE, id, p[1].value, p[2].value))
   elseif n == 0 then
      rs = answered(con, self.text, 2, ask(EXECUTE, id))
   else
      local values = self.values
      if not values then
         values = {}
         self.values = values
      end
      for i = 1, n do
         values[i] = p[i].value
      end
      rs = answered(con, self.text, 2, ask(EXECUTE, id, unpack(values, 1, n)))
   end
   return rs
end

function statement:next_result()
   return has_more and next_result(self.connection) or nil
end

function statement:close()
   local con = self.connection
   if self.id then
      if con ~= current then
         turn_to(con, 2)
      end
      ask(core.CLOSE, self.id)
      con.statements[self] = nil
      self.id = nil
   end
   return 0
end

local function bad_value(value, wanted)
   error("cannot convert '" .. type(value) .. "' to '" .. wanted .. "'", 3)
end

-- A 64-bit number of C as digits.
local function digits(value)
   return (tostring(value):gsub("U?LL$", ""))
end

function whole:set(value)
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
      local number = kind == "string" and tonumber(value) or bad_value(value, "int64_t")
      self.value = number >= 0 and floor(number) or ceil(number)
   end
end

function text:set(value)
   if value == nil then
      self.value = nil
      return
   end
   local kind, longest = type(value), self.longest
   local set = kind == "string" and value or kind == "cdata" and digits(value) or tostring(value)
   if longest and #set > longest then
      set = set:sub(1, longest)
   end
   self.value = set
end

function double:set(value)
   if value == nil then
      self.value = nil
   else
      self.value = tonumber(value) or bad_value(value, "double")
   end
end

function other:set(value)
   self.value = value ~= nil and tostring(value) or nil
end

for _, methods in ipairs({ whole, text, double, other }) do
   function methods:set_rand_str(format)
      self:set(core.string(format))
   end
end

-- Results ---------------------------------------------------------------------------------------

function result:fetch_row()
   local rows = self.rows
   if not rows then
      if self.nfields == 0 then
         host.alert("attempt to fetch row from an empty result set")
         return nil
      end
      local con = self.connection
      if con ~= current then
         turn_to(con, 2)
      end
      rows = ask(core.ROWS, self.place)
      self.rows, self.at = rows, 0
   end
   local at = self.at + 1
   self.at = at
   return rows[at]
end

function result:free()
   self.rows = {}
   self.at = 0
   return 0
end
