//! A scenario as Prony command lines.
//!
//! Converts a scenario with its size, duration and clients to the arguments of `prony load` and `prony run`, and to
//! the equivalent input, which `reproduce` executes. A password is never shown.

use prony_plan::scenario::{CachedPortion, Scenario, ScenarioScript, ScenarioSize};
use prony_plan::{PlanInput, cpu_count, default_threads, value_from_flag};
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::Value;

/// Number of clients if the publication does not state it.
pub const DEFAULT_CLIENTS: u64 = 64;
/// Seed of the data: the default of `prony load`.
pub const DATA_SEED: u64 = 0;
/// Length of the window if the publication does not state it.
const DEFAULT_DURATION: Duration = Duration::from_secs(60);

#[derive(Clone, Debug)]
pub struct ScenarioSettings {
    pub size: ScenarioSize,
    /// Whether the scale is known, because it is published or was chosen for this run. If not, the load chooses one.
    pub is_scale_known: bool,
    pub clients: u64,
    pub threads: u64,
    /// Connections that load in parallel.
    pub jobs: u32,
    pub warmup: Duration,
    pub duration: Duration,
    /// Path of the script, if the scenario has one.
    pub script: Option<PathBuf>,
}

impl ScenarioSettings {
    /// The published settings, with the default number of threads and the script in the current folder.
    pub fn published(scenario: &Scenario) -> ScenarioSettings {
        let clients = scenario.clients.unwrap_or(DEFAULT_CLIENTS);
        ScenarioSettings {
            size: scenario.size(1.0),
            is_scale_known: scenario.scale.is_some(),
            clients,
            threads: thread_count(clients),
            jobs: 1,
            warmup: scenario.warmup.unwrap_or_default(),
            duration: scenario.duration.unwrap_or(DEFAULT_DURATION),
            script: scenario.script.map(|script| script.file_name().into()),
        }
    }

    /// Sets the length of the window, and shortens the warm-up in proportion.
    pub fn with_duration(mut self, duration: Duration) -> ScenarioSettings {
        let ratio = duration.as_secs_f64() / self.duration.as_secs_f64();
        let warmup_s = (self.warmup.as_secs_f64() * ratio.min(1.0)).ceil();
        self.warmup = Duration::from_secs(warmup_s as u64);
        self.duration = duration;
        self
    }
}

pub fn thread_count(clients: u64) -> u64 {
    default_threads(u32::try_from(clients).unwrap_or(u32::MAX), cpu_count()).into()
}

/// Whether the scenario's tables are read before the run, because all of them should be cached.
pub fn requires_prewarm(scenario: &Scenario) -> bool {
    scenario.cached == Some(CachedPortion::Whole)
}

/// The input of `prony load`.
pub fn load_input(scenario: &Scenario, settings: &ScenarioSettings) -> PlanInput {
    let mut input = base_input(scenario.data_workload(), settings);
    for (name, value) in workload_options(scenario, &settings.size) {
        match name.as_str() {
            "profile" => input.set_option("--profile", &name, Some(value)),
            "table_size" => input.set_option("--option", &name, Some(value)),
            // Other options apply only to the run.
            _ => {}
        }
    }
    input
}

/// The input of `prony run`.
pub fn run_input(scenario: &Scenario, settings: &ScenarioSettings) -> PlanInput {
    let mut input = base_input(&scenario.workload, settings);
    let script = settings.script.as_deref();
    let files = script.map(|path| vec![file_argument(path)]);
    input.set_option("--file", "files", files);
    let mut defines = scenario.define.clone();
    defines.extend(
        settings
            .size
            .hot_set_accounts
            .map(|range| format!("range={range}")),
    );
    let defines = Some(defines).filter(|defines| !defines.is_empty());
    input.set_option("--define", "define", defines);
    for (name, value) in workload_options(scenario, &settings.size) {
        let option_flag = match name.as_str() {
            "profile" => "--profile",
            "home" => "--home",
            _ => "--option",
        };
        input.set_option(option_flag, &name, Some(value));
    }
    PlanInput {
        clients: value_from_flag("--clients", Some(settings.clients)),
        threads: value_from_flag("--threads", Some(settings.threads)),
        protocol: value_from_flag("--protocol", scenario.setup.protocol),
        // Also if it is none: a run without this flag has a warm-up of its own.
        warmup: value_from_flag("--warmup", Some(settings.warmup)),
        duration: value_from_flag("--duration", Some(settings.duration)),
        ..input
    }
}

