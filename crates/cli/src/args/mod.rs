//! The command line of `prony`.
//!
//! In: arguments. Out: what is asked, typed; or help, the version, or a mistake in it. Must never:
//! repeat a password in a message, or fill in a default that belongs to the plan.

mod audit;
mod compare;
mod load;
mod price;
mod report;
mod run;
mod scenarios;
mod stored;

pub use audit::AuditArgs;
pub use compare::CompareArgs;
pub use load::{LoadArgs, TablesArgs};
pub use price::PriceArgs;
pub use report::{ReportArgs, VerifyArgs};
pub use run::{KeepingArgs, RunArgs};
pub use scenarios::{CachedArgs, CachedOf, ReproduceArgs, ScenariosArgs};
pub use stored::{RunsArgs, ShowArgs};

use crate::exit::{self, Exit, Failure};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand};
use prony_plan::Asked;
use prony_report::Problem;
use std::ffi::OsString;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  prony demo                                   a server of its own, loaded, driven, removed
  prony load tpcb --url postgres://bench@db1/bench --scale 100
  prony run tpcb --url postgres://bench@db1/bench --clients 64 --threads 2 --duration 60s
  prony run plan.toml --rate 5000              a plan from a file, with one thing changed
  prony show last                              the result of the last run once more
  prony pgbench -c 64 -j 2 -T 60 bench         what pgbench does with these arguments
  prony hammerdbcli auto build.tcl             what hammerdbcli does with this script
  prony sysbench oltp_read_write run           what sysbench does with these arguments

The result goes to stdout, everything else to stderr.";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "prony",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    about = "Puts a database under a known load and says what it delivers",
    long_about = "Puts a database under a known load and says what it delivers, whether the figure \
                  can be trusted, and what it costs."
)]
#[command(after_help = help_end())]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

