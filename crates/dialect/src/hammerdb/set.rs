//! The commands that change settings: `dbset`, `diset`, `giset`, `vuset`.
//!
//! Must never: print a password.

use super::backend::Backend;
use super::dictionary::{self, DATABASES, GENERIC, Section};
use super::session::Session;
use super::settings::mask_secret;

const VUSET_USAGE: &str =
    "Usage: vuset [vu|delay|repeat|iterations|showoutput|logtotemp|unique|nobuff|timestamps] value";

/// The options of `vuset`: the option's name, the key of its setting, what messages call it, the value that
/// replaces an invalid one, and whether the value must be 0 or 1.
#[rustfmt::skip]
const VUSET_OPTIONS: [(&str, &str, &str, &str, bool); 9] = [
    ("vu", "virtual_users", "The number of virtual users", "1", false),
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
    /// `dbset`: selects the database or the benchmark.
    pub(super) fn dbset(&mut self, backend: &mut dyn Backend, args: &[&str]) {
        match args {
            ["db", prefix] => {
                let prefixes = DATABASES.map(|database| database.prefix);
                if !prefixes.contains(prefix) {
                    let prefixes = prefixes.join(" ");
                    backend.putscli(&format!(
                        "Unknown prefix {prefix}, choose one from {prefixes}"
                    ));
                    return;
                }
                let name = dictionary::database_name(prefix);
                if dictionary::sections(prefix).is_none() {
                    backend.putscli(&dictionary::unsupported_message(prefix));
                    return;
                }
                (*prefix).clone_into(&mut self.settings.database);
                self.settings.set(GENERIC, "benchmark", "rdbms", name);
                backend.putscli(&format!("Database set to {name}"));
                self.save_settings(backend);
            }
            ["bm", benchmark] => {
                let upper = benchmark.to_uppercase();
                match upper.as_str() {
                    "TPC-C" | "TPROC-C" => {
                        self.settings.set(GENERIC, "benchmark", "bm", "TPC-C");
                        let name = self.database_name();
                        backend.putscli(&format!("Benchmark set to {upper} for {name}"));
                        self.save_settings(backend);
                    }
                    "TPC-H" | "TPROC-H" => {
                        let supported = "does not support TPROC-H, only TPROC-C";
                        backend.putscli(&format!("Error: Prony's hammerdbcli {supported}"));
                    }
                    _ => {
                        let known = "TPROC-C TPROC-H (or compatible names TPC-C TPC-H)";
                        let problem = format!("Unknown benchmark {upper}, choose one from {known}");
                        backend.putscli(&problem);
                    }
                }
            }
            [_, _] => {
                backend.putscli("Error: invalid option");
                backend.putscli("Usage: dbset [db|bm] value");
            }
            _ => backend.putscli("Usage: dbset [db|bm] value"),
        }
    }

    /// `diset`: sets a value of the selected database.
    pub(super) fn diset(&mut self, backend: &mut dyn Backend, args: &[&str]) {
        let prefix = self.settings.database.clone();
        self.set_value(backend, "diset", &prefix, "print dict", args);
    }

    /// `giset`: sets a value that applies to all databases.
    pub(super) fn giset(&mut self, backend: &mut dyn Backend, args: &[&str]) {
        self.set_value(backend, "giset", GENERIC, "print generic", args);
    }

    /// Sets the value of a key. `command` is the command itself, and `print_command` the one that lists the keys.
    fn set_value(
        &mut self,
        backend: &mut dyn Backend,
        command: &str,
        prefix: &str,
        print_command: &str,
        args: &[&str],
    ) {
        let name = dictionary::database_name(prefix);
        let for_database = match prefix {
            GENERIC => String::new(),
            _ => format!(" for {name}"),
        };
        let usage = format!("Usage: {command} dict key value");
        let hint =
            format!("Type \"{print_command}\" for valid dictionaries and keys{for_database}");
        let [section, key, value] = args else {
            backend.putscli(&format!("Error: Invalid number of arguments\n{usage}"));
            return backend.putscli(&hint);
        };
        let sections = dictionary::sections(prefix).unwrap_or(&[]);
        if !sections.iter().any(|(name, _)| name == section) {
            backend.putscli(&usage);
            if prefix != GENERIC {
                let problem = format!("Dictionary \"{section}\" for {name} does not exist");
                backend.putscli(&problem);
            }
            return backend.putscli(&hint);
        }
        let value = value.trim();
        let old = self.settings.value(prefix, section, key);
        let Some(old) = old.map(str::to_owned) else {
            let mut problem =
                format!("Dictionary \"{section}\"{for_database} exists but key \"{key}\" doesn't");
            if prefix != GENERIC {
                let mut sections = sections.iter();
                let has_key = |(_, keys): &&Section| keys.iter().any(|known| known.name == *key);
                let location = match sections.find(has_key) {
                    Some((section, _)) => format!("is in the \"{section}\" dictionary"),
                    None => format!("cannot be found in any {name} dictionary"),
                };
                problem += &format!(", key \"{key}\" {location}");
            }
            backend.putscli(&problem);
            return backend.putscli(&hint);
        };
        let (before, after) = (mask_secret(key, &old), mask_secret(key, value));
        if old == value {
            let line = format!(
                "Value {after} for {section}:{key} is the same as existing value {before}, no change made"
            );
            return backend.putscli(&line);
        }
        if key.ends_with("driver") {
            backend.putscli("Clearing Script, reload script to activate new setting");
            self.clear_script(backend);
            if value != "test" && value != "timed" {
                let problem = "Error: Driver script must be either \"test\" or \"timed\"";
                return backend.putscli(problem);
            }
        }
        self.settings.set(prefix, section, key, value);
        let line = format!("Changed {section}:{key} from {before} to {after} for {name}");
        backend.putscli(&line);
        self.save_settings(backend);
    }

    /// `vuset`: sets an option of the virtual users; an invalid value is replaced by a valid one.
    pub(super) fn vuset(&mut self, backend: &mut dyn Backend, args: &[&str]) {
        let [option, value] = args else {
            backend.puts(VUSET_USAGE);
            return;
        };
        let spec = VUSET_OPTIONS.iter().find(|(name, ..)| name == option);
        let Some((_, key, name, fallback, is_switch)) = spec else {
            backend.puts("Error: invalid option");
            backend.puts(VUSET_USAGE);
            return;
        };
        // As of HammerDB 4.10, `vuset vu vcpu` sets the number of processors.
        let value = if *option == "vu" && *value == "vcpu" {
            backend.processor_count().to_string()
        } else {
            (*value).to_owned()
        };
        let problem = match value.parse::<i64>() {
            Ok(0 | 1) if *is_switch => None,
            _ if *is_switch => Some("must be 0 or 1"),
            Err(_) => Some("must be an integer"),
            Ok(..=0) => Some("must be 1 or greater"),
            Ok(_) => None,
        };
        let value = match problem {
            None => value,
            Some(problem) => {
                backend.putscli(&format!("{name} {problem}"));
                backend.print("setting to value: ");
                (*fallback).to_owned()
            }
        };
        self.settings
            .set(GENERIC, "virtual_user_options", key, &value);
        self.save_settings(backend);
    }
}
