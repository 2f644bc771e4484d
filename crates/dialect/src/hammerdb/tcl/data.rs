//! `info`, `array`, `dict`, `clock`.
//!
//! In: words. Out: text. Must never: read a clock: the [`Host`] does.

use super::interp::{Interp, error, wrong_args};
use super::number::integer;
use super::{Flow, Host, Outcome, list, pattern};

/// The pairs of a dictionary's text, keys once each, in order.
fn pairs(text: &str) -> Result<Vec<(String, String)>, Flow> {
    let mut elements = list::split(text).map_err(Flow::Error)?.into_iter();
    let mut found: Vec<(String, String)> = Vec::new();
    while let Some(key) = elements.next() {
        let Some(value) = elements.next() else {
            return error("missing value to go with key");
        };
        put(&mut found, &key, value);
    }
    Ok(found)
}

fn put(found: &mut Vec<(String, String)>, key: &str, value: String) {
    match found.iter_mut().find(|(old, _)| old == key) {
        Some((_, old)) => *old = value,
        None => found.push((key.to_owned(), value)),
    }
}

fn text(pairs: &[(String, String)]) -> String {
    let flat: Vec<&str> = (pairs.iter())
        .flat_map(|(key, value)| [key.as_str(), value])
        .collect();
    list::join(&flat)
}

impl Interp {
    /// The commands about data.
    pub(super) fn data(
        &mut self,
        host: &mut dyn Host,
        name: &str,
        args: &[String],
    ) -> Option<Outcome> {
        Some(match (name, args) {
            ("info", args) => self.info(host, args),
            ("array", [what, name, rest @ ..]) => self.array_command(host, what, name, rest),
            ("array", _) => wrong_args("array subcommand arrayName ?arg ...?"),
            ("dict", [what, rest @ ..]) => self.dict(host, what, rest),
            ("dict", []) => wrong_args("dict subcommand ?arg ...?"),
            ("clock", args) => clock(host, args),
            _ => return None,
        })
    }

