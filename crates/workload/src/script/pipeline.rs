//! The commands `\startpipeline`, `\syncpipeline` and `\endpipeline`.
//!
//! In: whether a pipeline is open. Out: requests to the connection, or pgbench's reason to abort the client.

use super::ast::CommandKind;
use super::command_context::{CommandContext, Halt};
use super::run::ScriptClient;
use prony_session::Db;
use prony_wire::{QueryMode, Statement};

impl ScriptClient {
    /// Opens a pipeline.
    pub(super) async fn start_pipeline(
        &mut self,
        context: CommandContext<'_>,
        statements: &[Option<Statement>],
        pipeline: bool,
        db: &mut Db,
    ) -> Result<(), Halt> {
        let refused = |what| Err(context.abort("", "startpipeline", what));
        if db.mode() == QueryMode::Simple {
            return refused("cannot use pipeline mode with the simple query protocol");
        }
        if context.policy.emulate_libpq {
            let commands = context.script.commands.iter().zip(statements);
            let inside = commands
                .skip(context.number() + 1)
                .take_while(|(command, _)| command.kind != CommandKind::EndPipeline);
            for statement in inside.filter_map(|(_, statement)| statement.as_ref()) {
                self.prepare(context, statement, db).await?;
            }
        }
        if pipeline {
            return refused("already in pipeline mode");
        }
        Ok(())
    }
}

/// Executes `\syncpipeline` or `\endpipeline`. Returns whether the pipeline stays open.
pub(super) async fn sync_pipeline(
    context: CommandContext<'_>,
    pipeline: bool,
    db: &mut Db,
) -> Result<bool, Halt> {
    let ends = context.command.kind == CommandKind::EndPipeline;
    if !pipeline {
        let word = if ends { "endpipeline" } else { "syncpipeline" };
        return Err(context.abort("", word, "not in pipeline mode"));
    }
    let rows = db.sync().await.map_err(Halt::Failed)?;
    rows.notices(|notice| context.policy.notice(&notice));
    Ok(!ends)
}
