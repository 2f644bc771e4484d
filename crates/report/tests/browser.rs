//! The page in a real browser: headless Chromium, if installed.
//!
//! Two passes: one over the unmodified page, for the browser's complaints; and one over a page with a
//! probe instead of the policy that forbids it, for what is drawn and how the cursor responds.

#[allow(dead_code)]
#[path = "support/sample_run.rs"]
mod sample_run;

use prony_report::html;
use prony_store::{Event, KindFigures, MachineSecond, Observed, Run, ServerSecond};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What the probe reports once all scripts of the page have run.
const PROBE: &str = r##"<script>
const lines = [...document.querySelectorAll(".plot .line")];
const svg = document.querySelector("svg[data-table]");
const box = svg.getBoundingClientRect();
svg.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + box.width * 0.5, clientY: box.top + 5 }));
const byPointer = document.querySelector(".readout").textContent;
svg.parentElement.dispatchEvent(new KeyboardEvent("keydown", { key: "End" }));
const labels = [...document.querySelectorAll("th[scope=row]")];
// Short words of a label that span two lines.
const broken = (label) => [...label.childNodes].filter((node) => node.nodeType === 3).flatMap((node) =>
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
  ground: getComputedStyle(document.body).backgroundColor,
  hint: getComputedStyle(document.querySelector(".more")).display !== "none",
  figures: [...document.querySelectorAll("#verdict-1 tbody tr")].every((row) => row.cells[1].getBoundingClientRect().right <= window.innerWidth),
  words: labels.flatMap(broken),
  byPointer, byKey: document.querySelector(".readout").textContent,
}))));
</script>"##;

fn chromium() -> Option<PathBuf> {
    let names = [
        "chromium",
        "chromium-browser",
        "google-chrome",
        "google-chrome-stable",
    ];
    let folders = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&folders).collect();
    let mut all = names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    all.find(|path| path.is_file())
}

fn watched() -> Run {
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
    // Longer than a narrow page is wide: figures must stay visible beside it.
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
        }],
        ..Observed::default()
    });
    run
}

/// A folder for the test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let name = format!("prony-browser-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn look(browser: &Path, folder: &Path, page: &str, more: &[&str]) -> Output {
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
        .args(more)
        .arg("--dump-dom")
        .arg(format!("file://{}", file.display()))
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// What the browser wrote to the page's console.
fn complaints(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().filter(|line| line.contains("CONSOLE"));
    said.collect::<Vec<_>>().join("\n")
}

