//! `vurun`.
//!
//! In: a request, a server. Out: HammerDB's lines, its result and its time profile; a run in Prony's
//! store. Must never: print a result of a run that was broken off.

mod agenda;
mod ear;
mod monitor;
mod store;
mod timings;
mod users;

use super::connection;
use super::job::Job;
use super::lines::Lines;
use crate::run::document::Reached;
use crate::run::keep::Keeper;
use crate::signals::Signals;
use agenda::Agenda;
use ear::Ears;
use monitor::{Figures, Monitor, Watch};
use prony_dialect::hammerdb::plan::{WORKLOAD, drive_plan, run_plan};
use prony_dialect::hammerdb::{Driver, Ended, Login, Product, RunLine, RunRequest};
use prony_drive::{Driven, Tap};
use prony_plan::{DrivePlan, WorkloadPlan};
use prony_server::{Control, Facts, Product as Engine, Target};
use prony_store::Run;
use prony_workload::commands::Caller;
use prony_workload::{Error, Loaded, Workload};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use users::{Raised, Users};

/// What a run is made with.
pub struct Means<'a> {
    /// What is asked.
    pub request: &'a RunRequest,
    /// Whose transactions.
    pub profile: &'static str,
    /// How long a minute of the script lasts.
    pub minute: Duration,
    /// Processors of this machine.
    pub processors: usize,
    /// Where virtual users speak.
    pub lines: &'a Arc<Lines>,
    /// Ctrl-C and its kin.
    pub signals: &'a Signals,
}

impl Means<'_> {
    /// The number of the virtual user that is this client.
    fn vuser(&self, client: u32) -> u32 {
        client + self.first()
    }

    /// The number of the first virtual user that drives: a timed run has a monitor before them.
    fn first(&self) -> u32 {
        match self.request.driver {
            Driver::Timed { .. } => 2,
            Driver::Test => 1,
        }
    }
}

/// What is known before the load starts.
struct Ready {
    target: Target,
    loaded: Loaded,
    facts: Facts,
    reached: Reached,
    workload: &'static dyn Workload,
    plan: WorkloadPlan,
    drive: DrivePlan,
    seed: u64,
    /// The cipher of connections to MySQL and MariaDB; empty without encryption.
    cipher: Option<String>,
    /// The flags of clients that an error ended, where errors end them.
    raised: Option<Raised>,
}

/// What a run left.
struct Gone {
    driven: Driven,
    run: Run,
    figures: Option<Figures>,
    stored: bool,
}

/// Runs it.
///
/// # Errors
/// Why there is no result.
pub fn run(means: &Means<'_>, job: &mut Job) -> Result<Ended, String> {
    note_what_differs(means.request);
    let (ready, control) = prepare(means)?;
    let ears = Ears::new(means, &ready);
    let gone = drive(means, &ready, control, &ears, job)?;
    if gone.stored {
        job.run = Some(gone.run.id.clone());
    }
    tell_errors(&gone.run);
    if let Some(reason) = no_result(means, &gone) {
        return Err(reason);
    }
    let failed = ears.failed();
    if let Driver::Timed { vacuum, .. } = means.request.driver {
        if vacuum {
            means.lines.told(1, RunLine::CheckpointAndVacuum);
            match checkpoint(&means.request.superuser) {
                Ok(()) => means.lines.told(1, RunLine::CheckpointAndVacuumComplete),
                // The result stands all the same.
                Err(reason) => means
                    .lines
                    .told(1, format!("Checkpoint and Vacuum failed: {reason}")),
            }
        }
        if means.request.time_profile.is_some() {
            means.lines.told(1, RunLine::GatheringTimings);
        }
    }
    for client in 0..means.request.vusers {
        let vuser = means.vuser(client);
        if !failed.contains(&vuser) {
            means.lines.finished(vuser, true);
        }
    }
    if let Some(path) = &means.request.time_profile
        && means.first() > 1
    {
        timings::write(path, means, ears.heard(), job)?;
    }
    if means.first() > 1 {
        means.lines.finished(1, true);
    }
    Ok(Ended { failed })
}

/// Settings that Prony's driver has no counterpart for.
fn note_what_differs(request: &RunRequest) {
    let timed = matches!(request.driver, Driver::Timed { .. });
    if timed && request.iterations != 10_000_000 {
        super::complain(&format!(
            "hammerdbcli: {} counts with the test driver alone: a timed run ends by time\n",
            request.login.product.key("total_iterations")
        ));
    }
    if request.stored_procedures {
        super::complain(
            "hammerdbcli: pg_storedprocs: Prony calls functions, one a transaction, in its place\n",
        );
    }
}

