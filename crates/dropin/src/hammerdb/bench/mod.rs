//! The command `vurun`: runs the workload.
//!
//! In: a request, a server. Out: HammerDB's lines, its result and its time profile; a run in Prony's store.
//! Must never: print a result of a run that was cut short.

mod monitor;
mod observer;
mod sink;
mod store;
mod timings;
mod users;

use super::agents;
use super::job::Job;
use super::lines::VuserLines;
use super::{connection, warn};
use crate::agents::cpus_and_threads;
use crate::tool_run::{ConnectedServer, StartWarning, ToolFleet, ToolRun};
use monitor::{Figures, Monitor};
use observer::HammerdbObserver;
use prony_dialect::hammerdb::plan::{WORKLOAD_NAME, drive_plan, run_workload_plan};
use prony_dialect::hammerdb::{
    Driver, HammerdbCommands, Login, RunRequest, Timeline, VuserOutcome,
};
use prony_document::SqlDialect;
use prony_drive::SampleListener;
use prony_fleet::Fleet;
use prony_plan::Plan;
use prony_runner::{FinishedRun, GrowthBefore, Signals, TerminationSignal, random_seed};
use prony_server::Control;
use prony_store::Run;
use prony_workload::remedy::Remedy;
use prony_workload::{Error, ReadyWorkload, Workload};
pub use sink::{CallTimes, SampleSinks, TimesRecorder, UserTimes};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
pub use users::{DelayedUsers, ErrorFlags, StartDelays};

/// The inputs of a run.
pub struct RunContext<'a> {
    /// The folder of stored runs; the script may have changed the working directory.
    pub store_folder: Option<&'a Path>,
    pub request: &'a RunRequest,
    /// The TPC-C profile.
    pub profile: &'static str,
    /// How long a minute of the script takes.
    pub minute_length: Duration,
    /// Processors of this machine.
    pub processors: usize,
    /// The output of virtual users.
    pub lines: &'a Arc<VuserLines>,
    /// Signals that end the run, such as Ctrl-C.
    pub signals: &'a Signals,
}

/// Everything that a run needs before its load starts.
struct PreparedRun {
    server: ConnectedServer,
    ready_workload: ReadyWorkload,
    workload: &'static dyn Workload,
    plan: Plan,
    /// The cipher of connections to MySQL and MariaDB, empty without encryption; `None` on other engines.
    cipher: Option<String>,
    /// Which clients an error ended.
    error_flags: ErrorFlags,
}

/// The outcome of a run that has ended.
struct EndedRun {
    finished: FinishedRun,
    figures: Option<Figures>,
}

/// Runs the workload.
pub fn run(context: &RunContext<'_>, job: &mut Job) -> Result<VuserOutcome, String> {
    if let Some(problem) = agents::problem(context.request) {
        return Err(problem);
    }
    warn_about_ignored_settings(context.request);
    let fleet = crate::agents::start(context.signals.flag().as_ref());
    let fleet = fleet.map_err(|error| error.to_string())?;
    let (prepared, control) = prepare_run(context, fleet.as_ref())?;
    let sinks = SampleSinks::new(context, &prepared);
    let ended_run = drive_load(context, &prepared, control, &sinks, fleet, job)?;
    let run = &ended_run.finished.run;
    if ended_run.is_stored() {
        job.run_id = Some(run.id.clone());
    }
    print_errors(run);
    if let Some(reason) = reason_for_no_result(context, &ended_run) {
        return Err(reason);
    }
    let failed_vusers = sinks.failed_vusers();
    if let Driver::Timed { checkpoint, .. } = context.request.driver {
        if checkpoint {
            maintain(context);
        }
        if context.request.time_profile_path.is_some() {
            let line = "Gathering timing data from Active Virtual Users...";
            context.lines.say(line);
        }
    }
    for client in 0..context.request.vusers {
        let vuser = context.request.vuser_of_client(client);
        if !failed_vusers.contains(&vuser) {
            context.lines.print_finished(vuser, true);
        }
    }
    // Without a monitor, virtual user 1 runs transactions as the others do.
    let has_monitor = context.request.first_vuser() > 1;
    if has_monitor {
        if let Some(path) = &context.request.time_profile_path {
            timings::write(path, context, sinks.times(), job)?;
        }
        context.lines.print_finished(1, true);
    }
    Ok(VuserOutcome { failed_vusers })
}

