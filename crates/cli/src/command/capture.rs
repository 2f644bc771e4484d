//! `prony capture`.
//!
//! Reads a server's statistics of its statements before and after a while, and writes a plan that runs these statements.

use super::{file, output, server};
use crate::args::CaptureArgs;
use crate::exit::{Exit, Failure};
use prony_plan::UserError;
use prony_report::units::count_with_noun;
use prony_runner::Signals;
use prony_server::control::Error as ControlError;
use prony_server::statements::{
    StatementStatistics, StatementsError, read_sequences, read_statements,
};
use prony_workload::capture::{CaptureOptions, Captured, LeftOutStatement, capture};
use prony_workload::replay::file::MAGIC;
use prony_workload::replay::log::{LogError, record_logs};
use prony_workload::replay::recorder::{LeftOut, Recorded};
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
    let refused = |error: StatementsError| failure(&error, &signals);
    let unreadable = |error: ControlError| failure(&error, &signals);
    let mut sequences = read_sequences(&mut control).map_err(unreadable)?;
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
            sequences.extend(read_sequences(&mut control).map_err(unreadable)?);
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
            Some(left_out) => format!("{}: {}", left_out.text, left_out.reason),
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
    // Also one of another version, whose name the same command line has.
    file::check_replaceable(&args.out, "a recording", |prefix| {
        prefix.starts_with(&MAGIC[..MAGIC.len() - 1])
    })?;
    let recorded = file::write_confidential(&args.out, |out| {
        record_logs(&args.log, args.keep_literals, out)
    });
    let recorded = recorded.map_err(|error| match error {
        LogError::Write(source) => file::write_failure(&args.out, "recording", &source),
        error => Failure::of(Exit::Data, &error),
    })?;
    report_recorded(&recorded, args);
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
    report_left_out(&recorded.left_out);
    output::notice(&if args.keep_literals {
        let writes = if recorded.writes > 0 { " --writes" } else { "" };
        format!("prony: next, on a copy of the server: prony replay {path} --url URL{writes}")
    } else {
        "prony: its literals and parameters are masked: it shows what was executed and when, and cannot be replayed; \
         record with --keep-literals where the data may be kept"
            .to_owned()
    });
}

fn report_left_out(left_out: &LeftOut) {
    let LeftOut {
        client_data,
        without_values,
        unreadable_records,
        too_long,
        not_utf8,
        of_drivers,
        of_routines,
    } = *left_out;
    let record = ["record", "records"];
    let statement = ["statement", "statements"];
    let client_data_why = "that take data from the client, such as COPY FROM STDIN";
    let values_why = "whose parameters the log does not have";
    let utf8_why = "whose text is not UTF-8, as of a database in another encoding";
    let drivers_why =
        "that drop a prepared statement of a driver, which has another name in a replay";
    let routines_why = "that triggers and functions executed, as they do in a replay";
    for (count, [one, many], why) in [
        (unreadable_records, record, "without a time, or cut off"),
        (too_long, record, "of more than 64 MiB"),
        (client_data, statement, client_data_why),
        (without_values, statement, values_why),
        (not_utf8, statement, utf8_why),
        (of_drivers, statement, drivers_why),
        (of_routines, statement, routines_why),
    ] {
        if count > 0 {
            let what = count_with_noun(count, one, many);
            output::notice(&format!("prony: left out {what} {why}"));
        }
    }
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
    for LeftOutStatement {
        text,
        reason,
        time_share,
    } in &captured.left_out
    {
        let share = time_share * 100.0;
        output::notice(&format!(
            "prony: left out {share:.1} % of the time: {text}: {reason}"
        ));
    }
}
