//! Output lines, logs and profiles match recorded runs.

use crate::hammer::backend::FakeBackend;
use crate::support::*;
use prony_assertions::TextAssertions;
use prony_dialect::hammerdb::text::{
    Destination, assigned_warehouses, complete_line, connect_failure, counter_entry, counter_line,
    counter_log_header, creating_line, log_entry, log_header,
};
use prony_dialect::hammerdb::{
    ProcTiming, Settings, TimeProfile, Timeline, TimelineEvent, UserTiming, select_profile,
};
use prony_server::control::{ConnectFailure, Error, FailureCause};
use prony_server::{Address, Endpoint};
use prony_wire::{ConnectError, Protocol, ServerError};
use proptest::prelude::*;
use std::time::Duration;

#[test]
fn a_refused_login_names_what_may_be_missing() {
    let text = |code: &[u8; 5], message: &str| {
        let refusal = ServerError::new(Protocol::PostgreSql, 0, *code, message.to_owned());
        let failure = ConnectFailure {
            endpoint: Box::new(Endpoint {
                address: Address::Tcp(([127, 0, 0, 1], 5432).into()),
                host: "localhost".to_owned(),
                port: 5432,
                password: None,
            }),
            cause: FailureCause::Login(ConnectError::Server(Box::new(refusal))),
        };
        let destination = Destination {
            database: "tpcc",
            server: "",
            user: "tpcc",
        };
        connect_failure(&destination, "tpcc", &Error::Connect(vec![failure]))
    };
    let missing = text(b"28000", "role \"tpcc\" does not exist");
    missing
        .assert_ends_with("\nbuildschema creates the user of the schema; a superuser must exist");
    missing.assert_lacks("Passwords");
    let wrong = text(b"28P01", "password authentication failed for user \"tpcc\"");
    wrong.assert_contains("\nPasswords are not stored between calls: set them with diset tpcc. ");
    wrong.assert_ends_with("buildschema creates the user of the schema");
}

#[test]
fn lines_match_the_recorded_runs() {
    let printed_by = |settings: &str| -> Vec<String> {
        let (backend, _) = run_file(&format!("{settings}\nvurun"));
        let timeline = Timeline::new(&backend.runs[0], Duration::from_secs(60), 1, None);
        let lines = timeline.into_iter().filter_map(|(_, event)| match event {
            TimelineEvent::PrintLine(_, line) => Some(line),
            _ => None,
        });
        lines.collect()
    };
    let timed = "diset tpcc pg_driver timed\ndiset tpcc pg_rampup 1\ndiset tpcc pg_duration 1\n\
                 diset tpcc pg_timeprofile true\ndiset tpcc pg_allwarehouse true";
    let assigning = "VU 2 : Assigning WID=1 based on VU count 1, Warehouses = 1 (1 out of 1)";
    let expected = [
        "Initializing xtprof time profiler",
        "Beginning rampup time of 1 minutes",
        "Initializing xtprof time profiler",
        assigning,
        "Processing 10000000 transactions with output suppressed...",
        "Rampup 1 minutes complete ...",
        "Rampup complete, Taking start Transaction Count.",
        "Timing test period of 1 in minutes",
        "1 ...,",
        "Test complete, Taking end Transaction Count.",
    ];
    assert_eq!(printed_by(timed), expected);
    assert_eq!(
        printed_by("diset tpcc pg_driver test\ndiset tpcc pg_total_iterations 20"),
        ["Processing 20 transactions without output suppressed..."]
    );
    let date = "Fri Nov 20 22:30:42 UTC 2026";
    assert_eq!(
        log_header(date),
        "Hammerdb Log @ Fri Nov 20 22:30:42 UTC 2026\n+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-\n"
    );
    assert_eq!(
        log_entry(1, "Timing test period of 1 in minutes", Some(date)),
        "Timestamp 1 @ Fri Nov 20 22:30:42 UTC 2026\nVuser 1:Timing test period of 1 in minutes\n"
    );
    assert_eq!(assigned_warehouses(3, 2, 5), [2, 4, 1]);
    assert_eq!(assigned_warehouses(4, 3, 1), [1]);
}

