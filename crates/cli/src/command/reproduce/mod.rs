//! `prony reproduce`: a published scenario, loaded, run, and set beside its figures.
//!
//! In: an id, a server, how much of it is wanted. Out: what `prony run` gives, and the deviation. Must
//! never: do what `prony load` and `prony run` do not; it goes by their command lines, and prints them.

mod ground;
mod note;
pub mod words;

use super::load::{self, summary};
use super::{output, run, scenarios, server, sizing};
use crate::args::{Command, ReproduceArgs, parse};
use crate::exit::{Exit, Failure};
use crate::run::{Look, Meant, Order, carry_out};
use crate::signals::Signals;
use note::Done;
use prony_plan::WorkloadPlan;
use prony_plan::scenario::{Engine, Scenario, find};
use prony_report::units;
use prony_server::Target;
use prony_store::RunStore;
use prony_store::scenario::Cached;
use prony_workload::{State, Workload};
use std::ffi::OsString;
use words::Settings;

/// Does all of it.
pub fn reproduce(args: &ReproduceArgs, arguments: &[OsString]) -> Result<Exit, Failure> {
    let one = find(&args.id).map_err(|error| scenarios::unknown(&error))?;
    if one.engine == Engine::SqlServer {
        let what = format!(
            "{} is for SQL Server, whose protocol Prony does not speak yet",
            one.id
        );
        let hint = format!("`prony scenarios {}` shows its published figures", one.id);
        return Err(Failure::new(Exit::Usage, what, hint));
    }
    let target = server::target(args.server.url.as_deref())?;
    let Sized {
        mut settings,
        shrink,
        cached,
    } = settings(args, one, &target)?;
    let mut done = Done {
        shrink,
        ..Done::default()
    };
    settings.script = script(one)?;
    announce(args, one, &settings);
    // Its mistakes show before any table is touched.
    let (mut order, look) = order(args, one, &settings, arguments)?;
    let signals = Signals::listen()?;
    let workload = server::workload(one.data())?;
    done.restarted = restart(args, one, workload, &target, &signals)?;
    if !args.no_load {
        load(args, one, &settings)?;
        done.loaded = true;
    }
    let mut control = server::connect(&target)?;
    ground::ended(&signals)?;
    let tables = match done.loaded || words::is_prewarmed(one) {
        true => checked(workload, &mut control, done.loaded)?,
        false => Vec::new(),
    };
    ground::indexes(&mut control, one)?;
    if one.vacuum && done.loaded {
        ground::vacuum(&mut control, &tables)?;
    }
    if words::is_prewarmed(one) {
        ground::prewarm(&mut control, &tables, &signals)?;
        done.prewarmed = true;
    }
    drop(control);
    ground::ended(&signals)?;
    order.meant = Meant {
        scenario: Some(note::note(one, done)),
        cached,
    };
    let exit = carry_out(&order, &look)?;
    if args.cleanup {
        clean(workload, &target)?;
    }
    Ok(exit)
}

/// How a scenario is run here.
struct Sized {
    /// How large, how long, with how many clients.
    settings: Settings,
    /// What part of the published size that is.
    shrink: f64,
    /// The share of the data that is to be cached, where one was asked for.
    cached: Option<Cached>,
}

/// How large, how long and with how many clients.
fn settings(args: &ReproduceArgs, one: &Scenario, target: &Target) -> Result<Sized, Failure> {
    let mut control = server::connect(target)?;
    let mut settings = Settings::published(one);
    let mut shrink = args.shrink.unwrap_or(1.0);
    settings.size = one.size(shrink);
    let mut cached = None;
    let plan = WorkloadPlan {
        // Tables of scripts are another workload's.
        name: match one.script {
            Some(_) => one.data().to_owned(),
            None => one.workload.clone(),
        },
        scale: None,
        options: one.options.clone(),
    };
    let metrics = args.server_metrics.as_deref();
    if let Some(sizing) = sizing::choose(&mut control, &args.cached, &plan, metrics)? {
        output::tell(&sizing.words());
        settings.size = one.at_scale(sizing.scale);
        shrink = sizing.scale as f64 / one.scale.unwrap_or(sizing.scale).max(1) as f64;
        cached = Some(sizing.cached);
    }
    settings.clients = clients(args, one, ground::room(&mut control))?;
    settings.threads = args
        .threads
        .unwrap_or_else(|| words::threads(settings.clients));
    settings.jobs = args.jobs;
    if let Some(minutes) = args.minutes {
        settings = settings.measured(minutes);
    }
    if let Some(warmup) = args.warmup {
        settings.warmup = warmup;
    }
    Ok(Sized {
        settings,
        shrink,
        cached,
    })
}

/// As many as asked for; else as published, as far as the server has connections for them.
fn clients(args: &ReproduceArgs, one: &Scenario, room: Option<u64>) -> Result<u64, Failure> {
    if let Some(asked) = args.clients {
        return match room.map(|room| room + ground::SPARE) {
            Some(most) if asked > most => {
                let what = format!(
                    "--clients: {} are asked for, and the server has connections for {}",
                    units::count(asked),
                    units::count(most),
                );
                let hint = "raise the server's max_connections, or ask for fewer";
                Err(Failure::new(Exit::Usage, what, hint))
            }
            _ => Ok(asked),
        };
    }
    let published = one.clients.unwrap_or(words::CLIENTS);
    Ok(match room.filter(|room| *room < published) {
        None => published,
        Some(room) => {
            output::tell(&format!(
                "{} in place of {}: the server has connections for no more.",
                units::counted(room, "client", "clients"),
                units::count(published),
            ));
            room
        }
    })
}

