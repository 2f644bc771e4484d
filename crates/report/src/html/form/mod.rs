//! A page in the form of a test report, with the sections that its readers expect.
//!
//! In: documents. Out: purpose, environment, instance, client, data, method, parameters, results, resources, problems and
//! what is missing. Must never: state what no document says; what is unknown is called "not observed".

mod facts;
mod results;

use super::comparisons::PageSides;
use super::document::Document;
use super::over_time::{RunOverTime, max_points};
use super::table::{end_table, start_table, write_text_row};
use super::{one, percentiles, repeat, scenario, seconds, server, several, start_section};
use super::{suite, variants, write_verdict_line};
use crate::html::markup::{Html, Raw, writeln_markup};
use crate::text::verdict::verdict_text;
use crate::text::{joined, plain};
use crate::units;
use facts::{by_runs, describe_by_runs, missing_facts, write_facts};
use prony_judge::compare::rule_table::reported_server_settings;
use prony_judge::experiment::variant_names;
use prony_judge::price::Prices;
use prony_store::{Experiment, Run, Scenario};
use results::ResultRow;
use std::collections::BTreeSet;
use std::fmt;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageForm {
    /// All that is known of the runs.
    #[default]
    Full,
    /// A test report, as Alibaba Cloud asks testers of ApsaraDB for one. Its template is not public; the sections are
    /// those by which its white paper describes a test, and those that readers of such reports expect.
    ApsaraDb,
}

impl PageForm {
    /// The attribute of a page by which [`PageForm::of_page`] finds the form; empty for the usual one.
    pub fn attribute(self) -> Raw {
        match self {
            PageForm::Full => Raw(""),
            PageForm::ApsaraDb => Raw(" data-form=\"apsaradb\""),
        }
    }

    /// The form of a page, by its second line, the first of its markup.
    pub fn of_page(text: &str) -> PageForm {
        let start = text.split('\n').nth(1).unwrap_or_default();
        if start.contains(PageForm::ApsaraDb.attribute().0) {
            PageForm::ApsaraDb
        } else {
            PageForm::Full
        }
    }
}

/// The sections: id and title.
const SECTIONS: [(&str, &str); 11] = [
    ("purpose", "1. Purpose"),
    ("environment", "2. Test environment"),
    ("instance", "3. Instance under test"),
    ("client", "4. Client"),
    ("data", "5. Data"),
    ("method", "6. Method"),
    ("parameters", "7. Parameters of the server"),
    ("results", "8. Results"),
    ("resources", "9. Use of resources"),
    ("problems", "10. Problems and findings"),
    ("missing", "11. What is missing"),
];

/// Writes the table of contents; `entries` are inserted after the sections.
pub fn write_nav(out: &mut Html, entries: &'static str) -> fmt::Result {
    one::write_contents(out, &SECTIONS, entries)
}

pub fn write(out: &mut Html, documents: &[Document], prices: Option<&Prices>) -> fmt::Result {
    let runs: Vec<&Run> = documents.iter().map(|document| &document.run).collect();
    let rows = results::result_rows(&runs);
    for (id, title) in SECTIONS {
        start_section(out, 2, id, title)?;
        match id {
            "purpose" => write_purpose(out, &runs)?,
            "environment" => write_facts(out, id, &facts::ENVIRONMENT, &runs)?,
            "instance" => write_facts(out, id, &facts::INSTANCE, &runs)?,
            "client" => write_facts(out, id, &facts::CLIENT, &runs)?,
            "data" => {
                write_facts(out, id, &facts::DATA, &runs)?;
                write_statements(out, &runs)?;
            }
            "method" => {
                write_facts(out, id, &facts::METHOD, &runs)?;
                write_commands(out, &runs)?;
            }
            "parameters" => write_parameters(out, &runs)?,
            "results" => write_results(out, documents, &rows, prices)?,
            "resources" => write_resources(out, &runs)?,
            "problems" => write_problems(out, &runs)?,
            _ => write_missing(out, &runs)?,
        }
        out.push_str("</section>\n");
    }
    Ok(())
}

