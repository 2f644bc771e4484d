//! `prony audit`.
//!
//! Audits the output of other tools.

use super::output;
use crate::args::AuditArgs;
use crate::exit::{Exit, Failure};
use prony_dialect::reading;
use prony_plan::system_error;
use prony_report::audit::{self, AuditedRun};
use prony_runner::description;
use prony_store::Severity;
use std::io::Read;
use std::path::Path;

/// Largest output to read, bytes.
const MAX_OUTPUT_BYTES: u64 = 256 << 20;

pub fn audit(args: &AuditArgs) -> Result<Exit, Failure> {
    let text = read_text(&args.file)?;
    let hint = "give what the tool printed at the end of its run, or its log";
    let runs = audited_runs(&text, args.scale).map_err(|error| {
        Failure::new(Exit::Unexpected, error.to_string(), hint).at(name(&args.file))
    })?;
    output::show(|out, style| {
        if args.json { audit::write_json(out, &runs) } else { audit::write(out, style, &runs) }
    })?;
    let checks = runs.iter().flat_map(|run| run.audit.checks.clone());
    let worst = prony_judge::worst(&checks.collect::<Vec<_>>());
    Ok(Exit::invalid_if(worst == Some(Severity::Invalid)))
}

fn audited_runs(text: &str, scale: Option<u32>) -> Result<Vec<AuditedRun>, reading::ReadingError> {
    let runs = reading::read(text)?.into_iter().map(|mut reported| {
        reported.scale = reported.scale.or(scale);
        let mut run = reported.to_run();
        run.workload.description = description::describe_settings(&run.workload);
        AuditedRun {
            audit: prony_judge::audit::audit(&reported, &run),
            reported,
            run,
        }
    });
    Ok(runs.collect())
}

fn name(file: &Path) -> String {
    file.display().to_string()
}

/// The text of a file, or of standard input; invalid UTF-8 is replaced.
fn read_text(file: &Path) -> Result<String, Failure> {
    let read_failure = |error: std::io::Error| {
        let message = format!("cannot read the output: {}", system_error(&error));
        let hint = "name the file that the tool's output was written to, or - for standard input";
        Failure::new(Exit::Unexpected, message, hint).at(name(file))
    };
    let mut bytes = Vec::new();
    if file.as_os_str() == "-" {
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
        let hint = "keep only the end, with the report";
        let message = "the output is larger than 256 MiB";
        return Err(Failure::new(Exit::Unexpected, message, hint).at(name(file)));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests;
