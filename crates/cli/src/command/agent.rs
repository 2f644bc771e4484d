//! `prony agent`.
//!
//! Serves one coordinator over standard input and output, where it prints nothing else; or those that call over NATS.

use super::output;
use crate::args::AgentArgs;
use crate::exit::{Exit, Failure};
use crate::run::fleet::agent_setup;
use std::io::{stdin, stdout};

pub fn agent(args: &AgentArgs) -> Result<Exit, Failure> {
    if let Some(url) = &args.nats {
        let mut notice = |line: &str| output::notice(&format!("prony: {line}"));
        return match prony_fleet::serve_nats(url, &agent_setup(true), &mut notice) {
            Ok(never) => match never {},
            Err(error) => {
                let exit = if error.is_usage() {
                    Exit::Usage
                } else {
                    Exit::Connect
                };
                Err(Failure::new(exit, error.to_string(), ""))
            }
        };
    }
    match prony_fleet::serve(stdin(), stdout(), &agent_setup(false)) {
        Ok(()) => Ok(Exit::Success),
        Err(error) => Err(Failure::usage(error.to_string(), "")),
    }
}
