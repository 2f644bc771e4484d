use super::*;
use prony_assertions::TextAssertions;
use prony_judge::compare::{Difference, Unit};
use prony_judge::trend::{LeftOutRun, Level, TrendRun};
use prony_store::Severity;

fn difference(what: &str) -> Difference {
    Difference {
        severity: Severity::Caveat,
        what: what.to_owned(),
        a: "18.0".to_owned(),
        b: "18.1\u{1b}[2J".to_owned(),
        why: "",
    }
}

/// A history of 20 runs with a change at the 13th.
pub(crate) fn sample() -> Trend {
    let run = |at: usize| TrendRun {
        run: format!("202611{:02}-tpcb", at + 1),
        started_at: format!("2026-11-{:02}T10:00:00.000+01:00", at + 1),
        value: if at < 12 { 1_000.0 } else { 900.0 } + (at * 7 % 5) as f64,
    };
    let level = |first, runs, median| Level {
        first,
        runs,
        median,
    };
    let left = |number: usize, reason: &str| LeftOutRun {
        run: format!("left-{number}"),
        reason: reason.to_owned(),
    };
    Trend {
        workload: "tpcb".to_owned(),
        figure: "TPS".to_owned(),
        unit: Unit::Rate,
        reference: "20261120-tpcb".to_owned(),
        runs: (0..20).map(run).collect(),
        levels: vec![level(0, 12, 1_002.0), level(12, 8, 902.0)],
        changes: vec![LevelChange {
            index: 12,
            ratio: 0.9,
            is_better: false,
            p: 0.0005,
            differences: vec![difference("server")],
        }],
        false_alarm_rate: 0.05,
        left_out: vec![
            left(1, "clients 8, not 64"),
            left(2, "in progress"),
            left(3, "clients 8, not 64"),
        ],
    }
}

fn shown(trend: &Trend) -> String {
    crate::sample_run::written(|out| write(out, &Style::plain(), trend))
}

fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn runs_levels_changes_and_runs_left_out_are_shown_in_80_columns() {
    let text = shown(&sample());
    println!("{text}");
    text.assert_contains("\ntpcb: TPS of 20 runs, 2026-11-01 to 2026-11-20\n");
    let drawn = text.lines().filter(|line| line.contains('│'));
    let marks: usize = drawn.map(|line| line.matches('o').count()).sum();
    assert_eq!(marks, 20, "a mark for each run");
    text.assert_contains("  2026-11-13 10:00  1,002  902  −10 %  20261113-tpcb");
    text.assert_contains("server: 18.0 → 18.1\\x1b[2J");
    text.assert_contains("- clients 8, not 64 (2 runs, such as left-1)");
    text.assert_contains("- in progress (left-2)");
    joined(&text).assert_contains("at most 5 %");
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{widest:?}");
}

#[test]
fn more_runs_than_columns_share_columns() {
    let mut trend = sample();
    let run = trend.runs[0].clone();
    trend.runs = (0..500)
        .map(|at| TrendRun {
            value: 1_000.0 + f64::from(at % 7),
            ..run.clone()
        })
        .collect();
    trend.levels = vec![Level {
        first: 0,
        runs: 500,
        median: 1_003.0,
    }];
    trend.changes.clear();
    let text = shown(&trend);
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{text}");
    text.assert_contains(" runs: the median is 1,003.");
}

#[test]
fn one_run_and_none_are_shown() {
    let mut trend = sample();
    trend.runs.truncate(1);
    trend.changes.clear();
    trend.levels = vec![Level {
        first: 0,
        runs: 1,
        median: 1_000.0,
    }];
    let text = shown(&trend);
    text.assert_contains("\ntpcb: TPS of 1 run\n");
    joined(&text).assert_contains("It takes 8 runs to find any.");
    text.assert_contains("Too few runs to find a change (1 run): the median is 1,000.");
    trend.runs.clear();
    trend.levels.clear();
    shown(&trend).assert_contains("No run is comparable.");
}

#[test]
fn json_has_all_runs() {
    let mut out = Vec::new();
    json(&mut out, &sample(), None).unwrap();
    let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(value["runs"].as_array().unwrap().len(), 20);
    assert_eq!(value["changes"][0]["index"], 12);
    assert_eq!(value["left_out"][1]["reason"], "in progress");
    assert_eq!(value["false_alarm_rate"], 0.05);
}
