//! Arguments of the commands that list, show, judge or compare the settings of stored runs: `runs`, `show`, `judge` and
//! `diff-settings`.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use prony_store::RunVerdict;

/// Arguments of `prony runs`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  prony runs --workload tpcc --verdict valid --since 7d
  prony runs --server postgresql --since 2026-11-20
  prony runs --label nightly --json | jq -r '.[] | [.id, .tps, .verdict, .answer] | @tsv'
  prony runs label last \"before vacuum\"
  prony runs --label \"before vacuum\" -n 0
  prony runs note 20261120-2333 \"autovacuum was off\"
  prony runs delete 20261120-233342-tpcb-7f3a")]
pub struct RunsArgs {
    #[command(subcommand)]
    pub command: Option<RunsCommand>,

    /// Show at most this many runs; 0 shows all
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    pub last: usize,

    /// Only runs of this workload
    #[arg(long, value_name = "NAME")]
    pub workload: Option<String>,

    #[command(flatten)]
    pub filter: FilterArgs,

    /// Only runs with this verdict
    #[arg(long, value_name = "VERDICT", value_parser = verdict_parser())]
    pub verdict: Option<RunVerdict>,

    /// Print JSON
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,

    /// Print CSV
    #[arg(long)]
    pub csv: bool,
}

/// Which stored runs are listed, besides their workload and number.
#[derive(Args, Debug)]
pub struct FilterArgs {
    /// Only runs with this label
    #[arg(long, value_name = "LABEL")]
    pub label: Option<String>,

    /// Only runs on servers whose engine or version contains this text
    #[arg(long, value_name = "TEXT")]
    pub server: Option<String>,

    /// Only runs started since this time: a date, a local time such as 2026-11-20T18:00, or an age such as 12h or 7d
    #[arg(long, value_name = "WHEN", value_parser = parse_since)]
    pub since: Option<Since>,
}

/// Commands of `prony runs`.
#[derive(Subcommand, Debug)]
pub enum RunsCommand {
    /// Delete runs with their labels and notes
    Delete {
        /// Ids of the runs, or unique prefixes of ids
        #[arg(value_name = "RUN", required = true)]
        runs: Vec<String>,
    },
    /// Set the label of a run
    ///
    /// The label is stored beside the document, whose hash does not change.
    Label {
        /// Id of the run, a unique prefix of an id, or `last`
        #[arg(value_name = "RUN")]
        run: String,

        /// The label; empty removes it
        #[arg(value_name = "LABEL", value_parser = parse_label_or_none)]
        text: String,
    },
    /// Set the note of a run
    ///
    /// The note is stored beside the document, whose hash does not change.
    Note {
        /// Id of the run, a unique prefix of an id, or `last`
        #[arg(value_name = "RUN")]
        run: String,

        /// The note; empty removes it
        #[arg(value_name = "TEXT")]
        text: String,
    },
}

fn verdict_parser() -> impl TypedValueParser<Value = RunVerdict> {
    let names =
        RunVerdict::all().map(|verdict| PossibleValue::new(verdict.name()).help(verdict.meaning()));
    // The parser only accepts known names.
    PossibleValuesParser::new(names)
        .map(|name| RunVerdict::from_name(&name).unwrap_or(RunVerdict::Valid))
}

/// The time from which runs are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// A point in time.
    Moment(jiff::Timestamp),
    /// A duration before now.
    Age(jiff::SignedDuration),
}

pub(super) fn parse_label(text: &str) -> Result<String, String> {
    prony_store::check_label(text).map(|()| text.to_owned())
}

fn parse_label_or_none(text: &str) -> Result<String, String> {
    match text {
        "" => Ok(String::new()),
        text => parse_label(text),
    }
}

