//! Remedies for problems, as data: each caller renders a [`Remedy`] with the commands of its own tool.
//!
//! Must never name a command that the tool does not have, or one that does something different.

use crate::{Error, Result};
use prony_plan::shell_word;
use std::fmt;

/// An option of a load, with its value: `scale`, `table_size`, `seed`, `profile` or `partitions`.
pub type LoadOption = (&'static str, String);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadSpec {
    pub workload: &'static str,
    /// The workload under whose name the tables are loaded and dropped.
    pub dataset: &'static str,
    /// Required options of the load. The caller chooses the values of other options.
    pub options: Vec<LoadOption>,
}

/// What to do about a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Advice that is valid for every tool.
    Advice(String),
    /// Advice to set an option that only Prony has.
    PronyOption(String),
    Load(LoadSpec),
    /// Follow the alternative in the text, if any; or replace the existing tables by loading others.
    Reload(&'static str, LoadSpec),
    /// Continue a load under the condition in the text (`with the same seed`), or drop what it left behind.
    Continue(LoadSpec, &'static str),
    /// Check the tables, because the commit of a load was not confirmed.
    Check(LoadSpec),
    /// Drop the tables; the text states the effect.
    Clean(LoadSpec, &'static str),
    /// Set the next order numbers of tpcc's districts to free ones.
    RepairSequences,
    /// Follow this advice, then the remedy.
    AdviceThen(String, Box<Remedy>),
}

/// The commands of a tool. The default methods are right for Prony, and for tools whose load commands replace
/// tables and continue interrupted loads as Prony's does.
pub trait Commands {
    fn load_command(&self, load: &LoadSpec) -> String;

    fn clean_command(&self, load: &LoadSpec) -> String;

    /// The command that checks the tables, if the tool has one.
    fn check_command(&self, load: &LoadSpec) -> Option<String>;

    /// The command that sets the next order numbers of tpcc's districts to free ones, if the tool has one.
    fn repair_sequences_command(&self) -> Option<String>;

    /// Whether the load command replaces existing complete tables.
    fn load_replaces_tables(&self) -> bool {
        true
    }

    /// The condition under which the tool's load command continues an interrupted load, such as `with the
    /// same seed`; `None` if it cannot continue loads. `condition` is the condition of Prony's command.
    fn continue_condition<'a>(&self, condition: &'a str) -> Option<&'a str> {
        Some(condition)
    }
}

/// The longest URL in a command, in characters: a longer one would hide what the command does.
const MAX_URL_CHARS: usize = 60;

#[derive(Clone, Debug, Default)]
pub struct PronyCommands {
    /// The value of `--url`, if that names the server: the commands then need it as well.
    url_argument: Option<String>,
}

impl PronyCommands {
    /// The commands for the server of this URL, if any. They have `URL` in place of one that is long or has a password.
    pub fn for_url(url: Option<&str>) -> PronyCommands {
        let argument = |url: &str| {
            let has_password = prony_server::redact(url) != url;
            if has_password || url.chars().count() > MAX_URL_CHARS {
                "URL".to_owned()
            } else {
                shell_word(url)
            }
        };
        PronyCommands {
            url_argument: url.map(argument),
        }
    }

    fn with_server(&self, command: String) -> String {
        match &self.url_argument {
            Some(url) => format!("{command} --url {url}"),
            None => command,
        }
    }
}

impl Commands for PronyCommands {
    fn load_command(&self, load: &LoadSpec) -> String {
        let mut command = format!("prony load {}", load.workload);
        for (name, value) in &load.options {
            command += &match *name {
                "table_size" => format!(" -o table_size={value}"),
                name => format!(" --{name} {value}"),
            };
        }
        self.with_server(command)
    }

    fn clean_command(&self, load: &LoadSpec) -> String {
        self.with_server(format!("prony clean {}", load.dataset))
    }

    fn check_command(&self, load: &LoadSpec) -> Option<String> {
        Some(self.with_server(format!("prony check {}", load.workload)))
    }

    fn repair_sequences_command(&self) -> Option<String> {
        Some(self.with_server("prony check tpcc --repair-sequences".to_owned()))
    }
}

impl LoadSpec {
    pub fn of(workload: &'static str, options: Vec<LoadOption>) -> LoadSpec {
        LoadSpec {
            workload,
            dataset: workload,
            options,
        }
    }

    /// Returns the scale of the data, if it is the requested one or no scale was requested.
    pub fn check_scale(&self, scale: u32, requested: Option<u32>) -> Result<u32> {
        match requested {
            Some(requested) if requested != scale => Err(Error::Data {
                problem: format!("the data has scale {scale}, but scale {requested} was requested"),
                remedy: Remedy::Reload(
                    "omit the scale to run on the existing data, or load other data",
                    self.clone(),
                ),
            }),
            _ => Ok(scale),
        }
    }
}

