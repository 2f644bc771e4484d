//! A run of TPROC-C that agents drive.
//!
//! In: a request. Out: the same program on each agent; its errors, here. Must never: let a virtual user go on that an
//! error ends.

use super::bench::{
    CallTimes, DelayedUsers, ErrorFlags, SampleSinks, StartDelays, TimesRecorder, UserTimes,
};
use super::connection::tool_server;
use crate::agents::{Coordinator, decode, encode, refusal, too_few};
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
    Failed {
        client: u32,
        kind_index: usize,
        sqlstate: [u8; 5],
    },
    Times(SentTimes),
}

/// The times of a worker's virtual users.
#[derive(Serialize, Deserialize)]
struct SentTimes {
    users: Vec<SentUserTimes>,
    all_users: Vec<SerializedTimes>,
}

/// [`UserTimes`] with serialised distributions.
#[derive(Serialize, Deserialize)]
struct SentUserTimes {
    vuser: u32,
    span_ns: Option<(u64, u64)>,
    times_by_kind: Vec<SerializedTimes>,
}

impl SentTimes {
    fn of(times: &CallTimes) -> SentTimes {
        let users = times.users.iter().map(|user| SentUserTimes {
            vuser: user.vuser,
            span_ns: user.span_ns,
            times_by_kind: user
                .times_by_kind
                .iter()
                .map(SerializedTimes::new)
                .collect(),
        });
        SentTimes {
            users: users.collect(),
            all_users: times.all_users.iter().map(SerializedTimes::new).collect(),
        }
    }

    fn into_times(self) -> Result<CallTimes, InvalidInterval> {
        let mut times = CallTimes::default();
        for user in self.users {
            let by_kind = user.times_by_kind.into_iter();
            let by_kind = by_kind.map(|sent| sent.into_distribution_like(Distribution::coarse()));
            times.users.push(UserTimes {
                vuser: user.vuser,
                span_ns: user.span_ns,
                times_by_kind: by_kind.collect::<Result<_, _>>()?,
            });
        }
        for sent in self.all_users {
            let all_users = sent.into_distribution_like(Distribution::default())?;
            times.all_users.push(all_users);
        }
        Ok(times)
    }
}

/// Why agents cannot drive this run, in one sentence; `None` if they can, or there are none.
pub fn problem(request: &RunRequest) -> Option<String> {
    let is_test = matches!(request.driver, Driver::Test);
    refusal(
        is_test,
        "agents have no test driver, which prints each transaction",
    )
    .or_else(|| too_few(request.vusers, "virtual users", "set vuset vu"))
}

/// HammerDB's side at the coordinator. `warmup`: the run's.
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
            SentMessage::Failed {
                client,
                kind_index,
                sqlstate,
            } => sinks.record_failure(client, kind_index, sqlstate),
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
        let Outcome::Failed(_, sqlstate) = sample.outcome else {
            return;
        };
        let must_report = self.error_flags.record(client);
        if must_report {
            self.output.say(encode(&SentMessage::Failed {
                client,
                kind_index: usize::from(sample.kind),
                sqlstate,
            }));
        }
    }

    fn ended(&mut self, _: u64) {
        if let Some(times) = self.times.take() {
            let times = SentTimes::of(&times.into_times());
            self.output.say(encode(&SentMessage::Times(times)));
        }
    }
}

/// The program at an agent.
///
/// # Errors
/// The workload is not one of this build, or its tables cannot be read.
pub fn make_program(request: ToolRequest<'_>) -> Result<ToolProgram, ErrorParts> {
    let sent: SentProgram = decode(request.program).map_err(ErrorParts::new)?;
    let workload = prony_workload::find(&request.workload.name).map_err(|error| error.parts())?;
    let mut ready = workload
        .program(request.control, request.workload)
        .map_err(|error| error.parts())?;
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
