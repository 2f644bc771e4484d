//! Views of a run in progress (Prometheus, terminal) and exports of stored runs.

use crate::common::*;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

fn scrape(address: &str) -> String {
    let mut socket = TcpStream::connect(address).expect("it listens");
    socket.set_read_timeout(Some(WAIT_TIMEOUT)).unwrap();
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n");
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    head.assert_starts_with("HTTP/1.1 200 OK\r\n");
    body.to_owned()
}

/// Sums the samples of all series with this prefix; `None` without such a series.
fn sum_samples(body: &str, series: &str) -> Option<f64> {
    let values = body.lines().filter(|line| line.starts_with(series));
    let values = values.map(|line| {
        let value = line.rsplit(' ').next().expect("a value");
        value.parse::<f64>().expect("a number")
    });
    values.reduce(|sum, value| sum + value)
}

#[test]
fn prometheus_can_scrape_a_run() {
    let bench = TestBench::loaded("looking_on", 2);
    let arguments =
        "run tpcb --clients 2 --duration 5m --warmup 0s --rate 50 --metrics-listen 127.0.0.1:0";
    let mut child = spawn_piped(bench.command_with_url(arguments));
    let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
    let mut line = String::new();
    stderr.read_line(&mut line).expect("a line");
    let address = line.strip_prefix("prony: metrics at http://");
    let address = address.and_then(|text| text.trim_end().strip_suffix("/metrics"));
    let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
    address.assert_starts_with("127.0.0.1:");
    // A client that connects and sends nothing does not block other scrapes.
    let _idle_client = TcpStream::connect(&address).expect("it listens");
    // All metric families appear after the load has started and the server was observed.
    let deadline = Instant::now() + WAIT_TIMEOUT;
    let committed_series = "prony_transactions_total{kind=\"tpcb\",outcome=\"committed\"}";
    let mut bodies = Vec::new();
    while bodies.len() < 2 {
        assert!(Instant::now() < deadline, "{bodies:?}");
        std::thread::sleep(Duration::from_millis(300));
        let Some(body) = scrape_if_ready(&address) else {
            continue;
        };
        if sum_samples(&body, committed_series) > Some(0.0)
            && sum_samples(&body, "prony_server_cpu_busy").is_some()
        {
            bodies.push(body);
        }
    }
    for body in &bodies {
        assert_eq!(sum_samples(body, "prony_clients "), Some(2.0));
        assert_eq!(
            sum_samples(body, "prony_target_transactions_per_second "),
            Some(50.0)
        );
        let count = sum_samples(body, "prony_response_seconds_count{kind=\"tpcb\"}");
        assert_eq!(count, sum_samples(body, committed_series), "{body}");
        let bucket_count = sum_samples(
            body,
            "prony_response_seconds_bucket{kind=\"tpcb\",le=\"+Inf\"}",
        );
        assert_eq!(count, bucket_count);
        body.assert_contains("workload=\"tpcb\"");
        body.assert_contains("product=\"postgresql\"");
        assert!(!body.contains(&bench.password), "{body}");
        let busy = sum_samples(body, "prony_server_cpu_busy_ratio ").expect("the server's CPU");
        assert!((0.0..=1.0).contains(&busy), "{busy}");
    }
    assert!(sum_samples(&bodies[0], committed_series) <= sum_samples(&bodies[1], committed_series));

    // The port is in use, so a second run fails before its load.
    let second_run = bench.prony(&format!(
        "run tpcb --duration 1s --metrics-listen {address}"
    ));
    let messages = assert_code(&second_run, 2);
    messages.assert_contains(&format!("--metrics-listen: {address} is in use"));

    send_signal(&child, "-INT");
    let mut messages = String::new();
    stderr.read_to_string(&mut messages).expect("text");
    let output = child.wait_with_output().expect("it ends");
    assert!(!output.stdout.is_empty(), "no partial result: {messages}");
    assert!(
        TcpStream::connect(&address).is_err(),
        "the port is still open"
    );
    // The document contains the address, like all options.
    let run = last_run(&bench);
    assert_eq!(run.plan["observe"]["metrics_listen"], "127.0.0.1:0");
}

