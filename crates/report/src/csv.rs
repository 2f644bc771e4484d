//! CSV output for spreadsheets.
//!
//! In: a Run. Out: comma-separated lines with a header (RFC 4180, but with `\n`). Numeric columns without a
//! unit in their name are counts or shares from 0 to 1; `seconds` is the length of a row. Cells of missing
//! figures are empty. Must never: round.

use crate::text::joined;
use prony_store::{
    Experiment, IndustryMetric, Latency, MachineSecond, Run, RunSummary, RunVerdict, Second,
    ServerSecond,
};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{self, Write};

/// The name of a column, and the function that formats its cells.
type Column<T> = (&'static str, fn(&T) -> String);

/// Columns named as their field, or with the name and the cell of their own.
macro_rules! columns {
    ($($field:ident $(= $cell:expr)?),+ $(,)?) => { [$(columns!(@ $field $($cell)?)),+] };
    (@ $field:ident) => { (stringify!($field), |row| row.$field.cell()) };
    (@ $name:ident $cell:expr) => { (stringify!($name), $cell) };
}

/// The columns of the per-second series.
const SECOND_COLUMNS: [Column<Second>; 19] = columns![
    at_s,
    seconds = |second| second.length_s.to_string(),
    part = |second| second.phase.name().to_owned(),
    committed,
    rolled_back,
    failed,
    tps = |second| second.committed_per_second().to_string(),
    mean_ns,
    p50_ns,
    p95_ns,
    p99_ns,
    max_ns,
    server_mean_ns,
    client_cpu_s,
    loop_delay_max_ns,
    connections,
    rolling_s = |second| second.rolling.as_ref().map(|window| window.length_s).cell(),
    rolling_p95_ns = |second| second.rolling.as_ref().map(|window| window.p95_ns).cell(),
    rolling_p99_ns = |second| second.rolling.as_ref().map(|window| window.p99_ns).cell(),
];

/// The columns of the observations of the server, before those of the machines.
const SERVER_COLUMNS: [Column<ServerSecond>; 19] = columns![
    at_s,
    seconds = |second| second.length_s.to_string(),
    commits,
    rollbacks,
    cache_hits,
    cache_reads,
    log_bytes,
    temp_bytes,
    deadlocks,
    node_conflicts,
    flow_control_share,
    connections,
    active,
    lock_waits,
    vacuums,
    checkpoint_age_bytes,
    history_length,
    replication_lag_bytes,
    replication_lag_s,
];

/// The columns of a machine; shares are from 0 to 1.
const MACHINE_COLUMNS: [Column<MachineSecond>; 12] = columns![
    busy = |second| second.busy_share.cell(),
    busiest_cpu = |second| second.busiest_cpu_share.cell(),
    io_wait = |second| second.io_wait_share.cell(),
    steal = |second| second.steal_share.cell(),
    server_cpu_s,
    memory_available_bytes,
    disk_read_bytes,
    disk_write_bytes,
    disk_busy = |second| second.disk_busy_share.cell(),
    throttled_s,
    network_bytes,
    link_busy = |second| second.link_busy_share.cell(),
];

const LATENCY_COLUMNS: [Column<Latency>; 9] = columns![
    samples, mean_ns, min_ns, p50_ns, p90_ns, p95_ns, p99_ns, p999_ns, max_ns
];

const RUN_COLUMNS: [Column<RunSummary>; 19] = columns![
    id = |run| quoted(&run.id),
    started_at = |run| quoted(&run.started_at),
    workload = |run| quoted(&run.workload),
    server = |run| quoted(&run.server),
    scale,
    clients,
    rate_tps,
    tps,
    nopm,
    p99_ns,
    failed,
    verdict = |run| RunVerdict::of(run).name().to_owned(),
    answer = |run| run
        .answer
        .map_or_else(String::new, |answer| answer.name().to_owned()),
    experiment = |run| experiment_cell(run, |experiment| quoted(&experiment.id)),
    variant = |run| experiment_cell(run, |experiment| quoted(&experiment.variant)),
    position = |run| experiment_cell(run, |experiment| experiment.position.to_string()),
    runs = |run| experiment_cell(run, |experiment| experiment.runs.to_string()),
    label = |run| quoted(run.annotation.label.as_deref().unwrap_or_default()),
    note = |run| quoted(run.annotation.note.as_deref().unwrap_or_default()),
];

fn experiment_cell(run: &RunSummary, cell: fn(&Experiment) -> String) -> String {
    run.experiment.as_ref().map_or_else(String::new, cell)
}

const METRIC_COLUMNS: [Column<IndustryMetric>; 5] = columns![
    name = |metric| quoted(metric.name.as_str()),
    value,
    per_scale,
    note = |metric| quoted(metric.note.as_deref().unwrap_or_default()),
    title = |metric| quoted(&metric.title),
];

fn header<T>(columns: &[Column<T>]) -> String {
    joined(columns.iter().map(|(name, _)| *name), ",")
}

fn cells<T>(columns: &[Column<T>], row: &T) -> String {
    joined(columns.iter().map(|(_, cell)| cell(row)), ",")
}

/// Writes the per-second series, warm-up included.
pub fn write_series(out: &mut dyn Write, run: &Run) -> io::Result<()> {
    writeln!(out, "{}", header(&SECOND_COLUMNS))?;
    let mut seconds = run.series.iter();
    seconds.try_for_each(|second| writeln!(out, "{}", cells(&SECOND_COLUMNS, second)))
}

/// Writes the observations of the server, one line per reading. All waits are in one cell:
/// `IO/WalSync 3; Lock/tuple 1`. So are the times of waits, in seconds: `LCK_M 0.5; WRITELOG 1.25`.
pub fn write_server(out: &mut dyn Write, run: &Run) -> io::Result<()> {
    let machine_header = |prefix: &str| {
        MACHINE_COLUMNS
            .map(|(name, _)| format!("{prefix}_{name}"))
            .join(",")
    };
    writeln!(
        out,
        "{},{},{},waits,wait_s",
        header(&SERVER_COLUMNS),
        machine_header("machine"),
        machine_header("client"),
    )?;
    let observed = run
        .observed
        .iter()
        .filter(|observed| observed.off.is_none());
    for second in observed.flat_map(|observed| &observed.series) {
        let [machine, client] = [&second.machine, &second.client].map(|machine| {
            let machine = machine.clone().unwrap_or_default();
            cells(&MACHINE_COLUMNS, &machine)
        });
        writeln!(
            out,
            "{},{machine},{client},{},{}",
            cells(&SERVER_COLUMNS, second),
            list_cell(&second.waits),
            second.wait_s.as_ref().map_or(String::new(), list_cell),
        )?;
    }
    Ok(())
}

/// A cell with names and their values.
fn list_cell(values: &BTreeMap<String, impl Display>) -> String {
    let values = values.iter();
    let texts = values.map(|(name, value)| format!("{name} {value}"));
    quoted(&joined(texts, "; "))
}

/// Writes the percentiles of the measured window, one line per kind and type of time.
pub fn write_percentiles(out: &mut dyn Write, run: &Run) -> io::Result<()> {
    writeln!(out, "kind,time,{}", header(&LATENCY_COLUMNS))?;
    for kind in &run.measured.kinds {
        let parts = kind.parts.as_ref();
        let times = [
            ("response", Some(&kind.response)),
            ("service", Some(&kind.service)),
            ("send_wait", parts.map(|parts| &parts.send_wait)),
            ("server", parts.map(|parts| &parts.server)),
            ("client_wait", parts.map(|parts| &parts.client_wait)),
            ("connect", kind.connect.as_ref()),
        ];
        let name = quoted(kind.name());
        let known = times.into_iter();
        for (time, latency) in known.filter_map(|(time, latency)| Some((time, latency?))) {
            writeln!(out, "{name},{time},{}", cells(&LATENCY_COLUMNS, latency))?;
        }
    }
    Ok(())
}

/// Writes the industry metrics of the workload, such as NOPM, and transactions per second, one line each.
/// Metrics without a value have no line; TPS has none if nothing was measured.
pub fn write_metrics(out: &mut dyn Write, run: &Run) -> io::Result<()> {
    writeln!(out, "{}", header(&METRIC_COLUMNS))?;
    for rate in &run.rates {
        writeln!(out, "{}", cells(&METRIC_COLUMNS, rate))?;
    }
    let Some(all) = run.measured.all_kinds() else {
        return Ok(());
    };
    let per_scale = all.tps / f64::from(run.workload.scale.max(1));
    let title = "transactions committed per second";
    writeln!(out, "TPS,{},{per_scale},,{title}", all.tps)
}

/// Writes stored runs, one line each.
pub fn write_runs(out: &mut dyn Write, runs: &[RunSummary]) -> io::Result<()> {
    writeln!(out, "{}", header(&RUN_COLUMNS))?;
    let mut runs = runs.iter();
    runs.try_for_each(|run| writeln!(out, "{}", cells(&RUN_COLUMNS, run)))
}

/// A number with a cell, which is empty if the number is missing.
trait Cell {
    fn cell(&self) -> String;
}

macro_rules! number_cells {
    ($($number:ty),+) => {$(impl Cell for $number { fn cell(&self) -> String { self.to_string() } })+};
}

number_cells!(u32, u64, f64);

impl<T: Cell> Cell for Option<T> {
    fn cell(&self) -> String {
        self.as_ref().map_or_else(String::new, T::cell)
    }
}

/// Quotes a cell if it contains separators or quotes.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run;
    use crate::sample_run::written;
    use prony_assertions::TextAssertions;

    fn lines(write: fn(&mut dyn Write, &Run) -> io::Result<()>, run: &Run) -> Vec<String> {
        let text = written(|out| write(out, run));
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn stored_runs_have_a_cell_per_column() {
        let run = sample_run::closed();
        let mut summary = RunSummary::new(&run.id, &run);
        summary.annotation.label = Some("a \"label\", of two".to_owned());
        let text = written(|out| write_runs(out, &[summary]));
        let lines: Vec<&str> = text.lines().collect();
        let columns = |line: &str| line.split(',').count();
        assert_eq!(columns(lines[0]) + 1, columns(lines[1]), "{text}");
        assert!(
            lines[1].ends_with(",\"a \"\"label\"\", of two\","),
            "{text}"
        );
    }

    #[test]
    fn the_series_has_a_line_per_second() {
        let run = sample_run::closed();
        let lines = lines(write_series, &run);
        assert_eq!(lines.len(), 1 + run.series.len());
        let columns = lines[0].split(',').count();
        assert!(lines.iter().all(|line| line.split(',').count() == columns));
        lines[1].assert_starts_with("0,1,warmup,");
    }

    #[test]
    fn server_seconds_have_a_cell_per_column() {
        let mut run = sample_run::closed();
        assert_eq!(lines(write_server, &run).len(), 1, "only a header");
        let observed = ServerSecond {
            at_s: 1.5,
            length_s: 1.0,
            commits: Some(900),
            connections: Some(8),
            waits: [("Lock/a, b".to_owned(), 2), ("IO/WalSync".to_owned(), 3)].into(),
            wait_s: Some([("WRITELOG".to_owned(), 1.25), ("LCK_M".to_owned(), 0.5)].into()),
            machine: Some(MachineSecond {
                busy_share: Some(0.5),
                disk_busy_share: Some(0.25),
                ..MachineSecond::default()
            }),
            ..ServerSecond::default()
        };
        let empty = ServerSecond::default();
        run.observed.get_or_insert_default().series = vec![observed, empty];
        let lines = lines(write_server, &run);
        let titles: Vec<&str> = lines[0].split(',').collect();
        let empty: Vec<&str> = lines[2].split(',').collect();
        assert_eq!(empty.len(), titles.len());
        assert!(empty[2..].iter().all(|cell| cell.is_empty()), "{empty:?}");
        lines[1].assert_ends_with(",\"IO/WalSync 3; Lock/a, b 2\",LCK_M 0.5; WRITELOG 1.25");
        let cells: Vec<&str> = lines[1].split(',').collect();
        let cell = |title: &str| {
            let column = titles.iter().position(|column| *column == title);
            cells[column.expect("a column")]
        };
        assert_eq!(
            (cell("at_s"), cell("commits"), cell("rollbacks")),
            ("1.5", "900", "")
        );
        assert_eq!((cell("connections"), cell("machine_busy")), ("8", "0.5"));
        assert_eq!(
            (cell("machine_disk_busy"), cell("client_busy")),
            ("0.25", "")
        );
    }

    #[test]
    fn an_absent_percentile_is_an_empty_cell() {
        let mut run = sample_run::closed();
        run.measured.kinds[0].response.p999_ns = None;
        let lines = lines(write_percentiles, &run);
        lines[1].assert_starts_with("all,response,");
        let cells: Vec<&str> = lines[1].split(',').collect();
        assert_eq!(cells[9], "");
        assert_eq!(cells.len(), lines[0].split(',').count());
    }

    #[test]
    fn each_metric_has_a_line() {
        let mut run = sample_run::closed();
        assert_eq!(lines(write_metrics, &run).len(), 2, "a header and TPS");
        run.rates = vec![prony_store::IndustryMetric {
            name: prony_store::NOPM.to_owned(),
            title: "new orders, committed".into(),
            value: 54_818.5,
            per_scale: 548.185,
            note: None,
        }];
        let lines = lines(write_metrics, &run);
        assert_eq!(lines[0], "name,value,per_scale,note,title");
        assert_eq!(lines[1], "NOPM,54818.5,548.185,,\"new orders, committed\"");
        lines[2].assert_starts_with("TPS,27700,");
    }

    #[test]
    fn a_comma_in_a_name_is_quoted() {
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
