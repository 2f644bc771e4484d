//! Prepares a run: data, facts of the server, findings of the doctor.
//!
//! In: a request and its server. Out: what the runner needs. Must never: keep a connection.

use super::{RunRequest, answers};
use crate::command::{doctor, server};
use crate::exit::{Exit, Failure};
use prony_runner::doctor::DoctorLoad;
use prony_runner::{Error, RunPreparation, RunServer, signals};
use prony_store::DoctorReport;
use prony_workload::Workload;

/// Checks that the data is loaded, reads the facts of the server, and examines it if that was requested. Closes its
/// connection again, because the server may allow only as many connections as the clients need.
pub(super) fn prepare(
    workload: &dyn Workload,
    request: &RunRequest,
    run_server: &RunServer,
) -> Result<(RunPreparation, Option<DoctorReport>), Failure> {
    let (plan, observe) = (&request.plan, &request.observe);
    let mut control = server::connect(&run_server.target_with_notice())?;
    let prepared = prony_runner::prepare(&mut control, workload, &plan.workload, &observe.server);
    let prepared = prepared.map_err(|error| preparation_failure(&error, server::url_of(plan)))?;
    let kinds = prepared.ready_workload.program.kinds();
    answers::check_figures(&plan.require.0, workload, kinds)?;
    let tried = workload.try_statements(&mut control, &plan.workload, plan.drive.protocol);
    tried.map_err(|error| server::workload_failure(&error, server::url_of(plan), None))?;
    // It takes ten seconds, so the data is checked first.
    let doctor_report = if request.doctor {
        let load = DoctorLoad {
            clients: plan.drive.clients,
            threads: plan.drive.workers(),
            has_read_server: run_server.target.read_target.is_some(),
        };
        Some(doctor::before_run(&mut control, &run_server.target, load)?)
    } else {
        None
    };
    Ok((prepared, doctor_report))
}

/// The failure of a run that could not be prepared on the server of this URL, if any.
pub(super) fn preparation_failure(error: &Error, url: Option<&str>) -> Failure {
    let mut failure = match error {
        Error::Workload(error) => server::workload_failure(error, url, None),
        // What was asked for does not fit the workload, whatever the server is.
        Error::ExporterUrl { .. }
        | Error::NoReads(_)
        | Error::NoLedger(_)
        | Error::NoLedgerOfProcedures(_) => Failure::of(Exit::Usage, error),
        other => Failure::of(Exit::Connect, other),
    };
    if signals::received().is_some() {
        for problem in &mut failure.problems {
            problem.hint = Some("nothing was measured or stored".to_owned());
        }
    }
    failure
}
