//! The `script` workload: transactions that the user writes, in pgbench's language.
//!
//! In: a plan with the names of scripts. Out: what `Workload` asks for. Must never: make or drop a
//! table.

use super::manner::Manner;
use super::options::{self, ScriptSet, asked};
use super::program::Scripts;
use crate::tpcb::scale_for_run;
use crate::{
    CheckReport, Error, LoadReport, LoadRequest, Loaded, Progress, Workload, products, sql,
};
use prony_plan::{QueryMode, WorkloadPlan};
use prony_server::Control;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Scripts of the user's own, or pgbench's builtin ones.
pub static SCRIPT: ScriptWorkload = ScriptWorkload;

/// The workload of scripts.
pub struct ScriptWorkload;

impl Workload for ScriptWorkload {
    fn name(&self) -> &'static str {
        "script"
    }

    fn title(&self) -> &'static str {
        "scripts in pgbench's language: --file a.sql@3 --file b.sql@1, or --builtin tpcb-like"
    }

    fn statements(&self) -> Vec<String> {
        Vec::new()
    }

    fn options(&self) -> &'static [&'static str] {
        options::KEYS
    }

    fn loaded_by(&self, plan: &WorkloadPlan) -> Option<&'static str> {
        options::has_builtin(plan).then(|| crate::tpcb::TPCB.name())
    }

    fn check_options(&self, plan: &WorkloadPlan, protocol: QueryMode) -> Vec<Error> {
        let simple = protocol == QueryMode::Simple;
        match options::read(plan) {
            Err(problems) => problems,
            Ok(asked) => asked
                .scripts
                .iter()
                .filter_map(|script| options::protocol_problem(script, simple))
                .map(|problem| Error::Asked {
                    problem,
                    hint: "another --protocol".to_owned(),
                })
                .collect(),
        }
    }

    fn load(
        &self,
        _request: &LoadRequest<'_>,
        _progress: &dyn Progress,
        _stop: &AtomicBool,
    ) -> Result<LoadReport, Error> {
        Err(no_tables("prony load tpcb makes"))
    }

    fn check(&self, _control: &mut Control) -> Result<CheckReport, Error> {
        Err(no_tables("prony check tpcb checks"))
    }

    fn clean(&self, _control: &mut Control) -> Result<Vec<String>, Error> {
        Err(no_tables("prony clean tpcb drops"))
    }

    fn program(&self, control: &mut Control, plan: &WorkloadPlan) -> Result<Loaded, Error> {
        // Whoever asks for more than the first problem asks `check_options`.
        let asked = options::read(plan).map_err(|mut problems| problems.swap_remove(0))?;
        products::need_postgres(control)?;
        let scale = scale(control, plan, &asked)?;
        Ok(Loaded {
            program: Arc::new(Scripts::new(asked, scale, Manner::default())),
            scale,
        })
    }
}

/// The value of `:scale`. The builtin scripts need their tables whole; others may run on any.
fn scale(control: &mut Control, plan: &WorkloadPlan, asked: &ScriptSet) -> Result<u32, Error> {
    if asked.builtin {
        return scale_for_run(control, crate::tpcb::TPCB.name(), plan.scale);
    }
    if let Some(scale) = plan.scale {
        return Ok(scale);
    }
    let doing = "reading the scale";
    let found = sql::row(
        control,
        doing,
        "select to_regclass('pgbench_branches') is not null",
    )?;
    if !found.is_true(0) {
        return Ok(1);
    }
    let count = sql::row(control, doing, "select count(*) from pgbench_branches")?;
    let branches = count.int(0).and_then(|count| u32::try_from(count).ok());
    Ok(branches.unwrap_or(1).max(1))
}

fn no_tables(what: &str) -> Error {
    asked(
        "the script workload brings no tables of its own",
        &format!("{what} those of the builtin scripts"),
    )
}
