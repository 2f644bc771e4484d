//! One frame of the live view.
//!
//! In: the figures of the run so far, the size of the terminal. Out: lines that fit the terminal; the least
//! important lines are omitted if it has too few rows. Must never: return a line that the terminal would
//! wrap.

use super::RunOutline;
use super::minute::{LastMinute, MergeMode, SECONDS};
use crate::style::{Size, Style};
use crate::text::{ascii, cut, joined, plain};
use crate::units::{self, or_dash, time_or_dash};
use prony_store::{Second, SecondPhase, ServerSecond};

/// Width of a name and its figure before a chart, in characters.
const LABEL_WIDTH: usize = 16;
const MIN_BARS: usize = 10;
/// Width of the progress bar, in characters.
const PROGRESS_WIDTH: usize = 24;

/// The figures of the last minute of a run.
#[derive(Clone, Debug, Default)]
pub struct LiveState {
    pub failed: u64,
    tps: LastMinute,
    p50_ns: LastMinute,
    p99_ns: LastMinute,
    /// Of all transactions that ended; drawn once one failed.
    attempts_p99_ns: LastMinute,
    failures: LastMinute,
    cpu: LastMinute,
    /// Share of the server's CPUs in use in its last second.
    last_cpu_share: Option<f64>,
    /// The wait events of the server's sessions in its last second; absent until a session waits.
    waits: Option<String>,
}

impl LiveState {
    pub fn add_second(&mut self, second: &Second) {
        let (at_s, length_s) = (second.at_s, second.length_s);
        self.failed += second.failed;
        self.tps.add(at_s, length_s, Some(tps(second)));
        let as_figure = |ns: Option<u64>| ns.map(|ns| ns as f64);
        let p99_ns = RecentP99::of(second).ns;
        self.p50_ns.add(at_s, length_s, as_figure(second.p50_ns));
        self.p99_ns.add(at_s, length_s, as_figure(p99_ns));
        // If all committed, both populations are the same.
        let attempts_ns = second.attempts_p99_ns.or(p99_ns);
        self.attempts_p99_ns
            .add(at_s, length_s, as_figure(attempts_ns));
        let failed = Some(second.failed as f64);
        self.failures.add(at_s, length_s, failed);
    }

    pub fn add_server_second(&mut self, second: &ServerSecond) {
        self.last_cpu_share = second
            .machine
            .as_ref()
            .and_then(|machine| machine.busy_share);
        self.cpu
            .add(second.at_s, second.length_s, self.last_cpu_share);
        let mut waits: Vec<(&String, &u32)> = second.waits.iter().collect();
        waits.retain(|(name, _)| *name != ServerSecond::ON_CPU);
        waits.sort_by(|a, b| (b.1, a.0).cmp(&(a.1, b.0)));
        if !waits.is_empty() {
            let waits = waits.iter();
            let texts = waits.map(|(name, count)| format!("{} {count}", plain(name)));
            self.waits = Some(joined(texts, ", "));
        } else if self.waits.is_some() {
            // Keep the line, so that the number of lines does not change.
            self.waits = Some("none".to_owned());
        }
    }

    /// The lines of the frame after the second `last`.
    pub fn frame(
        &self,
        outline: &RunOutline,
        last: &Second,
        style: &Style,
        size: Size,
    ) -> Vec<String> {
        let width = size.columns.saturating_sub(1);
        let mut lines = vec![
            // Each line has a rank, by which lines go if the terminal has too few rows: the highest goes first.
            (7, cut(&plain(&outline.title), width)),
            (0, progress_line(outline, last, style, width)),
        ];
        let chart = MinuteChart {
            at_s: last.at_s + last.length_s / 2.0,
            width,
        };
        let (mean, worst) = (MergeMode::Mean, MergeMode::Worst);
        let current = units::rate(tps(last));
        let row = chart.row("TPS", &current, &self.tps, mean, units::rate);
        lines.push((1, row));
        // Before the first failure, the committed transactions are all.
        let population = if self.failed > 0 { " ok" } else { "" };
        let time_row = |name: &str, current_ns: Option<u64>, minute: &LastMinute| {
            let current = time_or_dash(current_ns);
            chart.row(name, &current, minute, worst, units::time)
        };
        let name = format!("p50{population}");
        lines.push((3, time_row(&name, last.p50_ns, &self.p50_ns)));
        let p99 = RecentP99::of(last);
        let window = p99.window_s.map_or(String::new(), |s| format!("/{s:.0} s"));
        let name = format!("p99{population}{window}");
        lines.push((2, time_row(&name, p99.ns, &self.p99_ns)));
        if self.failed > 0 {
            let attempts_ns = last.attempts_p99_ns.or(p99.ns);
            let row = time_row("p99 all", attempts_ns, &self.attempts_p99_ns);
            lines.push((5, row));
        }
        let failed = units::count(self.failed);
        let row = chart.row("failed", &failed, &self.failures, worst, units::whole);
        let is_failing = last.failed > 0;
        lines.push((4, if is_failing { style.alarm(&row) } else { row }));
        if self.last_cpu_share.is_some() || !self.cpu.is_empty() {
            let current = or_dash(self.last_cpu_share, units::percent);
            lines.push((6, chart.share_row("host CPU", &current, &self.cpu)));
        }
        if let Some(waits) = &self.waits {
            lines.push((8, cut(&format!(" waits      {waits}"), width)));
        }
        // Leave one line below for the cursor.
        while lines.len() + 1 > size.rows.max(2) {
            let Some(lowest) = lines.iter().map(|(rank, _)| *rank).max() else {
                break;
            };
            lines.retain(|(rank, _)| *rank != lowest);
        }
        let lines = lines.into_iter().map(|(_, line)| line);
        if style.unicode {
            lines.collect()
        } else {
            lines.map(|line| ascii_keeping_codes(&line)).collect()
        }
    }
}

