//! Arguments of the commands that use stored runs or other tools' output: `compare`, `report`, `verify`, `price`
//! and `audit`.

use super::run::answer_format;
use crate::run::ResultFormat;
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use prony_judge::compare::ALLOWED_DESPITE;
use prony_plan::scenario::parse_share;
use prony_store::Requirement;
use std::path::PathBuf;
use std::time::Duration;

/// Share of the measured throughput that is used over a month, unless another one is given.
const DEFAULT_UTILISATION: &str = "30%";

/// Arguments of `prony compare`.
#[derive(Args, Debug)]
#[command(after_help = "\
A side is one run, or several runs separated by commas: repeats of one measurement. An experiment
has one side per variant. Name an experiment by the id of its first run; if it is the only argument,
the id of any of its runs names it too. `ID,` names that run alone. Each side is compared with the
first one.

Figures are medians of the runs, and the change is the ratio of the medians. With 4 or more runs per
side, the 95 % interval is exact (Hodges-Lehmann, by ranks). With 2 or 3, it comes from Welch's
t-test on the logarithms, which assumes that the runs scatter normally. With one run per side there
is no statement about a difference, because the seconds of a run say nothing about other runs.

One figure is tested, at 5 %: NOPM or TPS, or, if the load had a rate, the 99th percentile of the
response time. The others have an interval and no verdict.

If others used the machines, so that the runs are invalid by neighbours, steal, server-steal or
foreign-load and by nothing else than the variation that this causes, they are compared all the same
if there are not enough others: by pairs, if they took turns in an experiment, whose intervals
include the noise, otherwise by CPU time per transaction. The first line says so; no requirement
passes then. If the intervals say nothing, the comparison is refused.

Requirements are for CI. One that the runs do not decide fails, too: repeat each side several times.

Exit code 7: the figures are not comparable, because a run is invalid, or because the runs differ in
workload, mode, profile, scale, protocol, clients, rate, isolation level or durability. Clients may
differ by 5 % and rates by 1 %, with a caveat. MySQL compares with MariaDB. Variants of one
experiment may differ in the settings that its plan varies, except the workload. Exit code 8: a side
fails what is required of it. Exit code 9: the runs do not decide whether it does.

Examples:
  prony compare 20261120-2333 last
  prony compare 20261120-2333,20261120-2339,20261120-2345 20261120-2336,20261120-2342,20261120-2348
  prony compare last --require 'not slower than A by 3%' --markdown
  prony compare last --require 'p99<20ms' --require 'p99<=110% of A' --junit prony.xml
  prony compare before.json after.json --json | jq -r .verdict

In CI, after `prony run bench.toml --repeats 5 --order interleaved`:
  GitHub Actions  - run: prony compare last --require 'not slower than A by 3%' --markdown >> \"$GITHUB_STEP_SUMMARY\"
  GitLab          script: prony compare last --require 'not slower than A by 3%' --junit prony.xml
                  artifacts: {when: always, reports: {junit: prony.xml}}
                  allow_failure: {exit_codes: 9}   # undecided is a warning")]
pub struct CompareArgs {
    /// Runs, named as in `prony show`, or an experiment
    #[arg(value_name = "SIDE", required = true)]
    pub sides: Vec<String>,

    /// Compare different engines if the workload is the same
    #[arg(long)]
    pub across_engines: bool,

    /// Show the figures although the sides differ in this; the first line says so, and no requirement passes [repeatable]
    #[arg(long, value_name = "DIFFERENCE", value_parser = PossibleValuesParser::new(ALLOWED_DESPITE))]
    pub despite: Vec<String>,

    /// Test this figure instead of throughput, or of p99 at a rate: throughput, cpu (CPU time per transaction), or a name of the
    /// table of figures
    #[arg(long, visible_alias = "primary", value_name = "FIGURE")]
    pub figure: Option<String>,

    /// What each side except the first must meet, as in `prony run`; the label A, or its variant's name, means the first side
    #[arg(long, value_name = "REQUIREMENT", value_parser = Requirement::parse)]
    pub require: Vec<Requirement>,

    /// Fail if a side is slower than the first one by more than this share: --require 'not slower than A by 3%'
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub fail_if_slower: Option<f64>,

    /// Fail if the 99th percentile of a side's response times is above this: --require 'p99<=20ms'
    #[arg(long, value_name = "TIME", value_parser = parse_latency)]
    pub fail_if_p99_above: Option<Duration>,