/// Warns about settings that Prony's driver ignores.
fn warn_about_ignored_settings(request: &RunRequest) {
    let timed = matches!(request.driver, Driver::Timed { .. });
    if timed && request.iterations != 10_000_000 {
        let key = request.login.key("total_iterations");
        warn(&format!(
            "{key} applies only to the test driver: a timed run ends after its duration"
        ));
    }
}

/// `fleet`: the machines that drive the load, if others do.
fn prepare_run(
    context: &RunContext<'_>,
    fleet: Option<&Fleet>,
) -> Result<(PreparedRun, Control), String> {
    let (target, mut control) = connection::open(&context.request.login)?;
    let workload = prony_workload::find(WORKLOAD_NAME).map_err(|error| error.to_string())?;
    let plan = run_workload_plan(context.request, context.profile);
    let mut ready_workload = match workload.program(&mut control, &plan) {
        Err(error) if is_order_number_conflict(&error, &control) => {
            repair_order_numbers(workload, &mut control)
                .and_then(|()| workload.program(&mut control, &plan))
        }
        program => program,
    }
    .map_err(|error| refusal_message(&error, &context.request.login))?;
    let facts = prony_server::read_server_facts(&mut control).map_err(|error| error.to_string())?;
    let (processors, threads_min) = cpus_and_threads(fleet, context.processors);
    let mut drive = drive_plan(context.request, context.minute_length, processors);
    drive.threads = drive.threads.max(threads_min);
    let error_flags = ErrorFlags::new(context.request.raise_error, drive.clients);
    let delays = StartDelays::of(context.request, drive.warmup);
    let program = DelayedUsers::new(ready_workload.program, delays, error_flags.clone());
    ready_workload.program = Arc::new(program);
    let growth = GrowthBefore::read(&mut control, workload, &plan, ready_workload.scale);
    let prepared = PreparedRun {
        server: ConnectedServer::read(target, facts, &mut control, Some(growth)),
        ready_workload,
        cipher: connection::cipher(&control),
        workload,
        plan: Plan::for_replaced_tool(plan, drive),
        error_flags,
    };
    Ok((prepared, control))
}

/// Whether the workload refuses the tables because the next order number of a district is already used.
/// HammerDB before 4.11 leaves the tables in this state, on PostgreSQL only.
fn is_order_number_conflict(error: &Error, control: &Control) -> bool {
    let remedy = match error {
        Error::Data { remedy, .. } => remedy,
        _ => return false,
    };
    match control.dialect() {
        SqlDialect::PostgreSql => *remedy == Remedy::RepairSequences,
        SqlDialect::MySql | SqlDialect::TransactSql => false,
    }
}

/// Sets the next order numbers to unused ones. Prony does so itself, because scripts have no command for it.
fn repair_order_numbers(workload: &dyn Workload, control: &mut Control) -> Result<(), Error> {
    let changed = workload.repair_order_numbers(control)?;
    let districts = match changed {
        1 => "1 district".to_owned(),
        _ => format!("{changed} districts"),
    };
    warn(&format!(
        "d_next_o_id of {districts} was not above the highest o_id, as HammerDB before 4.11 leaves it: it was \
         set to the next free number"
    ));
    Ok(())
}

/// The reason why the run is refused, and a remedy that scripts can apply, without Prony's options.
fn refusal_message(error: &Error, login: &Login) -> String {
    match error {
        Error::Data {
            problem,
            remedy: Remedy::Load(_) | Remedy::PronyOption(_),
        } => format!(
            "{problem}\nbuildschema creates the schema and the functions that runs call, as {}; \
             later runs may use another role with privileges on them",
            login.key("user")
        ),
        Error::Data { problem, remedy } => {
            format!("{problem}\n{}", remedy.render(&HammerdbCommands))
        }
        other => other.to_string(),
    }
}

