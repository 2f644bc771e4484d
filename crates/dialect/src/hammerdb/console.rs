//! The ways to call hammerdbcli: its arguments, its prompt, its scripts.
//!
//! In: arguments; lines of standard input; a file's path. Out: texts to a [`World`], an exit status.
//! Must never: read a terminal by itself.

use super::session::{Session, VERSION};
use super::tcl::{Channel, Flow, Host, Interp, Outcome, PathKind, is_complete};
use super::world::World;

/// How hammerdbcli was called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Invocation {
    /// Commands come from standard input.
    Input,
    /// `auto FILE`: commands come from a file.
    Auto(String),
    /// The usage was asked for.
    Help,
}

/// The usage.
pub const USAGE: &str = "Usage: hammerdbcli [ tcl ] [ auto [ script_to_autoload.tcl ] ]\n";

/// Reads the arguments after the program's name.
///
/// # Errors
/// The whole text for standard error; hammerdbcli then ends with 1.
pub fn read<S: AsRef<str>>(args: &[S]) -> Result<Invocation, String> {
    let words: Vec<&str> = args.iter().map(AsRef::as_ref).collect();
    let words = match words.as_slice() {
        ["tcl", rest @ ..] => rest,
        ["py" | "python", ..] => {
            return Err(format!(
                "hammerdbcli: Prony does not offer the Python mode: write the script in Tcl\n{USAGE}"
            ));
        }
        words => words,
    };
    match words {
        [] => Ok(Invocation::Input),
        ["auto", file] => Ok(Invocation::Auto((*file).to_owned())),
        ["-h" | "--help" | "help"] => Ok(Invocation::Help),
        _ => Err(USAGE.to_owned()),
    }
}

/// The TPC-C profiles that [`compat`] picks from.
pub const PROFILES: [&str; 2] = ["hammerdb", "hammerdb-4.6"];

/// The environment variable that picks the TPC-C profile.
pub const COMPAT_VARIABLE: &str = "PRONY_HAMMERDB_COMPAT";

/// The TPC-C profile for a value of [`COMPAT_VARIABLE`], and what is said of it once on standard
/// error.
///
/// # Errors
/// The text for standard error about a value that means nothing.
pub fn compat(value: Option<&str>) -> Result<(&'static str, String), String> {
    let (profile, more) = match value.unwrap_or_default() {
        "" => (
            PROFILES[0],
            "HammerDB's draws with correct transactions; PRONY_HAMMERDB_COMPAT=4.6 for figures that compare with published ones of 4.6",
        ),
        "4.6" => (
            PROFILES[1],
            "as HammerDB 4.6, with what makes its payments and orders cheaper on PostgreSQL",
        ),
        other => {
            return Err(format!(
                "hammerdbcli: {COMPAT_VARIABLE} is \"{other}\": leave it unset or set it to 4.6\n"
            ));
        }
    };
    let notice = format!("hammerdbcli: Prony runs TPC-C with the profile {profile} ({more})\n");
    Ok((profile, notice))
}

/// The first lines of a session.
pub fn banner(prony_version: &str) -> String {
    format!(
        "HammerDB CLI {VERSION}\nspoken by Prony {prony_version}\nType \"help\" for a list of commands\n"
    )
}

/// The interpreter's host: HammerDB's commands first, then the world.
struct Bound<'a> {
    session: &'a mut Session,
    world: &'a mut dyn World,
}

