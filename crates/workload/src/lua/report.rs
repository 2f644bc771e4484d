//! Reports that a script makes itself.
//!
//! In: the figures of an interval, or of the whole. Out: what the script writes, to the listener. Must
//! never: be called from a worker.

use super::help::Refused;
use super::script::{Front, wrong};

/// The figures of a report, as scripts see them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Threads that run.
    pub threads_running: u32,
    /// Length of the interval, seconds.
    pub time_interval_s: f64,
    /// Since the start, seconds.
    pub time_total_s: f64,
    /// The percentile asked for of the latency, seconds.
    pub latency_pct_s: f64,
    /// Events that ended.
    pub events: u64,
    /// Queries that gave rows.
    pub reads: u64,
    /// Queries that changed rows.
    pub writes: u64,
    /// All other queries.
    pub other: u64,
    /// Errors that were ignored.
    pub errors: u64,
    /// Connections that were opened anew.
    pub reconnects: u64,
    /// Of an interval: events that wait and events under way, 0 without a rate.
    pub queue: Option<(u64, u64)>,
    /// Of the whole: least, most, mean and sum of the latency, seconds.
    pub latency_s: Option<[f64; 4]>,
}

/// The state in which a script's reports run.
pub struct Reporter {
    front: Front,
    intermediate: bool,
    cumulative: bool,
}

impl Reporter {
    pub(super) fn new(front: Front) -> Result<Option<Reporter>, Refused> {
        let has = |name: &str| {
            let values = front.call("has_hook", name)?;
            Ok(values.front().and_then(mlua::Value::as_boolean) == Some(true))
        };
        let (intermediate, cumulative) = (has("report_intermediate")?, has("report_cumulative")?);
        Ok((intermediate || cumulative).then_some(Reporter {
            front,
            intermediate,
            cumulative,
        }))
    }

    /// Whether the script makes the reports of intervals itself.
    pub fn has_intermediate(&self) -> bool {
        self.intermediate
    }

    /// Whether the script makes the report of the whole, and of checkpoints, itself.
    pub fn has_cumulative(&self) -> bool {
        self.cumulative
    }

    /// The report of an interval.
    ///
    /// # Errors
    /// The script's function gave up.
    pub fn intermediate(&self, figures: &Figures) -> Result<(), Refused> {
        self.report("report_intermediate", figures)
    }

    /// The report of the whole, or of a checkpoint.
    ///
    /// # Errors
    /// The script's function gave up.
    pub fn cumulative(&self, figures: &Figures) -> Result<(), Refused> {
        self.report("report_cumulative", figures)
    }

    /// No report follows: what has to be closed is closed.
    ///
    /// # Errors
    /// The script's state is of no use any more.
    pub fn end(&self) -> Result<(), Refused> {
        self.front.call("reports_end", mlua::Nil).map(drop)
    }

    fn report(&self, name: &str, figures: &Figures) -> Result<(), Refused> {
        let lua = &self.front.state.lua;
        let table = || {
            let stat = lua.create_table()?;
            stat.raw_set("threads_running", figures.threads_running)?;
            stat.raw_set("time_interval", figures.time_interval_s)?;
            stat.raw_set("time_total", figures.time_total_s)?;
            stat.raw_set("latency_pct", figures.latency_pct_s)?;
            stat.raw_set("events", figures.events)?;
            stat.raw_set("reads", figures.reads)?;
            stat.raw_set("writes", figures.writes)?;
            stat.raw_set("other", figures.other)?;
            stat.raw_set("errors", figures.errors)?;
            stat.raw_set("reconnects", figures.reconnects)?;
            if let Some((length, concurrency)) = figures.queue {
                stat.raw_set("queue_length", length)?;
                stat.raw_set("concurrency", concurrency)?;
            }
            if let Some([least, most, mean, sum]) = figures.latency_s {
                stat.raw_set("latency_min", least)?;
                stat.raw_set("latency_max", most)?;
                stat.raw_set("latency_avg", mean)?;
                stat.raw_set("latency_sum", sum)?;
            }
            stat.raw_set("hook", name)?;
            Ok(stat)
        };
        let stat = table().map_err(|error: mlua::Error| wrong(&error))?;
        self.front.call("report", stat).map(drop)
    }
}
