//! Arguments of `price`.
//!
//! In: clap. Out: plain values. Must never: decide what a value means.

use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `prony price`.
#[derive(Args, Debug)]
#[command(after_help = "\
Without a RUN, those that the sheet's configurations name are priced. Without --sheet, prices.toml
in PRONY_HOME is read, where there is one. The folder plans/prices has an example.

A run of an experiment stands for all repeats of its variant, with CONFIGURATION= before it and in a
sheet too, and an experiment that is named alone for all of its variants: each has a line, by the
median of its repeats. Runs with commas between are these and no others; ID, is one by itself. So
is each of several repeats of one variant that are named for different configurations.

Exit code 7 says that a run has no price, that runs do not compare and are not ranked, or that
none of them holds the load.

Examples:
  prony price last --sheet prices.toml
  prony price small=20261120-2333 big=last --sheet prices.toml
  prony price small=20261120-2333,20261120-2339 --sheet prices.toml
  prony price --load 20000tps --p99 20ms --sheet prices.toml
  prony price last --sheet prices.toml --json | jq .points[0].tps_per_money")]
pub struct PriceArgs {
    /// A run, named as in `prony show`; with CONFIGURATION= before it where the sheet does not say
    /// on which of its configurations it was measured
    #[arg(value_name = "[CONFIGURATION=]RUN")]
    pub runs: Vec<String>,

    /// The price sheet, a TOML file; may be given several times
    #[arg(long, value_name = "FILE")]
    pub sheet: Vec<PathBuf>,

    /// Name the cheapest configuration that holds so many transactions a second
    #[arg(long, value_name = "TPS", value_parser = rate)]
    pub load: Option<f64>,

    /// With --load: the 99th percentile of the response time may be so long
    #[arg(long, value_name = "TIME", requires = "load", value_parser = prony_plan::parse_duration)]
    pub p99: Option<Duration>,

    /// With --load: the 95th percentile of the response time may be so long
    #[arg(long, value_name = "TIME", requires = "load", value_parser = prony_plan::parse_duration)]
    pub p95: Option<Duration>,

    /// Share of the measured throughput that is used over a month, for the second cost of a million
    #[arg(long, value_name = "SHARE", default_value = "30%", value_parser = share)]
    pub utilisation: f64,

    /// Rank prices of different regions too
    #[arg(long)]
    pub across_regions: bool,

    /// All of it, as JSON
    #[arg(long)]
    pub json: bool,
}

/// Reads `20000`, `20000tps` or `20000/s`.
fn rate(text: &str) -> Result<f64, String> {
    let number = text.trim();
    let number = number
        .strip_suffix("tps")
        .or_else(|| number.strip_suffix("/s"))
        .unwrap_or(number);
    match number.trim().parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate <= 1e9 => Ok(rate),
        _ => Err("give transactions a second, such as 20000 or 20000tps".to_owned()),
    }
}

/// Reads `30%` or `0.3`.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let number = text.trim();
    let (number, whole) = match number.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (number, 1.0),
    };
    match number.trim().parse::<f64>() {
        Ok(part) if part > 0.0 && part <= whole => Ok(part / whole),
        _ => Err("give a share above 0 and up to 100 %, such as 30% or 0.3".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_shares() {
        for text in ["20000", "20000tps", "2e4 tps", "20000/s"] {
            assert_eq!(rate(text), Ok(20_000.0), "{text}");
        }
        assert!(
            ["", "tps", "0", "-1", "nan", "inf", "20k"]
                .iter()
                .all(|text| rate(text).is_err())
        );
        assert_eq!(
            (share("30%"), share("0.3"), share("1")),
            (Ok(0.3), Ok(0.3), Ok(1.0))
        );
        assert!(
            ["0", "101%", "1.1", "nan", "%"]
                .iter()
                .all(|text| share(text).is_err())
        );
    }
}
