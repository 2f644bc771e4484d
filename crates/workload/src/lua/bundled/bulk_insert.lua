-- Appends rows with large statements: an event is one row, and a statement is sent when a packet is full. Each thread
-- has its own table.

local function for_tables(heading, text)
   local server = sysbench.sql.driver():connect()
   for number = 1, sysbench.opt.threads do
      local name = "sbtest" .. number
      print(("%s table '%s'..."):format(heading, name))
      server:query(text:format(name))
   end
end

function prepare()
   for_tables("Creating", "CREATE TABLE IF NOT EXISTS %s (id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, PRIMARY KEY (id))")
end

function cleanup()
   for_tables("Dropping", "DROP TABLE IF EXISTS %s")
end

local last = 0

function thread_init()
   con = sysbench.sql.driver():connect()
   con:bulk_insert_init(("INSERT INTO sbtest%d VALUES"):format(sysbench.tid + 1))
end

function event()
   last = last + 1
   con:bulk_insert_next(("(%d,%d)"):format(last, last))
end

function thread_done()
   con:bulk_insert_done()
   con:disconnect()
end
