//! The set-up of a run, and the client's health.
//!
//! In: a Run. Out: labelled parts and sentences. Must never: give a value for an unknown one.

use crate::text::{joined, plain};
use crate::units::{self, count_of, count_with_noun, or_unknown};
use prony_store::{
    BatchScheduling, Choice, DoctorState, Drive, Experiment, Host, Run, Server, Setting, Workload,
};

pub(crate) fn client_health_sentences(run: &Run) -> Vec<String> {
    let client = &run.client_health();
    // Every iteration of the loop takes some time: zero means not measured.
    let delay_ns = Some(client.loop_delay_max_ns).filter(|ns| *ns > 0);
    let mut lines = vec![
        format!(
            "CPU {} user + {} system, {} per committed transaction; busiest thread {} of a CPU; \
             ready but without a CPU for {}; stolen {}",
            or_unknown(client.cpu_user_s, units::seconds),
            or_unknown(client.cpu_system_s, units::seconds),
            or_unknown(client.cpu_per_transaction_us, |us| units::time(us * 1e3)),
            or_unknown(client.busiest_thread_share, units::percent),
            or_unknown(client.run_queue_s, units::seconds),
            or_unknown(client.steal_share, units::percent),
        ),
        format!(
            "worst loop delay {} (the longest time that a reply may have waited); memory at most {}",
            or_unknown(delay_ns, |ns| units::time(ns as f64)),
            or_unknown(client.memory_peak_bytes, units::bytes),
        ),
    ];
    lines.extend(client.batch.map(describe_batch));
    lines.extend(client.coalescing_workers.map(|count| {
        let workers = count_of(count.into(), "worker");
        format!("{workers} waited for several replies at once, which raised throughput in a trial at the start")
    }));
    lines.extend(client.pinned_workers.map(|count| {
        let workers = count_with_noun(count.into(), "worker was", "workers were");
        format!("{workers} pinned, each to one CPU")
    }));
    lines
}

/// How many workers ran under SCHED_BATCH, which yields the CPU to the server's processes.
fn describe_batch(batch: BatchScheduling) -> String {
    let outcomes = [
        (batch.active, "ran under it"),
        (batch.reverted, "left it, because their users sleep"),
        (batch.refused, "were refused by the kernel"),
    ];
    let outcomes = outcomes.into_iter().filter(|(count, _)| *count > 0);
    let outcomes = outcomes.map(|(count, outcome)| format!("{count} {outcome}"));
    let all = count_of(
        (batch.active + batch.reverted + batch.refused).into(),
        "worker",
    );
    format!(
        "SCHED_BATCH, requested by {all}: {}",
        joined(outcomes, ", ")
    )
}

/// The set-up as labels and values.
pub(crate) fn setup_lines(run: &Run) -> Vec<(&'static str, String)> {
    let parts = [
        ("server", describe_server(&run.server)),
        ("declared", describe_declared(&run.server)),
        ("options", describe_options(run)),
        ("settings", commit_settings(run)),
        (
            "part of",
            run.experiment
                .as_ref()
                .map_or(String::new(), describe_experiment),
        ),
        (
            "drive",
            format!("{}, seed {}", describe_load(&run.drive), run.drive.seed),
        ),
        ("I/O", describe_network(&run.drive)),
        ("client", describe_client_machines(run)),
        ("doctor", describe_doctor(run)),
        (
            "prony",
            plain(&format!(
                "{} {} {}, {}",
                run.build.version,
                run.build.target,
                run.build.profile.name(),
                run.started_at,
            )),
        ),
    ];
    let parts = parts.into_iter().filter(|(_, text)| !text.is_empty());
    parts.collect()
}

/// The machines that drove the clients; machines that are alike are counted.
fn describe_client_machines(run: &Run) -> String {
    let mut kinds: Vec<(String, u64)> = Vec::new();
    for machine in &run.machines {
        let text = describe_client_machine(&machine.host);
        match kinds.iter_mut().find(|(known, _)| *known == text) {
            Some((_, number)) => *number += 1,
            None => kinds.push((text, 1)),
        }
    }
    if kinds.is_empty() {
        return describe_client_machine(&run.machine().host);
    }
    let kinds = kinds.into_iter().map(|(text, number)| match number {
        1 => text,
        _ => format!("{number} × {text}"),
    });
    joined(kinds, "; ")
}

/// What the user said of the server; empty if that is nothing.
fn describe_declared(server: &Server) -> String {
    let facts = server.declared.iter();
    let facts: Vec<String> = facts
        .map(|(fact, value)| format!("{} {value}", fact.name()))
        .collect();
    if facts.is_empty() {
        String::new()
    } else {
        format!(
            "{} (said by the user, not observed)",
            plain(&facts.join(", "))
        )
    }
}

