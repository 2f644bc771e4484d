-- How statements are executed: `core.calls`, whose functions LuaJIT compiles into the code that calls them. They return
-- the numbers of rows and columns of the reply as one number, `rows + columns * COLUMN_FACTOR`, or -1 if the statement
-- failed; then `failure()` returns the error's number, SQLSTATE and message, and whether it is ignored. Parameters are
-- pushed before `execute`. Outside of the load, the same functions make requests.

local host, core = ...

local calls = {}
core.calls = calls
core.COLUMN_FACTOR = 2 ^ 40

if host.is_outside_load then
   local ask, QUERY, EXECUTE, COLUMN_FACTOR = core.ask, core.QUERY, core.EXECUTE, core.COLUMN_FACTOR
   local unpack = unpack
   local values, count, failed = {}, 0, nil

   local function reply_number(rows, columns, ...)
      if rows == nil then
         failed = { columns, ... }
         return -1
      end
      return rows + columns * COLUMN_FACTOR
   end

   local function push(value)
      count = count + 1
      values[count] = value
   end
   calls.push_number, calls.push_text, calls.push_null = push, push, push

   function calls.query(text)
      return reply_number(ask(QUERY, text))
   end

   function calls.execute(id)
      local n = count
      count = 0
      return reply_number(ask(EXECUTE, id, unpack(values, 1, n)))
   end

   function calls.execute_with_number(id, value)
      return reply_number(ask(EXECUTE, id, value))
   end

   function calls.failure()
      return unpack(failed, 1, 4)
   end
   return
end

local ffi = core.ffi
local context = ffi.cast("void *", host.thread_context)

local function declared(name, kind)
   return ffi.cast(kind, host.compiled_functions[name])
end

local query = declared("query", "double (*)(void *, const char *, size_t)")
local execute = declared("execute", "double (*)(void *, double)")
local execute_with_number = declared("execute_with_number", "double (*)(void *, double, double)")
local push_number = declared("push_number", "void (*)(void *, double)")
local push_text = declared("push_text", "void (*)(void *, const char *, size_t)")
local push_null = declared("push_null", "void (*)(void *)")
local next_event = declared("next_event", "double (*)(void *)")
local failure = host.failure

calls.failure = failure

function calls.query(text)
   return query(context, text, #text)
end

function calls.execute(id)
   return execute(context, id)
end

function calls.execute_with_number(id, value)
   return execute_with_number(context, id, value)
end

function calls.push_number(value)
   push_number(context, value)
end

function calls.push_text(text)
   push_text(context, text, #text)
end

function calls.push_null()
   push_null(context)
end

-- Ends the current event and waits until the next one is due. Returns whether there is one.
function calls.next_event()
   local begun = next_event(context)
   if begun < 0 then
      -- The thread has been abandoned: this call does not return.
      failure()
   end
   return begun > 0
end
