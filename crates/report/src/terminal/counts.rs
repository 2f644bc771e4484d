//! Counts of transactions by kind, and the counts and shares that a workload records.
//!
//! In: a Run. Out: tables, and a sentence below. Must never: show a share of an empty total as zero.

use crate::printer::Printer;
use crate::table::Table;
use crate::text::counts::{KINDS, kind_table};
use crate::text::{joined, plain};
use crate::units::{self, count, count_of, count_with_noun, or_dash};
use prony_store::{ObservedShare, ROWS_OF_CALLS, Run, TIME_OF_CALLS};
use std::io;

pub fn write_kinds(out: &mut Printer<'_>, run: &Run) -> io::Result<()> {
    let Some(table) = kind_table(run) else {
        return Ok(());
    };
    out.heading(KINDS)?;
    out.table(&table)?;
    write_limits(out, run)
}

/// Writes the 90th percentiles beside the workload's limits for them.
fn write_limits(out: &mut Printer<'_>, run: &Run) -> io::Result<()> {
    let texts = run.workload.limits.iter().map(|limit| {
        let mut kinds = run.measured.kinds.iter();
        let kind = kinds.find(|kind| kind.kind.as_ref() == Some(&limit.kind));
        let p90 = kind.and_then(|kind| kind.response.p90_ns);
        let qualifier = if limit.deferred { ", deferred, from queueing to completion" } else { "" };
        format!(
            "{}{qualifier}: {} (limit {})",
            plain(&limit.kind),
            p90.map_or("too few".into(), |ns| units::time(ns as f64)),
            units::span(limit.p90_s),
        )
    });
    let texts = joined(texts, "; ");
    out.paragraphs((!texts.is_empty()).then(|| format!("90th percentiles: {texts}")))
}

/// Writes the observed shares of randomly drawn values beside the expected ones, and the workload's
/// counts.
pub fn write_shares(out: &mut Printer<'_>, run: &Run) -> io::Result<()> {
    // Counts are more informative if the shares are exact, or if none are expected.
    let is_count = |share: &&ObservedShare| share.exact || share.expected_share.is_none();
    // Rows and times stand beside the captured ones.
    let is_share = |share: &&ObservedShare| ![ROWS_OF_CALLS, TIME_OF_CALLS].contains(&&*share.base);
    let (counts, drawn): (Vec<&ObservedShare>, Vec<&ObservedShare>) =
        run.shares.iter().filter(is_share).partition(is_count);
    write_share_counts(out, run, &counts)?;
    if drawn.is_empty() {
        return Ok(());
    }
    out.heading("Shares over the whole run, observed and target")?;
    let mut table = Table::new(&["share"])
        .with_texts(&["of"])
        .with_numbers(&["of all", "observed", "target", "at least"]);
    for share in drawn {
        table.row([
            plain(&share.name),
            plain(&share.base),
            count(share.total),
            or_dash(observed_share(share), units::percent_with_tenths),
            or_dash(share.expected_share, units::percent_with_tenths),
            share
                .minimum_share
                .map_or(String::new(), units::percent_with_tenths),
        ]);
    }
    out.table(&table)
}

/// Counts of what successful transactions did, such as reads among queries.
fn write_share_counts(
    out: &mut Printer<'_>,
    run: &Run,
    counts: &[&ObservedShare],
) -> io::Result<()> {
    let Some(first) = counts.first() else {
        return Ok(());
    };
    let unit = plain(&first.base);
    out.heading(&format!(
        "Counts over the whole run, in transactions that succeeded: {unit}"
    ))?;
    let mut table = Table::new(&["count", "counted", "target", "of all"]);
    for share in counts {
        let target = |expected: f64| count((expected * share.total as f64).round() as u64);
        table.row([
            plain(&share.name),
            count(share.count),
            or_dash(share.expected_share, target),
            or_dash(observed_share(share), units::percent_with_tenths),
        ]);
    }
    out.table(&table)?;
    out.paragraphs(describe_retried_queries(run))
}

/// The observed share, 0 to 1; `None` if the total is zero.
fn observed_share(share: &ObservedShare) -> Option<f64> {
    (share.total > 0).then(|| share.count as f64 / share.total as f64)
}

/// A sentence about the queries of failed attempts: sysbench counts them, but the counts in the table cover
/// successful transactions only.
fn describe_retried_queries(run: &Run) -> Option<String> {
    let retries = run.measured.all_kinds()?.retries;
    let queries = run.measured.queries.as_ref().filter(|_| retries > 0)?;
    let ratio = match queries.writes {
        0 => String::new(),
        writes => format!(
            ", {:.2} reads per write",
            queries.reads as f64 / writes as f64
        ),
    };
    Some(format!(
        "Tries that failed and were retried ({}) are not counted here. With their queries, which sysbench \
         counts, the measured window has {} and {}{ratio}.",
        count_with_noun(retries, "retry", "retries"),
        count_of(queries.reads, "read"),
        count_of(queries.writes, "write"),
    ))
}
