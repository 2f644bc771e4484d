-- What all other parts of the API stand on: asking the loop, and Lua's own functions that need another
-- shape here. In: `host`, Rust's side. Out: the table `core`. Must never: leave a name behind that
-- scripts see and sysbench does not have.

local host, core = ...

local yield, resume, create = coroutine.yield, coroutine.resume, coroutine.create
local running, status = coroutine.running, coroutine.status
local MARK = {}
-- Coroutines of the script, inside each other, around what runs now.
local depth = 0

-- What the loop can be asked for; request.rs has the same numbers.
core.QUERY, core.EXECUTE, core.PREPARE, core.ROWS, core.MORE, core.START, core.STOP = 1, 2, 3, 4, 5, 6, 7
core.FORGET, core.SLEEP, core.RENEW, core.COUNT, core.FAIL, core.LINGER, core.RESTART = 8, 9, 10, 11, 12, 13, 14

-- Asks, and gives what is answered. A user runs in a coroutine and is resumed with the answer; the
-- states of the front have none and are answered at once.
local function ask(...)
   if core.answer then
      return core.answer(...)
   end
   if depth > 0 then
      return yield(MARK, ...)
   end
   return yield(...)
end
core.ask = ask

-- Coroutines of a script pass what is asked inside them outwards.
local resumed

local function after(co, ok, mark, ...)
   depth = depth - 1
   if ok and mark == MARK then
      return resumed(co, ask(...))
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

-- The text of an error, whatever was thrown.
function core.text(problem)
   if type(problem) == "string" or type(problem) == "number" then
      return tostring(problem)
   end
   local words = debug and getmetatable(problem) and tostring(problem)
   return words or "(not a string)"
end
