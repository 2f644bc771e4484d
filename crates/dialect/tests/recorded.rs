//! Reports, progress lines and log lines match the real pgbench 13, 15, 17 and 18, character by character.
//!
//! `scripts/golden-pgbench --record` wrote `recorded/reports-*.txt`. The tests parse a record's command line,
//! and take counts, means and deviations from the record; percentages, speeds, computed latencies and all
//! words must match.

mod common;

use prony_dialect::pgbench::{
    CommandReport, Counts, Invocation, Level, LogFormat, Moments, ProgressTime, RunOptions,
    RunReport, ScriptReport, TableFacts, banner, progress_line, report_text,
};
use prony_measure::{ErrorClass, Outcome, Sample};

use common::{TestHost, parse_line};

const RECORDS: [&str; 4] = [
    include_str!("recorded/reports-13.txt"),
    include_str!("recorded/reports-15.txt"),
    include_str!("recorded/reports-17.txt"),
    include_str!("recorded/reports-18.txt"),
];

/// A command line and the recorded output of pgbench.
struct Record {
    command: &'static str,
    level: Level,
    options: RunOptions,
    banner: String,
    lines: Vec<&'static str>,
    progress: Option<&'static str>,
    log: Vec<&'static str>,
}

fn parse_records() -> Vec<Record> {
    let mut records = Vec::new();
    for text in RECORDS.iter().flat_map(|part| part.split("\n$ ")) {
        let text = text.strip_prefix("$ ").unwrap_or(text);
        let mut lines = text.lines();
        let Some(command) = lines.next() else {
            continue;
        };
        let mut report_lines = Vec::new();
        let (mut progress, mut log) = (None, Vec::new());
        for line in lines {
            match line.split_once("| ").expect("a record's line has a label") {
                ("progress", line) => progress = Some(line),
                ("log", line) => log.push(line),
                _ => report_lines.push(&line[2..]),
            }
        }
        // pgbench 13 prints no banner.
        let mut banner = String::new();
        let mut level = Level::of_major(13).unwrap();
        if let Some(version) = report_lines[0].strip_prefix("pgbench (") {
            level = Level::parse(version.strip_suffix(')').unwrap()).unwrap();
            banner = report_lines.remove(0).to_owned() + "\n";
        }
        let mut host = TestHost {
            reads_scripts: false,
            ..TestHost::new("pgbench", &level)
        };
        let options = match parse_line(command, &level, &mut host) {
            Ok(Invocation::Run(options)) => options,
            other => panic!("{command}: {other:?}"),
        };
        records.push(Record {
            command,
            level,
            options,
            banner,
            lines: report_lines,
            progress,
            log,
        });
    }
    assert!(records.len() > 80, "only {} records", records.len());
    records
}

/// The number after `start` at the beginning of a line.
fn number_after(lines: &[&str], start: &str) -> Option<f64> {
    let line = lines.iter().find_map(|line| line.strip_prefix(start))?;
    let end = line
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(line.len());
    line[..end].parse().ok()
}

fn count_after(lines: &[&str], start: &str) -> u64 {
    number_after(lines, start).unwrap_or(0.0) as u64
}

/// Moments with this mean and standard deviation, in ms.
fn moments_of(count: u64, mean_ms: f64, stddev_ms: f64) -> Moments {
    let count_f = count as f64;
    Moments {
        count,
        sum_us: mean_ms * 1e3 * count_f,
        sum_of_squares_us2: (mean_ms * mean_ms + stddev_ms * stddev_ms) * 1e6 * count_f,
        ..Moments::default()
    }
}

/// Parses the counts of a block of lines that begin with `prefix`.
fn parse_counts(lines: &[&str], prefix: &str, succeeded: u64, detailed: bool) -> Counts {
    let number = |label: &str| count_after(lines, &format!("{prefix}{label}"));
    let figure = |label: &str| number_after(lines, &format!("{prefix}{label}"));
    let mut counts = Counts {
        succeeded,
        skipped: number("number of transactions skipped: "),
        serialization_failures: number("number of failed transactions: "),
        retried: number("number of transactions retried: "),
        retries: number("total number of retries: "),
        ..Counts::default()
    };
    if detailed {
        counts.deadlock_failures = number("number of deadlock failures: ");
        counts.serialization_failures -= counts.deadlock_failures;
    }
    if let Some(stddev_ms) = figure("latency stddev = ") {
        counts.latency = moments_of(succeeded, figure("latency average = ").unwrap(), stddev_ms);
    }
    if let Some(lag_ms) = figure("rate limit schedule lag: avg ") {
        counts.lag = moments_of(succeeded, lag_ms, 0.0);
        let line = lines
            .iter()
            .find(|line| line.starts_with("rate limit"))
            .unwrap();
        let max = line.split("(max ").nth(1).unwrap();
        counts.lag.max_us = max.split(')').next().unwrap().parse::<f64>().unwrap() * 1e3;
    }
    counts
}

