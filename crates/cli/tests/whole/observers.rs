//! Observers of a run in progress: Prometheus, a terminal; and other tools afterwards.

use crate::common::{Bench, WAIT_TIMEOUT, document, last, ok, signal, stderr_text};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Instant;

fn bench(name: &str) -> Bench {
    let bench = Bench::new(name);
    ok(&bench.prony("load tpcb --scale 2"));
    bench
}

/// The body of /metrics.
fn scrape(address: &str) -> String {
    let mut socket = TcpStream::connect(address).expect("it listens");
    socket.set_read_timeout(Some(WAIT_TIMEOUT)).unwrap();
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n");
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    body.to_owned()
}

/// The sum of the samples of all series with this prefix; `None` if there is no such series.
fn sum(body: &str, series: &str) -> Option<f64> {
    let values = body.lines().filter(|line| line.starts_with(series));
    let values = values.map(|line| {
        let value = line.rsplit(' ').next().expect("a value");
        value.parse::<f64>().expect("a number")
    });
    values.reduce(|sum, value| sum + value)
}

#[test]
fn prometheus_can_scrape_a_run() {
    let bench = bench("looking_on");
    let words = "run tpcb --clients 2 --duration 5m --rate 50 --metrics-listen 127.0.0.1:0";
    let mut command = bench.command(words);
    command.args(["--url", &bench.url]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
    let mut line = String::new();
    stderr.read_line(&mut line).expect("a line");
    let address = line.strip_prefix("prony: metrics at http://");
    let address = address.and_then(|rest| rest.trim_end().strip_suffix("/metrics"));
    let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    // A client that holds a connection open and sends nothing disturbs nobody.
    let _silent = TcpStream::connect(&address).expect("it listens");
    // Once the load runs and the server was observed, all families are there.
    let until = Instant::now() + WAIT_TIMEOUT;
    let committed = "prony_transactions_total{kind=\"tpcb\",outcome=\"committed\"}";
    let mut seen = Vec::new();
    while seen.len() < 2 {
        assert!(Instant::now() < until, "{seen:?}");
        std::thread::sleep(std::time::Duration::from_millis(300));
        let Some(body) = ready(&address) else {
            continue;
        };
        if sum(&body, committed) > Some(0.0) && sum(&body, "prony_server_cpu_busy").is_some() {
            seen.push(body);
        }
    }
    for body in &seen {
        assert_eq!(sum(body, "prony_clients "), Some(2.0));
        assert_eq!(
            sum(body, "prony_target_transactions_per_second "),
            Some(50.0)
        );
        let count = sum(body, "prony_response_seconds_count{kind=\"tpcb\"}");
        assert_eq!(count, sum(body, committed), "{body}");
        let all = sum(
            body,
            "prony_response_seconds_bucket{kind=\"tpcb\",le=\"+Inf\"}",
        );
        assert_eq!(count, all);
        assert!(body.contains("workload=\"tpcb\"") && body.contains("engine=\"postgresql\""));
        assert!(!body.contains(&bench.password), "{body}");
        let busy = sum(body, "prony_server_cpu_busy_ratio ").expect("it is on this machine");
        assert!((0.0..=1.0).contains(&busy), "{busy}");
    }
    assert!(sum(&seen[0], committed) <= sum(&seen[1], committed));

    // The port is taken during the run, and a second run fails before it starts its load.
    let other = bench.prony(&format!(
        "run tpcb --duration 1s --metrics-listen {address}"
    ));
    assert_eq!(other.status.code(), Some(2), "{}", stderr_text(&other));
    let messages = stderr_text(&other);
    assert!(
        messages.contains(&format!("--metrics-listen: {address} is in use")),
        "{messages}"
    );

    signal(&child, "-INT");
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).expect("text");
    let output = child.wait_with_output().expect("it ends");
    assert!(!output.stdout.is_empty(), "its partial result: {rest}");
    assert!(
        TcpStream::connect(&address).is_err(),
        "nobody listens any more"
    );
    // The document holds the address of the page, like every other option.
    let run = last(&bench);
    assert_eq!(run.plan["observe"]["metrics_listen"], "127.0.0.1:0");
}