/// What `prony doctor` found before the run; empty if it was not requested.
fn describe_doctor(run: &Run) -> String {
    let Some(doctor) = &run.doctor else {
        return String::new();
    };
    let mut parts = Vec::new();
    for state in [DoctorState::Bad, DoctorState::Caution] {
        let findings = doctor.findings.iter();
        let in_state = findings.filter(|finding| finding.state == state);
        let ids = joined(in_state.map(|finding| finding.id.as_str()), ", ");
        if !ids.is_empty() {
            parts.push(format!("{}: {ids}", state.name()));
        }
    }
    if parts.is_empty() { "everything ok".to_owned() } else { plain(&parts.join("; ")) }
}

fn describe_options(run: &Run) -> String {
    let options = run.workload.settings.iter().map(Setting::to_string);
    plain(&joined(options, ", "))
}

fn describe_server(server: &Server) -> String {
    let tls = match &server.tls {
        Some(tls) => format!("TLS {}", plain(tls).trim_start_matches("TLS ")),
        None => "no TLS".into(),
    };
    let embedded = if server.embedded { ", started by Prony for this run" } else { "" };
    format!(
        "{} {}{} at {}, database {}, role {}, {tls}{embedded}",
        server.product_name(),
        plain(&server.version),
        server.through_pooler(),
        or_unknown(server.address.as_ref(), |address| plain(
            &address.to_string()
        )),
        plain(&server.database),
        plain(&server.user),
    )
}

/// The position of a run among the repeats of an experiment.
fn describe_experiment(experiment: &Experiment) -> String {
    plain(&format!(
        "experiment {}: run {} of {}, variant {}, repeat {}; {} order",
        experiment.id,
        experiment.position,
        experiment.runs,
        experiment.variant,
        experiment.repeat,
        experiment.order.name(),
    ))
}

/// The size of the load: clients, and the scheduled rate if there is one.
pub(crate) fn load_size(drive: &Drive) -> String {
    let clients = count_of(drive.clients.into(), "client");
    match drive.rate_tps {
        Some(rate) => format!(
            "{clients}, {} scheduled",
            units::transactions_per_second(rate)
        ),
        None => clients,
    }
}

/// The load: clients, threads, pace and protocol.
pub(crate) fn describe_load(drive: &Drive) -> String {
    let pace = match drive.rate_tps {
        Some(rate) => format!(
            "open loop at {} ({} arrivals)",
            units::transactions_per_second(rate),
            drive.arrival.map_or("unknown", Choice::name),
        ),
        None if drive.open_loop => "open loop".into(),
        None => "closed loop".into(),
    };
    let connect =
        if drive.connect_per_transaction { ", one connection per transaction" } else { "" };
    format!(
        "{} on {}, {pace}, {} protocol{connect}",
        count_of(drive.clients.into(), "client"),
        count_of(drive.threads.into(), "thread"),
        drive.protocol.map_or("unknown", Choice::name),
    )
}

fn describe_network(drive: &Drive) -> String {
    let reason = match plain(&drive.io_reason) {
        reason if reason.is_empty() => reason,
        reason => format!(" ({reason})"),
    };
    let text = |text: &str| Some(plain(text)).filter(|text| !text.is_empty());
    let io = or_unknown(text(&drive.io), |io| io);
    let network = or_unknown(drive.network, |network| network.to_string());
    format!("{io}{reason}; network {network}")
}

/// The client machine, without values that its kernel does not report (often the CPU model).
fn describe_client_machine(host: &Host) -> String {
    let kernel = Some(plain(&host.kernel)).filter(|kernel| !kernel.is_empty());
    let parts = [
        plain(&host.name),
        plain(&host.cpu),
        count_of(host.cpus.into(), "CPU"),
        match host.memory_bytes {
            0 => String::new(),
            memory => units::bytes(memory),
        },
        kernel.map_or(String::new(), |kernel| format!("kernel {kernel}")),
    ];
    joined(parts.into_iter().filter(|part| !part.is_empty()), ", ")
}

/// The settings that determine the cost of a commit and of reading, as `name value`; the others are in the document.
fn commit_settings(run: &Run) -> String {
    const NAMES: [&str; 16] = [
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
        "database.recovery_model_desc",
        "database.delayed_durability_desc",
        "database.is_read_committed_snapshot_on",
        "database.snapshot_isolation_state_desc",
        "max server memory (MB)",
    ];
    let settings = NAMES.iter().filter_map(|name| {
        let value = run.server.settings.get(*name)?;
        let text = value.as_str().map_or_else(|| value.to_string(), plain);
        Some(format!("{name} {text}"))
    });
    joined(settings, ", ")
}

/// The name and the version of the server: `PostgreSQL 17.2`.
pub(crate) fn server_name(server: &Server) -> String {
    plain(&server.name_and_version())
}

/// The options of a workload behind its name: `, mode statements`; empty if it has none.
pub(crate) fn options_suffix(workload: &Workload) -> String {
    let options = workload.settings.iter();
    options.map(|option| format!(", {option}")).collect()
}
