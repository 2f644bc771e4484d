//! `prony reproduce`: loads and runs a published scenario, and compares the result with its figures.
//!
//! Equivalent to `prony load` and `prony run`, whose command lines it prints. The output is that of `prony run`,
//! with the deviations from the published figures. A suite is its scenarios, one after another (`suite`).

pub mod commands;
mod estimate;
mod scenario_record;
mod server_setup;
mod suite;

use super::load::{self, load_summary};
use super::{output, plan, scenarios, server, sizing, tables};
use crate::args::{CachedArgs, LoadArgs, PlanFlags, ReproduceArgs, TimeoutArgs};
use crate::exit::{Exit, Failure};
use crate::run::fleet::with_agents_of_environment;
use crate::run::{ResultFormat, RunRequest, run_and_print};
use commands::ScenarioSettings;
use prony_plan::scenario::{Scenario, find_scenario, find_suite};
use prony_plan::{Choice, PlanInput, WorkloadPlan};
use prony_report::units;
use prony_runner::Purpose;
use prony_runner::Signals;
use prony_runner::scenario_setup::{SPARE_CONNECTIONS, free_client_connections};
use prony_server::Target;
use prony_store::scenario::{CachedShare, ScenarioLoad};
use prony_workload::remedy::PronyCommands;
use prony_workload::{FindingState, Workload};
use scenario_record::CompletedSteps;
pub use server_setup::{fail_if_interrupted, run_restart_command, wait_until_it_answers};
use std::ffi::OsString;
use std::path::PathBuf;

pub fn reproduce(args: &ReproduceArgs, arguments: &[OsString]) -> Result<Exit, Failure> {
    if let Some(suite) = find_suite(&args.id) {
        return suite::reproduce_suite(args, suite, arguments);
    }
    suite::refuse_suite_flags(args)?;
    let scenario =
        find_scenario(&args.id).map_err(|error| scenarios::unknown_scenario_failure(&error))?;
    let mut planned = PlannedRun::new(args, scenario, !args.no_load, arguments)?;
    let signals = Signals::listen()?;
    planned.prepare_server(args, &signals)?;
    let exit = run_and_print(&planned.request)?;
    planned.clean_up(args)?;
    Ok(exit)
}

/// A scenario's run with its checked plan.
struct PlannedRun {
    scenario: &'static Scenario,
    workload: &'static dyn Workload,
    must_load: bool,
    target: Target,
    settings: ScenarioSettings,
    cached: Option<CachedShare>,
    steps: CompletedSteps,
    request: RunRequest,
}

impl PlannedRun {
    /// Chooses the size and checks the plan, so that a mistake is reported before any table is changed.
    fn new(
        args: &ReproduceArgs,
        scenario: &'static Scenario,
        must_load: bool,
        arguments: &[OsString],
    ) -> Result<PlannedRun, Failure> {
        check_scale(args, scenario)?;
        let target = server::resolve_target(args.flags.url())?;
        let ScaledScenario {
            mut settings,
            size_share,
            cached,
        } = scale_scenario(args, scenario, &target)?;
        settings.script = write_script(scenario)?;
        print_commands(args, scenario, &settings, must_load);
        let request = run_request(args, scenario, &settings, arguments)?;
        Ok(PlannedRun {
            scenario,
            workload: server::find_workload(scenario.data_workload())?,
            must_load,
            target,
            settings,
            cached,
            steps: CompletedSteps {
                size_share,
                ..CompletedSteps::default()
            },
            request,
        })
    }

