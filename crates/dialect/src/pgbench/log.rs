//! Formats the lines of `-l` files.
//!
//! In: a transaction, or the sums of an interval. Out: a line, appended to the caller's buffer. Must never:
//! allocate after the buffer has grown, because each transaction prints a line.

use super::level::Level;
use super::moments::Moments;

/// The name of a thread's log file: `PREFIX.PID` for the first thread, `PREFIX.PID.THREAD` for further
/// threads.
pub fn log_path(prefix: &str, pid: u32, thread: u32) -> String {
    match thread {
        0 => format!("{prefix}.{pid}"),
        _ => format!("{prefix}.{pid}.{thread}"),
    }
}

/// The outcome of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogOutcome {
    /// It succeeded; latency in µs.
    Latency(u64),
    /// It never started.
    Skipped,
    /// It failed with a serialization error.
    Serialization,
    /// It failed with a deadlock.
    Deadlock,
    /// It failed with a different error. pgbench counts such failures from level 19 on.
    OtherFailure,
}

/// A transaction's line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionLine {
    /// The client's number, from 0.
    pub client: u32,
    /// The transaction's number among those of its client, from 1; skipped and failed ones count too.
    pub number: u64,
    pub outcome: LogOutcome,
    /// The script's number, from 0.
    pub script: u32,
    /// The end, in µs of Unix time.
    pub end_unix_us: u64,
    /// How late the transaction started, in µs.
    pub lag_us: u64,
    /// Tries after the first.
    pub retries: u32,
}

/// An interval's line: sums over the transactions that ended in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AggregateLine {
    /// Start of the interval, in seconds of Unix time.
    pub start_unix_s: u64,
    /// Successful transactions.
    pub succeeded: u64,
    /// Latencies of successful transactions.
    pub latency: Moments,
    /// Lags of successful transactions.
    pub lag: Moments,
    /// Skipped transactions.
    pub skipped: u64,
    /// Transactions tried more than once.
    pub retried: u64,
    /// Tries after the first.
    pub retries: u64,
    /// Transactions that failed with serialization errors.
    pub serialization_failures: u64,
    /// Transactions that failed with deadlocks.
    pub deadlock_failures: u64,
    /// Transactions that failed with other errors.
    pub other_failures: u64,
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
    pub fn new(
        level: &Level,
        rate_limited: bool,
        latency_limited: bool,
        max_tries: u32,
        failures_detailed: bool,
    ) -> Self {
        Self {
            major: level.major(),
            rate_limited,
            latency_limited,
            shows_retries: max_tries != 1,
            failures_detailed,
        }
    }

    /// Appends a transaction's line.
    pub fn write_transaction(&self, out: &mut Vec<u8>, line: &TransactionLine) {
        put_number(out, u64::from(line.client));
        put_field(out, line.number);
        out.push(b' ');
        match line.outcome {
            LogOutcome::Latency(latency_us) => put_number(out, latency_us),
            other => out.extend_from_slice(self.failure_text(other).as_bytes()),
        }
        put_field(out, u64::from(line.script));
        put_field(out, line.end_unix_us / 1_000_000);
        put_field(out, line.end_unix_us % 1_000_000);
        if self.rate_limited {
            put_field(out, line.lag_us);
        }
        if self.shows_retries && self.major >= 15 {
            put_field(out, u64::from(line.retries));
        }
        out.push(b'\n');
    }

    fn failure_text(&self, outcome: LogOutcome) -> &'static str {
        match outcome {
            LogOutcome::Skipped => "skipped",
            _ if !self.failures_detailed => "failed",
            LogOutcome::Serialization => "serialization",
            LogOutcome::Deadlock => "deadlock",
            _ => "other",
        }
    }

    /// Appends an interval's line. pgbench prints no line for the last, unfinished interval.
    pub fn write_aggregate(&self, out: &mut Vec<u8>, line: &AggregateLine) {
        let since_15 = self.major >= 15;
        put_number(out, line.start_unix_s);
        // Up to level 14, the count includes skipped transactions.
        let skipped = if since_15 { 0 } else { line.skipped };
        put_field(out, line.succeeded + skipped);
        put_moments(out, &line.latency);
        if since_15 || self.rate_limited {
            let zero = Moments::default();
            put_moments(out, if self.rate_limited { &line.lag } else { &zero });
        }
        if since_15 || (self.rate_limited && self.latency_limited) {
            put_field(
                out,
                if self.latency_limited {
                    line.skipped
                } else {
                    0
                },
            );
        }
        if since_15 {
            let value_if = |on: bool, value: u64| if on { value } else { 0 };
            put_field(out, value_if(self.shows_retries, line.retried));
            put_field(out, value_if(self.shows_retries, line.retries));
            put_field(
                out,
                value_if(self.failures_detailed, line.serialization_failures),
            );
            put_field(
                out,
                value_if(self.failures_detailed, line.deadlock_failures),
            );
            if self.major >= 19 {
                put_field(out, value_if(self.failures_detailed, line.other_failures));
            }
        }
        out.push(b'\n');
    }
}

