//! Converts sysbench's command line to a script's [`ScriptSettings`].
//!
//! Must never: put a password into an argument list.

use super::super::call::{CommandError, SysbenchCall, print_usage_error};
use super::super::connection::ResolvedServer;
use super::super::host::ProcessHost;
use super::logger::ScriptLogger;
use crate::output::print;
use crate::process::env_var;
use prony_dialect::sysbench::{
    Compat, Driver, NO_DRIVER, NOT_CONNECTED, RandomOptions, ScriptCommand, ScriptSource,
    ValueType, find_general_option, parse_driver, parse_ps_mode,
};
use prony_plan::QueryMode;
use prony_workload::lua::{self, RandomSettings, ScriptOption, ScriptOptionValue, ScriptSettings};
use prony_workload::oltp::distribution::Distribution;
use std::io::{IsTerminal, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The environment variable with the time limit of a script between two queries, in seconds.
const QUERY_GAP_VARIABLE: &str = "PRONY_LUA_PATIENCE";
/// The environment variable with the memory limit of a Lua state, in MiB.
const MEMORY_VARIABLE: &str = "PRONY_LUA_MEMORY";

/// The settings of a script. `scripts_must_end`: the flag that ends the run when it is set.
pub fn script_settings(
    call: &SysbenchCall,
    command: &ScriptCommand,
    server: &ResolvedServer,
    logger: &Arc<ScriptLogger>,
    scripts_must_end: Arc<AtomicBool>,
) -> Result<ScriptSettings, CommandError> {
    let settings = &command.settings;
    let database = &settings.database;
    let compat = settings.compat;
    let arguments = call.redacted_arguments.iter().cloned();
    let (path, text) = read_script(command)?;
    logger.set_script(&text, command.command.as_deref());
    // The driver is invalid only if `server` is an error, which is reported when threads start.
    let driver = parse_driver(database).unwrap_or(Driver::Mysql);
    Ok(ScriptSettings {
        text,
        path,
        name: match Path::new(&command.name).file_name() {
            Some(name) => name.to_string_lossy().into_owned(),
            None => command.name.clone(),
        },
        is_v1_1: compat == Compat::V1_1,
        version: compat.version().to_owned(),
        version_string: compat.version_text().trim_end().to_owned(),
        argv: std::iter::once("sysbench".to_owned())
            .chain(arguments)
            .collect(),
        command: command.command.clone(),
        general_options: general_options(command),
        script_options: command.extras.iter().map(script_option).collect(),
        threads: settings.threads,
        driver,
        server: server.as_ref().ok().map(|(_, target)| target.clone()),
        query_mode: parse_ps_mode(database).unwrap_or(QueryMode::Prepared),
        missing_driver_message: failure_lines(server, NO_DRIVER),
        missing_server_message: failure_lines(server, NOT_CONNECTED),
        ignored_errors: database.mysql.ignored_errors.clone(),
        random: random_settings(&settings.random),
        search_path: ProcessHost::default().search_path().to_owned(),
        c_search_path: env_var("LUA_CPATH").map(|path| path.replace(";;", ";./?.so;")),
        memory_limit_bytes: positive_env_var(MEMORY_VARIABLE)
            .map_or(ScriptSettings::DEFAULT_MEMORY_LIMIT_BYTES, |mib| {
                (mib as usize) << 20
            }),
        max_query_gap_s: positive_env_var(QUERY_GAP_VARIABLE)
            .unwrap_or(ScriptSettings::DEFAULT_MAX_QUERY_GAP_S),
        files: None,
        scripts_must_end,
        listener: Arc::clone(logger) as Arc<dyn lua::Listener>,
    })
}

/// The log lines to print if the server is unusable for this reason; `None` if it is usable, or unusable for
/// another reason.
fn failure_lines(server: &ResolvedServer, reason: &str) -> Option<String> {
    let (lines, server_reason) = server.as_ref().err()?;
    (*server_reason == reason).then(|| lines.clone())
}

/// The environment variable's value, if it is a number above 0.
fn positive_env_var(name: &str) -> Option<u64> {
    let number = env_var(name)?.trim().parse().ok();
    number.filter(|number| *number > 0)
}

/// Reads a script. Returns its path, for messages, and its text.
fn read_script(command: &ScriptCommand) -> Result<(String, Vec<u8>), CommandError> {
    if let ScriptSource::Bundled(name) = &command.source {
        let text = lua::bundled_script(name).unwrap_or_default();
        return Ok((format!("{name}.lua"), text.as_bytes().to_vec()));
    }
    let ScriptSource::File(path) = &command.source else {
        // On a terminal, tell the user that input is expected.
        if std::io::stdin().is_terminal() {
            print("Reading the script from the standard input:\n\n");
        }
        let mut text = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut text);
        read.map_err(|error| print_usage_error(&format!("cannot read standard input: {error}\n")))?;
        return Ok(("-".to_owned(), text));
    };
    let text = std::fs::read(path).map_err(|error| {
        print_usage_error(&format!("cannot open {}: {error}\n", path.display()))
    })?;
    // If the command line names the file itself, messages show that name.
    let displayed_path = if Path::new(&command.name) == path {
        command.name.clone()
    } else {
        path.display().to_string()
    };
    Ok((displayed_path, text))
}

