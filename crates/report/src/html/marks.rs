//! Marks of events on the charts.
//!
//! In: a Run. Out: a band or line with a letter at the time of each event. Must never: distinguish events by
//! colour alone.

use super::drawing::Drawing;
use super::figure::Plot;
use super::scale::Scale;
use crate::html::markup::{Html, Raw, write_markup};
use prony_judge::observations;
use prony_judge::outage::{commit_gap, events_with_joined_losses};
use prony_store::{Event, EventKind, Run};
use std::fmt;

/// Minimum distance between two letters of one row, in units of the drawing: the width of the widest one in a narrow window.
const MIN_LETTER_DISTANCE: f64 = 18.0;
/// Minimum distance between two bands of one kind, in units of the drawing.
const MIN_GAP: f64 = 0.5;
/// Height of a row of letters, in units of the drawing: that of letters in a narrow window, which are larger.
const ROW_HEIGHT: f64 = 14.0;

/// What a mark stands for. The style sheet has the looks of the kinds, `m0` to `m5`, in the order of their declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkKind {
    Checkpoint,
    /// A vacuum or an analyze.
    Housekeeping,
    /// Seconds in which transactions failed.
    Failures,
    /// Other events: outages, restarts, backups.
    OtherEvent,
    /// What the user did: a command of the plan, or a signal.
    User,
    /// The time in which no client committed.
    NoCommits,
}

impl MarkKind {
    /// All kinds, in the order of their rows.
    pub const ALL: [MarkKind; 6] = [
        MarkKind::Checkpoint,
        MarkKind::Housekeeping,
        MarkKind::Failures,
        MarkKind::OtherEvent,
        MarkKind::User,
        MarkKind::NoCommits,
    ];

    /// The letter on the chart, and its meaning.
    pub fn letter_and_meaning(self) -> (&'static str, &'static str) {
        match self {
            MarkKind::Checkpoint => ("C", "checkpoint"),
            MarkKind::Housekeeping => ("V", "vacuum or analyze"),
            MarkKind::Failures => ("×", "transactions failed"),
            MarkKind::User => ("M", "command of the plan, or SIGUSR1"),
            MarkKind::NoCommits => ("0", "nobody committed"),
            MarkKind::OtherEvent => ("!", "outage, restart, backup or another event"),
        }
    }

    fn of(event: &Event) -> MarkKind {
        match event.kind {
            EventKind::Checkpoint => MarkKind::Checkpoint,
            EventKind::Vacuum | EventKind::Analyze => MarkKind::Housekeeping,
            EventKind::Mark => MarkKind::User,
            _ => MarkKind::OtherEvent,
        }
    }
}

/// A mark of one event, or of consecutive seconds with failures.
#[derive(Clone, Debug, PartialEq)]
pub struct EventMark {
    pub kind: MarkKind,
    /// Start of the event, in seconds from the start of the load.
    pub start_s: f64,
    /// End of the event, in seconds from the start of the load.
    pub end_s: f64,
}

/// The events of the client and of the server, in time order.
pub fn events_by_time(run: &Run) -> Vec<Event> {
    let observed = observations::observed(run)
        .into_iter()
        .flat_map(|observed| observed.events.clone());
    let mut events = events_with_joined_losses(run);
    events.extend(observed);
    events.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    events
}

/// The marks on the charts of a run; `end_s` is the end of their time axis.
pub fn marks(run: &Run, end_s: f64) -> Vec<EventMark> {
    let event_marks = events_by_time(run).into_iter().map(|event| {
        let kind = MarkKind::of(&event);
        // Without a known end, these last to the end of the run; other events are moments.
        let takes_time = event.kind == EventKind::Outage
            || matches!(kind, MarkKind::Checkpoint | MarkKind::Housekeeping);
        let default_end_s = if takes_time { end_s } else { event.at_s };
        EventMark {
            kind,
            start_s: event.at_s.max(0.0),
            end_s: event.until_s.unwrap_or(default_end_s),
        }
    });
    let no_commits = commit_gap(run).map(|gap| EventMark {
        kind: MarkKind::NoCommits,
        start_s: gap.from_s,
        end_s: gap.until_s.unwrap_or(end_s),
    });
    let all = event_marks.chain(no_commits);
    let mut marks: Vec<EventMark> = all.filter(|mark| mark.start_s <= end_s).collect();
    for second in run.series.iter().filter(|second| second.failed > 0) {
        let second_end_s = second.at_s + second.length_s;
        match marks.last_mut() {
            // Merge consecutive seconds with failures into one mark.
            Some(last) if last.kind == MarkKind::Failures && second.at_s - last.end_s < 0.5 => {
                last.end_s = second_end_s;
            }
            _ => marks.push(EventMark {
                kind: MarkKind::Failures,
                start_s: second.at_s,
                end_s: second_end_s,
            }),
        }
    }
    marks
}

/// The kinds of these marks; each kind has a row of letters above the plot.
fn occurring_kinds(marks: &[EventMark]) -> impl Iterator<Item = MarkKind> {
    let occurs = |kind: &MarkKind| marks.iter().any(|mark| mark.kind == *kind);
    MarkKind::ALL.into_iter().filter(occurs)
}

