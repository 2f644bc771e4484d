//! A run of TPROC-C that agents drive.
//!
//! In: a request. Out: the same program on each agent; its errors, here. Must never: let a virtual user go on that an
//! error ends.

use super::bench::{DelayedUsers, ErrorFlags, SampleSinks, StartDelays};
use super::connection::tool_server;
use crate::agents::{read, refusal, too_few, write};
use prony_dialect::hammerdb::{Driver, RunRequest};
use prony_drive::SampleListener;
use prony_fleet::{ToolCoordinator, ToolListening, ToolLoad, ToolOutput, ToolProgram, ToolRequest};
use prony_measure::{Outcome, Sample};
use prony_plan::{ErrorParts, UserError};
use prony_server::Target;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

pub const TOOL: &str = "hammerdbcli";

/// What an agent's program is made of, besides the workload.
#[derive(Serialize, Deserialize)]
struct SentProgram {
    delays: StartDelays,
    raise_error: bool,
}

/// A failed transaction: client, index of the kind, SQLSTATE.
#[derive(Serialize, Deserialize)]
struct Failed(u32, usize, [u8; 5]);

/// HammerDB's side at the coordinator.
pub struct Coordinator<'a> {
    load: ToolLoad,
    sinks: &'a SampleSinks,
}

/// Why agents cannot drive this run, in one sentence; `None` if they can, or there are none.
pub fn problem(request: &RunRequest) -> Option<String> {
    let is_test = matches!(request.driver, Driver::Test);
    let what = "agents have no test driver, which prints each transaction";
    let too_few = || too_few(request.vusers, "virtual users", "set vuset vu");
    refusal(is_test, what).or_else(too_few).or_else(|| {
        let what = "agents keep no time profile, which has the times of each virtual user";
        refusal(request.time_profile_path.is_some(), what)
    })
}

impl<'a> Coordinator<'a> {
    /// `warmup`: of the run.
    pub fn new(
        request: &RunRequest,
        warmup: Duration,
        target: &Target,
        sinks: &'a SampleSinks,
    ) -> Coordinator<'a> {
        let program = SentProgram {
            delays: StartDelays::of(request, warmup),
            raise_error: request.raise_error,
        };
        Coordinator {
            load: ToolLoad {
                tool: TOOL,
                program: write(&program),
                server: tool_server(&request.login, target),
            },
            sinks,
        }
    }
}

impl ToolCoordinator for Coordinator<'_> {
    fn load(&self) -> &ToolLoad {
        &self.load
    }

    fn heard(&self, _: usize, text: &str) -> Result<(), String> {
        let Failed(client, kind, code) = read(text)?;
        self.sinks.record_failure(client, kind, code);
        Ok(())
    }
}

/// Reports failed transactions of an agent.
struct Failures {
    output: ToolOutput,
    error_flags: ErrorFlags,
}

impl SampleListener for Failures {
    fn started(&mut self, _: u64) {}

    fn sample(&mut self, client: u32, sample: &Sample) {
        let Outcome::Failed(_, code) = sample.outcome else {
            return;
        };
        if self.error_flags.note(client) {
            let failed = Failed(client, usize::from(sample.kind), code);
            self.output.say(write(&failed));
        }
    }

    fn ended(&mut self, _: u64) {}
}

/// The program at an agent.
///
/// # Errors
/// The workload is not one of this build, or its tables cannot be read.
pub fn make_program(request: ToolRequest<'_>) -> Result<ToolProgram, ErrorParts> {
    let sent: SentProgram = read(request.program).map_err(ErrorParts::new)?;
    let workload = prony_workload::find(&request.workload.name).map_err(|error| error.parts())?;
    let ready = workload.program(request.control, request.workload);
    let mut ready = ready.map_err(|error| error.parts())?;
    let error_flags = ErrorFlags::new(sent.raise_error, request.drive.clients);
    let delayed = DelayedUsers::new(ready.program, sent.delays, error_flags.clone());
    ready.program = Arc::new(delayed);
    let output = request.output;
    let new_listener = move |_: usize| -> Box<dyn SampleListener> {
        Box::new(Failures {
            output: output.clone(),
            error_flags: error_flags.clone(),
        })
    };
    Ok(ToolProgram {
        ready,
        listening: ToolListening {
            new_sample_listener: Some(Box::new(new_listener)),
            ..ToolListening::default()
        },
    })
}
