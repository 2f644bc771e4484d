//! Commands that run during the load, and marks that the user sets with SIGUSR1.
//!
//! In: the marks of the plan, the start of the load, signals. Out: an event for each. Must never: store the text of a
//! command, which may contain a password, or end a command before its end unless Prony itself is to end.

use crate::shell;
use crate::signals;
use prony_drive::clock::Clock;
use prony_plan::{Mark, format_duration};
use prony_server::Target;
use prony_store::{CommandResult, Event, EventKind};
use signal_hook::consts::SIGUSR1;
use signal_hook::iterator::{Handle, Signals};
use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

/// How long commands are waited for after the load, as the event of one that has not ended says.
const MAX_WAIT: Duration = Duration::from_secs(120);

/// Tells the waiting threads that the load has ended, when it is dropped at the latest, so that no command begins after a run
/// that fails either.
struct LoadEnded(Arc<AtomicBool>);

impl LoadEnded {
    fn tell(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Drop for LoadEnded {
    fn drop(&mut self) {
        self.tell();
    }
}

/// The threads that wait for the marks of a run.
pub(crate) struct Marks {
    load_ended: LoadEnded,
    commands: Vec<(Mark, JoinHandle<Event>)>,
    /// The thread that waits for SIGUSR1, and what ends it.
    signals: Option<(Handle, JoinHandle<Vec<Event>>)>,
}

impl Marks {
    /// Begins to wait for the time of each mark; `start_ns` is the start of the load.
    pub(crate) fn start(marks: &[Mark], target: &Target, start_ns: u64) -> Marks {
        let has_ended = Arc::new(AtomicBool::new(false));
        let commands = marks.iter().map(|mark| {
            let thread_mark = mark.clone();
            let has_ended = Arc::clone(&has_ended);
            let variables = target.client_environment();
            let thread = spawn(move || run(&thread_mark, &variables, start_ns, &has_ended));
            (mark.clone(), thread)
        });
        Marks {
            commands: commands.collect(),
            load_ended: LoadEnded(has_ended),
            // If this fails, SIGUSR1 ends the process, as without Prony's handler.
            signals: Signals::new([SIGUSR1]).ok().map(|mut signals| {
                let handle = signals.handle();
                let wait = move || signals.forever().map(|_| signal_event(start_ns)).collect();
                (handle, spawn(wait))
            }),
        }
    }

    /// From now on no command begins.
    pub(crate) fn load_has_ended(&self) {
        self.load_ended.tell();
    }

    /// The events, in the order of the marks, after the end of the load. Waits for commands that have begun.
    pub(crate) fn end(self) -> Vec<Event> {
        drop(self.load_ended);
        let deadline = Instant::now() + MAX_WAIT;
        let mut events = Vec::new();
        for (mark, thread) in self.commands {
            while !thread.is_finished() && Instant::now() < deadline {
                sleep(shell::POLL_INTERVAL);
            }
            let event = if thread.is_finished() { thread.join().ok() } else { None };
            let detail = "had not ended two minutes after the load";
            let at_s = mark.at.as_secs_f64();
            events.push(event.unwrap_or_else(|| command_event(&mark, at_s, detail)));
        }
        if let Some((handle, thread)) = self.signals {
            handle.close();
            events.extend(thread.join().unwrap_or_default());
        }
        events
    }
}

/// Waits for the time of a mark, and runs its command; not if the load ends before.
fn run(
    mark: &Mark,
    variables: &[(&'static str, String)],
    start_ns: u64,
    has_ended: &AtomicBool,
) -> Event {
    loop {
        let elapsed = elapsed_since(start_ns);
        if has_ended.load(Ordering::Relaxed) || signals::received().is_some() {
            let detail = "did not run: the load ended before";
            return command_event(mark, elapsed.as_secs_f64(), detail);
        }
        if elapsed >= mark.at {
            break;
        }
        sleep(shell::POLL_INTERVAL.min(mark.at - elapsed));
    }
    let at_s = elapsed_since(start_ns).as_secs_f64();
    let variables: Vec<(&str, &str)> = variables
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let must_end = || signals::received().is_some();
    match shell::run_captured(&mark.command, &variables, &must_end) {
        Ok((status, output)) => Event {
            until_s: Some(elapsed_since(start_ns).as_secs_f64()),
            command: Some(CommandResult {
                // As a shell reports the end by a signal.
                exit_status: status.code().or(status.signal().map(|signal| 128 + signal)),
                output,
            }),
            ..command_event(mark, at_s, &format!("ended with {status}"))
        },
        Err(error) => command_event(mark, at_s, &format!("cannot be started: {error}")),
    }
}

/// The event of a command that has no result.
fn command_event(mark: &Mark, at_s: f64, detail: &str) -> Event {
    Event {
        cause: None,
        at_s,
        until_s: None,
        kind: EventKind::Mark,
        detail: format!("the command at {} {detail}", format_duration(mark.at)),
        count: 0,
        command: Some(CommandResult::default()),
    }
}

fn signal_event(start_ns: u64) -> Event {
    Event {
        at_s: elapsed_since(start_ns).as_secs_f64(),
        kind: EventKind::Mark,
        detail: "SIGUSR1".to_owned(),
        ..Event::default()
    }
}

fn elapsed_since(start_ns: u64) -> Duration {
    Duration::from_nanos(Clock::System.now_ns().saturating_sub(start_ns))
}