/// The input that a load and a run share: workload and scale.
fn base_input(workload: &str, settings: &ScenarioSettings) -> PlanInput {
    let scale = settings.is_scale_known.then_some(settings.size.scale);
    PlanInput {
        workload: value_from_flag("WORKLOAD", Some(workload.to_owned())),
        scale: value_from_flag("--scale", scale),
        ..PlanInput::default()
    }
}

/// The command lines of the load and of the run on the server of `url`. `flags` of `reproduce` replace
/// settings of the run.
pub fn load_and_run_commands(
    scenario: &Scenario,
    settings: &ScenarioSettings,
    url: Option<&str>,
    flags: &PlanInput,
) -> [String; 2] {
    let line = |command: &str, input: PlanInput| {
        let url = value_from_flag("--url", url.map(str::to_owned));
        let arguments = PlanInput { url, ..input }.arguments().join(" ");
        format!("prony {command} {arguments}")
    };
    let mut load = line(
        &format!("load {}", scenario.data_workload()),
        load_input(scenario, settings),
    );
    if !settings.is_scale_known {
        load += " --cached 100%";
    }
    if settings.jobs > 1 {
        load += &format!(" --jobs {}", settings.jobs);
    }
    [
        load,
        line(
            &format!("run {}", scenario.workload),
            run_input(scenario, settings).overlay(flags.clone()),
        ),
    ]
}

/// All commands for a user to type, with URL as the placeholder of the server.
pub fn all_commands(scenario: &Scenario, settings: &ScenarioSettings) -> Vec<String> {
    let [load, run] = load_and_run_commands(scenario, settings, Some("URL"), &PlanInput::default());
    let script = scenario.script.map(|script| {
        let file = script.file_name();
        format!("prony scenarios {} --script > {file}", scenario.id)
    });
    let data = scenario.data_workload();
    let check = format!("prony check {data} --url URL");
    let clean = format!("prony clean {data} --url URL");
    script
        .into_iter()
        .chain([load, check, run, clean])
        .collect()
}

/// A script's path in the syntax of `--file`, in which a path that contains `@` needs a weight.
fn file_argument(path: &Path) -> String {
    let path = path.display().to_string();
    if path.contains('@') { format!("{path}@1") } else { path }
}

/// The path of a scenario's script: next to the stored runs, so that the script that a Run names remains
/// available.
pub fn script_path(store: &Path, script: ScenarioScript) -> PathBuf {
    store.join("scenarios").join(script.file_name())
}

