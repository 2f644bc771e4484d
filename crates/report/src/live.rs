//! A run as it goes on, second by second, for stderr.
//!
//! In: each [`Second`] as it ends. Out: on a terminal a few lines drawn again, elsewhere one plain
//! line an interval. Must never: read a clock, or write escape codes into a file.

use crate::redraw::Redraw;
use crate::style::Style;
use crate::text::{cut, sparkline};
use crate::units;
use prony_store::Second;
use std::io::{self, Write};

/// When the run will end, and what was asked.
#[derive(Clone, Debug, Default)]
pub struct Goal {
    /// What runs, in a few words: `tpcb, 64 clients on 2 threads`.
    pub title: String,
    /// Length of the warm-up, seconds.
    pub warmup_s: f64,
    /// Length of the measured window, seconds; absent when a count of transactions ends it.
    pub measured_s: Option<f64>,
    /// Clients.
    pub clients: u32,
    /// Each transaction has a connection of its own: how many are up is chance, and is not shown.
    pub connect_per_transaction: bool,
}

/// The live view.
pub struct Live<W> {
    out: W,
    style: Style,
    goal: Goal,
    interval_s: f64,
    shown_until_s: f64,
    redraw: Redraw,
    tps: Vec<f64>,
    failed: u64,
    pending: Pending,
}

/// What the seconds since the last plain line add up to. The percentiles cannot be added: the
/// line shows those of its last second, and says so by its time.
#[derive(Default)]
struct Pending {
    seconds: f64,
    committed: u64,
    failed: u64,
}

impl<W: Write> Live<W> {
    /// A view on `out`; plain lines come every `interval_s` seconds. Zero or less: no lines.
    pub fn new(out: W, style: Style, goal: Goal, interval_s: f64) -> Live<W> {
        Live {
            out,
            style,
            goal,
            interval_s,
            shown_until_s: 0.0,
            redraw: Redraw::default(),
            tps: Vec::new(),
            failed: 0,
            pending: Pending::default(),
        }
    }

    /// Shows one second that has ended.
    pub fn second(&mut self, second: &Second) -> io::Result<()> {
        if self.interval_s <= 0.0 {
            return Ok(());
        }
        let tps = second.committed as f64 / second.seconds.max(1e-9);
        self.tps.push(tps);
        self.failed += second.failed;
        if self.style.terminal {
            let lines = self.frame(second, tps);
            return self.redraw.draw(&mut self.out, &lines);
        }
        self.pending.seconds += second.seconds;
        self.pending.committed += second.committed;
        self.pending.failed += second.failed;
        let now_s = second.at_s + second.seconds;
        // Half a second of slack: the ends of seconds do not fall exactly on whole seconds.
        if now_s + 0.5 >= self.shown_until_s + self.interval_s {
            self.shown_until_s = now_s;
            self.plain_line(second, now_s)?;
        }
        Ok(())
    }

    /// Says something beside the view, such as a lost server: it stays above the view.
    pub fn say(&mut self, line: &str) -> io::Result<()> {
        self.redraw.clear(&mut self.out)?;
        writeln!(self.out, "{}", crate::text::plain(line))?;
        self.out.flush()
    }

    /// Removes the view; plain lines stay.
    pub fn finish(&mut self) -> io::Result<()> {
        self.redraw.clear(&mut self.out)
    }

    fn plain_line(&mut self, second: &Second, now_s: f64) -> io::Result<()> {
        let pending = std::mem::take(&mut self.pending);
        let part = if second.part == "warmup" {
            " warm-up"
        } else {
            ""
        };
        let connections = match self.goal.connect_per_transaction {
            true => String::new(),
            false => format!(
                ", {} connections",
                units::count(u64::from(second.connections))
            ),
        };
        writeln!(
            self.out,
            "{now_s:.0} s{part}: {} transactions/s, p50 {}, p99 {}, {} failed{connections}",
            units::rate(pending.committed as f64 / pending.seconds.max(1e-9)),
            optional(second.p50_ns),
            optional(second.p99_ns),
            units::count(pending.failed),
        )?;
        self.out.flush()
    }

