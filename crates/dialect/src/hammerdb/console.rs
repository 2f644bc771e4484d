//! The arguments, the prompt and the scripts of hammerdbcli.
//!
//! In: arguments; lines of standard input; a file's path. Out: texts to a [`Backend`], an exit status.
//! Must never: read a terminal by itself.

use super::backend::Backend;
use super::session::{Session, VERSION};
use super::tcl::{Channel, Flow, Host, Interp, System, TclResult, is_complete, join_list};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Invocation {
    /// Read commands from standard input.
    Input,
    /// `auto FILE`: read commands from a file.
    Auto(String),
    /// Print the usage.
    Help,
}

pub const USAGE: &str = "Usage: hammerdbcli [ tcl ] [ auto [ script_to_autoload.tcl ] ]\n";

/// Parses the arguments after the program's name.
///
/// # Errors
///
/// The complete text for standard error; hammerdbcli then exits with 1.
pub fn parse_args<S: AsRef<str>>(args: &[S]) -> Result<Invocation, String> {
    let args: Vec<&str> = args.iter().map(AsRef::as_ref).collect();
    let after_language = match args.as_slice() {
        ["tcl", after @ ..] => after,
        ["py" | "python", ..] => {
            return Err(format!(
                "hammerdbcli: Prony does not support the Python mode: write the script in Tcl\n{USAGE}"
            ));
        }
        all => all,
    };
    match after_language {
        [] => Ok(Invocation::Input),
        ["auto", file] => Ok(Invocation::Auto((*file).to_owned())),
        ["-h" | "--help" | "help"] => Ok(Invocation::Help),
        _ => Err(USAGE.to_owned()),
    }
}

/// The TPC-C profiles that [`select_profile`] selects from.
pub const PROFILES: [&str; 2] = ["hammerdb", "hammerdb-4.6"];

/// The environment variable that selects the TPC-C profile.
pub const COMPAT_VARIABLE: &str = "PRONY_HAMMERDB_COMPAT";

/// The TPC-C profile for a value of [`COMPAT_VARIABLE`], and a notice about it for standard error.
///
/// # Errors
/// The complete text for standard error about a value that is not known.
pub fn select_profile(value: Option<&str>) -> Result<(&'static str, String), String> {
    let (profile, description) = match value.unwrap_or_default() {
        "" => (
            PROFILES[0],
            "HammerDB's random choices with correct transactions; PRONY_HAMMERDB_COMPAT=4.6 for figures comparable with published ones of 4.6",
        ),
        "4.6" => (
            PROFILES[1],
            "as HammerDB 4.6: on PostgreSQL the server does as much work per call, for figures comparable with published ones",
        ),
        other => {
            return Err(format!(
                "hammerdbcli: {COMPAT_VARIABLE} is \"{other}\": leave it unset or set it to 4.6\n"
            ));
        }
    };
    let notice =
        format!("hammerdbcli: Prony runs TPC-C with the profile {profile} ({description})\n");
    Ok((profile, notice))
}

pub fn banner(prony_version: &str) -> String {
    format!(
        "HammerDB CLI {VERSION}\nemulated by Prony {prony_version}\nType \"help\" for a list of commands\n"
    )
}

/// The interpreter's host: adds HammerDB's commands.
struct SessionHost<'a> {
    session: &'a mut Session,
    backend: &'a mut dyn Backend,
}

impl Host for SessionHost<'_> {
    fn call_command(&mut self, name: &str, args: &[String]) -> Option<TclResult> {
        self.session.run_command(self.backend, name, args)
    }

    fn has_command(&self, name: &str) -> bool {
        super::session::has_command(name)
    }

    fn system(&self) -> &dyn System {
        self.backend.system()
    }

    fn system_mut(&mut self) -> &mut dyn System {
        self.backend.system_mut()
    }
}

/// A hammerdbcli session: interpreter, commands, and the lines of a command whose end has not been read.
pub struct Console {
    interp: Interp,
    session: Session,
    incomplete_command: String,
    on_terminal: bool,
}

/// Omits the incomplete command, because it may contain a password.
impl std::fmt::Debug for Console {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Console")
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

/// The exit status of a session that was interrupted, as in a shell.
const INTERRUPTED_EXIT_STATUS: u8 = 130;

impl Console {
    /// `on_terminal`: whether a user types the input. Otherwise HammerDB prints an empty line for each line
    /// of input.
    pub fn new(session: Session, on_terminal: bool) -> Self {
        let mut interp = Interp::new();
        for (name, value) in [("argv0", ""), ("argv", ""), ("argc", "0")] {
            interp.set_global(name, value);
        }
        Self {
            interp,
            session,
            incomplete_command: String::new(),
            on_terminal,
        }
    }

    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The prompt on a terminal; elsewhere empty.
    pub fn prompt(&self) -> &'static str {
        if !self.on_terminal {
            ""
        } else if self.incomplete_command.is_empty() {
            "hammerdb>"
        } else {
            "> "
        }
    }

    /// Executes one line of input, without its line end. Returns the exit status if the session ends.
    pub fn run_line(&mut self, backend: &mut dyn Backend, line: &str) -> Option<u8> {
        if !self.on_terminal {
            backend.print("\n");
        }
        self.incomplete_command += line.trim_end_matches('\r');
        self.incomplete_command.push('\n');
        if !is_complete(&self.incomplete_command) {
            return None;
        }
        let script = std::mem::take(&mut self.incomplete_command);
        match self.eval(backend, &script) {
            Ok(result) => {
                if !result.is_empty() || !self.on_terminal {
                    backend.puts(&result);
                }
                None
            }
            Err(Flow::Exit(status)) => Some(status),
            Err(Flow::Error(message)) => {
                backend.puts(&message);
                None
            }
            Err(_) => Some(INTERRUPTED_EXIT_STATUS),
        }
    }

    /// Ends the input and returns the exit status. An incomplete command is an error.
    pub fn end_input(&mut self, backend: &mut dyn Backend) -> u8 {
        if self.incomplete_command.trim().is_empty() {
            return 0;
        }
        let script = std::mem::take(&mut self.incomplete_command);
        let outcome = self.eval(backend, &script);
        exit_status(backend, outcome, "")
    }

    /// Runs a file (`auto FILE`) and returns the exit status.
    pub fn run_file(&mut self, backend: &mut dyn Backend, path: &str) -> u8 {
        let argv = join_list(&["auto", path]);
        for (name, value) in [("argv0", "auto"), ("argv", &argv), ("argc", "2")] {
            self.interp.set_global(name, value);
        }
        let mut host = SessionHost {
            session: &mut self.session,
            backend,
        };
        let outcome = self.interp.source(&mut host, path);
        exit_status(backend, outcome, &format!("    while running \"{path}\"\n"))
    }

    fn eval(&mut self, backend: &mut dyn Backend, script: &str) -> TclResult {
        let mut host = SessionHost {
            session: &mut self.session,
            backend,
        };
        self.interp.eval(&mut host, script)
    }
}

/// The exit status at the end of a script; prints an error, and where it occurred.
fn exit_status(backend: &mut dyn Backend, outcome: TclResult, location: &str) -> u8 {
    match outcome {
        Err(Flow::Exit(status)) => status,
        Err(Flow::Error(message)) => {
            let text = format!("{message}\n{location}");
            backend.system_mut().put(Channel::Error, &text);
            1
        }
        Err(Flow::Stopped(_)) => INTERRUPTED_EXIT_STATUS,
        _ => 0,
    }
}
