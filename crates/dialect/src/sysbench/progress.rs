//! The lines of `--report-interval`, at [`super::LogLevel::Notice`].
//!
//! In: counts since the previous line. Out: a line. Must never: divide by the configured interval, because
//! the actual interval may be longer.

use prony_measure::QueryCounts;

/// Events that have ended, and their queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub events: u64,
    pub queries: QueryCounts,
}

/// The queue of `--rate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueState {
    /// The number of events that wait.
    pub length: u64,
    /// The number of events in progress.
    pub concurrency: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Seconds since the start.
    pub at_s: u64,
    pub threads: u32,
    pub uses_database: bool,
    /// Counts since the previous line.
    pub counters: Counters,
    /// Seconds since the previous line.
    pub interval_s: f64,
    pub percentile: u8,
    /// The latency at that percentile since the previous line, in ms.
    pub latency_ms: f64,
    /// The queue, with `--rate`.
    pub queue: Option<QueueState>,
}

/// Converts a count to a rate per second; 0 if no time has passed.
pub(crate) fn per_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

/// The line, followed by the queue's line if there is one.
pub fn progress_text(progress: &Progress) -> String {
    let Progress {
        at_s,
        threads,
        counters,
        percentile,
        latency_ms,
        ..
    } = *progress;
    let rate = |count| per_second(count, progress.interval_s);
    let tps = rate(counters.events);
    let latency = format!("lat (ms,{percentile}%): {latency_ms:4.2}");
    let mut text = if progress.uses_database {
        format!(
            "[ {at_s}s ] thds: {threads} tps: {tps:4.2} qps: {:4.2} (r/w/o: {:4.2}/{:4.2}/{:4.2}) {latency} err/s: {:4.2} reconn/s: {:4.2}\n",
            rate(counters.queries.all()),
            rate(counters.queries.reads),
            rate(counters.queries.writes),
            rate(counters.queries.others),
            rate(counters.queries.ignored_errors),
            rate(counters.queries.reconnects),
        )
    } else {
        format!("[ {at_s}s ] thds: {threads} eps: {tps:4.2} {latency}\n")
    };
    if let Some(queue) = progress.queue {
        let comma = if progress.uses_database { "," } else { "" };
        text += &format!(
            "[ {at_s}s ] queue length: {}{comma} concurrency: {}\n",
            queue.length, queue.concurrency
        );
    }
    text
}
