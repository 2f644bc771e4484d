//! `prony doctor`.
//!
//! Examines this machine and, if a URL is given, a server, and prints the findings. Changes nothing; a probe of the storage
//! drops the table that it creates.

use super::{output, plan, server};
use crate::args::DoctorArgs;
use crate::exit::{Exit, Failure};
use prony_report::doctor;
use prony_runner::Signals;
use prony_runner::doctor::{DoctorLoad, DoctorOptions, examine};
use prony_server::{Control, Target};
use prony_store::{DoctorReport, DoctorState};
use std::time::Duration;

/// How long `prony run --doctor` watches the machine.
pub const WATCH_BEFORE_RUN: Duration = Duration::from_secs(10);

pub fn doctor(args: &DoctorArgs) -> Result<Exit, Failure> {
    let options = DoctorOptions {
        load: args
            .load()
            .map_err(|problems| plan::failure("the load", problems))?,
        watch: args.watch,
        probe_storage: args.probe_storage,
    };
    let signals = Signals::listen()?;
    let mut connected = match args.flags.url() {
        Some(url) => {
            let target = server::target_with_timeout(Some(url), &args.timeout)?;
            Some((server::connect(&target)?, target))
        }
        None => None,
    };
    if !args.watch.is_zero() {
        let seconds = args.watch.as_secs_f64();
        output::notice(&format!("prony: watching this machine for {seconds} s"));
    }
    if args.probe_storage {
        output::notice("prony: probing the server's storage");
    }
    let connection = connected
        .as_mut()
        .map(|(control, target)| (control, &*target));
    let report =
        examine(connection, options).map_err(|error| Failure::of(Exit::Connect, &error))?;
    if let Some(signal) = signals.received() {
        // What was watched for a shorter time than requested is not reported.
        let message = "interrupted while examining the machine";
        return Err(Failure::new(signal.into(), message, "nothing was changed"));
    }
    if args.fix_script {
        output::show_raw(|out| doctor::write_fix_script(out, &report))?;
        return Ok(Exit::Success);
    }
    output::show_or_json(args.json, &report, |out, style| {
        doctor::write(out, style, &report)
    })?;
    Ok(Exit::invalid_if(report.worst() == DoctorState::Bad))
}

/// The findings that `prony run --doctor` stores with the run.
pub fn before_run(
    control: &mut Control,
    target: &Target,
    load: DoctorLoad,
) -> Result<DoctorReport, Failure> {
    let seconds = WATCH_BEFORE_RUN.as_secs();
    output::notice(&format!(
        "prony: watching this machine for {seconds} s (--doctor)"
    ));
    let options = DoctorOptions {
        load,
        watch: WATCH_BEFORE_RUN,
        probe_storage: false,
    };
    examine(Some((control, target)), options).map_err(|error| Failure::of(Exit::Connect, &error))
}
