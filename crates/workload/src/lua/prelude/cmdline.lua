-- The command line of a script: `sysbench.opt`, help and commands, from the options on the command line, as
-- texts. Never accepts an option that the script does not declare, except from a legacy script, which
-- declares none.

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
-- The types under sysbench's own names.
for name, value in pairs({ ARG_BOOL = 1, ARG_INT = 2, ARG_SIZE = 3, ARG_DOUBLE = 4, ARG_STRING = 5, ARG_LIST = 6, ARG_FILE = 7 }) do
   sysbench[name] = nil
   cmdline[name] = value
end

local VALUE_HINTS = { "[=on|off]", "=N", "=SIZE", "=N", "=STRING", "=[LIST,...]", "=FILENAME" }
local DEFAULT_TYPES = { boolean = 1, string = 5, number = 4, table = 6 }

local function type_of(option)
   return option[3] == true and cmdline.ARG_BOOL or option[3] or DEFAULT_TYPES[type(option[2])] or cmdline.ARG_STRING
end

local function usage_error(text)
   error({ usage = text }, 0)
end

local function split_list(text)
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

-- The number at the start of a text, as C reads it.
local function leading_number(text)
   local number = text:match("^%s*[+-]?%d+%.?%d*[eE][+-]?%d+") or text:match("^%s*[+-]?%d+%.?%d*")
      or text:match("^%s*[+-]?%.%d+")
   return tonumber(number) or 0
end

local BOOLEANS = { on = true, ["true"] = true, ["1"] = true, off = false, ["false"] = false, ["0"] = false }

-- Parses a text by the option's type; nil if it is not valid.
local PARSERS = {
   function(text, has_no_value)
      if has_no_value then
         return true
      end
      return BOOLEANS[text:lower()]
   end,
   function(text, _, name)
      local number = text:match("^%s*[+-]?%d+%s*$") and tonumber(text)
      if not number then
         usage_error("Invalid value for the '" .. name .. "' option: '" .. text .. "'\n")
      end
      return number
   end,
   size,
   leading_number,
   function(text)
      return text
   end,
   split_list,
   function(text)
      return text
   end,
}

-- By type: the value of an option that has no default and is not given. A file has none.
local NO_DEFAULT = {}
for kind, value in pairs({ true, 0, 0, 0, "" }) do
   NO_DEFAULT[kind] = function()
      return value
   end
end
NO_DEFAULT[cmdline.ARG_LIST] = function()
   return {}
end

local function default(option, name)
   local value, kind = option[2], type_of(option)
   if value == nil then
      return NO_DEFAULT[kind] and NO_DEFAULT[kind]()
   end
   if type(value) == "string" and kind ~= cmdline.ARG_STRING and kind ~= cmdline.ARG_FILE then
      return PARSERS[kind](value, false, name)
   end
   return value
end

-- The name of an option in `sysbench.opt`: the command line treats dashes and underscores alike.
local function option_name(name)
   return (name:gsub("-", "_"))
end

-- The text of sysbench's error, with the position in its own code.
local function api_error(line, text)
   return '[string "sysbench.cmdline.lua"]:' .. line .. ": " .. text
end

local function wrong(line, text)
   error({ name = "sysbench.cmdline.read_cmdline_options", text = api_error(line, text) }, 0)
end

local function conversion_error(line, value, wanted)
   wrong(line, "cannot convert '" .. type(value) .. "' to '" .. wanted .. "'")
end

