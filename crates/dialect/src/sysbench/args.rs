//! Arguments to an [`Invocation`].
//!
//! In: arguments, a [`Compat`], and a [`Host`] for what lies outside. Out: what was asked for, or
//! sysbench's refusal. Must never: complain of a mistake before one that sysbench meets earlier.

use super::bundled::{Bundled, Command, OTHERS};
use super::compat::Compat;
use super::help::help;
use super::number;
use super::options::{Given, Invocation, Native, Script, ScriptSource, Settings};
use super::printed::{Printed, Refused, fatal, warning};
use super::settings::Texts;
use super::spec::{self, Sort, key};
use super::{config, messages};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What reading arguments needs from outside.
pub trait Host {
    /// The script that a name means: a file of that name, or a module on the search path of Lua; none
    /// where there is none.
    fn find_script(&self, name: &str) -> Option<PathBuf>;

    /// The text of a file.
    ///
    /// # Errors
    /// The system's reason, as `strerror` words it.
    fn read_file(&self, path: &Path) -> Result<String, String>;
}

/// Reads a command line: what follows the program's name.
///
/// # Errors
/// The refusal that sysbench of this version gives, or that Prony cannot do what is asked.
pub fn read(
    arguments: &[OsString],
    compat: Compat,
    host: &dyn Host,
) -> Result<Invocation, Refused> {
    let mut line = Line::new(compat);
    for argument in arguments {
        line.take(&argument.to_string_lossy(), host)?;
    }
    let Line {
        mut texts,
        extras,
        test,
        command,
    } = line;
    let printed = |stdout, mut out: Printed| {
        out.stdout += stdout;
        Ok(Invocation::Print(out))
    };
    if texts.on("help") {
        return printed(&help(compat), texts.out);
    }
    if texts.on("version") {
        return printed(&compat.version_text(), texts.out);
    }
    let settings = texts.check()?;
    let found = find(test.as_deref().unwrap_or("-"), &mut texts, host)?;
    match found {
        Found::Native(test, name) => native(test, name, command, settings, texts.out, &extras),
        Found::Script(source, name) => {
            let specs = spec::all(compat);
            let value = |name: String| {
                let text = texts.text(&name).to_owned();
                (name, text)
            };
            Ok(Invocation::Script(Box::new(Script {
                values: specs
                    .map(spec::Spec::key)
                    .filter(|name| !name.ends_with("_password"))
                    .map(value)
                    .collect(),
                before: texts.out,
                source,
                name,
                command,
                settings,
                extras,
            })))
        }
    }
}

/// The line as far as it is read.
struct Line {
    texts: Texts,
    extras: Vec<Given>,
    test: Option<String>,
    command: Option<String>,
}

impl Line {
    fn new(compat: Compat) -> Self {
        Line {
            texts: Texts {
                compat,
                given: BTreeMap::new(),
                out: Printed::default(),
            },
            extras: Vec::new(),
            test: None,
            command: None,
        }
    }

    fn take(&mut self, argument: &str, host: &dyn Host) -> Result<(), Refused> {
        let Some(option) = argument.strip_prefix("--") else {
            return self.take_word(argument);
        };
        let (written, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (option, None),
        };
        let given = Given {
            written: written.to_owned(),
            name: key(written),
            value,
            from_file: false,
        };
        self.take_option(given, host);
        Ok(())
    }

    fn take_word(&mut self, word: &str) -> Result<(), Refused> {
        for place in [&mut self.test, &mut self.command] {
            if place.is_none() {
                *place = Some(word.to_owned());
                return Ok(());
            }
        }
        let text = format!("Unrecognized command line argument: {word}");
        Err(self.texts.out.clone().refuse(&text))
    }

    fn take_option(&mut self, given: Given, host: &dyn Host) {
        let spec = spec::find(self.texts.compat, &given.name);
        let value = given.value.as_deref();
        match spec {
            Some(spec) if spec.sort == Sort::Bool => match number::switch(value) {
                Some(on) => self.keep(&given.name, if on { "on" } else { "off" }),
                // In a file any word but those for off switches on.
                None if given.from_file => self.keep(&given.name, "on"),
                None => self.extras.push(given),
            },
            Some(spec) if spec.sort == Sort::File => {
                self.take_file(value.unwrap_or_default(), host)
            }
            Some(spec) if spec.name == "test" => match value {
                Some(name) => {
                    self.texts.out.stderr += &warning(messages::TEST_DEPRECATED);
                    if !name.is_empty() {
                        self.test = Some(name.to_owned());
                    }
                }
                None => self.extras.push(given),
            },
            Some(_) => self.keep(&given.name, value.unwrap_or_default()),
            None => self.extras.push(given),
        }
    }

