//! `prony agent`.
//!
//! Serves one coordinator over standard input and output, and prints nothing else.

use crate::args::AgentArgs;
use crate::exit::{Exit, Failure};
use prony_runner::host::{this_build, this_machine};
use std::io::{stdin, stdout};

/// Executes the command.
pub fn agent(_: &AgentArgs) -> Result<Exit, Failure> {
    match prony_fleet::serve(stdin(), stdout(), this_machine(), this_build()) {
        Ok(()) => Ok(Exit::Success),
        Err(error) => Err(Failure::usage(error.to_string(), "")),
    }
}
