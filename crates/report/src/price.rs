//! What throughput costs.
//!
//! In: prices as `judge` made them. Out: tables for a person, or JSON. Must never: print an amount
//! without its currency and the date of its prices, or call anything tpmC.

use crate::style::Style;
use crate::table::Table;
use crate::terminal::{heading, paragraph};
use crate::text::{cut, plain, wrap};
use crate::units;
use prony_judge::price::{Answer, Candidate, Interval, Obstacle, Point, Prices};
use std::io::{self, Write};

/// Longest name of a configuration in a table, characters.
const NAME: usize = 24;

/// Writes them for a person.
pub fn write(out: &mut dyn Write, style: &Style, prices: &Prices) -> io::Result<()> {
    if prices.points.is_empty() {
        writeln!(out, "{}", style.bold("No price can be given"))?;
    } else {
        points(out, style, prices)?;
        behind(out, style, &prices.points)?;
    }
    ranking(out, style, prices)?;
    if let Some(answer) = &prices.answer {
        load(out, style, prices, answer)?;
    }
    if !prices.refused.is_empty() {
        heading(out, style, "Without a price")?;
        for one in &prices.refused {
            let text = format!("{}, run {}: {}.", one.configuration, one.run, one.why);
            paragraph(out, style, &plain(&text))?;
            paragraph(out, style, &format!("  {}", plain(&one.advice)))?;
        }
    }
    remarks(out, style, prices)
}

/// The ratios, a line a configuration.
fn points(out: &mut dyn Write, style: &Style, prices: &Prices) -> io::Result<()> {
    let currency = plain(&prices.currency);
    let title = format!("What throughput costs, in {currency}");
    writeln!(out, "{}", style.bold(&title))?;
    let used = units::percent(prices.utilisation);
    let orders = prices.points.iter().any(|point| point.nopm.is_some());
    let tps_for = format!("TPS/{currency}");
    let at_share = format!("at {used}");
    let mut header = vec![
        "",
        "runs",
        "a month",
        "TPS",
        &tps_for,
        "a million",
        &at_share,
    ];
    if orders {
        header.extend(["NOPM", "3 years/NOPM"]);
    }
    let mut table = Table::new(&header);
    for point in &prices.points {
        let mut row = vec![name(point), runs(point)];
        row.extend(ratios(point, orders));
        table.row(row);
    }
    table.write(out, style, 2)?;
    let note = format!(
        "TPS: the median of the runs. TPS/{currency}: committed transactions a second for 1 {currency} a \
         month. A million: committed transactions, with the server at its measured throughput all the time; and with {used} of it \
         used. A month has 730 hours."
    );
    paragraph(out, style, &note)?;
    if prices.points.iter().any(|point| point.once > 0.0) {
        paragraph(out, style, "What is paid once is spread over 36 months.")?;
    }
    if orders {
        let note = "Three years for one NOPM has the shape of TPC-C's price, and is none: NOPM is no \
                    tpmC.";
        paragraph(out, style, note)?;
    }
    Ok(())
}

/// What one configuration costs and what comes of it, in every view's order. `orders`: with NOPM.
pub(crate) fn ratios(point: &Point, orders: bool) -> Vec<String> {
    let mut cells = vec![
        money(point.cost),
        units::rate(point.tps),
        units::known(point.tps_per_money, figure),
        money(point.per_million_flat_out),
        money(point.per_million_at_utilisation),
    ];
    if orders {
        cells.push(point.nopm.map_or("–".into(), units::rate));
        cells.push(point.three_years_per_nopm.map_or("–".into(), money));
    }
    cells
}

