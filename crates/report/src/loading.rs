//! Progress of a load, for stderr.
//!
//! In: the amount done, the total and the caller's time; only the time while there is no progress. Out: on a
//! terminal, one redrawn line with rate and remaining time; elsewhere, a plain line for each step after 1, 2,
//! 5 and 10 seconds, then every ten seconds. Must never: read a clock.

use crate::live::bar;
use crate::redraw::Redraw;
use crate::style::Style;
use crate::text::{cut, plain};
use crate::units;
use crate::visible::visible;
use std::io::{self, Write};

/// Progress of one step of a load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadStepProgress {
    /// The current step: `rows of pgbench_accounts`, `primary keys`.
    pub step: String,
    /// Amount done so far.
    pub done: u64,
    /// The total; zero if unknown.
    pub total: u64,
    /// Time since the load began, in seconds.
    pub at_s: f64,
}

/// Times at which the first plain lines of a step are printed, in seconds since the step began.
const PLAIN_AT_S: [f64; 4] = [1.0, 2.0, 5.0, 10.0];
/// Seconds between later plain lines.
const PLAIN_EVERY_S: f64 = 10.0;
/// Seconds without progress after which the line says that the load waits for the server.
const STALLED_S: f64 = 2.0;

/// The view of a load.
pub struct LoadProgressView<W> {
    out: W,
    style: Style,
    redraw: Redraw,
    last: LoadStepProgress,
    step_began_s: f64,
    /// Time of the last progress, in seconds.
    progressed_at_s: f64,
    /// Time at which the next plain line is due, in seconds.
    plain_due_s: f64,
    /// Amount done in the last plain line.
    plain_done: u64,
}

impl<W: Write> LoadProgressView<W> {
    /// Creates a view on `out`.
    pub fn new(out: W, style: Style) -> LoadProgressView<W> {
        LoadProgressView {
            out,
            style,
            redraw: Redraw::default(),
            last: LoadStepProgress::default(),
            step_began_s: 0.0,
            progressed_at_s: 0.0,
            plain_due_s: 0.0,
            plain_done: 0,
        }
    }

    /// Shows the progress.
    pub fn show(&mut self, progress: &LoadStepProgress) -> io::Result<()> {
        let new_step = progress.step != self.last.step;
        if new_step {
            self.step_began_s = progress.at_s;
        }
        if new_step || progress.done > self.last.done {
            self.progressed_at_s = progress.at_s;
        }
        self.last.clone_from(progress);
        self.draw(new_step)
    }

    /// Shows the last progress again at a later time; call it when there may be no progress.
    pub fn tick(&mut self, at_s: f64) -> io::Result<()> {
        if self.last.step.is_empty() || at_s <= self.last.at_s {
            return Ok(());
        }
        self.last.at_s = at_s;
        self.draw(false)
    }

    fn draw(&mut self, new_step: bool) -> io::Result<()> {
        let at_s = self.last.at_s;
        let line = self.line(&self.last);
        if self.style.terminal {
            let line = cut(&line, self.style.width - 1);
            return self
                .redraw
                .draw(&mut self.out, &[line], self.style.width, &self.style);
        }
        // Skip a line that equals the last one.
        let changed = self.last.total == 0
            || self.last.done != self.plain_done
            || at_s - self.progressed_at_s >= STALLED_S;
        if new_step || (at_s >= self.plain_due_s && changed) {
            self.plain_done = self.last.done;
            let step_s = at_s - self.step_began_s;
            let due_s = PLAIN_AT_S.into_iter().find(|due_s| *due_s > step_s);
            self.plain_due_s = match due_s {
                Some(due_s) => self.step_began_s + due_s,
                None => at_s + PLAIN_EVERY_S,
            };
            writeln!(self.out, "{line}")?;
            self.out.flush()?;
        }
        Ok(())
    }

