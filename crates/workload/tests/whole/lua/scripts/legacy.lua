-- Every function of the old API.
function thread_init(id)
   print(my_option, sysbench.opt.my_option, thread_id, mysql_table_engine, test, threads)
   assert(db_connect() == nil)
   db_query("drop table if exists old")
   db_query("create table old (a int primary key, b varchar(10))")
   db_bulk_insert_init("insert into old values")
   for i = 1, 20 do
      db_bulk_insert_next("(" .. i .. ", 'x')")
   end
   db_bulk_insert_done()
   statement = db_prepare("update old set b = ? where a = ?")
   params = { "y", 1 }
   db_bind_param(statement, params)
   for _, draw in ipairs({ sb_rand, sb_rand_uniform, sb_rand_gaussian, sb_rand_special }) do
      local n = draw(3, 5)
      assert(n >= 3 and n <= 5)
   end
   assert(sb_rnd() >= 0 and #sb_rand_str("###-@@@") == 7)
   local unique = sb_rand_uniq(1, 100)
   assert(unique >= 1 and unique <= 100)
   local ok, problem = pcall(db_query, "select nosuch")
   print("caught", problem)
end

count = 0
function event(id)
   count = count + 1
   params[2] = count
   local rs = db_execute(statement)
   db_store_results(rs)
   db_free_results(rs)
end

function thread_done(id)
   db_close(statement)
   db_disconnect()
end