fn help_end() -> String {
    format!("{EXAMPLES}\n\n{}", exit::HELP)
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show it all in half a minute: a PostgreSQL of its own, loaded, driven and removed
    Demo(DemoArgs),
    /// Create and fill the tables of a workload, in place of those that are there
    Load(LoadArgs),
    /// Drive a workload, or a plan from a file, and report what the server delivered
    Run(Box<RunArgs>),
    /// Check that the tables of a workload are complete and consistent
    Check(TablesArgs),
    /// Drop the tables of a workload
    Clean(TablesArgs),
    /// List the workloads
    Workloads,
    /// List published scenarios with their figures and sources, or show one whole
    Scenarios(ScenariosArgs),
    /// Load and run a published scenario, and set the figures beside the published ones
    Reproduce(Box<ReproduceArgs>),
    /// List the stored runs, newest first
    Runs(RunsArgs),
    /// Show a stored run again
    Show(ShowArgs),
    /// Say whether stored runs may be compared, and how far chance explains a difference
    Compare(CompareArgs),
    /// Write stored runs as one HTML page that needs no network
    Report(ReportArgs),
    /// Say whether a report is still what was written
    Verify(VerifyArgs),
    /// Say what the throughput of stored runs costs, by a price sheet
    Price(PriceArgs),
    /// Check what pgbench, sysbench or HammerDB printed, and make a run of it
    Audit(AuditArgs),
    /// Be pgbench: its command line, scripts, reports and exit status
    ///
    /// The rest of the line is read as pgbench reads it. A link to prony whose name begins with
    /// pgbench does the same.
    #[command(disable_help_flag = true)]
    Pgbench {
        /// pgbench's own arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Be hammerdbcli: its commands, scripts, results and logs
    ///
    /// Commands come from standard input, or from a file: auto FILE. A link to prony whose name begins
    /// with hammerdbcli does the same.
    #[command(disable_help_flag = true)]
    Hammerdbcli {
        /// hammerdbcli's own arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Be sysbench: its command line, bundled tests, progress, reports and exit status
    ///
    /// The rest of the line is read as sysbench reads it. A link to prony whose name begins with
    /// sysbench does the same.
    #[command(disable_help_flag = true)]
    Sysbench {
        /// sysbench's own arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Check plan files, or print their schema
    Plan {
        /// What to do with plans.
        #[command(subcommand)]
        command: PlanCommand,
    },
}

/// What to do with plans.
#[derive(Debug, Subcommand)]
pub enum PlanCommand {
    /// Name every mistake in a plan file; no server is asked
    Check {
        /// The plan, a TOML file
        file: PathBuf,
    },
    /// Print the JSON Schema of plan files
    Schema,
}

/// Which server: `--url` and what stands in for it.
#[derive(Args, Clone, Debug, Default)]
pub struct ServerArgs {
    /// Connection URI or conninfo string, as libpq reads it; what it leaves out comes from PGHOST,
    /// PGPORT, PGUSER, PGPASSWORD, PGDATABASE, PGSERVICE, PGSSLMODE, the password file... Or
    /// mysql://user@host/database, with the option files and variables of MySQL's client
    #[arg(
        long,
        value_name = "URL",
        help_heading = "Server",
        hide_default_value = true
    )]
    pub url: Option<String>,
}

/// An option of a workload, as `--option` takes it.
pub type WorkloadOption = (String, toml::Value);

/// Reads how many of something; the plan says how many there may be, and this what is no such number. With
/// it goes `allow_negative_numbers`: without, `-1` is taken for a flag.
fn positive(text: &str) -> Result<u64, String> {
    let number = text.parse();
    number.map_err(|_| "must be a positive whole number".to_owned())
}

/// Reads `NAME=VALUE`: a number or true or false where the value is one, else text.
fn option(text: &str) -> Result<WorkloadOption, String> {
    let (name, value) = text
        .split_once('=')
        .filter(|(name, _)| !name.is_empty())
        .ok_or("an option is given as NAME=VALUE")?;
    let number = value.parse::<i64>().map(toml::Value::from);
    let real = || value.parse::<f64>().map(toml::Value::from);
    let switch = || value.parse::<bool>().map(toml::Value::from);
    let value = number
        .or_else(|_| real())
        .or_else(|_| switch())
        .unwrap_or_else(|_| value.into());
    Ok((name.to_owned(), value))
}

/// Adds options of the workload to what is asked.
pub fn add_options(asked: &mut Asked, options: &[WorkloadOption]) {
    for (name, value) in options {
        asked.add_option_value("--option", name, Some(value.clone()));
    }
}

/// Arguments of `prony demo`.
#[derive(Args, Debug)]
#[command(after_help = "\
PostgreSQL's programs are taken from PATH, from pg_config or from the distribution's usual folders.
Where there are none, --download fetches them (about 30 MB, checksum verified) into the cache folder.")]
pub struct DemoArgs {
    /// Download PostgreSQL's programs if there are none on this machine
    #[arg(long)]
    pub download: bool,

    /// Length of the measured window
    #[arg(long, short = 'T', value_name = "TIME", default_value = "15s",
          value_parser = prony_plan::parse_duration)]
    pub duration: std::time::Duration,

    /// Print the result as the JSON document alone
    #[arg(long)]
    pub json: bool,

    /// Do not store the run
    #[arg(long)]
    pub no_store: bool,
}

/// Reads the command line. Help and version are printed, and end with [`Exit::Fine`] by way of an
/// empty failure.
pub fn parse(arguments: &[OsString]) -> Result<Command, Failure> {
    Cli::try_parse_from(arguments)
        .or_else(|error| match with_negative_values(arguments, &error) {
            Some(joined) => Cli::try_parse_from(joined),
            None => Err(error),
        })
        .map_err(|error| explain(&error))
        .and_then(|cli| match url_as_workload(&cli.command) {
            Some((url, hint)) => Err(misplaced(url, hint)),
            None => Ok(cli.command),
        })
        .map_err(|failure| failure.without_passwords(arguments))
}

/// Where `-1s` after an option was taken for a flag: the arguments with it as the option's value, which
/// then says what it wants.
fn with_negative_values(arguments: &[OsString], error: &clap::Error) -> Option<Vec<OsString>> {
    let negative = |word: &str| {
        word.strip_prefix('-')
            .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
    };
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(word)) if negative(word) => {}
        _ => return None,
    }
    let mut joined: Vec<OsString> = Vec::new();
    for argument in arguments {
        let value = argument.to_str().filter(|word| negative(word));
        match (value, joined.last_mut()) {
            (Some(value), Some(option)) if option.to_string_lossy().starts_with('-') => {
                option.push("=");
                option.push(value);
            }
            _ => joined.push(argument.clone()),
        }
    }
    Some(joined)
}

