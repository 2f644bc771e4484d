-- LuaJIT's `ffi`, extended by sysbench's C functions: a static program exports no symbols, and a
-- function that waits must wait on the loop. Replaces the global `ffi`, and never hides what the real
-- module has.

local host, core = ...

local real = require("ffi")
local ask, require_string = core.ask, core.require_string
local type = type

real.cdef([[
typedef enum {
  SB_CNT_OTHER, SB_CNT_READ, SB_CNT_WRITE, SB_CNT_TRX, SB_CNT_ERROR, SB_CNT_RECONNECT, SB_CNT_MAX
} sb_counter_type;
]])

local function pointer(kind, name)
   return real.cast(kind, host.random_functions[name])
end

local context = real.cast("void *", host.random_context)
-- The context is the last argument, so that messages number the others as scripts do.
local draw = "double (*)(double, double, void *)"

-- Random numbers of this user. LuaJIT compiles calls through pointers into the surrounding traces.
core.draw = {}
for _, name in ipairs({ "default", "uniform", "gaussian", "special", "pareto", "zipfian" }) do
   local call = pointer(draw, name)
   core.draw[name] = function(low, high)
      return call(low, high, context)
   end
end

local unit = pointer("double (*)(void *)", "unit")
local uint64 = pointer("uint64_t (*)(void *)", "uint64")
local unique = pointer("double (*)(void *)", "unique")
local fill = pointer("void (*)(void *, const char *, size_t, char *)", "fill")

local unique_in = pointer(draw, "unique_in")

function core.unique_in(low, high)
   return unique_in(low, high, context)
end

function core.unit()
   return unit(context)
end

function core.uint64()
   return uint64(context)
end

function core.unique()
   return unique(context)
end

local capacity = 256
local buffer = real.new("char[?]", capacity)

function core.string(format)
   require_string(format, "format of a random string", 3)
   local length = #format
   if length > capacity then
      capacity = length * 2
      buffer = real.new("char[?]", capacity)
   end
   fill(context, format, length, buffer)
   return real.string(buffer, length)
end

-- 1.1: letters, with a random length between the two bounds.
function core.varstring(shortest, longest)
   local length = core.draw.uniform(shortest, longest)
   return core.string(("@"):rep(length))
end

local functions = {
   SB_CNT_OTHER = 0,
   SB_CNT_READ = 1,
   SB_CNT_WRITE = 2,
   SB_CNT_TRX = 3,
   SB_CNT_ERROR = 4,
   SB_CNT_RECONNECT = 5,
   SB_CNT_MAX = 6,
   sb_rand_default = core.draw.default,
   sb_rand_uniform = core.draw.uniform,
   sb_rand_gaussian = core.draw.gaussian,
   sb_rand_special = core.draw.special,
   sb_rand_pareto = core.draw.pareto,
   sb_rand_zipfian = core.draw.zipfian,
   sb_rand_unique = core.unique,
   sb_rand_uniq = core.unique,
   sb_rand_uniform_double = core.unit,
   sb_rand_uniform_uint64 = core.uint64,
}

function functions.sb_rand_str(format, target)
   local text = core.string(type(format) == "string" and format or real.string(format))
   real.copy(target, text)
end

function functions.sb_counter_inc(_, kind)
   ask(core.COUNT, tonumber(kind), 1)
end

function functions.sb_more_events()
   return core.more()
end

function functions.sb_event_start()
   ask(core.BEGIN_EVENT)
end

function functions.sb_event_stop()
   ask(core.END_EVENT)
end

function functions.usleep(microseconds)
   ask(core.SLEEP, tonumber(microseconds) / 1e6)
   return 0
end

function functions.sleep(seconds)
   ask(core.SLEEP, tonumber(seconds))
   return 0
end

function functions.poll(_, count, milliseconds)
   if tonumber(count) > 0 then
      return real.C.poll(_, count, milliseconds)
   end
   ask(core.SLEEP, tonumber(milliseconds) / 1e3)
   return 0
end

core.c_functions = functions

local shim = setmetatable({}, { __index = real })

function shim.cdef(text, ...)
   if type(text) == "string" then
      core.examine_declarations(text, functions)
   end
   return real.cdef(text, ...)
end

function shim.load(...)
   core.mark_c_code()
   return real.load(...)
end

shim.C = setmetatable({}, {
   __index = function(_, name)
      local own = functions[name]
      if own ~= nil then
         return own
      end
      return real.C[name]
   end,
   __newindex = function(_, name, value)
      real.C[name] = value
   end,
})

ffi = shim
package.loaded.ffi = shim
core.ffi = real
