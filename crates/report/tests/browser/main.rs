//! Tests of the page in headless Chromium, if it is installed.
//!
//! Each test opens the unmodified page and checks that the console is empty. Then it removes the Content
//! Security Policy, adds a script, and checks what the script reports about the layout and the cursor.

mod recut;
#[allow(dead_code)]
#[path = "../support/sample_run.rs"]
mod sample_run;
mod store;

use prony_assertions::{TestFolder, TextAssertions};
use prony_report::html;
use prony_store::{Event, KindFigures, MachineSecond, Observed, Run, ServerSecond};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A script that reports the layout once all scripts of the page have run.
const PROBE: &str = r##"<script>
const lines = [...document.querySelectorAll(".plot .line")];
const svg = document.querySelector("svg[data-table]");
const box = svg.getBoundingClientRect();
svg.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + box.width * 0.5, clientY: box.top + 5 }));
const byPointer = document.querySelector(".readout").textContent;
svg.parentElement.dispatchEvent(new KeyboardEvent("keydown", { key: "End" }));
const labels = [...document.querySelectorAll("th[scope=row]")];
// Short words of a label that span two lines.
const brokenWords = (label) => [...label.childNodes].filter((node) => node.nodeType === 3).flatMap((node) =>
  [...node.data.matchAll(/[^\s\/_,-]{1,14}/g)].filter((word) => {
    const range = document.createRange();
    range.setStart(node, word.index);
    range.setEnd(node, word.index + word[0].length);
    return range.getClientRects().length > 1;
  }).map((word) => word[0]));
document.documentElement.dataset.probe = btoa(unescape(encodeURIComponent(JSON.stringify({
  charts: document.querySelectorAll(".plot svg").length,
  lines: lines.length,
  drawn: lines.filter((line) => line.getTotalLength() > 100 && getComputedStyle(line).strokeWidth !== "0px").length,
  dashes: new Set([...document.querySelectorAll("#latency-1-t ~ .plot .line")].map((line) => getComputedStyle(line).strokeDasharray)).size,
  marks: document.querySelectorAll(".plot .mark").length,
  width: document.documentElement.scrollWidth <= window.innerWidth,
  background: getComputedStyle(document.body).backgroundColor,
  charts_inside: [...document.querySelectorAll(".plot svg, .plot text")].every((one) => {
    const box = one.getBoundingClientRect();
    return box.width === 0 || (box.left >= 0 && box.right <= window.innerWidth);
  }),
  captions: [...document.querySelectorAll("caption")].every((one) => one.getBoundingClientRect().right <= window.innerWidth),
  overlapping: [...document.querySelectorAll(".plot svg")].flatMap((svg) => {
    const boxes = [...svg.querySelectorAll(".x")].map((one) => one.getBoundingClientRect()).filter((box) => box.width > 0);
    return boxes.slice(1).filter((box, n) => box.top === boxes[n].top && box.left < boxes[n].right).map((box) => box.left);
  }),
  figures: [...document.querySelectorAll("#verdict-1 tbody tr")].every((row) => row.cells[1].getBoundingClientRect().right <= window.innerWidth),
  broken: labels.flatMap(brokenWords),
  byPointer, byKey: document.querySelector(".readout").textContent,
}))));
</script>"##;

/// The path of Chromium or Chrome, if `PATH` has it.
fn chromium() -> Option<PathBuf> {
    let names = [
        "chromium",
        "chromium-browser",
        "google-chrome",
        "google-chrome-stable",
    ];
    let folders = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&folders).collect();
    let names = names.iter();
    let mut paths = names.flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    paths.find(|path| path.is_file())
}

fn observed_run() -> Run {
    let mut run = sample_run::closed();
    let second = |n: u32| ServerSecond {
        at_s: f64::from(n),
        length_s: 1.0,
        active: Some(8),
        log_bytes: Some(9_000_000 + 1_000_000 * u64::from(n)),
        waits: [("IO/WalSync".to_owned(), 5 + n), ("CPU".to_owned(), 3)].into(),
        machine: Some(MachineSecond {
            busy_share: Some(0.6 + 0.05 * f64::from(n)),
            io_wait_share: Some(0.1),
            ..MachineSecond::default()
        }),
        ..ServerSecond::default()
    };
    run.series[3].failed = 3;
    // A name wider than a narrow page: the figures must stay visible beside it.
    run.measured.kinds.push(KindFigures {
        kind: Some(
            "/home/bench/scenarios/customer_orders_with_a_long_name/and_more_of_it.sql".into(),
        ),
        ..KindFigures::default()
    });
    for name in ["shared_preload_libraries", "transaction isolation"] {
        run.server.settings.insert(name.into(), "x".into());
    }
    run.observed = Some(Observed {
        series: (0..5).map(second).collect(),
        events: vec![Event {
            at_s: 1.2,
            until_s: Some(3.1),
            kind: prony_store::EventKind::Checkpoint,
            detail: "timed </desc><script>throw 1</script>".into(),
            count: 1,
            ..Event::default()
        }],
        ..Observed::default()
    });
    run
}