-- Checks a declared option as sysbench does.
local function check_option(name, option)
   if type(name) ~= "string" or type(option) ~= "table" then
      wrong(132, "wrong table structure in sysbench.cmdline.options")
   end
   local description, value, kind, validate = option[1], option[2], option[3], option[4]
   if description == nil then
      wrong(137, "nil description for option " .. name)
   elseif type(description) ~= "string" then
      conversion_error(138, description, "const char *")
   elseif type(value) == "table" and kind ~= nil then
      wrong(141, "wrong type for list option " .. name)
   elseif value ~= nil and not DEFAULT_TYPES[type(value)] then
      conversion_error(151, value, "const char *")
   elseif kind ~= nil and type(kind) ~= "number" and type(kind) ~= "boolean" then
      conversion_error(167, kind, "enum 125")
   elseif validate ~= nil and type(validate) ~= "function" then
      conversion_error(170, validate, "bool (*)()")
   elseif type(kind) == "number" and kind > cmdline.ARG_MAX then
      usage_error("Unknown argument type: " .. kind .. "\n")
   end
end

-- Fills `sysbench.opt` with the general options, then with those that the script declares.
function cmdline.read_cmdline_options()
   local options = cmdline.options
   local opt = {}
   for name, value in pairs(host.general_options) do
      opt[name] = value
   end
   sysbench.opt = opt
   if options == nil then
      return true
   elseif type(options) ~= "table" then
      wrong(120, "wrong type for sysbench.cmdline.options: " .. type(options))
   end
   local declared = {}
   for name, option in pairs(options) do
      check_option(name, option)
      name = option_name(name)
      declared[name] = option
      opt[name] = default(option, name)
   end
   for _, given in ipairs(host.script_options) do
      local name = given.name
      local option = declared[name]
      local value
      local parse = option and PARSERS[type_of(option)]
      if parse then
         value = parse(given.value or "", given.value == nil, name)
      end
      -- A function of the script may refuse the text.
      if value ~= nil and not (option[4] and not option[4](name, given.value or "")) then
         opt[name] = value
      elseif given.from_file then
         host.warn("Global option '" .. name .. "' will not be exported, because the type is unknown")
      else
         usage_error("invalid option: " .. given.display_text .. "\n")
      end
   end
   return true
end

local function sorted_names(names)
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
   local names, labels, width = sorted_names(options), {}, 0
   for _, name in ipairs(names) do
      labels[name] = "--" .. name .. (VALUE_HINTS[type_of(options[name])] or "=UNKNOWN")
      width = math.max(width, #labels[name])
   end
   local lines = {}
   for _, name in ipairs(names) do
      local option = options[name]
      local value = option[2] == nil and "" or " [" .. shown_default(option[2]) .. "]"
      lines[#lines + 1] = ("  %-" .. width .. "s %s%s\n"):format(labels[name], option[1], value)
   end
   host.output(table.concat(lines) .. "\n")
end

function cmdline.command_defined(name)
   local command = type(cmdline.commands) == "table" and cmdline.commands[name]
   return type(command) == "table" and command[1] ~= nil
end

function cmdline.command_parallel(name)
   return cmdline.command_defined(name) and cmdline.commands[name][2] == cmdline.PARALLEL_COMMAND
end

function cmdline.call_command(name)
   if not cmdline.command_defined(name) then
      return false
   end
   local command = cmdline.commands[name][1]
   if type(command) ~= "function" then
      error(api_error(194, "attempt to call a " .. type(command) .. " value"), 0)
   end
   return command() ~= false
end

-- Classifies a command word for the script that was read.
function core.classify_command(word)
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
      return type(_G[word]) == "function" and "command" or "missing"
   end
   return "unknown"
end

function core.print_help()
   if type(_G.help) == "function" then
      return core.call_global("help")
   end
   host.output(host.test_name .. " options:\n")
   cmdline.print_test_options()
end

-- A legacy script declares no options: every option becomes a global, including the general ones.
function core.make_globals()
   if cmdline.options then
      return
   end
   -- A script may have functions with these names, such as `help`.
   local function export(name, value)
      if type(_G[name]) ~= "function" then
         _G[name] = value
      end
   end
   for name, value in pairs(host.general_options) do
      export(name, value)
   end
   for _, given in ipairs(host.script_options) do
      local value = given.value or "on"
      sysbench.opt[given.name] = value
      export(given.name, value)
   end
end
