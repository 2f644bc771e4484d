//! A run as it goes on, second by second, for stderr.
//!
//! In: each [`Second`] as it ends, and what was seen of the server. Out: on a terminal a few lines and
//! charts drawn again, elsewhere one plain line an interval. Must never: read a clock, write escape
//! codes into a file, or change a mode of the terminal: whatever ends the process, it stays in order.

mod frame;
mod minute;

pub use frame::bar;

use crate::redraw::Redraw;
use crate::style::{Size, Style};
use crate::units;
use frame::Shown;
use prony_store::{Second, ServerSecond};
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
    size: fn() -> Option<Size>,
    shown: Shown,
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
            size: || None,
            shown: Shown::default(),
            pending: Pending::default(),
        }
    }

    /// Asks for the size of the terminal before each drawing, as it may change meanwhile.
    #[must_use]
    pub fn sized_by(mut self, size: fn() -> Option<Size>) -> Live<W> {
        self.size = size;
        self
    }

    /// Takes what was seen of the server in one second; the next drawing shows it.
    pub fn server(&mut self, second: &ServerSecond) {
        self.shown.server(second);
    }

    /// Shows one second that has ended.
    pub fn second(&mut self, second: &Second) -> io::Result<()> {
        if self.interval_s <= 0.0 {
            return Ok(());
        }
        if self.style.terminal {
            self.shown.second(second);
            let size = self.size();
            let lines = self.shown.frame(&self.goal, second, &self.style, size);
            return self.redraw.draw(&mut self.out, &lines, size.columns);
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
        let columns = self.size().columns;
        self.redraw.clear(&mut self.out, columns)?;
        writeln!(self.out, "{}", crate::text::plain(line))?;
        self.out.flush()
    }

    /// Removes the view; plain lines stay.
    pub fn finish(&mut self) -> io::Result<()> {
        let columns = self.size().columns;
        self.redraw.clear(&mut self.out, columns)
    }

    fn size(&self) -> Size {
        (self.size)().unwrap_or(Size {
            columns: self.style.width,
            rows: 24,
        })
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
}

fn optional(ns: Option<u64>) -> String {
    ns.map_or("–".into(), |ns| units::time(ns as f64))
}

#[cfg(test)]
mod tests;
