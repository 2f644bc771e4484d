-- Several connections of one thread, one of them opened during an event.
function thread_init(id)
   drv = sysbench.sql.driver()
   one, two = drv:connect(), drv:connect()
   one:query("create table if not exists several_" .. id .. " (a int)")
   me = drv:name() == "mysql" and "select connection_id()" or "select pg_backend_pid()"
   local ids = { one:query_row(me), two:query_row(me), one:query_row(me) }
   print("differ", ids[1] ~= ids[2], ids[1] == ids[3])
   -- Each connection has its own statement of this text.
   s1, s2 = one:prepare(me), two:prepare(me)
   print("prepared", s1:execute():fetch_row()[1] == ids[1], s2:execute():fetch_row()[1] == ids[2])
   -- Results stay with their connection.
   local r1, r2 = one:query("select 1"), two:query("select 2")
   print("rows", r1:fetch_row()[1], r2:fetch_row()[1])
   -- Uncommitted rows are invisible to the other connection.
   one:query("begin")
   one:query("insert into several_" .. id .. " values (1)")
   print("open", one:query_row("select count(*) from several_" .. id), two:query_row("select count(*) from several_" .. id))
   one:query("commit")
   print("closed", two:query_row("select count(*) from several_" .. id))
   -- A closed connection disappears from the server.
   two:disconnect()
   print("after", pcall(two.query, two, "select 1"))
   print("stale", pcall(s2.execute, s2))
   local alive = drv:name() == "mysql" and "select count(*) from information_schema.processlist where id = "
      or "select count(*) from pg_stat_activity where pid = "
   -- The server may take some time; each check is one more query.
   for look = 1, 1000 do
      gone, looks = one:query_row(alive .. ids[2]), look
      if tonumber(gone) == 0 then break end
      ffi.C.usleep(10000)
   end
   print("gone", gone)
   print("looks", looks)
   two:reconnect()
   print("back", two:query_row(me) ~= ids[2])
   s2 = two:prepare("select ?")
   p = s2:bind_create(sysbench.sql.type.INT)
   s2:bind_param(p)
   one:disconnect()
   one = drv:connect()
   print("anew", one:query_row("select 5"), pcall(s1.execute, s1))
end

function event()
   p:set(7)
   assert(s2:execute():fetch_row()[1] == "7")
   one:query("select 1")
   local third = drv:connect()
   third:query("select 3")
   if sysbench.tid == 0 then
      third:disconnect()
   else
      -- Unreferenced: it is closed after garbage collection.
      third = nil
      collectgarbage()
   end
end
