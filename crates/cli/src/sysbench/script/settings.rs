//! From sysbench's command line to what a script is run with.
//!
//! In: options as texts. Out: a script's [`Settings`]. Must never: put a password into an argument list.

use super::super::call::{Call, Ended, print};
use super::super::host::System;
use super::ear::Ear;
use super::refuses;
use prony_dialect::sysbench::{
    Compat, Driver, NO_DRIVER, NOT_CONNECTED, Printed, Random as AskedRandom, Script, ScriptSource,
    Sort, driver, find_option, ps_mode,
};
use prony_plan::QueryMode;
use prony_workload::lua::{self, Given, Random, Settings, Value};
use prony_workload::oltp::distribution::Distribution;
use std::io::{IsTerminal, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How long a script may run without asking for anything, seconds.
const PATIENCE_VARIABLE: &str = "PRONY_LUA_PATIENCE";
/// Memory that a state may use, MiB.
const MEMORY_VARIABLE: &str = "PRONY_LUA_MEMORY";

/// What a script is run with. `end` ends all at once.
///
/// # Errors
/// It cannot be read.
pub fn of(
    call: &Call,
    asked: &Script,
    server: &super::Server,
    ear: &Arc<Ear>,
    end: Arc<AtomicBool>,
) -> Result<Settings, Ended> {
    let settings = &asked.settings;
    let database = &settings.database;
    let compat = settings.compat;
    let arguments = call.shown.iter().cloned();
    let (path, text) = read(asked)?;
    // Who asked for another one is told when threads begin.
    let driver = driver(database).unwrap_or(Driver::Mysql);
    Ok(Settings {
        text,
        path,
        newer: compat == Compat::V1_1,
        version: compat.version().to_owned(),
        version_string: compat.version_text().trim_end().to_owned(),
        argv: std::iter::once("sysbench".to_owned())
            .chain(arguments)
            .collect(),
        command: asked.command.clone(),
        general: general(asked),
        given: asked.extras.iter().map(given).collect(),
        threads: settings.threads,
        driver,
        server: server.as_ref().ok().map(|(_, target)| target.clone()),
        mode: ps_mode(database).unwrap_or(QueryMode::Prepared),
        no_driver: missing(server, NO_DRIVER),
        no_server: missing(server, NOT_CONNECTED),
        ignored: database.mysql.ignored.clone(),
        random: random(&settings.random),
        search_path: System::default().search().to_owned(),
        c_search_path: variable("LUA_CPATH").map(|path| path.replace(";;", ";./?.so;")),
        memory_limit_bytes: number(MEMORY_VARIABLE)
            .map_or(Settings::MEMORY_LIMIT_BYTES, |mib| (mib as usize) << 20),
        patience_s: number(PATIENCE_VARIABLE).unwrap_or(Settings::PATIENCE_S),
        end,
        listener: Arc::clone(ear) as Arc<dyn lua::Listener>,
    })
}

/// The lines of the log about this one of what can be missing.
fn missing(server: &super::Server, what: &str) -> Option<String> {
    let (lines, missing) = server.as_ref().err()?;
    (*missing == what).then(|| lines.clone())
}

fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

fn number(name: &str) -> Option<u64> {
    variable(name)?
        .trim()
        .parse()
        .ok()
        .filter(|number| *number > 0)
}

/// The script's path, as messages name it, and its text.
fn read(asked: &Script) -> Result<(String, Vec<u8>), Ended> {
    let ScriptSource::File(path) = &asked.source else {
        // Whoever types is told that it is time.
        if std::io::stdin().is_terminal() {
            print(&Printed {
                stdout: "Reading the script from the standard input:\n\n".to_owned(),
                stderr: String::new(),
            });
        }
        let mut text = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut text);
        read.map_err(|error| refuses(&format!("standard input cannot be read: {error}\n")))?;
        return Ok(("-".to_owned(), text));
    };
    let text = std::fs::read(path)
        .map_err(|error| refuses(&format!("cannot open {}: {error}\n", path.display())))?;
    // A file that was named is named alike in messages.
    let shown = match Path::new(&asked.name) == path {
        true => asked.name.clone(),
        false => path.display().to_string(),
    };
    Ok((shown, text))
}

/// The general options with their types. Scripts may read the passwords.
fn general(asked: &Script) -> Vec<(String, Value)> {
    let compat = asked.settings.compat;
    let database = &asked.settings.database;
    let value = |(name, text): (&String, &String)| {
        let sort = find_option(compat, name).map_or(Sort::Text, |spec| spec.sort);
        let value = match sort {
            Sort::Bool => Value::Switch(text == "on"),
            Sort::Int | Sort::Double => Value::Number(text.trim().parse().unwrap_or(0.0)),
            Sort::Size => Value::Number(match name.as_str() {
                "thread_stack_size" => asked.settings.thread_stack_bytes as f64,
                _ => text.trim().parse().unwrap_or(0.0),
            }),
            Sort::Text | Sort::File => Value::Text(text.clone()),
            Sort::List => {
                let items = text.split(',').filter(|item| !item.is_empty());
                Value::List(items.map(str::to_owned).collect())
            }
        };
        (name.clone(), value)
    };
    let password = |name: &str, password: &str| (name.to_owned(), Value::Text(password.to_owned()));
    // Those two are no options of the test.
    let shown = |name: &str| !matches!(name, "config_file" | "test");
    let values = asked.values.iter().filter(|(name, _)| shown(name));
    let mut all: Vec<_> = values.map(value).collect();
    all.push(password("mysql_password", database.mysql.password.reveal()));
    all.push(password("pgsql_password", database.pgsql.password.reveal()));
    for (name, value) in &mut all {
        // The deprecated names may have set them.
        let number = match name.as_str() {
            "threads" => f64::from(asked.settings.threads),
            "time" => f64::from(asked.settings.time_s.unwrap_or(0)),
            "events" => asked.settings.events.unwrap_or(0) as f64,
            _ => continue,
        };
        *value = Value::Number(number);
    }
    all
}

fn given(given: &prony_dialect::sysbench::Given) -> Given {
    Given {
        name: given.name.clone(),
        value: given.value.clone(),
        shown: given.shown(),
        from_file: given.from_file,
    }
}

fn random(asked: &AskedRandom) -> Random {
    let iterations = u32::try_from(asked.spec_iterations).unwrap_or(1).max(1);
    let pct = |pct: i32| u32::try_from(pct).unwrap_or(0).min(100);
    let (part_pct, share_pct) = (pct(asked.spec_pct), pct(asked.spec_res));
    // Outside of their ranges there are no such distributions.
    let pareto_h = asked.pareto_h.clamp(1e-6, 1.0 - 1e-6);
    let zipfian_exponent = asked.zipfian_exponent.max(1e-6);
    Random {
        default: match asked.kind.as_str() {
            "uniform" => Distribution::Uniform,
            "gaussian" => Distribution::Gaussian { iterations },
            "pareto" => Distribution::Pareto { h: pareto_h },
            "zipfian" => Distribution::Zipfian {
                exponent: zipfian_exponent,
            },
            _ => Distribution::Special {
                iterations,
                part_pct,
                share_pct,
            },
        },
        iterations,
        part_pct,
        share_pct,
        pareto_h,
        zipfian_exponent,
    }
}
