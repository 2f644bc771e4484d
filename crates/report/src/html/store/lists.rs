//! Lists of runs, experiments, trends and drills.
//!
//! In: summaries of runs, newest first. Out: tables with links. Must never: read a document.

use super::{ListPage, path_part, write_page};
use crate::history::{age, figure, load, verdict};
use crate::html::markup::{Html, Raw, markup, write_markup, writeln_markup};
use crate::html::table::{end_table, start_table, write_row};
use crate::text::plain;
use crate::text::trend::minute;
use crate::units::{self, count_of, time_or_dash};
use prony_store::{AnswerVerdict, Build, RunFilter, RunSummary, RunVerdict};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, Write};

pub struct RunList<'a> {
    pub runs: &'a [RunSummary],
    pub matching: usize,
    pub filter: &'a RunFilter,
    pub workloads: &'a BTreeSet<String>,
    /// The paths of the pages with newer and with older runs.
    pub newer: Option<String>,
    pub older: Option<String>,
    /// The time at which the runs are listed, nanoseconds since 1970.
    pub now_ns: i64,
}

/// Writes the list of runs, with its filters and the ticks that select what is compared.
pub fn write_runs(out: &mut dyn Write, list: &RunList<'_>, build: &Build) -> io::Result<()> {
    write_page(out, "Runs", Some(ListPage::Runs), "", build, |out| {
        write_filters(out, list)?;
        let found = count_of(list.matching as u64, "run");
        if list.runs.is_empty() {
            return writeln_markup!(
                out,
                "<p class=\"absent\">{}. <code>prony run</code> stores one.</p>",
                found
            );
        }
        out.push_str("<form action=\"/compare\" method=\"get\">\n");
        writeln_markup!(
            out,
            "<div class=\"bar\"><button>Compare the ticked runs</button><span>{}</span>{}</div>",
            found,
            neighbours(list)
        )?;
        write_run_table(out, list.runs, list.now_ns)?;
        writeln_markup!(out, "<div class=\"bar\">{}</div></form>", neighbours(list))
    })
}

fn neighbours(list: &RunList<'_>) -> Html {
    let link = |path: &Option<String>, text: &str| match path {
        Some(path) => markup!("<a href=\"{}\">{}</a> ", path, text),
        None => Html::default(),
    };
    markup!(
        "{}{}",
        link(&list.newer, "Newer runs"),
        link(&list.older, "Older runs")
    )
}

fn write_filters(out: &mut Html, list: &RunList<'_>) -> fmt::Result {
    let filter = list.filter;
    out.push_str("<form class=\"filters\" action=\"/\" method=\"get\" role=\"search\">\n");
    let workloads = list.workloads.iter().map(String::as_str);
    write_select(out, "workload", workloads, filter.workload.as_deref())?;
    let verdicts = RunVerdict::all().map(RunVerdict::name);
    let verdict = filter.verdict.map(RunVerdict::name);
    write_select(out, "verdict", verdicts, verdict)?;
    for (name, value) in [("label", &filter.label), ("server", &filter.server)] {
        writeln_markup!(
            out,
            "<label>{name}<input name=\"{name}\" value=\"{value}\"></label>",
            name = name,
            value = value.as_deref().unwrap_or_default()
        )?;
    }
    out.push_str("<button>Filter</button> <a href=\"/\">All runs</a>\n</form>\n");
    Ok(())
}

fn write_select<'a>(
    out: &mut Html,
    name: &str,
    values: impl Iterator<Item = &'a str>,
    selected: Option<&str>,
) -> fmt::Result {
    write_markup!(
        out,
        "<label>{name}<select name=\"{name}\"><option value=\"\">all</option>",
        name = name
    )?;
    for value in values {
        let is_selected = if Some(value) == selected { Raw(" selected") } else { Raw("") };
        write_markup!(
            out,
            "<option value=\"{value}\"{selected}>{text}</option>",
            value = value,
            selected = is_selected,
            text = plain(value)
        )?;
    }
    out.push_str("</select></label>\n");
    Ok(())
}