/// The height of the letters above the plot, in units of the drawing.
pub fn letters_height(marks: &[EventMark]) -> f64 {
    ROW_HEIGHT * occurring_kinds(marks).count() as f64
}

/// Draws a band of the height of the plot for each mark, with its letter above.
pub fn draw(out: &mut Drawing, marks: &[EventMark], x: &Scale, plot: &Plot) -> fmt::Result {
    for (row, kind) in occurring_kinds(marks).enumerate() {
        let mut bands: Vec<[f64; 2]> = Vec::new();
        let mut letters: Vec<f64> = Vec::new();
        for mark in marks.iter().filter(|mark| mark.kind == kind) {
            let from = x.position(mark.start_s);
            let to = x.position(mark.end_s).max(from + 1.0);
            match bands.last_mut() {
                // Bands without a visible gap are one band: a long run may have thousands of marks.
                Some(last) if from - last[1] < MIN_GAP => last[1] = last[1].max(to),
                _ => bands.push([from, to]),
            }
            let middle = (from + to) / 2.0;
            if letters
                .last()
                .is_none_or(|last| middle - last >= MIN_LETTER_DISTANCE)
            {
                letters.push(middle);
            }
        }
        let (top, bottom) = (plot.top, plot.bottom);
        let bands = bands.iter();
        let bands = bands.map(|[from, to]| format!("M{from:.1} {top}H{to:.1}V{bottom}H{from:.1}z"));
        let look = kind as usize;
        out.path(&format!("mark m{look}"), &bands.collect::<String>())?;
        let baseline = top - 4.0 - ROW_HEIGHT * row as f64;
        for x in letters {
            let letter = kind.letter_and_meaning().0;
            out.text(&format!("letter m{look}"), x, baseline, letter)?;
        }
    }
    Ok(())
}

pub fn write_legend(out: &mut Html, marks: &[EventMark]) -> fmt::Result {
    let entries = occurring_kinds(marks).map(MarkKind::letter_and_meaning);
    for (index, (letter, meaning)) in entries.enumerate() {
        let separator = match index {
            0 => "<p class=\"key\">Marks on the charts: ",
            _ => ", ",
        };
        write_markup!(out, "{}<b>{}</b> {}", Raw(separator), letter, meaning)?;
    }
    if !marks.is_empty() {
        out.push_str(".</p>\n");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::closed;
    use prony_assertions::TextAssertions;
    use prony_store::CommitGap;

    #[test]
    fn consecutive_failures_are_one_mark() {
        let mut run = closed();
        for number in [1, 2, 4] {
            run.series[number].failed = 3;
        }
        let marks = marks(&run, 5.0);
        let failed: Vec<(f64, f64)> = marks
            .iter()
            .filter(|mark| mark.kind == MarkKind::Failures)
            .map(|mark| (mark.start_s, mark.end_s))
            .collect();
        assert_eq!(failed, [(1.0, 3.0), (4.0, 5.0)]);
        assert_eq!((marks[0].kind, marks[0].end_s), (MarkKind::OtherEvent, 2.4));
        run.commit_gap = Some(CommitGap {
            from_s: 2.1,
            until_s: Some(3.4),
            ..CommitGap::default()
        });
        let shaded = super::marks(&run, 5.0);
        let outage = shaded.iter().find(|mark| mark.kind == MarkKind::NoCommits);
        assert_eq!(
            outage.map(|mark| (mark.start_s, mark.end_s)),
            Some((2.1, 3.4))
        );
        let mut text = Html::default();
        write_legend(&mut text, &marks).unwrap();
        text.assert_contains("×").assert_lacks("checkpoint");
    }

    /// The page draws letters larger in a narrow window, such as one of 390 pixels.
    #[test]
    fn letters_of_every_size_fit_their_rows() {
        let sizes = include_str!("page.css").lines().filter_map(|line| {
            let rule = line.trim().strip_prefix(".plot .letter { font-size: ")?;
            rule.split_once("px")?.0.parse::<f64>().ok()
        });
        let sizes: Vec<f64> = sizes.collect();
        assert_eq!(sizes.len(), 2, "{sizes:?}");
        for size in sizes {
            // Of a bold sans-serif font: the height of capital letters, and the width of an M.
            let (height, width) = (0.73 * size, 0.96 * size);
            assert!(height < ROW_HEIGHT, "{size}");
            assert!(width < MIN_LETTER_DISTANCE, "{size}");
        }
    }

    #[test]
    fn letters_do_not_overlap() {
        let mark = |at_s| EventMark {
            kind: MarkKind::Housekeeping,
            start_s: at_s,
            end_s: at_s,
        };
        let marks: Vec<EventMark> = (0..1000).map(|n| mark(f64::from(n) * 0.1)).collect();
        let mut drawing = Drawing::default();
        let plot = Plot {
            top: 40.0,
            bottom: 200.0,
            ..Plot::STANDARD
        };
        draw(&mut drawing, &marks, &Scale::time(100.0, 0.0, 600.0), &plot).unwrap();
        let out = drawing.html;
        // The marks are 0.6 units apart and 1 unit wide: together they are one band over the whole plot.
        assert_eq!(out.matches('M').count(), 1, "{out}");
        out.assert_contains("M0.0 40H600.4V200H0.0z");
        assert!(
            out.matches("<text").count() <= 51,
            "{}",
            out.matches("<text").count()
        );
    }
}
