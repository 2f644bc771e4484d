//! The files of `-l`, one for each thread.
//!
//! In: samples. Out: lines. Must never: allocate for a transaction after the buffer has grown, or write to the file for
//! each transaction.

use super::level::Level;
use super::moments::Moments;
use super::options::{LogOptions, RunOptions};
use super::report::Counts;
use prony_measure::{ErrorClass, Outcome, Sample};
use prony_workload::random::Random;
use std::io::{self, Write};

/// The size at which the buffer is written to the file.
const BUFFER_BYTES: usize = 64 * 1024;

/// The name of a thread's log file: `PREFIX.PID` for the first thread, `PREFIX.PID.THREAD` for further
/// threads.
pub fn log_path(prefix: &str, pid: u32, thread: u32) -> String {
    match thread {
        0 => format!("{prefix}.{pid}"),
        _ => format!("{prefix}.{pid}.{thread}"),
    }
}

/// Formats the lines of a log, with the columns that level and options require.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogFormat {
    major: u16,
    rate_limited: bool,
    latency_limited: bool,
    shows_retries: bool,
    failures_detailed: bool,
}

impl LogFormat {
    /// The format for a level and the options `-R`, `-L`, `--max-tries` and `--failures-detailed`.
    pub fn new(level: &Level, options: &RunOptions) -> Self {
        Self {
            major: level.major(),
            rate_limited: options.rate_tps.is_some(),
            latency_limited: options.latency_limit_us.is_some(),
            shows_retries: options.max_tries != 1,
            failures_detailed: options.failures_detailed,
        }
    }

    /// Appends the line of a transaction that ended at this Unix time. `number`: its number among those of its client,
    /// from 1; skipped and failed ones count too.
    pub fn write_transaction(
        &self,
        out: &mut Vec<u8>,
        client: u32,
        number: u64,
        sample: &Sample,
        end_unix_us: u64,
    ) {
        put_number(out, u64::from(client));
        put_field(out, number);
        out.push(b' ');
        match sample.outcome {
            Outcome::Committed | Outcome::RolledBack => {
                put_number(out, sample.response_ns() / 1000);
            }
            Outcome::Skipped => out.extend_from_slice(b"skipped"),
            Outcome::Failed(class, _) => {
                let text = match class {
                    _ if !self.failures_detailed => "failed",
                    ErrorClass::Serialization => "serialization",
                    ErrorClass::Deadlock => "deadlock",
                    _ => "other",
                };
                out.extend_from_slice(text.as_bytes());
            }
        }
        put_field(out, u64::from(sample.kind));
        put_field(out, end_unix_us / 1_000_000);
        put_field(out, end_unix_us % 1_000_000);
        if self.rate_limited {
            put_field(out, lag_us(sample));
        }
        if self.shows_retries && self.major >= 15 {
            put_field(out, u64::from(sample.retries));
        }
        out.push(b'\n');
    }

    /// Appends the line of the interval that started at this second of Unix time: sums over the transactions that ended
    /// in it. pgbench prints no line for the last, unfinished interval.
    pub fn write_interval(&self, out: &mut Vec<u8>, start_unix_s: u64, counts: &Counts) {
        let since_15 = self.major >= 15;
        let value_if = |on: bool, value: u64| if on { value } else { 0 };
        put_number(out, start_unix_s);
        // Up to level 14, the count includes skipped transactions.
        put_field(out, counts.succeeded + value_if(!since_15, counts.skipped));
        put_moments(out, &counts.latency);
        if since_15 || self.rate_limited {
            let lag = self.rate_limited.then_some(counts.lag);
            put_moments(out, &lag.unwrap_or_default());
        }
        if since_15 || (self.rate_limited && self.latency_limited) {
            put_field(out, value_if(self.latency_limited, counts.skipped));
        }
        if since_15 {
            put_field(out, value_if(self.shows_retries, counts.retried));
            put_field(out, value_if(self.shows_retries, counts.retries));
            let failures = [
                counts.serialization_failures,
                counts.deadlock_failures,
                counts.other_failures,
            ];
            // pgbench counts other failures from level 19 on.
            let shown = if self.major >= 19 { 3 } else { 2 };
            for count in &failures[..shown] {
                put_field(out, value_if(self.failures_detailed, *count));
            }
        }
        out.push(b'\n');
    }
}

fn put_number(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends a blank and a number.
fn put_field(out: &mut Vec<u8>, value: u64) {
    out.push(b' ');
    put_number(out, value);
}

/// Appends sum, sum of squares, minimum and maximum, in whole µs.
fn put_moments(out: &mut Vec<u8>, moments: &Moments) {
    for value in [
        moments.sum_us,
        moments.sum_of_squares_us2,
        moments.min_us,
        moments.max_us,
    ] {
        write!(out, " {value:.0}").expect("writing to memory cannot fail");
    }
}

/// How late a transaction started, in µs. pgbench does not measure the lag of skipped and failed transactions.
fn lag_us(sample: &Sample) -> u64 {
    match sample.outcome {
        Outcome::Skipped | Outcome::Failed(..) => 0,
        _ => sample.started_ns.saturating_sub(sample.scheduled_ns) / 1000,
    }
}

/// Writes the log of one thread.
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
    /// The first error of a write, which `finish` returns.
    write_error: Option<io::Error>,
}

/// The current interval of `--aggregate-interval`.
struct Aggregate {
    interval_us: u64,
    start_unix_s: u64,
    counts: Counts,
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
            format: LogFormat::new(level, options),
            first_client: clients.start,
            transaction_counts: vec![0; clients.len()],
            epoch_shift_ns: 0,
            sampling: log.sampling_rate.map(|rate| (rate, sampling_random)),
            aggregate: log.aggregate_interval_s.map(|interval_s| Aggregate {
                interval_us: u64::from(interval_s) * 1_000_000,
                start_unix_s: 0,
                counts: Counts::default(),
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
            aggregate.start_unix_s = start_us / 1_000_000;
        }
    }