/// The script, written where a stored plan still finds it; nothing where there is none.
fn script(one: &Scenario) -> Result<std::path::PathBuf, Failure> {
    let Some(script) = one.script else {
        return Ok(std::path::PathBuf::new());
    };
    let store = RunStore::open(None).map_err(|error| super::stored::failure(&error))?;
    let place = words::script_place(store.folder(), one);
    let written = place
        .parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::write(&place, script.text()));
    written.map_err(|error| {
        let what = format!("cannot write the script: {error}");
        Failure::new(Exit::Unexpected, what, "PRONY_HOME names another folder")
            .at(place.display().to_string())
    })?;
    Ok(place)
}

/// Says what is about to be done, as commands too.
fn announce(args: &ReproduceArgs, one: &Scenario, settings: &Settings) {
    output::tell(&format!(
        "{}: {}, by {}.",
        one.id,
        one.title,
        one.source.name()
    ));
    let shown = args.server.url.as_deref().map(prony_server::redact);
    let url = shown.as_deref();
    if !args.no_load {
        output::tell(&format!("  {}", words::load(one, settings, url).join(" ")));
    }
    output::tell(&format!("  {}", words::run(one, settings, url).join(" ")));
}

/// Restarts the server, where the scenario asks for that and the user says how; whether it was. Old
/// tables go first, so that what is cached then is of no former run.
fn restart(
    args: &ReproduceArgs,
    one: &Scenario,
    workload: &dyn Workload,
    target: &Target,
    signals: &Signals,
) -> Result<bool, Failure> {
    match (&args.restart_command, one.cold) {
        (None, false) => Ok(false),
        (None, true) => {
            output::tell(
                "The scenario asks for a restart before the load, and there is no --restart-command: the \
                 caches are not cold.",
            );
            Ok(false)
        }
        (Some(_), false) => {
            output::tell("The scenario asks for no restart: --restart-command is not run.");
            Ok(false)
        }
        (Some(command), true) => {
            if !args.no_load {
                clean(workload, target)?;
            }
            ground::restart(command, target, signals)
        }
    }
}

/// Loads by the command line of `prony load`.
fn load(args: &ReproduceArgs, one: &Scenario, settings: &Settings) -> Result<(), Failure> {
    let words = words::load(one, settings, args.server.url.as_deref());
    let Command::Load(load) = parsed(&words)? else {
        return Err(Failure::new(
            Exit::Unexpected,
            "the scenario has no load",
            "",
        ));
    };
    let done = load::loaded(&load)?;
    output::tell(&summary(done.workload, &done.report));
    ground::ended(&done.signals)
}

fn parsed(words: &[String]) -> Result<Command, Failure> {
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    parse(&words)
}

/// The tables that are there, after a look whether they are whole where they were just loaded: data that
/// is there may have been run on.
fn checked(
    workload: &dyn Workload,
    control: &mut prony_server::Control,
    all: bool,
) -> Result<Vec<String>, Failure> {
    let report = workload
        .check(control)
        .map_err(|error| server::workload_failure(&error, None))?;
    let wrong = report.findings.iter().find(|one| one.state == State::Wrong);
    if let Some(wrong) = wrong.filter(|_| all) {
        let what = format!(
            "the data that was loaded is not as it should be: {}",
            wrong.text
        );
        let hint = format!("load it anew: prony load {} --scale N", workload.name());
        return Err(Failure::new(Exit::Data, what, hint));
    }
    if all {
        output::tell("Checked what was loaded: it is whole.");
    }
    Ok(report.tables.into_iter().map(|table| table.name).collect())
}

/// The run, by the command line of `prony run`.
fn order(
    args: &ReproduceArgs,
    one: &Scenario,
    settings: &Settings,
    arguments: &[OsString],
) -> Result<(Order, Look), Failure> {
    let words = words::run(one, settings, args.server.url.as_deref());
    let Command::Run(mut run) = parsed(&words)? else {
        return Err(Failure::new(
            Exit::Unexpected,
            "the scenario has no run",
            "",
        ));
    };
    run.json = args.json;
    run.keeping = args.keeping;
    run.server_metrics = args.server_metrics.clone();
    run::order(&run, &without_restart(arguments))
}

/// The command line as it may be stored: what restarts a server may hold a secret in any form.
fn without_restart(arguments: &[OsString]) -> Vec<OsString> {
    const FLAG: &str = "--restart-command";
    let mut is_value = false;
    let stored = arguments.iter().map(|argument| {
        let text = argument.to_string_lossy();
        let shown = match (is_value, text.split_once('=')) {
            (true, _) => "(not stored)".into(),
            (false, Some((FLAG, _))) => format!("{FLAG}=(not stored)").into(),
            _ => argument.clone(),
        };
        is_value = text == FLAG && !is_value;
        shown
    });
    stored.collect()
}

/// Drops the workload's own tables.
fn clean(workload: &dyn Workload, target: &Target) -> Result<(), Failure> {
    let mut control = server::connect(target)?;
    let dropped = workload
        .clean(&mut control)
        .map_err(|error| server::workload_failure(&error, None))?;
    if !dropped.is_empty() {
        output::tell(&format!("Dropped {}.", dropped.join(", ")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_restarts_a_server_is_not_stored() {
        let arguments = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        for words in [
            &["prony", "--restart-command", "sshpass -p geheim", "x"][..],
            &["prony", "--restart-command=sshpass -p geheim", "x"][..],
        ] {
            let stored = without_restart(&arguments(words));
            assert!(!format!("{stored:?}").contains("geheim"), "{stored:?}");
            assert_eq!(stored.len(), words.len());
            assert_eq!(stored.last(), arguments(&["x"]).first());
        }
    }
}
