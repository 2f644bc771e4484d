//! Flags that set settings of the plan or options of the workload.
//!
//! Converts clap's matches to a [`PlanInput`]. Defaults are filled in by the plan. A flag has the same meaning in
//! every command.

use clap::builder::{PossibleValuesParser, ValueParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use prony_plan::experiment::option_from_text;
use prony_plan::settings::{Flag, SETTINGS, Setting, SettingType};
use prony_plan::{PlanInput, parse_duration};
use std::marker::PhantomData;

/// The flags that a command accepts.
pub trait FlagList {
    /// Paths of the settings whose flags the command accepts; `None`: it accepts all flags.
    const SETTING_PATHS: Option<&'static [&'static str]>;
    /// Whether the help shows the defaults of the settings. They are those of a plan; `reproduce` takes the
    /// scenario's values instead.
    const SHOWS_DEFAULTS: bool = false;
    /// Whether the command accepts options of the workload.
    const ACCEPTS_OPTIONS: bool = false;
}

macro_rules! flag_lists {
    ($($(#[$doc:meta])* $name:ident = $paths:expr $(, $constant:ident)*;)+) => {
        $($(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name;

        impl FlagList for $name {
            const SETTING_PATHS: Option<&'static [&'static str]> = $paths;
            $(const $constant: bool = true;)*
        })+
    };
}

flag_lists! {
    RunFlags = None, SHOWS_DEFAULTS, ACCEPTS_OPTIONS;
    /// `find` sets the rate and the length of each step itself.
    FindFlags = Some(&[
        "server.url",
        "server.embedded",
        "server.read_from",
        "server.declared",
        "workload.scale",
        "run.clients",
        "run.threads",
        "run.arrival",
        "run.warmup",
        "run.grace",
        "run.protocol",
        "run.describe",
        "run.connect_per_transaction",
        "run.spread",
        "run.read_share",
        "run.tcp_sample",
        "run.io",
        "run.wait",
        "run.pin",
        "fleet.agents",
        "fleet.install",
        "run.seed",
        "run.require",
        "observe.server",
        "observe.server_metrics",
        "observe.metrics_listen",
    ]), ACCEPTS_OPTIONS;
    LoadFlags = Some(&["server.url", "workload.scale", "fleet.agents", "fleet.install"]), ACCEPTS_OPTIONS;
    ReproduceFlags = Some(&[
        "server.url",
        "run.clients",
        "run.threads",
        "run.warmup",
        "observe.server_metrics",
        "server.declared",
    ]);
    /// Sessions that are replayed have their own pace and end.
    ReplayFlags = Some(&[
        "server.url",
        "server.declared",
        "run.clients",
        "run.threads",
        "run.duration",
        "run.protocol",
        "run.grace",
        "run.tcp_sample",
        "run.io",
        "run.wait",
        "run.pin",
        "run.seed",
        "run.require",
        "experiment.repeats",
        "observe.server",
        "observe.server_metrics",
        "observe.metrics_listen",
    ]);
    DoctorFlags = Some(&["server.url", "run.clients", "run.threads"]);
    /// Of `fleet check`.
    FleetFlags = Some(&["server.url", "fleet.agents", "fleet.install"]);
    /// Of `fleet collect`.
    CollectFlags = Some(&["fleet.agents"]);
    ServerFlags = Some(&["server.url"]);
}

/// The flags that a user gave for a command.
#[derive(Clone, Debug)]
pub struct PlanFlags<L> {
    /// The values of the flags.
    pub input: PlanInput,
    list: PhantomData<L>,
}

impl<L> PlanFlags<L> {
    /// Flags of another command with these values.
    pub fn of(input: PlanInput) -> PlanFlags<L> {
        PlanFlags {
            input,
            list: PhantomData,
        }
    }

    /// The value of `--url`.
    pub fn url(&self) -> Option<&str> {
        self.input.url.as_ref().map(|url| url.value.as_str())
    }
}

impl<L: FlagList> Args for PlanFlags<L> {
    fn augment_args(mut command: Command) -> Command {
        for (setting, flag) in settings_with_flags::<L>() {
            command = command.arg(flag_argument(setting, flag, L::SHOWS_DEFAULTS));
        }
        if L::ACCEPTS_OPTIONS {
            command = command.arg(option_argument());
            command = command.args(OPTION_FLAGS.iter().map(option_flag_argument));
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
        for (setting, flag) in settings_with_flags::<L>() {
            let texts: Vec<String> = match flag.value_name {
                Some(_) => {
                    let arguments = matches.get_many::<String>(flag.long).unwrap_or_default();
                    let arguments: Vec<&str> = arguments.map(String::as_str).collect();
                    let values = arguments.chunks(flag.value_count());
                    values.map(|parts| parts.join(" ")).collect()
                }
                None if !matches.get_flag(flag.long) => Vec::new(),
                None => vec![flag.switch_value().to_owned()],
            };
            if texts.is_empty() {
                continue;
            }
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let result = input.set_flag(setting, &texts);
            result.map_err(|message| {
                // Without the value, which may contain a password.
                let message = format!("invalid value for --{}: {message}", flag.long);
                clap::Error::raw(ErrorKind::ValueValidation, message)
            })?;
        }
        if L::ACCEPTS_OPTIONS {
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

/// The settings whose flags a command accepts, with these flags.
fn settings_with_flags<L: FlagList>() -> impl Iterator<Item = (&'static Setting, &'static Flag)> {
    let is_listed =
        |setting: &&Setting| L::SETTING_PATHS.is_none_or(|paths| paths.contains(&setting.path));
    let settings = SETTINGS.iter().filter(is_listed);
    settings.filter_map(|setting| Some((setting, setting.flag.as_ref()?)))
}

fn flag_argument(setting: &'static Setting, flag: &'static Flag, shows_default: bool) -> Arg {
    let mut help = flag
        .help_if_it_turns_off
        .unwrap_or_else(|| setting.help())
        .to_owned();
    if shows_default
        && flag.value_name.is_some()
        && let Some(default) = setting.default()
    {
        let default = default
            .as_str()
            .map_or_else(|| default.to_string(), str::to_owned);
        help += &format!(" [default: {default}]");
    }
    if flag.is_list {
        help += " [repeatable]";
    }
    let argument = Arg::new(flag.long)
        .long(flag.long)
        .short(flag.short)
        .help(help)
        .help_heading(flag.heading);
    let Some(value_name) = flag.value_name else {
        return argument.action(ArgAction::SetTrue);
    };
    let parser: ValueParser = match &setting.value_type {
        SettingType::Choice(names) => PossibleValuesParser::new(names()).into(),
        // Its parts are no values by themselves.
        _ if flag.value_count() > 1 => ValueParser::string(),
        _ => ValueParser::new(move |text: &str| check_value(setting, text)),
    };
    argument
        .value_names(value_name.split(' '))
        .value_parser(parser)
        .action(append_if(flag.is_list))
}

/// The text, if it is a valid value of a setting. The error for a duration keeps its parts.
fn check_value(
    setting: &Setting,
    text: &str,
) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    if matches!(setting.value_type, SettingType::Duration) {
        parse_duration(text)?;
    }
    PlanInput::default().set_flag(setting, &[text])?;
    Ok(text.to_owned())
}

/// A flag that sets an option of one workload, as `--option` does. These flags are not in the help: `prony workloads NAME`
/// lists the options of a workload.
struct OptionFlag {
    long: &'static str,
    short: Option<char>,
    value_name: &'static str,
    /// The option that it sets.
    option: &'static str,
    /// Whether the value is a list: the flag can be repeated.
    is_list: bool,
}

impl OptionFlag {
    const fn value(long: &'static str, value_name: &'static str, option: &'static str) -> Self {
        OptionFlag {
            long,
            short: None,
            value_name,
            option,
            is_list: false,
        }
    }

    const fn list(
        long: &'static str,
        short: char,
        value_name: &'static str,
        option: &'static str,
    ) -> Self {
        OptionFlag {
            long,
            short: Some(short),
            value_name,
            option,
            is_list: true,
        }
    }
}

static OPTION_FLAGS: [OptionFlag; 9] = [
    OptionFlag::list("file", 'f', "FILE[@WEIGHT]", "files"),
    OptionFlag::list("builtin", 'b', "NAME[@WEIGHT]", "builtin"),
    OptionFlag::list("define", 'D', "NAME=VALUE", "define"),
    OptionFlag::value("mode", "MODE", "mode"),
    OptionFlag::value("profile", "PROFILE", "profile"),
    OptionFlag::value("home", "user|all", "home"),
    OptionFlag::value("pacing", "PACING", "pacing"),
    OptionFlag::value("max-tries", "N", "max_tries"),
    OptionFlag::value("partitions", "N", "partitions"),
];

fn append_if(is_list: bool) -> ArgAction {
    if is_list { ArgAction::Append } else { ArgAction::Set }
}

fn option_flag_argument(flag: &'static OptionFlag) -> Arg {
    Arg::new(flag.long)
        .long(flag.long)
        .short(flag.short)
        .value_name(flag.value_name)
        .action(append_if(flag.is_list))
        .hide(true)
}

/// An option of the workload.
type WorkloadOption = (String, toml::Value);

fn option_argument() -> Arg {
    Arg::new("option")
        .long("option")
        .short('o')
        .value_name("NAME=VALUE")
        .action(ArgAction::Append)
        .value_parser(parse_option)
        .help_heading("Load")
        .help(
            "An option of the workload, such as table_size=25000 or mode=statements; `prony workloads NAME` \
             lists them [repeatable]",
        )
}

fn add_options(input: &mut PlanInput, matches: &ArgMatches) {
    for flag in &OPTION_FLAGS {
        let texts = matches.get_many::<String>(flag.long);
        let value = texts.map(|mut texts| {
            if flag.is_list {
                toml::Value::from(texts.cloned().collect::<Vec<_>>())
            } else {
                texts
                    .next_back()
                    .map_or("".into(), |text| option_from_text(text))
            }
        });
        input.set_option(&format!("--{}", flag.long), flag.option, value);
    }
    let options = matches.get_many::<WorkloadOption>("option");
    for (name, value) in options.into_iter().flatten() {
        input.set_option("--option", name, Some(value.clone()));
    }
}

/// Parses `NAME=VALUE`.
fn parse_option(text: &str) -> Result<WorkloadOption, String> {
    let (name, value) = text
        .split_once('=')
        .filter(|(name, _)| !name.is_empty())
        .ok_or("an option is given as NAME=VALUE")?;
    Ok((name.to_owned(), option_from_text(value)))
}
