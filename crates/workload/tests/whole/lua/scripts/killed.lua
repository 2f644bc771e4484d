-- The second try waits until the server has closed the idle connection of the thread.
ffi.cdef("int usleep(unsigned);")
function thread_init()
   con = sysbench.sql.driver():connect()
   one = con:prepare("select 1")
end
tries = 0
function event()
   tries = tries + 1
   one:execute()
   if tries == 2 then
      con:query("set session wait_timeout = 1")
      ffi.C.usleep(2500000)
      con:query("select 1")
   end
end
