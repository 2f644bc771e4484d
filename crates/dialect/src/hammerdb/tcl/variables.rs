//! Variables: reading, setting, and the commands that do.
//!
//! In: names as Tcl writes them (`x`, `a(i)`, `::x`). Out: values. Must never: follow links in a
//! circle.

use std::collections::BTreeMap;

use super::interp::{Interp, MAX_VALUE_BYTES, Variable, error, wrong_args};
use super::number::integer;
use super::{Flow, Host, Outcome, list};

/// A variable's name and index.
fn parted(name: &str) -> (&str, Option<&str>) {
    match (name.strip_suffix(')')).and_then(|rest| rest.split_once('(')) {
        Some((array, index)) => (array, Some(index)),
        None => (name, None),
    }
}

impl Interp {
    /// The frame and name where a variable lies.
    fn place(&self, name: &str) -> (usize, String) {
        let (mut frame, mut name) = match name.strip_prefix("::") {
            Some(rest) => (0, rest.to_owned()),
            None => (self.frames.len() - 1, name.to_owned()),
        };
        // Links lead to outer frames, or were made from what was no link.
        for _ in 0..64 {
            match self.frames[frame].get(&name) {
                Some(Variable::Link(to, other)) if *to < self.frames.len() => {
                    (frame, name) = (*to, other.clone());
                }
                _ => break,
            }
        }
        (frame, name)
    }

    /// A variable's value if it has one.
    pub(super) fn lookup(&self, host: &dyn Host, full: &str) -> Option<String> {
        let (name, index) = parted(full);
        let (frame, name) = self.place(name);
        match (self.frames[frame].get(&name), index) {
            (Some(Variable::Scalar(value)), None) => Some(value.clone()),
            (Some(Variable::Array(elements)), Some(index)) if elements.contains_key(index) => {
                elements.get(index).cloned()
            }
            (_, Some(index)) if frame == 0 && name == "env" => host.variable(index),
            (None, Some(index)) if frame == 0 && name == "tcl_platform" => match index {
                "platform" => Some("unix".to_owned()),
                "os" => Some("Linux".to_owned()),
                _ => None,
            },
            _ => None,
        }
    }

    /// A variable's value.
    pub(super) fn get(&self, host: &dyn Host, full: &str) -> Outcome {
        if let Some(value) = self.lookup(host, full) {
            return Ok(value);
        }
        let (name, index) = parted(full);
        let (frame, name) = self.place(name);
        let why = match (self.frames[frame].get(&name), index) {
            (Some(Variable::Array(_)), None) => "variable is array",
            (Some(Variable::Scalar(_)), Some(_)) => "variable isn't array",
            (Some(Variable::Array(_)), Some(_)) => "no such element in array",
            (_, Some(_)) if name == "env" => "no such element in array",
            _ => "no such variable",
        };
        error(format!("can't read \"{full}\": {why}"))
    }

