use super::*;
use crate::input::value_from_flag;
use prony_assertions::TextAssertions;

fn tpcb_input() -> PlanInput {
    PlanInput {
        workload: value_from_flag("tpcb", Some("tpcb".to_owned())),
        ..PlanInput::default()
    }
}

fn assert_problem(input: PlanInput, location: &str, message: &str) {
    let problems = input.check().unwrap_err().0;
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].location.to_string(), location);
    assert_eq!(problems[0].message, message);
}

#[test]
fn defaults_are_filled_in() {
    let plan = tpcb_input().check().unwrap();
    assert_eq!(plan.server, ServerPlan::Url(String::new()));
    assert_eq!(plan.workload.scale, None);
    let default = DrivePlan {
        threads: default_threads(8, cpu_count()),
        warmup: Duration::from_secs(5),
        warmup_max: Some(Duration::from_secs(30)),
        ..DrivePlan::default()
    };
    assert_eq!(plan.drive, default);
}

#[test]
fn a_load_at_a_rate_has_more_clients() {
    let at_rate = PlanInput {
        rate_tps: value_from_flag("--rate", Some(100.0)),
        ..tpcb_input()
    };
    assert_eq!(at_rate.check().unwrap().drive.clients, 32);
}

#[test]
fn limits_are_inclusive() {
    let clients = |count| PlanInput {
        clients: value_from_flag("--clients", Some(count)),
        ..tpcb_input()
    };
    assert!(clients(1).check().is_ok());
    assert!(clients(1_000_000).check().is_ok());
    for count in [0, 1_000_001, u64::MAX] {
        let message = format!("must be from 1 to 1000000, is {count}");
        assert_problem(clients(count), "--clients", &message);
    }
    let scale = |scale| PlanInput {
        scale: value_from_flag("--scale", Some(scale)),
        ..tpcb_input()
    };
    assert_eq!(scale(9).check().unwrap().workload.scale, Some(9));
    assert_problem(scale(0), "--scale", "must be from 1 to 2000000000, is 0");
}

#[test]
fn a_server_for_reads_needs_a_server_of_its_own() {
    let with_reads = |url: Option<&str>, share| PlanInput {
        read_from: value_from_flag("--read-from", url.map(str::to_owned)),
        read_share: value_from_flag("--read-share", share),
        ..tpcb_input()
    };
    let plan = with_reads(Some("postgres://b/d"), Some(25))
        .check()
        .unwrap();
    let read_from = ServerPlan::Url("postgres://b/d".to_owned());
    assert_eq!(
        (plan.read_from, plan.drive.read_share),
        (Some(read_from), 25)
    );
    assert_problem(with_reads(Some(""), None), "--read-from", "is empty");
    assert_problem(
        with_reads(None, Some(25)),
        "--read-share",
        "has no effect without read_from",
    );
    let with_embedded = PlanInput {
        embedded: value_from_flag("--embedded", Some(true)),
        ..with_reads(Some("postgres://b/d"), None)
    };
    assert_problem(
        with_embedded,
        "--read-from",
        "read_from and embedded (--embedded) exclude each other",
    );
    // The replicas of another server are not those of this one.
    let other = PlanInput {
        url: value_from_flag("--url", Some("postgres://c/d".to_owned())),
        ..PlanInput::default()
    };
    let file = PlanInput {
        url: value_from_flag("file", Some("postgres://a/d".to_owned())),
        ..with_reads(Some("postgres://b/d"), Some(25))
    };
    assert_eq!(file.overlay(other).check().unwrap().read_from, None);
}

#[test]
fn threads_and_tcp_sample_are_at_most_the_clients() {
    let with_threads = |threads, tcp_sample| PlanInput {
        clients: value_from_flag("--clients", Some(4)),
        threads: value_from_flag("--threads", Some(threads)),
        tcp_sample: value_from_flag("--tcp-sample", Some(tcp_sample)),
        ..tpcb_input()
    };
    assert!(with_threads(4, 4).check().is_ok());
    let message = "5 threads are more than the 4 clients";
    assert_problem(with_threads(5, 0), "--threads", message);
    let message = "a sample of 5 is more than the 4 clients";
    assert_problem(with_threads(1, 5), "--tcp-sample", message);
}

#[test]
fn a_rate_and_an_arrival_make_the_pace() {
    let with_rate = |rate_tps, arrival| PlanInput {
        rate_tps: value_from_flag("--rate", rate_tps),
        arrival: value_from_flag("--arrival", arrival),
        ..tpcb_input()
    };
    let pace = |input: PlanInput| input.check().unwrap().drive.pace;
    let poisson = Pace::Rate {
        rate_tps: 0.5,
        arrival: Arrival::Poisson,
        queue_max: None,
    };
    assert_eq!(pace(with_rate(Some(0.5), None)), poisson);
    let even = Pace::Rate {
        rate_tps: 1e9,
        arrival: Arrival::Even,
        queue_max: None,
    };
    assert_eq!(pace(with_rate(Some(1e9), Some(Arrival::Even))), even);
    let message = "arrival has no effect without a rate";
    assert_problem(with_rate(None, Some(Arrival::Even)), "--arrival", message);
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 1.1e9] {
        let problems = with_rate(Some(rate), None).check().unwrap_err().0;
        problems[0].message.assert_starts_with("must be above 0");
    }
}

