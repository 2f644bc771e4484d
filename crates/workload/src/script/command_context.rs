//! Reports errors of a running script: in pgbench's wording to the policy's listener, and as a message with
//! file, line and command to other callers. Never decides what happens to the client.

use super::ast::{Command, CommandKind, Script};
use super::error::EvalError;
use super::eval::CommandIndex;
use super::policy::ScriptPolicy;
use prony_session::{Db, DbError};
use prony_wire::QueryMode;

/// Why a script ended early.
pub(super) enum Halt {
    /// A statement failed; the policy decides whether the user continues.
    Failed(DbError),
    /// The user cannot continue. The listener already has the reason.
    Abort(String),
}

/// The command that is running.
#[derive(Clone, Copy)]
pub(super) struct CommandContext<'a> {
    pub policy: &'a ScriptPolicy,
    pub client: u32,
    pub script: &'a Script,
    pub index: CommandIndex,
    pub command: &'a Command,
}

impl CommandContext<'_> {
    pub fn number(&self) -> usize {
        self.index.command as usize
    }

    /// Logs a backslash command before it runs.
    #[inline]
    pub fn log_command(&self) {
        let (client, command) = (self.client, self.command);
        self.policy
            .debug(|| format!("client {client} executing \\{}", command.words.join(" ")));
    }

    /// The message for native runs: `a.sql:3: division by zero; command 2 (\set x 1 / 0): evaluation of
    /// meta-command failed`.
    pub fn native_message(&self, problem: &str, reason: &str) -> String {
        let CommandContext {
            script, command, ..
        } = self;
        let colon = if problem.is_empty() { "" } else { "; " };
        format!(
            "{}:{}: {problem}{colon}command {} ({}): {reason}",
            script.name,
            command.line,
            self.number() + 1,
            command.first_line.trim_end(),
        )
    }

    /// Reports that the client aborts, after `problem` if it is not empty; `word` is the command's name.
    #[cold]
    pub fn abort(&self, problem: &str, word: &str, reason: &str) -> Halt {
        if !problem.is_empty() {
            self.policy.error(problem);
        }
        self.report_abort(word, reason);
        Halt::Abort(self.native_message(problem, reason))
    }

    fn report_abort(&self, word: &str, reason: &str) {
        let (client, CommandIndex { script, command }) = (self.client, self.index);
        self.policy.error(&format!(
            "client {client} aborted in command {command} ({word}) of script {script}; {reason}"
        ));
    }

    #[cold]
    pub fn evaluation_failed(&self, error: &EvalError) -> Halt {
        let reason = "evaluation of meta-command failed";
        self.abort(&error.to_string(), self.command.name(), reason)
    }

    #[cold]
    pub fn execution_failed(&self, error: &EvalError, word: &str) -> Halt {
        self.abort(&error.to_string(), word, "execution of meta-command failed")
    }

    /// Reports a result that `\gset` or `\aset` cannot store.
    #[cold]
    pub fn unusable_result(&self, query: usize, problem: &str) -> Halt {
        let (client, CommandIndex { script, command }) = (self.client, self.index);
        self.policy.error(&format!(
            "client {client} script {script} command {command} query {query}: {problem}"
        ));
        Halt::Abort(self.native_message(problem, "execution of meta-command failed"))
    }

    /// The message after a failed try: `client 2 repeats the transaction after the error (try 1/3)`.
    #[cold]
    pub fn retry_message(&self, retry: bool, tries: u32, response_ns: u64) -> String {
        let action = if retry {
            "repeats the transaction after the error"
        } else {
            "ends the failed transaction"
        };
        let limit = match self.policy.max_tries {
            0 => String::new(),
            max_tries => format!("/{max_tries}"),
        };
        let limit_share = self.policy.latency_limit_ns.map(|limit| {
            let percent = 100.0 * response_ns as f64 / limit as f64;
            format!(", {percent:.3}% of the maximum time of tries was used")
        });
        let limit_share = limit_share.unwrap_or_default();
        format!(
            "client {} {action} (try {tries}{limit}{limit_share})",
            self.client
        )
    }

    /// The server's message as libpq prints it; `text` is the statement sent in simple mode.
    #[cold]
    pub fn server_message(&self, text: &str, error: &DbError, db: &Db) -> String {
        let sql = match (&self.command.kind, db.mode()) {
            (CommandKind::Sql(_), QueryMode::Simple) => text,
            (CommandKind::Sql(sql), QueryMode::Extended) => sql.numbered_text.as_str(),
            // libpq does not know the text of a prepared statement.
            _ => "",
        };
        match db.server_error() {
            Some(server_error) => server_error.in_statement(sql),
            None => format!("{}\n", error.message),
        }
    }

    /// Reports that the client aborts because of a failed statement.
    #[cold]
    pub fn statement_failed(&self, text: &str, error: &DbError, db: &Db) -> String {
        let (client, CommandIndex { script, command }) = (self.client, self.index);
        if db.started_copy() {
            self.policy
                .error("COPY is not supported in pgbench, aborting");
        } else if !db.is_up() && db.server_error().is_none() {
            let reason = "perhaps the backend died while processing";
            self.report_abort("SQL", reason);
            return self.native_message(&error.message, reason);
        } else {
            // pgbench counts results within a statement; it reads those of a pipeline one by one.
            let query = match self.command.kind {
                CommandKind::SyncPipeline | CommandKind::EndPipeline => 0,
                _ => db.result_count(),
            };
            let message = self.server_message(text, error, db);
            self.policy.error(&format!(
                "client {client} script {script} aborted in command {command} query {query}: {message}"
            ));
        }
        self.native_message(&error.message, "statement failed")
    }
}
