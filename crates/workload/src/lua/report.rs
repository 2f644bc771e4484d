//! Reports that a script prints: its hooks get the figures of an interval or of the whole run, and write to the
//! listener. Must never run on a worker, because a hook blocks the thread.

use super::script::{LuaScriptError, OutsideState, script_error};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReportFigures {
    pub threads_running: u32,
    /// Length of the interval, in seconds.
    pub time_interval_s: f64,
    /// Time since the start, in seconds.
    pub time_total_s: f64,
    /// The requested percentile of the latency, in seconds.
    pub latency_percentile_s: f64,
    pub events: u64,
    /// Queries that returned rows.
    pub reads: u64,
    /// Queries that changed rows.
    pub writes: u64,
    pub others: u64,
    /// Errors of statements, ignored or not.
    pub errors: u64,
    pub reconnects: u64,
    /// Waiting and running events, in the report of an interval; 0 without a rate.
    pub waiting_and_running: Option<(u64, u64)>,
    /// Minimum, maximum, mean and sum of the latency in seconds, in the report of the whole run.
    pub latency_min_max_mean_sum_s: Option<[f64; 4]>,
}

/// The function of a script that prints reports of intervals.
pub const INTERMEDIATE_HOOK: &str = "report_intermediate";
/// The function of a script that prints checkpoint reports and the final report.
pub const CUMULATIVE_HOOK: &str = "report_cumulative";

/// A Lua state in which a hook of a script prints reports.
pub struct Reporter {
    pub(super) state: OutsideState,
    pub(super) hook: &'static str,
}

impl Reporter {
    pub fn print(&self, figures: &ReportFigures) -> Result<(), LuaScriptError> {
        call_hook(&self.state, self.hook, figures)
    }

    /// Prints the end of the reports: the closing bracket, if they are a JSON list. Call it after the last
    /// report.
    pub fn end_reports(&self) -> Result<(), LuaScriptError> {
        end_reports(&self.state)
    }
}

pub(super) fn has_hook(state: &OutsideState, name: &str) -> Result<bool, LuaScriptError> {
    let values = state.call("has_hook", name)?;
    Ok(values.front().and_then(mlua::Value::as_boolean) == Some(true))
}

/// Prints the end of the reports: the closing bracket, if they are a JSON list.
pub(super) fn end_reports(state: &OutsideState) -> Result<(), LuaScriptError> {
    state.call("end_reports", mlua::Nil).map(drop)
}

/// Calls the hook `name` with the figures.
pub(super) fn call_hook(
    state: &OutsideState,
    name: &str,
    figures: &ReportFigures,
) -> Result<(), LuaScriptError> {
    let lua = &state.state.lua;
    let create_stat = || {
        let stat = lua.create_table()?;
        stat.raw_set("threads_running", figures.threads_running)?;
        stat.raw_set("time_interval", figures.time_interval_s)?;
        stat.raw_set("time_total", figures.time_total_s)?;
        stat.raw_set("latency_pct", figures.latency_percentile_s)?;
        stat.raw_set("events", figures.events)?;
        stat.raw_set("reads", figures.reads)?;
        stat.raw_set("writes", figures.writes)?;
        stat.raw_set("other", figures.others)?;
        stat.raw_set("errors", figures.errors)?;
        stat.raw_set("reconnects", figures.reconnects)?;
        if let Some((length, concurrency)) = figures.waiting_and_running {
            stat.raw_set("queue_length", length)?;
            stat.raw_set("concurrency", concurrency)?;
        }
        if let Some([min, max, mean, sum]) = figures.latency_min_max_mean_sum_s {
            stat.raw_set("latency_min", min)?;
            stat.raw_set("latency_max", max)?;
            stat.raw_set("latency_avg", mean)?;
            stat.raw_set("latency_sum", sum)?;
        }
        stat.raw_set("hook", name)?;
        Ok(stat)
    };
    let stat = create_stat().map_err(|error: mlua::Error| script_error(&error))?;
    state.call("call_report_hook", stat).map(drop)
}
