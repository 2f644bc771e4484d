-- A point select by a script that prepares its statements once, as typical sysbench scripts do.
function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
  statements, keys = {}, {}
  for i = 1, sysbench.opt.tables do
    statements[i] = con:prepare("SELECT c FROM sbtest" .. i .. " WHERE id=?")
    keys[i] = statements[i]:bind_create(sysbench.sql.type.INT)
    statements[i]:bind_param(keys[i])
  end
end
function thread_done()
  for i = 1, sysbench.opt.tables do statements[i]:close() end
  con:disconnect()
end
function event()
  local i = sysbench.rand.uniform(1, sysbench.opt.tables)
  keys[i]:set(sysbench.rand.default(1, sysbench.opt.table_size))
  statements[i]:execute()
end
sysbench.cmdline.options = { tables = {"tables", 1}, table_size = {"rows", 10000} }
