//! The reports at the end of a run and at checkpoints, at [`super::LogLevel::Notice`].
//!
//! Must never: measure, or omit a line.

use super::compat::Compat;
use super::histogram::Histogram;
use super::progress::{Counters, per_second};

/// Exact figures of latency, in ms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Latency {
    pub min_ms: f64,
    pub avg_ms: f64,
    pub max_ms: f64,
    pub sum_ms: f64,
}

/// How evenly events are distributed over threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fairness {
    /// The mean number of events per thread.
    pub events_avg: f64,
    /// The standard deviation of the number of events.
    pub events_stddev: f64,
    /// The mean time that a thread spent in events, in seconds.
    pub time_avg_s: f64,
    /// The standard deviation of that time, in seconds.
    pub time_stddev_s: f64,
}

impl Fairness {
    /// Computes the fairness from the number of events of each thread and the seconds spent in them.
    pub fn from_threads(threads: &[(u64, f64)]) -> Self {
        let events: Vec<f64> = threads.iter().map(|(events, _)| *events as f64).collect();
        let times_s: Vec<f64> = threads.iter().map(|(_, time_s)| *time_s).collect();
        let (events_avg, events_stddev) = mean_and_stddev(&events);
        let (time_avg_s, time_stddev_s) = mean_and_stddev(&times_s);
        Fairness {
            events_avg,
            events_stddev,
            time_avg_s,
            time_stddev_s,
        }
    }
}

/// The mean and the population standard deviation; 0 without values.
fn mean_and_stddev(values: &[f64]) -> (f64, f64) {
    if values.is_empty() {
        return (0.0, 0.0);
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean).powi(2));
    (mean, (squares.sum::<f64>() / count).sqrt())
}

/// The figures of a report, of the whole run or since the last checkpoint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report<'a> {
    pub uses_database: bool,
    pub counters: Counters,
    /// The time that the counts cover, in seconds; rates divide by it.
    pub interval_s: f64,
    /// Seconds since the start.
    pub total_s: f64,
    pub latency: Latency,
    /// `--percentile`; 0 means none.
    pub percentile: u8,
    /// The latency at that percentile in ms, from [`Histogram::percentile_ms`].
    pub percentile_ms: f64,
    pub histogram: Option<&'a Histogram>,
    pub fairness: Fairness,
    /// With `--forced-shutdown`: the number of events in flight.
    pub unfinished: Option<u64>,
}

/// The report exactly as this version of sysbench prints it.
pub fn report_text(report: &Report<'_>, compat: Compat) -> String {
    let mut text = report.histogram.map(Histogram::block).unwrap_or_default();
    if report.uses_database {
        text += &sql_block(&report.counters, report.interval_s);
    }
    text.push('\n');
    if let Some(unfinished) = report.unfinished {
        text += &format!("Number of unfinished transactions on forced shutdown: {unfinished}\n\n");
    }
    text += &general_block(report, compat);
    text += &latency_block(report);
    let Fairness {
        events_avg,
        events_stddev,
        time_avg_s,
        time_stddev_s,
    } = report.fairness;
    text += &format!(
        "Threads fairness:
    events (avg/stddev):           {events_avg:.4}/{events_stddev:3.2}
    execution time (avg/stddev):   {time_avg_s:.4}/{time_stddev_s:3.2}

"
    );
    text
}

/// The report of a checkpoint at `at_s` seconds from the start.
pub fn checkpoint_text(at_s: u64, figures: &Report<'_>, compat: Compat) -> String {
    checkpoint_header(at_s) + &report_text(figures, compat)
}

/// The header of a checkpoint's report; scripts that print a report use it too.
pub fn checkpoint_header(at_s: u64) -> String {
    format!("[ {at_s}s ] Checkpoint report:\n")
}

fn sql_block(counters: &Counters, interval_s: f64) -> String {
    let queries = &counters.queries;
    let with_rate = |count: u64| {
        let rate = per_second(count, interval_s);
        format!("{count:<6} ({rate:.2} per sec.)")
    };
    format!(
        "SQL statistics:
    queries performed:
        read:                            {}
        write:                           {}
        other:                           {}
        total:                           {}
    transactions:                        {}
    queries:                             {}
    ignored errors:                      {}
    reconnects:                          {}
",
        queries.reads,
        queries.writes,
        queries.others,
        queries.all(),
        with_rate(counters.events),
        with_rate(queries.all()),
        with_rate(queries.ignored_errors),
        with_rate(queries.reconnects),
    )
}

fn general_block(report: &Report<'_>, compat: Compat) -> String {
    let events = report.counters.events;
    match compat {
        Compat::V1_0 => format!(
            "General statistics:
    total time:                          {:.4}s
    total number of events:              {events}

",
            report.total_s
        ),
        Compat::V1_1 => format!(
            "Throughput:
    events/s (eps):                      {:.4}
    time elapsed:                        {:.4}s
    total number of events:              {events}

",
            per_second(events, report.interval_s),
            report.total_s
        ),
    }
}

fn latency_block(report: &Report<'_>) -> String {
    let Latency {
        min_ms,
        avg_ms,
        max_ms,
        sum_ms,
    } = report.latency;
    let percentile = match report.percentile {
        0 => "         percentile stats:               disabled".to_owned(),
        percent => format!(
            "        {percent:3}th percentile: {:27.2}",
            report.percentile_ms
        ),
    };
    format!(
        "Latency (ms):
         min: {min_ms:39.2}
         avg: {avg_ms:39.2}
         max: {max_ms:39.2}
{percentile}
         sum: {sum_ms:39.2}

"
    )
}
