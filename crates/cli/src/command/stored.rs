//! `prony runs`, `prony show` and `prony diff-settings`.
//!
//! Print a table of runs, one run in the requested format, or the settings in which two runs differ.
//! Never change the document of a run.

use super::output;
use crate::args::{DiffSettingsArgs, FilterArgs, RunsArgs, RunsCommand, ShowArgs, Since};
use crate::exit::{Exit, Failure};
use jiff::Timestamp;
use prony_plan::{cpu_count, shell_word};
use prony_report::hdr_log::HdrLog;
use prony_report::terminal::{self, DocumentLocation, StoredRun};
use prony_report::text::plain;
use prony_report::units::count;
use prony_report::{csv, json};
use prony_report::{history, settings};
use prony_store::{Annotation, Run, RunFilter, RunState, RunStore, StoreError};
use std::path::Path;
use std::time::SystemTime;

/// Lists, labels, annotates or deletes stored runs.
pub fn runs(args: &RunsArgs) -> Result<Exit, Failure> {
    let store = open_store()?;
    match &args.command {
        None => return print_list(&store, args),
        Some(RunsCommand::Delete { runs }) => delete(&store, runs)?,
        Some(RunsCommand::Label { run, text }) => {
            annotate(&store, run, |annotation| annotation.label = non_empty(text))?;
        }
        Some(RunsCommand::Note { run, text }) => {
            annotate(&store, run, |annotation| annotation.note = non_empty(text))?;
        }
    }
    Ok(Exit::Success)
}

fn print_list(store: &RunStore, args: &RunsArgs) -> Result<Exit, Failure> {
    let listing = store.list(&run_filter(args))?;
    let is_unfiltered = RunFilter {
        last: None,
        ..run_filter(args)
    } == RunFilter::default();
    let now_ns = i64::try_from(Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX);
    output::show(|out, style| {
        if args.json {
            history::write_json(out, &listing.runs)
        } else if args.csv {
            csv::write_runs(out, &listing.runs)
        } else if listing.runs.is_empty() && !is_unfiltered {
            writeln!(out, "No stored run matches.")
        } else {
            history::write(out, style, &listing.runs, now_ns)
        }
    })?;
    if listing.runs.len() < listing.matching {
        let [listed, matching] = [listing.runs.len(), listing.matching].map(|it| count(it as u64));
        output::notice(&format!(
            "prony: the newest {listed} of {matching} runs; -n 0 lists all"
        ));
    }
    for (path, reason) in &listing.unreadable {
        output::notice(&format!("prony: cannot read {}: {reason}", path.display()));
    }
    Ok(Exit::Success)
}

fn run_filter(args: &RunsArgs) -> RunFilter {
    RunFilter {
        workload: args.workload.clone(),
        verdict: args.verdict,
        ..filter_of(&args.filter, args.last)
    }
}

/// The filter of a listing of at most `last` runs; 0 means all.
pub(super) fn filter_of(args: &FilterArgs, last: usize) -> RunFilter {
    RunFilter {
        last: (last > 0).then_some(last),
        label: args.label.clone(),
        server: args.server.clone(),
        since_ns: args.since.map(listing_start),
        ..RunFilter::default()
    }
}

/// The start from which runs are listed, nanoseconds since 1970.
fn listing_start(since: Since) -> i64 {
    let moment = match since {
        Since::Moment(moment) => moment,
        Since::Age(age) => Timestamp::now().checked_sub(age).unwrap_or(Timestamp::MIN),
    };
    i64::try_from(moment.as_nanosecond()).unwrap_or(i64::MIN)
}

/// Deletes runs. All are looked up before the first is deleted, so that a wrong name deletes nothing.
fn delete(store: &RunStore, runs: &[String]) -> Result<(), StoreError> {
    let ids = runs.iter().map(|run| store.find(run));
    let mut ids = ids.collect::<Result<Vec<_>, _>>()?;
    ids.sort();
    ids.dedup();
    for id in ids {
        store.delete(&id)?;
        output::notice(&format!("Deleted {id}"));
    }
    Ok(())
}

fn annotate(
    store: &RunStore,
    run: &str,
    change: impl FnOnce(&mut Annotation),
) -> Result<(), StoreError> {
    let id = store.find(run)?;
    let mut annotation = store.annotation(&id);
    change(&mut annotation);
    store.annotate(&id, &annotation)?;
    let shown_text = |text: &Option<String>| plain(text.as_deref().unwrap_or("none"));
    let (label, note) = (shown_text(&annotation.label), shown_text(&annotation.note));
    output::notice(&format!("{id}: label {label}, note {note}"));
    Ok(())
}

fn non_empty(text: &str) -> Option<String> {
    let text = plain(text);
    (!text.is_empty()).then_some(text)
}

