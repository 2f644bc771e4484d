//! Arguments of `replay`.

use super::plan_flags::{PlanFlags, ReplayFlags};
use super::run::{RunArgs, RunOutputArgs};
use clap::Args;
use prony_plan::{PlanInput, REPLAY_WORKLOAD, value_from_flag};

/// Arguments of `prony replay`.
#[derive(Args, Debug)]
#[command(after_help = "\
Each session of the recording is replayed on a connection of its own, in its order and at its times;
the run ends with the last session. Lateness is measured: response time counts from the time at
which a transaction was due. Errors of the recording may occur again; others are counted.

Examples:
  prony capture --log postgresql.csv --keep-literals --out monday.rec
  prony replay monday.rec --url postgres://bench@copy/bench --writes
  prony replay reads.rec --url postgres://bench@copy/bench --speed 2 --repeats 3
  prony replay monday.rec --url postgres://bench@copy/bench --speed max --sessions 3x")]
pub struct ReplayArgs {
    /// The recording, which `prony capture --log` wrote
    #[arg(value_name = "FILE")]
    pub file: String,

    /// How much faster than recorded, such as 2 or 0.5; max: as fast as the server replies
    #[arg(long, value_name = "SPEED", default_value = "1")]
    pub speed: String,

    /// How often each session is replayed at the same time, such as 3x; the copies begin within a second
    #[arg(long, value_name = "COPIES", default_value = "1x", value_parser = parse_copies)]
    pub sessions: i64,

    /// Replay statements that write: the server is a copy that may be changed
    #[arg(long)]
    pub writes: bool,

    #[command(flatten)]
    pub flags: PlanFlags<ReplayFlags>,

    /// Print the result as JSON; for several runs, one line each as it ends
    #[arg(long, help_heading = "Result")]
    pub json: bool,

    /// Label of the stored run, as `prony runs label` sets it
    #[arg(long, value_name = "NAME", help_heading = "Result", conflicts_with = "no_store",
          value_parser = super::stored::parse_label)]
    pub label: Option<String>,

    #[command(flatten)]
    pub output: RunOutputArgs,
}

fn parse_copies(text: &str) -> Result<i64, String> {
    let number = text.strip_suffix(['x', 'X']).unwrap_or(text).parse();
    let number = number.ok().filter(|number| (1..=1000).contains(number));
    number.ok_or_else(|| "must be from 1x to 1000x".to_owned())
}

impl ReplayArgs {
    /// The same as arguments of `prony run`.
    pub fn as_run(&self) -> RunArgs {
        let mut input: PlanInput = self.flags.input.clone();
        input.set_option("FILE", "file", Some(self.file.clone()));
        input.set_option("--speed", "speed", Some(self.speed.clone()));
        input.set_option("--sessions", "sessions", Some(self.sessions));
        input.set_option("--writes", "writes", self.writes.then_some("on"));
        input.workload = value_from_flag("replay", Some(REPLAY_WORKLOAD.to_owned()));
        RunArgs {
            workload_or_plan: REPLAY_WORKLOAD.to_owned(),
            flags: PlanFlags::of(input),
            sweep: Vec::new(),
            vary: Vec::new(),
            primary: None,
            download: false,
            expect_cached: None,
            expect_cached_of: None,
            prove_client: false,
            check_after: false,
            doctor: false,
            json: self.json,
            format: None,
            label: self.label.clone(),
            output: self.output,
        }
    }
}
