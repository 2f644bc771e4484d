//! The lines of `--report-interval`.
//!
//! In: counts since the line before. Out: text, at [`super::Level::Notice`]. Must never: divide by the
//! interval that was asked for: the real one counts.

/// Counts over some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Events that ended well.
    pub events: u64,
    /// Queries whose result is rows.
    pub reads: u64,
    /// Queries that changed rows.
    pub writes: u64,
    /// All other queries.
    pub others: u64,
    /// Errors after which an event started anew.
    pub errors: u64,
    /// Connections that were opened again.
    pub reconnects: u64,
}

impl std::ops::Add for Counters {
    type Output = Counters;

    fn add(self, more: Counters) -> Counters {
        Counters {
            events: self.events + more.events,
            reads: self.reads + more.reads,
            writes: self.writes + more.writes,
            others: self.others + more.others,
            errors: self.errors + more.errors,
            reconnects: self.reconnects + more.reconnects,
        }
    }
}

impl Counters {
    /// Queries of any sort.
    pub fn queries(&self) -> u64 {
        self.reads
            .saturating_add(self.writes)
            .saturating_add(self.others)
    }
}

/// The queue of `--rate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Events that wait.
    pub length: u64,
    /// Events under way.
    pub concurrency: u64,
}

/// What a line tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Since the start, s.
    pub at_s: u64,
    /// Threads that run.
    pub threads: u32,
    /// Whether a database was spoken to.
    pub sql: bool,
    /// Since the line before.
    pub counters: Counters,
    /// The time since the line before, s.
    pub interval_s: f64,
    /// `--percentile`.
    pub percentile: u8,
    /// That percentile of latency since the line before, ms.
    pub latency_ms: f64,
    /// With `--rate`.
    pub queue: Option<Queue>,
}

/// A count per second; 0 where no time passed.
pub(crate) fn per_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        count as f64 / seconds
    } else {
        0.0
    }
}

/// The line, and that of the queue.
pub fn progress(progress: &Progress) -> String {
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
    let mut text = if progress.sql {
        format!(
            "[ {at_s}s ] thds: {threads} tps: {tps:4.2} qps: {:4.2} (r/w/o: {:4.2}/{:4.2}/{:4.2}) {latency} err/s: {:4.2} reconn/s: {:4.2}\n",
            rate(counters.queries()),
            rate(counters.reads),
            rate(counters.writes),
            rate(counters.others),
            rate(counters.errors),
            rate(counters.reconnects),
        )
    } else {
        format!("[ {at_s}s ] thds: {threads} eps: {tps:4.2} {latency}\n")
    };
    if let Some(queue) = progress.queue {
        let comma = if progress.sql { "," } else { "" };
        text += &format!(
            "[ {at_s}s ] queue length: {}{comma} concurrency: {}\n",
            queue.length, queue.concurrency
        );
    }
    text
}
