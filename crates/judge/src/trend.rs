//! The history of a figure over the comparable runs of a workload, and when its level changed.
//!
//! In: a reference run, and other runs one by one. Out: a [`Trend`]: the runs in order, the levels with the
//! changes between them, and the runs that are left out, each with the reason. Must never: mix runs that
//! [`crate::compare`] calls not comparable, or drop a run without its reason.
//!
//! A difference that the variants of an experiment have on purpose is a difference here: a history shows one
//! configuration. Runs that differ with a caveat, such as another version of the server, stay: their
//! differences are what a change is explained by ([`differences_at_change`]).

use crate::compare::{Difference, Unit, differences, figure_values, preferred_figures};
use crate::formatting::count;
use crate::statistics::{ALPHA, ChangePoint, change_points, levels_between, median};
use prony_store::{Run, Severity};
use serde::Serialize;
use std::ops::Range;

/// The history of one figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trend {
    /// Name of the workload, or of the plan whose own transactions were run.
    pub workload: String,
    /// Name of the figure, such as `NOPM`, `TPS`, `p99`.
    pub figure: String,
    pub unit: Unit,
    /// Id of the run with which the others compare.
    pub reference: String,
    /// The comparable runs, oldest first.
    pub runs: Vec<TrendRun>,
    /// The levels, oldest first: one more than there are changes; empty if there are no runs.
    pub levels: Vec<Level>,
    /// The changes of the level, oldest first.
    pub changes: Vec<LevelChange>,
    /// Largest probability that a history without a change shows one.
    pub false_alarm_rate: f64,
    /// Runs that do not compare with the reference.
    pub left_out: Vec<LeftOutRun>,
}

/// One run of a history.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrendRun {
    /// Its id.
    pub run: String,
    /// Its start, RFC 3339.
    pub started_at: String,
    /// The figure.
    pub value: f64,
}

/// A run that is not in the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOutRun {
    /// Its id.
    pub run: String,
    /// Why it does not compare.
    pub reason: String,
}

/// Consecutive runs between two changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Level {
    /// Index of its first run.
    pub first: usize,
    pub runs: usize,
    /// The median of its runs.
    pub median: f64,
}

/// A change from one level to the next.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelChange {
    /// Index of the first run of the new level.
    pub index: usize,
    /// The new level divided by the old one: the ratio of their medians.
    pub ratio: f64,
    /// Whether the new level is better.
    pub is_better: bool,
    /// Probability that runs of one level, in random order, show as clear a change.
    pub p: f64,
    /// How the last run of the old level and the first run of the new one differ; see
    /// [`differences_at_change`].
    pub differences: Vec<Difference>,
}

/// A run of the history, or one that is no part of it.
pub struct ComparedRun(Result<TrendRun, LeftOutRun>);

/// Compares runs with the reference of a history.
pub struct TrendBuilder<'a> {
    reference: &'a Run,
    figure: String,
    unit: Unit,
    /// The comparable runs, each with its start, nanoseconds since 1970.
    runs: Vec<(i64, TrendRun)>,
    left_out: Vec<LeftOutRun>,
}

