//! Progress of a load, for stderr.
//!
//! In: the amount done, the total and the caller's time; only the time while there is no progress. Out: on a
//! terminal, one redrawn line with rate and remaining time, as much of it as fits; elsewhere, a plain line for each
//! step after 1, 2, 5 and 10 seconds, then every ten seconds. Must never: read a clock.

use crate::live::bar;
use crate::redraw::Redraw;
use crate::style::{Size, Style};
use crate::text::{cut, plain, visible_width};
use crate::units;
use crate::visible::visible;
use std::io::{self, Write};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadStepProgress {
    /// The current step: `rows of pgbench_accounts`, `primary keys`.
    pub step: String,
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
/// Seconds of a step before which a rate is noise, and a remaining time would be a guess.
const RATE_FROM_S: f64 = 1.0;
/// Length of the bar, in characters.
const BAR_CHARS: usize = 12;
/// The same in terminals that are too narrow for all values.
const NARROW_BAR_CHARS: usize = 6;
/// Seconds without progress after which the line says that the load waits for the server.
const STALLED_S: f64 = 2.0;

pub struct LoadProgressView<W> {
    terminal: Redraw<W>,
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
            terminal: Redraw::new(out, style),
            last: LoadStepProgress::default(),
            step_began_s: 0.0,
            progressed_at_s: 0.0,
            plain_due_s: 0.0,
            plain_done: 0,
        }
    }

    /// Asks this function for the size of the terminal before each drawing, because it may change.
    #[must_use]
    pub fn with_size_from(mut self, size: impl Fn() -> Option<Size> + Send + 'static) -> Self {
        self.terminal.set_size_from(size);
        self
    }

    pub fn show(&mut self, progress: &LoadStepProgress) -> io::Result<()> {
        let is_new_step = progress.step != self.last.step;
        if is_new_step {
            self.step_began_s = progress.at_s;
        }
        if is_new_step || progress.done > self.last.done {
            self.progressed_at_s = progress.at_s;
        }
        self.last.clone_from(progress);
        self.draw(is_new_step)
    }

    /// Shows the last progress again at a later time; call it when there may be no progress.
    pub fn tick(&mut self, at_s: f64) -> io::Result<()> {
        if self.last.step.is_empty() || at_s <= self.last.at_s {
            return Ok(());
        }
        self.last.at_s = at_s;
        self.draw(false)
    }

    /// Draws the last progress. `is_new_step`: it is the first of its step, which gets a plain line at once.
    fn draw(&mut self, is_new_step: bool) -> io::Result<()> {
        let at_s = self.last.at_s;
        if self.terminal.style.terminal {
            let columns = self.terminal.size().columns;
            let line = self.terminal_line(columns.saturating_sub(1));
            return self.terminal.draw(&[line]);
        }
        let line = self.plain_line();
        // A line without another amount would equal the last one, unless it says for how long the load waits.
        let has_changed = self.last.total == 0
            || self.last.done != self.plain_done
            || at_s - self.progressed_at_s >= STALLED_S;
        if is_new_step || (at_s >= self.plain_due_s && has_changed) {
            self.plain_done = self.last.done;
            let step_s = at_s - self.step_began_s;
            let due_s = PLAIN_AT_S.into_iter().find(|due_s| *due_s > step_s);
            self.plain_due_s =
                due_s.map_or(at_s + PLAIN_EVERY_S, |due_s| self.step_began_s + due_s);
            writeln!(self.terminal.out, "{line}")?;
            self.terminal.out.flush()?;
        }
        Ok(())
    }

    /// Removes the view and prints one line in its place.
    pub fn finish(&mut self, line: &str) -> io::Result<()> {
        self.terminal.clear()?;
        if !line.is_empty() {
            writeln!(self.terminal.out, "{}", visible(line))?;
        }
        self.terminal.out.flush()
    }

    /// The share that is done; `None` for a step that is not counted.
    fn share(&self) -> Option<f64> {
        let LoadStepProgress { done, total, .. } = self.last;
        (total > 0).then(|| done as f64 / total as f64)
    }

    fn plain_line(&self) -> String {
        self.line_with_amounts(" left in this step")
    }

    /// The step with its amounts, the rate, and the remaining time before this text.
    fn line_with_amounts(&self, left_text: &str) -> String {
        let step = plain(&self.last.step);
        let Some(share) = self.share() else {
            let step_s = (self.last.at_s - self.step_began_s).round();
            return if step_s >= 1.0 {
                format!("{step}, {} so far", units::span(step_s))
            } else {
                step
            };
        };
        let (done, total) = (units::count(self.last.done), units::count(self.last.total));
        let speed = match self.speed() {
            Speed::Unknown => String::new(),
            Speed::Waiting(time) => format!(", waiting for the server for {time}"),
            Speed::Known { rate, left } => format!(", {rate} /s, {left}{left_text}"),
        };
        format!(
            "{step}: {done} of {total} ({}){speed}",
            units::percent(share)
        )
    }

    /// The same with a bar; without the amounts, then without the rate, if the terminal is narrow.
    fn terminal_line(&self, width: usize) -> String {
        let Some(share) = self.share() else {
            return cut(&self.plain_line(), width);
        };
        let step = format!("{} {}", plain(&self.last.step), units::percent(share));
        let short_bar = bar(share, NARROW_BAR_CHARS);
        let (shorter, shortest) = match self.speed() {
            Speed::Unknown => (step.clone(), step),
            Speed::Waiting(time) => (format!("{step}, waiting for {time}"), step),
            Speed::Known { rate, left } => (
                format!("{step}, {rate} /s, {left} left"),
                format!("{step}, {left} left"),
            ),
        };
        let lines = [
            format!("{} {}", bar(share, BAR_CHARS), self.plain_line()),
            format!(
                "{} {}",
                bar(share, BAR_CHARS),
                self.line_with_amounts(" left")
            ),
            format!("{short_bar} {shorter}"),
            format!("{short_bar} {shortest}"),
        ];
        let fits = |line: &&String| visible_width(line) <= width;
        let line = lines.iter().find(fits).unwrap_or(&lines[3]);
        cut(line, width)
    }

    fn speed(&self) -> Speed {
        let LoadStepProgress {
            done, total, at_s, ..
        } = self.last;
        let stalled_s = at_s - self.progressed_at_s;
        if stalled_s >= STALLED_S {
            // The remaining time is unknown.
            return Speed::Waiting(units::span(stalled_s.round()));
        }
        let step_s = at_s - self.step_began_s;
        if step_s < RATE_FROM_S || done == 0 {
            return Speed::Unknown;
        }
        let per_s = done as f64 / step_s;
        let remaining_s = total.saturating_sub(done) as f64 / per_s;
        Speed::Known {
            rate: units::rate(per_s),
            left: units::span(remaining_s.round()),
        }
    }
}

