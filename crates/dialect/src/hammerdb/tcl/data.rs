//! The commands `info`, `array`, `dict` and `clock`.
//!
//! The [`Host`] reads the clock.

use super::commands::built_in_commands;
use super::interp::{Interp, bool_result, error, wrong_args};
use super::number::{parse_bool, require_integer};
use super::{Call, CommandResult, Flow, Host, TclResult, list, pattern};

/// Parses a dictionary's text to its keys and values, in order. If a key is repeated, the last value applies.
fn parse_dict(text: &str) -> Result<Vec<(String, String)>, Flow> {
    let mut elements = list::split(text)?.into_iter();
    let mut pairs: Vec<(String, String)> = Vec::new();
    while let Some(key) = elements.next() {
        let Some(value) = elements.next() else {
            return error("missing value to go with key");
        };
        set_key(&mut pairs, &key, value);
    }
    Ok(pairs)
}

/// Sets the value of a key, in its place if the key exists.
fn set_key(pairs: &mut Vec<(String, String)>, key: &str, value: String) {
    match pairs.iter_mut().find(|(existing, _)| existing == key) {
        Some((_, existing)) => *existing = value,
        None => pairs.push((key.to_owned(), value)),
    }
}

fn dict_text(pairs: &[(String, String)]) -> String {
    let flat: Vec<&str> = (pairs.iter())
        .flat_map(|(key, value)| [key.as_str(), value])
        .collect();
    list::join(&flat)
}

/// The list of the names that match the first pattern, sorted; all names without a pattern.
fn matching_names<'a>(names: impl Iterator<Item = &'a String>, patterns: &[&str]) -> String {
    let pattern = patterns.first().copied().unwrap_or("*");
    let mut names: Vec<&String> = names
        .filter(|name| pattern::matches(pattern, name))
        .collect();
    names.sort();
    list::join(&names)
}

impl Interp {
    pub(super) fn data_command(&mut self, host: &mut dyn Host, call: Call<'_>) -> CommandResult {
        Some(match call {
            ("info", args) => self.info_command(host, args),
            ("array", [subcommand, name, args @ ..]) => self.array_command(subcommand, name, args),
            ("array", _) => wrong_args("array subcommand arrayName ?arg ...?"),
            ("dict", [subcommand, args @ ..]) => self.dict_command(host, subcommand, args),
            ("dict", []) => wrong_args("dict subcommand ?arg ...?"),
            ("clock", args) => clock_command(host, args),
            _ => return None,
        })
    }

    fn info_command(&mut self, host: &dyn Host, args: &[String]) -> TclResult {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        match args.as_slice() {
            ["exists", name] => {
                let is_array = self.array_elements(name).is_some();
                bool_result(is_array || self.lookup(host, name).is_some())
            }
            ["procs", patterns @ ..] => Ok(matching_names(self.procs.keys(), patterns)),
            ["commands" | "command", patterns @ ..] => {
                Ok(self.command_names(host, patterns.first().copied()))
            }
            ["vars" | "locals", patterns @ ..] => {
                let frame = self.frames.last().into_iter();
                Ok(matching_names(
                    frame.flat_map(|frame| frame.keys()),
                    patterns,
                ))
            }
            ["hostname"] => Ok(host.system().host_name()),
            ["args", name] => {
                self.procedure_text(name, |procedure| procedure.parameter_text.clone())
            }
            ["body", name] => self.procedure_text(name, |procedure| procedure.body_text.clone()),
            ["script"] => Ok(self.script_name.clone()),
            ["level"] => Ok((self.frames.len() - 1).to_string()),
            ["tclversion"] => Ok("8.6".to_owned()),
            ["patchlevel"] => Ok("8.6.13".to_owned()),
            ["nameofexecutable"] => Ok("hammerdbcli".to_owned()),
            _ => error(format!(
                "info: \"{}\" is not supported: use exists, commands, procs, vars, args, body, script, level or hostname",
                args.join(" ")
            )),
        }
    }

    /// The names of all commands that match a pattern. A command of HammerDB is included only if the pattern
    /// is its full name.
    fn command_names(&self, host: &dyn Host, pattern: Option<&str>) -> String {
        let full_name = pattern.filter(|name| !name.contains(['*', '?', '[', '\\']));
        if let Some(name) = full_name {
            let name = name.strip_prefix("::").unwrap_or(name);
            return if self.has_command(host, name) { list::join(&[name]) } else { String::new() };
        }
        let defined = self.procs.keys().chain(self.aliases.keys());
        let mut names: Vec<&str> = defined.map(String::as_str).collect();
        for name in built_in_commands() {
            if !self.removed_commands.contains(name) {
                names.push(name);
            }
        }
        names.retain(|name| pattern::matches(pattern.unwrap_or("*"), name));
        names.sort_unstable();
        names.dedup();
        list::join(&names)
    }

    /// A text of the procedure with this name, such as its body.
    fn procedure_text(
        &self,
        name: &str,
        text_of: impl Fn(&super::interp::Proc) -> String,
    ) -> TclResult {
        match self.procs.get(name) {
            Some(procedure) => Ok(text_of(procedure)),
            None => error(format!("\"{name}\" isn't a procedure")),
        }
    }

