//! The first screen of a result: on a terminal at most [`MAX_LINES`] lines, for every run. In a file or a pipe nothing is
//! cut.
//!
//! In: a Run. Out: its figure, its verdict, response and server times, what limited it, one advice, and the command
//! that prints the rest. Must never: print a line that the terminal would wrap, or cut a word.

use super::paragraph::{self, Paragraph, fit};
use super::verdict::severity_format;
use crate::printer::Printer;
use crate::style::Style;
use crate::table::Table;
use crate::text::answer::{answer_format, answer_lines};
use crate::text::captured::mix_sentence;
use crate::text::counts::{
    ThroughputBySecond, outcome_counts, per_scale_text, throughput_by_second, throughput_text,
};
use crate::text::drill::account_text;
use crate::text::findings::worst_first;
use crate::text::latency::unavailable_reason;
use crate::text::outage::outage_text;
use crate::text::replay::replay_sentence;
use crate::text::setup::{load_size, options_suffix, server_name};
use crate::text::verdict::{incomplete_notice, verdict_sentence};
use crate::text::{joined, plain, sparkline};
use crate::units::{self, count, time_or_dash};
use prony_judge::checks;
use prony_store::{Annotation, Check, FindingKind, IndustryMetric, Latency, Run, Severity};
use std::io::{self, Write};

/// Maximum number of lines. A terminal of 24 lines also shows the prompt below them.
pub const MAX_LINES: usize = 22;

const MAX_BARS: usize = 24;

/// What the first screen says about the stored document.
#[derive(Clone, Copy, Debug)]
pub struct StoredRun<'a> {
    /// The argument with which `prony show` prints the run.
    pub show_argument: &'a str,
    pub annotation: &'a Annotation,
}

/// Writes the first screen of a result, in at most [`MAX_LINES`] lines; the published figures of a scenario follow.
/// `stored` is absent if the run is not stored.
pub fn write_first_screen(
    out: &mut dyn Write,
    style: &Style,
    run: &Run,
    stored: Option<StoredRun<'_>>,
) -> io::Result<()> {
    let out = &mut Printer::new(out, style);
    let width = style.width;
    let mut paragraphs = answer(run, width);
    paragraphs.push(title(run, width));
    paragraphs.extend(incomplete_notice(run).map(|notice| {
        Paragraph::text(&notice, width, 2)
            .with_format(Style::caution)
            .with_rank(2)
    }));
    paragraphs.push(Paragraph::gap());
    add_figures(&mut paragraphs, run, width);
    paragraphs.push(Paragraph::gap());
    add_verdict(&mut paragraphs, run, width);
    add_times(&mut paragraphs, run, out.style)?;
    add_limit_and_advice(&mut paragraphs, run, width);
    let note = stored.and_then(|stored| stored.annotation.note.as_deref());
    paragraphs.extend(note.map(|note| Paragraph {
        min_lines: 0,
        ..Paragraph::labelled("note", &plain(note), width, 1).with_rank(0)
    }));
    // A file or a pipe has no last line.
    if out.style.terminal {
        fit(&mut paragraphs, MAX_LINES - 2, width);
    }
    paragraph::write(out, &paragraphs)?;
    // For a scenario, its published figures are the point of the run: they follow in full.
    super::reproduced::write(out, run)?;
    out.line("")?;
    let line = &last_line(run, stored, width);
    out.line(line)
}

/// Whether the run meets what was required of it, and an empty line; nothing if nothing was required.
pub(super) fn answer(run: &Run, width: usize) -> Vec<Paragraph> {
    let Some(answer) = &run.answer else {
        return Vec::new();
    };
    let lines = answer_lines(answer);
    let lines = lines.iter().enumerate();
    let mut paragraphs: Vec<Paragraph> = lines
        .map(|(row, line)| match row {
            0 => Paragraph::text(line, width, 2).with_format(answer_format(answer.verdict)),
            _ => Paragraph {
                min_lines: 0,
                ..Paragraph::indented(line.trim_start(), width, 1).with_rank(1)
            },
        })
        .collect();
    paragraphs.push(Paragraph::gap());
    paragraphs
}

/// The workload, its settings, the server and the load.
pub(super) fn title(run: &Run, width: usize) -> Paragraph {
    let (workload, drive) = (&run.workload, &run.drive);
    let title = format!(
        "{}, scale {}, on {}: {}{}",
        workload.display_name(),
        count(workload.scale.into()),
        server_name(&run.server),
        load_size(drive),
        options_suffix(workload),
    );
    Paragraph::text(&plain(&title), width, 2)
        .with_format(Style::bold)
        .with_rank(1)
}