#[test]
fn a_replay_has_the_pace_and_the_end_of_its_sessions() {
    let replay = |speed: Option<&str>| {
        let mut input = tpcb_input();
        input.workload = value_from_flag("replay", Some(REPLAY_WORKLOAD.to_owned()));
        input.set_option("--speed", "speed", speed);
        input
    };
    let second = Duration::from_secs(1);
    for (speed, pace, warmup) in [
        (None, Pace::Timetable, second),
        (Some("2"), Pace::Timetable, second),
        (Some("max"), Pace::Closed, Duration::ZERO),
    ] {
        let drive = replay(speed).check().unwrap().drive;
        assert_eq!((drive.pace, drive.stop), (pace, Stop::WorkDone));
        // The sessions connect in it.
        assert_eq!((drive.warmup, drive.warmup_max), (warmup, None));
        assert!(drive.statement_latency);
    }
    let minute = Duration::from_secs(60);
    let short = PlanInput {
        duration: value_from_flag("--duration", Some(minute)),
        ..replay(None)
    };
    let drive = short.check().unwrap().drive;
    assert_eq!((drive.stop, drive.warmup), (Stop::After(minute), second));
    let cold = PlanInput {
        warmup: value_from_flag("--warmup", Some(Duration::ZERO)),
        ..replay(None)
    };
    let problems = cold.check().unwrap_err().0;
    problems[0]
        .message
        .assert_starts_with("must be at least 1s");
    let at_rate = PlanInput {
        rate_tps: value_from_flag("--rate", Some(10.0)),
        ..replay(None)
    };
    assert_problem(at_rate, "--rate", "a replay has no rate");
    let counted = PlanInput {
        transactions: value_from_flag("--transactions", Some(10)),
        ..replay(None)
    };
    let message = "a replay ends with its last session, or after a duration";
    assert_problem(counted, "--transactions", message);
    let reads = PlanInput {
        read_from: value_from_flag("--read-from", Some("postgres://replica/bench".into())),
        ..replay(None)
    };
    let message = "a replay sends each session to one server";
    assert_problem(reads, "--read-from", message);
    let connecting = PlanInput {
        connect_per_transaction: value_from_flag("--connect-per-transaction", Some(true)),
        ..replay(None)
    };
    let message = "each recorded session has a connection of its own";
    assert_problem(connecting, "--connect-per-transaction", message);
}

#[test]
fn a_run_stops_after_a_time_or_a_count() {
    let with_stop = |seconds: Option<u64>, transactions| PlanInput {
        duration: value_from_flag("--duration", seconds.map(Duration::from_secs)),
        transactions: value_from_flag("--transactions", transactions),
        warmup: value_from_flag("--warmup", Some(Duration::from_secs(10))),
        ..tpcb_input()
    };
    let stop = |input: PlanInput| input.check().unwrap().drive.stop;
    // A warm-up is allowed with a count, which starts at the end of the warm-up.
    assert_eq!(stop(with_stop(None, Some(7))), Stop::Transactions(7));
    let second = Duration::from_secs(1);
    assert_eq!(stop(with_stop(Some(1), None)), Stop::After(second));
    assert_problem(
        with_stop(Some(0), None),
        "--duration",
        "must be more than 0",
    );
    assert_problem(
        with_stop(None, Some(0)),
        "--transactions",
        "must be at least 1, is 0",
    );
    let message = "transactions and duration (--duration) exclude each other";
    assert_problem(with_stop(Some(1), Some(1)), "--transactions", message);
    let year = with_stop(Some(367 * 86_400), None);
    assert_problem(year, "--duration", "must be at most 366d, is 8808h");
}

#[test]
fn a_window_of_twenty_seconds_or_more_has_a_warm_up() {
    let warmup = |duration: Option<u64>, transactions, warmup: Option<u64>| {
        let input = PlanInput {
            duration: value_from_flag("--duration", duration.map(Duration::from_secs)),
            transactions: value_from_flag("--transactions", transactions),
            warmup: value_from_flag("--warmup", warmup.map(Duration::from_secs)),
            ..tpcb_input()
        };
        input.check().unwrap().drive.warmup.as_secs()
    };
    assert_eq!(warmup(None, None, None), 5, "the usual window of a minute");
    assert_eq!(warmup(Some(20), None, None), 5);
    assert_eq!(warmup(Some(19), None, None), 0);
    assert_eq!(warmup(None, Some(7), None), 0);
    assert_eq!(
        (warmup(None, None, Some(0)), warmup(Some(1), None, Some(3))),
        (0, 3)
    );
    // A checked plan keeps its warm-up, whatever the default is.
    for warmup in [Some(0), Some(7), None] {
        let input = PlanInput {
            warmup: value_from_flag("--warmup", warmup.map(Duration::from_secs)),
            ..tpcb_input()
        };
        let plan = input.check().unwrap();
        assert_eq!(plan.drive.warmup_max.is_some(), warmup.is_none());
        assert_eq!(
            PlanInput::from_plan(&plan, None).check().unwrap().drive,
            plan.drive
        );
    }
}

