//! `prony runs` and `prony show`.
//!
//! In: the store. Out: a table of runs, or one run in the form asked for. Must never: change a run.

use super::{output, server};
use crate::args::{RunsArgs, ShowArgs};
use crate::exit::{Exit, Failure};
use prony_report::hdr_log::HdrLog;
use prony_report::history::{self, Row};
use prony_report::terminal::{self, Stored};
use prony_report::{csv, json};
use prony_store::{Filter, Run, RunStore, Severity, State, StoreError, Summary};
use std::time::SystemTime;

/// Lists the stored runs.
pub fn runs(args: &RunsArgs) -> Result<Exit, Failure> {
    let filter = Filter {
        last: (args.last > 0).then_some(args.last),
        ..Filter::default()
    };
    let listing = RunStore::open(None)
        .and_then(|store| store.list(&filter))
        .map_err(|error| failure(&error))?;
    let rows: Vec<Row> = listing.runs.iter().map(row).collect();
    output::show(|out, style| history::write(out, style, &rows))?;
    for (path, reason) in &listing.unreadable {
        output::tell(&format!("prony: cannot read {}: {reason}", path.display()));
    }
    Ok(Exit::Fine)
}

fn row(summary: &Summary) -> Row {
    let state = match summary.state {
        State::Complete if summary.worst == Some(Severity::Invalid) => "invalid",
        State::Complete => "complete",
        State::Partial => "partial",
        State::Running => "running",
    };
    Row {
        id: summary.id.clone(),
        state: state.to_owned(),
        scale: u64::from(summary.scale),
        clients: u64::from(summary.clients),
        tps: summary.tps,
        p99_ns: summary.p99_ns,
        server: summary
            .server
            .split(" (")
            .next()
            .unwrap_or_default()
            .to_owned(),
        experiment: summary
            .experiment
            .as_ref()
            .map(|of| format!("{}/{} {}", of.position, of.runs, of.variant)),
    }
}

/// Shows one run.
pub fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    let store = RunStore::open(None).map_err(|error| failure(&error))?;
    let loaded = store.load_from(&args.run);
    let (mut run, document) = loaded.map_err(|error| failure(&error))?;
    judge_unjudged([&mut run]);
    let format = args.format;
    if format.hdr_log {
        return hdr_log(&run);
    }
    if format.csv_server && unseen(&run) {
        output::tell(&format!("prony: {}: its server was not looked at", run.id));
    }
    output::show(|out, style| {
        if format.json {
            json::write(out, &run)
        } else if format.csv {
            csv::series(out, &run)
        } else if format.csv_server {
            csv::server(out, &run)
        } else if format.percentiles {
            csv::percentiles(out, &run)
        } else if format.rates {
            csv::rates(out, &run)
        } else {
            let stored = Stored::Before {
                document: &document.display().to_string(),
            };
            terminal::write(out, style, &run, Some(stored))
        }
    })?;
    Ok(Exit::Fine)
}

/// Its distributions, for other tools.
fn hdr_log(run: &Run) -> Result<Exit, Failure> {
    let log = HdrLog::of(run).map_err(|error| {
        let what = format!("{}: {error}", run.id);
        Failure::new(
            Exit::Usage,
            what,
            "prony show RUN --percentiles prints what there is",
        )
    })?;
    let started = run.started_at.parse::<jiff::Timestamp>().ok();
    let started = started.map(SystemTime::from);
    output::show(|out, _| log.write(out, started))?;
    Ok(Exit::Fine)
}

/// Whether nothing was seen of its server during the load.
fn unseen(run: &Run) -> bool {
    run.observed
        .as_ref()
        .is_none_or(|observed| observed.series.is_empty())
}

/// Judges those that nobody has: of a run that was killed the store makes a document, but does not judge
/// it. For `show`, `compare` and `price`; a page is drawn from the documents as they are stored, and judges
/// them itself. `runs` shows no verdict of a run that is partial.
pub(super) fn judge_unjudged<'a>(runs: impl IntoIterator<Item = &'a mut Run>) {
    runs.into_iter().for_each(prony_judge::judge_unjudged);
}

pub(super) fn failure(error: &StoreError) -> Failure {
    let exit = match error {
        StoreError::NotFound { .. } | StoreError::Ambiguous { .. } | StoreError::Empty { .. } => {
            Exit::Usage
        }
        _ => Exit::Unexpected,
    };
    server::told(exit, &error.to_string())
}
