//! Pages with prices.

use super::*;
use crate::html::{FORM, PLAIN, PRICES, VerifyError, embedded, verify, write_priced};
use crate::sample_run::closed;

const HEAD: &str = "[sheet]\ncurrency = \"USD\"\nregion = \"r\"\nterm = \"on demand\"\n\
                    as_of = 2026-11-01\nsource = \"a list\"\nentered_by = \"dba\"\n";

/// A sheet of these configurations, each with its price a month.
fn sheet(of: &[(&str, f64)]) -> SheetText {
    let mut text = HEAD.to_owned();
    for (name, price) in of {
        text += &format!(
            "[[configuration]]\nname = {}\n[[configuration.item]]\nname = \"i\"\nquantity = 1\n\
             unit_price = {price:.2}\nper = \"month\"\n",
            toml_text(name)
        );
    }
    SheetText {
        file: "p.toml".to_owned(),
        text,
    }
}

/// A text as TOML has it: as JSON, whose escapes are TOML's too.
fn toml_text(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

fn question(sheet: SheetText, runs: usize) -> PriceQuestion {
    let place = |at| PlacedRun {
        sheet: 0,
        configuration: at,
        run: at,
    };
    PriceQuestion {
        sheets: vec![sheet],
        today: "2026-11-21".to_owned(),
        utilisation: 0.3,
        across_regions: false,
        placed: (0..runs).map(place).collect(),
    }
}

/// Runs of these transactions a second.
fn runs(tps: &[u64]) -> Vec<Run> {
    let run = |(at, tps): (usize, &u64)| {
        let mut run = closed();
        run.id = format!("run-{at}");
        for kind in &mut run.measured.kinds {
            kind.committed = tps * 4;
            kind.tps = *tps as f64;
        }
        run
    };
    tps.iter().enumerate().map(run).collect()
}

fn drawn(runs: &[Run], question: &PriceQuestion) -> String {
    let mut out = Vec::new();
    write_priced(&mut out, runs, question).unwrap();
    String::from_utf8(out).unwrap()
}

fn section(page: &str) -> &str {
    let from = page.find("<section id=\"prices\"").unwrap();
    let end = page[from..].find("</section>").unwrap();
    &page[from..from + end]
}

#[test]
fn repeats_of_a_variant_are_one_point_that_says_how_many() {
    let mut of_both = runs(&[1_000, 1_100, 1_200, 3_000]);
    for (run, variant) in of_both.iter_mut().zip(["old", "old", "old", "new"]) {
        run.experiment = Some(prony_store::Experiment {
            id: "e".to_owned(),
            variant: variant.to_owned(),
            ..Default::default()
        });
    }
    let mut asked = question(sheet(&[("small", 100.0)]), 4);
    for one in &mut asked.placed {
        one.configuration = 0;
    }
    let page = drawn(&of_both, &asked);
    let costs = section(&page);
    for words in [
        "1: small (old): 100.00 USD a month, 1,100 transactions a second by the median of 3 runs, not on",
        "2: small (new): 100.00 USD a month, 3,000 transactions a second by one run, on the frontier",
        ">1 small (old), 3 runs</text>",
        ">2 small (new)</text>",
        "<tr><th scope=\"row\">1: small (old)</th><td>3</td>",
        "median of 3 runs, which gave 1,000 to 1,200",
    ] {
        assert!(costs.contains(words), "{words}:\n{costs}");
    }
}

#[test]
fn points_frontier_and_table_are_of_the_sheet_and_the_runs() {
    let sheet = sheet(&[("small", 100.0), ("dear", 300.0), ("big", 400.0)]);
    let page = drawn(&runs(&[1_000, 900, 3_000]), &question(sheet, 3));
    let costs = section(&page);
    assert_eq!(
        costs.matches("<circle class=\"point on\"").count(),
        3,
        "two, and the legend"
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
    for words in [
        "1: small: 100.00 USD a month, 1,000 transactions a second by one run, on the frontier",
        "2: dear: 300.00 USD a month, 900 transactions a second by one run, not on the frontier",
        "<title>Throughput against cost",
        "<td>2026-11-01</td>",
        "a list (p.toml; entered by dba)",
        "their age is counted to 2026-11-21",
    ] {
        assert!(costs.contains(words), "{words}:\n{costs}");
    }
    assert!(!costs.contains("OLD") && !costs.contains("NaN"), "{costs}");
    assert!(page.contains("<a href=\"#prices\">"));
    // Level from the first to the last on the frontier, then up and on to the edge.
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
    let mut old = question(sheet(&[("only", 50.0)]), 1);
    old.today = "2027-11-21".to_owned();
    let page = drawn(&runs(&[500]), &old);
    let costs = section(&page);
    assert!(
        costs.contains("2026-11-01, OLD") && costs.contains("old-prices"),
        "{costs}"
    );
    assert!(
        !costs.contains("frontier: no other") && !costs.contains("class=\"line l1\""),
        "{costs}"
    );
    old.sheets[0].text = old.sheets[0]
        .text
        .replace("dba\"\n", "dba\"\nexample = true\n");
    let page = drawn(&runs(&[500]), &old);
    assert!(section(&page).contains("OLD, an example"));
}

#[test]
fn runs_that_do_not_compare_are_not_drawn_and_refused_ones_are_listed() {
    let two = question(sheet(&[("a", 1.0), ("b", 2.0)]), 2);
    let mut unlike = runs(&[100, 200]);
    unlike[1].workload.scale += 1;
    let page = drawn(&unlike, &two);
    let costs = section(&page);
    assert!(
        costs.contains("NOT RANKED") && costs.contains("scale"),
        "{costs}"
    );
    assert!(!costs.contains("<svg"), "{costs}");
    let mut invalid = runs(&[100, 200]);
    invalid[1].checks[0].severity = prony_store::Severity::Invalid;
    let page = drawn(&invalid, &two);
    let costs = section(&page);
    assert!(
        costs.contains("Without a price") && costs.contains("must not be used"),
        "{costs}"
    );
    assert!(costs.contains("run-1") && costs.contains("<svg"), "{costs}");
    for run in &mut invalid {
        run.checks[0].severity = prony_store::Severity::Invalid;
    }
    assert!(section(&drawn(&invalid, &two)).contains("No price can be given"));
}

#[test]
fn hostile_names_stay_text() {
    let bad = "\"'></text></svg></script><script>alert(1)</script><!--<img src=x onerror=alert(2)>";
    let mut sheet = sheet(&[(bad, 1.0), ("x", 2.0)]);
    let hostile = toml_text(bad);
    sheet.text = sheet
        .text
        .replace("\"a list\"", &hostile)
        .replace("\"dba\"", &hostile);
    sheet.text = sheet
        .text
        .replace("region = \"r\"", &format!("region = {hostile}"));
    sheet.file = bad.to_owned();
    let mut two = runs(&[100, 200]);
    two[0].id = bad.to_owned();
    two[0].workload.settings = vec![bad.to_owned()];
    two[1].workload.settings = vec![bad.to_owned()];
    let page = drawn(&two, &question(sheet, 2));
    assert!(page.contains("&lt;script&gt;alert(1)"), "it is shown");
    for markup in ["<script>alert", "<img", "<!--", "</text></svg></script>"] {
        assert!(!page.contains(markup), "{markup}");
    }
    for name in [
        "svg", "text", "table", "section", "figure", "p", "ul", "li", "desc",
    ] {
        let opened =
            page.matches(&format!("<{name}>")).count() + page.matches(&format!("<{name} ")).count();
        assert_eq!(
            opened,
            page.matches(&format!("</{name}>")).count(),
            "{name}"
        );
    }
    assert!(verify(&page).is_ok());
}

#[test]
fn names_do_not_lie_on_each_other_and_all_is_inside() {
    let of: Vec<(String, f64)> = (0..9)
        .map(|n| (format!("configuration-{n}"), 500.0))
        .collect();
    let of: Vec<(&str, f64)> = of
        .iter()
        .map(|(name, price)| (name.as_str(), *price))
        .collect();
    let page = drawn(&runs(&[1_000; 9]), &question(sheet(&of), 9));
    let costs = section(&page);
    let mut heights: Vec<f64> = costs
        .split("<text class=\"name")
        .skip(1)
        .map(|rest| {
            rest.split("y=\"")
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
    heights.sort_by(f64::total_cmp);
    assert!(
        heights.windows(2).all(|two| two[1] - two[0] >= 13.0),
        "{heights:?}"
    );
    let free = drawn(
        &runs(&[1, 2]),
        &question(sheet(&[("free", 0.0), ("x", 0.0)]), 2),
    );
    assert!(
        !free.contains("NaN") && !free.contains("inf"),
        "no cost is no cause for a broken page"
    );
}

#[test]
fn a_page_with_prices_is_verified_with_its_sheets() {
    let asked = question(sheet(&[("a", 10.0), ("b", 20.0)]), 2);
    let two = runs(&[100, 300]);
    let page = drawn(&two, &asked);
    assert!(page.contains(&format!("data-prony-report=\"{FORM}\"")));
    assert!(verify(&page).unwrap().drawn_by.is_none());
    let mut plain = Vec::new();
    crate::html::write(&mut plain, &two).unwrap();
    let plain = String::from_utf8(plain).unwrap();
    assert!(plain.contains(&format!("data-prony-report=\"{PLAIN}\"")) && verify(&plain).is_ok());
    // A cheaper price in the sheet alone, in the drawing alone, and in the sheet with its hash.
    let cheaper = page.replace("unit_price = 10.00", "unit_price = 11.00");
    assert_ne!(cheaper, page);
    let found = verify(&cheaper).unwrap_err();
    assert!(
        matches!(found, VerifyError::Prices(_)) && found.is_changed(),
        "{found}"
    );
    let drawn_cheaper = page.replacen("<td>10.00</td>", "<td>9.00</td>", 1);
    assert!(matches!(
        verify(&drawn_cheaper),
        Err(VerifyError::Redrawn { .. })
    ));
    let other = PriceQuestion {
        sheets: vec![SheetText {
            text: asked.sheets[0].text.replace("10.00", "11.00"),
            ..asked.sheets[0].clone()
        }],
        ..asked.clone()
    };
    let forged = |question: &PriceQuestion| {
        let json = serde_json::to_string(question).unwrap();
        let from = page.find(PRICES).unwrap();
        let to = from + page[from..].find("</script>").unwrap();
        let hash = sha256(json.as_bytes());
        let own = page[from + PRICES.len()..].split('"').next().unwrap();
        let all = format!(
            "{}{PRICES}{hash}\">{}{}",
            &page[..from],
            embedded(&json),
            &page[to..]
        );
        all.replace(own, &hash)
    };
    assert!(matches!(
        verify(&forged(&other)),
        Err(VerifyError::Redrawn { .. })
    ));
    let nowhere = PriceQuestion {
        placed: vec![PlacedRun {
            sheet: 7,
            configuration: 0,
            run: 0,
        }],
        ..asked
    };
    assert!(matches!(
        verify(&forged(&nowhere)),
        Err(VerifyError::Prices(_))
    ));
}

#[test]
fn a_question_that_prices_do_not_answer_is_refused() {
    let asked = |change: fn(&mut PriceQuestion)| {
        let mut asked = question(sheet(&[("a", 10.0)]), 1);
        change(&mut asked);
        crate::html::question(&runs(&[100]), &asked)
    };
    assert_eq!(asked(|_| ()), Ok(()));
    assert_eq!(
        asked(|of| of.placed[0].run = 1),
        Err(QuestionError::Nowhere)
    );
    assert_eq!(
        asked(|of| of.today = "soon".into()),
        Err(QuestionError::Day("soon".into()))
    );
    assert!(matches!(
        asked(|of| of.sheets[0].text.clear()),
        Err(QuestionError::Sheet { .. })
    ));
    assert!(matches!(
        asked(|of| of.placed.clear()),
        Err(QuestionError::Price(_))
    ));
}
