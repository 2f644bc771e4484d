//! The pages of exit codes and of metrics.

use super::{code, page_head, table};
use crate::exit;
use crate::run::metrics::{MetricsPage, RunMetrics};
use prony_report::metrics::{BUCKET_BOUNDS_S, families};
use prony_store::Run;

/// Exit codes, as in `prony --help`.
pub fn exit_codes() -> String {
    let text = page_head(
        "Exit codes",
        "The codes are the same for all commands and do not change, so that scripts can rely on them. `prony pgbench`, `prony sysbench` and\n\
         `prony hammerdbcli` return those of the tools that they replace.\n",
    );
    let help = exit::help();
    let lines = help.lines().skip(1);
    let rows = lines.filter_map(|line| {
        let (exit_code, meaning) = line.trim().split_once(' ')?;
        Some([exit_code.to_owned(), meaning.trim().to_owned()])
    });
    text + &table(["exit code", "meaning"], rows)
}

/// The metrics of `--metrics-listen`.
pub fn metrics() -> String {
    let mut text = page_head(
        "Metrics",
        "`prony run ... --metrics-listen 9187` serves these to Prometheus at `http://127.0.0.1:9187/metrics` while the run lasts, in text format\n\
         0.0.4. A metric whose value is unknown is absent. Counters start with the load, warm-up included.\n",
    );
    let rows = families()
        .map(|(name, metric_type, help)| [code(name), metric_type.to_owned(), help.to_owned()]);
    text += &table(["metric", "type", "meaning"], rows);
    let page = MetricsPage::default();
    RunMetrics::new(&Run::default(), page.clone());
    let labels = page.current().expect("a published page").labels.clone();
    let labels: Vec<String> = labels.iter().map(|(name, _)| code(name)).collect();
    let bounds: Vec<String> = BUCKET_BOUNDS_S
        .iter()
        .map(|bound_s| bound_s.to_string())
        .collect();
    text + &format!(
        "\nLabels of `prony_run_info`: {}.\n\nUpper bounds of the buckets of `prony_response_seconds`, in seconds: {}.\n",
        labels.join(", "),
        bounds.join(", ")
    )
}
