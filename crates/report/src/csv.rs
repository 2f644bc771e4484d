//! Figures for a spreadsheet.
//!
//! In: a Run. Out: comma-separated lines with a header (RFC 4180, but with `\n`), units in the
//! column names, an empty cell where there is no figure. Must never: round.

use prony_store::{Latency, MachineSecond, Run, ServerSecond};
use std::io::{self, Write};

/// Writes the per-second series, warm-up included.
pub fn series(out: &mut dyn Write, run: &Run) -> io::Result<()> {
    writeln!(
        out,
        "at_s,seconds,part,committed,rolled_back,failed,tps,mean_ns,p50_ns,p95_ns,p99_ns,max_ns,\
         server_mean_ns,client_cpu_s,loop_delay_max_ns,connections"
    )?;
    for second in &run.series {
        let tps = if second.seconds > 0.0 {
            second.committed as f64 / second.seconds
        } else {
            0.0
        };
        writeln!(
            out,
            "{},{},{},{},{},{},{tps},{},{},{},{},{},{},{},{},{}",
            second.at_s,
            second.seconds,
            quoted(&second.part),
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
        )?;
    }
    Ok(())
}

/// Writes what was seen of the server, a line a reading. The waits are one cell: `IO/WalSync 3;
/// Lock/tuple 1`.
pub fn server(out: &mut dyn Write, run: &Run) -> io::Result<()> {
    writeln!(
        out,
        "at_s,seconds,commits,rollbacks,cache_hits,cache_reads,log_bytes,temp_bytes,deadlocks,\
         connections,active,lock_waits,vacuums,checkpoint_age_bytes,history_length,\
         replication_lag_bytes,replication_lag_s,{},{},waits",
        machine_columns("machine"),
        machine_columns("client"),
    )?;
    let seconds = run.observed.iter().flat_map(|observed| &observed.series);
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
            "{},{},{},{},{},{},{}",
            second.at_s,
            second.seconds,
            counts.map(cell).join(","),
            cell(second.replication_lag_s),
            machine_cells(second.machine.as_ref()),
            machine_cells(second.client.as_ref()),
            quoted(&waits(second)),
        )?;
    }
    Ok(())
}

/// Shares are from 0 to 1.
fn machine_columns(of: &str) -> String {
    let columns = [
        "busy",
        "busiest_cpu",
        "io_wait",
        "steal",
        "server_cpu_s",
        "memory_available_bytes",
        "disk_read_bytes",
        "disk_write_bytes",
        "disk_busy",
        "throttled_s",
    ];
    columns.map(|column| format!("{of}_{column}")).join(",")
}

fn machine_cells(machine: Option<&MachineSecond>) -> String {
    let machine = machine.cloned().unwrap_or_default();
    [
        cell(machine.busy),
        cell(machine.busiest_cpu),
        cell(machine.io_wait),
        cell(machine.steal),
        cell(machine.server_cpu_s),
        cell(machine.memory_available_bytes),
        cell(machine.disk_read_bytes),
        cell(machine.disk_write_bytes),
        cell(machine.disk_busy),
        cell(machine.throttled_s),
    ]
    .join(",")
}

fn waits(second: &ServerSecond) -> String {
    let waits = second.waits.iter();
    let waits = waits.map(|(name, count)| format!("{name} {count}"));
    waits.collect::<Vec<_>>().join("; ")
}

/// Writes the percentiles of the measured window: one line a kind and time.
pub fn percentiles(out: &mut dyn Write, run: &Run) -> io::Result<()> {
    writeln!(
        out,
        "kind,time,samples,mean_ns,min_ns,p50_ns,p90_ns,p95_ns,p99_ns,p999_ns,max_ns"
    )?;
    for kind in &run.measured.kinds {
        let mut times = vec![("response", &kind.response), ("service", &kind.service)];
        if let Some(split) = &kind.split {
            times.push(("send_wait", &split.send_wait));
            times.push(("server", &split.server));
            times.push(("client_wait", &split.client_wait));
        }
        if let Some(connect) = &kind.connect {
            times.push(("connect", connect));
        }
        for (name, latency) in times {
            percentile_line(out, &kind.kind, name, latency)?;
        }
    }
    Ok(())
}

