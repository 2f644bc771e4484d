//! `prony judge`.
//!
//! Judges a stored run by the rules of this version. Never changes a figure, and replaces the findings in the
//! document only with `--again`.

use super::output;
use crate::args::JudgeArgs;
use crate::exit::{Exit, Failure};
use prony_report::terminal::{self, FormerJudgement};
use prony_store::{RunState, Severity};

pub fn judge(args: &JudgeArgs) -> Result<Exit, Failure> {
    let store = super::stored::open_store()?;
    let (mut run, document) = store.load_from(&args.run)?;
    if run.state == RunState::Running {
        let message = format!("the run {} is still in progress", run.id);
        return Err(Failure::usage(message, "judge it when it has ended"));
    }
    let former = FormerJudgement {
        rules_version: run.rules_version,
        checks: run.checks.clone(),
    };
    prony_judge::judge_run(&mut run);
    if args.again {
        store.replace_findings(&document, &run)?;
    }
    output::show(|out, style| terminal::write_judgement(out, style, &run, &former))?;
    let worst = prony_judge::worst(&run.checks);
    Ok(Exit::invalid_if(worst == Some(Severity::Invalid)))
}
