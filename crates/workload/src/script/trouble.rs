//! What is said when something goes wrong in a script.
//!
//! In: the command that is being run, and what was wrong with it. Out: pgbench's words for the
//! manner's listener, and a reason with file, line and command for everyone else. Must never: decide
//! what becomes of the client.

use super::ast::{Command, CommandKind, Script};
use super::error::EvalError;
use super::eval::Place;
use super::manner::Manner;
use prony_session::{Db, DbError};
use prony_wire::QueryMode;

/// Why a script did not come to its end.
pub(super) enum Halt {
    /// A statement failed: whether the user goes on is a matter of the manner.
    Failed(DbError),
    /// The user cannot go on. The listener has heard why.
    Cannot(String),
}

/// The command that is being run.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub manner: &'a Manner,
    pub client: u32,
    pub script: &'a Script,
    pub place: Place,
    pub command: &'a Command,
}

impl At<'_> {
    pub fn number(&self) -> usize {
        self.place.command as usize
    }

    /// `a.sql:3: division by zero; command 2 (\set x 1 / 0): evaluation of meta-command failed`.
    pub fn native(&self, problem: &str, what: &str) -> String {
        let At {
            script, command, ..
        } = self;
        let colon = if problem.is_empty() { "" } else { "; " };
        format!(
            "{}:{}: {problem}{colon}command {} ({}): {what}",
            script.name,
            command.line,
            self.number() + 1,
            command.first_line.trim_end(),
        )
    }

    /// The client cannot go on: `problem` is told first, if there is any; `word` is the command.
    #[cold]
    pub fn cannot(&self, problem: &str, word: &str, what: &str) -> Halt {
        if !problem.is_empty() {
            self.manner.error(problem);
        }
        self.tell_abort(word, what);
        Halt::Cannot(self.native(problem, what))
    }

    fn tell_abort(&self, word: &str, what: &str) {
        let (client, Place { script, command }) = (self.client, self.place);
        self.manner.error(&format!(
            "client {client} aborted in command {command} ({word}) of script {script}; {what}"
        ));
    }

    #[cold]
    pub fn evaluation(&self, error: &EvalError) -> Halt {
        let what = "evaluation of meta-command failed";
        self.cannot(&error.to_string(), self.command.word(), what)
    }

    #[cold]
    pub fn execution(&self, error: &EvalError, word: &str) -> Halt {
        self.cannot(&error.to_string(), word, "execution of meta-command failed")
    }

    /// A statement's result is not what `\gset` or `\aset` needs.
    #[cold]
    pub fn unfit(&self, query: usize, problem: &str) -> Halt {
        let (client, Place { script, command }) = (self.client, self.place);
        self.manner.error(&format!(
            "client {client} script {script} command {command} query {query}: {problem}"
        ));
        Halt::Cannot(self.native(problem, "execution of meta-command failed"))
    }

    /// `client 2 repeats the transaction after the error (try 1/3)`.
    #[cold]
    pub fn verdict(&self, again: bool, tries: u32, response_ns: u64) -> String {
        let what = if again {
            "repeats the transaction after the error"
        } else {
            "ends the failed transaction"
        };
        let of = match self.manner.max_tries {
            0 => String::new(),
            most => format!("/{most}"),
        };
        let used = self.manner.latency_limit_ns.map(|limit| {
            let percent = 100.0 * response_ns as f64 / limit as f64;
            format!(", {percent:.3}% of the maximum time of tries was used")
        });
        let used = used.unwrap_or_default();
        format!("client {} {what} (try {tries}{of}{used})", self.client)
    }

    /// All that the server said, as libpq prints it; `text` is what was sent in simple mode.
    #[cold]
    pub fn said(&self, text: &str, error: &DbError, db: &Db) -> String {
        let sql = match (&self.command.kind, db.mode()) {
            (CommandKind::Sql(_), QueryMode::Simple) => text,
            (CommandKind::Sql(sql), QueryMode::Extended) => sql.numbered.as_str(),
            // A prepared statement's text is not at hand to libpq.
            _ => "",
        };
        match db.server_error() {
            Some(said) => said.in_statement(sql),
            None => format!("{}\n", error.message),
        }
    }

    /// A statement failed and the client cannot go on.
    #[cold]
    pub fn abort(&self, text: &str, error: &DbError, db: &Db) -> String {
        let (client, Place { script, command }) = (self.client, self.place);
        if db.met_copy() {
            self.manner
                .error("COPY is not supported in pgbench, aborting");
        } else if !db.is_up() && db.server_error().is_none() {
            let what = "perhaps the backend died while processing";
            self.tell_abort("SQL", what);
            return self.native(&error.message, what);
        } else {
            // pgbench counts within each statement, and those of a pipeline are read one by one.
            let query = match self.command.kind {
                CommandKind::SyncPipeline | CommandKind::EndPipeline => 0,
                _ => db.results(),
            };
            let said = self.said(text, error, db);
            self.manner.error(&format!(
                "client {client} script {script} aborted in command {command} query {query}: {said}"
            ));
        }
        self.native(&error.message, "statement failed")
    }
}
