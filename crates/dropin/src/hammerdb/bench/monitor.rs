//! Virtual user 1 of a timed run: it prints the elapsed minutes, and reads the server's counters at the
//! start and end of the window on a separate connection.
//!
//! In: the run's schedule, a timeline. Out: lines, NOPM and TPM. Must never: report a figure if the window
//! was cut short, or block the loop of a worker.

use super::super::clock;
use super::super::connection;
use super::super::lines::open_log;
use super::super::warn;
use super::RunContext;
use prony_dialect::hammerdb::{Driver, Timeline, TimelineEvent, TransactionCounter, text};
use prony_document::SqlDialect;
use prony_drive::clock::Clock;
use prony_measure::RunSchedule;
use prony_server::{Control, CounterStart, Target, control, read_counter_start};
use prony_workload::tpcc;
use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// How often to check whether the run has ended.
const RUN_END_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How long to reconnect to a lost server when its counters are due: a restart after a crash takes seconds.
const MAX_RECONNECT_TIME: Duration = Duration::from_secs(10);

/// Printed before a result without TPM.
const COUNT_NOT_SHOWN: &str = "The server does not show its count of batch requests to this login, so TPM is \
     unknown: grant it VIEW SERVER STATE (as of SQL Server 2022 VIEW SERVER PERFORMANCE STATE)";

/// Printed after the result if `pg_storedprocs` is true.
const FUNCTIONS_CALLED: &str = "pg_storedprocs is not supported: each transaction called a function, not a procedure; \
     compare only with runs of functions";

/// How long the control connection waits for a reply before it probes the server, so that a lost connection
/// is noticed before the result is due.
const REPLY_TIMEOUT: Duration = Duration::from_secs(5);

/// The figures of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// New orders per minute, from the districts' next order numbers.
    pub nopm: u64,
    /// Commits and rollbacks of the whole server per minute, from its statistics; on SQL Server batch requests.
    /// `None` if SQL Server does not show its count to this login.
    pub tpm: Option<u64>,
}

/// The figures and lines that the monitor produced.
#[derive(Debug, Default)]
pub struct MonitorResult {
    /// `None` if the window was cut short.
    pub figures: Option<Figures>,
    pub result_lines: Vec<String>,
    /// Readings of the transaction counter: the time, and transactions per minute.
    pub tpm_readings: Vec<(String, u64)>,
}

/// The server's counters at one time.
#[derive(Clone, Debug)]
struct ServerCounts {
    orders: u64,
    /// `None` if SQL Server does not show them to this login.
    transactions: Option<u64>,
    /// When the server started to count transactions. After a crash it counts from zero, but the count may
    /// exceed the old one by the end of the run, so that the two counts alone do not reveal the crash.
    counting_since: CounterStart,
}

/// The monitor of a timed run.
pub struct Monitor<'a> {
    context: &'a RunContext<'a>,
    target: &'a Target,
    control: Control,
    run_ended: &'a AtomicBool,
    counter: Option<TpmCounter>,
}

/// The transaction counter, which prints transactions per minute during the run.
struct TpmCounter {
    log: Option<File>,
    logs_timestamps: bool,
    /// The time of the previous reading in nanoseconds, and the server's count of transactions.
    last_reading: Option<(u64, u64)>,
}

impl<'a> Monitor<'a> {
    /// A monitor that ends when `run_ended` reports the end of the run.
    pub fn new(
        context: &'a RunContext<'a>,
        target: &'a Target,
        mut control: Control,
        run_ended: &'a AtomicBool,
    ) -> Self {
        control.set_io_timeout(Some(REPLY_TIMEOUT));
        Monitor {
            context,
            target,
            control,
            run_ended,
            counter: context.request.counter.as_ref().map(TpmCounter::open),
        }
    }

    /// Executes the events of the timeline, whose times are relative to the start of the load.
    pub fn run(
        mut self,
        started: &Receiver<RunSchedule>,
        timeline: Timeline,
    ) -> Result<MonitorResult, String> {
        let mut result = MonitorResult::default();
        // The sender is dropped if the load does not start.
        let Ok(schedule) = started.recv() else {
            return Ok(result);
        };
        let mut start_counts = None;
        for (at, event) in timeline {
            let at_ns = schedule.start_ns.saturating_add(at.as_nanos() as u64);
            if !self.wait_until(at_ns) {
                break;
            }
            match event {
                TimelineEvent::PrintLine(vuser, line) => self.context.lines.print_line(vuser, line),
                TimelineEvent::PrintRunning(vuser) => self.context.lines.print_running(vuser),
                TimelineEvent::ReadStartCounts => start_counts = Some(self.wait_for_counts()?),
                TimelineEvent::ReadEndCounts => {
                    let end_counts = self.wait_for_counts()?;
                    if let Some(start_counts) = &start_counts {
                        self.print_result(start_counts, &end_counts, &mut result)?;
                    }
                }
                TimelineEvent::ReadTransactionCounter => self.print_tpm(&mut result),
            }
        }
        Ok(result)
    }

    /// Waits until a time on the run's clock. Returns false if the run ends earlier.
    fn wait_until(&self, at_ns: u64) -> bool {
        loop {
            if self.context.signals.received().is_some() {
                return false;
            }
            let remaining_ns = at_ns.saturating_sub(Clock::System.now_ns());
            if remaining_ns == 0 {
                return true;
            }
            if self.run_ended.load(Ordering::Relaxed) {
                return false;
            }
            std::thread::sleep(RUN_END_POLL_INTERVAL.min(Duration::from_nanos(remaining_ns)));
        }
    }

