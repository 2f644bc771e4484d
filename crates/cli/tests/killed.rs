//! Runs whose Prony was killed, as every reader of the store tells of them.

mod home;

use home::Home;
use serde_json::{Value, json};

/// What the first line of a journal holds.
fn begun() -> Value {
    json!({
        "schema_version": "1.2", "id": "", "state": "running", "started_at": "2026-11-21T10:00:00+00:00",
        "build": {"version": "0.1.0", "target": "x", "profile": "release"},
        "host": {"name": "h", "kernel": "k", "cpu": "c", "cpus": 2, "memory_bytes": 1},
        "asked": null, "plan": null,
        "server": {"engine": "postgresql", "version": "17", "address": "unix:/run/.s.PGSQL.5432",
            "database": "d", "user": "u", "embedded": false, "settings": {}},
        "workload": {"name": "tpcb", "title": "t", "scale": 10, "kinds": ["tpcb"], "statements": []},
        "drive": {"clients": 8, "threads": 1, "pace": "closed", "protocol": "prepared", "io": "",
            "io_reason": "", "network": "", "seed": 1, "connect_per_transaction": false},
        "window": {"connect_s": 0.0, "warmup_s": 0.0, "measured_s": 0.0, "drain_s": 0.0},
        "measured": {"seconds": 0.0, "errors": [], "unfinished": 0, "never_started": 0, "kinds": []},
        "series": [], "events": [], "client": {"loop_delay_max_ns": 0},
        "timing": {"split": "", "stamped": 0, "unstamped": 0, "impossible": 0, "doubtful": 0,
            "clock_steps": 0, "send_cost_ns": 0.0, "transmit_stamps": 0},
        "checks": [],
    })
}

impl Home {
    fn put(&self, file: &str, text: &str) -> String {
        let path = self.0.join(file);
        std::fs::write(&path, text).expect("it is written");
        path.display().to_string()
    }
}

#[test]
fn a_journal_of_one_line_has_no_figures_and_no_verdict_of_being_valid() {
    let home = Home::new("begun");
    let line = json!({ "run": begun() });
    home.put("runs/20261121-1001.jsonl", &format!("{line}\n"));
    let listed = home.says(&["runs"], 0);
    assert!(
        listed.contains("partial") && listed.contains("–"),
        "{listed}"
    );
    let shown = home.says(&["show", "last"], 0);
    for told in [
        "PARTIAL RESULT",
        "\n  Nothing was measured\n",
        "Invalid (nothing-committed): there is no figure",
        "caveat   partial-run",
        "note     one-host",
        "worst loop delay unknown",
        "unknown; network unknown",
    ] {
        assert!(shown.contains(told), "{told}: {shown}");
    }
    for false_zero in ["Valid", "0 transactions", "0 ns", " 0 s"] {
        assert!(!shown.contains(false_zero), "{false_zero}: {shown}");
    }
}

/// As former versions stored it, too: the document stays as it was.
#[test]
fn a_killed_run_is_judged_by_each_reader_and_stays_as_it_was_stored() {
    let home = Home::new("cut-off");
    let latency = json!({
        "samples": 96_000, "mean_ns": 5e6, "min_ns": 1000, "max_ns": 90_000_000, "p99_ns": 9_000_000,
    });
    for (id, state) in [("20261121-1001", "partial"), ("20261121-1002", "complete")] {
        let mut run = begun();
        run["id"] = json!(id);
        run["state"] = json!(state);
        run["ended_because"] = json!("interrupted: Prony was killed or the machine went down");
        run["measured"]["seconds"] = json!(60.0);
        run["measured"]["kinds"] = json!([{
            "kind": "all", "committed": 96_000, "rolled_back": 0, "failed": 0, "skipped": 0, "retries": 0,
            "tps": 1600.0, "response": latency, "service": latency, "busy_s": 480.0,
        }]);
        home.put(&format!("runs/{id}.json"), &run.to_string());
    }
    let path = home.0.join("runs/20261121-1001.json");
    let stored = std::fs::read(&path).expect("it is there");
    let shown = home.says(&["show", "20261121-1001"], 0);
    assert!(
        shown.contains("Valid, with 1 caveat: partial-run."),
        "{shown}"
    );
    assert!(shown.contains("note     one-host"), "{shown}");
    let compared = home.says(&["compare", "20261121-1001", "20261121-1002"], 0);
    assert!(compared.contains("partial-run"), "{compared}");
    let sheet = home.put(
        "sheet.toml",
        "[sheet]\ncurrency = \"EUR\"\nregion = \"r\"\nterm = \"t\"\nas_of = \"2026-11\"\nsource = \"s\"\n\
         entered_by = \"d\"\n[[configuration]]\nname = \"small\"\n[[configuration.item]]\nname = \"m\"\n\
         quantity = 1\nunit_price = 100\nper = \"month\"\n",
    );
    let priced = home.says(&["price", "--sheet", &sheet, "20261121-1001"], 0);
    assert!(
        priced.contains("the runs have caveats: partial-run"),
        "{priced}"
    );
    let page = home.0.join("page.html").display().to_string();
    home.says(&["report", "20261121-1001", "--output", &page], 0);
    let drawn = std::fs::read_to_string(&page).expect("it is there");
    assert!(drawn.contains("Valid, with 1 caveat: partial-run."));
    let verified = home.says(&["verify", &page], 0);
    assert!(verified.contains("as they were written"), "{verified}");
    assert_eq!(std::fs::read(&path).expect("it is there"), stored);
}
