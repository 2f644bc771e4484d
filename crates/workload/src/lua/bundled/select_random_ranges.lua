-- Rows whose column k lies in one of some random ranges are counted.

require("oltp_common")

sysbench.cmdline.options.number_of_ranges = { "Number of random BETWEEN ranges per SELECT", 10 }
sysbench.cmdline.options.delta = { "Size of BETWEEN ranges", 5 }

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   local ranges = ("k BETWEEN ? AND ? OR "):rep(sysbench.opt.number_of_ranges - 1) .. "k BETWEEN ? AND ?"
   stmt = con:prepare("SELECT count(k) FROM sbtest1 WHERE " .. ranges)
   params = {}
   for place = 1, sysbench.opt.number_of_ranges * 2 do
      params[place] = stmt:bind_create(sysbench.sql.type.INT)
   end
   stmt:bind_param(unpack(params))
   rlen = sysbench.opt.table_size / sysbench.opt.threads
end

function thread_done()
   stmt:close()
   con:disconnect()
end

function init()
   assert(sysbench.opt.tables == 1, "this test supports only --tables=1")
end

function event()
   local first, last = rlen * sysbench.tid, rlen * (sysbench.tid + 1)
   for place = 1, #params, 2 do
      local low = sysbench.rand.default(first, last)
      params[place]:set(low)
      params[place + 1]:set(low + sysbench.opt.delta)
   end
   stmt:execute()
end
