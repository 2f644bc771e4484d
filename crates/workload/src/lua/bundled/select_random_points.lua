-- Selects the rows whose column k is one of several random numbers.

local define = require("random_keys")

sysbench.cmdline.options.random_points = { "Number of random points in the IN() clause in generated SELECTs", 10 }

define({
   start = "SELECT id, k, c, pad FROM sbtest1 WHERE k IN (%s)",
   each = "?",
   between = ", ",
   count = "random_points",
   draw = function(values, low, high)
      for _, value in ipairs(values) do
         value:set(sysbench.rand.default(low, high))
      end
   end,
})
