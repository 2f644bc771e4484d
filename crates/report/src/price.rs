//! Views of price-performance.
//!
//! In: prices computed by `judge`. Out: tables, or JSON. Must never: print an amount
//! without its currency and the date of its prices, or call anything tpmC.

use crate::printer::Printer;
use crate::style::Style;
use crate::table::Table;
use crate::terminal::findings::write_check_list;
use crate::text::prices::{
    NO_TPMC, basis_phrase, describe_failures, describe_spread, format_money, format_ratio,
    ratio_cells, run_count_cell, short_name,
};
use crate::text::{cut, plain, wrap};
use crate::units::{self, count, count_of, or_dash, time_or_dash};
use prony_judge::price::{
    Candidate, HOURS_PER_MONTH, LoadAnswer, PricePoint, Prices, RankingObstacle, THREE_YEARS_MONTHS,
};
use std::io::{self, Write};

/// Maximum length of a configuration's name in a table, in characters.
const MAX_NAME_CHARS: usize = 24;

pub fn write(out: &mut dyn Write, style: &Style, prices: &Prices) -> io::Result<()> {
    let out = &mut Printer::new(out, style);
    if prices.points.is_empty() {
        out.line(style.bold("No price can be given"))?;
    } else {
        write_points(out, prices)?;
        let mut points = prices.points.iter();
        points.try_for_each(|point| write_details(out, point))?;
    }
    write_ranking(out, prices)?;
    if let Some(answer) = &prices.answer {
        write_load_answer(out, prices, answer)?;
    }
    if !prices.unpriced_runs.is_empty() {
        out.heading("Without a price")?;
        for unpriced in &prices.unpriced_runs {
            let text = format!(
                "{}, run {}: {}.",
                unpriced.configuration, unpriced.run, unpriced.why
            );
            out.paragraph(&plain(&text))?;
            out.paragraph(&plain(&unpriced.advice))?;
        }
    }
    if prices.remarks.is_empty() {
        return Ok(());
    }
    out.heading("Notes")?;
    write_check_list(out, &prices.remarks)
}

/// The ratios, one line per configuration.
fn write_points(out: &mut Printer<'_>, prices: &Prices) -> io::Result<()> {
    let currency = plain(&prices.currency);
    let title = format!("What throughput costs, in {currency}");
    out.line(out.style.bold(&title))?;
    let utilisation = units::percent(prices.utilisation);
    let has_nopm = prices.points.iter().any(|point| point.nopm.is_some());
    let tps_per_money = format!("TPS/{currency}");
    let at_utilisation = format!("at {utilisation}");
    let mut header = vec![
        "",
        "runs",
        "per month",
        "TPS",
        &tps_per_money,
        "per million",
        &at_utilisation,
    ];
    if has_nopm {
        header.extend(["NOPM", "3 years/NOPM"]);
    }
    let mut table = Table::new(&header);
    for point in &prices.points {
        let row = [table_name(point), run_count_cell(point)].into_iter();
        table.row(row.chain(ratio_cells(point, has_nopm)));
    }
    out.table(&table)?;
    out.paragraph(&format!(
        "TPS: the median of the runs. TPS/{currency}: committed transactions per second for 1 {currency} per \
         month. Per million: the cost of a million committed transactions if the server always runs at its \
         measured throughput, and if it runs at {utilisation} of it. A month has {HOURS_PER_MONTH} hours."
    ))?;
    if prices.points.iter().any(|point| point.one_time_cost > 0.0) {
        let sentence = format!("One-time costs are spread over {THREE_YEARS_MONTHS} months.");
        out.paragraph(&sentence)?;
    }
    if has_nopm {
        out.paragraph(NO_TPMC)?;
    }
    Ok(())
}

