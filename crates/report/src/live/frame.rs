//! One drawing of the live view.
//!
//! In: what is known of the run by now, the size of the terminal. Out: lines that fit it, the least
//! important left out where it is low. Must never: give a line that the terminal would break.

use super::minute::{Fold, Minute, SECONDS};
use super::{Goal, optional};
use crate::style::{Size, Style};
use crate::text::{ascii, cut, plain};
use crate::units;
use prony_store::{Second, ServerSecond};

/// Characters of a name and its figure before a chart.
const FIGURE: usize = 16;
/// Fewer bars than this say nothing.
const FEWEST_BARS: usize = 10;
/// Characters of the bar of progress.
const PROGRESS: usize = 24;

/// What is known of the run by now.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// Failed transactions so far.
    pub failed: u64,
    tps: Minute,
    p50_ns: Minute,
    p99_ns: Minute,
    failures: Minute,
    cpu: Minute,
    /// Share of the server's CPUs at work in its last second.
    cpu_now: Option<f64>,
    /// What its sessions waited for at its last reading; absent as long as nobody waited.
    waits: Option<String>,
}

impl Shown {
    /// Adds a second of the run.
    pub fn second(&mut self, second: &Second) {
        let (at_s, seconds) = (second.at_s, second.seconds);
        self.failed += second.failed;
        self.tps.add(at_s, seconds, Some(tps(second)));
        let ns = |ns: Option<u64>| ns.map(|ns| ns as f64);
        self.p50_ns.add(at_s, seconds, ns(second.p50_ns));
        self.p99_ns.add(at_s, seconds, ns(second.p99_ns));
        self.failures.add(at_s, seconds, Some(second.failed as f64));
    }

    /// Adds a second of the server.
    pub fn server(&mut self, second: &ServerSecond) {
        self.cpu_now = second.machine.as_ref().and_then(|machine| machine.busy);
        self.cpu.add(second.at_s, second.seconds, self.cpu_now);
        let mut waits: Vec<(&String, &u32)> = second.waits.iter().collect();
        waits.retain(|(name, _)| *name != "CPU");
        waits.sort_by(|one, other| (other.1, one.0).cmp(&(one.1, other.0)));
        if !waits.is_empty() {
            let text = waits
                .iter()
                .map(|(name, count)| format!("{} {count}", plain(name)));
            self.waits = Some(text.collect::<Vec<_>>().join(", "));
        } else if self.waits.is_some() {
            // The line stays, so that those below it do not jump.
            self.waits = Some("none".to_owned());
        }
    }

    /// The lines.
    pub fn frame(&self, goal: &Goal, last: &Second, style: &Style, size: Size) -> Vec<String> {
        let width = size.columns.saturating_sub(1);
        let mut lines = vec![
            // How important a line is, the most important first; then the line.
            (6, cut(&goal.title, width)),
            (0, place(goal, last, style, width)),
        ];
        let chart = Chart {
            at_s: last.at_s + last.seconds / 2.0,
            width,
        };
        let (mean, worst) = (Fold::Mean, Fold::Worst);
        let now = units::rate(tps(last));
        lines.push((1, chart.row("TPS", &now, &self.tps, mean, units::rate)));
        let now = optional(last.p50_ns);
        lines.push((3, chart.row("p50", &now, &self.p50_ns, worst, units::time)));
        let now = optional(last.p99_ns);
        lines.push((2, chart.row("p99", &now, &self.p99_ns, worst, units::time)));
        let (now, whole) = (units::count(self.failed), |n: f64| units::count(n as u64));
        let row = chart.row("failed", &now, &self.failures, worst, whole);
        let failing = last.failed > 0;
        lines.push((4, if failing { style.alarm(&row) } else { row }));
        if self.cpu_now.is_some() || !self.cpu.is_empty() {
            let now = self.cpu_now.map_or("–".to_owned(), units::percent);
            lines.push((5, chart.share("host CPU", &now, &self.cpu)));
        }
        if let Some(waits) = &self.waits {
            lines.push((7, cut(&format!(" waits      {waits}"), width)));
        }
        // The cursor stands on a line of its own below.
        while lines.len() + 1 > size.rows.max(2) {
            let Some(least) = lines.iter().map(|(rank, _)| *rank).max() else {
                break;
            };
            lines.retain(|(rank, _)| *rank != least);
        }
        let lines = lines.into_iter().map(|(_, line)| line);
        match style.unicode {
            true => lines.collect(),
            false => lines.map(|line| coded_ascii(&line)).collect(),
        }
    }
}

