-- A test with one transaction of several steps. Written for Prony.

require("oltp_common")

local RANGES = { "simple_ranges", "sum_ranges", "order_ranges", "distinct_ranges" }

-- Calls a step's function by its global name, which a script may redefine. The step `ranges` stands for four steps,
-- or for none if range selects are switched off.
local function call(prefix, step)
   if step ~= "ranges" then
      _G[prefix .. step]()
   elseif sysbench.opt.range_selects then
      for _, range in ipairs(RANGES) do
         _G[prefix .. range]()
      end
   end
end

-- Defines the test from its steps, in order. BEGIN and COMMIT are prepared before step `block_at`, by default the
-- first one.
return function(steps, block_at)
   function prepare_statements()
      for place, step in ipairs(steps) do
         if place == (block_at or 1) and not sysbench.opt.skip_trx then
            prepare_begin()
            prepare_commit()
         end
         call("prepare_", step)
      end
   end

   function event()
      local in_block = not sysbench.opt.skip_trx
      if in_block then
         begin()
      end
      for _, step in ipairs(steps) do
         call("execute_", step)
      end
      if in_block then
         commit()
      end
      check_reconnect()
   end
end