    /// Fail if that percentile is longer than the first side's by more than this share: --require 'p99<=110% of A'
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub fail_if_p99_slower: Option<f64>,

    /// What to do if the runs do not decide whether a side meets what is required
    #[arg(long, value_enum, value_name = "ACTION", default_value_t = OnUnsure::Fail)]
    pub unsure: OnUnsure,

    /// Print only what is required and whether it is met: JUnit XML, or annotations of GitHub's workflows
    #[arg(long, value_name = "FORMAT", value_parser = answer_format, conflicts_with_all = ["json", "markdown", "junit"])]
    pub format: Option<ResultFormat>,

    /// Print JSON
    #[arg(long, conflicts_with = "markdown")]
    pub json: bool,

    /// Print Markdown, for a pull request
    #[arg(long)]
    pub markdown: bool,

    /// Write JUnit XML to this file; - prints it instead of the comparison
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

/// What happens if the runs do not decide whether a side meets what is required.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnUnsure {
    /// Exit with code 9
    Fail,
    /// Exit with code 0
    Pass,
}

/// Arguments of `prony report`.
#[derive(Args, Debug)]
#[command(after_help = "\
The page is one file that needs neither network nor scripts, and can be printed. It contains the
documents of its runs, and compares each run with the first one: the differences in setup and, if
the runs are comparable, the figures.

With --sheet, the page shows throughput against cost with the frontier, the source and date of each
price, and the runs without a price. It contains the sheets.

Examples:
  prony report last --output report.html
  prony report small=20261120-2333 big=last --sheet prices.toml --output report.html
  prony report 20261120-2333 last --output report.html
  prony report last --form apsaradb --output test-report.html
  prony verify report.html")]
pub struct ReportArgs {
    /// Runs, named as in `prony show` (several also separated by commas), or one experiment for all of its runs.
    /// With --sheet, CONFIGURATION= assigns a run to a configuration of the sheet, as in `prony price`
    #[arg(value_name = "[CONFIGURATION=]RUN", required = true)]
    pub runs: Vec<String>,

    /// Form of the page: all that is known, or a test report as ApsaraDB's white paper asks for, in the sections
    /// from purpose to what is missing
    #[arg(long, value_enum, value_name = "FORM", default_value_t = ReportForm::Full)]
    pub form: ReportForm,

    /// Show the cost of the throughput by this price sheet, as `prony price` does [repeatable]
    #[arg(long, value_name = "FILE")]
    pub sheet: Vec<PathBuf>,

    /// With --sheet: share of the measured throughput that is used over a month
    #[arg(long, value_name = "SHARE", requires = "sheet", default_value = DEFAULT_UTILISATION,
          value_parser = parse_share)]
    pub utilisation: f64,

    /// With --sheet: also rank prices of different regions
    #[arg(long, requires = "sheet")]
    pub across_regions: bool,

    /// Write the page to this file, replacing an older report; - for standard output
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
}

/// The form of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportForm {
    Full,
    Apsaradb,
}

/// Arguments of `prony verify`.
#[derive(Args, Debug)]
#[command(after_help = "\
Recomputes the SHA-256 of each document in the page, generates the page again from the documents,
and compares it with the file. If a different build of Prony wrote the page, only the documents are
verified. Exit code 7: the file was changed or truncated; 1: it cannot be read or is not a report.
A hash is not a signature: compare it with `sha256sum` of the stored run to verify that the page
shows that run.

Examples:
  prony verify report.html")]
pub struct VerifyArgs {
    /// The report
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// Arguments of `prony audit`.
#[derive(Args, Debug)]
#[command(after_help = "\
The tool is recognised by its output.

Exit code 7: figures are implausible and must not be used.

Examples:
  prony audit pgbench.log
  pgbench -T 60 -P 1 bench 2>&1 | prony audit -")]
pub struct AuditArgs {
    /// The tool's output; - for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// The scale, or number of warehouses, if the output does not contain it
    #[arg(long, short, value_name = "N", value_parser = parse_scale)]
    pub scale: Option<u32>,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `prony price`.
#[derive(Args, Debug)]
#[command(after_help = "\
Without RUN, prices the runs that the sheet names. Without --sheet, reads prices.toml in PRONY_HOME
if it exists:

