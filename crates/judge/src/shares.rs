//! Whether the shares of what users did (kinds of transaction, random choices, intended errors) are as
//! intended.
//!
//! In: a Run. Out: `shares`. Must never: report a deviation that chance explains: how far a share may be off
//! follows from the number of draws.

use crate::checks::{Finding, caveat_or_note, new_finding, note};
use crate::formatting::{joined, thousands};
use crate::thresholds::{FIXED_SHARE_MAX_DEVIATION, SHARE_CHANCE_SIGMAS};
use prony_store::{ObservedShare, Run, Severity};

pub(crate) fn check(run: &Run) -> Option<Finding> {
    let undetermined = undetermined_count(run);
    let deviating: Vec<&ObservedShare> = run
        .shares
        .iter()
        .filter(|share| deviates(share, undetermined))
        .collect();
    let below_minimum: Vec<&ObservedShare> = run
        .shares
        .iter()
        .filter(|share| is_below_minimum(share))
        .collect();
    if !deviating.is_empty() {
        let with_expected = |share: &&ObservedShare| {
            let expected_share = share.expected_share.unwrap_or_default();
            let expected = if share.exact {
                thousands((expected_share * share.total as f64).round() as u64)
            } else {
                percent_with_decimal(expected_share)
            };
            describe(share, &format!("{expected} expected"))
        };
        let descriptions: Vec<String> = deviating.iter().map(with_expected).collect();
        let has_fixed_share = deviating.iter().any(|share| share.exact);
        let (chance_note, advice) =
            if has_fixed_share { FIXED_SHARE_TEXTS } else { RANDOM_SHARE_TEXTS };
        let severity = caveat_or_note(
            deviating
                .iter()
                .any(|share| !share.exact || deviates_beyond_conflicts(share)),
        );
        return new_finding(
            severity,
            format!("Shares are off{chance_note}: {}.", descriptions.join("; ")),
            match severity {
                Severity::Note => advice.to_owned(),
                _ => format!("The figures are not those of the named workload. {advice}"),
            },
        );
    }
    if below_minimum.is_empty() {
        return None;
    }
    let with_minimum = |share: &&ObservedShare| {
        let minimum = share.minimum_share.unwrap_or_default();
        describe(
            share,
            &format!("at least {}", percent_with_decimal(minimum)),
        )
    };
    note(
        format!(
            "Below the minimum shares of the specification, within chance: {}.",
            joined(below_minimum.iter().map(with_minimum), "; ")
        ),
        "Run longer, so that the start and end of the run weigh less.",
    )
}

/// Finding and advice for shares that are drawn at random.
const RANDOM_SHARE_TEXTS: (&str, &str) = (
    ", by more than chance explains",
    "Check whether transactions of one kind failed; if not, this is a bug in Prony: please \
     report it with the stored run.",
);

/// Finding and advice for shares that are fixed in each transaction.
const FIXED_SHARE_TEXTS: (&str, &str) = (
    "",
    "Statements found no row to change: rows were deleted before, or other transactions replaced \
     them meanwhile. Run `prony check` to verify the data; load again if rows are missing.",
);

/// Number of transactions that were in progress at the end, or failed: it is unknown which share they would
/// have belonged to.
fn undetermined_count(run: &Run) -> f64 {
    let parts = std::iter::once(&run.measured).chain(&run.warmup);
    let failed: u64 = parts
        .filter_map(|part| part.all_kinds())
        .map(|all| all.failed)
        .sum();
    failed as f64 + f64::from(run.drive.clients)
}

/// Whether a count is further from its mean than independent draws scatter (draws from a deck of cards scatter less) and
/// than this number of transactions whose share is undetermined. An expected share of exactly 0 or 1 allows no deviation,
/// nor does a share that is fixed in each transaction.
fn deviates(share: &ObservedShare, undetermined: f64) -> bool {
    let Some(expected) = share.expected_share else {
        return false;
    };
    let (count, total) = (share.count as f64, share.total as f64);
    if share.exact {
        // Only whole transactions are counted, so that nothing but the division is rounded.
        return (count - total * expected).abs() > 0.5;
    }
    let variance = total * expected * (1.0 - expected);
    let allowed =
        if variance > 0.0 { SHARE_CHANCE_SIGMAS * variance.sqrt() + undetermined } else { 0.0 };
    (count - total * expected).abs() > allowed
}

/// Whether a share that is fixed in each transaction is off by more than conflicts between transactions
/// explain.
fn deviates_beyond_conflicts(share: &ObservedShare) -> bool {
    let expected = share.expected_share.unwrap_or_default() * share.total as f64;
    (share.count as f64 - expected).abs() > FIXED_SHARE_MAX_DEVIATION * share.total as f64
}

