-- Users that think for a millisecond before each query.
local ffi = require("ffi")
ffi.cdef("int usleep(unsigned int microseconds);")
function thread_init()
  con = sysbench.sql.driver():connect()
end
function event()
  ffi.C.usleep(1000)
  con:query(string.format("SELECT c FROM sbtest%d WHERE id=%d", sysbench.rand.uniform(1, sysbench.opt.tables),
    sysbench.rand.default(1, sysbench.opt.table_size)))
end
sysbench.cmdline.options = { tables = {"tables", 1}, table_size = {"rows", 10000} }
