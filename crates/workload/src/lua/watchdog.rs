//! Interrupts scripts that run too long without making a request. Threads record when a Lua state starts and
//! stops running. The watchdog raises an error at the script's current line; if the script still runs after
//! that, the watchdog notifies the listener. Must never touch a state that is not running, or cost a script
//! more than one atomic read-modify-write operation per resume.

use super::listener::Report;
use super::state::ScriptContext;
use crate::parallel::lock;
use mlua::ffi::{self, lua_Debug, lua_State};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// Time between two polls of the watchdog.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Number of polls between two attempts to stop a script; each attempt is stronger than the one before.
const POLLS_BETWEEN_ATTEMPTS: u64 = 50;
/// Number of polls before the first attempt, and between attempts, once all scripts must end.
const POLLS_BETWEEN_ATTEMPTS_AT_END: u64 = 10;
const STUCK_MESSAGE: &str = "a script has run too long without making a request, and cannot be interrupted; the limit is \
                             PRONY_LUA_PATIENCE, in seconds";
/// The message for a script that still waits for the server when the run must end.
const WAITING_MESSAGE: &str =
    "a script is still waiting for the server at the end of the run, and cannot be interrupted";
/// The bit of `epoch` that is set while the watchdog uses the state.
const HELD_BIT: u64 = 1 << 63;

/// The activity of the Lua states that one OS thread runs, one at a time.
#[derive(Default)]
pub struct Heartbeat {
    /// Counts starts and stops of states; odd while a state runs.
    epoch: AtomicU64,
    state: AtomicPtr<lua_State>,
    /// Whether the run has begun and the OS thread runs several states, so that a state that does not yield
    /// blocks the other ones.
    other_users_wait: AtomicBool,
    is_waiting_for_server: AtomicBool,
}

impl Heartbeat {
    /// Records that other users of the OS thread wait while a state does not yield.
    pub fn set_other_users_wait(&self) {
        self.other_users_wait.store(true, Ordering::Relaxed);
    }

    /// Records whether the running state waits for the server without yielding. Such a wait is not limited until
    /// the run must end.
    pub fn set_waiting_for_server(&self, is_waiting: bool) {
        self.is_waiting_for_server
            .store(is_waiting, Ordering::Relaxed);
    }

    /// Records that a state begins to run.
    pub fn mark_running(&self, state: *mut lua_State) {
        self.state.store(state, Ordering::Relaxed);
        // While no state runs, only this thread changes the epoch, so this need not be an atomic addition, which would
        // wait for earlier writes.
        let epoch = self.epoch.load(Ordering::Relaxed);
        self.epoch.store(epoch + 1, Ordering::Release);
    }

    /// Records that the state no longer runs.
    pub fn mark_stopped(&self) {
        if self.epoch.fetch_add(1, Ordering::AcqRel) & HELD_BIT != 0 {
            // Wait until the watchdog has interrupted the state: the state must not be closed while the watchdog uses it.
            while self.epoch.load(Ordering::Acquire) & HELD_BIT != 0 {
                std::hint::spin_loop();
            }
        }
    }
}

#[derive(Clone, Copy, Default)]
struct ThreadObservation {
    epoch: u64,
    /// Number of polls at which the state was still running.
    polls: u64,
    attempts: u32,
    /// The value of `polls` at the last attempt.
    last_attempt_poll: u64,
}

