//! GNU `getopt_long`: operands among options, several letters in one argument, and abbreviated long options.
//!
//! In: arguments and the tables of options. Out: options in order, then operands. Must never: interpret an
//! option.
//!
//! Supports only what pgbench needs: no optional values, and the caller stops at the first error.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

pub(crate) struct LongOption {
    /// The option's name without the dashes.
    pub name: &'static str,
    pub takes_value: bool,
    /// The key that the parser returns: the key of the short option with the same meaning, or a long key.
    pub key: Key,
    /// Whether the option cannot be abbreviated. True for Prony's own options, so that they make no
    /// abbreviation of pgbench's options ambiguous.
    pub exact_only: bool,
}

/// An option's key: a short option's letter, or the name of a long option without a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Short(char),
    /// An option that has only a long name.
    Long(&'static str),
}

/// Parses one command line.
pub(crate) struct Getopt<'a> {
    /// The options, in the order in which an error lists candidates. Each short option has a long name.
    pub long: &'a [LongOption],
    /// The arguments that are not parsed yet, without the program's name, in reverse order.
    remaining: Vec<OsString>,
    /// The letters that are not parsed yet, after the first letter of an argument such as `-lCT5`; `None`
    /// outside of such an argument.
    bundle: Option<Vec<u8>>,
    operands: Vec<OsString>,
    /// Whether options end at the first operand (POSIXLY_CORRECT).
    stop_at_operand: bool,
}

/// The key of an option and its value, if it takes one.
pub(crate) type ParsedOption = (Key, Option<OsString>);

impl<'a> Getopt<'a> {
    /// `arguments`: without the program's name. `posix`: whether options end at the first operand.
    pub fn new(long: &'a [LongOption], arguments: &[OsString], posix: bool) -> Self {
        Self {
            long,
            remaining: arguments.iter().rev().cloned().collect(),
            bundle: None,
            operands: Vec::new(),
            stop_at_operand: posix,
        }
    }

    /// Returns the next option, or `None` at the end.
    ///
    /// # Errors
    /// getopt's message without the program's name.
    pub fn next(&mut self) -> Result<Option<ParsedOption>, String> {
        if self.bundle.is_some() {
            return self.next_short().map(Some);
        }
        while let Some(argument) = self.remaining.pop() {
            let bytes = argument.as_bytes();
            if bytes == b"--" {
                break;
            }
            if let Some(long) = bytes.strip_prefix(b"--") {
                let long = long.to_vec();
                return self.next_long(&long).map(Some);
            }
            if bytes.len() > 1 && bytes[0] == b'-' {
                self.bundle = Some(bytes[1..].to_vec());
                return self.next_short().map(Some);
            }
            if self.stop_at_operand {
                self.remaining.push(argument);
                break;
            }
            self.operands.push(argument);
        }
        self.operands.extend(self.remaining.drain(..).rev());
        Ok(None)
    }

    /// The operands in order; complete after `next` has returned `None`.
    pub fn operands(self) -> Vec<OsString> {
        self.operands
    }

    fn next_short(&mut self) -> Result<ParsedOption, String> {
        let mut bundle = self.bundle.take().expect("a bundle is open");
        let letter = char::from(bundle.remove(0));
        let mut options = self.long.iter();
        let Some(option) = options.find(|option| option.key == Key::Short(letter)) else {
            return Err(format!("invalid option -- '{letter}'"));
        };
        if !option.takes_value {
            self.bundle = (!bundle.is_empty()).then_some(bundle);
            return Ok((Key::Short(letter), None));
        }
        let value =
            if bundle.is_empty() { self.remaining.pop() } else { Some(OsString::from_vec(bundle)) };
        match value {
            Some(value) => Ok((Key::Short(letter), Some(value))),
            None => Err(format!("option requires an argument -- '{letter}'")),
        }
    }

