//! Pages with prices.

use super::*;
use crate::html::embedded::Content;
use crate::html::{VerifyError, verify, write};
use crate::sample_run::{formerly_judged, price_sheet, test_build, with_tps, written};
use prony_assertions::TextAssertions;

fn sheet(configurations: &[(&str, f64)]) -> SheetText {
    let head = "currency = \"USD\"\nas_of = 2026-11-01\nsource = \"a list\"\n";
    SheetText {
        file: "p.toml".to_owned(),
        text: price_sheet(head, configurations),
    }
}

fn price_inputs(sheet: SheetText, runs: usize) -> PriceInputs {
    let placement = |index| RunPlacement {
        sheet: 0,
        configuration: index,
        run: index,
    };
    PriceInputs {
        sheets: vec![sheet],
        today: "2026-11-21".to_owned(),
        utilisation: 0.3,
        across_regions: false,
        placements: (0..runs).map(placement).collect(),
    }
}

/// Runs with these throughputs, in transactions per second.
fn runs(tps: &[u64]) -> Vec<Run> {
    let run = |(index, tps): (usize, &u64)| {
        let mut run = with_tps(formerly_judged(), *tps);
        run.id = format!("run-{index}");
        run
    };
    tps.iter().enumerate().map(run).collect()
}

fn page_with_prices(runs: &[Run], price_inputs: &PriceInputs) -> String {
    written(|out| write(out, runs, Some(price_inputs), &test_build()))
}

fn prices_section(page: &str) -> &str {
    let from = page.find("<section id=\"prices\"").unwrap();
    let end = page[from..].find("</section>").unwrap();
    &page[from..from + end]
}

#[test]
fn repeats_of_a_variant_are_one_point() {
    let mut both_variants = runs(&[1_000, 1_100, 1_200, 3_000]);
    for (run, variant) in both_variants.iter_mut().zip(["old", "old", "old", "new"]) {
        run.experiment = Some(prony_store::Experiment {
            id: "e".to_owned(),
            variant: variant.to_owned(),
            ..Default::default()
        });
    }
    let mut inputs = price_inputs(sheet(&[("small", 100.0)]), 4);
    for placement in &mut inputs.placements {
        placement.configuration = 0;
    }
    let page = page_with_prices(&both_variants, &inputs);
    let costs = prices_section(&page);
    for part in [
        "1: small (old): 100.00 USD per month, 1,100 transactions per second by the median of 3 runs, not on",
        "2: small (new): 100.00 USD per month, 3,000 transactions per second by one run, on the frontier",
        ">1 small (old), 3 runs</text>",
        ">2 small (new)</text>",
        "<tr><th scope=\"row\">1: small (old)</th><td>3</td>",
        "median of 3 runs from 1,000 to 1,200",
    ] {
        costs.assert_contains(part);
    }
}

#[test]
fn points_frontier_and_table_match_the_sheet_and_the_runs() {
    let sheet = sheet(&[("small", 100.0), ("dear", 300.0), ("big", 400.0)]);
    let page = page_with_prices(&runs(&[1_000, 900, 3_000]), &price_inputs(sheet, 3));
    let costs = prices_section(&page);
    assert_eq!(
        costs.matches("<circle class=\"point on\"").count(),
        3,
        "two points and the legend"
    );
    assert_eq!(
        costs.matches("<path class=\"point\"").count(),
        2,
        "one, and the legend"
    );
    assert_eq!(
        costs.matches("<path class=\"line l1\"").count(),
        2,
        "one, and the legend"
    );
    for part in [
        "1: small: 100.00 USD per month, 1,000 transactions per second by one run, on the frontier",
        "2: dear: 300.00 USD per month, 900 transactions per second by one run, not on the frontier",
        "<title>Throughput against cost",
        "<td>2026-11-01</td>",
        "a list (p.toml; entered by dba)",
        "their age is as of 2026-11-21",
    ] {
        costs.assert_contains(part);
    }
    costs.assert_lacks("OLD").assert_lacks("NaN");
    page.assert_contains("<a href=\"#prices\">");
    // The frontier is horizontal from its first to its last point, then vertical, then horizontal to the edge.
    let line = costs
        .rsplit("<path class=\"line l1\" d=\"M")
        .next()
        .unwrap();
    let line = line.split('"').next().unwrap();
    assert_eq!(line.matches('H').count(), 2, "{line}");
    assert_eq!(line.matches('V').count(), 1, "{line}");
}