/// The workload's options for the scenario, with the number of rows of `size`.
fn workload_options(scenario: &Scenario, size: &ScenarioSize) -> Vec<(String, Value)> {
    let rows = size.table_size.and_then(|rows| i64::try_from(rows).ok());
    let options = scenario.options.iter();
    options
        .map(|(name, value)| {
            let value = match rows {
                Some(rows) if name == "table_size" => Value::from(rows),
                _ => value.clone(),
            };
            (name.clone(), value)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Command, TimeoutArgs, parse};
    use crate::command::plan;
    use prony_assertions::TestFolder;
    use prony_assertions::TextAssertions;
    use prony_plan::Plan;
    use prony_plan::scenario::{all_scenarios, find_scenario};
    use std::ffi::OsString;

    fn parse_line(line: &str) -> Command {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        parse(&words).unwrap_or_else(|failure| panic!("{line}: {failure:?}"))
    }

    fn checked_plan(input: PlanInput) -> Plan {
        plan::check_runnable(input, "a test").unwrap_or_else(|failure| panic!("{failure:?}"))
    }

    #[test]
    fn the_command_lines_of_every_scenario_are_valid() {
        let folder = TestFolder::create();
        std::fs::create_dir_all(folder.join("scenarios")).unwrap();
        for scenario in all_scenarios() {
            for size_share in [1.0, 0.001] {
                let mut settings = ScenarioSettings::published(scenario);
                settings.size = scenario.size(size_share);
                let scale = settings.is_scale_known.then_some(settings.size.scale);
                if let Some(script) = scenario.script {
                    let path = script_path(&folder, script);
                    std::fs::write(&path, script.text()).unwrap();
                    settings.script = Some(path);
                }
                let [load, run] =
                    load_and_run_commands(scenario, &settings, None, &PlanInput::default());
                let Command::Load(args) = parse_line(&load) else {
                    panic!("{} is not loaded", scenario.id);
                };
                let input = load_input(scenario, &settings);
                assert!(input == args.input(), "{}", scenario.id);
                assert_eq!(args.timeout.io_timeout, TimeoutArgs::default().io_timeout);
                assert_eq!(args.seed, DATA_SEED);
                let load_plan = checked_plan(input);
                assert_eq!(
                    load_plan.workload.scale.map(u64::from),
                    scale,
                    "{}",
                    scenario.id
                );
                let Command::Run(args) = parse_line(&run) else {
                    panic!("{} is not run", scenario.id);
                };
                let input = run_input(scenario, &settings);
                assert!(input == args.input(), "{}", scenario.id);
                let plan = checked_plan(input);
                assert_eq!(
                    u64::from(plan.drive.clients),
                    settings.clients,
                    "{}",
                    scenario.id
                );
                assert_eq!(plan.workload.name, scenario.workload);
                if let Some(protocol) = scenario.setup.protocol {
                    assert_eq!(plan.drive.protocol, protocol, "{}", scenario.id);
                }
                assert_eq!(plan.drive.warmup, settings.warmup, "{}", scenario.id);
            }
        }
    }

    #[test]
    fn a_shorter_window_shortens_the_warm_up() {
        let scenario = find_scenario("tpcc-16vcpu-cached").unwrap();
        let settings = ScenarioSettings::published(scenario).with_duration(Duration::from_secs(60));
        assert_eq!(
            (settings.duration.as_secs(), settings.warmup.as_secs()),
            (60, 10)
        );
        let longer =
            ScenarioSettings::published(scenario).with_duration(Duration::from_secs(7_200));
        assert_eq!(longer.warmup.as_secs(), 600);
    }

    #[test]
    fn commands_have_the_flags_that_a_user_would_type() {
        let scenario = find_scenario("tpcc-16vcpu-cached").unwrap();
        assert_eq!(scenario.dialect, prony_store::SqlDialect::PostgreSql);
        let lines = all_commands(scenario, &ScenarioSettings::published(scenario));
        assert_eq!(
            lines[0],
            "prony load tpcc --url URL --scale 576 --profile hammerdb-4.6"
        );
        lines[2].assert_contains("--clients 256");
        lines[2].assert_ends_with("--home all --profile hammerdb-4.6");
        // Without a published scale, a load chooses one, and a run finds it.
        let scenario = find_scenario("mssql-2012-s2.large").unwrap();
        let lines = all_commands(scenario, &ScenarioSettings::published(scenario));
        assert_eq!(
            lines[0],
            "prony load tpcc --url URL --profile hammerdb --cached 100%"
        );
        lines[2].assert_lacks("--scale");
        let scenario = find_scenario("hotset-2c16g-0.1b-ro").unwrap();
        let lines = all_commands(scenario, &ScenarioSettings::published(scenario));
        assert_eq!(
            lines[0],
            "prony scenarios hotset-2c16g-0.1b-ro --script > hot-set-ro.sql"
        );
        lines[3].assert_ends_with("--define range=100000000 --file hot-set-ro.sql");
    }
}
