//! `puts`, files, `after`, `source` and what of HammerDB's own environment means nothing here.
//!
//! In: words. Out: texts to the [`Host`]. Must never: touch a file by itself.

use std::collections::BTreeMap;

use super::interp::{Interp, error, wrong_args};
use super::number::integer;
use super::{Channel, Flow, Host, Outcome, PathKind};

/// The open files of a script.
#[derive(Debug, Default)]
pub(super) struct Files {
    open: BTreeMap<String, File>,
    opened: u64,
}

#[derive(Debug)]
enum File {
    /// What is left to read.
    Reading {
        text: String,
        at: usize,
    },
    Writing {
        path: String,
    },
}

/// Lets commands that only read variables run where nothing else may happen.
pub(super) struct Nobody<'a>(pub &'a dyn Host);

impl Host for Nobody<'_> {
    fn call(&mut self, _name: &str, _args: &[String]) -> Option<Outcome> {
        None
    }
    fn put(&mut self, _channel: Channel, _text: &str) {}
    fn variable(&self, name: &str) -> Option<String> {
        self.0.variable(name)
    }
    fn sleep(&mut self, _ms: u64) {}
    fn now_ms(&self) -> i64 {
        self.0.now_ms()
    }
    fn date(&self, seconds: i64, format: Option<&str>) -> Result<String, String> {
        self.0.date(seconds, format)
    }
    fn read_file(&mut self, _path: &str) -> Result<String, String> {
        Err("not here".to_owned())
    }
    fn write_file(&mut self, _path: &str, _text: &str, _at_end: bool) -> Result<(), String> {
        Err("not here".to_owned())
    }
    fn path_kind(&self, path: &str) -> PathKind {
        self.0.path_kind(path)
    }
}

fn unknown<T>(channel: &str) -> Result<T, Flow> {
    error(format!("can not find channel named \"{channel}\""))
}

impl Interp {
    /// The commands that reach outside.
    pub(super) fn io(
        &mut self,
        host: &mut dyn Host,
        name: &str,
        args: &[String],
    ) -> Option<Outcome> {
        Some(match (name, args) {
            ("puts", args) => self.puts(host, args),
            ("source", [path]) => {
                let depth = self.enter(host);
                depth.and_then(|()| {
                    let outcome = self.source(host, path);
                    self.leave();
                    outcome
                })
            }
            ("source", _) => wrong_args("source fileName"),
            ("after", [ms]) => match integer(ms) {
                Some(ms) => {
                    host.sleep(u64::try_from(ms).unwrap_or(0));
                    Ok(String::new())
                }
                None => error(format!(
                    "bad argument \"{ms}\": must be cancel, idle, info, or an integer"
                )),
            },
            ("after", _) => error("after: only \"after ms\" is offered, which waits"),
            ("open", [path]) => self.open(host, path, "r"),
            ("open", [path, mode, ..]) => self.open(host, path, mode),
            ("close", [channel, ..]) => match self.files.open.remove(channel) {
                Some(_) => Ok(String::new()),
                None => unknown(channel),
            },
            ("gets", [channel]) => self.gets(channel).map(Option::unwrap_or_default),
            ("gets", [channel, variable]) => self.gets(channel).and_then(|line| {
                let length = line.as_ref().map(|line| line.chars().count().to_string());
                self.set(variable, line.unwrap_or_default())?;
                Ok(length.unwrap_or_else(|| "-1".to_owned()))
            }),
            ("read", args) => self.read(args),
            ("eof", [channel]) => match self.files.open.get(channel) {
                Some(File::Reading { text, at }) => Ok(i64::from(*at >= text.len()).to_string()),
                Some(File::Writing { .. }) => Ok("0".to_owned()),
                None => unknown(channel),
            },
            ("file", args) => file(host, args),
            ("pwd", []) => Ok(host.variable("PWD").unwrap_or_else(|| ".".to_owned())),
            // What HammerDB's own scripts say to an environment that Prony does not have.
            ("flush" | "fconfigure" | "update" | "package" | "namespace", _) => Ok(String::new()),
            _ => return None,
        })
    }

