//! Variables, and the commands that read and set them.
//!
//! In: names in Tcl's syntax (`x`, `a(i)`, `::x`). Out: values. Must never: follow links without a limit.

use std::collections::BTreeMap;

use super::interp::{Interp, Variable, check_length, error, wrong_args};
use super::number::{TOO_LARGE, require_integer};
use super::{Call, CommandResult, Flow, Host, TclResult, list};

/// The name of a variable and its index, if it has one.
fn split_name(name: &str) -> (&str, Option<&str>) {
    match (name.strip_suffix(')')).and_then(|name| name.split_once('(')) {
        Some((array, index)) => (array, Some(index)),
        None => (name, None),
    }
}

impl Interp {
    /// Follows links. Returns the frame and the name of the variable.
    fn resolve(&self, name: &str) -> (usize, String) {
        let current = self.frames.len() - 1;
        let (mut frame, mut name) = match name.strip_prefix("::") {
            Some(global) => (0, global.to_owned()),
            None if current == 0 || name.contains("::") => (0, self.full_name(name)),
            None => (current, name.to_owned()),
        };
        // Links may form a circle, which the limit ends.
        for _ in 0..64 {
            match self.frames[frame].get(&name) {
                Some(Variable::Link(target, target_name)) if *target < self.frames.len() => {
                    frame = *target;
                    name = target_name.clone();
                }
                _ => break,
            }
        }
        (frame, name)
    }

    /// The full name of a variable outside of procedures: in the current namespace, unless the variable
    /// exists only in the global namespace.
    fn full_name(&self, name: &str) -> String {
        let qualified = self.qualified(name);
        let is_global = matches!(name, "env" | "tcl_platform") || self.frames[0].contains_key(name);
        if is_global && !self.frames[0].contains_key(&qualified) {
            name.to_owned()
        } else {
            qualified
        }
    }

    /// `variable NAME`: declares a variable of the current namespace.
    fn declare_variable(&mut self, name: &str) -> Result<(), Flow> {
        let qualified_name = self.qualified(name);
        self.link_variable(0, &qualified_name, name)
    }

    /// A variable's value; `None` if it is not set.
    pub(super) fn lookup(&self, host: &dyn Host, variable: &str) -> Option<String> {
        let (name, index) = split_name(variable);
        let (frame, name) = self.resolve(name);
        match (self.frames[frame].get(&name), index) {
            (Some(Variable::Scalar(value)), None) => Some(value.clone()),
            (Some(Variable::Array(elements)), Some(index)) if elements.contains_key(index) => {
                elements.get(index).cloned()
            }
            (_, Some(index)) if frame == 0 && name == "env" => host.system().env_var(index),
            (None, Some(index)) if frame == 0 && name == "tcl_platform" => match index {
                "platform" => Some("unix".to_owned()),
                "os" => Some("Linux".to_owned()),
                _ => None,
            },
            _ => None,
        }
    }

    /// A variable's value.
    ///
    /// # Errors
    /// The variable is not set, or is an array.
    pub(super) fn get(&self, host: &dyn Host, variable: &str) -> TclResult {
        if let Some(value) = self.lookup(host, variable) {
            return Ok(value);
        }
        let (name, index) = split_name(variable);
        let (frame, name) = self.resolve(name);
        let reason = match (self.frames[frame].get(&name), index) {
            (Some(Variable::Array(_)), None) => "variable is array",
            (Some(Variable::Scalar(_)), Some(_)) => "variable isn't array",
            (Some(Variable::Array(_)), Some(_)) => "no such element in array",
            (_, Some(_)) if name == "env" => "no such element in array",
            _ => "no such variable",
        };
        error(format!("can't read \"{variable}\": {reason}"))
    }

    /// Sets a variable, and returns its value.
    pub(super) fn set(&mut self, variable: &str, value: String) -> TclResult {
        check_length(value.len())?;
        let (name, index) = split_name(variable);
        let (frame, name) = self.resolve(name);
        let frame = &mut self.frames[frame];
        match (frame.get_mut(&name), index) {
            (Some(Variable::Array(elements)), Some(index)) => {
                elements.insert(index.to_owned(), value.clone());
            }
            (Some(Variable::Array(_)), None) => {
                return error(format!("can't set \"{variable}\": variable is array"));
            }
            (Some(Variable::Scalar(_)), Some(_)) => {
                return error(format!("can't set \"{variable}\": variable isn't array"));
            }
            (Some(Variable::Scalar(old)), None) => old.clone_from(&value),
            (_, None) => {
                frame.insert(name, Variable::Scalar(value.clone()));
            }
            (_, Some(index)) => {
                let elements = BTreeMap::from([(index.to_owned(), value.clone())]);
                frame.insert(name, Variable::Array(elements));
            }
        }
        Ok(value)
    }

