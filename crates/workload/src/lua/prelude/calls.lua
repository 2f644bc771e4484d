-- How statements are executed: `core.calls`, whose functions LuaJIT compiles into the code that calls them. They return
-- the numbers of rows and columns of the reply as one number, `rows + columns * COLUMN_FACTOR`, or -1 if the statement
-- failed; then `failure()` returns the error's number, SQLSTATE and message, and whether it is ignored. Parameters are
-- pushed before `execute`. Outside of the load, the same functions make requests.

local host, core = ...

local calls = {}
core.calls = calls
core.COLUMN_FACTOR = 2 ^ 40
-- The number of columns of a row that compiled code can read; thread_context.rs has the same.
local ROW_CELLS = 6
core.ROW_CELLS = ROW_CELLS

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

   function calls.first_row(columns)
      return unpack(ask(core.ROWS)[1], 1, columns)
   end

   function calls.single_row()
      return ask(core.ROWS)[1]
   end
   return
end

local ffi, require_string = core.ffi, core.require_string
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
   require_string(text, "text of a statement", 4)
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
   require_string(text, "text of a statement", 4)
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

-- Rows. Their values are read one by one, because LuaJIT compiles neither `unpack` nor a C function that pushes values.
local read_row = declared("read_first_row", "double (*)(void *)")
local cells = ffi.cast("struct { const char *text; double length; } *", host.row_cells)
local string, first_row, all_rows = ffi.string, host.first_row, host.all_rows

local function read_first_row()
   if read_row(context) == 0 then
      -- Raises the error about rows that are too long.
      all_rows()
   end
end

local function cell(index)
   local text = cells[index].text
   if text == nil then
      return nil
   end
   return string(text, cells[index].length)
end

-- Returns the values of the first row of the result that the query returned.
function calls.first_row(columns)
   if columns > ROW_CELLS then
      return first_row(columns)
   end
   read_first_row()
   if columns == 1 then
      return cell(0)
   end
   local a, b, c = cell(0), cell(1), cell(2)
   if columns == 2 then
      return a, b
   elseif columns == 3 then
      return a, b, c
   end
   local d, e, f = cell(3), cell(4), cell(5)
   if columns == 4 then
      return a, b, c, d
   elseif columns == 5 then
      return a, b, c, d, e
   end
   return a, b, c, d, e, f
end

-- Returns the first row of the result that the query returned as a table; it has up to ROW_CELLS columns.
function calls.single_row(columns)
   read_first_row()
   if columns == 1 then
      return { cell(0) }
   elseif columns == 2 then
      return { cell(0), (cell(1)) }
   elseif columns == 3 then
      return { cell(0), cell(1), (cell(2)) }
   end
   return { cell(0), cell(1), cell(2), cell(3), cell(4), (cell(5)) }
end
