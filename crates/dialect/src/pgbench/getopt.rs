//! GNU `getopt_long`: permuted, bundled and abbreviated options.
//!
//! In: arguments and the tables of options. Out: options in order, then what is left. Must never:
//! know what an option means.
//!
//! Written for pgbench: no optional arguments, and the caller stops at the first complaint.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// A long option.
pub(crate) struct Long {
    /// Its name without the dashes.
    pub name: &'static str,
    /// Whether it takes a value.
    pub takes_value: bool,
    /// What it is reported as: the short option of the same meaning, or a value of its own.
    pub key: Key,
    /// Prony's own options do not take part in abbreviations, so that those of pgbench stay valid.
    pub exact_only: bool,
}

/// Which option was met: a short option's letter, or the name of a long option without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// A short option.
    Short(char),
    /// An option that has only a long name.
    Long(&'static str),
}

/// A reader of one command line.
pub(crate) struct Getopt<'a> {
    /// Letters, each followed by a colon if it takes a value.
    pub short: &'a str,
    /// Long options in the order in which possibilities are listed.
    pub long: &'a [Long],
    /// Not yet read, without the program's name; reversed.
    waiting: Vec<OsString>,
    /// What is left of a bundle of short options.
    bundle: Option<Vec<u8>>,
    operands: Vec<OsString>,
    /// POSIXLY_CORRECT: the first operand ends the options.
    stop_at_operand: bool,
}

/// An option and its value.
pub(crate) type Found = (Key, Option<OsString>);

impl<'a> Getopt<'a> {
    /// `arguments`: without the program's name.
    pub fn new(short: &'a str, long: &'a [Long], arguments: &[OsString], posix: bool) -> Self {
        Self {
            short,
            long,
            waiting: arguments.iter().rev().cloned().collect(),
            bundle: None,
            operands: Vec::new(),
            stop_at_operand: posix,
        }
    }

    /// The next option; none at their end. An error is getopt's complaint without the program's name.
    pub fn next(&mut self) -> Result<Option<Found>, String> {
        if self.bundle.is_some() {
            return self.next_short().map(Some);
        }
        while let Some(argument) = self.waiting.pop() {
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
                self.waiting.push(argument);
                break;
            }
            self.operands.push(argument);
        }
        self.operands.extend(self.waiting.drain(..).rev());
        Ok(None)
    }

    /// What is not an option, in order; complete once `next` has returned none.
    pub fn operands(self) -> Vec<OsString> {
        self.operands
    }

    fn next_short(&mut self) -> Result<Found, String> {
        let mut bundle = self.bundle.take().expect("a bundle is open");
        let letter = char::from(bundle.remove(0));
        let place = match letter {
            ':' | ';' => None,
            _ => self.short.find(letter),
        };
        let Some(place) = place else {
            return Err(format!("invalid option -- '{letter}'"));
        };
        if self.short.as_bytes().get(place + 1) != Some(&b':') {
            self.bundle = (!bundle.is_empty()).then_some(bundle);
            return Ok((Key::Short(letter), None));
        }
        let value = if bundle.is_empty() {
            self.waiting.pop()
        } else {
            Some(OsString::from_vec(bundle))
        };
        match value {
            Some(value) => Ok((Key::Short(letter), Some(value))),
            None => Err(format!("option requires an argument -- '{letter}'")),
        }
    }

    fn next_long(&mut self, typed: &[u8]) -> Result<Found, String> {
        let end = typed.iter().position(|byte| *byte == b'=');
        let name = String::from_utf8_lossy(&typed[..end.unwrap_or(typed.len())]).into_owned();
        let shown = String::from_utf8_lossy(typed);
        let option = match self.long.iter().find(|long| long.name == name) {
            Some(exact) => exact,
            None => {
                let like = |long: &&Long| !long.exact_only && long.name.starts_with(name.as_str());
                let found: Vec<_> = self.long.iter().filter(like).collect();
                match found[..] {
                    [one] => one,
                    [] => return Err(format!("unrecognized option '--{shown}'")),
                    _ => {
                        let names = found.iter().map(|long| format!(" '--{}'", long.name));
                        let names: String = names.collect();
                        return Err(format!(
                            "option '--{shown}' is ambiguous; possibilities:{names}"
                        ));
                    }
                }
            }
        };
        let value = end.map(|end| OsString::from_vec(typed[end + 1..].to_vec()));
        match (option.takes_value, value) {
            (false, None) => Ok((option.key, None)),
            (false, Some(_)) => Err(format!(
                "option '--{}' doesn't allow an argument",
                option.name
            )),
            (true, Some(value)) => Ok((option.key, Some(value))),
            (true, None) => match self.waiting.pop() {
                Some(value) => Ok((option.key, Some(value))),
                None => Err(format!("option '--{}' requires an argument", option.name)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: [Long; 4] = [
        long("time", true, Key::Short('T')),
        long("transactions", true, Key::Short('t')),
        long("log", false, Key::Short('l')),
        long("log-prefix", true, Key::Long("log-prefix")),
    ];

    const fn long(name: &'static str, takes_value: bool, key: Key) -> Long {
        Long {
            name,
            takes_value,
            key,
            exact_only: false,
        }
    }

    fn all(words: &[&str]) -> Result<(Vec<Found>, Vec<OsString>), String> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let mut getopt = Getopt::new("T:t:lC", &LONG, &words, false);
        let mut found = Vec::new();
        while let Some(one) = getopt.next()? {
            found.push(one);
        }
        Ok((found, getopt.operands()))
    }

    #[test]
    fn options_may_follow_operands_and_be_bundled_and_abbreviated() {
        let (found, left) = all(&["db", "-lCT5", "--tr=3", "x", "--", "-l"]).unwrap();
        let keys: Vec<_> = found.iter().map(|(key, _)| *key).collect();
        assert_eq!(keys, ['l', 'C', 'T', 't'].map(Key::Short));
        assert_eq!(found[2].1, Some("5".into()));
        assert_eq!(found[3].1, Some("3".into()));
        assert_eq!(left, ["db", "x", "-l"]);
    }

    #[test]
    fn an_exact_name_is_not_ambiguous() {
        assert_eq!(all(&["--log"]).unwrap().0, [(Key::Short('l'), None)]);
        assert_eq!(
            all(&["--log-p", "x"]).unwrap().0[0].0,
            Key::Long("log-prefix")
        );
    }

    #[test]
    fn complaints_are_glibcs() {
        let complaint = |words: &[&str]| all(words).unwrap_err();
        assert_eq!(complaint(&["--foo=1"]), "unrecognized option '--foo=1'");
        assert_eq!(
            complaint(&["--t=1"]),
            "option '--t=1' is ambiguous; possibilities: '--time' '--transactions'"
        );
        assert_eq!(
            complaint(&["--lo"]),
            "option '--lo' is ambiguous; possibilities: '--log' '--log-prefix'"
        );
        assert_eq!(
            complaint(&["--log=1"]),
            "option '--log' doesn't allow an argument"
        );
        assert_eq!(complaint(&["--ti"]), "option '--time' requires an argument");
        assert_eq!(complaint(&["-T"]), "option requires an argument -- 'T'");
        assert_eq!(complaint(&["-lx"]), "invalid option -- 'x'");
        assert_eq!(complaint(&["-:"]), "invalid option -- ':'");
        assert_eq!(complaint(&["-l-"]), "invalid option -- '-'");
    }
}
