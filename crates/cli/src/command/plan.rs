//! `prony plan check` and `prony plan schema`.
//!
//! Reports every mistake in a plan file; connects to no server.

use super::{file, output, server};
use crate::args::PlanCommand;
use crate::exit::{Exit, Failure};
use crate::run::describe_warmup;
use prony_judge::compare::{PlannedRefusal, PlannedVariant, planned_refusals};
use prony_plan::experiment::merge_findings;
use prony_plan::{
    ErrorParts, Experiment, InputLocation, MAX_PROBLEMS, Plan, PlanInput, Problem, Problems,
    QueryMode, WorkloadPlan, system_error,
};
use prony_report::{json, units};
use prony_workload::Error;
use std::path::Path;

pub fn execute(command: PlanCommand) -> Result<Exit, Failure> {
    match command {
        PlanCommand::Check { file } => {
            let input = read_plan(&file)?;
            let name = file.display().to_string();
            let lines = if input.is_experiment() {
                let variants = input.variant_inputs();
                let changes: Vec<String> = variants
                    .iter()
                    .map(|variant| changed_settings(&variant.input))
                    .collect();
                experiment_summary(&check_runnable_experiment(input, &name)?, &changes)
            } else {
                vec![plan_summary(&check_runnable(input, &name)?)]
            };
            output::show(|out, _| {
                writeln!(out, "{name}: the plan is valid")?;
                lines.iter().try_for_each(|line| writeln!(out, "{line}"))
            })?;
        }
        PlanCommand::Schema => {
            output::show(|out, _| json::write_pretty(out, &prony_plan::json_schema()))?;
        }
    }
    Ok(Exit::Success)
}

pub fn read_plan(path: &Path) -> Result<PlanInput, Failure> {
    let name = path.display().to_string();
    let others = concat!(
        "`prony init` writes one; others: ",
        env!("CARGO_PKG_REPOSITORY"),
        "/tree/HEAD/plans"
    );
    let form = "a plan is a TOML file; `prony plan schema` describes it";
    let text = file::read_text(path, "plan", others, form)?;
    let mut input =
        PlanInput::from_toml(&name, &text).map_err(|problems| failure(&name, problems))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    input.read_transaction_files(&|path| {
        std::fs::read_to_string(folder.join(path)).map_err(|error| system_error(&error))
    });
    Ok(input)
}

/// Checks the input, including the workload's name and options. `subject` names the input in messages.
pub fn check_plan(input: PlanInput, subject: &str) -> Result<Plan, Failure> {
    let problems = workload_problems(&input);
    check_with_problems(input, problems, subject)
}

/// Like [`check_plan`], for a load or run: also checks the values of the workload's options, and so
/// reads scripts.
pub fn check_runnable(input: PlanInput, subject: &str) -> Result<Plan, Failure> {
    let problems = run_problems(&input);
    check_with_problems(input, problems, subject)
}

/// Like [`check_runnable`], for all repeats and variants at once.
pub fn check_runnable_experiment(input: PlanInput, subject: &str) -> Result<Experiment, Failure> {
    let variants = input.variants().into_iter();
    let variant_problems: Vec<_> = variants
        .map(|(name, input)| (name, run_problems(&input)))
        .collect();
    let problems = merge_findings(&variant_problems, |problem, names| {
        problem.problem += &format!(" (variant {names})");
    });
    checked_or_all_problems(input.check_experiment(), problems, subject)
}

/// Problems that only the workload can detect, including values of its options.
fn run_problems(input: &PlanInput) -> Vec<ErrorParts> {
    let problems = workload_problems(input);
    if problems.is_empty() { value_problems(input) } else { problems }
}

fn check_with_problems(
    input: PlanInput,
    problems: Vec<ErrorParts>,
    subject: &str,
) -> Result<Plan, Failure> {
    checked_or_all_problems(input.check(), problems, subject)
}

/// The checked value, if neither the plan nor the workload has a problem; otherwise all problems
/// together.
fn checked_or_all_problems<T>(
    checked: Result<T, Problems>,
    problems: Vec<ErrorParts>,
    subject: &str,
) -> Result<T, Failure> {
    let plan_problems = match checked {
        Ok(checked) if problems.is_empty() => return Ok(checked),
        Ok(_) => Vec::new(),
        Err(plan_problems) => plan_problems.0,
    };
    let mut all: Vec<ErrorParts> = plan_problems.into_iter().map(convert_problem).collect();
    all.extend(problems);
    Err(failure_of(subject, all))
}

