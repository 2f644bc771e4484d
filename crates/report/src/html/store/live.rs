//! A run in progress: a page that shows each second as it ends, and the events that carry it.
//!
//! In: the run as its journal has it so far. Out: the page, or its changing part as a server-sent event. Must never:
//! write a text into an event without escaping it, because the page takes the event as markup.

use super::{LIVE_SCRIPT, write_page};
use crate::html::markup::{Html, write_markup, writeln_markup};
use crate::html::over_time::{RunOverTime, max_points};
use crate::html::{marks, one, seconds, table, write_verdict_line};
use crate::text::findings::describe_event;
use crate::text::plain;
use crate::units::{self, count_of, seconds as seconds_text};
use prony_store::{Annotation, Build, Run, SecondPhase};
use std::fmt;
use std::io::{self, Write};

/// Maximum number of events below the charts: the latest.
const MAX_EVENTS: usize = 20;

/// Writes the page of a run in progress, whose events are at `/live/ID/events`.
pub fn write_live(
    out: &mut dyn Write,
    run: &Run,
    annotation: &Annotation,
    build: &Build,
) -> io::Result<()> {
    let id = super::path_part(&run.id);
    write_page(out, &one::title(run), None, LIVE_SCRIPT, build, |out| {
        let label = annotation.label.as_deref().map(plain).unwrap_or_default();
        writeln_markup!(
            out,
            "<p class=\"small\"><strong>{}</strong> {} · run {}</p>",
            label,
            count_of(run.drive.clients.into(), "client"),
            plain(&run.id)
        )?;
        writeln_markup!(
            out,
            "<div id=\"live\" data-events=\"/live/{id}/events\" data-run=\"/runs/{id}\">{content}</div>\n\
             <noscript><p>Without a script this page does not change: load it again.</p></noscript>",
            id = id,
            content = content(run)?
        )
    })
}

/// The event of a run in progress: its page's changing part.
pub fn events_of(run: &Run) -> Result<String, fmt::Error> {
    let mut event = "event: seconds\n".to_owned();
    for line in content(run)?.into_string().lines() {
        event += &format!("data: {line}\n");
    }
    Ok(event + "\n")
}

/// The last second in figures, the charts of all seconds, and the latest events.
fn content(run: &Run) -> Result<Html, fmt::Error> {
    let mut out = Html::default();
    let Some(last) = run.series.last() else {
        write_verdict_line(&mut out, "note", "Nothing has been measured yet.")?;
        return Ok(out);
    };
    let phase = match last.phase {
        SecondPhase::Warmup => "in its warm-up",
        _ => "in its measured window",
    };
    let elapsed = seconds_text(last.at_s + last.length_s);
    let text = format!("In progress for {elapsed}, {phase}. A verdict follows at the end.");
    write_verdict_line(&mut out, "note", &text)?;
    out.push_str("<ul class=\"figures\">");
    let tps = seconds::tps(std::slice::from_ref(last));
    let tps = units::or_dash(tps, units::rate);
    one::write_figure(&mut out, &tps, "transactions/s", "committed, last second")?;
    let rolling = last.rolling.as_ref().map(|rolling| rolling.p99_ns);
    let p99 = units::time_or_dash(last.p99_ns.or(rolling));
    one::write_figure(&mut out, &p99, "p99", "response, last seconds")?;
    if let Some(all) = run.measured.all_kinds() {
        let (committed, failed) = (units::count(all.committed), units::count(all.failed));
        one::write_figure(&mut out, &committed, "committed", "in the window so far")?;
        one::write_figure(&mut out, &failed, "failed", "in the window so far")?;
    }
    let connections = units::count(last.connections.into());
    one::write_figure(
        &mut out,
        &connections,
        "connections",
        "at the end of the second",
    )?;
    write_markup!(out, "</ul>\n")?;
    seconds::write(&mut out, &RunOverTime::new(run, 1, max_points(1)))?;
    let events = marks::events_by_time(run);
    let latest = events.iter().rev().take(MAX_EVENTS);
    let rows = latest.map(|event| describe_event(event).cells());
    table::write_text_table(&mut out, "Latest events", ["when", "what"], rows)?;
    Ok(out)
}
