-- What a thread executes: the default main loop, and the order in which a script's functions are called.
-- After a failure, the thread makes the request FAIL with the function's name and the reason, which ends the
-- thread. Never calls a function that the script does not define.

local host, core = ...

local ask, pcall, xpcall, type, error = core.ask, pcall, xpcall, type, error
local located = core.located
local sysbench = core.sysbench
local RESTART = sysbench.error.RESTART_EVENT

-- Waits until the next event is due, and returns whether there is one.
function core.more()
   return ask(core.WAIT_FOR_EVENT)
end

-- The default main loop, which a script may redefine.
function thread_run(id)
   local run_events = core.run_events
   if not ask(core.WAIT_FOR_EVENT) then
      return
   end
   while true do
      local ok, problem = xpcall(run_events, located, id)
      if ok then
         return
      end
      -- An ignored error restarts the event.
      if type(problem) ~= "table" or problem.errcode ~= RESTART then
         error(problem, 0)
      end
      local hook = sysbench.hooks.before_restart_event
      if hook then
         hook(problem)
      end
   end
end
core.thread_run = thread_run

-- The text of an error. For an error that restarts an event, raised where there is no event, it is the
-- server's message; sysbench prints "(not a string)" there.
local function error_text(problem)
   return type(problem) == "table" and problem.sql_errmsg or core.text(problem)
end

local function call(name, f, ...)
   local ok, problem = xpcall(f, located, ...)
   if not ok then
      ask(core.FAIL, name, error_text(problem))
   end
   return problem
end

-- `--luajit-cmd` of 1.1, which does what `luajit -j` does: calls a function of `jit`, or starts a module of LuaJIT
-- with arguments.
local function control_jit(command)
   if not command or command == "" then
      return
   end
   local name, words = command:match("^([^=]*)=?(.*)$")
   if type(jit[name]) == "function" then
      jit[name]()
      return
   end
   local arguments = {}
   for word in words:gmatch("[^,]+") do
      arguments[#arguments + 1] = word
   end
   local found, module = pcall(require, "jit." .. name)
   if not found then
      -- The same message as luajit's.
      error("unknown luaJIT command or jit.* modules not installed", 0)
   end
   module.start(unpack(arguments))
end

-- Before the script is read, all options of the command line are known, except for those that it declares.
function core.read_script(chunk)
   sysbench.opt = {}
   for name, value in pairs(host.general_options) do
      sysbench.opt[name] = value
   end
   -- Legacy scripts use the other options while they are being read.
   for _, given in ipairs(host.script_options) do
      sysbench.opt[given.name] = given.value or "on"
   end
   if host.is_legacy then
      core.make_globals()
   end
   control_jit(host.general_options.luajit_cmd)
   chunk()
   sysbench.cmdline.read_cmdline_options()
   core.make_globals()
end

-- Runs a thread of a run from start to end.
function core.run_thread(chunk)
   local id = sysbench.tid
   call("thread_init", core.read_script, chunk)
   if type(thread_init) == "function" then
      call("thread_init", thread_init, id)
   end
   ask(core.WAIT_FOR_COMMON_START)
   call("thread_run", thread_run, id)
   ask(core.KEEP_RUNNING)
   if type(thread_done) == "function" then
      call("thread_done", thread_done, id)
   end
end

-- sysbench's name for the function that runs a command.
local CALL_COMMAND = "sysbench.cmdline.call_command"

-- Runs a parallel command in a thread.
function core.run_command_in_thread(chunk, word)
   call(CALL_COMMAND, core.read_script, chunk)
   if not core.more() then
      return
   end
   if call(CALL_COMMAND, sysbench.cmdline.call_command, word) == false then
      ask(core.FAIL, "", "")
   end
   ask(core.END_EVENT)
end

function core.declares_options()
   return sysbench.cmdline.options ~= nil
end

function core.has_main_loop()
   return thread_run ~= core.thread_run
end

-- Calls a function of the script outside of the load; an error names the function.
local function call_named(name, f, ...)
   local ok, result = xpcall(f, located, ...)
   if not ok then
      error({ name = name, text = error_text(result) }, 0)
   end
   return result
end
core.call_named = call_named

-- Calls a global function of the script, if it exists.
function core.call_global(name, ...)
   local f = _G[name]
   if type(f) == "function" then
      call_named(name, f, ...)
   end
end

-- Runs a command once, in the state that read the script, as sysbench does. Returns false if the command reports a
-- failure.
function core.run_command_once(word)
   if sysbench.cmdline.command_defined(word) then
      return call_named(CALL_COMMAND, sysbench.cmdline.call_command, word)
   end
   call_named(word, _G[word])
   return true
end

-- Returns a function that calls `f` with these arguments.
function core.bind(f, ...)
   local a, b, c = ...
   return function()
      return f(a, b, c)
   end
end

local function error_parts(ok, first, ...)
   if ok then
      return true, first, ...
   end
   if type(first) == "table" and first.usage then
      return false, "usage", first.usage
   elseif type(first) == "table" and first.name then
      return false, first.name, first.text
   end
   return false, "", core.text(first)
end

-- Calls a function outside of the load. Returns whether it succeeded, and its results or what failed and why.
function core.protected_call(f, ...)
   return error_parts(pcall(f, ...))
end
