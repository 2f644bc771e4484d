-- Text in Latin-1, and bytes that are valid in no encoding.
local types = sysbench.sql.type
function thread_init()
   con = sysbench.sql.driver():connect()
   con:query("set names latin1")
   con:query("create table bytes (id int primary key, t varchar(20) character set utf8mb4, b varbinary(300))")
   con:query("insert into bytes values (1, 'caf\233', '\255\254')")
   print("text", con:query_row("select hex(t), hex(b), length(t) from bytes where id = 1"))
   print("back", (con:query_row("select t from bytes where id = 1")) == "caf\233")
   local all = {}
   for i = 0, 255 do all[#all + 1] = string.char(i) end
   all = table.concat(all)
   local s = con:prepare("insert into bytes values (?, ?, ?) -- \233")
   local id, t, b = s:bind_create(types.INT), s:bind_create(types.VARCHAR), s:bind_create(types.VARCHAR, 300)
   s:bind_param(id, t, b)
   id:set(2) t:set("na\239ve") b:set(all)
   print("bound", s:execute().nrows)
   print("same", (con:query_row("select b from bytes where id = 2")) == all, con:query_row("select hex(t) from bytes where id = 2"))
   print("wrong", pcall(con.query, con, "select '\233' from nosuch"))
   io.write("shown \233\n")
end
function event() return true end