/// Appends a number.
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
        use std::io::Write;
        write!(out, " {value:.0}").expect("writing to memory cannot fail");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(major: u16, rate: bool, limit: bool, tries: u32, detailed: bool) -> LogFormat {
        LogFormat::new(
            &Level::of_major(major).unwrap(),
            rate,
            limit,
            tries,
            detailed,
        )
    }

    fn transaction(format: LogFormat, outcome: LogOutcome) -> String {
        let mut out = Vec::new();
        let line = TransactionLine {
            client: 3,
            number: 1,
            outcome,
            script: 0,
            end_unix_us: 1_795_211_482_000_042,
            lag_us: 7,
            retries: 2,
        };
        format.write_transaction(&mut out, &line);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn transaction_lines_match_pgbench() {
        let plain = format(15, false, false, 1, false);
        assert_eq!(
            transaction(plain, LogOutcome::Latency(912)),
            "3 1 912 0 1795211482 42\n"
        );
        assert_eq!(
            transaction(plain, LogOutcome::Deadlock),
            "3 1 failed 0 1795211482 42\n"
        );
        let full = format(15, true, true, 3, true);
        assert_eq!(
            transaction(full, LogOutcome::Skipped),
            "3 1 skipped 0 1795211482 42 7 2\n"
        );
        assert_eq!(
            transaction(full, LogOutcome::Serialization),
            "3 1 serialization 0 1795211482 42 7 2\n"
        );
        let old = format(13, true, true, 1, false);
        assert_eq!(
            transaction(old, LogOutcome::Latency(5)),
            "3 1 5 0 1795211482 42 7\n"
        );
    }

    #[test]
    fn aggregate_columns_depend_on_level_and_options() {
        let mut line = AggregateLine {
            start_unix_s: 100,
            succeeded: 2,
            skipped: 1,
            retried: 1,
            other_failures: 4,
            ..AggregateLine::default()
        };
        line.latency.add(10.0);
        line.latency.add(30.0);
        line.lag.add(1.0);
        let text = |format: LogFormat| {
            let mut out = Vec::new();
            format.write_aggregate(&mut out, &line);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            text(format(15, false, false, 1, false)),
            "100 2 40 1000 10 30 0 0 0 0 0 0 0 0 0\n"
        );
        assert_eq!(
            text(format(15, true, true, 2, true)),
            "100 2 40 1000 10 30 1 1 1 1 1 1 0 0 0\n"
        );
        assert_eq!(
            text(format(19, true, true, 2, true)),
            "100 2 40 1000 10 30 1 1 1 1 1 1 0 0 0 4\n"
        );
        assert_eq!(
            text(format(13, false, false, 1, false)),
            "100 3 40 1000 10 30\n"
        );
        assert_eq!(
            text(format(14, true, false, 1, false)),
            "100 3 40 1000 10 30 1 1 1 1\n"
        );
        assert_eq!(
            text(format(14, true, true, 1, false)),
            "100 3 40 1000 10 30 1 1 1 1 1\n"
        );
    }

    #[test]
    fn log_files_are_named_after_process_and_thread() {
        assert_eq!(log_path("pgbench_log", 12, 0), "pgbench_log.12");
        assert_eq!(log_path("x/y", 12, 3), "x/y.12.3");
    }
}
