//! A run on the time axis of its charts.
//!
//! In: a Run. Out: its rows over time, several of them in one point if a screen cannot show more points. Must never:
//! average a percentile.

use super::marks::{self, EventMark};
use super::timeline::Timeline;
use prony_store::{CoarseHistogram, Run, Second, ServerSecond, TransactionTime};
use std::ops::Range;

/// Maximum number of points in a line of the only run of a page; a screen shows fewer.
const MAX_POINTS: usize = 600;
/// Maximum number of points in the lines of all runs of a page that shows each in full.
const MAX_POINTS_OF_RUNS: usize = 800;
/// Maximum number of points in a line of a page that shows less of each run: enough to see a change.
const MAX_POINTS_OF_BRIEF: usize = 45;
/// Maximum number of runs of a page that shows each in full. With more, a page would be too large.
pub const MAX_RUNS_IN_FULL: usize = 6;

/// Maximum number of points in a line of a page with this many runs.
pub fn max_points(runs: usize) -> usize {
    match runs {
        0 | 1 => MAX_POINTS,
        2..=MAX_RUNS_IN_FULL => MAX_POINTS_OF_RUNS / runs,
        _ => MAX_POINTS_OF_BRIEF,
    }
}

/// Consecutive rows, one group for each point of a line.
pub fn groups<T>(rows: &[T], max_points: usize) -> Vec<&[T]> {
    rows.chunks(rows.len().div_ceil(max_points).max(1))
        .collect()
}

/// The time that a point covers, in seconds from the start of the load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Span {
    pub start_s: f64,
    pub length_s: f64,
}

impl Span {
    /// The span of consecutive rows, each with its start and its length.
    fn of(rows: impl IntoIterator<Item = (f64, f64)>) -> Span {
        let mut rows = rows.into_iter().peekable();
        Span {
            start_s: rows.peek().map_or(0.0, |(start_s, _)| *start_s),
            length_s: rows.map(|(_, length_s)| length_s).sum(),
        }
    }

    pub fn of_seconds(rows: &[Second]) -> Span {
        Span::of(rows.iter().map(|row| (row.at_s, row.length_s)))
    }

    pub fn of_readings(rows: &[ServerSecond]) -> Span {
        Span::of(rows.iter().map(|row| (row.at_s, row.length_s)))
    }

    pub fn contains(&self, time_s: f64) -> bool {
        self.start_s <= time_s && time_s < self.start_s + self.length_s
    }

    pub fn middle_s(&self) -> f64 {
        self.start_s + self.length_s / 2.0
    }

    /// A count per second; `None` if the span is too short for a meaningful rate, as the last one may be.
    pub fn rate(&self, count: f64) -> Option<f64> {
        (self.length_s >= 0.1).then(|| count / self.length_s)
    }
}

pub struct RunOverTime<'a> {
    pub run: &'a Run,
    /// Number of the run in the page; makes ids unique.
    pub number: usize,
    pub marks: Vec<EventMark>,
    /// End of the time axis, in seconds.
    pub end_s: f64,
    pub max_points: usize,
}

pub struct HistogramPoint {
    pub span: Span,
    pub histogram: CoarseHistogram,
    /// The longest response time, exact; `None` if there is none.
    pub max_ns: Option<f64>,
}

impl HistogramPoint {
    /// The percentile in nanoseconds; `None` if there are too few transactions.
    pub fn quantile_ns(&self, quantile: f64) -> Option<f64> {
        self.histogram.quantile_ns(quantile).map(|ns| ns as f64)
    }
}

/// The points of a line of a value for each second from the start of the load.
#[derive(Clone, Copy)]
pub struct PointsOfSeconds {
    seconds: usize,
    /// Seconds in a point; the last one may have fewer.
    pub per_point: usize,
}

impl PointsOfSeconds {
    /// The number of the first second of each point.
    pub fn starts(self) -> impl Iterator<Item = usize> + Clone {
        (0..self.seconds).step_by(self.per_point)
    }

    /// The seconds of the point that begins with this one.
    pub fn seconds(self, start: usize) -> Range<usize> {
        start..self.seconds.min(start + self.per_point)
    }

    /// The span of the point that begins with this second.
    pub fn span(self, start: usize) -> Span {
        Span {
            start_s: start as f64,
            length_s: self.seconds(start).len() as f64,
        }
    }
}

impl<'a> RunOverTime<'a> {
    /// The points of so many seconds.
    pub fn points_of(&self, seconds: usize) -> PointsOfSeconds {
        PointsOfSeconds {
            seconds,
            per_point: seconds.div_ceil(self.max_points).max(1),
        }
    }

    pub fn new(run: &'a Run, number: usize, max_points: usize) -> RunOverTime<'a> {
        let end_s = end_s(run);
        RunOverTime {
            run,
            number,
            marks: marks::marks(run, end_s),
            end_s,
            max_points,
        }
    }

    /// The seconds of the run, one group for each point.
    pub fn seconds(&self) -> Vec<&'a [Second]> {
        groups(&self.run.series, self.max_points)
    }

    /// The histograms of a time over the run, of one kind of transaction or, with `None`, of all; empty if the
    /// document has none.
    pub fn histograms(
        &self,
        time: TransactionTime,
        kind: Option<&str>,
    ) -> Result<Vec<HistogramPoint>, String> {
        let Some(histograms) = &self.run.histograms else {
            return Ok(Vec::new());
        };
        let intervals = histograms.intervals(time, kind, &self.run.series)?;
        let points = groups(&intervals, self.max_points)
            .into_iter()
            .map(|group| {
                let mut histogram = CoarseHistogram::default();
                for interval in group {
                    histogram.add(&interval.histogram);
                }
                let rows = group.iter().flat_map(|interval| interval.rows);
                let max_ns = rows.map(|row| row.max_ns).max().filter(|ns| *ns > 0);
                HistogramPoint {
                    span: Span::of(group.iter().map(|one| (one.at_s(), one.length_s()))),
                    histogram,
                    max_ns: max_ns.map(|ns| ns as f64),
                }
            });
        Ok(points.collect())
    }

    /// Charts with these points and one table; `table` is the prefix of its id.
    pub fn timeline(&self, table: &str, spans: impl IntoIterator<Item = Span>) -> Timeline<'_> {
        Timeline {
            id_suffix: self.number.to_string(),
            table_id: format!("{table}-{}", self.number),
            spans: spans.into_iter().collect(),
            marks: &self.marks,
            warmup_s: self.run.window.warmup_s,
            end_s: self.end_s,
        }
    }
}

/// The end of the time axis of a run, in seconds: the end of its longest series.
pub fn end_s(run: &Run) -> f64 {
    let client_ends_s = run.series.iter().map(|row| row.at_s + row.length_s);
    let observed = run.observed.iter().flat_map(|observed| &observed.series);
    let ends_s = client_ends_s.chain(observed.map(|row| row.at_s + row.length_s));
    let end_s = ends_s.filter(|end_s| end_s.is_finite()).fold(0.0, f64::max);
    if end_s > 0.0 { end_s } else { 1.0 }
}
