-- Common code of the random-key tests: one statement on one table, with many parameters. Written for Prony.

require("oltp_common")

function init()
   assert(sysbench.opt.tables == 1, "this test supports only --tables=1")
end

-- Defines the test. `start` is the text before the conditions, `each` one condition, and `between` the text between
-- two of them. `count` names the option with the number of conditions. `draw` sets the parameters to values between
-- two bounds.
return function(test)
   local statement, values, low, high

   function prepare_statements()
      local conditions = {}
      for place = 1, sysbench.opt[test.count] do
         conditions[place] = test.each
      end
      local text = test.start:format(table.concat(conditions, test.between))
      statement, values = con:prepare(text), {}
      for _ in text:gmatch("%?") do
         values[#values + 1] = statement:bind_create(sysbench.sql.type.INT)
      end
      statement:bind_param(unpack(values))
   end

   function close_statements()
      statement:close()
   end

   function thread_init()
      drv = sysbench.sql.driver()
      con = drv:connect()
      prepare_statements()
      -- Each thread draws from its own slice of the table.
      local slice = sysbench.opt.table_size / sysbench.opt.threads
      low, high = slice * sysbench.tid, slice * (sysbench.tid + 1)
   end

   function event()
      test.draw(values, low, high)
      statement:execute()
      check_reconnect()
   end

   function thread_done()
      close_statements()
      con:disconnect()
   end
end