fn is_below_minimum(share: &ObservedShare) -> bool {
    let minimum = share.minimum_share.unwrap_or(0.0);
    (share.count as f64) < minimum * share.total as f64
}

fn describe(share: &ObservedShare, expected: &str) -> String {
    let part = share.count as f64 / share.total.max(1) as f64;
    format!(
        "{} of {}: {} of {}, {}, with {expected}",
        share.name,
        share.base,
        thousands(share.count),
        thousands(share.total),
        percent_with_decimal(part),
    )
}

/// A share with one decimal: 42.9 % must not appear as 43 %.
fn percent_with_decimal(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::healthy;
    use prony_assertions::TextAssertions;

    fn check_share(part: u64, whole: u64, expected: f64, minimum: Option<f64>) -> Option<Finding> {
        let mut run = healthy();
        run.drive.clients = 8;
        run.shares = vec![ObservedShare {
            name: "by last name".to_owned(),
            base: "payments".to_owned(),
            count: part,
            total: whole,
            expected_share: Some(expected),
            exact: false,
            minimum_share: minimum,
        }];
        check(&run)
    }

    #[test]
    fn tolerance_shrinks_with_the_number_of_draws() {
        // Standard deviations of 10,000 and 1,000,000 draws: 49 and 490.
        for (part, whole) in [(6_000, 10_000), (6_250, 10_000), (602_400, 1_000_000)] {
            assert_eq!(check_share(part, whole, 0.6, None), None, "{part}");
        }
        for (part, whole) in [(6_260, 10_000), (5_740, 10_000), (602_500, 1_000_000)] {
            let check = check_share(part, whole, 0.6, None).expect("off");
            assert_eq!(check.severity, Severity::Caveat, "{part}");
        }
        let finding = check_share(50, 10_000, 0.6, None).unwrap().finding;
        let expected = "by last name of payments: 50 of 10,000, 0.5 %, with 60.0 % expected";
        finding.assert_contains(expected);
        assert_eq!(check_share(0, 0, 0.6, None), None, "nothing was counted");
        assert_eq!(check_share(3, 10, 0.6, None), None, "too few to judge");
    }

    #[test]
    fn an_expected_share_of_zero_has_no_tolerance() {
        assert_eq!(check_share(0, 10_000, 0.0, None), None);
        assert!(check_share(1, 10_000, 0.0, None).is_some());
    }

    #[test]
    fn fixed_shares_have_no_tolerance() {
        let mut run = healthy();
        run.drive.clients = 64;
        let writes = |part, expected| ObservedShare {
            name: "writes".to_owned(),
            base: "queries".to_owned(),
            count: part,
            total: 20_000_000,
            expected_share: expected,
            exact: true,
            minimum_share: None,
        };
        run.shares = vec![writes(4_000_000, Some(0.2))];
        assert_eq!(check(&run), None);
        run.shares = vec![writes(3_999_999, Some(0.2))];
        let note = check(&run).expect("off");
        assert_eq!(note.severity, Severity::Note);
        let expected = "Shares are off: writes of queries: 3,999,999 of 20,000,000, 20.0 %, with \
             4,000,000 expected.";
        assert_eq!(note.finding, expected);
        note.advice.assert_contains("prony check");
        run.shares = vec![writes(3_959_000, Some(0.2))];
        assert_eq!(check(&run).expect("far off").severity, Severity::Caveat);
        run.shares = vec![writes(1, None)];
        assert_eq!(check(&run), None, "no expected value");
    }

    #[test]
    fn a_share_below_the_minimum_by_chance_is_a_note() {
        let check = check_share(4_290, 10_000, 10.0 / 23.0, Some(0.43)).expect("below");
        assert_eq!(check.severity, Severity::Note);
        let finding = &check.finding;
        finding.assert_contains("42.9 %, with at least 43.0 %");
        assert_eq!(check_share(4_300, 10_000, 10.0 / 23.0, Some(0.43)), None);
        let check = check_share(40_900, 100_000, 10.0 / 23.0, Some(0.43)).expect("off");
        assert_eq!(check.severity, Severity::Caveat);
    }

    #[test]
    fn failed_transactions_widen_the_tolerance() {
        let mut run = healthy();
        run.shares = vec![ObservedShare {
            count: 5_700,
            total: 10_000,
            expected_share: Some(0.6),
            ..ObservedShare::default()
        }];
        run.drive.clients = 8;
        assert!(check(&run).is_some());
        run.measured.kinds[0].failed = 100;
        assert_eq!(check(&run), None);
    }
}
