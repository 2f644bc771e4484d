//! Reports errors of a running script: sends pgbench's wording to the listener of the policy, if it has one,
//! and returns Prony's own message with file, line and command. Never decides what happens to the client.

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
    /// The user cannot continue. The reason has already been sent to the policy's listener.
    Abort(String),
}

/// The command that a client executes, for messages.
#[derive(Clone, Copy)]
pub(super) struct CommandContext<'a> {
    pub policy: &'a ScriptPolicy,
    pub client: u32,
    pub script: &'a Script,
    pub index: CommandIndex,
    pub command: &'a Command,
}

impl CommandContext<'_> {
    /// The command's number in the script, from 0.
    pub fn command_number(&self) -> usize {
        self.index.command as usize
    }

    /// Logs a backslash command before it runs.
    #[inline]
    pub fn log_command(&self) {
        let (client, command) = (self.client, self.command);
        self.policy
            .debug(|| format!("client {client} executing \\{}", command.words().join(" ")));
    }

    /// Prony's own message, for runs that do not imitate pgbench: `a.sql:3: division by zero; command 2 (\set x
    /// 1 / 0): evaluation of meta-command failed`.
    pub fn prony_message(&self, problem: &str, reason: &str) -> String {
        let CommandContext {
            script, command, ..
        } = self;
        let separator = if problem.is_empty() { "" } else { "; " };
        format!(
            "{}:{}: {problem}{separator}command {} ({}): {reason}",
            script.name,
            command.line,
            self.command_number() + 1,
            command.first_line().trim_end(),
        )
    }

    /// Reports `problem`, unless it is empty, and then that the client aborts.
    #[cold]
    pub fn abort(&self, problem: &str, command_name: &str, reason: &str) -> Halt {
        if !problem.is_empty() {
            self.policy.error(problem);
        }
        self.report_abort(command_name, reason);
        Halt::Abort(self.prony_message(problem, reason))
    }

    fn report_abort(&self, command_name: &str, reason: &str) {
        let (client, CommandIndex { script, command }) = (self.client, self.index);
        self.policy.error(&format!(
            "client {client} aborted in command {command} ({command_name}) of script {script}; {reason}"
        ));
    }

    /// Reports that the client aborts because an expression cannot be evaluated.
    #[cold]
    pub fn abort_evaluation(&self, error: &EvalError) -> Halt {
        let reason = "evaluation of meta-command failed";
        self.abort(&error.to_string(), self.command.name(), reason)
    }

    /// Reports that the client aborts because a backslash command cannot be executed.
    #[cold]
    pub fn abort_execution(&self, error: &EvalError, command_name: &str) -> Halt {
        self.abort(
            &error.to_string(),
            command_name,
            "execution of meta-command failed",
        )
    }

    /// Reports that the client aborts because `\gset` or `\aset` cannot store a result.
    #[cold]
    pub fn abort_for_unusable_result(&self, query: usize, problem: &str) -> Halt {
        let (client, CommandIndex { script, command }) = (self.client, self.index);
        self.policy.error(&format!(
            "client {client} script {script} command {command} query {query}: {problem}"
        ));
        Halt::Abort(self.prony_message(problem, "execution of meta-command failed"))
    }

    /// The message after a failed try: `client 2 repeats the transaction after the error (try 1/3)`.
    #[cold]
    pub fn retry_message(&self, will_retry: bool, tries: u32, response_ns: u64) -> String {
        let action = if will_retry {
            "repeats the transaction after the error"
        } else {
            "ends the failed transaction"
        };
        let tries_limit = match self.policy.max_tries {
            0 => String::new(),
            max_tries => format!("/{max_tries}"),
        };
        let limit_share = self.policy.latency_limit_ns.map(|limit_ns| {
            let percent = 100.0 * response_ns as f64 / limit_ns as f64;
            format!(", {percent:.3}% of the maximum time of tries was used")
        });
        let limit_share = limit_share.unwrap_or_default();
        format!(
            "client {} {action} (try {tries}{tries_limit}{limit_share})",
            self.client
        )
    }

    /// The server's message as libpq prints it; `text` is the statement sent in simple mode.
    #[cold]
    pub fn server_message(&self, text: &str, error: &DbError, db: &Db) -> String {
        let sql = match (&self.command.kind, db.protocol_mode()) {
            (CommandKind::Sql(_), QueryMode::Simple) => text,
            (CommandKind::Sql(sql), QueryMode::Extended) => &**sql.numbered_text(),
            // libpq does not know the text of a prepared statement.
            _ => "",
        };
        match db.server_error().or_else(|| db.session_end_error()) {
            Some(server_error) => server_error.in_statement(sql),
            None => format!("{}\n", error.message),
        }
    }

    /// Reports that the client aborts because of a failed statement; returns Prony's message.
    #[cold]
    pub fn report_failed_statement(&self, text: &str, error: &DbError, db: &Db) -> String {
        let (client, CommandIndex { script, command }) = (self.client, self.index);
        if db.started_copy() {
            self.policy
                .error("COPY is not supported in pgbench, aborting");
            return self.prony_message(&error.message, "statement failed");
        }
        let has_session_end_error = db.session_end_error().is_some();
        if !db.is_up() && db.server_error().is_none() && !has_session_end_error {
            let reason = "perhaps the backend died while processing";
            self.report_abort("SQL", reason);
            return self.prony_message(&error.message, reason);
        }
        // Like pgbench, number the results of a statement. In a pipeline the number is always 0, because
        // pgbench reads its results one by one. A statement after the end of the session has no result.
        let query = match self.command.kind {
            CommandKind::SyncPipeline | CommandKind::EndPipeline => 0,
            _ if has_session_end_error => 0,
            _ => db.result_count(),
        };
        let message = self.server_message(text, error, db);
        self.policy.error(&format!(
            "client {client} script {script} aborted in command {command} query {query}: {message}"
        ));
        self.prony_message(&error.message, "statement failed")
    }
}
