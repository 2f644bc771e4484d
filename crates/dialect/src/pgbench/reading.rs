//! Reads results from the output of pgbench 9.0 to 19, the inverse of `report`, `script_report` and
//! `progress`. Must never take a mean that pgbench calculated from other figures for a measured one.
//!
//! Longer than 400 lines: every section of the output of twenty majors has its line here.

use crate::reading::{
    PrintedNumber, between, count, leading_number, record_unreadable, relation, to_u32,
};
use prony_plan::{Choice, QueryMode};
use prony_store::{
    Engine, ObservedShare, RelationKind, ReportedKind, ReportedRun, Second, SecondPart, Setting,
};

/// The ratio of the two tps figures above which the connection time matters.
const CONNECTING_RATIO: f64 = 1.005;

/// The part of a report about one script.
#[derive(Default)]
struct Script {
    name: String,
    weight: u64,
    transactions: u64,
    percent: Option<PrintedNumber>,
    mean_ms: Option<f64>,
}

/// The state of reading one report.
#[derive(Default)]
struct ReportReader {
    run: ReportedRun,
    scripts: Vec<Script>,
    tps: Option<PrintedNumber>,
    failed_percent: Option<PrintedNumber>,
    skipped_percent: Option<PrintedNumber>,
    late_percent: Option<PrintedNumber>,
    late_total: u64,
    mean_is_derived: bool,
}

/// Reads all reports in the text; none if it is not pgbench's.
pub fn read_output(text: &str) -> Vec<ReportedRun> {
    let mut found = Vec::new();
    let mut reading: Option<ReportReader> = None;
    let mut banner = (String::new(), String::new());
    let mut series = Vec::new();
    for line in text.lines().map(str::trim_end) {
        if let Some(versions) = line.strip_prefix("pgbench (") {
            banner = read_banner(versions);
        } else if let Some(rest) = line.strip_prefix("progress: ") {
            series.extend(progress(rest, &series));
        } else if let Some(title) = line.strip_prefix("transaction type:") {
            found.extend(reading.take().map(ReportReader::end));
            let mut next = ReportReader::default();
            next.start(title.trim(), &banner);
            next.run.series = std::mem::take(&mut series);
            reading = Some(next);
        } else if let Some(reading) = &mut reading {
            reading.line(line);
        }
    }
    found.extend(reading.map(ReportReader::end));
    if found.is_empty() && !series.is_empty() {
        // The report is missing: it was cut off, or redirected.
        let mut truncated = ReportReader::default();
        truncated.start("", &banner);
        truncated.run.series = series;
        found.push(truncated.end());
    }
    found
}

/// The versions of pgbench and of the server.
fn read_banner(text: &str) -> (String, String) {
    let (client, server) = match text.split_once(", server ") {
        Some((client, server)) => (client, server),
        None => (text, text),
    };
    let version = |text: &str| {
        let printable = text.chars().take(60).take_while(|c| !c.is_control());
        let text: String = printable.collect();
        text.strip_suffix(')').unwrap_or(&text).to_owned()
    };
    (version(client), version(server))
}

/// Reads a line of `-P`.
fn progress(rest: &str, before: &[Second]) -> Option<Second> {
    let (at, rest) = leading_number(rest)?;
    let (tps, rest) = leading_number(rest.strip_prefix(" s, ")?)?;
    let (mean, rest) = leading_number(rest.strip_prefix(" tps, lat ")?)?;
    let failed = rest.split_once(", ").and_then(|(_, rest)| {
        let (number, rest) = count(rest)?;
        rest.starts_with(" failed").then_some(number)
    });
    let from = before.last().map_or(0.0, |last| last.at_s + last.length_s);
    // With --progress-timestamp lines have Unix time, so only the differences between lines are known.
    let seconds = at.value - from;
    if !(0.0..1e6).contains(&seconds) {
        return None;
    }
    Some(Second {
        at_s: from,
        length_s: seconds,
        part: SecondPart::Measured,
        committed: (tps.value * seconds).round().min(1e15) as u64,
        failed: failed.unwrap_or(0),
        mean_ns: mean.value * 1e6,
        ..Second::default()
    })
}

impl ReportReader {
    fn start(&mut self, title: &str, banner: &(String, String)) {
        let run = &mut self.run;
        run.tool = "pgbench";
        run.engine = Some(Engine::PostgreSql.into());
        run.version.clone_from(&banner.0);
        run.server_version.clone_from(&banner.1);
        run.title = title.to_owned();
        run.workload = match title {
            "<builtin: TPC-B (sort of)>" | "TPC-B (sort of)" => Some("tpcb"),
            "<builtin: simple update>" => Some("simple-update"),
            "<builtin: select only>" | "SELECT only" => Some("select-only"),
            "" => None,
            _ => Some("script"),
        };
    }