/// All runs of an experiment share one address, which is also served between the runs.
#[test]
fn prometheus_can_scrape_between_the_runs_of_an_experiment() {
    let bench = TestBench::loaded("looking_on_pauses", 2);
    // The command between the runs waits until the test has scraped the page.
    let continue_file = bench.home.join("continue");
    let text = format!(
        "[workload]\nname = \"select-only\"\n[run]\ntransactions = 20\nclients = 1\n\
         [observe]\nmetrics_listen = \"0\"\n\
         [experiment]\nrepeats = 2\nbetween = \"test $PRONY_REPEAT = 1 || until test -e '{0}'; do sleep 0.1; done\"\n",
        continue_file.display()
    );
    let plan = bench.home.write("paused.toml", text);
    let run = format!("run {} --progress 0s", plan.display());
    let mut child = spawn_piped(bench.command_with_url(&run));
    let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
    let mut messages = String::new();
    while messages.matches("before the run").count() < 2 {
        let count = stderr.read_line(&mut messages).expect("a line");
        assert!(count > 0, "{messages}");
    }
    let address = messages.strip_prefix("prony: metrics at http://");
    let address = address.and_then(|text| text.split("/metrics").next());
    let address = address.unwrap_or_else(|| panic!("{messages}")).to_owned();
    let first_run = last_run(&bench);
    let (body, second_body) = (scrape(&address), scrape(&address));
    body.assert_contains(&format!("run=\"{}\"", first_run.id));
    assert_eq!(body, second_body);
    std::fs::write(&continue_file, "").unwrap();
    stderr.read_to_string(&mut messages).expect("text");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{messages}");
    assert_eq!(messages.matches("metrics at").count(), 1, "{messages}");
    assert_ne!(last_run(&bench).id, first_run.id);
    assert!(
        TcpStream::connect(&address).is_err(),
        "the port is still open"
    );
}

/// Returns the page; `None` before the run has started.
fn scrape_if_ready(address: &str) -> Option<String> {
    let mut socket = TcpStream::connect(address).ok()?;
    socket.set_read_timeout(Some(WAIT_TIMEOUT)).ok()?;
    socket.write_all(b"HEAD /metrics HTTP/1.1\r\n\r\n").ok()?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer).ok()?;
    answer.starts_with("HTTP/1.1 200 ").then(|| scrape(address))
}

#[test]
fn an_invalid_metrics_address_is_refused_first() {
    let bench = TestBench::new("looking_on_bad");
    let text = "[workload]\nname = \"tpcb\"\n[observe]\nmetrics_listen = \":9187\"\n";
    let plan = bench.home.write("bad.toml", text);
    // The tables are missing too, but the address is checked first.
    for (arguments, expected) in [
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
        let output = bench.prony(&arguments);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{arguments}: {}",
            stderr_text(&output)
        );
        stderr_text(&output).assert_contains(expected);
    }
}

#[test]
fn a_plan_can_disable_observation() {
    let bench = TestBench::loaded("looking_on_plan", 2);
    let text = "[workload]\nname = \"select-only\"\n[run]\nclients = 2\nduration = \"1s\"\n\
                [observe]\nserver = false\nmetrics_listen = \"0\"\n";
    let plan = bench.home.write("dark.toml", text);
    let output = bench.prony(&format!("run {} --json", plan.display()));
    stderr_text(&output).assert_contains("prony: metrics at http://127.0.0.1:");
    let run = parse_run(&output);
    let observed = run.observed.as_ref().expect("an observation");
    let off = observed.off.as_deref().expect("a reason");
    off.assert_starts_with("the plan disables it (");
    off.assert_ends_with(":7:10 (observe.server))");
    let output = bench.prony_without_server("show last --csv-server");
    assert_eq!(ok_stdout(&output).lines().count(), 1, "only a header");
    stderr_text(&output).assert_contains("was not observed");
}

