-- The results and messages of the API, selected by --part. Calls that crash sysbench have no part.
sysbench.cmdline.options = {
   part = { "What is tried", "options" },
   ["with-dash"] = { "A name with a dash", 5 },
   flag = { "A switch without a default", nil, sysbench.cmdline.ARG_BOOL },
   number = { "A number without a default", nil, sysbench.cmdline.ARG_INT },
   real = { "Another one", nil, sysbench.cmdline.ARG_DOUBLE },
   size = { "A size without a default", nil, sysbench.cmdline.ARG_SIZE },
   names = { "A list without a default", nil, sysbench.cmdline.ARG_LIST },
}
print("read")

local function try(f, ...)
   print(pcall(f, ...))
end

local parts = {}

function parts.options()
   for _, name in ipairs({ "with_dash", "with-dash", "flag", "number", "real", "size" }) do
      print(name, sysbench.opt[name])
   end
   print(table.concat(sysbench.opt.names, "+"))
end

function parts.freed()
   local con = sysbench.sql.driver():connect()
   local rs = con:query("SELECT 1 UNION SELECT 2")
   print(rs:free())
   try(rs.fetch_row, rs)
   try(rs.free, rs)
end

function parts.closed()
   local con = sysbench.sql.driver():connect()
   local statement = con:prepare("SELECT 1")
   print(con:disconnect())
   try(con.disconnect, con)
   try(con.query_row, con, "SELECT 1")
   try(con.bulk_insert_init, con, "INSERT INTO t VALUES")
   try(statement.close, statement)
end

function parts.types()
   local con = sysbench.sql.driver():connect()
   local statement = con:prepare("SELECT ?")
   for kind = 0, 13 do
      try(statement.bind_create, statement, kind, 10)
   end
end

function parts.bulk()
   local con = sysbench.sql.driver():connect()
   try(con.bulk_insert_next, con, "(1)")
   try(con.bulk_insert_done, con)
   print(con:bulk_insert_init("INSERT INTO nosuch VALUES"))
   print(con:bulk_insert_next("(1)"))
   try(con.bulk_insert_done, con)
end

function prepare()
   parts[sysbench.opt.part]()
end

function event()
   parts[sysbench.opt.part]()
end

function done()
   if sysbench.opt.flag == false then
      error("done gave up")
   end
end

sysbench.cmdline.commands = {
   one = { prepare },
   all = { prepare, sysbench.cmdline.PARALLEL_COMMAND },
   fails = { function() return false end },
   gives_up = { function() error("no") end },
}
