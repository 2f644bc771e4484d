//! A scenario as command lines of Prony.
//!
//! In: a scenario, and how large, how long and with how many clients it is to be run. Out: the words of
//! `prony load` and `prony run`, which reproduce itself goes by too. Must never: show a password.

use crate::run::host::processors;
use prony_plan::scenario::{Cached, Scenario, Size};
use prony_plan::{Choice, format_duration};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Clients where the document does not say how many.
pub const CLIENTS: u64 = 64;
/// A window where the document does not say how long.
const DURATION: Duration = Duration::from_secs(60);

/// How a scenario is to be run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How much data.
    pub size: Size,
    /// Clients.
    pub clients: u64,
    /// Threads that drive them.
    pub threads: u64,
    /// Connections that load.
    pub jobs: u32,
    /// Warm-up.
    pub warmup: Duration,
    /// Measured window.
    pub duration: Duration,
    /// Where the script is, if it has one.
    pub script: PathBuf,
}

impl Settings {
    /// As published, on this machine's threads, with its script in this folder.
    pub fn published(one: &Scenario) -> Settings {
        let clients = one.clients.unwrap_or(CLIENTS);
        Settings {
            size: one.size(1.0),
            clients,
            threads: threads(clients),
            jobs: 1,
            warmup: one.warmup.unwrap_or_default(),
            duration: one.duration.unwrap_or(DURATION),
            script: one.script.map_or("", |script| script.file()).into(),
        }
    }

    /// With another window; a warm-up is shortened as much.
    pub fn measured(mut self, duration: Duration) -> Settings {
        let part = duration.as_secs_f64() / self.duration.as_secs_f64();
        let warmup_s = (self.warmup.as_secs_f64() * part.min(1.0)).ceil();
        self.warmup = Duration::from_secs(warmup_s as u64);
        self.duration = duration;
        self
    }
}

/// As many threads as this machine has CPUs: Prony needs no thread a client.
pub fn threads(clients: u64) -> u64 {
    (processors() as u64).clamp(1, clients.max(1))
}

/// Whether its tables are read before the run: all of them are to be cached.
pub fn is_prewarmed(one: &Scenario) -> bool {
    one.cached == Some(Cached::Whole)
}

/// The words of `prony load`; `url` as it is to be used.
pub fn load(one: &Scenario, settings: &Settings, url: Option<&str>) -> Vec<String> {
    let mut words = vec!["prony".to_owned(), "load".to_owned(), one.data().to_owned()];
    add_url(&mut words, url);
    add(&mut words, "--scale", settings.size.scale);
    for (name, value) in options(one, &settings.size) {
        // The rest is about the run.
        match name.as_str() {
            "profile" => add(&mut words, "--profile", value),
            "table_size" => add(&mut words, "-o", format!("{name}={value}")),
            _ => {}
        }
    }
    if settings.jobs > 1 {
        add(&mut words, "--jobs", settings.jobs);
    }
    words
}

/// The words of `prony run`.
pub fn run(one: &Scenario, settings: &Settings, url: Option<&str>) -> Vec<String> {
    let mut words = vec!["prony".to_owned(), "run".to_owned(), one.workload.clone()];
    if one.script.is_some() {
        // With its weight: what stands behind the last @ is one.
        add(&mut words, "--file", weighted(&settings.script));
    }
    for define in &one.define {
        add(&mut words, "-D", define);
    }
    if let Some(range) = settings.size.range {
        add(&mut words, "-D", format!("range={range}"));
    }
    add_url(&mut words, url);
    add(&mut words, "--scale", settings.size.scale);
    for (name, value) in options(one, &settings.size) {
        match name.as_str() {
            "profile" | "home" => add(&mut words, &format!("--{name}"), value),
            _ => add(&mut words, "-o", format!("{name}={value}")),
        }
    }
    add(&mut words, "--clients", settings.clients);
    add(&mut words, "--threads", settings.threads);
    if let Some(protocol) = one.protocol {
        add(&mut words, "--protocol", protocol.name());
    }
    if !settings.warmup.is_zero() {
        add(&mut words, "--warmup", format_duration(settings.warmup));
    }
    add(&mut words, "--duration", format_duration(settings.duration));
    words
}

/// All of it for a person to type; the server is left to the environment or a placeholder.
pub fn commands(one: &Scenario, settings: &Settings) -> Vec<String> {
    let url = Some("URL");
    let mut lines = Vec::new();
    if let Some(script) = one.script {
        lines.push(format!(
            "prony scenarios {} --script > {}",
            one.id,
            script.file()
        ));
    }
    lines.push(load(one, settings, url).join(" "));
    lines.push(format!("prony check {} --url URL", one.data()));
    lines.push(run(one, settings, url).join(" "));
    lines.push(format!("prony clean {} --url URL", one.data()));
    lines
}

