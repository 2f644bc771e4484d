//! Tests of valid and invalid price sheets.

use super::*;
use crate::problem::Problems;
use prony_assertions::TextAssertions;

const VALID: &str = r#"
[sheet]
currency = "EUR"
region = "eu-central-1"
term = "on demand"
as_of = 2026-11-01
source = "https://example.com/prices"
entered_by = "dba"

[[configuration]]
name = "small"
runs = ["20261120-2333"]

[[configuration.item]]
name = "primary and replica"
quantity = 2
unit_price = 0.5
per = "hour"
replicas = 1

[[configuration.item]]
name = "storage, GB"
quantity = 1500
unit_price = 0.1
per = "month"
discount_percent = 10
as_of = "2026-10"

[[configuration]]
name = "own"

[[configuration.item]]
name = "machine"
quantity = 1
unit_price = 12000
per = "once"

[[configuration.item]]
name = "support"
quantity = 1
unit_price = 1200
per = "year"
usage = 0.5
"#;

fn problems(text: &str) -> Vec<String> {
    let Problems(problems) = PriceSheet::from_toml("p.toml", text).unwrap_err();
    problems
        .iter()
        .map(|problem| format!("{}: {}", problem.location, problem.message))
        .collect()
}

#[test]
fn the_costs_of_a_sheet_add_up() {
    let sheet = PriceSheet::from_toml("p.toml", VALID).unwrap();
    assert_eq!((sheet.currency(), sheet.example), ("EUR", false));
    let [small, owned] = &sheet.configurations[..] else {
        panic!("{sheet:?}");
    };
    assert!((small.monthly_cost() - (2.0 * 0.5 * 730.0 + 1500.0 * 0.1 * 0.9)).abs() < 1e-9);
    assert_eq!((small.one_time_cost(), small.replicas()), (0.0, 1));
    assert_eq!(small.as_of().unwrap().to_string(), "2026-10");
    assert_eq!(small.distinct(|item| &item.region), ["eu-central-1"]);
    assert!((owned.monthly_cost() - 50.0).abs() < 1e-9);
    assert_eq!((owned.one_time_cost(), owned.replicas()), (12_000.0, 0));
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let text = r#"
[sheet]
curency = "EUR"
currency = "euro"
as_of = "last spring"
example = "yes"

[[configuration]]
name = "a"
runs = "20261120"

[[configuration.item]]
name = ""
quantity = -1
unit_price = "12"
per = "fortnight"
usage = 2
replicas = 1.5
region = "x"
term = "y"
source = "z"
entered_by = "me"

[[configuration]]
name = "a"

[[configurations]]
"#;
    let messages = problems(text);
    let expected = [
        "p.toml:3:1 (sheet.curency): unknown key curency",
        "p.toml:4:12 (sheet.currency): must be a currency code of three capital letters, is \"euro\"",
        "p.toml:5:9 (sheet.as_of): must be a date from 1970 on",
        "p.toml:6:11 (sheet.example): must be true or false, is a string",
        "p.toml:10:8 (configuration[1].runs): must be a list of strings",
        "p.toml:13:8 (configuration[1].item[1].name): is empty",
        "p.toml:14:12 (configuration[1].item[1].quantity): must be more than 0 and at most 1e12, is -1",
        "p.toml:15:14 (configuration[1].item[1].unit_price): must be a number, is a string",
        "p.toml:16:7 (configuration[1].item[1].per): must be one of \"hour\", \"month\", \"year\", \"once\", is \"fortnight\"",
        "p.toml:17:9 (configuration[1].item[1].usage): must be from 0 to 1, is 2",
        "p.toml:18:12 (configuration[1].item[1].replicas): must be a whole number, is a decimal number",
        "p.toml:25:8 (configuration[2].name): another configuration is already named \"a\"",
        "p.toml:27:3 (configurations): unknown table configurations",
    ];
    assert_eq!(messages, expected, "{messages:#?}");
}

#[test]
fn missing_values_of_a_price_are_reported() {
    for (key, line) in [
        ("currency", "currency = \"EUR\"\n"),
        ("region", "region = \"eu-central-1\"\n"),
        ("term", "term = \"on demand\"\n"),
        ("as_of", "as_of = 2026-11-01\n"),
        ("source", "source = \"https://example.com/prices\"\n"),
        ("entered_by", "entered_by = \"dba\"\n"),
        ("unit_price", "unit_price = 0.5\n"),
        ("quantity", "quantity = 2\n"),
        ("per", "per = \"hour\"\n"),
    ] {
        let messages = problems(&VALID.replacen(line, "", 1));
        let missing = format!(".{key}): is missing");
        // A key that all items lack is reported once. One of the four items has its own `as_of`, so each of
        // the other three is reported.
        let count = if key == "as_of" { 3 } else { 1 };
        assert_eq!(messages.len(), count, "{key}: {messages:?}");
        assert!(
            messages.iter().all(|message| message.contains(&missing)),
            "{messages:?}"
        );
    }
}

