//! `prony plan check` and `prony plan schema`.
//!
//! In: a plan file. Out: every mistake in it, or that there is none. Must never: ask a server.

use super::output;
use crate::args::PlanCommand;
use crate::exit::{Exit, Failure};
use prony_plan::{Asked, Plan, Problems};
use prony_report::Problem;
use std::path::Path;

/// Does what was asked.
pub fn obey(command: PlanCommand) -> Result<Exit, Failure> {
    match command {
        PlanCommand::Check { file } => {
            let asked = read(&file)?;
            let plan = checked(asked, &file.display().to_string())?;
            output::show(|out, _| {
                writeln!(out, "{}: the plan is fine", file.display())?;
                writeln!(out, "{}", summary(&plan))
            })?;
        }
        PlanCommand::Schema => output::show(|out, _| {
            serde_json::to_writer_pretty(&mut *out, &prony_plan::json_schema())?;
            writeln!(out)
        })?,
    }
    Ok(Exit::Fine)
}

/// Reads a plan file.
pub fn read(file: &Path) -> Result<Asked, Failure> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|error| {
        let hint = "a plan is a TOML file; `prony plan schema` describes it";
        Failure::new(Exit::Usage, format!("cannot read the plan: {error}"), hint).at(&name)
    })?;
    Asked::from_toml(&name, &text).map_err(|problems| failure(&name, problems))
}

/// Checks what is asked, the workload's part included. `of` is what has the problems.
pub fn checked(asked: Asked, of: &str) -> Result<Plan, Failure> {
    let plan = asked.check().map_err(|problems| failure(of, problems))?;
    let workload = super::server::workload(&plan.workload.name)?;
    let problems: Vec<Problem> = prony_workload::option_problems(workload, &plan.workload)
        .into_iter()
        .map(|what| Problem {
            what,
            ..Problem::default()
        })
        .collect();
    if problems.is_empty() {
        return Ok(plan);
    }
    Err(Failure {
        exit: Exit::Usage,
        of: of.to_owned(),
        problems,
    })
}

fn failure(of: &str, problems: Problems) -> Failure {
    Failure {
        exit: Exit::Usage,
        of: of.to_owned(),
        problems: problems
            .0
            .into_iter()
            .map(|problem| Problem {
                what: format!("{}: {}", problem.place, problem.message),
                place: String::new(),
                hint: problem.hint.unwrap_or_default(),
            })
            .collect(),
    }
}

/// The plan in one line.
fn summary(plan: &Plan) -> String {
    use prony_plan::{Choice, Pace, Stop, format_duration};
    let drive = &plan.drive;
    let pace = match drive.pace {
        Pace::Closed => "closed loop".to_owned(),
        Pace::Rate { rate_tps, arrival } => {
            format!("{rate_tps} transactions/s ({})", arrival.name())
        }
    };
    let stop = match drive.stop {
        Stop::After(time) => format!("for {}", format_duration(time)),
        Stop::Transactions(count) => format!("{count} transactions a client"),
    };
    format!(
        "  {}: {} clients on {} threads, {pace}, {} protocol, {stop} after {} of warm-up",
        plan.workload.name,
        drive.clients,
        drive.threads,
        drive.protocol.name(),
        format_duration(drive.warmup),
    )
}