/// Parses a date, a local time or an age.
pub(super) fn parse_since(text: &str) -> Result<Since, String> {
    let text = text.trim();
    let invalid =
        || "give a date (2026-11-20), a time (2026-11-20T18:00) or an age (12h, 7d)".to_owned();
    if let Ok(moment) = text.parse::<jiff::Timestamp>() {
        return Ok(Since::Moment(moment));
    }
    if let Ok(local) = text.parse::<jiff::civil::DateTime>() {
        let zoned = local.to_zoned(jiff::tz::TimeZone::system());
        return zoned
            .map(|zoned| Since::Moment(zoned.timestamp()))
            .map_err(|_| invalid());
    }
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let hours = match &text[digits.len()..] {
        "h" => 1,
        "d" => 24,
        "w" => 7 * 24,
        _ => return Err(invalid()),
    };
    let count: u32 = digits.parse().map_err(|_| invalid())?;
    Ok(Since::Age(jiff::SignedDuration::from_hours(
        i64::from(count) * hours,
    )))
}

/// Arguments of `prony judge`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  prony judge last
  prony judge 20261120-2333 --again")]
pub struct JudgeArgs {
    /// Id of the run, a unique prefix of an id, its label, `last`, or a file with the document
    #[arg(value_name = "RUN")]
    pub run: String,

    /// Replace the findings in the stored document; its figures stay the same, and the hash in reports that
    /// contain it no longer matches
    #[arg(long)]
    pub again: bool,
}

/// Arguments of `prony diff-settings`.
#[derive(Args, Debug)]
#[command(after_help = "\
Lists every setting that the two documents record differently: the load, the workload's options, the
server with its machine, the client, and all settings of the server. `prony compare` says which of
them matter for the figures.

Examples:
  prony diff-settings 20261120-2333 last
  prony diff-settings before.json after.json --json | jq -r '.[].name'")]
pub struct DiffSettingsArgs {
    /// The first run, named as in `prony show`
    #[arg(value_name = "A")]
    pub a: String,

    /// The second run
    #[arg(value_name = "B")]
    pub b: String,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `prony show`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  prony show last                              the first screen
  prony show last --full                       all figures, checks and settings
  prony show 20261120-2333 --csv > seconds.csv
  prony show last --rates
  prony show last --hdr-log > last.hlog        for tools that read HdrHistogram's logs
  prony show last --json | jq .measured.kinds[0].tps")]
pub struct ShowArgs {
    /// Id of the run, a unique prefix of an id, its label, `last`, or a file with the document
    #[arg(value_name = "RUN")]
    pub run: String,

    #[command(flatten)]
    pub format: ShowFormat,
}

/// The output format of `prony show`; the first screen of the result if none is given.
#[derive(Args, Clone, Copy, Debug, Default)]
#[group(multiple = false)]
pub struct ShowFormat {
    /// Print all figures, checks and settings, not only the first screen
    #[arg(long)]
    pub full: bool,

    /// Print the whole document as JSON
    #[arg(long)]
    pub json: bool,

    /// Print the per-second series as CSV
    #[arg(long)]
    pub csv: bool,

    /// Print the per-second series of the server as CSV
    #[arg(long)]
    pub csv_server: bool,

    /// Print the distributions of the measured window as an HdrHistogram log, one interval per kind of transaction
    #[arg(long)]
    pub hdr_log: bool,

    /// Print the percentiles of the measured window as CSV
    #[arg(long)]
    pub percentiles: bool,

    /// Print the industry metrics of the workload, such as NOPM and TPM, as CSV
    #[arg(long)]
    pub rates: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_is_a_date_a_time_or_an_age() {
        let since_midnight = parse_since("2026-11-20T00:00:00Z").unwrap();
        assert_eq!(
            since_midnight,
            Since::Moment(jiff::Timestamp::from_second(1_795_132_800).unwrap())
        );
        let day = jiff::SignedDuration::from_hours(24);
        assert_eq!(parse_since("1d"), Ok(Since::Age(day)));
        assert_eq!(parse_since("24h"), Ok(Since::Age(day)));
        assert_eq!(parse_since("1w"), Ok(Since::Age(day * 7)));
        assert!(matches!(parse_since("2026-11-20"), Ok(Since::Moment(_))));
        assert!(matches!(
            parse_since("2026-11-20T18:00"),
            Ok(Since::Moment(_))
        ));
        for invalid in [
            "",
            "d",
            "-1d",
            "1.5d",
            "yesterday",
            "2026-13-01",
            "99999999999999d",
            "5 µ",
        ] {
            assert!(parse_since(invalid).is_err(), "{invalid}");
        }
    }
}
