use super::*;
use crate::http::tests::send_request;
use prony_assertions::{TestFolder, TextAssertions};
use prony_report::html::{PageContents, write_contents};
use prony_runner::host::this_build;
use prony_store::{Annotation, Run, RunState, RunStore, hex};
use sha2::{Digest, Sha256};
use std::fs;

const BAD: &str = "<script>alert(1)</script>";

struct TestServer {
    server: HttpServer,
    store: RunStore,
    folder: TestFolder,
}

impl TestServer {
    fn new() -> TestServer {
        let folder = TestFolder::create();
        let rules = prony_store::Rules {
            version: prony_judge::RULES_VERSION,
            judge: prony_judge::judge_if_unjudged,
        };
        let store = RunStore::open(Some(&folder)).unwrap().with_rules(rules);
        let listen = "127.0.0.1:0".parse().unwrap();
        let pages = StorePages::new(store.clone(), "db1");
        let server = HttpServer::listen(&listen, "--listen", pages).unwrap();
        TestServer {
            server,
            store,
            folder,
        }
    }

    /// Stores a run that has ended; returns its id.
    fn store_run(&self, workload: &str, tps: f64) -> String {
        let mut run = new_run(workload);
        run.state = RunState::Complete;
        run.measured.length_s = 10.0;
        run.measured.kinds = vec![prony_store::KindFigures {
            tps,
            committed: (tps * 10.0) as u64,
            ..prony_store::KindFigures::default()
        }];
        let writer = self.store.begin(&mut run).unwrap();
        writer.finish(&run).unwrap();
        run.id
    }

    fn get(&self, path: &str) -> String {
        self.get_from("127.0.0.1", path)
    }

    fn get_from(&self, host: &str, path: &str) -> String {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        send_request(self.server.address(), request.as_bytes())
    }
}

fn new_run(workload: &str) -> Run {
    let mut run = Run {
        started_at: "2026-11-20T23:33:42.000+01:00".to_owned(),
        ..Run::default()
    };
    run.workload.name = workload.to_owned();
    run
}

#[test]
fn only_an_address_or_the_own_name_is_served() {
    let server = TestServer::new();
    for host in [
        "127.0.0.1:8080",
        "[::1]:8080",
        "localhost",
        "LOCALHOST:1",
        "db1:80",
        "10.0.0.7",
    ] {
        server
            .get_from(host, "/")
            .assert_starts_with("HTTP/1.1 200 ");
    }
    for host in [
        "evil.example",
        "evil.example:8080",
        "127.0.0.1.evil.example",
        "",
        "db1.evil",
    ] {
        let answer = server.get_from(host, "/");
        answer.assert_starts_with("HTTP/1.1 421 ");
        answer.assert_lacks("<html");
    }
    let answer = send_request(server.server.address(), b"GET / HTTP/1.1\r\n\r\n");
    answer.assert_starts_with("HTTP/1.1 421 ");
}

#[test]
fn no_path_names_a_file() {
    let server = TestServer::new();
    let id = server.store_run("tpcb", 100.0);
    let outside = server.folder.join("outside.json");
    fs::copy(server.folder.join(format!("runs/{id}.json")), &outside).unwrap();
    let outside = outside.display().to_string();
    for path in [
        "/etc/passwd".to_owned(),
        "/runs/../index.jsonl".to_owned(),
        "/runs/..%2foutside".to_owned(),
        format!("/runs/{outside}"),
        format!("/runs/{}", outside.replace('/', "%2F")),
        "/runs/last".to_owned(),
        "/live/..%2foutside/events".to_owned(),
        "/experiments/..%2foutside".to_owned(),
        format!("/compare?run={outside}&run={id}"),
        "/trends/..%2foutside".to_owned(),
        "//evil.example/".to_owned(),
    ] {
        let answer = server.get(&path);
        assert!(answer.starts_with("HTTP/1.1 404 "), "{path}: {answer}");
        answer.assert_contains("<a href=\"/\">Runs</a>");
    }
}

