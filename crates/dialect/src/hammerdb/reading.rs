//! What HammerDB's output says: the inverse of `text`, `profile` and the dictionary's listing.
//!
//! In: what hammerdbcli prints, or its logs, of TPROC-C. Out: a [`Reported`] for each result or time
//! profile in it. Must never: call TPM commits: the server counts rollbacks with them.

use crate::reading::{count, leading, relation, small, unreadable};
use prony_store::{RelationKind, Reported, ReportedKind};

/// What is known before a result comes.
#[derive(Default)]
struct Reading {
    runs: Vec<Reported>,
    /// The one that is being read.
    run: Reported,
    rampup: bool,
    failed: u64,
    profile: Vec<Section>,
    /// Time profiles that are complete: a log holds those of many runs.
    profiles: Vec<Vec<Section>>,
}

/// A virtual user's part of a time profile, or the summary.
#[derive(Default)]
struct Section {
    summary: bool,
    users: u64,
    elapsed_ms: Option<f64>,
    routines: Vec<Routine>,
}

#[derive(Clone, Default)]
struct Routine {
    name: String,
    calls: u64,
    /// By their names: MIN, AVG, MAX, TOTAL, P99, P95, P50 in ms, RATIO in per cent.
    figures: Vec<(&'static str, f64, f64)>,
}

impl Routine {
    fn figure(&self, name: &str) -> Option<(f64, f64)> {
        let found = self.figures.iter().find(|(known, ..)| *known == name);
        found.map(|(_, value, slack)| (*value, *slack))
    }

    fn value(&self, name: &str) -> Option<f64> {
        self.figure(name).map(|(value, _)| value)
    }
}

/// Figures of a time profile.
const FIGURES: [&str; 8] = ["MIN", "AVG", "MAX", "TOTAL", "P99", "P95", "P50", "RATIO"];
/// Routines of a time profile and the kinds of transaction that they carry out.
const ROUTINES: [(&str, &str); 5] = [
    ("NEWORD", "new-order"),
    ("PAYMENT", "payment"),
    ("OSTAT", "order-status"),
    ("DELIVERY", "delivery"),
    ("SLEV", "stock-level"),
];

/// Reads all results in the text; none where it is not of HammerDB.
pub fn read_output(text: &str) -> Vec<Reported> {
    let mut reading = Reading::default();
    let mut known = false;
    for line in text.split(['\n', '\r']).map(str::trim) {
        known |= line.starts_with("HammerDB CLI")
            || line.starts_with("Hammerdb Log @")
            || line.contains("Hammerdb Time Profile Report")
            || (line.starts_with("Vuser ") && line.contains(':'));
        reading.line(line);
    }
    if !known && reading.runs.is_empty() {
        return Vec::new();
    }
    reading.end()
}

impl Reading {
    fn line(&mut self, line: &str) {
        if line.contains("Hammerdb Time Profile Report") {
            self.end_profile();
        } else if let Some(rest) = line.strip_prefix(">>>>> ") {
            self.profile_head(rest);
        } else if line.starts_with("CALLS: ") || line.starts_with("P99: ") {
            self.profile_figures(line);
        } else if let Some(version) = line.strip_prefix("HammerDB CLI v") {
            self.run.version = version.chars().take(20).collect();
        } else if let Some((name, value)) = line.split_once('=') {
            self.setting(name.trim(), value.trim());
        } else {
            self.said(line);
        }
    }

    /// A line of the dictionary's listing.
    fn setting(&mut self, name: &str, value: &str) {
        let known = ["pg_", "mysql_", "maria_"]
            .iter()
            .find_map(|start| name.strip_prefix(start));
        match known {
            Some("count_ware") => self.run.scale = count(value).and_then(|(it, _)| small(it)),
            Some(name @ ("keyandthink" | "storedprocs" | "allwarehouse" | "driver")) => {
                let value: String = value.chars().take(20).collect();
                self.run
                    .settings
                    .retain(|one| !one.starts_with(&format!("{name} ")));
                self.run.settings.push(format!("{name} {value}"));
            }
            _ => {}
        }
    }