impl Host for Bound<'_> {
    fn call(&mut self, name: &str, args: &[String]) -> Option<Outcome> {
        let found = self.session.command(self.world, name, args);
        found.or_else(|| self.world.call(name, args))
    }
    fn put(&mut self, channel: Channel, text: &str) {
        self.world.put(channel, text);
    }
    fn variable(&self, name: &str) -> Option<String> {
        self.world.variable(name)
    }
    fn sleep(&mut self, ms: u64) {
        self.world.sleep(ms);
    }
    fn is_stopped(&self) -> bool {
        self.world.is_stopped()
    }
    fn now_ms(&self) -> i64 {
        self.world.now_ms()
    }
    fn date(&self, seconds: i64, format: Option<&str>) -> Result<String, String> {
        self.world.date(seconds, format)
    }
    fn read_file(&mut self, path: &str) -> Result<String, String> {
        self.world.read_file(path)
    }
    fn write_file(&mut self, path: &str, text: &str, at_end: bool) -> Result<(), String> {
        self.world.write_file(path, text, at_end)
    }
    fn path_kind(&self, path: &str) -> PathKind {
        self.world.path_kind(path)
    }
}

/// A hammerdbcli: interpreter, session, and the command that is not yet complete.
pub struct Console {
    interp: Interp,
    session: Session,
    pending: String,
    on_terminal: bool,
}

/// Without the pending text: a password may stand in it.
impl std::fmt::Debug for Console {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Console")
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

/// The exit status of a session that was interrupted, as a shell has it.
const INTERRUPTED: u8 = 130;

impl Console {
    /// `on_terminal`: a person types; without, HammerDB prints an empty line for each line of input.
    pub fn new(session: Session, on_terminal: bool) -> Self {
        Self {
            interp: Interp::new(),
            session,
            pending: String::new(),
            on_terminal,
        }
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// What a terminal shows before the next line; nothing elsewhere.
    pub fn prompt(&self) -> &'static str {
        match (self.on_terminal, self.pending.is_empty()) {
            (false, _) => "",
            (true, true) => "hammerdb>",
            (true, false) => "> ",
        }
    }

    /// Takes one line of input, without its end. The exit status if the session ends.
    pub fn line(&mut self, world: &mut dyn World, line: &str) -> Option<u8> {
        if !self.on_terminal {
            world.put(Channel::Out, "\n");
        }
        self.pending.push_str(line.trim_end_matches('\r'));
        self.pending.push('\n');
        if !is_complete(&self.pending) {
            return None;
        }
        let script = std::mem::take(&mut self.pending);
        match self.eval(world, &script) {
            Ok(result) => {
                if !result.is_empty() || !self.on_terminal {
                    world.put(Channel::Out, &format!("{result}\n"));
                }
                None
            }
            Err(Flow::Exit(status)) => Some(status),
            Err(Flow::Error(message)) => {
                world.put(Channel::Out, &format!("{message}\n"));
                None
            }
            Err(_) => Some(INTERRUPTED),
        }
    }

    /// The end of the input: a command that was never completed is an error.
    pub fn end(&mut self, world: &mut dyn World) -> u8 {
        if self.pending.trim().is_empty() {
            return 0;
        }
        let script = std::mem::take(&mut self.pending);
        match self.eval(world, &script) {
            Err(Flow::Exit(status)) => status,
            Err(Flow::Error(message)) => {
                world.put(Channel::Error, &format!("{message}\n"));
                1
            }
            Err(_) => INTERRUPTED,
            Ok(_) => 0,
        }
    }

    /// Runs a file (`auto FILE`) and gives the exit status.
    pub fn run_file(&mut self, world: &mut dyn World, path: &str) -> u8 {
        let mut bound = Bound {
            session: &mut self.session,
            world,
        };
        match self.interp.source(&mut bound, path) {
            Ok(_) => 0,
            Err(Flow::Exit(status)) => status,
            Err(Flow::Error(message)) => {
                let text = format!("{message}\n    while running \"{path}\"\n");
                world.put(Channel::Error, &text);
                1
            }
            Err(Flow::Stopped(_)) => INTERRUPTED,
            Err(_) => 0,
        }
    }

    fn eval(&mut self, world: &mut dyn World, script: &str) -> Outcome {
        let mut bound = Bound {
            session: &mut self.session,
            world,
        };
        self.interp.eval(&mut bound, script)
    }
}