#[test]
fn a_run_and_a_comparison_are_the_pages_of_report() {
    let server = TestServer::new();
    let ids = [
        server.store_run("tpcb", 100.0),
        server.store_run("tpcb", 200.0),
    ];
    let annotation = Annotation {
        label: Some(BAD.to_owned()),
        note: None,
    };
    server.store.annotate(&ids[0], &annotation).unwrap();
    let report = |ids: &[&String]| {
        let runs: Vec<Run> = ids
            .iter()
            .map(|id| server.store.load(id).unwrap())
            .collect();
        let annotations: Vec<Annotation> =
            ids.iter().map(|id| server.store.annotation(id)).collect();
        let contents = PageContents {
            runs: &runs,
            annotations: &annotations,
            ..PageContents::default()
        };
        let mut page = Vec::new();
        write_contents(&mut page, &contents, &this_build()).unwrap();
        String::from_utf8(page).unwrap()
    };
    let answer = server.get(&format!("/runs/{}", ids[0]));
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    head.assert_starts_with("HTTP/1.1 200 ");
    head.assert_contains("Content-Security-Policy: default-src 'none'; style-src 'sha256-");
    head.assert_contains("; frame-ancestors 'none'");
    assert_eq!(body, report(&[&ids[0]]));
    let answer = server.get(&format!("/compare?run={}&run={}", ids[1], ids[0]));
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let (old, new) = (ids.iter().min().unwrap(), ids.iter().max().unwrap());
    assert_eq!(body, report(&[old, new]), "the oldest first");
    for query in ["", "?run=", &format!("?run={0}&run={0}", ids[0])] {
        let answer = server.get(&format!("/compare{query}"));
        answer.assert_starts_with("HTTP/1.1 404 ");
        answer.assert_contains("tick 2 to 26 runs");
    }
    let listed = server.get("/");
    listed.assert_lacks(BAD);
    listed.assert_contains("&lt;script&gt;alert(1)&lt;/script&gt;</a>");
}

#[test]
fn a_listing_reads_no_document_and_shows_a_page_of_runs() {
    let server = TestServer::new();
    let first = server.store_run("tpcb", 100.0);
    let runs_folder = server.folder.join("runs");
    let document = fs::read(runs_folder.join(format!("{first}.json"))).unwrap();
    for number in 0..599 {
        let name = format!("20261120-233342-tpcb-x{number:04}.json");
        fs::write(runs_folder.join(name), &document).unwrap();
    }
    server.get("/").assert_contains("600 runs");
    // What is read again would be of tpcb.
    let index = server.folder.join("index.jsonl");
    let rows = fs::read_to_string(&index).unwrap();
    let (first_line, rows) = rows.split_once('\n').unwrap();
    let of_other = rows.lines().map(|line| {
        let (_, row) = line.split_once(' ').unwrap();
        let row = row.replace("\"workload\":\"tpcb\"", "\"workload\":\"other\"");
        let digest = Sha256::digest([first_line, &row].concat());
        format!("{} {row}\n", hex(&digest[..16]))
    });
    let of_other: String = of_other.collect();
    fs::write(&index, format!("{first_line}\n{of_other}")).unwrap();
    let page = server.get("/?server=&label=");
    page.assert_contains("600 runs");
    assert_eq!(page.matches("type=\"checkbox\"").count(), 500);
    page.assert_contains("<a href=\"/?from=500\">Older runs</a>");
    let page = server.get("/?workload=other&from=500");
    assert_eq!(page.matches("type=\"checkbox\"").count(), 100);
    page.assert_contains("<a href=\"/?workload=other&amp;from=0\">Newer runs</a>");
    page.assert_contains("<option value=\"other\" selected>");
    server.get("/?workload=tpcb").assert_contains("0 runs");
    server
        .get("/?verdict=invalid&from=9")
        .assert_contains("0 runs");
    server.get("/trends").assert_contains("<td>600</td>");
}

#[test]
fn a_run_in_progress_has_events_until_it_ends() {
    let server = TestServer::new();
    let mut run = new_run("tpcb");
    run.state = RunState::Running;
    let writer = server.store.begin(&mut run).unwrap();
    let id = run.id.clone();
    server
        .get("/")
        .assert_contains(&format!("href=\"/live/{id}\""));
    let answer = server.get(&format!("/runs/{id}"));
    answer.assert_starts_with("HTTP/1.1 303 ");
    answer.assert_contains(&format!("Location: /live/{id}"));
    let page = server.get(&format!("/live/{id}"));
    page.assert_contains(&format!("data-events=\"/live/{id}/events\""));
    page.assert_contains("Nothing has been measured yet.");
    let (runs, mut events) = (live::LiveRuns::default(), live::LiveEvents::new(&id));
    let mut next = || events.next(&runs, &server.store);
    next().unwrap().assert_starts_with("event: seconds\n");
    assert_eq!(next().as_deref(), Some(":\n\n"), "nothing is new");
    run.state = RunState::Complete;
    writer.finish(&run).unwrap();
    next().unwrap().assert_starts_with("event: end\n");
    assert_eq!(next(), None);
    let answer = server.get(&format!("/live/{id}"));
    answer.assert_contains(&format!("Location: /runs/{id}"));
}
