//! `prony agent`.
//!
//! Serves one coordinator over standard input and output, where it prints nothing else; or those that call over NATS.

use super::output;
use crate::args::AgentArgs;
use crate::exit::{Exit, Failure};
use prony_fleet::serve_nats;
use prony_runner::host::{this_build, this_machine};
use std::io::{stdin, stdout};

/// Executes the command.
pub fn agent(args: &AgentArgs) -> Result<Exit, Failure> {
    if let Some(url) = &args.nats {
        let (host, build) = (this_machine(), this_build());
        let mut notice = |line: &str| output::notice(&format!("prony: {line}"));
        return match serve_nats(url, &host, &build, &mut notice) {
            Ok(never) => match never {},
            Err(error) => Err(Failure::new(Exit::Connect, error.to_string(), "")),
        };
    }
    match prony_fleet::serve(stdin(), stdout(), this_machine(), this_build()) {
        Ok(()) => Ok(Exit::Success),
        Err(error) => Err(Failure::usage(error.to_string(), "")),
    }
}
