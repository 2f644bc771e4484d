//! The options of the script workload: which scripts with which weights, which variables.
//!
//! In: a plan's options. Out: scripts that have been read, or every problem with them. Must never:
//! ask a server.

use super::ast::{CommandKind, Script};
use super::builtin::builtin;
use super::error::ScriptError;
use super::variables::{Names, is_valid_name};
use crate::Error;
use prony_plan::WorkloadPlan;
use std::collections::BTreeMap;

/// The language is that of this major version of pgbench.
pub(super) const LEVEL: u32 = 18;

/// Keys of the options.
pub(super) const KEYS: &[&str] = &["builtin", "define", "files"];

/// Scripts a run may have, as many as pgbench takes.
const SCRIPTS_MAX: usize = 128;

/// Statements of all scripts together: they are numbered with 16 bits.
const STATEMENTS_MAX: usize = 65_535;

/// Bytes of one script.
const FILE_MAX: u64 = 64 * 1024 * 1024;

/// The scripts and variables that a plan names.
pub struct ScriptSet {
    /// In order.
    pub scripts: Vec<Script>,
    /// The names of all their variables.
    pub names: Names,
    /// Names and texts, in the order given.
    pub defines: Vec<(String, String)>,
    /// Whether a builtin script is among them.
    pub builtin: bool,
}

/// Whether a plan names a builtin script.
pub(super) fn has_builtin(plan: &WorkloadPlan) -> bool {
    plan.options.contains_key("builtin")
}

