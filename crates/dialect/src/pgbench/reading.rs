//! What pgbench's output says: the inverse of `report`, `script_report` and `progress`.
//!
//! In: its standard output and error, of 9.0 to 19. Out: a [`Reported`] for each report in it. Must
//! never: take a mean that pgbench reckoned for one that it measured.

use crate::reading::{Printed, between, count, leading, relation, small, unreadable};
use prony_store::{RelationKind, Reported, ReportedKind, Second, Share};

/// Without the time for connecting there are so many times more transactions a second: then it counts.
const CONNECTING: f64 = 1.005;

/// One script's part of a report.
#[derive(Default)]
struct Script {
    name: String,
    weight: u64,
    transactions: u64,
    percent: Option<Printed>,
    mean_ms: Option<f64>,
}

/// A report that is being read.
#[derive(Default)]
struct Reading {
    run: Reported,
    scripts: Vec<Script>,
    tps: Option<Printed>,
    failed_percent: Option<Printed>,
    skipped_percent: Option<Printed>,
    late_percent: Option<Printed>,
    late_of: u64,
    reckoned: bool,
}

/// Reads all reports in the text; none where it is not of pgbench.
pub fn read_output(text: &str) -> Vec<Reported> {
    let mut found = Vec::new();
    let mut reading: Option<Reading> = None;
    let mut banner = (String::new(), String::new());
    let mut series = Vec::new();
    for line in text.lines().map(str::trim_end) {
        if let Some(versions) = line.strip_prefix("pgbench (") {
            banner = read_banner(versions);
        } else if let Some(rest) = line.strip_prefix("progress: ") {
            series.extend(progress(rest, &series));
        } else if let Some(title) = line.strip_prefix("transaction type:") {
            found.extend(reading.take().map(Reading::end));
            let mut next = Reading::default();
            next.begin(title.trim(), &banner);
            next.run.series = std::mem::take(&mut series);
            reading = Some(next);
        } else if let Some(reading) = &mut reading {
            reading.line(line);
        }
    }
    found.extend(reading.map(Reading::end));
    if found.is_empty() && !series.is_empty() {
        // The report is missing: it was cut off, or went elsewhere.
        let mut cut = Reading::default();
        cut.begin("", &banner);
        cut.run.series = series;
        found.push(cut.end());
    }
    found
}

/// pgbench's version, and the server's.
fn read_banner(text: &str) -> (String, String) {
    let (own, server) = match text.split_once(", server ") {
        Some((own, server)) => (own, server),
        None => (text, text),
    };
    let version = |text: &str| {
        let kept = text.chars().take(60).take_while(|c| !c.is_control());
        let text: String = kept.collect();
        text.strip_suffix(')').unwrap_or(&text).to_owned()
    };
    (version(own), version(server))
}

/// A line of `-P`.
fn progress(rest: &str, before: &[Second]) -> Option<Second> {
    let (at, rest) = leading(rest)?;
    let (tps, rest) = leading(rest.strip_prefix(" s, ")?)?;
    let (mean, rest) = leading(rest.strip_prefix(" tps, lat ")?)?;
    let failed = rest.split_once(", ").and_then(|(_, rest)| {
        let (number, rest) = count(rest)?;
        rest.starts_with(" failed").then_some(number)
    });
    let from = before.last().map_or(0.0, |last| last.at_s + last.seconds);
    // With --progress-timestamp they count from 1970: only the distance tells, but for the first.
    let seconds = at.value - from;
    if !(0.0..1e6).contains(&seconds) {
        return None;
    }
    Some(Second {
        at_s: from,
        seconds,
        part: "measured".to_owned(),
        committed: (tps.value * seconds).round().min(1e15) as u64,
        failed: failed.unwrap_or(0),
        mean_ns: mean.value * 1e6,
        ..Second::default()
    })
}

impl Reading {
    fn begin(&mut self, title: &str, banner: &(String, String)) {
        let run = &mut self.run;
        run.tool = "pgbench";
        run.engine = "postgresql".to_owned();
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
        if self.scripts.is_empty() && self.known(line) == Some(false) {
            unreadable(&mut self.run, line);
        }
    }

