//! Arguments of `run`: the flags that can be laid over a plan.
//!
//! In: clap. Out: an [`Asked`] of what was given, and how to show the result. Must never: fill in a
//! default; the plan does.

use super::ServerArgs;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use prony_plan::{Arrival, Asked, Choice, IoEngine, Order, QueryMode, flag, parse_duration};
use std::time::Duration;

/// Arguments of `prony run`.
#[derive(Args, Debug)]
#[command(after_help = "\
Response time counts from the moment a transaction was due to its last reply; service time from the
moment it was really sent. In a closed loop (without --rate) they are the same.

Times are written as 500ms, 30s, 5m, 1h30m. Ctrl-C ends the run at once with its partial result.

Examples:
  prony run tpcb --clients 64 --threads 2 --duration 60s --warmup 10s
  prony run select-only --clients 16 --duration 30s --rate 5000 --arrival even
  prony run tpcb --embedded --duration 10s     on a throw-away server
  prony run script --file pay.sql@3 --file look.sql@1
  prony run plan.toml --clients 128            a plan from a file, with one thing changed
  prony run tpcb --duration 10s --repeats 5    five runs, and their median
  prony run tpcb --duration 10s --json | jq .measured.kinds[0].tps")]
pub struct RunArgs {
    /// Name of a workload (`prony workloads` lists them), or a plan: a file whose name ends in .toml
    #[arg(value_name = "WORKLOAD|PLAN.toml")]
    pub what: String,

    #[command(flatten)]
    pub server: ServerArgs,

    /// Start a throw-away PostgreSQL, load it and remove it afterwards
    #[arg(long, conflicts_with = "url", help_heading = "Server")]
    pub embedded: bool,

    /// With --embedded: download PostgreSQL's programs if there are none on this machine
    #[arg(long, help_heading = "Server")]
    pub download: bool,

