//! Flags from the plan's table of settings, and from options of the workload.
//!
//! Converts clap's matches to a [`PlanInput`]. Defaults are filled in by the plan. A flag has the same meaning in
//! every command.

use clap::builder::{PossibleValuesParser, ValueParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use prony_plan::PlanInput;
use prony_plan::settings::{Flag, SETTINGS, Setting, SettingType};
use std::marker::PhantomData;

/// The flags that a command has.
pub trait FlagList {
    /// Paths of its settings; `None` for all that have a flag.
    const SETTINGS: Option<&'static [&'static str]>;
    /// Whether it accepts options of the workload.
    const OPTIONS: bool = false;
}

/// The flags of `run`.
#[derive(Clone, Debug)]
pub struct RunFlags;

impl FlagList for RunFlags {
    const SETTINGS: Option<&'static [&'static str]> = None;
    const OPTIONS: bool = true;
}

/// The flags of `load`.
#[derive(Clone, Debug)]
pub struct LoadFlags;

impl FlagList for LoadFlags {
    const SETTINGS: Option<&'static [&'static str]> = Some(&["server.url", "workload.scale"]);
    const OPTIONS: bool = true;
}

/// The flags of `reproduce`.
#[derive(Clone, Debug)]
pub struct ReproduceFlags;

impl FlagList for ReproduceFlags {
    const SETTINGS: Option<&'static [&'static str]> = Some(&[
        "server.url",
        "run.clients",
        "run.threads",
        "run.warmup",
        "observe.server_metrics",
    ]);
}

/// Only the flags of the server.
#[derive(Clone, Debug)]
pub struct ServerFlags;

impl FlagList for ServerFlags {
    const SETTINGS: Option<&'static [&'static str]> = Some(&["server.url"]);
}

/// The flags that a user gave for a command.
#[derive(Clone, Debug)]
pub struct PlanFlags<L> {
    /// The values of the flags.
    pub input: PlanInput,
    list: PhantomData<L>,
}

impl<L> PlanFlags<L> {
    /// The value of `--url`.
    pub fn url(&self) -> Option<&str> {
        self.input.url.as_ref().map(|url| url.value.as_str())
    }
}