/// Parses a row of `-r`.
fn parse_command_row(row: &str, record: &Record) -> CommandReport {
    let mut remaining = row;
    let mut number = || {
        let trimmed = remaining.trim_start();
        let (number, text) = trimmed.split_once(' ').unwrap();
        remaining = text;
        number.parse::<f64>().unwrap()
    };
    let mean_ms = number();
    let since_15 = record.level.at_least(15);
    let failures = if since_15 { number() as u64 } else { 0 };
    let retries = if record.options.max_tries != 1 { number() as u64 } else { 0 };
    CommandReport {
        // Up to level 17, two spaces precede the command.
        first_line: remaining.strip_prefix(' ').unwrap_or(remaining).to_owned(),
        latency: moments_of(1, mean_ms, 0.0),
        failures,
        retries,
    }
}

fn parse_scripts(record: &Record, tail: &[&str]) -> Vec<ScriptReport> {
    let options = &record.options;
    let is_start = |index: &usize| tail[*index].starts_with("SQL script");
    let mut starts: Vec<usize> = (0..tail.len()).filter(is_start).collect();
    if starts.is_empty() {
        starts.push(0);
    }
    let ends = starts.iter().skip(1).copied().chain([tail.len()]);
    let mut blocks = starts
        .iter()
        .zip(ends)
        .map(|(start, end)| &tail[*start..end]);
    // Up to level 17, the third line counts the successful transactions.
    let transactions = |line: &&str| -> Option<u64> {
        let (number, _) = line.strip_prefix(" - ")?.split_once(" transactions (")?;
        number.parse().ok()
    };
    let mut script = || {
        let block = blocks.next().unwrap_or(&[]);
        let succeeded = if record.level.at_least(18) {
            count_after(block, " - number of transactions actually processed: ")
        } else {
            block.iter().find_map(transactions).unwrap_or(0)
        };
        let rows = block.iter().filter(|line| line.starts_with("     "));
        ScriptReport {
            counts: parse_counts(block, " - ", succeeded, options.failures_detailed),
            commands: rows.map(|row| parse_command_row(row, record)).collect(),
        }
    };
    options.scripts.iter().map(|_| script()).collect()
}

fn parse_report(record: &Record) -> RunReport {
    let options = &record.options;
    let starts = |line: &&str| line.starts_with("SQL script") || line.starts_with("statement lat");
    let end = record
        .lines
        .iter()
        .position(starts)
        .unwrap_or(record.lines.len());
    let (head, tail) = record.lines.split_at(end);
    let succeeded = count_after(head, "number of transactions actually processed: ");
    let mut total = parse_counts(head, "", succeeded, options.failures_detailed);
    if !record.level.at_least(15) {
        // Before level 15, the mean lag includes skipped transactions.
        total.lag.sum_us *= total.scheduled() as f64 / succeeded as f64;
    }
    let tps = number_after(head, "tps = ").unwrap_or(1.0);
    let connections = (total.succeeded + total.failures()) as f64;
    let average_ms = number_after(head, "average connection time = ").unwrap_or(0.0);
    // Computed from the speed, or, if no transaction succeeded, from the computed latency.
    let duration_us = match number_after(head, "latency average = ") {
        Some(mean_ms) if succeeded == 0 => mean_ms * 1e3 * total.scheduled() as f64,
        _ => succeeded as f64 / tps * 1e6,
    };
    // pgbench 13 prints a second speed, which excludes the connection time.
    let second_tps = head
        .iter()
        .filter_map(|line| number_after(&[line], "tps = "))
        .nth(1);
    let connections_us = match second_tps {
        Some(tps) => (duration_us - succeeded as f64 / tps * 1e6) * f64::from(options.clients),
        None => average_ms * 1e3 * connections,
    };
    // From level 14 on, pgbench counts whole µs.
    let whole_us = record.level.at_least(14);
    let ns = |us: f64| {
        if whole_us { us.round() as u64 * 1000 } else { (us * 1e3).round() as u64 }
    };
    RunReport {
        options: options.clone(),
        tables: TableFacts {
            scale: count_after(head, "scaling factor: ") as u32,
            partitions: None,
        },
        over_latency_limit: count_after(head, &over_limit_label(options)),
        duration_ns: ns(duration_us).max(1),
        connecting_ns: ns(number_after(head, "initial connection time = ").unwrap_or(0.0) * 1e3),
        connections_ns: ns(connections_us),
        counts: total,
        scripts: parse_scripts(record, tail),
    }
}

/// The label of the line that counts the transactions above the latency limit.
fn over_limit_label(options: &RunOptions) -> String {
    let limit_ms = options.latency_limit_us.unwrap_or(0) as f64 / 1e3;
    format!("number of transactions above the {limit_ms:.1} ms latency limit: ")
}

