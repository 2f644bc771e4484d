-- The loop of events. It is a part of its own, so that messages do not name it: sysbench calls `event` from C.

local _, core = ...

local ask, type, error = core.ask, type, error
local next_event, DISCARD_EVENT = core.calls.next_event, core.DISCARD_EVENT

-- Runs events from the current one on; calls the script's `event` with `id`. An error leaves the event open. LuaJIT compiles
-- the loop with everything that the script does in it, which it could not if each event was called in protected mode.
function core.run_events(id)
   repeat
      local event = _G.event
      if type(event) ~= "function" and type(event) ~= "table" then
         error("attempt to call a " .. type(event) .. " value", 0)
      end
      if event(id) then
         ask(DISCARD_EVENT)
         return
      end
   until not next_event()
end
