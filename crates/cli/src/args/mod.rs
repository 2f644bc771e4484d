//! The command line of `prony`.
//!
//! Parses the arguments into a typed command, help, the version, or an error. Messages never repeat a password.
//! Defaults of the plan are not filled in here.

mod agent;
mod capture;
mod demo;
mod doctor;
mod find;
mod generate;
mod init;
mod load;
mod memory;
mod plan_flags;
mod replay;
mod results;
mod run;
mod scenarios;
mod serve;
mod stored;
mod trend;
mod usage;

pub use agent::{AgentArgs, FleetCheckArgs, FleetCollectArgs, FleetCommand, FleetKubernetesArgs};
pub use capture::CaptureArgs;
pub use demo::DemoArgs;
pub use doctor::DoctorArgs;
pub use find::FindArgs;
pub use generate::{CompletionsArgs, ManPagesArgs};
pub use init::{Goal, InitArgs};
pub use load::{CheckArgs, LoadArgs, TablesArgs};
pub use memory::{CachedArgs, ReferenceMemory};
pub use plan_flags::PlanFlags;
pub use replay::ReplayArgs;
pub use results::{
    AuditArgs, CompareArgs, OnUnsure, PriceArgs, ReportArgs, ReportForm, VerifyArgs,
};
pub use run::{DRILL_EXAMPLES, DrillArgs, RunArgs, RunOutputArgs, is_plan};
pub use scenarios::{ReproduceArgs, ScenariosArgs};
pub use serve::ServeArgs;
pub use stored::{DiffSettingsArgs, FilterArgs, JudgeArgs, RunsArgs, RunsCommand, ShowArgs, Since};
pub use trend::{TREND_RUNS, TrendArgs};

use crate::exit::{self, Failure};
use clap::error::{ContextKind, ContextValue};
use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  prony demo                                   with a throw-away server
  prony load tpcb --url postgres://bench@db1/bench --scale 100
  prony run tpcb --url postgres://bench@db1/bench --clients 64 --threads 2 --duration 60s
  prony run plan.toml --rate 5000              a plan from a file, with one setting changed
  prony show last                              the result of the last run
  prony pgbench -c 64 -j 2 -T 60 bench         as pgbench runs with these arguments
  prony hammerdbcli auto build.tcl             as hammerdbcli runs this script
  prony sysbench oltp_read_write run           as sysbench runs with these arguments

The result goes to stdout, everything else to stderr.";

/// The command line.
#[derive(Debug, Parser)]
#[command(
    name = "prony",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    about = "Benchmark a database under a known load",
    long_about = "Benchmark a database: drive a known load, and report what it delivers, whether the \
                  figures can be trusted, and what they cost."
)]
#[command(after_help = after_help())]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

