//! Stops scripts that run too long without making a request. It is notified when a Lua state starts and stops
//! running, and raises an error at the script's current line; if it cannot, it notifies the listener. Never touches a
//! state that is not running, and costs a script at most two atomic operations per turn.

use super::state::ScriptContext;
use mlua::ffi::{self, lua_Debug, lua_State};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// Time between two polls of the watchdog.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Polls between an attempt to stop a script and the next, stronger one.
const POLLS_BETWEEN_ATTEMPTS: u64 = 50;
/// Polls before the first attempt, and between attempts, once the run must end.
const POLLS_AT_END: u64 = 10;
/// The message for a script that cannot be interrupted.
const STUCK_MESSAGE: &str = "a script has run too long without making a request, and cannot be interrupted; the limit is \
                             PRONY_LUA_PATIENCE, in seconds";
/// The message for a script that still waits for the server when the run must end.
const WAITING_MESSAGE: &str =
    "a script is still waiting for the server at the end of the run, and cannot be interrupted";
/// Set in `turns` while the watchdog uses the state.
const HELD_BIT: u64 = 1 << 63;

/// The activity of the Lua states that one OS thread runs, one at a time.
#[derive(Default)]
pub struct Heartbeat {
    /// Counts starts and stops: odd while a state runs.
    turns: AtomicU64,
    state: AtomicPtr<lua_State>,
    /// The thread runs more than one state, and the run has begun: a state that does not yield blocks the
    /// others.
    has_others: AtomicBool,
    /// The running state waits for the server.
    is_waiting: AtomicBool,
}

impl Heartbeat {
    /// Marks that a state that does not yield blocks other states of the same thread.
    pub fn set_has_others(&self) {
        self.has_others.store(true, Ordering::Relaxed);
    }

    /// Marks whether the running state waits for the server without yielding, which has no time limit until the
    /// run must end.
    pub fn set_waiting(&self, is_waiting: bool) {
        self.is_waiting.store(is_waiting, Ordering::Relaxed);
    }

    /// Marks that a state begins to run.
    pub fn enter(&self, state: *mut lua_State) {
        self.state.store(state, Ordering::Relaxed);
        self.turns.fetch_add(1, Ordering::Release);
    }

    /// Marks that the state no longer runs.
    pub fn leave(&self) {
        if self.turns.fetch_add(1, Ordering::AcqRel) & HELD_BIT != 0 {
            // The watchdog is interrupting the state, which must not be closed before that is done.
            while self.turns.load(Ordering::Acquire) & HELD_BIT != 0 {
                std::hint::spin_loop();
            }
        }
    }
}

/// What the watchdog has observed of one thread.
#[derive(Clone, Copy, Default)]
struct ThreadObservation {
    turns: u64,
    polls: u64,
    /// Attempts to stop it, and the poll at which the last one was made.
    attempts: u32,
    last_attempt: u64,
}

impl ThreadObservation {
    /// Records that a script is still running at another poll. Returns the number of the attempt that is due, if
    /// any.
    fn poll(&mut self, patience: u64, pause: u64) -> Option<u32> {
        self.polls += 1;
        let due = match self.attempts {
            0 => patience,
            _ => self.last_attempt + pause,
        };
        if self.polls < due {
            return None;
        }
        self.last_attempt = self.polls;
        self.attempts += 1;
        Some(self.attempts)
    }
}

/// The watchdog of the threads that run scripts.
#[derive(Default)]
pub struct Watchdog {
    heartbeats: Mutex<Vec<(Arc<Heartbeat>, ThreadObservation)>>,
}

impl Watchdog {
    /// Starts a watchdog, which ends when the returned `Watchdog` is dropped.
    pub fn start(context: &Arc<ScriptContext>) -> Arc<Watchdog> {
        let watchdog = Arc::new(Watchdog::default());
        let (weak, context) = (Arc::downgrade(&watchdog), Arc::clone(context));
        let body = move || run_watchdog(&weak, &context);
        // If the thread cannot be started, scripts run without a watchdog.
        let _ = std::thread::Builder::new()
            .name("watchdog".to_owned())
            .spawn(body);
        watchdog
    }

    /// Registers a thread that runs scripts from now on.
    pub fn heartbeat(&self) -> Arc<Heartbeat> {
        let heartbeat = Arc::new(Heartbeat::default());
        let mut heartbeats = self
            .heartbeats
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        heartbeats.retain(|(known, _)| Arc::strong_count(known) > 1);
        heartbeats.push((Arc::clone(&heartbeat), ThreadObservation::default()));
        heartbeat
    }
}