/// Values of the runs, each once, in their order.
fn distinct(runs: &[&Run], read: impl Fn(&Run) -> Option<String>) -> Vec<String> {
    let values = by_runs(runs, read).into_iter();
    values.filter_map(|(value, _)| value).collect()
}

/// What the documents say of the purpose: load and server, the repeated scenarios, the compared variants.
fn write_purpose(out: &mut Html, runs: &[&Run]) -> fmt::Result {
    let titles = distinct(runs, |run| facts::text(&run.workload.title));
    let servers = distinct(runs, facts::server);
    let named = |names: Vec<String>| {
        if names.is_empty() { facts::NOT_OBSERVED.to_owned() } else { names.join("; ") }
    };
    writeln_markup!(
        out,
        "<p>{} measured the throughput and the response time of a server under a known load. Workload: {}. Server: {}.</p>",
        units::count_of(runs.len() as u64, "run"),
        named(titles),
        named(servers)
    )?;
    let scenarios = distinct(runs, |run| {
        let Scenario { id, source, .. } = run.scenario.as_ref()?;
        Some(plain(&format!("{id} ({source})")))
    });
    if !scenarios.is_empty() {
        writeln_markup!(
            out,
            "<p>Published runs that it repeats: {}.</p>",
            scenarios.join(", ")
        )?;
    }
    let variants = variant_names(runs);
    if variants.len() > 1 && scenarios.is_empty() {
        let names = variants.iter().map(|name| plain(name));
        writeln_markup!(out, "<p>What it compares: {}.</p>", joined(names, ", "))?;
    }
    out.push_str(
        "<p class=\"small\">The documents of the runs do not contain any other purpose. Values that a user declared are \
         marked; all others are as Prony observed them.</p>\n",
    );
    Ok(())
}

fn write_statements(out: &mut Html, runs: &[&Run]) -> fmt::Result {
    let mut written: BTreeSet<&[String]> = BTreeSet::new();
    for run in runs {
        if written.insert(&run.workload.statements) {
            one::write_statements(out, run)?;
        }
    }
    Ok(())
}

/// Writes each command that repeats a run once, without its seed, by which the commands of repeats differ.
fn write_commands(out: &mut Html, runs: &[&Run]) -> fmt::Result {
    let commands = by_runs(runs, |run| {
        let repeat = repeat::repeat_command(run, None)?;
        Some(repeat.command)
    });
    for (command, numbers) in commands {
        let of = facts::runs_text(&numbers);
        match command {
            None => writeln_markup!(
                out,
                "<p class=\"absent\">The command of {}: not observed.</p>",
                of
            )?,
            Some(command) => writeln_markup!(
                out,
                "<p>The command that repeats {}:</p>\n<pre tabindex=\"0\"><code>{}</code></pre>",
                of,
                command
            )?,
        }
    }
    Ok(())
}

fn setting(run: &Run, name: &str) -> Option<String> {
    let value = run.server.settings.get(name)?;
    Some(value.as_str().map_or_else(|| value.to_string(), plain))
}

