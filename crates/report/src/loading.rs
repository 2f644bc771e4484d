//! Loading as it goes on, for stderr.
//!
//! In: how much is done of how much, at a time of the caller's clock. Out: on a terminal one line
//! drawn again with rate and time left, elsewhere a plain line a step and every ten seconds. Must
//! never: read a clock.

use crate::live::bar;
use crate::redraw::Redraw;
use crate::style::Style;
use crate::text::{cut, plain};
use crate::units;
use std::io::{self, Write};

/// How far one step of loading has come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Amount {
    /// What is done now: `rows of pgbench_accounts`, `primary keys`.
    pub step: String,
    /// Done so far.
    pub done: u64,
    /// All there is to do; zero where nobody knows.
    pub total: u64,
    /// Since loading began, seconds.
    pub at_s: f64,
}

/// Seconds between plain lines of one step.
const PLAIN_EVERY_S: f64 = 10.0;

/// The view of a load.
pub struct Loading<W> {
    out: W,
    style: Style,
    redraw: Redraw,
    step: String,
    step_began_s: f64,
    plain_at_s: f64,
}

impl<W: Write> Loading<W> {
    /// A view on `out`.
    pub fn new(out: W, style: Style) -> Loading<W> {
        Loading {
            out,
            style,
            redraw: Redraw::default(),
            step: String::new(),
            step_began_s: 0.0,
            plain_at_s: 0.0,
        }
    }

    /// Shows how far it has come.
    pub fn show(&mut self, amount: &Amount) -> io::Result<()> {
        let fresh = amount.step != self.step;
        if fresh {
            self.step.clone_from(&amount.step);
            self.step_began_s = amount.at_s;
        }
        let line = self.line(amount);
        if self.style.terminal {
            let line = cut(&line, self.style.width - 1);
            return self.redraw.draw(&mut self.out, &[line], self.style.width);
        }
        if fresh || amount.at_s >= self.plain_at_s + PLAIN_EVERY_S {
            self.plain_at_s = amount.at_s;
            writeln!(self.out, "{line}")?;
            self.out.flush()?;
        }
        Ok(())
    }

    /// Removes the view and leaves one line in its place.
    pub fn finish(&mut self, line: &str) -> io::Result<()> {
        self.redraw.clear(&mut self.out, self.style.width)?;
        if !line.is_empty() {
            writeln!(self.out, "{line}")?;
        }
        self.out.flush()
    }

    fn line(&self, amount: &Amount) -> String {
        let step = plain(&amount.step);
        if amount.total == 0 {
            return format!("{step}, {} so far", units::span(amount.at_s.round()));
        }
        let share = amount.done as f64 / amount.total as f64;
        let here_s = amount.at_s - self.step_began_s;
        let mut line = if self.style.terminal {
            format!("{} ", bar(share, 12))
        } else {
            String::new()
        };
        line += &format!(
            "{step}: {} of {} ({})",
            units::count(amount.done),
            units::count(amount.total),
            units::percent(share),
        );
        // A rate over less than half a second is noise.
        if here_s > 0.5 && amount.done > 0 {
            let per_s = amount.done as f64 / here_s;
            let left_s = (amount.total.saturating_sub(amount.done)) as f64 / per_s;
            line += &format!(
                ", {} /s, {} left",
                units::rate(per_s),
                units::span(left_s.round())
            );
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(step: &str, done: u64, at_s: f64) -> Amount {
        Amount {
            step: step.into(),
            done,
            total: 1_000_000,
            at_s,
        }
    }

    fn shown(style: Style) -> String {
        let mut out = Vec::new();
        let mut view = Loading::new(&mut out, style);
        view.show(&amount("accounts", 0, 0.0)).unwrap();
        view.show(&amount("accounts", 250_000, 5.0)).unwrap();
        view.show(&amount("accounts", 500_000, 10.0)).unwrap();
        view.show(&amount("keys", 0, 12.0)).unwrap();
        view.finish("loaded").unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_file_gets_a_line_a_step_and_one_every_ten_seconds() {
        assert_eq!(
            shown(Style::plain()),
            "accounts: 0 of 1,000,000 (0 %)\n\
             accounts: 500,000 of 1,000,000 (50 %), 50,000 /s, 10 s left\n\
             keys: 0 of 1,000,000 (0 %)\n\
             loaded\n"
        );
    }

    #[test]
    fn a_terminal_gets_a_bar_with_rate_and_time_left() {
        let style = Style {
            terminal: true,
            ..Style::plain()
        };
        let text = shown(style);
        assert!(text.contains("━━━─────────"));
        assert!(text.contains("50,000 /s, 15 s left"));
        assert!(text.ends_with("loaded\n"));
    }
}
