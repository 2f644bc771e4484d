//! Reads results from the output of pgbench 9.0 to 19: its reports and progress lines.
//!
//! Must never: report a mean as measured that pgbench computed from other figures.

use crate::reading::{
    PrintedNumber, add_missing_parts, add_relation, count, leading_count, leading_number, number,
    record_unreadable, text_between,
};
use prony_plan::QueryMode;
use prony_store::{
    ObservedShare, Product, RelationKind, ReportedKind, ReportedRun, Second, SecondPhase, Setting,
};

/// pgbench 13 and older print tps excluding and including connections. Above this ratio of the two,
/// connecting affects the throughput.
const CONNECTING_RATIO: f64 = 1.005;

/// The versions in the first line.
#[derive(Default)]
struct Banner {
    client: String,
    server: String,
}

/// The part of a report about one script.
#[derive(Default)]
struct ScriptSection {
    name: String,
    weight: u64,
    transactions: u64,
    percent: Option<PrintedNumber>,
    mean_ms: Option<f64>,
}

#[derive(Default)]
struct ReportReader {
    run: ReportedRun,
    scripts: Vec<ScriptSection>,
    tps: Option<PrintedNumber>,
    failed_percent: Option<PrintedNumber>,
    skipped_percent: Option<PrintedNumber>,
    late_percent: Option<PrintedNumber>,
    late_total: u64,
    /// Whether pgbench computed the mean from other figures.
    mean_is_derived: bool,
}

/// Reads all reports in the text; empty if the text is not pgbench's output.
pub fn read_output(text: &str) -> Vec<ReportedRun> {
    let mut runs = Vec::new();
    let mut reader: Option<ReportReader> = None;
    let mut banner = Banner::default();
    let mut series = Vec::new();
    for line in text.lines().map(str::trim_end) {
        if let Some(versions) = line.strip_prefix("pgbench (") {
            banner = read_banner(versions);
        } else if let Some(text) = line.strip_prefix("progress: ") {
            series.extend(read_progress(text, &series));
        } else if let Some(title) = line.strip_prefix("transaction type:") {
            runs.extend(reader.take().map(ReportReader::finish));
            let mut new_reader = ReportReader::default();
            new_reader.begin_report(title.trim(), &banner);
            new_reader.run.series = std::mem::take(&mut series);
            reader = Some(new_reader);
        } else if let Some(reader) = &mut reader {
            reader.read_line(line);
        }
    }
    runs.extend(reader.map(ReportReader::finish));
    if runs.is_empty() && !series.is_empty() {
        // The output has progress lines only: it was cut off, or the report was redirected.
        let mut truncated = ReportReader::default();
        truncated.begin_report("", &banner);
        truncated.run.series = series;
        runs.push(truncated.finish());
    }
    runs
}

fn read_banner(text: &str) -> Banner {
    let (client, server) = match text.split_once(", server ") {
        Some((client, server)) => (client, server),
        None => (text, text),
    };
    let version = |text: &str| {
        let printable = text.chars().take(60).take_while(|c| !c.is_control());
        let text: String = printable.collect();
        text.strip_suffix(')').unwrap_or(&text).to_owned()
    };
    Banner {
        client: version(client),
        server: version(server),
    }
}

/// Reads a line of `-P`, which begins where `series` ends; `None` if it has another form.
fn read_progress(remaining: &str, series: &[Second]) -> Option<Second> {
    let (time, remaining) = leading_number(remaining)?;
    let (tps, remaining) = leading_number(remaining.strip_prefix(" s, ")?)?;
    let (mean, remaining) = leading_number(remaining.strip_prefix(" tps, lat ")?)?;
    let failed = remaining.split_once(", ").and_then(|(_, remaining)| {
        let (number, remaining) = leading_count(remaining)?;
        remaining.starts_with(" failed").then_some(number)
    });
    let start_s = series.last().map_or(0.0, |last| last.at_s + last.length_s);
    // With --progress-timestamp, lines have Unix time. They are left out, because the start of the first is not known.
    let seconds = time.value - start_s;
    if !(0.0..1e6).contains(&seconds) {
        return None;
    }
    Some(Second {
        at_s: start_s,
        length_s: seconds,
        phase: SecondPhase::Measured,
        committed: (tps.value * seconds).round().min(1e15) as u64,
        failed: failed.unwrap_or(0),
        mean_ns: mean.value * 1e6,
        ..Second::default()
    })
}

impl ReportReader {
    fn begin_report(&mut self, title: &str, banner: &Banner) {
        let run = &mut self.run;
        run.tool = "pgbench";
        run.product = Some(Product::POSTGRESQL);
        run.version.clone_from(&banner.client);
        run.server_version.clone_from(&banner.server);
        run.title = title.to_owned();
        run.workload = match title {
            "<builtin: TPC-B (sort of)>" | "TPC-B (sort of)" => Some("tpcb"),
            "<builtin: simple update>" => Some("simple-update"),
            "<builtin: select only>" | "SELECT only" => Some("select-only"),
            "" => None,
            _ => Some("script"),
        };
    }

