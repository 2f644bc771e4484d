//! How long nobody could write, and when the throughput was back.
//!
//! In: a Run. Out: the length of its outage, and its recovery. Must never: call the throughput back that was not so for
//! ten seconds.

use prony_store::{CommitGap, Event, EventKind, Run, Second, SecondPhase};

/// The throughput is back at this share of what it was before.
const RECOVERED_SHARE: f64 = 0.95;
/// It must be back for this many seconds.
const RECOVERED_SECONDS: usize = 10;
/// The seconds before an outage with which those after it are compared.
const SECONDS_BEFORE: usize = 30;
/// The fewest of them.
const MIN_SECONDS_BEFORE: usize = 5;
/// A shorter time without a commit is no outage.
const MIN_OUTAGE_S: f64 = 0.1;

/// The longest outage, seconds: the longest time in which nobody committed, or in which connections were lost; 0 if there
/// was none.
pub fn longest_outage_s(run: &Run) -> f64 {
    let end_s = load_end_s(run);
    let outages = run.events.iter();
    let outages = outages.filter(|event| event.kind == EventKind::Outage);
    let lost_s = outages.map(|event: &Event| event.until_s.unwrap_or(end_s) - event.at_s);
    let gap_s = commit_gap(run).map(|gap| gap_length_s(run, gap));
    lost_s.chain(gap_s).fold(0.0, f64::max)
}

/// The longest time without a commit, if it is an outage.
pub fn commit_gap(run: &Run) -> Option<&CommitGap> {
    let gap = run.commit_gap.as_ref();
    gap.filter(|gap| gap_length_s(run, gap) >= MIN_OUTAGE_S)
}

/// How long nobody committed, seconds.
pub fn gap_length_s(run: &Run, gap: &CommitGap) -> f64 {
    gap.until_s.unwrap_or(load_end_s(run)) - gap.from_s
}

/// The time from the beginning of the outage to the second from which on the throughput was at least 95 % of that before
/// for ten seconds, seconds; the error says why it is not known.
///
/// # Errors
/// There was no outage; or too little was measured before or after it.
pub fn recovery_s(run: &Run) -> Result<f64, &'static str> {
    if run.commit_gap.is_none() {
        return Err("it is measured with --expect-outage, --at or --ledger");
    }
    let gap = commit_gap(run).ok_or("nobody was without a commit for 0.1 s or longer")?;
    let until_s = gap.until_s.ok_or("nobody committed again before the end")?;
    let is_before = |second: &&Second| {
        second.phase == SecondPhase::Measured
            && second.length_s > 0.5
            && second.at_s + second.length_s <= gap.from_s
    };
    let before: Vec<f64> = run.series.iter().filter(is_before).map(rate).collect();
    if before.len() < MIN_SECONDS_BEFORE {
        return Err("fewer than five seconds were measured before the outage");
    }
    let before = mean(&before[before.len().saturating_sub(SECONDS_BEFORE)..]);
    let is_after = |second: &&Second| second.length_s > 0.5 && second.at_s >= until_s.floor();
    let after: Vec<&Second> = run.series.iter().filter(is_after).collect();
    let rates: Vec<f64> = after.iter().map(|second| rate(second)).collect();
    let mut parts = rates.windows(RECOVERED_SECONDS).zip(&after);
    let back = parts.find(|(part, _)| mean(part) >= RECOVERED_SHARE * before);
    let back_s = back.map(|(_, first)| first.at_s.max(until_s) - gap.from_s);
    back_s.ok_or("the throughput was not back for ten seconds before the end")
}

fn load_end_s(run: &Run) -> f64 {
    run.window.warmup_s + run.window.measured_s + run.window.drain_s
}

fn rate(second: &Second) -> f64 {
    second.committed as f64 / second.length_s
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of 60 s, in which nobody committed from 20.5 s to 23.5 s, with these commits in each second after it.
    fn run(after: impl Fn(u32) -> u64) -> Run {
        let mut run = Run::default();
        run.window.measured_s = 60.0;
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
        // Seconds 23 to 32 have 950 on average from the one with 1000 on.
        assert_eq!(recovery_s(&run(|_| 1000)), Ok(3.0));
        let late = run(|number| if number < 30 { 700 } else { 990 });
        assert!(
            matches!(recovery_s(&late), Ok(8.5..=9.5)),
            "{:?}",
            recovery_s(&late)
        );
        let never = run(|number| if number % 9 == 0 { 100 } else { 980 });
        assert!(recovery_s(&never).is_err());
        let mut open = run(|_| 1000);
        open.commit_gap = Some(CommitGap {
            until_s: None,
            ..open.commit_gap.unwrap()
        });
        assert!(recovery_s(&open).is_err());
        assert_eq!(longest_outage_s(&open), 39.5);
        let mut early = run(|_| 1000);
        early.series.drain(..16);
        assert!(recovery_s(&early).is_err(), "nothing to compare with");
    }

    #[test]
    fn a_server_that_hangs_is_an_outage_although_no_connection_is_lost() {
        assert_eq!(longest_outage_s(&run(|_| 1000)), 3.0);
        let mut short = run(|_| 1000);
        short.commit_gap = Some(CommitGap {
            from_s: 20.0,
            until_s: Some(20.05),
            ..CommitGap::default()
        });
        assert_eq!(longest_outage_s(&short), 0.0);
        short.events.push(Event {
            at_s: 20.0,
            until_s: Some(24.0),
            kind: EventKind::Outage,
            ..Event::default()
        });
        assert_eq!(longest_outage_s(&short), 4.0);
    }
}
