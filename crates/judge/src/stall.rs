//! Seconds in which the server stood still.
//!
//! In: a Run. Out: `stall`. Must never: report seconds without connections, which `outage` covers, or the
//! end of a run by count, when clients that have finished are idle.

use crate::checks::{Finding, new_finding};
use crate::errors::{expects_outage, invalid_unless_outage_expected};
use crate::formatting::{count, percent, thousands};
use crate::thresholds::{
    STALL_INVALID_MIN_S, STALL_INVALID_SHARE, STALL_MEAN_MIN_TXNS, STALL_MIN_TXN_DURATIONS,
    STALL_RATE_MAX_SHARE, STALL_TYPICAL_MIN_TXNS, THINKING_CLIENTS_BUSY_MAX_SHARE,
};
use crate::{all_kinds, errors, short_stalls};
use prony_store::{EventKind, PlannedEnd, Run, Second, SecondPhase, Severity};

/// Maximum number of stretches that the finding lists; the series has all stalled seconds.
const MAX_LISTED: usize = 4;

pub(crate) fn check(run: &Run) -> Option<Finding> {
    let (stretches, typical_rate) = stretches(run)?;
    let seconds = connected_seconds(run);
    let stalled: u64 = stretches.iter().map(|stretch| stretch.seconds).sum();
    let stalled_s: f64 = stretches
        .iter()
        .map(|stretch| stretch.end_s - stretch.start_s)
        .sum();
    let share = stalled_s / run.measured.length_s.max(stalled_s);
    let is_long = share > STALL_INVALID_SHARE && stalled_s > STALL_INVALID_MIN_S;
    let severity = invalid_unless_outage_expected(run, is_long);
    let advice = if expects_outage(run) {
        "The plan expects an outage; the throughput includes these seconds."
    } else if severity == Severity::Invalid {
        "Remove the cause and run again: check the server's log and disk for what happened then (a \
             checkpoint, a lock held by others, a full cache), or the network. If you want to \
             measure an outage, say so with --expect-outage. The series (`prony show --csv`) has \
             each second."
    } else {
        "The throughput includes these seconds. Check the server's log and disk for what happened \
             then (a checkpoint, a lock held by others, a full cache), or the network. The series \
             (`prony show --csv`) has each second."
    };
    new_finding(
        severity,
        format!(
            "In {} of {} no or almost no transactions ended, {} of the window: {} after the start of \
             the load.{} Half of all transactions ended in seconds with {} or more.",
            thousands(stalled),
            count(
                seconds.iter().map(|second| second.whole_seconds()).sum(),
                "second"
            ),
            percent(share),
            describe(&stretches),
            short_stalls::describe_rhythm(run),
            thousands(typical_rate.round() as u64),
        ),
        advice,
    )
}

/// The stalled seconds, and the typical rate with which they were compared; `None` if there are no such seconds.
pub(crate) fn stretches(run: &Run) -> Option<(Vec<StalledStretch>, f64)> {
    let seconds = connected_seconds(run);
    let active = ActiveSeconds::new(&seconds)?;
    let window = without_idle_ends(run, &seconds, &active);
    let seconds = window.iter().copied();
    let mut stretches = find_stretches(seconds.filter(|second| active.is_stalled(second)));
    // Clients that run in step complete nothing for as long as one transaction takes.
    let max_normal_gap_s = STALL_MIN_TXN_DURATIONS * slowest_kind_median_s(run);
    stretches.retain(|stretch| stretch.end_s - stretch.start_s > max_normal_gap_s);
    (!stretches.is_empty()).then_some((stretches, active.typical_rate))
}

/// Figures of the seconds in which any transaction ended: a stalled second is compared with these, because if
/// a server stood still for most of the window, the median second would be empty. Figures are rates: the
/// journal of a long run that was killed has rows of ten seconds besides rows of one.
pub(crate) struct ActiveSeconds {
    /// Half of the transactions ended in seconds with this many or more; slow seconds do not affect this
    /// value.
    pub(crate) typical_rate: f64,
    /// Mean number of transactions in the seconds in which any ended.
    mean_rate: f64,
}

impl ActiveSeconds {
    pub(crate) fn new(seconds: &[&Second]) -> Option<ActiveSeconds> {
        let mut active: Vec<&Second> = seconds.to_vec();
        active.retain(|second| second.ended() > 0);
        active.sort_by(|a, b| b.ended_per_second().total_cmp(&a.ended_per_second()));
        let total: u64 = active.iter().map(|second| second.ended()).sum();
        let total_s: f64 = active
            .iter()
            .map(|second| second.whole_seconds() as f64)
            .sum();
        let mut ended_so_far = 0;
        let typical = active.iter().find(|second| {
            ended_so_far += second.ended();
            2 * ended_so_far >= total
        });
        Some(ActiveSeconds {
            typical_rate: typical?.ended_per_second(),
            mean_rate: total as f64 / total_s,
        })
    }

    fn is_stalled(&self, second: &Second) -> bool {
        let has_almost_none = second.ended_per_second() < STALL_RATE_MAX_SHARE * self.typical_rate;
        (second.ended() == 0 && self.mean_rate >= STALL_MEAN_MIN_TXNS)
            || (self.typical_rate >= STALL_TYPICAL_MIN_TXNS && has_almost_none)
    }
}