fn prepare(means: &Means<'_>) -> Result<(Ready, Control), String> {
    let (target, mut control) = connection::open(&means.request.login)?;
    let workload = prony_workload::find(WORKLOAD).map_err(|error| error.to_string())?;
    let plan = run_plan(means.request, means.profile);
    let mut loaded = workload
        .program(&mut control, &plan)
        .map_err(|error| unfit(&error, means.request.login.product))?;
    let facts = prony_server::observe(&mut control).map_err(|error| error.to_string())?;
    let drive = drive_plan(means.request, means.minute, means.processors);
    let flags = || (0..drive.clients).map(|_| AtomicBool::new(false));
    let raised: Option<Raised> = means
        .request
        .raise_error
        .then(|| Arc::new(flags().collect()));
    let users = Users::new(loaded.program, means.request, drive.warmup, raised.clone());
    loaded.program = Arc::new(users);
    let ready = Ready {
        target,
        loaded,
        facts,
        reached: Reached::of(&control),
        cipher: (control.product() != Engine::Postgres).then(|| connection::cipher(&control)),
        workload,
        plan,
        drive,
        raised,
        // std keys its hashers anew by the system's random numbers.
        seed: RandomState::new().build_hasher().finish() & 0xffff_ffff,
    };
    Ok((ready, control))
}

/// Why there can be no run, with what a script can do about it: it has no commands and no options
/// of Prony's own.
fn unfit(error: &Error, product: Product) -> String {
    match error {
        Error::Data { problem, hint }
            if *hint != Caller::Hammerdb.load(WORKLOAD, &[])
                && !hint.contains("prony ")
                && !hint.contains("mode = ") =>
        {
            format!("{problem}\n{hint}")
        }
        Error::Data { problem, .. } => format!(
            "{problem}\nbuildschema makes the schema and the functions that runs call, as {}: \
             a later run may come as another role that has rights on them",
            product.key("user")
        ),
        other => other.to_string(),
    }
}

/// The loop, with the monitor beside it.
fn drive(
    means: &Means<'_>,
    ready: &Ready,
    control: Control,
    ears: &Ears,
    job: &mut Job,
) -> Result<Gone, String> {
    let (run, writer) = store::begin(means, ready, &job.dictionary);
    let over = AtomicBool::new(false);
    let interrupt = means.signals.flag();
    let tap = |worker| -> Box<dyn Tap> { ears.tap(worker) };
    let loop_job = prony_drive::Job {
        program: &*ready.loaded.program,
        target: &ready.target,
        tcp_target: None,
        plan: &ready.drive,
        seed: ready.seed,
        interrupt: &interrupt,
        tap: Some(&tap),
        refused: None,
    };
    let (tell, hear) = std::sync::mpsc::channel();
    let mut watch = Watch::new(Keeper::new(writer, run), tell);
    let (driven, monitored) = std::thread::scope(|scope| {
        let monitor = Monitor::new(means, &ready.target, control, &over);
        let agenda = Agenda::new(means, ready.loaded.scale, ready.cipher.as_deref());
        let monitor = scope.spawn(move || monitor.watch(&hear, agenda));
        let driven = prony_drive::run(&loop_job, &mut watch);
        if driven.is_err() {
            watch.never_started();
        }
        over.store(true, Ordering::Relaxed);
        let monitored = monitor
            .join()
            .unwrap_or_else(|_| Err("the monitor failed".to_owned()));
        (driven, monitored)
    });
    let (run, writer) = watch.end();
    let driven = match driven {
        Ok(driven) => driven,
        Err(error) => {
            if let Some(writer) = writer {
                writer.discard();
            }
            return Err(error.to_string());
        }
    };
    let figures = monitored.as_ref().ok().and_then(|watched| watched.figures);
    let (run, stored) = store::finish(means, ready, &driven, run, writer, figures);
    let watched = monitored.map_err(|reason| match stored {
        true => format!("{reason}; what was measured is kept: prony show {}", run.id),
        false => reason,
    })?;
    (job.result, job.counts) = (watched.result, watched.counts);
    Ok(Gone {
        driven,
        run,
        figures,
        stored,
    })
}

/// Why there is no result, where there is none.
fn no_result(means: &Means<'_>, gone: &Gone) -> Option<String> {
    let kept = if gone.stored {
        format!("; what was measured is kept: prony show {}", gone.run.id)
    } else {
        String::new()
    };
    if let Some(failure) = &gone.driven.failure {
        return Some(format!("{failure}{kept}"));
    }
    if gone.driven.interrupted {
        let by = means.signals.asked().map_or("a signal", |(_, name)| name);
        return Some(format!("the run was ended by {by}{kept}"));
    }
    let is_timed = matches!(means.request.driver, Driver::Timed { .. });
    (is_timed && gone.figures.is_none()).then(|| format!("no virtual user could go on{kept}"))
}

/// What the server said of failed transactions: virtual users print that there was an error, and
/// not which.
fn tell_errors(run: &Run) {
    let warmup = run.warmup.iter().flat_map(|figures| &figures.errors);
    for error in warmup.chain(&run.measured.errors) {
        super::complain(&format!(
            "hammerdbcli: {} of {} failed: {} (SQLSTATE {}): {}\n",
            error.count, error.kind, error.class, error.code, error.example
        ));
    }
}

/// As HammerDB does it: by the superuser, since others have no right to a checkpoint.
fn checkpoint(superuser: &Login) -> Result<(), String> {
    let (_, mut control) = connection::open(superuser)?;
    for statement in ["checkpoint", "vacuum"] {
        control
            .execute(statement)
            .map_err(|error| format!("{statement}: {error}"))?;
    }
    Ok(())
}