/// What stands behind each line: the runs, and where the prices are from.
fn behind(out: &mut dyn Write, style: &Style, points: &[Point]) -> io::Result<()> {
    for point in points {
        heading(out, style, &plain(&point.name()))?;
        let replicas = units::counted(point.replicas_paid.into(), "replica", "replicas");
        let seen = match point.replicas_seen {
            Some(seen) => format!("{} seen", units::count(seen.into())),
            None => "not known how many there were".to_owned(),
        };
        let mut lines = vec![
            format!("workload  {}", point.workload),
            format!("runs      {}: {}", runs(point), point.runs.join(", ")),
        ];
        if let Some(between) = point.tps_interval {
            lines.push(format!("TPS       {}", spread(point, between)));
        }
        let time = |ns: Option<u64>| units::known(ns, |ns| units::time(ns as f64));
        lines.push(format!(
            "response  95th percentile {}, 99th {}{}",
            time(point.p95_ns),
            time(point.p99_ns),
            match point.runs.len() {
                1 => "",
                _ => "; the longest of the runs",
            }
        ));
        lines.push(format!(
            "safety    durability {}; pays for {replicas}, {seen}",
            point.durability.as_deref().unwrap_or("unknown")
        ));
        let example = if point.example { ", an example" } else { "" };
        lines.push(format!(
            "prices    {} a month{}, as of {}, {}, {}",
            money(point.a_month),
            match point.once {
                once if once > 0.0 => format!(" and {} once", money(once)),
                _ => String::new(),
            },
            point.as_of,
            point.regions.join(" and "),
            point.terms.join(" and "),
        ));
        lines.push(format!(
            "from      {}{example}: {}; entered by {}",
            point.sheet,
            point.sources.join("; "),
            point.entered_by.join(", "),
        ));
        for line in lines {
            let (label, text) = line.split_at(10);
            for (row, part) in wrap(&plain(text), style.width - 12).iter().enumerate() {
                let label = if row == 0 {
                    style.dim(label)
                } else {
                    " ".repeat(10)
                };
                writeln!(out, "  {label}{part}")?;
            }
        }
    }
    Ok(())
}

pub(crate) fn spread(point: &Point, between: Interval) -> String {
    let (low, high) = (units::rate(between.low), units::rate(between.high));
    let runs = units::counted(point.runs.len() as u64, "run", "runs");
    match between.confident {
        true => format!("median of {runs}; with 95 % confidence between {low} and {high}"),
        false => format!("median of {runs}, which gave {low} to {high}: too few for an interval"),
    }
}

/// Which is worth its price.
fn ranking(out: &mut dyn Write, style: &Style, prices: &Prices) -> io::Result<()> {
    let Some(ranking) = &prices.ranking else {
        return Ok(());
    };
    heading(out, style, "Most throughput for the money")?;
    if !ranking.obstacles.is_empty() {
        paragraph(out, style, "NOT RANKED: these do not compare.")?;
        return obstacles(out, style, &ranking.obstacles);
    }
    let currency = plain(&prices.currency);
    let worth = format!("TPS/{currency}");
    let mut table = Table::new(&["", "runs", &worth, "as good at", "frontier<"]);
    for place in &ranking.order {
        let point = &prices.points[*place];
        table.row([
            name(point),
            runs(point),
            units::known(point.tps_per_money, figure),
            point
                .break_even
                .map_or("–".into(), |cost| format!("{} a month", money(cost))),
            match point.on_frontier {
                Some(true) => "yes".to_owned(),
                _ => "no".to_owned(),
            },
        ]);
    }
    table.write(out, style, 2)?;
    let note = "As good at: at this price it would give as much for the money as the first. Frontier: \
                no other is both faster and no dearer.";
    paragraph(out, style, note)
}

