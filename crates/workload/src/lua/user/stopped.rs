//! Runs `thread_done` of a thread that is stopped while it waits for its next event. Never makes a request to the
//! event loop, which no longer serves the thread. The other users of the worker wait for a command that it runs.

use super::{ScriptUser, THREAD_DONE};
use crate::lua::answer::{Answer, FailedAnswer};
use crate::lua::request::Request;
use crate::lua::shell_command::ShellCommand;
use std::ffi::c_int;

/// Maximum number of requests that a stopped thread may make in `thread_done`. After that many, its script is
/// abandoned.
const FINAL_REQUESTS_MAX: u32 = 10_000;

impl Drop for ScriptUser {
    /// Runs `thread_done` if the thread is stopped while it waits for its next event. SQL requests fail,
    /// because the event loop no longer serves them.
    fn drop(&mut self) {
        if !std::mem::take(&mut self.is_waiting_for_event) || std::thread::panicking() {
            return;
        }
        let mut answer = Answer::Flag(false);
        let mut had_sql_request = false;
        for _ in 0..FINAL_REQUESTS_MAX {
            if self.settings().must_scripts_end() {
                return;
            }
            answer = match self.resume(answer, None) {
                // Report the failure only if no SQL request was rejected below, which may have caused it.
                Ok(Request::FunctionFailed(function, reason))
                    if function == THREAD_DONE && !had_sql_request =>
                {
                    return self.report_thread_done_failure(&reason);
                }
                Ok(Request::Finished | Request::FunctionFailed(..)) | Err(_) => return,
                Ok(
                    Request::Query
                    | Request::Prepare
                    | Request::Execute(_)
                    | Request::Reconnect
                    | Request::Connect,
                ) => {
                    had_sql_request = true;
                    Answer::Failed(FailedAnswer::internal("the run is over"))
                }
                Ok(Request::WaitForEvent | Request::NextEvent) => Answer::Flag(false),
                Ok(Request::RunCommand) => match self.wait_for_command() {
                    Some(status) => Answer::CommandStatus(status),
                    None => return,
                },
                Ok(_) => Answer::Done,
            };
        }
    }
}

impl ScriptUser {
    /// Runs the command of the current request. Returns its status, or `None` if the script must end first.
    fn wait_for_command(&self) -> Option<c_int> {
        let command = ShellCommand::start(self.request_sql());
        while !self.settings().must_scripts_end() {
            if let Some(status) = command.status() {
                return Some(status);
            }
            std::thread::sleep(command.pause());
        }
        None
    }
}
