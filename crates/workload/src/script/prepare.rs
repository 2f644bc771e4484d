//! Prepares the statements of a script as libpq does, each in a separate round trip, and reports libpq's messages if the
//! server refuses one or has ended the session. Must never prepare a statement twice on a connection.

use super::command_context::{CommandContext, Halt};
use super::policy::ScriptPolicy;
use prony_session::Db;
use prony_wire::{QueryMode, Statement};

/// What libpq adds to the server's last message when it notices that the session has ended.
const CONNECTION_CLOSED: &str = "server closed the connection unexpectedly
\tThis probably means the server terminated abnormally
\tbefore or while processing the request.
";

/// Whether libpq prepares this statement before it is executed: once on a connection.
#[inline]
pub(super) fn must_be_prepared(policy: &ScriptPolicy, statement: &Statement, db: &Db) -> bool {
    policy.emulate_libpq && db.protocol_mode() != QueryMode::Simple && !db.is_prepared(statement)
}

/// Prepares a statement. Only reports an error of the server, because the execution of the statement fails too.
pub(super) async fn prepare(
    context: CommandContext<'_>,
    statement: &Statement,
    db: &mut Db,
) -> Result<(), Halt> {
    let client = context.client;
    context
        .policy
        .debug(|| format!("client {client} preparing P_{}", statement.id()));
    match db.prepare(statement).await {
        Err(error) if !db.is_up() => Err(match db.session_end_error() {
            Some(server_error) => context.abort(
                &format!("{server_error}\n{CONNECTION_CLOSED}"),
                context.command.name(),
                "SQL command send failed",
            ),
            None => Halt::Failed(error),
        }),
        Err(error) => {
            let server_error = db.server_error();
            let message = server_error.map_or(error.into_message(), |error| {
                error.in_statement(statement.sql())
            });
            context.policy.error(&message);
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}