    /// Scale factor that the data must have [default: that of the data that is there]
    #[arg(long, short = 's', value_name = "N", help_heading = "Load",
          allow_negative_numbers = true, value_parser = super::positive)]
    pub scale: Option<u64>,

    /// Workload `script`: a script in pgbench's language, and how often against the others [repeatable]
    #[arg(
        long = "file",
        short = 'f',
        value_name = "FILE[@WEIGHT]",
        help_heading = "Load"
    )]
    pub files: Vec<String>,

    /// Workload `script`: a builtin script of pgbench: tpcb-like, simple-update, select-only
    /// [repeatable]
    #[arg(long, short = 'b', value_name = "NAME[@WEIGHT]", help_heading = "Load")]
    pub builtin: Vec<String>,

    /// Workload `script`: a variable of every script [repeatable]
    #[arg(long, short = 'D', value_name = "NAME=VALUE", help_heading = "Load")]
    pub define: Vec<String>,

    /// Workload `tpcc`: how a transaction is sent: procedures, statements, pipelined [default:
    /// procedures]
    #[arg(long, value_name = "MODE", help_heading = "Load")]
    pub mode: Option<String>,

    /// Workload `tpcc`: whose transactions: standard, hammerdb, hammerdb-4.6 [default: standard]
    #[arg(long, value_name = "PROFILE", help_heading = "Load")]
    pub profile: Option<String>,

    /// Workload `tpcc`: the warehouses of a user: user (one of its own) or all [default: user]
    #[arg(long, value_name = "WHICH", help_heading = "Load")]
    pub home: Option<String>,

    /// Workload `tpcc`: keying and think times: none, or spec [default: none]
    #[arg(long, value_name = "PACING", help_heading = "Load")]
    pub pacing: Option<String>,

    /// Workload `tpcc`: tries of a transaction that meets a serialization failure or deadlock
    /// [default: 10]
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub max_tries: Option<i64>,

    /// An option of the workload, such as table_size=25000; those of oltp_* are sysbench's
    /// [repeatable]
    #[arg(
        long = "option",
        short = 'o',
        value_name = "NAME=VALUE",
        help_heading = "Load",
        value_parser = super::option
    )]
    pub options: Vec<super::WorkloadOption>,

    /// Virtual users, each with a connection of its own [default: 8]
    #[arg(long, short = 'c', value_name = "N", help_heading = "Load",
          allow_negative_numbers = true, value_parser = super::positive)]
    pub clients: Option<u64>,

    /// OS threads that drive them [default: 1]
    #[arg(long, short = 'j', value_name = "N", help_heading = "Load",
          allow_negative_numbers = true, value_parser = super::positive)]
    pub threads: Option<u64>,

    /// Start transactions at this rate a second, all clients together, whatever the server does
    #[arg(long, short = 'R', value_name = "TPS", help_heading = "Load",
          allow_negative_numbers = true, value_parser = rate)]
    pub rate: Option<f64>,

    /// Gaps between starts with --rate: those of independent users, or all the same [default: poisson]
    #[arg(long, help_heading = "Load", value_parser = choice::<Arrival>())]
    pub arrival: Option<Arrival>,

    /// Measure for so long [default: 60s]
    #[arg(long, short = 'T', value_name = "TIME", help_heading = "Time",
          value_parser = parse_duration)]
    pub duration: Option<Duration>,

    /// Measure so many transactions of each client, in place of a time
    #[arg(
        long,
        short = 't',
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = super::positive,
        help_heading = "Time",
        conflicts_with = "duration"
    )]
    pub transactions: Option<u64>,

    /// Drive for so long before, and keep its figures apart [default: 0s]
    #[arg(long, value_name = "TIME", help_heading = "Time", value_parser = parse_duration)]
    pub warmup: Option<Duration>,

    /// How long transactions in flight at the end may take before they are cut off [default: 5s]
    #[arg(long, value_name = "TIME", help_heading = "Time", value_parser = parse_duration)]
    pub grace: Option<Duration>,

    /// How statements are sent [default: prepared]
    #[arg(long, short = 'M', help_heading = "Statements", value_parser = choice::<QueryMode>())]
    pub protocol: Option<QueryMode>,

    /// Do not ask for the row description with each execution, as libpq always does
    #[arg(long, help_heading = "Statements")]
    pub no_describe: bool,

    /// A new connection for each transaction
    #[arg(long, short = 'C', help_heading = "Statements")]
    pub connect_per_transaction: bool,

    /// So many of the clients use TCP where the others use a unix socket, so that the kernel's
    /// receive stamps tell the server's share of the response time
    #[arg(long, value_name = "N", help_heading = "Client",
          allow_negative_numbers = true, value_parser = super::positive)]
    pub tcp_sample: Option<u64>,

    /// I/O engine: io_uring, epoll, or whichever a probe finds usable [default: auto]
    #[arg(long, help_heading = "Client", value_parser = choice::<IoEngine>())]
    pub io: Option<IoEngine>,

    /// Pin each thread to a CPU
    #[arg(long, help_heading = "Client")]
    pub pin: bool,

    /// Seed of all random numbers [default: chosen, and named in the result]
    #[arg(long, value_name = "N", help_heading = "Client")]
    pub seed: Option<u64>,

    /// Where the node_exporter of the server's machine answers, such as http://db1:9100/metrics: its
    /// CPU, memory and disks stand in the result [default: this machine's own, if the server is on it]
    #[arg(long, value_name = "URL", help_heading = "Server")]
    pub server_metrics: Option<String>,

    /// Say whether this share of the data was cached, such as 30%, by its size and the pages that the
    /// server found in its cache
    #[arg(long, value_name = "SHARE", help_heading = "Server",
          value_parser = prony_plan::scenario::parse_share, conflicts_with_all = ["embedded", "no_observe"])]
    pub cached: Option<f64>,

    /// With --cached: in the memory of the server's machine (memory), or in its own shared_buffers or
    /// innodb_buffer_pool_size (cache) [default: memory where it is known, else cache]
    #[arg(
        long,
        value_name = "WHAT",
        help_heading = "Server",
        requires = "cached",
        hide_possible_values = true
    )]
    pub cached_of: Option<super::CachedOf>,

    /// Do not look at the server during the run, nor before and after it at more than its version and
    /// settings
    #[arg(long, help_heading = "Server", conflicts_with = "server_metrics")]
    pub no_observe: bool,

    /// Serve the figures of the run to Prometheus while it goes on, at /metrics: a port of this machine
    /// alone, such as 9187, or an address with one
    #[arg(long, value_name = "ADDRESS", help_heading = "Result")]
    pub metrics_listen: Option<String>,

    /// Run it so often, each run stored by itself; of a plan with variants each of them [default: 1,
    /// with variants 6]
    #[arg(long, value_name = "N", help_heading = "Repeats", allow_negative_numbers = true,
          value_parser = repeats)]
    pub repeats: Option<u64>,

    /// Order of the runs of a plan with variants: A B B A (a steady drift cancels if the repeats are even
    /// in number), shuffled in each repeat by the seed, or all repeats of one before the next [default:
    /// interleaved]
    #[arg(long, help_heading = "Repeats", value_parser = choice::<Order>())]
    pub order: Option<Order>,

    /// Print the result as the JSON document alone; of several runs each document in a line as it ends
    #[arg(long, help_heading = "Result")]
    pub json: bool,

    #[command(flatten)]
    pub keeping: KeepingArgs,
}