    /// Removes the view and prints one line in its place.
    pub fn finish(&mut self, line: &str) -> io::Result<()> {
        self.redraw.clear(&mut self.out, self.style.width)?;
        if !line.is_empty() {
            writeln!(self.out, "{}", visible(line))?;
        }
        self.out.flush()
    }

    fn line(&self, progress: &LoadStepProgress) -> String {
        let step = plain(&progress.step);
        if progress.total == 0 {
            return format!("{step}, {} so far", units::span(progress.at_s.round()));
        }
        let share = progress.done as f64 / progress.total as f64;
        let step_s = progress.at_s - self.step_began_s;
        let mut line = match self.style.terminal {
            true => format!("{} ", bar(share, 12)),
            false => String::new(),
        };
        line += &format!(
            "{step}: {} of {} ({})",
            units::count(progress.done),
            units::count(progress.total),
            units::percent(share),
        );
        let stalled_s = progress.at_s - self.progressed_at_s;
        if stalled_s >= STALLED_S {
            // The remaining time is unknown.
            let stalled = units::span(stalled_s.round());
            line += &format!(", waiting for the server for {stalled}");
        } else if step_s > 0.5 && progress.done > 0 {
            // A rate over less than half a second is noise.
            let per_s = progress.done as f64 / step_s;
            let remaining_s = (progress.total.saturating_sub(progress.done)) as f64 / per_s;
            let remaining = units::span(remaining_s.round());
            line += &format!(", {} /s, {remaining} left", units::rate(per_s));
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(step: &str, done: u64, at_s: f64) -> LoadStepProgress {
        LoadStepProgress {
            step: step.into(),
            done,
            total: 1_000_000,
            at_s,
        }
    }

    fn output(style: Style) -> String {
        let mut out = Vec::new();
        let mut view = LoadProgressView::new(&mut out, style);
        view.show(&progress("accounts", 0, 0.0)).unwrap();
        view.show(&progress("accounts", 250_000, 5.0)).unwrap();
        view.show(&progress("accounts", 500_000, 10.0)).unwrap();
        view.show(&progress("keys", 0, 12.0)).unwrap();
        view.finish("loaded").unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_file_gets_lines_at_the_start_of_a_step_and_during_it() {
        assert_eq!(
            output(Style::plain()),
            "accounts: 0 of 1,000,000 (0 %)\n\
             accounts: 250,000 of 1,000,000 (25 %), 50,000 /s, 15 s left\n\
             accounts: 500,000 of 1,000,000 (50 %), 50,000 /s, 10 s left\n\
             keys: 0 of 1,000,000 (0 %)\n\
             loaded\n"
        );
    }

    #[test]
    fn a_stalled_load_reports_that_it_waits() {
        let mut out = Vec::new();
        let mut view = LoadProgressView::new(&mut out, Style::plain());
        view.tick(0.5).unwrap();
        view.show(&progress("rows", 0, 1.0)).unwrap();
        for at_s in 2..=9 {
            view.tick(f64::from(at_s)).unwrap();
        }
        view.show(&progress("rows", 100_000, 12.0)).unwrap();
        for at_s in 13..=22 {
            view.tick(f64::from(at_s)).unwrap();
        }
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text,
            "rows: 0 of 1,000,000 (0 %)\n\
             rows: 0 of 1,000,000 (0 %), waiting for the server for 2 s\n\
             rows: 0 of 1,000,000 (0 %), waiting for the server for 5 s\n\
             rows: 100,000 of 1,000,000 (10 %), 9,091 /s, 99 s left\n\
             rows: 100,000 of 1,000,000 (10 %), waiting for the server for 10 s\n"
        );
    }

    #[test]
    fn a_terminal_gets_a_bar_with_rate_and_remaining_time() {
        let style = Style {
            terminal: true,
            ..Style::plain()
        };
        let text = output(style);
        assert!(text.contains("━━━─────────"));
        assert!(text.contains("50,000 /s, 15 s left"));
        assert!(text.ends_with("loaded\n"));
    }
}
