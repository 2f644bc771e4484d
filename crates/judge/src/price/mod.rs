//! Computes what throughput costs.
//!
//! In: configurations of price sheets, the Runs measured on each, and today's date. Out: [`Prices`]: ratios,
//! and which configuration gives the most throughput for its price. Must never: contain a price, convert a
//! currency, rank runs that are not comparable, or call anything tpmC.
//!
//! The formulas, with C the cost per month (one-time costs are spread over 36 months) and P the committed
//! transactions per second within the latency limit, if there was one:
//!
//! | figure | formula | source |
//! | --- | --- | --- |
//! | TPS for one unit of money per month | P / C | Aiven, Transactions per Dollar, 2019 |
//! | money for a million committed transactions | 10^6 C / (P x 3600 x 730 x u), u the utilisation | |
//! | three-year cost per NOPM | 36 C / NOPM | the form of TPC-C's price metric, but not that metric |
//! | break-even price of B against A | C(A) x P(B) / P(A) | |

mod load;
mod point;
mod rank;
mod remarks;

pub use load::{Candidate, LoadAnswer, TargetLoad};
pub use point::{FigureRange, PricePoint, THREE_YEARS_MONTHS};
pub use rank::{Ranking, RankingObstacle};
pub use remarks::repeat_selection_notes;

use crate::compare::sides::{RepeatDifference, repeat_differences};
use crate::formatting::joined;
pub use prony_plan::sheet::{Configuration, HOURS_PER_MONTH, PriceDate, PriceSheet};

use prony_store::{Check, Run, Severity};
use serde::Serialize;

/// A configuration of a price sheet, and a run that was measured on it.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredConfiguration<'a> {
    pub sheet: &'a PriceSheet,
    pub configuration: &'a Configuration,
    pub run: &'a Run,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PriceOptions {
    pub today: PriceDate,
    /// Share of the measured throughput that is used over the month, above 0 and up to 1.
    pub utilisation: f64,
    /// Whether to rank prices of different regions.
    pub across_regions: bool,
    /// A load that a configuration must sustain.
    pub demand: Option<TargetLoad>,
}

/// What throughput costs on each configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prices {
    pub currency: String,
    /// Date of the calculation.
    pub today: String,
    /// Share of the throughput that is used, for `per_million_at_utilisation`.
    pub utilisation: f64,
    /// Each configuration with its comparable runs, split by variant for experiments, in the order given.
    pub points: Vec<PricePoint>,
    /// Runs without a price, and why.
    pub unpriced_runs: Vec<UnpricedRun>,
    /// Remarks on the figures, the worst first.
    pub remarks: Vec<Check>,
    /// The ranking of the configurations; absent if there is only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranking: Option<Ranking>,
    /// Which configurations sustain the requested load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<LoadAnswer>,
}

/// A run without a price.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnpricedRun {
    pub configuration: String,
    /// The run's id.
    pub run: String,
    pub why: String,
    pub advice: String,
}

/// Reasons why nothing can be priced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PriceError {
    /// No run was given, and none is named in the sheet.
    #[error("no run was given, and no configuration of the sheet names one")]
    NoRuns,
    #[error(
        "{first} has prices in {first_currency}, {second} in {second_currency}: Prony does not convert \
         currencies"
    )]
    Currencies {
        first: String,
        first_currency: String,
        /// A sheet in a different currency.
        second: String,
        second_currency: String,
    },
}

impl PriceError {
    pub fn hint(&self) -> &'static str {
        match self {
            PriceError::NoRuns => {
                "name runs, such as `small=ID big=last`, or write runs = [\"…\"] under a [[configuration]]"
            }
            PriceError::Currencies { .. } => "give all prices in one currency",
        }
    }
}

/// Computes what throughput cost in these runs.
///
/// # Errors
/// If there are no runs, or if the prices are in two currencies.
pub fn price(
    measured: &[MeasuredConfiguration<'_>],
    options: &PriceOptions,
) -> Result<Prices, PriceError> {
    let first = measured.first().ok_or(PriceError::NoRuns)?;
    let currency = first.sheet.currency();
    let other_currency = measured
        .iter()
        .find(|measurement| measurement.sheet.currency() != currency);
    if let Some(other) = other_currency {
        return Err(PriceError::Currencies {
            first: first.sheet.file.clone(),
            first_currency: currency.to_owned(),
            second: other.sheet.file.clone(),
            second_currency: other.sheet.currency().to_owned(),
        });
    }
    let mut unpriced_runs = Vec::new();
    let mut groups: Vec<Vec<MeasuredConfiguration<'_>>> = Vec::new();
    for measurement in measured {
        if let Some(unpriced) = point::why_unpriced(measurement, options.today) {
            unpriced_runs.push(unpriced);
            continue;
        }
        match groups
            .iter_mut()
            .find(|group| point::belong_to_one_point(&group[0], measurement))
        {
            Some(group) => group.push(*measurement),
            None => groups.push(vec![*measurement]),
        }
    }
    groups.retain(|group| {
        let obstacles = repeat_obstacles(group);
        if let Some(differences) = &obstacles {
            let group = group.iter();
            unpriced_runs.extend(group.map(|run| not_a_repeat(run, differences)));
        }
        obstacles.is_none()
    });
    let mut points: Vec<PricePoint> = groups
        .iter()
        .map(|group| PricePoint::new(group, options))
        .collect();
    let ranking = (groups.len() > 1).then(|| rank::rank(&groups, &mut points, options));
    let answer = options
        .demand
        .map(|demand| load::answer_load(&groups, &points, &demand, options));
    let mut remarks = remarks::remarks(&groups, &points);
    let sustained_caveats = answer
        .iter()
        .flat_map(|answer| answer.partly_sustained_caveats(&points));
    remarks.extend(sustained_caveats);
    remarks.sort_by_key(|remark| std::cmp::Reverse(remark.severity));
    Ok(Prices {
        currency: currency.to_owned(),
        today: options.today.to_string(),
        utilisation: options.utilisation,
        points,
        unpriced_runs,
        remarks,
        ranking,
        answer,
    })
}

/// The differences that prevent the runs of a group from being repeats of each other, by the rules of
/// `compare`, as text; `None` if they are repeats.
fn repeat_obstacles(group: &[MeasuredConfiguration<'_>]) -> Option<String> {
    let mut differences = repeat_differences(&runs(group));
    differences.retain(|difference| difference.severity == Severity::Invalid);
    (!differences.is_empty()).then(|| describe(&differences))
}

fn runs<'a>(group: &[MeasuredConfiguration<'a>]) -> Vec<&'a Run> {
    group.iter().map(|measurement| measurement.run).collect()
}

/// Each difference with its values: `fsync on or off; scale 1 or 2`.
fn describe(differences: &[RepeatDifference]) -> String {
    let texts = differences
        .iter()
        .map(|difference| format!("{} {}", difference.what, difference.values.join(" or ")));
    joined(texts, "; ")
}

fn not_a_repeat(measured: &MeasuredConfiguration<'_>, differences: &str) -> UnpricedRun {
    UnpricedRun {
        configuration: measured.configuration.name.clone(),
        run: measured.run.id.clone(),
        why: format!("it and the other runs are not repeats of each other: {differences}"),
        advice: "Price only runs that are; write 'ID,' with a comma for a single run.".to_owned(),
    }
}

#[cfg(test)]
mod tests;
