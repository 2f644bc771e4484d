//! `prony agent`.
//!
//! Serves one coordinator over standard input and output, where it prints nothing else; or those that call over NATS.

use super::output;
use crate::args::AgentArgs;
use crate::exit::{Exit, Failure};
use crate::run::fleet::agent_setup;
use prony_fleet::AgentError;
use std::io::{stdin, stdout};

pub fn agent(args: &AgentArgs) -> Result<Exit, Failure> {
    if let Some(url) = &args.nats {
        let mut notice = |line: &str| output::notice(&format!("prony: {line}"));
        return match prony_fleet::serve_nats(url, &agent_setup(true), &mut notice) {
            Ok(never) => match never {},
            Err(error) => Err(failure(&error)),
        };
    }
    match prony_fleet::serve(stdin(), stdout(), &agent_setup(false)) {
        Ok(()) => Ok(Exit::Success),
        Err(error) => Err(failure(&error)),
    }
}

fn failure(error: &AgentError) -> Failure {
    let exit = if error.is_usage() { Exit::Usage } else { Exit::Connect };
    Failure::new(exit, error.to_string(), "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Error, ErrorKind};

    #[test]
    fn a_coordinator_that_went_is_no_mistake_of_the_command_line() {
        let lost = AgentError::from(Error::from(ErrorKind::BrokenPipe));
        assert_eq!(failure(&lost).exit, Exit::Connect);
        assert_eq!(failure(&AgentError::NoCoordinator).exit, Exit::Usage);
    }
}
