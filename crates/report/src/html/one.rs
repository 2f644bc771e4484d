//! One run, section by section.
//!
//! In: a Run. Out: its part of the page: the verdict first, then the figures, then where they came from.
//! Must never: hide a finding.

use super::escape::Text;
use super::{distribution, marks, repeat, scenario, seconds, section, server};
use crate::terminal::around::{client_lines, event_words, setup_lines};
use crate::terminal::{counts, early, engine, imported, nothing_measured, verdict_words};
use crate::text::plain;
use crate::units;
use prony_store::{Check, Run, Severity};
use std::fmt::{self, Write};

/// As many events are in the table; the document has them all.
const EVENTS: usize = 200;

/// The sections: the beginnings of their ids, and their titles.
const SECTIONS: [(&str, &str); 8] = [
    ("verdict", "Verdict"),
    ("time", "Over time"),
    ("latency", "Response time"),
    ("server", "Server"),
    ("events", "Errors and events"),
    ("checks", "Checks"),
    ("setup", "Set-up and settings"),
    ("repeat", "Repeat it"),
];

/// What was run where, in a line.
pub fn title(run: &Run) -> String {
    let version = run.server.version.split(" (").next().unwrap_or_default();
    let on = format!("{} {}", engine(&run.server.engine), plain(version));
    let scale = match run.workload.scale {
        0 => String::new(),
        scale => format!(", scale {}", units::count(scale.into())),
    };
    let on = match on.trim() {
        "" => "an unknown server",
        on => on,
    };
    format!("{}{scale}, on {on}", plain(&run.workload.name))
}

/// The table of contents of a page of one run; `more` are entries for what follows the run.
pub fn nav(out: &mut String, more: &str) -> fmt::Result {
    out.push_str("<nav aria-label=\"Sections\"><ul>");
    for (id, title) in SECTIONS {
        write!(out, "<li><a href=\"#{id}-1\">{title}</a></li>")?;
    }
    writeln!(
        out,
        "{more}<li><a href=\"#documents-h\">Documents</a></li></ul></nav>"
    )
}

/// Writes all sections, their headings of that level.
pub fn write(out: &mut String, run: &Run, number: usize, level: usize) -> fmt::Result {
    let marks = marks::marks(run, seconds::end_s(run));
    for (id, title) in SECTIONS {
        section(out, level, &format!("{id}-{number}"), title)?;
        match id {
            "verdict" => verdict(out, run)?,
            "time" => seconds::write(out, run, number, &marks)?,
            "latency" => distribution::write(out, run, number)?,
            "server" => server::write(out, run, number, &marks)?,
            "events" => errors_and_events(out, run)?,
            "checks" => checks(out, run)?,
            "setup" => setup(out, run)?,
            _ => repeated(out, run)?,
        }
        out.push_str("</section>\n");
    }
    Ok(())
}

/// The class of a severity, for its border.
pub fn class(severity: Severity) -> &'static str {
    match severity {
        Severity::Invalid => "invalid",
        Severity::Caveat => "caveat",
        Severity::Note => "note",
    }
}

fn verdict(out: &mut String, run: &Run) -> fmt::Result {
    if let Some(told) = &run.imported {
        writeln!(
            out,
            "<p class=\"verdict caveat\">{}</p>",
            Text(imported::mark(told))
        )?;
    }
    if let Some(early) = early(run) {
        writeln!(out, "<p class=\"verdict caveat\">{}</p>", Text(early))?;
    }
    if let Some((worst, words)) = verdict_words(run) {
        writeln!(
            out,
            "<p class=\"verdict {}\"><strong>{}</strong></p>",
            class(worst),
            Text(words)
        )?;
    }
    out.push_str("<ul class=\"figures\">");
    let nothing = nothing_measured(run);
    for rate in run.rates.iter().filter(|_| !nothing) {
        let note = rate
            .note
            .as_deref()
            .map_or(String::new(), |note| format!("; {note}"));
        let rest = format!("{}{note}", rate.title);
        figure(
            out,
            &units::rate(rate.value),
            &plain(&rate.name),
            &plain(&rest),
        )?;
    }
    if let Some(all) = run.measured.kinds.first().filter(|_| !nothing) {
        figure(out, &units::rate(all.tps), "transactions/s", "committed")?;
        let of = &all.response;
        for (name, ns) in [("p50", of.p50_ns), ("p95", of.p95_ns), ("p99", of.p99_ns)] {
            if let Some(ns) = ns {
                figure(out, &units::time(ns as f64), name, "response time")?;
            }
        }
    }
    out.push_str("</ul>\n");
    if nothing {
        out.push_str("<p><strong>Nothing was measured.</strong></p>\n");
    }
    writeln!(out, "<p>{}</p>", Text(counts(run)))?;
    scenario::write(out, run)?;
    kinds(out, run)
}