    /// Whether a line that is known could be read; `None` for all others.
    fn known(&mut self, line: &str) -> Option<bool> {
        let (key, value) = line
            .split_once([':', '='])
            .map(|(key, value)| (key.trim(), value.trim()))?;
        let run = &mut self.run;
        let read = match key {
            "scaling factor" => whole(value).and_then(small).map(|it| run.scale = Some(it)),
            "number of clients" => whole(value)
                .and_then(small)
                .map(|it| run.clients = Some(it)),
            "number of threads" => whole(value)
                .and_then(small)
                .map(|it| run.threads = Some(it)),
            "query mode" => {
                run.protocol = value.to_owned();
                Some(())
            }
            "duration" => leading(value).map(|(it, _)| run.asked_s = Some(it.value)),
            "number of transactions actually processed" => count(value).map(|(done, rest)| {
                run.transactions = Some(done);
                let asked = rest.strip_prefix('/').and_then(|rest| count(rest));
                run.asked_transactions = asked.map(|(asked, _)| asked);
            }),
            "number of failed transactions" => count(value).map(|(it, rest)| {
                (run.failed, self.failed_percent) = (it, percent(rest));
            }),
            "number of transactions skipped" => count(value).map(|(it, rest)| {
                (run.skipped, self.skipped_percent) = (it, percent(rest));
            }),
            "number of transactions retried" => count(value).map(|(it, _)| run.retried = it),
            "total number of retries" => count(value).map(|(it, _)| run.retries = it),
            "latency average" => leading(value).map(|(it, _)| {
                (run.mean_ms, run.mean_slack_ms) = (Some(it.value), it.slack);
                self.reckoned = true;
            }),
            "latency stddev" => leading(value).map(|_| self.reckoned = false),
            "rate limit schedule lag" => {
                run.scheduled = true;
                Some(())
            }
            "tps" => leading(value).map(|(it, rest)| {
                run.connect_per_transaction |= rest.contains("including reconnection");
                run.connecting_counts |= run.connect_per_transaction;
                // 13 and older print two: the one with connecting is that of the whole time.
                if rest.contains("excluding") {
                    let with = run.tps.unwrap_or(it.value);
                    run.connecting_counts |= it.value > CONNECTING * with;
                } else {
                    (self.tps, run.tps) = (Some(it), Some(it.value));
                }
            }),
            _ => return self.by_beginning(key, value),
        };
        Some(read.is_some())
    }

    /// Lines whose keys hold a number.
    fn by_beginning(&mut self, key: &str, value: &str) -> Option<bool> {
        if let Some(rest) = key.strip_prefix("latency p") {
            let (at, rest) = leading(rest)?;
            let (ms, _) = leading(value)?;
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
            (self.late_of, self.late_percent) = (of, percent(rest));
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
            script.mean_ms = leading(value).map(|(mean, _)| mean.value);
        }
    }

    /// What all lines together say.
    fn end(mut self) -> Reported {
        let run = &mut self.run;
        run.mean_derived = self.reckoned;
        if run.connect_per_transaction {
            run.settings
                .push("connections one a transaction".to_owned());
        }
        if let (Some(done), Some(tps)) = (run.transactions, self.tps.filter(|tps| tps.value > 0.0))
        {
            let ran = done as f64 / tps.value;
            run.ran_s = Some(ran);
            if let Some(asked) = run.asked_s {
                let what = ["duration", "transactions / tps"];
                run.relations
                    .push(relation(RelationKind::AskedTime, what, asked, ran, 0.5));
            }
        }
        for (told, what) in [
            (run.clients.is_some(), "the number of clients"),
            (run.transactions.is_some(), "the number of transactions"),
            (run.tps.is_some(), "tps"),
            (run.mean_ms.is_some(), "the mean latency"),
        ] {
            if !told {
                run.lacks.push(what);
            }
        }
        if run.failed > 0 && run.transactions == Some(0) {
            // pgbench says no more where nothing succeeded.
            run.lacks.clear();
        }
        self.percentages();
        self.by_script();
        self.run
    }

    fn percentages(&mut self) {
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
                self.late_of,
            ),
        ];
        for (what, says, part, whole) in each {
            // 13 and 14 know no failures, and the total is another: what is skipped was due.
            if let (Some(says), true) = (says, whole > 0) {
                let follows = 100.0 * part as f64 / whole as f64;
                let from = format!("{part} of {whole}");
                let slack = says.slack;
                let what = [what, &from];
                run.relations.push(relation(
                    RelationKind::Share,
                    what,
                    says.value,
                    follows,
                    slack,
                ));
            }
        }
        if run.late > 0 || self.late_of > 0 {
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

    fn by_script(&mut self) {
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
        // 14 and older and 18 and later count the failed and skipped with them, 15 to 17 do not.
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
            if let (Some(says), true) = (script.percent, total > 0) {
                let follows = 100.0 * script.transactions as f64 / total as f64;
                let what = [
                    &format!("{}, per cent of total", script.name),
                    "its transactions / all",
                ];
                let what = what.map(|text: &str| text);
                run.relations.push(relation(
                    RelationKind::Share,
                    what,
                    says.value,
                    follows,
                    says.slack,
                ));
            }
            run.kinds.push(ReportedKind {
                name: script.name.clone(),
                count: script.transactions,
                mean_ms: script.mean_ms,
                ..ReportedKind::default()
            });
            run.shares.push(Share {
                name: script.name.clone(),
                of: "transactions".to_owned(),
                part: script.transactions,
                whole: counted,
                meant: (weights > 0).then(|| script.weight as f64 / weights as f64),
                ..Share::default()
            });
        }
    }
}

fn whole(value: &str) -> Option<u64> {
    let (number, rest) = count(value)?;
    rest.is_empty().then_some(number)
}

/// The per cent in brackets: `(0.118%)`, or `(0.118 %)` of 14 and older.
fn percent(rest: &str) -> Option<Printed> {
    let inside = between(rest, "(", "%")?;
    leading(inside).map(|(number, _)| number)
}
