//! How long nobody could write, and when the throughput was back.
//!
//! In: a Run. Out: the length of its outage, and its recovery. Must never: call the throughput back that was not so for
//! ten seconds.

use crate::steady::mean;
use crate::thresholds::{
    OUTAGE_MIN_MEAN_TIMES, OUTAGE_MIN_S, OUTAGE_RECOVERED_SECONDS, OUTAGE_RECOVERED_SHARE,
    OUTAGE_SECONDS_BEFORE, OUTAGE_SECONDS_BEFORE_MIN,
};
use prony_store::{CommitGap, Event, EventKind, Run, Second, SecondPhase};

/// Why the time without a commit is not known.
const NOT_MEASURED: &str = "it is measured with --expect-outage, --at, --ledger or a requirement, if this machine drives all clients";

/// The longest outage, seconds: the longest time in which nobody committed, or in which connections were lost; 0 if there
/// was none.
///
/// # Errors
/// It was not measured how long nobody committed, and no connection was lost: a server that hangs loses none.
pub fn longest_outage_s(run: &Run) -> Result<f64, &'static str> {
    let end_s = run.window.load_end_s();
    let losses = joined_losses(run).into_iter();
    let lengths_s = losses.map(|event| event.until_s.unwrap_or(end_s) - event.at_s);
    let longest_loss_s = lengths_s.reduce(f64::max);
    if run.commit_gap.is_none() {
        return longest_loss_s.ok_or(NOT_MEASURED);
    }
    let gap_s = commit_gap(run).map(|gap| gap_length_s(run, gap));
    Ok(longest_loss_s.into_iter().chain(gap_s).fold(0.0, f64::max))
}

/// The times in which connections were lost, in order. Each worker has counted its own: what overlaps, or is not as
/// far apart as an outage is long, is one loss, however many threads drove the clients.
pub fn joined_losses(run: &Run) -> Vec<Event> {
    let events = run.events.iter();
    let mut losses: Vec<&Event> = events
        .filter(|event| event.kind == EventKind::Outage)
        .collect();
    losses.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    let mut joined: Vec<Event> = Vec::new();
    for loss in losses {
        let is_near = |last: &&mut Event| {
            let until_s = last.until_s.unwrap_or(f64::INFINITY);
            loss.at_s < until_s + OUTAGE_MIN_S
        };
        match joined.last_mut().filter(is_near) {
            Some(last) => {
                last.until_s = last.until_s.zip(loss.until_s).map(|(a, b)| a.max(b));
                // A connection may be lost twice: the sum is at most the number of clients.
                let clients = u64::from(run.drive.clients);
                let largest = last.count.max(loss.count);
                let sum = last.count.saturating_add(loss.count);
                last.count = sum.min(clients).max(largest);
            }
            None => joined.push(loss.clone()),
        }
    }
    joined
}

/// The events of the client, with the losses of all workers [joined](joined_losses), in order.
pub fn events_with_joined_losses(run: &Run) -> Vec<Event> {
    let events = run.events.iter();
    let others = events.filter(|event| event.kind != EventKind::Outage);
    let mut events: Vec<Event> = others.cloned().chain(joined_losses(run)).collect();
    events.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    events
}

/// The longest time without a commit, if it is an outage.
pub fn commit_gap(run: &Run) -> Option<&CommitGap> {
    let gap = run.commit_gap.as_ref();
    gap.filter(|gap| gap_length_s(run, gap) >= shortest_outage_s(run))
}

/// The times without a commit that are outages, in order, each with its beginning and its end, seconds; without an end if
/// it lasted to the end of the load. Documents of earlier versions have only the longest one.
pub(crate) fn outages(run: &Run) -> Vec<(f64, Option<f64>)> {
    let Some(gap) = commit_gap(run) else {
        return Vec::new();
    };
    let (shortest_s, end_s) = (shortest_outage_s(run), run.window.load_end_s());
    let is_outage =
        |(from_s, until_s): &(f64, Option<f64>)| until_s.unwrap_or(end_s) - from_s >= shortest_s;
    match gap.all.as_slice() {
        [] => vec![(gap.from_s, gap.until_s)],
        all => all.iter().copied().filter(is_outage).collect(),
    }
}

