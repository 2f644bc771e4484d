//! The program of a script's threads.
//!
//! In: a script that was read once, a task. Out: users. Must never: share a state between users.

use super::state::{Owner, Shared};
use super::user::User;
use super::watchdog::{Beat, Watch};
use prony_session::{Db, Ended, Program, User as Boxed, UserId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What the threads of a script do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// Events, one after the other.
    Run,
    /// Each carries out a command once, as one transaction of the loop.
    Command {
        /// The command's name.
        word: String,
        /// It is a function of the script, not one of its table of commands.
        is_function: bool,
        /// Every thread carries it out; else there is to be one.
        is_parallel: bool,
    },
}

/// The program of a script's threads.
pub struct LuaProgram {
    shared: Arc<Shared>,
    task: Task,
    is_legacy: bool,
    watch: Arc<Watch>,
    /// By worker.
    beats: Mutex<HashMap<u32, Arc<Beat>>>,
}

impl LuaProgram {
    pub(super) fn new(shared: Arc<Shared>, task: Task, is_legacy: bool) -> LuaProgram {
        LuaProgram {
            watch: Watch::start(&shared),
            shared,
            task,
            is_legacy,
            beats: Mutex::default(),
        }
    }

    /// How many users it is made for: those of the command line, or one for a command that is carried
    /// out once.
    pub fn users(&self) -> u32 {
        match &self.task {
            Task::Command {
                is_parallel: false, ..
            } => 1,
            _ => self.shared.settings.threads,
        }
    }

    /// Whether a thread has connected: a script that never does measures no database.
    pub fn has_connected(&self) -> bool {
        let connected = &self.shared.has_connected;
        connected.load(std::sync::atomic::Ordering::Relaxed)
    }

    fn beat(&self, worker: u32) -> Arc<Beat> {
        let mut beats = self.beats.lock().unwrap_or_else(PoisonError::into_inner);
        let beat = beats.entry(worker).or_insert_with(|| self.watch.beat());
        Arc::clone(beat)
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
        self.task == Task::Run
    }

    fn user(&self, id: UserId, db: Db) -> Boxed {
        let owner = Owner {
            id,
            is_legacy: Some(self.is_legacy),
            is_front: false,
        };
        let user = User::new(&self.shared, &self.task, &owner, self.beat(id.worker));
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            match user {
                Ok(user) => user.live(db).await,
                Err(refused) => {
                    shared.settings.listener.fatal(&refused.to_string());
                    Ended::Failed(refused.to_string())
                }
            }
        })
    }
}
