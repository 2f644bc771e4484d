//! The first screen fits 22 lines of 80 characters for each kind of run, and has what a reader needs first.

use crate::sample_run;
use crate::style::Style;
use crate::terminal::{MAX_LINES, StoredRun, write_first_screen};
use prony_assertions::TextAssertions;
use prony_store::{
    Annotation, Check, FindingKind, IndustryMetric, LedgerAccount, NOPM, Product, Run, RunState,
    Setting, Severity, TPM,
};

fn screen_of_width(run: &Run, width: usize, note: Option<&str>) -> String {
    let annotation = Annotation {
        label: Some("before vacuum".to_owned()),
        note: note.map(str::to_owned),
    };
    let style = Style {
        width,
        terminal: true,
        ..Style::plain()
    };
    let stored = StoredRun {
        show_argument: "last",
        annotation: &annotation,
    };
    let mut out = Vec::new();
    write_first_screen(&mut out, &style, run, Some(stored)).unwrap();
    String::from_utf8(out).unwrap()
}

fn screen(run: &Run) -> String {
    screen_of_width(run, 80, None)
}

fn check(id: &str, severity: Severity, kind: FindingKind) -> Check {
    let words = |word: &str| format!("{word} that takes several lines. ").repeat(9);
    Check {
        id: id.to_owned(),
        severity,
        kind: Some(kind),
        finding: words("A finding of 12.3 ms"),
        advice: words("Follow an advice"),
    }
}

fn limiter() -> Check {
    Check {
        kind: None,
        ..check("limiter", Severity::Note, FindingKind::Doubt)
    }
}

/// A run with as many findings as a run can have, each of several lines.
fn with_many_findings(mut run: Run) -> Run {
    let (doubt, scope) = (FindingKind::Doubt, FindingKind::Scope);
    run.checks = vec![
        check("steal", Severity::Caveat, doubt),
        check("drift", Severity::Caveat, doubt),
        limiter(),
    ];
    for id in [
        "one-host",
        "checkpoint",
        "duration",
        "data-scale",
        "contention",
        "dead-rows",
    ] {
        run.checks.push(check(id, Severity::Caveat, scope));
    }
    run
}

fn tpcc() -> Run {
    let mut run = sample_run::closed();
    run.workload.name = "tpcc".to_owned();
    run.workload.settings = vec![
        Setting::new("mode", "procedures"),
        Setting::new("profile", "hammerdb-4.6"),
        Setting::new("pacing", "none"),
    ];
    let metric = |name: &str, title: &str, note: Option<&str>| IndustryMetric {
        name: name.to_owned(),
        title: title.to_owned(),
        value: 1_254_818.0,
        per_scale: 12_548.18,
        note: note.map(str::to_owned),
    };
    let nopm_note = Some("unpaced: above 12.86 for each");
    let tpm_title = "transactions per minute, as the server counts them";
    run.rates = vec![
        metric(NOPM, "new orders committed per minute", nopm_note),
        metric(TPM, tpm_title, None),
    ];
    run
}

fn mysql() -> Run {
    let mut run = tpcc();
    run.server.product = Some(Product::MYSQL);
    run.server.version = "8.4.9-0ubuntu0.24.04.1-log (Ubuntu)".to_owned();
    run
}

fn invalid() -> Run {
    let mut run = with_many_findings(tpcc());
    run.checks[1].severity = Severity::Invalid;
    run
}

fn all_runs() -> [(&'static str, Run); 8] {
    let mut nothing_measured = sample_run::closed();
    nothing_measured.state = RunState::Partial;
    nothing_measured.measured = Default::default();
    nothing_measured.series.clear();
    [
        ("closed", sample_run::closed()),
        ("open and partial", sample_run::open_partial()),
        (
            "with many findings",
            with_many_findings(sample_run::open_partial()),
        ),
        ("tpcc", with_many_findings(tpcc())),
        ("MySQL", with_many_findings(mysql())),
        ("invalid", invalid()),
        (
            "invalid and partial",
            Run {
                state: RunState::Partial,
                ended_because: Some(
                    "the server closed all connections, and none came back. ".repeat(4),
                ),
                ..invalid()
            },
        ),
        ("nothing measured", nothing_measured),
    ]
}

#[test]
fn the_first_screen_fits_22_lines_of_80_characters() {
    let notes = [
        None,
        Some("autovacuum was off, and the note is long. ".repeat(5)),
    ];
    for (name, run) in all_runs() {
        for (width, note) in [60, 80, 100]
            .into_iter()
            .flat_map(|width| notes.each_ref().map(|note| (width, note)))
        {
            let text = screen_of_width(&run, width, note.as_deref());
            let too_wide = text.lines().find(|line| line.chars().count() > width);
            assert_eq!(too_wide, None, "{name}, {width} characters wide:\n{text}");
            assert!(text.lines().count() <= MAX_LINES, "{name}:\n{text}");
            assert!(!text.contains('\x1b'), "{name}:\n{text}");
        }
    }
}

#[test]
fn the_account_of_a_ledger_is_on_the_first_screen_of_any_run() {
    let mut run = invalid();
    run.ledger = Some(LedgerAccount {
        acknowledged: 69_745,
        lost: 8_325,
        ..LedgerAccount::default()
    });
    let account = "account: lost 8,325 of 69,745 acknowledged";
    screen(&run).assert_contains(account);
    let mut out = Vec::new();
    write_first_screen(&mut out, &Style::plain(), &run, None).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.matches("acknowledged").count(), 1, "said once: {text}");
    let reason = "no server of the URL accepted a connection within 120 s";
    run.ledger.as_mut().expect("set").not_read = Some(reason.to_owned());
    screen(&run).assert_contains("account: 69,745 commits acknowledged; not read: no server");
}