    fn array_command(&mut self, subcommand: &str, name: &str, args: &[String]) -> TclResult {
        let elements = self.array_elements(name).cloned();
        let pattern = args.first().map_or("*", String::as_str);
        let matching = || {
            let elements = elements.iter().flatten();
            elements.filter(|(key, _)| pattern::matches(pattern, key))
        };
        match subcommand {
            "exists" => bool_result(elements.is_some()),
            "size" => Ok(elements.map_or(0, |elements| elements.len()).to_string()),
            "names" => {
                let keys: Vec<&String> = matching().map(|(key, _)| key).collect();
                Ok(list::join(&keys))
            }
            "get" => {
                let flat = matching().flat_map(|(key, value)| [key, value]);
                Ok(list::join(&flat.collect::<Vec<_>>()))
            }
            "set" => {
                for (key, value) in parse_dict(args.first().map_or("", String::as_str))? {
                    self.set(&format!("{name}({key})"), value)?;
                }
                Ok(String::new())
            }
            "unset" => {
                let keys: Vec<String> = matching().map(|(key, _)| key.clone()).collect();
                for key in keys {
                    self.unset(&format!("{name}({key})"));
                }
                Ok(String::new())
            }
            other => error(format!("array: \"{other}\" is not supported")),
        }
    }

    fn dict_command(
        &mut self,
        host: &mut dyn Host,
        subcommand: &str,
        args: &[String],
    ) -> TclResult {
        match (subcommand, args) {
            ("create", elements) => {
                parse_dict(&list::join(elements)).map(|pairs| dict_text(&pairs))
            }
            ("get", [dict, keys @ ..]) => {
                let mut value = dict.clone();
                for key in keys {
                    let entries = parse_dict(&value)?;
                    match entries.into_iter().find(|(name, _)| name == key) {
                        Some((_, inner)) => value = inner,
                        None => return error(format!("key \"{key}\" not known in dictionary")),
                    }
                }
                Ok(value)
            }
            ("exists", [dict, keys @ ..]) => {
                let mut value = dict.clone();
                for key in keys {
                    let entries = parse_dict(&value).unwrap_or_default();
                    match entries.into_iter().find(|(name, _)| name == key) {
                        Some((_, inner)) => value = inner,
                        None => return Ok("0".to_owned()),
                    }
                }
                Ok("1".to_owned())
            }
            ("keys" | "values", [dict, patterns @ ..]) => {
                let pattern = patterns.first().map_or("*", String::as_str);
                let pairs = parse_dict(dict)?.into_iter();
                let elements: Vec<String> = pairs
                    .map(|(key, value)| if subcommand == "keys" { key } else { value })
                    .filter(|element| pattern::matches(pattern, element))
                    .collect();
                Ok(list::join(&elements))
            }
            ("size", [dict]) => Ok(parse_dict(dict)?.len().to_string()),
            ("set", [name, key, value]) => {
                let mut entries = parse_dict(&self.lookup(host, name).unwrap_or_default())?;
                set_key(&mut entries, key, value.clone());
                self.set(name, dict_text(&entries))
            }
            ("unset", [name, key]) => {
                let mut entries = parse_dict(&self.get(host, name)?)?;
                entries.retain(|(name, _)| name != key);
                self.set(name, dict_text(&entries))
            }
            ("for", [names, dict, body]) => {
                let flat = dict_text(&parse_dict(dict)?);
                let args = [names.clone(), flat, body.clone()];
                self.control_command(host, ("foreach", &args))
                    .unwrap_or_else(|| Ok(String::new()))
            }
            _ => error(format!(
                "dict: \"{subcommand}\" with {} arguments is not supported",
                args.len()
            )),
        }
    }
}

fn clock_command(host: &dyn Host, args: &[String]) -> TclResult {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["seconds"] => Ok(host.system().now_ms().div_euclid(1000).to_string()),
        ["milliseconds"] => Ok(host.system().now_ms().to_string()),
        ["microseconds" | "clicks"] => Ok(host.system().now_us().to_string()),
        ["clicks", ..] => Ok(host.system().now_ms().to_string()),
        ["format", seconds, options @ ..] => {
            let (format, utc) = clock_options(options);
            let seconds = require_integer(seconds)?;
            Ok(host.system().format_date(seconds, format, utc)?)
        }
        ["scan", text, options @ ..] => {
            let (format, utc) = clock_options(options);
            let seconds = host.system().parse_date(text, format, utc)?;
            Ok(seconds.to_string())
        }
        _ => error(
            "clock: use seconds, milliseconds, microseconds, clicks, format SECONDS or scan TEXT, \
             with -format TEXT, -gmt 1 or -timezone :UTC",
        ),
    }
}

/// The value of `-format`, and whether the options select UTC (`-gmt`, `-timezone`).
fn clock_options<'a>(options: &[&'a str]) -> (Option<&'a str>, bool) {
    let option = |name: &str| {
        let mut pairs = options.chunks_exact(2);
        pairs.find(|pair| pair[0] == name).map(|pair| pair[1])
    };
    let is_gmt = option("-gmt").and_then(parse_bool).unwrap_or(false);
    let is_utc_zone =
        option("-timezone").is_some_and(|zone| matches!(zone, ":UTC" | "UTC" | ":GMT" | "GMT"));
    (option("-format"), is_gmt || is_utc_zone)
}
