//! The parts of the result around the figures: errors, events, checks, the client, the set-up.
//!
//! In: a Run. Out: short paragraphs and tables. Must never: hide an error or a finding.

use super::{Stored, engine, heading, nothing_measured, paragraph};
use crate::style::Style;
use crate::table::Table;
use crate::text::{cut, plain, wrap};
use crate::units;
use prony_store::{Batch, Check, Event, Experiment, Host, Run, Severity, Share};
use std::io::{self, Write};

/// Throughput by kind, where there is more than one.
pub fn kinds(out: &mut dyn Write, style: &Style, run: &Run) -> io::Result<()> {
    if run.measured.kinds.len() < 3 || nothing_measured(run) {
        return Ok(());
    }
    heading(out, style, "Transactions by kind")?;
    let mut table = Table::new(&["kind", "committed", "a second", "rolled back", "failed"]);
    for kind in &run.measured.kinds {
        table.row([
            plain(&kind.kind),
            units::count(kind.committed),
            format!("{} /s", units::rate(kind.tps)),
            units::count(kind.rolled_back),
            units::count(kind.failed),
        ]);
    }
    table.write(out, style, 2)?;
    limits(out, style, run)
}

/// The times within which most of each kind are to end, where the workload has such.
fn limits(out: &mut dyn Write, style: &Style, run: &Run) -> io::Result<()> {
    let each = run.workload.limits.iter().map(|limit| {
        let mut kinds = run.measured.kinds.iter();
        let kind = kinds.find(|kind| kind.kind == limit.kind);
        let p90 = kind.and_then(|kind| kind.response.p90_ns);
        let what = if limit.deferred {
            ", deferred, from queueing to completion"
        } else {
            ""
        };
        format!(
            "{}{what}: {} (limit {})",
            plain(&limit.kind),
            p90.map_or("too few".into(), |ns| units::time(ns as f64)),
            units::span(limit.p90_s),
        )
    });
    let each: Vec<String> = each.collect();
    if each.is_empty() {
        return Ok(());
    }
    paragraph(
        out,
        style,
        &format!("90th percentiles: {}", each.join("; ")),
    )
}

/// What users did against what was meant, where shares are.
pub fn shares(out: &mut dyn Write, style: &Style, run: &Run) -> io::Result<()> {
    // Where each transaction keeps its shares, or none are meant, the counts are what is asked for.
    let is_count = |share: &&Share| share.exact || share.meant.is_none();
    let (counts, drawn): (Vec<&Share>, Vec<&Share>) = run.shares.iter().partition(is_count);
    counted(out, style, run, &counts)?;
    if drawn.is_empty() {
        return Ok(());
    }
    heading(
        out,
        style,
        "Shares over the whole run, and those that are meant",
    )?;
    let mut table = Table::new(&["share", "of<", "of all", "observed", "meant", "at least"]);
    for share in drawn {
        let observed = (share.whole > 0).then(|| share.part as f64 / share.whole as f64);
        table.row([
            plain(&share.name),
            plain(&share.of),
            units::count(share.whole),
            observed.map_or("–".into(), exactly),
            share.meant.map_or("–".into(), exactly),
            share.least.map_or(String::new(), exactly),
        ]);
    }
    table.write(out, style, 2)
}

/// Counts of what transactions did that came to their end, such as reads among queries.
fn counted(out: &mut dyn Write, style: &Style, run: &Run, counts: &[&Share]) -> io::Result<()> {
    let Some(first) = counts.first() else {
        return Ok(());
    };
    let of = plain(&first.of);
    let title = format!("Counts over the whole run, of transactions that ended well: {of}");
    heading(out, style, &title)?;
    let mut table = Table::new(&["count", "counted", "meant", "of all"]);
    for share in counts {
        let all = share.whole as f64;
        let meant = share.meant.map(|meant| (meant * all).round() as u64);
        let observed = (share.whole > 0).then(|| share.part as f64 / all);
        table.row([
            plain(&share.name),
            units::count(share.part),
            meant.map_or("–".into(), units::count),
            observed.map_or("–".into(), exactly),
        ]);
    }
    table.write(out, style, 2)?;
    match anew(run) {
        Some(words) => paragraph(out, style, &words),
        None => Ok(()),
    }
}

