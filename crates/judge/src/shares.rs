//! Whether users did each thing as often as was meant.
//!
//! In: a Run. Out: `shares`. Must never: blame chance on the generator: how far a share may be off
//! follows from how many were counted.

use crate::found;
use crate::thresholds::{SHARE_EXACT_CAVEAT, SHARE_SIGMAS};
use crate::words::thousands;
use prony_store::{Check, Run, Severity, Share};

pub(crate) fn check(run: &Run) -> Option<Check> {
    let lost = lost(run);
    let off: Vec<&Share> = run.shares.iter().filter(|one| is_off(one, lost)).collect();
    let low: Vec<&Share> = run.shares.iter().filter(|one| is_low(one)).collect();
    if !off.is_empty() {
        let meant = |share: &&Share| {
            let meant = share.meant.unwrap_or_default();
            let meant = match share.exact {
                true => thousands((meant * share.whole as f64).round() as u64),
                false => exactly(meant),
            };
            words(share, &format!("{meant} meant"))
        };
        let each: Vec<String> = off.iter().map(meant).collect();
        let exact = off.iter().any(|share| share.exact);
        let (than, why) = if exact { EXACT } else { DRAWN };
        let severity = match off.iter().any(|share| !share.exact || is_far_off(share)) {
            true => Severity::Caveat,
            false => Severity::Note,
        };
        return found(
            ID,
            severity,
            format!("Shares are off{than}: {}.", each.join("; ")),
            match severity {
                Severity::Note => why.to_owned(),
                _ => format!("The figures are those of another workload than the one named. {why}"),
            },
        );
    }
    if low.is_empty() {
        return None;
    }
    let least = |share: &&Share| {
        let least = share.least.unwrap_or_default();
        words(share, &format!("{} at least", exactly(least)))
    };
    let each: Vec<String> = low.iter().map(least).collect();
    found(
        ID,
        Severity::Note,
        format!(
            "Below the least shares of the specification, within chance: {}.",
            each.join("; ")
        ),
        "Run longer: the edges of a run then weigh less.",
    )
}

const ID: &str = "shares";

/// What is to be said where shares scatter, and what to do.
const DRAWN: (&str, &str) = (
    ", by more than chance explains",
    "See whether transactions of one kind failed; otherwise this is an error in Prony: please \
     report it with the stored run.",
);

/// The same where each transaction keeps them.
const EXACT: (&str, &str) = (
    "",
    "Statements met no row where they were to change one: rows were deleted before, or other \
     transactions replaced them meanwhile. `prony check` tells whether the data is whole; load again \
     if it is not.",
);

/// Transactions that were under way at the end, or failed: what they would have counted for is not
/// known.
fn lost(run: &Run) -> f64 {
    let parts = std::iter::once(&run.measured).chain(&run.warmup);
    let failed: u64 = parts
        .filter_map(|part| part.kinds.iter().find(|kind| kind.kind == "all"))
        .map(|all| all.failed)
        .sum();
    failed as f64 + f64::from(run.drive.clients)
}

/// Whether a count is further from its mean than draws one by one scatter. Those of a deck scatter
/// less. A share that is to be none or all has no scatter, nor one that each transaction keeps.
fn is_off(share: &Share, lost: f64) -> bool {
    let Some(meant) = share.meant else {
        return false;
    };
    let (part, whole) = (share.part as f64, share.whole as f64);
    if share.exact {
        // Counts of whole transactions: only the division is rounded.
        return (part - whole * meant).abs() > 0.5;
    }
    let variance = whole * meant * (1.0 - meant);
    let lost = if variance > 0.0 { lost } else { 0.0 };
    (part - whole * meant).abs() > SHARE_SIGMAS * variance.sqrt() + lost
}

/// Whether a share that each transaction keeps is off by more than what transactions that meet
/// explain.
fn is_far_off(share: &Share) -> bool {
    let meant = share.meant.unwrap_or_default() * share.whole as f64;
    (share.part as f64 - meant).abs() > SHARE_EXACT_CAVEAT * share.whole as f64
}

fn is_low(share: &Share) -> bool {
    let least = share.least.unwrap_or(0.0);
    (share.part as f64) < least * share.whole as f64
}