#[test]
fn old_sheets_are_marked_and_one_configuration_has_no_frontier() {
    let mut old = price_inputs(sheet(&[("only", 50.0)]), 1);
    old.today = "2027-11-21".to_owned();
    let page = page_with_prices(&runs(&[500]), &old);
    let costs = prices_section(&page);
    costs.assert_contains("2026-11-01, OLD");
    costs.assert_contains("old-prices");
    costs.assert_lacks("frontier: no other");
    costs.assert_lacks("class=\"line l1\"");
    old.sheets[0].text = old.sheets[0]
        .text
        .replace("dba\"\n", "dba\"\nexample = true\n");
    let page = page_with_prices(&runs(&[500]), &old);
    prices_section(&page).assert_contains("OLD, an example");
}

#[test]
fn incomparable_runs_are_not_drawn_and_unpriced_ones_are_listed() {
    let inputs = price_inputs(sheet(&[("a", 1.0), ("b", 2.0)]), 2);
    let mut incomparable = runs(&[100, 200]);
    incomparable[1].workload.scale += 1;
    let page = page_with_prices(&incomparable, &inputs);
    let costs = prices_section(&page);
    costs.assert_contains("NOT RANKED").assert_contains("scale");
    costs.assert_lacks("<svg");
    let mut invalid = runs(&[100, 200]);
    invalid[1].checks[0].severity = prony_store::Severity::Invalid;
    let page = page_with_prices(&invalid, &inputs);
    let costs = prices_section(&page);
    costs.assert_contains("Without a price");
    costs.assert_contains("must not be used");
    costs.assert_contains("run-1").assert_contains("<svg");
    for run in &mut invalid {
        run.checks[0].severity = prony_store::Severity::Invalid;
    }
    prices_section(&page_with_prices(&invalid, &inputs)).assert_contains("No price can be given");
}

#[test]
fn labels_do_not_overlap() {
    let configurations: Vec<(String, f64)> = (0..9)
        .map(|n| (format!("configuration-{n}"), 500.0))
        .collect();
    let configurations: Vec<(&str, f64)> = configurations
        .iter()
        .map(|(name, price)| (name.as_str(), *price))
        .collect();
    let page = page_with_prices(&runs(&[1_000; 9]), &price_inputs(sheet(&configurations), 9));
    let costs = prices_section(&page);
    let mut heights: Vec<f64> = costs
        .split("<text class=\"name wide-only")
        .skip(1)
        .map(|label| {
            label
                .split("y=\"")
                .nth(1)
                .unwrap()
                .split('"')
                .next()
                .unwrap()
                .parse()
                .unwrap()
        })
        .collect();
    assert_eq!(heights.len(), 9);
    // A phone shows the numbers alone.
    assert_eq!(costs.matches("<text class=\"name narrow-only").count(), 9);
    heights.sort_by(f64::total_cmp);
    assert!(
        heights.windows(2).all(|pair| pair[1] - pair[0] >= 13.0),
        "{heights:?}"
    );
    let free = page_with_prices(
        &runs(&[1, 2]),
        &price_inputs(sheet(&[("free", 0.0), ("x", 0.0)]), 2),
    );
    assert!(
        !free.contains("NaN") && !free.contains("inf"),
        "a cost of zero must not break the page"
    );
}

#[test]
fn every_page_with_prices_links_to_them() {
    for number in [1, 2] {
        let inputs = price_inputs(sheet(&[("a", 10.0), ("b", 20.0)]), number);
        let page = page_with_prices(&runs(&[100, 300][..number]), &inputs);
        assert!(page.contains("<li><a href=\"#prices\">"), "{number} runs");
        let asks = page.contains("<h1>tpcb: what it costs on a, b</h1>");
        assert_eq!(asks, number == 2, "{number} runs");
    }
}