    /// Restarts the server, loads and checks the data, creates indexes, and fills the caches, as the scenario requires.
    fn prepare_server(&mut self, args: &ReproduceArgs, signals: &Signals) -> Result<(), Failure> {
        let (scenario, workload, must_load) = (self.scenario, self.workload, self.must_load);
        self.steps.restarted =
            restart_if_required(args, scenario, workload, &self.target, must_load, signals)?;
        if must_load {
            self.steps.load = Some(load_data(args, scenario, &self.settings)?);
        }
        let mut control = server::connect(&self.target)?;
        server_setup::fail_if_interrupted(signals)?;
        let tables = if must_load || commands::requires_prewarm(scenario) {
            check_tables(workload, &mut control, args.flags.url(), must_load)?
        } else {
            Vec::new()
        };
        server_setup::create_indexes(&mut control, scenario)?;
        if scenario.vacuum && must_load {
            server_setup::vacuum(&mut control, &tables)?;
        }
        if commands::requires_prewarm(scenario) {
            server_setup::prewarm(&mut control, &tables, signals)?;
            self.steps.prewarmed = true;
        }
        drop(control);
        server_setup::fail_if_interrupted(signals)?;
        self.request.purpose = Purpose {
            scenario: Some(scenario_record::scenario_document(scenario, &self.steps)),
            cached: self.cached.clone(),
            ..Purpose::default()
        };
        Ok(())
    }

    /// Drops the tables, if that is requested.
    fn clean_up(&self, args: &ReproduceArgs) -> Result<(), Failure> {
        if args.cleanup {
            drop_tables(self.workload, &self.target, args.flags.url())?;
        }
        Ok(())
    }
}

/// Checks that the amount of data is known: published, or chosen by the user, but not both.
fn check_scale(args: &ReproduceArgs, scenario: &Scenario) -> Result<(), Failure> {
    let is_chosen = args.scale.is_some() || args.cached.cached.is_some();
    match scenario.scale {
        None if !is_chosen => Err(Failure::usage(
            format!("the document does not state the scale of {}", scenario.id),
            "choose it: --scale N, or --cached 100% for as much data as fits into memory",
        )),
        Some(published) if args.scale.is_some() => Err(Failure::usage(
            format!(
                "--scale: the scale of {} is published: {}",
                scenario.id,
                units::count(published)
            ),
            "run a part of it with --shrink, or choose another size with --cached",
        )),
        _ => Ok(()),
    }
}

/// A scenario with the size, duration and clients of this run.
struct ScaledScenario {
    /// Size, duration and clients.
    settings: ScenarioSettings,
    size_share: f64,
    /// The requested share of the data in the cache, if any.
    cached: Option<CachedShare>,
}

/// Chooses size, duration and clients.
fn scale_scenario(
    args: &ReproduceArgs,
    scenario: &Scenario,
    target: &Target,
) -> Result<ScaledScenario, Failure> {
    let mut control = server::connect(target)?;
    server::require_engine(&control, server::find_workload(scenario.data_workload())?)?;
    if control.dialect() != scenario.dialect {
        output::notice(&format!(
            "prony: warning: {} was published for {}: its figures are not compared with those of {}",
            scenario.id,
            scenario.setup.product,
            control.product().name
        ));
    }
    let mut settings = ScenarioSettings::published(scenario);
    let mut size_share = args.shrink.unwrap_or(1.0);
    settings.size = match args.scale {
        Some(scale) => scenario.size_at_scale(scale),
        None => scenario.size(size_share),
    };
    settings.is_scale_known = true;
    let mut cached = None;
    let plan = WorkloadPlan {
        // A script has no tables of its own: the data is that of the workload whose tables it uses.
        name: match scenario.script {
            Some(_) => scenario.data_workload().to_owned(),
            None => scenario.workload.clone(),
        },
        scale: None,
        options: scenario.options.clone(),
    };
    let exporter_url = args.flags.input.server_metrics.as_ref();
    let exporter_url = exporter_url.map(|url| url.value.as_str());
    if let Some(sizing) = sizing::choose_scale(&mut control, &args.cached, &plan, exporter_url)? {
        output::notice(&sizing.description());
        settings.size = scenario.size_at_scale(sizing.scale);
        size_share = sizing.scale as f64 / scenario.scale.unwrap_or(sizing.scale).max(1) as f64;
        cached = Some(sizing.cached);
    }
    settings.clients = choose_clients(args, scenario, free_client_connections(&mut control))?;
    settings.threads = commands::thread_count(settings.clients);
    settings.jobs = args.jobs;
    if let Some(duration) = args.duration {
        settings = settings.with_duration(duration);
    }
    Ok(ScaledScenario {
        settings,
        size_share,
        cached,
    })
}