impl<'a> TrendBuilder<'a> {
    /// A history of the runs that compare with `reference`. The figure is `requested`, otherwise throughput
    /// or, for a load at a rate, the 99th percentile. The reference is not yet part of the history.
    ///
    /// # Errors
    /// The names of the figures that the reference has, if the requested one is not among them.
    pub fn new(
        reference: &'a Run,
        requested: Option<&str>,
    ) -> Result<TrendBuilder<'a>, Vec<String>> {
        let figures = figure_values(reference);
        let preferred = preferred_figures(reference.drive.open_loop);
        let named = |name: &str| figures.iter().find(|figure| figure.name == name);
        let figure = requested.map_or(preferred.into_iter().find_map(named), named);
        match figure {
            Some(figure) => Ok(TrendBuilder {
                reference,
                figure: figure.name.clone(),
                unit: figure.unit,
                runs: Vec::new(),
                left_out: Vec::new(),
            }),
            None => Err(figures.into_iter().map(|figure| figure.name).collect()),
        }
    }

    /// Adds a run, judged by the same rules as the reference; `epoch_ns` is its start, nanoseconds since 1970.
    pub fn add(&mut self, run: &Run, epoch_ns: i64) {
        self.add_compared(self.compare(run), epoch_ns);
    }

    /// Compares a run with the reference, without adding it.
    pub fn compare(&self, run: &Run) -> ComparedRun {
        let (id, started_at) = (run.id.clone(), run.started_at.clone());
        ComparedRun(match self.value(run) {
            Ok(value) => Ok(TrendRun {
                run: id,
                started_at,
                value,
            }),
            Err(reason) => Err(LeftOutRun { run: id, reason }),
        })
    }

    /// Adds a run that [`compare`](Self::compare) has compared; `epoch_ns` as for [`add`](Self::add).
    pub fn add_compared(&mut self, compared: ComparedRun, epoch_ns: i64) {
        match compared.0 {
            Ok(run) => self.runs.push((epoch_ns, run)),
            Err(run) => self.left_out.push(run),
        }
    }

    /// Notes a run that is not part of the history, for example because its document cannot be read.
    pub fn leave_out(&mut self, run: &str, reason: String) {
        let run = run.to_owned();
        self.left_out.push(LeftOutRun { run, reason });
    }

    /// The figure of a comparable run, otherwise the reason to leave it out.
    fn value(&self, run: &Run) -> Result<f64, String> {
        if let Some(reason) = reason_to_leave_out(self.reference, run) {
            return Err(reason);
        }
        let mut figures = figure_values(run).into_iter();
        let figure =
            figures.find(|figure| figure.is_same(&self.figure, self.unit) && figure.value > 0.0);
        match figure {
            Some(figure) => Ok(figure.value),
            None => Err(format!("it has no {}", self.figure)),
        }
    }

    /// Sorts the runs by their start, and searches for changes.
    pub fn finish(self) -> Trend {
        let mut by_start = self.runs;
        by_start.sort_by(|(start_a, a), (start_b, b)| (start_a, &a.run).cmp(&(start_b, &b.run)));
        let runs: Vec<TrendRun> = by_start.into_iter().map(|(_, run)| run).collect();
        let values: Vec<f64> = runs.iter().map(|run| run.value).collect();
        let found = change_points(&values, ALPHA);
        let levels = levels(&values, &found);
        let changes = found.iter().zip(levels.windows(2)).map(|(change, pair)| {
            let ratio = pair[1].median / pair[0].median;
            LevelChange {
                index: change.index,
                ratio,
                is_better: (ratio > 1.0) == (self.unit == Unit::Rate),
                p: change.p,
                differences: Vec::new(),
            }
        });
        Trend {
            workload: self.reference.workload.display_name().to_owned(),
            figure: self.figure,
            unit: self.unit,
            reference: self.reference.id.clone(),
            changes: changes.collect(),
            runs,
            levels,
            false_alarm_rate: ALPHA,
            left_out: self.left_out,
        }
    }
}

/// The levels from each change to the next.
fn levels(values: &[f64], changes: &[ChangePoint]) -> Vec<Level> {
    let parts = levels_between(changes, 0..values.len()).filter(|part| !part.is_empty());
    let level = |part: Range<usize>| Level {
        first: part.start,
        runs: part.len(),
        median: median(&values[part]),
    };
    parts.map(level).collect()
}

/// Why a run is no part of a history: the gravest difference from the reference; `None` if the two compare.
fn reason_to_leave_out(reference: &Run, run: &Run) -> Option<String> {
    let all = differences(reference, run);
    let grave: Vec<&Difference> = all
        .iter()
        .filter(|difference| difference.severity == Severity::Invalid)
        .collect();
    let first = grave.first()?;
    let text = match first.what.as_str() {
        "committed" => "nothing was committed".to_owned(),
        "state" => "in progress".to_owned(),
        "invalid by" => format!("invalid by {}", first.b),
        what => format!("{what} {}, not {}", first.b, first.a),
    };
    match grave.len() - 1 {
        0 => Some(text),
        more => Some(format!(
            "{text}; and {}",
            count(more as u64, "more difference")
        )),
    }
}

/// Whether a run may be used and has figures, so that others can be compared with it.
pub fn can_be_reference(run: &Run) -> bool {
    reason_to_leave_out(run, run).is_none() && !figure_values(run).is_empty()
}

