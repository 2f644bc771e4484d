//! The interpreter: variables, procedures, and the lookup of commands.
//!
//! In: a script and a [`Host`]. Out: its result. Must never: nest deeper than [`MAX_DEPTH`]; hold a value
//! longer than [`MAX_VALUE_BYTES`].

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use super::io::OpenFiles;
use super::parse::{self, Part, Script, Word};
use super::{Call, CommandResult, Flow, Host, TclResult, list};

/// The maximum nesting of scripts, procedures and expressions. A level takes a few kilobytes of stack; a
/// stack of 2 MB suffices.
pub const MAX_DEPTH: usize = 200;

/// The maximum length of a value, in bytes.
pub(crate) const MAX_VALUE_BYTES: usize = 64 << 20;

#[derive(Clone, Debug)]
pub(super) enum Variable {
    Scalar(String),
    Array(BTreeMap<String, String>),
    /// A link to a variable of a caller (`global`, `upvar`): the index of its frame, and its name there.
    Link(usize, String),
}

pub(super) type Frame = HashMap<String, Variable>;

/// A procedure that a script defines.
#[derive(Debug)]
pub(super) struct Proc {
    /// Each with its default, if it has one.
    pub parameters: Vec<(String, Option<String>)>,
    pub parameter_text: String,
    pub body_text: String,
    pub body: Script,
    /// The namespace that defines the procedure; empty for the global namespace.
    pub namespace: String,
}

pub struct Interp {
    /// The variables of the procedures that are running, the innermost last; the first frame has the global ones.
    pub(super) frames: Vec<Frame>,
    pub(super) procs: HashMap<String, Rc<Proc>>,
    /// The original name of each renamed command that is not a procedure (`rename`), by its new name.
    pub(super) aliases: HashMap<String, String>,
    /// Original names of commands that were renamed or deleted, and are therefore unknown.
    pub(super) removed_commands: HashSet<String>,
    pub(super) files: OpenFiles,
    /// The path of the file that is running (`info script`); empty outside of files.
    pub(super) script_name: String,
    /// The current namespace, such as `a::b`; empty for the global namespace.
    pub(super) namespace: String,
    depth: usize,
    random_state: u64,
}

/// Omits the variables, because they may contain a password.
impl std::fmt::Debug for Interp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Interp").finish_non_exhaustive()
    }
}

impl Default for Interp {
    fn default() -> Self {
        Self::new()
    }
}

pub(super) fn error<T>(text: impl Into<String>) -> Result<T, Flow> {
    Err(Flow::Error(text.into()))
}

/// Refuses a value that is too long.
pub(super) fn check_length(bytes: usize) -> Result<(), String> {
    if bytes > MAX_VALUE_BYTES {
        return Err("value too long".to_owned());
    }
    Ok(())
}

/// The result `1` or `0`.
pub(super) fn bool_result(value: bool) -> TclResult {
    Ok(i64::from(value).to_string())
}

pub(super) fn wrong_args<T>(usage: &str) -> Result<T, Flow> {
    error(format!("wrong # args: should be \"{usage}\""))
}

impl Interp {
    /// An interpreter without variables.
    pub fn new() -> Self {
        Self {
            frames: vec![Frame::new()],
            procs: HashMap::new(),
            aliases: HashMap::new(),
            removed_commands: HashSet::new(),
            files: OpenFiles::default(),
            script_name: String::new(),
            namespace: String::new(),
            depth: 0,
            random_state: 0x9e37_79b9_7f4a_7c15,
        }
    }

    pub fn set_global(&mut self, name: &str, value: &str) {
        self.frames[0].insert(name.to_owned(), Variable::Scalar(value.to_owned()));
    }

    /// Runs a script at the global level.
    ///
    /// # Errors
    ///
    /// The reason why the script has no result. A `break` or `continue` outside of a loop is an error.
    pub fn eval(&mut self, host: &mut dyn Host, text: &str) -> TclResult {
        let script = parse::script(text);
        match self.run(host, &script) {
            Err(Flow::Return(value)) => Ok(value),
            other => reject_loop_flow(other),
        }
    }

