-- The first two tries fail with a duplicate key.
function thread_init()
   con = sysbench.sql.driver():connect()
   insert = con:prepare("insert into once values (?)")
   value = insert:bind_create(sysbench.sql.type.INT)
   insert:bind_param(value)
end
tries = 0
sysbench.hooks.before_restart_event = function(problem)
   print("anew " .. problem.sql_errno .. " " .. problem.sql_state .. " " .. problem.errcode)
end
function event()
   tries = tries + 1
   con:query("begin")
   if tries <= 2 then
      value:set(1)
      insert:execute()
   end
   con:query("commit")
end
