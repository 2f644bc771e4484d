//! What happened, as marks on the charts.
//!
//! In: a Run. Out: bands and lines with a letter each, at their time. Must never: tell them apart by
//! colour alone.

use super::scale::Scale;
use prony_judge::watch;
use prony_store::{Event, Run};
use std::fmt::{self, Write};

/// Distance that two letters of one row keep, in units of the drawing.
const LETTER: f64 = 12.0;
/// Height of a row of letters, in units of the drawing.
const ROW: f64 = 11.0;

/// What a mark stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// A checkpoint.
    Checkpoint,
    /// A vacuum or an analysis.
    Housekeeping,
    /// Seconds in which transactions failed.
    Failed,
    /// All else: outages, restarts, backups.
    Other,
}

impl Sort {
    /// All, in the order of their rows.
    pub const ALL: [Sort; 4] = [
        Sort::Checkpoint,
        Sort::Housekeeping,
        Sort::Failed,
        Sort::Other,
    ];

    /// The letter on the chart.
    pub fn letter(self) -> &'static str {
        match self {
            Sort::Checkpoint => "C",
            Sort::Housekeeping => "V",
            Sort::Failed => "×",
            Sort::Other => "!",
        }
    }

    /// What it stands for, in words.
    pub fn words(self) -> &'static str {
        match self {
            Sort::Checkpoint => "checkpoint",
            Sort::Housekeeping => "vacuum or analyze",
            Sort::Failed => "transactions failed",
            Sort::Other => "outage, restart, backup or another event",
        }
    }

    fn of(event: &Event) -> Sort {
        match event.what.as_str() {
            "checkpoint" => Sort::Checkpoint,
            "vacuum" | "analyze" => Sort::Housekeeping,
            _ => Sort::Other,
        }
    }
}

/// One mark.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// What it stands for.
    pub sort: Sort,
    /// Its begin, seconds from the start of the load.
    pub at_s: f64,
    /// Its end, seconds.
    pub until_s: f64,
}

/// The events of a run, those of the client and those of the server, in order of time.
pub fn events(run: &Run) -> Vec<&Event> {
    let seen = watch::observed(run)
        .into_iter()
        .flat_map(|seen| &seen.events);
    let mut all: Vec<&Event> = run.events.iter().chain(seen).collect();
    all.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    all
}

/// The marks of a run that ends at `end_s`, seconds.
pub fn marks(run: &Run, end_s: f64) -> Vec<Mark> {
    let happened = events(run).into_iter().map(|event| {
        let to_the_end = event.what == "outage" || Sort::of(event) != Sort::Other;
        let open = if to_the_end { end_s } else { event.at_s };
        Mark {
            sort: Sort::of(event),
            at_s: event.at_s.max(0.0),
            until_s: event.until_s.unwrap_or(open),
        }
    });
    let mut marks: Vec<Mark> = happened.filter(|mark| mark.at_s <= end_s).collect();
    for second in run.series.iter().filter(|second| second.failed > 0) {
        let until_s = second.at_s + second.seconds;
        match marks.last_mut() {
            // Failures in a row are one mark.
            Some(last) if last.sort == Sort::Failed && second.at_s - last.until_s < 0.5 => {
                last.until_s = until_s;
            }
            _ => marks.push(Mark {
                sort: Sort::Failed,
                at_s: second.at_s,
                until_s,
            }),
        }
    }
    marks
}

/// The sorts that occur: their letters stand above the plot, a row each.
fn occurring(marks: &[Mark]) -> impl Iterator<Item = Sort> {
    let occurs = |sort: &Sort| marks.iter().any(|mark| mark.sort == *sort);
    Sort::ALL.into_iter().filter(occurs)
}

/// Height that the letters take above the plot, in units of the drawing.
pub fn height(marks: &[Mark]) -> f64 {
    ROW * occurring(marks).count() as f64
}

/// Draws them between two heights: a band for each, its letter above.
pub fn draw(out: &mut String, marks: &[Mark], x: &Scale, top: f64, bottom: f64) -> fmt::Result {
    for (row, sort) in occurring(marks).enumerate() {
        let (height, class) = (top - 4.0 - ROW * row as f64, sort as usize);
        let mut last = f64::NEG_INFINITY;
        for mark in marks.iter().filter(|mark| mark.sort == sort) {
            let from = x.at(mark.at_s);
            let width = (x.at(mark.until_s) - from).max(1.0);
            write!(
                out,
                "<rect class=\"mark m{class}\" x=\"{from:.1}\" y=\"{top}\" width=\"{width:.1}\" \
                 height=\"{:.1}\"/>",
                bottom - top
            )?;
            if from - last >= LETTER {
                let (letter, at) = (sort.letter(), from + width / 2.0);
                write!(
                    out,
                    "<text class=\"letter m{class}\" x=\"{at:.1}\" y=\"{height}\">{letter}</text>"
                )?;
                last = from;
            }
        }
    }
    out.push('\n');
    Ok(())
}

/// What the letters mean, of those that occur.
pub fn key(out: &mut String, marks: &[Mark]) -> fmt::Result {
    let each: Vec<String> = occurring(marks)
        .map(|sort| format!("<b>{}</b> {}", sort.letter(), sort.words()))
        .collect();
    if each.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "<p class=\"key\">Marks on the charts: {}.</p>",
        each.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::closed;

    #[test]
    fn failures_in_a_row_are_one_mark_and_outages_have_their_length() {
        let mut run = closed();
        for number in [1, 2, 4] {
            run.series[number].failed = 3;
        }
        let marks = marks(&run, 5.0);
        let failed: Vec<(f64, f64)> = marks
            .iter()
            .filter(|mark| mark.sort == Sort::Failed)
            .map(|mark| (mark.at_s, mark.until_s))
            .collect();
        assert_eq!(failed, [(1.0, 3.0), (4.0, 5.0)]);
        assert_eq!((marks[0].sort, marks[0].until_s), (Sort::Other, 2.4));
        let mut text = String::new();
        key(&mut text, &marks).unwrap();
        assert!(text.contains("×") && !text.contains("checkpoint"), "{text}");
    }

    #[test]
    fn letters_do_not_cover_each_other() {
        let one = |at_s| Mark {
            sort: Sort::Housekeeping,
            at_s,
            until_s: at_s,
        };
        let marks: Vec<Mark> = (0..1000).map(|n| one(f64::from(n) * 0.1)).collect();
        let mut out = String::new();
        draw(
            &mut out,
            &marks,
            &Scale::time(100.0, 0.0, 600.0),
            40.0,
            200.0,
        )
        .unwrap();
        assert_eq!(out.matches("<rect").count(), 1000);
        assert!(
            out.matches("<text").count() <= 51,
            "{}",
            out.matches("<text").count()
        );
    }
}
