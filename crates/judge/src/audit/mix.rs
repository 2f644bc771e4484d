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
    let done = reported.transactions.map(|done| done as f64);
    let each = |counted: u64, of_one: u64| (of_one > 0).then(|| counted as f64 / of_one as f64);
    let by = [each(queries.reads, reads), each(queries.writes, writes)];
    let base = done.or(by[1]).or(by[0]).unwrap_or(0.0);
    let off = off(reported, done, by, SHARE_EXACT_CAVEAT * base);
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

/// What is off, and by how many transactions: `by` are the transactions that the reads make, and that the
/// writes make; `few` may be off because changes met no row.
fn off(
    reported: &Reported,
    done: Option<f64>,
    by: [Option<f64>; 2],
    few: f64,
) -> Vec<(String, f64)> {
    // Those that began again, and those that were under way at the end.
    let spare = reported.ignored_errors as f64 + f64::from(reported.clients.unwrap_or(0));
    let mut off: Vec<(String, f64)> = Vec::new();
    let mut add = |text: String, by: f64| off.push((text, by));
    let [by_reads, by_writes] = by;
    if let (Some(by_reads), Some(by_writes)) = (by_reads, by_writes) {
        let more = by_writes - by_reads;
        let text = |of: &str, by: f64, than: &str| {
            format!("there are {of} of {by:.2} transactions too many for the {than}")
        };
        if more > 0.0 {
            add(text("writes", more, "reads"), more);
        } else if -more > spare + few {
            add(text("reads", -more, "writes"), -more);
        }
    }
    let Some(done) = done else {
        return off;
    };
    for (what, by, least) in [("reads", by_reads, done), ("writes", by_writes, done - few)] {
        let Some(by) = by else { continue };
        let text = |than: &str| {
            let made = thousands(done as u64);
            format!("the {what} are of {by:.2} transactions, {than} than {made} transactions make")
        };
        if by < least {
            add(text("fewer"), done - by);
        } else if by > done + spare + few {
            add(text("more"), by - done);
        }
    }
    off
}
