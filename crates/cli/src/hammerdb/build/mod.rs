//! `buildschema`.
//!
//! In: a request, a server. Out: role, database, tables with rows and keys, functions, statistics;
//! HammerDB's lines of what is done while it is done. Must never: load into a database that has
//! tables of somebody else's, or say that something is done which is not.

pub mod owner;
mod progress;

use super::connection;
use super::lines::Lines;
use crate::signals::Signals;
use owner::Database;
use progress::Told;
use prony_dialect::hammerdb::plan::{WORKLOAD, build_plan};
use prony_dialect::hammerdb::{BuildLine, BuildRequest, Ended, PROFILES, Product};
use prony_plan::WorkloadPlan;
use prony_server::{Control, Target};
use prony_workload::{Error, LoadRequest, Workload};

/// Seed of the data: that of `prony load`, so that either can continue what the other began.
const SEED: u64 = 0;

/// Builds the schema.
///
/// # Errors
/// Why it could not be built, and what is left behind.
pub fn build(request: &BuildRequest, lines: &Lines, signals: &Signals) -> Result<Ended, String> {
    let workload = prony_workload::find(WORKLOAD).map_err(|error| error.to_string())?;
    let plan = build_plan(request)?;
    if request.vusers > 1 {
        lines.told(1, BuildLine::MonitorThread);
    }
    lines.told(1, BuildLine::CreatingSchema);
    let (target, database) = prepare(request, lines)?;
    let workers = if request.vusers > 1 {
        2..request.vusers + 2
    } else {
        0..0
    };
    for worker in workers.clone() {
        lines.running(worker);
        lines.told(worker, BuildLine::WorkerThread);
        lines.told(worker, BuildLine::WaitingForMonitor);
    }
    let product = request.owner.product;
    let creates = !matches!(database, Database::Begun);
    let told = Told::new(lines, product, request.vusers, creates);
    load(request, workload, &plan, &target, &told, signals)?;
    told.end();
    for worker in workers {
        lines.finished(worker, true);
    }
    functions(request, workload, &target, lines)?;
    lines.told(1, BuildLine::Complete);
    lines.finished(1, true);
    Ok(Ended::default())
}

/// Sees to the role and its database; gives the way there, and what became of it.
fn prepare(request: &BuildRequest, lines: &Lines) -> Result<(Target, Database), String> {
    let (_, mut control) = connection::open(&request.superuser)?;
    let is_postgres = request.owner.product == Product::PostgreSql;
    if !is_postgres {
        let cipher = connection::cipher(&control);
        lines.told(1, BuildLine::SslCipher { cipher });
    }
    // A build that is refused changes nobody's password.
    let database = owner::look(&mut control, request)?;
    owner::role(&mut control, &request.owner, &request.superuser.user)?;
    let (name, role) = (&request.owner.database, &request.owner.user);
    owner::database(&mut control, request, &database)?;
    match database {
        Database::Created => lines.told(
            1,
            BuildLine::CreatingDatabase {
                database: name.clone(),
                owner: is_postgres.then(|| role.clone()),
            },
        ),
        Database::Empty => lines.told(
            1,
            BuildLine::UsingDatabase {
                database: name.clone(),
            },
        ),
        Database::Begun => lines.told(
            1,
            format!("Continuing the unfinished build in Database {name}"),
        ),
    }
    drop::<Control>(control);
    Ok((connection::target(&request.owner)?, database))
}

fn load(
    request: &BuildRequest,
    workload: &dyn Workload,
    plan: &WorkloadPlan,
    target: &Target,
    told: &Told<'_>,
    signals: &Signals,
) -> Result<(), String> {
    let stop = signals.flag();
    let asked = LoadRequest {
        target,
        plan,
        jobs: request.vusers,
        seed: SEED,
    };
    let loaded = workload.load(&asked, told, &stop);
    if let Err(error) = loaded {
        let what = match error {
            Error::Stopped { .. } => "the build was stopped".to_owned(),
            Error::LoadFailed { problem, .. } => problem,
            // Nothing was begun, and it says itself what to do.
            Error::Data { .. } | Error::Asked { .. } | Error::Value { .. } => {
                return Err(error.to_string());
            }
            other => other.to_string(),
        };
        return Err(format!(
            "{what}\nbuildschema with the same settings continues what was begun, deleteschema \
             drops it"
        ));
    }
    Ok(())
}

/// Installs what runs will call, whichever profile they pick: they may come as a role that could
/// not.
fn functions(
    request: &BuildRequest,
    workload: &dyn Workload,
    target: &Target,
    lines: &Lines,
) -> Result<(), String> {
    lines.told(
        1,
        if request.stored_procedures {
            BuildLine::CreatingProcedures
        } else {
            BuildLine::CreatingFunctions
        },
    );
    let mut control = connection::connect(target)?;
    for profile in PROFILES {
        let options = [("mode", "procedures"), ("profile", profile)];
        let options = options.map(|(key, value)| (key.to_owned(), value.into()));
        let plan = WorkloadPlan {
            name: WORKLOAD.to_owned(),
            scale: None,
            options: options.into(),
        };
        workload
            .program(&mut control, &plan)
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}