/// Writes the sources of a configuration's figures and prices.
fn write_details(out: &mut Printer<'_>, point: &PricePoint) -> io::Result<()> {
    out.heading(&plain(&point.name()))?;
    let replicas = count_of(point.replicas_paid.into(), "replica");
    let observed = match point.replicas_measured {
        Some(number) => format!("{} in the runs", count(number.into())),
        None => "number in the runs unknown".to_owned(),
    };
    let format_time = |ns: Option<u64>| units::or_unknown(ns, |ns| units::time(ns as f64));
    let slowest_note = match point.runs.len() {
        1 => "",
        _ => "; the slowest of the runs",
    };
    let one_time_cost = match point.one_time_cost {
        amount if amount > 0.0 => format!(" and {} once", format_money(amount)),
        _ => String::new(),
    };
    let example_note = if point.example { ", an example" } else { "" };
    let spread = point.tps_interval.map(|tps| describe_spread(point, tps));
    let items = [
        ("workload", point.workload.clone()),
        (
            "runs",
            format!("{}: {}", run_count_cell(point), point.runs.join(", ")),
        ),
        ("TPS", spread.unwrap_or_default()),
        (
            "response",
            format!(
                "of committed transactions: 95th percentile {}, 99th {}{slowest_note}",
                format_time(point.p95_ns),
                format_time(point.p99_ns),
            ),
        ),
        ("failures", describe_failures(point).unwrap_or_default()),
        (
            "safety",
            format!(
                "durability {}; pays for {replicas}, {observed}",
                point.durability.as_deref().unwrap_or("unknown")
            ),
        ),
        (
            "prices",
            format!(
                "{} per month{one_time_cost}, as of {}, {}, {}",
                format_money(point.monthly_cost),
                point.as_of,
                point.regions.join(" and "),
                point.terms.join(" and "),
            ),
        ),
        (
            "from",
            format!(
                "{}{example_note}: {}; entered by {}",
                point.sheet,
                point.sources.join("; "),
                point.entered_by.join(", "),
            ),
        ),
    ];
    let known = items.into_iter().filter(|(_, text)| !text.is_empty());
    let known = known.map(|(name, text)| (name, plain(&text)));
    out.named(10, &known.collect::<Vec<_>>())
}

/// Writes the configurations, ranked by throughput per unit of money.
fn write_ranking(out: &mut Printer<'_>, prices: &Prices) -> io::Result<()> {
    let Some(ranking) = &prices.ranking else {
        return Ok(());
    };
    out.heading("Most throughput for the money")?;
    if !ranking.obstacles.is_empty() {
        out.paragraph("NOT RANKED: the configurations are not comparable.")?;
        return write_obstacles(out, &ranking.obstacles);
    }
    let tps_per_money = format!("TPS/{}", plain(&prices.currency));
    let per_month = |cost| format!("{} per month", format_money(cost));
    let mut table =
        Table::new(&["", "runs", &tps_per_money, "rank", "break-even"]).with_texts(&["frontier"]);
    for index in &ranking.order {
        let point = &prices.points[*index];
        table.row([
            table_name(point),
            run_count_cell(point),
            units::or_unknown(point.tps_per_money, format_ratio),
            or_dash(point.rank, |rank| rank.to_string()),
            or_dash(point.break_even, per_month),
            if point.on_frontier == Some(true) { "yes" } else { "no" }.to_owned(),
        ]);
    }
    out.table(&table)?;
    out.paragraph(
        "Rank: configurations whose intervals overlap are not ranked apart. Break-even: the price at which a \
         configuration would give as much throughput for the money as the first. Frontier: no other \
         configuration is faster at this price or less.",
    )
}

/// The cheapest configuration that sustains the requested load, or why none is named.
fn load_verdict(prices: &Prices, answer: &LoadAnswer) -> String {
    match answer.cheapest.map(|index| &prices.points[index]) {
        Some(point) => format!(
            "{}: {} {} per month, {}{}.",
            plain(&point.name()),
            format_money(point.total_monthly_cost),
            plain(&prices.currency),
            basis_phrase(point),
            slower_runs_note(prices, answer),
        ),
        None if !answer.obstacles.is_empty() => {
            "The cheapest is not named, because the configurations are not comparable.".to_owned()
        }
        None if answer.candidates.iter().any(|one| one.is_unknown) => {
            "None is known to, according to these runs.".to_owned()
        }
        None => "None, according to these runs.".to_owned(),
    }
}

