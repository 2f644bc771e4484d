//! What throughput costs, as a part of a page.
//!
//! In: price sheets as they were written, which configuration each run was measured on, and the day of
//! asking; the documents of the page. Out: a chart of throughput against cost with its frontier, and
//! tables. Must never: show an amount without its currency and the date of its prices, draw runs on one
//! chart that do not compare, or follow from anything that is not in the page.

mod chart;

use super::document::{Document, sha256};
use super::escape::Text;
use super::one::{check_list, end, table, words};
use super::section;
use crate::price::{self as view, money};
use crate::text::plain;
use crate::units;
use prony_judge::price::{AsOf, Offer, Point, PriceError, Prices, Sheet, Terms, price};
use prony_judge::thresholds::PRICE_OLD_DAYS;
use prony_store::Run;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Write};

/// What the prices of a page follow from, beside its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceQuestion {
    /// The price sheets.
    pub sheets: Vec<SheetText>,
    /// The day of asking, as `2026-11-21`: the age of prices is counted from it.
    pub today: String,
    /// Share of the measured throughput that is used over the month, above 0 and up to 1.
    pub utilisation: f64,
    /// Prices of different regions are ranked too.
    pub across_regions: bool,
    /// On which configuration each run of the page was measured.
    pub placed: Vec<PlacedRun>,
}

/// A price sheet as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SheetText {
    /// Its file, as the user wrote it.
    pub file: String,
    /// Its TOML.
    pub text: String,
}

/// A run with its configuration, all by their places from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlacedRun {
    /// Of the sheet.
    pub sheet: usize,
    /// Of the configuration in it.
    pub configuration: usize,
    /// Of the run in the page.
    pub run: usize,
}

/// Why a page cannot have prices.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuestionError {
    /// The text is none.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// A sheet with mistakes.
    #[error("{file} has mistakes: {problems}")]
    Sheet {
        /// Its file.
        file: String,
        /// What is wrong in it.
        problems: String,
    },
    /// A place that nothing is at.
    #[error("it names a sheet, a configuration or a run that is not there")]
    Nowhere,
    /// The day is none.
    #[error("{0} is no day")]
    Day(String),
    /// There is nothing to price.
    #[error(transparent)]
    Price(#[from] PriceError),
}

/// The prices of a page, with the text that they follow from.
#[derive(Clone, Debug, PartialEq)]
pub struct Priced {
    /// The question, as it stands in the page.
    pub json: String,
    /// SHA-256 of that, hexadecimal.
    pub sha256: String,
    /// What `judge` makes of it.
    pub prices: Prices,
}

impl Priced {
    /// The prices that a question asks of these documents.
    pub fn of(question: &PriceQuestion, documents: &[Document]) -> Result<Priced, QuestionError> {
        let json = serde_json::to_string(question);
        let json = json.map_err(|error| QuestionError::Unreadable(error.to_string()))?;
        Priced::read(json, documents)
    }

    /// The same of a question's text.
    pub fn read(json: String, documents: &[Document]) -> Result<Priced, QuestionError> {
        let runs: Vec<&Run> = documents.iter().map(|document| &document.run).collect();
        let question: PriceQuestion = serde_json::from_str(&json)
            .map_err(|error| QuestionError::Unreadable(plain(&error.to_string())))?;
        Ok(Priced {
            sha256: sha256(json.as_bytes()),
            prices: question.prices(&runs)?,
            json,
        })
    }
}

impl PriceQuestion {
    pub(super) fn prices(&self, runs: &[&Run]) -> Result<Prices, QuestionError> {
        let read = |sheet: &SheetText| {
            Sheet::from_toml(&sheet.file, &sheet.text).map_err(|problems| QuestionError::Sheet {
                file: plain(&sheet.file),
                problems: plain(&problems.to_string()),
            })
        };
        let sheets: Vec<Sheet> = self.sheets.iter().map(read).collect::<Result<_, _>>()?;
        let offer = |at: &PlacedRun| {
            let sheet = sheets.get(at.sheet)?;
            Some(Offer {
                sheet,
                configuration: sheet.configurations.get(at.configuration)?,
                run: runs.get(at.run)?,
            })
        };
        let offers = self.placed.iter().map(offer).collect::<Option<Vec<_>>>();
        let today = AsOf::parse(&self.today);
        let usable = self.utilisation > 0.0 && self.utilisation <= 1.0;
        let terms = Terms {
            today: today.ok_or_else(|| QuestionError::Day(plain(&self.today)))?,
            utilisation: if usable { self.utilisation } else { 1.0 },
            across_regions: self.across_regions,
            demand: None,
        };
        Ok(price(&offers.ok_or(QuestionError::Nowhere)?, &terms)?)
    }
}

