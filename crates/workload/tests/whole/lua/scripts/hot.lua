-- All threads update one row, in a script for sysbench 0.5.
pathtest = string.match(test, "(.*/)")
if pathtest then
   dofile(pathtest .. "common.lua")
else
   require("common")
end

function thread_init(thread_id)
   set_vars()
end

function event(thread_id)
   local table_name = "sbtest" .. sb_rand_uniform(1, oltp_tables_count)
   db_query("begin")
   db_query("UPDATE " .. table_name .. " SET k=k+1 WHERE id=100")
   db_query("commit")
end
