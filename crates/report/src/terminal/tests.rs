//! What the result must say, and must not.

use super::{Stored, write};
use crate::sample_run;
use crate::style::Style;
use prony_store::{Run, Severity, State};

fn text(run: &Run, stored: Option<&str>) -> String {
    let mut out = Vec::new();
    let stored = stored.map(|place| Stored::Now { place, id: &run.id });
    write(&mut out, &Style::plain(), run, stored).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_headline_comes_first_and_says_what_it_counts() {
    let text = text(&sample_run::closed(), Some("/tmp/x.json"));
    let at = |what: &str| {
        text.find(what)
            .unwrap_or_else(|| panic!("no `{what}` in\n{text}"))
    };
    assert!(at("27,700 transactions/s committed") < at("p99.9"));
    let words = text.replace("\n  ", " ");
    assert!(words.contains("110,800 transactions in the 4 s measured, after 1 s of warm-up"));
    assert!(words.contains("3 failed; 7 in flight at the end, not counted"));
    assert!(text.contains("prony show 20261120-233342-tpcb-7f3a"));
    assert!(text.contains("Stored in /tmp/x.json"));
}

#[test]
fn the_rate_that_the_field_knows_by_name_leads() {
    let mut run = sample_run::closed();
    run.rates = vec![prony_store::Rate {
        name: "NOPM".into(),
        title: "new orders committed a minute".into(),
        value: 54_818.0,
        per_scale: 548.18,
        note: Some("unpaced: above 12.86 for each".into()),
    }];
    let text = text(&run, None);
    let at = |what: &str| {
        text.find(what)
            .unwrap_or_else(|| panic!("no `{what}` in\n{text}"))
    };
    assert!(at("54,818 NOPM (new orders committed a minute)") < at("27,700 transactions/s"));
    let words = text.replace("\n  ", " ");
    assert!(words.contains("548 for each unit of scale; unpaced: above 12.86 for each"));
}

#[test]
fn shares_stand_beside_those_that_are_meant() {
    let mut run = sample_run::closed();
    assert!(!text(&run, None).contains("Shares over"));
    let share = |part, whole, least| prony_store::Share {
        name: "payment".into(),
        of: "transactions".into(),
        part,
        whole,
        meant: Some(10.0 / 23.0),
        exact: false,
        least,
    };
    run.shares = vec![share(429, 1_000, Some(0.43)), share(0, 0, None)];
    let mut wide = share(1, 123_456_789, Some(0.43));
    wide.name = "of another warehouse".into();
    wide.of = "order-statuses".into();
    run.shares.push(wide);
    let fits = |line: &str| line.chars().count() <= 80;
    assert!(text(&run, None).lines().all(fits));
    let words = text(&run, None);
    let words: Vec<&str> = words.split_whitespace().collect();
    let words = words.join(" ").replace('\u{a0}', " ");
    assert!(
        words.contains("payment transactions 1,000 42.9 % 43.5 % 43.0 %"),
        "{words}"
    );
    assert!(words.contains("payment transactions 0 – 43.5 %"), "{words}");
}

#[test]
fn counts_that_each_transaction_keeps_have_a_table_of_their_own() {
    let mut run = sample_run::closed();
    let count = |name: &str, part, meant: Option<f64>| prony_store::Share {
        name: name.into(),
        of: "queries".into(),
        part,
        whole: 20_000,
        exact: meant.is_some(),
        meant,
        least: None,
    };
    run.shares = vec![count("reads", 13_999, Some(0.7)), count("others", 7, None)];
    let words = text(&run, None);
    assert!(!words.contains("Shares over"), "{words}");
    let words: Vec<&str> = words.split_whitespace().collect();
    let words = words.join(" ").replace('\u{a0}', " ");
    assert!(words.contains("ended well: queries"), "{words}");
    assert!(words.contains("reads 13,999 14,000 70.0 %"), "{words}");
    assert!(words.contains("others 7 – 0.0 %"), "{words}");
    assert!(!words.contains("began anew"), "{words}");
    // What tries that began anew had asked stands apart.
    run.measured.kinds[0].retries = 1_348;
    run.measured.queries = Some(prony_store::QueryCounts {
        reads: 50_358,
        writes: 10_650,
        ..prony_store::QueryCounts::default()
    });
    let words = text(&run, None).replace('\u{a0}', " ");
    let words: Vec<&str> = words.split_whitespace().collect();
    let words = words.join(" ");
    assert!(words.contains("Of 1,348 tries that began anew"), "{words}");
    let told = "has 50,358 reads and 10,650 writes, 4.73 reads a write.";
    assert!(words.contains(told), "{words}");
}

#[test]
fn limits_stand_beside_what_was_reached() {
    let mut run = sample_run::closed();
    let kind = run.measured.kinds[1].kind.clone();
    run.measured.kinds.push(run.measured.kinds[1].clone());
    let limit = |kind: &str, deferred| prony_store::Limit {
        kind: kind.into(),
        p90_s: 80.0,
        deferred,
    };
    run.workload.limits = vec![limit(&kind, true), limit("payment", false)];
    let text = text(&run, None).replace('\u{a0}', " ").replace("\n  ", " ");
    let told = format!("{kind}, deferred, from queueing to completion: 3.46 ms (limit 80 s)");
    assert!(text.contains(&told), "{text}");
    assert!(text.contains("payment: too few (limit 80 s)"), "{text}");
}

#[test]
fn no_line_is_wider_than_asked_and_none_holds_an_escape_code() {
    for run in [sample_run::closed(), sample_run::open_partial()] {
        let text = text(&run, None);
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert!(
            !text.contains('\x1b'),
            "a server's message came through raw"
        );
    }
}

#[test]
fn the_split_is_told_in_words_with_the_servers_share() {
    let text = text(&sample_run::closed(), None)
        .replace('\u{a0}', " ")
        .replace("\n  ", " ");
    assert!(text.contains("the server took 170 µs (7.4 %)"), "{text}");
    assert!(text.contains("under the load this client really offered"));
    assert!(text.contains("12 server times are upper bounds"));
}

#[test]
fn one_kind_is_shown_once_under_its_name() {
    let text = text(&sample_run::closed(), None);
    assert!(text.contains("\n  tpcb  2.08 ms"), "{text}");
    assert!(!text.contains("\n  all "));
}

#[test]
fn an_open_loop_shows_both_times_and_absent_percentiles_are_explained() {
    let text = text(&sample_run::open_partial(), None);
    assert!(text.contains("from the scheduled start"));
    assert!(text.contains("Service time"));
    assert!(text.contains("–  46.2 ms  2.31 ms"), "{text}");
    assert!(text.contains("10 / (1 – q)"));
    assert!(text.contains("11 due but never started"));
}

#[test]
fn a_partial_run_and_a_missing_split_say_why() {
    let text = text(&sample_run::open_partial(), None);
    assert!(text.contains("PARTIAL RESULT: ended early: SIGINT."));
    assert!(text.contains("Not known: unix sockets give no receive stamps"));
    let mut run = sample_run::closed();
    run.state = State::Running;
    assert!(self::text(&run, None).contains("STILL RUNNING"));
    run.measured.kinds.truncate(1);
    run.measured.kinds[0].split = None;
    run.measured.kinds[0].committed = 0;
    assert!(self::text(&run, None).contains("Not known: no transaction committed."));
}

#[test]
fn an_outage_without_an_end_lasts_to_the_end() {
    let mut run = sample_run::closed();
    assert!(text(&run, None).contains("at 2 s, for 400 ms: outage"));
    run.events[0].until_s = None;
    assert!(text(&run, None).contains("from 2 s to the end: outage"));
}

#[test]
fn the_split_of_a_connection_a_transaction_begins_after_connecting() {
    let mut run = sample_run::closed();
    for kind in &mut run.measured.kinds {
        kind.connect = Some(kind.service.clone());
    }
    let text = text(&run, None).replace('\u{a0}', " ");
    assert!(text.contains("after connecting, the server took"), "{text}");
}

#[test]
fn an_invalid_figure_is_flagged_beside_it_and_first_among_the_checks() {
    let mut run = sample_run::closed();
    run.checks[0].severity = Severity::Invalid;
    let text = text(&run, None);
    assert!(text.contains("must not be used"));
    assert!(
        text.find("invalid  littles-law").unwrap() < text.find("caveat   client-limit").unwrap()
    );
}

#[test]
fn a_run_without_a_single_transaction_is_still_shown() {
    let mut run = sample_run::closed();
    run.measured = Default::default();
    run.window.warmup_s = 0.0;
    run.series.clear();
    let text = text(&run, None);
    assert!(text.contains("\n  Nothing was measured\n"), "{text}");
    assert!(
        text.contains("\n  No second of its load was recorded.\n"),
        "{text}"
    );
    run.measured.seconds = 3.0;
    let told = words(&run);
    assert!(told.contains("0 transactions/s committed"), "{told}");
}

#[test]
fn what_was_there_before_is_not_said_to_be_stored() {
    let mut out = Vec::new();
    let document = Stored::Before {
        document: "/tmp/x.json",
    };
    write(
        &mut out,
        &Style::plain(),
        &sample_run::closed(),
        Some(document),
    )
    .unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.ends_with("\nRead from /tmp/x.json\n"), "{text}");
    assert!(!text.contains("Stored in"), "{text}");
}