/// What is kept of a run, and shown of it meanwhile.
#[derive(Args, Clone, Copy, Debug)]
pub struct KeepingArgs {
    /// Do not store the run
    #[arg(long, help_heading = "Result")]
    pub no_store: bool,

    /// Time between lines of progress where stderr is not a terminal; 0s shows no progress
    #[arg(long, value_name = "TIME", default_value = "1s", help_heading = "Result",
          value_parser = parse_duration)]
    pub progress: Duration,
}

impl RunArgs {
    /// Whether `what` is a plan file rather than the name of a workload.
    pub fn is_plan(&self) -> bool {
        self.what.ends_with(".toml") || self.what.contains('/')
    }

    /// What the flags ask for, each with its name as its place.
    pub fn asked(&self) -> Asked {
        let workload = (!self.is_plan()).then(|| self.what.clone());
        // A switch that is not given says nothing: the plan's word stands.
        let given = |switch: bool| switch.then_some(true);
        let mut asked = Asked::default();
        asked.url = flag("--url", self.server.url.clone());
        asked.embedded = flag("--embedded", given(self.embedded));
        asked.workload = flag("WORKLOAD", workload);
        asked.scale = flag("--scale", self.scale);
        asked.clients = flag("--clients", self.clients);
        asked.threads = flag("--threads", self.threads);
        asked.duration = flag("--duration", self.duration);
        asked.transactions = flag("--transactions", self.transactions);
        asked.warmup = flag("--warmup", self.warmup);
        asked.grace = flag("--grace", self.grace);
        asked.rate_tps = flag("--rate", self.rate);
        asked.arrival = flag("--arrival", self.arrival);
        asked.protocol = flag("--protocol", self.protocol);
        asked.describe = flag("--no-describe", self.no_describe.then_some(false));
        asked.io = flag("--io", self.io);
        asked.connect_per_transaction = flag(
            "--connect-per-transaction",
            given(self.connect_per_transaction),
        );
        asked.tcp_sample = flag("--tcp-sample", self.tcp_sample);
        asked.seed = flag("--seed", self.seed);
        asked.pin = flag("--pin", given(self.pin));
        asked.observe = flag("--no-observe", self.no_observe.then_some(false));
        asked.server_metrics = flag("--server-metrics", self.server_metrics.clone());
        asked.metrics_listen = flag("--metrics-listen", self.metrics_listen.clone());
        asked.experiment.repeats = flag("--repeats", self.repeats);
        asked.experiment.order = flag("--order", self.order);
        asked.add_option_flag("--file", "files", &self.files);
        asked.add_option_flag("--builtin", "builtin", &self.builtin);
        asked.add_option_flag("--define", "define", &self.define);
        for (name, key, text) in [
            ("--mode", "mode", &self.mode),
            ("--profile", "profile", &self.profile),
            ("--home", "home", &self.home),
            ("--pacing", "pacing", &self.pacing),
        ] {
            asked.add_option_value(name, key, text.clone().map(Into::into));
        }
        asked.add_option_value("--max-tries", "max_tries", self.max_tries.map(Into::into));
        super::add_options(&mut asked, &self.options);
        asked
    }
}

