//! The transaction counter: `tcset`, `tcstart`, `tcstatus`, `tcstop`.
//!
//! In: words. Out: settings, and what a run shall count. Must never: count by itself: the run does.

use super::dictionary::GENERIC;
use super::request::Counter;
use super::session::{Session, say};
use super::world::World;

const USAGE: &str = "Usage: tcset [refreshrate|logtotemp|unique|timestamps]";

/// The options of tcset: word, key, name in texts.
const OPTIONS: [(&str, &str, &str); 4] = [
    ("refreshrate", "tc_refresh_rate", "refresh rate"),
    ("logtotemp", "tc_log_to_temp", "log to temp"),
    ("unique", "tc_unique_log_name", "unique log name"),
    ("timestamps", "tc_log_timestamps", "timestamps"),
];

impl Session {
    /// `tcset OPTION VALUE`.
    pub(super) fn tcset(&mut self, world: &mut dyn World, words: &[&str]) {
        let [option, value] = words else {
            say(world, USAGE);
            return;
        };
        let Some((word, key, name)) = OPTIONS.iter().find(|(word, ..)| word == option) else {
            say(world, "Error: invalid option");
            say(world, USAGE);
            return;
        };
        let number: Option<u64> = value.parse().ok();
        let complaint = match (*word, number) {
            ("refreshrate", Some(1..)) | (_, Some(0 | 1)) => None,
            ("refreshrate", _) => Some("must be an integer of 1 or greater"),
            _ => Some("must be 0 or 1"),
        };
        match complaint {
            Some(complaint) => say(world, &format!("Error: {name} {complaint}")),
            None => {
                self.settings
                    .set(GENERIC, "transaction_counter", key, value);
                say(world, &format!("Transaction Counter {name} set to {value}"));
                self.save(world);
            }
        }
    }

    /// `tcstart`: the runs that follow print their transactions a minute.
    pub(super) fn tcstart(&mut self, world: &mut dyn World) {
        if self.counter.is_some() {
            say(world, "Transaction Counter is already running");
            return;
        }
        let option = |key: &str| self.settings.generic("transaction_counter", key).to_owned();
        let log = (option("tc_log_to_temp") == "1").then(|| {
            let folder = Self::temp(world);
            if option("tc_unique_log_name") == "1" {
                format!("{folder}/hdbtcount_{}.log", world.job_id())
            } else {
                format!("{folder}/hdbtcount.log")
            }
        });
        if let Some(path) = &log {
            let line = format!("Transaction Counter logging activated to {path}");
            say(world, &line);
        }
        say(world, "Transaction Counter Started");
        self.counter = Some(Counter {
            refresh_s: option("tc_refresh_rate").parse().unwrap_or(10),
            log,
            timestamps: option("tc_log_timestamps") == "1",
        });
    }

    /// `tcstatus`.
    pub(super) fn tcstatus(&self, world: &mut dyn World) {
        say(
            world,
            if self.counter.is_some() {
                "Transaction Counter thread running"
            } else {
                "Transaction Counter is not running"
            },
        );
    }

    /// `tcstop`.
    pub(super) fn tcstop(&mut self, world: &mut dyn World) {
        match self.counter.take() {
            None => say(world, "Transaction Counter is not running"),
            Some(counter) => {
                say(world, "Stopping Transaction Counter");
                if counter.log.is_some() {
                    say(world, "Closed Transaction Counter Log");
                }
            }
        }
    }
}
