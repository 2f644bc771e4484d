//! The `sql` workload: the user's own transactions, in pgbench's script language and the SQL of the server. Never creates
//! or drops tables.

use super::options::{self, option_error, protocol_problem};
use super::policy::ScriptPolicy;
use super::program::ScriptProgram;
use super::samples;
use super::server_types::infer_types;
use super::transactions::{self, OwnSql};
use super::trial::prepare_once;
use super::unset_variables::unset_variable_problem;
use crate::describe::{ALL_DIALECTS, Growth, OptionSpec};
use crate::{Error, ReadyWorkload, Result, Workload};
use prony_document::SqlDialect;
use prony_plan::{QueryMode, WorkloadPlan};
use prony_server::Control;
use std::sync::Arc;

pub static SQL: OwnSqlWorkload = OwnSqlWorkload;

pub struct OwnSqlWorkload;

impl Workload for OwnSqlWorkload {
    fn name(&self) -> &'static str {
        "sql"
    }

    fn title(&self) -> &'static str {
        "your own SQL: named transactions with weights, in a plan's [[workload.transactions]]"
    }

    fn has_users_statements(&self) -> bool {
        true
    }

    fn options(&self) -> &'static [OptionSpec] {
        transactions::OPTIONS
    }

    fn workload_to_load(&self, _plan: &WorkloadPlan) -> Option<&'static str> {
        None
    }

    fn growth(&self, _plan: &WorkloadPlan, _scale: u32) -> Growth {
        Growth::Uncounted("it is not known what the transactions write")
    }

    fn check_options(&self, plan: &WorkloadPlan, protocol: QueryMode) -> Vec<Error> {
        // The server is not known yet. A plan is wrong if it is wrong for each engine, whose quotes differ.
        let mut problems =
            ALL_DIALECTS
                .iter()
                .map(|dialect| match transactions::read(plan, *dialect) {
                    Ok(own_sql) => problems_of(&own_sql, protocol),
                    Err(problems) => problems,
                });
        let first = problems.next().unwrap_or_default();
        if first.is_empty() || problems.any(|problems| problems.is_empty()) {
            return Vec::new();
        }
        first
    }

    fn with_texts_of_files(&self, plan: &WorkloadPlan) -> Result<WorkloadPlan> {
        options::with_texts_of_files(plan)
    }

    fn no_tables_error(&self) -> Error {
        option_error(
            "the sql workload has no tables of its own",
            "create and fill the tables that its transactions use as your application does",
        )
    }

    fn try_statements(
        &self,
        control: &mut Control,
        plan: &WorkloadPlan,
        protocol: QueryMode,
    ) -> Result<()> {
        let own_sql = read(control, plan)?;
        if !own_sql.has_trial {
            return Ok(());
        }
        prepare_once(control, &own_sql.set, plan.scale.unwrap_or(1), protocol)
    }

    fn program(&self, control: &mut Control, plan: &WorkloadPlan) -> Result<ReadyWorkload> {
        let scale = plan.scale.unwrap_or(1);
        let mut own_sql = read(control, plan)?;
        let dialect = control.dialect();
        if dialect == SqlDialect::TransactSql {
            infer_types(control, &mut own_sql.set.scripts);
        }
        let samples = samples::read_rows(control, &own_sql)?;
        let program = program_of(own_sql, scale, dialect).with_samples(samples);
        Ok(ReadyWorkload::new(Arc::new(program), scale))
    }
}

pub(super) fn program_of(own_sql: OwnSql, scale: u32, dialect: SqlDialect) -> ScriptProgram {
    let policy = ScriptPolicy {
        dialect: Some(dialect),
        max_tries: own_sql.max_tries,
        records_command_stats: own_sql.is_captured,
        ..ScriptPolicy::default()
    };
    ScriptProgram::new(own_sql.set, scale, policy).with_settings(own_sql.settings)
}

fn read(control: &Control, plan: &WorkloadPlan) -> Result<OwnSql> {
    // Return only the first problem; `check_options` returns all of them.
    transactions::read(plan, control.dialect()).map_err(Error::from)
}

/// What is wrong with transactions that can be parsed.
fn problems_of(own_sql: &OwnSql, protocol: QueryMode) -> Vec<Error> {
    let scripts = own_sql.set.scripts.iter();
    let problems = scripts.filter_map(|script| protocol_problem(script, protocol));
    let mut errors: Vec<Error> = problems
        .map(|problem| option_error(&problem, "a different --protocol"))
        .collect();
    if let Some(problem) = unset_variable_problem(&own_sql.set, true) {
        let hint = "\\set, define = { NAME = VALUE } or a corrected name";
        errors.push(option_error(&problem, hint));
    }
    errors
}
