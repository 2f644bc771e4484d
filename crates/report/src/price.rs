//! What throughput costs.
//!
//! In: prices as `judge` made them. Out: tables for a person, or JSON. Must never: print an amount
//! without its currency and the date of its prices, or call anything tpmC.

use crate::style::Style;
use crate::table::Table;
use crate::terminal::{heading, paragraph};
use crate::text::{cut, plain, wrap};
use crate::units;
use prony_judge::price::{Answer, Interval, Obstacle, Point, Prices};
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
    let mut header = vec!["", "a month", "TPS", &tps_for, "a million", &at_share];
    if orders {
        header.extend(["NOPM", "3 years/NOPM"]);
    }
    let mut table = Table::new(&header);
    for point in &prices.points {
        let mut row = vec![name(point)];
        row.extend(ratios(point, orders));
        table.row(row);
    }
    table.write(out, style, 2)?;
    let note = format!(
        "TPS/{currency}: committed transactions a second for 1 {currency} a month. A million: committed \
         transactions, with the server at its measured throughput all the time; and with {used} of it \
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
        heading(out, style, &plain(&point.configuration))?;
        let replicas = units::counted(point.replicas_paid.into(), "replica", "replicas");
        let seen = match point.replicas_seen {
            Some(seen) => format!("{} seen", units::count(seen.into())),
            None => "not known how many there were".to_owned(),
        };
        let mut lines = vec![
            format!("workload  {}", point.workload),
            format!("runs      {}", point.runs.join(", ")),
        ];
        if let Some(between) = point.tps_interval {
            lines.push(format!("TPS       {}", spread(point, between)));
        }
        let time = |ns: Option<u64>| units::known(ns, |ns| units::time(ns as f64));
        lines.push(format!(
            "response  95th percentile {}, 99th {}",
            time(point.p95_ns),
            time(point.p99_ns)
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

fn spread(point: &Point, between: Interval) -> String {
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
    let mut table = Table::new(&["", &format!("TPS/{currency}"), "as good at", "frontier<"]);
    for place in &ranking.order {
        let point = &prices.points[*place];
        table.row([
            name(point),
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
            "{}: {} {} a month.",
            plain(&point.configuration),
            money(point.cost),
            plain(&prices.currency)
        ),
        None if !answer.obstacles.is_empty() => {
            "The cheapest is not named: these do not compare.".to_owned()
        }
        None => "None of them, as far as these runs show.".to_owned(),
    };
    for line in wrap(&verdict, style.width - 2) {
        writeln!(out, "  {}", style.bold(&line))?;
    }
    let mut table = Table::new(&["", "a month", "TPS", "p95", "p99", "holds it<"]);
    let time = |ns: Option<u64>| ns.map_or("–".into(), |ns| units::time(ns as f64));
    for one in &answer.candidates {
        let point = &prices.points[one.point];
        table.row([
            name(point),
            money(point.cost),
            units::rate(point.tps),
            time(point.p95_ns),
            time(point.p99_ns),
            if one.holds { "yes" } else { "no" }.to_owned(),
        ]);
    }
    table.write(out, style, 2)?;
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
        let text = format!("{}: {}{several}.", point.configuration, one.why);
        paragraph(out, style, &plain(&text))?;
    }
    obstacles(out, style, &answer.obstacles)
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
    cut(&plain(&point.configuration), NAME)
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
mod tests {
    use super::*;
    use crate::sample_run::closed;
    use prony_judge::price::{AsOf, Sheet};
    use prony_judge::price::{Demand, Offer, Terms, price};

    fn sheet(names: [&str; 2]) -> Sheet {
        let mut text = "[sheet]\ncurrency = \"USD\"\nregion = \"r\"\nterm = \"on demand\"\n\
                        as_of = 2019-03-20\nsource = \"a talk\"\nentered_by = \"dba\"\nexample = true\n"
            .to_owned();
        for (name, price) in names.iter().zip([1000.0, 1234.5]) {
            text += &format!(
                "[[configuration]]\nname = \"{name}\"\n[[configuration.item]]\nname = \"i\"\n\
                 quantity = 1\nunit_price = {price}\nper = \"month\"\n"
            );
        }
        Sheet::from_toml("p.toml", &text).unwrap()
    }

    fn shown(names: [&str; 2], second: impl Fn(&mut Run)) -> (String, bool) {
        let sheet = sheet(names);
        let mut runs = [closed(), closed()];
        second(&mut runs[1]);
        let offers: Vec<Offer<'_>> = sheet
            .configurations
            .iter()
            .zip(&runs)
            .map(|(configuration, run)| Offer {
                sheet: &sheet,
                configuration,
                run,
            })
            .collect();
        let terms = Terms {
            today: AsOf::parse("2026-11-21").unwrap(),
            utilisation: 0.3,
            across_regions: false,
            demand: Some(Demand {
                tps: 1.0,
                p95_ns: None,
                p99_ns: Some(60_000_000_000),
            }),
        };
        let prices = price(&offers, &terms).unwrap();
        let mut out = Vec::new();
        write(&mut out, &Style::plain(), &prices).unwrap();
        let mut document = Vec::new();
        json(&mut document, &prices).unwrap();
        let read: serde_json::Value = serde_json::from_slice(&document).unwrap();
        assert!(read["points"][0]["tps_per_money"].is_number());
        (String::from_utf8(out).unwrap(), is_refused(&prices))
    }

    use prony_store::Run;

    #[test]
    fn amounts_have_a_currency_a_date_and_a_warning() {
        let (text, refused) = shown(["small", "big"], |_| {});
        assert!(!refused, "{text}");
        for word in [
            "in USD",
            "1,234.50",
            "as of 2019-03-20",
            "old-prices",
            "example",
            "frontier",
        ] {
            assert!(text.contains(word), "{word}:\n{text}");
        }
        assert!(
            !text.contains("tpmC.") || text.contains("no tpmC."),
            "{text}"
        );
        assert!(text.contains("  small: 1,000 USD a month."), "{text}");
    }

    #[test]
    fn what_does_not_compare_is_said() {
        let (text, refused) = shown(["small", "big"], |run| run.workload.scale += 1);
        assert!(refused);
        assert!(
            text.contains("NOT RANKED") && text.contains("scale"),
            "{text}"
        );
        assert!(!text.contains("as good at"), "{text}");
    }

    #[test]
    fn foreign_names_cannot_steer_the_terminal() {
        let long = "x".repeat(200);
        let (text, _) = shown(["a\\u001b[2J", &long], |_| {});
        assert!(!text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn amounts_read_as_people_write_them() {
        let cases = [
            (1822.0, "1,822"),
            (1822.5, "1,822.50"),
            (999.999, "1,000"),
            (911.0, "911.00"),
            (1.5, "1.50"),
            (0.0347, "0.0347"),
            (0.5, "0.500"),
            (0.000_001_234, "0.00000123"),
            (0.0, "0.00"),
        ];
        for (amount, text) in cases {
            assert_eq!(money(amount), text);
        }
        assert_eq!(
            (figure(29.27), figure(0.123)),
            ("29.3".into(), "0.123".into())
        );
    }
}
