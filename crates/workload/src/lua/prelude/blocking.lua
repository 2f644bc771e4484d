-- Detects whether a script may block its OS thread; if so, each of its threads gets an OS thread of its own, as in
-- sysbench. Sets `core.may_block`, and never changes what a script does.

local host, core = ...

local may_block = false

-- Code that waits for something other than the server or a timer. `os.execute` does not block: see core.lua.
local BLOCKING_PATTERNS = {
   "io%s*%.%s*popen", "[\"']popen[\"']",
   "require[%s%(]*[\"']socket", "require[%s%(]*[\"']posix", "require[%s%(]*[\"']ssl",
}
-- C functions that return at once.
local NON_BLOCKING = {}
for _, name in ipairs({
   "clock_gettime", "gettimeofday", "time", "clock", "getpid", "gettid", "getppid", "rand", "srand", "random",
   "srandom", "rand_r", "strlen", "memcpy", "memset", "memcmp", "strcmp", "snprintf", "sprintf", "printf", "getenv",
   "setenv", "malloc", "free", "strtol", "strtoul", "strtoull", "atoi", "syscall", "sched_getcpu", "strerror",
}) do
   NON_BLOCKING[name] = true
end

-- Examines the text of a script or a module.
function core.examine_text(text)
   for _, pattern in ipairs(BLOCKING_PATTERNS) do
      may_block = may_block or text:find(pattern) ~= nil
   end
end

-- Examines the file of a module.
function core.examine_file(path)
   local file = io.open(path, "r")
   if file then
      core.examine_text(file:read("*a") or "")
      file:close()
   end
end

-- Examines C declarations: a function that is neither one of Prony's nor in NON_BLOCKING may block.
function core.examine_declarations(text, own)
   for name in text:gmatch("([%a_][%w_]*)%s*%b()%s*;") do
      may_block = may_block or not (NON_BLOCKING[name] or own[name])
   end
end

-- Records that C code is loaded, which may block.
function core.mark_c_code()
   may_block = true
end

function core.may_block(text)
   core.examine_text(text)
   return may_block
end
