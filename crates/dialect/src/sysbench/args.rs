//! Parses arguments to an [`Invocation`].
//!
//! In: arguments, a [`Compat`], and a [`Host`] for access to files. Out: the invocation, or sysbench's error.
//! Must never: report a different error than sysbench, which reports the first that it detects.

use super::bundled::{BundledTest, Command, NON_DATABASE_TESTS};
use super::compat::Compat;
use super::help::help;
use super::number;
use super::options::{
    GeneralOptions, Invocation, NativeCommand, RawOption, ScriptCommand, ScriptSource,
};
use super::output::{Output, UsageError, warning_line};
use super::settings::OptionTexts;
use super::spec::{self, ValueType, option_key};
use super::{config, messages};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The argument parser's access to files.
pub trait Host {
    /// The script with this name: a file, or a module on Lua's search path; `None` if neither exists.
    fn find_script(&self, name: &str) -> Option<PathBuf>;

    /// The text of a file.
    ///
    /// # Errors
    /// The system's error message, as `strerror` returns it.
    fn read_file(&self, path: &Path) -> Result<String, String>;
}

/// Parses the arguments after the program's name.
pub fn parse_args(
    arguments: &[OsString],
    compat: Compat,
    host: &dyn Host,
) -> Result<Invocation, UsageError> {
    let mut command_line = CommandLine::new(compat);
    for argument in arguments {
        command_line.parse_argument(&argument.to_string_lossy(), host)?;
    }
    let CommandLine {
        mut texts,
        extras,
        test,
        command,
    } = command_line;
    let print = |stdout, mut output: Output| {
        output.stdout += stdout;
        Ok(Invocation::Print(output))
    };
    if texts.is_on("help") {
        return print(&help(compat), texts.out);
    }
    if texts.is_on("version") {
        return print(&compat.version_text(), texts.out);
    }
    let settings = texts.check_options()?;
    let mut test_source = find_test(test.as_deref().unwrap_or("-"), &texts, host)?;
    // The native workloads never reconnect.
    if let TestSource::Native(test, name) = &test_source
        && command.as_deref() == Some("run")
        && reconnects(test, compat, &extras)
    {
        test_source = TestSource::Script(ScriptSource::Bundled(test.name), name.clone());
    }
    match test_source {
        TestSource::Native(test, name) => {
            bundled_invocation(test, name, command, settings, texts.out, extras)
        }
        TestSource::Script(source, name) => {
            let specs = spec::general_options(compat);
            let value = |name: String| {
                let text = texts.text(&name).to_owned();
                (name, text)
            };
            Ok(Invocation::Script(Box::new(ScriptCommand {
                values: specs
                    .map(spec::OptionSpec::key)
                    .filter(|name| !name.ends_with("_password"))
                    .map(value)
                    .collect(),
                preamble: texts.out,
                source,
                name,
                command,
                settings,
                extras,
            })))
        }
    }
}

/// The arguments that were parsed so far.
struct CommandLine {
    texts: OptionTexts,
    /// Options that are not general.
    extras: Vec<RawOption>,
    /// The first operand, or the value of `--test`.
    test: Option<String>,
    /// The next operand.
    command: Option<String>,
}

impl CommandLine {
    fn new(compat: Compat) -> Self {
        CommandLine {
            texts: OptionTexts {
                compat,
                values: BTreeMap::new(),
                out: Output::default(),
            },
            extras: Vec::new(),
            test: None,
            command: None,
        }
    }

    fn parse_argument(&mut self, argument: &str, host: &dyn Host) -> Result<(), UsageError> {
        let Some(option) = argument.strip_prefix("--") else {
            return self.set_operand(argument);
        };
        let (raw_name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (option, None),
        };
        let option = RawOption {
            raw_name: raw_name.to_owned(),
            name: option_key(raw_name),
            value,
            from_file: false,
        };
        self.apply_option(option, host);
        Ok(())
    }

    fn set_operand(&mut self, operand: &str) -> Result<(), UsageError> {
        for slot in [&mut self.test, &mut self.command] {
            if slot.is_none() {
                *slot = Some(operand.to_owned());
                return Ok(());
            }
        }
        let text = format!("Unrecognized command line argument: {operand}");
        Err(self.texts.out.clone().usage_error(&text))
    }

    /// Stores a general option; collects an option of the test in `extras`, to be checked later.
    fn apply_option(&mut self, option: RawOption, host: &dyn Host) {
        let spec = spec::find_general_option(self.texts.compat, &option.name);
        let value = option.value.as_deref();
        match spec {
            Some(spec) if spec.value_type == ValueType::Bool => match number::parse_switch(value) {
                Some(on) => self.set_value(&option.name, if on { "on" } else { "off" }),
                // In a configuration file, any text except the words for off means on.
                None if option.from_file => self.set_value(&option.name, "on"),
                None => self.extras.push(option),
            },
            Some(spec) if spec.value_type == ValueType::File => {
                self.read_config_file(value.unwrap_or_default(), host)
            }
            Some(spec) if spec.name == "test" => match value {
                Some(name) => {
                    self.texts.out.warnings += &warning_line(messages::TEST_DEPRECATED);
                    if !name.is_empty() {
                        self.test = Some(name.to_owned());
                    }
                }
                None => self.extras.push(option),
            },
            Some(_) => self.set_value(&option.name, value.unwrap_or_default()),
            None => self.extras.push(option),
        }
    }

