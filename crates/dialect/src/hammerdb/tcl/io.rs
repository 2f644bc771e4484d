//! The commands `puts`, `after`, `source` and those for files; and commands that have no effect in Prony.
//!
//! Must never: access files except through the [`Host`].

use std::collections::BTreeMap;

use super::interp::{Interp, bool_result, error, wrong_args};
use super::number::parse_integer;
use super::{Call, Channel, CommandResult, Flow, Host, TclResult};

#[derive(Debug, Default)]
pub(super) struct OpenFiles {
    by_channel: BTreeMap<String, OpenFile>,
    opened_count: u64,
}

#[derive(Debug)]
enum OpenFile {
    /// A file open for reading: its text, and the position of the next unread byte.
    Reading { text: String, position: usize },
    /// A file open for writing, to which each text is appended at once.
    Writing { path: String },
}

fn unknown_channel<T>(channel: &str) -> Result<T, Flow> {
    error(format!("can not find channel named \"{channel}\""))
}

impl Interp {
    pub(super) fn io_command(&mut self, host: &mut dyn Host, call: Call<'_>) -> CommandResult {
        Some(match call {
            ("puts", args) => self.puts(host, args),
            ("source", [path]) => self.enter_level(host).and_then(|()| {
                let outcome = self.source(host, path);
                self.leave_level();
                outcome
            }),
            ("source", _) => wrong_args("source fileName"),
            ("after", [ms]) => match parse_integer(ms) {
                Some(ms) => {
                    host.system_mut().sleep(u64::try_from(ms).unwrap_or(0));
                    Ok(String::new())
                }
                None => error(format!(
                    "bad argument \"{ms}\": must be cancel, idle, info, or an integer"
                )),
            },
            ("after", _) => error("after: only \"after ms\" is supported, which waits"),
            ("open", [path]) => self.open(host, path, "r"),
            ("open", [path, mode, ..]) => self.open(host, path, mode),
            ("close", [channel, ..]) => match self.files.by_channel.remove(channel) {
                Some(_) => Ok(String::new()),
                None => unknown_channel(channel),
            },
            ("gets", [channel]) => self.gets(channel).map(Option::unwrap_or_default),
            ("gets", [channel, variable]) => self.gets(channel).and_then(|line| {
                let length = line.as_ref().map(|line| line.chars().count().to_string());
                self.set(variable, line.unwrap_or_default())?;
                Ok(length.unwrap_or_else(|| "-1".to_owned()))
            }),
            ("read", args) => self.read(args),
            ("eof", [channel]) => match self.files.by_channel.get(channel) {
                Some(OpenFile::Reading { text, position }) => bool_result(*position >= text.len()),
                Some(OpenFile::Writing { .. }) => Ok("0".to_owned()),
                None => unknown_channel(channel),
            },
            ("pid", []) => Ok(host.system().process_id().to_string()),
            // HammerDB's scripts call these commands; Prony needs none of their effects.
            ("flush" | "fconfigure" | "update" | "package", _) => Ok(String::new()),
            _ => return None,
        })
    }

    fn puts(&mut self, host: &mut dyn Host, args: &[String]) -> TclResult {
        let (end, args) = match args {
            [first, args @ ..] if first == "-nonewline" => ("", args),
            args => ("\n", args),
        };
        let (channel, text) = match args {
            [text] => ("stdout", text),
            [channel, text] => (channel.as_str(), text),
            _ => return wrong_args("puts ?-nonewline? ?channelId? string"),
        };
        let text = format!("{text}{end}");
        match channel {
            "stdout" => host.system_mut().put(Channel::Out, &text),
            "stderr" => host.system_mut().put(Channel::Error, &text),
            name => match self.files.by_channel.get(name) {
                Some(OpenFile::Writing { path }) => {
                    if let Err(reason) = host.system_mut().write_file(path, &text, true) {
                        return error(format!("error writing \"{name}\": {reason}"));
                    }
                }
                Some(OpenFile::Reading { .. }) => {
                    return error(format!("channel \"{name}\" wasn't opened for writing"));
                }
                None => return unknown_channel(name),
            },
        }
        Ok(String::new())
    }

    fn open(&mut self, host: &mut dyn Host, path: &str, mode: &str) -> TclResult {
        let open_error = |reason: String| error(format!("couldn't open \"{path}\": {reason}"));
        let file = match mode {
            "r" | "RDONLY" => match host.system_mut().read_file(path) {
                Ok(text) => OpenFile::Reading { text, position: 0 },
                Err(reason) => return open_error(reason),
            },
            "w" | "w+" | "a" | "a+" => {
                let append = mode.starts_with('a');
                if let Err(reason) = host.system_mut().write_file(path, "", append) {
                    return open_error(reason);
                }
                let path = path.to_owned();
                OpenFile::Writing { path }
            }
            other => return error(format!("illegal access mode \"{other}\"")),
        };
        self.files.opened_count += 1;
        // As Tcl's first channel, `file3` follows the three standard channels.
        let name = format!("file{}", self.files.opened_count + 2);
        self.files.by_channel.insert(name.clone(), file);
        Ok(name)
    }

    /// The text of a file that is open for reading, and the position of its next unread byte.
    fn unread_text(&mut self, channel: &str) -> Result<(&str, &mut usize), Flow> {
        match self.files.by_channel.get_mut(channel) {
            Some(OpenFile::Reading { text, position }) => Ok((text, position)),
            Some(OpenFile::Writing { .. }) => {
                error(format!("channel \"{channel}\" wasn't opened for reading"))
            }
            None => unknown_channel(channel),
        }
    }

    /// The next line of a file; `None` at its end.
    fn gets(&mut self, channel: &str) -> Result<Option<String>, Flow> {
        let (text, position) = self.unread_text(channel)?;
        let remaining = &text[*position..];
        if remaining.is_empty() {
            return Ok(None);
        }
        let length = remaining.find('\n').unwrap_or(remaining.len());
        let line = remaining[..length].trim_end_matches('\r').to_owned();
        *position += (length + 1).min(remaining.len());
        Ok(Some(line))
    }

    fn read(&mut self, args: &[String]) -> TclResult {
        let (trim_newline, channel) = match args {
            [option, channel] if option == "-nonewline" => (true, channel),
            [channel] => (false, channel),
            _ => return wrong_args("read ?-nonewline? channelId"),
        };
        let (text, position) = self.unread_text(channel)?;
        let mut remaining = &text[*position..];
        if trim_newline {
            remaining = remaining.strip_suffix('\n').unwrap_or(remaining);
        }
        let remaining = remaining.to_owned();
        *position = text.len();
        Ok(remaining)
    }
}
