-- The base of the other parts of the API: requests to the event loop, and those of Lua's own functions that must
-- behave differently here. Takes `host`, the Rust side, and fills the table `core`. Never defines a global that
-- sysbench does not have.

local host, core = ...

local type = type

-- The codes of requests to the event loop, as in request.rs.
local FIRST_CODE = 9007199254740001

for index, name in ipairs({
   "QUERY", "EXECUTE", "PREPARE", "ROWS", "WAIT_FOR_EVENT", "BEGIN_EVENT", "END_EVENT", "DISCARD_EVENT", "SLEEP",
   "RECONNECT", "COUNT", "FAIL", "KEEP_RUNNING", "WAIT_FOR_COMMON_START", "NEXT_EVENT", "CLOSE", "CONNECT",
   "DISCONNECT", "USE_CONNECTION", "RESULTS", "RESULT", "RUN_COMMAND",
   "WRITE_ENTRY",
}) do
   core[name] = FIRST_CODE - 1 + index
end

-- Makes a request and returns the answer. States outside of the load have no event loop; `core.answer` is set later.
core.ask = host.ask or function(...)
   return core.answer(...)
end

-- A script's output goes where the program's own output goes, in the same order.
local show, tostring, concat, select, error = host.output, tostring, table.concat, select, error

function print(...)
   local texts = {}
   for i = 1, select("#", ...) do
      texts[i] = tostring((select(i, ...)))
   end
   show(concat(texts, "\t") .. "\n")
end

-- Writes strings and numbers to the output; the error for another value is that of the function's caller.
function core.write(...)
   for i = 1, select("#", ...) do
      local text = select(i, ...)
      if type(text) ~= "string" and type(text) ~= "number" then
         error("bad argument #" .. i .. " to 'write' (string expected, got " .. type(text) .. ")", 3)
      end
      show(tostring(text))
   end
end

local write = core.write

function io.write(...)
   if io.output() ~= io.stdout then
      return io.output():write(...)
   end
   write(...)
   return io.stdout
end
io.stdout:setvbuf("no")

-- Runs a command while the worker serves its other users. Outside of the load there are none.
if not host.is_outside_load then
   local execute, ask, RUN_COMMAND = os.execute, core.ask, core.RUN_COMMAND

   function os.execute(command)
      if type(command) ~= "string" and type(command) ~= "number" then
         return execute(command)
      end
      return (ask(RUN_COMMAND, tostring(command)))
   end
end

-- Raises an error unless the value is a string. LuaJIT would pass another one to a C function as an address, and `#` asks
-- its metatable.
function core.require_string(value, what, level)
   if type(value) ~= "string" then
      error("bad " .. what .. " (string expected, got " .. type(value) .. ")", level)
   end
end

-- Attributes an error inside the API to the line of the script that called it.
local getinfo = debug.getinfo

function core.located(problem)
   local inside = type(problem) == "string" and problem:match("^prony/[%w_]+%.lua:%d+: (.*)")
   if not inside then
      return problem
   end
   if problem:sub(1, 17) == "prony/events.lua:" then
      return inside
   end
   for level = 2, 60 do
      local at = getinfo(level, "Sl")
      if not at then
         return inside
      end
      if at.what ~= "C" and at.source:sub(1, 7) ~= "=prony/" then
         return at.short_src .. ":" .. at.currentline .. ": " .. inside
      end
   end
   return inside
end

-- The text of an error, of whatever type.
function core.text(problem)
   if type(problem) == "string" or type(problem) == "number" then
      return tostring(problem)
   end
   local message = debug and getmetatable(problem) and tostring(problem)
   return message or "(not a string)"
end
