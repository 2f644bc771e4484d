-- LuaJIT's `ffi`, with sysbench's C functions in front: a static program exports no symbols, and a
-- function that waits must wait on the loop. In: the real module. Out: the global `ffi`. Must never:
-- hide what the real module has.

local host, core = ...

local real = require("ffi")
local ask = core.ask

real.cdef([[
typedef enum {
  SB_CNT_OTHER, SB_CNT_READ, SB_CNT_WRITE, SB_CNT_TRX, SB_CNT_ERROR, SB_CNT_RECONNECT, SB_CNT_MAX
} sb_counter_type;
]])

local function pointer(kind, name)
   return real.cast(kind, host.functions[name])
end

local context = real.cast("void *", host.context)
-- The context comes last, so that messages number the arguments as scripts do.
local draw = "double (*)(double, double, void *)"

-- Random numbers of this user. Calls through pointers are compiled into the traces around them.
core.draw = {}
for _, name in ipairs({ "default", "uniform", "gaussian", "special", "pareto", "zipfian" }) do
   local call = pointer(draw, name)
   core.draw[name] = function(low, high)
      return call(low, high, context)
   end
end

local unit = pointer("double (*)(void *)", "unit")
local whole = pointer("uint64_t (*)(void *)", "whole")
local unique = pointer("double (*)(void *)", "unique")
local fill = pointer("void (*)(void *, const char *, size_t, char *)", "fill")

function core.unit()
   return unit(context)
end

function core.whole()
   return whole(context)
end

function core.unique()
   return unique(context)
end

local room = 256
local buffer = real.new("char[?]", room)

function core.string(format)
   local length = #format
   if length > room then
      room = length * 2
      buffer = real.new("char[?]", room)
   end
   fill(context, format, length, buffer)
   return real.string(buffer, length)
end

-- 1.1: a text of a length between two, letters and digits.
function core.varstring(shortest, longest)
   local length = core.draw.uniform(shortest, longest)
   return core.string(("@"):rep(length))
end

local own = {
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
   sb_rand_uniform_uint64 = core.whole,
}

function own.sb_rand_str(format, target)
   local text = core.string(type(format) == "string" and format or real.string(format))
   real.copy(target, text)
end

function own.sb_counter_inc(_, kind)
   ask(core.COUNT, tonumber(kind), 1)
end

function own.sb_more_events()
   return core.more()
end

function own.sb_event_start()
   ask(core.START)
end

function own.sb_event_stop()
   ask(core.STOP)
end

function own.usleep(microseconds)
   ask(core.SLEEP, tonumber(microseconds) / 1e6)
   return 0
end

function own.sleep(seconds)
   ask(core.SLEEP, tonumber(seconds))
   return 0
end

function own.poll(_, count, milliseconds)
   if tonumber(count) > 0 then
      return real.C.poll(_, count, milliseconds)
   end
   ask(core.SLEEP, tonumber(milliseconds) / 1e3)
   return 0
end

local shim = setmetatable({}, { __index = real })
shim.C = setmetatable({}, {
   __index = function(_, name)
      local mine = own[name]
      if mine ~= nil then
         return mine
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