/// Removes slow seconds at either end of the window that are not stalls. At the end of a run by count,
/// clients have finished. At the start, slow seconds belong to the warm-up ([`warm_up_row_count`]), and
/// seconds are empty if clients think for most of the time and all start with think time.
fn without_idle_ends<'a, 'b>(
    run: &Run,
    mut seconds: &'a [&'b Second],
    active: &ActiveSeconds,
) -> &'a [&'b Second] {
    if stops_by_count(run) {
        while let Some((last, before)) = seconds.split_last()
            && active.is_stalled(last)
        {
            seconds = before;
        }
    }
    if clients_mostly_think(run) {
        let stalled = seconds
            .iter()
            .take_while(|second| active.is_stalled(second));
        return &seconds[stalled.count()..];
    }
    &seconds[warm_up_row_count(seconds, active)..]
}

/// The number of leading rows that are a warm-up rather than a stall although few transactions ended in them:
/// rows whose rate rises from row to row, or all slow rows if they are a small share of the window.
fn warm_up_row_count(seconds: &[&Second], active: &ActiveSeconds) -> usize {
    let slow_count = seconds
        .iter()
        .take_while(|second| active.is_stalled(second) && second.ended() > 0)
        .count();
    let length_s = |rows: &[&Second]| rows.iter().map(|row| row.length_s).sum::<f64>();
    if length_s(&seconds[..slow_count]) <= STALL_INVALID_SHARE * length_s(seconds) {
        return slow_count;
    }
    let rises = |pair: &&[&Second]| pair[0].ended_per_second() < pair[1].ended_per_second();
    seconds
        .windows(2)
        .take(slow_count)
        .take_while(rises)
        .count()
}

/// Whether the clients of a closed loop were in a transaction for less than half of the time.
fn clients_mostly_think(run: &Run) -> bool {
    let all_s = f64::from(run.drive.clients) * run.measured.length_s;
    let busy_s = all_kinds(run).map_or(0.0, |all| all.busy_s);
    !run.drive.open_loop && busy_s < THINKING_CLIENTS_BUSY_MAX_SHARE * all_s
}

/// Median service time of the slowest kind of transaction, seconds, which a stall does not affect; the
/// shortest service time if there are too few samples for a median.
pub(crate) fn slowest_kind_median_s(run: &Run) -> f64 {
    let kinds = run.measured.kinds.iter();
    let measured = kinds.filter(|kind| kind.service.samples > 0);
    let typical_ns = measured.map(|kind| kind.service.p50_ns.unwrap_or(kind.service.min_ns));
    typical_ns.max().unwrap_or(0) as f64 / 1e9
}

/// The whole seconds of the measured window that do not overlap an outage.
pub(crate) fn connected_seconds(run: &Run) -> Vec<&Second> {
    let outages: Vec<_> = errors::events_in_window(run, EventKind::Outage).collect();
    let overlaps_outage = |second: &Second| {
        outages.iter().any(|event| {
            let ended_before = event.until_s.is_some_and(|until_s| until_s < second.at_s);
            event.at_s <= second.at_s + second.length_s && !ended_before
        })
    };
    let is_whole =
        |second: &Second| second.phase == SecondPhase::Measured && second.length_s > 0.95;
    run.series
        .iter()
        .filter(|second| is_whole(second) && !overlaps_outage(second))
        .collect()
}

/// Whether each client has a fixed amount of work: clients that finish early are idle.
pub(crate) fn stops_by_count(run: &Run) -> bool {
    match run.drive.stop {
        Some(
            PlannedEnd::TransactionsPerClient(_)
            | PlannedEnd::Transactions(_)
            | PlannedEnd::WorkDone,
        ) => true,
        Some(PlannedEnd::DurationS(_) | PlannedEnd::NoStartsAfterS(_)) | None => false,
    }
}

/// Consecutive stalled seconds.
pub(crate) struct StalledStretch {
    pub(crate) start_s: f64,
    pub(crate) end_s: f64,
    seconds: u64,
}

fn find_stretches<'a>(stalled: impl Iterator<Item = &'a Second>) -> Vec<StalledStretch> {
    let mut stretches: Vec<StalledStretch> = Vec::new();
    for second in stalled {
        let second_end_s = second.at_s + second.length_s;
        match stretches.last_mut() {
            Some(last) if second.at_s - last.end_s < 0.5 => {
                last.end_s = second_end_s;
                last.seconds += second.whole_seconds();
            }
            _ => stretches.push(StalledStretch {
                start_s: second.at_s,
                end_s: second_end_s,
                seconds: second.whole_seconds(),
            }),
        }
    }
    stretches
}

/// `from 12 s to 15 s and from 40 s to 41 s`.
fn describe(stretches: &[StalledStretch]) -> String {
    let mut descriptions: Vec<String> = stretches
        .iter()
        .take(MAX_LISTED)
        .map(|stretch| format!("from {:.0} s to {:.0} s", stretch.start_s, stretch.end_s))
        .collect();
    if stretches.len() > MAX_LISTED {
        descriptions.push(format!("{} more times", stretches.len() - MAX_LISTED));
    }
    match descriptions.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => descriptions.concat(),
    }
}

#[cfg(test)]
mod tests;
