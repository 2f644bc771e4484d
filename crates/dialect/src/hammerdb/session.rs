//! A session of HammerDB's commands.
//!
//! In: a command's name and arguments. Out: its texts, its requests to a [`Backend`], its result. Must never:
//! print a password; connect.

use super::backend::Backend;
use super::print;
use super::request::TransactionCounter;
use super::settings::Settings;
use super::tcl::{Channel, Flow, TclResult};
use super::text;

/// The version of HammerDB that Prony emulates.
pub const VERSION: &str = "v4.6";

/// The states of a virtual user, as `vustatus` prints them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VuserState {
    Idle,
    Success,
    Failed,
}

/// The virtual users, from `vucreate` to `vudestroy`.
#[derive(Debug)]
pub(super) struct VirtualUsers {
    pub states: Vec<VuserState>,
    pub log_path: Option<String>,
    /// Whether the first one is the monitor of a timed driver.
    pub has_monitor: bool,
}

/// A session: settings, the loaded script and the virtual users.
#[derive(Debug, Default)]
pub struct Session {
    pub(super) settings: Settings,
    pub(super) is_script_loaded: bool,
    pub(super) users: Option<VirtualUsers>,
    pub(super) are_users_complete: bool,
    pub(super) counter: Option<TransactionCounter>,
    /// Whether a failure to store the settings has been printed.
    save_failure_printed: bool,
}

impl dyn Backend + '_ {
    pub(super) fn print(&mut self, text: &str) {
        self.system_mut().put(Channel::Out, text);
    }

    /// Prints a line as hammerdbcli's own commands do.
    pub(super) fn putscli(&mut self, line: &str) {
        self.print(&text::terminal_line(line));
    }

    /// Prints a line as Tcl's puts does.
    pub(super) fn puts(&mut self, line: &str) {
        self.print(&format!("{line}\n"));
    }
}

impl Session {
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            ..Self::default()
        }
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Runs one of HammerDB's commands; `None` if HammerDB has no such command.
    pub fn run_command(
        &mut self,
        backend: &mut dyn Backend,
        name: &str,
        args: &[String],
    ) -> Option<TclResult> {
        let texts: Vec<&str> = args.iter().map(String::as_str).collect();
        match (name, texts.as_slice()) {
            ("dbset", args) => self.dbset(backend, args),
            ("diset", args) => self.diset(backend, args),
            ("giset", args) => self.giset(backend, args),
            ("vuset", args) => self.vuset(backend, args),
            ("print", args) => return Some(Ok(self.print(backend, args))),
            ("loadscript", []) => {
                self.is_script_loaded = true;
                backend.putscli("Script loaded, Type \"print script\" to view");
            }
            ("clearscript", []) => self.clear_script(backend),
            ("buildschema", []) => self.build_schema(backend),
            ("checkschema", []) => self.check_schema(backend),
            ("deleteschema", []) => self.delete_schema(backend),
            ("vucreate", []) => self.create_configured_users(backend),
            ("vurun", []) => return Some(Ok(self.run_users(backend))),
            ("vudestroy", []) => self.destroy_users(backend),
            ("vustatus", []) => print::print_status(backend, self.users.as_ref()),
            ("vucomplete", []) => return Some(Ok(self.are_users_complete.to_string())),
            ("waittocomplete" | "runtimer", _) => {
                let problem = "has been deprecated and is not required for version";
                backend.putscli(&format!("{name} command {problem} {VERSION}"));
            }
            // Commands block until they end, so there is nothing to wait for.
            ("vwait" | "keepalive", _) => {}
            ("tcset", args) => self.tcset(backend, args),
            ("tcstart", []) => self.tcstart(backend),
            ("tcstatus", []) => self.tcstatus(backend),
            ("tcstop", []) => self.tcstop(backend),
            ("jobs" | "job", _) => match backend.jobs_output(args) {
                Ok(text) => backend.puts(&text),
                Err(problem) => backend.putscli(&problem),
            },
            ("numberOfCPUs", []) => return Some(Ok(backend.processor_count().to_string())),
            ("numberOfWHs", []) => {
                let warehouses = default_warehouses(backend.processor_count());
                return Some(Ok(warehouses.to_string()));
            }
            ("help", args) => print::help(backend, args.first().copied()),
            ("quit", []) => {
                backend.puts("Shutting down HammerDB CLI");
                return Some(Err(Flow::Exit(0)));
            }
            (name, _) if print::is_listed_in_help(name) => {
                let problem = format!("wrong # args: should be \"{name}\"");
                return Some(Err(Flow::Error(problem)));
            }
            (name, _) if contains(IGNORED_COMMANDS, name) => {
                let problem = format!("Prony's hammerdbcli does not support {name}");
                backend.putscli(&format!("{problem}: continuing without it"));
            }
            (name, _) if contains(UNSUPPORTED_COMMANDS, name) => {
                let problem = format!("Prony's hammerdbcli does not support {name}");
                return Some(Err(Flow::Error(problem)));
            }
            _ => return None,
        }
        Some(Ok(String::new()))
    }

    /// Stores the settings; prints a failure once.
    pub(super) fn save_settings(&mut self, backend: &mut dyn Backend) {
        if let Err(reason) = backend.store_settings(&self.settings)
            && !self.save_failure_printed
        {
            self.save_failure_printed = true;
            let text = format!("hammerdbcli: cannot store the settings: {reason}\n");
            backend.system_mut().put(Channel::Error, &text);
        }
    }

    pub(super) fn database_name(&self) -> &'static str {
        self.settings.database_name()
    }

    pub(super) fn clear_script(&mut self, backend: &mut dyn Backend) {
        self.is_script_loaded = false;
        backend.putscli("Script cleared");
    }
}

/// The warehouses that HammerDB 6.0 builds on a machine with this number of processors: eight for each, a
/// multiple of ten up to 100, at most 4,000.
fn default_warehouses(processors: usize) -> usize {
    let warehouses = processors.saturating_mul(8).min(4_000);
    if warehouses <= 100 { warehouses.next_multiple_of(10) } else { warehouses }
}

/// Whether this is one of HammerDB's commands, supported or not.
pub(super) fn has_command(name: &str) -> bool {
    // Supported, but not listed by help.
    let unlisted = "job vwait numberOfCPUs numberOfWHs";
    let lists = [unlisted, IGNORED_COMMANDS, UNSUPPORTED_COMMANDS];
    print::is_listed_in_help(name) || lists.iter().any(|names| contains(names, name))
}

fn contains(names: &str, name: &str) -> bool {
    names.split(' ').any(|listed| listed == name)
}

/// Commands of HammerDB that are ignored with a message, because they do not affect a script's figures.
const IGNORED_COMMANDS: &str =
    "librarycheck metset metstart metstatus metstop savescript wsport wsstart wsstatus wsstop";

/// Commands of HammerDB that are errors, because they would change the run: a script must not believe that
/// they worked.
const UNSUPPORTED_COMMANDS: &str =
    "customscript custommonitor datagenrun dgset distributescript steprun switchmode";

#[cfg(test)]
mod tests {
    use super::default_warehouses;

    #[test]
    fn default_warehouses_follow_the_number_of_processors() {
        let cases = [
            (1, 10),
            (2, 20),
            (12, 100),
            (13, 104),
            (500, 4_000),
            (768, 4_000),
        ];
        for (processors, warehouses) in cases {
            assert_eq!(default_warehouses(processors), warehouses, "{processors}");
        }
    }
}
