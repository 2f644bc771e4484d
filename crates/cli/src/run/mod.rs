//! One run, from the plan to the stored and printed result.
//!
//! In: an order. Out: calls of the rooms in their order: server, workload, drive, store, judge,
//! report. Must never: change a figure.

mod counting;
pub mod document;
pub mod host;
pub mod keep;
mod metrics;
mod observing;
pub mod place;
mod watch;

use crate::command::{load, output, server};
use crate::exit::{Exit, Failure};
use crate::signals::Signals;
use keep::Keeper;
pub use metrics::Metrics;
pub use observing::{Look, Named};
use place::Place;
use prony_drive::{ConnectError, Driven, Job};
use prony_plan::{Plan, ServerPlan};
use prony_report::terminal::{self, Stored};
use prony_report::{Goal, Live, Size, Style, json};
use prony_server::control::Cause;
use prony_server::observe::machine::Exporter;
use prony_server::{Control, Facts};
use prony_store::{Observed, Run, RunStore, RunWriter, Severity, State, StoreError};
use prony_workload::{Counted, Loaded, RateOf, Workload};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{Stderr, stderr};
use std::path::PathBuf;
use std::time::Duration;
use watch::Watch;

/// What is to be run, and what becomes of the result.
pub struct Order {
    /// What was asked, for the document: without passwords.
    pub asked: serde_json::Value,
    /// The checked plan.
    pub plan: Plan,
    /// Consent to download PostgreSQL's programs for a throw-away server.
    pub download: bool,
    /// Print the document rather than the result for a person.
    pub json: bool,
    /// Store the run.
    pub store: bool,
    /// Time between lines of progress; zero for none.
    pub progress: Duration,
    /// What it was meant to be.
    pub meant: Meant,
}

/// What a run was meant to be, for the document.
#[derive(Clone, Default)]
pub struct Meant {
    /// A published scenario.
    pub scenario: Option<prony_store::Scenario>,
    /// With this share of the data cached.
    pub cached: Option<prony_store::scenario::Cached>,
}

/// A run that is one of several.
pub struct Part<'a> {
    /// Its place among them; without a name for the whole, which the first run gives, if stored.
    pub experiment: prony_store::Experiment,
    /// What ends them all.
    pub signals: &'a Signals,
    /// Where the figures of each are shown in turn, if anywhere.
    pub metrics: Option<&'a Metrics>,
}

/// A run that has ended.
pub struct Done {
    run: Run,
    /// Where its document is, or why it is not there; absent where none was asked for.
    stored: Option<Result<PathBuf, StoreError>>,
    exit: Exit,
}

impl Done {
    /// Its document.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The document again, and the exit code.
    ///
    /// # Errors
    /// If it could not be stored.
    pub fn stored(self) -> Result<(Run, Exit), Failure> {
        if let Some(Err(error)) = self.stored {
            let hint = "the result above is all there is; make room before the next run";
            return Err(Failure::new(Exit::Unexpected, error.to_string(), hint));
        }
        Ok((self.run, self.exit))
    }
}

/// Carries it out and prints the result.
pub fn carry_out(order: &Order, look: &Look) -> Result<Exit, Failure> {
    let done = perform(order, look, None)?;
    let path = match &done.stored {
        Some(Ok(path)) => Some(path.display().to_string()),
        _ => None,
    };
    output::show(|out, style| {
        if order.json {
            json::write(out, &done.run)
        } else {
            let stored = path.as_deref().map(|place| Stored::Now {
                place,
                id: &done.run.id,
            });
            terminal::write(out, style, &done.run, stored)
        }
    })?;
    done.stored().map(|(_, exit)| exit)
}