#[test]
fn the_workload_needs_a_valid_name() {
    let named = |name: Option<&str>| PlanInput {
        workload: value_from_flag("WORKLOAD", name.map(str::to_owned)),
        ..PlanInput::default()
    };
    assert_problem(named(None), "workload.name", "is missing");
    for name in ["", "tpc b", "5", "-x", "täpcb", "a;b"] {
        let message = format!("\"{name}\" is not the name of a workload");
        assert_problem(named(Some(name)), "WORKLOAD", &message);
    }
    assert!(named(Some("select-only")).check().is_ok());
    assert!(named(Some("tpcc_2")).check().is_ok());
    let missing = PlanInput::from_toml("p.toml", "").unwrap();
    assert_problem(missing, "p.toml (workload.name)", "is missing");
}

#[test]
fn a_url_and_an_embedded_server_exclude_each_other() {
    let with_server = |url: &str, embedded| PlanInput {
        url: value_from_flag("--url", Some(url.to_owned())),
        embedded: value_from_flag("--embedded", Some(embedded)),
        ..tpcb_input()
    };
    let message = "embedded and url (--url) exclude each other";
    assert_problem(with_server("postgres://h/d", true), "--embedded", message);
    let plan = with_server("postgres://h/d", false).check().unwrap();
    assert_eq!(plan.server, ServerPlan::Url("postgres://h/d".to_owned()));
    assert_problem(
        with_server("postgres://h/\0", false),
        "--url",
        "contains a zero byte",
    );
}

#[test]
fn observe_settings_come_from_files_and_flags() {
    let text = "[workload]\nname = \"tpcb\"\n[observe]\nserver_metrics = \"http://db1:9100\"\n\
                metrics_listen = \"9187\"\n";
    let file = || PlanInput::from_toml("p.toml", text).unwrap();
    let plan = file().check().unwrap().observe;
    assert!(plan.server);
    assert_eq!(plan.server_metrics.as_deref(), Some("http://db1:9100"));
    assert_eq!(plan.metrics_listen.unwrap().to_string(), "127.0.0.1:9187");
    // A flag takes precedence, and drops settings that it excludes.
    let flags = PlanInput {
        observe: value_from_flag("--no-observe", Some(false)),
        metrics_listen: value_from_flag("--metrics-listen", Some("[::1]:0".to_owned())),
        ..PlanInput::default()
    };
    let plan = file().overlay(flags).check().unwrap().observe;
    assert_eq!((plan.server, plan.server_metrics), (false, None));
    assert_eq!(plan.metrics_listen.unwrap().to_string(), "[::1]:0");
    let not_observed = "[workload]\nname = \"tpcb\"\n[observe]\nserver = false\n";
    let metrics = PlanInput {
        server_metrics: value_from_flag("--server-metrics", Some("http://db1".to_owned())),
        ..PlanInput::default()
    };
    let plan = PlanInput::from_toml("p.toml", not_observed)
        .unwrap()
        .overlay(metrics);
    assert!(plan.check().unwrap().observe.server);
    assert_eq!(
        tpcb_input().check().unwrap().observe,
        ObservePlan::default()
    );
}

#[test]
fn mistakes_in_observe_settings_are_reported() {
    let problems_of = |lines: &str| {
        let text = format!("[workload]\nname = \"tpcb\"\n[observe]\n{lines}");
        let plan = PlanInput::from_toml("p.toml", &text).and_then(PlanInput::check);
        plan.unwrap_err().to_string()
    };
    for (lines, expected) in [
        (
            "server = false\nserver_metrics = \"http://db1\"\n",
            "p.toml:5:18 (observe.server_metrics): has no effect if the server is not observed \
             (p.toml:4:10 (observe.server))",
        ),
        (
            "metrics_listen = \":9187\"\n",
            "p.toml:4:18 (observe.metrics_listen): ':9187' names no host\n  hint: 0.0.0.0",
        ),
        (
            "server_metrics = \"db1:9100\"\n",
            "p.toml:4:18 (observe.server_metrics): is not the URL of a node_exporter",
        ),
        (
            "metrics_listen = 9187\n",
            "must be a string, is a whole number",
        ),
        ("metric_listen = \"9187\"\n", "did you mean metrics_listen?"),
        ("clients = 3\n", "clients belongs under [run]"),
    ] {
        let message = problems_of(lines);
        message.assert_contains(expected);
    }
    let secret = problems_of("server_metrics = \"http://u:geheim@db1\"\n");
    secret.assert_contains("must not hold a user or a password");
    secret.assert_lacks("geheim");
}
