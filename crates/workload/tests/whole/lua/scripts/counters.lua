-- A main loop of C functions, errors counted by the script, queries before and after the threads.
local ffi = require("ffi")
ffi.cdef([[
   void sb_counter_inc(int, sb_counter_type);
   void sb_event_start(int thread_id);
   void sb_event_stop(int thread_id);
   bool sb_more_events(int thread_id);
   typedef uint32_t useconds_t;
   int usleep(useconds_t useconds);
]])

function init()
   local con = sysbench.sql.driver():connect()
   con:query("create table seen (a int)")
   print("init " .. con:query_row("select 1"))
end

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   con:query("insert into seen values (1), (2), (3)")
end

function thread_run(id)
   while ffi.C.sb_more_events(id) do
      ffi.C.sb_event_start(id)
      local rs = con:query("select a from seen order by a")
      for i = 1, rs.nrows do
         assert(tonumber(rs:fetch_row()[1]) == i)
      end
      local a, b = con:query_row("select 1, 'two'")
      assert(a + 1 == 2 and b == "two")
      ffi.C.sb_counter_inc(sysbench.tid, ffi.C.SB_CNT_ERROR)
      ffi.C.sb_counter_inc(id, 4)
      ffi.C.usleep(100)
      con:query("select a from seen where a > 5")
      ffi.C.sb_event_stop(id)
   end
end

function thread_done(id)
   print(con:query_row("select count(*) from seen") .. " rows in " .. id)
end

function done()
   print("done " .. sysbench.sql.driver():connect():query_row("select 2"))
end