fn words(share: &Share, meant: &str) -> String {
    let part = share.part as f64 / share.whole.max(1) as f64;
    format!(
        "{} of {}: {} of {}, {}, with {meant}",
        share.name,
        share.of,
        thousands(share.part),
        thousands(share.whole),
        exactly(part),
    )
}

/// To a tenth of a per cent, so that 42.9 % is not 43 %.
fn exactly(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::healthy;

    fn with(part: u64, whole: u64, meant: f64, least: Option<f64>) -> Option<Check> {
        let mut run = healthy();
        run.drive.clients = 8;
        run.shares = vec![Share {
            name: "by last name".to_owned(),
            of: "payments".to_owned(),
            part,
            whole,
            meant: Some(meant),
            exact: false,
            least,
        }];
        check(&run)
    }

    #[test]
    fn the_more_are_counted_the_less_a_share_may_be_off() {
        // Standard deviations of 10,000 and 1,000,000 draws: 49 and 490.
        for (part, whole) in [(6_000, 10_000), (6_250, 10_000), (602_400, 1_000_000)] {
            assert_eq!(with(part, whole, 0.6, None), None, "{part}");
        }
        for (part, whole) in [(6_260, 10_000), (5_740, 10_000), (602_500, 1_000_000)] {
            let check = with(part, whole, 0.6, None).expect("off");
            assert_eq!(check.severity, Severity::Caveat, "{part}");
        }
        let finding = with(50, 10_000, 0.6, None).unwrap().finding;
        let words = "by last name of payments: 50 of 10,000, 0.5 %, with 60.0 % meant";
        assert!(finding.contains(words), "{finding}");
        assert_eq!(with(0, 0, 0.6, None), None, "nothing to say");
        assert_eq!(with(3, 10, 0.6, None), None, "too few to say anything");
    }

    #[test]
    fn what_is_to_be_none_has_no_scatter() {
        assert_eq!(with(0, 10_000, 0.0, None), None);
        assert!(with(1, 10_000, 0.0, None).is_some());
    }

    #[test]
    fn a_share_that_each_transaction_keeps_is_off_by_a_single_query() {
        let mut run = healthy();
        run.drive.clients = 64;
        let writes = |part, meant| Share {
            name: "writes".to_owned(),
            of: "queries".to_owned(),
            part,
            whole: 20_000_000,
            meant,
            exact: true,
            least: None,
        };
        run.shares = vec![writes(4_000_000, Some(0.2))];
        assert_eq!(check(&run), None);
        run.shares = vec![writes(3_999_999, Some(0.2))];
        let check_ = check(&run).expect("off");
        assert_eq!(check_.severity, Severity::Note);
        let words = "Shares are off: writes of queries: 3,999,999 of 20,000,000, 20.0 %, with \
             4,000,000 meant.";
        assert_eq!(check_.finding, words);
        assert!(check_.advice.contains("prony check"), "{check_:?}");
        run.shares = vec![writes(3_959_000, Some(0.2))];
        assert_eq!(check(&run).expect("far off").severity, Severity::Caveat);
        run.shares = vec![writes(1, None)];
        assert_eq!(check(&run), None, "nobody says how many");
    }

    #[test]
    fn a_share_below_the_least_by_chance_is_a_note() {
        let check = with(4_290, 10_000, 10.0 / 23.0, Some(0.43)).expect("below");
        assert_eq!(check.severity, Severity::Note);
        assert!(
            check.finding.contains("42.9 %, with 43.0 % at least"),
            "{check:?}"
        );
        assert_eq!(with(4_300, 10_000, 10.0 / 23.0, Some(0.43)), None);
        let check = with(40_900, 100_000, 10.0 / 23.0, Some(0.43)).expect("off");
        assert_eq!(check.severity, Severity::Caveat);
    }

    #[test]
    fn what_failed_may_have_been_of_any_kind() {
        let mut run = healthy();
        run.shares = vec![Share {
            part: 5_700,
            whole: 10_000,
            meant: Some(0.6),
            ..Share::default()
        }];
        run.drive.clients = 8;
        assert!(check(&run).is_some());
        run.measured.kinds[0].failed = 100;
        assert_eq!(check(&run), None);
    }
}
