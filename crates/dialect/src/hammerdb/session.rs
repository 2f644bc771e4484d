//! HammerDB's commands.
//!
//! In: a command's words. Out: its texts and requests to a [`World`], its result. Must never: print a
//! password; connect.

use super::print;
use super::request::Counter;
use super::settings::Settings;
use super::tcl::{Channel, Flow, Outcome};
use super::text;
use super::world::World;

/// HammerDB's version that the texts follow.
pub const VERSION: &str = "v4.6";

/// The states that `vustatus` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Idle,
    Success,
    Failed,
}

/// Virtual users that were created and not destroyed.
#[derive(Debug)]
pub(super) struct Users {
    pub states: Vec<State>,
    pub log: Option<String>,
    /// Whether the first is a timed driver's monitor.
    pub has_monitor: bool,
}

/// A session: settings, and what was loaded and created.
#[derive(Debug, Default)]
pub struct Session {
    pub(super) settings: Settings,
    pub(super) is_loaded: bool,
    pub(super) users: Option<Users>,
    pub(super) is_complete: bool,
    pub(super) counter: Option<Counter>,
    /// That settings cannot be kept is said once.
    save_failed: bool,
}

/// A line as HammerDB's putscli prints it.
pub(super) fn say(world: &mut dyn World, line: &str) {
    world.put(Channel::Out, &text::terminal(line));
}

/// A line as Tcl's puts prints it.
pub(super) fn puts(world: &mut dyn World, line: &str) {
    world.put(Channel::Out, &format!("{line}\n"));
}

impl Session {
    /// A session that starts with kept settings.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            ..Self::default()
        }
    }

    /// The settings as they are now.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Runs one of HammerDB's commands; none if there is no such command.
    pub fn command(
        &mut self,
        world: &mut dyn World,
        name: &str,
        args: &[String],
    ) -> Option<Outcome> {
        let words: Vec<&str> = args.iter().map(String::as_str).collect();
        match (name, words.as_slice()) {
            ("dbset", words) => self.dbset(world, words),
            ("diset", words) => self.diset(world, words),
            ("giset", words) => self.giset(world, words),
            ("vuset", words) => self.vuset(world, words),
            ("print", words) => return Some(Ok(self.print(world, words))),
            ("loadscript", []) => {
                self.is_loaded = true;
                say(world, "Script loaded, Type \"print script\" to view");
            }
            ("clearscript", []) => self.clear_script(world),
            ("buildschema", []) => self.build(world),
            ("checkschema", []) => return Some(Ok(self.check(world))),
            ("deleteschema", []) => return Some(Ok(self.delete(world))),
            ("vucreate", []) => self.create(world),
            ("vurun", []) => return Some(Ok(self.run(world))),
            ("vudestroy", []) => self.destroy(world),
            ("vustatus", []) => print::status(world, self.users.as_ref()),
            ("vucomplete", []) => return Some(Ok(self.is_complete.to_string())),
            ("waittocomplete" | "runtimer", _) => say(
                world,
                &format!(
                    "{name} command has been deprecated and is not required for version {VERSION}"
                ),
            ),
            // All commands wait for their end, so that there is nothing left to wait for.
            ("vwait" | "keepalive", _) => {}
            ("tcset", words) => self.tcset(world, words),
            ("tcstart", []) => self.tcstart(world),
            ("tcstatus", []) => self.tcstatus(world),
            ("tcstop", []) => self.tcstop(world),
            ("jobs" | "job", _) => match world.jobs(args) {
                Ok(text) => puts(world, &text),
                Err(complaint) => say(world, &complaint),
            },
            ("numberOfCPUs", []) => return Some(Ok(world.processors().to_string())),
            ("numberOfWHs", []) => {
                let key = format!("{}_count_ware", self.settings.database);
                let value = self.settings.value(&self.settings.database, "tpcc", &key);
                return Some(Ok(value.unwrap_or("1").to_owned()));
            }
            ("help", words) => print::help(world, words.first().copied()),
            ("quit", []) => {
                puts(world, "Shutting down HammerDB CLI");
                return Some(Err(Flow::Exit(0)));
            }
            (name, _) if print::COMMANDS.iter().any(|(known, _)| *known == name) => {
                return Some(Err(Flow::Error(format!(
                    "wrong # args: should be \"{name}\""
                ))));
            }
            (name, _) if PASSED_OVER.contains(&name) => say(
                world,
                &format!("Prony's hammerdbcli does not offer {name}: the session goes on without"),
            ),
            (name, _) if REFUSED.contains(&name) => {
                return Some(Err(Flow::Error(format!(
                    "Prony's hammerdbcli does not offer {name}"
                ))));
            }
            _ => return None,
        }
        Some(Ok(String::new()))
    }

    pub(super) fn save(&mut self, world: &mut dyn World) {
        if let Err(reason) = world.save(&self.settings)
            && !self.save_failed
        {
            self.save_failed = true;
            let text = format!("hammerdbcli: the settings cannot be kept: {reason}\n");
            world.put(Channel::Error, &text);
        }
    }

    pub(super) fn database_name(&self) -> &'static str {
        self.settings.database_name()
    }

    pub(super) fn clear_script(&mut self, world: &mut dyn World) {
        self.is_loaded = false;
        say(world, "Script cleared");
    }
}

/// Commands of HammerDB without which a script's figures are the same.
const PASSED_OVER: [&str; 10] = [
    "librarycheck",
    "metset",
    "metstart",
    "metstatus",
    "metstop",
    "savescript",
    "wsport",
    "wsstart",
    "wsstatus",
    "wsstop",
];

/// Commands of HammerDB that would make another run of it: to go on without them would mislead.
const REFUSED: [&str; 7] = [
    "customscript",
    "custommonitor",
    "datagenrun",
    "dgset",
    "distributescript",
    "steprun",
    "switchmode",
];