    fn line(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("SQL script ") {
            let name = rest.split_once(": ").map_or("", |(_, name)| name);
            self.scripts.push(Script {
                name: name.to_owned(),
                ..Script::default()
            });
            return;
        }
        if let Some(rest) = line.strip_prefix(" - ") {
            self.script(rest);
            return;
        }
        if self.scripts.is_empty() && self.read_parameter(line) == Some(false) {
            record_unreadable(&mut self.run, line);
        }
    }

    /// Whether a known line was readable; `None` for an unknown line.
    fn read_parameter(&mut self, line: &str) -> Option<bool> {
        let (key, value) = line
            .split_once([':', '='])
            .map(|(key, value)| (key.trim(), value.trim()))?;
        let run = &mut self.run;
        let read = match key {
            "scaling factor" => parse_integer(value)
                .and_then(to_u32)
                .map(|it| run.scale = Some(it)),
            "number of clients" => parse_integer(value)
                .and_then(to_u32)
                .map(|it| run.clients = Some(it)),
            "number of threads" => parse_integer(value)
                .and_then(to_u32)
                .map(|it| run.threads = Some(it)),
            "query mode" => {
                run.protocol = QueryMode::from_name(value);
                run.protocol.map(|_| ())
            }
            "duration" => leading_number(value).map(|(it, _)| run.requested_s = Some(it.value)),
            "number of transactions actually processed" => count(value).map(|(done, rest)| {
                run.transactions = Some(done);
                let requested = rest.strip_prefix('/').and_then(|rest| count(rest));
                run.requested_transactions = requested.map(|(requested, _)| requested);
            }),
            "number of failed transactions" => count(value).map(|(it, rest)| {
                (run.failed, self.failed_percent) = (it, percent(rest));
            }),
            "number of transactions skipped" => count(value).map(|(it, rest)| {
                (run.skipped, self.skipped_percent) = (it, percent(rest));
            }),
            "number of transactions retried" => count(value).map(|(it, _)| run.retried = it),
            "total number of retries" => count(value).map(|(it, _)| run.retries = it),
            "latency average" => leading_number(value).map(|(it, _)| {
                (run.mean_ms, run.mean_tolerance_ms) = (Some(it.value), it.slack);
                self.mean_is_derived = true;
            }),
            "latency stddev" => leading_number(value).map(|_| self.mean_is_derived = false),
            "rate limit schedule lag" => {
                run.scheduled = true;
                Some(())
            }
            "tps" => leading_number(value).map(|(it, rest)| {
                run.connect_per_transaction |= rest.contains("including reconnection");
                run.connecting_in_throughput |= run.connect_per_transaction;
                // 13 and older print two figures; that including connections covers the whole time.
                if rest.contains("excluding") {
                    let with = run.tps.unwrap_or(it.value);
                    run.connecting_in_throughput |= it.value > CONNECTING_RATIO * with;
                } else {
                    (self.tps, run.tps) = (Some(it), Some(it.value));
                }
            }),
            _ => return self.read_numbered_line(key, value),
        };
        Some(read.is_some())
    }

    /// Reads lines whose keys contain a number.
    fn read_numbered_line(&mut self, key: &str, value: &str) -> Option<bool> {
        if let Some(rest) = key.strip_prefix("latency p") {
            let (at, rest) = leading_number(rest)?;
            let (ms, _) = leading_number(value)?;
            if rest.is_empty() && at.value <= 100.0 {
                self.run.percentiles_ms.push((at.value, ms.value));
            }
            return Some(true);
        }
        if !key.starts_with("number of transactions above the ") {
            return None;
        }
        let Some((late, rest)) = count(value) else {
            return Some(false);
        };
        self.run.late = late;
        if let Some((of, rest)) = rest.strip_prefix('/').and_then(count) {
            (self.late_total, self.late_percent) = (of, percent(rest));
        }
        Some(true)
    }

    fn script(&mut self, rest: &str) {
        let Some(script) = self.scripts.last_mut() else {
            return;
        };
        if let Some(weight) = rest.strip_prefix("weight: ") {
            script.weight = count(weight).map_or(0, |(weight, _)| weight);
        } else if let Some((done, rest)) = count(rest)
            && rest.starts_with(" transactions (")
        {
            (script.transactions, script.percent) = (done, percent(rest));
        } else if let Some(value) = rest.strip_prefix("latency average = ") {
            script.mean_ms = leading_number(value).map(|(mean, _)| mean.value);
        }
    }

