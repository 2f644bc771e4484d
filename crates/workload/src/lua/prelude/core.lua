-- What all other parts of the API stand on: asking the loop, and Lua's own functions that need another
-- shape here. In: `host`, Rust's side. Out: the table `core`. Must never: leave a name behind that
-- scripts see and sysbench does not have.

local host, core = ...

local yield, resume, create = coroutine.yield, coroutine.resume, coroutine.create
local running, type = coroutine.running, type
-- Coroutines of the script, inside each other, around what runs now.
local depth = 0

-- What the loop can be asked for; asked.rs has the same numbers. They stand far from what scripts yield
-- in coroutines of their own, so that one look tells whose a yield is.
local FIRST, LAST = 9007199254740001, 9007199254740031

for place, name in ipairs({
   "QUERY", "EXECUTE", "PREPARE", "ROWS", "MORE", "START", "STOP", "FORGET", "SLEEP", "RENEW", "COUNT", "FAIL",
   "LINGER", "READY", "NEXT", "CLOSE", "CONNECT", "DISCONNECT", "LINE", "RESULTS", "RESULT",
}) do
   core[name] = FIRST - 1 + place
end

-- Asks, and gives what is answered. A user runs in a coroutine and is resumed with the answer; the
-- states of the front have none and are answered at once.
local ask = yield
if host.is_front then
   ask = function(...)
      return core.answer(...)
   end
end
core.ask = ask

-- Coroutines of a script pass what is asked inside them outwards.
local resumed

local function after(co, ok, mark, ...)
   depth = depth - 1
   if ok and type(mark) == "number" and mark >= FIRST and mark <= LAST then
      return resumed(co, ask(mark, ...))
   end
   return ok, mark, ...
end

resumed = function(co, ...)
   depth = depth + 1
   return after(co, resume(co, ...))
end

function coroutine.resume(co, ...)
   if type(co) ~= "thread" then
      error("bad argument #1 to 'resume' (coroutine expected)", 2)
   end
   return resumed(co, ...)
end

local function unwrapped(ok, first, ...)
   if not ok then
      error(first, 0)
   end
   return first, ...
end

function coroutine.wrap(f)
   local co = create(f)
   return function(...)
      return unwrapped(resumed(co, ...))
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

-- What a script writes goes where the program's own output goes, in the same order.
local show, tostring, concat, select = host.show, tostring, table.concat, select

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

-- An error that arose inside the API is one of the line of the script that called it.
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

-- The text of an error, whatever was thrown.
function core.text(problem)
   if type(problem) == "string" or type(problem) == "number" then
      return tostring(problem)
   end
   local words = debug and getmetatable(problem) and tostring(problem)
   return words or "(not a string)"
end
