-- A point select that is written by hand as text, and reads the row.
function thread_init()
  con = sysbench.sql.driver():connect()
end
function event()
  local c = con:query_row(string.format("SELECT c FROM sbtest%d WHERE id=%d",
    sysbench.rand.uniform(1, sysbench.opt.tables), sysbench.rand.default(1, sysbench.opt.table_size)))
  assert(#c > 0)
end
sysbench.cmdline.options = { tables = {"tables", 1}, table_size = {"rows", 10000} }
