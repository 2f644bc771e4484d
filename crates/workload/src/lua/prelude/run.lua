-- What a thread does: the default main loop, and the order of the functions that a script defines. In: a
-- task. Out: nothing; who fails asks the loop to end with the function's name and the reason. Must
-- never: call what the script does not define.

local host, core = ...

local ask, pcall, xpcall, type, error = core.ask, pcall, xpcall, type, error
local located = core.located
local sysbench = core.sysbench
local RESTART = sysbench.error.RESTART_EVENT

-- Whether another event begins; with a rate, once it is due.
function core.more()
   return ask(core.MORE)
end

-- A script may define another one.
function thread_run(id)
   local NEXT, FORGET = core.NEXT, core.FORGET
   local more = ask(core.MORE)
   while more do
      local event, ok, result = _G.event
      repeat
         ok, result = xpcall(event, located, id)
         if not ok then
            if type(result) ~= "table" or result.errcode ~= RESTART then
               error(result, 0)
            end
            local hook = sysbench.hooks.before_restart_event
            if hook then
               hook(result)
            end
         end
      until ok
      if result then
         ask(FORGET)
         break
      end
      -- It is done, and the next one begins when it is due.
      more = ask(NEXT)
   end
end
core.thread_run = thread_run

-- The text of what was thrown; of an error that begins an event anew, where there is none, the server's words:
-- sysbench has "(not a string)" there.
local function thrown(problem)
   return type(problem) == "table" and problem.sql_errmsg or core.text(problem)
end

local function call(name, f, ...)
   local ok, problem = xpcall(f, located, ...)
   if not ok then
      ask(core.FAIL, name, thrown(problem))
   end
   return problem
end

-- The options of the command line are known before the script is read, but for those that it declares.
function core.read(chunk)
   sysbench.opt = {}
   for name, value in pairs(host.general) do
      sysbench.opt[name] = value
   end
   -- Legacy scripts read the others while they are read.
   for _, given in ipairs(host.given) do
      sysbench.opt[given.name] = given.value or "on"
   end
   if host.is_legacy then
      core.make_globals()
   end
   chunk()
   sysbench.cmdline.read_cmdline_options()
   core.make_globals()
end

-- The life of a thread of a run.
function core.thread(chunk)
   local id = sysbench.tid
   call("thread_init", core.read, chunk)
   if type(thread_init) == "function" then
      call("thread_init", thread_init, id)
   end
   ask(core.READY)
   call("thread_run", thread_run, id)
   ask(core.LINGER)
   if type(thread_done) == "function" then
      call("thread_done", thread_done, id)
   end
end

-- A thread that carries out a command.
function core.command(chunk, word, is_function)
   call("sysbench.cmdline.call_command", core.read, chunk)
   if not core.more() then
      return
   end
   if is_function then
      call(word, _G[word])
   elseif call("sysbench.cmdline.call_command", sysbench.cmdline.call_command, word) == false then
      ask(core.FAIL, "", "")
   end
   ask(core.STOP)
end

function core.declares_options()
   return sysbench.cmdline.options ~= nil
end

function core.has_main_loop()
   return thread_run ~= core.thread_run
end

-- Of the front's own state.
function core.call(name, ...)
   local f = _G[name]
   if type(f) == "function" then
      local ok, problem = pcall(f, ...)
      if not ok then
         error({ name = name, text = thrown(problem) }, 0)
      end
   end
end

-- A function that calls another with these arguments.
function core.bound(f, ...)
   local a, b, c = ...
   return function()
      return f(a, b, c)
   end
end

local function sorted_out(ok, first, ...)
   if ok then
      return true, first, ...
   end
   if type(first) == "table" and first.refused then
      return false, "usage", first.refused
   elseif type(first) == "table" and first.name then
      return false, first.name, first.text
   end
   return false, "", core.text(first)
end

-- Calls a function for the front, which is told what went wrong and where.
function core.guarded(f, ...)
   return sorted_out(pcall(f, ...))
end