#[test]
fn what_the_kernel_did_not_tell_is_unknown_and_not_zero() {
    let mut run = sample_run::closed();
    let told = words(&run);
    assert!(told.contains("CPU 3.20 s user + 2.10 s system, 47.8 µs a committed transaction"));
    assert!(told.contains("stolen 0 %") && told.contains("memory at most 34 MB"));
    assert!(!told.contains("unknown"), "{told}");
    assert!(!told.contains("SCHED_BATCH"), "none asked for it: {told}");
    run.client.batch = Some(prony_store::Batch {
        under: 3,
        left: 1,
        refused: 0,
    });
    let told = words(&run);
    assert!(
        told.contains(
            "SCHED_BATCH, asked for by 4 workers: 3 ran under it, 1 went back from it, because other \
             programs made them wait"
        ),
        "{told}"
    );
    run.client = prony_store::Client {
        loop_delay_max_ns: 900_000,
        ..Default::default()
    };
    let told = words(&run);
    assert!(
        told.contains(
            "CPU unknown user + unknown system, unknown a committed transaction; busiest thread \
             unknown of a CPU; ready but without a CPU for unknown; stolen unknown"
        ),
        "{told}"
    );
    assert!(told.contains("memory at most unknown"), "{told}");
    run.host.cpu = String::new();
    run.host.memory_bytes = 0;
    let told = words(&run);
    assert!(told.contains("client bench1, 8 CPUs, kernel "), "{told}");
}