/// The shortest time without a commit that is an outage, seconds: one that chance does not explain.
pub fn shortest_outage_s(run: &Run) -> f64 {
    let committed = run.measured.all_kinds().map_or(0, |all| all.committed);
    let mean_s = run.measured.length_s / committed.max(1) as f64;
    OUTAGE_MIN_S.max(OUTAGE_MIN_MEAN_TIMES * mean_s)
}

/// How long nobody committed, seconds.
pub fn gap_length_s(run: &Run, gap: &CommitGap) -> f64 {
    gap.until_s.unwrap_or(run.window.load_end_s()) - gap.from_s
}

/// What [`Recovery::NotWithin`] means, for reports.
pub const NOT_BACK: &str = "the throughput was not back for ten seconds before the end";

/// How long it took until the throughput was back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Recovery {
    /// From the beginning of the outage to the second from which on the throughput was at least 95 % of that before for ten
    /// seconds, seconds; 0 without an outage.
    After(f64),
    /// It was not back before the end of the load, this many seconds after the beginning of the outage.
    NotWithin(f64),
}

/// How long it took until the throughput was back.
///
/// # Errors
/// It was not measured, or too little of it before the outage.
pub fn recovery(run: &Run) -> Result<Recovery, &'static str> {
    if run.commit_gap.is_none() {
        return Err(NOT_MEASURED);
    }
    let Some(gap) = commit_gap(run) else {
        return Ok(Recovery::After(0.0));
    };
    let not_back = Recovery::NotWithin(run.window.load_end_s() - gap.from_s);
    let Some(until_s) = gap.until_s else {
        return Ok(not_back);
    };
    let is_before = |second: &&Second| {
        second.phase == SecondPhase::Measured
            && second.is_whole()
            && second.at_s + second.length_s <= gap.from_s
    };
    let seconds_before = run.series.iter().filter(is_before);
    let rates_before: Vec<f64> = seconds_before.map(Second::committed_per_second).collect();
    if rates_before.len() < OUTAGE_SECONDS_BEFORE_MIN {
        return Err("fewer than five seconds were measured before the outage");
    }
    let first = rates_before.len().saturating_sub(OUTAGE_SECONDS_BEFORE);
    let rate_before = mean(&rates_before[first..]);
    let is_after = |second: &&Second| second.is_whole() && second.at_s >= until_s.floor();
    let after: Vec<&Second> = run.series.iter().filter(is_after).collect();
    let rates: Vec<f64> = after
        .iter()
        .map(|second| second.committed_per_second())
        .collect();
    let mut parts = rates.windows(OUTAGE_RECOVERED_SECONDS).zip(&after);
    let back = parts.find(|(part, _)| mean(part) >= OUTAGE_RECOVERED_SHARE * rate_before);
    let back_s = back.map(|(_, first)| first.at_s.max(until_s) - gap.from_s);
    Ok(back_s.map_or(not_back, Recovery::After))
}

