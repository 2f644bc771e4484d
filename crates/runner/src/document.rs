//! Fills in the Run document as a run proceeds.
//!
//! Must never: put a password into the document; every URL in the document is redacted.

use crate::description::describe;
use crate::host;
use crate::job::RunJob;
use crate::server_tpm::ServerRates;
use prony_drive::{DriveResult, LoadStart, RunEvent, RunEventKind};
use prony_judge::requirements::unanswered;
use prony_plan::{DrivePlan, Pace, Plan, Stop, to_json};
use prony_server::observe::machine::{Colocation, find_colocation};
use prony_server::{Address, Control};
use prony_session::{P90Limit, Program};
use prony_store::{
    ClientMachine, Description, Drive, Event, EventKind, IndustryMetric, Network, PlannedEnd,
    Product, Run, RunState, Server, ServerAddress, ServiceTimePartsSource, Setting,
    StatementLatency, Window, Workload as WorkloadRun, started_now,
};
use prony_workload::{MetricSource, RateMetric};

/// The product, address and TLS of the control connection, for the document.
pub struct ConnectionInfo {
    product: Product,
    address: Option<ServerAddress>,
    tls: Option<String>,
    /// Whether the server runs on this machine, and as which process.
    pub(crate) colocation: Colocation,
}

impl ConnectionInfo {
    /// For a sysbench script that runs without a server, and so without a connection.
    pub fn without_connection(product: Product) -> ConnectionInfo {
        ConnectionInfo {
            product,
            address: None,
            tls: None,
            colocation: Colocation::unknown("there is no server"),
        }
    }

    /// The information about this connection; sends a query on MySQL and MariaDB, for the thread that serves it.
    pub fn of(control: &mut Control) -> ConnectionInfo {
        ConnectionInfo {
            colocation: find_colocation(control),
            product: control.product(),
            address: Some(match &control.endpoint().address {
                Address::Unix(path) => ServerAddress::Unix(path.display().to_string()),
                Address::Tcp(address) => ServerAddress::Tcp(address.to_string()),
            }),
            tls: control.tls().map(str::to_owned),
        }
    }
}

pub(crate) fn new_run(job: &RunJob<'_>) -> Run {
    let workload = job.workload;
    let ready_workload = job.ready_workload;
    let connection = job.connection;
    let kinds = ready_workload.program.kinds();
    let settings = job.facts.settings.iter();
    Run {
        started_at: started_now(),
        scenario: job.purpose.scenario.clone(),
        cached: job.purpose.cached.clone(),
        experiment: job.purpose.experiment.clone(),
        build: host::this_build(),
        machines: vec![ClientMachine {
            host: host::this_machine(),
            ..ClientMachine::default()
        }],
        request: job.request.clone(),
        plan: to_json(job.plan, &job.server.display_name),
        answer: unanswered(&job.plan.require.0),
        server: Server {
            product: Some(job.facts.product(connection.product)),
            service: job.facts.service,
            pooler: job.facts.pooler.clone(),
            version: job.facts.version.clone(),
            address: connection.address.clone(),
            database: job.server.target.database.clone(),
            user: job.server.target.user.clone(),
            tls: connection.tls.clone(),
            embedded: job.server.is_embedded(),
            declared: job.plan.declared.clone(),
            settings: settings
                .map(|(name, value)| (name.clone(), value.clone().into()))
                .collect(),
        },
        workload: WorkloadRun {
            name: workload.name().to_owned(),
            own_name: job
                .plan
                .name
                .clone()
                .filter(|_| workload.has_users_statements()),
            title: workload.title().to_owned(),
            scale: ready_workload.scale,
            settings: ready_workload
                .program
                .settings()
                .into_iter()
                .map(|(name, value)| Setting::new(name, value))
                .collect(),
            limits: ready_workload
                .program
                .p90_limits()
                .iter()
                .map(stored_limit)
                .collect(),
            kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
            statements: match ready_workload.program.statements() {
                statements if statements.is_empty() => workload.statements(),
                statements => statements,
            },
            description: Some(Description {
                commits_once: workload.has_one_commit_per_transaction()
                    || ready_workload.program.commits_once(),
                ..describe(workload, &job.plan.workload, &ready_workload.remarks)
            }),
        },
        drive: drive_section(job.plan, job.seed),
        doctor: job.doctor.clone(),
        ..Run::default()
    }
}