/// Writes the settings of the server that matter to its speed and durability, beside the published ones.
fn write_parameters(out: &mut Html, runs: &[&Run]) -> fmt::Result {
    let published = |run: &Run, name: &str| -> Option<String> {
        let settings = &run.scenario.as_ref()?.original.setup.settings;
        settings.get(name).map(|value| plain(value))
    };
    let mut names: BTreeSet<&str> = reported_server_settings().collect();
    let scenarios = runs.iter().filter_map(|run| run.scenario.as_ref());
    names.extend(
        scenarios.flat_map(|scenario| scenario.original.setup.settings.keys().map(String::as_str)),
    );
    names.retain(|name| {
        let is_known = |run: &&Run| setting(run, name).or(published(run, name)).is_some();
        runs.iter().any(is_known)
    });
    if names.is_empty() {
        out.push_str("<p class=\"absent\">Parameters of the server: not observed.</p>\n");
        return Ok(());
    }
    let has_published = names.iter().any(|name| {
        let mut runs = runs.iter();
        runs.any(|run| published(run, name).is_some())
    });
    let mut columns = vec!["parameter", "this test"];
    columns.extend(has_published.then_some("published"));
    start_table(
        out,
        "Parameters that matter to speed or durability",
        &columns,
    )?;
    for name in names {
        let mut cells = vec![
            name.to_owned(),
            describe_by_runs(runs, |run| setting(run, name)),
        ];
        if has_published {
            let stated = distinct(runs, |run| published(run, name));
            cells.push(stated.join("; "));
        }
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        write_text_row(out, &cells)?;
    }
    end_table(out)?;
    out.push_str("<p class=\"small\">All settings are in the documents below.</p>\n");
    Ok(())
}

/// Writes the results by row and concurrency, then those against published figures and between variants, and the charts.
fn write_results(
    out: &mut Html,
    documents: &[Document],
    rows: &[ResultRow<'_>],
    prices: Option<&Prices>,
) -> fmt::Result {
    results::write_table(out, rows)?;
    let sides = PageSides::of(documents);
    suite::write(out, documents)?;
    variants::write(out, documents, &sides, prices)?;
    for row in rows {
        // The runs of a row have one scenario; the first stands for its set-up.
        if let Some(run) = row.runs.first().filter(|run| run.suite().is_none()) {
            scenario::write(out, run)?;
        }
    }
    match documents {
        [document] => {
            let run = &document.run;
            seconds::write(out, &RunOverTime::new(run, 1, max_points(1)))?;
            let title = "Response time by percentile";
            percentiles::write(out, "percentiles-1", title, &percentiles::of_run(run))
        }
        documents => several::write_charts(out, documents),
    }
}

fn write_resources(out: &mut Html, runs: &[&Run]) -> fmt::Result {
    if let [run] = runs {
        return server::write(out, &RunOverTime::new(run, 1, max_points(1)));
    }
    out.push_str(
        "<p><code>prony report</code> with the id of one run shows what its server used over time.</p>\n",
    );
    Ok(())
}

/// Writes the verdict, the findings and the errors of each run.
fn write_problems(out: &mut Html, runs: &[&Run]) -> fmt::Result {
    for (index, run) in runs.iter().enumerate() {
        let (number, id) = (index + 1, plain(&run.id));
        writeln_markup!(
            out,
            "<h3 id=\"run-{number}\">Run {number}: {id}</h3>",
            number = number,
            id = id
        )?;
        if let Some(verdict) = verdict_text(run) {
            write_verdict_line(out, one::severity_class(verdict.severity), &verdict.text)?;
        }
        one::write_errors_and_events(out, run)?;
        one::write_checks(out, run)?;
    }
    Ok(())
}

/// Writes what the report does not have: planned runs, and facts.
fn write_missing(out: &mut Html, runs: &[&Run]) -> fmt::Result {
    let is_planned = |experiment: &Experiment| experiment.runs as usize > runs.len();
    if let Some(experiment) = runs.iter().find_map(|run| run.experiment.as_ref())
        && is_planned(experiment)
    {
        writeln_markup!(
            out,
            "<p>The experiment planned {} runs; this report has {}.</p>",
            experiment.runs,
            runs.len()
        )?;
    }
    let missing = missing_facts(runs);
    if !missing.is_empty() {
        writeln_markup!(
            out,
            "<p>Not observed, so that another test cannot be set up alike by this report alone: {}. Where nobody can \
             read a fact over SQL, <code>--declare</code> records it with the next run.</p>",
            missing.join(", ")
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
