//! A run of a script that agents drive.
//!
//! In: the script, its settings and the files that it loaded. Out: the same program on each agent; what its threads print
//! and report, here. Must never: run a script at an agent that was called over NATS, or one that may use more of its
//! machine than the server.

use super::logger::ScriptLogger;
use crate::agents::{Coordinator, decode, encode};
use crate::sysbench::agents::SentEvents;
use crate::sysbench::bench::EventCounts;
use prony_fleet::{
    ToolCoordinator, ToolListening, ToolOutput, ToolProgram, ToolRequest, ToolServer,
};
use prony_plan::ErrorParts;
use prony_server::control::ConnectFailure;
use prony_workload::ReadyWorkload;
use prony_workload::lua::{Listener, LuaScript, Report, ScriptSettings, ThreadTask};
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::Arc;

pub const TOOL: &str = "sysbench script";

/// What an agent sends to the coordinator.
#[derive(Serialize, Deserialize)]
enum SentMessage<'a> {
    /// `true`: a thread has connected.
    Events(SentEvents, bool),
    Report(Report<'a>),
}

/// The script's side at the coordinator.
///
/// # Errors
/// A file that the script has loaded cannot be read any more.
pub fn coordinator<'a>(
    script: &'a LuaScript,
    server: ToolServer,
    logger: &'a ScriptLogger,
    event_counts: Arc<EventCounts>,
) -> io::Result<impl ToolCoordinator + use<'a>> {
    let program = script.settings_for_agents()?;
    Ok(Coordinator::new(
        TOOL,
        &program,
        server,
        move |_, message| {
            match message {
                SentMessage::Events(events, has_connected) => {
                    events.set_in(&event_counts);
                    if has_connected {
                        script.mark_connected();
                    }
                }
                // Its process has ended.
                SentMessage::Report(Report::Stuck(reason)) => return Err(reason.into_owned()),
                SentMessage::Report(report) => logger.report(report),
            }
            Ok(())
        },
    ))
}

/// Sends to the coordinator what the threads of an agent report.
struct RemoteListener(ToolOutput);

impl Listener for RemoteListener {
    fn report(&self, report: Report<'_>) {
        let is_stuck = matches!(report, Report::Stuck(_));
        self.0.say(encode(&SentMessage::Report(report)));
        if is_stuck {
            // The worker of the script never returns.
            std::process::exit(1);
        }
    }
}

/// The program at an agent.
///
/// # Errors
/// The agent was called over NATS, or what was sent is not a script of this build.
pub fn make_program(request: ToolRequest<'_>) -> Result<ToolProgram, ErrorParts> {
    if request.is_called {
        let problem = "an agent that is called over NATS runs no Lua scripts of others";
        let hint = "name the machine by a command that reaches it, such as 'ssh vm1'";
        return Err(ErrorParts::new(problem).with_hint(hint));
    }
    let settings: ScriptSettings = decode(request.program).map_err(ErrorParts::new)?;
    let settings = ScriptSettings {
        // Never give the script access to the whole machine.
        files: Some(settings.files.unwrap_or_default()),
        listener: Arc::new(RemoteListener(request.output.clone())),
        ..settings
    };
    let script = LuaScript::open(settings).map_err(|error| ErrorParts::new(error.to_string()))?;
    let program = script.program(ThreadTask::Run);
    let program = Arc::new(program.map_err(|error| ErrorParts::new(error.to_string()))?);
    let counts = Arc::new(EventCounts::new(request.drive.clients));
    let (listened, running) = (Arc::clone(&counts), Arc::clone(&program));
    let report = move || {
        encode(&SentMessage::Events(
            SentEvents::of(&counts),
            running.has_connected(),
        ))
    };
    let remote = RemoteListener(request.output);
    let on_refused = move |failures: &[ConnectFailure]| {
        if let Some(last) = failures.last() {
            remote.report(Report::Fatal(last.to_string().into()));
        }
    };
    Ok(ToolProgram {
        ready: ReadyWorkload::new(program, 1),
        listening: ToolListening {
            new_sample_listener: Some(Box::new(move |_| listened.new_listener())),
            report: Some(Box::new(report)),
            on_connect_refused: Some(Box::new(on_refused)),
        },
    })
}