enum Speed {
    /// It just began.
    Unknown,
    /// There was no progress for this time.
    Waiting(String),
    /// Rate, and the time until the step ends at that rate.
    Known { rate: String, left: String },
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

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
             accounts: 250,000 of 1,000,000 (25 %), 50,000 /s, 15 s left in this step\n\
             accounts: 500,000 of 1,000,000 (50 %), 50,000 /s, 10 s left in this step\n\
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
             rows: 100,000 of 1,000,000 (10 %), 9,091 /s, 99 s left in this step\n\
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
        text.assert_contains("━━━─────────");
        text.assert_contains("50,000 /s, 15 s left");
        text.assert_ends_with("loaded\n");
    }

    /// The lines that a terminal of this width shows of a step.
    fn terminal_lines(columns: usize) -> Vec<String> {
        let style = Style {
            terminal: true,
            ..Style::plain()
        };
        let mut out = Vec::new();
        let mut view = LoadProgressView::new(&mut out, style)
            .with_size_from(move || Some(Size { columns, rows: 12 }));
        for (done, at_s) in [(0, 0.0), (200_000, 0.9), (250_000, 5.0), (250_000, 9.0)] {
            view.show(&progress("rows", done, at_s)).unwrap();
        }
        drop(view);
        let text = String::from_utf8(out).unwrap();
        let text = text.lines();
        let lines = text.map(|line| line.rsplit("\x1b[2K").next().unwrap_or_default());
        lines.map(str::to_owned).collect()
    }

    #[test]
    fn a_narrow_terminal_gets_what_fits_into_one_line() {
        assert_eq!(
            terminal_lines(40),
            [
                "──────────── rows: 0 of 1,000,000 (0 %)",
                "━───── rows 20 %",
                "━━──── rows 25 %, 50,000 /s, 15 s left",
                "━━──── rows 25 %, waiting for 4 s",
            ]
        );
        assert_eq!(
            terminal_lines(100)[2],
            "━━━───────── rows: 250,000 of 1,000,000 (25 %), 50,000 /s, 15 s left in this step"
        );
        assert_eq!(
            terminal_lines(72)[2],
            "━━━───────── rows: 250,000 of 1,000,000 (25 %), 50,000 /s, 15 s left"
        );
        for line in terminal_lines(24) {
            assert!(visible_width(&line) < 24, "{line}");
        }
    }

    #[test]
    fn there_is_no_remaining_time_in_the_first_second() {
        terminal_lines(100)[1].assert_lacks("left");
        terminal_lines(100)[2].assert_contains("left");
    }

    #[test]
    fn a_step_without_amounts_shows_its_own_time() {
        let mut out = Vec::new();
        let mut view = LoadProgressView::new(&mut out, Style::plain());
        let step = |step: &str, at_s| LoadStepProgress {
            step: step.to_owned(),
            at_s,
            ..LoadStepProgress::default()
        };
        view.show(&step("creating tables", 0.0)).unwrap();
        view.show(&step("building primary keys", 9.0)).unwrap();
        view.tick(11.0).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "creating tables\nbuilding primary keys\nbuilding primary keys, 2 s so far\n"
        );
    }
}