/// How long it took until the throughput was back, seconds; `None` if it was not, or it is not known.
pub(crate) fn recovery_s(run: &Run) -> Option<f64> {
    match recovery(run) {
        Ok(Recovery::After(s)) => Some(s),
        Ok(Recovery::NotWithin(_)) | Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_store::KindFigures;

    /// A run of 60 s, in which nobody committed from 20.5 s to 23.5 s, with these commits in each second after it.
    fn run(after: impl Fn(u32) -> u64) -> Run {
        let mut run = Run::default();
        (run.window.measured_s, run.measured.length_s) = (60.0, 60.0);
        run.measured.kinds = vec![KindFigures {
            committed: 57_000,
            ..KindFigures::default()
        }];
        run.series = (0..60u32)
            .map(|number| Second {
                at_s: f64::from(number),
                length_s: 1.0,
                phase: SecondPhase::Measured,
                committed: match number {
                    0..20 => 1000,
                    20 | 23 => 500,
                    21 | 22 => 0,
                    _ => after(number),
                },
                ..Second::default()
            })
            .collect();
        run.commit_gap = Some(CommitGap {
            from_s: 20.5,
            until_s: Some(23.5),
            ..CommitGap::default()
        });
        run
    }

    #[test]
    fn the_throughput_is_back_once_it_stays() {
        assert_eq!(recovery(&run(|_| 1000)), Ok(Recovery::After(3.0)));
        let late = recovery(&run(|number| if number < 30 { 700 } else { 990 }));
        assert!(matches!(late, Ok(Recovery::After(8.5..=9.5))), "{late:?}");
        let never = run(|number| if number % 9 == 0 { 100 } else { 980 });
        assert_eq!(recovery(&never), Ok(Recovery::NotWithin(39.5)));
        let mut open = run(|_| 1000);
        open.commit_gap = Some(CommitGap {
            until_s: None,
            ..open.commit_gap.unwrap()
        });
        assert_eq!(recovery(&open), Ok(Recovery::NotWithin(39.5)));
        assert_eq!(longest_outage_s(&open), Ok(39.5));
        let mut early = run(|_| 1000);
        early.series.drain(..16);
        assert!(recovery(&early).is_err(), "nothing to compare with");
        assert!(recovery(&Run::default()).is_err(), "not measured");
    }

    #[test]
    fn a_server_that_hangs_is_an_outage_although_no_connection_is_lost() {
        assert_eq!(longest_outage_s(&run(|_| 1000)), Ok(3.0));
        let mut short = run(|_| 1000);
        short.commit_gap = Some(CommitGap {
            from_s: 20.0,
            until_s: Some(20.05),
            ..CommitGap::default()
        });
        assert_eq!(longest_outage_s(&short), Ok(0.0));
        assert_eq!(recovery(&short), Ok(Recovery::After(0.0)));
        short.events.push(Event {
            at_s: 20.0,
            until_s: Some(24.0),
            kind: EventKind::Outage,
            ..Event::default()
        });
        assert_eq!(longest_outage_s(&short), Ok(4.0));
        short.commit_gap = None;
        assert_eq!(longest_outage_s(&short), Ok(4.0));
        short.events.clear();
        assert!(longest_outage_s(&short).is_err(), "it may have hung");
    }

    #[test]
    fn losses_of_several_threads_at_one_time_are_one() {
        let mut lost = run(|_| 1000);
        lost.drive.clients = 4;
        let loss = |at_s, until_s, count| Event {
            at_s,
            until_s,
            count,
            kind: EventKind::Outage,
            ..Event::default()
        };
        lost.events = vec![
            loss(9.0, Some(9.5), 1),
            loss(5.004, Some(7.0), 2),
            loss(5.0, Some(5.003), 2),
            loss(5.5, Some(6.0), 1),
            loss(20.0, None, 1),
            loss(21.0, Some(22.0), 2),
        ];
        let joined = [
            loss(5.0, Some(7.0), 4),
            loss(9.0, Some(9.5), 1),
            loss(20.0, None, 3),
        ];
        assert_eq!(joined_losses(&lost), joined);
        lost.events = vec![loss(5.0, None, u64::MAX), loss(5.0, None, 2)];
        let joined = [loss(5.0, None, u64::MAX)];
        assert_eq!(joined_losses(&lost), joined, "an edited document");
    }

    #[test]
    fn a_pause_that_a_low_rate_explains_is_no_outage() {
        let mut slow = run(|_| 1000);
        slow.measured.kinds[0].committed = 120;
        assert_eq!(longest_outage_s(&slow), Ok(0.0), "one commit in 0.5 s");
    }
}
