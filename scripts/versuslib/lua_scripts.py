"""The Lua scripts that both tools run, as users write them for sysbench.

Out: texts by file name. Must never: differ between the tools.
"""
import pathlib

OPTIONS = """\
sysbench.cmdline.options = { tables = {"tables", 1}, table_size = {"rows", 10000} }
"""

# A point select by a script that prepares its statements once, as typical sysbench scripts do.
POINT = """\
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
"""

# A point select that is written by hand as text.
QUERY = """\
function thread_init()
  con = sysbench.sql.driver():connect()
end
function event()
  con:query(string.format("SELECT c FROM sbtest%d WHERE id=%d", sysbench.rand.uniform(1, sysbench.opt.tables),
    sysbench.rand.default(1, sysbench.opt.table_size)))
end
"""

# The same, and it reads the row.
QUERY_ROW = """\
function thread_init()
  con = sysbench.sql.driver():connect()
end
function event()
  local c = con:query_row(string.format("SELECT c FROM sbtest%d WHERE id=%d",
    sysbench.rand.uniform(1, sysbench.opt.tables), sysbench.rand.default(1, sysbench.opt.table_size)))
  assert(#c > 0)
end
"""

# A transaction of 44 statements as text, half of which return rows that the script reads, like scripts for order entry.
# Every update of a row keeps its contents valid for the next one.
ORDERS = """\
function thread_init()
  con = sysbench.sql.driver():connect()
end
function event()
  local rand, rows = sysbench.rand.uniform, sysbench.opt.table_size
  local t = rand(1, sysbench.opt.tables)
  con:query("BEGIN")
  local k, c, pad = con:query_row(([[SELECT k, c, pad
                                       FROM sbtest%d
                                      WHERE id = %d]]):format(t, rand(1, rows)))
  con:query(([[UPDATE sbtest%d
                  SET k = %d
                WHERE id = %d]]):format(t, (tonumber(k) or 1) % rows + 1, rand(1, rows)))
  local lines = {}
  for line = 1, 10 do
    lines[line] = rand(1, rows)
  end
  table.sort(lines)
  for line = 1, 10 do
    local id = lines[line]
    local rs = con:query(([[SELECT k, c, pad
                              FROM sbtest%d
                             WHERE id = %d]]):format(t, id))
    local price, name, data = unpack(rs:fetch_row(), 1, rs.nfields)
    local quantity
    quantity, data = con:query_row(([[SELECT k, c
                                        FROM sbtest%d
                                       WHERE id = %d FOR UPDATE]]):format(t, id))
    quantity = tonumber(quantity) or 1
    if quantity > 10 then
      quantity = quantity - 10
    else
      quantity = quantity + 91
    end
    con:query(([[UPDATE sbtest%d
                    SET k = %d
                  WHERE id = %d]]):format(t, quantity, id))
    con:query(([[UPDATE sbtest%d
                    SET pad = '%s'
                  WHERE id = %d AND k = %d]]):format(t, string.format("%d-%d-%.20s", line, quantity * 7, price), id, quantity))
  end
  con:query("COMMIT")
end
"""

# Users that think for a millisecond before each query.
SLEEP = """\
local ffi = require("ffi")
ffi.cdef("int usleep(unsigned int microseconds);")
""" + QUERY.replace("function event()\n", "function event()\n  ffi.C.usleep(1000)\n")

TEXTS = {"point.lua": POINT, "query.lua": QUERY, "query-row.lua": QUERY_ROW, "orders.lua": ORDERS, "sleep.lua": SLEEP}


def write(folder):
    """Writes the scripts into the folder of a tool."""
    for name, text in TEXTS.items():
        pathlib.Path(folder, name).write_text(text + OPTIONS)
