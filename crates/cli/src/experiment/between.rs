//! What happens between two runs: the user's command, then a pause.
//!
//! In: an experiment, and which run follows. Out: nothing, or how the command failed. Must never: show
//! the command's text, which may hold a password, or let its output into the result.

use crate::command::output;
use crate::exit::{Exit, Failure};
use crate::shell::{self, LOOK};
use crate::signals::Signals;
use prony_plan::{Experiment, format_duration};
use std::thread::sleep;

/// Runs the command, if there is one, and waits for the pause. Ends early where a signal asks for it.
///
/// # Errors
/// If the command cannot be started, or does not end with status 0.
pub fn runs(of: &Experiment, variant: &str, repeat: u32, signals: &Signals) -> Result<(), Failure> {
    if let Some(script) = &of.between {
        output::tell("between the runs: the command of the plan");
        let repeat = repeat.to_string();
        let known = [("PRONY_VARIANT", variant), ("PRONY_REPEAT", &repeat)];
        let status = shell::run(script, &known, signals)
            .map_err(|error| failure(&format!("cannot be started: {error}")))?;
        // What a signal ended has not failed.
        if !status.success() && signals.asked().is_none() {
            return Err(failure(&format!("failed with {status}")));
        }
    }
    if !of.pause.is_zero() && signals.asked().is_none() {
        output::tell(&format!("pause of {}", format_duration(of.pause)));
        let mut left = of.pause;
        while !left.is_zero() && signals.asked().is_none() {
            let part = left.min(LOOK);
            sleep(part);
            left -= part;
        }
    }
    Ok(())
}

fn failure(how: &str) -> Failure {
    let hint = "the experiment ends here; the runs before are stored, and the command's own output is above";
    Failure::new(
        Exit::Unexpected,
        format!("the command between the runs (experiment.between) {how}"),
        hint,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_plan::{Asked, flag};

    fn experiment(script: &str) -> Experiment {
        let mut asked = Asked::default();
        asked.workload = flag("w", Some("tpcb".to_owned()));
        asked.experiment.between = flag("b", Some(script.to_owned()));
        asked.experiment.repeats = flag("r", Some(2));
        asked.check_experiment().expect("it is right")
    }

    #[test]
    fn the_command_knows_what_follows_and_its_failure_is_told_without_its_text() {
        let none = Signals::default();
        let right = experiment("test \"$PRONY_VARIANT/$PRONY_REPEAT\" = tpcb/2 && true");
        assert!(runs(&right, "tpcb", 2, &none).is_ok());
        assert!(runs(&right, "tpcb", 3, &none).is_err());
        let failed = runs(&experiment("exit 3 # secret"), "tpcb", 2, &none).unwrap_err();
        assert_eq!(failed.exit, Exit::Unexpected);
        let what = &failed.problems[0].what;
        assert!(
            what.contains("exit status: 3") && !what.contains("secret"),
            "{what}"
        );
    }
}
