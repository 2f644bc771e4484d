//! The options of the `sql` workload: named transactions with their weights, and variables. Reading them returns the
//! parsed scripts, or all problems with them, and needs no server.

use super::ast::{CommandKind, Script};
use super::options::{
    ScriptSet, option_error, parse_weighted, read_defines, read_files, read_text, script_error,
    script_set_problem,
};
use super::samples::{SampleQuery, read_samples};
use super::variables::VariableNames;
use crate::describe::OptionKind::{Integer, Switch, Tables, Texts};
use crate::describe::OptionSpec;
use crate::option_reader::{OptionReader, option_specs};
use crate::{Error, Result};
use prony_document::{SqlDialect, hex};
use prony_plan::{WorkloadPlan, suggest};
use sha2::{Digest, Sha256};
use std::collections::HashSet;

pub(super) const OPTIONS: &[OptionSpec] = option_specs! {
    define: Texts, None, "Variables of all transactions, as for --define: days=7";
    files: Texts, None, "Files with a transaction each, and weights, as for --file: pay.sql@3";
    max_tries: Integer(1, 1_000_000), Some("1"),
        "How often a transaction is tried that fails with a deadlock or a serialization failure";
    samples: Tables, None,
        "Queries whose rows \\sample draws from, each [[workload.samples]] with name and sql";
    transactions: Tables, None,
        "Transactions in pgbench's script language, each [[workload.transactions]] with name, weight, and sql or file";
    trial: Switch, Some("on"),
        "Whether every statement is prepared once before the load, which ends the run if the server refuses one";
};

const TRANSACTIONS_HINT: &str = "[[workload.transactions]] with name = \"pay\" and sql = \"...\"";
const KEYS: [&str; 6] = ["name", "weight", "reads", "captured", "sql", "file"];
/// The longest name of a transaction, in characters: it heads columns and rows of results.
const NAME_CHARS_MAX: usize = 64;

