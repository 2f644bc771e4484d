//! One run, section by section.
//!
//! In: a Run. Out: its part of the page: the verdict, the figures, then the set-up. Must never: hide a
//! finding.

use super::over_time::{MAX_RUNS_IN_FULL, RunOverTime, max_points};
use super::table::{write_table, write_text_table};
use super::{
    chart_fold, client, distribution, endpoints, heat, kinds, machines, marks, parts, percentiles,
    recut, repeat, scenario, seconds, server, start_section, statements, write_fold,
    write_paragraphs, write_verdict_line,
};
use crate::html::markup::{Html, Markup, markup, write_markup, writeln_markup};
use crate::text::answer::answer_lines;
use crate::text::captured::captured_mix;
use crate::text::counts::{KINDS, describe_counts, kind_table, metric_meaning};
use crate::text::drill::drill_facts;
use crate::text::findings::{describe_event, failed_in_warmup, worst_first};
use crate::text::outage::outage_text;
use crate::text::plain;
use crate::text::setup::{client_health_sentences, server_name, setup_lines};
use crate::text::statements::statements as statement_section;
use crate::text::verdict::{incomplete_notice, verdict_text};
use crate::units::{self, count};
use prony_store::{AnswerVerdict, Check, Run, Severity};
use std::fmt;

/// Maximum number of events in the table; the document has all of them.
const MAX_EVENTS: usize = 200;

/// The sections: id prefix and title. Only a run that kept a ledger or measured an outage has that of a drill.
const SECTIONS: [(&str, &str); 9] = [
    ("verdict", "Verdict"),
    ("drill", "Drill"),
    ("time", "Over time"),
    ("latency", "Response time"),
    ("server", "Server"),
    ("events", "Errors and events"),
    ("checks", "Checks"),
    ("setup", "Set-up and settings"),
    ("repeat", "Repeat it"),
];

/// The checks whose reason the charts of the client and of the parts of the service time show.
const CLIENT_CHECKS: [&str; 9] = [
    "client-limit",
    "client-wait",
    "client-stall",
    "loop-delay",
    "neighbours",
    "run-queue",
    "short-stall",
    "steal",
    "throttled",
];

/// Whether one of these checks casts doubt on a run.
pub fn is_doubted_by(run: &Run, ids: &[&str]) -> bool {
    let mut doubts = run.checks.iter().filter(|check| check.is_doubt());
    doubts.any(|check| ids.contains(&check.id.as_str()))
}

/// The title of a run: workload, scale and server, on one line.
pub fn title(run: &Run) -> String {
    let server = server_name(&run.server);
    let scale = match run.workload.scale {
        0 => String::new(),
        scale => format!(", scale {}", count(scale.into())),
    };
    let server = match server.trim() {
        "" => "an unknown server",
        server => server,
    };
    format!("{}{scale}, on {server}", plain(run.workload.display_name()))
}

fn sections_of(run: &Run) -> impl Iterator<Item = (&'static str, &'static str)> {
    let sections = SECTIONS.into_iter();
    sections.filter(|(id, _)| *id != "drill" || run.is_drill())
}

/// Writes the table of contents of a page with one run; `entries` are inserted after those of the run.
pub fn write_nav(out: &mut Html, run: &Run, entries: &'static str) -> fmt::Result {
    let sections = sections_of(run).map(|(id, title)| (format!("{id}-1"), title));
    write_contents(out, &sections.collect::<Vec<_>>(), entries)
}

/// Writes the table of contents of these sections, each with its id and title, then `entries`, then the documents.
pub fn write_contents(
    out: &mut Html,
    sections: &[(impl Markup, &str)],
    entries: &'static str,
) -> fmt::Result {
    out.push_str("<nav aria-label=\"Sections\"><ul>");
    for (id, title) in sections {
        write_markup!(out, "<li><a href=\"#{}\">{}</a></li>", id, title)?;
    }
    out.push_str(entries);
    out.push_str("<li><a href=\"#documents-h\">Documents</a></li></ul></nav>\n");
    Ok(())
}

/// Where a run stands on a page.
#[derive(Clone, Copy, Debug)]
pub struct RunPlace {
    /// The number of the run, from 1.
    pub number: usize,
    /// The number of runs on the page.
    pub runs: usize,
    /// The level of the headings of its sections.
    pub heading_level: usize,
}