/// Writes a row for each run: its label or id with a link, and what `prony runs` lists.
fn write_run_table(out: &mut Html, runs: &[RunSummary], now_ns: i64) -> fmt::Result {
    let columns = [
        "tick", "run", "verdict", "figure", "p99 ok", "failed", "load", "age", "server",
    ];
    start_list(out, "runs ticks", "Stored runs, newest first", &columns)?;
    for run in runs {
        write_markup!(
            out,
            "<tr><td><input type=\"checkbox\" name=\"run\" value=\"{id}\" aria-label=\"Compare {id}\"></td>",
            id = run.id
        )?;
        let figures = [
            figure(run),
            time_or_dash(run.p99_ns),
            units::or_dash(run.failed, units::count),
        ];
        write_run_cells(out, run, &figures, now_ns)?;
    }
    end_list(out)
}

/// Writes the rest of a run's row, with these figures.
fn write_run_cells(
    out: &mut Html,
    run: &RunSummary,
    figures: &[String],
    now_ns: i64,
) -> fmt::Result {
    write_run_name(out, run)?;
    write_verdict(out, run)?;
    let others = [load(run), age(now_ns.saturating_sub(run.epoch_ns()))];
    for cell in figures.iter().chain(&others) {
        write_markup!(out, "<td>{}</td>", cell)?;
    }
    writeln_markup!(out, "<td class=\"text\">{}</td></tr>", plain(&run.server))
}

/// Begins a table of which only some columns are figures; `class` says which.
fn start_list(out: &mut Html, class: &'static str, caption: &str, columns: &[&str]) -> fmt::Result {
    write_markup!(out, "<div class=\"list {}\">", Raw(class))?;
    start_table(out, caption, columns)
}

fn end_list(out: &mut Html) -> fmt::Result {
    end_table(out)?;
    out.push_str("</div>\n");
    Ok(())
}

/// The header of a row: the label or the id as a link, and below it the id, the position in an experiment and the note.
fn write_run_name(out: &mut Html, run: &RunSummary) -> fmt::Result {
    let is_running = RunVerdict::of(run) == RunVerdict::Running;
    let folder = if is_running { "live" } else { "runs" };
    let label = run.annotation.label.as_deref().map(plain);
    let mut details = Vec::new();
    details.extend(label.is_some().then(|| plain(&run.id)));
    if let Some(own) = &run.own_name {
        details.push(plain(own));
    }
    if let Some(experiment) = &run.experiment {
        details.push(format!(
            "experiment {}/{} {}",
            experiment.position,
            experiment.runs,
            plain(&experiment.variant)
        ));
    }
    details.extend(run.annotation.note.as_deref().map(plain));
    write_markup!(
        out,
        "<th scope=\"row\"><a href=\"/{}/{}\">{}</a>",
        folder,
        path_part(&run.id),
        label.unwrap_or_else(|| plain(&run.id))
    )?;
    if !details.is_empty() {
        write_markup!(out, "<small>{}</small>", details.join(" · "))?;
    }
    out.push_str("</th>");
    Ok(())
}

/// The verdict, in the colour of the worst that it says.
fn write_verdict(out: &mut Html, run: &RunSummary) -> fmt::Result {
    let class = match (RunVerdict::of(run), run.answer) {
        (RunVerdict::Running, _) => "running",
        (RunVerdict::Invalid, _) => "invalid",
        (_, Some(AnswerVerdict::Fail)) => "fail",
        (RunVerdict::Partial | RunVerdict::Doubts, _) => "doubts",
        (_, Some(AnswerVerdict::Undecided)) => "undecided",
        _ => "valid",
    };
    write_markup!(
        out,
        "<td class=\"text is-{}\">{}</td>",
        Raw(class),
        verdict(run)
    )
}

