//! CSV output for spreadsheets.
//!
//! In: a Run. Out: comma-separated lines with a header (RFC 4180, but with `\n`). Numeric columns without a
//! unit in their name are counts or shares from 0 to 1; `seconds` is the length of a row. Cells of missing
//! figures are empty. Must never: round.

use prony_store::{Latency, MachineSecond, Run, ServerSecond};
use std::io::{self, Write};

/// Writes the per-second series, warm-up included.
pub fn write_series(out: &mut dyn Write, run: &Run) -> io::Result<()> {
    writeln!(
        out,
        "at_s,seconds,part,committed,rolled_back,failed,tps,mean_ns,p50_ns,p95_ns,p99_ns,max_ns,\
         server_mean_ns,client_cpu_s,loop_delay_max_ns,connections,rolling_s,rolling_p95_ns,rolling_p99_ns"
    )?;
    for second in &run.series {
        let tps = if second.length_s > 0.0 {
            second.committed as f64 / second.length_s
        } else {
            0.0
        };
        let rolling = second.rolling.as_ref();
        writeln!(
            out,
            "{},{},{},{},{},{},{tps},{},{},{},{},{},{},{},{},{},{},{},{}",
            second.at_s,
            second.length_s,
            second.phase.name(),
            second.committed,
            second.rolled_back,
            second.failed,
            second.mean_ns,
            cell(second.p50_ns),
            cell(second.p95_ns),
            cell(second.p99_ns),
            second.max_ns,
            cell(second.server_mean_ns),
            cell(second.client_cpu_s),
            second.loop_delay_max_ns,
            second.connections,
            cell(rolling.map(|window| window.length_s)),
            cell(rolling.map(|window| window.p95_ns)),
            cell(rolling.map(|window| window.p99_ns)),
        )?;
    }
    Ok(())
}

/// Writes the observations of the server, one line per reading. All waits are in one cell:
/// `IO/WalSync 3; Lock/tuple 1`. So are the times of waits, in seconds: `LCK_M 0.5; WRITELOG 1.25`.
pub fn write_server(out: &mut dyn Write, run: &Run) -> io::Result<()> {
    writeln!(
        out,
        "at_s,seconds,commits,rollbacks,cache_hits,cache_reads,log_bytes,temp_bytes,deadlocks,\
         connections,active,lock_waits,vacuums,checkpoint_age_bytes,history_length,\
         replication_lag_bytes,replication_lag_s,{},{},waits,wait_s",
        machine_column_names("machine"),
        machine_column_names("client"),
    )?;
    let observed = run
        .observed
        .iter()
        .filter(|observed| observed.off.is_none());
    let seconds = observed.flat_map(|observed| &observed.series);
    for second in seconds {
        let counts = [
            second.commits,
            second.rollbacks,
            second.cache_hits,
            second.cache_reads,
            second.log_bytes,
            second.temp_bytes,
            second.deadlocks,
            second.connections.map(u64::from),
            second.active.map(u64::from),
            second.lock_waits.map(u64::from),
            second.vacuums.map(u64::from),
            second.checkpoint_age_bytes,
            second.history_length,
            second.replication_lag_bytes,
        ];
        writeln!(
            out,
            "{},{},{},{},{},{},{},{}",
            second.at_s,
            second.length_s,
            counts.map(cell).join(","),
            cell(second.replication_lag_s),
            machine_cells(second.machine.as_ref()),
            machine_cells(second.client.as_ref()),
            quoted(&waits_text(second)),
            quoted(&wait_times_text(second)),
        )?;
    }
    Ok(())
}

