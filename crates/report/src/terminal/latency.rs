//! How long transactions took, and where that time was spent.
//!
//! In: a Run. Out: tables of percentiles. Must never: print a percentile that the document does not
//! hold.

use crate::printer::Printer;
use crate::table::Table;
use crate::text::plain;
use crate::units::{self, count, count_with_noun, or_dash, time_or_dash};
use prony_store::{KindFigures, Latency, Run, Split, SplitSource};
use std::io;

/// Columns of [`cells`].
const PERCENTILES: [&str; 7] = ["p50", "p90", "p95", "p99", "p99.9", "max", "mean"];

/// The moment from which times count, in an open loop and in a closed one.
pub(crate) const FROM_SCHEDULE: &str =
    "Response time of committed transactions, from the scheduled start";
pub(crate) const FROM_START: &str = "Service time of committed transactions, from the actual start";
pub(crate) const RESPONSE: &str = "Response time of committed transactions";
pub(crate) const ATTEMPTS: &str =
    "Response time of all transactions that ended: committed, rolled back, failed";
pub(crate) const FAILED: &str = "Response time of failed transactions";
pub(crate) const SPLIT: &str = "Where the service time went";

/// Writes response time by kind; in an open loop, service time as well.
pub fn response(out: &mut Printer<'_>, run: &Run) -> io::Result<()> {
    let kinds = kinds_to_show(run);
    let open = run.drive.open_loop;
    out.heading(if open { FROM_SCHEDULE } else { RESPONSE })?;
    let mut absent = write_latency_table(out, &kinds, |kind| Some(&kind.response))?;
    if open {
        out.heading(FROM_START)?;
        absent |= write_latency_table(out, &kinds, |kind| Some(&kind.service))?;
    }
    if kinds.iter().any(|kind| kind.attempts.is_some()) {
        out.heading(ATTEMPTS)?;
        absent |= write_latency_table(out, &kinds, |kind| kind.attempts.as_ref())?;
    }
    if kinds.iter().any(|kind| kind.failed_response.is_some()) {
        out.heading(FAILED)?;
        absent |= write_latency_table(out, &kinds, |kind| kind.failed_response.as_ref())?;
    }
    if kinds.iter().any(|kind| kind.connect.is_some()) {
        out.heading("Of this, connecting")?;
        absent |= write_latency_table(out, &kinds, |kind| kind.connect.as_ref())?;
    }
    if absent {
        let why = "– too few transactions: percentile q needs at least 10 / (1 – q) of them.";
        out.line(format!("  {}", out.style.dim(why)))?;
    }
    Ok(())
}