#[test]
fn the_time_profile_matches_xtprof() {
    let proc = |name: &str, calls, total_ns| ProcTiming {
        name: name.to_owned(),
        calls,
        min_ns: 160_000,
        max_ns: 184_070_000,
        total_ns,
        p99_ns: 4_270_000,
        p95_ns: 1_271_000,
        p50_ns: 324_000,
        deviation_ns: 1_831_759.0,
    };
    let procs = vec![
        proc("OSTAT", 5385, 1_429_287_000),
        proc("NEWORD", 55_132, 29_908_957_000),
    ];
    let profile = TimeProfile {
        database: "PostgreSQL".to_owned(),
        date: "Fri Nov 20 22:24:08 UTC 2026".to_owned(),
        users: vec![UserTiming {
            vuser: 2,
            elapsed_ns: 59_885_000_000,
            procs: procs.clone(),
        }],
        summary: procs,
    };
    let text = profile.text();
    text.assert_starts_with("PostgreSQL Hammerdb Time Profile Report @ Fri Nov 20 22:24:08 UTC 2026\n+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+\n>>>>> VIRTUAL USER 2 : ELAPSED TIME : 59885ms\n>>>>> PROC: NEWORD\nCALLS: 55132\tMIN: 0.160ms\tAVG: 0.542ms\tMAX: 184.070ms\tTOTAL: 29908.957ms\nP99: 4.270ms\tP95: 1.271ms\tP50: 0.324ms\tSD: 1831.759\tRATIO: 49.944%\n>>>>> PROC: OSTAT\n");
    text.assert_contains(
        "\n>>>>> SUMMARY OF 1 ACTIVE VIRTUAL USERS : MEDIAN ELAPSED TIME : 59885ms\n",
    );
    text.assert_ends_with("RATIO: 2.387%\n+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+\n");
}

#[test]
fn the_transaction_counter_applies_to_the_following_runs() {
    let (backend, status) = run_file(
        "tcset refreshrate 30\ntcset refreshrate 0\ntcset logtotemp 1\nvurun\ntcstart\ntcstatus\nvurun\ntcstop\nmetstart\n\
         vurun",
    );
    assert_eq!(status, 0, "{}", backend.memory.error);
    assert_eq!(backend.runs[0].counter, None);
    let counter = backend.runs[1].counter.as_ref().unwrap();
    assert_eq!(counter.refresh_s, 30);
    assert_eq!(counter.log_path.as_deref(), Some("/tmp/hdbtcount.log"));
    assert_eq!(backend.runs[2].counter, None);
    let out = &backend.memory.out;
    out.assert_starts_with("Transaction Counter refresh rate set to 30\n\rError: refresh rate must be an integer of 1 or greater\n\rTransaction Counter log to temp set to 1\n\r");
    out.assert_contains("Transaction Counter logging activated to /tmp/hdbtcount.log\n\rTransaction Counter Started\n\r");
    out.assert_contains("Stopping Transaction Counter\n\rClosed Transaction Counter Log\n\rProny's hammerdbcli does not support metstart");
    assert_eq!(
        counter_log_header("D"),
        "Hammerdb Transaction Counter Log @ D\n+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+\n"
    );
    assert_eq!(counter_line(270, "PostgreSQL"), "270 PostgreSQL tpm");
    // A script that replaces TPC-C is an error: continuing would report a figure of a different workload.
    let (backend, status) = run_file("customscript other.tcl\nvurun");
    assert_eq!((status, backend.runs.len()), (1, 0));
}

#[test]
fn a_counter_entry_ends_with_its_time() {
    let date = "Sun Nov 22 19:52:09 UTC 2026";
    assert_eq!(
        counter_entry("10356 PostgreSQL tpm", Some(date)),
        "10356 PostgreSQL tpm @ Sun Nov 22 19:52:09 UTC 2026\n"
    );
    let plain = counter_entry("10356 PostgreSQL tpm", None);
    assert_eq!(plain, "10356 PostgreSQL tpm\n");
}

#[test]
fn build_lines_name_the_schema_in_capitals() {
    assert_eq!(creating_line("tpcch"), "CREATING TPCCH SCHEMA");
    assert_eq!(complete_line("tpcch"), "TPCCH SCHEMA COMPLETE");
}

#[test]
fn compat_selects_the_profile() {
    assert_eq!(select_profile(None).unwrap().0, "hammerdb");
    assert_eq!(select_profile(Some("4.6")).unwrap().0, "hammerdb-4.6");
    select_profile(Some("4.6"))
        .unwrap()
        .1
        .assert_contains("hammerdb-4.6");
    assert!(select_profile(Some("5")).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_script_panics(tokens in prop::collection::vec(
        prop::sample::select(vec![
            "dbset", "diset", "giset", "vuset", "print", "loadscript", "vucreate", "vurun", "vudestroy",
            "vustatus", "buildschema", "deleteschema", "checkschema", "tcset", "tcstart", "tcstop", "help",
            "jobs", "db", "bm", "pg", "maria", "tpcc", "connection", "pg_count_ware", "pg_num_vu", "pg_port",
            "pg_driver", "test", "timed", "vu", "delay", "logtotemp", "-1", "0", "1", "2", "é", "true",
            "dict", "generic", "vuconf", "benchmark", "first_result", "TPM", "\n", ";", "\n", ";", "{", "}", "\"",
        ]),
        0..60,
    )) {
        let mut backend = FakeBackend::default();
        let (mut console, _) = run_input(&mut backend, Settings::default(), &tokens.join(" "));
        console.end_input(&mut backend);
        prop_assert!(backend.runs.iter().all(|run| run.vusers >= 1));
    }
}
