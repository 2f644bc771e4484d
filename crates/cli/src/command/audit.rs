//! `prony audit`.
//!
//! In: what another tool printed. Out: what is to be said about it, and runs in the store. Must never:
//! keep a run as one of Prony's own.

use super::output;
use super::stored::failure as store_failure;
use crate::args::AuditArgs;
use crate::exit::{Exit, Failure};
use crate::run::host;
use prony_dialect::reading;
use prony_judge::audit::Audit;
use prony_report::audit::{self, Entry};
use prony_report::text::system_error;
use prony_store::{Run, RunStore, Severity, started_now};
use std::io::Read;

/// Largest output that is read, bytes.
const LARGEST: u64 = 256 << 20;

/// Audits an output.
pub fn audit(args: &AuditArgs) -> Result<Exit, Failure> {
    let text = text(&args.file)?;
    let hint = "give what the tool printed at the end of its run, or its log";
    let audited = audited(&text, &args.file, args.scale)
        .map_err(|error| Failure::new(Exit::Unexpected, error.to_string(), hint).at(&args.file))?;
    let worst = prony_judge::worst(
        &audited
            .iter()
            .flat_map(|(_, audit)| audit.checks.clone())
            .collect::<Vec<_>>(),
    );
    let entries: Vec<Entry> = audited
        .into_iter()
        .map(|(run, audit)| Entry {
            run,
            audit,
            kept: None,
            not_kept: None,
        })
        .map(|entry| if args.keep { keep(entry) } else { Ok(entry) })
        .collect::<Result<_, _>>()?;
    output::show(|out, style| match args.json {
        true => audit::json(out, &entries),
        false => audit::write(out, style, &entries),
    })?;
    Ok(match worst {
        Some(Severity::Invalid) => Exit::Invalid,
        _ => Exit::Fine,
    })
}

/// Each run of an output, with what is to be said about it.
fn audited(
    text: &str,
    source: &str,
    scale: Option<u32>,
) -> Result<Vec<(Run, Audit)>, reading::ReadingError> {
    let started_at = started_now();
    let each = reading::read(text)?.into_iter().map(|mut reported| {
        reported.scale = reported.scale.or(scale);
        let mut run = reported.clone().into_run(source, started_at.clone());
        let audit = prony_judge::audit::audit(&reported, &run);
        run.checks.clone_from(&audit.checks);
        run.build = host::build();
        run.asked = serde_json::json!({ "audit": source });
        (run, audit)
    });
    Ok(each.collect())
}

/// Stores a run that has a figure.
fn keep(mut entry: Entry) -> Result<Entry, Failure> {
    let all = entry.run.measured.kinds.first();
    if all.is_none_or(|all| all.committed == 0) || entry.run.measured.seconds <= 0.0 {
        entry.not_kept = Some("not kept: its output has no throughput".to_owned());
        return Ok(entry);
    }
    let store = RunStore::open(None).map_err(|error| store_failure(&error))?;
    let writer = store
        .begin(&mut entry.run)
        .map_err(|error| store_failure(&error))?;
    writer
        .finish(&entry.run)
        .map_err(|error| store_failure(&error))?;
    entry.kept = Some(entry.run.id.clone());
    Ok(entry)
}

/// The text of a file, or of standard input; what is not UTF-8 in it is replaced.
fn text(file: &str) -> Result<String, Failure> {
    let cannot = |error: std::io::Error| {
        let what = format!("cannot read the output: {}", system_error(&error));
        let hint = "name the file that the tool's output was written to, or - for standard input";
        Failure::new(Exit::Unexpected, what, hint).at(file)
    };
    let mut bytes = Vec::new();
    if file == "-" {
        std::io::stdin()
            .lock()
            .take(LARGEST + 1)
            .read_to_end(&mut bytes)
    } else {
        std::fs::File::open(file).and_then(|open| open.take(LARGEST + 1).read_to_end(&mut bytes))
    }
    .map_err(cannot)?;
    if bytes.len() as u64 > LARGEST {
        let hint = "cut out the end, with the report";
        let what = "the output is larger than 256 MiB";
        return Err(Failure::new(Exit::Unexpected, what, hint).at(file));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests;
