//! The Run document, filled in as things become known.
//!
//! In: the order, what was found, what the loop gave. Out: the document. Must never: hold a
//! password; every URL in it is redacted.

use super::{Order, Place, host};
use crate::command::server;
use crate::exit::Exit;
use prony_drive::{Driven, Happening, Incident, Start};
use prony_plan::{Choice, DrivePlan, Pace, Plan, Stop, to_json};
use prony_server::{Address, Control, Facts, Product};
use prony_session::{Limit, Share};
use prony_store::{
    Drive, Event, Rate, Run, Server, State, Window, Workload as WorkloadRun, started_now,
};
use prony_workload::{Counted, Loaded, RateOf, Workload};

/// What the document calls a user whose program could not go on.
const USER_ENDED: &str = "user ended";

/// Which product answered the control connection, and how it was reached.
pub struct Reached {
    engine: &'static str,
    address: String,
    tls: Option<String>,
}

impl Reached {
    /// By none: a script of another tool's may do without a server.
    pub fn nothing(engine: &'static str) -> Reached {
        Reached {
            engine,
            address: String::new(),
            tls: None,
        }
    }

    /// By this connection.
    pub fn of(control: &Control) -> Reached {
        Reached {
            engine: match control.product() {
                Product::Postgres => "postgresql",
                Product::Mysql => "mysql",
                Product::MariaDb => "mariadb",
            },
            address: match &control.endpoint().address {
                Address::Unix(path) => format!("unix:{}", path.display()),
                Address::Tcp(address) => format!("tcp:{address}"),
            },
            tls: control.tls().map(str::to_owned),
        }
    }
}

/// The document of a run that is about to start.
pub fn begin(
    order: &Order,
    workload: &dyn Workload,
    loaded: &Loaded,
    place: &Place,
    facts: &Facts,
    reached: &Reached,
    seed: u64,
) -> Run {
    let kinds = loaded.program.kinds();
    let settings = facts.settings.iter();
    Run {
        started_at: started_now(),
        scenario: order.meant.scenario.clone(),
        cached: order.meant.cached.clone(),
        build: host::build(),
        host: host::host(),
        asked: order.asked.clone(),
        plan: to_json(&order.plan, &place.shown),
        server: Server {
            engine: reached.engine.to_owned(),
            version: facts.version.clone(),
            address: reached.address.clone(),
            database: place.target.database.clone(),
            user: place.target.user.clone(),
            tls: reached.tls.clone(),
            embedded: place.is_embedded(),
            settings: settings
                .map(|(name, value)| (name.clone(), value.clone().into()))
                .collect(),
        },
        workload: WorkloadRun {
            name: workload.name().to_owned(),
            title: workload.title().to_owned(),
            scale: loaded.scale,
            settings: loaded
                .program
                .settings()
                .into_iter()
                .map(|(name, value)| format!("{name} {value}"))
                .collect(),
            limits: loaded.program.limits().iter().map(limit).collect(),
            kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
            statements: match loaded.program.statements() {
                own if own.is_empty() => workload.statements(),
                own => own,
            },
        },
        drive: drive(&order.plan, seed),
        ..Run::default()
    }
}

fn drive(plan: &Plan, seed: u64) -> Drive {
    let drive = &plan.drive;
    let (pace, rate_tps, arrival) = match drive.pace {
        Pace::Closed => ("closed", None, None),
        Pace::Rate {
            rate_tps, arrival, ..
        } => ("rate", Some(rate_tps), Some(arrival.name())),
    };
    Drive {
        clients: drive.clients,
        // A thread without a client is not started.
        threads: drive.threads.min(drive.clients),
        pace: pace.to_owned(),
        rate_tps,
        arrival: arrival.map(str::to_owned),
        protocol: drive.protocol.name().to_owned(),
        seed,
        connect_per_transaction: drive.connect_per_transaction,
        ..Drive::default()
    }
}

/// Adds what is known when the load starts.
pub fn started(run: &mut Run, start: &Start) {
    run.drive.io = start.engine.to_owned();
    run.drive.io_reason = start.engine_reason.clone();
    run.drive.network = start.network.clone();
    run.server.tls = start.tls.clone();
    run.window.connect_s = start.connect_s;
}

