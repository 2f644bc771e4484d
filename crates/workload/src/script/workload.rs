//! The `script` workload: transactions that the user writes in pgbench's language. Never creates or drops
//! tables.

use super::builtin::BUILTINS;
use super::options::{self, ScriptSet, option_error};
use super::policy::ScriptPolicy;
use super::program::ScriptProgram;
use super::unset_variables::unset_variable_problem;
use crate::describe::{Growth, LedgerEntries, OptionSpec};
use crate::remedy::{Commands, LoadSpec, PronyCommands};
use crate::tpcb::{HISTORY, scale_for_run};
use crate::{
    CheckReport, Error, LoadReport, LoadRequest, ReadyWorkload, Result, Workload, engines, sql,
};
use prony_document::SqlDialect;
use prony_plan::{QueryMode, WorkloadPlan};
use prony_server::Control;
use std::sync::Arc;

/// The user's own scripts, or pgbench's builtin ones.
pub static SCRIPT: ScriptWorkload = ScriptWorkload;

pub struct ScriptWorkload;

impl Workload for ScriptWorkload {
    fn name(&self) -> &'static str {
        "script"
    }

    fn title(&self) -> &'static str {
        "scripts in pgbench's language: --file a.sql@3 --file b.sql@1, or --builtin tpcb-like"
    }

    fn options(&self) -> &'static [OptionSpec] {
        options::OPTIONS
    }

    fn dialects(&self) -> &'static [SqlDialect] {
        &[SqlDialect::PostgreSql]
    }

    fn workload_to_load(&self, plan: &WorkloadPlan) -> Option<&'static str> {
        let names_builtin = plan.options.contains_key("builtin");
        names_builtin.then(|| crate::tpcb::TPCB.name())
    }

    fn growth(&self, plan: &WorkloadPlan, _scale: u32) -> Growth {
        if plan.options.contains_key("files") {
            return Growth::Uncounted("it is not known what the scripts write");
        }
        let insert = BUILTINS
            .iter()
            .filter(|script| script.text.contains(HISTORY));
        let kinds = insert.map(|script| script.description).collect();
        Growth::Counted(vec![Growth::rows_of(HISTORY, kinds)])
    }

    /// In simple mode its statements are texts with their values.
    fn ledger_entries(&self, protocol: QueryMode) -> LedgerEntries {
        match protocol {
            QueryMode::Simple => LedgerEntries::Impossible,
            QueryMode::Extended | QueryMode::Prepared => LedgerEntries::WithStatements,
        }
    }

    fn check_options(&self, plan: &WorkloadPlan, protocol: QueryMode) -> Vec<Error> {
        let set = match options::read(plan) {
            Ok(set) => set,
            Err(problems) => return problems,
        };
        let scripts = set.scripts.iter();
        let problems = scripts.filter_map(|script| options::protocol_problem(script, protocol));
        let mut errors: Vec<Error> = problems
            .map(|problem| option_error(&problem, "a different --protocol"))
            .collect();
        // In simple mode, the server refuses a statement with an unset variable.
        if protocol != QueryMode::Simple
            && let Some(problem) = unset_variable_problem(&set, false)
        {
            let hint = "\\set, --define NAME=VALUE or a corrected name";
            errors.push(option_error(&problem, hint));
        }
        errors
    }

    fn with_texts_of_files(&self, plan: &WorkloadPlan) -> Result<WorkloadPlan> {
        options::with_texts_of_files(plan)
    }

    fn load(&self, _request: &LoadRequest<'_>) -> Result<LoadReport> {
        Err(no_tables_error(
            Some(PronyCommands::default().load_command(&builtin_load_spec())),
            "creates",
        ))
    }

    fn check(&self, _control: &mut Control) -> Result<CheckReport> {
        Err(no_tables_error(
            PronyCommands::default().check_command(&builtin_load_spec()),
            "checks",
        ))
    }

    fn clean(&self, _control: &mut Control) -> Result<Vec<String>> {
        Err(no_tables_error(
            Some(PronyCommands::default().clean_command(&builtin_load_spec())),
            "drops",
        ))
    }

    fn program(&self, control: &mut Control, plan: &WorkloadPlan) -> Result<ReadyWorkload> {
        // Return only the first problem; `check_options` returns all of them.
        let scripts = options::read(plan)?;
        engines::require_postgres(control)?;
        let scale = read_scale(control, plan, &scripts)?;
        let program = ScriptProgram::new(scripts, scale, ScriptPolicy::default());
        Ok(ReadyWorkload::new(Arc::new(program), scale))
    }
}

/// Reads the value of `:scale`. The builtin scripts require complete tables; other scripts require none.
fn read_scale(control: &mut Control, plan: &WorkloadPlan, scripts: &ScriptSet) -> Result<u32> {
    if scripts.has_builtin {
        return scale_for_run(control, crate::tpcb::TPCB.name(), plan.scale);
    }
    if let Some(scale) = plan.scale {
        return Ok(scale);
    }
    let action = "reading the scale";
    let exists = sql::query_row(
        control,
        action,
        "select to_regclass('pgbench_branches') is not null",
    )?;
    if !exists.is_true(0) {
        return Ok(1);
    }
    let count = sql::query_row(control, action, "select count(*) from pgbench_branches")?;
    let branches = count.int(0).and_then(|count| u32::try_from(count).ok());
    Ok(branches.unwrap_or(1).max(1))
}

fn builtin_load_spec() -> LoadSpec {
    LoadSpec::of(crate::tpcb::TPCB.name(), Vec::new())
}

/// The error for a request to load, check or drop tables. The hint is that `command` does so with the tables
/// of the builtin scripts; `verb` says what the command does.
fn no_tables_error(command: Option<String>, verb: &str) -> Error {
    let hint = command.map(|command| format!("{command} {verb} the tables of the builtin scripts"));
    option_error(
        "the script workload has no tables of its own",
        &hint.unwrap_or_default(),
    )
}