    /// Deletes a variable or an element of an array. Returns whether it existed.
    pub(super) fn unset(&mut self, variable: &str) -> bool {
        let (name, index) = split_name(variable);
        let (frame, name) = self.resolve(name);
        let frame = &mut self.frames[frame];
        match (frame.get_mut(&name), index) {
            (Some(Variable::Array(elements)), Some(index)) => elements.remove(index).is_some(),
            (_, Some(_)) => false,
            (_, None) => frame.remove(&name).is_some(),
        }
    }

    /// The elements of an array; `None` if the variable is not an array.
    pub(super) fn array_elements(&self, name: &str) -> Option<&BTreeMap<String, String>> {
        let (frame, name) = self.resolve(name);
        match self.frames[frame].get(&name) {
            Some(Variable::Array(elements)) => Some(elements),
            _ => None,
        }
    }

    /// Makes `local` a link to a variable of the frame `target`.
    fn link_variable(&mut self, target: usize, target_name: &str, local: &str) -> Result<(), Flow> {
        let frame = self.frames.len() - 1;
        if frame == target {
            // `global x` at the outermost level has no effect.
            return Ok(());
        }
        let target_name = target_name.strip_prefix("::").unwrap_or(target_name);
        self.frames[frame].insert(
            local.to_owned(),
            Variable::Link(target, target_name.to_owned()),
        );
        Ok(())
    }

    /// The index of the frame that `level` names: `1` is the caller, `2` the caller's caller, `#0` the global
    /// frame.
    pub(super) fn frame_of_level(&self, level: &str) -> Result<usize, Flow> {
        let current = self.frames.len() - 1;
        let frame = match level.strip_prefix('#') {
            Some(absolute) => absolute
                .parse::<usize>()
                .ok()
                .filter(|level| *level <= current),
            None => level
                .parse::<usize>()
                .ok()
                .and_then(|level| current.checked_sub(level)),
        };
        frame.ok_or_else(|| Flow::Error(format!("bad level \"{level}\"")))
    }

    fn upvar(&mut self, args: &[String]) -> TclResult {
        let usage = "upvar ?level? otherVar localVar ?otherVar localVar ...?";
        let (level, pairs) =
            if args.len() % 2 == 1 { (args[0].as_str(), &args[1..]) } else { ("1", args) };
        let frame = self.frame_of_level(level)?;
        if pairs.is_empty() {
            return wrong_args(usage);
        }
        for pair in pairs.chunks(2) {
            self.link_variable(frame, &pair[0], &pair[1])?;
        }
        Ok(String::new())
    }

    pub(super) fn variable_command(
        &mut self,
        host: &mut dyn Host,
        call: Call<'_>,
    ) -> CommandResult {
        Some(match call {
            ("set", [variable]) => self.get(host, variable),
            ("set", [variable, value]) => self.set(variable, value.clone()).inspect(|value| {
                let name = variable.strip_prefix("::").unwrap_or(variable);
                if let Some(index) = name.strip_prefix("env(") {
                    host.system_mut()
                        .set_env_var(index.trim_end_matches(')'), value);
                }
            }),
            ("set", _) => wrong_args("set varName ?newValue?"),
            ("unset", args) => self.unset_command(args),
            ("incr", [variable]) => self.increment(host, variable, "1"),
            ("incr", [variable, increment]) => self.increment(host, variable, increment),
            ("incr", _) => wrong_args("incr varName ?increment?"),
            ("append", [variable, values @ ..]) => {
                let mut value = self.lookup(host, variable).unwrap_or_default();
                for text in values {
                    value.push_str(text);
                }
                self.set(variable, value)
            }
            ("lappend", [variable, values @ ..]) => self.list_append(host, variable, values),
            ("global", names) => {
                let result = names
                    .iter()
                    .try_for_each(|name| self.link_variable(0, name, name));
                result.map(|()| String::new())
            }
            ("variable", [variable]) => self.declare_variable(variable).map(|()| String::new()),
            ("variable", [variable, value]) => self
                .declare_variable(variable)
                .and_then(|()| self.set(variable, value.clone())),
            ("upvar", args) => self.upvar(args),
            _ => return None,
        })
    }

    fn unset_command(&mut self, args: &[String]) -> TclResult {
        let (allows_missing, names) = match args {
            [first, names @ ..] if first == "-nocomplain" => (true, names),
            names => (false, names),
        };
        for name in names.iter().filter(|name| *name != "--") {
            if !self.unset(name) && !allows_missing {
                return error(format!("can't unset \"{name}\": no such variable"));
            }
        }
        Ok(String::new())
    }

    fn increment(&mut self, host: &dyn Host, variable: &str, increment: &str) -> TclResult {
        let old = self
            .lookup(host, variable)
            .unwrap_or_else(|| "0".to_owned());
        match require_integer(&old)?.checked_add(require_integer(increment)?) {
            Some(new) => self.set(variable, new.to_string()),
            None => error(TOO_LARGE),
        }
    }

    fn list_append(&mut self, host: &dyn Host, variable: &str, elements: &[String]) -> TclResult {
        let mut value = self.lookup(host, variable).unwrap_or_default();
        list::split(&value)?;
        for element in elements {
            list::push(&mut value, element);
        }
        self.set(variable, value)
    }
}
