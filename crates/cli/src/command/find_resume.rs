//! Goes on with a search of `prony find` that was interrupted.
//!
//! In: the name of one of its runs, and today's settings. Out: its steps. Must never: mix steps of another load, server or
//! data.

use super::compare::complete_runs;
use super::stored;
use crate::exit::Failure;
use prony_judge::capacity;
use prony_plan::{Plan, to_json};
use prony_store::Run;
use serde_json::Value;
use std::fmt::Display;

/// What precedes the run that [`check_same`] looks at.
pub const PROBE_NOTICE: &str =
    "comparing load, server and data with those of the search by a short run";

/// The complete runs of an earlier search over the rate or the clients, with their seconds. The plan is that of a step
/// today.
pub fn earlier_runs(name: &str, plan: &Plan, over: &str) -> Result<Vec<Run>, Failure> {
    let mut runs = complete_runs(&stored::open_store()?, name)?;
    stored::judge_by_same_rules(&mut runs);
    let plan = to_json(plan, "");
    for run in &runs {
        let [before, now] = [&run.plan, &plan].map(|plan| settings_of_search(plan, over));
        let mut settings = before.iter().zip(&now);
        let changed = settings.find(|(before, now)| before != now);
        if changed.is_some() || !capacity::is_step(run, over) {
            let reason = changed.map_or(String::new(), |((name, before), (_, now))| {
                change_text(name, before, now)
            });
            let hint = "resume a search with the settings that it had";
            return Err(no_step_failure(run, &reason, hint));
        }
    }
    if runs.is_empty() {
        let message = format!("the search {name} has no complete step");
        return Err(Failure::usage(message, "start it again").at("--resume"));
    }
    Ok(runs)
}

/// Refuses to go on with a search of another load, server or data, before a step is stored among its own: a short
/// run shows what differs.
pub fn check_same(
    earlier: &[Run],
    own: &Run,
    is_embedded: bool,
    over: &str,
) -> Result<(), Failure> {
    for step in earlier {
        let is_elsewhere = !is_embedded && step.server.address != own.server.address;
        let (what, [before, now]) = match capacity::difference(step, own, over) {
            Some(found) => found,
            None if is_elsewhere => {
                let addresses = [step, own].map(|run| {
                    let address = run.server.address.as_ref();
                    address.map_or("not known".to_owned(), ToString::to_string)
                });
                ("server".to_owned(), addresses)
            }
            None => continue,
        };
        let hint = "resume a search with the settings, the server and the data that it had";
        let reason = change_text(&what, &before, &now);
        return Err(no_step_failure(step, &reason, hint));
    }
    Ok(())
}

/// What changed since a step, as the end of a message.
fn change_text(what: &str, before: &impl Display, now: &impl Display) -> String {
    format!(": its {what} was {before}, and is {now} now")
}

fn no_step_failure(run: &Run, reason: &str, hint: &str) -> Failure {
    let message = format!("{} is no step of this search{reason}", run.id);
    Failure::usage(message, hint).at("--resume")
}

/// The settings of a plan that all steps of a search share. The scale is that of the data, which a run compares.
fn settings_of_search(plan: &Value, over: &str) -> Vec<(&'static str, Value)> {
    let mut workload = plan["workload"].clone();
    if let Some(options) = workload.as_object_mut() {
        options.remove("scale");
    }
    let run = &plan["run"];
    let of_run = [
        "clients",
        "protocol",
        "arrival",
        "connect_per_transaction",
        "spread",
        "read_share",
    ];
    let of_run = of_run.into_iter().filter(|name| *name != over);
    let mut settings: Vec<_> = of_run.map(|name| (name, run[name].clone())).collect();
    settings.extend([
        ("workload", workload),
        ("server settings", plan["settings"].clone()),
    ]);
    settings
}