fn after_help() -> String {
    format!("{EXAMPLES}\n\n{}", exit::help())
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a demo of half a minute: start a throw-away PostgreSQL, load it, run tpcb and remove it; or of a failover
    Demo(DemoArgs),
    /// Examine whether this machine and a server are fit for a load, and print what mends them
    Doctor(Box<DoctorArgs>),
    /// Create and fill the tables of a workload, replacing existing ones
    Load(LoadArgs),
    /// Run a workload, or a plan from a file, and report what the server delivered
    Run(Box<RunArgs>),
    /// Fail a server over under load: how long could nobody commit, and was anything acknowledged lost?
    ///
    /// Runs a workload or a plan with a ledger of its commits, executes the commands of --at, and prints what came of it.
    #[command(after_help = DRILL_EXAMPLES)]
    Drill(Box<DrillArgs>),
    /// Find the highest rate that meets what is required, and what limits it
    Find(Box<FindArgs>),
    /// Write a plan for a goal, with what is found on a server
    Init(InitArgs),
    /// Write a plan from the statements that a server has counted, or a recording of sessions from its log
    Capture(CaptureArgs),
    /// Replay recorded sessions at their times, and compare the latency of each statement
    Replay(Box<ReplayArgs>),
    /// Check that the tables of a workload are complete and consistent
    Check(CheckArgs),
    /// Drop the tables of a workload
    Clean(TablesArgs),
    /// List the workloads, or show the options and tables of one
    Workloads(WorkloadsArgs),
    /// List published scenarios with their figures and sources, or show one
    Scenarios(ScenariosArgs),
    /// Load and run a published scenario or suite, and compare with the published figures
    Reproduce(Box<ReproduceArgs>),
    /// List stored runs, newest first; label, annotate or delete them
    Runs(RunsArgs),
    /// Show a stored run
    Show(ShowArgs),
    /// Judge a stored run by the checks of this version
    ///
    /// Prints the findings. The stored findings stay unchanged, unless --again is given.
    Judge(JudgeArgs),
    /// Compare runs, and report whether the differences are significant
    Compare(CompareArgs),
    /// Show the history of a workload's runs, and when their level changed
    Trend(TrendArgs),
    /// List all settings in which two runs differ
    DiffSettings(DiffSettingsArgs),
    /// Write runs as a self-contained HTML page
    Report(ReportArgs),
    /// Serve the stored runs, and one in progress, as pages for a browser
    Serve(ServeArgs),
    /// Verify that a report is unchanged
    Verify(VerifyArgs),
    /// Compute the cost of the throughput of runs from a price sheet
    Price(PriceArgs),
    /// Check output of pgbench, sysbench or HammerDB: do its figures agree with each other?
    Audit(AuditArgs),
    /// Run as pgbench, with its command line, scripts, reports and exit status
    ///
    /// Parses the remaining arguments as pgbench does. A link to prony whose name begins with pgbench
    /// does the same.
    #[command(disable_help_flag = true)]
    Pgbench {
        /// pgbench's own arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Run as hammerdbcli, with its commands, scripts, results and logs
    ///
    /// Commands come from standard input, or from a file: auto FILE. A link to prony whose name begins
    /// with hammerdbcli does the same.
    #[command(disable_help_flag = true)]
    Hammerdbcli {
        /// hammerdbcli's own arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Run as sysbench, with its command line, bundled tests, progress, reports and exit status
    ///
    /// Parses the remaining arguments as sysbench does. A link to prony whose name begins with sysbench
    /// does the same.
    #[command(disable_help_flag = true)]
    Sysbench {
        /// sysbench's own arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Check a plan file, or print the schema of plan files
    Plan {
        #[command(subcommand)]
        command: PlanCommand,
    },
    /// Examine the machines that drive a load together
    Fleet {
        #[command(subcommand)]
        command: FleetCommand,
    },
    /// Serve as an agent: drive clients for the coordinator that started this command
    ///
    /// `prony run --agent COMMAND` appends this to the command, and speaks with the agent over its input and output.
    Agent(AgentArgs),
    /// Print the completions for a shell: bash, zsh, fish and others
    Completions(CompletionsArgs),
    /// Write the man pages to a folder
    #[command(hide = true)]
    ManPages(ManPagesArgs),
}

/// Commands of `prony plan`.
#[derive(Debug, Subcommand)]
pub enum PlanCommand {
    /// Report every mistake in a plan file, without a server
    Check {
        /// The plan, a TOML file
        file: PathBuf,
    },
    /// Print the JSON Schema of plan files
    Schema,
}

/// Arguments of `prony workloads`.
#[derive(Debug, clap::Args)]
pub struct WorkloadsArgs {
    /// Show one workload: its engines, tables, options with their defaults, and metrics
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

/// The timeout for a server that does not respond.
#[derive(Args, Clone, Debug)]
pub struct TimeoutArgs {
    /// If no byte is sent or received for this long, try a second connection. If the server does not answer that
    /// within `connect_timeout` (10 s), the command fails; if it does, the command continues to wait, as for a
    /// large index. 0: wait forever
    #[arg(long, value_name = "TIME", default_value = "30s", help_heading = "Server",
          value_parser = prony_plan::parse_duration)]
    pub io_timeout: std::time::Duration,
}

impl Default for TimeoutArgs {
    fn default() -> TimeoutArgs {
        TimeoutArgs {
            io_timeout: std::time::Duration::from_secs(30),
        }
    }
}

/// Parses the command line. Help and version are printed, and returned as an empty failure with [`exit::Exit::Success`],
/// or with [`exit::Exit::Usage`] if the arguments lack a command.
pub fn parse(arguments: &[OsString]) -> Result<Command, Failure> {
    let parsed = Cli::try_parse_from(arguments).or_else(|error| {
        match join_negative_values(arguments, &error) {
            Some(joined) => Cli::try_parse_from(joined),
            None => Err(error),
        }
    });
    let command = match parsed {
        Ok(cli) => match find_url_as_workload(&cli.command) {
            Some((url, hint)) => Err(misplaced_url_failure(url, hint)),
            None => Ok(cli.command),
        },
        Err(error) => Err(match usage::exit_of_help(&error) {
            Some(exit) => {
                // If the pipe is closed, nobody reads the help.
                let _ = error.print();
                Failure {
                    exit,
                    subject: String::new(),
                    problems: Vec::new(),
                }
            }
            None => usage::failure(&error, arguments),
        }),
    };
    command.map_err(|failure| failure.without_passwords(arguments))
}

/// If `-1s` after an option was parsed as a flag, returns the arguments with `--option=-1s` instead, so that clap
/// reports the valid values of the option.
fn join_negative_values(arguments: &[OsString], error: &clap::Error) -> Option<Vec<OsString>> {
    let is_negative_number = |word: &str| {
        word.strip_prefix('-')
            .is_some_and(|number| number.starts_with(|first: char| first.is_ascii_digit()))
    };
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(word)) if is_negative_number(word) => {}
        _ => return None,
    }
    let mut joined: Vec<OsString> = Vec::new();
    for argument in arguments {
        let value = argument.to_str().filter(|word| is_negative_number(word));
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

/// The URL that was given in place of a workload's name, if any, with a hint on the correct syntax.
fn find_url_as_workload(command: &Command) -> Option<(&str, &'static str)> {
    let (word, hint) = match command {
        Command::Load(args) => (&args.workload, "prony load WORKLOAD --url URL"),
        Command::Run(args) => (&args.workload_or_plan, "prony run WORKLOAD --url URL"),
        Command::Drill(args) => (&args.run.workload_or_plan, "prony drill WORKLOAD --url URL"),
        Command::Find(args) => (&args.workload_or_plan, "prony find WORKLOAD --url URL"),
        Command::Check(args) => (&args.tables.workload, "prony check WORKLOAD --url URL"),
        Command::Clean(args) => (&args.workload, "prony clean WORKLOAD --url URL"),
        Command::Reproduce(args) => (&args.id, "prony reproduce ID --url URL"),
        _ => return None,
    };
    is_url(word).then_some((word, hint))
}

fn is_url(word: &str) -> bool {
    word.contains("://")
}

fn misplaced_url_failure(url: &str, hint: &str) -> Failure {
    let message = format!("{url} is a URL: give it with --url");
    Failure::usage(message, hint)
}

/// The message for an invalid command line, with its hint on a second line.
#[cfg(test)]
pub(crate) fn usage_error(arguments: &[&str]) -> String {
    let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    let failure = parse(&arguments).expect_err("it is invalid");
    let problem = &failure.problems[0];
    format!(
        "{}\n{}",
        problem.problem,
        problem.hint.as_deref().unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use prony_assertions::TextAssertions;

    fn parse_line(line: &str) -> Result<Command, Failure> {
        let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        parse(&arguments)
    }

    #[test]
    fn the_command_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    /// clap would break a longer line after its 100th column, and leave the rest of it on a line of its own.
    #[test]
    fn no_line_of_prose_below_the_options_is_broken_again() {
        fn long_lines(command: &clap::Command, lines: &mut Vec<String>) {
            let help = [command.get_after_help(), command.get_after_long_help()];
            for text in help.into_iter().flatten().map(ToString::to_string) {
                let prose = text.lines().filter(|line| !line.starts_with(' '));
                lines.extend(
                    prose
                        .filter(|line| line.chars().count() > 100)
                        .map(str::to_owned),
                );
            }
            for subcommand in command.get_subcommands() {
                long_lines(subcommand, lines);
            }
        }
        let mut lines = Vec::new();
        long_lines(&Cli::command(), &mut lines);
        assert!(lines.is_empty(), "{lines:#?}");
    }

    #[test]
    fn usage_errors_do_not_repeat_a_password() {
        for line in [
            "prony run tpcb postgres://u:geheim@h/d",
            "prony check tpcb --ulr=postgres://u:geheim@h/d",
            "prony postgres://u:geheim@h/d",
            "prony check tpcb --url postgres://u:geheim@h/d --url postgres://u:geheim@h/d",
        ] {
            let failure = parse_line(line).unwrap_err();
            assert_eq!(failure.exit, crate::exit::Exit::Usage, "{line}");
            format!("{failure:?}").assert_lacks("geheim");
        }
    }

    #[test]
    fn a_negative_value_is_reported_as_an_invalid_value_of_its_option() {
        for (line, option) in [
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
            let failure = parse_line(line).unwrap_err();
            let message = &failure.problems[0].problem;
            assert!(message.starts_with("invalid value '-"), "{line}: {message}");
            assert!(message.contains(option), "{line}: {message}");
        }
        let failure = parse_line("prony runs -1").unwrap_err();
        let message = &failure.problems[0].problem;
        assert_eq!(message, "unknown option -1");
    }

    #[test]
    fn the_first_letters_of_an_option_are_enough_for_a_guess() {
        for (line, guess) in [
            ("prony compare a b --fail-if 3%", "--fail-if-slower?"),
            ("prony run tpcb --trans 5", "--transactions?"),
            ("prony run tpcb --client=5", "--clients?"),
        ] {
            let failure = parse_line(line).unwrap_err();
            let text = format!("{failure:?}");
            text.assert_contains(&format!("did you mean {guess}"));
        }
        let failure = parse_line("prony run tpcb --x 5").unwrap_err();
        format!("{failure:?}").assert_lacks("did you mean");
    }
}
