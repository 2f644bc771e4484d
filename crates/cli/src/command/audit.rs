//! `prony audit`.
//!
//! Audits the output of other tools, and stores their runs, always marked as imported.

use super::output;
use crate::args::AuditArgs;
use crate::exit::{Exit, Failure};
use prony_dialect::reading;
use prony_plan::system_error;
use prony_report::audit::{self, AuditedRun};
use prony_runner::{description, host};
use prony_store::{RunStore, Severity, started_now};
use std::io::Read;

/// Largest output to read, bytes.
const MAX_OUTPUT_BYTES: u64 = 256 << 20;

/// Audits the output of a tool.
pub fn audit(args: &AuditArgs) -> Result<Exit, Failure> {
    let text = read_text(&args.file)?;
    let hint = "give what the tool printed at the end of its run, or its log";
    let mut runs = audited_runs(&text, &args.file, args.scale)
        .map_err(|error| Failure::new(Exit::Unexpected, error.to_string(), hint).at(&args.file))?;
    if args.store {
        runs.iter_mut().try_for_each(store_if_measured)?;
    }
    output::show(|out, style| match args.json {
        true => audit::write_json(out, &runs),
        false => audit::write(out, style, &runs),
    })?;
    let checks = runs.iter().flat_map(|run| run.audit.checks.clone());
    let worst = prony_judge::worst(&checks.collect::<Vec<_>>());
    Ok(match worst {
        Some(Severity::Invalid) => Exit::Invalid,
        _ => Exit::Success,
    })
}

/// The runs of an output, each with its audit.
fn audited_runs(
    text: &str,
    source: &str,
    scale: Option<u32>,
) -> Result<Vec<AuditedRun>, reading::ReadingError> {
    let started_at = started_now();
    let runs = reading::read(text)?.into_iter().map(|mut reported| {
        reported.scale = reported.scale.or(scale);
        let mut run = reported.clone().into_run(source, started_at.clone());
        run.workload.description = description::describe_stored(&run);
        let audit = prony_judge::audit::audit(&reported, &run);
        run.checks.clone_from(&audit.checks);
        run.rules_version = Some(prony_judge::RULES_VERSION);
        run.build = host::this_build();
        run.request = serde_json::json!({ "audit": source });
        AuditedRun {
            run,
            audit,
            stored: None,
            not_stored: None,
        }
    });
    Ok(runs.collect())
}

/// Stores a run if it has a throughput; otherwise notes that it is not stored.
fn store_if_measured(audited_run: &mut AuditedRun) -> Result<(), Failure> {
    let totals = audited_run.run.measured.all_kinds();
    if totals.is_none_or(|totals| totals.committed == 0) || audited_run.run.measured.length_s <= 0.0
    {
        audited_run.not_stored = Some("not stored: its output has no throughput".to_owned());
        return Ok(());
    }
    let writer = RunStore::open(None)?.begin(&mut audited_run.run)?;
    writer.finish(&audited_run.run)?;
    audited_run.stored = Some(audited_run.run.id.clone());
    Ok(())
}

/// The text of a file, or of standard input; invalid UTF-8 is replaced.
fn read_text(file: &str) -> Result<String, Failure> {
    let read_failure = |error: std::io::Error| {
        let message = format!("cannot read the output: {}", system_error(&error));
        let hint = "name the file that the tool's output was written to, or - for standard input";
        Failure::new(Exit::Unexpected, message, hint).at(file)
    };
    let mut bytes = Vec::new();
    if file == "-" {
        std::io::stdin()
            .lock()
            .take(MAX_OUTPUT_BYTES + 1)
            .read_to_end(&mut bytes)
    } else {
        std::fs::File::open(file)
            .and_then(|file| file.take(MAX_OUTPUT_BYTES + 1).read_to_end(&mut bytes))
    }
    .map_err(read_failure)?;
    if bytes.len() as u64 > MAX_OUTPUT_BYTES {
        let hint = "cut out the end, with the report";
        let message = "the output is larger than 256 MiB";
        return Err(Failure::new(Exit::Unexpected, message, hint).at(file));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests;