/// The name of a column and the function that formats its cells.
type MachineColumn = (&'static str, fn(&MachineSecond) -> String);

/// The columns of a machine; shares are from 0 to 1.
const MACHINE_COLUMNS: [MachineColumn; 12] = [
    ("busy", |second| cell(second.busy_share)),
    ("busiest_cpu", |second| cell(second.busiest_cpu_share)),
    ("io_wait", |second| cell(second.io_wait_share)),
    ("steal", |second| cell(second.steal_share)),
    ("server_cpu_s", |second| cell(second.server_cpu_s)),
    ("memory_available_bytes", |second| {
        cell(second.memory_available_bytes)
    }),
    ("disk_read_bytes", |second| cell(second.disk_read_bytes)),
    ("disk_write_bytes", |second| cell(second.disk_write_bytes)),
    ("disk_busy", |second| cell(second.disk_busy_share)),
    ("throttled_s", |second| cell(second.throttled_s)),
    ("network_bytes", |second| cell(second.network_bytes)),
    ("link_busy", |second| cell(second.link_busy_share)),
];

/// The column names of a machine, with a prefix.
fn machine_column_names(prefix: &str) -> String {
    MACHINE_COLUMNS
        .map(|(name, _)| format!("{prefix}_{name}"))
        .join(",")
}

fn machine_cells(machine: Option<&MachineSecond>) -> String {
    let machine = machine.cloned().unwrap_or_default();
    MACHINE_COLUMNS.map(|(_, cell)| cell(&machine)).join(",")
}

fn waits_text(second: &ServerSecond) -> String {
    let waits = second.waits.iter();
    let waits = waits.map(|(name, count)| format!("{name} {count}"));
    waits.collect::<Vec<_>>().join("; ")
}

/// The time that sessions waited, by wait type; empty if it is unknown.
fn wait_times_text(second: &ServerSecond) -> String {
    let waits = second.wait_s.iter().flatten();
    let waits = waits.map(|(name, time_s)| format!("{name} {time_s}"));
    waits.collect::<Vec<_>>().join("; ")
}

/// Writes the percentiles of the measured window, one line per kind and type of time.
pub fn write_percentiles(out: &mut dyn Write, run: &Run) -> io::Result<()> {
    writeln!(
        out,
        "kind,time,samples,mean_ns,min_ns,p50_ns,p90_ns,p95_ns,p99_ns,p999_ns,max_ns"
    )?;
    for kind in &run.measured.kinds {
        let mut times = vec![("response", &kind.response), ("service", &kind.service)];
        if let Some(parts) = &kind.parts {
            times.push(("send_wait", &parts.send_wait));
            times.push(("server", &parts.server));
            times.push(("client_wait", &parts.client_wait));
        }
        if let Some(connect) = &kind.connect {
            times.push(("connect", connect));
        }
        for (name, latency) in times {
            let Latency {
                samples,
                mean_ns,
                min_ns,
                max_ns,
                ..
            } = latency;
            let percentiles = [
                latency.p50_ns,
                latency.p90_ns,
                latency.p95_ns,
                latency.p99_ns,
                latency.p999_ns,
            ];
            let (kind, percentiles) = (quoted(kind.name()), percentiles.map(cell).join(","));
            writeln!(
                out,
                "{kind},{name},{samples},{mean_ns},{min_ns},{percentiles},{max_ns}"
            )?;
        }
    }
    Ok(())
}

/// Writes the industry metrics of the workload, such as NOPM, and transactions per second, one line each.
/// Metrics without a value have no line; TPS has none if nothing was measured.
pub fn write_metrics(out: &mut dyn Write, run: &Run) -> io::Result<()> {
    writeln!(out, "name,value,per_scale,note,title")?;
    for rate in &run.rates {
        writeln!(
            out,
            "{},{},{},{},{}",
            quoted(rate.name.as_str()),
            rate.value,
            rate.per_scale,
            quoted(rate.note.as_deref().unwrap_or_default()),
            quoted(&rate.title),
        )?;
    }
    let Some(all) = run.measured.all_kinds() else {
        return Ok(());
    };
    let per_scale = all.tps / f64::from(run.workload.scale.max(1));
    let title = "transactions committed per second";
    writeln!(out, "TPS,{},{per_scale},,{title}", all.tps)
}

/// The cell of a value; empty if it is missing.
fn cell<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
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

    fn lines(write: fn(&mut dyn Write, &Run) -> io::Result<()>, run: &Run) -> Vec<String> {
        let mut out = Vec::new();
        write(&mut out, run).unwrap();
        let text = String::from_utf8(out).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn the_series_has_a_line_per_second() {
        let run = sample_run::closed();
        let lines = lines(write_series, &run);
        assert_eq!(lines.len(), 1 + run.series.len());
        let columns = lines[0].split(',').count();
        assert!(lines.iter().all(|line| line.split(',').count() == columns));
        assert!(lines[1].starts_with("0,1,warmup,"));
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
        assert!(
            lines[1].ends_with(",\"IO/WalSync 3; Lock/a, b 2\",LCK_M 0.5; WRITELOG 1.25"),
            "{}",
            lines[1]
        );
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
        assert!(lines[1].starts_with("all,response,"));
        let cells: Vec<&str> = lines[1].split(',').collect();
        assert_eq!(cells[9], "");
        assert_eq!(cells.len(), lines[0].split(',').count());
    }

    #[test]
    fn each_metric_has_a_line() {
        let mut run = sample_run::closed();
        assert_eq!(lines(write_metrics, &run).len(), 2, "a header and TPS");
        run.rates = vec![prony_store::IndustryMetric {
            name: prony_store::MetricName::Nopm,
            title: "new orders, committed".into(),
            value: 54_818.5,
            per_scale: 548.185,
            note: None,
        }];
        let lines = lines(write_metrics, &run);
        assert_eq!(lines[0], "name,value,per_scale,note,title");
        assert_eq!(lines[1], "NOPM,54818.5,548.185,,\"new orders, committed\"");
        assert!(lines[2].starts_with("TPS,27700,"), "{}", lines[2]);
    }

    #[test]
    fn a_comma_in_a_name_is_quoted() {
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