    fn frame(&self, second: &Second, tps: f64) -> Vec<String> {
        let now_s = second.at_s + second.seconds;
        let warming = second.part == "warmup";
        let measured_s = (now_s - self.goal.warmup_s).max(0.0);
        let place = match (warming, self.goal.measured_s) {
            (true, _) => format!(
                "warm-up {} of {}",
                units::span(now_s.round()),
                units::span(self.goal.warmup_s)
            ),
            (false, Some(total)) => format!(
                "{} of {}",
                units::span(measured_s.min(total).round()),
                units::span(total)
            ),
            (false, None) => units::span(measured_s.round()),
        };
        let width = self.style.width;
        let bar = match (warming, self.goal.measured_s) {
            (false, Some(total)) if total > 0.0 => bar(measured_s / total, 24),
            (true, _) if self.goal.warmup_s > 0.0 => bar(now_s / self.goal.warmup_s, 24),
            _ => String::new(),
        };
        let figures = format!(
            "{} transactions/s   p50 {}   p99 {}   {} failed",
            units::rate(tps),
            optional(second.p50_ns),
            optional(second.p99_ns),
            units::count(self.failed),
        );
        let recent = &self.tps[self.tps.len().saturating_sub(width - 4)..];
        let mut place = format!("  {bar} {place}");
        if !self.goal.connect_per_transaction {
            place += &format!(
                "   {} of {} connections",
                units::count(u64::from(second.connections)),
                units::count(u64::from(self.goal.clients)),
            );
        }
        let place = cut(&place, width - 1);
        vec![
            cut(&self.goal.title, width - 1),
            if warming {
                self.style.caution(&place)
            } else {
                place
            },
            format!("  {}", cut(&figures, width - 3)),
            format!("  {}", sparkline(recent, width - 4)),
        ]
    }
}

/// `━━━━────`: the share that is done.
pub fn bar(share: f64, width: usize) -> String {
    let full = (share.clamp(0.0, 1.0) * width as f64).round() as usize;
    format!("{}{}", "━".repeat(full), "─".repeat(width - full))
}

fn optional(ns: Option<u64>) -> String {
    ns.map_or("–".into(), |ns| units::time(ns as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run;

    fn shown(style: Style, interval_s: f64) -> String {
        shown_with(style, interval_s, false)
    }

    fn shown_with(style: Style, interval_s: f64, connect_per_transaction: bool) -> String {
        let goal = Goal {
            title: "tpcb, 64 clients on 2 threads".into(),
            warmup_s: 1.0,
            measured_s: Some(4.0),
            clients: 64,
            connect_per_transaction,
        };
        let mut out = Vec::new();
        let mut live = Live::new(&mut out, style, goal, interval_s);
        for second in &sample_run::closed().series {
            live.second(second).unwrap();
        }
        live.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_file_gets_one_plain_line_a_second_with_the_warm_up_marked() {
        let text = shown(Style::plain(), 1.0);
        assert_eq!(text.lines().count(), 5);
        assert_eq!(
            text.lines().next().unwrap(),
            "1 s warm-up: 27,000 transactions/s, p50 2.10 ms, p99 9.00 ms, 0 failed, 64 connections"
        );
        assert!(!text.contains('\x1b'));
        assert!(text.lines().nth(1).unwrap().starts_with("2 s: "));
    }

    #[test]
    fn connections_that_come_and_go_are_not_counted() {
        let terminal = Style {
            terminal: true,
            ..Style::plain()
        };
        for style in [Style::plain(), terminal] {
            assert!(shown_with(style, 1.0, false).contains("64 connections"));
            let text = shown_with(style, 1.0, true);
            assert!(
                text.contains("0 failed") && !text.contains("connections"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_longer_interval_adds_its_seconds_up() {
        let text = shown(Style::plain(), 2.0);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].contains("27,100 transactions/s"), "{}", lines[0]);
    }

    #[test]
    fn no_interval_no_lines() {
        assert_eq!(shown(Style::plain(), 0.0), "");
    }

    #[test]
    fn a_terminal_gets_a_view_that_is_removed_at_the_end() {
        let style = Style {
            terminal: true,
            ..Style::plain()
        };
        let text = shown(style, 1.0);
        assert!(text.contains("warm-up 1 s of 1 s"));
        assert!(text.contains("4 s of 4 s"));
        assert!(text.ends_with("\x1b[4A\r\x1b[J"));
    }

    #[test]
    fn a_bar_never_overflows() {
        assert_eq!(bar(0.5, 4), "━━──");
        assert_eq!(bar(7.0, 4), "━━━━");
        assert_eq!(bar(-1.0, 4), "────");
    }
}