fn run_watchdog(watchdog: &Weak<Watchdog>, context: &ScriptContext) {
    let settings = &context.settings;
    let patience = settings.patience_s * 1000 / POLL_INTERVAL.as_millis() as u64;
    let mut blocked_polls = 0;
    loop {
        std::thread::sleep(POLL_INTERVAL);
        let Some(watchdog) = watchdog.upgrade() else {
            return;
        };
        let (patience, pause) = match settings.is_over() {
            true => (patience.min(POLLS_AT_END), POLLS_AT_END),
            false => (patience, POLLS_BETWEEN_ATTEMPTS),
        };
        let mut heartbeats = watchdog
            .heartbeats
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for (heartbeat, observation) in heartbeats.iter_mut() {
            let turns = heartbeat.turns.load(Ordering::Acquire);
            let is_waiting = heartbeat.is_waiting.load(Ordering::Relaxed) && !settings.is_over();
            if turns % 2 == 0 || turns != observation.turns || is_waiting {
                *observation = ThreadObservation {
                    turns,
                    ..ThreadObservation::default()
                };
                continue;
            }
            // Running in the same turn as at the previous poll. A single such poll may be due to the machine.
            if heartbeat.has_others.load(Ordering::Relaxed) && !settings.is_over() {
                blocked_polls += 1;
                if blocked_polls == 2 {
                    settings.listener.thread_blocked();
                }
            }
            match observation.poll(patience, pause) {
                // LuaJIT calls no hook while the state waits for the server.
                Some(_) if heartbeat.is_waiting.load(Ordering::Relaxed) => {
                    settings.listener.stuck(WAITING_MESSAGE)
                }
                Some(1) => interrupt(heartbeat, turns, raise_once),
                Some(2) => interrupt(heartbeat, turns, raise_always),
                Some(3) => settings.listener.stuck(STUCK_MESSAGE),
                _ => {}
            }
        }
    }
}

type Hook = unsafe extern "C-unwind" fn(*mut lua_State, *mut lua_Debug);

/// Makes a state call `hook` at its next instruction, if it has been running since the turn `turns`.
fn interrupt(heartbeat: &Heartbeat, turns: u64, hook: Hook) {
    let held = heartbeat.turns.compare_exchange(
        turns,
        turns | HELD_BIT,
        Ordering::AcqRel,
        Ordering::Relaxed,
    );
    if held.is_err() {
        return;
    }
    let state = heartbeat.state.load(Ordering::Relaxed);
    // SAFETY: the state runs and is not closed while it is held. LuaJIT allows a hook to be set from
    // another thread (lj_record.c, LUAJIT_ENABLE_CHECKHOOK).
    unsafe { ffi::lua_sethook(state, Some(hook), ffi::LUA_MASKCOUNT, 1) };
    heartbeat.turns.fetch_and(!HELD_BIT, Ordering::Release);
}

/// Raises an error once, at the script's current line.
unsafe extern "C-unwind" fn raise_once(state: *mut lua_State, at: *mut lua_Debug) {
    // SAFETY: Lua calls this with a running state and its debug record.
    unsafe {
        if is_script(state, at) {
            ffi::lua_sethook(state, None, 0, 0);
            raise(state);
        }
    }
}

/// Raises an error wherever the script continues.
unsafe extern "C-unwind" fn raise_always(state: *mut lua_State, at: *mut lua_Debug) {
    // SAFETY: Lua calls this with a running state and its debug record.
    unsafe {
        if is_script(state, at) {
            raise(state);
        }
    }
}

/// Whether the script's own code is running, not an API function that it called.
///
/// # Safety
/// Call it inside a hook, with the hook's own arguments.
unsafe fn is_script(state: *mut lua_State, at: *mut lua_Debug) -> bool {
    // SAFETY: as the caller promises; the source is a string that lives as long as its function.
    unsafe {
        if ffi::lua_getinfo(state, c"S".as_ptr(), at) == 0 || (*at).source.is_null() {
            return true;
        }
        let source = std::ffi::CStr::from_ptr((*at).source);
        !source.to_bytes().starts_with(b"=prony/")
    }
}

/// # Safety
/// Call it inside a hook. It does not return, so no local value here may need to be dropped.
unsafe fn raise(state: *mut lua_State) {
    const TEXT: &[u8] =
        b"the script has run too long without making a request; is this an infinite loop? The limit is \
          PRONY_LUA_PATIENCE, in seconds";
    // SAFETY: as the caller promises; a hook has room for two values on the stack.
    unsafe {
        ffi::luaL_where(state, 0);
        ffi::lua_pushlstring(state, TEXT.as_ptr().cast(), TEXT.len());
        ffi::lua_concat(state, 2);
        ffi::lua_error(state);
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        // A closed state must not be read.
        let heartbeats = self
            .heartbeats
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        for (heartbeat, _) in heartbeats {
            heartbeat.state.store(ptr::null_mut(), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_become_stronger_and_start_early_at_the_end() {
        let due = |polls: &[(u64, u64)]| {
            let mut observation = ThreadObservation::default();
            let all = polls.iter().enumerate();
            let due = all.filter_map(|(at, (patience, pause))| {
                observation
                    .poll(*patience, *pause)
                    .map(|attempt| (at, attempt))
            });
            due.collect::<Vec<_>>()
        };
        assert_eq!(due(&[(4, 3); 12]), [(3, 1), (6, 2), (9, 3), (12, 4)][..3]);
        let mut polls = vec![(120, 10); 5];
        polls.extend([(2, 2); 6]);
        assert_eq!(due(&polls), [(5, 1), (7, 2), (9, 3)]);
    }
}
