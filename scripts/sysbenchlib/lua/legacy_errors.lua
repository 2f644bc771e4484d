-- The results and errors of the API of 0.5, selected by --part. Calls that crash sysbench have no part.

local parts = {}

local function try(name, f, ...)
   local ok, problem = pcall(f, ...)
   local text = { table = true, userdata = true }
   print(name, ok, text[type(problem)] and "object" or problem)
end

local function bound(text, values)
   local statement = db_prepare(text)
   db_bind_param(statement, values)
   print("bound")
   return statement
end

function parts.execute()
   local result = db_execute(bound("insert into le values(?,?)", { 1, "a" }))
   print(result ~= nil, pcall(db_store_results, result))
   print(pcall(db_free_results, result))
end

function parts.query()
   db_query("insert into le values(1,'y')")
end

function parts.bulk()
   db_bulk_insert_init("insert into le values")
   db_bulk_insert_next("(1,'a')")
   db_bulk_insert_done()
   db_bulk_insert_done()
end

function parts.empty()
   bound("select b from le where a=?", {})
end

function parts.boolean()
   bound("select b from le where a=?", { true })
end

function parts.table()
   bound("select b from le where a=?", { {} })
end

function parts.few()
   bound("select b from le where a=? and b=?", { 1 })
end

function parts.many()
   bound("select b from le where a=?", { 1, 2 })
end

function parts.fraction()
   print(db_execute(bound("select b from le where a=?", { 1.5 })) ~= nil)
end

function parts.changed()
   local values = { 1 }
   local statement = bound("select b from le where a=?", values)
   values[1] = "abc"
   db_execute(statement)
end

function parts.no_statement()
   db_close()
end

function parts.no_result()
   db_store_results("x")
end

function thread_init()
   db_query("drop table if exists le")
   db_query("create table le(a int primary key, b varchar(10))")
   db_query("insert into le values(1,'x')")
end

function event()
   try(part, parts[part])
   return true
end