/// The general options as typed values. Scripts may read the passwords.
fn general_options(command: &ScriptCommand) -> Vec<(String, ScriptOptionValue)> {
    let compat = command.settings.compat;
    let database = &command.settings.database;
    let typed_option = |(name, text): (&String, &String)| {
        let value_type =
            find_general_option(compat, name).map_or(ValueType::Text, |spec| spec.value_type);
        let value = match value_type {
            ValueType::Bool => ScriptOptionValue::Switch(text == "on"),
            ValueType::Int | ValueType::Double => {
                ScriptOptionValue::Number(text.trim().parse().unwrap_or(0.0))
            }
            ValueType::Size => ScriptOptionValue::Number(match name.as_str() {
                "thread_stack_size" => command.settings.thread_stack_bytes as f64,
                _ => text.trim().parse().unwrap_or(0.0),
            }),
            ValueType::Text | ValueType::File => ScriptOptionValue::Text(text.clone()),
            ValueType::List => {
                let items = text.split(',').filter(|item| !item.is_empty());
                ScriptOptionValue::List(items.map(str::to_owned).collect())
            }
        };
        (name.clone(), value)
    };
    // Scripts do not get `config_file` and `test` as options.
    let is_test_option = |name: &str| !matches!(name, "config_file" | "test");
    let values = command.values.iter();
    let values = values.filter(|(name, _)| is_test_option(name));
    let mut options: Vec<_> = values.map(typed_option).collect();
    for (name, password) in [
        ("mysql_password", &database.mysql.password),
        ("pgsql_password", &database.pgsql.password),
    ] {
        let password = ScriptOptionValue::Text(password.reveal().to_owned());
        options.push((name.to_owned(), password));
    }
    for (name, value) in &mut options {
        // Read these values from the settings, which also apply the deprecated options.
        let number = match name.as_str() {
            "threads" => f64::from(command.settings.threads),
            "time" => f64::from(command.settings.time_s.unwrap_or(0)),
            "events" => command.settings.events.unwrap_or(0) as f64,
            _ => continue,
        };
        *value = ScriptOptionValue::Number(number);
    }
    options
}

fn script_option(option: &prony_dialect::sysbench::RawOption) -> ScriptOption {
    ScriptOption {
        name: option.name.clone(),
        value: option.value.clone(),
        display_text: option.redacted(),
        is_from_file: option.from_file,
    }
}

fn random_settings(options: &RandomOptions) -> RandomSettings {
    let iterations = u32::try_from(options.spec_iterations).unwrap_or(1).max(1);
    let pct = |pct: i32| u32::try_from(pct).unwrap_or(0).min(100);
    let (spec_pct, spec_res) = (pct(options.spec_pct), pct(options.spec_res));
    // Clamp the parameters to the ranges in which the distributions are defined.
    let pareto_h = options.pareto_h.clamp(1e-6, 1.0 - 1e-6);
    let zipfian_exponent = options.zipfian_exponent.max(1e-6);
    RandomSettings {
        default_distribution: match options.distribution.as_str() {
            "uniform" => Distribution::Uniform,
            "gaussian" => Distribution::Gaussian { iterations },
            "pareto" => Distribution::Pareto { h: pareto_h },
            "zipfian" => Distribution::Zipfian {
                exponent: zipfian_exponent,
            },
            _ => Distribution::Special {
                iterations,
                spec_pct,
                spec_res,
            },
        },
        iterations,
        spec_pct,
        spec_res,
        pareto_h,
        zipfian_exponent,
    }
}
