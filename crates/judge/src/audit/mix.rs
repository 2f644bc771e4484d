//! Whether reads and writes are those that the transactions make.
//!
//! In: counts of queries, of transactions and of errors. Out: `mix`. Must never: blame a transaction that
//! was cut off or began again.
//!
//! In the bundled tests of sysbench all reads of a transaction come before its first write. So a
//! transaction that fails, or is cut off at the end, leaves reads without writes and never writes
//! without reads. On PostgreSQL a change that meets no row counts among the others.

use super::Audit;
use crate::found;
use crate::thresholds::{AUDIT_INVALID, SHARE_EXACT_CAVEAT};
use crate::words::{percent, thousands};
use prony_store::{Reported, Severity};

pub(super) fn check(reported: &Reported, audit: &mut Audit) {
    let (Some(queries), Some([reads, writes])) = (&reported.queries, reported.mix) else {
        if reported.queries.is_some() {
            let text = "Mix: not checked, because the queries are of no bundled test that is known";
            audit.looked_at.push(text.to_owned());
        }
        return;
    };
    let each = |counted: u64, of_one: u64| (of_one > 0).then(|| counted as f64 / of_one as f64);
    let by_reads = each(queries.reads, reads);
    let by_writes = each(queries.writes, writes);
    let begun_again = reported.ignored_errors as f64;
    let cut_off = f64::from(reported.clients.unwrap_or(0));
    let done = reported.transactions.map(|done| done as f64);
    let base = done.or(by_writes).or(by_reads).unwrap_or(0.0);
    let few = SHARE_EXACT_CAVEAT * base;
    let spare = begun_again + cut_off;
    let mut off: Vec<(String, f64)> = Vec::new();
    if let (Some(by_reads), Some(by_writes)) = (by_reads, by_writes) {
        let more = by_writes - by_reads;
        if more > 0.0 {
            off.push((
                format!("there are writes of {more:.2} transactions too many for the reads"),
                more,
            ));
        } else if -more > spare + few {
            off.push((
                format!(
                    "there are reads of {:.2} transactions too many for the writes",
                    -more
                ),
                -more,
            ));
        }
    }
    if let Some(done) = done {
        for (what, by, least) in [("reads", by_reads, done), ("writes", by_writes, done - few)] {
            let Some(by) = by else { continue };
            let made = format!("{} transactions make", thousands(done as u64));
            if by < least {
                off.push((
                    format!("the {what} are of {by:.2} transactions, fewer than {made}"),
                    done - by,
                ));
            } else if by > done + spare + few {
                off.push((
                    format!("the {what} are of {by:.2} transactions, more than {made}"),
                    by - done,
                ));
            }
        }
    }
    let said = format!(
        "{} reads and {} writes, of {reads} and {writes} in each transaction{}",
        thousands(queries.reads),
        thousands(queries.writes),
        reported
            .workload
            .map_or(String::new(), |name| format!(" of {name}")),
    );
    if off.is_empty() {
        audit.looked_at.push(format!("Mix: {said}"));
        return;
    }
    let worst = off.iter().map(|(_, by)| *by).fold(0.0, f64::max) / base.max(1.0);
    let severity = if worst > AUDIT_INVALID {
        Severity::Invalid
    } else {
        Severity::Caveat
    };
    let each: Vec<String> = off.into_iter().map(|(text, _)| text).collect();
    audit.checks.extend(found(
        "mix",
        severity,
        format!("{said}: {} ({} off).", each.join("; "), percent(worst)),
        "Reads and writes are not of one run, a figure is mistyped, or many transactions failed: look for \
         the errors, and take no ratio of the two.",
    ));
}
