//! What HammerDB's output says: the inverse of `text` and the dictionary's listing.
//!
//! In: what hammerdbcli prints, or its logs, of TPROC-C. Out: a [`Reported`] for each result or time
//! profile in it. Must never: call TPM commits: the server counts rollbacks with them.

use super::time_profile::{self, Section};
use crate::reading::{count, small, unreadable};
use prony_store::Reported;

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
            time_profile::head(&mut self.profile, rest);
        } else if line.starts_with("CALLS: ") || line.starts_with("P99: ") {
            time_profile::figures(&mut self.profile, line);
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
                    time_profile::add(run, sections);
                }
            } else if let Some(run) = self.runs.get_mut(place) {
                time_profile::add(run, sections);
            }
        }
        self.runs
    }
}