    fn set_value(&mut self, name: &str, text: &str) {
        self.texts.values.insert(name.to_owned(), text.to_owned());
    }

    /// Reads a file of `--config-file` at its position: later options on the command line override its
    /// options. A file cannot include a file.
    fn read_config_file(&mut self, path: &str, host: &dyn Host) {
        if path.is_empty() {
            return;
        }
        let config = match host.read_file(Path::new(path)) {
            Ok(text) => config::read(&text),
            Err(reason) => {
                self.texts.out.warnings += &format!("{path}: {reason}\n");
                return;
            }
        };
        self.texts.out.warnings += &config.error.unwrap_or_default();
        for (name, values) in config.options {
            let name = option_key(&name);
            if name == "config_file" {
                continue;
            }
            let spec = spec::find_general_option(self.texts.compat, &name);
            let value = match spec.map(|spec| spec.value_type) {
                Some(ValueType::List) => values.join(","),
                // Of several values, the first one applies.
                _ => values.into_iter().next().unwrap_or_default(),
            };
            let option = RawOption {
                raw_name: name.clone(),
                name,
                value: Some(value),
                from_file: true,
            };
            self.apply_option(option, host);
        }
    }
}

/// A bundled test or a script, and its name on the command line.
enum TestSource {
    Native(&'static BundledTest, String),
    Script(ScriptSource, String),
}

fn find_test(name: &str, texts: &OptionTexts, host: &dyn Host) -> Result<TestSource, UsageError> {
    if name == "-" {
        return Ok(TestSource::Script(ScriptSource::Stdin, name.to_owned()));
    }
    if NON_DATABASE_TESTS.contains(&name) {
        let out = texts.out.clone();
        return Err(out.usage_error(&messages::not_a_database_test(name)));
    }
    let bundled = BundledTest::of_name(name);
    let base_name = || name.rsplit('/').next().unwrap_or(name).to_owned();
    match (host.find_script(name), bundled) {
        // The native workload implements the script that a distribution of sysbench ships.
        (Some(path), Some(test)) if is_shipped(&path) => Ok(TestSource::Native(test, base_name())),
        (Some(path), _) => Ok(TestSource::Script(
            ScriptSource::File(path),
            name.to_owned(),
        )),
        (None, Some(test)) => Ok(TestSource::Native(test, base_name())),
        (None, None) => Err(texts.out.clone().fatal(&format!(
            "Cannot find benchmark '{name}': no such built-in test, file or module"
        ))),
    }
}

/// Whether a script is in sysbench's installation directory.
fn is_shipped(path: &Path) -> bool {
    path.parent()
        .is_some_and(|folder| folder.ends_with("share/sysbench"))
}

fn bundled_invocation(
    test: &'static BundledTest,
    name: String,
    command: Option<String>,
    settings: GeneralOptions,
    mut out: Output,
    extras: Vec<RawOption>,
) -> Result<Invocation, UsageError> {
    let compat = settings.compat;
    let Some(command_name) = command else {
        return Err(out.fatal(&messages::command_required(test, compat)));
    };
    let options = option_values(test, compat, &mut out, &extras)?;
    match test.command(&command_name, compat) {
        None => Err(out.usage_error(&messages::unknown_command(&command_name))),
        Some(Command::Help) => {
            let text = test.help(&name, compat);
            let text = text.map_err(|problem| out.clone().usage_error(&problem))?;
            out.stdout += &text;
            Ok(Invocation::Print(out))
        }
        Some(command) => Ok(Invocation::Native(Box::new(NativeCommand {
            preamble: out,
            test,
            name,
            command,
            settings,
            options,
            extras,
        }))),
    }
}

/// Whether the last `--reconnect` makes a test reconnect after some number of events.
fn reconnects(test: &BundledTest, compat: Compat, extras: &[RawOption]) -> bool {
    let mut options = extras.iter().rev();
    let reconnect = options.find(|option| option.name == "reconnect");
    let value = reconnect.and_then(|option| option.value.as_deref());
    test.option("reconnect", compat).is_some()
        && value.is_some_and(|text| number::leading_integer(text) > 0)
}

/// The values of the test's options. An unknown option is an error; in a file, only a warning.
fn option_values(
    test: &BundledTest,
    compat: Compat,
    out: &mut Output,
    extras: &[RawOption],
) -> Result<BTreeMap<&'static str, toml::Value>, UsageError> {
    let defaults = test.options(compat).into_iter();
    let mut values: BTreeMap<&'static str, toml::Value> = defaults
        .filter_map(|option| Some((option.name, option.plan_value(Some(option.default?))?)))
        .collect();
    for extra in extras {
        let option = test.option(&extra.name, compat);
        let text = extra.value.as_deref();
        match option.and_then(|option| Some((option.name, option.plan_value(text)?))) {
            Some(value) => values.extend([value]),
            None if !test.declares_options => {}
            None if extra.from_file => {
                out.stdout += &warning_line(&messages::unknown_option_in_file(&extra.name));
            }
            None => {
                let option = extra.redacted();
                return Err(out
                    .clone()
                    .usage_error(&format!("invalid option: {option}")));
            }
        }
    }
    Ok(values)
}