fn figure(out: &mut String, value: &str, name: &str, of: &str) -> fmt::Result {
    let (value, name, of) = (Text(value), Text(name), Text(of));
    write!(out, "<li><b>{value}</b> {name} <span>{of}</span></li>")
}

/// Opens a table that may be wider than the page.
pub fn table(out: &mut String, caption: &str, columns: &[&str]) -> fmt::Result {
    table_of(out, None, caption, columns)
}

/// The same, with an id.
pub fn table_of(
    out: &mut String,
    id: Option<&str>,
    caption: &str,
    columns: &[&str],
) -> fmt::Result {
    let id = id.map_or(String::new(), |id| format!(" id=\"{id}\""));
    write!(
        out,
        "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"{0}\"><table{id}>\
         <caption>{0}</caption><thead><tr>",
        Text(caption)
    )?;
    for column in columns {
        write!(out, "<th scope=\"col\">{}</th>", Text(column))?;
    }
    out.push_str("</tr></thead><tbody>\n");
    Ok(())
}

/// A row of words, the first of which names it.
pub fn words(out: &mut String, cells: &[&str]) -> fmt::Result {
    out.push_str("<tr class=\"words\">");
    for (place, cell) in cells.iter().enumerate() {
        match place {
            0 => write!(out, "<th scope=\"row\">{}</th>", Text(plain(cell)))?,
            _ => write!(out, "<td>{}</td>", Text(plain(cell)))?,
        }
    }
    out.push_str("</tr>\n");
    Ok(())
}

/// Ends what [`table`] began.
pub fn end(out: &mut String) {
    out.push_str("</tbody></table></div>\n");
}

fn kinds(out: &mut String, run: &Run) -> fmt::Result {
    if run.measured.kinds.len() < 3 || nothing_measured(run) {
        return Ok(());
    }
    let columns = ["kind", "committed", "a second", "rolled back", "failed"];
    table(out, "Transactions by kind", &columns)?;
    for kind in &run.measured.kinds {
        writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{} /s</td><td>{}</td><td>{}</td></tr>",
            Text(plain(&kind.kind)),
            units::count(kind.committed),
            units::rate(kind.tps),
            units::count(kind.rolled_back),
            units::count(kind.failed),
        )?;
    }
    end(out);
    Ok(())
}

fn errors_and_events(out: &mut String, run: &Run) -> fmt::Result {
    let errors = &run.measured.errors;
    let failed = run.measured.kinds.first().map_or(0, |all| all.failed);
    if errors.is_empty() {
        out.push_str(match (&run.imported, failed) {
            (None, 0) => "<p>No transaction failed in the measured window.</p>\n",
            _ => "<p class=\"absent\">The document does not say which errors there were.</p>\n",
        });
    } else {
        let columns = ["class", "code", "kind", "count", "first message"];
        table(out, "Failed transactions in the measured window", &columns)?;
        for error in errors {
            let count = units::count(error.count);
            words(
                out,
                &[
                    &error.class,
                    &error.code,
                    &error.kind,
                    &count,
                    &error.example,
                ],
            )?;
        }
        end(out);
    }
    let early = run.warmup.iter().flat_map(|part| &part.errors);
    let early: u64 = early.map(|error| error.count).sum();
    if early > 0 {
        writeln!(
            out,
            "<p>{} failed in the warm-up, not counted above.</p>",
            units::count(early)
        )?;
    }
    let events = marks::events(run);
    if events.is_empty() {
        out.push_str("<p>No event was recorded.</p>\n");
        return Ok(());
    }
    table(out, "Events of client and server", &["when", "what"])?;
    for event in events.iter().take(EVENTS) {
        let (when, what) = event_words(event);
        words(out, &[&when, &what])?;
    }
    end(out);
    if events.len() > EVENTS {
        let more = units::count((events.len() - EVENTS) as u64);
        writeln!(out, "<p>And {more} more in the document.</p>")?;
    }
    Ok(())
}