  [sheet]
  currency = \"EUR\"
  region = \"eu-central-1\"
  term = \"on demand\"
  as_of = \"2026-11-20\"
  source = \"https://cloud.example/prices\"
  entered_by = \"dba\"

  [[configuration]]
  name = \"small\"

  [[configuration.item]]
  name = \"machine, 8 CPUs, 32 GB\"
  quantity = 1
  unit_price = 0.42
  per = \"hour\"

The id of one run of an experiment selects all repeats of its variant; they are priced by their
median. An experiment as the only argument selects all of its variants, one line each. Runs
separated by commas select exactly these runs, and `ID,` selects one run. If repeats of one variant
are named for different configurations, each repeat is priced alone.

Exit code 7: a run has no price; the runs are not comparable and therefore not ranked; or no
configuration sustains the load.

Examples:
  prony price last --sheet prices.toml
  prony price small=20261120-2333 big=last --sheet prices.toml
  prony price small=20261120-2333,20261120-2339 --sheet prices.toml
  prony price --rate 20000tps --p99 20ms --sheet prices.toml
  prony price last --sheet prices.toml --json | jq .points[0].tps_per_money")]
pub struct PriceArgs {
    /// A run, named as in `prony show`; CONFIGURATION= assigns it to a configuration if the sheet does not name
    /// the run
    #[arg(value_name = "[CONFIGURATION=]RUN")]
    pub runs: Vec<String>,

    /// The price sheet, a TOML file [repeatable]
    #[arg(long, value_name = "FILE")]
    pub sheet: Vec<PathBuf>,

    /// Find the cheapest configuration that delivers this many transactions per second
    #[arg(long, short = 'R', value_name = "TPS", value_parser = parse_tps)]
    pub rate: Option<f64>,

    /// With --rate: upper limit of the 99th percentile of the response time
    #[arg(long, value_name = "TIME", requires = "rate", value_parser = parse_latency)]
    pub p99: Option<Duration>,

    /// With --rate: upper limit of the 95th percentile of the response time
    #[arg(long, value_name = "TIME", requires = "rate", value_parser = parse_latency)]
    pub p95: Option<Duration>,

    /// Share of the measured throughput that is used over a month; the cost per million transactions is also
    /// shown at this share
    #[arg(long, value_name = "SHARE", default_value = DEFAULT_UTILISATION, value_parser = parse_share)]
    pub utilisation: f64,

    /// Also rank prices of different regions
    #[arg(long)]
    pub across_regions: bool,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Parses a scale.
fn parse_scale(text: &str) -> Result<u32, String> {
    let scale = text.parse().ok().filter(|scale| *scale >= 1);
    scale.ok_or_else(|| "give a whole number from 1".to_owned())
}

/// Parses a limit of response times, which needs a unit: a plain number is in seconds elsewhere, and whoever means
/// 20 ms would get a limit that nothing exceeds.
fn parse_latency(text: &str) -> Result<Duration, String> {
    let has_unit = text
        .trim()
        .ends_with(|last: char| last.is_ascii_alphabetic());
    match prony_plan::parse_duration(text) {
        Ok(latency) if has_unit => Ok(latency),
        _ => Err("give a time with its unit, such as 20ms or 500us".to_owned()),
    }
}

/// Parses transactions per second: `20000`, `20000tps` or `20000/s`.
pub(super) fn parse_tps(text: &str) -> Result<f64, String> {
    match prony_plan::strip_rate_unit(text).parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate <= prony_plan::MAX_RATE_TPS => Ok(rate),
        _ => Err("give transactions per second, such as 20000 or 20000tps".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_response_times_has_a_unit() {
        assert_eq!(parse_latency("20ms"), Ok(Duration::from_millis(20)));
        assert_eq!(parse_latency("1s"), Ok(Duration::from_secs(1)));
        assert!(
            ["20", "", "ms", "20x"]
                .iter()
                .all(|text| parse_latency(text).is_err())
        );
    }

    #[test]
    fn a_load_in_tps_may_have_a_unit() {
        for text in ["20000", "20000tps", "2e4 tps", "20000/s"] {
            assert_eq!(parse_tps(text), Ok(20_000.0), "{text}");
        }
        assert!(
            ["", "tps", "0", "-1", "nan", "inf", "20k"]
                .iter()
                .all(|text| parse_tps(text).is_err())
        );
    }
}