/// The parts of a service time, with their names.
pub(crate) fn parts(split: &Split) -> [(&'static str, &Latency); 3] {
    [
        ("send wait", &split.send_wait),
        ("server", &split.server),
        ("client wait", &split.client_wait),
    ]
}

/// Writes send wait, server time and client wait, or why they are unknown.
pub fn split(out: &mut Printer<'_>, run: &Run) -> io::Result<()> {
    let kinds = kinds_to_show(run);
    let Some(all) = kinds.first() else {
        return Ok(());
    };
    let timing = &run.timing;
    out.heading(SPLIT)?;
    let Some(split) = &all.split else {
        let reason = unavailable_reason(&timing.split, all.committed);
        return out.paragraph(&format!("Not known: {reason}."));
    };
    let mut table = Table::new(&title_row("part"));
    for (name, latency) in parts(split) {
        add_row(&mut table, name.to_owned(), latency);
    }
    // Server time by kind: the figure that a comparison of servers needs.
    for kind in kinds.iter().skip(1) {
        if let Some(split) = &kind.split {
            let name = format!("server, {}", plain(kind.name()));
            add_row(&mut table, name, &split.server);
        }
    }
    out.table(&table)?;
    out.paragraph(&split_summary(split, all.connect.is_some()))?;
    let covered = split.server.samples;
    if covered < all.service.samples {
        let all = count_with_noun(
            all.service.samples,
            "committed transaction",
            "committed transactions",
        );
        out.paragraph(&format!(
            "This split covers {} of the {}.",
            with_no_break_spaces(&count(covered)),
            with_no_break_spaces(&all)
        ))?;
    }
    let mut source = format!(
        "Source: {}; {} with a stamp, {} without, {} impossible, {} doubtful",
        plain(&timing.split.to_string()),
        count_with_noun(timing.stamped, "reply", "replies"),
        count(timing.unstamped),
        count(timing.impossible),
        count(timing.doubtful),
    );
    if split.upper_bounds > 0 {
        source += &format!(
            "; {} server times are upper bounds (several replies in one read)",
            count(split.upper_bounds)
        );
    }
    out.paragraph(&format!("{source}."))
}

/// `connects`: each transaction opened a connection first, and that time is not part of the split.
fn split_summary(split: &Split, connects: bool) -> String {
    let means = parts(split).map(|(_, latency)| latency.mean_ns);
    let sum: f64 = means.iter().sum();
    if sum <= 0.0 {
        return "No time was measured.".into();
    }
    let [send, server, client] = means.map(|ns| {
        let (time, share) = (units::time(ns), units::percent(ns / sum));
        format!(
            "{} ({})",
            with_no_break_spaces(&time),
            with_no_break_spaces(&share)
        )
    });
    format!(
        "Of a mean service time of {}{}, the server took {server}: its response time under the load \
         that this client actually offered. Requests waited {send} in this client before they were \
         sent, and replies {client} until it read them.",
        with_no_break_spaces(&units::time(sum)),
        if connects { " after connecting" } else { "" },
    )
}

/// Keeps a number and its unit on one line.
fn with_no_break_spaces(text: &str) -> String {
    text.replace(' ', "\u{a0}")
}

fn unavailable_reason(split: &SplitSource, committed: u64) -> String {
    match split {
        SplitSource::Unavailable { reason } if !reason.is_empty() => plain(reason),
        SplitSource::Unavailable { .. } => "no receive stamps were available".into(),
        // Stamps would exist if there had been something to stamp.
        _ if committed == 0 => "no transaction committed".into(),
        _ => split.to_string(),
    }
}

/// `all` and every kind; a single kind alone, under its own name.
fn kinds_to_show(run: &Run) -> Vec<&KindFigures> {
    match run.measured.kinds.as_slice() {
        [_, only] => vec![only],
        many => many.iter().collect(),
    }
}

/// The column titles of a table of times; `first` is the title of the names.
pub(crate) fn title_row(first: &str) -> Vec<&str> {
    std::iter::once(first).chain(PERCENTILES).collect()
}

/// The percentiles, the maximum and the mean, if known.
pub(crate) fn cells(of: &Latency) -> [String; 7] {
    [
        time_or_dash(of.p50_ns),
        time_or_dash(of.p90_ns),
        time_or_dash(of.p95_ns),
        time_or_dash(of.p99_ns),
        time_or_dash(of.p999_ns),
        time_or_dash((of.max_ns > 0).then_some(of.max_ns)),
        or_dash((of.samples > 0).then_some(of.mean_ns), units::time),
    ]
}

fn add_row(table: &mut Table, name: String, of: &Latency) {
    table.row(std::iter::once(name).chain(cells(of)));
}

/// Writes one table; returns whether a percentile was absent.
fn write_latency_table<'a>(
    out: &mut Printer<'_>,
    kinds: &[&'a KindFigures],
    which: impl Fn(&'a KindFigures) -> Option<&'a Latency>,
) -> io::Result<bool> {
    let mut table = Table::new(&title_row("kind"));
    let mut absent = false;
    for kind in kinds {
        if let Some(latency) = which(kind) {
            absent |= latency.p999_ns.is_none();
            add_row(&mut table, plain(kind.name()), latency);
        }
    }
    out.table(&table)?;
    Ok(absent)
}
