-- Counts the rows whose column k lies in one of several random ranges.

local define = require("random_keys")

sysbench.cmdline.options.number_of_ranges = { "Number of random BETWEEN ranges per SELECT", 10 }
sysbench.cmdline.options.delta = { "Size of BETWEEN ranges", 5 }

define({
   start = "SELECT count(k) FROM sbtest1 WHERE %s",
   each = "k BETWEEN ? AND ?",
   between = " OR ",
   count = "number_of_ranges",
   draw = function(values, low, high)
      for place = 1, #values, 2 do
         local first = sysbench.rand.default(low, high)
         values[place]:set(first)
         values[place + 1]:set(first + sysbench.opt.delta)
      end
   end,
})