/// Reads how often a run is repeated; the plan says how often it may be, and this what is no such
/// number.
fn repeats(text: &str) -> Result<u64, String> {
    let wrong = |_| format!("must be from 1 to {}", prony_plan::experiment::MAX_REPEATS);
    text.parse().map_err(wrong)
}

/// Reads a rate; the plan says which it may be, and this what is none.
fn rate(text: &str) -> Result<f64, String> {
    let rate = text
        .parse::<f64>()
        .ok()
        .filter(|rate| rate.is_nan() || *rate >= 0.0);
    rate.ok_or_else(|| "must be a positive number of transactions a second".to_owned())
}

/// The names of a choice, listed in the help.
fn choice<T: Choice + Send + Sync>() -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(T::ALL.iter().map(|(name, _)| *name)).map(|name| {
        // The parser lets only known names through.
        T::from_name(&name).unwrap_or(T::ALL[0].1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_negative_number_is_told_its_range() {
        let base = ["prony", "run", "tpcb"];
        for more in [
            &["--repeats=-1"][..],
            &["--repeats", "-1"],
            &["--repeats", "x"],
        ] {
            let told = crate::args::Cli::try_parse_from(base.iter().chain(more));
            let told = told.expect_err("it is none").to_string();
            assert!(told.contains("must be from 1 to 1000"), "{told}");
            assert!(!told.contains("-- -1"), "{told}");
        }
        for name in [
            "--clients",
            "-c",
            "--threads",
            "--rate",
            "-R",
            "--scale",
            "--transactions",
        ] {
            for number in ["-1", "x"] {
                let told = crate::args::Cli::try_parse_from(base.iter().chain(&[name, number]));
                let told = told.expect_err("it is none").to_string();
                assert!(told.contains("must be a positive"), "{name}: {told}");
                assert!(!told.contains("-- -1"), "{name}: {told}");
            }
        }
        for right in [["--repeats", "3"], ["--clients", "3"], ["--rate", "0.5"]] {
            assert!(crate::args::Cli::try_parse_from(base.iter().chain(&right)).is_ok());
        }
    }
    use clap::{CommandFactory, Parser};
    use prony_plan::{Pace, Stop, format_duration};

    /// The plan fills in the defaults; the help must name the same.
    #[test]
    fn the_help_names_the_defaults_of_the_plan() {
        let mut asked = Asked::default();
        asked.workload = flag("WORKLOAD", Some("tpcb".to_owned()));
        let drive = asked.clone().check().unwrap().drive;
        asked.rate_tps = flag("--rate", Some(5.0));
        let Pace::Rate { arrival, .. } = asked.check().unwrap().drive.pace else {
            panic!("a rate was asked for");
        };
        let Stop::After(duration) = drive.stop else {
            panic!("a run ends by time");
        };
        let command = crate::args::Cli::command();
        let run = command.find_subcommand("run").unwrap();
        for (name, default) in [
            ("clients", drive.clients.to_string()),
            ("threads", drive.threads.to_string()),
            ("arrival", arrival.name().to_owned()),
            ("duration", format_duration(duration)),
            ("warmup", format_duration(drive.warmup)),
            ("grace", format_duration(drive.grace)),
            ("protocol", drive.protocol.name().to_owned()),
            ("io", drive.io.name().to_owned()),
        ] {
            let mut arguments = run.get_arguments();
            let argument = arguments
                .find(|argument| argument.get_id() == name)
                .unwrap();
            let help = argument.get_help().unwrap().to_string();
            let named = format!("[default: {default}]");
            assert!(help.ends_with(&named), "--{name}: {help}: {named}");
        }
    }
}
