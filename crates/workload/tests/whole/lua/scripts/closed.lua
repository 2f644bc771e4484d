-- Closed statements, and the number that the server still holds.
local function held()
   if drv:name() == "pgsql" then
      local s = con:prepare("select count(*) - 1 from pg_prepared_statements")
      local count = s:execute():fetch_row()[1]
      s:close()
      return tonumber(count)
   end
   local function status(name)
      local _, value = con:query_row("show session status like '" .. name .. "'")
      return tonumber(value)
   end
   return status("Com_stmt_prepare") - status("Com_stmt_close")
end
function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   -- MySQL counts a statement that it could not prepare.
   pcall(con.prepare, con, "select nosuch")
   at_first = held()
end
local rounds = 0
function event()
   rounds = rounds + 1
   for i = 1, 40 do
      local s = con:prepare("select " .. rounds * 1000 + i .. " + ?")
      local p = s:bind_create(sysbench.sql.type.INT)
      s:bind_param(p)
      p:set(1)
      assert(tonumber(s:execute():fetch_row()[1]) == rounds * 1000 + i + 1)
      s:close()
      s:close()
   end
   -- A text that is prepared twice stays open until it is closed twice.
   local one, two = con:prepare("select 7"), con:prepare("select 7")
   one:close()
   local before = held()
   two:execute()
   two:close()
   print("held", before - at_first, held() - at_first)
end