    fn info(&mut self, host: &dyn Host, args: &[String]) -> Outcome {
        let words: Vec<&str> = args.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["exists", name] => {
                let found = self.lookup(host, name).is_some() || self.array(name).is_some();
                Ok(i64::from(found).to_string())
            }
            ["procs" | "commands", rest @ ..] => {
                let wanted = rest.first().copied().unwrap_or("*");
                let mut found: Vec<&String> = self
                    .procs
                    .keys()
                    .filter(|name| pattern::fits(wanted, name))
                    .collect();
                found.sort();
                Ok(list::join(&found))
            }
            ["args", name] => self.procedure(name, |p| p.parameter_text.clone()),
            ["body", name] => self.procedure(name, |p| p.body_text.clone()),
            ["script"] => Ok(self.script_name.clone()),
            ["level"] => Ok((self.frames.len() - 1).to_string()),
            ["tclversion"] => Ok("8.6".to_owned()),
            ["patchlevel"] => Ok("8.6.13".to_owned()),
            ["nameofexecutable"] => Ok("hammerdbcli".to_owned()),
            _ => error(format!(
                "info: \"{}\" is not offered: use exists, procs, args, body, script or level",
                args.join(" ")
            )),
        }
    }

    fn procedure(&self, name: &str, what: impl Fn(&super::interp::Proc) -> String) -> Outcome {
        match self.procs.get(name) {
            Some(procedure) => Ok(what(procedure)),
            None => error(format!("\"{name}\" isn't a procedure")),
        }
    }

    fn array_command(
        &mut self,
        host: &dyn Host,
        what: &str,
        name: &str,
        args: &[String],
    ) -> Outcome {
        let elements = self.array(name).cloned();
        let wanted = args.first().map_or("*", String::as_str);
        let fitting = || {
            let all = elements.iter().flatten();
            all.filter(|(key, _)| pattern::fits(wanted, key))
        };
        match what {
            "exists" => Ok(i64::from(elements.is_some()).to_string()),
            "size" => Ok(elements.map_or(0, |found| found.len()).to_string()),
            "names" => Ok(list::join(
                &fitting().map(|(key, _)| key).collect::<Vec<_>>(),
            )),
            "get" => Ok(list::join(
                &fitting()
                    .flat_map(|(key, value)| [key, value])
                    .collect::<Vec<_>>(),
            )),
            "set" => {
                for (key, value) in pairs(args.first().map_or("", String::as_str))? {
                    self.set(&format!("{name}({key})"), value)?;
                }
                Ok(String::new())
            }
            "unset" => {
                let keys: Vec<String> = fitting().map(|(key, _)| key.clone()).collect();
                for key in keys {
                    let words = ["-nocomplain".to_owned(), format!("{name}({key})")];
                    let mut nobody = super::io::Nobody(host);
                    let _ = self.variables(&mut nobody, "unset", &words);
                }
                Ok(String::new())
            }
            other => error(format!("array: \"{other}\" is not offered")),
        }
    }

    fn dict(&mut self, host: &mut dyn Host, what: &str, args: &[String]) -> Outcome {
        match (what, args) {
            ("create", all) => pairs(&list::join(all)).map(|found| text(&found)),
            ("get", [dict, keys @ ..]) => {
                let mut value = dict.clone();
                for key in keys {
                    value = match pairs(&value)?.into_iter().find(|(found, _)| found == key) {
                        Some((_, value)) => value,
                        None => return error(format!("key \"{key}\" not known in dictionary")),
                    };
                }
                Ok(value)
            }
            ("exists", [dict, keys @ ..]) => {
                let mut value = dict.clone();
                for key in keys {
                    let found = pairs(&value).unwrap_or_default();
                    match found.into_iter().find(|(found, _)| found == key) {
                        Some((_, inner)) => value = inner,
                        None => return Ok("0".to_owned()),
                    }
                }
                Ok("1".to_owned())
            }
            ("keys" | "values", [dict, rest @ ..]) => {
                let wanted = rest.first().map_or("*", String::as_str);
                let all = pairs(dict)?.into_iter();
                let chosen: Vec<String> = all
                    .map(|(key, value)| if what == "keys" { key } else { value })
                    .filter(|found| pattern::fits(wanted, found))
                    .collect();
                Ok(list::join(&chosen))
            }
            ("size", [dict]) => Ok(pairs(dict)?.len().to_string()),
            ("set", [name, key, value]) => {
                let mut found = pairs(&self.lookup(host, name).unwrap_or_default())?;
                put(&mut found, key, value.clone());
                self.set(name, text(&found))
            }
            ("unset", [name, key]) => {
                let mut found = pairs(&self.get(host, name)?)?;
                found.retain(|(old, _)| old != key);
                self.set(name, text(&found))
            }
            ("for", [names, dict, body]) => {
                let flat = text(&pairs(dict)?);
                let words = [names.clone(), flat, body.clone()];
                self.control(host, "foreach", &words)
                    .unwrap_or_else(|| Ok(String::new()))
            }
            _ => error(format!(
                "dict: \"{what}\" with {} arguments is not offered",
                args.len()
            )),
        }
    }
}

fn clock(host: &dyn Host, args: &[String]) -> Outcome {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["seconds"] => Ok(host.now_ms().div_euclid(1000).to_string()),
        ["milliseconds"] => Ok(host.now_ms().to_string()),
        ["microseconds"] => Ok(host.now_ms().saturating_mul(1000).to_string()),
        ["clicks", ..] => Ok(host.now_ms().to_string()),
        ["format", seconds, options @ ..] => {
            let Some(seconds) = integer(seconds) else {
                return error(format!("expected integer but got \"{seconds}\""));
            };
            let format = options.chunks(2).find(|pair| pair[0] == "-format");
            let format = format.and_then(|pair| pair.get(1)).copied();
            host.date(seconds, format).map_err(Flow::Error)
        }
        _ => error("clock: use seconds, milliseconds, or format SECONDS ?-format TEXT?"),
    }
}
