-- Wrong tables of options and commands, selected by --wrong; help() prints the options.

local ARG = sysbench.cmdline
local tables = {
   "x", { wrong = "x" }, { wrong = {} }, { wrong = { 5 } }, { wrong = { "d", print } }, { wrong = { "d", 1, "x" } },
   { { "d", 1 } }, { wrong = { "d", { 1 }, ARG.ARG_INT } }, { wrong = { "d", 1, nil, "x" } }, false,
   { wrong = { "d", 1, true } }, { wrong = { "d", 1, nil, function() return false end } },
   { wrong = { "d", 1, nil, function() return true end } },
}
for _, word in ipairs(ARG.argv) do
   local number = word:match("^%-%-wrong=(.*)")
   if number then
      sysbench.cmdline.options = tables[tonumber(number)]
   end
end
sysbench.cmdline.commands = { mine = { "x" } }

function help()
   sysbench.cmdline.print_test_options()
end

function init()
   print("init", sysbench.opt.wrong)
end
