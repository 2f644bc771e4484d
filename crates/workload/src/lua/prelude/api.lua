-- The table `sysbench`: random numbers, histograms, hooks, reports; what sysbench.md calls the Lua API, except for
-- SQL and the command line. Never prints except through the host.

local host, core = ...

local floor, log, exp = math.floor, math.log, math.exp

sysbench = {
   tid = host.tid,
   version = host.version,
   version_string = host.version_string,
   hooks = {},
   db = {},
}
core.sysbench = sysbench

-- Random numbers ----------------------------------------------------------------------------------

local draw = core.draw

sysbench.rand = {
   default = draw.default,
   uniform = draw.uniform,
   gaussian = draw.gaussian,
   pareto = draw.pareto,
   unique = core.unique,
   string = core.string,
   uniform_double = core.unit,
   uniform_uint64 = core.uint64,
}
if host.is_v1_1 then
   sysbench.rand.zipfian = draw.zipfian
   sysbench.rand.varstring = core.varstring
else
   sysbench.rand.special = draw.special
end

-- Histograms --------------------------------------------------------------------------------------

local histogram = {}
local histogram_meta = {
   __index = histogram,
   __tostring = function()
      return "<sb_histogram>"
   end,
}

sysbench.histogram = {}

function sysbench.histogram.new(size, least, most)
   local first = log(least)
   return setmetatable({ size = size, first = first, step = (log(most) - first) / (size - 1), counts = {} },
      histogram_meta)
end

function histogram:update(value)
   local at = floor((log(value) - self.first) / self.step + 0.5)
   if at < 0 or at ~= at then
      at = 0
   elseif at >= self.size then
      at = self.size - 1
   end
   self.counts[at] = (self.counts[at] or 0) + 1
end

function histogram:print()
   local most = 0
   for _, count in pairs(self.counts) do
      most = math.max(most, count)
   end
   local lines = { "       value  ------------- distribution ------------- count\n" }
   for at = 0, self.size - 1 do
      local count = self.counts[at]
      if count then
         local bar = ("*"):rep(floor(count * 40 / most + 0.5))
         lines[#lines + 1] = ("%12.3f |%-40s %d\n"):format(exp(self.first + at * self.step), bar, count)
      end
   end
   host.output(table.concat(lines))
end

-- Reports -----------------------------------------------------------------------------------------

-- The rates of a report, and its latency in milliseconds.
local function rates(stat)
   local seconds = stat.time_interval
   local function rate(count)
      return seconds > 0 and count / seconds or 0
   end
   return {
      tps = rate(stat.events), qps = rate(stat.reads + stat.writes + stat.other), reads = rate(stat.reads),
      writes = rate(stat.writes), other = rate(stat.other), errors = rate(stat.errors),
      reconnects = rate(stat.reconnects), latency = stat.latency_pct * 1000,
   }
end

function sysbench.report_default(stat)
   local r = rates(stat)
   host.output(("[ %.0fs ] thds: %u tps: %4.2f qps: %4.2f (r/w/o: %4.2f/%4.2f/%4.2f) lat (ms,%u%%): %4.2f "
      .. "err/s %4.2f reconn/s: %4.2f\n"):format(stat.time_total, stat.threads_running, r.tps, r.qps, r.reads,
      r.writes, r.other, sysbench.opt.percentile, r.latency, r.errors, r.reconnects))
end

function sysbench.report_csv(stat)
   local r = rates(stat)
   host.output(("%.0f,%u,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f\n"):format(stat.time_total,
      stat.threads_running, r.tps, r.qps, r.reads, r.writes, r.other, r.latency, r.errors, r.reconnects))
end

function sysbench.report_json(stat)
   local r = rates(stat)
   host.output((core.json_open and ",\n" or "[\n") .. ([[
  {
    "time": %4.0f,
    "threads": %u,
    "tps": %4.2f,
    "qps": {
      "total": %4.2f,
      "reads": %4.2f,
      "writes": %4.2f,
      "other": %4.2f
    },
    "latency": %4.2f,
    "errors": %4.2f,
    "reconnects": %4.2f
  }]]):format(stat.time_total, stat.threads_running, r.tps, r.qps, r.reads, r.writes, r.other, r.latency,
      r.errors, r.reconnects))
   core.json_open = true
end

-- Prints the closing bracket of the list of JSON reports, if there is one.
function core.end_reports()
   if core.json_open then
      host.output("\n]\n")
      core.json_open = nil
   end
end

-- Whether the script defines this hook.
function core.has_hook(name)
   return type(sysbench.hooks[name]) == "function"
end

-- Calls the report hook that `stat.hook` names.
function core.call_report_hook(stat)
   local name = stat.hook
   stat.hook = nil
   return core.call_named(name, sysbench.hooks[name], stat)
end
