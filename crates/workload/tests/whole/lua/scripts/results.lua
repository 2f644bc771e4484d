-- Several results of one statement, in 1.1.
function thread_init()
   con = sysbench.sql.driver():connect()
   con:query("create table r (a int)")
   con:query("create procedure two() begin select 1 union select 2 order by 1; insert into r values (1), (2), (3); select 'x'; end")
end
local function all(rs, more)
   local shapes = {}
   local is_more
   repeat
      -- A statement without rows has no result.
      local shape = rs and rs.nrows .. ":" .. rs.nfields .. ":" .. rs:fetch_row()[1] or "none"
      is_more = con:more_results()
      shapes[#shapes + 1] = shape .. ":" .. tostring(is_more)
      rs = more()
   until not is_more
   assert(rs == nil)
   print(table.concat(shapes, " "))
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
