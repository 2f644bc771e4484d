-- The API of 0.5, which declares no options and prints its own help.
function help()
   print("the script's own help")
end

function prepare()
   print("query", db_query("CREATE TABLE legacy(a INT)"))
   print("update", db_query("UPDATE legacy SET a = 1"))
   print("bulk", db_bulk_insert_init("INSERT INTO legacy VALUES"))
   print("next", db_bulk_insert_next("(1)"))
   print("done", db_bulk_insert_done())
   local statement = db_prepare("SELECT a FROM legacy WHERE a = ?")
   print("bind", db_bind_param(statement, { 1 }))
   local rs = db_execute(statement)
   print("store", db_store_results(rs))
   print("free", db_free_results(rs))
   print("close", db_close(statement))
   print("failed", pcall(db_query, "SELECT * FROM nosuch"))
   print("disconnect", db_disconnect())
   print("twice", pcall(db_disconnect))
   print("none", pcall(db_bulk_insert_next, "(1)"))
end

function cleanup()
   db_query("DROP TABLE nosuch")
end

function event()
   db_query("SELECT * FROM nosuch")
end
