//! Measures the server's own transaction rate (TPM) over the measured window.
//!
//! The measurement has its own thread and connection. Must never: take part in the load, delay the end of a
//! run, or end the run.

use crate::observing::LoadEnd;
use prony_drive::clock::Clock;
use prony_measure::RunSchedule;
use prony_server::control::Error;
use prony_server::{Control, Target, TxnCount, begun_per_minute, read_txn_counts, txns_per_minute};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Length of a series of readings. Averaged over this time, the lag of the server's count is constant.
const SERIES_NS: u64 = 1_000_000_000;
const SERIES_READINGS: u32 = 10;
/// Time between the last reading and the end of the window; it keeps the reading inside the load.
const END_MARGIN_NS: u64 = 100_000_000;
/// Shortest window to measure: in a shorter one, the lag of the server's count would dominate.
const WINDOW_MIN_NS: u64 = 3 * SERIES_NS;
/// How long a finished run waits for the result.
const RESULT_TIMEOUT: Duration = Duration::from_secs(5);

/// Rates per minute by the server's own counters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServerRates {
    /// Transactions; on SQL Server batch requests.
    pub tpm: f64,
    /// Transactions that began; only on SQL Server.
    pub begun: Option<f64>,
}

pub struct ServerTpm {
    /// Dropping it stops the measurement.
    stop_sender: Sender<()>,
    /// Receives the rates, or why the server did not return them.
    result: Receiver<Result<ServerRates, String>>,
}

impl ServerTpm {
    /// Starts to measure a run that has just started. `None` if the end of its window is unknown, if its window is shorter
    /// than 3 s, or if there is no thread for it.
    pub fn start(target: &Target, schedule: RunSchedule) -> Option<ServerTpm> {
        if schedule.window_ns? < WINDOW_MIN_NS {
            return None;
        }
        let target = target.clone();
        let (stop_sender, stop_receiver) = channel();
        let (sender, result) = channel();
        let body = move || {
            let rates = measure(&target, &schedule, &stop_receiver);
            if let Some(rates) = rates.map_err(|error| on_one_line(&error)).transpose() {
                // Fails only if the run no longer waits.
                let _ = sender.send(rates);
            }
        };
        let thread = std::thread::Builder::new().name("server-tpm".to_owned());
        // Not joined: a server that no longer answers must not delay the run.
        thread.spawn(body).ok()?;
        Some(ServerTpm {
            stop_sender,
            result,
        })
    }

    /// The rates, or why the server did not return them; `None` if it has no such counters or the run ended early.
    /// `is_unresponsive`: the server has not answered for a while, so do not wait for it.
    pub fn end(
        self,
        load_end: LoadEnd,
        is_unresponsive: bool,
    ) -> Option<Result<ServerRates, String>> {
        let ServerTpm {
            stop_sender,
            result,
        } = self;
        let rates = match load_end {
            // The grace period has already passed.
            LoadEnd::CutOff if is_unresponsive => result.try_recv().ok(),
            // The last reading, just before the end of the window, may not have arrived yet.
            LoadEnd::CutOff | LoadEnd::Complete => result.recv_timeout(RESULT_TIMEOUT).ok(),
            LoadEnd::Early => None,
        };
        drop(stop_sender);
        rates
    }
}

/// Measures the rates from the window's start to shortly before its end; `None` if the server has no such counters, or if the
/// run ended before.
fn measure(
    target: &Target,
    schedule: &RunSchedule,
    stop_receiver: &Receiver<()>,
) -> Result<Option<ServerRates>, Error> {
    let start_ns = schedule.window_start_ns();
    let end_ns = schedule
        .window_end_ns()
        .saturating_sub(SERIES_NS + END_MARGIN_NS);
    // The clients are already connected, so this takes no connection from them.
    let mut control = Control::connect(target)?;
    let Some(first_series) = read_series(&mut control, start_ns, stop_receiver)? else {
        return Ok(None);
    };
    let Some(last_series) = read_series(&mut control, end_ns, stop_receiver)? else {
        return Ok(None);
    };
    let tpm = txns_per_minute(&first_series, &last_series);
    Ok(tpm.map(|tpm| ServerRates {
        tpm,
        begun: begun_per_minute(&first_series, &last_series),
    }))
}

/// A series of evenly spaced readings that begins at this time of the run's clock; `None` as for [`measure`].
fn read_series(
    control: &mut Control,
    from_ns: u64,
    stop_receiver: &Receiver<()>,
) -> Result<Option<Vec<TxnCount>>, Error> {
    // Wait before the call: it begins the transaction of the readings, which must not be open for long.
    if !wait_until(from_ns, stop_receiver) {
        return Ok(None);
    }
    let interval_ns = SERIES_NS / u64::from(SERIES_READINGS);
    let pause = |number: u32| {
        wait_until(
            from_ns + interval_ns * u64::from(number) + interval_ns / 2,
            stop_receiver,
        )
    };
    read_txn_counts(control, SERIES_READINGS, pause)
}

/// The text of an error, which may have several lines.
fn on_one_line(error: &Error) -> String {
    let text = error.to_string();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Waits until a time of the run's clock; `false` if the run ended before.
fn wait_until(deadline_ns: u64, stop_receiver: &Receiver<()>) -> bool {
    let remaining_ns = deadline_ns.saturating_sub(Clock::System.now_ns());
    let received = stop_receiver.recv_timeout(Duration::from_nanos(remaining_ns));
    received == Err(RecvTimeoutError::Timeout)
}

#[cfg(test)]
mod tests {
    use super::{ServerRates, ServerTpm};
    use crate::observing::LoadEnd;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    const RATES: ServerRates = ServerRates {
        tpm: 60.0,
        begun: None,
    };

    /// A measurement whose result arrives after this delay.
    fn measurement_with_delay(delay: Duration) -> ServerTpm {
        let (stop_sender, _) = channel();
        let (sender, result) = channel();
        std::thread::spawn(move || {
            std::thread::sleep(delay);
            let _ = sender.send(Ok(RATES));
        });
        ServerTpm {
            stop_sender,
            result,
        }
    }

    #[test]
    fn a_run_waits_for_its_last_reading_unless_the_server_is_unresponsive() {
        let short_delay = Duration::from_millis(200);
        assert_eq!(
            measurement_with_delay(short_delay).end(LoadEnd::CutOff, false),
            Some(Ok(RATES))
        );
        assert_eq!(
            measurement_with_delay(short_delay).end(LoadEnd::Complete, false),
            Some(Ok(RATES))
        );
        assert_eq!(
            measurement_with_delay(short_delay).end(LoadEnd::Early, false),
            None
        );
        let long_delay = Duration::from_secs(60);
        assert_eq!(
            measurement_with_delay(long_delay).end(LoadEnd::CutOff, true),
            None
        );
    }
}
