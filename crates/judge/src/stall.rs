//! Seconds in which the server stood still.
//!
//! In: a Run. Out: `stall`. Must never: speak of seconds without connections, which `outage` names,
//! or of the end of a run by count, where clients that are done are idle.

use crate::thresholds::{STALL_MEDIAN, STALL_SHARE};
use crate::words::{count, thousands};
use crate::{errors, found};
use prony_store::{Check, Run, Second, Severity};

/// As many stretches are named; the series has them all.
const NAMED: usize = 4;

pub(crate) fn check(run: &Run) -> Option<Check> {
    let seconds = connected_seconds(run);
    let mut counts: Vec<u64> = seconds.iter().map(|second| ended(second)).collect();
    counts.sort_unstable();
    let median = *counts.get(counts.len() / 2)?;
    if median < STALL_MEDIAN {
        return None;
    }
    let stalled = |second: &Second| (ended(second) as f64) < STALL_SHARE * median as f64;
    let mut seconds = seconds.as_slice();
    if by_count(run) {
        while let Some((last, before)) = seconds.split_last()
            && stalled(last)
        {
            seconds = before;
        }
    }
    let still: Vec<&Second> = seconds.iter().copied().filter(|s| stalled(s)).collect();
    if still.is_empty() {
        return None;
    }
    found(
        "stall",
        Severity::Caveat,
        format!(
            "In {} of {} nothing ended, or next to nothing: {} after the start of the load. The \
             median second had {}.",
            thousands(still.len() as u64),
            count(counts.len() as u64, "second"),
            stretches(&still),
            count(median, "transaction"),
        ),
        "The throughput includes these seconds. See the server's log and disk for what happened \
         then: a checkpoint, a lock held by others, a full cache; or the network. The series \
         (`prony show --csv`) has each second.",
    )
}

/// The whole seconds of the measured window that no outage touches.
fn connected_seconds(run: &Run) -> Vec<&Second> {
    let outages: Vec<_> = errors::in_window(run, "outage").collect();
    let touched = |second: &Second| {
        outages.iter().any(|event| {
            let over = event.until_s.is_some_and(|until_s| until_s < second.at_s);
            event.at_s <= second.at_s + second.seconds && !over
        })
    };
    let whole = |second: &Second| second.part == "measured" && second.seconds > 0.95;
    run.series
        .iter()
        .filter(|second| whole(second) && !touched(second))
        .collect()
}

fn ended(second: &Second) -> u64 {
    second.committed + second.rolled_back + second.failed
}

/// Whether each client does a count of transactions: those that are done early are idle.
pub(crate) fn by_count(run: &Run) -> bool {
    let asked = run.plan.pointer("/run/transactions");
    asked.is_some_and(|count| count.is_u64())
}

/// `from 12 s to 15 s and from 40 s to 41 s`.
fn stretches(still: &[&Second]) -> String {
    let mut joined: Vec<(f64, f64)> = Vec::new();
    for second in still {
        let until_s = second.at_s + second.seconds;
        match joined.last_mut() {
            Some((_, end_s)) if second.at_s - *end_s < 0.5 => *end_s = until_s,
            _ => joined.push((second.at_s, until_s)),
        }
    }
    let mut named: Vec<String> = joined
        .iter()
        .take(NAMED)
        .map(|(from_s, until_s)| format!("from {from_s:.0} s to {until_s:.0} s"))
        .collect();
    if joined.len() > NAMED {
        named.push(format!("{} times more", joined.len() - NAMED));
    }
    match named.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => named.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{healthy, with_series};
    use prony_store::Event;
    use serde_json::json;

    #[test]
    fn seconds_in_which_nothing_ends_are_counted_and_named() {
        let mut counts = [1000; 20];
        for at in [3, 4, 5, 12] {
            counts[at] = 0;
        }
        counts[12] = 99;
        let check = check(&with_series(&counts)).expect("a stall");
        assert_eq!(check.severity, Severity::Caveat);
        assert!(check.finding.contains("In 4 of 20 seconds"), "{check:?}");
        let named = "from 13 s to 16 s and from 22 s to 23 s after";
        assert!(check.finding.contains(named), "{check:?}");
        assert!(check.finding.contains("1,000 transactions"), "{check:?}");
    }

    #[test]
    fn steady_and_slow_runs_have_none() {
        assert_eq!(check(&healthy()), None, "no series");
        assert_eq!(check(&with_series(&[1000; 20])), None);
        let mut counts = [1000; 20];
        counts[7] = 100;
        assert_eq!(check(&with_series(&counts)), None, "a tenth of the median");
        let mut slow = [19; 20];
        slow[7] = 0;
        assert_eq!(check(&with_series(&slow)), None, "too few to tell");
        slow = [20; 20];
        slow[7] = 0;
        assert!(check(&with_series(&slow)).is_some());
    }

    #[test]
    fn what_is_failed_or_rolled_back_has_ended_too() {
        let mut counts = [1000; 20];
        counts[7] = 0;
        let mut run = with_series(&counts);
        run.series[7].failed = 200;
        assert_eq!(check(&run), None);
    }

    #[test]
    fn warm_up_part_seconds_and_outages_do_not_count() {
        let mut counts = [1000; 20];
        counts[7] = 0;
        let stalled = with_series(&counts);
        assert!(check(&stalled).is_some());
        let mut run = stalled.clone();
        run.series[7].part = "warmup".to_owned();
        assert_eq!(check(&run), None);
        let mut run = stalled.clone();
        run.series[7].seconds = 0.01;
        assert_eq!(check(&run), None);
        let mut run = stalled.clone();
        run.events.push(Event {
            at_s: 16.4,
            until_s: Some(18.2),
            what: "outage".to_owned(),
            ..Event::default()
        });
        assert_eq!(check(&run), None);
        run.events[0].until_s = Some(16.9);
        assert!(check(&run).is_some(), "it was over by then");
        run.events[0].until_s = None;
        assert_eq!(check(&run), None, "it lasted to the end");
    }

    #[test]
    fn the_idle_end_of_a_run_by_count_is_no_stall() {
        let mut counts = [1000; 20];
        counts[18] = 5;
        counts[19] = 1;
        let mut run = with_series(&counts);
        assert!(check(&run).is_some());
        run.plan = json!({ "run": { "transactions": 1000 } });
        assert_eq!(check(&run), None);
    }

    #[test]
    fn many_stretches_are_cut_short() {
        let mut counts = [1000; 30];
        for at in [1, 4, 7, 10, 13, 16] {
            counts[at] = 0;
        }
        let finding = check(&with_series(&counts)).expect("stalls").finding;
        assert!(finding.contains("2 times more"), "{finding}");
    }
}
