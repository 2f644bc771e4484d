-- `require`, `dofile` and `loadfile`, with the bundled scripts among the files. They are written in Lua so
-- that a file can make requests to the loop while it is being read. Never prefers a bundled script to an
-- existing file.

local host, core = ...

local real_loadfile, open = loadfile, io.open
local package = package

if host.path then
   package.path = host.path
end
if host.cpath then
   package.cpath = host.cpath
end

-- The file of a module on a path, or a list of the places that were tried.
local function search(name, search_path)
   local file, tried = name:gsub("%.", "/"), {}
   for template in search_path:gmatch("[^;]+") do
      local path = template:gsub("%?", (file:gsub("%%", "%%%%")))
      local found = open(path, "r")
      if found then
         found:close()
         return path
      end
      tried[#tried + 1] = "\n\tno file '" .. path .. "'"
   end
   return nil, table.concat(tried)
end

local function loader(name)
   local preloaded = package.preload[name]
   if preloaded then
      return preloaded
   end
   local bundled = host.load_bundled(name)
   if host.load_sent then
      local is_good, sent = pcall(host.load_sent, name)
      if not is_good then
         error("error loading module '" .. name .. "':\n\t" .. tostring(sent), 3)
      end
      return sent or bundled
         or error("module '" .. name .. "' not found: agents have the files that the script loads before its threads begin", 3)
   end
   local path, tried = search(name, package.path)
   -- Bundled scripts replace those that a distribution of sysbench installs.
   if path and not (bundled and path:find("/share/sysbench/", 1, true)) then
      local chunk, problem = real_loadfile(path)
      if not chunk then
         error("error loading module '" .. name .. "' from file '" .. path .. "':\n\t" .. problem, 3)
      end
      core.examine_file(path)
      host.loaded(name, path)
      return chunk
   end
   if bundled then
      return bundled
   end
   local c_path, c_tried = search(name, package.cpath)
   if c_path then
      core.mark_c_code()
      local chunk, problem = package.loadlib(c_path, "luaopen_" .. name:gsub("^.*%-", ""):gsub("%.", "_"))
      if not chunk then
         error("error loading module '" .. name .. "' from file '" .. c_path .. "':\n\t" .. problem, 3)
      end
      return chunk
   end
   error("module '" .. name .. "' not found:\n\tno field package.preload['" .. name .. "']" .. tried .. c_tried, 3)
end

local loading = {}

function require(name)
   name = tostring(name)
   local value = package.loaded[name]
   if value ~= nil and value ~= loading then
      return value
   end
   if value == loading then
      error("loop or previous error loading module '" .. name .. "'", 2)
   end
   local chunk = loader(name)
   package.loaded[name] = loading
   local ok, result = pcall(chunk, name)
   if not ok then
      package.loaded[name] = nil
      error(result, 0)
   end
   if result ~= nil then
      package.loaded[name] = result
   elseif package.loaded[name] == loading then
      package.loaded[name] = true
   end
   return package.loaded[name]
end

-- Legacy scripts load their common functions from a file, whose path they build themselves.
local function bundled_file(path)
   local name = path:match("([^/]+)%.lua$")
   local chunk = name and host.load_bundled(name)
   -- A path without its last "/" merges with the name: `.../hot.luacommon.lua`.
   if not chunk and name then
      name = name:match("%.lua(.+)$")
      chunk = name and host.load_bundled(name)
   end
   return chunk
end

function loadfile(path, ...)
   if host.load_sent then
      local chunk = type(path) == "string" and (host.load_sent(path) or bundled_file(path))
      if chunk then
         return chunk
      end
      return nil, "cannot open " .. tostring(path) .. ": agents have the files that the script loads before its threads begin"
   end
   if path == nil then
      return real_loadfile()
   end
   local chunk, problem = real_loadfile(path, ...)
   if chunk then
      core.examine_file(path)
      host.loaded(path, path)
      return chunk
   end
   local found = type(path) == "string" and open(path, "r")
   if found then
      found:close()
      return nil, problem
   end
   local bundled = type(path) == "string" and bundled_file(path)
   if bundled then
      return bundled
   end
   return nil, problem
end

function dofile(path)
   local chunk, problem = loadfile(path)
   if not chunk then
      error(problem, 0)
   end
   return chunk()
end
