//! The program of a script's threads, each of which is a virtual user. Users never share a Lua state.

use super::listener::Report;
use super::state::{ScriptContext, StateOwner};
use super::user::ScriptUser;
use super::watchdog::{Heartbeat, Watchdog};
use crate::parallel::lock;
use prony_session::{Db, Program, User as UserFuture, UserExit, UserId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThreadTask {
    /// Run events, one at a time.
    Run,
    /// Run a parallel command once in each thread, as one transaction of the loop.
    Command { name: String },
}

pub struct LuaProgram {
    context: Arc<ScriptContext>,
    task: ThreadTask,
    /// Whether the script declares no options, like scripts for sysbench 0.5.
    is_legacy: bool,
    watchdog: Arc<Watchdog>,
    /// The heartbeats by worker number.
    heartbeats: Mutex<HashMap<u32, Arc<Heartbeat>>>,
}

impl LuaProgram {
    pub(super) fn new(
        context: Arc<ScriptContext>,
        task: ThreadTask,
        is_legacy: bool,
    ) -> LuaProgram {
        LuaProgram {
            watchdog: Watchdog::start(&context),
            context,
            task,
            is_legacy,
            heartbeats: Mutex::default(),
        }
    }

    /// The number of users: the threads of the command line.
    pub fn user_count(&self) -> u32 {
        self.context.settings.threads
    }

    /// Whether a thread has connected; a script that never connects measures no database.
    pub fn has_connected(&self) -> bool {
        let has_connected = &self.context.has_connected;
        has_connected.load(std::sync::atomic::Ordering::Relaxed)
    }

    fn heartbeat_of(&self, worker: u32) -> Arc<Heartbeat> {
        let mut heartbeats = lock(&self.heartbeats);
        let heartbeat = heartbeats
            .entry(worker)
            .or_insert_with(|| self.watchdog.register_thread());
        Arc::clone(heartbeat)
    }
}

impl Program for LuaProgram {
    fn kinds(&self) -> &[&'static str] {
        &["event"]
    }

    fn opens_connections(&self) -> bool {
        true
    }

    fn has_prologue(&self) -> bool {
        self.task == ThreadTask::Run
    }

    fn create_user(&self, id: UserId, db: Db) -> UserFuture {
        let owner = StateOwner {
            id,
            is_legacy: Some(self.is_legacy),
            is_outside_load: false,
        };
        let user = ScriptUser::new(
            &self.context,
            &self.task,
            &owner,
            self.heartbeat_of(id.worker),
        );
        let context = Arc::clone(&self.context);
        Box::pin(async move {
            match user {
                Ok(user) => user.run(db).await,
                Err(error) => {
                    let reason = error.to_string();
                    let report = Report::Fatal(reason.as_str().into());
                    context.settings.listener.report(report);
                    UserExit::Failed(reason)
                }
            }
        })
    }
}