/// The requested number of clients; else the published number, limited by the server's free connections.
fn choose_clients(
    args: &ReproduceArgs,
    scenario: &Scenario,
    free_connections: Option<u64>,
) -> Result<u64, Failure> {
    if let Some(requested) = args
        .flags
        .input
        .clients
        .as_ref()
        .map(|clients| clients.value)
    {
        return match free_connections.map(|free| free + SPARE_CONNECTIONS) {
            Some(limit) if requested > limit => {
                let message = format!(
                    "--clients: {} are requested, but the server has connections for {}",
                    units::count(requested),
                    units::count(limit),
                );
                let hint = "raise the server's max_connections, or use fewer clients";
                Err(Failure::usage(message, hint))
            }
            _ => Ok(requested),
        };
    }
    let published = scenario.clients.unwrap_or(commands::DEFAULT_CLIENTS);
    Ok(match free_connections.filter(|free| *free < published) {
        None => published,
        Some(free) => {
            output::notice(&format!(
                "Using {} instead of {}: the server has no more free connections.",
                units::count_with_noun(free, "client", "clients"),
                units::count(published),
            ));
            free
        }
    })
}

/// Writes the script, if the scenario has one, to a permanent path, because stored plans name it. Returns the path.
fn write_script(scenario: &Scenario) -> Result<Option<PathBuf>, Failure> {
    let Some(script) = scenario.script else {
        return Ok(None);
    };
    let store = super::stored::open_store()?;
    let path = commands::script_path(store.folder(), script);
    let result = path
        .parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::write(&path, script.text()));
    result.map_err(|error| {
        let message = format!("cannot write the script: {error}");
        Failure::new(
            Exit::Unexpected,
            message,
            "set PRONY_HOME to another folder",
        )
        .at(path.display().to_string())
    })?;
    Ok(Some(path))
}

fn print_commands(
    args: &ReproduceArgs,
    scenario: &Scenario,
    settings: &ScenarioSettings,
    must_load: bool,
) {
    output::notice(&format!(
        "{}: {}, by {}.",
        scenario.id,
        scenario.title,
        scenario.source.name()
    ));
    let url = args.flags.url().map(prony_server::redact);
    let [load, run] =
        commands::load_and_run_commands(scenario, settings, url.as_deref(), &args.flags.input);
    if must_load {
        output::notice(&format!("  {load}"));
    }
    output::notice(&format!("  {run}"));
}

/// Restarts the server if the scenario requires it and the user gave a command; returns whether it restarted. Old
/// tables are dropped first, so that the cache contains no data of an earlier run.
fn restart_if_required(
    args: &ReproduceArgs,
    scenario: &Scenario,
    workload: &dyn Workload,
    target: &Target,
    must_load: bool,
    signals: &Signals,
) -> Result<bool, Failure> {
    match (&args.restart_command, scenario.cold) {
        (None, false) => Ok(false),
        (None, true) => {
            output::notice(
                "The scenario requires a restart before the load, and there is no --restart-command: the caches \
                 are not cold.",
            );
            Ok(false)
        }
        (Some(_), false) => {
            output::notice("The scenario requires no restart: --restart-command is ignored.");
            Ok(false)
        }
        (Some(command), true) => {
            if must_load {
                drop_tables(workload, target, args.flags.url())?;
            }
            server_setup::restart(command, target, signals)
        }
    }
}