    /// Sets a variable.
    pub(super) fn set(&mut self, full: &str, value: String) -> Outcome {
        if value.len() > MAX_VALUE_BYTES {
            return error("value too long");
        }
        let (name, index) = parted(full);
        let (frame, name) = self.place(name);
        let frame = &mut self.frames[frame];
        match (frame.get_mut(&name), index) {
            (Some(Variable::Array(elements)), Some(index)) => {
                elements.insert(index.to_owned(), value.clone());
            }
            (Some(Variable::Array(_)), None) => {
                return error(format!("can't set \"{full}\": variable is array"));
            }
            (Some(Variable::Scalar(_)), Some(_)) => {
                return error(format!("can't set \"{full}\": variable isn't array"));
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

    fn unset(&mut self, full: &str) -> bool {
        let (name, index) = parted(full);
        let (frame, name) = self.place(name);
        let frame = &mut self.frames[frame];
        match (frame.get_mut(&name), index) {
            (Some(Variable::Array(elements)), Some(index)) => elements.remove(index).is_some(),
            (_, Some(_)) => false,
            (_, None) => frame.remove(&name).is_some(),
        }
    }

    /// The elements of an array; none if it is none.
    pub(super) fn array(&self, name: &str) -> Option<&BTreeMap<String, String>> {
        let (frame, name) = self.place(name);
        match self.frames[frame].get(&name) {
            Some(Variable::Array(elements)) => Some(elements),
            _ => None,
        }
    }

    fn link(&mut self, to: usize, other: &str, local: &str) -> Result<(), Flow> {
        let frame = self.frames.len() - 1;
        if frame == to {
            // `global x` at the outermost level means nothing.
            return Ok(());
        }
        let other = other.strip_prefix("::").unwrap_or(other);
        self.frames[frame].insert(local.to_owned(), Variable::Link(to, other.to_owned()));
        Ok(())
    }

    fn upvar(&mut self, args: &[String]) -> Outcome {
        let usage = "upvar ?level? otherVar localVar ?otherVar localVar ...?";
        let current = self.frames.len() - 1;
        let (level, pairs) = if args.len() % 2 == 1 {
            (args[0].as_str(), &args[1..])
        } else {
            ("1", args)
        };
        let to = match level.strip_prefix('#') {
            Some(absolute) => absolute.parse::<usize>().ok().filter(|l| *l <= current),
            None => level
                .parse::<usize>()
                .ok()
                .and_then(|l| current.checked_sub(l)),
        };
        let Some(to) = to else {
            return error(format!("bad level \"{level}\""));
        };
        if pairs.is_empty() {
            return wrong_args(usage);
        }
        for pair in pairs.chunks(2) {
            self.link(to, &pair[0], &pair[1])?;
        }
        Ok(String::new())
    }

    /// The commands about variables.
    pub(super) fn variables(
        &mut self,
        host: &mut dyn Host,
        name: &str,
        args: &[String],
    ) -> Option<Outcome> {
        Some(match (name, args) {
            ("set", [variable]) => self.get(host, variable),
            ("set", [variable, value]) => self.set(variable, value.clone()),
            ("set", _) => wrong_args("set varName ?newValue?"),
            ("unset", args) => self.unset_command(args),
            ("incr", [variable]) => self.increment(host, variable, "1"),
            ("incr", [variable, by]) => self.increment(host, variable, by),
            ("incr", _) => wrong_args("incr varName ?increment?"),
            ("append", [variable, more @ ..]) => {
                let mut value = self.lookup(host, variable).unwrap_or_default();
                for text in more {
                    value.push_str(text);
                }
                self.set(variable, value)
            }
            ("lappend", [variable, more @ ..]) => self.list_append(host, variable, more),
            ("global", names) => {
                let all = names.iter().try_for_each(|name| self.link(0, name, name));
                all.map(|()| String::new())
            }
            ("variable", [variable]) => self.link(0, variable, variable).map(|()| String::new()),
            ("variable", [variable, value]) => self
                .link(0, variable, variable)
                .and_then(|()| self.set(variable, value.clone())),
            ("upvar", args) => self.upvar(args),
            _ => return None,
        })
    }

    fn unset_command(&mut self, args: &[String]) -> Outcome {
        let (quiet, names) = match args {
            [first, rest @ ..] if first == "-nocomplain" => (true, rest),
            all => (false, all),
        };
        for name in names.iter().filter(|name| *name != "--") {
            if !self.unset(name) && !quiet {
                return error(format!("can't unset \"{name}\": no such variable"));
            }
        }
        Ok(String::new())
    }

    fn increment(&mut self, host: &dyn Host, variable: &str, by: &str) -> Outcome {
        let old = self
            .lookup(host, variable)
            .unwrap_or_else(|| "0".to_owned());
        let read = |text: &str| match integer(text) {
            Some(number) => Ok(number),
            None => error(format!("expected integer but got \"{text}\"")),
        };
        match read(&old)?.checked_add(read(by)?) {
            Some(new) => self.set(variable, new.to_string()),
            None => error("integer value too large to represent"),
        }
    }

    fn list_append(&mut self, host: &dyn Host, variable: &str, more: &[String]) -> Outcome {
        let mut value = self.lookup(host, variable).unwrap_or_default();
        list::split(&value).map_err(Flow::Error)?;
        for element in more {
            list::push(&mut value, element);
        }
        self.set(variable, value)
    }
}
