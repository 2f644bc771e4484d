//! A run of a script that agents drive.
//!
//! In: the script, its settings and the files that it loaded. Out: the same program on each agent; what its threads print
//! and report, here. Must never: run a script at an agent that was called over NATS, or one that may use more of its
//! machine than the server.

use super::logger::ScriptLogger;
use crate::agents::{read, write};
use crate::sysbench::agents::SentEvents;
use crate::sysbench::bench::EventCounts;
use prony_fleet::{
    ToolCoordinator, ToolListening, ToolLoad, ToolOutput, ToolProgram, ToolRequest, ToolServer,
};
use prony_plan::ErrorParts;
use prony_server::control::{ConnectFailure, Error};
use prony_session::DbError;
use prony_workload::ReadyWorkload;
use prony_workload::lua::{
    Listener, LuaScript, ScriptSettings, SqlFailure, SqlOperation, ThreadTask,
};
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::Arc;

pub const TOOL: &str = "sysbench script";

/// What an agent sends to the coordinator: the calls of its threads' [`Listener`], and their events.
#[derive(Serialize, Deserialize)]
enum SentMessage {
    /// `true`: a thread has connected.
    Events(SentEvents, bool),
    Output(Vec<u8>),
    Fatal(String),
    Alert(String),
    Warning(String),
    Unavailable(String),
    Blocked,
    SqlFailed {
        operation: SqlOperation,
        code: [u8; 5],
        number: u32,
        message: String,
        sql: String,
    },
    FunctionFailed(String, String),
    ThreadDoneFailed(String),
    Stuck(String),
}

/// The script's side at the coordinator.
pub struct ScriptCoordinator<'a> {
    load: ToolLoad,
    script: &'a LuaScript,
    logger: &'a ScriptLogger,
    event_counts: Arc<EventCounts>,
}

impl<'a> ScriptCoordinator<'a> {
    /// # Errors
    /// A file that the script has loaded cannot be read any more.
    pub fn new(
        script: &'a LuaScript,
        server: ToolServer,
        logger: &'a ScriptLogger,
        event_counts: Arc<EventCounts>,
    ) -> io::Result<ScriptCoordinator<'a>> {
        Ok(ScriptCoordinator {
            load: ToolLoad {
                tool: TOOL,
                program: write(&script.settings_for_agents()?),
                server,
            },
            script,
            logger,
            event_counts,
        })
    }
}

impl ToolCoordinator for ScriptCoordinator<'_> {
    fn load(&self) -> &ToolLoad {
        &self.load
    }

    fn heard(&self, _: usize, text: &str) -> Result<(), String> {
        match read(text)? {
            SentMessage::Events(events, has_connected) => {
                events.set_in(&self.event_counts);
                if has_connected {
                    self.script.mark_connected();
                }
            }
            SentMessage::Output(bytes) => self.logger.output(&bytes),
            SentMessage::Fatal(text) => self.logger.fatal(&text),
            SentMessage::Alert(text) => self.logger.alert(&text),
            SentMessage::Warning(text) => self.logger.warning(&text),
            SentMessage::Unavailable(lines) => self.logger.server_unavailable(&lines),
            SentMessage::Blocked => self.logger.thread_blocked(),
            SentMessage::SqlFailed {
                operation,
                code,
                number,
                message,
                sql,
            } => self.logger.sql_failed(&SqlFailure {
                operation,
                error: &DbError::workload(code, message.clone()),
                error_number: number,
                message: &message,
                sql: &sql,
            }),
            SentMessage::FunctionFailed(function, reason) => {
                self.logger.function_failed(&function, &reason);
            }
            SentMessage::ThreadDoneFailed(reason) => self.logger.thread_done_failed(&reason),
            // Its process has ended.
            SentMessage::Stuck(reason) => return Err(reason),
        }
        Ok(())
    }
}

/// Sends to the coordinator what the threads of an agent report.
struct RemoteListener(ToolOutput);

impl RemoteListener {
    fn say(&self, message: &SentMessage) {
        self.0.say(write(message));
    }
}

impl Listener for RemoteListener {
    fn output(&self, text: &[u8]) {
        self.say(&SentMessage::Output(text.to_vec()));
    }

    fn fatal(&self, text: &str) {
        self.say(&SentMessage::Fatal(text.to_owned()));
    }

    fn alert(&self, text: &str) {
        self.say(&SentMessage::Alert(text.to_owned()));
    }

    fn warning(&self, text: &str) {
        self.say(&SentMessage::Warning(text.to_owned()));
    }

    fn server_unavailable(&self, lines: &str) {
        self.say(&SentMessage::Unavailable(lines.to_owned()));
    }

    fn connection_refused(&self, error: &Error) {
        self.fatal(&error.to_string());
    }

    fn thread_blocked(&self) {
        self.say(&SentMessage::Blocked);
    }

    fn sql_failed(&self, failure: &SqlFailure<'_>) {
        self.say(&SentMessage::SqlFailed {
            operation: failure.operation,
            code: failure.error.code,
            number: failure.error_number,
            message: failure.message.to_owned(),
            sql: failure.sql.to_owned(),
        });
    }

    fn function_failed(&self, function: &str, reason: &str) {
        self.say(&SentMessage::FunctionFailed(
            function.to_owned(),
            reason.to_owned(),
        ));
    }

    fn thread_done_failed(&self, reason: &str) {
        self.say(&SentMessage::ThreadDoneFailed(reason.to_owned()));
    }

    fn script_stuck(&self, reason: &str) {
        self.say(&SentMessage::Stuck(reason.to_owned()));
        // The worker of the script never returns.
        std::process::exit(1);
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
    let settings: ScriptSettings = read(request.program).map_err(ErrorParts::new)?;
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
        write(&SentMessage::Events(
            SentEvents::of(&counts),
            running.has_connected(),
        ))
    };
    let remote = RemoteListener(request.output);
    let on_refused = move |failures: &[ConnectFailure]| {
        if let Some(last) = failures.last() {
            remote.fatal(&last.to_string());
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