/// Writes all sections of a run.
///
/// A page of many runs shows what tells them apart: no chart but those of throughput and response time, and neither
/// statements nor settings.
pub fn write(out: &mut Html, run: &Run, place: RunPlace) -> fmt::Result {
    let number = place.number;
    let time = &RunOverTime::new(run, number, max_points(place.runs));
    let is_brief = place.runs > MAX_RUNS_IN_FULL;
    for (id, title) in sections_of(run) {
        start_section(out, place.heading_level, &format!("{id}-{number}"), title)?;
        match id {
            "verdict" => write_verdict(out, run)?,
            "drill" => write_drill(out, run)?,
            "time" if is_brief => seconds::write(out, time)?,
            "latency" if is_brief => distribution::write_tables(out, run)?,
            "server" if is_brief => server::write_text(out, run).map(drop)?,
            "time" => {
                recut::write(out, run, number)?;
                seconds::write(out, time)?;
                machines::write(out, time)?;
                let mut more = Html::default();
                heat::write(&mut more, time)?;
                parts::write(&mut more, time)?;
                kinds::write(&mut more, time)?;
                client::write(&mut more, time)?;
                let summary =
                    "More over time: the distribution, the parts of the service time, the client";
                let is_open = is_doubted_by(run, &CLIENT_CHECKS);
                write_fold(out, chart_fold(is_open), summary, more)?;
            }
            "latency" => {
                distribution::write(out, run, number)?;
                let title = "Response time by percentile";
                let curves = percentiles::of_run(run);
                let mut chart = Html::default();
                percentiles::write(&mut chart, &format!("percentiles-{number}"), title, &curves)?;
                write_fold(out, chart_fold(false), title, chart)?;
                statements::write(out, captured_mix(run))?;
                statements::write(out, statement_section(run))?;
                endpoints::write(out, time)?;
            }
            "server" => server::write(out, time)?,
            "events" => write_errors_and_events(out, run)?,
            "checks" => write_checks(out, run)?,
            "setup" => {
                write_setup(out, run)?;
                if !is_brief {
                    write_statements_and_settings(out, run)?;
                }
            }
            _ => write_repeat_command(out, run)?,
        }
        out.push_str("</section>\n");
    }
    Ok(())
}

/// The CSS class of a severity, for its border.
pub fn severity_class(severity: Severity) -> &'static str {
    match severity {
        Severity::Invalid => "invalid",
        Severity::Caveat => "caveat",
        Severity::Note => "note",
    }
}

fn write_verdict(out: &mut Html, run: &Run) -> fmt::Result {
    if let Some(answer) = &run.answer {
        let class = match answer.verdict {
            AnswerVerdict::Pass => "note",
            AnswerVerdict::Undecided => "caveat",
            AnswerVerdict::Fail => "invalid",
        };
        for (row, line) in answer_lines(answer).iter().enumerate() {
            match row {
                0 => write_verdict_line(out, class, line)?,
                _ => writeln_markup!(out, "<p>{}</p>", line.trim_start())?,
            }
        }
    }
    if let Some(text) = incomplete_notice(run) {
        writeln_markup!(out, "<p class=\"verdict caveat\">{}</p>", text)?;
    }
    if let Some(verdict) = verdict_text(run) {
        write_verdict_line(out, severity_class(verdict.severity), &verdict.text)?;
    }
    out.push_str("<ul class=\"figures\">");
    let is_measured = !run.measured.is_empty();
    if is_measured {
        write_main_figures(out, run)?;
    }
    out.push_str("</ul>\n");
    if !is_measured {
        out.push_str("<p><strong>Nothing was measured.</strong></p>\n");
    }
    writeln_markup!(out, "<p>{}</p>", describe_counts(run))?;
    write_paragraphs(out, outage_text(run))?;
    scenario::write(out, run)?;
    match kind_table(run) {
        Some(table) => write_table(out, KINDS, &table),
        None => Ok(()),
    }
}

/// Writes the industry metrics, the throughput and the percentiles of the response time.
fn write_main_figures(out: &mut Html, run: &Run) -> fmt::Result {
    for rate in &run.rates {
        let (value, name) = (units::rate(rate.value), plain(rate.name.as_str()));
        write_figure(out, &value, &name, &metric_meaning(rate))?;
    }
    let Some(all) = run.measured.all_kinds() else {
        return Ok(());
    };
    write_figure(out, &units::rate(all.tps), "transactions/s", "committed")?;
    for (name, ns) in [
        ("p50", all.response.p50_ns),
        ("p95", all.response.p95_ns),
        ("p99", all.response.p99_ns),
    ] {
        if let Some(ns) = ns {
            write_figure(out, &units::time(ns as f64), name, "response, of committed")?;
        }
    }
    Ok(())
}

/// Writes what a drill did and what came of it, and the lost commits that the document names.
fn write_drill(out: &mut Html, run: &Run) -> fmt::Result {
    let facts = drill_facts(run).into_iter();
    let facts = facts.map(|fact| [fact.label.to_owned(), fact.full]);
    write_text_table(
        out,
        "What was done, and what came of it",
        ["fact", "finding"],
        facts,
    )?;
    let Some(account) = &run.ledger else {
        return Ok(());
    };
    let time = |time_s: Option<f64>| time_s.map_or("not known".to_owned(), units::span);
    let lost = account.first_lost.iter().map(|commit| {
        let [client, sequence] = [commit.client.into(), commit.sequence].map(count);
        [time(commit.after_s), time(commit.by_s), client, sequence]
    });
    let caption = match account.lost.saturating_sub(account.first_lost.len() as u64) {
        0 => "Lost commits".to_owned(),
        more => format!("The first lost commits; {} more follow", count(more)),
    };
    let columns = ["acknowledged after", "and before", "client", "number"];
    write_text_table(out, &caption, columns, lost)
}