fn drive_section(plan: &Plan, seed: u64) -> Drive {
    let drive = &plan.drive;
    let (rate_tps, arrival) = match drive.pace {
        Pace::Closed | Pace::Timetable => (None, None),
        Pace::Rate {
            rate_tps, arrival, ..
        } => (Some(rate_tps), Some(arrival)),
    };
    Drive {
        clients: drive.clients,
        threads: drive.workers(),
        open_loop: drive.pace != Pace::Closed,
        rate_tps,
        arrival,
        stop: Some(stored_planned_end(drive.stop)),
        protocol: Some(drive.protocol),
        wait: Some(drive.wait),
        seed,
        connect_per_transaction: drive.connect_per_transaction,
        ..Drive::default()
    }
}

fn stored_planned_end(stop: Stop) -> PlannedEnd {
    match stop {
        Stop::After(time) => PlannedEnd::DurationS(time.as_secs_f64()),
        Stop::NoStartsAfter(time) => PlannedEnd::NoStartsAfterS(time.as_secs_f64()),
        Stop::Transactions(count) => PlannedEnd::TransactionsPerClient(count),
        Stop::SharedTransactions { transactions, .. } => PlannedEnd::Transactions(transactions),
        Stop::WorkDone => PlannedEnd::WorkDone,
    }
}

/// Records how the clients have connected.
pub(crate) fn record_start(run: &mut Run, start: &LoadStart) {
    run.drive.io = start.engine.name().to_owned();
    run.drive.io_reason = start.engine_reason.clone();
    run.drive.network = Some(start.network);
    // With one connection per transaction, no client has connected yet: keep the control connection's TLS.
    if start.tls.is_some() || !run.drive.connect_per_transaction {
        run.server.tls.clone_from(&start.tls);
    }
    run.window.connect_s = start.connect_s;
}

/// Records the results. `server_rates`: by the server's own counters; `None` if they were not read.
pub(crate) fn record_end(
    run: &mut Run,
    job: &RunJob<'_>,
    drive_result: &DriveResult,
    server_rates: Option<ServerRates>,
) {
    let drive = &job.plan.drive;
    let collected = &drive_result.collected;
    let (measured, kinds) = (&collected.measured, &run.workload.kinds);
    run.window = Window {
        connect_s: drive_result.start.connect_s,
        warmup_s: collected
            .warmup
            .as_ref()
            .map_or(0.0, |totals| totals.seconds()),
        // Its caller knows it.
        warmup_end: None,
        measured_s: measured.seconds(),
        drain_s: collected.drain_s,
    };
    run.warmup = collected
        .warmup
        .as_ref()
        .map(|totals| prony_store::figures(totals, kinds));
    run.measured = prony_store::figures(measured, kinds);
    let program = &job.ready_workload.program;
    run.statements = statement_latencies(drive_result, &**program);
    run.rates = industry_metrics(job, run, server_rates);
    run.shares = program.action_shares();
    run.machine_mut().health = prony_store::client_health(measured);
    run.timing = prony_store::timing(
        &measured.timestamps,
        service_time_parts_source(run, drive, drive_result),
    );
    run.remove_unreliable_parts();
    let start_ns = drive_result.start.schedule.start_ns;
    run.events = drive_result
        .events
        .iter()
        .map(|event| stored_event(event, start_ns))
        .collect();
    run.ended_because = reason_for_early_end(run, drive, drive_result, job.interrupt.cause());
    run.state = match run.ended_because {
        Some(_) => RunState::Partial,
        None => RunState::Complete,
    };
}

/// The latencies of the program's statements, in the order of its table; `None` if the run did not measure them.
fn statement_latencies(
    drive_result: &DriveResult,
    program: &dyn Program,
) -> Option<Vec<StatementLatency>> {
    let round_trips = drive_result.round_trips.as_ref()?;
    let table = program.statement_table();
    let service_ns = round_trips.service_ns;
    let entries = round_trips.entries().filter_map(|entry| {
        let statement = table.statements().get(entry.first_statement)?;
        Some(StatementLatency {
            name: statement.name.clone(),
            statements: entry.statements,
            text: statement.text.clone(),
            recorded: statement.recorded,
            latency: prony_store::latency(entry.times),
            service_time_share: (service_ns > 0)
                .then(|| entry.times.sum_ns as f64 / service_ns as f64),
        })
    });
    Some(entries.collect())
}