    /// A line of a virtual user's.
    fn said(&mut self, line: &str) {
        let text = match line.strip_prefix("Vuser ") {
            Some(rest) => rest.split_once(':').map_or(line, |(_, text)| text),
            None => line,
        };
        let minutes = |prefix: &str| text.strip_prefix(prefix).and_then(count).map(|(it, _)| it);
        if let Some(rest) = text.strip_prefix("TEST RESULT : System achieved ") {
            self.result(rest, line);
        } else if let Some(minutes) = minutes("Timing test period of ") {
            self.run.asked_s = Some(minutes.min(1_000_000) as f64 * 60.0);
        } else if text.starts_with("Beginning rampup time of ") {
            self.rampup = true;
        } else if text.ends_with("Active Virtual Users configured") {
            self.run.clients = count(text).and_then(|(it, _)| small(it));
        } else if let Some((_, rest)) = text.split_once(" Warehouses = ") {
            self.run.scale = count(rest).and_then(|(it, _)| small(it)).or(self.run.scale);
        } else if text.contains("Procedure Error") {
            self.failed += 1;
            self.trouble(text);
        } else if text == "FINISHED FAILED" {
            self.trouble("a virtual user failed (FINISHED FAILED)");
        } else if line.starts_with("Error in Virtual User ") {
            self.trouble(line);
        }
    }

    fn trouble(&mut self, text: &str) {
        let text: String = text.chars().take(120).collect();
        if self.run.troubles.len() < 5 && !self.run.troubles.contains(&text) {
            self.run.troubles.push(text);
        }
    }

    /// `12103 NOPM from 27747 PostgreSQL TPM`, or `27747 PostgreSQL TPM at 12103 NOPM`.
    fn result(&mut self, text: &str, line: &str) {
        let words: Vec<&str> = text.split_whitespace().collect();
        let number = |word: &str| word.parse::<u64>().ok().map(|number| number as f64);
        let read = match words[..] {
            [nopm, "NOPM", "from", tpm, .., "TPM"] => Some((nopm, tpm, &words[4..words.len() - 1])),
            [tpm, .., "TPM", "at", nopm, "NOPM"] => Some((nopm, tpm, &words[1..words.len() - 4])),
            _ => None,
        };
        let numbers = read.and_then(|(nopm, tpm, _)| Some((number(nopm)?, number(tpm)?)));
        let (Some((nopm, tpm)), Some((.., database))) = (numbers, read) else {
            unreadable(&mut self.run, line);
            return;
        };
        let database: String = database.join(" ").chars().take(40).collect();
        let run = &mut self.run;
        run.engine = match database.as_str() {
            "PostgreSQL" => "postgresql".to_owned(),
            "MSSQLServer" | "SQL Server" => "sqlserver".to_owned(),
            other => other.to_lowercase(),
        };
        run.title = format!("HammerDB's TPROC-C on {database}");
        (run.nopm, run.tpm) = (Some(nopm), Some(tpm));
        run.tps = Some(tpm / 60.0);
        run.ran_s = run.asked_s;
        run.transactions = run
            .asked_s
            .map(|seconds| (tpm / 60.0 * seconds).round() as u64);
        self.close();
    }

    /// The run that is being read is over; what holds for the next one stays.
    fn close(&mut self) {
        let next = Reported {
            version: self.run.version.clone(),
            scale: self.run.scale,
            settings: self.run.settings.clone(),
            ..Reported::default()
        };
        let mut run = std::mem::replace(&mut self.run, next);
        run.tool = "HammerDB";
        run.workload = Some("tpcc");
        run.protocol = "not told".to_owned();
        if run.asked_s.is_none() {
            run.lacks.push("the length of its test");
        }
        if run.clients.is_none() {
            run.lacks.push("the number of virtual users");
        }
        self.runs.push(run);
        self.rampup = false;
    }

