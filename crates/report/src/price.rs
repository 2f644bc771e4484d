//! Price-performance: what throughput costs.
//!
//! In: prices computed by `judge`. Out: tables for a person, or JSON. Must never: print an amount
//! without its currency and the date of its prices, or call anything tpmC.

use crate::printer::Printer;
use crate::style::Style;
use crate::table::Table;
use crate::terminal::findings::check_lines;
use crate::text::{cut, plain, wrap};
use crate::units::{self, count, count_with_noun, or_dash, time_or_dash};
use prony_judge::price::{Candidate, FigureRange, LoadAnswer, PricePoint, Prices, RankingObstacle};
use std::io::{self, Write};

/// Longest name of a configuration in a table, in characters.
const MAX_NAME: usize = 24;

/// Writes the prices for a person.
pub fn write(out: &mut dyn Write, style: &Style, prices: &Prices) -> io::Result<()> {
    let out = &mut Printer::new(out, style);
    if prices.points.is_empty() {
        out.line(style.bold("No price can be given"))?;
    } else {
        write_points(out, prices)?;
        prices
            .points
            .iter()
            .try_for_each(|point| write_details(out, point))?;
    }
    write_ranking(out, prices)?;
    if let Some(answer) = &prices.answer {
        write_load_answer(out, prices, answer)?;
    }
    if !prices.refused.is_empty() {
        out.heading("Without a price")?;
        for one in &prices.refused {
            let text = format!("{}, run {}: {}.", one.configuration, one.run, one.why);
            out.paragraph(&plain(&text))?;
            out.paragraph(&plain(&one.advice))?;
        }
    }
    if prices.remarks.is_empty() {
        return Ok(());
    }
    out.heading("Notes")?;
    check_lines(out, &prices.remarks)
}

/// The ratios, one line per configuration.
fn write_points(out: &mut Printer<'_>, prices: &Prices) -> io::Result<()> {
    let currency = plain(&prices.currency);
    let title = format!("What throughput costs, in {currency}");
    out.line(out.style.bold(&title))?;
    let utilisation = units::percent(prices.utilisation);
    let has_nopm = prices.points.iter().any(|point| point.nopm.is_some());
    let tps_for = format!("TPS/{currency}");
    let at_share = format!("at {utilisation}");
    let mut header = vec![
        "",
        "runs",
        "a month",
        "TPS",
        &tps_for,
        "a million",
        &at_share,
    ];
    if has_nopm {
        header.extend(["NOPM", "3 years/NOPM"]);
    }
    let mut table = Table::new(&header);
    for point in &prices.points {
        let row = [table_name(point), runs(point)].into_iter();
        table.row(row.chain(ratios(point, has_nopm)));
    }
    out.table(&table)?;
    out.paragraph(&format!(
        "TPS: the median of the runs. TPS/{currency}: committed transactions a second for 1 {currency} a \
         month. A million: the cost of a million committed transactions, with the server at its measured \
         throughput all the time, and with {utilisation} of it used. A month has 730 hours."
    ))?;
    if prices.points.iter().any(|point| point.once > 0.0) {
        out.paragraph("One-time costs are spread over 36 months.")?;
    }
    match has_nopm {
        true => out.paragraph(NO_TPMC),
        false => Ok(()),
    }
}

/// Clarifies that the cost per NOPM is not TPC-C's price-performance metric.
pub(crate) const NO_TPMC: &str = "The three-year cost per NOPM resembles TPC-C's price metric but is not that metric: NOPM is not tpmC.";

/// Cost of one configuration and the ratios derived from it, in the column order of all views. `has_nopm`:
/// include NOPM.
pub(crate) fn ratios(point: &PricePoint, has_nopm: bool) -> Vec<String> {
    let mut cells = vec![
        money(point.cost),
        units::rate(point.tps),
        units::or_unknown(point.tps_per_money, figure),
        money(point.per_million_flat_out),
        money(point.per_million_at_utilisation),
    ];
    if has_nopm {
        cells.push(or_dash(point.nopm, units::rate));
        cells.push(or_dash(point.three_years_per_nopm, money));
    }
    cells
}

