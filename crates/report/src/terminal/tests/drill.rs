//! The lines of a drill's result.

use crate::sample_run;
use crate::style::Style;
use crate::terminal::{DRILL_LINES, write_drill, write_full};
use EventKind::{FailedAttempts, Mark, Outage};
use prony_assertions::TextAssertions;
use prony_store::{
    Answer, AnswerVerdict, ClientGaps, ClientTimeouts, CommandResult, CommitGap, Event, EventKind,
    LedgerAccount, LostCommit, ReplicaStaleness, Requirement, RequirementResult, Run, RunState,
};
use std::collections::BTreeMap;

/// A failover that lost commits, with every fact that a drill can have.
fn drill() -> Run {
    let mut run = sample_run::closed();
    run.events.clear();
    let event = |kind, at_s: f64, detail: &str| Event {
        at_s,
        until_s: Some(at_s + 0.2),
        kind,
        detail: detail.to_owned(),
        count: 16,
        ..Event::default()
    };
    run.events.push(Event {
        count: 1,
        command: Some(CommandResult {
            exit_status: Some(0),
            output: "the standby is promoted".to_owned(),
        }),
        ..event(Mark, 10.0, "the command at 10s ended with exit status: 0")
    });
    let reset = "the connection was lost: Connection reset by peer (os error 104)";
    // As long as the time without a commit.
    run.events.push(Event {
        until_s: Some(13.117),
        ..event(Outage, 13.0, reset)
    });
    for cause in ["refused", "role"] {
        run.events.push(Event {
            cause: Some(cause.to_owned()),
            ..event(FailedAttempts, 13.1, "why")
        });
    }
    run.commit_gap = Some(CommitGap {
        from_s: 13.0,
        until_s: Some(13.117),
        timeouts: Some(ClientTimeouts {
            connect_s: Some(10.0),
            keepalive_s: Some(7_875.0),
            ..ClientTimeouts::default()
        }),
        clients: ClientGaps {
            min_s: 0.117,
            p50_s: 0.124,
            max_s: 0.133,
            not_back: 0,
        },
        ..CommitGap::default()
    });
    let position = |port: &str, timeline: &str| {
        let server = format!("127.0.0.1:{port}");
        let values = [
            ("server", server.as_str()),
            ("role", "primary"),
            ("timeline", timeline),
        ];
        let values = values.map(|(name, value)| (name.to_owned(), value.to_owned()));
        BTreeMap::from(values)
    };
    run.ledger = Some(LedgerAccount {
        acknowledged: 69_745,
        lost: 8_325,
        ambiguous: 1,
        first_lost: vec![LostCommit {
            client: 0,
            sequence: 2_982,
            after_s: Some(10.0),
            by_s: Some(11.0),
        }],
        staleness: Some(ReplicaStaleness {
            readings: 80,
            commits_p50: 3,
            commits_p95: 900,
            commits_max: 8_325,
            age_p50_s: 0.02,
            age_p95_s: 1.5,
            age_max_s: 2.9,
            ..ReplicaStaleness::default()
        }),
        server_before: position("27980", "1"),
        server_after: position("23666", "2"),
        ..LedgerAccount::default()
    });
    let result = |text: &str, verdict, value| RequirementResult {
        requirement: Requirement::parse(text).expect("a requirement"),
        verdict,
        value: Some(value),
        interval: None,
        compared: None,
        reason: None,
    };
    run.answer = Some(Answer {
        verdict: AnswerVerdict::Fail,
        results: vec![
            result("outage<30s", AnswerVerdict::Pass, 117e6),
            result("lost=0", AnswerVerdict::Fail, 8_325.0),
        ],
    });
    run
}

fn screen(run: &Run) -> String {
    let mut out = Vec::new();
    // Not a terminal: nothing wraps or cuts later.
    write_drill(&mut out, &Style::plain(), run, None).expect("memory");
    String::from_utf8(out).expect("text")
}

#[test]
fn a_drill_is_fifteen_lines_of_eighty_columns() {
    let text = screen(&drill());
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() <= DRILL_LINES, "{} lines: {text}", lines.len());
    for line in &lines {
        assert!(line.chars().count() <= 80, "{line}");
        assert!(!line.ends_with('…'), "{line}");
    }
    assert!(lines[0].starts_with("FAIL: lost 8,325"), "{text}");
    for part in [
        "  done    at 10 s, for 200 ms, exit status 0: the standby is promoted",
        "  outage  117 ms from 13 s on; one client for 117 ms to 133 ms, median 124 ms",
        "  waited  failed attempts: refused 16, role 16; Connection reset by peer",
        "  account lost 8,325 of 69,745 acknowledged, in one series; 1 ambiguous, 0 there",
        "  RPO     8,325 commits, 2.00 s to 3.00 s before the outage",
        "  replica median 3 commits, 20.0 ms; at most 8,325, 2.90 s; 0 went back in time",
        "  server  127.0.0.1:27980 (timeline 1), then 127.0.0.1:23666 (timeline 2)",
    ] {
        text.assert_contains(part);
    }
}

#[test]
fn the_reason_of_an_answer_is_not_cut() {
    let mut run = drill();
    let answer = run.answer.as_mut().expect("it has one");
    let outage = &mut answer.results[0];
    outage.verdict = AnswerVerdict::Undecided;
    outage.reason = Some("the run's figures must not be used (ledger, neighbours)".to_owned());
    let text = screen(&run);
    assert!(text.lines().count() <= DRILL_LINES, "{text}");
    text.assert_contains(
        "\n  undecided: outage 117 ms, required below 30.0 s; the run's figures must not be\n  \
         used (ledger, neighbours)\n",
    );
    text.assert_contains("\n  account lost 8,325 of ");
}

#[test]
fn connections_that_were_lost_for_longer_are_the_outage_that_is_compared() {
    let mut run = drill();
    run.events[1].until_s = Some(13.4);
    let expected = "  outage  117 ms from 13 s on (connections 400 ms); a client 117 ms to 133 ms";
    screen(&run).assert_contains(expected);
    let gap = run.commit_gap.as_mut().expect("measured");
    gap.until_s = Some(gap.from_s + 0.05);
    let expected = "  outage  No time of 100 ms without a commit; connections were lost for 400 ms";
    screen(&run).assert_contains(expected);
}

#[test]
fn what_does_not_fit_is_in_the_full_result() {
    let mut run = drill();
    run.state = RunState::Partial;
    run.ended_because =
        Some("the user interrupted it, for a reason that needs many words".to_owned());
    let long = "a message of the server that nobody has ever read to its end ".repeat(9);
    run.events[0].command.as_mut().expect("a command").output = long.clone();
    let answer = run.answer.as_mut().expect("it has one");
    for _ in 0..4 {
        answer.results.push(answer.results[0].clone());
    }
    let text = screen(&run);
    assert!(text.lines().count() <= DRILL_LINES, "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    for label in ["done", "outage", "back", "account", "RPO"] {
        text.assert_contains(&format!("\n  {label:<8}"));
    }
    assert!(!text.contains("  limits"), "{text}");
    let mut full = Vec::new();
    write_full(&mut full, &Style::plain(), &run, None).expect("memory");
    let full = String::from_utf8(full).expect("text");
    let full: Vec<&str> = full.split_whitespace().collect();
    let full = full.join(" ");
    full.assert_contains(long.trim_end());
    full.assert_contains("limits connect_timeout 10 s; no tcp_user_timeout: a request to");
    full.assert_contains("the first is number 2982 of client 0");
}