    /// `PROC: NEWORD`, `VIRTUAL USER 2 : ELAPSED TIME : 60068ms`, or the head of the summary.
    fn profile_head(&mut self, text: &str) {
        if let Some(name) = text.strip_prefix("PROC: ") {
            let section = match self.profile.last_mut() {
                Some(section) => section,
                None => {
                    self.profile.push(Section::default());
                    &mut self.profile[0]
                }
            };
            if section.routines.len() < 100 {
                section.routines.push(Routine {
                    name: name.chars().take(40).collect(),
                    ..Routine::default()
                });
            }
            return;
        }
        let elapsed = text.rsplit_once("ELAPSED TIME : ");
        let summary = text.strip_prefix("SUMMARY OF ");
        if self.profile.len() < 100_000 {
            self.profile.push(Section {
                summary: summary.is_some(),
                users: summary.and_then(count).map_or(1, |(users, _)| users),
                elapsed_ms: elapsed
                    .and_then(|(_, rest)| leading(rest))
                    .map(|(it, _)| it.value),
                routines: Vec::new(),
            });
        }
    }

    /// `CALLS: 12515  MIN: 0.199ms ...`, or the line of percentiles below it.
    fn profile_figures(&mut self, line: &str) {
        let last = self
            .profile
            .last_mut()
            .and_then(|section| section.routines.last_mut());
        let Some(routine) = last else {
            return;
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        for pair in words.windows(2) {
            let Some(name) = pair[0].strip_suffix(':') else {
                continue;
            };
            if name == "CALLS" {
                routine.calls = count(pair[1]).map_or(0, |(calls, _)| calls);
            } else if let (Some(name), Some((number, _))) = (
                FIGURES.iter().find(|known| **known == name),
                leading(pair[1]),
            ) && routine.figure(name).is_none()
            {
                routine.figures.push((name, number.value, number.slack));
            }
        }
    }

    fn end_profile(&mut self) {
        let profile = std::mem::take(&mut self.profile);
        if !profile.is_empty() {
            self.profiles.push(profile);
        }
    }

    fn end(mut self) -> Vec<Reported> {
        self.end_profile();
        let profiles = std::mem::take(&mut self.profiles);
        let results = self.runs.len();
        let began = self.run.asked_s.is_some() || self.rampup;
        if began || (results == 0 && profiles.is_empty()) {
            // It began, and no result came.
            self.run.title = "HammerDB's TPROC-C".to_owned();
            self.close();
            if let Some(run) = self.runs.last_mut() {
                run.lacks = vec!["its result (TEST RESULT)"];
            }
        }
        if let Some(run) = self.runs.last_mut() {
            run.failed = self.failed;
        }
        // A profile is of the result beside it; where the numbers differ nobody knows of which.
        let beside = profiles.len() == results;
        for (place, sections) in profiles.iter().enumerate() {
            if !beside {
                self.run.title = "HammerDB's TPROC-C, by its time profile".to_owned();
                self.close();
                if let Some(run) = self.runs.last_mut() {
                    run.lacks.clear();
                    profile(run, sections);
                }
            } else if let Some(run) = self.runs.get_mut(place) {
                profile(run, sections);
            }
        }
        self.runs
    }
}

/// Adds what a time profile says.
fn profile(run: &mut Reported, sections: &[Section]) {
    let users: Vec<&Section> = sections.iter().filter(|section| !section.summary).collect();
    let summary = sections.iter().find(|section| section.summary);
    let sum = |name: &str| {
        let all = users.iter().flat_map(|section| &section.routines);
        let of_it = all.filter(|routine| routine.name == name);
        of_it.fold(0_u64, |sum, routine| sum.saturating_add(routine.calls))
    };
    // HammerDB 4.6 adds the users' calls up twice. What is doubled says nothing of its own.
    let doubled = summary.is_some_and(|summary| {
        let twice = |routine: &Routine| {
            routine.calls > 0 && routine.calls == sum(&routine.name).saturating_mul(2)
        };
        !summary.routines.is_empty() && summary.routines.iter().all(twice)
    });
    if doubled {
        run.troubles.push(
            "the summary of the time profile counts each call twice, as HammerDB 4.6 does: its CALLS, TOTAL \
             and RATIO are double; its users' own figures are taken"
                .to_owned(),
        );
    }
    for section in sections
        .iter()
        .filter(|section| !(section.summary && doubled))
    {
        within(run, section);
    }
    if let (Some(summary), false, false) = (summary, users.is_empty(), doubled) {
        for routine in &summary.routines {
            let what = format!("calls of {} in the summary", routine.name);
            let what = [what.as_str(), "the sum over virtual users"];
            let (says, follows) = (routine.calls as f64, sum(&routine.name) as f64);
            run.relations
                .push(relation(RelationKind::Sum, what, says, follows, 0.0));
        }
    }
    let elapsed = summary
        .or(users.first().copied())
        .and_then(|section| section.elapsed_ms);
    if run.nopm.is_none() {
        run.clients = run
            .clients
            .or(small(users.len() as u64))
            .filter(|users| *users > 0);
        run.ran_s = run.ran_s.or(elapsed.map(|ms| ms / 1e3));
    }
    let mut all = 0_u64;
    for (name, kind) in ROUTINES {
        let calls = sum(name);
        if calls == 0 {
            continue;
        }
        all = all.saturating_add(calls);
        // Percentiles cannot be put together from those of several users.
        let only = match users[..] {
            [only] => only.routines.iter().find(|routine| routine.name == name),
            _ => summary.and_then(|summary| summary.routines.iter().find(|it| it.name == name)),
        };
        let value = |figure: &str| only.and_then(|routine| routine.value(figure));
        let percentiles = [("P50", 50.0), ("P95", 95.0), ("P99", 99.0)];
        run.kinds.push(ReportedKind {
            name: kind.to_owned(),
            count: calls,
            mean_ms: value("AVG"),
            max_ms: value("MAX"),
            percentiles_ms: percentiles
                .into_iter()
                .filter_map(|(figure, percent)| Some((percent, value(figure)?)))
                .collect(),
        });
    }
    if run.nopm.is_none() && all > 0 {
        run.transactions = Some(all);
        run.tps = run
            .ran_s
            .filter(|ran| *ran > 0.0)
            .map(|ran| all as f64 / ran);
    }
    super::mix::add_shares(run, all);
}

/// What must agree within one section.
fn within(run: &mut Reported, section: &Section) {
    use RelationKind::{AtMost, Share};
    let part = if section.summary { "summary, " } else { "" };
    let mut busy_ms = 0.0;
    for routine in &section.routines {
        let name = format!("{part}{}", routine.name);
        let mut add = |kind, what: &str, from: &str, says: f64, follows: f64, slack: f64| {
            let what = format!("{name}: {what}");
            run.relations
                .push(relation(kind, [&what, from], says, follows, slack));
        };
        let (avg, total) = (routine.figure("AVG"), routine.figure("TOTAL"));
        if let (Some((avg, slack)), Some((total, _)), true) = (avg, total, routine.calls > 0) {
            // It is cut off, not rounded, in the last place.
            add(
                Share,
                "AVG, ms",
                "TOTAL / CALLS",
                avg,
                total / routine.calls as f64,
                2.0 * slack,
            );
            busy_ms += total;
        }
        if let (Some((ratio, slack)), Some((total, _)), Some(elapsed)) = (
            routine.figure("RATIO"),
            total,
            section.elapsed_ms.filter(|ms| *ms > 0.0),
        ) {
            let whole = elapsed * section.users.max(1) as f64;
            add(
                Share,
                "RATIO, %",
                "TOTAL / ELAPSED TIME",
                ratio,
                100.0 * total / whole,
                2.0 * slack,
            );
        }
        let order = ["MIN", "P50", "P95", "P99", "MAX"];
        for pair in order.windows(2) {
            if let (Some((less, slack)), Some((more, _))) =
                (routine.figure(pair[0]), routine.figure(pair[1]))
            {
                let more_text = format!("its {}", pair[1]);
                add(
                    AtMost,
                    &format!("{}, ms", pair[0]),
                    &more_text,
                    less,
                    more,
                    slack,
                );
            }
        }
    }
    // A user is in one transaction at a time.
    if let (Some(elapsed), false) = (section.elapsed_ms, section.routines.is_empty()) {
        let what = format!("{part}TOTAL of all routines, ms");
        let whole = elapsed * section.users.max(1) as f64;
        let what = [what.as_str(), "ELAPSED TIME of its users"];
        run.relations
            .push(relation(AtMost, what, busy_ms, whole, 0.01 * whole));
    }
}
