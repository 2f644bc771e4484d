//! How each command reports runs whose Prony process was killed.

use crate::document::{new_run, set_figures};
use crate::home::Home;
use prony_assertions::TextAssertions;
use serde_json::json;

#[test]
fn a_journal_with_only_a_header_has_no_figures_and_is_not_valid() {
    let home = Home::new();
    let line = json!({ "run": new_run() });
    home.write_file("runs/20261121-1001.jsonl", &format!("{line}\n"));
    let listed = home.run(&["runs"], 0);
    listed.assert_contains("partial").assert_contains("–");
    let stdout = home.run(&["show", "last", "--full"], 0);
    stdout.assert_contains_all([
        "PARTIAL RESULT",
        "\n  Nothing was measured\n",
        "Invalid (nothing-committed): there is no figure",
        "scope    partial-run",
        "note     one-host",
        "worst loop delay unknown",
        "unknown; network unknown",
    ]);
    stdout.assert_lacks_all(["Valid", "0 transactions", "0 ns", " 0 s"]);
}

/// Documents without checks: the store creates them from the journals of killed runs.
#[test]
fn a_killed_run_is_judged_when_read_and_its_document_stays_unchanged() {
    let home = Home::new();
    for (id, state) in [("20261121-1001", "partial"), ("20261121-1002", "complete")] {
        let mut run = new_run();
        run["id"] = json!(id);
        run["state"] = json!(state);
        run["ended_because"] = json!("interrupted: Prony was killed or the machine went down");
        set_figures(&mut run, 60.0, 1600.0, [5e6, 9e6], 480.0);
        home.store(&run);
    }
    let path = home.0.join("runs/20261121-1001.json");
    let document = std::fs::read(&path).expect("it is there");
    let stdout = home.run(&["show", "20261121-1001", "--full"], 0);
    stdout.assert_contains("Partial: the run ended early; no other problems were found.");
    stdout.assert_contains("note     one-host");
    let compared = home.run(&["compare", "20261121-1001", "20261121-1002"], 0);
    compared.assert_contains("partial-run");
    let sheet = home.write_file(
        "sheet.toml",
        "[sheet]\ncurrency = \"EUR\"\nregion = \"r\"\nterm = \"t\"\nas_of = \"2026-11\"\nsource = \"s\"\n\
         entered_by = \"d\"\n[[configuration]]\nname = \"small\"\n[[configuration.item]]\nname = \"m\"\n\
         quantity = 1\nunit_price = 100\nper = \"month\"\n",
    );
    let priced = home.run(&["price", "--sheet", &sheet, "20261121-1001"], 0);
    priced.assert_contains("the runs have findings: partial-run");
    let page = home.0.join("page.html").display().to_string();
    home.run(&["report", "20261121-1001", "--output", &page], 0);
    let page_text = std::fs::read_to_string(&page).expect("it is there");
    page_text.assert_contains("Partial: the run ended early; no other problems were found.");
    let verified = home.run(&["verify", &page], 0);
    verified.assert_contains("are unchanged");
    assert_eq!(std::fs::read(&path).expect("it is there"), document);
}