/// The runs of one experiment share one address, which is also served in the pauses between them.
#[test]
fn prometheus_can_scrape_between_the_runs_of_an_experiment() {
    let bench = bench("looking_on_pauses");
    let plan = bench.home.join("paused.toml");
    // Between the runs it waits until the test has checked the page.
    let go = bench.home.join("go");
    let text = format!(
        "[workload]\nname = \"select-only\"\n[run]\ntransactions = 20\nclients = 1\n\
         [observe]\nmetrics_listen = \"0\"\n\
         [experiment]\nrepeats = 2\nbetween = \"until test -e '{0}'; do sleep 0.1; done\"\n",
        go.display()
    );
    std::fs::write(&plan, text).unwrap();
    let mut command = bench.command(&format!("run {} --progress 0s", plan.display()));
    command.args(["--url", &bench.url]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
    let mut messages = String::new();
    while !messages.contains("between the runs") {
        let count = stderr.read_line(&mut messages).expect("a line");
        assert!(count > 0, "{messages}");
    }
    let address = messages.strip_prefix("prony: metrics at http://");
    let address = address.and_then(|rest| rest.split("/metrics").next());
    let address = address.unwrap_or_else(|| panic!("{messages}")).to_owned();
    let first = last(&bench);
    let (body, again) = (scrape(&address), scrape(&address));
    assert!(body.contains(&format!("run=\"{}\"", first.id)), "{body}");
    assert_eq!(body, again);
    std::fs::write(&go, "").unwrap();
    stderr.read_to_string(&mut messages).expect("text");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{messages}");
    assert_eq!(messages.matches("metrics at").count(), 1, "{messages}");
    assert_ne!(last(&bench).id, first.id);
    assert!(TcpStream::connect(&address).is_err(), "nobody listens");
}

/// The page, once the run has begun.
fn ready(address: &str) -> Option<String> {
    let mut socket = TcpStream::connect(address).ok()?;
    socket.set_read_timeout(Some(WAIT_TIMEOUT)).ok()?;
    socket.write_all(b"HEAD /metrics HTTP/1.1\r\n\r\n").ok()?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer).ok()?;
    answer.starts_with("HTTP/1.1 200 ").then(|| scrape(address))
}

#[test]
fn an_invalid_metrics_address_is_refused_first() {
    let bench = Bench::new("looking_on_bad");
    let plan = bench.home.join("bad.toml");
    let text = "[workload]\nname = \"tpcb\"\n[observe]\nmetrics_listen = \":9187\"\n";
    std::fs::write(&plan, text).unwrap();
    // There are no tables either, but that is not the reported problem.
    for (words, expected) in [
        (
            "run tpcb --metrics-listen :9187".to_owned(),
            "--metrics-listen: ':9187' names no host",
        ),
        (
            "run tpcb --metrics-listen 192.0.2.1:0".to_owned(),
            "not an address of this machine",
        ),
        (
            format!("run {}", plan.display()),
            "bad.toml:4:18 (observe.metrics_listen): ':9187' names no host",
        ),
    ] {
        let output = bench.prony(&words);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{words}: {}",
            stderr_text(&output)
        );
        assert!(
            stderr_text(&output).contains(expected),
            "{words}: {}",
            stderr_text(&output)
        );
    }
}

#[test]
fn a_plan_can_disable_observation() {
    let bench = bench("looking_on_plan");
    let plan = bench.home.join("dark.toml");
    let text = "[workload]\nname = \"select-only\"\n[run]\nclients = 2\nduration = \"1s\"\n\
                [observe]\nserver = false\nmetrics_listen = \"0\"\n";
    std::fs::write(&plan, text).unwrap();
    let output = bench.prony(&format!("run {} --json", plan.display()));
    assert!(
        stderr_text(&output).contains("prony: metrics at http://127.0.0.1:"),
        "{}",
        stderr_text(&output)
    );
    let run = document(&output);
    let seen = run.observed.as_ref().expect("a word about it");
    let off = seen.off.as_deref().expect("nobody looked");
    assert!(
        off.starts_with("the plan disables it (") && off.ends_with(":7:10 (observe.server))"),
        "{off}"
    );
    assert!(seen.series.is_empty());
    let output = bench.local("show last --csv-server");
    assert_eq!(ok(&output).lines().count(), 1, "a header alone");
    assert!(
        stderr_text(&output).contains("was not observed"),
        "{}",
        stderr_text(&output)
    );
}

