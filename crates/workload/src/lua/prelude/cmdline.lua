-- The command line of a script: its options and commands. In: the options that were given, as texts. Out:
-- `sysbench.opt`, help, commands. Must never: take what the script does not declare, but of a legacy
-- script, which declares nothing.

local host, core = ...

local sysbench = core.sysbench
local cmdline = {
   ARG_NULL = 0, ARG_BOOL = 1, ARG_INT = 2, ARG_SIZE = 3, ARG_DOUBLE = 4, ARG_STRING = 5, ARG_LIST = 6,
   ARG_FILE = 7, ARG_MAX = 8,
   PARALLEL_COMMAND = true,
   argv = host.argv,
   command = host.command,
   script_path = host.script_path,
}
sysbench.cmdline = cmdline
-- Other names of the same sorts.
for name, value in pairs({ ARG_BOOL = 1, ARG_INT = 2, ARG_SIZE = 3, ARG_DOUBLE = 4, ARG_STRING = 5, ARG_LIST = 6, ARG_FILE = 7 }) do
   sysbench[name] = nil
   cmdline[name] = value
end

local MARKS = { "[=on|off]", "=N", "=SIZE", "=N", "=STRING", "=[LIST,...]", "=FILENAME" }
local SORTS = { boolean = 1, string = 5, number = 4, table = 6 }

local function sort_of(option)
   return option[3] or SORTS[type(option[2])] or cmdline.ARG_STRING
end

local function refuse(text)
   error({ refused = text }, 0)
end

local function list(text)
   local items = {}
   for item in text:gmatch("[^,]+") do
      items[#items + 1] = item
   end
   return items
end

local UNITS = { [""] = 1, K = 1024, M = 1024 ^ 2, G = 1024 ^ 3, T = 1024 ^ 4 }

local function size(text)
   local number, unit = text:match("^%s*([%d%.]+)([kKmMgGtT]?)")
   return number and tonumber(number) * UNITS[unit:upper()] or 0
end

-- The number that a text begins with, as C reads it.
local function leading(text)
   local number = text:match("^%s*[+-]?%d+%.?%d*[eE][+-]?%d+") or text:match("^%s*[+-]?%d+%.?%d*")
      or text:match("^%s*[+-]?%.%d+")
   return tonumber(number) or 0
end

local SWITCH = { on = true, ["true"] = true, ["1"] = true, off = false, ["false"] = false, ["0"] = false }

-- The value of a text; nil if it is none of its sort.
local READ = {
   function(text, bare)
      if bare then
         return true
      end
      return SWITCH[text:lower()]
   end,
   function(text, _, name)
      local number = text:match("^%s*[+-]?%d+%s*$") and tonumber(text)
      if not number then
         refuse("Invalid value for the '" .. name .. "' option: '" .. text .. "'\n")
      end
      return number
   end,
   size,
   leading,
   function(text)
      return text
   end,
   list,
   function(text)
      return text
   end,
}

local function default(option)
   local value, sort = option[2], sort_of(option)
   if type(value) == "string" and sort ~= cmdline.ARG_STRING and sort ~= cmdline.ARG_FILE then
      return READ[sort](value, false, "")
   end
   if value == nil and (sort == cmdline.ARG_STRING or sort == cmdline.ARG_FILE) then
      return ""
   end
   return value
end

-- Fills `sysbench.opt` with the general options, then with those that the script declares.
function cmdline.read_cmdline_options()
   local options = cmdline.options
   local opt = {}
   for name, value in pairs(host.general) do
      opt[name] = value
   end
   sysbench.opt = opt
   if not options then
      return true
   end
   for name, option in pairs(options) do
      local value = default(option)
      opt[name] = value
   end
   for _, given in ipairs(host.given) do
      local name = given.name
      local option = options[name]
      local value
      if option then
         value = READ[sort_of(option)](given.value or "", given.value == nil, name)
      end
      if value ~= nil then
         if option[4] then
            value = option[4](value)
         end
         opt[name] = value
      elseif given.from_file then
         host.warn("Global option '" .. name .. "' will not be exported, because the type is unknown")
      else
         refuse("invalid option: " .. given.shown .. "\n")
      end
   end
   return true
end

local function sorted(names)
   local all = {}
   for name in pairs(names) do
      all[#all + 1] = name
   end
   table.sort(all)
   return all
end

local function shown_default(value)
   if type(value) == "boolean" then
      return value and "on" or "off"
   elseif type(value) == "table" then
      return table.concat(value, ",")
   end
   return tostring(value)
end

function cmdline.print_test_options()
   local options = cmdline.options
   if not options then
      return
   end
   local names, left, width = sorted(options), {}, 0
   for _, name in ipairs(names) do
      left[name] = "--" .. name .. MARKS[sort_of(options[name])]
      width = math.max(width, #left[name])
   end
   local lines = { host.test_name .. " options:\n" }
   for _, name in ipairs(names) do
      local option = options[name]
      local value = option[2] == nil and "" or " [" .. shown_default(option[2]) .. "]"
      lines[#lines + 1] = ("  %-" .. width .. "s %s%s\n"):format(left[name], option[1], value)
   end
   host.show(table.concat(lines) .. "\n")
end

function cmdline.command_defined(name)
   local command = cmdline.commands and cmdline.commands[name]
   return type(command) == "table" and type(command[1]) == "function"
end

function cmdline.command_parallel(name)
   return cmdline.command_defined(name) and cmdline.commands[name][2] == cmdline.PARALLEL_COMMAND
end

function cmdline.call_command(name)
   if not cmdline.command_defined(name) then
      return false
   end
   return cmdline.commands[name][1]() ~= false
end

-- What the front asks of a script that was read: what a word means. The second: what sysbench calls the
-- function in messages.
function core.meaning(word)
   if cmdline.command_defined(word) then
      return cmdline.command_parallel(word) and "parallel" or "command"
   end
   if word == "run" then
      return "run"
   end
   if word == "help" and (type(_G.help) == "function" or cmdline.options) then
      return "help"
   end
   if word == "prepare" or word == "cleanup" or word == "help" then
      return type(_G[word]) == "function" and "function" or "missing"
   end
   return "unknown"
end

function core.help()
   if type(_G.help) == "function" then
      return help()
   end
   cmdline.print_test_options()
end

-- A legacy script declares nothing: every option is a global, general ones and others.
function core.make_globals()
   if cmdline.options then
      return
   end
   for name, value in pairs(host.general) do
      _G[name] = value
   end
   for _, given in ipairs(host.given) do
      local value = given.value or "on"
      sysbench.opt[given.name], _G[given.name] = value, value
   end
end
