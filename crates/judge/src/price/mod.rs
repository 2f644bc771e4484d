//! What throughput costs.
//!
//! In: price sheets' configurations, the Runs that were measured on each, and today's date. Out:
//! [`Prices`]: ratios, and which of several configurations is worth its price. Must never: know a
//! price, convert a currency, rank what does not compare, or call anything tpmC.
//!
//! The formulas, with C the cost a month (what is paid once is spread over 36 months) and P the
//! committed transactions a second that kept the latency limit, where there was one:
//!
//! | figure | formula | source |
//! | --- | --- | --- |
//! | TPS for one unit of money a month | P / C | Aiven, Transactions per Dollar, 2019 |
//! | money for a million committed transactions | 10^6 C / (P x 3600 x 730 x u), u the utilisation | |
//! | three-year money for one NOPM | 36 C / NOPM | shaped as TPC-C's, which it is not |
//! | break-even price of B against A | C(A) x P(B) / P(A) | |

mod load;
mod point;
mod rank;
mod remarks;

pub use load::{Answer, Candidate, Demand};
pub use point::{Interval, Point};
pub use rank::{Obstacle, Ranking};
pub use remarks::stands_for;

use crate::compare::sides::{Unlike, unlike};
pub use prony_plan::sheet::{AsOf, Configuration, Sheet};

use prony_store::{Check, Run, Severity};
use serde::Serialize;

/// A configuration and the runs that were measured on it.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// The sheet that has its prices.
    pub sheet: &'a Sheet,
    /// What it costs.
    pub configuration: &'a Configuration,
    /// One run on it.
    pub run: &'a Run,
}

/// How to price.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// The day on which it is asked.
    pub today: AsOf,
    /// Share of the measured throughput that is used over the month, above 0 and up to 1.
    pub utilisation: f64,
    /// Prices of different regions may be ranked.
    pub across_regions: bool,
    /// A load that is to be held.
    pub demand: Option<Demand>,
}

/// What throughput costs on each configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prices {
    /// Of all prices.
    pub currency: String,
    /// The day on which it was asked.
    pub today: String,
    /// Share of the throughput that is used, in figures `at that utilisation`.
    pub utilisation: f64,
    /// Each configuration with like runs on it, those of an experiment by its variants, in the order in
    /// which they were given.
    pub points: Vec<Point>,
    /// Runs that have no price, and why.
    pub refused: Vec<Refused>,
    /// What is to be known about the figures, the worst first.
    pub remarks: Vec<Check>,
    /// Which is worth its price; absent where there is only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranking: Option<Ranking>,
    /// What holds the load that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
}

/// A run that has no price.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// The configuration.
    pub configuration: String,
    /// The run.
    pub run: String,
    /// Why.
    pub why: String,
    /// What to do.
    pub advice: String,
}

/// Why nothing is priced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PriceError {
    /// There is nothing to price.
    #[error("no run is given, and no configuration of the sheet names one")]
    Nothing,
    /// Sheets of two currencies.
    #[error(
        "{first} has prices in {of_first}, {second} in {of_second}: Prony converts no currency"
    )]
    Currencies {
        /// One sheet.
        first: String,
        /// Its currency.
        of_first: String,
        /// Another.
        second: String,
        /// Its.
        of_second: String,
    },
}

/// Prices these runs.
///
/// # Errors
/// If there is none, or if the prices are in two currencies.
pub fn price(offers: &[Offer<'_>], terms: &Terms) -> Result<Prices, PriceError> {
    let first = offers.first().ok_or(PriceError::Nothing)?;
    let currency = first.sheet.currency();
    let other = offers.iter().find(|one| one.sheet.currency() != currency);
    if let Some(other) = other {
        return Err(PriceError::Currencies {
            first: first.sheet.file.clone(),
            of_first: currency.to_owned(),
            second: other.sheet.file.clone(),
            of_second: other.sheet.currency().to_owned(),
        });
    }
    let mut refused = Vec::new();
    let mut groups: Vec<Vec<Offer<'_>>> = Vec::new();
    for offer in offers {
        if let Some(why) = point::unfit(offer, terms.today) {
            refused.push(why);
            continue;
        }
        match groups
            .iter_mut()
            .find(|group| point::alike(&group[0], offer))
        {
            Some(group) => group.push(*offer),
            None => groups.push(vec![*offer]),
        }
    }
    groups.retain(|group| match mixed(group) {
        Some(why) => {
            refused.extend(group.iter().map(|offer| why.of(offer)));
            false
        }
        None => true,
    });
    let mut points: Vec<Point> = groups.iter().map(|group| Point::of(group, terms)).collect();
    let ranking = (groups.len() > 1).then(|| rank::rank(&groups, &mut points, terms));
    let answer = terms
        .demand
        .map(|demand| load::answer(&groups, &points, &demand, terms));
    let mut remarks = remarks::remarks(&groups, &points);
    let short = answer.iter().flat_map(|answer| answer.short(&points));
    remarks.extend(short);
    remarks.sort_by_key(|remark| std::cmp::Reverse(remark.severity));
    Ok(Prices {
        currency: currency.to_owned(),
        today: terms.today.to_string(),
        utilisation: terms.utilisation,
        points,
        refused,
        remarks,
        ranking,
        answer,
    })
}

/// What keeps runs from being repeats of one thing, as `compare` sees those of a side.
fn mixed(group: &[Offer<'_>]) -> Option<Mixed> {
    let mut found = unlike(&runs(group));
    found.retain(|one| one.severity == Severity::Invalid);
    (!found.is_empty()).then(|| Mixed(in_words(&found)))
}

fn runs<'a>(group: &[Offer<'a>]) -> Vec<&'a Run> {
    group.iter().map(|offer| offer.run).collect()
}

/// Each thing with its readings: `fsync on or off; scale 1 or 2`.
fn in_words(unlike: &[Unlike]) -> String {
    let each = unlike
        .iter()
        .map(|one| format!("{} {}", one.what, one.readings.join(" or ")));
    each.collect::<Vec<_>>().join("; ")
}

/// How runs differ that were to be repeats.
struct Mixed(String);

impl Mixed {
    fn of(&self, offer: &Offer<'_>) -> Refused {
        Refused {
            configuration: offer.configuration.name.clone(),
            run: offer.run.id.clone(),
            why: format!("it and the others are not repeats of one thing: {}", self.0),
            advice: "Price those alone that are: ID, with a comma is one run by itself.".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
