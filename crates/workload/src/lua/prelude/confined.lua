-- What a script gets that another machine sent: Lua, sysbench's API, and nothing else of this machine. Takes away what
-- reaches files, commands, C functions or memory; must run last. Never leaves a way to them: a value of `ffi` that can be
-- indexed, compiled code from a text, or a library in a table of modules.

local host, core = ...

local error, type, tostring, select, concat, pairs = error, type, tostring, select, table.concat, pairs
local output, real_load = host.output, load
local os, io, jit, traceback, loaded, preload = os, io, jit, debug.traceback, package.loaded, package.preload

-- A table of these functions; all others of the library raise an error.
local function only(name, library, kept)
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

only("os", os, {
   time = os.time, clock = os.clock, date = os.date, difftime = os.difftime,
   getenv = function()
      return nil
   end,
})

local stream = {}

function stream:write(...)
   for i = 1, select("#", ...) do
      local text = select(i, ...)
      if type(text) ~= "string" and type(text) ~= "number" then
         error("bad argument #" .. i .. " to 'write' (string expected, got " .. type(text) .. ")", 2)
      end
      output(tostring(text))
   end
   return self
end

function stream:flush()
   return self
end
stream.setvbuf = stream.flush

only("io", io, {
   stdout = stream, stderr = stream,
   write = function(...)
      return stream:write(...)
   end,
})

only("debug", debug, { traceback = traceback })
only("jit", jit, {
   version = jit.version, version_num = jit.version_num, os = jit.os, arch = jit.arch,
   on = jit.on, off = jit.off, flush = jit.flush, status = jit.status,
})
only("package", package, { loaded = loaded, preload = preload, path = "", cpath = "", seeall = package.seeall })

-- Compiled code is not checked when it is loaded.
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
-- A value whose length and concatenation the script decides.
newproxy = nil

-- sysbench's own functions, which scripts declare themselves; those that take a pointer are not among them.
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
