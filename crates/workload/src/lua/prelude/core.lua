-- The base of the other parts of the API: requests to the event loop, and those of Lua's own functions that must
-- behave differently here. Takes `host`, the Rust side, and fills the table `core`. Never defines a global that
-- sysbench does not have.

local host, core = ...

local yield, resume, create = coroutine.yield, coroutine.resume, coroutine.create
local running, type = coroutine.running, type
-- Number of the script's coroutines in which the running code is nested.
local depth = 0

-- The codes of requests to the event loop, as in request.rs. They are far from any value that scripts yield
-- in their own coroutines, so that one comparison distinguishes requests from such values.
local FIRST_CODE, LAST_CODE = 9007199254740001, 9007199254740031

for index, name in ipairs({
   "QUERY", "EXECUTE", "PREPARE", "ROWS", "WAIT_FOR_EVENT", "BEGIN_EVENT", "END_EVENT", "DISCARD_EVENT", "SLEEP",
   "RECONNECT", "COUNT", "FAIL", "KEEP_RUNNING", "WAIT_FOR_COMMON_START", "NEXT_EVENT", "CLOSE", "CONNECT",
   "DISCONNECT", "USE_CONNECTION", "RESULTS", "RESULT",
}) do
   core[name] = FIRST_CODE - 1 + index
end

-- Makes a request and returns the answer. A user runs in a coroutine and is resumed with the answer; states outside
-- of the load have no coroutine and are answered at once.
local ask = yield
if host.is_outside_load then
   ask = function(...)
      return core.answer(...)
   end
end
core.ask = ask

-- A request made in a script's own coroutine is passed on to the outer coroutine.
local resume_inner

local function pass_on(co, ok, code, ...)
   depth = depth - 1
   if ok and type(code) == "number" and code >= FIRST_CODE and code <= LAST_CODE then
      return resume_inner(co, ask(code, ...))
   end
   return ok, code, ...
end

resume_inner = function(co, ...)
   depth = depth + 1
   return pass_on(co, resume(co, ...))
end

function coroutine.resume(co, ...)
   if type(co) ~= "thread" then
      error("bad argument #1 to 'resume' (coroutine expected)", 2)
   end
   return resume_inner(co, ...)
end

local function unwrap_result(ok, first, ...)
   if not ok then
      error(first, 0)
   end
   return first, ...
end

function coroutine.wrap(f)
   local co = create(f)
   return function(...)
      return unwrap_result(resume_inner(co, ...))
   end
end

function coroutine.yield(...)
   if depth == 0 then
      error("attempt to yield across C-call boundary", 2)
   end
   return yield(...)
end

function coroutine.running()
   if depth == 0 then
      return nil
   end
   return running()
end

-- A script's output goes where the program's own output goes, in the same order.
local show, tostring, concat, select = host.output, tostring, table.concat, select

function print(...)
   local texts = {}
   for i = 1, select("#", ...) do
      texts[i] = tostring((select(i, ...)))
   end
   show(concat(texts, "\t") .. "\n")
end

function io.write(...)
   if io.output() ~= io.stdout then
      return io.output():write(...)
   end
   for i = 1, select("#", ...) do
      local text = select(i, ...)
      if type(text) ~= "string" and type(text) ~= "number" then
         error("bad argument #" .. i .. " to 'write' (string expected, got " .. type(text) .. ")", 2)
      end
      show(tostring(text))
   end
   return io.stdout
end
io.stdout:setvbuf("no")

-- Attributes an error inside the API to the line of the script that called it.
local getinfo = debug.getinfo

function core.located(problem)
   local inside = type(problem) == "string" and problem:match("^prony/[%w_]+%.lua:%d+: (.*)")
   if not inside then
      return problem
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
