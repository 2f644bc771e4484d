-- Several results of one statement, as 1.1 has them.
function thread_init()
   con = sysbench.sql.driver():connect()
   con:query("create table r (a int)")
   con:query("create procedure two() begin select 1 union select 2 order by 1; insert into r values (1), (2), (3); select 'x'; end")
end
local function all(rs, more)
   local said = {}
   while rs do
      local first = rs.nfields > 0 and rs:fetch_row()[1] or "-"
      said[#said + 1] = rs.nrows .. ":" .. rs.nfields .. ":" .. first .. ":" .. tostring(con:more_results())
      rs = more()
   end
   print(table.concat(said, " "))
end
function event()
   local function next_of_con() return con:next_result() end
   all(con:query("select 1; update r set a = 9 where a < 0; select 5, 6"), next_of_con)
   all(con:query("call two()"), next_of_con)
   local s = con:prepare("call two()")
   all(s:execute(), function() return s:next_result() end)
   all(con:query("select 7"), next_of_con)
   return true
end