    fn read_line(&mut self, line: &str) {
        if let Some(text) = line.strip_prefix("SQL script ") {
            let name = text.split_once(": ").map_or("", |(_, name)| name);
            self.scripts.push(ScriptSection {
                name: name.to_owned(),
                ..ScriptSection::default()
            });
            return;
        }
        if let Some(text) = line.strip_prefix(" - ") {
            self.read_script_line(text);
            return;
        }
        if self.scripts.is_empty() && self.read_parameter(line) == Some(false) {
            record_unreadable(&mut self.run, line);
        }
    }

    /// Reads a line with a known key. Returns whether its value was readable; `None` for an unknown key.
    fn read_parameter(&mut self, line: &str) -> Option<bool> {
        let (key, value) = line
            .split_once([':', '='])
            .map(|(key, value)| (key.trim(), value.trim()))?;
        let run = &mut self.run;
        let parsed = match key {
            "scaling factor" => whole_count(value).map(|number| run.scale = Some(number)),
            "number of clients" => whole_count(value).map(|number| run.clients = Some(number)),
            "number of threads" => whole_count(value).map(|number| run.threads = Some(number)),
            "query mode" => {
                run.protocol = QueryMode::from_name(value);
                run.protocol.map(|_| ())
            }
            "duration" => number(value).map(|number| run.requested_s = Some(number.value)),
            "number of transactions actually processed" => {
                leading_count(value).map(|(processed, remaining)| {
                    run.transactions = Some(processed);
                    run.requested_transactions = remaining.strip_prefix('/').and_then(count);
                })
            }
            "number of failed transactions" => leading_count(value).map(|(number, remaining)| {
                run.failed = number;
                self.failed_percent = percentage_in_brackets(remaining);
            }),
            "number of transactions skipped" => leading_count(value).map(|(number, remaining)| {
                run.skipped = number;
                self.skipped_percent = percentage_in_brackets(remaining);
            }),
            "number of transactions retried" => count(value).map(|number| run.retried = number),
            "total number of retries" => count(value).map(|number| run.retries = number),
            "latency average" => number(value).map(|number| {
                run.mean_ms = Some(number.value);
                run.mean_tolerance_ms = number.tolerance;
                self.mean_is_derived = true;
            }),
            // A standard deviation can only be measured, and so was the mean.
            "latency stddev" => number(value).map(|_| self.mean_is_derived = false),
            "rate limit schedule lag" => {
                run.scheduled = true;
                Some(())
            }
            "tps" => leading_number(value).map(|(number, remaining)| {
                run.connect_per_transaction |= remaining.contains("including reconnection");
                run.connecting_in_throughput |= run.connect_per_transaction;
                // If there are two figures, use the one that includes connections, because it covers all of
                // the time.
                if remaining.contains("excluding") {
                    let first_tps = run.tps.unwrap_or(number.value);
                    run.connecting_in_throughput |= number.value > CONNECTING_RATIO * first_tps;
                } else {
                    self.tps = Some(number);
                    run.tps = Some(number.value);
                }
            }),
            _ => return self.read_numbered_line(key, value),
        };
        Some(parsed.is_some())
    }

    /// As [`ReportReader::read_parameter`], for a key that contains a number.
    fn read_numbered_line(&mut self, key: &str, value: &str) -> Option<bool> {
        if let Some(remaining) = key.strip_prefix("latency p") {
            let (percentile, remaining) = leading_number(remaining)?;
            let ms = number(value)?;
            if remaining.is_empty() && percentile.value <= 100.0 {
                self.run.percentiles_ms.push((percentile.value, ms.value));
            }
            return Some(true);
        }
        if !key.starts_with("number of transactions above the ") {
            return None;
        }
        let Some((late, remaining)) = leading_count(value) else {
            return Some(false);
        };
        self.run.over_latency_limit = late;
        if let Some((total, remaining)) = remaining.strip_prefix('/').and_then(leading_count) {
            self.late_total = total;
            self.late_percent = percentage_in_brackets(remaining);
        }
        Some(true)
    }

    fn read_script_line(&mut self, text: &str) {
        let Some(script) = self.scripts.last_mut() else {
            return;
        };
        if let Some(weight) = text.strip_prefix("weight: ") {
            script.weight = count(weight).unwrap_or(0);
        } else if let Some((transactions, text)) = leading_count(text)
            && text.starts_with(" transactions (")
        {
            script.transactions = transactions;
            script.percent = percentage_in_brackets(text);
        } else if let Some(value) = text.strip_prefix("latency average = ") {
            script.mean_ms = number(value).map(|mean| mean.value);
        }
    }

