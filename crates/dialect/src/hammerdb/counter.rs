//! The commands of the transaction counter: `tcset`, `tcstart`, `tcstatus`, `tcstop`.
//!
//! The commands only change settings: the backend counts transactions during a run.

use super::backend::Backend;
use super::dictionary::GENERIC;
use super::request::TransactionCounter;
use super::server_commands::temp_log_path;
use super::session::Session;

const USAGE: &str = "Usage: tcset [refreshrate|logtotemp|unique|timestamps]";

/// The options of `tcset`: the option's name, the key of its setting, and what messages call it.
const OPTIONS: [(&str, &str, &str); 4] = [
    ("refreshrate", "tc_refresh_rate", "refresh rate"),
    ("logtotemp", "tc_log_to_temp", "log to temp"),
    ("unique", "tc_unique_log_name", "unique log name"),
    ("timestamps", "tc_log_timestamps", "timestamps"),
];

impl Session {
    /// `tcset OPTION VALUE`.
    pub(super) fn tcset(&mut self, backend: &mut dyn Backend, args: &[&str]) {
        let [option, value] = args else {
            backend.putscli(USAGE);
            return;
        };
        let Some((_, key, name)) = OPTIONS.iter().find(|(name, ..)| name == option) else {
            backend.putscli("Error: invalid option");
            backend.putscli(USAGE);
            return;
        };
        let is_rate = *option == "refreshrate";
        let problem = match value.parse::<u64>() {
            Ok(1..) if is_rate => None,
            _ if is_rate => Some("must be an integer of 1 or greater"),
            Ok(0 | 1) => None,
            _ => Some("must be 0 or 1"),
        };
        match problem {
            Some(problem) => backend.putscli(&format!("Error: {name} {problem}")),
            None => {
                self.settings
                    .set(GENERIC, "transaction_counter", key, value);
                backend.putscli(&format!("Transaction Counter {name} set to {value}"));
                self.save_settings(backend);
            }
        }
    }

    /// `tcstart`: later runs print transactions per minute.
    pub(super) fn tcstart(&mut self, backend: &mut dyn Backend) {
        if self.counter.is_some() {
            backend.putscli("Transaction Counter is already running");
            return;
        }
        let option = |key: &str| {
            self.settings
                .generic_value("transaction_counter", key)
                .to_owned()
        };
        let log_path = (option("tc_log_to_temp") == "1").then(|| {
            let is_unique = option("tc_unique_log_name") == "1";
            let id = is_unique.then(|| backend.new_job_id());
            temp_log_path(backend, "hdbtcount", id.as_deref())
        });
        if let Some(path) = &log_path {
            let line = format!("Transaction Counter logging activated to {path}");
            backend.putscli(&line);
        }
        backend.putscli("Transaction Counter Started");
        self.counter = Some(TransactionCounter {
            refresh_s: option("tc_refresh_rate").parse().unwrap_or(10),
            log_path,
            logs_timestamps: option("tc_log_timestamps") == "1",
        });
    }

    pub(super) fn tcstatus(&self, backend: &mut dyn Backend) {
        backend.putscli(if self.counter.is_some() {
            "Transaction Counter thread running"
        } else {
            "Transaction Counter is not running"
        });
    }

    pub(super) fn tcstop(&mut self, backend: &mut dyn Backend) {
        match self.counter.take() {
            None => backend.putscli("Transaction Counter is not running"),
            Some(counter) => {
                backend.putscli("Stopping Transaction Counter");
                if counter.log_path.is_some() {
                    backend.putscli("Closed Transaction Counter Log");
                }
            }
        }
    }
}