#[test]
fn a_page_with_prices_is_verified_with_its_sheets() {
    let inputs = price_inputs(sheet(&[("a", 10.0), ("b", 20.0)]), 2);
    let two = runs(&[100, 300]);
    let page = page_with_prices(&two, &inputs);
    assert!(
        verify(&page, &test_build())
            .unwrap()
            .generated_by_other_build
            .is_none()
    );
    // Change the hash of the sheet, the price in the table only, and in the sheet together with its hash.
    let embedded = |inputs: &PriceInputs| EmbeddedText::new(serde_json::to_string(inputs).unwrap());
    let changed_hash = page.replace(&embedded(&inputs).sha256, &"0".repeat(64));
    let error = verify(&changed_hash, &test_build()).unwrap_err();
    assert!(
        matches!(error, VerifyError::PricesChanged(_)) && error.is_changed(),
        "{error}"
    );
    let changed_table = page.replacen("<td>10.00</td>", "<td>9.00</td>", 1);
    assert!(matches!(
        verify(&changed_table, &test_build()),
        Err(VerifyError::PageChanged { .. })
    ));
    let changed_inputs = PriceInputs {
        sheets: vec![SheetText {
            text: inputs.sheets[0].text.replace("10.00", "11.00"),
            ..inputs.sheets[0].clone()
        }],
        ..inputs.clone()
    };
    let with_inputs = |price_inputs: &PriceInputs| {
        let (old, new) = (embedded(&inputs), embedded(price_inputs));
        let element = |text: &EmbeddedText| {
            let mut out = Html::default();
            text.write(&mut out, Content::Prices).unwrap();
            out.into_string()
        };
        let page = page.replace(&element(&old), &element(&new));
        page.replace(&old.sha256, &new.sha256)
    };
    assert!(matches!(
        verify(&with_inputs(&changed_inputs), &test_build()),
        Err(VerifyError::PageChanged { .. })
    ));
    let invalid_placement = PriceInputs {
        placements: vec![RunPlacement {
            sheet: 7,
            configuration: 0,
            run: 0,
        }],
        ..inputs.clone()
    };
    assert!(matches!(
        verify(&with_inputs(&invalid_placement), &test_build()),
        Err(VerifyError::PricesChanged(_))
    ));
}

#[test]
fn invalid_price_inputs_are_refused() {
    let check = |change: fn(&mut PriceInputs)| {
        let mut inputs = price_inputs(sheet(&[("a", 10.0)]), 1);
        change(&mut inputs);
        crate::html::check_price_inputs(&runs(&[100]), &inputs)
    };
    assert_eq!(check(|_| ()), Ok(()));
    assert_eq!(
        check(|inputs| inputs.placements[0].run = 1),
        Err(PriceInputsError::NoSuchIndex)
    );
    assert_eq!(
        check(|inputs| inputs.today = "soon".into()),
        Err(PriceInputsError::InvalidDate("soon".into()))
    );
    for (utilisation, shown) in [(0.0, "0"), (-0.3, "-0.3"), (30.0, "30"), (f64::NAN, "NaN")] {
        let mut inputs = price_inputs(sheet(&[("a", 10.0)]), 1);
        inputs.utilisation = utilisation;
        assert_eq!(
            crate::html::check_price_inputs(&runs(&[100]), &inputs),
            Err(PriceInputsError::InvalidUtilisation(shown.to_owned()))
        );
    }
    assert!(matches!(
        check(|inputs| inputs.sheets[0].text.clear()),
        Err(PriceInputsError::InvalidSheet { .. })
    ));
    assert!(matches!(
        check(|inputs| inputs.placements.clear()),
        Err(PriceInputsError::Price(_))
    ));
}

#[test]
fn the_table_of_a_priced_sweep_has_throughput_for_the_money() {
    let mut points = runs(&[1_000, 3_000]);
    for (run, clients) in points.iter_mut().zip([8, 16]) {
        run.drive.clients = clients;
        run.experiment = Some(prony_store::Experiment {
            id: "e".to_owned(),
            variant: format!("clients-{clients}"),
            kind: prony_store::ExperimentKind::Sweep,
            point: vec![prony_store::Setting::new("clients", clients.to_string())],
            ..Default::default()
        });
    }
    let column = "<th scope=\"col\">TPS per USD a month</th>";
    let unpriced = written(|out| write(out, &points, None, &test_build()));
    unpriced.assert_lacks(column);
    let inputs = price_inputs(sheet(&[("c0", 100.0), ("c1", 200.0)]), 2);
    let page = page_with_prices(&points, &inputs);
    page.assert_contains(column);
    let table = &page[page.find(column).unwrap()..];
    let table = &table[..table.find("</table>").unwrap()];
    for ratio in ["<td>10.0</td>", "<td>15.0</td>"] {
        table.assert_contains(ratio);
    }
    assert!(verify(&page, &test_build()).is_ok());
}