    /// The result of all lines.
    fn end(mut self) -> ReportedRun {
        let run = &mut self.run;
        run.mean_derived = self.mean_is_derived;
        if run.connect_per_transaction {
            run.settings
                .push(Setting::new("connections", "one per transaction"));
        }
        if let (Some(done), Some(tps)) = (run.transactions, self.tps.filter(|tps| tps.value > 0.0))
        {
            let ran = done as f64 / tps.value;
            run.actual_s = Some(ran);
            if let Some(requested) = run.requested_s {
                let what = ["duration", "transactions / tps"];
                run.relations.push(relation(
                    RelationKind::RequestedTime,
                    what,
                    requested,
                    ran,
                    0.5,
                ));
            }
        }
        for (is_present, what) in [
            (run.clients.is_some(), "the number of clients"),
            (run.transactions.is_some(), "the number of transactions"),
            (run.tps.is_some(), "tps"),
            (run.mean_ms.is_some(), "the mean latency"),
        ] {
            if !is_present {
                run.missing_parts.push(what);
            }
        }
        if run.failed > 0 && run.transactions == Some(0) {
            // pgbench prints nothing more if no transaction succeeded.
            run.missing_parts.clear();
        }
        self.add_percentages();
        self.add_scripts();
        self.run
    }

    fn add_percentages(&mut self) {
        let run = &mut self.run;
        let all = run
            .transactions
            .unwrap_or(0)
            .saturating_add(run.failed)
            .saturating_add(run.skipped);
        let each = [
            (
                "failed transactions, per cent",
                self.failed_percent,
                run.failed,
                all,
            ),
            (
                "skipped transactions, per cent",
                self.skipped_percent,
                run.skipped,
                all,
            ),
            (
                "transactions above the limit, per cent",
                self.late_percent,
                run.late,
                self.late_total,
            ),
        ];
        for (what, printed, part, total) in each {
            // 13 and 14 report no failures, and their total differs: it includes skipped transactions.
            if let (Some(printed), true) = (printed, total > 0) {
                let derived = 100.0 * part as f64 / total as f64;
                let from = format!("{part} of {total}");
                let slack = printed.slack;
                let what = [what, &from];
                run.relations.push(relation(
                    RelationKind::Share,
                    what,
                    printed.value,
                    derived,
                    slack,
                ));
            }
        }
        if run.late > 0 || self.late_total > 0 {
            let most = run.transactions.unwrap_or(0) as f64;
            let what = ["transactions above the limit", "transactions"];
            run.relations.push(relation(
                RelationKind::AtMost,
                what,
                run.late as f64,
                most,
                0.0,
            ));
        }
    }

    fn add_scripts(&mut self) {
        if self.scripts.len() < 2 {
            return;
        }
        let run = &mut self.run;
        let counted: u64 = self
            .scripts
            .iter()
            .fold(0, |sum, one| sum.saturating_add(one.transactions));
        let weights: u64 = self
            .scripts
            .iter()
            .fold(0, |sum, one| sum.saturating_add(one.weight));
        // 14 and older, and 18 and later, count failed and skipped transactions here; 15 to 17 do not.
        let done = run.transactions.unwrap_or(0);
        let all = done.saturating_add(run.failed).saturating_add(run.skipped);
        let total = if counted == done { done } else { all };
        let what = ["transactions of all scripts", "their sum"];
        run.relations.push(relation(
            RelationKind::Sum,
            what,
            total as f64,
            counted as f64,
            0.0,
        ));
        for script in &self.scripts {
            if let (Some(printed), true) = (script.percent, total > 0) {
                let derived = 100.0 * script.transactions as f64 / total as f64;
                let what = [
                    &format!("{}, per cent of total", script.name),
                    "its transactions / all",
                ];
                let what = what.map(|text: &str| text);
                run.relations.push(relation(
                    RelationKind::Share,
                    what,
                    printed.value,
                    derived,
                    printed.slack,
                ));
            }
            run.kinds.push(ReportedKind {
                name: script.name.clone(),
                count: script.transactions,
                mean_ms: script.mean_ms,
                ..ReportedKind::default()
            });
            run.shares.push(ObservedShare {
                name: script.name.clone(),
                of: "transactions".to_owned(),
                part: script.transactions,
                whole: counted,
                expected_share: (weights > 0).then(|| script.weight as f64 / weights as f64),
                ..ObservedShare::default()
            });
        }
    }
}

fn parse_integer(value: &str) -> Option<u64> {
    let (number, rest) = count(value)?;
    rest.is_empty().then_some(number)
}

/// The percentage in brackets: `(0.118%)`, or `(0.118 %)` in 14 and older.
fn percent(rest: &str) -> Option<PrintedNumber> {
    let inside = between(rest, "(", "%")?;
    leading_number(inside).map(|(number, _)| number)
}
