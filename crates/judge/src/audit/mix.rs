//! Whether the counts of reads and writes match the transactions.
//!
//! In: counts of queries, of transactions and of errors. Out: `mix`. Must never: blame a transaction that
//! was cut off or restarted.
//!
//! In the bundled tests of sysbench all reads of a transaction come before its first write. A transaction
//! that fails, or is cut off at the end, therefore leaves reads without writes and never writes without
//! reads. On PostgreSQL a change that matches no row counts as neither.

use super::Audit;
use crate::formatting::{percent, thousands};
use crate::new_check;
use crate::thresholds::{AUDIT_INVALID, SHARE_EXACT_CAVEAT};
use prony_store::{ReportedRun, Severity};

pub(super) fn check(reported: &ReportedRun, audit: &mut Audit) {
    let (Some(queries), Some([reads, writes])) = (&reported.queries, reported.mix) else {
        if reported.queries.is_some() {
            let text = "Mix: not checked, because the queries belong to no known bundled test";
            audit.examined.push(text.to_owned());
        }
        return;
    };
    let transactions = reported.transactions.map(|count| count as f64);
    let implied = |counted: u64, per_transaction: u64| {
        (per_transaction > 0).then(|| counted as f64 / per_transaction as f64)
    };
    let implied = [
        implied(queries.reads, reads),
        implied(queries.writes, writes),
    ];
    let base = transactions.or(implied[1]).or(implied[0]).unwrap_or(0.0);
    let deviations = deviations(reported, transactions, implied, SHARE_EXACT_CAVEAT * base);
    let summary = format!(
        "{} reads and {} writes, with {reads} and {writes} in each transaction{}",
        thousands(queries.reads),
        thousands(queries.writes),
        reported
            .workload
            .map_or(String::new(), |name| format!(" of {name}")),
    );
    if deviations.is_empty() {
        audit.examined.push(format!("Mix: {summary}"));
        return;
    }
    let worst = deviations.iter().map(|(_, size)| *size).fold(0.0, f64::max) / base.max(1.0);
    let severity = if worst > AUDIT_INVALID {
        Severity::Invalid
    } else {
        Severity::Caveat
    };
    let texts: Vec<String> = deviations.into_iter().map(|(text, _)| text).collect();
    audit.checks.extend(new_check(
        "mix",
        severity,
        format!("{summary}: {} ({} off).", texts.join("; "), percent(worst)),
        "Reads and writes come from different runs, a figure is mistyped, or many transactions failed: \
         look for errors, and do not compute a ratio of the two.",
    ));
}

/// Deviations, each with its size in transactions. `implied` is the number of transactions that the reads
/// imply, and that the writes imply; `tolerance` is the number that may be missing because changes matched
/// no row.
fn deviations(
    reported: &ReportedRun,
    transactions: Option<f64>,
    implied: [Option<f64>; 2],
    tolerance: f64,
) -> Vec<(String, f64)> {
    // Transactions that were restarted, or in progress at the end.
    let incomplete = reported.ignored_errors as f64 + f64::from(reported.clients.unwrap_or(0));
    let mut deviations: Vec<(String, f64)> = Vec::new();
    let mut add = |text: String, size: f64| deviations.push((text, size));
    let [by_reads, by_writes] = implied;
    if let (Some(by_reads), Some(by_writes)) = (by_reads, by_writes) {
        let excess = by_writes - by_reads;
        let text = |more: &str, size: f64, fewer: &str| {
            format!("the {more} imply {size:.2} more transactions than the {fewer}")
        };
        if excess > 0.0 {
            add(text("writes", excess, "reads"), excess);
        } else if -excess > incomplete + tolerance {
            add(text("reads", -excess, "writes"), -excess);
        }
    }
    let Some(transactions) = transactions else {
        return deviations;
    };
    for (queries, implied, minimum) in [
        ("reads", by_reads, transactions),
        ("writes", by_writes, transactions - tolerance),
    ] {
        let Some(implied) = implied else { continue };
        let text = |comparison: &str| {
            let counted = thousands(transactions as u64);
            format!(
                "the {queries} imply {implied:.2} transactions, {comparison} than the {counted} counted"
            )
        };
        if implied < minimum {
            add(text("fewer"), transactions - implied);
        } else if implied > transactions + incomplete + tolerance {
            add(text("more"), implied - transactions);
        }
    }
    deviations
}