/// Where the figures and the prices of a configuration come from.
fn write_details(out: &mut Printer<'_>, point: &PricePoint) -> io::Result<()> {
    out.heading(&plain(&point.name()))?;
    let replicas = count_with_noun(point.replicas_paid.into(), "replica", "replicas");
    let seen = match point.replicas_seen {
        Some(seen) => format!("{} observed", count(seen.into())),
        None => "number in the runs unknown".to_owned(),
    };
    let time = |ns: Option<u64>| units::or_unknown(ns, |ns| units::time(ns as f64));
    let slowest = match point.runs.len() {
        1 => "",
        _ => "; the slowest of the runs",
    };
    let once = match point.once {
        once if once > 0.0 => format!(" and {} once", money(once)),
        _ => String::new(),
    };
    let example = if point.example { ", an example" } else { "" };
    let spread = point.tps_interval.map(|of| ("TPS", spread(point, of)));
    let mut items = vec![
        ("workload", point.workload.clone()),
        (
            "runs",
            format!("{}: {}", runs(point), point.runs.join(", ")),
        ),
    ];
    items.extend(spread);
    items.extend([
        (
            "response",
            format!(
                "95th percentile {}, 99th {}{slowest}",
                time(point.p95_ns),
                time(point.p99_ns),
            ),
        ),
        (
            "safety",
            format!(
                "durability {}; pays for {replicas}, {seen}",
                point.durability.as_deref().unwrap_or("unknown")
            ),
        ),
        (
            "prices",
            format!(
                "{} a month{once}, as of {}, {}, {}",
                money(point.a_month),
                point.as_of,
                point.regions.join(" and "),
                point.terms.join(" and "),
            ),
        ),
        (
            "from",
            format!(
                "{}{example}: {}; entered by {}",
                point.sheet,
                point.sources.join("; "),
                point.entered_by.join(", "),
            ),
        ),
    ]);
    let items: Vec<_> = items
        .into_iter()
        .map(|(name, text)| (name, plain(&text)))
        .collect();
    out.named(10, &items)
}

pub(crate) fn spread(point: &PricePoint, between: FigureRange) -> String {
    let (low, high) = (units::rate(between.low), units::rate(between.high));
    let runs = units::count_with_noun(point.runs.len() as u64, "run", "runs");
    match between.confident {
        true => format!("median of {runs}; with 95 % confidence between {low} and {high}"),
        false => format!("median of {runs}, which gave {low} to {high}: too few for an interval"),
    }
}

/// Ranks configurations by throughput per unit of money.
fn write_ranking(out: &mut Printer<'_>, prices: &Prices) -> io::Result<()> {
    let Some(ranking) = &prices.ranking else {
        return Ok(());
    };
    out.heading("Most throughput for the money")?;
    if !ranking.obstacles.is_empty() {
        out.paragraph("NOT RANKED: these do not compare.")?;
        return write_obstacles(out, &ranking.obstacles);
    }
    let tps_per_money = format!("TPS/{}", plain(&prices.currency));
    let mut table = Table::new(&["", "runs", &tps_per_money, "break-even", "frontier<"]);
    for place in &ranking.order {
        let point = &prices.points[*place];
        table.row([
            table_name(point),
            runs(point),
            units::or_unknown(point.tps_per_money, figure),
            or_dash(point.break_even, |cost| format!("{} a month", money(cost))),
            match point.on_frontier {
                Some(true) => "yes".to_owned(),
                _ => "no".to_owned(),
            },
        ]);
    }
    out.table(&table)?;
    out.paragraph(
        "Break-even: the price at which it would give as much throughput for the money as the first. \
         Frontier: no other is faster at this price or less.",
    )
}

/// Lists the configurations that sustain the requested load.
fn write_load_answer(
    out: &mut Printer<'_>,
    prices: &Prices,
    answer: &LoadAnswer,
) -> io::Result<()> {
    let demand = &answer.demand;
    let mut target = format!("{} transactions/s", units::rate(demand.tps));
    for (which, limit) in [("95th", demand.p95_ns), ("99th", demand.p99_ns)] {
        if let Some(ns) = limit {
            target += &format!(", {which} percentile up to {}", units::time(ns as f64));
        }
    }
    out.heading(&format!("What sustains {target}"))?;
    let verdict = match answer.cheapest.map(|place| &prices.points[place]) {
        Some(point) => format!(
            "{}: {} {} a month, {}{}.",
            plain(&point.name()),
            money(point.cost),
            plain(&prices.currency),
            basis(point),
            slower_runs_note(prices, answer),
        ),
        None if !answer.obstacles.is_empty() => {
            "The cheapest is not named, because these do not compare.".to_owned()
        }
        None => "None of them, according to these runs.".to_owned(),
    };
    for line in wrap(&verdict, out.style.width - 2) {
        out.line(format!("  {}", out.style.bold(&line)))?;
    }
    let mut table = Table::new(&["", "runs", "a month", "TPS", "p95", "p99", "sustains it<"]);
    for one in &answer.candidates {
        let point = &prices.points[one.point];
        let all = point.runs.len();
        table.row([
            table_name(point),
            runs(point),
            money(point.cost),
            units::rate(point.tps),
            time_or_dash(point.p95_ns),
            time_or_dash(point.p99_ns),
            match (one.holds_partly(), one.holds) {
                (true, _) => format!("in {} of {all} runs", all.saturating_sub(one.runs_below)),
                (false, true) => "yes".to_owned(),
                (false, false) => "no".to_owned(),
            },
        ]);
    }
    out.table(&table)?;
    let several = |one: &Candidate| prices.points[one.point].runs.len() > 1;
    if answer.candidates.iter().any(several) {
        out.paragraph("With several runs, TPS is the median, and p95 and p99 are the highest.")?;
    }
    for one in answer.candidates.iter().filter(|one| !one.holds) {
        let several = match (one.count, one.cost) {
            (Some(number), Some(cost)) => format!(
                "; {} of them would, for {} a month, if the load can be divided among them",
                count(number),
                money(cost)
            ),
            _ => String::new(),
        };
        let name = prices.points[one.point].name();
        out.paragraph(&plain(&format!("{name}: {}{several}.", one.why)))?;
    }
    write_obstacles(out, &answer.obstacles)
}

