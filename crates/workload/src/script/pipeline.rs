//! The commands `\startpipeline`, `\syncpipeline` and `\endpipeline`.

use super::ast::CommandKind;
use super::command_context::{CommandContext, Halt};
use super::prepare::{must_be_prepared, prepare};
use super::program::ScriptRun;
use prony_session::Db;
use prony_wire::QueryMode;

/// Executes `\startpipeline`; `in_pipeline` says whether a pipeline is open already.
pub(super) async fn start_pipeline(
    context: CommandContext<'_>,
    shared: &ScriptRun,
    in_pipeline: bool,
    db: &mut Db,
) -> Result<(), Halt> {
    let abort = |reason| Err(context.abort("", "startpipeline", reason));
    if db.protocol_mode() == QueryMode::Simple {
        return abort("cannot use pipeline mode with the simple query protocol");
    }
    // pgbench prepares the statements of a pipeline before it enters it, because it could not wait for the replies
    // inside. It checks only then whether it is in a pipeline already, so the server sees its messages in this order.
    if context.policy.emulate_libpq {
        let commands = context.script.commands.iter().enumerate();
        let pipeline_commands = commands
            .skip(context.command_number() + 1)
            .take_while(|(_, command)| command.kind != CommandKind::EndPipeline);
        for (command_number, _) in pipeline_commands {
            let statement = shared.statement(context.index.script as usize, command_number);
            if let Some(statement) = statement
                && must_be_prepared(context.policy, statement, db)
            {
                prepare(context, statement, db).await?;
            }
        }
    }
    if in_pipeline {
        return abort("already in pipeline mode");
    }
    Ok(())
}

/// Executes `\syncpipeline` or `\endpipeline`. Returns whether the pipeline stays open.
pub(super) async fn sync_pipeline(
    context: CommandContext<'_>,
    in_pipeline: bool,
    db: &mut Db,
) -> Result<bool, Halt> {
    let ends_pipeline = context.command.kind == CommandKind::EndPipeline;
    if !in_pipeline {
        let name = if ends_pipeline { "endpipeline" } else { "syncpipeline" };
        return Err(context.abort("", name, "not in pipeline mode"));
    }
    let reply = db.sync().await.map_err(Halt::Failed)?;
    reply.notices(|notice| context.policy.notice(&notice));
    Ok(!ends_pipeline)
}