    fn puts(&mut self, host: &mut dyn Host, args: &[String]) -> Outcome {
        let (end, rest) = match args {
            [first, rest @ ..] if first == "-nonewline" => ("", rest),
            all => ("\n", all),
        };
        let (channel, text) = match rest {
            [text] => ("stdout", text),
            [channel, text] => (channel.as_str(), text),
            _ => return wrong_args("puts ?-nonewline? ?channelId? string"),
        };
        let text = format!("{text}{end}");
        match channel {
            "stdout" => host.put(Channel::Out, &text),
            "stderr" => host.put(Channel::Error, &text),
            name => match self.files.open.get(name) {
                Some(File::Writing { path }) => {
                    if let Err(reason) = host.write_file(path, &text, true) {
                        return error(format!("error writing \"{name}\": {reason}"));
                    }
                }
                Some(File::Reading { .. }) => {
                    return error(format!("channel \"{name}\" wasn't opened for writing"));
                }
                None => return unknown(name),
            },
        }
        Ok(String::new())
    }

    fn open(&mut self, host: &mut dyn Host, path: &str, mode: &str) -> Outcome {
        let refused = |reason: String| error(format!("couldn't open \"{path}\": {reason}"));
        let file = match mode {
            "r" | "RDONLY" => match host.read_file(path) {
                Ok(text) => File::Reading { text, at: 0 },
                Err(reason) => return refused(reason),
            },
            "w" | "w+" | "a" | "a+" => {
                let at_end = mode.starts_with('a');
                if let Err(reason) = host.write_file(path, "", at_end) {
                    return refused(reason);
                }
                let path = path.to_owned();
                File::Writing { path }
            }
            other => return error(format!("illegal access mode \"{other}\"")),
        };
        self.files.opened += 1;
        let name = format!("file{}", self.files.opened + 2);
        self.files.open.insert(name.clone(), file);
        Ok(name)
    }

    fn gets(&mut self, channel: &str) -> Result<Option<String>, Flow> {
        match self.files.open.get_mut(channel) {
            Some(File::Reading { text, at }) => {
                let rest = &text[*at..];
                if rest.is_empty() {
                    return Ok(None);
                }
                let length = rest.find('\n').unwrap_or(rest.len());
                let line = rest[..length].trim_end_matches('\r').to_owned();
                *at += (length + 1).min(rest.len());
                Ok(Some(line))
            }
            Some(File::Writing { .. }) => {
                error(format!("channel \"{channel}\" wasn't opened for reading"))
            }
            None => unknown(channel),
        }
    }

    fn read(&mut self, args: &[String]) -> Outcome {
        let (trims, channel) = match args {
            [option, channel] if option == "-nonewline" => (true, channel),
            [channel] => (false, channel),
            _ => return wrong_args("read ?-nonewline? channelId"),
        };
        match self.files.open.get_mut(channel) {
            Some(File::Reading { text, at }) => {
                let rest = &text[*at..];
                let rest = if trims {
                    rest.strip_suffix('\n').unwrap_or(rest)
                } else {
                    rest
                };
                let rest = rest.to_owned();
                *at = text.len();
                Ok(rest)
            }
            Some(File::Writing { .. }) => {
                error(format!("channel \"{channel}\" wasn't opened for reading"))
            }
            None => unknown(channel),
        }
    }
}

fn file(host: &dyn Host, args: &[String]) -> Outcome {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let flag = |truth: bool| Ok(i64::from(truth).to_string());
    match words.as_slice() {
        ["exists" | "readable" | "writable", path] => {
            flag(host.path_kind(path) != PathKind::Missing)
        }
        ["isfile", path] => flag(host.path_kind(path) == PathKind::File),
        ["isdirectory", path] => flag(host.path_kind(path) == PathKind::Folder),
        ["join", parts @ ..] => {
            let mut path = String::new();
            for part in parts {
                if part.starts_with('/') {
                    path.clear();
                } else if !path.is_empty() && !path.ends_with('/') {
                    path.push('/');
                }
                path.push_str(part);
            }
            Ok(path)
        }
        ["dirname", path] => Ok(match path.trim_end_matches('/').rsplit_once('/') {
            Some(("", _)) => "/".to_owned(),
            Some((folder, _)) => folder.to_owned(),
            None => ".".to_owned(),
        }),
        ["tail", path] => Ok(tail(path).to_owned()),
        ["extension", path] => {
            let tail = tail(path);
            Ok(tail.rfind('.').map_or("", |at| &tail[at..]).to_owned())
        }
        ["rootname", path] => {
            let extension = tail(path).rfind('.').map_or(0, |at| tail(path).len() - at);
            Ok(path[..path.len() - extension].to_owned())
        }
        ["normalize" | "nativename", path] => Ok((*path).to_owned()),
        ["separator"] => Ok("/".to_owned()),
        _ => error(
            "file: use exists, isfile, isdirectory, join, dirname, tail, extension or rootname",
        ),
    }
}

fn tail(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
