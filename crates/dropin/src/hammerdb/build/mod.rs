//! The command `buildschema`: creates and loads the schema.
//!
//! In: a request, a server. Out: role, database, tables with rows and keys, functions, statistics; HammerDB's
//! lines about the progress. Must never: load into a database that has other tables, or report a step as done
//! before it is done.

pub mod owner;

use super::lines::VuserLines;
use super::{clock, connection};
use owner::DatabaseState;
use prony_dialect::hammerdb::plan::{WORKLOAD_NAME, build_workload_plan};
use prony_dialect::hammerdb::{
    BuildProgress, BuildRequest, HammerdbCommands, PROFILES, VuserOutcome, text,
};
use prony_plan::WorkloadPlan;
use prony_runner::Signals;
use prony_server::Target;
use prony_workload::{Error, LoadDivision, LoadRequest, Workload};

/// The default seed of `prony load`, so that either command can resume a load that the other started.
const LOAD_SEED: u64 = 0;

/// Builds the schema.
pub fn build(
    request: &BuildRequest,
    lines: &VuserLines,
    signals: &Signals,
) -> Result<VuserOutcome, String> {
    let workload = prony_workload::find(WORKLOAD_NAME).map_err(|error| error.to_string())?;
    let plan = build_workload_plan(request)?;
    if request.vusers > 1 {
        lines.say("Monitor Thread");
    }
    let schema = request.schema_name();
    lines.say(text::creating_line(&schema));
    let (target, database_state) = prepare_database(request, lines)?;
    // With several virtual users, the first only monitors.
    let workers = if request.vusers > 1 { 2..request.vusers + 2 } else { 0..0 };
    for worker in workers.clone() {
        lines.print_running(worker);
        lines.print_line(worker, "Worker Thread");
        lines.print_line(worker, "Waiting for Monitor Thread...");
    }
    let creates_tables = !matches!(database_state, DatabaseState::UnfinishedBuild);
    let print = |line: String| lines.say(line);
    let progress = BuildProgress::new(
        &print,
        clock::now_as_text,
        request.owner.product.dialect,
        request.vusers,
        creates_tables,
    );
    load_tables(request, workload, &plan, &target, &progress, signals)?;
    progress.finish();
    for worker in workers {
        lines.print_finished(worker, true);
    }
    install_routines(request, workload, &target, lines)?;
    lines.say(text::complete_line(&schema));
    lines.print_finished(1, true);
    Ok(VuserOutcome::default())
}

/// Creates the role and its database if needed. Returns the target and the previous state of the database.
fn prepare_database(
    request: &BuildRequest,
    lines: &VuserLines,
) -> Result<(Target, DatabaseState), String> {
    let (_, mut control) = connection::open(&request.superuser)?;
    if let Some(cipher) = connection::cipher(&control) {
        lines.say(text::cipher_line(&cipher));
    }
    // Read the state before any change, because a build that is refused must not change a password.
    let state = owner::read_database_state(&mut control, request)?;
    owner::create_role(&mut control, &request.owner, &request.superuser.user)?;
    let name = &request.owner.database;
    owner::create_or_grant_database(&mut control, request, &state)?;
    lines.say(match state {
        DatabaseState::Missing => text::database_line(&request.owner),
        DatabaseState::Empty => {
            format!("Using existing empty Database {name} for Schema build")
        }
        DatabaseState::UnfinishedBuild => {
            format!("Continuing the unfinished build in Database {name}")
        }
    });
    Ok((connection::target(&request.owner)?, state))
}

fn load_tables(
    request: &BuildRequest,
    workload: &dyn Workload,
    plan: &WorkloadPlan,
    target: &Target,
    progress: &BuildProgress<'_>,
    signals: &Signals,
) -> Result<(), String> {
    let load_request = LoadRequest {
        target,
        plan,
        jobs: request.vusers,
        seed: LOAD_SEED,
        division: LoadDivision::Undivided,
        progress,
        stop: &signals.flag(),
    };
    if let Err(error) = workload.load(&load_request) {
        let problem = match error {
            Error::Stopped { .. } => "the build was stopped".to_owned(),
            Error::LoadFailed { .. } => error.problem(),
            // The load did not start, so it cannot be continued; the error contains the remedy.
            Error::Data { .. } | Error::InvalidRequest { .. } | Error::Value { .. } => {
                return Err(error.render(&HammerdbCommands));
            }
            other => other.to_string(),
        };
        return Err(format!(
            "{problem}\nbuildschema with the same settings continues the build, deleteschema \
             drops it"
        ));
    }
    Ok(())
}

/// Installs the routines of all profiles now, because the role of a later run may lack the privilege.
fn install_routines(
    request: &BuildRequest,
    workload: &dyn Workload,
    target: &Target,
    lines: &VuserLines,
) -> Result<(), String> {
    lines.say(if request.stored_procedures {
        "CREATING TPCC STORED PROCEDURES"
    } else {
        "CREATING TPCC FUNCTIONS"
    });
    let mut control = connection::connect(target, &request.owner)?;
    for profile in PROFILES {
        let options = [("mode", "procedures"), ("profile", profile)];
        let options = options.map(|(key, value)| (key.to_owned(), value.into()));
        let plan = WorkloadPlan {
            name: WORKLOAD_NAME.to_owned(),
            scale: None,
            options: options.into(),
        };
        // Preparing a program creates the routines that it calls; the program itself is not needed.
        workload
            .program(&mut control, &plan)
            .map_err(|error| error.render(&HammerdbCommands))?;
    }
    Ok(())
}
