//! The history of a workload's runs in words.

use crate::text::comparison::format_figure;
use crate::text::plain;
use crate::units::{self, count_of};
use prony_judge::compare::Unit;
use prony_judge::statistics::MIN_RUNS_OF_LEVEL;
use prony_judge::trend::{Level, LevelChange, Trend};

/// Fewest runs of a history in which a change can be found at 5 %.
pub(crate) const MIN_RUNS: usize = 8;

/// `tpcc: NOPM of 24 runs, 2026-09-01 to 2026-11-24`.
pub(crate) fn title(trend: &Trend) -> String {
    let runs = count_of(trend.runs.len() as u64, "run");
    let mut title = format!(
        "{}: {} of {runs}",
        plain(&trend.workload),
        figure_name(trend)
    );
    if let [first, .., last] = &trend.runs[..] {
        let [first, last] = [first, last].map(|run| date(&run.started_at));
        title += &format!(", {first}");
        if first != last {
            title += &format!(" to {last}");
        }
    }
    title
}

/// The answer: `No change found in 14 runs: the median is 1,002.`, or the last change.
pub(crate) fn answer(trend: &Trend) -> String {
    let count = count_of(trend.runs.len() as u64, "run");
    let level =
        |level: Option<&Level>| format_figure(trend.unit, level.map_or(0.0, |level| level.median));
    let [.., before, after] = &trend.levels[..] else {
        let median = level(trend.levels.first());
        return match trend.runs.len() {
            0 => "No run is comparable.".to_owned(),
            1..MIN_RUNS => {
                format!("Too few runs to find a change ({count}): the median is {median}.")
            }
            _ => format!("No change found in {count}: the median is {median}."),
        };
    };
    let change = trend.changes.last();
    let text = change.map_or_else(String::new, |change| {
        let direction = if change.is_better { "better" } else { "worse" };
        format!(", {} ({direction})", change_text(change))
    });
    let first = trend.runs.get(after.first);
    let since = first.map_or_else(String::new, |run| minute(&run.started_at));
    let runs = count_of(after.runs as u64, "run");
    let [old, new] = [before, after].map(|found| level(Some(found)));
    format!("Since {since}, {runs}: {new}, before {old}{text}.")
}

/// The figure, with the transactions that a response time is of.
pub(crate) fn figure_name(trend: &Trend) -> String {
    match trend.unit {
        Unit::Rate => trend.figure.clone(),
        Unit::Nanoseconds => format!("{} response time", trend.figure),
    }
}

/// The day of a time in RFC 3339.
fn date(started_at: &str) -> String {
    plain(started_at.get(..10).unwrap_or(started_at))
}

/// The minute of a time in RFC 3339: `2026-11-20 23:33`.
pub(crate) fn minute(started_at: &str) -> String {
    plain(&started_at.get(..16).unwrap_or(started_at).replace('T', " "))
}

/// The change of a level: `+5.1 %`.
pub(crate) fn change_text(change: &LevelChange) -> String {
    let sign = if change.ratio < 1.0 { '−' } else { '+' };
    format!("{sign}{}", units::percent((change.ratio - 1.0).abs()))
}

/// How chance explains a history as clear.
pub(crate) fn method(trend: &Trend) -> String {
    let alarms = units::whole_percent(trend.false_alarm_rate);
    let mut text = format!(
        "A change is where the ranks of the runs before and after differ by more than random orders of the \
         runs explain, with at least {MIN_RUNS_OF_LEVEL} runs on each side. If the runs of a history without a \
         change are independent, it shows one in at most {alarms} of cases; a machine that drifts slowly shows \
         changes more often.",
    );
    if trend.runs.len() < MIN_RUNS {
        text += &format!(" It takes {MIN_RUNS} runs to find any.");
    }
    text
}

/// Runs left out with the same reason: the reason, and their ids.
pub(crate) fn reasons(trend: &Trend) -> Vec<(&str, Vec<&str>)> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for left_out in &trend.left_out {
        match reasons
            .iter_mut()
            .find(|(reason, _)| *reason == left_out.reason)
        {
            Some((_, runs)) => runs.push(&left_out.run),
            None => reasons.push((&left_out.reason, vec![&left_out.run])),
        }
    }
    reasons.sort_by_key(|(_, runs)| std::cmp::Reverse(runs.len()));
    reasons
}