impl<L: FlagList> Args for PlanFlags<L> {
    fn augment_args(mut command: Command) -> Command {
        for (setting, flag) in flags::<L>() {
            command = command.arg(argument(setting, flag, L::SETTINGS.is_none()));
        }
        if L::OPTIONS {
            command = command.arg(option_argument());
            command = command.args(OPTION_FLAGS.iter().map(hidden_argument));
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<L: FlagList> FromArgMatches for PlanFlags<L> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut input = PlanInput::default();
        for (setting, flag) in flags::<L>() {
            let text = match flag.value_name {
                Some(_) => matches.get_one::<String>(flag.long).map(String::as_str),
                None if !matches.get_flag(flag.long) => None,
                None => Some(if flag.off.is_some() { "false" } else { "true" }),
            };
            let set = text.map_or(Ok(()), |text| input.set_flag(setting, text));
            set.map_err(|message| clap::Error::raw(ErrorKind::ValueValidation, message))?;
        }
        if L::OPTIONS {
            add_options(&mut input, matches);
        }
        Ok(PlanFlags {
            input,
            list: PhantomData,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The settings of a list, with their flags.
fn flags<L: FlagList>() -> impl Iterator<Item = (&'static Setting, &'static Flag)> {
    let listed = |setting: &&Setting| L::SETTINGS.is_none_or(|paths| paths.contains(&setting.path));
    let settings = SETTINGS.iter().filter(listed);
    settings.filter_map(|setting| Some((setting, setting.flag.as_ref()?)))
}

fn argument(setting: &'static Setting, flag: &'static Flag, with_default: bool) -> Arg {
    let mut help = flag.off.unwrap_or_else(|| setting.help()).to_owned();
    if let (true, true, Some(default)) =
        (with_default, flag.value_name.is_some(), setting.default())
    {
        let default = default
            .as_str()
            .map_or_else(|| default.to_string(), str::to_owned);
        help += &format!(" [default: {default}]");
    }
    let argument = Arg::new(flag.long)
        .long(flag.long)
        .help(help)
        .help_heading(flag.heading);
    let argument = match flag.short {
        Some(short) => argument.short(short),
        None => argument,
    };
    let Some(value_name) = flag.value_name else {
        return argument.action(ArgAction::SetTrue);
    };
    let parser: ValueParser = match &setting.kind {
        SettingType::Choice(names) => PossibleValuesParser::new(names()).into(),
        _ => ValueParser::new(move |text: &str| {
            let set = PlanInput::default().set_flag(setting, text);
            set.map(|()| text.to_owned())
        }),
    };
    argument.value_name(value_name).value_parser(parser)
}

/// A flag that sets an option of one workload, as `--option` does.
struct OptionFlag {
    long: &'static str,
    short: Option<char>,
    value_name: &'static str,
    /// Name of the option.
    key: &'static str,
    /// Whether it can be repeated, because the option is a list.
    is_list: bool,
}

const fn list(
    long: &'static str,
    short: char,
    value_name: &'static str,
    key: &'static str,
) -> OptionFlag {
    OptionFlag {
        long,
        short: Some(short),
        value_name,
        key,
        is_list: true,
    }
}

const fn single(long: &'static str, value_name: &'static str, key: &'static str) -> OptionFlag {
    OptionFlag {
        long,
        short: None,
        value_name,
        key,
        is_list: false,
    }
}

/// These flags are not in the help: `prony workloads NAME` lists the options of a workload.
const OPTION_FLAGS: [OptionFlag; 9] = [
    list("file", 'f', "FILE[@WEIGHT]", "files"),
    list("builtin", 'b', "NAME[@WEIGHT]", "builtin"),
    list("define", 'D', "NAME=VALUE", "define"),
    single("mode", "MODE", "mode"),
    single("profile", "PROFILE", "profile"),
    single("home", "WHICH", "home"),
    single("pacing", "PACING", "pacing"),
    single("max-tries", "N", "max_tries"),
    single("partitions", "N", "partitions"),
];

fn hidden_argument(flag: &'static OptionFlag) -> Arg {
    let action = if flag.is_list {
        ArgAction::Append
    } else {
        ArgAction::Set
    };
    let argument = Arg::new(flag.long)
        .long(flag.long)
        .value_name(flag.value_name)
        .action(action)
        .hide(true);
    match flag.short {
        Some(short) => argument.short(short),
        None => argument,
    }
}

/// An option of the workload.
type WorkloadOption = (String, toml::Value);

fn option_argument() -> Arg {
    Arg::new("option")
        .long("option")
        .short('o')
        .value_name("NAME=VALUE")
        .action(ArgAction::Append)
        .value_parser(option)
        .help_heading("Load")
        .help(
            "An option of the workload, such as table_size=25000 or mode=statements; `prony workloads NAME` \
             lists them [repeatable]",
        )
}

fn add_options(input: &mut PlanInput, matches: &ArgMatches) {
    for OptionFlag {
        long, key, is_list, ..
    } in &OPTION_FLAGS
    {
        let name = format!("--{long}");
        let texts = matches.get_many::<String>(long);
        let value = texts.map(|mut texts| match is_list {
            true => toml::Value::from(texts.cloned().collect::<Vec<_>>()),
            false => texts
                .next_back()
                .map_or("".into(), |text| option_value(text)),
        });
        input.set_option(&name, key, value);
    }
    let options = matches.get_many::<WorkloadOption>("option");
    for (name, value) in options.into_iter().flatten() {
        input.set_option("--option", name, Some(value.clone()));
    }
}

/// Parses `NAME=VALUE`.
fn option(text: &str) -> Result<WorkloadOption, String> {
    let (name, value) = text
        .split_once('=')
        .filter(|(name, _)| !name.is_empty())
        .ok_or("an option is given as NAME=VALUE")?;
    Ok((name.to_owned(), option_value(value)))
}

/// Parses the text as a number or boolean, or else returns it as a string.
fn option_value(text: &str) -> toml::Value {
    let number = text.parse::<i64>().map(toml::Value::from);
    let real = || text.parse::<f64>().map(toml::Value::from);
    let switch = || text.parse::<bool>().map(toml::Value::from);
    number
        .or_else(|_| real())
        .or_else(|_| switch())
        .unwrap_or_else(|_| text.into())
}