pub fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    let store = open_store()?;
    let (mut run, document) = store.load_from(&args.run)?;
    prony_judge::judge_if_unjudged(&mut run);
    let format = args.format;
    if format.hdr_log {
        return print_hdr_log(&run);
    }
    if format.csv_server && has_no_server_series(&run) {
        output::notice(&format!("prony: {}: its server was not observed", run.id));
    }
    let result = if format.json {
        output::show(|out, _| json::write_shown(out, &run))
    } else if format.csv {
        output::show_raw(|out| csv::write_series(out, &run))
    } else if format.csv_server {
        output::show_raw(|out| csv::write_server(out, &run))
    } else if format.percentiles {
        output::show_raw(|out| csv::write_percentiles(out, &run))
    } else if format.rates {
        output::show_raw(|out| csv::write_metrics(out, &run))
    } else if !format.full {
        let annotation = store.annotation(&run.id);
        let stored = StoredRun {
            show_argument: &show_argument(&args.run, &run),
            annotation: &annotation,
        };
        output::show(|out, style| terminal::write_first_screen(out, style, &run, Some(stored)))
    } else {
        let document = document.display().to_string();
        let annotation = store.annotation(&run.id);
        output::show(|out, style| {
            history::write_annotation(
                out,
                style,
                annotation.label.as_deref(),
                annotation.note.as_deref(),
            )?;
            let stored = DocumentLocation::ReadFrom {
                document: &document,
            };
            terminal::write_full(out, style, &run, Some(stored))
        })
    };
    result.map(|()| Exit::Success)
}

/// Lists the settings in which two runs differ.
pub fn diff_settings(args: &DiffSettingsArgs) -> Result<Exit, Failure> {
    let store = open_store()?;
    let (a, b) = (store.load(&args.a)?, store.load(&args.b)?);
    output::show(|out, style| {
        if args.json {
            let (differences, _) = settings::setting_differences(&a, &b);
            json::write_pretty(out, &differences)
        } else {
            settings::write(out, style, &a, &b)
        }
    })?;
    Ok(Exit::Success)
}

/// The argument with which `prony show` prints the run again: the id, unless the user named a file or the newest run.
fn show_argument(name: &str, run: &Run) -> String {
    match name {
        "last" => name.to_owned(),
        file if !Path::new(file).is_file() => run.id.clone(),
        file => shell_word(file),
    }
}

fn print_hdr_log(run: &Run) -> Result<Exit, Failure> {
    let log = HdrLog::of(run).map_err(|error| {
        let message = format!("{}: {error}", run.id);
        Failure::usage(
            message,
            "prony show RUN --percentiles prints the percentiles that the document has",
        )
    })?;
    let started = run.started_at.parse::<jiff::Timestamp>().ok();
    let started = started.map(SystemTime::from);
    output::show_raw(|out| log.write(out, started))?;
    Ok(Exit::Success)
}

/// Opens the store of runs, which lists verdicts of this version's rules.
pub(crate) fn open_store() -> Result<RunStore, StoreError> {
    let rules = prony_store::Rules {
        version: prony_judge::RULES_VERSION,
        judge: prony_judge::judge_if_unjudged,
    };
    Ok(RunStore::open(None)?.with_rules(rules))
}

/// Whether the run has no per-second figures of its server.
fn has_no_server_series(run: &Run) -> bool {
    run.observed
        .as_ref()
        .is_none_or(|observed| observed.off.is_some() || observed.series.is_empty())
}

/// Judges a run that was loaded judged by the rules of this version, whatever it was judged by. A run in progress has no
/// verdict.
pub(super) fn judge_by_own_rules(run: &mut Run) {
    if run.state != RunState::Running && !prony_judge::is_judged(run) {
        prony_judge::judge_run(run);
    }
}

/// Does work with documents on all CPUs, in their order: parsing and judging them takes almost all of the time.
pub(crate) fn on_all_cpus<T: Send, R: Send>(
    items: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let mut items: Vec<T> = items.into_iter().collect();
    let share = items.len().div_ceil(cpu_count() as usize).max(1);
    let work = &work;
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        while !items.is_empty() {
            let rest = items.split_off(share.min(items.len()));
            let part = std::mem::replace(&mut items, rest);
            let work = move || part.into_iter().map(work).collect::<Vec<R>>();
            threads.push(scope.spawn(work));
        }
        let results = threads.into_iter().flat_map(|thread| match thread.join() {
            Ok(results) => results,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        results.collect()
    })
}

/// If runs that were loaded judged have verdicts of different versions of the rules, judges all of them by those of this
/// version, so that `compare` reports no difference that comes from the rules.
pub(crate) fn judge_by_same_rules<'a>(runs: impl IntoIterator<Item = &'a mut Run>) {
    let mut runs: Vec<&mut Run> = runs.into_iter().collect();
    runs.retain(|run| run.state != RunState::Running);
    let has_mixed_rules = runs
        .windows(2)
        .any(|pair| pair[0].rules_version != pair[1].rules_version);
    if has_mixed_rules {
        runs.into_iter().for_each(judge_by_own_rules);
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        let exit = match &error {
            StoreError::NotFound { .. }
            | StoreError::Ambiguous { .. }
            | StoreError::Empty { .. } => Exit::Usage,
            _ => Exit::Unexpected,
        };
        Failure::of(exit, &error)
    }
}
