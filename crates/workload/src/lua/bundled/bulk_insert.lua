-- Rows are appended by large statements: an event is one row, a statement is sent when a packet is full.

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   cursize = 0
   con:bulk_insert_init("INSERT INTO sbtest" .. sysbench.tid + 1 .. " VALUES")
end

function prepare()
   local con = sysbench.sql.driver():connect()
   for number = 1, sysbench.opt.threads do
      print("Creating table 'sbtest" .. number .. "'...")
      con:query(("CREATE TABLE IF NOT EXISTS sbtest%d (id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, PRIMARY KEY (id))"):format(number))
   end
end

function event()
   cursize = cursize + 1
   con:bulk_insert_next("(" .. cursize .. "," .. cursize .. ")")
end

function thread_done()
   con:bulk_insert_done()
   con:disconnect()
end

function cleanup()
   local con = sysbench.sql.driver():connect()
   for number = 1, sysbench.opt.threads do
      print("Dropping table 'sbtest" .. number .. "'...")
      con:query("DROP TABLE IF EXISTS sbtest" .. number)
   end
end
