//! A run of TPROC-C that agents drive.
//!
//! In: a request. Out: the same program on each agent; its errors, here. Must never: let a virtual user go on that an
//! error ends.

use super::bench::{
    CallTimes, DelayedUsers, ErrorFlags, SampleSinks, StartDelays, TimesRecorder, UserTimes,
};
use super::connection::tool_server;
use crate::agents::{Coordinator, read, refusal, too_few, write};
use prony_dialect::hammerdb::{Driver, RunRequest};
use prony_drive::{SampleListener, clients_of_thread};
use prony_fleet::{ToolCoordinator, ToolListening, ToolOutput, ToolProgram, ToolRequest};
use prony_measure::{Distribution, InvalidInterval, Outcome, Sample, SerializedTimes};
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
    first_vuser: u32,
    has_time_profile: bool,
}

/// What an agent sends to the coordinator.
#[derive(Serialize, Deserialize)]
enum SentMessage {
    /// A failed transaction: client, index of the kind, SQLSTATE.
    Failed(u32, usize, [u8; 5]),
    Times(SentTimes),
}

/// The times of a worker's virtual users.
#[derive(Serialize, Deserialize)]
struct SentTimes {
    users: Vec<SentUserTimes>,
    all_users: Vec<SerializedTimes>,
}

/// A virtual user's number, the start of its first transaction and the end of its last one, and its times by kind.
type SentUserTimes = (u32, Option<(u64, u64)>, Vec<SerializedTimes>);

impl SentTimes {
    fn of(times: &CallTimes) -> SentTimes {
        let users = times.users.iter().map(|user| {
            let times_by_kind = user.times_by_kind.iter().map(SerializedTimes::new);
            (user.vuser, user.span_ns, times_by_kind.collect())
        });
        SentTimes {
            users: users.collect(),
            all_users: times.all_users.iter().map(SerializedTimes::new).collect(),
        }
    }

    fn into_times(self) -> Result<CallTimes, InvalidInterval> {
        let user = |(vuser, span_ns, times): SentUserTimes| {
            let times = times.into_iter();
            let times = times.map(|times| times.into_distribution_like(Distribution::coarse()));
            Ok(UserTimes {
                vuser,
                span_ns,
                times_by_kind: times.collect::<Result<_, _>>()?,
            })
        };
        let all = self.all_users.into_iter();
        let all = all.map(|times| times.into_distribution_like(Distribution::default()));
        Ok(CallTimes {
            users: self.users.into_iter().map(user).collect::<Result<_, _>>()?,
            all_users: all.collect::<Result<_, _>>()?,
        })
    }
}

/// Why agents cannot drive this run, in one sentence; `None` if they can, or there are none.
pub fn problem(request: &RunRequest) -> Option<String> {
    let is_test = matches!(request.driver, Driver::Test);
    let what = "agents have no test driver, which prints each transaction";
    let too_few = || too_few(request.vusers, "virtual users", "set vuset vu");
    refusal(is_test, what).or_else(too_few)
}

/// HammerDB's side at the coordinator. `warmup`: of the run.
pub fn coordinator<'a>(
    request: &RunRequest,
    warmup: Duration,
    target: &Target,
    sinks: &'a SampleSinks,
) -> impl ToolCoordinator + use<'a> {
    let program = SentProgram {
        delays: StartDelays::of(request, warmup),
        raise_error: request.raise_error,
        first_vuser: request.first_vuser(),
        has_time_profile: request.time_profile_path.is_some(),
    };
    let server = tool_server(&request.login, target);
    Coordinator::new(TOOL, &program, server, move |_, message| {
        match message {
            SentMessage::Failed(client, kind, code) => sinks.record_failure(client, kind, code),
            SentMessage::Times(times) => {
                let times = times.into_times().map_err(|error| error.to_string())?;
                sinks.add_times(times)?;
            }
        }
        Ok(())
    })
}

/// Reports failed transactions of an agent, and at the end the times of its virtual users.
struct Reporter {
    output: ToolOutput,
    error_flags: ErrorFlags,
    times: Option<TimesRecorder>,
}

impl SampleListener for Reporter {
    fn started(&mut self, _: u64) {}

    fn sample(&mut self, client: u32, sample: &Sample) {
        if let Some(times) = &mut self.times {
            times.record(client, sample);
        }
        let Outcome::Failed(_, code) = sample.outcome else {
            return;
        };
        if self.error_flags.note(client) {
            let failed = SentMessage::Failed(client, usize::from(sample.kind), code);
            self.output.say(write(&failed));
        }
    }

    fn ended(&mut self, _: u64) {
        if let Some(times) = self.times.take() {
            let times = SentTimes::of(&times.into_times());
            self.output.say(write(&SentMessage::Times(times)));
        }
    }
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
    let (clients, threads) = (request.drive.clients, request.drive.workers());
    let (first, kinds) = (request.first_worker, ready.program.kinds().len());
    let new_listener = move |worker: usize| -> Box<dyn SampleListener> {
        let clients = clients_of_thread(first + worker as u32, clients, threads);
        let times = || TimesRecorder::new(clients, sent.first_vuser, kinds);
        Box::new(Reporter {
            times: sent.has_time_profile.then(times),
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