    fn unix_us(&self, time_ns: u64) -> u64 {
        let unix_ns = i128::from(time_ns) + i128::from(self.epoch_shift_ns);
        u64::try_from(unix_ns / 1000).unwrap_or(0)
    }

    /// Adds a transaction that has ended. Writes to the file only when the buffer is full.
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
            let buffer = &mut self.buffer;
            self.format
                .write_transaction(buffer, client, number, sample, end_unix_us);
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
            let start_unix_s = aggregate.start_unix_s;
            let next_us = start_unix_s * 1_000_000 + aggregate.interval_us;
            if next_us > unix_us {
                return;
            }
            let counts = std::mem::take(&mut aggregate.counts);
            self.format
                .write_interval(&mut self.buffer, start_unix_s, &counts);
            aggregate.start_unix_s = next_us / 1_000_000;
        }
    }

    fn add_to_interval(&mut self, sample: &Sample) {
        let Some(Aggregate { counts, .. }) = &mut self.aggregate else {
            return;
        };
        counts.retried += u64::from(sample.retries > 0);
        counts.retries += u64::from(sample.retries);
        match sample.outcome {
            Outcome::Committed | Outcome::RolledBack => {
                counts.succeeded += 1;
                // Round down to whole microseconds, the unit of pgbench's clock.
                counts.latency.add((sample.response_ns() / 1000) as f64);
                counts.lag.add(lag_us(sample) as f64);
            }
            Outcome::Skipped => counts.skipped += 1,
            Outcome::Failed(ErrorClass::Serialization, _) => counts.serialization_failures += 1,
            Outcome::Failed(ErrorClass::Deadlock, _) => counts.deadlock_failures += 1,
            Outcome::Failed(..) => counts.other_failures += 1,
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
    /// The first error of any write.
    pub fn finish(mut self, end_ns: u64) -> io::Result<()> {
        self.close_intervals(self.unix_us(end_ns));
        self.flush();
        let flushed = self.out.flush();
        self.write_error.map_or(flushed, Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(major: u16, rate: bool, limit: bool, tries: u32, detailed: bool) -> LogFormat {
        let options = RunOptions {
            rate_tps: rate.then_some(1.0),
            latency_limit_us: limit.then_some(1),
            max_tries: tries,
            failures_detailed: detailed,
            ..RunOptions::default()
        };
        LogFormat::new(&Level::of_major(major).unwrap(), &options)
    }

    #[test]
    fn transaction_lines_match_pgbench() {
        let line = |format: LogFormat, outcome: Outcome| {
            let sample = Sample {
                kind: 0,
                outcome,
                scheduled_ns: 0,
                started_ns: 7_000,
                ended_ns: 912_000,
                connect_ns: 0,
                retries: 2,
                parts: None,
            };
            let mut out = Vec::new();
            format.write_transaction(&mut out, 3, 1, &sample, 1_795_211_482_000_042);
            String::from_utf8(out).unwrap()
        };
        let failed = |class| Outcome::Failed(class, *b"40001");
        let plain = format(15, false, false, 1, false);
        let full = format(15, true, true, 3, true);
        let old = format(13, true, true, 1, false);
        let (deadlock, other) = (failed(ErrorClass::Deadlock), failed(ErrorClass::Other));
        let serialization = failed(ErrorClass::Serialization);
        for (format, outcome, expected) in [
            (plain, Outcome::Committed, "912 0 1795211482 42"),
            (plain, deadlock, "failed 0 1795211482 42"),
            (full, Outcome::Skipped, "skipped 0 1795211482 42 0 2"),
            (full, serialization, "serialization 0 1795211482 42 0 2"),
            (full, other, "other 0 1795211482 42 0 2"),
            (old, Outcome::Committed, "912 0 1795211482 42 7"),
        ] {
            assert_eq!(line(format, outcome), format!("3 1 {expected}\n"));
        }
    }

    #[test]
    fn columns_of_intervals_depend_on_level_and_options() {
        let mut counts = Counts {
            succeeded: 2,
            skipped: 1,
            retried: 1,
            other_failures: 4,
            ..Counts::default()
        };
        counts.latency.add(10.0);
        counts.latency.add(30.0);
        counts.lag.add(1.0);
        for (major, rate, limit, tries, detailed, expected) in [
            (
                15,
                false,
                false,
                1,
                false,
                "2 40 1000 10 30 0 0 0 0 0 0 0 0 0",
            ),
            (15, true, true, 2, true, "2 40 1000 10 30 1 1 1 1 1 1 0 0 0"),
            (
                19,
                true,
                true,
                2,
                true,
                "2 40 1000 10 30 1 1 1 1 1 1 0 0 0 4",
            ),
            (13, false, false, 1, false, "3 40 1000 10 30"),
            (14, true, false, 1, false, "3 40 1000 10 30 1 1 1 1"),
            (14, true, true, 1, false, "3 40 1000 10 30 1 1 1 1 1"),
        ] {
            let format = format(major, rate, limit, tries, detailed);
            let mut out = Vec::new();
            format.write_interval(&mut out, 100, &counts);
            assert_eq!(String::from_utf8(out).unwrap(), format!("100 {expected}\n"));
        }
    }

    #[test]
    fn log_files_are_named_after_process_and_thread() {
        assert_eq!(log_path("pgbench_log", 12, 0), "pgbench_log.12");
        assert_eq!(log_path("x/y", 12, 3), "x/y.12.3");
    }
}