/// Adds the industry metrics, the throughput with its sparkline, and the counts.
fn add_figures(paragraphs: &mut Vec<Paragraph>, run: &Run, width: usize) {
    let indented = |text: &str, max_lines| Paragraph::indented(text, width, max_lines);
    if run.measured.is_empty() {
        paragraphs.push(indented("Nothing was measured", 1).with_format(Style::bold));
    } else {
        let rates = run.rates.iter();
        let rates = rates.map(|rate| metric_text(run, rate, width - 2));
        paragraphs.extend(rates.map(|text| indented(&text, 1).with_format(Style::bold)));
        paragraphs.push(Paragraph {
            format: figure_in_bold,
            ..Paragraph::line(figure_with_bars(run, width))
        });
    }
    paragraphs.push(indented(&outcome_counts(run, None), 2).with_rank(1));
    let outage = outage_text(run);
    paragraphs.extend(outage.map(|text| indented(&text, 3).with_rank(1)));
    let account = account_text(run).map(|text| format!("account: {text}"));
    paragraphs.extend(account.map(|text| indented(&text, 2).with_rank(1)));
}

/// An industry metric: its value, whether a label qualifies it, and as much of its meaning as fits on a line.
fn metric_text(run: &Run, rate: &IndustryMetric, width: usize) -> String {
    let label = rate.note.as_deref().and_then(|note| note.split_once(':'));
    let label = label.map_or(String::new(), |(label, _)| format!(", {label}"));
    let value = format!("{} {}{label}", units::rate(rate.value), rate.name);
    let meaning = &rate.title;
    let per_scale = per_scale_text(run, rate);
    let texts = [
        format!("{value} ({meaning}); {per_scale}"),
        format!("{value} ({meaning})"),
        format!("{value}; {per_scale}"),
    ]
    .map(|text| plain(&text));
    let fitting = texts.iter().find(|text| text.chars().count() <= width);
    fitting.unwrap_or(&texts[2]).clone()
}

/// The throughput, and one bar per second of the measured window with their range, as far as they fit the width.
fn figure_with_bars(run: &Run, width: usize) -> String {
    let figure = throughput_text(run);
    let Some(ThroughputBySecond { tps, range }) = throughput_by_second(run) else {
        return format!("  {figure}");
    };
    let gaps = 6;
    let rest = width.saturating_sub(figure.chars().count() + range.chars().count() + gaps);
    let bars = sparkline(&tps, rest.min(MAX_BARS));
    format!("  {figure}  {bars}  {range}")
}

/// Formats the line of [`figure_with_bars`]: the figure in bold, its range dim.
fn figure_in_bold(style: &Style, line: &str) -> String {
    let text = line.trim_start();
    let (figure, bars) = match text.split_once("  ") {
        Some((figure, bars)) => (figure, format!("  {}", style.dim(bars))),
        None => (text, String::new()),
    };
    format!("  {}{bars}", style.bold(figure))
}

/// Adds the verdict, a line each for doubt and scope, and the names of the doubts that an invalid run has besides the worst;
/// nothing for a run in progress.
fn add_verdict(paragraphs: &mut Vec<Paragraph>, run: &Run, width: usize) {
    let Some(verdict) = verdict_sentence(run) else {
        return;
    };
    let text = format!("{}.", verdict.text);
    let sentence = Paragraph::indented(&text, width, 2);
    paragraphs.push(sentence.with_format(severity_format(verdict.severity)));
    let is_invalid = verdict.severity == Severity::Invalid;
    let doubts: Vec<&Check> = worst_first(&run.checks)
        .into_iter()
        .filter(|check| check.is_doubt())
        .collect();
    let ids = || doubts.iter().map(|check| plain(&check.id));
    let doubt = match doubts.as_slice() {
        [] => "none".to_owned(),
        [worst, ..] if is_invalid || doubts.len() == 1 => id_and_text(worst, &worst.finding),
        _ => joined(ids(), ", "),
    };
    let max_lines = if is_invalid { 2 } else { 1 };
    paragraphs.push(Paragraph::labelled("doubt", &doubt, width, max_lines));
    if is_invalid && doubts.len() > 1 {
        let others = joined(ids().skip(1), ", ");
        let others = format!("{others}: --full explains them");
        paragraphs.push(Paragraph::labelled("also", &others, width, 1));
    }
    let limits = checks::scopes(&run.checks).join("; ");
    let scope = if limits.is_empty() { "not limited by a finding" } else { &limits };
    paragraphs.push(Paragraph::labelled("scope", scope, width, 1));
}

fn id_and_text(check: &Check, text: &str) -> String {
    plain(&format!("{}: {text}", check.id))
}