    /// Ends the report and returns the run, with the relations between its figures.
    fn finish(mut self) -> ReportedRun {
        let run = &mut self.run;
        run.mean_derived = self.mean_is_derived;
        if run.connect_per_transaction {
            let setting = Setting::new("connections", "one per transaction");
            run.settings.push(setting);
        }
        if let (Some(transactions), Some(tps)) =
            (run.transactions, self.tps.filter(|tps| tps.value > 0.0))
        {
            let actual_s = transactions as f64 / tps.value;
            run.actual_s = Some(actual_s);
            if let Some(requested) = run.requested_s {
                let names = ["duration", "transactions / tps"];
                let figures = [requested, actual_s];
                add_relation(run, RelationKind::RequestedTime, names, figures, 0.5);
            }
        }
        let parts = [
            (run.clients.is_some(), "the number of clients"),
            (run.transactions.is_some(), "the number of transactions"),
            (run.tps.is_some(), "tps"),
            (run.mean_ms.is_some(), "the mean latency"),
        ];
        add_missing_parts(run, &parts);
        if run.failed > 0 && run.transactions == Some(0) {
            // If no transaction succeeded, pgbench ends the report here.
            run.missing_parts.clear();
        }
        self.add_percentages();
        self.add_scripts();
        self.run
    }

    fn add_percentages(&mut self) {
        let run = &mut self.run;
        // The total of pgbench 13 and 14 includes skipped transactions; they report no failures.
        let scheduled = scheduled_transactions(run);
        let (failed, skipped, late) = (run.failed, run.skipped, run.over_latency_limit);
        add_percentage(
            run,
            "failed transactions",
            self.failed_percent,
            failed,
            scheduled,
        );
        add_percentage(
            run,
            "skipped transactions",
            self.skipped_percent,
            skipped,
            scheduled,
        );
        let late_name = "transactions above the limit";
        add_percentage(run, late_name, self.late_percent, late, self.late_total);
        if late > 0 || self.late_total > 0 {
            let names = [late_name, "transactions"];
            let figures = [late as f64, run.transactions.unwrap_or(0) as f64];
            add_relation(run, RelationKind::AtMost, names, figures, 0.0);
        }
    }

    fn add_scripts(&mut self) {
        if self.scripts.len() < 2 {
            return;
        }
        let run = &mut self.run;
        let script_total: u64 = self
            .scripts
            .iter()
            .fold(0, |sum, script| sum.saturating_add(script.transactions));
        let total_weight: u64 = self
            .scripts
            .iter()
            .fold(0, |sum, script| sum.saturating_add(script.weight));
        // pgbench 14 and older, and 18 and later, count failed and skipped transactions too; 15 to 17 do not.
        let processed = run.transactions.unwrap_or(0);
        let total = if script_total == processed { processed } else { scheduled_transactions(run) };
        let names = ["transactions of all scripts", "their sum"];
        let figures = [total as f64, script_total as f64];
        add_relation(run, RelationKind::Sum, names, figures, 0.0);
        for script in &self.scripts {
            if total > 0
                && let Some(printed) = script.percent
            {
                let share = 100.0 * script.transactions as f64 / total as f64;
                let figure = format!("{}, per cent of total", script.name);
                let names = [figure.as_str(), "its transactions / all"];
                let figures = [printed.value, share];
                add_relation(run, RelationKind::Share, names, figures, printed.tolerance);
            }
            run.kinds.push(ReportedKind {
                name: script.name.clone(),
                count: script.transactions,
                mean_ms: script.mean_ms,
                ..ReportedKind::default()
            });
            run.shares.push(ObservedShare {
                name: script.name.clone(),
                base: "transactions".to_owned(),
                count: script.transactions,
                total: script_total,
                expected_share: (total_weight > 0)
                    .then(|| script.weight as f64 / total_weight as f64),
                ..ObservedShare::default()
            });
        }
    }
}

/// Records that a printed percentage must be that of `part` in `total`.
fn add_percentage(
    run: &mut ReportedRun,
    name: &str,
    printed: Option<PrintedNumber>,
    part: u64,
    total: u64,
) {
    if total == 0 {
        return;
    }
    if let Some(printed) = printed {
        let names = [&format!("{name}, per cent"), &format!("{part} of {total}")];
        let names = names.map(String::as_str);
        let figures = [printed.value, 100.0 * part as f64 / total as f64];
        add_relation(run, RelationKind::Share, names, figures, printed.tolerance);
    }
}

/// The transactions that were processed, failed or skipped.
fn scheduled_transactions(run: &ReportedRun) -> u64 {
    let processed = run.transactions.unwrap_or(0);
    processed
        .saturating_add(run.failed)
        .saturating_add(run.skipped)
}

/// A count that is the whole value.
fn whole_count(value: &str) -> Option<u32> {
    let (count, remaining) = leading_count(value)?;
    u32::try_from(count).ok().filter(|_| remaining.is_empty())
}

/// The percentage in brackets: `(0.118%)`, or `(0.118 %)` up to pgbench 14.
fn percentage_in_brackets(text: &str) -> Option<PrintedNumber> {
    number(text_between(text, "(", "%")?)
}
