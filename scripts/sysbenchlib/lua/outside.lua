-- Queries of a script outside threads; --mode selects them. In: a server. Out: texts, counts. Must never:
-- have a random outcome.

sysbench.cmdline.options = { mode = { "What init() does", "none" } }

local modes = {}

local function fresh(con)
   con:query("DROP TABLE IF EXISTS outside")
   con:query("CREATE TABLE outside (a INT PRIMARY KEY, b VARCHAR(20))")
end

function modes.none()
end

function modes.queries(con)
   fresh(con)
   for i = 1, 3 do
      con:query("INSERT INTO outside VALUES (" .. i .. ", 'x')")
   end
   con:query("UPDATE outside SET b = 'y' WHERE a > 99")
   con:query("BEGIN")
   con:query("COMMIT")
   print("rows", con:query_row("SELECT COUNT(*), MAX(a) FROM outside"))
end

function modes.prepared(con)
   fresh(con)
   local type = sysbench.sql.type
   local insert = con:prepare("INSERT INTO outside VALUES (?, ?)")
   local a, b = insert:bind_create(type.INT), insert:bind_create(type.VARCHAR, 20)
   insert:bind_param(a, b)
   for i = 1, 20 do
      a:set(i)
      b:set("x" .. i)
      insert:execute()
   end
   insert:close()
   local seek = con:prepare("SELECT b FROM outside WHERE a BETWEEN ? AND ?")
   local from, to = seek:bind_create(type.INT), seek:bind_create(type.INT)
   seek:bind_param(from, to)
   from:set(3)
   to:set(7)
   print("found", seek:execute().nrows)
   print("rows", con:query_row("SELECT COUNT(*), MAX(a), MAX(b) FROM outside"))
end

function modes.bulk(con)
   fresh(con)
   con:bulk_insert_init("INSERT INTO outside VALUES")
   for i = 1, 50 do
      con:bulk_insert_next("(" .. i .. ", 'z')")
   end
   con:bulk_insert_done()
end

function modes.twice(con)
   fresh(con)
   con:query("INSERT INTO outside VALUES (1, 'x')")
   con:query("INSERT INTO outside VALUES (1, 'y')")
end

function modes.twice_prepared(con)
   fresh(con)
   local insert = con:prepare("INSERT INTO outside VALUES (?, 'x')")
   local a = insert:bind_create(sysbench.sql.type.INT)
   insert:bind_param(a)
   a:set(1)
   insert:execute()
   insert:execute()
end

function modes.caught(con)
   fresh(con)
   con:query("INSERT INTO outside VALUES (1, 'x')")
   local ok, problem = pcall(con.query, con, "INSERT INTO outside VALUES (1, 'y')")
   print(ok, type(problem))
end

function modes.missing(con)
   con:query("SELECT * FROM nosuch")
end

function modes.missing_prepared(con)
   con:prepare("SELECT * FROM nosuch")
end

local function asked()
   local con = sysbench.sql.driver():connect()
   modes[sysbench.opt.mode](con)
   con:disconnect()
end

function init()
   asked()
end

function prepare()
   asked()
end

function cleanup()
   asked()
end

sysbench.cmdline.commands = { mine = { asked }, ours = { asked, sysbench.cmdline.PARALLEL_COMMAND } }

function thread_init()
   con = sysbench.sql.driver():connect()
end

function event()
   con:query("SELECT 2")
end

function done()
   local con = sysbench.sql.driver():connect()
   local count = con:prepare("SELECT 1 WHERE 1 = ?")
   local one = count:bind_create(sysbench.sql.type.INT)
   count:bind_param(one)
   one:set(1)
   print("done", count:execute().nrows)
end
