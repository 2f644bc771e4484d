-- Finding scripts: `require`, `dofile`, `loadfile`, with the bundled names among them. They are written
-- in Lua so that what a file does while it is read may ask the loop. In: `host.bundled`, the path. Out:
-- the functions. Must never: prefer a bundled file to one that is there.

local host, core = ...

local real_loadfile, open = loadfile, io.open
local package = package

if host.path then
   package.path = host.path
end
if host.cpath then
   package.cpath = host.cpath
end

-- The file that a module's name means on a path, or where it was looked for.
local function search(name, path)
   local file, tried = name:gsub("%.", "/"), {}
   for template in path:gmatch("[^;]+") do
      local place = template:gsub("%?", (file:gsub("%%", "%%%%")))
      local found = open(place, "r")
      if found then
         found:close()
         return place
      end
      tried[#tried + 1] = "\n\tno file '" .. place .. "'"
   end
   return nil, table.concat(tried)
end

local function loader(name)
   local preloaded = package.preload[name]
   if preloaded then
      return preloaded
   end
   local place, tried = search(name, package.path)
   local bundled = host.bundled(name)
   -- The files that a distribution of sysbench brings are what the bundled ones stand for.
   if place and not (bundled and place:find("/share/sysbench/", 1, true)) then
      local chunk, problem = real_loadfile(place)
      if not chunk then
         error("error loading module '" .. name .. "' from file '" .. place .. "':\n\t" .. problem, 3)
      end
      return chunk
   end
   if bundled then
      return bundled
   end
   local c_place, c_tried = search(name, package.cpath)
   if c_place then
      local chunk, problem = package.loadlib(c_place, "luaopen_" .. name:gsub("^.*%-", ""):gsub("%.", "_"))
      if not chunk then
         error("error loading module '" .. name .. "' from file '" .. c_place .. "':\n\t" .. problem, 3)
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

-- Legacy scripts name the file of the functions they share by a path of their own.
local function bundled_file(path)
   local name = path:match("([^/]+)%.lua$")
   local chunk = name and host.bundled(name)
   -- A path that lost its "/" runs into the name: `.../hot.luacommon.lua`.
   if not chunk and name then
      name = name:match("%.lua(.+)$")
      chunk = name and host.bundled(name)
   end
   return chunk
end

function loadfile(path, ...)
   if path == nil then
      return real_loadfile()
   end
   local chunk, problem = real_loadfile(path, ...)
   if chunk then
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
