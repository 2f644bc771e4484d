//! The commands that set: `dbset`, `diset`, `giset`, `vuset`.
//!
//! In: words. Out: changed settings, and HammerDB's lines about them. Must never: print a password.

use super::dictionary::{self, DATABASES, GENERIC};
use super::session::{Session, puts, say};
use super::settings::shown;
use super::tcl::Channel;
use super::world::World;

const VUSET_USAGE: &str =
    "Usage: vuset [vu|delay|repeat|iterations|showoutput|logtotemp|unique|nobuff|timestamps] value";

/// The options of vuset: word, key, name in complaints, value after a bad one, whether 0 or 1.
const VUSET: [(&str, &str, &str, &str, bool); 9] = [
    (
        "vu",
        "virtual_users",
        "The number of virtual users",
        "1",
        false,
    ),
    ("delay", "user_delay", "User Delay(ms)", "500", false),
    ("repeat", "repeat_delay", "Repeat Delay(ms)", "500", false),
    ("iterations", "iterations", "Iterations", "1", false),
    ("showoutput", "show_output", "Show Output", "1", true),
    ("logtotemp", "log_to_temp", "Log Output", "0", true),
    ("unique", "unique_log_name", "Unique Log Name", "0", true),
    ("nobuff", "no_log_buffer", "No Log Buffer", "0", true),
    ("timestamps", "log_timestamps", "Log timestamps", "0", true),
];

impl Session {
    pub(super) fn dbset(&mut self, world: &mut dyn World, words: &[&str]) {
        match words {
            ["db", prefix] => {
                let prefixes = DATABASES.map(|(_, prefix)| prefix).join(" ");
                if !DATABASES.iter().any(|(_, known)| known == prefix) {
                    say(
                        world,
                        &format!("Unknown prefix {prefix}, choose one from {prefixes}"),
                    );
                    return;
                }
                let name = dictionary::name(prefix);
                if dictionary::sections(prefix).is_none() {
                    let complaint = format!(
                        "Error: Prony's hammerdbcli does not offer {name}, choose one from mysql pg maria"
                    );
                    say(world, &complaint);
                    return;
                }
                (*prefix).clone_into(&mut self.settings.database);
                self.settings.set(GENERIC, "benchmark", "rdbms", name);
                say(world, &format!("Database set to {name}"));
                self.save(world);
            }
            ["bm", benchmark] => {
                let upper = benchmark.to_uppercase();
                match upper.as_str() {
                    "TPC-C" | "TPROC-C" => {
                        self.settings.set(GENERIC, "benchmark", "bm", "TPC-C");
                        let name = self.database_name();
                        say(world, &format!("Benchmark set to {upper} for {name}"));
                        self.save(world);
                    }
                    "TPC-H" | "TPROC-H" => say(
                        world,
                        "Error: Prony's hammerdbcli does not offer TPROC-H, only TPROC-C",
                    ),
                    _ => say(
                        world,
                        &format!(
                            "Unknown benchmark {upper}, choose one from TPROC-C TPROC-H (or compatible names TPC-C TPC-H)"
                        ),
                    ),
                }
            }
            [_, _] => {
                say(world, "Error: invalid option");
                say(world, "Usage: dbset [db|bm] value");
            }
            _ => say(world, "Usage: dbset [db|bm] value"),
        }
    }

