//! `prony runs`, `prony show` and `prony compare`.
//!
//! In: the store. Out: a table of runs, one run in the form asked for, or two side by side. Must never: change a run.

use super::{output, server};
use crate::args::{CompareArgs, RunsArgs, ShowArgs};
use crate::exit::{Exit, Failure};
use prony_judge::compare::Verdict;
use prony_report::history::{self, Row};
use prony_report::terminal::{self, Stored};
use prony_report::{compare, csv, json};
use prony_store::{Filter, RunStore, Severity, State, StoreError, Summary};

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
    let run = store.load(&args.run).map_err(|error| failure(&error))?;
    output::show(|out, style| {
        let format = args.format;
        if format.json {
            json::write(out, &run)
        } else if format.csv {
            csv::series(out, &run)
        } else if format.percentiles {
            csv::percentiles(out, &run)
        } else if format.rates {
            csv::rates(out, &run)
        } else {
            let folder = store.folder().display().to_string();
            // A file that was named as such may be anywhere.
            let stored = if args.run.contains('/') {
                Stored {
                    place: &args.run,
                    name: &args.run,
                }
            } else {
                Stored {
                    place: &folder,
                    name: &run.id,
                }
            };
            terminal::write(out, style, &run, Some(stored))
        }
    })?;
    Ok(Exit::Fine)
}

/// Sets two runs side by side, if they compare.
pub fn compare(args: &CompareArgs) -> Result<Exit, Failure> {
    let store = RunStore::open(None).map_err(|error| failure(&error))?;
    let load = |run: &str| store.load(run).map_err(|error| failure(&error));
    let (a, b) = (load(&args.a)?, load(&args.b)?);
    let found = prony_judge::compare::compare(&a, &b);
    output::show(|out, style| match args.json {
        true => compare::json(out, [&a, &b], &found),
        false => compare::write(out, style, [&a, &b], &found),
    })?;
    Ok(match found.verdict {
        Verdict::NotComparable => Exit::Invalid,
        _ => Exit::Fine,
    })
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