/// Says which runs of the cheapest sustaining configuration fall below the load although the median does
/// not: `, but 1 of 4 runs was slower: 294 a second`.
fn slower_runs_note(prices: &Prices, answer: &LoadAnswer) -> String {
    let mut candidates = answer.candidates.iter();
    let cheapest = candidates.find(|one| Some(one.point) == answer.cheapest);
    let partly = cheapest.filter(|one| one.holds_partly());
    partly.map_or(String::new(), |one| {
        let runs = prices.points[one.point].runs.len();
        format!(", but {}", one.runs_below_text(runs))
    })
}

fn write_obstacles(out: &mut Printer<'_>, of: &[RankingObstacle]) -> io::Result<()> {
    for one in of {
        let [in_a, in_b] = [&one.in_a, &one.in_b].map(|text| cut(&plain(text), 60));
        let text = format!(
            "{} against {}: {}: {in_a} against {in_b}, because {}.",
            one.a, one.b, one.what, one.why
        );
        out.paragraph(&plain(&text))?;
    }
    Ok(())
}

/// Writes the prices as one JSON document.
pub fn json(out: &mut dyn Write, prices: &Prices) -> io::Result<()> {
    crate::json::pretty(out, prices)
}

/// Whether part of the result must not be used: a run has no price, there is no ranking, or no
/// answer.
pub fn is_refused(prices: &Prices) -> bool {
    let (ranking, answer) = (prices.ranking.as_ref(), prices.answer.as_ref());
    !prices.refused.is_empty()
        || ranking.is_some_and(|one| !one.obstacles.is_empty())
        || answer.is_some_and(|one| one.cheapest.is_none())
}

fn table_name(point: &PricePoint) -> String {
    short_name(point, MAX_NAME)
}

/// The names of the configuration and its variant, shortened so that part of both remains.
pub(crate) fn short_name(point: &PricePoint, most: usize) -> String {
    let configuration = plain(&point.configuration);
    let variant = plain(&point.variant);
    match variant.is_empty() {
        true => cut(&configuration, most),
        false => {
            let half = (most / 2).max(most.saturating_sub(variant.chars().count() + 3));
            let configuration = cut(&configuration, half);
            let left = most.saturating_sub(configuration.chars().count() + 3);
            format!("{configuration} ({})", cut(&variant, left))
        }
    }
}

/// The number of runs behind a point, for a table column.
pub(crate) fn runs(point: &PricePoint) -> String {
    plain(&point.runs_text())
}

/// The number of runs behind a point, for a sentence: `by the median of 6 runs`.
pub(crate) fn basis(point: &PricePoint) -> String {
    match (point.runs.len(), point.repeats_planned) {
        (1, None | Some(..=1)) => "by one run".to_owned(),
        (1, Some(meant)) => format!("by one run of {meant}"),
        _ => format!("by the median of {} runs", point.runs_text()),
    }
}

/// An amount of money, without its currency.
pub(crate) fn money(amount: f64) -> String {
    match amount {
        amount if amount >= 999.995 => {
            let cents = (amount * 100.0).round();
            let whole = count((cents / 100.0).floor() as u64);
            match cents % 100.0 {
                0.0 => whole,
                rest => format!("{whole}.{rest:02.0}"),
            }
        }
        amount if amount >= 1.0 || amount == 0.0 => format!("{amount:.2}"),
        amount => significant(amount),
    }
}

/// A ratio with three significant digits.
pub(crate) fn figure(value: f64) -> String {
    match value {
        value if value >= 1.0 || value == 0.0 => units::rate(value),
        value => significant(value),
    }
}

/// Three significant digits of a number below 1.
fn significant(value: f64) -> String {
    let places = (2.0 - value.log10().floor()).clamp(2.0, 12.0) as usize;
    format!("{value:.places$}")
}

#[cfg(test)]
mod tests;