/// Carries it out, by itself or as one of several; the result is judged and stored, and not printed.
/// One of several does not listen itself.
pub fn perform(order: &Order, look: &Look, part: Option<&Part<'_>>) -> Result<Done, Failure> {
    let plan = &order.plan;
    let workload = server::workload(&plan.workload.name)?;
    // An address that cannot be listened on shows before anything else takes time.
    let own = match part {
        Some(_) => None,
        None => listen(look)?,
    };
    let metrics = part.map_or(own.as_ref(), |part| part.metrics);
    let listening = part.map(|part| part.signals.clone());
    let (place, early) = match plan.server {
        ServerPlan::Embedded => {
            // From here on Ctrl-C has something to clean up.
            let signals = listening.map_or_else(Signals::listen, Ok)?;
            let place = Place::find(plan, order.download)?;
            if let Some(name) = workload.loaded_by(&plan.workload) {
                let loader = server::workload(name)?;
                load::into_embedded(loader, &plan.workload, &place.target, &signals)?;
            }
            (place, Some(signals))
        }
        ServerPlan::Url(_) => (Place::find(plan, order.download)?, listening),
    };
    let found = find(workload, plan, &place, look)?;
    let (loaded, facts, reached) = (&found.loaded, &found.facts, &found.reached);
    // Until now a Ctrl-C ended the process by itself, also while a server kept it waiting.
    let signals = early.map_or_else(Signals::listen, Ok)?;
    let seed = plan.drive.seed.unwrap_or_else(chosen_seed);
    let mut run = document::begin(order, workload, loaded, &place, facts, reached, seed);
    run.observed = Some(found.observed);
    run.experiment = part.map(|part| part.experiment.clone());
    let writer = begin_to_store(order, &mut run)?;
    let shown = metrics.map(|metrics| metrics.begin(&run));
    let live = live(order, goal(&run, plan));
    let counted = |of: &RateOf| of.counted == Counted::Server;
    let count = workload.rates().iter().any(counted);
    let count = count.then(|| place.target.clone());
    let job = look.off.is_none().then(|| observing::Job {
        target: place.target.clone(),
        facts: found.facts.clone(),
        exporter: found.exporter,
    });
    let watch = Watch::new(live, Keeper::new(writer, run), count, job);
    let mut watch = watch.with_metrics(shown);
    let interrupt = signals.flag();
    let driven = prony_drive::run(
        &Job {
            program: &*loaded.program,
            target: &place.target,
            tcp_target: place.tcp_target.as_ref(),
            plan: &plan.drive,
            seed,
            interrupt: &interrupt,
            tap: None,
            refused: None,
        },
        &mut watch,
    );
    let whole = matches!(&driven, Ok(driven) if !driven.interrupted && driven.failure.is_none());
    let (mut run, writer, counted) = watch.end(!whole);
    match driven {
        Ok(driven) => {
            let (drive, shares) = (&plan.drive, loaded.program.shares());
            document::end(&mut run, drive, &driven, counted, &shares, signals.asked());
            Ok(finish(&signals, &driven, run, writer))
        }
        Err(error) => {
            if let Some(writer) = writer {
                writer.discard();
            }
            Err(not_started(&error, &signals))
        }
    }
}

/// Begins to serve the figures where that was asked for, and says where.
///
/// # Errors
/// If the address is none of this machine, or in use.
pub fn listen(look: &Look) -> Result<Option<Metrics>, Failure> {
    let Some(address) = &look.listen else {
        return Ok(None);
    };
    let metrics = Metrics::listen(&address.value, &address.by)?;
    let at = metrics.address();
    output::tell(&format!("prony: metrics at http://{at}/metrics"));
    if !at.ip().is_loopback() {
        output::tell(&format!(
            "prony: warning: whoever reaches {at} can read them, without a password or encryption"
        ));
    }
    Ok(Some(metrics))
}

fn live(order: &Order, goal: Goal) -> Live<Stderr> {
    let (style, interval_s) = (Style::of(&stderr()), order.progress.as_secs_f64());
    Live::new(stderr(), style, goal, interval_s).sized_by(|| Size::of(&stderr()))
}

/// What is known before the clients connect.
struct Found {
    loaded: Loaded,
    facts: Facts,
    reached: document::Reached,
    observed: Observed,
    exporter: Option<Exporter>,
}