/// Reads all that a plan names: files first, then builtin scripts, each in its order.
pub(super) fn read(plan: &WorkloadPlan) -> Result<ScriptSet, Vec<Error>> {
    let mut problems = Vec::new();
    let mut names = Names::new();
    let mut scripts = Vec::new();
    let mut take = |read: Result<Script, Error>| match read {
        Ok(script) => scripts.push(script),
        Err(error) => problems.push(error),
    };
    let (files, builtins) = (texts(plan, "files"), texts(plan, "builtin"));
    let mut forms = Vec::new();
    for spec in files.unwrap_or_else(|error| forms_of(&mut forms, error)) {
        take(weighted(&spec, |name| file(&mut names, name)));
    }
    let builtins = builtins.unwrap_or_else(|error| forms_of(&mut forms, error));
    for spec in &builtins {
        take(weighted(spec, |name| {
            builtin(name)
                .and_then(|builtin| builtin.parse(&mut names, LEVEL))
                .map_err(|error| in_words(&error))
        }));
    }
    let defines = defines(plan).unwrap_or_else(|error| {
        forms.push(error);
        Vec::new()
    });
    problems.extend(forms);
    if problems.is_empty() {
        problems.extend(fits(&scripts));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(ScriptSet {
        scripts,
        names,
        defines,
        builtin: !builtins.is_empty(),
    })
}

fn forms_of(forms: &mut Vec<Error>, error: Error) -> Vec<String> {
    forms.push(error);
    Vec::new()
}

/// What is wrong with the scripts together, or with what they ask of a native run.
fn fits(scripts: &[Script]) -> Option<Error> {
    if scripts.is_empty() {
        return Some(asked(
            "the script workload needs a script",
            "--file a.sql, or --builtin tpcb-like; in a plan files = [\"a.sql\"]",
        ));
    }
    if scripts.len() > SCRIPTS_MAX {
        return Some(asked(
            &format!("at most {SCRIPTS_MAX} scripts are allowed"),
            "join some of them",
        ));
    }
    if scripts.iter().all(|script| script.weight == 0) {
        return Some(asked(
            "total script weight must not be zero",
            "give one script a weight above 0, as in a.sql@1",
        ));
    }
    let statements = scripts.iter().map(|script| script.statements().count());
    if statements.sum::<usize>() > STATEMENTS_MAX {
        return Some(asked(
            &format!("the scripts have more than {STATEMENTS_MAX} statements"),
            "shorten them",
        ));
    }
    scripts.iter().find_map(shell)
}

/// A shell command would hold up every user of its thread.
fn shell(script: &Script) -> Option<Error> {
    let command = script.commands.iter().find(|command| {
        matches!(
            command.kind,
            CommandKind::Shell(_) | CommandKind::SetShell { .. }
        )
    })?;
    Some(asked(
        &format!(
            "{}:{}: \\{} is not available here: {}",
            script.name,
            command.line,
            command.word(),
            command.first_line
        ),
        "a shell command would stop all users of its thread while it runs; give its result with \
         --define NAME=VALUE",
    ))
}

/// What the extended protocol's messages, or simple mode, cannot carry.
pub(super) fn protocol_problem(script: &Script, simple: bool) -> Option<String> {
    for command in &script.commands {
        match &command.kind {
            CommandKind::Sql(sql) if !simple => {
                if let Err(error) = sql.check_parameters() {
                    return Some(format!("{}:{}: {error}", script.name, command.line));
                }
            }
            CommandKind::StartPipeline if simple => {
                return Some(format!(
                    "{}:{}: cannot use pipeline mode with the simple query protocol",
                    script.name, command.line
                ));
            }
            _ => {}
        }
    }
    None
}

/// Texts of an option: a list, or one alone.
fn texts(plan: &WorkloadPlan, key: &str) -> Result<Vec<String>, Error> {
    let wrong = || {
        asked(
            &format!("option \"{key}\" of the script workload is not a list of texts"),
            &format!("{key} = [\"...\", \"...\"]"),
        )
    };
    match plan.options.get(key) {
        None => Ok(Vec::new()),
        Some(value) => match (value.as_str(), value.as_array()) {
            (Some(text), _) => Ok(vec![text.to_owned()]),
            (_, Some(list)) => list
                .iter()
                .map(|one| one.as_str().map(str::to_owned).ok_or_else(wrong))
                .collect(),
            _ => Err(wrong()),
        },
    }
}

/// Variables: a list of `NAME=VALUE`, or a table.
fn defines(plan: &WorkloadPlan) -> Result<Vec<(String, String)>, Error> {
    let table = plan
        .options
        .get("define")
        .and_then(|value| value.as_table());
    let pairs = match table {
        Some(table) => {
            let mut pairs = BTreeMap::new();
            for (name, value) in table {
                // A text as it is, a number or a boolean as it is written.
                let text = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                pairs.insert(name.clone(), text);
            }
            pairs.into_iter().collect()
        }
        None => {
            let mut pairs = Vec::new();
            for text in texts(plan, "define")? {
                match text.split_once('=') {
                    Some((name, value)) if !name.is_empty() => {
                        pairs.push((name.to_owned(), value.to_owned()));
                    }
                    _ => {
                        return Err(asked(
                            &format!("invalid variable definition: \"{text}\""),
                            "--define NAME=VALUE",
                        ));
                    }
                }
            }
            pairs
        }
    };
    match pairs.iter().find(|(name, _)| !is_valid_name(name, LEVEL)) {
        None => Ok(pairs),
        Some((name, _)) => Err(asked(
            &format!("option: invalid variable name: \"{name}\""),
            "letters, digits and underscores, no digit first",
        )),
    }
}

/// A script named `NAME` or `NAME@WEIGHT`.
fn weighted(spec: &str, read: impl FnOnce(&str) -> Result<Script, Error>) -> Result<Script, Error> {
    let hint = "NAME@WEIGHT, with a whole number that says how often, against the others";
    let (name, weight) = match spec.rsplit_once('@') {
        None => (spec, 1),
        Some((name, digits)) => {
            let number: i128 = digits
                .parse()
                .map_err(|_| asked(&format!("invalid weight specification: @{digits}"), hint))?;
            let weight = u32::try_from(number).ok().filter(|w| *w <= i32::MAX as u32);
            let weight = weight.ok_or_else(|| {
                let most = i32::MAX;
                let problem = format!("weight specification out of range (0 .. {most}): {number}");
                asked(&problem, hint)
            })?;
            (name, weight)
        }
    };
    let mut script = read(name)?;
    script.weight = weight;
    Ok(script)
}

fn file(names: &mut Names, name: &str) -> Result<Script, Error> {
    let cannot = |error: &dyn std::fmt::Display| {
        asked(
            &format!("could not open file \"{name}\": {error}"),
            "a path from the folder in which prony was started",
        )
    };
    let facts = std::fs::metadata(name).map_err(|error| cannot(&error))?;
    if facts.is_dir() {
        return Err(cannot(&"it is a folder"));
    }
    if facts.len() > FILE_MAX {
        return Err(cannot(&"it is larger than 64 MiB"));
    }
    let bytes = std::fs::read(name).map_err(|error| cannot(&error))?;
    let text = String::from_utf8(bytes).map_err(|_| cannot(&"it is not text in UTF-8"))?;
    Script::parse(names, name, &text, LEVEL).map_err(|error| in_words(&error))
}

/// A script's error with a hint that shows where.
fn in_words(error: &ScriptError) -> Error {
    let hint = match error {
        ScriptError::Syntax(syntax) => match (&syntax.text, syntax.column) {
            (Some(text), Some(column)) => format!("column {} of: {text}", column + 1),
            (Some(text), None) => format!("in: {text}"),
            _ => "scripts are written in pgbench's language".to_owned(),
        },
        ScriptError::Builtin { .. } => {
            "the builtin scripts are tpcb-like, simple-update and select-only".to_owned()
        }
        _ => "scripts are written in pgbench's language".to_owned(),
    };
    asked(&error.to_string(), &hint)
}

/// A mistake in what is asked.
pub(super) fn asked(problem: &str, hint: &str) -> Error {
    Error::Asked {
        problem: problem.to_owned(),
        hint: hint.to_owned(),
    }
}