/// Opens the page in the browser and returns its DOM (stdout) and messages (stderr).
fn open_page(browser: &Path, folder: &Path, page: &str, arguments: &[&str]) -> Output {
    let file = folder.join("page.html");
    std::fs::write(&file, page).unwrap();
    Command::new(browser)
        // The page is trusted, and a container often offers no sandbox.
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .args([
            "--disable-dev-shm-usage",
            "--enable-logging=stderr",
            "--virtual-time-budget=3000",
        ])
        .arg(format!(
            "--user-data-dir={}",
            folder.join("profile").display()
        ))
        .args(arguments)
        .arg("--dump-dom")
        .arg(format!("file://{}", file.display()))
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Writes the page of some runs and opens it. Returns the page without its policy, which forbids a probe's script, with
/// that probe; `None` if there is no browser.
fn open_quietly(
    folder: &TestFolder,
    runs: &[Run],
    inputs: Option<&html::PriceInputs>,
    probe: &str,
) -> Option<(PathBuf, String)> {
    let Some(browser) = chromium() else {
        eprintln!("skipped: Chromium is not installed");
        return None;
    };
    let mut page = Vec::new();
    html::write(&mut page, runs, inputs, &sample_run::test_build()).unwrap();
    let page = String::from_utf8(page).unwrap();
    let output = open_page(&browser, folder, &page, &[]);
    assert!(output.status.success());
    assert_eq!(console_messages(&output), "");
    let (before, tail) = page.split_once("<meta http-equiv").unwrap();
    let (_, after) = tail.split_once('\n').unwrap();
    let with_probe = format!("{before}{after}").replace("</body>", &format!("{probe}</body>"));
    Some((browser, with_probe))
}

fn console_messages(output: &Output) -> String {
    let log = String::from_utf8_lossy(&output.stderr);
    let messages = log.lines().filter(|line| line.contains("CONSOLE"));
    messages.collect::<Vec<_>>().join("\n")
}

/// Opens a page that contains a probe and returns the probe's report.
fn probe_page(browser: &Path, folder: &Path, page: &str, arguments: &[&str]) -> Value {
    let output = open_page(browser, folder, page, arguments);
    let dom = String::from_utf8_lossy(&output.stdout);
    let report = dom
        .split("data-probe=\"")
        .nth(1)
        .and_then(|tail| tail.split('"').next());
    let report = report.unwrap_or_else(|| panic!("the probe did not run: {output:?}"));
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(report)
        .unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

#[test]
fn the_page_renders_without_console_messages() {
    let folder = TestFolder::create();
    let Some((browser, without_policy)) = open_quietly(&folder, &[observed_run()], None, PROBE)
    else {
        return;
    };
    let light = probe_page(
        &browser,
        &folder,
        &without_policy,
        &["--blink-settings=preferredColorScheme=1"],
    );
    assert_eq!(
        light["charts"], 9,
        "five charts of the client, four of the server: {light}"
    );
    assert_eq!(light["lines"], light["drawn"], "{light}");
    assert_eq!(
        light["dashes"], 3,
        "each percentile has a different dash pattern: {light}"
    );
    assert!(light["marks"].as_u64().unwrap() >= 5 * 3, "{light}");
    let readout = light["byPointer"].as_str().unwrap();
    assert!(
        readout.starts_with("from 2 s · committed /s 27,600"),
        "{light}"
    );
    light["byKey"]
        .as_str()
        .unwrap()
        .assert_starts_with("from 4 s");
    let dark = [
        "--blink-settings=preferredColorScheme=0",
        "--window-size=390,900",
    ];
    let dark = probe_page(&browser, &folder, &without_policy, &dark);
    assert_ne!(dark["background"], light["background"], "{dark}");
    for report in [&light, &dark] {
        assert_eq!(
            report["width"], true,
            "the page is wider than the window: {report}"
        );
        for key in ["charts_inside", "captions"] {
            assert_eq!(report[key], true, "{key}: {report}");
        }
        assert_eq!(
            report["overlapping"],
            serde_json::json!([]),
            "labels: {report}"
        );
        assert_eq!(report["figures"], true, "a figure is out of view: {report}");
        assert_eq!(
            report["broken"],
            serde_json::json!([]),
            "broken words: {report}"
        );
    }
}

#[test]
fn a_script_that_the_policy_forbids_is_in_the_console() {
    let (folder, script) = (TestFolder::create(), "<script>boom()</script>");
    let Some((browser, _)) = open_quietly(&folder, &[observed_run()], None, "") else {
        return;
    };
    let mut page = Vec::new();
    html::write(
        &mut page,
        &[observed_run()],
        None,
        &sample_run::test_build(),
    )
    .unwrap();
    let broken = String::from_utf8(page)
        .unwrap()
        .replacen("<b>", &format!("{script}<b>"), 1);
    let messages = console_messages(&open_page(&browser, &folder, &broken, &[]));
    messages.assert_contains("Content Security Policy");
}

/// A script that reports what the button of the document saves.
const SAVE_PROBE: &str = r##"<script>
const button = document.querySelector("button.save");
URL.createObjectURL = (blob) => {
  blob.text().then((text) => {
    const report = { text, file: button.dataset.file, hidden: button.hidden };
    document.documentElement.dataset.probe = btoa(unescape(encodeURIComponent(JSON.stringify(report))));
  });
  return "#";
};
button.click();
</script>"##;

#[test]
fn the_saved_document_is_the_stored_one() {
    let (folder, run) = (TestFolder::create(), observed_run());
    let runs = std::slice::from_ref(&run);
    let Some((browser, page)) = open_quietly(&folder, runs, None, SAVE_PROBE) else {
        return;
    };
    let report = probe_page(&browser, &folder, &page, &[]);
    let stored = serde_json::to_string(&run).unwrap();
    assert_eq!(report["text"].as_str().unwrap(), stored);
    assert_eq!(report["file"].as_str().unwrap(), format!("{}.json", run.id));
    assert_eq!(report["hidden"], false);
}

/// A script that reports the positions of the points and names in the cost chart.
const COST_PROBE: &str = r##"<script>
const plot = document.querySelector("#prices .plot svg");
const inside = (element) => {
  const [a, b] = [element.getBoundingClientRect(), plot.getBoundingClientRect()];
  // In a narrow window, whose texts are larger, they may extend into the page's margins.
  return a.width > 0 && a.left >= 0 && a.right <= window.innerWidth && a.top >= b.top - 4 && a.bottom <= b.bottom + 4;
};
const fill = (element) => getComputedStyle(element).fill;
const shown = (selector) => [...plot.querySelectorAll(selector)].filter((element) => getComputedStyle(element).display !== "none");
document.documentElement.dataset.probe = btoa(unescape(encodeURIComponent(JSON.stringify({
  on: plot.querySelectorAll("circle.point.on").length,
  off: plot.querySelectorAll("path.point").length,
  frontier: plot.querySelector(".line").getTotalLength(),
  names: shown(".name").map((name) => name.textContent),
  outside: shown("text, circle, .point, .line").filter((element) => !inside(element)).map((element) => element.outerHTML),
  verdict: document.querySelector("#overview td.line-text").getBoundingClientRect().height <= 40,
  distinct: fill(plot.querySelector("circle.point.on")) !== fill(plot.querySelector("path.point")),
  width: document.documentElement.scrollWidth <= window.innerWidth,
}))));
</script>"##;

/// Five runs on four configurations, and their prices.
fn priced_runs() -> (Vec<Run>, html::PriceInputs) {
    let (mut runs, mut placements) = (Vec::new(), Vec::new());
    let configurations = [
        ("small", 410.0, 9_000),
        ("</text><b>", 1_250.0, 14_000),
        ("other", 900.0, 8_000),
        ("big", 1_640.0, 31_000),
    ];
    for (index, (_, _, tps)) in configurations.into_iter().enumerate() {
        // The first configuration has two runs: a median and a spread.
        for tenths in if index == 0 { vec![9, 10] } else { vec![10] } {
            let mut run = sample_run::with_tps(sample_run::formerly_judged(), tps * tenths / 10);
            run.id = format!("2026112{index}-{tenths}");
            placements.push(html::RunPlacement {
                sheet: 0,
                configuration: index,
                run: runs.len(),
            });
            runs.push(run);
        }
    }
    let head =
        "currency = \"EUR\"\nas_of = 2026-05-01\nsource = \"</text><script>throw 1</script>\"\n";
    let prices = configurations.map(|(name, price, _)| (name, price));
    let inputs = html::PriceInputs {
        sheets: vec![html::SheetText {
            file: "prices.toml".to_owned(),
            text: sample_run::price_sheet(head, &prices),
        }],
        today: "2026-11-21".to_owned(),
        utilisation: 0.3,
        across_regions: false,
        placements,
    };
    (runs, inputs)
}

#[test]
fn points_and_frontier_render_without_console_messages() {
    let folder = TestFolder::create();
    let (runs, inputs) = priced_runs();
    let opened = open_quietly(&folder, &runs, Some(&inputs), COST_PROBE);
    let Some((browser, without_policy)) = opened else {
        return;
    };
    // A narrow window has only the numbers; the table has the names.
    for (size, second) in [
        ("--window-size=1200,900", "2 </text><b>"),
        ("--window-size=500,900", "2"),
        ("--window-size=390,900", "2"),
    ] {
        let report = probe_page(&browser, &folder, &without_policy, &[size]);
        assert_eq!(
            (&report["on"], &report["off"]),
            (&3.into(), &1.into()),
            "{report}"
        );
        assert!(report["frontier"].as_f64().unwrap() > 100.0, "{report}");
        let names = report["names"].as_array().unwrap();
        assert_eq!(names.len(), 4, "{report}");
        assert!(names.contains(&second.into()), "{report}");
        assert_eq!(report["outside"], Value::Array(vec![]), "{size}");
        for key in ["distinct", "width", "verdict"] {
            assert_eq!(report[key], true, "{key}: {report}");
        }
    }
}
