-- Extends oltp_common with tables, statements and options.
require("oltp_common")

sysbench.cmdline.options.extra_selects = { "Selects by another column", 1 }

function create_table(drv, con, number)
   con:query(("CREATE TABLE extra%d (id INTEGER PRIMARY KEY, k INTEGER NOT NULL, c CHAR(120))"):format(number))
   con:bulk_insert_init("INSERT INTO extra" .. number .. " VALUES")
   for id = 1, sysbench.opt.table_size do
      con:bulk_insert_next(("(%d, %d, '%s')"):format(id, sysbench.rand.default(1, 10), get_c_value()))
   end
   con:bulk_insert_done()
end

function prepare_statements()
   for number = 1, sysbench.opt.tables do
      local t = sysbench.sql.type
      stmt[number].extra = con:prepare("SELECT c FROM extra" .. number .. " WHERE k = ?")
      param[number].extra = { stmt[number].extra:bind_create(t.INT) }
      stmt[number].extra:bind_param(unpack(param[number].extra))
   end
   prepare_begin()
   prepare_commit()
end

function event()
   begin()
   for _ = 1, sysbench.opt.extra_selects do
      local number = sysbench.rand.uniform(1, sysbench.opt.tables)
      param[number].extra[1]:set(sysbench.rand.uniform(1, 10))
      stmt[number].extra:execute()
   end
   con:query("SELECT COUNT(*) FROM extra1")
   commit()
end

function check()
   local con = sysbench.sql.driver():connect()
   for number = sysbench.tid % sysbench.opt.threads + 1, sysbench.opt.tables, sysbench.opt.threads do
      print("extra" .. number, con:query_row("SELECT COUNT(*) FROM extra" .. number))
   end
end

sysbench.cmdline.commands.check = { check, sysbench.cmdline.PARALLEL_COMMAND }
