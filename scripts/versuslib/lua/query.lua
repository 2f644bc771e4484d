-- A point select that is written by hand as text.
function thread_init()
  con = sysbench.sql.driver():connect()
end
function event()
  con:query(string.format("SELECT c FROM sbtest%d WHERE id=%d", sysbench.rand.uniform(1, sysbench.opt.tables),
    sysbench.rand.default(1, sysbench.opt.table_size)))
end
sysbench.cmdline.options = { tables = {"tables", 1}, table_size = {"rows", 10000} }
