//! Tests of the latencies of statements.

use super::super::write_section;
use crate::printer::Printer;
use crate::style::Style;
use crate::text::statements::statements;
use prony_assertions::TextAssertions;
use prony_store::{Latency, RecordedLatency, Run, StatementLatency};

fn statement(name: &str, statements: u32, p99_ns: Option<u64>, share: f64) -> StatementLatency {
    StatementLatency {
        name: name.to_owned(),
        statements,
        text: "SELECT 1".to_owned(),
        latency: Latency {
            samples: 1_200,
            mean_ns: 150_000.0,
            max_ns: 2_000_000,
            p50_ns: Some(140_000),
            p95_ns: Some(190_000),
            p99_ns,
            ..Latency::default()
        },
        service_time_share: Some(share),
        recorded: None,
    }
}

fn written(run: &Run) -> String {
    let (mut bytes, style) = (Vec::new(), Style::plain());
    write_section(&mut Printer::new(&mut bytes, &style), statements(run)).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn each_statement_has_its_row_and_a_missing_percentile_a_dash() {
    let run = Run {
        statements: Some(vec![
            statement("begin", 1, Some(200_000), 0.3),
            statement("update-account", 6, None, 0.45),
        ]),
        ..Run::default()
    };
    let text = written(&run);
    for part in [
        "Latency of statements",
        "begin                    1,200",
        "update-account + 5 more  1,200",
        "30.0 %",
        "25.0 % of the service time",
        "round trip are measured together",
    ] {
        text.assert_contains(part);
    }
    let grouped = text.lines().find(|line| line.contains("+ 5 more")).unwrap();
    assert_eq!(grouped.matches('–').count(), 1, "{grouped}");
}

#[test]
fn a_replayed_statement_has_its_recorded_latency_beside_its_own() {
    let mut replayed = statement("update-account", 1, Some(200_000), 0.5);
    replayed.recorded = Some(RecordedLatency {
        samples: 50,
        mean_ns: 120_000.0,
        p50_ns: Some(110_000),
        ..RecordedLatency::default()
    });
    let run = Run {
        statements: Some(vec![replayed, statement("new", 1, Some(200_000), 0.5)]),
        ..Run::default()
    };
    let text = written(&run);
    text.assert_contains("recorded mean");
    text.assert_contains("120 µs");
    let words: Vec<&str> = text.split_whitespace().collect();
    words
        .join(" ")
        .assert_contains("Recorded: the server's own time");
    let new = text.lines().find(|line| line.contains("new ")).unwrap();
    assert_eq!(new.matches('–').count(), 3, "{new}");
}

#[test]
fn runs_that_measured_no_statements_say_so_only_if_they_were_asked_to() {
    assert_eq!(written(&Run::default()), "");
    let run = Run {
        statements: Some(Vec::new()),
        ..Run::default()
    };
    let text = written(&run);
    text.assert_contains("None was measured");
}