#[test]
fn distributions_and_server_seconds_can_be_exported() {
    let bench = TestBench::loaded("looking_on_after", 2);
    let run = bench.run("run tpcb --clients 2 --duration 5s");
    let log = bench.ok_without_server("show last --hdr-log");
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
        assert_eq!(histogram.len(), total_figures(&run.measured).committed);
        let p50_ns = total_figures(&run.measured)
            .response
            .p50_ns
            .expect("enough samples");
        assert_eq!(histogram.value_at_quantile(0.5), p50_ns);
        tags.push(interval.tag().map(|tag| tag.as_str().to_owned()));
    }
    assert_eq!(tags, [None, Some("tpcb".to_owned())]);
    log.assert_contains("#[BaseTime: ");

    let csv = bench.ok_without_server("show last --csv-server");
    let seconds = run.observed.expect("an observation").series.len();
    assert!(seconds > 0);
    assert_eq!(csv.lines().count(), 1 + seconds, "{csv}");
    csv.assert_starts_with("at_s,seconds,commits,");
}

/// Runs the program on a pseudo-terminal created by script(1); returns what it wrote to the terminal.
fn run_on_terminal(bench: &TestBench, variables: &str, arguments: &str) -> Vec<u8> {
    let program = env!("CARGO_BIN_EXE_prony");
    // stdout is redirected to a file, so the terminal shows only stderr.
    let stdout_file = bench.home.join("result").display().to_string();
    let line =
        format!("stty cols 90 rows 30; exec env {variables} {program} {arguments} > {stdout_file}");
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
fn a_terminal_shows_charts_and_a_dumb_terminal_shows_lines() {
    let bench = TestBench::loaded("looking_on_terminal", 2);
    let url = bench.url.replace(&format!(":{}@", bench.password), "@");
    let arguments = format!("run tpcb --url {url} --clients 2 --duration 4s --no-store");
    let view = run_on_terminal(&bench, "TERM=xterm LC_ALL=C.UTF-8 NO_COLOR=", &arguments);
    let view = String::from_utf8(view).expect("text");
    // The last movement of the cursor upwards erases the view, after which no part of the view may be
    // printed.
    let parts = view.rsplitn(3, "A\r").collect::<Vec<_>>();
    assert_eq!(parts.len(), 3, "no view: {view}");
    assert!(
        !parts[..2].concat().contains(" TPS "),
        "the view is removed: {view}"
    );
    for text in [" TPS ", " p50 ", " p99 ", " host CPU ", "█", "\r\u{1b}[2K"] {
        assert!(view.contains(text), "no {text}: {view}");
    }
    assert!(
        !view.contains("\u{1b}[?"),
        "no mode of the terminal is changed: {view}"
    );

    let view = run_on_terminal(&bench, "TERM=xterm LC_ALL=C NO_COLOR=1", &arguments);
    assert!(view.is_ascii(), "{}", String::from_utf8_lossy(&view));
    let view = String::from_utf8_lossy(&view).into_owned();
    assert!(view.contains(" TPS ") && !view.contains('█'), "{view}");
    let codes = view.split("\u{1b}[").skip(1);
    let final_letter = |code: &str| code.chars().find(char::is_ascii_alphabetic);
    assert!(
        codes
            .into_iter()
            .all(|code| matches!(final_letter(code), Some('A' | 'K'))),
        "{view}"
    );

    let view = run_on_terminal(&bench, "TERM=dumb LC_ALL=C.UTF-8", &arguments);
    let view = String::from_utf8_lossy(&view).into_owned();
    assert!(view.contains("1 s: ") && !view.contains('\u{1b}'), "{view}");
}
