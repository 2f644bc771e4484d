//! Reads results from HammerDB's output: parses what `text` and `print dict` print.
//!
//! In: output or logs of hammerdbcli's TPROC-C. Out: a [`ReportedRun`] for each result or time profile. Must
//! never: call TPM commits, because the server counts rollbacks too.

use super::text;
use super::time_profile::{self, Section};
use crate::reading::{count, record_unreadable, small_count};
use prony_store::{ReportedRun, Setting};

#[derive(Default)]
struct OutputReader {
    /// The runs that have ended.
    runs: Vec<ReportedRun>,
    /// The run that is being read.
    run: ReportedRun,
    has_rampup_line: bool,
    procedure_errors: u64,
    /// The time profile that is being read.
    profile: Vec<Section>,
    /// The time profiles that have ended; a log may contain the profiles of several runs.
    profiles: Vec<Vec<Section>>,
}

/// Reads all results in the text; empty if the text is not HammerDB's output.
pub fn read_output(text: &str) -> Vec<ReportedRun> {
    let mut reader = OutputReader::default();
    let mut is_hammerdb = false;
    for line in text.split(['\n', '\r']).map(str::trim) {
        is_hammerdb |= line.starts_with("HammerDB CLI")
            || line.starts_with("Hammerdb Log @")
            || line.contains("Hammerdb Time Profile Report")
            || (line.starts_with("Vuser ") && line.contains(':'));
        reader.read_line(line);
    }
    if !is_hammerdb && reader.runs.is_empty() {
        return Vec::new();
    }
    reader.finish()
}

impl OutputReader {
    fn read_line(&mut self, line: &str) {
        if line.contains("Hammerdb Time Profile Report") {
            self.end_profile();
        } else if let Some(header) = line.strip_prefix(">>>>> ") {
            time_profile::read_header(&mut self.profile, header);
        } else if line.starts_with("CALLS: ") || line.starts_with("P99: ") {
            time_profile::read_figures(&mut self.profile, line);
        } else if let Some(version) = line.strip_prefix("HammerDB CLI v") {
            self.run.version = version.chars().take(20).collect();
        } else if let Some((name, value)) = line.split_once('=') {
            self.read_setting(name.trim(), value.trim());
        } else {
            self.read_vuser_line(line);
        }
    }

    /// Reads a line of the dictionary's listing.
    fn read_setting(&mut self, name: &str, value: &str) {
        let key = ["pg_", "mysql_", "maria_", "mssqls_"]
            .iter()
            .find_map(|prefix| name.strip_prefix(prefix));
        match key {
            Some("count_ware") => self.run.scale = small_count(value),
            Some(name @ ("keyandthink" | "storedprocs" | "allwarehouse" | "driver")) => {
                let value: String = value.chars().take(20).collect();
                self.run.settings.retain(|setting| setting.name != name);
                self.run.settings.push(Setting::new(name, value));
            }
            _ => {}
        }
    }

    fn read_vuser_line(&mut self, line: &str) {
        let text = match line.strip_prefix("Vuser ") {
            Some(line) => line.split_once(':').map_or(line, |(_, text)| text),
            None => line,
        };
        if let Some(result) = text.strip_prefix("TEST RESULT : System achieved ") {
            self.read_result(result, line);
        } else if let Some(minutes) = text.strip_prefix("Timing test period of ").and_then(count) {
            self.run.requested_s = Some(minutes.min(1_000_000) as f64 * 60.0);
        } else if text.starts_with("Beginning rampup time of ") {
            self.has_rampup_line = true;
        } else if text.ends_with("Active Virtual Users configured") {
            self.run.clients = small_count(text);
        } else if let Some((_, warehouses)) = text.split_once(" Warehouses = ") {
            self.run.scale = small_count(warehouses).or(self.run.scale);
        } else if text.contains("Procedure Error") {
            self.procedure_errors += 1;
            self.add_problem(text);
        } else if text == "FINISHED FAILED" {
            self.add_problem("a virtual user failed (FINISHED FAILED)");
        } else if line.starts_with("Error in Virtual User ") {
            self.add_problem(line);
        }
    }