    fn next_long(&mut self, argument: &[u8]) -> Result<ParsedOption, String> {
        let end = argument.iter().position(|byte| *byte == b'=');
        let name = String::from_utf8_lossy(&argument[..end.unwrap_or(argument.len())]).into_owned();
        let displayed = String::from_utf8_lossy(argument);
        let option = self.find_long(&name, &displayed)?;
        let value = end.map(|end| OsString::from_vec(argument[end + 1..].to_vec()));
        if !option.takes_value {
            return match value {
                None => Ok((option.key, None)),
                Some(_) => Err(format!(
                    "option '--{}' doesn't allow an argument",
                    option.name
                )),
            };
        }
        match value.or_else(|| self.remaining.pop()) {
            Some(value) => Ok((option.key, Some(value))),
            None => Err(format!("option '--{}' requires an argument", option.name)),
        }
    }

    /// The option with this name or with this unambiguous start of a name. `displayed`: the argument, for errors.
    fn find_long(&self, name: &str, displayed: &str) -> Result<&'a LongOption, String> {
        if let Some(exact) = self.long.iter().find(|long| long.name == name) {
            return Ok(exact);
        }
        let is_candidate = |long: &&LongOption| !long.exact_only && long.name.starts_with(name);
        let candidates: Vec<_> = self.long.iter().filter(is_candidate).collect();
        match candidates[..] {
            [candidate] => Ok(candidate),
            [] => Err(format!("unrecognized option '--{displayed}'")),
            _ => {
                let names = candidates.iter().map(|long| format!(" '--{}'", long.name));
                let names: String = names.collect();
                Err(format!(
                    "option '--{displayed}' is ambiguous; possibilities:{names}"
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: [LongOption; 5] = [
        long("connect", false, Key::Short('C')),
        long("time", true, Key::Short('T')),
        long("transactions", true, Key::Short('t')),
        long("log", false, Key::Short('l')),
        long("log-prefix", true, Key::Long("log-prefix")),
    ];

    const fn long(name: &'static str, takes_value: bool, key: Key) -> LongOption {
        LongOption {
            name,
            takes_value,
            key,
            exact_only: false,
        }
    }

    fn parse_all(arguments: &[&str]) -> Result<(Vec<ParsedOption>, Vec<OsString>), String> {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        let mut getopt = Getopt::new(&LONG, &arguments, false);
        let mut options = Vec::new();
        while let Some(option) = getopt.next()? {
            options.push(option);
        }
        Ok((options, getopt.operands()))
    }

    #[test]
    fn options_may_follow_operands_and_be_bundled_and_abbreviated() {
        let (options, operands) = parse_all(&["db", "-lCT5", "--tr=3", "x", "--", "-l"]).unwrap();
        let keys: Vec<_> = options.iter().map(|(key, _)| *key).collect();
        assert_eq!(keys, ['l', 'C', 'T', 't'].map(Key::Short));
        assert_eq!(options[2].1, Some("5".into()));
        assert_eq!(options[3].1, Some("3".into()));
        assert_eq!(operands, ["db", "x", "-l"]);
    }

    #[test]
    fn an_exact_name_is_not_ambiguous() {
        assert_eq!(parse_all(&["--log"]).unwrap().0, [(Key::Short('l'), None)]);
        assert_eq!(
            parse_all(&["--log-p", "x"]).unwrap().0[0].0,
            Key::Long("log-prefix")
        );
    }

    #[test]
    fn error_messages_match_glibc() {
        let error = |arguments: &[&str]| parse_all(arguments).unwrap_err();
        assert_eq!(error(&["--foo=1"]), "unrecognized option '--foo=1'");
        assert_eq!(
            error(&["--t=1"]),
            "option '--t=1' is ambiguous; possibilities: '--time' '--transactions'"
        );
        assert_eq!(
            error(&["--lo"]),
            "option '--lo' is ambiguous; possibilities: '--log' '--log-prefix'"
        );
        assert_eq!(
            error(&["--log=1"]),
            "option '--log' doesn't allow an argument"
        );
        assert_eq!(error(&["--ti"]), "option '--time' requires an argument");
        assert_eq!(error(&["-T"]), "option requires an argument -- 'T'");
        assert_eq!(error(&["-lx"]), "invalid option -- 'x'");
        assert_eq!(error(&["-:"]), "invalid option -- ':'");
        assert_eq!(error(&["-l-"]), "invalid option -- '-'");
    }
}
