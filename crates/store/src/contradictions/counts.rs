//! Counts of a document that determine one another: failures by their errors, outcomes of transactions in flight, queries
//! by their seconds, the ledger.

use super::{Contradictions, saturating_sum};
use crate::run::{Figures, KindFigures, LedgerAccount, Run, Second};
use prony_document::QueryCounts;

pub(super) fn check_counts(found: &mut Contradictions, phase: &str, figures: &Figures) {
    let all = figures.kinds.iter().filter(|kind| kind.kind.is_none());
    found.require(all.count() <= 1, || {
        format!("the figures of all kinds appear twice in {phase}")
    });
    for kind in &figures.kinds {
        let name = kind.name();
        check_kind(found, &format!("of {name} in {phase}"), kind);
    }
    if let Some(in_flight) = &figures.in_flight {
        let outcomes = [
            in_flight.committed,
            in_flight.rolled_back,
            in_flight.failed,
            in_flight.ambiguous,
            in_flight.cut_off,
        ];
        let name = format!("unfinished in {phase}, by their outcomes,");
        found.require_equal(&name, figures.unfinished, saturating_sum(outcomes));
    }
    // The output of another tool may count failures and name none.
    if let (Some(all), [_, ..]) = (figures.all_kinds(), &figures.errors[..]) {
        let counts = figures.errors.iter().map(|error| error.count);
        let name = format!("failed in {phase}, by its errors,");
        found.require_equal(&name, all.failed, saturating_sum(counts));
    }
}

fn check_kind(found: &mut Contradictions, of_kind: &str, kind: &KindFigures) {
    let ended = saturating_sum([kind.committed, kind.rolled_back, kind.failed, kind.skipped]);
    for (name, part, whole_name, whole) in [
        (
            "over_latency_limit",
            kind.over_latency_limit,
            "committed",
            kind.committed,
        ),
        ("retried", kind.retried, "ended", ended),
        ("retried", kind.retried, "retries", kind.retries),
    ] {
        found.require(part <= whole, || {
            format!("{name} {of_kind} is {part}, of {whole} that {whole_name}")
        });
    }
}

/// The queries of the seconds of a phase.
pub(super) fn check_queries<'a>(
    found: &mut Contradictions,
    phase: &str,
    figures: &Figures,
    rows: impl Iterator<Item = &'a Second> + Clone,
) {
    type Count = fn(&QueryCounts) -> u64;
    let counts: [(&str, Count); 3] = [
        ("reads", |queries| queries.reads),
        ("writes", |queries| queries.writes),
        ("others", |queries| queries.others),
    ];
    let Some(all) = &figures.queries else { return };
    // Documents of earlier versions have none in their seconds.
    if rows.clone().all(|row| row.queries.is_none()) {
        return;
    }
    for (name, count) in counts {
        let by_second = rows.clone().filter_map(|row| row.queries.as_ref());
        let name = format!("{name} of the queries in {phase}, by its seconds,");
        found.require_equal(&name, count(all), saturating_sum(by_second.map(count)));
    }
}

/// What became of commits is a part of those that there were.
pub(super) fn check_ledger(found: &mut Contradictions, run: &Run) {
    let Some(account) = &run.ledger else { return };
    let LedgerAccount {
        acknowledged,
        ambiguous,
        ambiguous_found,
        lost,
        ..
    } = *account;
    let named = account.first_lost.len() as u64;
    for (name, part, whole_name, whole) in [
        ("ambiguous_found", ambiguous_found, "ambiguous", ambiguous),
        ("lost", lost, "acknowledged", acknowledged),
        ("lost by name", named, "lost", lost),
    ] {
        found.require(part <= whole, || {
            format!("{name} of the ledger is {part}, of {whole} that are {whole_name}")
        });
    }
}
