//! What would fail a later run of an experiment, found before the first one.
//!
//! In: the requests of all variants. Out: the failure that a variant would meet at its turn, with its name. Must never:
//! change a server, refuse what the command between runs may still mend, or ask for a host that it may start.

use super::ExperimentRequest;
use crate::command::server;
use crate::exit::{Exit, Failure};
use crate::run::{RunRequest, answers, run_server};
use prony_plan::experiment::{DIRECT_VARIANT, POOLED_VARIANT};
use prony_plan::{Experiment, ServerPlan, UserError};
use prony_server::settings::{Reach, find_reach, set_in_sessions, verify};
use prony_server::{Control, Target, read_server_facts};
use prony_store::SqlDialect;
use std::mem::discriminant;

pub fn check_urls(experiment: &Experiment) -> Result<(), Failure> {
    let mut direct = None;
    for variant in &experiment.variants {
        let ServerPlan::Url(url) = &variant.plan.server else {
            continue;
        };
        let target = match server::resolve_target(Some(url)) {
            Ok(target) => target,
            Err(failure) if failure.exit == Exit::Connect && experiment.between.is_some() => {
                continue;
            }
            Err(failure) => return Err(failure),
        };
        let protocol = discriminant(&target.protocol);
        match variant.name.as_str() {
            DIRECT_VARIANT => direct = Some(protocol),
            POOLED_VARIANT if direct.is_some_and(|direct| direct != protocol) => {
                let message = "the pooler of --via speaks another protocol than the server";
                let hint = "give the URL of a pooler in front of this server";
                return Err(Failure::usage(message, hint));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Checks what each variant needs of its server.
///
/// # Errors
/// A variant cannot run: its server does not answer, has not its data, refuses one of its settings or has too few
/// connections, or it has not the figures of what is required.
pub fn check(request: &ExperimentRequest) -> Result<(), Failure> {
    let experiment = &request.experiment;
    if experiment.between.is_some() || experiment.variants.len() < 2 {
        return Ok(());
    }
    check_scales(request)?;
    for (variant, run_request) in experiment.variants.iter().zip(&request.requests) {
        if run_request.plan.server != ServerPlan::Embedded {
            let refusal = check_variant(run_request);
            refusal.map_err(|failure| failure.at(format!("variant {}", variant.name)))?;
        }
    }
    Ok(())
}

/// The data that a variant needs.
struct VariantData<'a> {
    server: &'a ServerPlan,
    /// The workload that loads it.
    loader: &'a str,
    scale: u32,
}

/// Whether each server has one size of the data: a run loads nothing, except into a throw-away server.
fn check_scales(request: &ExperimentRequest) -> Result<(), Failure> {
    let plans = request
        .experiment
        .variants
        .iter()
        .map(|variant| &variant.plan);
    let mut known: Vec<VariantData<'_>> = Vec::new();
    for plan in plans.filter(|plan| plan.server != ServerPlan::Embedded) {
        let workload = server::find_workload(&plan.workload.name)?;
        let loaded = workload.workload_to_load(&plan.workload);
        let (Some(loaded), Some(scale)) = (loaded, plan.workload.scale) else {
            continue;
        };
        let same_data = known
            .iter()
            .find(|data| data.server == &plan.server && data.loader == loaded);
        if let Some(other) = same_data.map(|data| data.scale)
            && other != scale
        {
            let message = format!(
                "the variants need {loaded} data of the scales {other} and {scale} on one server, but a run loads nothing"
            );
            let hint = format!(
                "let a command load before each run: between = \"prony load {loaded} --scale $PRONY_SCALE\" under \
                 [experiment]"
            );
            return Err(Failure::new(Exit::Usage, message, hint));
        }
        known.push(VariantData {
            server: &plan.server,
            loader: loaded,
            scale,
        });
    }
    Ok(())
}

fn check_variant(request: &RunRequest) -> Result<(), Failure> {
    let plan = &request.plan;
    let target = run_server::find_or_start(plan, false)?.target;
    let mut control = server::connect(&target)?;
    let workload = server::find_workload(&plan.workload.name)?;
    let url = server::url_of(plan);
    let ready = workload.program(&mut control, &plan.workload);
    let ready = ready.map_err(|error| server::workload_failure(&error, url, None))?;
    answers::check_figures(&plan.require.0, workload, ready.program.kinds())?;
    check_connections(&mut control, plan.drive.clients)?;
    check_settings(request, control, target)
}

fn check_connections(control: &mut Control, clients: u32) -> Result<(), Failure> {
    let facts = read_server_facts(control).map_err(|error| Failure::of(Exit::Connect, &error))?;
    let limit = facts
        .setting("max_connections")
        .and_then(|text| text.parse::<u32>().ok());
    let is_limited = facts.pooler.is_none() && control.dialect() != SqlDialect::TransactSql;
    match limit.filter(|limit| is_limited && clients > *limit) {
        None => Ok(()),
        Some(limit) => {
            let message =
                format!("{clients} clients need more than the {limit} connections of the server");
            let hint = "raise its max_connections, or use fewer clients";
            Err(Failure::new(Exit::Connect, message, hint))
        }
    }
}

/// Whether a session can have the settings; those of the whole server show it only when they are changed.
fn check_settings(
    request: &RunRequest,
    mut control: Control,
    mut target: Target,
) -> Result<(), Failure> {
    if request.plan.settings.is_empty() {
        return Ok(());
    }
    let usage = |error: &dyn UserError| Failure::of(Exit::Usage, error);
    let mut wanted =
        find_reach(&mut control, &request.plan.settings).map_err(|error| usage(&error))?;
    wanted.retain(|setting| setting.reach == Reach::Session);
    drop(control);
    set_in_sessions(&mut target, &wanted);
    let mut control = Control::connect(&target).map_err(|error| usage(&error))?;
    verify(&mut control, &wanted).map_err(|error| usage(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_plan::{PlanInput, value_from_flag};

    #[test]
    fn a_pooler_has_a_url_of_the_protocol_of_its_server() {
        let refusal = |via: &str| {
            let text = |flag: &str, text: &str| value_from_flag(flag, Some(text.to_owned()));
            let input = PlanInput {
                workload: text("w", "tpcb"),
                url: text("--url", "postgres://127.0.0.1/d"),
                via: text("--via", via),
                ..PlanInput::default()
            };
            let experiment = input
                .check_experiment()
                .map_err(|problems| problems.to_string())?;
            check_urls(&experiment).map_err(|failure| failure.problems[0].problem.clone())
        };
        assert_eq!(refusal("postgres://127.0.0.1:6432/d"), Ok(()));
        let other = refusal("mysql://127.0.0.1/d").unwrap_err();
        assert!(other.contains("another protocol"), "{other}");
        let empty = refusal("").unwrap_err();
        assert!(empty.contains("is empty"), "{empty}");
        assert!(refusal("postgres://127.0.0.1:port/d").is_err());
    }
}