/// Writes which configurations sustain the requested load, and the cheapest of them.
fn write_load_answer(
    out: &mut Printer<'_>,
    prices: &Prices,
    answer: &LoadAnswer,
) -> io::Result<()> {
    let target_load = &answer.demand;
    let mut target_text = units::transactions_per_second(target_load.tps);
    for (percentile, limit) in [("95th", target_load.p95_ns), ("99th", target_load.p99_ns)] {
        if let Some(ns) = limit {
            target_text += &format!(", {percentile} percentile up to {}", units::time(ns as f64));
        }
    }
    out.heading(&format!("Configurations that sustain {target_text}"))?;
    let verdict = load_verdict(prices, answer);
    for line in wrap(&verdict, out.style.width - 2) {
        out.line(format!("  {}", out.style.bold(&line)))?;
    }
    let mut table =
        Table::new(&["", "runs", "per month", "TPS", "p95", "p99"]).with_texts(&["sustains it"]);
    for candidate in &answer.candidates {
        let point = &prices.points[candidate.point];
        let run_count = point.runs.len();
        let sustaining_runs = run_count.saturating_sub(candidate.runs_below);
        table.row([
            table_name(point),
            run_count_cell(point),
            format_money(point.total_monthly_cost),
            units::rate(point.tps),
            time_or_dash(point.p95_ns),
            time_or_dash(point.p99_ns),
            if candidate.sustains_in_some_runs() {
                format!("in {sustaining_runs} of {run_count} runs")
            } else {
                candidate.answer().to_owned()
            },
        ]);
    }
    out.table(&table)?;
    out.paragraph("p95, p99: of committed transactions.")?;
    let is_repeated = |candidate: &Candidate| prices.points[candidate.point].runs.len() > 1;
    if answer.candidates.iter().any(is_repeated) {
        out.paragraph("With several runs, TPS is the median, and p95 and p99 are the highest.")?;
    }
    let candidates = answer.candidates.iter();
    for candidate in candidates.filter(|candidate| !candidate.sustains) {
        let several_note = match (candidate.count, candidate.cost) {
            (Some(number), Some(cost)) => format!(
                "; {} of them would, for {} per month, if the load can be divided among them",
                count(number),
                format_money(cost)
            ),
            _ => String::new(),
        };
        let name = prices.points[candidate.point].name();
        out.paragraph(&plain(&format!("{name}: {}{several_note}.", candidate.why)))?;
    }
    write_obstacles(out, &answer.obstacles)
}

/// A note on runs of the cheapest sustaining configuration that are below the target load, although their
/// median is not. Empty if there are no such runs.
fn slower_runs_note(prices: &Prices, answer: &LoadAnswer) -> String {
    let mut candidates = answer.candidates.iter();
    let cheapest = candidates.find(|candidate| Some(candidate.point) == answer.cheapest);
    let cheapest = cheapest.filter(|candidate| candidate.sustains_in_some_runs());
    cheapest.map_or(String::new(), |candidate| {
        let runs = prices.points[candidate.point].runs.len();
        format!(", but {}", candidate.slower_runs_text(runs))
    })
}

fn write_obstacles(out: &mut Printer<'_>, obstacles: &[RankingObstacle]) -> io::Result<()> {
    for obstacle in obstacles {
        let [in_a, in_b] = [&obstacle.in_a, &obstacle.in_b].map(|text| cut(&plain(text), 60));
        let text = format!(
            "{} against {}: {}: {in_a} against {in_b}, because {}.",
            obstacle.a, obstacle.b, obstacle.what, obstacle.why
        );
        out.paragraph(&plain(&text))?;
    }
    Ok(())
}

/// Whether a run has no price, the points cannot be ranked, or no configuration sustains the load.
pub fn is_incomplete(prices: &Prices) -> bool {
    let (ranking, answer) = (prices.ranking.as_ref(), prices.answer.as_ref());
    !prices.unpriced_runs.is_empty()
        || ranking.is_some_and(|ranking| !ranking.obstacles.is_empty())
        || answer.is_some_and(|answer| answer.cheapest.is_none())
}

fn table_name(point: &PricePoint) -> String {
    short_name(point, MAX_NAME_CHARS)
}

#[cfg(test)]
mod tests;
