//! Figures for a spreadsheet.
//!
//! In: a Run. Out: comma-separated lines with a header (RFC 4180, but with `\n`), units in the
//! column names, an empty cell where there is no figure. Must never: round.

use prony_store::{Latency, Run};
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