/// Adds the table of response and server times of all transactions.
fn add_times(paragraphs: &mut Vec<Paragraph>, run: &Run, style: &Style) -> io::Result<()> {
    let Some(all) = run
        .measured
        .all_kinds()
        .filter(|_| !run.measured.is_empty())
    else {
        return Ok(());
    };
    let mut table = Table::new(&["", "p50", "p95", "p99", "max"]);
    let mut add_row = |name: &str, latency: &Latency| {
        let max_ns = (latency.max_ns > 0).then_some(latency.max_ns);
        let times = [latency.p50_ns, latency.p95_ns, latency.p99_ns, max_ns];
        let cells = times.into_iter().map(time_or_dash);
        table.row(std::iter::once(name.to_owned()).chain(cells));
    };
    if run.drive.open_loop {
        add_row("response (schedule)", &all.response);
        add_row("service (start)", &all.service);
    } else {
        add_row("response", &all.response);
    }
    if let Some(parts) = &all.parts {
        add_row("server", &parts.server);
    }
    paragraphs.push(Paragraph::gap());
    let mut text = Vec::new();
    let plain_style = Style {
        color: false,
        ..*style
    };
    table.write(&mut text, &plain_style, 2)?;
    for (row, line) in String::from_utf8_lossy(&text).lines().enumerate() {
        let format: fn(&Style, &str) -> String = match row {
            0 => Style::dim,
            _ => |_, line| line.to_owned(),
        };
        paragraphs.push(Paragraph::line(line.to_owned()).with_format(format));
    }
    let reason = unavailable_reason(&run.timing.parts_source, all.committed);
    if let (None, Some(reason)) = (&all.parts, reason) {
        let reason = format!("not known: {reason}");
        paragraphs.push(Paragraph::labelled("server", &reason, style.width, 1));
    }
    Ok(())
}

/// Adds what limited the run, and the advice of the worst finding.
fn add_limit_and_advice(paragraphs: &mut Vec<Paragraph>, run: &Run, width: usize) {
    paragraphs.push(Paragraph::gap());
    if !run.measured.is_empty() {
        let limit = limit_text(run);
        paragraphs.push(Paragraph::labelled("limit", &limit, width, 2).with_rank(2));
    }
    if let Some(mix) = mix_sentence(run) {
        paragraphs.push(Paragraph::labelled("mix", &mix, width, 2).with_rank(2));
    }
    if let Some(replay) = replay_sentence(run) {
        paragraphs.push(Paragraph::labelled("replay", &replay, width, 2).with_rank(2));
    }
    let has_advice = |check: &&Check| !check.advice.is_empty();
    let mut with_advice = worst_first(&run.checks).into_iter().filter(has_advice);
    let needs_action =
        |check: &&Check| check.severity > Severity::Note || check.kind == Some(FindingKind::Scope);
    let limiter = run.check("limiter");
    let advice = with_advice
        .find(needs_action)
        .or(limiter.filter(has_advice))
        .map_or("none".to_owned(), |check| id_and_text(check, &check.advice));
    paragraphs.push(Paragraph::labelled("advice", &advice, width, 3));
}

/// What limited the throughput, as far as it is known.
fn limit_text(run: &Run) -> String {
    let (client, limiter) = (run.check("client-limit"), run.check("limiter"));
    let is_certain = |check: &&Check| check.severity == Severity::Invalid;
    if let Some(check) = client.filter(is_certain).or(limiter).or(client) {
        let text = plain(&check.finding);
        let text = text.strip_prefix("Likely limit: ").unwrap_or(&text);
        return text.trim_end_matches('.').to_owned();
    }
    match (run.drive.rate_tps, run.observed.as_ref()) {
        (Some(rate), _) if run.check("rate").is_none() => {
            format!("the scheduled {}", units::transactions_per_second(rate))
        }
        (_, Some(observed)) if observed.off.is_none() => {
            "not known: neither CPUs and disk of the server nor one of its waits stood out"
                .to_owned()
        }
        _ => "not known: the server was not observed".to_owned(),
    }
}

/// The id of the run, its label, and the command that prints everything.
pub(super) fn last_line(run: &Run, stored: Option<StoredRun<'_>>, width: usize) -> String {
    let Some(stored) = stored else {
        return "Not stored; --full prints all figures and checks.".to_owned();
    };
    let command = format!("prony show {} --full", plain(stored.show_argument));
    let id = plain(&run.id);
    let label = stored.annotation.label.as_deref();
    let label = label.map_or(String::new(), |label| format!(" [{}]", plain(label)));
    let line = format!("{id}{label}: {command}");
    if line.chars().count() <= width {
        line
    } else if command.contains(&id) {
        command
    } else {
        format!("{id}: {command}")
    }
}
