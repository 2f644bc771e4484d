//! Whether what was to happen to the server did happen.
//!
//! In: a Run with the events of its commands. Out: `marks`. Must never: judge what a command printed.

use crate::checks::{Finding, invalid};
use crate::formatting::joined;
use prony_store::{Event, Run};

pub(crate) fn check_marks(run: &Run) -> Option<Finding> {
    let events = run.events.iter();
    let failed: Vec<&Event> = events.filter(|event| has_failed(event)).collect();
    if failed.is_empty() {
        return None;
    }
    invalid(
        joined(failed.iter().map(|event| describe(event)), " "),
        "The run shows the server without what the command was to do, or with a part of it. Try the command by hand, \
         with the variables that the help of --at names, and run again.",
    )
}

/// Whether a command failed, or its end is not known.
fn has_failed(event: &Event) -> bool {
    let result = event.command.as_ref();
    result.is_some_and(|result| result.exit_status != Some(0))
}

fn describe(event: &Event) -> String {
    let command = event.command.as_ref();
    let output = match command.and_then(|result| result.output.lines().last()) {
        Some(last_line) => format!(": {}", last_line.trim_end_matches('.')),
        None => String::new(),
    };
    format!("During the load, {}{output}.", event.detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::healthy;
    use prony_store::{CommandResult, EventKind, Severity};

    #[test]
    fn only_a_command_that_ended_with_0_leaves_the_run_valid() {
        let finding = |exit_status: Option<i32>, output: &str| {
            let mut run = healthy();
            run.events.push(Event {
                kind: EventKind::Mark,
                detail: "the command at 5s ended so".to_owned(),
                command: Some(CommandResult {
                    exit_status,
                    output: output.to_owned(),
                }),
                ..Event::default()
            });
            check_marks(&run)
        };
        assert_eq!(finding(Some(0), "error"), None);
        let failed = finding(Some(1), "first\npg_ctl: no server running.").expect("a finding");
        assert_eq!(
            (failed.severity, failed.finding.as_str()),
            (
                Severity::Invalid,
                "During the load, the command at 5s ended so: pg_ctl: no server running."
            )
        );
        assert!(finding(None, "").is_some(), "its end is not known");
        let mut signal = healthy();
        signal.events.push(Event {
            kind: EventKind::Mark,
            ..Event::default()
        });
        assert_eq!(check_marks(&signal), None);
    }
}
