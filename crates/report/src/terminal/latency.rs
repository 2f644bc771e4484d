//! The part of the result that says how long transactions took, and where that time went.
//!
//! In: a Run. Out: tables of percentiles. Must never: print a percentile that is not there.

use super::{heading, paragraph};
use crate::style::Style;
use crate::table::Table;
use crate::text::plain;
use crate::units;
use prony_store::{KindFigures, Latency, Run};
use std::io::{self, Write};

const PERCENTILES: [&str; 7] = ["p50", "p90", "p95", "p99", "p99.9", "max", "mean"];

/// Response time by kind; in an open loop service time as well.
pub fn response(out: &mut dyn Write, style: &Style, run: &Run) -> io::Result<()> {
    let kinds = shown(run);
    let open = run.drive.pace == "rate";
    let what = if open {
        "Response time of committed transactions, from the scheduled start"
    } else {
        "Response time of committed transactions"
    };
    heading(out, style, what)?;
    let mut absent = latencies(out, style, &kinds, |kind| Some(&kind.response))?;
    if open {
        heading(
            out,
            style,
            "Service time of committed transactions, from the real start",
        )?;
        absent |= latencies(out, style, &kinds, |kind| Some(&kind.service))?;
    }
    if kinds.iter().any(|kind| kind.connect.is_some()) {
        heading(out, style, "Of this, connecting")?;
        absent |= latencies(out, style, &kinds, |kind| kind.connect.as_ref())?;
    }
    if absent {
        let why = "– too few transactions: percentile q is shown from 10 / (1 – q) of them up.";
        writeln!(out, "  {}", style.dim(why))?;
    }
    Ok(())
}

/// Send wait, server, client wait; or why they are not known.
pub fn split(out: &mut dyn Write, style: &Style, run: &Run) -> io::Result<()> {
    let kinds = shown(run);
    let Some(all) = kinds.first() else {
        return Ok(());
    };
    let timing = &run.timing;
    heading(out, style, "Where the service time went")?;
    let Some(split) = &all.split else {
        return paragraph(
            out,
            style,
            &format!("Not known: {}.", reason(&timing.split, all.committed)),
        );
    };
    let mut table = Table::new(&title_row("part"));
    let parts = [
        ("send wait", &split.send_wait),
        ("server", &split.server),
        ("client wait", &split.client_wait),
    ];
    for (name, latency) in parts {
        table.row(cells(name, latency));
    }
    // How the server answered each kind: the figure that a comparison of servers needs.
    for kind in kinds.iter().skip(1) {
        if let Some(split) = &kind.split {
            table.row(cells(
                &format!("server, {}", plain(&kind.kind)),
                &split.server,
            ));
        }
    }
    table.write(out, style, 2)?;
    paragraph(out, style, &in_words(split, all.connect.is_some()))?;
    if split.server.samples < all.service.samples {
        let some = format!(
            "This split covers {} of the {}.",
            held(&units::count(split.server.samples)),
            held(&units::counted(
                all.service.samples,
                "committed transaction",
                "committed transactions"
            )),
        );
        paragraph(out, style, &some)?;
    }
    let mut source = format!(
        "Source: {}; {} with a stamp, {} without, {} impossible, {} doubtful",
        plain(&timing.split),
        units::counted(timing.stamped, "reply", "replies"),
        units::count(timing.unstamped),
        units::count(timing.impossible),
        units::count(timing.doubtful),
    );
    if split.upper_bounds > 0 {
        source += &format!(
            "; {} server times are upper bounds (several replies in one read)",
            units::count(split.upper_bounds)
        );
    }
    paragraph(out, style, &format!("{source}."))
}

/// With `connects`, each transaction opened a connection first, which is no part of the split.
fn in_words(split: &prony_store::Split, connects: bool) -> String {
    let (send, server, client) = (
        split.send_wait.mean_ns,
        split.server.mean_ns,
        split.client_wait.mean_ns,
    );
    let sum = send + server + client;
    if sum <= 0.0 {
        return "No time was measured.".into();
    }
    format!(
        "Of a mean service time of {}{}, the server took {} ({}): its response time under the load \
         this client really offered. Requests waited {} ({}) in this client before they left, and \
         replies {} ({}) until it read them.",
        held(&units::time(sum)),
        if connects { " after connecting" } else { "" },
        held(&units::time(server)),
        held(&units::percent(server / sum)),
        held(&units::time(send)),
        held(&units::percent(send / sum)),
        held(&units::time(client)),
        held(&units::percent(client / sum)),
    )
}

/// Keeps a number and its unit on one line.
fn held(text: &str) -> String {
    text.replace(' ', "\u{a0}")
}

fn reason(split: &str, committed: u64) -> String {
    let text = plain(split);
    // Stamps there were, had there been something to stamp.
    if committed == 0 && !text.starts_with("unavailable") {
        return "no transaction committed".into();
    }
    let text = text.strip_prefix("unavailable").unwrap_or(&text);
    let text = text
        .trim_start_matches([':', ',', ' '])
        .trim_end_matches('.');
    if text.is_empty() {
        "no receive stamps were available".into()
    } else {
        text.to_owned()
    }
}

/// `all` and every kind; where there is one kind only, that one under its own name.
fn shown(run: &Run) -> Vec<&KindFigures> {
    match run.measured.kinds.as_slice() {
        [_, only] => vec![only],
        many => many.iter().collect(),
    }
}

fn title_row(first: &str) -> Vec<&str> {
    std::iter::once(first).chain(PERCENTILES).collect()
}

fn cells(name: &str, latency: &Latency) -> Vec<String> {
    let optional = |ns: Option<u64>| ns.map_or("–".into(), |ns| units::time(ns as f64));
    if latency.samples == 0 {
        return std::iter::once(name.to_owned())
            .chain(PERCENTILES.map(|_| "–".to_owned()))
            .collect();
    }
    vec![
        name.to_owned(),
        optional(latency.p50_ns),
        optional(latency.p90_ns),
        optional(latency.p95_ns),
        optional(latency.p99_ns),
        optional(latency.p999_ns),
        units::time(latency.max_ns as f64),
        units::time(latency.mean_ns),
    ]
}

/// Writes one table and says whether a percentile was absent.
fn latencies<'a>(
    out: &mut dyn Write,
    style: &Style,
    kinds: &[&'a KindFigures],
    which: impl Fn(&'a KindFigures) -> Option<&'a Latency>,
) -> io::Result<bool> {
    let mut table = Table::new(&title_row("kind"));
    let mut absent = false;
    for kind in kinds {
        if let Some(latency) = which(kind) {
            absent |= latency.p999_ns.is_none();
            table.row(cells(&plain(&kind.kind), latency));
        }
    }
    table.write(out, style, 2)?;
    Ok(absent)
}
