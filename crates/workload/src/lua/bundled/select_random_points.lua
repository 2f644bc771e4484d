-- Rows whose column k is one of some random numbers.

require("oltp_common")

sysbench.cmdline.options.random_points = { "Number of random points in the IN() clause in generated SELECTs", 10 }

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   local marks = ("?, "):rep(sysbench.opt.random_points - 1) .. "?"
   stmt = con:prepare("SELECT id, k, c, pad FROM sbtest1 WHERE k IN (" .. marks .. ")")
   params = {}
   for place = 1, sysbench.opt.random_points do
      params[place] = stmt:bind_create(sysbench.sql.type.INT)
   end
   stmt:bind_param(unpack(params))
   -- Each thread draws from its own slice of the table.
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
   for _, param in ipairs(params) do
      param:set(sysbench.rand.default(first, last))
   end
   stmt:execute()
end