#[test]
fn a_file_gets_every_finding_whole() {
    let mut out = Vec::new();
    write_first_screen(&mut out, &Style::plain(), &invalid(), None).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(!text.contains('…'), "{text}");
    let words: Vec<&str> = text.split_whitespace().collect();
    let findings = words.join(" ").matches("A finding of 12.3 ms").count();
    assert_eq!(findings, 18, "the doubt and the limit: {text}");
}

#[test]
fn the_first_screen_has_figure_verdict_times_limit_and_advice() {
    let mut run = sample_run::closed();
    run.checks = vec![limiter()];
    run.checks[0].finding = "Likely limit: the CPUs were 96 % busy.".to_owned();
    run.checks
        .push(check("one-host", Severity::Caveat, FindingKind::Scope));
    let text = screen(&run);
    let expected = [
        "tpcb, scale 100, on PostgreSQL 17.2: 64 clients, mode statements\n",
        "\n  27,700 transactions/s committed  ",
        "27,400 to 28,000\n",
        "\n  110,800 transactions in the 4 s measured, after 1 s of warm-up; 3 failed\n",
        "\n  Valid, but too short to judge steadiness.\n",
        "\n  doubt   none\n",
        "\n  scope   client and server on one machine\n",
        "p50      p95      p99      max\n",
        "\n  response  2.08 ms  4.62 ms  9.24 ms  46.2 ms\n",
        "\n  server     153 µs   340 µs   680 µs  3.40 ms\n",
        "\n  limit   the CPUs were 96 % busy\n",
        "\n  advice  one-host: Follow an advice that takes several lines.",
        "\n20261120-233342-tpcb-7f3a [before vacuum]: prony show last --full\n",
    ];
    let mut position = 0;
    for part in expected {
        let found = text[position..].find(part);
        position += found.unwrap_or_else(|| panic!("no `{part}` in\n{text}"));
    }
}

#[test]
fn an_open_loop_shows_both_times_and_why_the_server_time_is_missing() {
    let text = screen(&sample_run::open_partial());
    for part in [
        "5,000 transactions/s scheduled",
        "PARTIAL RESULT: ended early: SIGINT.",
        "response (schedule)",
        "service (start)",
        "server  not known: unix sockets have no receive timestamps",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

#[test]
fn an_invalid_run_names_its_reason_and_the_unpaced_metric_its_label() {
    let text = screen(&invalid());
    text.assert_contains("Invalid (drift): this figure must not be used.");
    text.assert_contains("doubt   drift: A finding of 12.3 ms");
    text.assert_contains("\n  also    steal: --full explains them\n");
    text.assert_contains("advice  drift: ");
    let mut of_one = invalid();
    of_one.checks.retain(|check| check.id != "steal");
    screen(&of_one).assert_lacks("  also  ");
    let metric = "1,254,818 NOPM, unpaced (new orders committed per minute)";
    text.assert_contains(metric);
    screen(&sample_run::closed()).assert_lacks("Invalid");
    let several = screen(&with_many_findings(sample_run::closed()));
    several.assert_contains("Valid, but too short to judge steadiness, with 2 doubts.");
    several.assert_contains("doubt   steal, drift");
}

#[test]
fn the_limit_is_not_guessed() {
    let mut run = sample_run::closed();
    run.checks.clear();
    screen(&run).assert_contains("limit   not known: the server was not observed\n");
    run.observed = Some(prony_store::Observed::default());
    screen(&run).assert_contains("limit   not known: neither CPUs and disk");
    run.checks = vec![check("client-limit", Severity::Invalid, FindingKind::Doubt)];
    run.checks[0].finding = "The client was the limit.".to_owned();
    screen(&run).assert_contains("limit   The client was the limit\n");
}

#[test]
fn a_run_that_is_not_stored_says_how_to_print_the_rest() {
    let mut out = Vec::new();
    write_first_screen(&mut out, &Style::plain(), &sample_run::closed(), None).unwrap();
    let text = String::from_utf8(out).unwrap();
    text.assert_ends_with("\nNot stored; --full prints all figures and checks.\n");
}
