//! `prony serve` on a store with runs, also while one is in progress.

use crate::common::*;
use prony_test_servers::KillOnDrop;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;

/// The program that serves a store.
struct ServeProcess {
    process: KillOnDrop,
    address: String,
}

impl ServeProcess {
    fn start(bench: &TestBench) -> ServeProcess {
        let mut command = bench.command("serve --listen 127.0.0.1:0");
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        stderr.read_line(&mut line).expect("a line");
        let address = line.split("http://").nth(1);
        let address = address.and_then(|tail| tail.split('/').next());
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        ServeProcess {
            process: KillOnDrop(child),
            address,
        }
    }

    fn request(&self, path: &str) -> BufReader<TcpStream> {
        let mut socket = TcpStream::connect(&self.address).expect("it listens");
        socket.set_read_timeout(Some(WAIT_TIMEOUT)).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address);
        socket.write_all(request.as_bytes()).unwrap();
        BufReader::new(socket)
    }

    fn get(&self, path: &str) -> String {
        let mut answer = String::new();
        self.request(path).read_to_string(&mut answer).unwrap();
        answer
    }
}

/// The list of runs, as the documentation's command shows it.
pub fn first_page(bench: &TestBench) -> String {
    let answer = ServeProcess::start(bench).get("/");
    answer.assert_starts_with("HTTP/1.1 200 ");
    assert!(!answer.contains(&bench.password));
    answer
}

/// Asserts that Chromium, if it is installed, shows the page of a run in progress as it changes, and reports nothing.
fn assert_shown_by_browser(bench: &TestBench, url: &str) {
    let mut browser = Command::new("chromium");
    browser
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
        ])
        .args([
            "--disable-dev-shm-usage",
            "--enable-logging=stderr",
            "--timeout=4000",
        ])
        .arg(format!(
            "--user-data-dir={}",
            bench.home.join("profile").display()
        ))
        .args(["--dump-dom", url]);
    let output = match browser.output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return eprintln!("skipped: Chromium is not installed");
        }
        output => output.expect("it starts"),
    };
    let log = String::from_utf8_lossy(&output.stderr);
    let lines = log.lines();
    let messages: Vec<&str> = lines.filter(|line| line.contains("CONSOLE")).collect();
    assert_eq!(messages, [""; 0]);
    let page = stdout_text(&output);
    page.assert_contains("In progress for ");
    // The browser writes elements as it holds them: these came with an event.
    page.assert_contains("<ul class=\"figures\">");
}

#[test]
fn a_run_is_shown_while_it_lasts_and_as_its_report_afterwards() {
    let bench = TestBench::loaded("serve", 1);
    let mut run = bench.long_run();
    let mut served = ServeProcess::start(&bench);
    let list = served.get("/");
    let id = list.split("href=\"/live/").nth(1).expect("in progress");
    let id = id.split('"').next().expect("an id").to_owned();
    served
        .get(&format!("/runs/{id}"))
        .assert_contains(&format!("Location: /live/{id}"));
    served
        .get(&format!("/live/{id}"))
        .assert_contains("In progress for ");
    // Two events with figures of different seconds; the second one does not wait for the end of the run.
    let mut events = served.request(&format!("/live/{id}/events"));
    let mut read_event = |name: &str| {
        let (start, mut text) = (format!("event: {name}\n"), String::new());
        while !text.contains(&start) || !text.ends_with("\n\n") {
            let count = events.read_line(&mut text).expect("in time");
            assert!(count > 0, "{name}: {text}");
        }
        text
    };
    let first = read_event("seconds");
    first.assert_contains("transactions/s");
    assert_ne!(first, read_event("seconds"));
    assert_shown_by_browser(&bench, &format!("http://{}/live/{id}", served.address));
    send_signal(&run, "-INT");
    run.wait().expect("it ends");
    read_event("end");
    // The page is the file of `prony report`.
    let answer = served.get(&format!("/runs/{id}"));
    let (_, page) = answer.split_once("\r\n\r\n").expect("a head");
    let path = bench.home.join("report.html").display().to_string();
    let report = bench.prony_without_server(&format!("report {id} --output {path}"));
    assert!(report.status.success());
    assert_eq!(page, std::fs::read_to_string(path).expect("a page"));
    // Ctrl-C is how it ends.
    send_signal(&served.process.0, "-INT");
    assert_eq!(served.process.0.wait().expect("it ends").code(), Some(0));
}
