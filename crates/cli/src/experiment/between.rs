//! Runs the user's command before each run of an experiment, and pauses between two.
//!
//! The command may contain a password and is never shown; its output is never mixed with the result.

use crate::command::{output, server};
use crate::exit::{Exit, Failure};
use prony_plan::{Experiment, ServerPlan, format_duration};
use prony_runner::{Signals, shell};
use std::io::stderr;

/// Runs the command, if there is one, and then pauses, except before the first run. `next_run` says which run of the
/// experiment comes next. A signal ends the command or the pause early.
pub fn run_between(
    experiment: &Experiment,
    next_run: &prony_store::Experiment,
    signals: &Signals,
) -> Result<(), Failure> {
    if let Some(script) = &experiment.between {
        output::notice("before the run: running the command of the plan");
        let repeat = next_run.repeat.to_string();
        let variant = &*next_run.variant;
        let server = server_variables(experiment, variant)?;
        let scale = scale_of(experiment, variant);
        let mut variables = vec![("PRONY_VARIANT", variant), ("PRONY_REPEAT", &repeat)];
        variables.extend(scale.as_deref().map(|scale| ("PRONY_SCALE", scale)));
        variables.extend(server.iter().map(|(name, value)| (*name, value.as_str())));
        let status = shell::run(script, &variables, stderr().into(), signals)
            .map_err(|error| failure(&format!("cannot be started: {error}")))?;
        // After a signal to Prony, the status of the command is no failure.
        if !status.success() && signals.received().is_none() {
            return Err(failure(&format!("failed with {status}")));
        }
    }
    if next_run.position > 1 && !experiment.pause.is_zero() && signals.received().is_none() {
        output::notice(&format!("pause of {}", format_duration(experiment.pause)));
        signals.wait(experiment.pause);
    }
    Ok(())
}

/// Variables by which the usual clients reach the server of a variant; none if it does not run yet.
///
/// # Errors
/// The server's URL cannot be used.
fn server_variables(
    experiment: &Experiment,
    variant: &str,
) -> Result<Vec<(&'static str, String)>, Failure> {
    let mut variants = experiment.variants.iter();
    let plan = variants.find(|found| found.name == variant);
    match plan.map(|found| &found.plan.server) {
        Some(ServerPlan::Url(url)) => match server::resolve_target(Some(url)) {
            Ok(target) => Ok(target.client_environment()),
            // The command may be what starts the server.
            Err(failure) if failure.exit == Exit::Connect => {
                output::notice(
                    "warning: the name of the server has no address yet: variables such as PGHOST do not name this server to \
                     the command",
                );
                Ok(Vec::new())
            }
            Err(failure) => Err(failure),
        },
        Some(ServerPlan::Embedded) | None => Ok(Vec::new()),
    }
}

/// The scale of a variant's data, for a command that loads them; `None` if the plan does not say it.
fn scale_of(experiment: &Experiment, variant: &str) -> Option<String> {
    let mut variants = experiment.variants.iter();
    let scale = variants
        .find(|found| found.name == variant)?
        .plan
        .workload
        .scale;
    scale.map(|scale| scale.to_string())
}

fn failure(reason: &str) -> Failure {
    let hint =
        "the experiment ends here; earlier runs are stored, and the output of the command is above";
    Failure::new(
        Exit::Unexpected,
        format!("the command before a run (experiment.between) {reason}"),
        hint,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use prony_plan::{PlanInput, value_from_flag};

    fn experiment(script: &str) -> Experiment {
        let input = PlanInput {
            workload: value_from_flag("w", Some("tpcb".to_owned())),
            between: value_from_flag("b", Some(script.to_owned())),
            repeats: value_from_flag("r", Some(2)),
            ..PlanInput::default()
        };
        input.check_experiment().expect("it is valid")
    }

    #[test]
    fn the_command_gets_variant_and_repeat_and_a_failure_does_not_show_its_text() {
        let signals = Signals::default();
        let position = |repeat| prony_store::Experiment {
            variant: "tpcb".to_owned(),
            repeat,
            position: repeat,
            ..prony_store::Experiment::default()
        };
        let succeeding = experiment("test \"$PRONY_VARIANT/$PRONY_REPEAT\" = tpcb/2 && true");
        assert!(run_between(&succeeding, &position(2), &signals).is_ok());
        assert!(run_between(&succeeding, &position(3), &signals).is_err());
        let failed =
            run_between(&experiment("exit 3 # secret"), &position(2), &signals).unwrap_err();
        assert_eq!(failed.exit, Exit::Unexpected);
        let message = &failed.problems[0].problem;
        message.assert_contains("exit status: 3");
        message.assert_lacks("secret");
    }
}
