sysbench.cmdline.options = {
   tables = { "Number of tables", 3 }, on = { "A switch", false }, name = { "A name", "x" },
   list = { "A list", {} }, nodef = { "No default" }, int = { "An int", 5, sysbench.cmdline.ARG_INT },
   size = { "A size", "4k", sysbench.cmdline.ARG_SIZE }, second = { "Two", { "a", "b" } },
}
function mine()
   print("mine", sysbench.tid, sysbench.opt.tables + 1, sysbench.opt.on, #sysbench.opt.list, sysbench.opt.nodef == "",
      sysbench.opt.int, sysbench.opt.size, sysbench.opt.second[2])
end
function no() return false end
function prepare() local con = sysbench.sql.driver():connect() con:query("create table p (a int)") print("made") end
function bad() error("oops") end
sysbench.cmdline.commands = {
   mine = { mine, sysbench.cmdline.PARALLEL_COMMAND }, one = { mine }, no = { no }, bad = { bad },
}
function event() end
