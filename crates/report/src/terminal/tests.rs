//! Tests of a printed result.

mod drill;
mod first_screen;
mod server;
mod statements;
mod verdict;

use super::{DocumentLocation, write_first_screen, write_full};
use crate::sample_run;
use crate::style::Style;
use prony_assertions::TextAssertions;
use prony_store::{Run, RunState, Severity};

fn text(run: &Run, stored: Option<&str>) -> String {
    let mut out = Vec::new();
    let stored = stored.map(|place| DocumentLocation::JustStored { place, id: &run.id });
    write_full(&mut out, &Style::plain(), run, stored).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_headline_precedes_the_percentiles_and_gives_its_counts() {
    let text = text(&sample_run::closed(), Some("/tmp/x.json"));
    let position = |part: &str| {
        text.find(part)
            .unwrap_or_else(|| panic!("no `{part}` in\n{text}"))
    };
    assert!(position("27,700 transactions/s committed") < position("p99.9"));
    let flat = text.replace("\n  ", " ");
    flat.assert_contains("110,800 transactions in the 4 s measured, after 1 s of warm-up");
    let in_flight = "3 failed; 7 in flight at the end, not counted (5 committed after it, 1 may have \
         committed, 1 cut off)";
    flat.assert_contains(in_flight);
    text.assert_contains("prony show 20261120-233342-tpcb-7f3a");
    text.assert_contains("Stored in /tmp/x.json");
}

#[test]
fn outcomes_of_transactions_in_flight_add_up() {
    let mut run = sample_run::closed();
    run.measured.unfinished = 15;
    run.measured.in_flight = Some(prony_store::InFlight {
        committed: 5,
        rolled_back: 4,
        failed: 3,
        ambiguous: 2,
        cut_off: 1,
    });
    let flat = text(&run, None).replace("\n  ", " ");
    let expected = "15 in flight at the end, not counted (5 committed after it, 4 rolled back by intent, 3 failed, \
                2 may have committed, 1 cut off)";
    flat.assert_contains(expected);
}

#[test]
fn industry_metrics_precede_the_throughput() {
    let mut run = sample_run::closed();
    run.rates = vec![prony_store::IndustryMetric {
        name: prony_store::NOPM.to_owned(),
        title: "new orders committed per minute".into(),
        value: 54_818.0,
        per_scale: 548.18,
        note: Some("unpaced: above 12.86 for each".into()),
    }];
    let text = text(&run, None);
    let position = |part: &str| {
        text.find(part)
            .unwrap_or_else(|| panic!("no `{part}` in\n{text}"))
    };
    assert!(
        position("54,818 NOPM (new orders committed per minute)")
            < position("27,700 transactions/s")
    );
    let flat = text.replace("\n  ", " ");
    flat.assert_contains("548 per unit of scale; unpaced: above 12.86 for each");
    run.workload.description = Some(prony_store::Description {
        scale_unit: Some(prony_store::ScaleUnit::new("warehouse", "warehouses")),
        ..prony_store::Description::default()
    });
    self::text(&run, None).assert_contains("548 per warehouse");
    // On the first screen the figure is never cut: a metric with a long meaning goes without it.
    let mut out = Vec::new();
    run.rates[0].title = "a meaning that takes so many words that no line can hold it".into();
    write_first_screen(&mut out, &Style::plain(), &run, None).unwrap();
    let screen = String::from_utf8(out).unwrap();
    screen.assert_contains("  54,818 NOPM, unpaced; 548 per warehouse\n");
}

#[test]
fn observed_shares_are_printed_beside_the_targets() {
    let mut run = sample_run::closed();
    text(&run, None).assert_lacks("Shares over");
    let share = |count, total, minimum_share| prony_store::ObservedShare {
        name: "payment".into(),
        base: "transactions".into(),
        count,
        total,
        expected_share: Some(10.0 / 23.0),
        exact: false,
        minimum_share,
    };
    run.shares = vec![share(429, 1_000, Some(0.43)), share(0, 0, None)];
    let mut wide = share(1, 123_456_789, Some(0.43));
    wide.name = "of another warehouse".into();
    wide.base = "order-statuses".into();
    run.shares.push(wide);
    let fits = |line: &str| line.chars().count() <= 80;
    assert!(text(&run, None).lines().all(fits));
    let flat = flat_text(&run);
    flat.assert_contains("payment transactions 1,000 42.9 % 43.5 % 43.0 %");
    flat.assert_contains("payment transactions 0 – 43.5 %");
}

#[test]
fn fixed_counts_have_their_own_table() {
    let mut run = sample_run::closed();
    let share = |name: &str, count, expected_share: Option<f64>| prony_store::ObservedShare {
        name: name.into(),
        base: "queries".into(),
        count,
        total: 20_000,
        exact: expected_share.is_some(),
        expected_share,
        minimum_share: None,
    };
    run.shares = vec![share("reads", 13_999, Some(0.7)), share("others", 7, None)];
    let flat = flat_text(&run);
    flat.assert_lacks("Shares over");
    flat.assert_contains("succeeded: queries");
    flat.assert_contains("reads 13,999 14,000 70.0 %");
    flat.assert_contains("others 7 – 0.0 %");
    flat.assert_lacks("were retried");
    // The queries of retried attempts are listed separately.
    run.measured.kinds[0].retries = 1_348;
    run.measured.queries = Some(prony_store::QueryCounts {
        reads: 50_358,
        writes: 10_650,
        ..prony_store::QueryCounts::default()
    });
    let flat = flat_text(&run);
    flat.assert_contains("were retried (1,348 retries)");
    let expected = "has 50,358 reads and 10,650 writes, 4.73 reads per write.";
    flat.assert_contains(expected);
}

#[test]
fn limits_are_printed_beside_the_measured_percentiles() {
    let mut run = sample_run::closed();
    let kind = run.measured.kinds[1].name().to_owned();
    run.measured.kinds.push(run.measured.kinds[1].clone());
    let limit = |kind: &str, deferred| prony_store::ResponseTimeLimit {
        kind: kind.into(),
        p90_s: 80.0,
        deferred,
    };
    run.workload.limits = vec![limit(&kind, true), limit("payment", false)];
    let text = text(&run, None).replace('\u{a0}', " ").replace("\n  ", " ");
    let expected = format!("{kind}, deferred, from queueing to completion: 3.46 ms (limit 80 s)");
    text.assert_contains(&expected);
    text.assert_contains("payment: too few (limit 80 s)");
}

#[test]
fn lines_fit_the_width_and_contain_no_escape_codes() {
    for run in [sample_run::closed(), sample_run::open_partial()] {
        let text = text(&run, None);
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert!(!text.contains('\x1b'), "a server's message was not escaped");
    }
}

#[test]
fn the_split_is_summarised_with_the_servers_share() {
    let text = text(&sample_run::closed(), None)
        .replace('\u{a0}', " ")
        .replace("\n  ", " ");
    text.assert_contains("the server took 170 µs (7.4 %)");
    text.assert_contains("under the load that this client actually offered");
    text.assert_contains("12 server times are upper bounds");
}

#[test]
fn a_single_kind_is_shown_once_under_its_name() {
    let text = text(&sample_run::closed(), None);
    text.assert_contains("\n  tpcb  2.08 ms");
    text.assert_lacks("\n  all ");
}

#[test]
fn an_open_loop_shows_response_and_service_times_and_explains_absent_percentiles() {
    let text = text(&sample_run::open_partial(), None);
    text.assert_contains("from the scheduled start");
    text.assert_contains("Service time");
    text.assert_contains("–  46.2 ms  2.31 ms");
    text.assert_contains("10 / (1 – q)");
    text.assert_contains("11 due but never started");
}

#[test]
fn a_partial_run_and_a_missing_split_have_a_reason() {
    let text = text(&sample_run::open_partial(), None);
    text.assert_contains("PARTIAL RESULT: ended early: SIGINT.");
    text.assert_contains("Not known: unix sockets have no receive timestamps");
    let mut run = sample_run::closed();
    run.state = RunState::Running;
    self::text(&run, None).assert_contains("STILL RUNNING");
    run.measured.kinds.truncate(1);
    run.measured.kinds[0].parts = None;
    run.measured.kinds[0].committed = 0;
    self::text(&run, None).assert_contains("Not known: no transaction committed.");
}

#[test]
fn an_outage_without_an_end_lasts_to_the_end_of_the_run() {
    let mut run = sample_run::closed();
    text(&run, None).assert_contains("at 2 s, for 400 ms: outage");
    run.events[0].until_s = None;
    text(&run, None).assert_contains("from 2 s to the end: outage");
}

#[test]
fn the_split_excludes_connecting() {
    let mut run = sample_run::closed();
    for kind in &mut run.measured.kinds {
        kind.connect = Some(kind.service.clone());
    }
    let text = text(&run, None).replace('\u{a0}', " ");
    text.assert_contains("after connecting, the server took");
}

#[test]
fn an_invalid_check_is_flagged_at_the_figure_and_listed_first() {
    let mut run = sample_run::closed();
    run.checks[0].severity = Severity::Invalid;
    let text = text(&run, None);
    text.assert_contains("must not be used");
    assert!(
        text.find("invalid  littles-law").unwrap() < text.find("doubt    client-limit").unwrap()
    );
}

#[test]
fn a_run_without_transactions_is_shown() {
    let mut run = sample_run::closed();
    run.measured = Default::default();
    run.window.warmup_s = 0.0;
    run.series.clear();
    let text = text(&run, None);
    text.assert_contains("\n  Nothing was measured\n");
    text.assert_contains("\n  No second of the load was recorded.\n");
    run.measured.length_s = 3.0;
    let text = flat_text(&run);
    text.assert_contains("0 transactions/s committed");
}

#[test]
fn an_existing_document_is_not_reported_as_stored() {
    let mut out = Vec::new();
    let document = DocumentLocation::ReadFrom {
        document: "/tmp/x.json",
    };
    write_full(
        &mut out,
        &Style::plain(),
        &sample_run::closed(),
        Some(document),
    )
    .unwrap();
    let text = String::from_utf8(out).unwrap();
    text.assert_ends_with("\nRead from /tmp/x.json\n");
    text.assert_lacks("Stored in");
}

#[test]
fn values_missing_from_the_kernel_are_unknown_not_zero() {
    let mut run = sample_run::closed();
    let text = flat_text(&run);
    text.assert_contains("CPU 3.20 s user + 2.10 s system, 47.8 µs per committed transaction");
    text.assert_contains("stolen 0 %");
    text.assert_contains("memory at most 34 MB");
    text.assert_lacks("unknown");
    assert!(!text.contains("SCHED_BATCH"), "not requested: {text}");
    run.machine_mut().health.batch = Some(prony_store::BatchScheduling {
        active: 3,
        reverted: 1,
        refused: 0,
    });
    run.machine_mut().health.pinned_workers = Some(4);
    let text = flat_text(&run);
    text.assert_contains("4 workers were pinned, each to one CPU");
    let expected =
        "SCHED_BATCH, requested by 4 workers: 3 ran under it, 1 left it, because their users sleep";
    text.assert_contains(expected);
    run.machine_mut().health = prony_store::ClientHealth {
        loop_delay_max_ns: 900_000,
        ..Default::default()
    };
    let text = flat_text(&run);
    text.assert_contains(
        "CPU unknown user + unknown system, unknown per committed transaction; busiest thread \
             unknown of a CPU; ready but without a CPU for unknown; stolen unknown",
    );
    text.assert_contains("memory at most unknown");
    run.machine_mut().host.cpu = String::new();
    run.machine_mut().host.memory_bytes = 0;
    let text = flat_text(&run);
    text.assert_contains("client bench1, 8 CPUs, kernel ");
}

fn flat_text(run: &Run) -> String {
    let text = text(run, None).replace('\u{a0}', " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn notes_are_printed_without_advice() {
    let mut run = sample_run::closed();
    run.checks[0].advice = "Do nothing.".to_owned();
    let text = flat_text(&run);
    text.assert_contains("note littles-law: 64 clients");
    text.assert_lacks("Do nothing.");
    assert!(text.contains("Use more threads"), "a caveat has advice");
}

/// Covers a run that ended in its warm-up and a journal with only its first line.
#[test]
fn unmeasured_values_are_not_zero() {
    let mut run = sample_run::closed();
    run.state = RunState::Partial;
    run.ended_because = Some("interrupted".to_owned());
    run.series.clear();
    run.events.clear();
    run.window.warmup_s = 1.4;
    let zeros = prony_store::KindFigures {
        kind: None,
        ..Default::default()
    };
    run.measured = prony_store::Figures {
        kinds: vec![zeros],
        ..Default::default()
    };
    run.machine_mut().health = Default::default();
    run.drive.io.clear();
    run.drive.io_reason.clear();
    run.drive.network = None;
    run.checks.truncate(1);
    run.checks[0].severity = Severity::Invalid;
    let text = flat_text(&run);
    let expected = "Nothing was measured The measured window had not begun after 1.4 s of warm-up.";
    text.assert_contains(expected);
    text.assert_contains("): there is no figure, see");
    text.assert_contains("interrupted. Nothing was measured.");
    text.assert_contains("worst loop delay unknown");
    text.assert_contains("I/O unknown; network unknown");
    text.assert_lacks("transactions/s");
    text.assert_lacks("0 s measured");
    run.window.warmup_s = 0.0;
    flat_text(&run).assert_contains("No second of the load was recorded.");
}
