//! The options of the script workload: scripts with their weights, and variables. Reading them returns the
//! parsed scripts, or all problems with them, and needs no server.

use super::ast::{CommandKind, Script};
use super::builtin::find_builtin;
use super::error::ScriptError;
use super::variables::{VariableNames, is_valid_name};
use crate::describe::OptionKind::Texts;
use crate::describe::OptionSpec;
use crate::option_reader::option_specs;
use crate::{Error, Result};
use prony_plan::{QueryMode, WorkloadPlan, system_error};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The major version of pgbench whose language scripts use.
pub(super) const NATIVE_PGBENCH_VERSION: u32 = 18;

pub(super) const OPTIONS: &[OptionSpec] = option_specs! {
    builtin: Texts, None,
        "pgbench's builtin scripts with weights, as for --builtin: tpcb-like@2, simple-update, select-only";
    define: Texts, None, "Variables of all scripts, as for --define: days=7";
    files: Texts, None, "Files in pgbench's script language with weights, as for --file: pay.sql@3";
};

const FILES: &str = "files";

/// Maximum number of scripts in a run, as in pgbench.
const SCRIPTS_MAX: usize = 128;

/// Maximum size of a script's file, in bytes.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The scripts and variables that a plan names.
pub struct ScriptSet {
    pub scripts: Vec<Script>,
    pub names: VariableNames,
    /// Names and values of the defined variables, in the plan's order.
    pub defines: Vec<(String, String)>,
    pub has_builtin: bool,
}