pub fn write_figure(out: &mut Html, value: &str, name: &str, description: &str) -> fmt::Result {
    write_markup!(
        out,
        "<li><b>{}</b> {} <span>{}</span></li>",
        value,
        name,
        description
    )
}

pub fn write_errors_and_events(out: &mut Html, run: &Run) -> fmt::Result {
    let errors = &run.measured.errors;
    let failed = run.measured.all_kinds().map_or(0, |all| all.failed);
    if errors.is_empty() {
        out.push_str(if failed == 0 {
            "<p>No transaction failed in the measured window.</p>\n"
        } else {
            "<p class=\"absent\">The document does not contain the errors.</p>\n"
        });
    } else {
        let columns = ["class", "code", "kind", "count", "first message"];
        let rows = errors.iter().map(|error| {
            let (class, kind, count) = (error.class.name(), error.kind_name(), count(error.count));
            [class, &error.code, kind, &count, &error.example].map(str::to_owned)
        });
        let caption = "Failed transactions in the measured window";
        write_text_table(out, caption, columns, rows)?;
    }
    let warmup_failures = failed_in_warmup(run);
    if warmup_failures > 0 {
        let warmup_failures = count(warmup_failures);
        writeln_markup!(
            out,
            "<p>{} failed in the warm-up, not counted above.</p>",
            warmup_failures
        )?;
    }
    let events = marks::events_by_time(run);
    if events.is_empty() {
        out.push_str("<p>No event was recorded.</p>\n");
        return Ok(());
    }
    let rows = events.iter().take(MAX_EVENTS);
    let rows = rows.map(|event| describe_event(event).cells());
    write_text_table(out, "Events of client and server", ["when", "what"], rows)?;
    if events.len() > MAX_EVENTS {
        let omitted = count((events.len() - MAX_EVENTS) as u64);
        writeln_markup!(out, "<p>And {} more in the document.</p>", omitted)?;
    }
    Ok(())
}

pub fn write_checks(out: &mut Html, run: &Run) -> fmt::Result {
    if run.checks.is_empty() {
        out.push_str("<p>The checks found no problems.</p>\n");
        return Ok(());
    }
    write_check_list(out, &run.checks)
}

pub fn write_check_list(out: &mut Html, checks: &[Check]) -> fmt::Result {
    out.push_str("<ul class=\"checks\">\n");
    for check in worst_first(checks) {
        let class = severity_class(check.severity);
        write_markup!(
            out,
            "<li class=\"{}\"><b>{}</b> <code>{}</code> {}",
            class,
            check.word(),
            plain(&check.id),
            plain(&check.finding)
        )?;
        if !check.advice.is_empty() {
            write_markup!(out, "<br><span>{}</span>", plain(&check.advice))?;
        }
        out.push_str("</li>\n");
    }
    out.push_str("</ul>\n");
    Ok(())
}

fn write_setup(out: &mut Html, run: &Run) -> fmt::Result {
    out.push_str("<dl>\n");
    for (label, text) in setup_lines(run) {
        writeln_markup!(out, "<dt>{}</dt><dd>{}</dd>", label, text)?;
    }
    let health = client_health_sentences(run).join("; ");
    writeln_markup!(out, "<dt>its health</dt><dd>{}</dd>", health)?;
    out.push_str("</dl>\n");
    Ok(())
}

pub fn write_statements(out: &mut Html, run: &Run) -> fmt::Result {
    if run.workload.statements.is_empty() {
        return Ok(());
    }
    let mut content = markup!("<pre tabindex=\"0\">");
    for statement in &run.workload.statements {
        // Escaping replaces control characters, so the line breaks of a statement are written here.
        for line in statement.split_inclusive('\n') {
            let text = line.strip_suffix('\n').unwrap_or(line);
            let text = text.strip_suffix('\r').unwrap_or(text);
            writeln_markup!(content, "{}", text)?;
        }
    }
    content.push_str("</pre>");
    write_fold(out, "", "Statements", content)
}

fn write_statements_and_settings(out: &mut Html, run: &Run) -> fmt::Result {
    write_statements(out, run)?;
    let settings = &run.server.settings;
    if settings.is_empty() {
        out.push_str("<p class=\"absent\">Settings of the server: not known.</p>\n");
        return Ok(());
    }
    let summary = format!("All settings of the server ({})", settings.len());
    let rows = settings.iter().map(|(name, value)| {
        let text = value.as_str().map(str::to_owned);
        [name.clone(), text.unwrap_or_else(|| value.to_string())]
    });
    let mut table = Html::default();
    write_text_table(
        &mut table,
        "Settings of the server",
        ["name", "value"],
        rows,
    )?;
    write_fold(out, "", &summary, table)
}

fn write_repeat_command(out: &mut Html, run: &Run) -> fmt::Result {
    let Some(repeat) = repeat::repeat_command(run, Some(run.drive.seed)) else {
        out.push_str("<p class=\"absent\">No command: the document does not contain it.</p>\n");
        return Ok(());
    };
    let command = repeat.command;
    writeln_markup!(out, "<pre tabindex=\"0\"><code>{}</code></pre>", command)?;
    write_paragraphs(out, repeat.notes)
}