    fn add_problem(&mut self, text: &str) {
        let text: String = text.chars().take(120).collect();
        if self.run.messages.len() < 5 && !self.run.messages.contains(&text) {
            self.run.messages.push(text);
        }
    }

    /// Reads `12103 NOPM from 27747 PostgreSQL TPM`, or `27747 PostgreSQL TPM at 12103 NOPM`.
    fn read_result(&mut self, text: &str, line: &str) {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let (nopm_text, tpm_text, database) = match fields[..] {
            [nopm, "NOPM", "from", tpm, .., "TPM"] => (nopm, tpm, &fields[4..fields.len() - 1]),
            [tpm, .., "TPM", "at", nopm, "NOPM"] => (nopm, tpm, &fields[1..fields.len() - 4]),
            _ => return record_unreadable(&mut self.run, line),
        };
        let number = |field: &str| field.parse::<u64>().ok().map(|number| number as f64);
        let nopm = number(nopm_text);
        let tpm = number(tpm_text);
        let is_readable = nopm.is_some() && (tpm.is_some() || tpm_text == text::UNKNOWN);
        if !is_readable {
            return record_unreadable(&mut self.run, line);
        }
        let database: String = database.join(" ").chars().take(40).collect();
        let run = &mut self.run;
        run.product = super::dictionary::database_product(&database);
        run.title = format!("HammerDB's TPROC-C on {database}");
        run.nopm = nopm;
        run.tpm = tpm;
        run.tps = tpm.map(|tpm| tpm / 60.0);
        run.actual_s = run.requested_s;
        run.transactions = run
            .requested_s
            .zip(run.tps)
            .map(|(seconds, tps)| (tps * seconds).round() as u64);
        self.end_run();
    }

    /// Ends the run that is being read. The next run starts with the same version, scale and settings,
    /// because a log contains them only once.
    fn end_run(&mut self) {
        let next = ReportedRun {
            version: self.run.version.clone(),
            scale: self.run.scale,
            settings: self.run.settings.clone(),
            ..ReportedRun::default()
        };
        let mut run = std::mem::replace(&mut self.run, next);
        run.tool = "HammerDB";
        run.workload = Some("tpcc");
        if run.requested_s.is_none() {
            run.missing_parts.push("the length of its test");
        }
        if run.clients.is_none() {
            run.missing_parts.push("the number of virtual users");
        }
        self.runs.push(run);
        self.has_rampup_line = false;
    }

    fn end_profile(&mut self) {
        let profile = std::mem::take(&mut self.profile);
        if !profile.is_empty() {
            self.profiles.push(profile);
        }
    }

    fn finish(mut self) -> Vec<ReportedRun> {
        self.end_profile();
        let profiles = std::mem::take(&mut self.profiles);
        let results = self.runs.len();
        let has_started = self.run.requested_s.is_some() || self.has_rampup_line;
        if has_started || (results == 0 && profiles.is_empty()) {
            // The run started but printed no result.
            self.run.title = "HammerDB's TPROC-C".to_owned();
            self.end_run();
            if let Some(run) = self.runs.last_mut() {
                run.missing_parts = vec!["its result (TEST RESULT)"];
            }
        }
        if let Some(run) = self.runs.last_mut() {
            run.failed = self.procedure_errors;
        }
        // The n-th profile belongs to the n-th result, if there are as many profiles as results.
        let has_profile_per_result = profiles.len() == results;
        for (index, sections) in profiles.iter().enumerate() {
            if !has_profile_per_result {
                self.run.title = "HammerDB's TPROC-C, by its time profile".to_owned();
                self.end_run();
                if let Some(run) = self.runs.last_mut() {
                    run.missing_parts.clear();
                    time_profile::add_to_run(run, sections);
                }
            } else if let Some(run) = self.runs.get_mut(index) {
                time_profile::add_to_run(run, sections);
            }
        }
        self.runs
    }
}