/// Adds what is known at the end; `counted` is what the server counted a minute, `shares` what the
/// users did.
pub fn end(
    run: &mut Run,
    drive: &DrivePlan,
    driven: &Driven,
    counted: Option<f64>,
    shares: &[Share],
    signal: Option<(Exit, &str)>,
) {
    let collected = &driven.collected;
    let (measured, kinds) = (&collected.measured, &run.workload.kinds);
    run.window = Window {
        connect_s: driven.start.connect_s,
        warmup_s: collected.warmup.as_ref().map_or(0.0, |part| part.seconds()),
        measured_s: measured.seconds(),
        drain_s: collected.drain_s,
    };
    run.warmup = collected
        .warmup
        .as_ref()
        .map(|part| prony_store::figures(part, kinds));
    run.measured = prony_store::figures(measured, kinds);
    run.rates = rates(run, counted);
    run.shares = shares.iter().map(share).collect();
    run.client = prony_store::client(measured);
    run.timing = prony_store::timing(&measured.stamps, split(run, drive, driven));
    let start_ns = driven.start.schedule.start_ns;
    run.events = driven
        .events
        .iter()
        .map(|one| event(one, start_ns))
        .collect();
    run.ended_because = early(run, drive, driven, signal);
    run.state = match run.ended_because {
        Some(_) => State::Partial,
        None => State::Complete,
    };
}

/// The rates that the workload's field knows by names of their own, as far as they are known.
fn rates(run: &Run, server: Option<f64>) -> Vec<Rate> {
    let Ok(workload) = server::workload(&run.workload.name) else {
        return Vec::new();
    };
    let rate = |of: &RateOf| {
        let mut kinds = run.measured.kinds.iter();
        let value = match of.counted {
            Counted::Kind(kind) => kinds.find(|figures| figures.kind == kind)?.tps * 60.0,
            Counted::Server => server?,
        };
        let per_scale = value / f64::from(run.workload.scale.max(1));
        let exceeded = of.most_per_scale.filter(|most| {
            let mut settings = run.workload.settings.iter();
            per_scale > most.value && !settings.any(|setting| setting == most.unless)
        });
        let note = exceeded.map(|most| format!("{}: above {} for each", most.above, most.value));
        Some(Rate {
            name: of.name.to_owned(),
            title: of.title.to_owned(),
            value,
            per_scale,
            note,
        })
    };
    workload.rates().iter().filter_map(rate).collect()
}

fn limit(limit: &Limit) -> prony_store::Limit {
    prony_store::Limit {
        kind: limit.kind.to_owned(),
        p90_s: limit.p90_s,
        deferred: limit.deferred,
    }
}

fn share(share: &Share) -> prony_store::Share {
    prony_store::Share {
        name: share.name.to_owned(),
        of: share.of.to_owned(),
        part: share.part,
        whole: share.whole,
        meant: share.meant,
        exact: share.exact,
        least: share.least,
    }
}

/// Where stamps were available, in words.
fn split(run: &Run, drive: &DrivePlan, driven: &Driven) -> String {
    if driven.collected.measured.stamps.stamped > 0 {
        return match run.drive.network.as_str() {
            "tcp" => "kernel stamps".to_owned(),
            _ => format!(
                "kernel stamps on {} of {} clients",
                drive.tcp_sample, drive.clients
            ),
        };
    }
    if run.drive.network == "unix" {
        "unavailable: unix sockets give no receive stamps; --tcp-sample N has N clients use TCP to \
         estimate it"
            .to_owned()
    } else {
        "unavailable: the kernel gave no receive stamps".to_owned()
    }
}

fn event(happening: &Happening, start_ns: u64) -> Event {
    let since = |ns: u64| ns.saturating_sub(start_ns) as f64 / 1e9;
    Event {
        at_s: since(happening.from_ns),
        until_s: happening.until_ns.map(since),
        what: match happening.what {
            Incident::Outage => "outage",
            Incident::UserFailed => USER_ENDED,
            Incident::QueueFull => "queue full",
        }
        .to_owned(),
        detail: happening.detail.clone(),
        count: happening.count,
    }
}

/// What is missing of a count of transactions where users could not go on.
fn fallen(run: &Run) -> Option<String> {
    let ended = run.events.iter().filter(|event| event.what == USER_ENDED);
    let count: u64 = ended.map(|event| event.count).sum();
    (count > 0).then(|| format!("{count} of {} clients could not go on", run.drive.clients))
}

/// Why the run ended before its time, if it did.
fn early(
    run: &Run,
    drive: &DrivePlan,
    driven: &Driven,
    signal: Option<(Exit, &str)>,
) -> Option<String> {
    if let Some(failure) = &driven.failure {
        return Some(failure.clone());
    }
    if driven.interrupted {
        let early = "ended at the first client that could not go on";
        return Some(signal.map_or(early, |(_, name)| name).to_owned());
    }
    match drive.stop {
        // Half a second of slack: the window is counted in whole intervals.
        Stop::After(time) if run.measured.seconds + 0.5 < time.as_secs_f64() => {
            Some("no client could go on".to_owned())
        }
        // Those that could go on did all of theirs.
        Stop::Transactions(_) | Stop::Starts(_) | Stop::Shared { .. } => fallen(run),
        _ => None,
    }
}