/// Looks whether the data is there, and asks the server about itself. The connection is closed
/// again: a server may have just as many as the clients need.
fn find(
    workload: &dyn Workload,
    plan: &Plan,
    place: &Place,
    look: &Look,
) -> Result<Found, Failure> {
    let mut control = server::connect(&place.target)?;
    let loaded = workload
        .program(&mut control, &plan.workload)
        .map_err(|error| server::workload_failure(&error, None))?;
    let facts = prony_server::observe(&mut control)
        .map_err(|error| server::told(Exit::Connect, &error.to_string()))?;
    let reached = document::Reached::of(&control);
    let (observed, exporter) = observing::before(&mut control, &facts, look)?;
    drop::<Control>(control);
    Ok(Found {
        loaded,
        facts,
        reached,
        observed,
        exporter,
    })
}

/// A run that cannot be stored is not begun: its result would be lost after all the time it took.
fn begin_to_store(order: &Order, run: &mut Run) -> Result<Option<RunWriter>, Failure> {
    if !order.store {
        return Ok(None);
    }
    RunStore::open(None)
        .and_then(|store| store.begin(run))
        .map(Some)
        .map_err(|error| {
            let hint = "--no-store runs without storing the result";
            Failure::new(Exit::Unexpected, error.to_string(), hint)
        })
}

/// Judges and stores the result.
fn finish(signals: &Signals, driven: &Driven, mut run: Run, writer: Option<RunWriter>) -> Done {
    run.checks = prony_judge::judge(&run);
    let stored = writer.map(|writer| writer.finish(&run));
    let exit = match (run.state, signals.asked()) {
        (State::Complete, _) => match prony_judge::worst(&run.checks) {
            Some(Severity::Invalid) => Exit::Invalid,
            _ => Exit::Fine,
        },
        (_, Some((exit, _))) if driven.interrupted => exit,
        _ => Exit::Partial,
    };
    Done { run, stored, exit }
}

fn not_started(error: &prony_drive::Error, signals: &Signals) -> Failure {
    use prony_drive::Error;
    let text = error.to_string();
    match error {
        Error::Interrupted => {
            let exit = signals.asked().map_or(Exit::Interrupted, |(exit, _)| exit);
            server::told(exit, &text)
        }
        Error::Connect { source, .. } => {
            let mut failure = server::told(Exit::Connect, &text);
            if too_many(source) {
                failure.problems[0].hint =
                    "use fewer clients, or raise the server's max_connections".to_owned();
            }
            failure
        }
        Error::Unready(_) => server::told(Exit::Connect, &text),
        Error::Files { .. } | Error::Ring(_) => server::told(Exit::Usage, &text),
    }
}

/// Whether the server has no connection left: SQLSTATE 53300, too_many_connections, or MySQL's error
/// 1040 (1203: of this user).
fn too_many(error: &ConnectError) -> bool {
    let ConnectError::Refused { failures, .. } = error else {
        return false;
    };
    failures.iter().any(|failure| match &failure.cause {
        Cause::Login(error) => error
            .server()
            .is_some_and(|error| error.code() == "53300" || matches!(error.number, 1040 | 1203)),
        _ => false,
    })
}

fn goal(run: &Run, plan: &Plan) -> Goal {
    let (drive, workload) = (&run.drive, &run.workload);
    let measured_s = match plan.drive.stop {
        prony_plan::Stop::After(time) | prony_plan::Stop::Starts(time) => Some(time.as_secs_f64()),
        prony_plan::Stop::Transactions(_) | prony_plan::Stop::Shared { .. } => None,
    };
    let plural = if drive.threads == 1 { "" } else { "s" };
    Goal {
        title: format!(
            "{}, scale {}: {} clients on {} thread{plural}, {} protocol",
            workload.name, workload.scale, drive.clients, drive.threads, drive.protocol,
        ),
        warmup_s: plan.drive.warmup.as_secs_f64(),
        measured_s,
        clients: drive.clients,
        connect_per_transaction: drive.connect_per_transaction,
    }
}

/// A seed that nobody chose: std keys its hashers anew by the system's random numbers. Kept to 32
/// bits, so that it is short to type and exact in every JSON reader.
pub fn chosen_seed() -> u64 {
    RandomState::new().build_hasher().finish() & 0xffff_ffff
}
