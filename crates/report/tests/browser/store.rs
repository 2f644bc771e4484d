//! The lists of `prony serve`, of runs whose texts are all markup.

use super::sample_run;
use super::{TestFolder, chromium, console_messages, open_page, probe_page};
use prony_report::html::store::{
    RunList, write_drills, write_experiments, write_runs, write_trends,
};
use prony_store::{Annotation, Experiment, RunFilter, RunSummary};
use std::collections::BTreeSet;

const BAD: &str =
    "</td></form><script>throw 1</script><img src=x onerror=throw/**/1>' onfocus='throw 1";

/// A script that reports the layout, and what hostile texts could have added.
const PROBE: &str = r##"<script>
const texts = [...document.querySelectorAll("th[scope=row]")].map((one) => one.textContent);
const ticks = [...document.querySelectorAll("input[type=checkbox]")];
document.documentElement.dataset.probe = btoa(unescape(encodeURIComponent(JSON.stringify({
  width: document.documentElement.scrollWidth <= window.innerWidth,
  added: document.querySelectorAll("img, [onerror], [onfocus], script:not(:last-of-type)").length,
  shown: texts.some((text) => text.includes("<script>throw 1</" + "script>")),
  rows: document.querySelectorAll("tbody tr").length,
  in_form: ticks.every((tick) => tick.form && tick.form.action.endsWith("/compare")),
  ticks: ticks.length,
  filter: document.querySelector(".filters input") && document.querySelector(".filters input").value,
}))));
</script>"##;

fn hostile(number: u32) -> RunSummary {
    let mut run = sample_run::closed();
    run.workload.name = BAD.to_owned();
    run.id = format!("20261120-23334{number}-tpcb-7f3a");
    run.experiment = Some(Experiment {
        id: BAD.to_owned(),
        variant: BAD.to_owned(),
        position: number,
        runs: 2,
        ..Experiment::default()
    });
    run.server.version = BAD.to_owned();
    RunSummary {
        is_drill: true,
        annotation: Annotation {
            label: Some(BAD.to_owned()),
            note: Some(BAD.to_owned()),
        },
        ..RunSummary::new(&run.id, &run)
    }
}

#[test]
fn lists_of_hostile_texts_render_without_console_messages() {
    let Some(browser) = chromium() else {
        eprintln!("skipped: Chromium is not installed");
        return;
    };
    let folder = TestFolder::create();
    let (runs, build) = ([hostile(1), hostile(2)], sample_run::test_build());
    let filter = RunFilter {
        label: Some(BAD.to_owned()),
        ..RunFilter::default()
    };
    let workloads = BTreeSet::from([BAD.to_owned()]);
    let list = RunList {
        runs: &runs,
        matching: 2,
        filter: &filter,
        workloads: &workloads,
        newer: None,
        older: None,
        now_ns: 0,
    };
    let pages = [
        (2, sample_run::written(|out| write_runs(out, &list, &build))),
        (
            2,
            sample_run::written(|out| write_drills(out, &runs, 0, &build)),
        ),
        (
            1,
            sample_run::written(|out| write_experiments(out, &runs, &build)),
        ),
        (
            1,
            sample_run::written(|out| write_trends(out, &runs, &build)),
        ),
    ];
    for (rows, page) in pages {
        let output = open_page(&browser, &folder, &page, &[]);
        assert_eq!(console_messages(&output), "");
        let (before, tail) = page.split_once("<meta http-equiv").unwrap();
        let (_, after) = tail.split_once('\n').unwrap();
        let with_probe = format!("{before}{after}").replace("</body>", &format!("{PROBE}</body>"));
        for size in ["--window-size=1280,900", "--window-size=390,900"] {
            let report = probe_page(&browser, &folder, &with_probe, &[size]);
            for key in ["width", "shown", "in_form"] {
                assert_eq!(report[key], true, "{key} at {size}: {report}");
            }
            assert_eq!(
                (&report["rows"], &report["added"]),
                (&rows.into(), &0.into()),
                "{report}"
            );
            if report["ticks"] == 2 {
                assert_eq!(report["filter"], BAD);
            }
        }
    }
}
