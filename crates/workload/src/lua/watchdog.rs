//! Stops scripts that run on and ask for nothing.
//!
//! In: when a state of Lua begins and ceases to run. Out: an error in the script, at the line it is at;
//! or, where that cannot be, a word to the listener. Must never: touch a state that does not run, or
//! cost a script more than two atomic operations a turn.

use super::state::Shared;
use mlua::ffi::{self, lua_Debug, lua_State};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// How often the watchdog looks.
const LOOK: Duration = Duration::from_millis(100);
/// Looks between one attempt to stop a script and the next, stronger one.
const PAUSE: u64 = 50;
/// Looks, for the first attempt and each further one, once all is to end.
const SHORT: u64 = 10;
/// What is said of a script that does not let itself be stopped.
const STUCK: &str = "a script has run on without asking for anything, and cannot be interrupted: how long it \
                     may is PRONY_LUA_PATIENCE, in seconds";
/// Set in a beat while the watchdog holds its state.
const HELD: u64 = 1 << 63;

/// The states that one thread runs, one at a time.
#[derive(Default)]
pub struct Beat {
    /// Odd while a state runs.
    turns: AtomicU64,
    state: AtomicPtr<lua_State>,
    /// More than one state is run here, and their run has begun: who runs on keeps others waiting.
    has_others: AtomicBool,
    /// The state that runs waits for an answer.
    waits: AtomicBool,
}

impl Beat {
    /// From now on a state that runs on keeps others of the same thread waiting.
    pub fn has_others(&self) {
        self.has_others.store(true, Ordering::Relaxed);
    }

    /// The state that runs asks, and is answered while it runs: that may take its time, until all is to
    /// end.
    pub fn waits(&self, waits: bool) {
        self.waits.store(waits, Ordering::Relaxed);
    }

    /// A state begins to run.
    pub fn enter(&self, state: *mut lua_State) {
        self.state.store(state, Ordering::Relaxed);
        self.turns.fetch_add(1, Ordering::Release);
    }

    /// It does not run any more.
    pub fn leave(&self) {
        if self.turns.fetch_add(1, Ordering::AcqRel) & HELD != 0 {
            // The watchdog is about to interrupt it, and must be done before it may be closed.
            while self.turns.load(Ordering::Acquire) & HELD != 0 {
                std::hint::spin_loop();
            }
        }
    }
}

/// What the watchdog knows of a thread.
#[derive(Clone, Copy, Default)]
struct Seen {
    turns: u64,
    looks: u64,
    /// Attempts to stop it, and the look at which the last one was made.
    attempts: u32,
    last: u64,
}

impl Seen {
    /// Another look at a script that runs on. The number of the attempt that is due, if one is.
    fn look(&mut self, patience: u64, pause: u64) -> Option<u32> {
        self.looks += 1;
        let due = match self.attempts {
            0 => patience,
            _ => self.last + pause,
        };
        if self.looks < due {
            return None;
        }
        self.last = self.looks;
        self.attempts += 1;
        Some(self.attempts)
    }
}

/// The threads that run a script.
#[derive(Default)]
pub struct Watch {
    beats: Mutex<Vec<(Arc<Beat>, Seen)>>,
}

impl Watch {
    /// A watch with its watchdog, which ends with it.
    pub fn start(shared: &Arc<Shared>) -> Arc<Watch> {
        let watch = Arc::new(Watch::default());
        let (weak, shared) = (Arc::downgrade(&watch), Arc::clone(shared));
        let body = move || watchdog(&weak, &shared);
        // Without a thread for it scripts are not watched.
        let _ = std::thread::Builder::new()
            .name("watchdog".to_owned())
            .spawn(body);
        watch
    }

    /// The beat of a thread that runs scripts from now on.
    pub fn beat(&self) -> Arc<Beat> {
        let beat = Arc::new(Beat::default());
        let mut beats = self.beats.lock().unwrap_or_else(PoisonError::into_inner);
        beats.retain(|(known, _)| Arc::strong_count(known) > 1);
        beats.push((Arc::clone(&beat), Seen::default()));
        beat
    }
}

