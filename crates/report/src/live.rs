//! The live view of a run in progress, for stderr.
//!
//! In: each [`Second`] as it ends, and observations of the server. Out: on a terminal, a few redrawn lines
//! and charts; elsewhere, one plain line per interval. Must never: read a clock; write escape codes into a
//! file; change a terminal mode, because the terminal must stay usable even if the process is killed.

mod frame;
mod minute;

pub use frame::bar;

use crate::redraw::Redraw;
use crate::style::{Size, Style};
use crate::units::{self, time_or_dash};
use frame::{LiveState, RecentP99};
use prony_store::{Second, SecondPhase, ServerSecond};
use std::io::{self, Write};

/// The title, length and clients of a run.
#[derive(Clone, Debug, Default)]
pub struct RunOutline {
    /// Title: `tpcb, 64 clients on 2 threads`.
    pub title: String,
    /// Length of the warm-up, in seconds.
    pub warmup_s: f64,
    /// Length of the measured window, in seconds; absent if a number of transactions ends it.
    pub measured_s: Option<f64>,
    pub clients: u32,
    /// Each transaction opens a connection; the number of open connections is then not shown, because it is
    /// arbitrary.
    pub connect_per_transaction: bool,
}

pub struct LiveView<W> {
    terminal: Redraw<W>,
    outline: RunOutline,
    interval_s: f64,
    /// End of the last second in a plain line, in seconds since the start of the load.
    printed_until_s: f64,
    state: LiveState,
    unprinted: UnprintedTotals,
}

/// Totals of the seconds since the last plain line. Percentiles cannot be added; the line shows those of
/// its last second.
#[derive(Default)]
struct UnprintedTotals {
    seconds: f64,
    committed: u64,
    failed: u64,
}

impl<W: Write> LiveView<W> {
    /// Creates a view on `out`; plain lines are printed every `interval_s` seconds, or never if it
    /// is zero or less.
    pub fn new(out: W, style: Style, outline: RunOutline, interval_s: f64) -> LiveView<W> {
        LiveView {
            terminal: Redraw::new(out, style),
            outline,
            interval_s,
            printed_until_s: 0.0,
            state: LiveState::default(),
            unprinted: UnprintedTotals::default(),
        }
    }

    /// Sets the function that returns the size of the terminal; it is called before each drawing.
    #[must_use]
    pub fn with_size_from(mut self, size: impl Fn() -> Option<Size> + Send + 'static) -> Self {
        self.terminal.set_size_from(size);
        self
    }

    /// Shows another length of the warm-up from now on.
    pub fn set_warmup(&mut self, warmup_s: f64) {
        self.outline.warmup_s = warmup_s;
    }

    /// Adds the observations of the server in one second; the next drawing shows them.
    pub fn add_server_second(&mut self, second: &ServerSecond) {
        self.state.add_server_second(second);
    }

    pub fn show_second(&mut self, second: &Second) -> io::Result<()> {
        if self.interval_s <= 0.0 {
            return Ok(());
        }
        if self.terminal.style.terminal {
            self.state.add_second(second);
            let (style, size) = (&self.terminal.style, self.terminal.size());
            let lines = self.state.frame(&self.outline, second, style, size);
            return self.terminal.draw(&lines);
        }
        self.unprinted.seconds += second.length_s;
        self.unprinted.committed += second.committed;
        self.unprinted.failed += second.failed;
        let now_s = second.at_s + second.length_s;
        // Allow for half a second: intervals do not end exactly at whole seconds.
        if now_s + 0.5 >= self.printed_until_s + self.interval_s {
            self.printed_until_s = now_s;
            self.print_plain_line(second, now_s)?;
        }
        Ok(())
    }

    pub fn print_message(&mut self, line: &str) -> io::Result<()> {
        self.terminal.clear()?;
        writeln!(self.terminal.out, "{}", crate::text::plain(line))?;
        self.terminal.out.flush()
    }

    /// Removes the view; plain lines stay.
    pub fn finish(&mut self) -> io::Result<()> {
        self.terminal.clear()
    }

    fn print_plain_line(&mut self, second: &Second, now_s: f64) -> io::Result<()> {
        let unprinted = std::mem::take(&mut self.unprinted);
        let part = match second.phase {
            SecondPhase::Warmup => " warm-up",
            _ => "",
        };
        let connections = if self.outline.connect_per_transaction {
            String::new()
        } else {
            let number = second.connections.into();
            format!(", {}", units::count_of(number, "connection"))
        };
        let p99 = RecentP99::of(second);
        let window = p99
            .window_s
            .map_or(String::new(), |s| format!(" of the last {s:.0} s"));
        let attempts = second.attempts_p99_ns.filter(|_| unprinted.failed > 0);
        let attempts = attempts.map_or(String::new(), |ns| {
            format!(" (p99 of all attempts {})", units::time(ns as f64))
        });
        writeln!(
            self.terminal.out,
            "{now_s:.0} s{part}: {}, committed p50 {}, p99 {}{window}, {} failed{attempts}{connections}",
            units::transactions_per_second(
                unprinted.committed as f64 / unprinted.seconds.max(1e-9)
            ),
            time_or_dash(second.p50_ns),
            time_or_dash(p99.ns),
            units::count(unprinted.failed),
        )?;
        self.terminal.out.flush()
    }
}

#[cfg(test)]
mod tests;