impl Remedy {
    pub fn render(&self, commands: &dyn Commands) -> String {
        match self {
            Remedy::Advice(text) | Remedy::PronyOption(text) => text.clone(),
            Remedy::Load(load) => commands.load_command(load),
            Remedy::Reload(alternative, load) => {
                let reload = reload_text(commands, load);
                match *alternative {
                    "" => reload,
                    alternative => format!("{alternative}: {reload}"),
                }
            }
            Remedy::Continue(spec, condition) => {
                let (load, clean) = (commands.load_command(spec), commands.clean_command(spec));
                match commands.continue_condition(condition) {
                    Some(condition) => {
                        let condition = match condition {
                            "" => String::new(),
                            condition => format!(" {condition}"),
                        };
                        format!("`{load}`{condition} continues it; `{clean}` drops the tables")
                    }
                    None => {
                        format!("`{clean}` drops the existing tables, then `{load}` starts over")
                    }
                }
            }
            Remedy::Check(load) => match commands.check_command(load) {
                Some(check) => format!("`{check}` shows which"),
                None => reload_text(commands, load),
            },
            Remedy::Clean(load, effect) => format!("`{}` {effect}", commands.clean_command(load)),
            Remedy::RepairSequences => match commands.repair_sequences_command() {
                Some(repair) => format!("`{repair}` sets them to the next free number"),
                None => "set each of these d_next_o_id to the highest o_id of its district plus 1"
                    .to_owned(),
            },
            Remedy::AdviceThen(advice, next) => advice_then(advice, &next.render(commands)),
        }
    }

    /// The remedy after a load that failed, whose message says separately how to drop what it left behind.
    pub fn render_after_failure(&self, commands: &dyn Commands) -> String {
        match self {
            Remedy::Continue(load, condition) => match commands.continue_condition(condition) {
                Some("") => format!("`{}` continues it", commands.load_command(load)),
                Some(condition) => {
                    format!("`{}` {condition} continues it", commands.load_command(load))
                }
                None => self.render(commands),
            },
            Remedy::AdviceThen(advice, next) => match next.continued_load(commands) {
                Some(_) => advice_then(advice, "the same load continues"),
                None => self.render(commands),
            },
            other => other.render(commands),
        }
    }

    pub fn continued_load(&self, commands: &dyn Commands) -> Option<&LoadSpec> {
        match self {
            Remedy::Continue(load, condition) => {
                commands.continue_condition(condition).map(|_| load)
            }
            Remedy::AdviceThen(_, next) => next.continued_load(commands),
            _ => None,
        }
    }
}

fn advice_then(advice: &str, next: &str) -> String {
    let separator = match advice.chars().last() {
        Some('.') => " Then ",
        Some(';') => " then ",
        _ => "; then ",
    };
    format!("{advice}{separator}{next}")
}

fn reload_text(commands: &dyn Commands, load: &LoadSpec) -> String {
    if commands.load_replaces_tables() {
        commands.load_command(load)
    } else {
        format!(
            "`{}`, then `{}`",
            commands.clean_command(load),
            commands.load_command(load)
        )
    }
}

/// Renders the remedy with Prony's own commands.
impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(&PronyCommands::default()))
    }
}

impl From<String> for Remedy {
    fn from(advice: String) -> Remedy {
        Remedy::Advice(advice)
    }
}

impl From<&str> for Remedy {
    fn from(advice: &str) -> Remedy {
        Remedy::Advice(advice.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remedies_render_pronys_commands() {
        let options = [("scale", "4"), ("table_size", "100"), ("seed", "7")];
        let options = options.map(|(name, value)| (name, value.to_owned()));
        let load = LoadSpec {
            dataset: "oltp_read_write",
            ..LoadSpec::of("oltp_read_only", options.into())
        };
        let command = "prony load oltp_read_only --scale 4 -o table_size=100 --seed 7";
        let text = |remedy: Remedy| remedy.to_string();
        assert_eq!(text(Remedy::Load(load.clone())), command);
        assert_eq!(text(Remedy::Reload("", load.clone())), command);
        assert_eq!(
            text(Remedy::Continue(load.clone(), "with the same options")),
            format!(
                "`{command}` with the same options continues it; `prony clean oltp_read_write` drops the tables"
            )
        );
        assert_eq!(
            text(Remedy::Check(load.clone())),
            "`prony check oltp_read_only` shows which"
        );
        for (url, argument) in [
            ("mysql://ann@db1/shop", "mysql://ann@db1/shop"),
            ("dbname=shop user=ann", "'dbname=shop user=ann'"),
            ("mysql://ann:secret@db1/shop", "URL"),
            (&*"h".repeat(MAX_URL_CHARS + 1), "URL"),
        ] {
            let remote = PronyCommands::for_url(Some(url));
            assert_eq!(
                Remedy::Load(load.clone()).render(&remote),
                format!("{command} --url {argument}")
            );
            assert_eq!(
                Remedy::Check(load.clone()).render(&remote),
                format!("`prony check oltp_read_only --url {argument}` shows which")
            );
            assert_eq!(
                Remedy::RepairSequences.render(&remote),
                format!(
                    "`prony check tpcc --repair-sequences --url {argument}` sets them to the next free number"
                )
            );
        }
        let advice_then_clean = |advice: &str| {
            text(Remedy::AdviceThen(
                advice.to_owned(),
                Box::new(Remedy::Clean(load.clone(), "drops them")),
            ))
        };
        let clean = "`prony clean oltp_read_write` drops them";
        assert_eq!(
            advice_then_clean("free space"),
            format!("free space; then {clean}")
        );
        assert_eq!(
            advice_then_clean("Free space."),
            format!("Free space. Then {clean}")
        );
    }
}
