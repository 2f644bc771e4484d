//! Commands that define, rename or run commands: `rename`, `namespace`, `apply`, `uplevel`, `subst`, `time`.
//!
//! Must never: lose the frames of the callers, however a script ends.

use std::rc::Rc;

use super::interp::{Interp, error, wrong_args};
use super::number::require_integer;
use super::{Call, CommandResult, Host, TclResult, list, parse, pattern};

/// Tcl's commands that Prony has.
const BUILT_IN_COMMANDS: &str = "\
    after append apply array break catch cd clock close concat continue dict eof error eval exec exit expr \
    fconfigure file flush for foreach format gets glob global if incr info join lappend lassign lindex linsert \
    list llength lmap lrange lrepeat lreplace lreverse lsearch lset lsort namespace open package pid proc puts \
    pwd read regexp regsub rename return scan set source split string subst switch time try unset update uplevel \
    upvar variable while";

/// Tcl's commands that Prony rejects: they act outside of the script, and benchmark scripts do not need them.
const UNSUPPORTED_COMMANDS: &str = "binary coroutine encoding fileevent interp load socket trace";

pub(super) fn built_in_commands() -> impl Iterator<Item = &'static str> {
    BUILT_IN_COMMANDS.split(' ')
}

impl Interp {
    pub(super) fn meta_command(&mut self, host: &mut dyn Host, call: Call<'_>) -> CommandResult {
        Some(match call {
            ("rename", [old, new]) => self.rename(host, old, new),
            ("rename", _) => wrong_args("rename oldName newName"),
            ("apply", [lambda, args @ ..]) => self.apply(host, lambda, args),
            ("apply", []) => wrong_args("apply lambdaExpr ?arg ...?"),
            ("uplevel", args) => self.uplevel(host, args),
            ("subst", args) => self.subst(host, args),
            ("time", [script]) => self.time(host, script, "1"),
            ("time", [script, count]) => self.time(host, script, count),
            ("time", _) => wrong_args("time command ?count?"),
            ("exec", _) => {
                error("Prony's hammerdbcli does not support exec: it starts no other programs")
            }
            ("namespace", args) => self.namespace_command(host, args),
            (name, _)
                if UNSUPPORTED_COMMANDS
                    .split(' ')
                    .any(|unsupported| unsupported == name) =>
            {
                error(format!("Prony's hammerdbcli does not support {name}"))
            }
            _ => return None,
        })
    }

    /// A name in the current namespace, without the leading `::` of an absolute name.
    pub(super) fn qualified(&self, name: &str) -> String {
        match name.strip_prefix("::") {
            Some(absolute) => absolute.to_owned(),
            None if self.namespace.is_empty() => name.to_owned(),
            None => format!("{}::{name}", self.namespace),
        }
    }

    /// `namespace SUBCOMMAND ...`.
    fn namespace_command(&mut self, host: &mut dyn Host, args: &[String]) -> TclResult {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        match args.as_slice() {
            ["eval", name, script @ ..] if !script.is_empty() => {
                let namespace = self.qualified(name);
                let caller = std::mem::replace(&mut self.namespace, namespace);
                // Scripts in a namespace use global variables.
                let inner_frames = self.frames.split_off(1);
                let outcome = self.eval_text(host, &script.join(" "));
                self.frames.truncate(1);
                self.frames.extend(inner_frames);
                self.namespace = caller;
                outcome
            }
            ["current"] => Ok(format!("::{}", self.namespace)),
            ["tail", name] => Ok(name.rsplit("::").next().unwrap_or(name).to_owned()),
            ["qualifiers", name] => {
                let parts = name.rsplit_once("::");
                Ok(parts.map_or("", |(before, _)| before).to_owned())
            }
            ["import", patterns @ ..] => {
                self.import(patterns);
                Ok(String::new())
            }
            // All procedures can be imported, so these subcommands have no effect.
            ["export" | "forget" | "path", ..] => Ok(String::new()),
            [other, ..] => error(format!("namespace: \"{other}\" is not supported")),
            [] => wrong_args("namespace subcommand ?arg ...?"),
        }
    }