fn probed(browser: &Path, folder: &Path, page: &str, more: &[&str]) -> Value {
    let output = look(browser, folder, page, more);
    let dom = String::from_utf8_lossy(&output.stdout);
    let told = dom
        .split("data-probe=\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next());
    let told = told.unwrap_or_else(|| panic!("the probe did not run: {output:?}"));
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(told)
        .unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

#[test]
fn the_page_is_drawn_and_the_browser_has_nothing_to_complain_of() {
    let Some(browser) = chromium() else {
        eprintln!("skipped: there is no Chromium on this machine");
        return;
    };
    let folder = Folder::new("one");
    let mut page = Vec::new();
    html::write(&mut page, &[watched()], None).unwrap();
    let page = String::from_utf8(page).unwrap();

    let output = look(&browser, &folder.0, &page, &[]);
    let said = complaints(&output);
    assert!(output.status.success(), "{said}");
    assert_eq!(said, "");
    assert!(String::from_utf8_lossy(&output.stdout).contains("id=\"verdict-1\""));
    // The test detects such a fault if there is one.
    let broken = page.replacen("<b>", "<script>boom()</script><b>", 1);
    let output = look(&browser, &folder.0, &broken, &[]);
    let said = complaints(&output);
    assert!(said.contains("Content Security Policy"), "{said}");

    let (before, rest) = page.split_once("<meta http-equiv").unwrap();
    let (_, after) = rest.split_once('\n').unwrap();
    let open = format!("{before}{after}").replace("</body>", &format!("{PROBE}</body>"));
    let light = probed(
        &browser,
        &folder.0,
        &open,
        &["--blink-settings=preferredColorScheme=1"],
    );
    assert_eq!(
        light["charts"], 5,
        "two of the client, three of the server: {light}"
    );
    assert_eq!(light["lines"], light["drawn"], "{light}");
    assert_eq!(
        light["dashes"], 3,
        "each percentile has dashes of its own: {light}"
    );
    assert!(light["marks"].as_u64().unwrap() >= 5 * 3, "{light}");
    let told = light["byPointer"].as_str().unwrap();
    assert!(
        told.starts_with("from 2 s · committed /s 27,400"),
        "{light}"
    );
    assert!(
        light["byKey"].as_str().unwrap().starts_with("from 4 s"),
        "{light}"
    );
    let dark = [
        "--blink-settings=preferredColorScheme=0",
        "--window-size=500,900",
    ];
    let dark = probed(&browser, &folder.0, &open, &dark);
    assert_ne!(dark["ground"], light["ground"], "{dark}");
    assert_eq!(
        (&light["hint"], &dark["hint"]),
        (&false.into(), &true.into()),
        "where a chart is wider than the window it says so"
    );
    for look in [&light, &dark] {
        assert_eq!(
            look["width"], true,
            "nothing is wider than the window: {look}"
        );
        assert_eq!(look["figures"], true, "a figure is out of view: {look}");
        assert_eq!(look["words"], serde_json::json!([]), "broken words: {look}");
    }
}

/// What the second probe reports: the positions of the points and of their names.
const COSTS: &str = r##"<script>
const plot = document.querySelector("#prices .plot svg");
const inside = (one) => {
  const [a, b] = [one.getBoundingClientRect(), plot.getBoundingClientRect()];
  return a.width > 0 && a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
};
const filled = (one) => getComputedStyle(one).fill;
document.documentElement.dataset.probe = btoa(unescape(encodeURIComponent(JSON.stringify({
  on: plot.querySelectorAll("circle.point.on").length,
  off: plot.querySelectorAll("path.point").length,
  frontier: plot.querySelector(".line").getTotalLength(),
  names: [...plot.querySelectorAll(".name")].map((one) => one.textContent),
  inside: [...plot.querySelectorAll("text, circle, .point, .line")].every(inside),
  verdict: document.querySelector("#overview .word").getBoundingClientRect().width >= 180,
  apart: filled(plot.querySelector("circle.point.on")) !== filled(plot.querySelector("path.point")),
  width: document.documentElement.scrollWidth <= window.innerWidth,
}))));
</script>"##;

fn priced() -> (Vec<Run>, html::PriceInputs) {
    let mut text = "[sheet]\ncurrency = \"EUR\"\nregion = \"r\"\nterm = \"on demand\"\n\
                    as_of = 2026-05-01\nsource = \"</text><script>throw 1</script>\"\n\
                    entered_by = \"dba\"\n"
        .to_owned();
    let (mut runs, mut placed) = (Vec::new(), Vec::new());
    let each = [
        ("small", 410, 9_000),
        ("</text><b>", 1_250, 14_000),
        ("other", 900, 8_000),
        ("big", 1_640, 31_000),
    ];
    for (at, (name, price, tps)) in each.into_iter().enumerate() {
        text += &format!(
            "[[configuration]]\nname = \"{name}\"\n[[configuration.item]]\nname = \"i\"\n\
             quantity = 1\nunit_price = {price}\nper = \"month\"\n"
        );
        // Two runs of the first one: a median and a spread.
        for share in if at == 0 { vec![9, 10] } else { vec![10] } {
            let mut run = watched();
            run.id = format!("2026112{at}-{share}");
            for kind in &mut run.measured.kinds {
                kind.committed = 4 * tps * share / 10;
            }
            placed.push(html::RunPlacement {
                sheet: 0,
                configuration: at,
                run: runs.len(),
            });
            runs.push(run);
        }
    }
    let question = html::PriceInputs {
        sheets: vec![html::SheetText {
            file: "prices.toml".to_owned(),
            text,
        }],
        today: "2026-11-21".to_owned(),
        utilisation: 0.3,
        across_regions: false,
        placed,
    };
    (runs, question)
}

#[test]
fn points_and_frontier_are_drawn_and_the_browser_has_nothing_to_complain_of() {
    let Some(browser) = chromium() else {
        eprintln!("skipped: there is no Chromium on this machine");
        return;
    };
    let folder = Folder::new("prices");
    let (runs, question) = priced();
    let mut page = Vec::new();
    html::write(&mut page, &runs, Some(&question)).unwrap();
    let page = String::from_utf8(page).unwrap();
    if let Some(keep) = std::env::var_os("PRONY_KEEP_PAGE") {
        std::fs::write(keep, &page).unwrap();
    }
    let output = look(&browser, &folder.0, &page, &[]);
    assert!(output.status.success());
    assert_eq!(complaints(&output), "");
    let (before, rest) = page.split_once("<meta http-equiv").unwrap();
    let (_, after) = rest.split_once('\n').unwrap();
    let open = format!("{before}{after}").replace("</body>", &format!("{COSTS}</body>"));
    for size in ["--window-size=1200,900", "--window-size=500,900"] {
        let seen = probed(&browser, &folder.0, &open, &[size]);
        assert_eq!(
            (&seen["on"], &seen["off"]),
            (&3.into(), &1.into()),
            "{seen}"
        );
        assert!(seen["frontier"].as_f64().unwrap() > 100.0, "{seen}");
        assert_eq!(seen["names"].as_array().unwrap().len(), 4, "{seen}");
        assert!(seen["names"].to_string().contains("2 </text><b>"), "{seen}");
        for what in ["inside", "apart", "width", "verdict"] {
            assert_eq!(seen[what], true, "{what}: {seen}");
        }
    }
}