    fn keep(&mut self, name: &str, text: &str) {
        self.texts.given.insert(name.to_owned(), text.to_owned());
    }

    /// `--config-file`, at its place: what follows on the line counts more. A file cannot name another.
    fn take_file(&mut self, path: &str, host: &dyn Host) {
        if path.is_empty() {
            return;
        }
        let config = match host.read_file(Path::new(path)) {
            Ok(text) => config::read(&text),
            Err(reason) => {
                self.texts.out.stderr += &format!("{path}: {reason}\n");
                return;
            }
        };
        self.texts.out.stderr += &config.complaint.unwrap_or_default();
        for (name, values) in config.given {
            let name = key(&name);
            if name == "config_file" {
                continue;
            }
            let spec = spec::find(self.texts.compat, &name);
            let value = match spec.map(|spec| spec.sort) {
                Some(Sort::List) => values.join(","),
                // Of several the first.
                _ => values.into_iter().next().unwrap_or_default(),
            };
            let given = Given {
                written: name.clone(),
                name,
                value: Some(value),
                from_file: true,
            };
            self.take_option(given, host);
        }
    }
}

enum Found {
    Native(&'static Bundled, String),
    Script(ScriptSource, String),
}

/// What a name means, in the order in which sysbench looks.
fn find(name: &str, texts: &mut Texts, host: &dyn Host) -> Result<Found, Refused> {
    if name == "-" {
        return Ok(Found::Script(ScriptSource::Stdin, name.to_owned()));
    }
    if OTHERS.contains(&name) {
        return Err(texts.out.clone().refuse(&messages::not_a_database(name)));
    }
    let bundled = Bundled::of_name(name);
    let shown = || name.rsplit('/').next().unwrap_or(name).to_owned();
    match (host.find_script(name), bundled) {
        // The copy that a distribution of sysbench brings is what the native workload stands for.
        (Some(path), Some(test)) if is_shipped(&path) => Ok(Found::Native(test, shown())),
        (Some(path), _) => Ok(Found::Script(ScriptSource::File(path), name.to_owned())),
        (None, Some(test)) => Ok(Found::Native(test, shown())),
        (None, None) => Err(texts.no_such_test(name)),
    }
}

/// Whether a script lies where sysbench is installed.
fn is_shipped(path: &Path) -> bool {
    path.parent()
        .is_some_and(|folder| folder.ends_with("share/sysbench"))
}

fn native(
    test: &'static Bundled,
    name: String,
    command: Option<String>,
    settings: Settings,
    mut out: Printed,
    extras: &[Given],
) -> Result<Invocation, Refused> {
    let compat = settings.compat;
    let Some(word) = command else {
        out.stdout += &fatal(&messages::command_required(test, compat));
        return Err(out.refused());
    };
    let options = values(test, compat, &mut out, extras)?;
    match test.command(&word, compat) {
        None => Err(out.refuse(&messages::unknown_command(&word))),
        Some(Command::Help) => match test.help(&name, compat) {
            Ok(text) => {
                out.stdout += &text;
                Ok(Invocation::Print(out))
            }
            Err(text) => {
                out.stderr += &text;
                Err(out.refused())
            }
        },
        Some(command) => Ok(Invocation::Native(Box::new(Native {
            before: out,
            test,
            name,
            command,
            settings,
            options,
            typed: typed(test, compat, extras),
        }))),
    }
}

/// The texts of the test's own options.
fn typed(test: &Bundled, compat: Compat, extras: &[Given]) -> BTreeMap<&'static str, String> {
    let text = |given: &Given| {
        let option = test.option(&given.name, compat)?;
        Some((option.name, given.value.clone()?))
    };
    extras.iter().filter_map(text).collect()
}

/// The test's own options. One that it does not know is refused, or only warned of where it stands in a
/// file.
fn values(
    test: &Bundled,
    compat: Compat,
    out: &mut Printed,
    extras: &[Given],
) -> Result<BTreeMap<&'static str, toml::Value>, Refused> {
    let defaults = test.options(compat).into_iter();
    let mut values: BTreeMap<&'static str, toml::Value> = defaults
        .filter_map(|option| Some((option.name, option.default.to_toml()?)))
        .collect();
    for given in extras {
        let option = test.option(&given.name, compat);
        let value = option.and_then(|option| Some((option, option.read(given.value.as_deref())?)));
        match value {
            Some((option, value)) => {
                values.extend(value.to_toml().map(|value| (option.name, value)));
            }
            None if !test.declares_options => {}
            None if given.from_file => {
                out.stdout += &warning(&messages::not_exported(&given.name));
            }
            None => {
                return Err(out
                    .clone()
                    .refuse(&messages::invalid_option(&given.shown())));
            }
        }
    }
    Ok(values)
}