fn checks(out: &mut String, run: &Run) -> fmt::Result {
    if run.checks.is_empty() {
        out.push_str("<p>No check found anything.</p>\n");
        return Ok(());
    }
    check_list(out, &run.checks)
}

/// Checks, the worst first.
pub fn check_list(out: &mut String, checks: &[Check]) -> fmt::Result {
    let mut checks: Vec<_> = checks.iter().collect();
    checks.sort_by_key(|check| std::cmp::Reverse(check.severity));
    out.push_str("<ul class=\"checks\">\n");
    for check in checks {
        let class = class(check.severity);
        write!(
            out,
            "<li class=\"{class}\"><b>{class}</b> <code>{}</code> {}",
            Text(plain(&check.id)),
            Text(plain(&check.finding)),
        )?;
        if !check.advice.is_empty() {
            write!(out, "<br><span>{}</span>", Text(plain(&check.advice)))?;
        }
        out.push_str("</li>\n");
    }
    out.push_str("</ul>\n");
    Ok(())
}

fn setup(out: &mut String, run: &Run) -> fmt::Result {
    let lines = match &run.imported {
        Some(told) => imported::setup_lines(run, told),
        None => setup_lines(run),
    };
    out.push_str("<dl>\n");
    for (label, text) in lines {
        writeln!(out, "<dt>{}</dt><dd>{}</dd>", Text(label), Text(text))?;
    }
    if run.imported.is_none() {
        let health = client_lines(run).join("; ");
        writeln!(out, "<dt>its health</dt><dd>{}</dd>", Text(health))?;
    }
    out.push_str("</dl>\n");
    if !run.workload.statements.is_empty() {
        out.push_str("<details><summary>Statements</summary><pre tabindex=\"0\">");
        for statement in &run.workload.statements {
            // Line breaks of a statement stay, all other control characters go.
            let lines: Vec<String> = statement
                .lines()
                .map(|line| Text(line).to_string())
                .collect();
            writeln!(out, "{}", lines.join("\n"))?;
        }
        out.push_str("</pre></details>\n");
    }
    let settings = &run.server.settings;
    if settings.is_empty() {
        out.push_str("<p class=\"absent\">Settings of the server: not known.</p>\n");
        return Ok(());
    }
    let summary = format!("All settings of the server ({})", settings.len());
    writeln!(out, "<details><summary>{summary}</summary>")?;
    table(out, "Settings of the server", &["name", "value"])?;
    for (name, value) in settings {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        words(out, &[name, &value])?;
    }
    end(out);
    out.push_str("</details>\n");
    Ok(())
}

fn repeated(out: &mut String, run: &Run) -> fmt::Result {
    let Some((command, notes)) = repeat::command(run) else {
        let why = match run.imported {
            Some(_) => "another tool drove this run",
            None => "the document does not hold the command",
        };
        return writeln!(out, "<p class=\"absent\">No command: {why}.</p>");
    };
    writeln!(
        out,
        "<pre tabindex=\"0\"><code>{}</code></pre>",
        Text(command)
    )?;
    for note in notes {
        writeln!(out, "<p>{}</p>", Text(note))?;
    }
    Ok(())
}