/// Drives the load while the monitor runs.
fn drive_load(
    context: &RunContext<'_>,
    prepared: &PreparedRun,
    control: Control,
    sinks: &SampleSinks,
    fleet: Option<Fleet>,
    job: &mut Job,
) -> Result<EndedRun, String> {
    let run_ended = AtomicBool::new(false);
    let new_listener = |worker| -> Box<dyn SampleListener> { sinks.new_listener(worker) };
    let tool_run = ToolRun {
        request: store::request_json(context, &job.dictionary),
        plan: &prepared.plan,
        workload: prepared.workload,
        ready_workload: &prepared.ready_workload,
        server: &prepared.server,
        seed: random_seed(),
        store_folder: context.store_folder,
        start_warning: StartWarning::Always,
        warn: &warn,
        signals: context.signals,
        new_sample_listener: Some(&new_listener),
        on_connect_refused: None,
    };
    let target = &prepared.server.server.target;
    let warmup = prepared.plan.drive.warmup;
    let coordinator =
        (fleet.is_some()).then(|| agents::coordinator(context.request, warmup, target, sinks));
    let fleet = ToolFleet::of(fleet, coordinator.as_ref());
    let (start_sender, start_receiver) = std::sync::mpsc::channel();
    let (finished, monitor_result) = std::thread::scope(|scope| {
        let monitor = Monitor::new(context, target, control, &run_ended);
        let timeline = Timeline::new(
            context.request,
            context.minute_length,
            prepared.ready_workload.scale,
            prepared.cipher.as_deref(),
        );
        let monitor = scope.spawn(move || monitor.run(&start_receiver, timeline));
        let mut observer = HammerdbObserver::new(start_sender, &run_ended, monitor);
        let finished = tool_run.execute(fleet, &mut observer);
        (finished, observer.end())
    });
    let finished = finished.map_err(|error| error.to_string())?;
    let figures = monitor_result
        .as_ref()
        .ok()
        .and_then(|result| result.figures);
    let ended_run = EndedRun { finished, figures };
    ended_run.report_checks(&tool_run);
    let result = monitor_result.map_err(|reason| ended_run.with_stored_part(reason))?;
    job.result_lines = result.result_lines;
    job.tpm_readings = result.tpm_readings;
    Ok(ended_run)
}

impl EndedRun {
    fn is_stored(&self) -> bool {
        matches!(self.finished.store_result, Some(Ok(_)))
    }

    /// The reason why there is no result, and where the measured part is stored.
    fn with_stored_part(&self, reason: String) -> String {
        if self.is_stored() {
            let id = &self.finished.run.id;
            format!("{reason}; the measured part is stored: prony show {id}")
        } else {
            reason
        }
    }
}

/// The reason why the run has no result; `None` if it has a result.
fn reason_for_no_result(context: &RunContext<'_>, ended_run: &EndedRun) -> Option<String> {
    let drive_result = &ended_run.finished.drive_result;
    let is_timed = matches!(context.request.driver, Driver::Timed { .. });
    let reason = if let Some(failure) = &drive_result.failure {
        failure.clone()
    } else if drive_result.interrupted {
        let signal = context.signals.received();
        let name = signal.map_or("a signal", TerminationSignal::name);
        format!("the run was ended by {name}")
    } else if is_timed && ended_run.figures.is_none() {
        "no virtual user could continue".to_owned()
    } else {
        return None;
    };
    Some(ended_run.with_stored_part(reason))
}

/// Prints the server's error messages, because virtual users print only that an error occurred.
fn print_errors(run: &Run) {
    let warmup = run.warmup.iter().flat_map(|figures| &figures.errors);
    for error in warmup.chain(&run.measured.errors) {
        warn(&format!(
            "{} of {} failed: {} (SQLSTATE {}): {}",
            error.count,
            error.kind_name(),
            error.class.name(),
            error.code,
            error.example
        ));
    }
}

/// Runs `checkpoint` as the superuser, and on PostgreSQL `vacuum`, like HammerDB: other roles lack the privilege.
/// If they fail, the result is still valid.
fn maintain(context: &RunContext<'_>) {
    let superuser = &context.request.superuser;
    let (title, statements) = match superuser.product.dialect {
        SqlDialect::PostgreSql => ("Checkpoint and Vacuum", &["checkpoint", "vacuum"][..]),
        SqlDialect::MySql | SqlDialect::TransactSql => ("Checkpoint", &["checkpoint"][..]),
    };
    let lines = context.lines;
    lines.say(title);
    lines.say(match run_statements(superuser, statements) {
        Ok(()) => format!("{title} Complete"),
        Err(reason) => format!("{title} failed: {reason}"),
    });
}

fn run_statements(login: &Login, statements: &[&str]) -> Result<(), String> {
    let (_, mut control) = connection::open(login)?;
    for statement in statements {
        control
            .execute(statement)
            .map_err(|error| format!("{statement}: {error}"))?;
    }
    Ok(())
}
