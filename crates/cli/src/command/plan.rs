//! `prony plan check` and `prony plan schema`.
//!
//! In: a plan file. Out: every mistake in it, or that there is none. Must never: ask a server.

use super::{output, server};
use crate::args::PlanCommand;
use crate::exit::{Exit, Failure};
use prony_plan::experiment::merged;
use prony_plan::{Asked, Experiment, Place, Plan, Problems, QueryMode, WorkloadPlan};
use prony_report::{Problem, units};
use std::path::Path;

/// Does what was asked.
pub fn obey(command: PlanCommand) -> Result<Exit, Failure> {
    match command {
        PlanCommand::Check { file } => {
            let asked = read(&file)?;
            let name = file.display().to_string();
            let lines = if asked.is_experiment() {
                let changes = asked
                    .experiment
                    .variants
                    .iter()
                    .map(|one| changes(&one.asked));
                let changes: Vec<String> = changes.collect();
                experiment_summary(&runnable_experiment(asked, &name)?, &changes)
            } else {
                vec![summary(&runnable(asked, &name)?)]
            };
            output::show(|out, _| {
                writeln!(out, "{name}: the plan is fine")?;
                lines.iter().try_for_each(|line| writeln!(out, "{line}"))
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

/// Checks what is asked, the workload's name and options included. `of` is what has the problems.
pub fn checked(asked: Asked, of: &str) -> Result<Plan, Failure> {
    let problems = workload_problems(&asked);
    settled(asked, problems, of)
}

/// The same for a load or run, which needs the values of the workload's options too: scripts are
/// read.
pub fn runnable(asked: Asked, of: &str) -> Result<Plan, Failure> {
    let problems = run_problems(&asked);
    settled(asked, problems, of)
}

/// The same for repeats and variants, all of them at once.
pub fn runnable_experiment(asked: Asked, of: &str) -> Result<Experiment, Failure> {
    let variants = asked.variants().into_iter();
    let each: Vec<_> = variants
        .map(|(name, asked)| (name, run_problems(&asked)))
        .collect();
    let problems = merged(&each, |problem, names| {
        problem.what += &format!(" (variant {names})");
    });
    together(asked.check_experiment(), problems, of)
}

/// What only the workload room knows to be wrong, the values of its options included.
fn run_problems(asked: &Asked) -> Vec<Problem> {
    let problems = workload_problems(asked);
    match problems.is_empty() {
        true => value_problems(asked),
        false => problems,
    }
}

fn settled(asked: Asked, problems: Vec<Problem>, of: &str) -> Result<Plan, Failure> {
    together(asked.check(), problems, of)
}

/// What was checked, if neither the plan room nor the workload room has found anything.
fn together<T>(
    checked: Result<T, Problems>,
    mut problems: Vec<Problem>,
    of: &str,
) -> Result<T, Failure> {
    match checked {
        Ok(checked) if problems.is_empty() => return Ok(checked),
        Ok(_) => {}
        Err(found) => problems
            .splice(0..0, found.0.into_iter().map(problem))
            .for_each(drop),
    }
    Err(Failure {
        exit: Exit::Usage,
        of: of.to_owned(),
        problems,
    })
}

/// What only the workload room knows to be wrong.
fn workload_problems(asked: &Asked) -> Vec<Problem> {
    let Some(name) = &asked.workload else {
        return Vec::new();
    };
    let place = match &name.place {
        Place::Flag(_) => String::new(),
        place => format!("{place}: "),
    };
    match server::workload(&name.value) {
        Err(mut failure) => {
            for problem in &mut failure.problems {
                problem.what.insert_str(0, &place);
            }
            failure.problems
        }
        Ok(workload) => {
            let plan = workload_plan(asked, &name.value);
            prony_workload::option_problems(workload, &plan)
                .into_iter()
                .map(|what| Problem {
                    what: format!("{place}{what}"),
                    ..Problem::default()
                })
                .collect()
        }
    }
}

/// What the workload says of the values of its options.
fn value_problems(asked: &Asked) -> Vec<Problem> {
    let name = asked.workload.as_ref();
    let Some(Ok(workload)) = name.map(|name| server::workload(&name.value)) else {
        return Vec::new();
    };
    let protocol = asked.protocol.as_ref();
    let protocol = protocol.map_or(QueryMode::Prepared, |placed| placed.value);
    workload
        .check_options(&workload_plan(asked, workload.name()), protocol)
        .iter()
        .flat_map(|error| server::workload_failure(error, None).problems)
        .map(|problem| placed(asked, problem))
        .collect()
}

/// A problem that begins with an option of a file gets that option's place.
fn placed(asked: &Asked, mut problem: Problem) -> Problem {
    let mut options = asked.options.iter();
    let of_it = options.find(|(key, _)| problem.what.starts_with(&format!("{key} = ")));
    if let Some((_, option)) = of_it
        && matches!(option.place, Place::File { .. })
    {
        problem.what = format!("{}: {}", option.place, problem.what);
    }
    problem
}

/// What is asked of a workload, as far as its options go.
fn workload_plan(asked: &Asked, name: &str) -> WorkloadPlan {
    let options = asked.options.iter();
    WorkloadPlan {
        name: name.to_owned(),
        // A scale beyond any has its own problem.
        scale: asked
            .scale
            .as_ref()
            .and_then(|placed| u32::try_from(placed.value).ok()),
        options: options
            .map(|(key, placed)| (key.clone(), placed.value.clone()))
            .collect(),
    }
}

pub(super) fn failure(of: &str, problems: Problems) -> Failure {
    Failure {
        exit: Exit::Usage,
        of: of.to_owned(),
        problems: problems.0.into_iter().map(problem).collect(),
    }
}

fn problem(found: prony_plan::Problem) -> Problem {
    Problem {
        what: format!("{}: {}", found.place, found.message),
        place: String::new(),
        hint: found.hint.unwrap_or_default(),
    }
}

/// An experiment in a line, and each of its variants in one.
fn experiment_summary(of: &Experiment, changes: &[String]) -> Vec<String> {
    use prony_plan::{Choice, format_duration};
    let [repeats, variants, runs] = [
        (of.repeats as usize, "repeat", "repeats"),
        (of.variants.len(), "variant", "variants"),
        (of.runs() as usize, "run", "runs"),
    ]
    .map(|(count, one, many)| units::counted(count as u64, one, many));
    let pause = match (of.pause.is_zero(), &of.between) {
        (true, None) => String::new(),
        (true, Some(_)) => ", a command between".to_owned(),
        (false, None) => format!(", {} between", format_duration(of.pause)),
        (false, Some(_)) => format!(", a command and {} between", format_duration(of.pause)),
    };
    let order = of.order.name();
    let mut lines = vec![format!("  {repeats} of {variants}, {order}: {runs}{pause}")];
    for (place, one) in of.variants.iter().enumerate() {
        if let Some(changes) = changes.get(place) {
            lines.push(format!("  variant {}: {changes}", one.name));
        }
        lines.push(format!("  {}", summary(&one.plan)));
    }
    lines
}

/// What a variant says beside what all say.
fn changes(of: &Asked) -> String {
    let server = of.url.as_ref().map(|url| prony_server::redact(&url.value));
    let given = of.to_json(&server.unwrap_or_default());
    let each = given.as_object().into_iter().flatten();
    let each: Vec<String> = each
        .map(|(key, entry)| format!("{key} = {}", entry["value"]))
        .collect();
    match each.is_empty() {
        true => "changes nothing".to_owned(),
        false => prony_report::text::plain(&each.join(", ")),
    }
}

/// The plan in one line.
fn summary(plan: &Plan) -> String {
    use prony_plan::{Choice, Pace, Stop, format_duration};
    let drive = &plan.drive;
    let pace = match drive.pace {
        Pace::Closed => "closed loop".to_owned(),
        Pace::Rate {
            rate_tps, arrival, ..
        } => {
            format!("{rate_tps} transactions/s ({})", arrival.name())
        }
    };
    let stop = match drive.stop {
        Stop::After(time) | Stop::Starts(time) => format!("for {}", format_duration(time)),
        Stop::Transactions(count) => format!("{count} transactions a client"),
        Stop::Shared { transactions, .. } => format!("{transactions} transactions of all clients"),
    };
    format!(
        "  {}: {} on {}, {pace}, {} protocol, {stop} after {} of warm-up",
        plan.workload.name,
        units::counted(u64::from(drive.clients), "client", "clients"),
        units::counted(u64::from(drive.threads), "thread", "threads"),
        drive.protocol.name(),
        format_duration(drive.warmup),
    )
}
