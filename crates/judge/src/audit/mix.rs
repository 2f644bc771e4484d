//! Whether the counts of reads and writes match the transactions.
//!
//! In: counts of queries, of transactions and of errors. Out: `mix`. Must never: blame a transaction that
//! was cut off or restarted.
//!
//! In the bundled tests of sysbench all reads of a transaction come before its first write. A transaction
//! that fails, or is cut off at the end, therefore leaves reads without writes and never writes without
//! reads. On PostgreSQL, sysbench counts an UPDATE or DELETE that matches no row as neither a read nor a
//! write.

use super::Audit;
use crate::checks::{invalid_or_caveat, new_check};
use crate::formatting::{joined, percent, thousands};
use crate::thresholds::{AUDIT_INVALID_SHARE, FIXED_SHARE_MAX_DEVIATION};
use prony_store::ReportedRun;

pub(super) fn check(reported: &ReportedRun, audit: &mut Audit) {
    let (Some(queries), Some([reads_per_txn, writes_per_txn])) =
        (&reported.queries, reported.reads_and_writes_per_txn)
    else {
        if reported.queries.is_some() {
            let text = "Mix: not checked, because the queries belong to no known bundled test";
            audit.examined.push(text.to_owned());
        }
        return;
    };
    let transactions = reported.transactions.map(|count| count as f64);
    let implied =
        |counted: u64, per_txn: u64| (per_txn > 0).then(|| counted as f64 / per_txn as f64);
    let by_reads = implied(queries.reads, reads_per_txn);
    let by_writes = implied(queries.writes, writes_per_txn);
    let base = transactions.or(by_writes).or(by_reads).unwrap_or(0.0);
    let tolerance = FIXED_SHARE_MAX_DEVIATION * base;
    let deviations = deviations(reported, transactions, [by_reads, by_writes], tolerance);
    let summary = format!(
        "{} reads and {} writes, with {reads_per_txn} and {writes_per_txn} in each transaction{}",
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
    let sizes = deviations.iter().map(|deviation| deviation.transactions);
    let largest_share = sizes.fold(0.0, f64::max) / base.max(1.0);
    let severity = invalid_or_caveat(largest_share > AUDIT_INVALID_SHARE);
    let texts = deviations.into_iter().map(|deviation| deviation.text);
    audit.checks.extend(new_check(
        "mix",
        severity,
        format!("{summary}: {} ({} off).", joined(texts, "; "), percent(largest_share)),
        "Reads and writes come from different runs, a figure is mistyped, or many transactions failed: \
         look for errors, and do not compute a ratio of the two.",
    ));
}

struct Deviation {
    text: String,
    /// Its size in transactions.
    transactions: f64,
}

/// How the counts of reads, writes and transactions deviate from each other. `by_reads` and `by_writes` are the numbers
/// of transactions that the reads and the writes imply; `tolerance` is the number of transactions that may be missing in
/// the writes because changes matched no row.
fn deviations(
    reported: &ReportedRun,
    transactions: Option<f64>,
    [by_reads, by_writes]: [Option<f64>; 2],
    tolerance: f64,
) -> Vec<Deviation> {
    // Transactions that were restarted, or in progress at the end.
    let incomplete = reported.ignored_errors as f64 + f64::from(reported.clients.unwrap_or(0));
    let mut deviations = Vec::new();
    let mut add =
        |text: String, transactions: f64| deviations.push(Deviation { text, transactions });
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
    for (queries, implied_transactions, minimum) in [
        ("reads", by_reads, transactions),
        ("writes", by_writes, transactions - tolerance),
    ] {
        let Some(implied) = implied_transactions else {
            continue;
        };
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
