//! `prony capture`.
//!
//! Reads a server's statistics of its statements before and after a while, and writes a plan that runs these statements.

use super::{file, output, server};
use crate::args::CaptureArgs;
use crate::exit::{Exit, Failure};
use prony_plan::UserError;
use prony_report::units::count_with_noun;
use prony_runner::Signals;
use prony_server::statements::{
    StatementStatistics, StatementsError, read_sequences, read_statements,
};
use prony_workload::capture::{CaptureOptions, Captured, capture};
use prony_workload::replay::file::MAGIC;
use prony_workload::replay::log::{LogError, record_logs};
use prony_workload::replay::recorder::{LeftOut, Recorded};
use std::io;
use std::time::{Duration, Instant};

/// How often the last statements of the sessions are read: a server remembers few.
const SEQUENCES_EVERY: Duration = Duration::from_secs(1);

pub fn execute(args: &CaptureArgs) -> Result<Exit, Failure> {
    if !args.log.is_empty() {
        return record(args);
    }
    file::check_replaceable(&args.out, "a plan", |prefix| {
        String::from_utf8_lossy(prefix).contains("Captured by prony")
    })?;
    let signals = Signals::listen()?;
    let target = server::target_with_timeout(args.flags.url(), &args.timeout)?;
    let mut control = server::connect(&target)?;
    let mut sequences = read_sequences(&mut control).map_err(|error| failure(&error, &signals))?;
    let refused = |error: StatementsError| failure(&error, &signals);
    let before = if args.time.is_zero() {
        StatementStatistics::default()
    } else {
        read_statements(&mut control).map_err(refused)?
    };
    if !args.time.is_zero() {
        let (view, seconds) = (before.view, args.time.as_secs_f64());
        output::notice(&format!("prony: {view} counts for {seconds} s"));
        let started = Instant::now();
        while let Some(left) = args.time.checked_sub(started.elapsed()) {
            if let Some(signal) = signals.wait(left.min(SEQUENCES_EVERY)) {
                let message = "interrupted while the server counted";
                return Err(Failure::new(signal.into(), message, "no plan was written"));
            }
            sequences
                .extend(read_sequences(&mut control).map_err(|error| failure(&error, &signals))?);
        }
    }
    let after = read_statements(&mut control).map_err(refused)?;
    let overflow = after.incomplete_since(&before, control.dialect());
    let incomplete: Vec<&str> = after.hidden.into_iter().chain(overflow).collect();
    for sentence in &incomplete {
        output::notice(&format!("prony: {sentence}"));
    }
    let options = CaptureOptions {
        share: f64::from(args.share) / 100.0,
        keeps_literals: args.keep_literals,
        time: args.time,
        view: after.view,
        sequences: sequences.into_values().collect(),
    };
    let captured = capture(&mut control, after.since(&before), &incomplete, &options)
        .map_err(|error| failure(&error, &signals))?;
    if captured.transactions == 0 {
        let problem = "the server counted no statement that a plan can have";
        let hint = match captured.left_out.first() {
            Some((text, reason, _)) => format!("{text}: {reason}"),
            None => "capture while the application works on this database, or with a longer --for"
                .to_owned(),
        };
        return Err(Failure::new(Exit::Data, problem, hint));
    }
    file::write_result(&args.out, "plan", |out| {
        out.write_all(captured.plan.as_bytes())
    })?;
    report(&captured, args);
    Ok(Exit::Success)
}

fn record(args: &CaptureArgs) -> Result<Exit, Failure> {
    file::check_replaceable(&args.out, "a recording", |prefix| prefix.starts_with(MAGIC))?;
    let mut outcome = None;
    let written = file::write_confidential(&args.out, "recording", |out| {
        let recorded = record_logs(&args.log, args.keep_literals, out);
        let is_written = recorded.is_ok();
        outcome = Some(recorded);
        // The outcome has the cause.
        is_written
            .then_some(())
            .ok_or_else(|| io::ErrorKind::Other.into())
    });
    match outcome {
        Some(Err(LogError::Write(_))) | None => written?,
        Some(Err(error)) => return Err(Failure::of(Exit::Data, &error)),
        Some(Ok(recorded)) => {
            written?;
            report_recorded(&recorded, args);
        }
    }
    Ok(Exit::Success)
}

fn report_recorded(recorded: &Recorded, args: &CaptureArgs) {
    let path = args.out.display();
    output::notice(&format!(
        "prony: {path} has {} with {}, {} of which may write, from {:.1} s",
        count_with_noun(recorded.sessions as u64, "session", "sessions"),
        count_with_noun(recorded.statements, "statement", "statements"),
        recorded.writes,
        recorded.length_us as f64 / 1e6,
    ));
    let LeftOut {
        client_data,
        without_values,
        unreadable_records,
        of_routines,
    } = recorded.left_out;
    if unreadable_records > 0 {
        let records = count_with_noun(unreadable_records, "record", "records");
        output::notice(&format!(
            "prony: left out {records} of the log without a time, or cut off"
        ));
    }
    for (count, why) in [
        (
            client_data,
            "they take data from the client, such as COPY FROM STDIN",
        ),
        (without_values, "the log does not have their parameters"),
        (
            of_routines,
            "triggers and functions executed them, as they do in a replay",
        ),
    ] {
        if count > 0 {
            let statements = count_with_noun(count, "statement", "statements");
            output::notice(&format!("prony: left out {statements}: {why}"));
        }
    }
    output::notice(&if args.keep_literals {
        let writes = if recorded.writes > 0 { " --writes" } else { "" };
        format!("prony: next, on a copy of the server: prony replay {path} --url URL{writes}")
    } else {
        "prony: its literals and parameters are masked: it shows what was executed and when, and cannot be replayed; \
         record with --keep-literals where the data may be kept"
            .to_owned()
    });
}

/// A failure of the server, unless a signal ended the wait for it.
fn failure(error: &dyn UserError, signals: &Signals) -> Failure {
    match signals.received() {
        None => Failure::of(Exit::Connect, error),
        Some(signal) => {
            let message = "interrupted while waiting for the server";
            Failure::new(signal.into(), message, "no plan was written")
        }
    }
}

fn report(captured: &Captured, args: &CaptureArgs) {
    let (count, path) = (captured.transactions, args.out.display());
    let share = captured.share * 100.0;
    output::notice(&format!(
        "prony: {path} has {count} transactions, which took {share:.1} % of the time; read its guesses, then: prony run {path}"
    ));
    for (text, reason, share) in &captured.left_out {
        let share = share * 100.0;
        output::notice(&format!(
            "prony: left out {share:.1} % of the time: {text}: {reason}"
        ));
    }
}