/// Rounds the speeds of pgbench 13 to four digits, because it computes them from more precise times than it
/// prints.
fn with_rounded_tps(text: &str, level: &Level) -> String {
    if level.at_least(14) {
        return text.to_owned();
    }
    let mut parts = text.split("tps = ");
    let mut rounded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap();
        let speed_tps: f64 = part[..end].parse().unwrap();
        rounded += &format!("tps = {speed_tps:.4}{}", &part[end..]);
    }
    rounded
}

#[test]
fn reports_match_the_records() {
    for record in parse_records() {
        let text = report_text(&record.level, &parse_report(&record));
        let expected: String = record
            .lines
            .iter()
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(
            with_rounded_tps(&text, &record.level),
            with_rounded_tps(&expected, &record.level),
            "pgbench {}",
            record.command
        );
        let server = record.level.text();
        assert_eq!(banner(&record.level, server), record.banner);
    }
}

#[test]
fn progress_lines_match_the_records() {
    let mut compared = 0;
    for record in parse_records() {
        let Some(line) = record.progress else {
            continue;
        };
        compared += 1;
        let words: Vec<&str> = line
            .split([' ', ','])
            .filter(|word| !word.is_empty())
            .collect();
        let number_before = |unit: &str| {
            let index = words.iter().position(|word| *word == unit)?;
            words[index - 1].parse::<f64>().ok()
        };
        let number_following = |name: &str| {
            let index = words.iter().position(|word| *word == name)?;
            words[index + 1].parse::<f64>().ok()
        };
        let time_s: f64 = words[1].parse().unwrap();
        let at = if record.options.progress_timestamp {
            ProgressTime::Unix(time_s)
        } else {
            ProgressTime::Elapsed(time_s)
        };
        // The interval has 10 s, so that the speed with its decimal is a whole number of transactions.
        let succeeded = (number_before("tps").unwrap() * 10.0).round() as u64;
        let [mean_ms, stddev_ms] = ["lat", "stddev"].map(|name| number_following(name).unwrap());
        let count = |unit| number_before(unit).unwrap_or(0.0) as u64;
        let counts = Counts {
            succeeded,
            skipped: count("skipped"),
            other_failures: count("failed"),
            retried: count("retried"),
            retries: count("retries"),
            latency: moments_of(succeeded, mean_ms, stddev_ms),
            lag: moments_of(succeeded, number_following("lag").unwrap_or(0.0), 0.0),
            ..Counts::default()
        };
        assert_eq!(
            progress_line(&record.level, &record.options, at, &counts, 10.0),
            format!("{line}\n"),
            "{}",
            record.command
        );
    }
    assert!(compared > 30, "only {compared} lines of progress");
}

fn format_log_line(record: &Record, line: &str) -> Vec<u8> {
    let options = &record.options;
    let format = LogFormat::new(&record.level, options);
    let mut fields = line.split(' ');
    let mut next = || fields.next().unwrap_or("0");
    let mut out = Vec::new();
    if options.log.as_ref().unwrap().aggregate_interval_s.is_some() {
        let mut number = || next().parse::<u64>().unwrap();
        let (start_unix_s, succeeded) = (number(), number());
        let mut sums = || Moments {
            count: succeeded,
            sum_us: number() as f64,
            sum_of_squares_us2: number() as f64,
            min_us: number() as f64,
            max_us: number() as f64,
        };
        let (latency, lag) = (sums(), sums());
        let counts = Counts {
            succeeded,
            latency,
            lag,
            skipped: number(),
            retried: number(),
            retries: number(),
            serialization_failures: number(),
            deadlock_failures: number(),
            ..Counts::default()
        };
        format.write_interval(&mut out, start_unix_s, &counts);
        return out;
    }
    let client = next().parse().unwrap();
    let number = next().parse().unwrap();
    let (outcome, latency_us) = match next() {
        "skipped" => (Outcome::Skipped, 0),
        "failed" | "serialization" => (Outcome::Failed(ErrorClass::Serialization, *b"40001"), 0),
        "deadlock" => (Outcome::Failed(ErrorClass::Deadlock, *b"40P01"), 0),
        latency => (Outcome::Committed, latency.parse::<u64>().unwrap()),
    };
    let mut next_number = || next().parse::<u64>().unwrap();
    let kind = next_number() as u16;
    let end_unix_us = next_number() * 1_000_000 + next_number();
    let lag_us = if options.rate_tps.is_some() { next_number() } else { 0 };
    let sample = Sample {
        kind,
        outcome,
        scheduled_ns: 0,
        started_ns: lag_us * 1000,
        ended_ns: latency_us * 1000,
        connect_ns: 0,
        retries: next_number() as u32,
        parts: None,
    };
    format.write_transaction(&mut out, client, number, &sample, end_unix_us);
    out
}

#[test]
fn log_lines_match_the_records() {
    let mut compared = 0;
    for record in parse_records() {
        for line in &record.log {
            compared += 1;
            let formatted = String::from_utf8(format_log_line(&record, line)).unwrap();
            assert_eq!(formatted, format!("{line}\n"), "pgbench {}", record.command);
        }
    }
    assert!(compared > 30, "only {compared} lines of logs");
}