/// The text on one line.
fn words(run: &Run) -> String {
    let text = text(run, None).replace('\u{a0}', " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What was looked at in the four seconds after the one of warm-up.
fn watched() -> Run {
    use prony_store::{MachineSecond, Missing, Observed, ObserverCost, ServerSecond, ServerState};
    let mut run = sample_run::closed();
    let row = |at: u32| ServerSecond {
        at_s: f64::from(at),
        seconds: 1.0,
        cache_hits: Some(990),
        cache_reads: Some(10),
        log_bytes: Some(3_000_000),
        active: Some(at),
        waits: [("CPU".to_owned(), 3), ("IO/WalSync\x1b[31m".to_owned(), 1)].into(),
        machine: Some(MachineSecond {
            busy: Some(0.87),
            server_cpu_s: Some(1.5),
            disk_write_bytes: Some(40_000_000),
            ..MachineSecond::default()
        }),
        ..ServerSecond::default()
    };
    run.observed = Some(Observed {
        before: Some(ServerState {
            database_bytes: Some(1_500_000_000),
            replication: Some("none".to_owned()),
            ..ServerState::default()
        }),
        machine: prony_store::Machine {
            source: Some("/proc".to_owned()),
            cpus: Some(16),
            ..Default::default()
        },
        series: (0..5).map(row).collect(),
        events: vec![prony_store::Event {
            at_s: 2.0,
            until_s: Some(3.0),
            what: "checkpoint".to_owned(),
            ..Default::default()
        }],
        missing: vec![Missing {
            what: "replication lag".to_owned(),
            why: "permission denied".to_owned(),
        }],
        cost: Some(ObserverCost {
            queries: 24,
            client_cpu_s: Some(0.004),
            ..ObserverCost::default()
        }),
        ..Observed::default()
    });
    run
}

#[test]
fn what_was_seen_of_the_server_is_told_briefly() {
    assert!(
        !words(&sample_run::closed()).contains("The server, in"),
        "an older document"
    );
    let run = watched();
    let told = words(&run);
    for part in [
        "87 % of 16 CPUs busy, its processes 1.50 CPUs; I/O wait unknown",
        "disk unknown busy, unknown read, 40 MB/s written",
        "99.0 % of the pages found, for a database of 1.5 GB; 12 MB of log; 1 checkpoint; at most 4 sessions \
         at work",
        "sessions at work: CPU 75 %, IO/WalSync",
        "durability class unknown, replication none; looking at it: 24 queries, 4.00 ms of CPU",
        "not seen: replication lag (permission denied)",
    ] {
        assert!(told.contains(part), "no `{part}` in {told}");
    }
    let text = text(&run, None);
    assert!(!text.contains('\x1b') && text.lines().all(|line| line.chars().count() <= 80));
    let mut off = run;
    off.observed.as_mut().unwrap().off = Some("--no-observe was given".to_owned());
    assert!(words(&off).contains("not observed: --no-observe was given"));
}

#[test]
fn what_could_not_be_seen_of_the_server_is_not_said_to_be_absent() {
    let mut run = watched();
    let seen = run.observed.as_mut().unwrap();
    (seen.before, seen.events, seen.missing) = (None, Vec::new(), Vec::new());
    for row in &mut seen.series {
        (row.cache_hits, row.log_bytes, row.active) = (None, None, None);
    }
    let work = |run: &Run| super::server::lines(run, run.observed.as_ref().unwrap())[1].clone();
    assert_eq!(work(&run), "no checkpoint, vacuum or backup seen");
    let mut without = |what: &str| {
        let missing = &mut run.observed.as_mut().unwrap().missing;
        missing.push(prony_store::Missing {
            what: what.to_owned(),
            why: "permission denied".to_owned(),
        });
        work(&run)
    };
    assert_eq!(
        without("tables"),
        "no checkpoint or backup seen, vacuum not seen"
    );
    assert_eq!(
        without("checkpoints"),
        "no backup seen, checkpoint and vacuum not seen"
    );
    assert_eq!(without("vacuums"), "checkpoint, vacuum and backup not seen");
    run.observed.as_mut().unwrap().series[2].lock_waits = Some(3);
    assert!(work(&run).ends_with("; at most 3 sessions waiting for a lock"));
}

#[test]
fn the_verdict_is_one_line_under_the_figure() {
    let mut run = sample_run::closed();
    let text = text(&run, None);
    let verdict = "  Valid, with 1 caveat: client-limit.";
    let at = text.lines().position(|line| line == verdict);
    assert!(at.is_some_and(|at| at < 12), "{text}");
    run.checks.truncate(1);
    assert!(words(&run).contains("Valid: nothing was found against it."));
    run.checks[0].severity = Severity::Invalid;
    assert!(words(&run).contains("Invalid (littles-law): this figure must not be used"));
    run.checks.clear();
    run.state = State::Running;
    assert!(!words(&run).contains("Valid"), "it has not been judged");
    run.state = State::Partial;
    let told = words(&run);
    assert!(told.contains("Not judged, and partial"), "{told}");
    assert!(!told.contains("Valid"), "{told}");
}

#[test]
fn notes_come_without_advice() {
    let mut run = sample_run::closed();
    run.checks[0].advice = "Do nothing at all.".to_owned();
    let told = words(&run);
    assert!(told.contains("note littles-law: 64 clients"), "{told}");
    assert!(!told.contains("Do nothing at all."), "{told}");
    assert!(told.contains("Use more threads"), "a caveat has it");
}

/// Of a run that ended in its warm-up, or whose journal has only its first line.
#[test]
fn what_was_not_measured_is_no_zero() {
    let mut run = sample_run::closed();
    run.state = State::Partial;
    run.ended_because = Some("interrupted".to_owned());
    run.series.clear();
    run.events.clear();
    run.window.warmup_s = 1.4;
    let zeros = prony_store::KindFigures {
        kind: "all".to_owned(),
        ..Default::default()
    };
    run.measured = prony_store::Figures {
        kinds: vec![zeros],
        ..Default::default()
    };
    run.client = Default::default();
    run.drive.io.clear();
    run.drive.io_reason.clear();
    run.drive.network.clear();
    run.checks.truncate(1);
    run.checks[0].severity = Severity::Invalid;
    let told = words(&run);
    assert!(
        told.contains(
            "Nothing was measured The measured window had not begun after 1.4 s of warm-up."
        ),
        "{told}"
    );
    assert!(told.contains("): there is no figure, see"), "{told}");
    assert!(
        told.contains("interrupted. Nothing was measured."),
        "{told}"
    );
    assert!(told.contains("worst loop delay unknown"), "{told}");
    assert!(told.contains("I/O unknown; network unknown"), "{told}");
    assert!(
        !told.contains("transactions/s") && !told.contains("0 s measured"),
        "{told}"
    );
    run.window.warmup_s = 0.0;
    assert!(words(&run).contains("No second of its load was recorded."));
}
