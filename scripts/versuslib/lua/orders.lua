-- A transaction of 44 statements as text, half of which return rows that the script reads, like scripts for order entry.
-- Every update of a row keeps its contents valid for the next one.
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
sysbench.cmdline.options = { tables = {"tables", 1}, table_size = {"rows", 10000} }
