//! The server's own count of transactions over the measured window.
//!
//! In: a target, the parts of the run in time. Out: transactions that the server ended a minute.
//! Must never: take part in the load, hold up the end of a run, or end it.

use prony_drive::clock::Clock;
use prony_measure::Schedule;
use prony_server::{Control, Ended, Target, ended, ended_per_minute};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Length of a series of readings: over so long the server's lag is the same on average.
const SERIES_NS: u64 = 1_000_000_000;
/// Readings of a series.
const READINGS: u32 = 10;
/// The last reading is so long before the end of the window: it has to be inside the load.
const SPARE_NS: u64 = 100_000_000;
/// In a shorter window the lag would decide the figure.
const SHORTEST_NS: u64 = 3 * SERIES_NS;
/// How long a run that is over waits for the count.
const PATIENCE: Duration = Duration::from_secs(5);

/// A count under way, on a connection and a thread of its own.
pub struct Counting {
    /// Closing it stops the count.
    stop: Sender<()>,
    hear: Receiver<f64>,
}

impl Counting {
    /// Begins to count, for a run that has just started. `None` where its window has no known end
    /// or is shorter than 3 s.
    pub fn start(target: &Target, schedule: Schedule) -> Option<Counting> {
        schedule
            .window_ns
            .filter(|window_ns| *window_ns >= SHORTEST_NS)?;
        let target = target.clone();
        let (stop, stopped) = channel();
        let (tell, hear) = channel();
        let body = move || {
            if let Some(per_minute) = count(&target, &schedule, &stopped) {
                // Where nobody waits any more there is nothing to tell.
                let _ = tell.send(per_minute);
            }
        };
        let thread = std::thread::Builder::new().name("counting".to_owned());
        // It is not joined: a server that no longer answers must not keep the run.
        thread.spawn(body).ok()?;
        Some(Counting { stop, hear })
    }

    /// Transactions that the server ended a minute; `None` where it could not be read, or the run
    /// was `interrupted`.
    pub fn end(self, interrupted: bool) -> Option<f64> {
        let Counting { stop, hear } = self;
        let counted = match interrupted {
            true => None,
            false => hear.recv_timeout(PATIENCE).ok(),
        };
        drop(stop);
        counted
    }
}

/// Counts from near the window's start to near its end.
fn count(target: &Target, schedule: &Schedule, stopped: &Receiver<()>) -> Option<f64> {
    let start_ns = schedule.window_start_ns();
    let end_ns = schedule
        .window_end_ns()
        .saturating_sub(SERIES_NS + SPARE_NS);
    // The clients are connected by now: this takes no connection from them.
    let mut control = Control::connect(target).ok()?;
    let first = series(&mut control, start_ns, stopped)?;
    let last = series(&mut control, end_ns, stopped)?;
    ended_per_minute(&first, &last)
}

/// Readings from a moment of the run's clock on, a series in the middles of equal parts.
fn series(control: &mut Control, from_ns: u64, stopped: &Receiver<()>) -> Option<Vec<Ended>> {
    // The transaction of the readings is not to begin long before them.
    wait(from_ns, stopped).then_some(())?;
    let part_ns = SERIES_NS / u64::from(READINGS);
    let pause = |number: u32| wait(from_ns + part_ns * u64::from(number) + part_ns / 2, stopped);
    ended(control, READINGS, pause).ok()?
}

/// Waits until then; `false` where the run was over before.
fn wait(until_ns: u64, stopped: &Receiver<()>) -> bool {
    let left_ns = until_ns.saturating_sub(Clock::System.now_ns());
    let heard = stopped.recv_timeout(Duration::from_nanos(left_ns));
    heard == Err(RecvTimeoutError::Timeout)
}