/// Writes the experiments: the runs that have the same experiment's id.
pub fn write_experiments(
    out: &mut dyn Write,
    runs: &[RunSummary],
    build: &Build,
) -> io::Result<()> {
    let mut experiments: Vec<(&str, Vec<&RunSummary>)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for run in runs {
        let Some(experiment) = &run.experiment else {
            continue;
        };
        let place = *places.entry(&experiment.id).or_insert_with(|| {
            experiments.push((&experiment.id, Vec::new()));
            experiments.len() - 1
        });
        experiments[place].1.push(run);
    }
    let title = "Experiments";
    write_page(out, title, Some(ListPage::Experiments), "", build, |out| {
        if experiments.is_empty() {
            out.push_str("<p class=\"absent\">No experiment is stored. <code>prony run --repeats</code>, a plan with variants, a sweep and <code>prony find</code> make one.</p>\n");
            return Ok(());
        }
        let columns = ["experiment", "workload", "variants", "runs", "started"];
        start_list(out, "variants", "Experiments, newest first", &columns)?;
        for (id, runs) in &experiments {
            write_experiment(out, id, runs)?;
        }
        end_list(out)
    })
}

fn write_experiment(out: &mut Html, id: &str, runs: &[&RunSummary]) -> fmt::Result {
    // The runs are newest first, and have at least one.
    let (Some(first), Some(experiment)) = (runs.last(), runs[0].experiment.as_ref()) else {
        return Ok(());
    };
    let names: Vec<String> = match &experiment.variants[..] {
        [] => {
            let names: BTreeSet<&str> = runs
                .iter()
                .filter_map(|run| Some(run.experiment.as_ref()?.variant.as_str()))
                .collect();
            names.into_iter().map(plain).collect()
        }
        variants => variants.iter().map(|name| plain(name)).collect(),
    };
    let variants = match names.len() {
        0..=4 => names.join(", "),
        more => format!("{}, … ({more})", names[..3].join(", ")),
    };
    writeln_markup!(
        out,
        "<tr><th scope=\"row\"><a href=\"/experiments/{}\">{}</a></th><td class=\"text\">{}</td>\
         <td class=\"text\">{}</td><td>{} of {}</td><td>{}</td></tr>",
        path_part(id),
        plain(id),
        plain(workload_name(first)),
        variants,
        runs.len(),
        experiment.runs,
        minute(&first.started_at)
    )
}

fn workload_name(run: &RunSummary) -> &str {
    run.own_name.as_deref().unwrap_or(&run.workload)
}

pub fn write_trends(out: &mut dyn Write, runs: &[RunSummary], build: &Build) -> io::Result<()> {
    let mut workloads: BTreeMap<&str, Vec<&RunSummary>> = BTreeMap::new();
    for run in runs {
        workloads.entry(workload_name(run)).or_default().push(run);
    }
    write_page(out, "Trends", Some(ListPage::Trends), "", build, |out| {
        if workloads.is_empty() {
            out.push_str("<p class=\"absent\">No run is stored.</p>\n");
            return Ok(());
        }
        let columns = ["workload", "runs", "newest", "its figure"];
        start_list(out, "", "Workloads with their newest run", &columns)?;
        for (name, runs) in &workloads {
            let link = markup!(
                "<a href=\"/trends/{}\">{}</a>",
                path_part(name),
                plain(name)
            );
            let newest = runs[0];
            let cells = [
                units::count(runs.len() as u64),
                minute(&newest.started_at),
                figure(newest),
            ];
            write_row(out, link, &cells)?;
        }
        end_list(out)
    })
}

/// Writes the drills: runs that measured an outage or kept an account of their commits.
pub fn write_drills(
    out: &mut dyn Write,
    runs: &[RunSummary],
    now_ns: i64,
    build: &Build,
) -> io::Result<()> {
    write_page(out, "Drills", Some(ListPage::Drills), "", build, |out| {
        if !runs.iter().any(|run| run.is_drill) {
            out.push_str(
                "<p class=\"absent\">No drill is stored. <code>prony drill</code> makes one.</p>\n",
            );
            return Ok(());
        }
        let columns = [
            "run",
            "verdict",
            "no commit for",
            "lost",
            "acknowledged",
            "load",
            "age",
            "server",
        ];
        start_list(out, "runs", "Drills, newest first", &columns)?;
        for run in runs.iter().filter(|run| run.is_drill) {
            let figures = [
                units::or_dash(run.no_commit_s, units::seconds),
                units::or_dash(run.lost, units::count),
                units::or_dash(run.acknowledged, units::count),
            ];
            out.push_str("<tr>");
            write_run_cells(out, run, &figures, now_ns)?;
        }
        end_list(out)
    })
}
