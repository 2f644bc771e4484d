//! Tests of the views of price-performance.

use super::*;
use crate::sample_run::{closed, price_sheet, written};
use prony_assertions::TextAssertions;
use prony_judge::price::{MeasuredConfiguration, PriceOptions, TargetLoad, price};
use prony_judge::price::{PriceDate, PriceSheet};

fn sheet(names: [&str; 2]) -> PriceSheet {
    let head = "currency = \"USD\"\nas_of = 2019-03-20\nsource = \"a talk\"\nexample = true\n";
    let text = price_sheet(head, &[(names[0], 1000.0), (names[1], 1234.5)]);
    PriceSheet::from_toml("p.toml", &text).unwrap()
}

fn options() -> PriceOptions {
    PriceOptions {
        today: PriceDate::parse("2026-11-21").unwrap(),
        utilisation: 0.3,
        across_regions: false,
        demand: Some(TargetLoad {
            tps: 1.0,
            p95_ns: None,
            p99_ns: Some(60_000_000_000),
        }),
    }
}

/// The text for two configurations, and whether it is incomplete; `modify` changes the second run.
fn text_of_prices(names: [&str; 2], modify: impl Fn(&mut Run)) -> (String, bool) {
    let sheet = sheet(names);
    let mut runs = [closed(), closed()];
    modify(&mut runs[1]);
    let configurations = sheet.configurations.iter();
    let measured: Vec<MeasuredConfiguration<'_>> = configurations
        .zip(&runs)
        .map(|(configuration, run)| MeasuredConfiguration {
            sheet: &sheet,
            configuration,
            run,
        })
        .collect();
    let prices = price(&measured, &options()).unwrap();
    let mut out = Vec::new();
    write(&mut out, &Style::plain(), &prices).unwrap();
    let mut document = Vec::new();
    crate::json::write_pretty(&mut document, &prices).unwrap();
    let parsed: serde_json::Value = serde_json::from_slice(&document).unwrap();
    assert!(parsed["points"][0]["tps_per_money"].is_number());
    (String::from_utf8(out).unwrap(), is_incomplete(&prices))
}

use prony_store::Run;

#[test]
fn amounts_have_a_currency_a_date_and_a_warning() {
    let (text, is_incomplete) = text_of_prices(["small", "big"], |_| {});
    assert!(!is_incomplete, "{text}");
    for expected in [
        "in USD",
        "1,234.50",
        "as of 2019-03-20",
        "old-prices",
        "example",
        "frontier",
    ] {
        text.assert_contains(expected);
    }
    assert!(
        !text.contains("tpmC.") || text.contains("not tpmC."),
        "{text}"
    );
    text.assert_contains("  small: 1,000 USD per month, by one run.");
}

#[test]
fn a_variant_is_shown_with_its_runs_in_every_table() {
    let sheet = sheet(["a configuration with a long name", "big"]);
    let runs: Vec<Run> = (["old", "new", "old"].iter().zip(["1", "2", "3"]))
        .map(|(variant, id)| {
            let mut run = closed();
            run.id = id.to_owned();
            run.experiment = Some(prony_store::Experiment {
                id: "1".to_owned(),
                variant: (*variant).to_owned(),
                runs: 4,
                variants: vec!["old".to_owned(), "new".to_owned()],
                ..Default::default()
            });
            run
        })
        .collect();
    let measured = runs.iter().map(|run| MeasuredConfiguration {
        sheet: &sheet,
        configuration: &sheet.configurations[0],
        run,
    });
    let measured: Vec<MeasuredConfiguration<'_>> = measured.collect();
    let prices = price(&measured, &options()).unwrap();
    let text = written(|out| write(out, &Style::plain(), &prices));
    let rows = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
    // In the table, the ranking and the answer to the load.
    for start in [
        "  a configuration w… (old)       2 ",
        "  a configuration w… (new)  1 of 2 ",
    ] {
        assert_eq!(rows(start), 3, "{text}");
    }
    for expected in [
        "runs      2: 1, 3",
        "runs      1 of 2: 2",
        "a configuration with a long name (old): 1,000 USD per month, by the median of\n",
        "response  of committed transactions: 95th percentile",
        // The runs of both are equal.
        "a configuration w… (new)  1 of 2     27.7     1  ",
    ] {
        text.assert_contains(expected);
    }
}

#[test]
fn incomparable_configurations_are_reported() {
    let (text, is_incomplete) = text_of_prices(["small", "big"], |run| run.workload.scale += 1);
    assert!(is_incomplete);
    text.assert_contains("NOT RANKED").assert_contains("scale");
    text.assert_lacks("break-even");
}

#[test]
fn foreign_names_cannot_control_the_terminal() {
    let long = "x".repeat(200);
    let (text, _) = text_of_prices(["a\u{1b}[2J", &long], |_| {});
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[test]
fn amounts_have_thousands_separators_and_significant_digits() {
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
        assert_eq!(format_money(amount), text);
    }
    assert_eq!(
        (format_ratio(29.27), format_ratio(0.123)),
        ("29.3".into(), "0.123".into())
    );
}