/// The workload's industry metrics, such as NOPM, whose values are known.
fn industry_metrics(
    job: &RunJob<'_>,
    run: &Run,
    server_rates: Option<ServerRates>,
) -> Vec<IndustryMetric> {
    let dialect = job.connection.product.dialect;
    let industry_metric = |metric: &RateMetric| {
        let value = match metric.source {
            MetricSource::TransactionKind(kind) => {
                let mut kinds = run.measured.kinds.iter();
                let figures = kinds.find(|figures| figures.kind.as_deref() == Some(kind))?;
                figures.tps * 60.0
            }
            MetricSource::ServerCounters => server_rates?.tpm,
            MetricSource::TransactionsBegun => server_rates?.begun?,
        };
        let per_scale = value / f64::from(run.workload.scale.max(1));
        let exceeded_ceiling = metric.ceiling_per_scale.filter(|ceiling| {
            let (name, value) = ceiling.enforcing_setting;
            per_scale > ceiling.value && run.workload.setting(name) != Some(value)
        });
        let note = exceeded_ceiling
            .map(|ceiling| format!("{}: above {} for each", ceiling.label_above, ceiling.value));
        Some(IndustryMetric {
            name: metric.name.to_owned(),
            title: metric.title_on(dialect).to_owned(),
            value,
            per_scale,
            note,
        })
    };
    job.workload
        .rate_metrics()
        .iter()
        .filter_map(industry_metric)
        .collect()
}

fn stored_limit(limit: &P90Limit) -> prony_store::ResponseTimeLimit {
    prony_store::ResponseTimeLimit {
        kind: limit.kind.to_owned(),
        p90_s: limit.p90_s,
        deferred: limit.deferred,
    }
}

fn service_time_parts_source(
    run: &Run,
    drive: &DrivePlan,
    drive_result: &DriveResult,
) -> ServiceTimePartsSource {
    let has_timestamps = drive_result.collected.measured.timestamps.usable > 0;
    match run.drive.network {
        Some(Network::Tcp) | None if has_timestamps => ServiceTimePartsSource::KernelTimestamps,
        Some(_) if has_timestamps => ServiceTimePartsSource::SampledTimestamps {
            clients: drive.tcp_sample,
            total_clients: drive.clients,
        },
        Some(Network::Unix) => ServiceTimePartsSource::unavailable(
            "unix sockets have no receive timestamps; --tcp-sample N connects N clients over TCP to estimate \
             it",
        ),
        _ => ServiceTimePartsSource::unavailable("the kernel returned no receive timestamps"),
    }
}

fn stored_event(event: &RunEvent, start_ns: u64) -> Event {
    let seconds_since_start = |ns: u64| ns.saturating_sub(start_ns) as f64 / 1e9;
    Event {
        at_s: seconds_since_start(event.from_ns),
        until_s: event.until_ns.map(seconds_since_start),
        kind: match event.kind {
            RunEventKind::Outage => EventKind::Outage,
            RunEventKind::FailedAttempts => EventKind::FailedAttempts,
            RunEventKind::UserFailed => EventKind::UserEnded,
            RunEventKind::QueueFull => EventKind::QueueFull,
        },
        cause: event.cause.clone(),
        detail: event.detail.clone(),
        count: event.count,
        ..Event::default()
    }
}

/// Why a run that ends when its clients have done all their work is incomplete; `None` if no client failed.
fn failed_clients_reason(run: &Run) -> Option<String> {
    let failures = run
        .events
        .iter()
        .filter(|event| event.kind == EventKind::UserEnded);
    let count = failures.fold(0_u64, |sum, event| sum.saturating_add(event.count));
    if count == 0 {
        return None;
    }
    let clients = run.drive.clients;
    Some(format!("{count} of {clients} clients could not continue"))
}

/// Why the run ended early, if it did. `cause` is the signal that set the interrupt flag; `None` if a failed client did.
fn reason_for_early_end(
    run: &Run,
    drive: &DrivePlan,
    drive_result: &DriveResult,
    cause: Option<&str>,
) -> Option<String> {
    if let Some(failure) = &drive_result.failure {
        return Some(failure.clone());
    }
    if drive_result.interrupted {
        let failed_client_reason = "ended at the first client that could not continue";
        return Some(cause.unwrap_or(failed_client_reason).to_owned());
    }
    match drive.stop {
        // Half a second of tolerance: the window consists of whole intervals.
        Stop::After(time) if run.measured.length_s + 0.5 < time.as_secs_f64() => {
            Some("no client could continue".to_owned())
        }
        // The clients that did not fail finished all their transactions.
        Stop::Transactions(_)
        | Stop::NoStartsAfter(_)
        | Stop::SharedTransactions { .. }
        | Stop::WorkDone => failed_clients_reason(run),
        _ => None,
    }
}
