//! Writes one thread's `-l` file.
//!
//! In: samples. Out: lines. Must never: allocate for a transaction, or write to the file for each
//! transaction.

use super::level::Level;
use super::log::{AggregateLine, LogFormat, LogOutcome, TransactionLine};
use super::options::{LogOptions, RunOptions};
use prony_measure::{ErrorClass, Outcome, Sample};
use prony_workload::random::Random;
use std::io::{self, Write};

/// The size at which the buffer is written to the file.
const BUFFER_BYTES: usize = 64 * 1024;

/// The log of one thread.
pub struct Logger<W: Write> {
    out: W,
    buffer: Vec<u8>,
    format: LogFormat,
    /// The number of the thread's first client.
    first_client: u32,
    /// The number of transactions so far, per client.
    transaction_counts: Vec<u64>,
    /// Nanoseconds to add to the run's clock for Unix time.
    epoch_shift_ns: i64,
    /// The sampling rate, and the random generator that decides which transactions are logged.
    sampling: Option<(f64, Random)>,
    aggregate: Option<Aggregate>,
    write_error: Option<io::Error>,
}

/// Sums of the current interval.
struct Aggregate {
    interval_us: u64,
    line: AggregateLine,
}

impl<W: Write> Logger<W> {
    /// A log for a thread that drives these clients. `sampling_random` selects the transactions to log if there
    /// is a `--sampling-rate`.
    pub fn new(
        out: W,
        level: &Level,
        options: &RunOptions,
        log: &LogOptions,
        clients: std::ops::Range<u32>,
        sampling_random: Random,
    ) -> Self {
        Logger {
            out,
            buffer: Vec::with_capacity(BUFFER_BYTES + 256),
            format: LogFormat::new(
                level,
                options.rate_tps.is_some(),
                options.latency_limit_us.is_some(),
                options.max_tries,
                options.failures_detailed,
            ),
            first_client: clients.start,
            transaction_counts: vec![0; clients.len()],
            epoch_shift_ns: 0,
            sampling: log.sampling_rate.map(|rate| (rate, sampling_random)),
            aggregate: log.aggregate_interval_s.map(|interval_s| Aggregate {
                interval_us: u64::from(interval_s) * 1_000_000,
                line: AggregateLine::default(),
            }),
            write_error: None,
        }
    }

    /// Records the start of the load. `start_ns`: its time on the run's clock; `epoch_shift_ns`: Unix time
    /// minus that clock.
    pub fn start_load(&mut self, start_ns: u64, epoch_shift_ns: i64) {
        self.epoch_shift_ns = epoch_shift_ns;
        let start_us = self.unix_us(start_ns);
        if let Some(aggregate) = &mut self.aggregate {
            // Round down to whole seconds, because the line prints whole seconds.
            aggregate.line.start_unix_s = start_us / 1_000_000;
        }
    }

    fn unix_us(&self, time_ns: u64) -> u64 {
        let unix_ns = i128::from(time_ns) + i128::from(self.epoch_shift_ns);
        u64::try_from(unix_ns / 1000).unwrap_or(0)
    }

    /// Logs a transaction.
    pub fn log_sample(&mut self, client: u32, sample: &Sample) {
        let index = client.saturating_sub(self.first_client) as usize;
        let Some(transaction_count) = self.transaction_counts.get_mut(index) else {
            return;
        };
        *transaction_count += 1;
        let number = *transaction_count;
        if let Some((rate, random)) = &mut self.sampling
            && random.unit() > *rate
        {
            return;
        }
        let end_unix_us = self.unix_us(sample.ended_ns);
        if self.aggregate.is_some() {
            self.close_intervals(end_unix_us);
            self.add_to_interval(sample);
        } else {
            let line = TransactionLine {
                client,
                number,
                outcome: log_outcome(sample),
                script: u32::from(sample.kind),
                end_unix_us,
                lag_us: lag_ns(sample) / 1000,
                retries: sample.retries,
            };
            self.format.write_transaction(&mut self.buffer, &line);
        }
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush();
        }
    }

    /// Formats the lines of all intervals that ended until this time.
    fn close_intervals(&mut self, unix_us: u64) {
        let Some(aggregate) = &mut self.aggregate else {
            return;
        };
        loop {
            let line = &aggregate.line;
            let next_us = line.start_unix_s * 1_000_000 + aggregate.interval_us;
            if next_us > unix_us {
                return;
            }
            self.format.write_aggregate(&mut self.buffer, line);
            aggregate.line = AggregateLine {
                start_unix_s: next_us / 1_000_000,
                ..AggregateLine::default()
            };
        }
    }

    fn add_to_interval(&mut self, sample: &Sample) {
        let Some(Aggregate { line, .. }) = &mut self.aggregate else {
            return;
        };
        line.retried += u64::from(sample.retries > 0);
        line.retries += u64::from(sample.retries);
        match log_outcome(sample) {
            LogOutcome::Latency(_) => {
                line.succeeded += 1;
                // Round down to whole microseconds, the unit of pgbench's clock.
                line.latency.add((sample.response_ns() / 1000) as f64);
                line.lag.add((lag_ns(sample) / 1000) as f64);
            }
            LogOutcome::Skipped => line.skipped += 1,
            LogOutcome::Serialization => line.serialization_failures += 1,
            LogOutcome::Deadlock => line.deadlock_failures += 1,
            LogOutcome::OtherFailure => line.other_failures += 1,
        }
    }

    fn flush(&mut self) {
        let result = self.out.write_all(&self.buffer);
        self.buffer.clear();
        if let Err(error) = result {
            self.write_error.get_or_insert(error);
        }
    }

    /// Writes the remaining lines. `end_ns`: the end of the run, on its clock.
    ///
    /// # Errors
    /// The first write error.
    pub fn finish(mut self, end_ns: u64) -> io::Result<()> {
        self.close_intervals(self.unix_us(end_ns));
        self.flush();
        let flushed = self.out.flush();
        self.write_error.map_or(flushed, Err)
    }
}

fn lag_ns(sample: &Sample) -> u64 {
    match sample.outcome {
        // pgbench does not measure the lag of skipped and failed transactions.
        Outcome::Skipped | Outcome::Failed(..) => 0,
        _ => sample.started_ns.saturating_sub(sample.scheduled_ns),
    }
}

fn log_outcome(sample: &Sample) -> LogOutcome {
    match sample.outcome {
        Outcome::Committed | Outcome::RolledBack => {
            LogOutcome::Latency(sample.response_ns() / 1000)
        }
        Outcome::Skipped => LogOutcome::Skipped,
        Outcome::Failed(ErrorClass::Serialization, _) => LogOutcome::Serialization,
        Outcome::Failed(ErrorClass::Deadlock, _) => LogOutcome::Deadlock,
        Outcome::Failed(..) => LogOutcome::OtherFailure,
    }
}