/// The failure for these problems. The hint of a single problem without one is where valid values are described; a list
/// of problems stays short.
fn failure_of(subject: &str, mut problems: Vec<ErrorParts>) -> Failure {
    if let [problem] = &mut problems[..]
        && problem.hint.is_none()
    {
        let is_flag = problem.problem.starts_with("--");
        let hint = if is_flag {
            "--help describes the option"
        } else {
            "`prony plan schema` describes each key"
        };
        problem.hint = Some(hint.to_owned());
    }
    // Options of a workload are checked one by one, and a plan may have many.
    let omitted = problems.len().saturating_sub(MAX_PROBLEMS);
    if omitted > 1 {
        problems.truncate(MAX_PROBLEMS);
        let rest = ErrorParts::new(format!("and {omitted} more problems"));
        problems.push(rest.with_hint("correct the others first"));
    }
    Failure {
        exit: Exit::Usage,
        subject: subject.to_owned(),
        problems,
    }
}

/// Problems that only the workload can detect.
fn workload_problems(input: &PlanInput) -> Vec<ErrorParts> {
    let Some(name) = &input.workload else {
        return Vec::new();
    };
    let prefix = match &name.location {
        InputLocation::Flag(_) => String::new(),
        location => format!("{location}: "),
    };
    match server::find_workload(&name.value) {
        Err(mut failure) => {
            for problem in &mut failure.problems {
                problem.problem.insert_str(0, &prefix);
            }
            failure.problems
        }
        Ok(workload) => {
            let plan = workload_plan(input, &name.value);
            let errors = prony_workload::unknown_option_problems(workload, &plan);
            let problems = errors.iter().flat_map(|error| {
                let problems = server::workload_failure(error, None, None).problems;
                let hint = server_setting_hint(input, error);
                problems.into_iter().map(move |problem| match &hint {
                    Some(hint) => problem.with_hint(hint),
                    None => problem,
                })
            });
            problems
                .map(|problem| problem.with_context(&prefix))
                .collect()
        }
    }
}

/// What is varied may be a setting of the server, where the workload has no such option.
fn server_setting_hint(input: &PlanInput, error: &Error) -> Option<String> {
    let Error::UnknownOption { key, .. } = error else {
        return None;
    };
    let option = input.options.get(key)?;
    let is_varied = option.location.is_sweep();
    is_varied.then(|| format!("if it is a setting of the server, write settings.{key}"))
}

fn value_problems(input: &PlanInput) -> Vec<ErrorParts> {
    let name = input.workload.as_ref();
    let Some(Ok(workload)) = name.map(|name| server::find_workload(&name.value)) else {
        return Vec::new();
    };
    let protocol = input.protocol.as_ref();
    let protocol = protocol.map_or(QueryMode::Prepared, |protocol| protocol.value);
    workload
        .check_options(&workload_plan(input, workload.name()), protocol)
        .iter()
        .flat_map(|error| {
            let mut failure = server::workload_failure(error, None, None);
            if let Some(location) = error_location(input, error) {
                for problem in &mut failure.problems {
                    problem.problem.insert_str(0, &format!("{location}: "));
                }
            }
            failure.problems
        })
        .collect()
}

/// The location of an option with an invalid value, if it is in a file; of a mistake in a transaction, whose name and line
/// the error has, that file.
fn error_location(input: &PlanInput, error: &Error) -> Option<String> {
    let location = |key: &str| Some(&input.options.get(key)?.location);
    match (error, location("transactions")) {
        (Error::Value { key, .. }, _) => {
            let location = location(key)?;
            matches!(location, InputLocation::File { .. }).then(|| location.to_string())
        }
        (Error::InvalidRequest { .. }, Some(InputLocation::File { file, .. })) => {
            Some(file.clone())
        }
        _ => None,
    }
}

fn workload_plan(input: &PlanInput, name: &str) -> WorkloadPlan {
    let options = input.options.iter();
    WorkloadPlan {
        name: name.to_owned(),
        // A scale that is out of range is reported separately.
        scale: input
            .scale
            .as_ref()
            .and_then(|scale| u32::try_from(scale.value).ok()),
        options: options
            .map(|(key, option)| (key.clone(), option.value.clone()))
            .collect(),
    }
}

pub(super) fn failure(subject: &str, problems: Problems) -> Failure {
    failure_of(
        subject,
        problems.0.into_iter().map(convert_problem).collect(),
    )
}

fn convert_problem(problem: Problem) -> ErrorParts {
    let parts = ErrorParts::new(format!("{}: {}", problem.location, problem.message));
    ErrorParts {
        hint: problem.hint,
        ..parts
    }
}

