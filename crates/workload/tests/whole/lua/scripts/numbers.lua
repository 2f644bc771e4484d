function thread_init()
   con = sysbench.sql.driver():connect()
   local r = sysbench.rand
   for _, name in ipairs({ "default", "uniform", "gaussian", "special", "pareto" }) do
      for i = 1, 200 do
         local n = r[name](5, 9)
         assert(n >= 5 and n <= 9 and n % 1 == 0, name)
      end
   end
   assert(r.uniform(3, 3) == 3 and r.uniform(1.9, 1.9) == 1)
   assert(r.unique() ~= r.unique())
   local d = r.uniform_double()
   assert(d >= 0 and d < 1)
   assert(type(r.uniform_uint64()) == "cdata")
   assert(r.string("##-@@-x"):match("^%d%d%-%l%l%-x$"))
   assert(#r.string(("#"):rep(5000)) == 5000)
   assert(r.zipfian == nil)
   print(pcall(r.uniform))
   ffi.cdef("void sb_counter_inc(int, sb_counter_type); typedef uint32_t useconds_t; int usleep(useconds_t);")
   ffi.C.usleep(1000)
   print(ffi.C.SB_CNT_OTHER, ffi.C.SB_CNT_READ, ffi.C.SB_CNT_WRITE, ffi.C.SB_CNT_TRX, ffi.C.SB_CNT_ERROR, ffi.C.SB_CNT_RECONNECT)
   assert(require("ffi") == ffi and ffi.C.sb_rand_uniform(4, 4) == 4)
   ffi.cdef("int abs(int);")
   assert(ffi.C.abs(-3) == 3 and ffi.sizeof("int") == 4)
   local h = sysbench.histogram.new(10, 1, 100)
   for i = 1, 20 do h:update(i) end
   h:print()
   -- Queries inside a script's own coroutines are passed on.
   local co = coroutine.wrap(function()
      local inner = coroutine.wrap(function() coroutine.yield(con:query_row("select 41")) end)
      coroutine.yield(inner() + 1)
      coroutine.yield(con:query_row("select 'b'"))
   end)
   print(co(), co())
   io.write("written ", 1, "\n")
   print(unpack({ 1, 2 }), table.getn({ 1, 2, 3 }), ("%d"):format(3.7), newproxy ~= nil, setfenv ~= nil)
   print("opt", sysbench.opt.threads, sysbench.opt.mysql_ignore_errors[1], sysbench.cmdline.command, sysbench.cmdline.script_path)
   for name, value in pairs({ sql = sysbench.sql.error.FATAL, event = sysbench.error.RESTART_EVENT, int = sysbench.cmdline.ARG_INT }) do assert(value) end
end
function event()
   ffi.C.sb_counter_inc(sysbench.tid, ffi.C.SB_CNT_ERROR)
   ffi.C.sb_counter_inc(sysbench.tid, ffi.C.SB_CNT_OTHER)
end
