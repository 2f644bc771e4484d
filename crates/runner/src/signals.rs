//! Ctrl-C, SIGTERM and SIGHUP.
//!
//! The first signal sets a flag that a run or a load checks, and ends each wait for a server; the result so
//! far is kept. The second SIGINT or SIGTERM ends the process at once.

use crate::Interrupt;
use crate::shell::POLL_INTERVAL;
use prony_server::Target;
use prony_server::control::StopSignal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A signal that requests the end of a process. Its value is the exit status of a process that the signal
/// ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminationSignal {
    /// SIGHUP: the terminal was closed.
    HangUp = 129,
    /// SIGINT, as by Ctrl-C.
    Interrupt = 130,
    Terminate = 143,
}

impl TerminationSignal {
    pub fn exit_status(self) -> u8 {
        self as u8
    }

    pub fn name(self) -> &'static str {
        match self {
            TerminationSignal::HangUp => "SIGHUP (the terminal was closed)",
            TerminationSignal::Interrupt => "SIGINT (Ctrl-C)",
            TerminationSignal::Terminate => "SIGTERM",
        }
    }

    fn from_number(signal: usize) -> Option<TerminationSignal> {
        match signal as i32 {
            SIGTERM => Some(TerminationSignal::Terminate),
            SIGINT => Some(TerminationSignal::Interrupt),
            SIGHUP => Some(TerminationSignal::HangUp),
            _ => None,
        }
    }
}

/// The number of the first signal that requested the end of this process; 0: none.
static FIRST_SIGNAL: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);
/// Whether the second signal says what it does. The replaced tools have no such text.
static EXPLAINS_SECOND_SIGNAL: AtomicBool = AtomicBool::new(false);
/// Begins on a new line, because the live view may be in the last one.
const SECOND_SIGNAL: &str =
    "\nprony: a second signal ended this at once: nothing more is printed, stored or put back\n";
/// Ends the waits of control connections after that signal.
static STOP_SIGNAL: LazyLock<StopSignal> =
    LazyLock::new(|| StopSignal::watching(Arc::clone(&FIRST_SIGNAL)));

/// The interrupt flag, and the signal that set it.
#[derive(Clone, Default)]
pub struct Signals {
    flag: Arc<AtomicBool>,
    /// The number of the first signal; 0: none.
    signal: Arc<AtomicUsize>,
}

/// A [`StopSignal`] that a signal sets, for waits that do not concern a server.
pub fn stop_signal() -> StopSignal {
    STOP_SIGNAL.clone()
}

/// Makes a signal end the waits of control connections to this server.
pub fn interrupt_waits_of(target: &mut Target) {
    target.wait_options.stop = STOP_SIGNAL.clone();
    for additional in &mut target.additional_targets {
        interrupt_waits_of(additional);
    }
}

/// The signal that requested the end of this process, if any.
pub fn received() -> Option<TerminationSignal> {
    TerminationSignal::from_number(FIRST_SIGNAL.load(Ordering::Relaxed))
}

/// Makes the second signal say on stderr that it ends the process.
pub fn explain_second_signal() {
    EXPLAINS_SECOND_SIGNAL.store(true, Ordering::Relaxed);
}

/// Waits for a time, or until a signal requests the end of this process; returns that signal.
pub(crate) fn wait(time: Duration) -> Option<TerminationSignal> {
    wait_unless(time, received)
}

fn wait_unless(
    time: Duration,
    received: impl Fn() -> Option<TerminationSignal>,
) -> Option<TerminationSignal> {
    let start = Instant::now();
    loop {
        let remaining = time.saturating_sub(start.elapsed());
        let signal = received();
        if signal.is_some() || remaining.is_zero() {
            return signal;
        }
        sleep(POLL_INTERVAL.min(remaining));
    }
}

impl Interrupt for Signals {
    fn flag(&self) -> &AtomicBool {
        &self.flag
    }

    fn cause(&self) -> Option<&'static str> {
        self.received().map(TerminationSignal::name)
    }
}

impl Signals {
    /// Installs the signal handlers. All calls return the same value.
    pub fn listen() -> io::Result<Signals> {
        static LISTENING: OnceLock<Signals> = OnceLock::new();
        if let Some(signals) = LISTENING.get() {
            return Ok(signals.clone());
        }
        let signals = Signals {
            flag: Arc::default(),
            signal: Arc::clone(&FIRST_SIGNAL),
        };
        // This flag is separate from `signals.flag`, which a script may set too. SIGHUP does not set this
        // flag: a closed terminal sends SIGHUP more than once, and then systemd sends SIGTERM; together
        // these are one request.
        let exits_at_next_signal = Arc::new(AtomicBool::new(false));
        for (signal, exit_signal) in [
            (SIGINT, Some(TerminationSignal::Interrupt)),
            (SIGTERM, Some(TerminationSignal::Terminate)),
            (SIGHUP, None),
        ] {
            if is_ignored(signal) {
                // The parent process requested that the signal be ignored: nohup, or a shell's background
                // job.
                continue;
            }
            signals
                .install_handlers(signal, exit_signal, &exits_at_next_signal)
                .map_err(|error| {
                    io::Error::new(error.kind(), format!("cannot listen for signals: {error}"))
                })?;
        }
        Ok(LISTENING.get_or_init(|| signals).clone())
    }