/// Writes the section.
pub fn write(out: &mut String, prices: &Prices) -> fmt::Result {
    section(out, 2, "prices", "What throughput costs")?;
    let (currency, today) = (Text(plain(&prices.currency)), Text(plain(&prices.today)));
    writeln!(
        out,
        "<p>In {currency}, by the price sheets below; their age is counted to {today}. A month has 730 \
         hours, and what is paid once is spread over 36 months. Of several runs of the same thing the \
         median counts.</p>"
    )?;
    if prices.points.is_empty() {
        out.push_str("<p class=\"verdict invalid\"><strong>No price can be given.</strong></p>\n");
    }
    let obstacles = prices.ranking.as_ref().map(|ranking| &ranking.obstacles);
    match obstacles {
        Some(found) if !found.is_empty() => {
            out.push_str(
                "<p class=\"verdict invalid\"><strong>NOT RANKED</strong>: these do not compare, so \
                 they are not drawn on one chart.</p>\n",
            );
            let columns = [
                "what differs",
                "between",
                "in the first",
                "in the other",
                "why it matters",
            ];
            table(out, "What stands against it", &columns)?;
            for one in found {
                let between = format!("{} and {}", one.a, one.b);
                words(out, &[&one.what, &between, &one.in_a, &one.in_b, &one.why])?;
            }
            end(out);
        }
        _ if !prices.points.is_empty() => chart::draw(out, prices)?,
        _ => {}
    }
    if !prices.points.is_empty() {
        ratios(out, prices)?;
        origins(out, &prices.points)?;
    }
    refused(out, prices)?;
    if !prices.remarks.is_empty() {
        out.push_str("<h3>To be known</h3>\n");
        check_list(out, &prices.remarks)?;
    }
    out.push_str("</section>\n");
    Ok(())
}

/// The figures of the chart, and what follows from them.
fn ratios(out: &mut String, prices: &Prices) -> fmt::Result {
    let currency = plain(&prices.currency);
    let used = format!("a million at {}", units::percent(prices.utilisation));
    let worth = format!("TPS for 1 {currency}");
    let orders = prices.points.iter().any(|point| point.nopm.is_some());
    let mut columns = vec![
        "configuration",
        "runs",
        "a month",
        "TPS",
        &worth,
        "a million",
        &used,
    ];
    if orders {
        columns.extend(["NOPM", "3 years/NOPM"]);
    }
    columns.extend(["as good at", "frontier"]);
    let caption = format!("Committed transactions a second and their cost in {currency}");
    table(out, &caption, &columns)?;
    for (place, point) in prices.points.iter().enumerate() {
        let name = Text(plain(&point.name()));
        write!(out, "<tr><th scope=\"row\">{}: {name}</th>", place + 1)?;
        let mut cells = vec![view::runs(point)];
        cells.extend(view::ratios(point, orders));
        cells.push(point.break_even.map_or("–".into(), money));
        cells.push(match point.on_frontier {
            Some(true) => "yes".to_owned(),
            Some(false) => "no".to_owned(),
            None => "–".to_owned(),
        });
        for cell in cells {
            write!(out, "<td>{}</td>", Text(cell))?;
        }
        out.push_str("</tr>\n");
    }
    end(out);
    writeln!(
        out,
        "<p>A million: committed transactions, with the server at its measured throughput all the time, \
         and with {} of it used. As good at: at this price a month it would give as much for the money \
         as the best.{}</p>",
        units::percent(prices.utilisation),
        match orders {
            true =>
                " Three years for one NOPM has the shape of TPC-C's price, and is none: NOPM is no \
                     tpmC.",
            false => "",
        },
    )
}

/// The date of a point's prices; old ones and examples are marked.
fn dated(point: &Point) -> String {
    let mut text = plain(&point.as_of);
    if point.age_days > PRICE_OLD_DAYS {
        text += ", OLD";
    }
    if point.example {
        text += ", an example";
    }
    text
}

/// Where each price is from, and which runs it is of.
fn origins(out: &mut String, points: &[Point]) -> fmt::Result {
    let columns = [
        "configuration",
        "prices as of",
        "source",
        "bought as",
        "runs",
        "what was run",
    ];
    table(out, "Where the prices and the figures are from", &columns)?;
    for point in points {
        let source = format!(
            "{} ({}; entered by {})",
            point.sources.join("; "),
            point.sheet,
            point.entered_by.join(", ")
        );
        let bought = format!(
            "{}, {}; {} paid for",
            point.regions.join(" and "),
            point.terms.join(" and "),
            units::counted(point.replicas_paid.into(), "replica", "replicas"),
        );
        let what = format!(
            "{}; durability {}",
            point.workload,
            point.durability.as_deref().unwrap_or("unknown")
        );
        let mut runs = point.runs.join(", ");
        if let Some(between) = point.tps_interval {
            runs += &format!("; TPS: {}", view::spread(point, between));
        }
        let name = point.name();
        words(out, &[&name, &dated(point), &source, &bought, &runs, &what])?;
    }
    end(out);
    Ok(())
}

/// Runs that have no price.
fn refused(out: &mut String, prices: &Prices) -> fmt::Result {
    if prices.refused.is_empty() {
        return Ok(());
    }
    let columns = ["configuration", "run", "why", "what to do"];
    table(out, "Without a price", &columns)?;
    for one in &prices.refused {
        words(out, &[&one.configuration, &one.run, &one.why, &one.advice])?;
    }
    end(out);
    Ok(())
}

#[cfg(test)]
mod tests;