/// Loads the data as `prony load` does.
fn load_data(
    args: &ReproduceArgs,
    scenario: &Scenario,
    settings: &ScenarioSettings,
) -> Result<ScenarioLoad, Failure> {
    let input = PlanInput {
        url: args.flags.input.url.clone(),
        ..commands::load_input(scenario, settings)
    };
    let finished = load::run_load(&LoadArgs {
        workload: scenario.data_workload().to_owned(),
        flags: PlanFlags::of(input),
        timeout: TimeoutArgs::default(),
        cached: CachedArgs::default(),
        jobs: settings.jobs,
        seed: commands::DATA_SEED,
        // The size of a scenario is published, or was chosen.
        yes: true,
    })?;
    output::notice(&load_summary(finished.workload, &finished.report));
    server_setup::fail_if_interrupted(&finished.signals)?;
    Ok(scenario_record::scenario_load(&finished.report))
}

/// Returns the existing tables. A failed check is an error only if the tables were just loaded: earlier runs may
/// have changed existing data.
fn check_tables(
    workload: &dyn Workload,
    control: &mut prony_server::Control,
    url: Option<&str>,
    is_newly_loaded: bool,
) -> Result<Vec<String>, Failure> {
    let report = workload
        .check(control)
        .map_err(|error| server::workload_failure(&error, url, None))?;
    let failed = report
        .findings
        .iter()
        .find(|finding| finding.state == FindingState::Wrong);
    if let Some(failed) = failed.filter(|_| is_newly_loaded) {
        let message = format!(
            "the loaded data is wrong: {}",
            failed.render(&PronyCommands::for_url(url))
        );
        let hint = tables::reload_remedy(workload.name()).render(&PronyCommands::for_url(url));
        return Err(Failure::new(Exit::Data, message, hint));
    }
    if is_newly_loaded {
        output::notice("Checked the loaded data: it is complete.");
    }
    Ok(report.tables.into_iter().map(|table| table.name).collect())
}

/// The run request, as `prony run` would build it.
fn run_request(
    args: &ReproduceArgs,
    scenario: &Scenario,
    settings: &ScenarioSettings,
    arguments: &[OsString],
) -> Result<RunRequest, Failure> {
    let input = commands::run_input(scenario, settings).overlay(args.flags.input.clone());
    let input = with_agents_of_environment(input);
    let plan = plan::check_runnable(input.clone(), "the command line")?;
    Ok(RunRequest {
        format: ResultFormat::from_flags(args.json, args.output.full),
        must_store: !args.output.no_store,
        progress_interval: args.output.progress,
        ..RunRequest::new(&input, plan, &without_restart_command(arguments))
    })
}

/// The command line without the restart command, for storage: that command may contain a secret in any
/// form.
fn without_restart_command(arguments: &[OsString]) -> Vec<OsString> {
    const FLAG: &str = "--restart-command";
    let mut is_flag_value = false;
    let stored = arguments.iter().map(|argument| {
        let text = argument.to_string_lossy();
        let stored_argument = match (is_flag_value, text.split_once('=')) {
            (true, _) => "(not stored)".into(),
            (false, Some((FLAG, _))) => format!("{FLAG}=(not stored)").into(),
            _ => argument.clone(),
        };
        is_flag_value = text == FLAG && !is_flag_value;
        stored_argument
    });
    stored.collect()
}

/// Drops the workload's tables, and no others.
fn drop_tables(workload: &dyn Workload, target: &Target, url: Option<&str>) -> Result<(), Failure> {
    let mut control = server::connect(target)?;
    let dropped = workload
        .clean(&mut control)
        .map_err(|error| server::load_or_clean_failure(&error, url, None))?;
    if !dropped.is_empty() {
        output::notice(&format!("Dropped {}.", dropped.join(", ")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    #[test]
    fn the_restart_command_is_not_stored() {
        let arguments = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        for words in [
            &["prony", "--restart-command", "sshpass -p geheim", "x"][..],
            &["prony", "--restart-command=sshpass -p geheim", "x"][..],
        ] {
            let stored = without_restart_command(&arguments(words));
            format!("{stored:?}").assert_lacks("geheim");
            assert_eq!(stored.len(), words.len());
            assert_eq!(stored.last(), arguments(&["x"]).first());
        }
    }
}