#[test]
fn a_value_that_some_items_lack_is_reported_for_each_of_them() {
    let text = VALID
        .replacen("source = \"https://example.com/prices\"\n", "", 1)
        .replacen("replicas = 1\n", "replicas = 1\nsource = \"a letter\"\n", 1);
    let messages = problems(&text);
    assert_eq!(messages.len(), 3, "{messages:?}");
    assert!(
        messages
            .iter()
            .all(|message| message.ends_with(".source): is missing")),
        "{messages:?}"
    );
}

#[test]
fn the_message_for_an_invalid_date_names_the_wrong_part() {
    for (date, expected) in [
        ("2031-13-45", "the month must be from 01 to 12, is 13"),
        ("2031-00", "the month must be from 01 to 12, is 00"),
        (
            "2031-02-30",
            "the day must be from 01 to 28 in 2031-02, is 30",
        ),
        ("1969-13-45", "must be a date from 1970 on"),
        ("2031-02-03-04", "must be a date from 1970 on"),
    ] {
        let text = VALID.replacen("2026-11-01", &format!("\"{date}\""), 1);
        let messages = problems(&text);
        assert_eq!(messages, [format!("p.toml:6:9 (sheet.as_of): {expected}")]);
    }
}

#[test]
fn conflicting_currencies_and_duplicate_names_are_rejected() {
    let text = VALID.replacen("per = \"year\"", "per = \"year\"\ncurrency = \"USD\"", 1);
    let messages = problems(&text);
    assert_eq!(messages.len(), 1, "{messages:?}");
    messages[0].assert_contains("USD differs from EUR (p.toml:3:12");
    let text = VALID.replacen("name = \"own\"", "name = \"small\"", 1);
    problems(&text)[0].assert_contains("another configuration is already named \"small\"");
}

#[test]
fn a_sheet_with_the_wrong_structure_is_rejected() {
    for (text, message) in [
        ("", "is missing"),
        ("[sheet]\n", "is missing"),
        ("sheet = 1\nconfiguration = 2\n", "must be a table"),
        ("configuration = [1]\n", "must be a list of tables"),
        ("[[configuration]]\nname = \"a\"\n", "has no item"),
        (
            "[configuration]\nname = \"a\"\n",
            "must be a list of tables",
        ),
        ("[[[", "is not TOML"),
        (
            "[[configuration]]\nname='a'\nitem = 7\n",
            "must be a list of tables",
        ),
    ] {
        let messages = problems(text);
        assert!(
            messages
                .iter()
                .any(|found_message| found_message.contains(message)),
            "{text}: {messages:?}"
        );
    }
}

/// Checks that the example has exactly the published amounts.
#[test]
fn the_2019_example_is_marked_as_an_example_and_dated() {
    let text = include_str!("../../../../plans/prices/aiven-2019.toml");
    let sheet = PriceSheet::from_toml("aiven-2019.toml", text).unwrap();
    let prices: Vec<(&str, f64)> = sheet
        .configurations
        .iter()
        .map(|configuration| (configuration.name.as_str(), configuration.monthly_cost()))
        .collect();
    let expected = [
        ("aws-i3.4xlarge", 911.0),
        ("aws-i3.8xlarge", 1822.0),
        ("gcp-32x192", 1400.0),
        ("azure-l16", 1000.0),
        ("digitalocean-128gb", 640.0),
        ("digitalocean-192gb", 960.0),
        ("packet-c1.xlarge", 1200.0),
        ("packet-m1.xlarge", 1200.0),
        ("upcloud-128gb", 640.0),
    ];
    assert_eq!(prices, expected);
    assert!(sheet.example);
    assert_eq!(sheet.currency(), "USD");
    let dates = sheet
        .configurations
        .iter()
        .map(|configuration| configuration.as_of().unwrap().to_string());
    assert!(dates.into_iter().all(|date| date == "2019"));
}

proptest::proptest! {
    #[test]
    fn parsing_never_panics_on_any_text(text in "\\PC{0,200}", cut in 0usize..900) {
        let _ = PriceSheet::from_toml("p.toml", &text);
        let cut = cut.min(VALID.len());
        if VALID.is_char_boundary(cut) {
            let _ = PriceSheet::from_toml("p.toml", &VALID[..cut]);
        }
    }
}