/// Writes the rates that the workload's field knows by name, and transactions a second: one line
/// each. A rate that is not known has no line.
pub fn rates(out: &mut dyn Write, run: &Run) -> io::Result<()> {
    writeln!(out, "name,value,per_scale,note,title")?;
    for rate in &run.rates {
        writeln!(
            out,
            "{},{},{},{},{}",
            quoted(&rate.name),
            rate.value,
            rate.per_scale,
            quoted(rate.note.as_deref().unwrap_or_default()),
            quoted(&rate.title),
        )?;
    }
    let Some(all) = run.measured.kinds.first() else {
        return Ok(());
    };
    let per_scale = all.tps / f64::from(run.workload.scale.max(1));
    let title = "transactions committed a second";
    writeln!(out, "TPS,{},{per_scale},,{title}", all.tps)
}

fn percentile_line(
    out: &mut dyn Write,
    kind: &str,
    name: &str,
    latency: &Latency,
) -> io::Result<()> {
    writeln!(
        out,
        "{},{name},{},{},{},{},{},{},{},{},{}",
        quoted(kind),
        latency.samples,
        latency.mean_ns,
        latency.min_ns,
        cell(latency.p50_ns),
        cell(latency.p90_ns),
        cell(latency.p95_ns),
        cell(latency.p99_ns),
        cell(latency.p999_ns),
        latency.max_ns,
    )
}

fn cell<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

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
    fn one_line_a_second_and_as_many_cells_as_titles() {
        let run = sample_run::closed();
        let lines = lines(series, &run);
        assert_eq!(lines.len(), 1 + run.series.len());
        let columns = lines[0].split(',').count();
        assert!(lines.iter().all(|line| line.split(',').count() == columns));
        assert!(lines[1].starts_with("0,1,warmup,"));
    }

    #[test]
    fn the_servers_seconds_have_as_many_cells_as_titles_too() {
        let mut run = sample_run::closed();
        assert_eq!(lines(server, &run).len(), 1, "a header alone");
        let seen = ServerSecond {
            at_s: 1.5,
            seconds: 1.0,
            commits: Some(900),
            connections: Some(8),
            waits: [("Lock/a, b".to_owned(), 2), ("IO/WalSync".to_owned(), 3)].into(),
            machine: Some(MachineSecond {
                busy: Some(0.5),
                disk_busy: Some(0.25),
                ..MachineSecond::default()
            }),
            ..ServerSecond::default()
        };
        let bare = ServerSecond::default();
        run.observed.get_or_insert_default().series = vec![seen, bare];
        let lines = lines(server, &run);
        let titles: Vec<&str> = lines[0].split(',').collect();
        let bare: Vec<&str> = lines[2].split(',').collect();
        assert_eq!(bare.len(), titles.len());
        assert!(bare[2..].iter().all(|cell| cell.is_empty()), "{bare:?}");
        assert!(
            lines[1].ends_with(",\"IO/WalSync 3; Lock/a, b 2\""),
            "{}",
            lines[1]
        );
        let cells: Vec<&str> = lines[1].split(',').collect();
        let of = |title: &str| {
            let column = titles.iter().position(|column| *column == title);
            cells[column.expect("a column")]
        };
        assert_eq!(
            (of("at_s"), of("commits"), of("rollbacks")),
            ("1.5", "900", "")
        );
        assert_eq!((of("connections"), of("machine_busy")), ("8", "0.5"));
        assert_eq!((of("machine_disk_busy"), of("client_busy")), ("0.25", ""));
    }

    #[test]
    fn an_absent_percentile_is_an_empty_cell() {
        let mut run = sample_run::closed();
        run.measured.kinds[0].response.p999_ns = None;
        let lines = lines(percentiles, &run);
        assert!(lines[1].starts_with("all,response,"));
        let cells: Vec<&str> = lines[1].split(',').collect();
        assert_eq!(cells[9], "");
        assert_eq!(cells.len(), lines[0].split(',').count());
    }

    #[test]
    fn each_rate_has_a_line_and_an_unknown_one_none() {
        let mut run = sample_run::closed();
        assert_eq!(lines(rates, &run).len(), 2, "a header and TPS");
        run.rates = vec![prony_store::Rate {
            name: "NOPM".into(),
            title: "new orders, committed".into(),
            value: 54_818.5,
            per_scale: 548.185,
            note: None,
        }];
        let lines = lines(rates, &run);
        assert_eq!(lines[0], "name,value,per_scale,note,title");
        assert_eq!(lines[1], "NOPM,54818.5,548.185,,\"new orders, committed\"");
        assert!(lines[2].starts_with("TPS,27700,"), "{}", lines[2]);
    }

    #[test]
    fn a_comma_in_a_name_is_quoted() {
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