fn experiment_summary(experiment: &Experiment, changes: &[String]) -> Vec<String> {
    use prony_plan::{Choice, format_duration};
    let [repeats, variants, runs] = [
        (experiment.repeats as usize, "repeat", "repeats"),
        (experiment.variants.len(), "variant", "variants"),
        (experiment.run_count() as usize, "run", "runs"),
    ]
    .map(|(count, singular, plural)| units::count_with_noun(count as u64, singular, plural));
    let pause = match (experiment.pause.is_zero(), &experiment.between) {
        (true, None) => String::new(),
        (true, Some(_)) => ", a command between".to_owned(),
        (false, None) => format!(", {} between", format_duration(experiment.pause)),
        (false, Some(_)) => format!(
            ", a command and {} between",
            format_duration(experiment.pause)
        ),
    };
    let order = experiment.order.name();
    let refusals = planned_refusals_of(experiment);
    let mut lines = vec![format!("  {repeats} of {variants}, {order}: {runs}{pause}")];
    for (index, variant) in experiment.variants.iter().enumerate() {
        if let Some(changes) = changes.get(index) {
            lines.push(format!("  variant {}: {changes}", variant.name));
        }
        lines.push(format!("  {}", plan_summary(&variant.plan)));
    }
    lines.extend(
        refusals
            .iter()
            .map(|refusal| format!("  note: {}", refusal.sentence)),
    );
    lines
}

/// What `prony compare` will refuse, as far as the plans of the variants say.
pub fn planned_refusals_of(experiment: &Experiment) -> Vec<PlannedRefusal> {
    let variants = experiment.variants.iter().map(|variant| PlannedVariant {
        name: variant.name.clone(),
        plan: prony_plan::to_json(&variant.plan, &server::shown_name(&variant.plan)),
    });
    planned_refusals(&variants.collect::<Vec<_>>())
}

fn changed_settings(input: &PlanInput) -> String {
    let redacted_url = input
        .url
        .as_ref()
        .map(|url| prony_server::redact(&url.value));
    let document = input.to_json(&redacted_url.unwrap_or_default());
    let entries = document.as_object().into_iter().flatten();
    let settings: Vec<String> = entries
        .map(|(key, entry)| match entry["value"].as_array() {
            // Without their texts.
            Some(list) if key == "workload.transactions" => {
                let names = list.iter().filter_map(|item| item["name"].as_str());
                format!("{key} = {}", names.collect::<Vec<_>>().join(", "))
            }
            _ => format!("{key} = {}", entry["value"]),
        })
        .collect();
    if settings.is_empty() {
        "changes nothing".to_owned()
    } else {
        prony_report::text::plain(&settings.join(", "))
    }
}

fn plan_summary(plan: &Plan) -> String {
    use prony_plan::{Choice, Pace, Stop, format_duration};
    let drive = &plan.drive;
    let pace = match drive.pace {
        Pace::Closed => "closed loop".to_owned(),
        Pace::Timetable => "at the recorded times".to_owned(),
        Pace::Rate {
            rate_tps, arrival, ..
        } => {
            format!("{rate_tps} transactions/s ({})", arrival.name())
        }
    };
    let stop = match drive.stop {
        Stop::After(time) | Stop::NoStartsAfter(time) => format!("for {}", format_duration(time)),
        Stop::Transactions(count) => format!("{count} transactions per client"),
        Stop::SharedTransactions { transactions, .. } => {
            format!("{transactions} transactions of all clients")
        }
        Stop::WorkDone => "to the end of the sessions".to_owned(),
    };
    format!(
        "  {}: {} on {}, {pace}, {} protocol, {stop} after {} of warm-up",
        plan.workload.name,
        units::count_with_noun(u64::from(drive.clients), "client", "clients"),
        units::count_with_noun(u64::from(drive.threads), "thread", "threads"),
        drive.protocol.name(),
        describe_warmup(drive),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    #[test]
    fn a_mistake_in_a_transaction_names_its_file() {
        let text = "[workload]\nname = \"sql\"\n[[workload.transactions]]\nname = \"place order\"\n\
                    sql = '''\n\\set a nosuch(1)\nSELECT :a;\n'''\n";
        let input = PlanInput::from_toml("own.toml", text).unwrap();
        let failure = check_runnable(input, "own.toml").unwrap_err();
        let problem = &failure.problems[0].problem;
        problem.assert_starts_with("own.toml: place order:1: unexpected function name");
    }
}
