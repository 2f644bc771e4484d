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

pub use load::{Answer, Candidate, Demand};
pub use point::{Interval, Point};
pub use rank::{Obstacle, Ranking};

use crate::compare::sides::{Side, compare_sides};
use crate::thresholds::PRICE_OLD_DAYS;
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
    /// Each configuration with like runs on it, those of an experiment by its variants, in the order in which they were given.
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
    let mut remarks = remarks(&groups, &points);
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
    let side = Side {
        name: String::new(),
        runs: group.iter().map(|offer| offer.run).collect(),
    };
    let unlike = compare_sides(&[side]).sides.pop()?.unlike;
    let of_it = unlike.into_iter().map(|one| match one.a == one.b {
        true => format!("{} {}", one.what, one.a),
        false => format!("{} {} or {}", one.what, one.a, one.b),
    });
    let of_it: Vec<String> = of_it.collect();
    (!of_it.is_empty()).then(|| Mixed(of_it.join("; ")))
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

/// A remark that holds for several configurations alike.
struct Remark {
    id: &'static str,
    severity: Severity,
    names: Vec<String>,
    text: String,
    advice: &'static str,
}

/// What is to be known about the figures.
fn remarks(groups: &[Vec<Offer<'_>>], points: &[Point]) -> Vec<Check> {
    let mut found: Vec<Remark> = Vec::new();
    for (group, point) in groups.iter().zip(points) {
        for (id, severity, text, advice) in of_point(group, point, points) {
            let known = found
                .iter_mut()
                .find(|one| one.id == id && one.text == text);
            match known {
                Some(known) if known.names.contains(&point.name()) => {}
                Some(known) => known.names.push(point.name()),
                None => found.push(Remark {
                    id,
                    severity,
                    names: vec![point.name()],
                    text,
                    advice,
                }),
            }
        }
    }
    let checks = found.into_iter().filter_map(|one| {
        let finding = format!("{}: {}", one.names.join(", "), one.text);
        crate::found(one.id, one.severity, finding, one.advice)
    });
    checks.collect()
}

type Found = (&'static str, Severity, String, &'static str);

/// The same of one point: id, severity, text and advice.
fn of_point(group: &[Offer<'_>], point: &Point, points: &[Point]) -> Vec<Found> {
    use Severity::{Caveat, Note};
    let days = |days: i64| crate::words::count(days.unsigned_abs(), "day");
    let replicas = crate::words::count(point.replicas_paid.into(), "replica");
    let same = points.iter().any(|other| {
        other.configuration != point.configuration
            && other.runs.iter().any(|run| point.runs.contains(run))
    });
    let each = [
        (
            group[0].sheet.example,
            "example-prices",
            Caveat,
            "the prices are an example, and nobody's offer.".to_owned(),
            "Write down your own prices.",
        ),
        (
            point.age_days > PRICE_OLD_DAYS,
            "old-prices",
            Caveat,
            format!(
                "prices as of {}, up to {} old.",
                point.as_of,
                days(point.age_days)
            ),
            "Look them up again, and write the new date down.",
        ),
        (
            same,
            "same-run",
            Caveat,
            "priced by a run that prices another configuration too.".to_owned(),
            "That is right only where both are the same machine at two prices.",
        ),
        (
            point.durability.is_none(),
            "durability-unknown",
            Caveat,
            "the runs do not say what a commit survives.".to_owned(),
            "A server that promises less about a commit is faster for the same money.",
        ),
        (
            !point.caveats.is_empty(),
            "run-caveats",
            Caveat,
            format!("the runs have caveats: {}.", point.caveats.join(", ")),
            "See prony show.",
        ),
        (
            point.replicas_seen.is_none(),
            "replicas-unknown",
            Note,
            format!("{replicas} paid for; the runs do not say how many there were."),
            "See that what was measured had as many.",
        ),
        (
            point.runs.len() < 2,
            "one-run",
            Note,
            "one run, so nothing says how far another would differ.".to_owned(),
            "Repeat it, at least three times; the median is priced.",
        ),
        (
            point
                .repeats_meant
                .is_some_and(|meant| meant > point.runs.len()),
            "repeats-missing",
            Caveat,
            format!(
                "{} repeats of its variant stand behind it.",
                point.runs_in_words()
            ),
            "Those that are left out might move the median.",
        ),
    ];
    let told = each.into_iter().filter(|one| one.0);
    told.map(|(_, id, severity, text, advice)| (id, severity, text, advice))
        .collect()
}

#[cfg(test)]
mod tests;