/// A URL where the name of a workload belongs, with what to type in its place.
fn url_as_workload(command: &Command) -> Option<(&str, &'static str)> {
    let (word, hint) = match command {
        Command::Load(args) => (&args.workload, "prony load WORKLOAD --url URL"),
        Command::Run(args) => (&args.what, "prony run WORKLOAD --url URL"),
        Command::Check(args) => (&args.workload, "prony check WORKLOAD --url URL"),
        Command::Clean(args) => (&args.workload, "prony clean WORKLOAD --url URL"),
        Command::Reproduce(args) => (&args.id, "prony reproduce ID --url URL"),
        _ => return None,
    };
    is_url(word).then_some((word, hint))
}

fn is_url(word: &str) -> bool {
    word.contains("://")
}

fn misplaced(url: &str, hint: &str) -> Failure {
    let what = format!("{url} is a URL: give it with --url");
    Failure::new(Exit::Usage, what, hint)
}

/// Prints help, or turns a mistake into a problem.
fn explain(error: &clap::Error) -> Failure {
    if !error.use_stderr() {
        // A closed pipe ends the help quietly.
        let _ = error.print();
        return Failure {
            exit: Exit::Fine,
            of: String::new(),
            problems: Vec::new(),
        };
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print();
        return Failure {
            exit: Exit::Usage,
            of: String::new(),
            problems: Vec::new(),
        };
    }
    if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg)
        && error.kind() == ErrorKind::UnknownArgument
        && is_url(word)
        && !word.starts_with('-')
    {
        return misplaced(word, "see --help");
    }
    Failure {
        exit: Exit::Usage,
        of: String::new(),
        problems: vec![problem(&error.to_string())],
    }
}

/// Clap's text in the form of every other problem: what, then usage and tips as its place.
fn problem(text: &str) -> Problem {
    let text = text.strip_prefix("error: ").unwrap_or(text).trim_end();
    let (what, rest) = text.split_once("\n\n").unwrap_or((text, ""));
    let mut place = Vec::new();
    let mut hint = Vec::new();
    for line in rest.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(tip) = line.strip_prefix("tip: ") {
            hint.push(tip.to_owned());
        } else if line.starts_with("For more information") {
            hint.push("see --help".to_owned());
        } else {
            place.push(line.to_owned());
        }
    }
    Problem {
        what: what.to_owned(),
        place: place.join("\n"),
        hint: hint.join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parsed(line: &str) -> Result<Command, Failure> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        parse(&words)
    }

    #[test]
    fn the_definition_holds_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_mistake_does_not_repeat_a_password() {
        for line in [
            "prony run tpcb postgres://u:geheim@h/d",
            "prony check tpcb --ulr=postgres://u:geheim@h/d",
            "prony postgres://u:geheim@h/d",
            "prony check tpcb --url postgres://u:geheim@h/d --url postgres://u:geheim@h/d",
        ] {
            let failure = parsed(line).unwrap_err();
            assert_eq!(failure.exit, Exit::Usage, "{line}");
            assert!(!format!("{failure:?}").contains("geheim"), "{failure:?}");
        }
    }

    #[test]
    fn a_negative_value_is_told_what_its_option_wants() {
        for (line, of) in [
            ("prony run tpcb --duration -1s", "--duration <TIME>"),
            (
                "prony run tpcb -c 2 --warmup -2m --seed 3",
                "--warmup <TIME>",
            ),
            ("prony load tpcb --jobs -2", "--jobs <N>"),
            ("prony load tpcb --cached -30%", "--cached <SHARE>"),
            (
                "prony compare a b --fail-if-slower -3%",
                "--fail-if-slower <",
            ),
            ("prony run tpcb -c -1", "--clients <N>"),
        ] {
            let failure = parsed(line).unwrap_err();
            let what = &failure.problems[0].what;
            assert!(what.starts_with("invalid value '-"), "{line}: {what}");
            assert!(what.contains(of), "{line}: {what}");
        }
        let flag = parsed("prony runs -1").unwrap_err();
        assert!(flag.problems[0].what.contains("unexpected"), "{flag:?}");
    }

    #[test]
    fn clap_speaks_like_every_other_problem() {
        let failure = parsed("prony run tpcb --cleints 3").unwrap_err();
        let problem = &failure.problems[0];
        assert_eq!(problem.what, "unexpected argument '--cleints' found");
        assert!(problem.hint.contains("--clients"), "{problem:?}");
        assert!(problem.place.starts_with("Usage: prony run"), "{problem:?}");
    }
}