    /// Installs the handlers of one signal. `exit_signal`: the signal that ends the process if `exits_at_next_signal` is set;
    /// `None` if this one neither sets that flag nor ends the process.
    fn install_handlers(
        &self,
        signal: i32,
        exit_signal: Option<TerminationSignal>,
        exits_at_next_signal: &Arc<AtomicBool>,
    ) -> io::Result<()> {
        // Handlers run in the order of their installation: the first signal finds the flag unset and then sets it; the
        // second signal finds the flag set, says so, and the process exits.
        if let Some(exit_signal) = exit_signal {
            let flag = || Arc::clone(exits_at_next_signal);
            write_if_set(signal, flag())?;
            flag::register_conditional_shutdown(signal, exit_signal as i32, flag())?;
            flag::register(signal, flag())?;
        }
        store_first_signal(signal, Arc::clone(&self.signal))?;
        flag::register(signal, Arc::clone(&self.flag))?;
        Ok(())
    }

    /// The flag that is set when the end is requested.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }

    /// The signal that requested the end; `None` if the end was not requested, or by something else.
    pub fn received(&self) -> Option<TerminationSignal> {
        if !self.flag.load(Ordering::Relaxed) {
            return None;
        }
        // The number is 0 if something other than a signal set the flag, such as a script.
        TerminationSignal::from_number(self.signal.load(Ordering::Relaxed))
    }

    /// Waits for a time, or until a signal requests the end; returns that signal.
    pub fn wait(&self, time: Duration) -> Option<TerminationSignal> {
        wait_unless(time, || self.received())
    }

    /// If a signal requested the end, ends the process as that signal would have done, so that the parent
    /// process sees it and a shell ends its loop.
    pub fn end_by_signal(&self) {
        let signal = self.signal.load(Ordering::Relaxed) as i32;
        if self.received().is_some() {
            // Returns only if emulating the signal fails.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    }
}

/// Makes the system report a file that exceeds the limit of its size (`ulimit -f`) as an error of the write, instead of
/// ending the process without a message. Programs that this one starts are not affected, because a handler, unlike an
/// ignored signal, is not inherited.
pub fn survive_file_size_limit() {
    // If this fails, the process ends as it did before.
    let _ = flag::register(libc::SIGXFSZ, Arc::default());
}

/// Makes this signal store its number, unless another signal came first.
fn store_first_signal(signal: i32, first_signal: Arc<AtomicUsize>) -> io::Result<()> {
    let store = move || {
        let _ =
            first_signal.compare_exchange(0, signal as usize, Ordering::Relaxed, Ordering::Relaxed);
    };
    // SAFETY: an atomic operation is safe in a signal handler; it neither allocates, locks nor panics.
    unsafe { signal_hook::low_level::register(signal, store) }.map(drop)
}

/// Makes this signal write [`SECOND_SIGNAL`] if the flag is set.
fn write_if_set(signal: i32, flag: Arc<AtomicBool>) -> io::Result<()> {
    let write = move || {
        if flag.load(Ordering::SeqCst) && EXPLAINS_SECOND_SIGNAL.load(Ordering::Relaxed) {
            let mut stderr = libc::pollfd {
                fd: libc::STDERR_FILENO,
                events: libc::POLLOUT,
                revents: 0,
            };
            // SAFETY: both calls are safe in a signal handler, and what they read is valid for its length. The text is not
            // written to a full pipe, which would keep the process from ending, nor to a closed one.
            unsafe {
                if libc::poll(&mut stderr, 1, 0) == 1 && stderr.revents == libc::POLLOUT {
                    libc::write(2, SECOND_SIGNAL.as_ptr().cast(), SECOND_SIGNAL.len());
                }
            }
        }
    };
    // SAFETY: the handler only loads atomics and calls `poll` and `write`; it neither allocates, locks nor panics.
    unsafe { signal_hook::low_level::register(signal, write) }.map(drop)
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: all-zero bytes are a valid `sigaction`, which is only written to.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: without a new action nothing changes; `action` is valid for writing.
    let status = unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) };
    status == 0 && action.sa_sigaction == libc::SIG_IGN
}