    /// Makes procedures of other namespaces, such as `a::*`, available in the current namespace.
    fn import(&mut self, patterns: &[&str]) {
        for pattern in patterns {
            let absolute = pattern.strip_prefix("::").unwrap_or(pattern);
            let (source_namespace, tail_pattern) =
                absolute.rsplit_once("::").unwrap_or(("", absolute));
            let mut imported = Vec::new();
            for (name, procedure) in &self.procs {
                let (namespace, tail) = name.rsplit_once("::").unwrap_or(("", name));
                if namespace == source_namespace && pattern::matches(tail_pattern, tail) {
                    imported.push((self.qualified(tail), Rc::clone(procedure)));
                }
            }
            self.procs.extend(imported);
        }
    }

    pub(super) fn has_command(&self, host: &dyn Host, name: &str) -> bool {
        if self.procs.contains_key(name) || self.aliases.contains_key(name) {
            return true;
        }
        let is_original =
            built_in_commands().any(|command| command == name) || host.has_command(name);
        is_original && !self.removed_commands.contains(name)
    }

    fn rename(&mut self, host: &dyn Host, old: &str, new: &str) -> TclResult {
        let [old, new] = [old, new].map(|name| name.strip_prefix("::").unwrap_or(name));
        if !self.has_command(host, old) {
            let verb = if new.is_empty() { "delete" } else { "rename" };
            return error(format!("can't {verb} \"{old}\": command doesn't exist"));
        }
        if !new.is_empty() && self.has_command(host, new) {
            return error(format!("can't rename to \"{new}\": command already exists"));
        }
        if let Some(procedure) = self.procs.remove(old) {
            if !new.is_empty() {
                self.procs.insert(new.to_owned(), procedure);
            }
            return Ok(String::new());
        }
        let original = self.aliases.remove(old).unwrap_or_else(|| old.to_owned());
        self.removed_commands.insert(original.clone());
        if new == original {
            self.removed_commands.remove(&original);
        } else if !new.is_empty() {
            self.aliases.insert(new.to_owned(), original);
        }
        Ok(String::new())
    }

    fn apply(&mut self, host: &mut dyn Host, lambda: &str, args: &[String]) -> TclResult {
        let parts = list::split(lambda)?;
        let ([parameters, body] | [parameters, body, _]) = parts.as_slice() else {
            return error(format!(
                "can't interpret \"{lambda}\" as a lambda expression"
            ));
        };
        let procedure = Self::parse_procedure(parameters, body)?;
        self.call_procedure(host, "apply lambdaExpr", &procedure, args)
    }

    fn uplevel(&mut self, host: &mut dyn Host, args: &[String]) -> TclResult {
        let is_level = |text: &str| {
            let digits = text.strip_prefix('#').unwrap_or(text);
            !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
        };
        let (level, script) = match args {
            [level, script @ ..] if is_level(level) && !script.is_empty() => {
                (level.as_str(), script)
            }
            [] => return wrong_args("uplevel ?level? command ?arg ...?"),
            script => ("1", script),
        };
        let frame = self.frame_of_level(level)?;
        let inner_frames = self.frames.split_off(frame + 1);
        let outcome = self.eval_text(host, &script.join(" "));
        self.frames.truncate(frame + 1);
        self.frames.extend(inner_frames);
        outcome
    }

    fn subst(&mut self, host: &mut dyn Host, args: &[String]) -> TclResult {
        let usage = "subst ?-nobackslashes? ?-nocommands? ?-novariables? string";
        let [options @ .., text] = args else {
            return wrong_args(usage);
        };
        let mut substitutions = parse::Substitutions::default();
        for option in options {
            match option.as_str() {
                "-nobackslashes" => substitutions.backslashes = false,
                "-nocommands" => substitutions.commands = false,
                "-novariables" => substitutions.variables = false,
                other => {
                    return error(format!(
                        "bad option \"{other}\": must be -nobackslashes, -nocommands, or -novariables"
                    ));
                }
            }
        }
        let parts = parse::text_parts(text, substitutions)?;
        self.enter_level(host)?;
        let outcome = self.substitute(host, &parts);
        self.leave_level();
        outcome
    }

    fn time(&mut self, host: &mut dyn Host, script: &str, count: &str) -> TclResult {
        let count = require_integer(count)?;
        let started_us = host.system().now_us();
        for _ in 0..count {
            self.check_stop(host)?;
            self.eval_text(host, script)?;
        }
        let per_iteration_us = match count {
            ..=0 => 0,
            count => host.system().now_us().saturating_sub(started_us) / count,
        };
        Ok(format!("{per_iteration_us} microseconds per iteration"))
    }
}