/// The options of the `sql` workload, read and checked.
pub(super) struct OwnSql {
    pub set: ScriptSet,
    pub samples: Vec<SampleQuery>,
    pub max_tries: u32,
    /// Whether every statement is prepared once before the load.
    pub has_trial: bool,
    /// Whether `prony capture` wrote a transaction of it, so that its rows are counted.
    pub is_captured: bool,
    /// What determines the meaning of the run's figures, for the document.
    pub settings: Vec<(&'static str, String)>,
}

/// A transaction that is not parsed yet.
struct TransactionText {
    name: String,
    weight: u32,
    /// Whether it only reads, as the user says.
    only_reads: bool,
    sql: String,
}

/// Whether a table has what `prony capture` writes about a transaction: its time and rows, and those of its statements if
/// it has several.
fn is_captured_facts(facts: &toml::Value) -> bool {
    let has_numbers = |facts: &toml::Value| {
        ["time", "rows"].iter().all(|key| {
            let number = facts.get(*key);
            number.is_some_and(|number| number.is_float() || number.is_integer())
        })
    };
    let statements = facts.get("statements");
    let are_valid = statements.is_none_or(|statements| {
        let statements = statements.as_array();
        statements.is_some_and(|statements| statements.iter().all(has_numbers))
    });
    has_numbers(facts) && are_valid
}

/// Whether `prony capture` wrote a transaction of the plan.
fn is_captured(plan: &WorkloadPlan) -> bool {
    let transactions = plan.options.get("transactions");
    let mut transactions = transactions
        .and_then(|list| list.as_array())
        .into_iter()
        .flatten();
    transactions.any(|transaction| transaction.get("captured").is_some())
}

/// Reads the transactions and variables that a plan names, in the plan's order; files come last.
pub(super) fn read(plan: &WorkloadPlan, dialect: SqlDialect) -> Result<OwnSql, Vec<Error>> {
    let mut reader = OptionReader::new(plan, OPTIONS);
    let max_tries = reader.integer("max_tries");
    let has_trial = reader.switch("trial");
    let mut problems = reader.problems;
    let mut texts = Vec::new();
    for transaction in read_transactions(plan) {
        match transaction {
            Ok(text) => texts.push(text),
            Err(error) => problems.push(error),
        }
    }
    let samples = read_samples(plan).unwrap_or_else(|error| {
        problems.push(error);
        Vec::new()
    });
    let defines = read_defines(plan).unwrap_or_else(|error| {
        problems.push(error);
        Vec::new()
    });
    let mut seen_names = HashSet::new();
    let mut names_of_texts = texts.iter().map(|text| text.name.as_str());
    if let Some(name) = names_of_texts.find(|name| !seen_names.insert(*name)) {
        let problem = format!("two transactions have the name \"{name}\"");
        problems.push(option_error(&problem, "results show each under its name"));
    }
    let mut names = VariableNames::new();
    let mut scripts = Vec::new();
    for text in &texts {
        match Script::parse_sql(&mut names, &text.name, &text.sql, dialect) {
            Ok(script) => scripts.push(Script {
                weight: text.weight,
                only_reads: text.only_reads,
                ..script
            }),
            Err(error) => problems.push(script_error(&error)),
        }
    }
    problems.extend(link_samples(&mut scripts, &samples));
    if problems.is_empty() {
        let if_empty = option_error(
            "the sql workload needs a transaction",
            "[[workload.transactions]] with name and sql in a plan, or --file a.sql",
        );
        problems.extend(script_set_problem(&scripts, if_empty));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let settings = settings(&texts, &samples, &defines, max_tries);
    Ok(OwnSql {
        set: ScriptSet {
            scripts,
            names,
            defines,
            has_builtin: false,
        },
        samples,
        max_tries,
        has_trial,
        is_captured: is_captured(plan),
        settings,
    })
}

/// Sets the number of the sample of each `\sample`. Returns a problem for each that names no sample.
fn link_samples(scripts: &mut [Script], samples: &[SampleQuery]) -> Vec<Error> {
    let mut problems = Vec::new();
    for script in scripts {
        for command in &mut script.commands {
            let CommandKind::Sample(sample) = &mut command.kind else {
                continue;
            };
            match samples.iter().position(|query| *query.name == *sample.name) {
                Some(number) => sample.sample = number,
                None => problems.push(option_error(
                    &format!(
                        "{}:{}: there is no sample \"{}\"",
                        script.name, command.line, sample.name
                    ),
                    "[[workload.samples]] with this name and sql",
                )),
            }
        }
    }
    problems
}

/// The transactions with their weights, and a hash of all that users execute, which tells whether two runs executed the
/// same.
fn settings(
    texts: &[TransactionText],
    samples: &[SampleQuery],
    defines: &[(String, String)],
    max_tries: u32,
) -> Vec<(&'static str, String)> {
    let mut hash = Sha256::new();
    let transactions = texts.iter().flat_map(|text| [&text.name, &text.sql]);
    let samples = samples
        .iter()
        .flat_map(|sample| [&sample.name, &sample.sql]);
    for part in transactions.chain(samples) {
        // Lengths keep two texts apart from one.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.update(format!("{defines:?}"));
    let hash = hex(&hash.finalize()[..6]);
    let weights = texts
        .iter()
        .map(|text| format!("{}@{}", text.name, text.weight));
    let mut settings = vec![
        ("transactions", weights.collect::<Vec<_>>().join(" ")),
        ("sql", hash),
    ];
    if max_tries > 1 {
        settings.push(("max_tries", max_tries.to_string()));
    }
    settings
}

/// The transactions of the plan, then its files; for each, its text or its problem.
fn read_transactions(plan: &WorkloadPlan) -> Vec<Result<TransactionText>> {
    let mut texts = Vec::new();
    if let Some(value) = plan.options.get("transactions") {
        match value.as_array() {
            Some(list) => {
                for (number, item) in (1..).zip(list) {
                    texts.push(read_transaction(item, number));
                }
            }
            None => texts.push(Err(option_error(
                "transactions is not a list of tables",
                TRANSACTIONS_HINT,
            ))),
        }
    }
    match read_files(plan) {
        Err(error) => texts.push(Err(error)),
        Ok(files) => texts.extend(files.iter().map(|file| {
            let (name, weight) = parse_weighted(&file.spec)?;
            Ok(TransactionText {
                sql: file.text(name)?.into_owned(),
                name: name.to_owned(),
                weight,
                only_reads: false,
            })
        })),
    }
    texts
}

/// Reads a transaction; `number` is its position in the plan, from 1.
fn read_transaction(item: &toml::Value, number: u32) -> Result<TransactionText> {
    let item = item.as_table().ok_or_else(|| {
        let problem = format!("transaction {number} is not a table");
        option_error(&problem, TRANSACTIONS_HINT)
    })?;
    let Some(name) = item.get("name").and_then(|name| name.as_str()) else {
        let problem = format!("transaction {number} has no name");
        return Err(option_error(&problem, "name = \"pay\""));
    };
    check_name(name, number)?;
    if let Some(key) = item.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let problem = format!("transaction \"{name}\" has an unknown key \"{key}\"");
        let hint = match suggest::nearest(key, &KEYS) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("the keys are {}", KEYS.join(", ")),
        };
        return Err(option_error(&problem, &hint));
    }
    let weight = match item.get("weight") {
        Some(weight) => read_weight(name, weight)?,
        None => 1,
    };
    let only_reads = match item.get("reads") {
        Some(reads) => reads.as_bool().ok_or_else(|| {
            let problem = format!("reads of transaction \"{name}\" is not true or false");
            option_error(&problem, "reads = true if it only reads")
        })?,
        None => false,
    };
    let captured = item.get("captured");
    if captured.is_some_and(|facts| !is_captured_facts(facts)) {
        let problem = format!("captured of transaction \"{name}\" is not valid");
        let hint = "captured = { time = 0.43, rows = 1.2 }, as prony capture writes it";
        return Err(option_error(&problem, hint));
    }
    let text = |key: &str| item.get(key).map(|text| text.as_str().unwrap_or_default());
    let sql = match (text("sql"), text("file")) {
        (Some(sql), None) => sql.to_owned(),
        (None, Some(file)) => read_text(file)?,
        _ => {
            let problem = format!("transaction \"{name}\" needs either sql or file");
            return Err(option_error(&problem, TRANSACTIONS_HINT));
        }
    };
    Ok(TransactionText {
        name: name.to_owned(),
        weight,
        only_reads,
        sql,
    })
}

fn read_weight(name: &str, weight: &toml::Value) -> Result<u32> {
    let number = weight
        .as_integer()
        .and_then(|number| u32::try_from(number).ok());
    let weight = number.filter(|number| *number <= i32::MAX as u32);
    weight.ok_or_else(|| {
        let problem = format!("the weight of transaction \"{name}\" is not valid");
        option_error(&problem, "an integer of at least 0, such as weight = 3")
    })
}

fn check_name(name: &str, number: u32) -> Result<()> {
    let is_valid = !name.trim().is_empty()
        && name.chars().count() <= NAME_CHARS_MAX
        && !name.chars().any(char::is_control);
    if is_valid {
        return Ok(());
    }
    let problem = format!("the name of transaction {number} is not valid");
    let hint = format!("one line of up to {NAME_CHARS_MAX} characters, such as name = \"pay\"");
    Err(option_error(&problem, &hint))
}
