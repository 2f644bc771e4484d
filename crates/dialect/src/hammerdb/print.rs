//! The commands `print`, `vustatus` and `help`.
//!
//! Must never: print a password.

use super::backend::Backend;
use super::dictionary::{self, DATABASES, GENERIC, Section};
use super::session::{Session, VirtualUsers, VuserState};
use super::settings::{Settings, mask_secret};
use crate::table;

const USAGE: &str =
    "Usage: print [db|bm|dict|generic|script|vuconf|vucreated|vustatus|vucomplete|datagen|tcconf]";

/// The commands that `help` lists, with their help texts.
pub(super) fn commands() -> impl Iterator<Item = (&'static str, &'static str)> {
    table::rows(include_str!("commands.txt")).map(|(_, [name, help_text])| (name, help_text))
}

/// Whether `help` lists a command with this name.
pub(super) fn is_listed_in_help(name: &str) -> bool {
    commands().any(|(listed, _)| listed == name)
}

/// The keys of a section with their values, a line each.
fn section_text(
    settings: &Settings,
    prefix: &str,
    (section, keys): &Section,
    indent: &str,
) -> String {
    let width = keys.iter().map(|key| key.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for key in keys {
        let name = key.name;
        let value = settings.value(prefix, section, name).unwrap_or_default();
        if !key.is_listed_if_changed || value != key.default {
            text += &format!("{indent}{name:width$} = {}\n", mask_secret(name, value));
        }
    }
    text
}

/// A dictionary as `print dict` prints it, without its title.
pub(super) fn dictionary_text(settings: &Settings, prefix: &str) -> String {
    let sections = dictionary::sections(prefix).unwrap_or(&[]);
    let lengths = sections.iter().map(|(name, _)| name.len());
    let width = lengths.max().unwrap_or(0);
    let mut text = String::new();
    for section in sections {
        let keys = section_text(settings, prefix, section, " ");
        text += &format!("{:width$} {{\n{keys}}}\n", section.0);
    }
    text
}

pub(super) fn print_status(backend: &mut dyn Backend, users: Option<&VirtualUsers>) {
    let Some(users) = users else {
        backend.puts("No Virtual Users found");
        return;
    };
    let mut text = String::new();
    for (index, state) in users.states.iter().enumerate() {
        let state = match state {
            VuserState::Idle => "WAIT IDLE",
            VuserState::Success => "FINISH SUCCESS",
            VuserState::Failed => "FINISH FAILED",
        };
        text += &format!("{} = {state}\n", index + 1);
    }
    backend.puts(&text);
}

pub(super) fn help(backend: &mut dyn Backend, command: Option<&str>) {
    let text = match command {
        None => {
            let mut text =
                "Type \"help command\" for more details on specific commands below\n".to_owned();
            for (name, _) in commands() {
                text += &format!("\n\t{name}");
            }
            text
        }
        Some(command) => match commands().find(|(name, _)| *name == command) {
            Some((name, help_text)) => format!("{name} - {help_text}"),
            None => {
                format!("Error: no help for \"{command}\": type \"help\" for a list of commands")
            }
        },
    };
    backend.puts(&text);
}

impl Session {
    /// Runs `print ITEM` and returns its result.
    pub(super) fn print(&self, backend: &mut dyn Backend, args: &[&str]) -> String {
        let [item] = args else {
            backend.puts(USAGE);
            return String::new();
        };
        match *item {
            "db" => {
                let list: String = DATABASES
                    .iter()
                    .map(|database| format!("{} = {} ", database.name, database.prefix))
                    .collect();
                let name = self.database_name();
                backend.print(&format!(
                    "Database {name} set.\nTo change do: dbset db prefix, one of:\n{list}"
                ));
            }
            "bm" => {
                let benchmark = self.settings.generic_value("benchmark", "bm");
                backend.puts(&format!("Benchmark set to {benchmark}"));
            }
            "dict" => {
                let name = self.database_name();
                let text = dictionary_text(&self.settings, &self.settings.database);
                backend.print(&format!("Dictionary Settings for {name}\n{text}"));
            }
            "generic" => {
                let text = dictionary_text(&self.settings, GENERIC);
                backend.print(&format!("Generic Dictionary Settings\n{text}"));
            }
            "tcconf" => {
                let sections = dictionary::sections(GENERIC).unwrap_or(&[]).iter();
                let of_counter = sections.filter(|(name, _)| *name == "transaction_counter");
                let text = |section| section_text(&self.settings, GENERIC, section, "");
                let text: String = of_counter.map(text).collect();
                backend.print(&text);
            }
            "script" if self.is_script_loaded => {
                backend.puts("# The driver is part of Prony; there is no Tcl text of it");
            }
            "script" => backend.puts("\nNo Script loaded: Load with loadscript"),
            "vuconf" => self.print_vuser_options(backend),
            "vucreated" => {
                let count = self.users.as_ref().map_or(0, |users| users.states.len());
                backend.puts(&format!("{count} Virtual Users created"));
            }
            "vustatus" => print_status(backend, self.users.as_ref()),
            "vucomplete" => return self.are_users_complete.to_string(),
            "datagen" => backend.puts("Error: Prony's hammerdbcli does not support datagen"),
            _ => {
                backend.puts("Error: invalid option");
                backend.puts(USAGE);
            }
        }
        String::new()
    }

    fn print_vuser_options(&self, backend: &mut dyn Backend) {
        let names = [
            ("Virtual Users", "virtual_users"),
            ("User Delay(ms)", "user_delay"),
            ("Repeat Delay(ms)", "repeat_delay"),
            ("Iterations", "iterations"),
            ("Show Output", "show_output"),
            ("Log Output", "log_to_temp"),
            ("Unique Log Name", "unique_log_name"),
            ("No Log Buffer", "no_log_buffer"),
            ("Log Timestamps", "log_timestamps"),
        ];
        for (name, key) in names {
            let value = self.settings.generic_value("virtual_user_options", key);
            backend.puts(&format!("{name} = {value}"));
        }
    }
}
