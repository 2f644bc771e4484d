//! `print`, `vustatus`, `help`.
//!
//! In: a session. Out: texts. Must never: print a password.

use super::dictionary::{self, DATABASES, GENERIC, Section};
use super::session::{Session, State, Users, puts};
use super::settings::{Settings, shown};
use super::tcl::Channel;
use super::world::World;

const USAGE: &str =
    "Usage: print [db|bm|dict|generic|script|vuconf|vucreated|vustatus|vucomplete|datagen|tcconf]";

/// The commands with what help says of them.
pub(super) const COMMANDS: [(&str, &str); 22] = [
    (
        "buildschema",
        "Makes the schema with the dictionary's settings, and loads it.",
    ),
    ("checkschema", "Checks the schema against its own rules."),
    ("deleteschema", "Drops the schema's database and role."),
    ("clearscript", "Forgets the loaded driver."),
    ("dbset", "Usage: dbset [db|bm] value"),
    ("diset", "Usage: diset dict key value"),
    ("giset", "Usage: giset dict key value"),
    ("help", "Lists the commands, or tells about one."),
    ("jobs", "Lists the jobs, or tells about one."),
    (
        "loadscript",
        "Loads the driver for the database and benchmark.",
    ),
    ("print", USAGE),
    ("quit", "Ends the session."),
    (
        "tcset",
        "Usage: tcset [refreshrate|logtotemp|unique|timestamps] value",
    ),
    ("tcstart", "Runs print their transactions a minute."),
    ("tcstatus", "Tells whether the transaction counter is on."),
    (
        "tcstop",
        "Runs no longer print their transactions a minute.",
    ),
    (
        "vucomplete",
        "Gives true when all virtual users have ended.",
    ),
    (
        "vucreate",
        "Creates the virtual users; a timed driver adds a monitor.",
    ),
    ("vudestroy", "Destroys the virtual users."),
    (
        "vurun",
        "Runs the virtual users and waits until they have ended.",
    ),
    (
        "vuset",
        "Usage: vuset [vu|delay|repeat|iterations|showoutput|logtotemp|unique|nobuff|timestamps] value",
    ),
    ("vustatus", "Prints the state of each virtual user."),
];

/// A section's keys and values.
fn section_text(
    settings: &Settings,
    prefix: &str,
    (section, keys): &Section,
    indent: &str,
) -> String {
    let width = keys.iter().map(|(key, _)| key.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (key, _) in *keys {
        let value = settings.value(prefix, section, key).unwrap_or_default();
        text += &format!("{indent}{key:width$} = {}\n", shown(key, value));
    }
    text
}

/// A dictionary as `print dict` shows it, without its title.
pub(super) fn dictionary_text(settings: &Settings, prefix: &str) -> String {
    let sections = dictionary::sections(prefix).unwrap_or(&[]);
    let width = sections
        .iter()
        .map(|(name, _)| name.len())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for section in sections {
        let keys = section_text(settings, prefix, section, " ");
        text += &format!("{:width$} {{\n{keys}}}\n", section.0);
    }
    text
}

/// The states of virtual users.
pub(super) fn status(world: &mut dyn World, users: Option<&Users>) {
    let Some(users) = users else {
        puts(world, "No Virtual Users found");
        return;
    };
    let mut text = String::new();
    for (index, state) in users.states.iter().enumerate() {
        let state = match state {
            State::Idle => "WAIT IDLE",
            State::Success => "FINISH SUCCESS",
            State::Failed => "FINISH FAILED",
        };
        text += &format!("{} = {state}\n", index + 1);
    }
    puts(world, &text);
}

/// `help`, or `help COMMAND`.
pub(super) fn help(world: &mut dyn World, command: Option<&str>) {
    let text = match command {
        None => {
            let mut text =
                "Type \"help command\" for more details on specific commands below\n".to_owned();
            for (name, _) in COMMANDS {
                text += &format!("\n\t{name}");
            }
            text
        }
        Some(command) => match COMMANDS.iter().find(|(name, _)| *name == command) {
            Some((name, about)) => format!("{name} - {about}"),
            None => {
                format!("Error: no help for \"{command}\": type \"help\" for a list of commands")
            }
        },
    };
    puts(world, &text);
}

impl Session {
    /// `print WHAT`; its result.
    pub(super) fn print(&self, world: &mut dyn World, words: &[&str]) -> String {
        let [what] = words else {
            puts(world, USAGE);
            return String::new();
        };
        match *what {
            "db" => {
                let list: String = DATABASES
                    .map(|(name, prefix)| format!("{name} = {prefix} "))
                    .concat();
                let text = format!(
                    "Database {} set.\nTo change do: dbset db prefix, one of:\n{list}",
                    self.database_name()
                );
                world.put(Channel::Out, &text);
            }
            "bm" => {
                let line = format!(
                    "Benchmark set to {}",
                    self.settings.generic("benchmark", "bm")
                );
                puts(world, &line);
            }
            "dict" => {
                let text = format!(
                    "Dictionary Settings for {}\n{}",
                    self.database_name(),
                    dictionary_text(&self.settings, &self.settings.database)
                );
                world.put(Channel::Out, &text);
            }
            "generic" => {
                let text = dictionary_text(&self.settings, GENERIC);
                world.put(
                    Channel::Out,
                    &format!("Generic Dictionary Settings\n{text}"),
                );
            }
            "tcconf" => {
                let sections = dictionary::sections(GENERIC).unwrap_or(&[]);
                let found = sections
                    .iter()
                    .filter(|(name, _)| *name == "transaction_counter");
                let text: String = found
                    .map(|s| section_text(&self.settings, GENERIC, s, ""))
                    .collect();
                world.put(Channel::Out, &text);
            }
            "script" if self.is_loaded => {
                puts(
                    world,
                    "# The driver is part of Prony; there is no Tcl text of it",
                );
            }
            "script" => puts(world, "\nNo Script loaded: Load with loadscript"),
            "vuconf" => self.print_options(world),
            "vucreated" => {
                let count = self.users.as_ref().map_or(0, |users| users.states.len());
                puts(world, &format!("{count} Virtual Users created"));
            }
            "vustatus" => status(world, self.users.as_ref()),
            "vucomplete" => return self.is_complete.to_string(),
            "datagen" => puts(world, "Error: Prony's hammerdbcli does not offer datagen"),
            _ => {
                puts(world, "Error: invalid option");
                puts(world, USAGE);
            }
        }
        String::new()
    }

    fn print_options(&self, world: &mut dyn World) {
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
            let value = self.settings.generic("virtual_user_options", key);
            puts(world, &format!("{name} = {value}"));
        }
    }
}
