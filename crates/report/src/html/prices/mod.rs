//! Price-performance, as a section of a page.
//!
//! In: the texts of price sheets, the configuration of each run, the current date, and the documents of the
//! page. Out: a chart of throughput against cost with its frontier, and tables. Must never: show an amount
//! without its currency and the date of its prices, draw incomparable runs in one chart, or depend on data
//! that is not in the page.

mod chart;

use super::document::Document;
use super::embedded::EmbeddedText;
use super::one::write_check_list;
use super::start_section;
use super::table::{write_figure_table, write_text_table};
use crate::html::markup::{Html, writeln_markup};
use crate::text::plain;
use crate::text::prices::{NO_TPMC, describe_spread, format_money, ratio_cells, run_count_cell};
use crate::units::{self, or_dash};
use prony_judge::price::{
    HOURS_PER_MONTH, MeasuredConfiguration, PriceDate, PriceError, PriceOptions, PricePoint,
    PriceSheet, Prices, THREE_YEARS_MONTHS, price,
};
use prony_judge::thresholds::PRICE_MAX_AGE_DAYS;
use prony_store::Run;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The inputs of a page's prices, except the runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceInputs {
    pub sheets: Vec<SheetText>,
    /// The current date, such as `2026-11-21`, from which the age of prices is computed.
    pub today: String,
    /// Share of the measured throughput that is used over a month, greater than 0, at most 1.
    pub utilisation: f64,
    /// Whether prices of different regions are ranked together.
    pub across_regions: bool,
    /// The configuration that each run of the page was measured on.
    pub placements: Vec<RunPlacement>,
}

/// The source text of a price sheet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SheetText {
    /// The file name, as the user wrote it.
    pub file: String,
    /// The TOML text.
    pub text: String,
}

/// The position of a run in the page, and of the configuration on which it was measured; indexes begin at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunPlacement {
    /// Index of the sheet.
    pub sheet: usize,
    /// Index of the configuration in the sheet.
    pub configuration: usize,
    /// Index of the run in the page.
    pub run: usize,
}

/// Why a page cannot have prices.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PriceInputsError {
    /// The JSON text is malformed.
    #[error("it cannot be read: {0}")]
    InvalidJson(String),
    #[error("{file} has errors: {problems}")]
    InvalidSheet { file: String, problems: String },
    /// An index is out of range.
    #[error("it refers to a sheet, a configuration or a run that does not exist")]
    NoSuchIndex,
    /// `today` is not a date.
    #[error("{0} is not a date")]
    InvalidDate(String),
    /// `utilisation` is not above 0 and at most 1.
    #[error("its utilisation is {0}, but must be above 0 and at most 1")]
    InvalidUtilisation(String),
    /// The prices cannot be computed.
    #[error(transparent)]
    Price(#[from] PriceError),
}

#[derive(Clone, Debug, PartialEq)]
pub struct PagePrices {
    pub json: EmbeddedText,
    /// The prices computed by `judge`.
    pub prices: Prices,
}

impl PagePrices {
    pub fn from_inputs(
        inputs: &PriceInputs,
        documents: &[Document],
    ) -> Result<PagePrices, PriceInputsError> {
        // The prices are computed from the text that the page contains, so that `verify` computes the same.
        let json = serde_json::to_string(inputs);
        let json = json.map_err(|error| PriceInputsError::InvalidJson(error.to_string()))?;
        PagePrices::parse(EmbeddedText::new(json), documents)
    }

    /// Like [`PagePrices::from_inputs`], from the JSON text of the inputs.
    pub fn parse(
        json: EmbeddedText,
        documents: &[Document],
    ) -> Result<PagePrices, PriceInputsError> {
        let runs: Vec<&Run> = documents.iter().map(|document| &document.run).collect();
        let inputs: PriceInputs = serde_json::from_str(&json.text)
            .map_err(|error| PriceInputsError::InvalidJson(plain(&error.to_string())))?;
        let prices = inputs.compute_prices(&runs)?;
        Ok(PagePrices { json, prices })
    }
}

impl PriceInputs {
    pub(super) fn compute_prices(&self, runs: &[&Run]) -> Result<Prices, PriceInputsError> {
        let parse_sheet = |sheet: &SheetText| {
            PriceSheet::from_toml(&sheet.file, &sheet.text).map_err(|problems| {
                PriceInputsError::InvalidSheet {
                    file: plain(&sheet.file),
                    problems: plain(&problems.to_string()),
                }
            })
        };
        let sheets = self.sheets.iter();
        let sheets: Vec<PriceSheet> = sheets.map(parse_sheet).collect::<Result<_, _>>()?;
        let measured_configuration = |placement: &RunPlacement| {
            let sheet = sheets.get(placement.sheet)?;
            Some(MeasuredConfiguration {
                sheet,
                configuration: sheet.configurations.get(placement.configuration)?,
                run: runs.get(placement.run)?,
            })
        };
        let today = PriceDate::parse(&self.today)
            .ok_or_else(|| PriceInputsError::InvalidDate(plain(&self.today)))?;
        if !(self.utilisation > 0.0 && self.utilisation <= 1.0) {
            let utilisation = self.utilisation.to_string();
            return Err(PriceInputsError::InvalidUtilisation(utilisation));
        }
        let measured_configurations = self
            .placements
            .iter()
            .map(measured_configuration)
            .collect::<Option<Vec<_>>>()
            .ok_or(PriceInputsError::NoSuchIndex)?;
        let options = PriceOptions {
            today,
            utilisation: self.utilisation,
            across_regions: self.across_regions,
            demand: None,
        };
        Ok(price(&measured_configurations, &options)?)
    }
}

