//! The slider that cuts the warm-up elsewhere, as a browser computes it.

use super::{TestFolder, open_quietly, probe_page, sample_run};

/// A script that moves the slider of the warm-up and reports what the page then shows.
const RECUT_PROBE: &str = r##"<script>
const box = document.querySelector(".recut");
const input = box.querySelector("input");
const output = box.querySelectorAll("output")[1];
const before = document.querySelector(".figures").textContent;
const shown = async (value) => {
  input.value = value;
  input.dispatchEvent(new Event("input"));
  for (let tries = 0; tries < 200 && !output.textContent.includes(` from ${value} s`); tries++)
    await new Promise((resolve) => setTimeout(resolve, 10));
  return output.textContent;
};
(async () => {
  const report = { hidden: box.hidden, start: await shown(1), later: await shown(3) };
  report.same = document.querySelector(".figures").textContent === before;
  document.documentElement.dataset.probe = btoa(unescape(encodeURIComponent(JSON.stringify(report))));
})();
</script>"##;

#[test]
fn another_warm_up_is_computed_from_the_document_and_labelled() {
    let mut run = sample_run::with_part_histograms();
    // A window from 3 s is without the longest transaction.
    run.series[1].max_ns = 77_000_000;
    let (folder, runs) = (TestFolder::create(), std::slice::from_ref(&run));
    let Some((browser, page)) = open_quietly(&folder, runs, None, RECUT_PROBE) else {
        return;
    };
    let report = probe_page(&browser, &folder, &page, &[]);
    assert_eq!(
        (&report["hidden"], &report["same"]),
        (&false.into(), &true.into()),
        "the page's own figures stay: {report}"
    );
    // What the script shows, computed here from the same document.
    for (from, shown) in [(1, &report["start"]), (3, &report["later"])] {
        let kept = &run.series[from..];
        let committed: u64 = kept.iter().map(|second| second.committed).sum();
        let length_s: f64 = kept.iter().map(|second| second.length_s).sum();
        let failed: u64 = kept.iter().map(|second| second.failed).sum();
        let max_ns = kept.iter().map(|second| second.max_ns).max().unwrap();
        // All transactions of the fixture take 1.25 ms.
        let expected = format!(
            "Re-cut, not judged: {} transactions/s committed in the {length_s:.0} s from {from} s, {failed} \
             failed; response p50 1.25 ms, p95 1.25 ms, p99 1.25 ms, p99.9 1.25 ms, max {}",
            prony_judge::formatting::thousands((committed as f64 / length_s).round() as u64),
            prony_judge::formatting::time(max_ns as f64),
        );
        assert_eq!(shown.as_str().unwrap(), expected);
    }
}