/// What is in the counts of queries, and not of transactions that ended well: tries that began anew.
fn anew(run: &Run) -> Option<String> {
    let tries = run.measured.kinds.first()?.retries;
    let queries = run.measured.queries.as_ref().filter(|_| tries > 0)?;
    let ratio = match queries.writes {
        0 => String::new(),
        writes => format!(
            ", {:.2} reads a write",
            queries.reads as f64 / writes as f64
        ),
    };
    Some(format!(
        "Of {} that began anew (deadlocks and the like) nothing is counted here. With what they had asked, as \
         sysbench counts, the measured window has {} and {}{ratio}.",
        units::counted(tries, "try", "tries"),
        units::counted(queries.reads, "read", "reads"),
        units::counted(queries.writes, "write", "writes"),
    ))
}

/// A share to a tenth of a per cent, so that 42.9 % is not 43 %.
fn exactly(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Failed transactions by class and code; those of the warm-up in one line.
pub fn errors(out: &mut dyn Write, style: &Style, run: &Run) -> io::Result<()> {
    let early: u64 = run
        .warmup
        .iter()
        .flat_map(|part| &part.errors)
        .map(|e| e.count)
        .sum();
    if run.measured.errors.is_empty() && early == 0 {
        return Ok(());
    }
    heading(out, style, "Failed transactions")?;
    if !run.measured.errors.is_empty() {
        let mut table = Table::new(&["count", "class<", "SQLSTATE<", "kind<", "first message<"]);
        let used = 42;
        for error in &run.measured.errors {
            table.row([
                units::count(error.count),
                plain(&error.class),
                plain(&error.code),
                plain(&error.kind),
                cut(
                    &plain(&error.example),
                    style.width.saturating_sub(used).max(30),
                ),
            ]);
        }
        table.write(out, style, 2)?;
    }
    if early > 0 {
        writeln!(
            out,
            "  {} in the warm-up, not counted above",
            units::count(early)
        )?;
    }
    Ok(())
}

/// Outages and the like.
pub fn events(out: &mut dyn Write, style: &Style, run: &Run) -> io::Result<()> {
    if run.events.is_empty() {
        return Ok(());
    }
    heading(out, style, "Events")?;
    const SHOWN: usize = 12;
    for event in run.events.iter().take(SHOWN) {
        let (when, what) = event_words(event);
        paragraph(out, style, &format!("{when}: {what}"))?;
    }
    if run.events.len() > SHOWN {
        let more = (run.events.len() - SHOWN) as u64;
        writeln!(
            out,
            "  and {} more in the stored document",
            units::count(more)
        )?;
    }
    Ok(())
}

/// When something happened, and what.
pub fn event_words(event: &Event) -> (String, String) {
    let when = match event.until_s {
        Some(until) => format!(
            "at {}, for {}",
            units::span(event.at_s),
            units::span((until - event.at_s).max(0.0))
        ),
        None if event.what == "outage" => {
            format!("from {} to the end", units::span(event.at_s))
        }
        None => format!("at {}", units::span(event.at_s)),
    };
    let count = if event.count > 1 {
        format!(" ({} concerned)", units::count(event.count))
    } else {
        String::new()
    };
    let text = format!("{}{count}: {}", plain(&event.what), plain(&event.detail));
    (when, text.trim_end_matches([':', ' ']).to_owned())
}

/// What the checks found, worst first; notes in as few lines as they need, without what to do: there is
/// mostly nothing to be done.
pub fn checks(out: &mut dyn Write, style: &Style, run: &Run) -> io::Result<()> {
    if run.checks.is_empty() {
        return Ok(());
    }
    heading(out, style, "Checks")?;
    check_lines(out, style, &run.checks)
}

/// The lines of checks, the worst first.
pub fn check_lines(out: &mut dyn Write, style: &Style, checks: &[Check]) -> io::Result<()> {
    let mut checks: Vec<_> = checks.iter().collect();
    checks.sort_by_key(|check| std::cmp::Reverse(check.severity));
    for check in checks {
        let label = match check.severity {
            Severity::Invalid => "invalid",
            Severity::Caveat => "caveat ",
            Severity::Note => "note   ",
        };
        let colored = match check.severity {
            Severity::Invalid => style.alarm(label),
            Severity::Caveat => style.caution(label),
            Severity::Note => style.dim(label),
        };
        let finding = format!("{}: {}", plain(&check.id), plain(&check.finding));
        for (row, line) in wrap(&finding, style.width - 11).iter().enumerate() {
            let lead = if row == 0 { &colored } else { "       " };
            writeln!(out, "  {lead}  {line}")?;
        }
        if check.severity == Severity::Note {
            continue;
        }
        for line in wrap(&plain(&check.advice), style.width - 13) {
            writeln!(out, "             {line}")?;
        }
    }
    Ok(())
}

/// The client's own health.
pub fn client(out: &mut dyn Write, style: &Style, run: &Run) -> io::Result<()> {
    heading(out, style, "This client")?;
    for line in client_lines(run) {
        paragraph(out, style, &line)?;
    }
    Ok(())
}

/// The client's own health, in sentences.
pub fn client_lines(run: &Run) -> Vec<String> {
    let client = &run.client;
    let mut lines = vec![
        format!(
            "CPU {} user + {} system, {} a committed transaction; busiest thread {} of a CPU; \
             ready but without a CPU for {}; stolen {}",
            units::known(client.cpu_user_s, units::seconds),
            units::known(client.cpu_system_s, units::seconds),
            units::known(client.cpu_per_transaction_us, |us| units::time(us * 1e3)),
            units::known(client.busiest_thread, units::percent),
            units::known(client.run_queue_s, units::seconds),
            units::known(client.steal, units::percent),
        ),
        format!(
            "worst loop delay {} (so long a reply may have waited unseen); memory at most {}",
            // No turn of a loop takes no time: a zero is one that nobody measured.
            units::known(Some(client.loop_delay_max_ns).filter(|ns| *ns > 0), |ns| {
                units::time(ns as f64)
            }),
            units::known(client.memory_peak_bytes, units::bytes),
        ),
    ];
    lines.extend(client.batch.map(batch));
    lines
}

/// What became of the policy that leaves the server's processes their CPU.
fn batch(of: Batch) -> String {
    let all = of.under + of.left + of.refused;
    let told = [
        (of.under, "ran under it"),
        (
            of.left,
            "went back from it, because other programs made them wait",
        ),
        (of.refused, "were refused it by the system"),
    ];
    let told = told.into_iter().filter(|(count, _)| *count > 0);
    let told: Vec<String> = told
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    format!(
        "SCHED_BATCH, asked for by {}: {}",
        units::counted(all.into(), "worker", "workers"),
        told.join(", ")
    )
}

/// A run's place among the repeats of an experiment.
fn part_of(of: &Experiment) -> String {
    format!(
        "experiment {}: run {} of {}, variant {}, repeat {}; {} order",
        plain(&of.id),
        of.position,
        of.runs,
        plain(&of.variant),
        of.repeat,
        plain(&of.order),
    )
}

/// The set-up: server, drive, machine.
pub fn setup(out: &mut dyn Write, style: &Style, run: &Run) -> io::Result<()> {
    heading(out, style, "Set-up")?;
    labelled(out, style, 9, &setup_lines(run))
}

/// Writes parts, each after its label, which gets so many columns.
pub fn labelled(
    out: &mut dyn Write,
    style: &Style,
    columns: usize,
    parts: &[(&str, String)],
) -> io::Result<()> {
    for (label, text) in parts {
        let lines = wrap(text, style.width.saturating_sub(columns + 2));
        for (row, part) in lines.iter().enumerate() {
            let label = if row == 0 { label } else { "" };
            writeln!(out, "  {}{part}", style.dim(&format!("{label:<columns$}")))?;
        }
    }
    Ok(())
}

/// The set-up, each part with its label.
pub fn setup_lines(run: &Run) -> Vec<(&'static str, String)> {
    let (server, drive) = (&run.server, &run.drive);
    let tls = match &server.tls {
        Some(tls) => format!("TLS {}", plain(tls).trim_start_matches("TLS ")),
        None => "no TLS".into(),
    };
    let mine = if server.embedded {
        ", started by Prony for this run"
    } else {
        ""
    };
    let mut lines = vec![(
        "server",
        format!(
            "{} {} at {}, database {}, role {}, {tls}{mine}",
            engine(&server.engine),
            plain(&server.version),
            plain(&server.address),
            plain(&server.database),
            plain(&server.user),
        ),
    )];
    if !run.workload.settings.is_empty() {
        lines.push(("workload", plain(&run.workload.settings.join(", "))));
    }
    let settings = settings(run);
    if !settings.is_empty() {
        lines.push(("settings", settings));
    }
    let together = run.experiment.as_ref().map(part_of);
    lines.extend(together.map(|words| ("part of", words)));
    let pace = match drive.rate_tps {
        Some(rate) => format!(
            "open loop at {} transactions/s ({} arrivals)",
            units::rate(rate),
            drive.arrival.as_deref().unwrap_or("unknown"),
        ),
        None => "closed loop".into(),
    };
    let connect = if drive.connect_per_transaction {
        ", a connection a transaction"
    } else {
        ""
    };
    lines.push((
        "drive",
        format!(
            "{} on {}, {pace}, {} protocol{connect}, seed {}",
            units::counted(u64::from(drive.clients), "client", "clients"),
            units::counted(u64::from(drive.threads), "thread", "threads"),
            plain(&drive.protocol),
            drive.seed,
        ),
    ));
    let why = match plain(&drive.io_reason) {
        reason if reason.is_empty() => reason,
        reason => format!(" ({reason})"),
    };
    let (io, network) = (plain(&drive.io), plain(&drive.network));
    let known = |text: &str| match text.is_empty() {
        true => "unknown".to_owned(),
        false => text.to_owned(),
    };
    lines.push((
        "I/O",
        format!("{}{why}; network {}", known(&io), known(&network)),
    ));
    lines.push(("client", machine(&run.host)));
    lines.push((
        "prony",
        format!(
            "{} {} {}, {}",
            plain(&run.build.version),
            plain(&run.build.target),
            plain(&run.build.profile),
            plain(&run.started_at),
        ),
    ));
    lines
}

/// The client machine; what its kernel did not tell (many name no CPU model) is left out.
fn machine(host: &Host) -> String {
    let told = |text: &str, known: bool| known.then(|| text.to_owned());
    let (name, cpu, kernel) = (plain(&host.name), plain(&host.cpu), plain(&host.kernel));
    let parts = [
        told(&name, !name.is_empty()),
        told(&cpu, !cpu.is_empty()),
        Some(units::counted(u64::from(host.cpus), "CPU", "CPUs")),
        told(&units::bytes(host.memory_bytes), host.memory_bytes > 0),
        told(&format!("kernel {kernel}"), !kernel.trim().is_empty()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The settings that decide what a commit costs, as `name value`; the others are in the document.
fn settings(run: &Run) -> String {
    const TELLING: [&str; 11] = [
        "fsync",
        "synchronous_commit",
        "full_page_writes",
        "shared_buffers",
        "max_wal_size",
        "innodb_flush_log_at_trx_commit",
        "sync_binlog",
        "log_bin",
        "innodb_doublewrite",
        "innodb_buffer_pool_size",
        "max_connections",
    ];
    let told = TELLING.iter().filter_map(|name| {
        let value = run.server.settings.get(*name)?;
        let text = value.as_str().map_or_else(|| value.to_string(), plain);
        Some(format!("{name} {text}"))
    });
    told.collect::<Vec<_>>().join(", ")
}

/// Where it is stored and how to see it again.
pub fn place(out: &mut dyn Write, stored: Option<Stored<'_>>) -> io::Result<()> {
    writeln!(out)?;
    match stored {
        Some(Stored::Now { place, id }) => {
            writeln!(out, "Stored in {}", plain(place))?;
            writeln!(out, "Show it again with: prony show {}", plain(id))
        }
        Some(Stored::Before { document }) => writeln!(out, "Read from {}", plain(document)),
        None => writeln!(out, "Not stored."),
    }
}