/// The line in ASCII, with its escape codes unchanged.
fn ascii_keeping_codes(line: &str) -> String {
    joined(line.split('\x1b').map(ascii), "\x1b")
}

/// The 99th percentile of a second, and of earlier ones if it has too few transactions.
pub(super) struct RecentP99 {
    /// `None` if all of them have too few.
    pub ns: Option<u64>,
    /// The seconds that it covers; `None` if it is of this second alone.
    pub window_s: Option<f64>,
}

impl RecentP99 {
    pub fn of(second: &Second) -> RecentP99 {
        let (ns, window_s) = match (second.p99_ns, &second.rolling) {
            (None, Some(rolling)) => (Some(rolling.p99_ns), Some(rolling.length_s)),
            (p99_ns, _) => (p99_ns, None),
        };
        RecentP99 { ns, window_s }
    }
}

fn tps(second: &Second) -> f64 {
    second.committed as f64 / second.length_s.max(1e-9)
}

fn progress_line(outline: &RunOutline, last: &Second, style: &Style, width: usize) -> String {
    let now_s = last.at_s + last.length_s;
    let is_warmup = last.phase == SecondPhase::Warmup;
    let measured_s = (now_s - outline.warmup_s).max(0.0);
    let (part, elapsed_s, total_s) = if is_warmup {
        ("warm-up ", now_s, Some(outline.warmup_s))
    } else {
        ("", measured_s, outline.measured_s)
    };
    let position = match total_s {
        Some(total_s) => format!(
            "{part}{} of {}",
            units::span(elapsed_s.min(total_s).round()),
            units::span(total_s)
        ),
        None => units::span(elapsed_s.round()),
    };
    let total_s = total_s.filter(|total_s| *total_s > 0.0);
    let share = total_s.map(|total_s| elapsed_s / total_s);
    let connections = if outline.connect_per_transaction {
        String::new()
    } else {
        format!(
            "   {} of {} connections",
            units::count(u64::from(last.connections)),
            units::count(u64::from(outline.clients)),
        )
    };
    // In a narrow terminal the position matters most, then the connections, then the bar.
    let mut text = format!("{position}{connections}");
    if text.chars().count() + 1 > width {
        text = position;
    }
    let bar_width = width
        .saturating_sub(text.chars().count() + 2)
        .min(PROGRESS_WIDTH);
    let text = match share {
        Some(share) if bar_width >= MIN_BARS => format!(" {} {text}", bar(share, bar_width)),
        _ => format!(" {text}"),
    };
    let text = cut(&text, width);
    if is_warmup { style.caution(&text) } else { text }
}

/// A progress bar, such as `━━━━────`; `share` is from 0 to 1.
pub fn bar(share: f64, width: usize) -> String {
    let full = (share.clamp(0.0, 1.0) * width as f64).round() as usize;
    format!("{}{}", "━".repeat(full), "─".repeat(width - full))
}

struct MinuteChart {
    /// The time at which the charts end, in seconds since the start of the load.
    at_s: f64,
    /// Maximum width of a line, in characters.
    width: usize,
}

impl MinuteChart {
    /// A line with a name, its value in the last second, the bars of the minute and the minute's maximum.
    fn row(
        &self,
        name: &str,
        value: &str,
        minute: &LastMinute,
        mode: MergeMode,
        format_value: impl Fn(f64) -> String,
    ) -> String {
        let top = minute.top();
        let peak = if top > 0.0 { format!("  max {}", format_value(top)) } else { String::new() };
        let bars = |width| minute.bars(self.at_s, width, mode, top);
        self.line(name, value, bars, &peak)
    }

    /// Like [`MinuteChart::row`], for a share: a full bar is 100 %.
    fn share_row(&self, name: &str, value: &str, minute: &LastMinute) -> String {
        let bars = |width| minute.bars(self.at_s, width, MergeMode::Mean, 1.0);
        self.line(name, value, bars, "")
    }

    /// A line; `bars` draws the minute with the given number of characters.
    fn line(&self, name: &str, value: &str, bars: impl Fn(usize) -> String, peak: &str) -> String {
        let pad = LABEL_WIDTH.saturating_sub(name.chars().count());
        let figure = format!(" {name}{value:>pad$}");
        let chart_width = self.width.saturating_sub(LABEL_WIDTH + 3).min(SECONDS);
        if chart_width < MIN_BARS {
            return cut(&figure, self.width);
        }
        let bars = bars(chart_width);
        let with_peak = format!("{figure}  {bars:<SECONDS$}{peak}");
        if with_peak.chars().count() <= self.width {
            with_peak.trim_end().to_owned()
        } else {
            cut(format!("{figure}  {bars}").trim_end(), self.width)
        }
    }
}