fn watchdog(watch: &Weak<Watch>, shared: &Shared) {
    let settings = &shared.settings;
    let patience = settings.patience_s * 1000 / LOOK.as_millis() as u64;
    let mut waits = 0;
    loop {
        std::thread::sleep(LOOK);
        let Some(watch) = watch.upgrade() else {
            return;
        };
        let (patience, pause) = match settings.is_over() {
            true => (patience.min(SHORT), SHORT),
            false => (patience, PAUSE),
        };
        let mut beats = watch.beats.lock().unwrap_or_else(PoisonError::into_inner);
        for (beat, seen) in beats.iter_mut() {
            let turns = beat.turns.load(Ordering::Acquire);
            let is_answered = beat.waits.load(Ordering::Relaxed) && !settings.is_over();
            if turns % 2 == 0 || turns != seen.turns || is_answered {
                *seen = Seen {
                    turns,
                    ..Seen::default()
                };
                continue;
            }
            // Seen again in the same turn: that has lasted for the time between two looks at least. Once
            // may be the machine's doing.
            if beat.has_others.load(Ordering::Relaxed) && !settings.is_over() {
                waits += 1;
                if waits == 2 {
                    settings.listener.kept_waiting();
                }
            }
            match seen.look(patience, pause) {
                Some(1) => interrupt(beat, turns, once),
                Some(2) => interrupt(beat, turns, always),
                Some(3) => settings.listener.stuck(STUCK),
                _ => {}
            }
        }
    }
}

type Hook = unsafe extern "C-unwind" fn(*mut lua_State, *mut lua_Debug);

/// Makes the state that has been running since this turn call `hook` at its next instruction.
fn interrupt(beat: &Beat, turns: u64, hook: Hook) {
    let held =
        beat.turns
            .compare_exchange(turns, turns | HELD, Ordering::AcqRel, Ordering::Relaxed);
    if held.is_err() {
        return;
    }
    let state = beat.state.load(Ordering::Relaxed);
    // SAFETY: the state runs and is not closed while it is held. LuaJIT allows a hook to be set from
    // another thread (lj_record.c, LUAJIT_ENABLE_CHECKHOOK).
    unsafe { ffi::lua_sethook(state, Some(hook), ffi::LUA_MASKCOUNT, 1) };
    beat.turns.fetch_and(!HELD, Ordering::Release);
}

/// Raises an error at the line of the script that runs, once.
unsafe extern "C-unwind" fn once(state: *mut lua_State, at: *mut lua_Debug) {
    // SAFETY: called by Lua with a state that runs, and what it says of it.
    unsafe {
        if is_script(state, at) {
            ffi::lua_sethook(state, None, 0, 0);
            raise(state);
        }
    }
}

/// Raises an error wherever the script goes on.
unsafe extern "C-unwind" fn always(state: *mut lua_State, at: *mut lua_Debug) {
    // SAFETY: called by Lua with a state that runs, and what it says of it.
    unsafe {
        if is_script(state, at) {
            raise(state);
        }
    }
}

/// Whether the script itself is at work, not the API that it called.
///
/// # Safety
/// Inside a hook, with what it was called with.
unsafe fn is_script(state: *mut lua_State, at: *mut lua_Debug) -> bool {
    // SAFETY: as the caller promises; the source is a text that lives as long as its function.
    unsafe {
        if ffi::lua_getinfo(state, c"S".as_ptr(), at) == 0 || (*at).source.is_null() {
            return true;
        }
        let source = std::ffi::CStr::from_ptr((*at).source);
        !source.to_bytes().starts_with(b"=prony/")
    }
}

/// # Safety
/// Inside a hook. It does not return, and nothing here is to be dropped.
unsafe fn raise(state: *mut lua_State) {
    const TEXT: &[u8] =
        b"the script has run on without asking for anything; is this a loop without an end? \
          How long it may is PRONY_LUA_PATIENCE, in seconds";
    // SAFETY: as the caller promises; there is room for two values in a hook.
    unsafe {
        ffi::luaL_where(state, 0);
        ffi::lua_pushlstring(state, TEXT.as_ptr().cast(), TEXT.len());
        ffi::lua_concat(state, 2);
        ffi::lua_error(state);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // A state that is gone is not to be read.
        let beats = self.beats.get_mut().unwrap_or_else(PoisonError::into_inner);
        for (beat, _) in beats {
            beat.state.store(ptr::null_mut(), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_grow_stronger_and_come_soon_once_all_is_to_end() {
        let due = |looks: &[(u64, u64)]| {
            let mut seen = Seen::default();
            let all = looks.iter().enumerate();
            let due = all.filter_map(|(at, (patience, pause))| {
                seen.look(*patience, *pause).map(|attempt| (at, attempt))
            });
            due.collect::<Vec<_>>()
        };
        assert_eq!(due(&[(4, 3); 12]), [(3, 1), (6, 2), (9, 3), (12, 4)][..3]);
        let mut looks = vec![(120, 10); 5];
        looks.extend([(2, 2); 6]);
        assert_eq!(due(&looks), [(5, 1), (7, 2), (9, 3)]);
    }
}