    /// Runs a file (`source`, `auto`).
    pub fn source(&mut self, host: &mut dyn Host, path: &str) -> TclResult {
        let text = host.system_mut().read_file(path);
        let text = text.map_err(|reason| format!("couldn't read file \"{path}\": {reason}"))?;
        let text = text.replace("\r\n", "\n");
        let caller_script = std::mem::replace(&mut self.script_name, path.to_owned());
        let outcome = self.run(host, &parse::script(&text));
        self.script_name = caller_script;
        match outcome {
            Err(Flow::Return(value)) => Ok(value),
            other => other,
        }
    }

    /// Begins a nested evaluation, unless the script must end or nests too deeply.
    pub(super) fn enter_level(&mut self, host: &dyn Host) -> Result<(), Flow> {
        if self.depth >= MAX_DEPTH {
            return error("too many nested evaluations (infinite loop?)");
        }
        self.check_stop(host)?;
        self.depth += 1;
        Ok(())
    }

    pub(super) fn leave_level(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Ends the script if its caller requests it.
    pub(super) fn check_stop(&self, host: &dyn Host) -> Result<(), Flow> {
        if host.system().is_stopped() {
            return Err(Flow::Stopped("interrupted".to_owned()));
        }
        Ok(())
    }

    /// Runs a script's text one level deeper.
    pub(super) fn eval_text(&mut self, host: &mut dyn Host, text: &str) -> TclResult {
        self.run(host, &parse::script(text))
    }

    /// Runs a script one level deeper.
    pub(super) fn run(&mut self, host: &mut dyn Host, script: &Script) -> TclResult {
        self.enter_level(host)?;
        let outcome = self.run_inner(host, script);
        self.leave_level();
        outcome
    }

    fn run_inner(&mut self, host: &mut dyn Host, script: &Script) -> TclResult {
        let mut result = String::new();
        for words in &script.commands {
            self.check_stop(host)?;
            let words = self.substitute_words(host, words)?;
            if let Some((name, args)) = words.split_first() {
                result = self.run_command(host, name, args)?;
            }
        }
        match &script.error {
            Some(message) => error(message.clone()),
            None => Ok(result),
        }
    }

    /// Substitutes the words of a command, and expands `{*}`.
    fn substitute_words(
        &mut self,
        host: &mut dyn Host,
        words: &[Word],
    ) -> Result<Vec<String>, Flow> {
        let mut texts = Vec::with_capacity(words.len());
        for word in words {
            let text = self.substitute(host, &word.parts)?;
            if word.is_expanded {
                texts.extend(list::split(&text)?);
            } else {
                texts.push(text);
            }
        }
        Ok(texts)
    }

    /// The text of a word after substitution.
    pub(super) fn substitute(&mut self, host: &mut dyn Host, parts: &[Part]) -> TclResult {
        let mut text = String::new();
        for part in parts {
            let part_text = match part {
                Part::Text(part_text) => {
                    text.push_str(part_text);
                    continue;
                }
                Part::Script(script) => self.run(host, script)?,
                Part::Variable(name, None) => self.get(host, name)?,
                Part::Variable(name, Some(index)) => {
                    self.enter_level(host)?;
                    let index = self.substitute(host, index);
                    self.leave_level();
                    self.get(host, &format!("{name}({})", index?))?
                }
            };
            check_length(text.len() + part_text.len())?;
            text.push_str(&part_text);
        }
        Ok(text)
    }

    pub(super) fn run_command(
        &mut self,
        host: &mut dyn Host,
        name: &str,
        args: &[String],
    ) -> TclResult {
        let absolute = name.strip_prefix("::");
        let in_namespace = match absolute {
            Some(_) => None,
            None => self.procs.get(&self.qualified(name)),
        };
        let name = absolute.unwrap_or(name);
        if let Some(procedure) = in_namespace.or_else(|| self.procs.get(name)) {
            let procedure = Rc::clone(procedure);
            return self.call_procedure(host, name, &procedure, args);
        }
        let outcome = match self.aliases.get(name).cloned() {
            Some(original) => self.run_built_in(host, (&original, args)),
            None if self.removed_commands.contains(name) => None,
            None => self.run_built_in(host, (name, args)),
        };
        outcome.unwrap_or_else(|| error(format!("invalid command name \"{name}\"")))
    }

    /// Runs a command that is not a procedure, by its original name.
    fn run_built_in(&mut self, host: &mut dyn Host, call: Call<'_>) -> CommandResult {
        (self.control_command(host, call))
            .or_else(|| self.variable_command(host, call))
            .or_else(|| self.list_command(host, call))
            .or_else(|| self.string_command(host, call))
            .or_else(|| self.regex_command(host, call))
            .or_else(|| self.data_command(host, call))
            .or_else(|| self.path_command(host, call))
            .or_else(|| self.meta_command(host, call))
            .or_else(|| self.io_command(host, call))
            .or_else(|| self.host_command(host, call))
    }

    /// Runs a command of the host. HammerDB's commands print with `puts`: if a script defines a procedure
    /// `puts`, the procedure receives their output.
    fn host_command(&mut self, host: &mut dyn Host, (name, args): Call<'_>) -> CommandResult {
        if !self.procs.contains_key("puts") {
            return host.call_command(name, args);
        }
        host.system_mut().start_capture();
        let outcome = host.call_command(name, args);
        for text in host.system_mut().end_capture() {
            let line = text.strip_suffix('\n').unwrap_or(&text).to_owned();
            if let Err(flow) = self.run_command(host, "puts", &[line]) {
                return Some(Err(flow));
            }
        }
        outcome
    }

    /// Runs a procedure in a new frame. `name`: the name in the error about wrong arguments.
    pub(super) fn call_procedure(
        &mut self,
        host: &mut dyn Host,
        name: &str,
        procedure: &Proc,
        args: &[String],
    ) -> TclResult {
        let frame = bind_parameters(name, procedure, args)?;
        self.frames.push(frame);
        let caller = std::mem::replace(&mut self.namespace, procedure.namespace.clone());
        let outcome = self.run(host, &procedure.body);
        self.namespace = caller;
        self.frames.pop();
        match outcome {
            Err(Flow::Return(value)) => Ok(value),
            other => reject_loop_flow(other),
        }
    }

    /// A random number from 0 to 1 (xorshift64*).
    pub(super) fn random_number(&mut self) -> f64 {
        self.random_state ^= self.random_state >> 12;
        self.random_state ^= self.random_state << 25;
        self.random_state ^= self.random_state >> 27;
        (self.random_state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(super) fn seed_random(&mut self, seed: i64) {
        self.random_state = (seed as u64) | 1;
    }
}

fn reject_loop_flow(outcome: TclResult) -> TclResult {
    match outcome {
        Err(Flow::Break) => error("invoked \"break\" outside of a loop"),
        Err(Flow::Continue) => error("invoked \"continue\" outside of a loop"),
        other => other,
    }
}

/// The frame of a procedure when it starts: only its parameters are set.
fn bind_parameters(name: &str, procedure: &Proc, args: &[String]) -> Result<Frame, Flow> {
    let mut frame = Frame::new();
    let mut remaining_args = args.iter();
    let last = procedure.parameters.len().saturating_sub(1);
    for (index, (parameter, default)) in procedure.parameters.iter().enumerate() {
        let value = if index == last && parameter == "args" {
            let extra_args: Vec<&String> = remaining_args.by_ref().collect();
            list::join(&extra_args)
        } else {
            match remaining_args.next().or(default.as_ref()) {
                Some(value) => value.clone(),
                None => return wrong_args(&usage(name, procedure)),
            }
        };
        frame.insert(parameter.clone(), Variable::Scalar(value));
    }
    if remaining_args.next().is_some() {
        return wrong_args(&usage(name, procedure));
    }
    Ok(frame)
}

/// A procedure's name and parameters, for the error about a wrong number of arguments.
fn usage(name: &str, procedure: &Proc) -> String {
    let mut text = name.to_owned();
    for (parameter, default) in &procedure.parameters {
        text += &match default {
            Some(_) => format!(" ?{parameter}?"),
            None if parameter == "args" => " ?arg ...?".to_owned(),
            None => format!(" {parameter}"),
        };
    }
    text
}
