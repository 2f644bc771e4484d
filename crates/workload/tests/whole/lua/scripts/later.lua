-- Texts with several statements, the second of which fails, in 1.1.
function thread_init()
   con = sysbench.sql.driver():connect()
   con:query("drop procedure if exists broken")
   con:query("create procedure broken() begin select 1; select * from nosuch; end")
end
function event()
   local rs = con:query("select 1; select * from nosuch")
   print("first", rs:fetch_row()[1], con:more_results())
   print("next", pcall(con.next_result, con))
   print("none", con:more_results(), con:query_row("select 7"))
   local s = con:prepare("call broken()")
   print("call", s:execute():fetch_row()[1], con:more_results())
   print("next", pcall(s.next_result, s))
   print("first", con:query("select 1; select * from nosuch"):fetch_row()[1])
   print("late", pcall(con.query, con, "select 1"))
   print("good", con:query_row("select 8"))
   return true
end