impl ThreadObservation {
    /// Records a poll at which the script is still running. Returns the number of the attempt that is due, if any: the
    /// first after `limit_polls` polls, the others every `pause_polls` polls.
    fn count_poll(&mut self, limit_polls: u64, pause_polls: u64) -> Option<u32> {
        self.polls += 1;
        let due_poll = match self.attempts {
            0 => limit_polls,
            _ => self.last_attempt_poll + pause_polls,
        };
        if self.polls < due_poll {
            return None;
        }
        self.last_attempt_poll = self.polls;
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

    pub fn register_thread(&self) -> Arc<Heartbeat> {
        let heartbeat = Arc::new(Heartbeat::default());
        let mut heartbeats = lock(&self.heartbeats);
        heartbeats.retain(|(registered, _)| Arc::strong_count(registered) > 1);
        heartbeats.push((Arc::clone(&heartbeat), ThreadObservation::default()));
        heartbeat
    }
}

fn run_watchdog(watchdog: &Weak<Watchdog>, context: &ScriptContext) {
    let settings = &context.settings;
    let run_limit_polls = settings.max_query_gap_s * 1000 / POLL_INTERVAL.as_millis() as u64;
    let mut blocked_polls = 0;
    let report_stuck = |reason: &str| settings.listener.report(Report::Stuck(reason.into()));
    loop {
        std::thread::sleep(POLL_INTERVAL);
        let Some(watchdog) = watchdog.upgrade() else {
            return;
        };
        let must_end = settings.must_scripts_end();
        let (limit_polls, pause_polls) = if must_end {
            (
                run_limit_polls.min(POLLS_BETWEEN_ATTEMPTS_AT_END),
                POLLS_BETWEEN_ATTEMPTS_AT_END,
            )
        } else {
            (run_limit_polls, POLLS_BETWEEN_ATTEMPTS)
        };
        let mut heartbeats = lock(&watchdog.heartbeats);
        for (heartbeat, observation) in heartbeats.iter_mut() {
            let epoch = heartbeat.epoch.load(Ordering::Acquire);
            let is_waiting = heartbeat.is_waiting_for_server.load(Ordering::Relaxed);
            let is_running = epoch % 2 == 1;
            if !is_running || epoch != observation.epoch || (is_waiting && !must_end) {
                *observation = ThreadObservation {
                    epoch,
                    ..ThreadObservation::default()
                };
                continue;
            }
            // The state has run since the previous poll. Ignore a single such poll, which a busy machine may cause.
            if heartbeat.other_users_wait.load(Ordering::Relaxed) && !must_end {
                blocked_polls += 1;
                if blocked_polls == 2 {
                    settings.listener.report(Report::ThreadBlocked);
                }
            }
            match observation.count_poll(limit_polls, pause_polls) {
                // A hook would have no effect, because LuaJIT calls none while the state waits for the server.
                Some(_) if is_waiting => report_stuck(WAITING_MESSAGE),
                Some(1) => interrupt(heartbeat, epoch, raise_error_once),
                Some(2) => interrupt(heartbeat, epoch, raise_error_always),
                Some(3) => report_stuck(STUCK_MESSAGE),
                _ => {}
            }
        }
    }
}

type Hook = unsafe extern "C-unwind" fn(*mut lua_State, *mut lua_Debug);

/// Makes a state call `hook` at its next instruction, if it has been running since `epoch`.
fn interrupt(heartbeat: &Heartbeat, epoch: u64, hook: Hook) {
    let held = heartbeat.epoch.compare_exchange(
        epoch,
        epoch | HELD_BIT,
        Ordering::AcqRel,
        Ordering::Relaxed,
    );
    if held.is_err() {
        // The state has stopped running.
        return;
    }
    let state = heartbeat.state.load(Ordering::Relaxed);
    // SAFETY: the state runs and is not closed while it is held. LuaJIT allows a hook to be set from
    // another thread (lj_record.c, LUAJIT_ENABLE_CHECKHOOK).
    unsafe { ffi::lua_sethook(state, Some(hook), ffi::LUA_MASKCOUNT, 1) };
    heartbeat.epoch.fetch_and(!HELD_BIT, Ordering::Release);
}

/// A hook that raises an error once, at the script's current line.
unsafe extern "C-unwind" fn raise_error_once(state: *mut lua_State, record: *mut lua_Debug) {
    // SAFETY: Lua calls this with a running state and its debug record.
    unsafe {
        if is_script_code_running(state, record) {
            ffi::lua_sethook(state, None, 0, 0);
            raise_too_long_error(state);
        }
    }
}

/// A hook that raises an error at every line.
unsafe extern "C-unwind" fn raise_error_always(state: *mut lua_State, record: *mut lua_Debug) {
    // SAFETY: Lua calls this with a running state and its debug record.
    unsafe {
        if is_script_code_running(state, record) {
            raise_too_long_error(state);
        }
    }
}

/// Whether the script's own code is running, not an API function that it called.
///
/// # Safety
/// Call it inside a hook, with the hook's own arguments.
unsafe fn is_script_code_running(state: *mut lua_State, record: *mut lua_Debug) -> bool {
    // SAFETY: as the caller promises; the source is a string that lives as long as its function.
    unsafe {
        if ffi::lua_getinfo(state, c"S".as_ptr(), record) == 0 || (*record).source.is_null() {
            return true;
        }
        let source = std::ffi::CStr::from_ptr((*record).source);
        !source.to_bytes().starts_with(b"=prony/")
    }
}

/// Raises the error that the script has run too long.
///
/// # Safety
/// Call it inside a hook. It does not return, so its local values must not need to be dropped.
unsafe fn raise_too_long_error(state: *mut lua_State) {
    const TEXT: &[u8] =
        b"the script has run too long without making a request; is this an infinite loop? The limit is \
          PRONY_LUA_PATIENCE, in seconds";
    // SAFETY: as the caller promises; in a hook, the stack has space for two values.
    unsafe {
        ffi::luaL_where(state, 0);
        ffi::lua_pushlstring(state, TEXT.as_ptr().cast(), TEXT.len());
        ffi::lua_concat(state, 2);
        ffi::lua_error(state);
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        // The states may be closed from now on, so no pointer to them must remain.
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
        let due_attempts = |polls: &[(u64, u64)]| {
            let mut observation = ThreadObservation::default();
            let attempts = polls
                .iter()
                .enumerate()
                .filter_map(|(index, (limit, pause))| {
                    observation
                        .count_poll(*limit, *pause)
                        .map(|attempt| (index, attempt))
                });
            attempts.collect::<Vec<_>>()
        };
        assert_eq!(
            due_attempts(&[(4, 3); 12]),
            [(3, 1), (6, 2), (9, 3), (12, 4)][..3]
        );
        let mut polls = vec![(120, 10); 5];
        polls.extend([(2, 2); 6]);
        assert_eq!(due_attempts(&polls), [(5, 1), (7, 2), (9, 3)]);
    }
}