#[test]
fn distributions_and_server_seconds_can_be_exported() {
    let bench = bench("looking_on_after");
    let run = bench.run("run tpcb --clients 2 --duration 5s");
    let log = ok(&bench.local("show last --hdr-log"));
    let mut tags = Vec::new();
    for entry in IntervalLogIterator::new(log.as_bytes()) {
        let LogEntry::Interval(interval) = entry.expect("a line of a log") else {
            continue;
        };
        let bytes = STANDARD
            .decode(interval.encoded_histogram())
            .expect("base64");
        let histogram: hdrhistogram::Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .expect("a histogram");
        assert_eq!(histogram.len(), run.measured.kinds[0].committed);
        let p50_ns = run.measured.kinds[0]
            .response
            .p50_ns
            .expect("enough samples");
        assert_eq!(histogram.value_at_quantile(0.5), p50_ns);
        tags.push(interval.tag().map(|tag| tag.as_str().to_owned()));
    }
    assert_eq!(tags, [None, Some("tpcb".to_owned())]);
    assert!(log.contains("#[BaseTime: "), "{log}");

    let csv = ok(&bench.local("show last --csv-server"));
    let seen = run.observed.expect("it was observed").series.len();
    assert!(seen > 0);
    assert_eq!(csv.lines().count(), 1 + seen, "{csv}");
    assert!(csv.starts_with("at_s,seconds,commits,"), "{csv}");
}

/// Runs the program on a terminal of its own, by `script`; returns what the terminal received.
fn on_a_terminal(bench: &Bench, variables: &str, words: &str) -> Vec<u8> {
    let program = env!("CARGO_BIN_EXE_prony");
    // The result goes elsewhere: the terminal shows only stderr.
    let result = bench.home.join("result").display().to_string();
    let line = format!("stty cols 90 rows 30; exec env {variables} {program} {words} > {result}");
    let output = Command::new("script")
        .args(["-q", "-e", "-c", &line, "/dev/null"])
        .env("PRONY_HOME", &bench.home)
        .env("HOME", &bench.home)
        .env("PGPASSWORD", &bench.password)
        .stdin(Stdio::null())
        .output()
        .expect("script");
    output.stdout
}

#[test]
fn a_terminal_shows_charts_and_a_dumb_one_lines() {
    let bench = bench("looking_on_terminal");
    let url = bench.url.replace(&format!(":{}@", bench.password), "@");
    let words = format!("run tpcb --url {url} --clients 2 --duration 4s --no-store");
    let view = on_a_terminal(&bench, "TERM=xterm LC_ALL=C.UTF-8 NO_COLOR=", &words);
    let view = String::from_utf8(view).expect("text");
    // The last two moves up: to the first line of the view, and there again when its lines are erased.
    let after = view.rsplitn(3, "A\r").collect::<Vec<_>>();
    assert_eq!(after.len(), 3, "it was drawn: {view}");
    assert!(
        !after[..2].concat().contains(" TPS "),
        "the view is removed: {view}"
    );
    for word in [" TPS ", " p50 ", " p99 ", " host CPU ", "█", "\r\u{1b}[2K"] {
        assert!(view.contains(word), "no {word}: {view}");
    }
    assert!(
        !view.contains("\u{1b}[?"),
        "no mode of the terminal is changed: {view}"
    );

    let view = on_a_terminal(&bench, "TERM=xterm LC_ALL=C NO_COLOR=1", &words);
    assert!(view.is_ascii(), "{}", String::from_utf8_lossy(&view));
    let view = String::from_utf8_lossy(&view).into_owned();
    assert!(view.contains(" TPS ") && !view.contains('█'), "{view}");
    let codes = view.split("\u{1b}[").skip(1);
    let end = |code: &str| code.chars().find(char::is_ascii_alphabetic);
    assert!(
        codes
            .into_iter()
            .all(|code| matches!(end(code), Some('A' | 'K'))),
        "{view}"
    );

    let view = on_a_terminal(&bench, "TERM=dumb LC_ALL=C.UTF-8", &words);
    let view = String::from_utf8_lossy(&view).into_owned();
    assert!(view.contains("1 s: ") && !view.contains('\u{1b}'), "{view}");
}