/// Reads the scripts and variables that a plan names: files first, then builtin scripts, in the plan's order.
pub(super) fn read(plan: &WorkloadPlan) -> Result<ScriptSet, Vec<Error>> {
    let mut problems = Vec::new();
    let mut names = VariableNames::new();
    let mut scripts = Vec::new();
    let mut collect = |result: Result<Script>| match result {
        Ok(script) => scripts.push(script),
        Err(error) => problems.push(error),
    };
    let (files, builtins) = (read_files(plan), read_string_list(plan, "builtin"));
    let mut option_errors = Vec::new();
    for file in files.unwrap_or_else(|error| record_error(&mut option_errors, error)) {
        collect(with_weight(&file.spec, |name| {
            let text = file.text(name)?;
            Script::parse(&mut names, name, &text, NATIVE_PGBENCH_VERSION)
                .map_err(|error| script_error(&error))
        }));
    }
    let builtins = builtins.unwrap_or_else(|error| record_error(&mut option_errors, error));
    for spec in &builtins {
        collect(with_weight(spec, |name| {
            find_builtin(name)
                .and_then(|builtin| builtin.parse(&mut names, NATIVE_PGBENCH_VERSION))
                .map_err(|error| script_error(&error))
        }));
    }
    let defines = read_defines(plan);
    let defines = defines.unwrap_or_else(|error| record_error(&mut option_errors, error));
    problems.extend(option_errors);
    if problems.is_empty() {
        let if_empty = option_error(
            "the script workload needs a script",
            "--file a.sql, or --builtin tpcb-like; in a plan files = [\"a.sql\"]",
        );
        problems.extend(script_set_problem(&scripts, if_empty));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(ScriptSet {
        scripts,
        names,
        defines,
        has_builtin: !builtins.is_empty(),
    })
}

/// Adds the error to `option_errors`, and returns an empty list in place of the option's value.
fn record_error<T>(option_errors: &mut Vec<Error>, error: Error) -> Vec<T> {
    option_errors.push(error);
    Vec::new()
}

/// A problem with the set of scripts, or with a command that native runs do not support; `if_empty` if there is no script.
pub(super) fn script_set_problem(scripts: &[Script], if_empty: Error) -> Option<Error> {
    if scripts.is_empty() {
        return Some(if_empty);
    }
    if scripts.len() > SCRIPTS_MAX {
        return Some(option_error(
            &format!("at most {SCRIPTS_MAX} scripts are allowed"),
            "merge some of them",
        ));
    }
    if scripts.iter().all(|script| script.weight == 0) {
        return Some(option_error(
            "total script weight must not be zero",
            "give one script a weight above 0, as in a.sql@1",
        ));
    }
    scripts.iter().find_map(shell_problem)
}

/// The problem with a script that contains a shell command, which would block all users of its thread.
fn shell_problem(script: &Script) -> Option<Error> {
    let command = script.commands.iter().find(|command| {
        matches!(
            command.kind,
            CommandKind::Shell(_) | CommandKind::SetShell { .. }
        )
    })?;
    Some(option_error(
        &format!(
            "{}:{}: \\{} is not available here: {}",
            script.name,
            command.line,
            command.name(),
            command.first_line()
        ),
        "a shell command would block all users of its thread; run it beforehand and pass its \
         result with --define NAME=VALUE",
    ))
}

/// Why a script cannot run in this mode of the protocol; `None` if it can.
pub(super) fn protocol_problem(script: &Script, protocol: QueryMode) -> Option<String> {
    let is_simple = protocol == QueryMode::Simple;
    for command in &script.commands {
        match &command.kind {
            CommandKind::Sql(sql) if !is_simple => {
                if let Err(error) = sql.check_parameters() {
                    return Some(format!("{}:{}: {error}", script.name, command.line));
                }
            }
            CommandKind::StartPipeline if is_simple => {
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

/// Reads an option that is a list of strings, or a single one; empty if the option is not set.
pub(super) fn read_string_list(plan: &WorkloadPlan, key: &str) -> Result<Vec<String>> {
    let type_error = || {
        option_error(
            &format!(
                "option \"{key}\" of the {} workload is not a list of strings",
                plan.name
            ),
            &format!("{key} = [\"...\", \"...\"]"),
        )
    };
    match plan.options.get(key) {
        None => Ok(Vec::new()),
        Some(value) => match (value.as_str(), value.as_array()) {
            (Some(text), _) => Ok(vec![text.to_owned()]),
            (_, Some(list)) => list
                .iter()
                .map(|item| item.as_str().map(str::to_owned).ok_or_else(type_error))
                .collect(),
            _ => Err(type_error()),
        },
    }
}

pub(super) struct ScriptFile {
    /// `NAME` or `NAME@WEIGHT`.
    pub spec: String,
    /// Its text, if the plan has it.
    text: Option<String>,
}

impl ScriptFile {
    /// The file's text, from the plan or from the file `name`.
    pub fn text(&self, name: &str) -> Result<Cow<'_, str>> {
        match &self.text {
            Some(text) => Ok(text.into()),
            None => read_text(name).map(Cow::from),
        }
    }
}

/// Reads the option `files`: names, or tables with `name` and `text`, as [`with_texts_of_files`] writes them.
pub(super) fn read_files(plan: &WorkloadPlan) -> Result<Vec<ScriptFile>> {
    let list = plan.options.get(FILES).and_then(|value| value.as_array());
    let with_texts = list.and_then(|list| {
        let files = list.iter().map(|item| {
            let part = |key: &str| item.get(key)?.as_str().map(str::to_owned);
            Some(ScriptFile {
                spec: part("name")?,
                text: Some(part("text")?),
            })
        });
        files.collect::<Option<Vec<_>>>()
    });
    if let Some(files) = with_texts {
        return Ok(files);
    }
    let names = read_string_list(plan, FILES)?.into_iter();
    Ok(names.map(|spec| ScriptFile { spec, text: None }).collect())
}

/// The plan with the texts of its files, for a machine that does not have them.
pub(super) fn with_texts_of_files(plan: &WorkloadPlan) -> Result<WorkloadPlan> {
    let mut plan = plan.clone();
    if !plan.options.contains_key(FILES) {
        return Ok(plan);
    }
    let tables = read_files(&plan)?.into_iter().map(|file| {
        let text = file.text(parse_weighted(&file.spec)?.0)?.into_owned();
        let pairs = [("name", file.spec), ("text", text)];
        Ok(BTreeMap::from(
            pairs.map(|(key, value)| (key.to_owned(), value)),
        ))
    });
    let tables = tables.collect::<Result<Vec<_>>>()?;
    plan.options.insert(FILES.to_owned(), tables.into());
    Ok(plan)
}

/// Reads the defined variables: a list of `NAME=VALUE`, or a table.
pub(super) fn read_defines(plan: &WorkloadPlan) -> Result<Vec<(String, String)>> {
    let table = plan
        .options
        .get("define")
        .and_then(|value| value.as_table());
    let pairs = match table {
        Some(table) => {
            let mut pairs = BTreeMap::new();
            for (name, value) in table {
                // The content of a string; for a number or a boolean, its TOML text.
                let text = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                pairs.insert(name.clone(), text);
            }
            pairs.into_iter().collect()
        }
        None => {
            let mut pairs = Vec::new();
            for text in read_string_list(plan, "define")? {
                match text.split_once('=') {
                    Some((name, value)) if !name.is_empty() => {
                        pairs.push((name.to_owned(), value.to_owned()));
                    }
                    _ => {
                        return Err(option_error(
                            &format!("invalid variable definition: \"{text}\""),
                            "--define NAME=VALUE",
                        ));
                    }
                }
            }
            pairs
        }
    };
    let mut names = pairs.iter().map(|(name, _)| name);
    if let Some(name) = names.find(|name| !is_valid_name(name, NATIVE_PGBENCH_VERSION)) {
        return Err(option_error(
            &format!("option: invalid variable name: \"{name}\""),
            "letters, digits and underscores, no digit first",
        ));
    }
    Ok(pairs)
}

/// Reads the script `NAME` or `NAME@WEIGHT`.
fn with_weight(spec: &str, read: impl FnOnce(&str) -> Result<Script>) -> Result<Script> {
    let (name, weight) = parse_weighted(spec)?;
    Ok(Script {
        weight,
        ..read(name)?
    })
}

/// The name and the weight in `NAME` or `NAME@WEIGHT`.
pub(super) fn parse_weighted(spec: &str) -> Result<(&str, u32)> {
    let hint = "NAME@WEIGHT, where WEIGHT is an integer of at least 0";
    match spec.rsplit_once('@') {
        None => Ok((spec, 1)),
        Some((name, digits)) => {
            let number: i128 = digits.parse().map_err(|_| {
                option_error(&format!("invalid weight specification: @{digits}"), hint)
            })?;
            let weight = u32::try_from(number)
                .ok()
                .filter(|weight| *weight <= i32::MAX as u32);
            let weight = weight.ok_or_else(|| {
                let maximum = i32::MAX;
                let problem =
                    format!("weight specification out of range (0 .. {maximum}): {number}");
                option_error(&problem, hint)
            })?;
            Ok((name, weight))
        }
    }
}

pub(super) fn read_text(name: &str) -> Result<String> {
    let open_error = |error: &dyn std::fmt::Display| {
        option_error(
            &format!("could not open file \"{name}\": {}", system_error(error)),
            "a path relative to the current directory, or an absolute one",
        )
    };
    let metadata = std::fs::metadata(name).map_err(|error| open_error(&error))?;
    if metadata.is_dir() {
        return Err(open_error(&"it is a folder"));
    }
    if metadata.len() > FILE_BYTES_MAX {
        return Err(open_error(&"it is larger than 64 MiB"));
    }
    let bytes = std::fs::read(name).map_err(|error| open_error(&error))?;
    String::from_utf8(bytes).map_err(|_| open_error(&"it is not text in UTF-8"))
}

/// Converts a script's error, with a hint that shows the position.
pub(super) fn script_error(error: &ScriptError) -> Error {
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
    option_error(&error.to_string(), &hint)
}

pub(super) fn option_error(problem: &str, hint: &str) -> Error {
    Error::InvalidRequest {
        problem: problem.to_owned(),
        hint: hint.to_owned(),
    }
}