    fn print_result(
        &self,
        start_counts: &ServerCounts,
        end_counts: &ServerCounts,
        result: &mut MonitorResult,
    ) -> Result<(), String> {
        let Driver::Timed { duration_min, .. } = self.context.request.driver else {
            return Ok(());
        };
        let minutes = self.context.minute_length.as_secs_f64() / 60.0 * duration_min as f64;
        let lost_count = |unit: &str| {
            format!("the server lost its count of {unit} during the run: was it restarted?")
        };
        if !start_counts
            .counting_since
            .is_same(&end_counts.counting_since)
        {
            return Err(lost_count("transactions"));
        }
        let per_minute = |before: u64, after: u64, unit: &str| {
            let count = after.checked_sub(before).ok_or_else(|| lost_count(unit))?;
            Ok::<u64, String>((count as f64 / minutes) as u64)
        };
        let transactions = start_counts.transactions.zip(end_counts.transactions);
        let figures = Figures {
            nopm: per_minute(start_counts.orders, end_counts.orders, "orders")?,
            tpm: transactions
                .map(|(before, after)| per_minute(before, after, "transactions"))
                .transpose()?,
        };
        if figures.tpm.is_none() {
            self.context.lines.say(COUNT_NOT_SHOWN);
        }
        let request = self.context.request;
        let product = request.login.product.name;
        let functions_called = request
            .stored_procedures
            .then(|| FUNCTIONS_CALLED.to_owned());
        let lines = [
            format!("{} Active Virtual Users configured", request.vusers),
            text::result_line(figures.nopm, figures.tpm, product, request.tpm_first),
        ];
        for line in lines.into_iter().chain(functions_called) {
            self.context.lines.say(&line);
            result.result_lines.push(line);
        }
        result.figures = Some(figures);
        if self.context.minute_length != super::super::ONE_MINUTE {
            let seconds = self.context.minute_length.as_secs_f64();
            let line = format!("Rehearsal: each minute of this test lasted {seconds} s");
            self.context.lines.say(line);
        }
        Ok(())
    }

    /// Reads the counters. If the server is down, reconnects for up to [`MAX_RECONNECT_TIME`].
    fn wait_for_counts(&mut self) -> Result<ServerCounts, String> {
        let started_ns = Clock::System.now_ns();
        let mut wait_reported = false;
        loop {
            let error = match self.read_counts() {
                Ok(counts) => return Ok(counts),
                Err(error) => error,
            };
            let waited = Duration::from_nanos(Clock::System.now_ns() - started_ns);
            let interrupted = self.context.signals.received().is_some();
            if !error.is_lost() || waited > MAX_RECONNECT_TIME || interrupted {
                return Err(format!("the server's counts could not be read: {error}"));
            }
            if !wait_reported {
                wait_reported = true;
                let limit = MAX_RECONNECT_TIME.as_secs();
                let line =
                    format!("The server does not answer: waiting up to {limit} s for its counts");
                self.context.lines.say(line);
            }
            std::thread::sleep(Duration::from_millis(500));
            if let Ok(control) = connection::connect(self.target, &self.context.request.login) {
                self.control = control;
                self.control.set_io_timeout(Some(REPLY_TIMEOUT));
            }
        }
    }

    fn read_counts(&mut self) -> Result<ServerCounts, control::Error> {
        Ok(ServerCounts {
            orders: tpcc::next_order_number_sum(&mut self.control)?,
            transactions: self.read_transactions()?,
            counting_since: read_counter_start(&mut self.control)?,
        })
    }

    /// The server's count of transactions; `None` if SQL Server does not show it to this login.
    fn read_transactions(&mut self) -> Result<Option<u64>, control::Error> {
        let needs_privilege = match self.control.dialect() {
            SqlDialect::PostgreSql | SqlDialect::MySql => false,
            SqlDialect::TransactSql => true,
        };
        let readings = match prony_server::read_txn_counts(&mut self.control, 1, |_| true) {
            Err(error) if needs_privilege && !error.is_lost() => return Ok(None),
            readings => readings?,
        };
        let reading = readings.and_then(|readings| readings.first().copied());
        match reading {
            Some(reading) => Ok(Some(reading.transactions)),
            None if needs_privilege => Ok(None),
            None => Ok(Some(0)),
        }
    }

    /// Prints and logs the current transactions per minute; prints nothing if the server does not answer.
    fn print_tpm(&mut self, result: &mut MonitorResult) {
        let Ok(Some(transactions)) = self.read_transactions() else {
            return;
        };
        let now_ns = Clock::System.now_ns();
        let Some(counter) = &mut self.counter else {
            return;
        };
        let tpm = counter.last_reading.map_or(0, |(at_ns, before)| {
            let count = transactions.saturating_sub(before) as f64;
            (count * 60e9 / now_ns.saturating_sub(at_ns).max(1) as f64) as u64
        });
        counter.last_reading = Some((now_ns, transactions));
        let line = text::counter_line(tpm, self.context.request.login.database_name());
        counter.append_to_log(&line);
        self.context.lines.print_status(line);
        result.tpm_readings.push((clock::job_timestamp(), tpm));
    }
}

impl TpmCounter {
    fn open(counter: &TransactionCounter) -> TpmCounter {
        let open = |path: &String| {
            let header = text::counter_log_header(&clock::now_as_text());
            let opened = open_log(path, &header);
            opened
                .inspect_err(|error| warn(&format!("{path}: {error}")))
                .ok()
        };
        let log = counter.log_path.as_ref().and_then(open);
        TpmCounter {
            log,
            logs_timestamps: counter.logs_timestamps,
            last_reading: None,
        }
    }

    fn append_to_log(&mut self, line: &str) {
        let timestamp = self.logs_timestamps.then(clock::now_as_text);
        if let Some(log) = &mut self.log {
            let entry = text::counter_entry(line, timestamp.as_deref());
            // A full disk must not end the run.
            let _ = log.write_all(entry.as_bytes());
        }
    }
}