/// What differs between the last run of a level and the first run of the next one, the worst first: the
/// candidates for a cause. Findings that only one of the runs has are no cause and are left out.
pub fn differences_at_change(before: &Run, after: &Run) -> Vec<Difference> {
    let mut all = differences(before, after);
    all.retain(|difference| !["findings", "invalid by", "state"].contains(&&*difference.what));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{P99_FIGURE, TPS_FIGURE};
    use crate::sample::healthy;
    use prony_assertions::TextAssertions;
    use prony_store::RunState;

    fn run(number: usize, tps: f64) -> Run {
        let mut run = healthy();
        run.id = format!("run-{number:02}");
        run.rates.clear();
        run.measured.kinds[0].tps = tps;
        run.measured.kinds[0].response.p99_ns = Some(9_000_000);
        run
    }

    fn trend_of(runs: &[Run]) -> Trend {
        let reference = runs.last().unwrap();
        let mut builder = TrendBuilder::new(reference, Some(TPS_FIGURE)).unwrap();
        for (number, run) in runs.iter().enumerate() {
            builder.add(run, number as i64);
        }
        builder.finish()
    }

    #[test]
    fn a_slower_level_is_dated_with_its_differences() {
        let mut runs: Vec<Run> = (0..12)
            .map(|number| run(number, 1_000.0 + (number * 7 % 5) as f64))
            .collect();
        for slower in &mut runs[7..] {
            slower.measured.kinds[0].tps -= 100.0;
            slower.server.version = "19.1".to_owned();
        }
        let trend = trend_of(&runs);
        assert_eq!((trend.runs.len(), trend.left_out.len()), (12, 0));
        let [change] = &trend.changes[..] else {
            panic!("{trend:?}");
        };
        assert_eq!(trend.runs[change.index].run, "run-07");
        assert!(
            !change.is_better && (change.ratio - 0.9).abs() < 0.003,
            "{change:?}"
        );
        let [before, after] = &trend.levels[..] else {
            panic!("{trend:?}");
        };
        assert_eq!(
            [before.first, before.runs, after.first, after.runs],
            [0, 7, 7, 5]
        );
        let differences = differences_at_change(&runs[6], &runs[7]);
        assert!(
            differences.iter().any(|found| found.b.contains("19.1")),
            "{differences:?}"
        );
    }

    #[test]
    fn a_longer_response_time_is_a_worse_level() {
        let mut runs: Vec<Run> = (0..10).map(|number| run(number, 1_000.0)).collect();
        for (number, run) in runs.iter_mut().enumerate() {
            let slow = if number < 5 { 4_000_000 } else { 9_000_000 };
            run.measured.kinds[0].response.p99_ns = Some(slow + number as u64);
        }
        let mut builder = TrendBuilder::new(&runs[9], Some(P99_FIGURE)).unwrap();
        for (number, run) in runs.iter().enumerate().rev() {
            builder.add(run, number as i64);
        }
        let trend = builder.finish();
        assert_eq!(trend.changes.len(), 1, "{trend:?}");
        assert!(!trend.changes[0].is_better);
        assert_eq!(trend.runs[0].run, "run-00", "sorted by the start");
    }

    #[test]
    fn runs_that_do_not_compare_are_left_out_with_a_reason() {
        let mut runs: Vec<Run> = (0..6).map(|number| run(number, 1_000.0)).collect();
        runs[0].drive.clients *= 8;
        runs[1].state = RunState::Running;
        runs[2].measured.kinds[0].committed = 0;
        runs[3].measured.kinds[0].response.p99_ns = None;
        let trend = trend_of(&runs);
        let kept: Vec<&str> = trend.runs.iter().map(|run| run.run.as_str()).collect();
        assert_eq!(kept, ["run-03", "run-04", "run-05"]);
        let left_out = trend.left_out.iter();
        let reasons: Vec<&str> = left_out.map(|run| run.reason.as_str()).collect();
        reasons[0].assert_starts_with("clients ");
        reasons[1].assert_starts_with("in progress");
        reasons[2].assert_starts_with("nothing was committed");
        assert!(!can_be_reference(&runs[1]) && can_be_reference(&runs[5]));
        let mut builder = TrendBuilder::new(&runs[5], Some(P99_FIGURE)).unwrap();
        builder.add(&runs[3], 3);
        assert_eq!(builder.finish().left_out[0].reason, "it has no p99");
    }

    #[test]
    fn an_unknown_figure_is_refused_with_the_names_of_the_others() {
        let reference = run(0, 1_000.0);
        let names = TrendBuilder::new(&reference, Some("p98")).err().unwrap();
        assert!(names.iter().any(|name| name == TPS_FIGURE), "{names:?}");
    }
}