/// In ASCII, with the escape codes as they are.
fn coded_ascii(line: &str) -> String {
    line.split('\x1b')
        .map(ascii)
        .collect::<Vec<_>>()
        .join("\x1b")
}

fn tps(second: &Second) -> f64 {
    second.committed as f64 / second.seconds.max(1e-9)
}

/// How far the run is.
fn place(goal: &Goal, last: &Second, style: &Style, width: usize) -> String {
    let now_s = last.at_s + last.seconds;
    let warming = last.part == "warmup";
    let measured_s = (now_s - goal.warmup_s).max(0.0);
    let place = match (warming, goal.measured_s) {
        (true, _) => format!(
            "warm-up {} of {}",
            units::span(now_s.round()),
            units::span(goal.warmup_s)
        ),
        (false, Some(total)) => format!(
            "{} of {}",
            units::span(measured_s.min(total).round()),
            units::span(total)
        ),
        (false, None) => units::span(measured_s.round()),
    };
    let share = match (warming, goal.measured_s) {
        (false, Some(total)) if total > 0.0 => Some(measured_s / total),
        (true, _) if goal.warmup_s > 0.0 => Some(now_s / goal.warmup_s),
        _ => None,
    };
    // In a narrow terminal the words matter more than the bar.
    let room = width
        .saturating_sub(place.chars().count() + 2)
        .min(PROGRESS);
    let mut text = match share {
        Some(share) if room >= FEWEST_BARS => format!(" {} {place}", bar(share, room)),
        _ => format!(" {place}"),
    };
    if !goal.connect_per_transaction {
        text += &format!(
            "   {} of {} connections",
            units::count(u64::from(last.connections)),
            units::count(u64::from(goal.clients)),
        );
    }
    let text = cut(&text, width);
    if warming { style.caution(&text) } else { text }
}

/// `━━━━────`: the share that is done.
pub fn bar(share: f64, width: usize) -> String {
    let full = (share.clamp(0.0, 1.0) * width as f64).round() as usize;
    format!("{}{}", "━".repeat(full), "─".repeat(width - full))
}

/// Where the charts end, and how wide the lines are.
struct Chart {
    at_s: f64,
    width: usize,
}

impl Chart {
    /// A name, the figure of the last second, and the minute before it.
    fn row(
        &self,
        name: &str,
        now: &str,
        minute: &Minute,
        fold: Fold,
        shown: impl Fn(f64) -> String,
    ) -> String {
        let top = minute.top();
        let peak = (top > 0.0).then(|| format!("  max {}", shown(top)));
        self.line(name, now, minute, fold, top, &peak.unwrap_or_default())
    }

    /// The same for a share: the full bar is all of it.
    fn share(&self, name: &str, now: &str, minute: &Minute) -> String {
        self.line(name, now, minute, Fold::Mean, 1.0, "")
    }

    fn line(
        &self,
        name: &str,
        now: &str,
        minute: &Minute,
        fold: Fold,
        top: f64,
        peak: &str,
    ) -> String {
        let pad = FIGURE.saturating_sub(name.chars().count());
        let figure = format!(" {name}{now:>pad$}");
        let room = self.width.saturating_sub(FIGURE + 3).min(SECONDS);
        if room < FEWEST_BARS {
            return cut(&figure, self.width);
        }
        let bars = minute.bars(self.at_s, room, fold, top);
        let line = format!("{figure}  {bars}");
        let with_peak = format!("{figure}  {bars:<SECONDS$}{peak}");
        match with_peak.chars().count() <= self.width {
            true => with_peak.trim_end().to_owned(),
            false => cut(line.trim_end(), self.width),
        }
    }
}
