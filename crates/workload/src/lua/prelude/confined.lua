-- Confines a script that another machine sent to Lua and sysbench's API. Removes what reaches this machine's files,
-- commands, C functions or memory; must run last. Never leaves a way to them, such as a value of `ffi` that can be indexed,
-- compiled code in a string, or a library in a table of modules.

local host, core = ...

local error, type, tostring, concat, pairs = error, type, tostring, table.concat, pairs
local write, real_load = core.write, load
local os, io, jit, traceback, loaded, preload = os, io, jit, debug.traceback, package.loaded, package.preload

-- Replaces a library by these functions. Its others raise an error.
local function keep_only(name, library, kept)
   for key, value in pairs(library) do
      if type(value) == "function" and not kept[key] then
         kept[key] = function()
            error("agents have no " .. name .. "." .. key, 2)
         end
      end
   end
   _G[name] = kept
   loaded[name] = kept
   return kept
end

keep_only("os", os, {
   time = os.time, clock = os.clock, date = os.date, difftime = os.difftime,
   getenv = function()
      return nil
   end,
})

local stream = {}

function stream:write(...)
   write(...)
   return self
end

function stream:flush()
   return self
end
stream.setvbuf = stream.flush

keep_only("io", io, {
   stdout = stream, stderr = stream,
   write = function(...)
      return stream:write(...)
   end,
})

keep_only("debug", debug, { traceback = traceback })
keep_only("jit", jit, {
   version = jit.version, version_num = jit.version_num, os = jit.os, arch = jit.arch,
   on = jit.on, off = jit.off, flush = jit.flush, status = jit.status,
})
keep_only("package", package, { loaded = loaded, preload = preload, path = "", cpath = "", seeall = package.seeall })

-- Loads no compiled code, which LuaJIT would run unchecked.
function load(chunk, name, _, environment)
   if type(chunk) == "function" then
      local parts, part = {}, chunk()
      while part ~= nil and part ~= "" do
         parts[#parts + 1] = part
         part = chunk()
      end
      chunk = concat(parts)
   end
   if type(chunk) ~= "string" then
      error("bad argument #1 to 'load' (string expected, got " .. type(chunk) .. ")", 2)
   end
   if environment == nil then
      return real_load(chunk, name or chunk, "t")
   end
   return real_load(chunk, name or chunk, "t", environment)
end

function loadstring(text, name)
   return load(text, name)
end
string.dump = nil
-- Would make values whose length and concatenation the script decides.
newproxy = nil

-- sysbench's own functions, which scripts declare themselves, without those that take a pointer.
local c_functions = {}
for name, value in pairs(core.c_functions) do
   c_functions[name] = value
end
c_functions.sb_rand_str, c_functions.poll = nil, nil
ffi = {
   cdef = function() end,
   C = setmetatable({}, {
      __index = function(_, name)
         return c_functions[name] or error("agents call no C functions: " .. tostring(name), 2)
      end,
      __newindex = function() end,
   }),
}

for name in pairs(preload) do
   preload[name] = nil
end
for name in pairs(loaded) do
   if name:match("^jit%.") then
      loaded[name] = nil
   end
end
loaded.ffi = ffi