    pub(super) fn diset(&mut self, world: &mut dyn World, words: &[&str]) {
        let prefix = self.settings.database.clone();
        let name = self.database_name();
        let hint = format!("Type \"print dict\" for valid dictionaries and keys for {name}");
        let [section, key, value] = words else {
            say(
                world,
                "Error: Invalid number of arguments\nUsage: diset dict key value",
            );
            say(world, &hint);
            return;
        };
        let sections = dictionary::sections(&prefix).unwrap_or(&[]);
        if !sections.iter().any(|(known, _)| known == section) {
            say(world, "Usage: diset dict key value");
            say(
                world,
                &format!("Dictionary \"{section}\" for {name} does not exist"),
            );
            say(world, &hint);
            return;
        }
        let value = value.trim();
        let Some(old) = self
            .settings
            .value(&prefix, section, key)
            .map(str::to_owned)
        else {
            let elsewhere = (sections.iter())
                .find(|(_, keys)| keys.iter().any(|(known, _)| known == key))
                .map_or_else(
                    || format!("cannot be found in any {name} dictionary"),
                    |(other, _)| format!("is in the \"{other}\" dictionary"),
                );
            let complaint = format!(
                "Dictionary \"{section}\" for {name} exists but key \"{key}\" doesn't, key \"{key}\" {elsewhere}"
            );
            say(world, &complaint);
            say(world, &hint);
            return;
        };
        let (before, after) = (shown(key, &old), shown(key, value));
        if old == value {
            let line = format!(
                "Value {after} for {section}:{key} is the same as existing value {before}, no change made"
            );
            say(world, &line);
            return;
        }
        if key.ends_with("driver") {
            say(
                world,
                "Clearing Script, reload script to activate new setting",
            );
            self.clear_script(world);
            if value != "test" && value != "timed" {
                say(
                    world,
                    "Error: Driver script must be either \"test\" or \"timed\"",
                );
                return;
            }
        }
        self.settings.set(&prefix, section, key, value);
        say(
            world,
            &format!("Changed {section}:{key} from {before} to {after} for {name}"),
        );
        self.save(world);
    }

    pub(super) fn giset(&mut self, world: &mut dyn World, words: &[&str]) {
        let hint = "Type \"print generic\" for valid dictionaries and keys";
        let [section, key, value] = words else {
            say(
                world,
                "Error: Invalid number of arguments\nUsage: giset dict key value",
            );
            say(world, hint);
            return;
        };
        let sections = dictionary::sections(GENERIC).unwrap_or(&[]);
        if !sections.iter().any(|(known, _)| known == section) {
            say(world, "Usage: giset dict key value");
            say(world, hint);
            return;
        }
        let value = value.trim();
        match self
            .settings
            .value(GENERIC, section, key)
            .map(str::to_owned)
        {
            None => {
                let complaint =
                    format!("Dictionary \"{section}\" exists but key \"{key}\" doesn't");
                say(world, &complaint);
                say(world, hint);
            }
            Some(old) if old == value => say(
                world,
                &format!(
                    "Value {value} for {section}:{key} is the same as existing value {old}, no change made"
                ),
            ),
            Some(old) => {
                self.settings.set(GENERIC, section, key, value);
                let line = format!("Changed {section}:{key} from {old} to {value} for generic");
                say(world, &line);
                self.save(world);
            }
        }
    }

    pub(super) fn vuset(&mut self, world: &mut dyn World, words: &[&str]) {
        let [option, value] = words else {
            puts(world, VUSET_USAGE);
            return;
        };
        let found = VUSET.iter().find(|(word, ..)| word == option);
        let Some((word, key, name, fallback, is_switch)) = found else {
            puts(world, "Error: invalid option");
            puts(world, VUSET_USAGE);
            return;
        };
        // `vuset vu vcpu` takes as many as there are processors, as of HammerDB 4.10.
        let value = match (*word, *value) {
            ("vu", "vcpu") => world.processors().to_string(),
            (_, value) => value.to_owned(),
        };
        let complaint = match (value.parse::<i64>().ok(), is_switch) {
            (Some(0 | 1), true) => None,
            (_, true) => Some("must be 0 or 1"),
            (None, false) => Some("must be an integer"),
            (Some(number), false) if number < 1 => Some("must be 1 or greater"),
            (Some(_), false) => None,
        };
        let value = match complaint {
            None => value,
            Some(complaint) => {
                say(world, &format!("{name} {complaint}"));
                world.put(Channel::Out, "setting to value: ");
                (*fallback).to_owned()
            }
        };
        self.settings
            .set(GENERIC, "virtual_user_options", key, &value);
        self.save(world);
    }
}