/// A script's path as `--file` reads it.
fn weighted(path: &Path) -> String {
    let path = path.display().to_string();
    match path.contains('@') {
        true => format!("{path}@1"),
        false => path,
    }
}

/// Where scripts are kept: beside the runs, so that what a Run names can be run again.
pub fn script_place(store: &Path, one: &Scenario) -> PathBuf {
    let file = one.script.map_or("", |script| script.file());
    store.join("scenarios").join(file)
}

fn add(words: &mut Vec<String>, name: &str, value: impl ToString) {
    words.extend([name.to_owned(), value.to_string()]);
}

fn add_url(words: &mut Vec<String>, url: Option<&str>) {
    if let Some(url) = url {
        add(words, "--url", url);
    }
}

/// Options of the workload with the rows of this size, as text.
fn options(one: &Scenario, size: &Size) -> Vec<(String, String)> {
    let options = one.options.iter();
    options
        .map(|(name, value)| {
            let rows = size.table_size.filter(|_| name == "table_size");
            let text = match (rows, value.as_str()) {
                (Some(rows), _) => rows.to_string(),
                (None, Some(text)) => text.to_owned(),
                (None, None) => value.to_string(),
            };
            (name.clone(), text)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Command, parse};
    use crate::command::plan;
    use prony_plan::scenario::{Engine, each, find};
    use prony_plan::{Asked, Plan, flag};
    use std::ffi::OsString;

    fn typed(words: &[String]) -> Command {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        parse(&words).unwrap_or_else(|failure| panic!("{words:?}: {failure:?}"))
    }

    fn planned(asked: Asked) -> Plan {
        plan::runnable(asked, "a test").unwrap_or_else(|failure| panic!("{failure:?}"))
    }

    #[test]
    fn the_command_lines_of_every_row_are_checked_plans() {
        let folder = std::env::temp_dir().join(format!("prony-words-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("scenarios")).unwrap();
        for one in each() {
            for shrink in [1.0, 0.001] {
                let mut settings = Settings::published(one);
                settings.size = one.size(shrink);
                settings.script = script_place(&folder, one);
                if let Some(script) = one.script {
                    std::fs::write(&settings.script, script.text()).unwrap();
                }
                let Command::Load(args) = typed(&load(one, &settings, None)) else {
                    panic!("{} is not loaded", one.id);
                };
                let mut asked = Asked::default();
                asked.workload = flag("WORKLOAD", Some(args.workload.clone()));
                asked.scale = flag("--scale", args.scale);
                crate::args::add_options(&mut asked, &args.options);
                let profile = args.profile.clone().map(Into::into);
                asked.add_option_value("--profile", "profile", profile);
                let loaded = planned(asked);
                assert_eq!(
                    loaded.workload.scale.map(u64::from),
                    Some(settings.size.scale)
                );
                let Command::Run(args) = typed(&run(one, &settings, None)) else {
                    panic!("{} is not run", one.id);
                };
                let plan = planned(args.asked());
                assert_eq!(
                    u64::from(plan.drive.clients),
                    settings.clients,
                    "{}",
                    one.id
                );
                assert_eq!(plan.workload.name, one.workload);
                if let Some(protocol) = one.protocol {
                    assert_eq!(plan.drive.protocol, protocol, "{}", one.id);
                }
                assert_eq!(plan.drive.warmup, settings.warmup, "{}", one.id);
            }
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_shorter_window_shortens_the_warm_up() {
        let one = find("tpcc-16vcpu-cached").unwrap();
        let settings = Settings::published(one).measured(Duration::from_secs(60));
        assert_eq!(
            (settings.duration.as_secs(), settings.warmup.as_secs()),
            (60, 10)
        );
        let longer = Settings::published(one).measured(Duration::from_secs(7_200));
        assert_eq!(longer.warmup.as_secs(), 600);
    }

    #[test]
    fn commands_name_what_a_person_would_type() {
        let one = find("tpcc-16vcpu-cached").unwrap();
        assert_eq!(one.engine, Engine::PostgreSql);
        let lines = commands(one, &Settings::published(one));
        assert_eq!(
            lines[0],
            "prony load tpcc --url URL --scale 576 --profile hammerdb-4.6"
        );
        assert!(
            lines[2].contains("--home all --profile hammerdb-4.6 --clients 256"),
            "{lines:?}"
        );
        let one = find("hotset-2c16g-0.1b-ro").unwrap();
        let lines = commands(one, &Settings::published(one));
        assert_eq!(
            lines[0],
            "prony scenarios hotset-2c16g-0.1b-ro --script > hot-set-ro.sql"
        );
        assert!(
            lines[3].contains("--file hot-set-ro.sql -D range=100000000"),
            "{lines:?}"
        );
    }
}