/// What holds the load.
fn load(out: &mut dyn Write, style: &Style, prices: &Prices, answer: &Answer) -> io::Result<()> {
    let demand = &answer.demand;
    let mut asked = format!("{} transactions/s", units::rate(demand.tps));
    for (which, limit) in [("95th", demand.p95_ns), ("99th", demand.p99_ns)] {
        if let Some(ns) = limit {
            asked += &format!(", {which} percentile up to {}", units::time(ns as f64));
        }
    }
    heading(out, style, &format!("What holds {asked}"))?;
    let verdict = match answer.cheapest.map(|place| &prices.points[place]) {
        Some(point) => format!(
            "{}: {} {} a month, {}{}.",
            plain(&point.name()),
            money(point.cost),
            plain(&prices.currency),
            by_runs(point),
            but(prices, answer),
        ),
        None if !answer.obstacles.is_empty() => {
            "The cheapest is not named: these do not compare.".to_owned()
        }
        None => "None of them, as far as these runs show.".to_owned(),
    };
    for line in wrap(&verdict, style.width - 2) {
        writeln!(out, "  {}", style.bold(&line))?;
    }
    let mut table = Table::new(&["", "runs", "a month", "TPS", "p95", "p99", "holds it<"]);
    let time = |ns: Option<u64>| ns.map_or("–".into(), |ns| units::time(ns as f64));
    for one in &answer.candidates {
        let point = &prices.points[one.point];
        table.row([
            name(point),
            runs(point),
            money(point.cost),
            units::rate(point.tps),
            time(point.p95_ns),
            time(point.p99_ns),
            match (one.is_partly(), one.holds) {
                (true, _) => {
                    let runs = point.runs.len();
                    format!("in {} of {runs} runs", runs.saturating_sub(one.short))
                }
                (false, true) => "yes".to_owned(),
                (false, false) => "no".to_owned(),
            },
        ]);
    }
    table.write(out, style, 2)?;
    let several = |one: &Candidate| prices.points[one.point].runs.len() > 1;
    if answer.candidates.iter().any(several) {
        let note = "Of several runs TPS is the median, and p95 and p99 are the longest.";
        paragraph(out, style, note)?;
    }
    for one in answer.candidates.iter().filter(|one| !one.holds) {
        let point = &prices.points[one.point];
        let several = match (one.count, one.cost) {
            (Some(count), Some(cost)) => format!(
                "; {} of them, {} a month, if the load can be divided among them",
                units::count(count),
                money(cost)
            ),
            _ => String::new(),
        };
        let text = format!("{}: {}{several}.", point.name(), one.why);
        paragraph(out, style, &plain(&text))?;
    }
    obstacles(out, style, &answer.obstacles)
}

/// What the median hides of the cheapest that holds a load: `, but 1 of 4 runs gave less: 294 a second`.
fn but(prices: &Prices, answer: &Answer) -> String {
    let mut candidates = answer.candidates.iter();
    let cheapest = candidates.find(|one| Some(one.point) == answer.cheapest);
    let partly = cheapest.filter(|one| one.is_partly());
    partly.map_or(String::new(), |one| {
        let runs = prices.points[one.point].runs.len();
        format!(", but {}", one.in_part(runs))
    })
}

fn obstacles(out: &mut dyn Write, style: &Style, of: &[Obstacle]) -> io::Result<()> {
    for one in of {
        let text = format!(
            "{} against {}: {}: {} against {}, because {}.",
            one.a,
            one.b,
            one.what,
            cut(&plain(&one.in_a), 60),
            cut(&plain(&one.in_b), 60),
            one.why
        );
        paragraph(out, style, &plain(&text))?;
    }
    Ok(())
}

fn remarks(out: &mut dyn Write, style: &Style, prices: &Prices) -> io::Result<()> {
    if prices.remarks.is_empty() {
        return Ok(());
    }
    heading(out, style, "To be known")?;
    crate::terminal::check_lines(out, style, &prices.remarks)
}

/// Writes them as one JSON document.
pub fn json(out: &mut dyn Write, prices: &Prices) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, prices)?;
    writeln!(out)
}

/// Whether something here must not be used: no price, no order, or no answer.
pub fn is_refused(prices: &Prices) -> bool {
    let unranked = prices
        .ranking
        .as_ref()
        .is_some_and(|one| !one.obstacles.is_empty());
    let unanswered = prices
        .answer
        .as_ref()
        .is_some_and(|one| one.cheapest.is_none());
    !prices.refused.is_empty() || unranked || unanswered
}

fn name(point: &Point) -> String {
    short_name(point, NAME)
}

/// The configuration and its variant, so cut that something of both is left.
pub(crate) fn short_name(point: &Point, most: usize) -> String {
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

/// How many runs stand behind it, for a column.
pub(crate) fn runs(point: &Point) -> String {
    plain(&point.runs_in_words())
}

/// The same for a sentence: `by the median of 6 runs`.
pub(crate) fn by_runs(point: &Point) -> String {
    match (point.runs.len(), point.repeats_meant) {
        (1, None | Some(..=1)) => "by one run".to_owned(),
        (1, Some(meant)) => format!("by one run of {meant}"),
        _ => format!("by the median of {} runs", point.runs_in_words()),
    }
}

/// An amount of money, without its currency.
pub(crate) fn money(amount: f64) -> String {
    match amount {
        amount if amount >= 999.995 => {
            let cents = (amount * 100.0).round();
            match cents % 100.0 {
                0.0 => units::count((cents / 100.0) as u64),
                rest => format!(
                    "{}.{rest:02.0}",
                    units::count((cents / 100.0).floor() as u64)
                ),
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