pub fn write(out: &mut Html, prices: &Prices) -> fmt::Result {
    start_section(out, 2, "prices", "What throughput costs")?;
    let (currency, today) = (plain(&prices.currency), plain(&prices.today));
    writeln_markup!(
        out,
        "<p>In {}, by the price sheets below; their age is as of {}. A month has {} \
         hours, and one-time costs are spread over {} months. Repeated runs are priced by their \
         median.</p>",
        currency,
        today,
        HOURS_PER_MONTH,
        THREE_YEARS_MONTHS
    )?;
    if prices.points.is_empty() {
        out.push_str("<p class=\"verdict invalid\"><strong>No price can be given.</strong></p>\n");
    }
    let obstacles = prices.ranking.as_ref().map(|ranking| &ranking.obstacles);
    match obstacles {
        Some(differences) if !differences.is_empty() => {
            out.push_str(
                "<p class=\"verdict invalid\"><strong>NOT RANKED</strong>: these are not comparable, so \
                 they are not drawn on one chart.</p>\n",
            );
            let columns = [
                "what differs",
                "between",
                "in the first",
                "in the other",
                "why it matters",
            ];
            let rows = differences.iter().map(|found| {
                let between = format!("{} and {}", found.a, found.b);
                [&found.what, &between, &found.in_a, &found.in_b, &found.why].map(String::clone)
            });
            write_text_table(out, "Why not", columns, rows)?;
        }
        _ if !prices.points.is_empty() => chart::draw(out, prices)?,
        _ => {}
    }
    if !prices.points.is_empty() {
        write_ratios(out, prices)?;
        write_sources(out, &prices.points)?;
    }
    write_unpriced_runs(out, prices)?;
    if !prices.remarks.is_empty() {
        out.push_str("<h3>Notes</h3>\n");
        write_check_list(out, &prices.remarks)?;
    }
    out.push_str("</section>\n");
    Ok(())
}

/// Writes the figures of the chart and the ratios derived from them.
fn write_ratios(out: &mut Html, prices: &Prices) -> fmt::Result {
    let currency = plain(&prices.currency);
    let at_utilisation = format!("per million at {}", units::percent(prices.utilisation));
    let tps_per_money = format!("TPS for 1 {currency}");
    let has_nopm = prices.points.iter().any(|point| point.nopm.is_some());
    let mut columns = vec![
        "configuration",
        "runs",
        "per month",
        "TPS",
        &tps_per_money,
        "per million",
        &at_utilisation,
    ];
    if has_nopm {
        columns.extend(["NOPM", "3 years/NOPM"]);
    }
    columns.extend(["rank", "break-even", "frontier"]);
    let caption = format!("Committed transactions per second and their cost in {currency}");
    let rows = prices.points.iter().enumerate().map(|(index, point)| {
        let name = format!("{}: {}", index + 1, plain(&point.name()));
        let mut cells = vec![name, run_count_cell(point)];
        cells.extend(ratio_cells(point, has_nopm));
        cells.push(or_dash(point.rank, |rank| rank.to_string()));
        cells.push(or_dash(point.break_even, format_money));
        cells.push(or_dash(point.on_frontier, |is_on| {
            if is_on { "yes" } else { "no" }.to_owned()
        }));
        cells
    });
    write_figure_table(out, &caption, &columns, rows)?;
    let no_tpmc = if has_nopm { format!(" {NO_TPMC}") } else { String::new() };
    writeln_markup!(
        out,
        "<p>Per million: the cost of a million committed transactions, with the server at its measured \
         throughput all the time, and with {} of it used. Break-even: the price per month at which it \
         would give as much throughput for the money as the best.{}</p>",
        units::percent(prices.utilisation),
        no_tpmc
    )
}

/// Returns the date of a point's prices, and marks old prices and examples.
fn price_date(point: &PricePoint) -> String {
    let mut text = plain(&point.as_of);
    if point.age_days > PRICE_MAX_AGE_DAYS {
        text += ", OLD";
    }
    if point.example {
        text += ", an example";
    }
    text
}

fn write_sources(out: &mut Html, points: &[PricePoint]) -> fmt::Result {
    let columns = [
        "configuration",
        "prices as of",
        "source",
        "bought as",
        "runs",
        "what was run",
    ];
    let rows = points.iter().map(|point| {
        let source = format!(
            "{} ({}; entered by {})",
            point.sources.join("; "),
            point.sheet,
            point.entered_by.join(", ")
        );
        let purchase = format!(
            "{}, {}; {} paid for",
            point.regions.join(" and "),
            point.terms.join(" and "),
            units::count_of(point.replicas_paid.into(), "replica"),
        );
        let workload = format!(
            "{}; durability {}",
            point.workload,
            point.durability.as_deref().unwrap_or("unknown")
        );
        let mut runs = point.runs.join(", ");
        if let Some(interval) = point.tps_interval {
            runs += &format!("; TPS: {}", describe_spread(point, interval));
        }
        let (name, date) = (point.name(), price_date(point));
        [name, date, source, purchase, runs, workload]
    });
    write_text_table(out, "Sources of the prices and the figures", columns, rows)
}

/// Writes the table of runs without a price.
fn write_unpriced_runs(out: &mut Html, prices: &Prices) -> fmt::Result {
    let columns = ["configuration", "run", "why", "what to do"];
    let rows = prices.unpriced_runs.iter().map(|found| {
        [&found.configuration, &found.run, &found.why, &found.advice].map(String::clone)
    });
    write_text_table(out, "Without a price", columns, rows)
}

#[cfg(test)]
mod tests;
