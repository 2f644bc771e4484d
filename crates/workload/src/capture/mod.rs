//! Writes a plan of the `sql` workload from what a server has counted of its statements.
//!
//! In: totals by statement and a control connection, which reads the catalog and tries what samples return. Out: the
//! plan as text, with a comment for each guess, and what it leaves out. Must never: copy a literal or a row into the
//! plan, or change the server.

mod catalog;
mod generators;
mod grouping;
mod keys;
mod mask;
mod plan_text;
mod roles;
mod statement;
mod tables;
mod tokens;

pub(crate) use mask::masked as without_literals;
pub(crate) use tokens::{Token, TokenKind, is_one_of, tokens};

#[cfg(test)]
mod tests;

pub use keys::plan_of_keys;

use crate::script::PARAMETERS_MAX;
use catalog::Catalog;
use generators::{Parameters, Transaction, literal};
use prony_document::SqlDialect;
use prony_server::Control;
use prony_server::control::Error as ControlError;
use prony_server::statements::StatementTotals;
use prony_wire::StatementIds;
use statement::{ColumnUse, Role, Statement, TableName};
use std::time::Duration;

/// The most statements, which are scripts of the plan.
const STATEMENTS_MAX: usize = 128;

pub struct CaptureOptions {
    /// The share of the statements' time that the transactions of the plan make up, up to 1.
    pub share: f64,
    /// Whether literals that the statistics left in stay.
    pub keeps_literals: bool,
    /// How long the statements were counted; zero: since the statistics began.
    pub time: Duration,
    /// The view that counted them, for the plan.
    pub view: &'static str,
    /// Transactions that were seen whole: the texts of their statements.
    pub sequences: Vec<Vec<String>>,
}

/// A plan, and what it holds.
pub struct Captured {
    pub plan: String,
    pub transactions: usize,
    /// The share of the captured time that the plan's transactions make up, up to 1.
    pub share: f64,
    /// Statements that cannot be transactions.
    pub left_out: Vec<LeftOutStatement>,
}

/// A statement that cannot be a transaction of the plan.
pub struct LeftOutStatement {
    /// Its text, without literals.
    pub text: String,
    pub reason: String,
    /// Its share of the captured time, up to 1.
    pub time_share: f64,
}

#[derive(Clone)]
struct Entry {
    name: String,
    totals: StatementTotals,
    transaction: Transaction,
    /// The totals of each statement of a transaction with several, in their order.
    statements: Vec<StatementTotals>,
}

/// Writes the plan. `totals`: the longest first.
pub fn capture(
    control: &mut Control,
    totals: Vec<StatementTotals>,
    incomplete: &[&str],
    options: &CaptureOptions,
) -> Result<Captured, ControlError> {
    let dialect = control.dialect();
    let (statements, utilities): (Vec<_>, Vec<_>) = totals
        .into_iter()
        .partition(|totals| is_query(&totals.text) && !reads_only_catalog(&totals.text, dialect));
    let time_us: f64 = statements.iter().map(|totals| totals.time_us).sum();
    let mut catalog = Catalog::new(control);
    let mut entries: Vec<Entry> = Vec::new();
    let mut left_out = Vec::new();
    let mut seen_us = 0.0;
    for totals in statements {
        if seen_us >= options.share * time_us || entries.len() == STATEMENTS_MAX {
            break;
        }
        seen_us += totals.time_us;
        let transaction = transaction_of(&mut catalog, &totals, options)?;
        match transaction.and_then(writable) {
            Ok((statement, mut transaction)) => {
                rename_samples(&mut transaction, &entries);
                entries.push(Entry {
                    name: name_of(&statement, &entries),
                    totals,
                    transaction,
                    statements: Vec::new(),
                });
            }
            Err(reason) => left_out.push(LeftOutStatement {
                // A text that was not read may have literals.
                text: masked(&totals.text, dialect),
                reason,
                time_share: totals.time_us / time_us.max(f64::MIN_POSITIVE),
            }),
        }
    }
    let entries = grouping::grouped(entries, &options.sequences);
    let kept_us: f64 = entries.iter().map(|entry| entry.totals.time_us).sum();
    let mut captured = Captured {
        plan: String::new(),
        transactions: entries.len(),
        share: kept_us / time_us.max(f64::MIN_POSITIVE),
        left_out,
    };
    captured.plan = plan_text::write(&entries, &captured, &utilities, incomplete, options);
    Ok(captured)
}

/// Refuses what the plan's literal strings cannot hold. Names come from the catalog, where they may have any letter.
fn writable(
    (statement, transaction): (Statement, Transaction),
) -> Result<(Statement, Transaction), String> {
    let samples = transaction.samples.iter().map(|sample| &*sample.sql);
    let is_bad = |text: &str| {
        text.contains("'''") || text.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t'))
    };
    let has_bad = samples.chain([&*transaction.script]).any(is_bad);
    if has_bad {
        Err("a plan cannot have its quotes or control characters".to_owned())
    } else {
        Ok((statement, transaction))
    }
}

/// A comment's text without what would end its line or be no TOML.
fn on_one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// Whether it is a statement of an application, in contrast to those of transactions, sessions and maintenance.
fn is_query(text: &str) -> bool {
    let word = text.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
    let word: String = word.chars().take_while(char::is_ascii_alphabetic).collect();
    const VERBS: &str = "select insert update delete merge replace with values call exec";
    is_one_of(&word.to_lowercase(), VERBS)
}

/// Functions that ask the server about itself, beside those whose names begin with `pg_`.
const FUNCTIONS_OF_SERVER: &str = "\
    set_config current_setting version now database schema connection_id unix_timestamp \
    current_database coalesce extract max";

/// The beginnings of the names of catalogs.
const CATALOGS: &str = "pg_ information_schema. performance_schema. mysql. sys.";

/// Whether it asks the server about itself, as drivers and monitoring do, or nothing.
fn reads_only_catalog(text: &str, dialect: SqlDialect) -> bool {
    let is_of_catalog = |table: &TableName| {
        let name = table
            .text
            .to_lowercase()
            .replace(['"', '`', '[', ']', ' '], "");
        let mut prefixes = CATALOGS.split(' ');
        prefixes.any(|prefix| name.starts_with(prefix))
    };
    let is_of_server =
        |name: &String| name.starts_with("pg_") || is_one_of(name, FUNCTIONS_OF_SERVER);
    statement::read(text, dialect, true).is_ok_and(|statement| match &*statement.tables {
        [] => statement.verb == "select" && statement.calls.iter().all(is_of_server),
        tables => tables.iter().all(is_of_catalog),
    })
}

/// A statement as a transaction, or why it cannot be one.
fn transaction_of(
    catalog: &mut Catalog<'_>,
    totals: &StatementTotals,
    options: &CaptureOptions,
) -> Result<Result<(Statement, Transaction), String>, ControlError> {
    let rows = totals.rows as f64 / totals.calls.max(1) as f64;
    let own = totals.has_literals && !options.keeps_literals;
    let normalised = own.then(|| without_literals(&totals.text, catalog.dialect));
    let text = statement::with_rows(normalised.as_ref().unwrap_or(&totals.text), rows);
    let statement = match statement::read(&text, catalog.dialect, !options.keeps_literals) {
        Ok(statement) => statement,
        Err(reason) => return Ok(Err(reason.to_owned())),
    };
    if matches!(&*statement.verb, "call" | "exec") {
        return Ok(Err(
            "it calls a procedure, whose parameters have no columns".to_owned(),
        ));
    }
    if statement.roles.len() > PARAMETERS_MAX {
        return Ok(Err(format!("it has more than {PARAMETERS_MAX} values")));
    }
    let parameters = match parameters(catalog, &statement)? {
        Ok(parameters) => parameters,
        Err(reason) => return Ok(Err(reason)),
    };
    let transaction = generators::transaction(&statement, &parameters, rows, catalog)?;
    Ok(Ok((statement, transaction)))
}

/// What the server says of the placeholders, or its reason to refuse the statement.
fn parameters(
    catalog: &mut Catalog<'_>,
    statement: &Statement,
) -> Result<Result<Parameters, String>, ControlError> {
    let refusal = match prepare(catalog, statement, &[])? {
        Ok(types) => {
            return Ok(Ok(Parameters {
                types,
                casts: Vec::new(),
            }));
        }
        Err(refusal) => refusal,
    };
    // Without its literals PostgreSQL may not know the types.
    let casts = match catalog.dialect {
        SqlDialect::PostgreSql => casts(catalog, statement)?,
        SqlDialect::MySql | SqlDialect::TransactSql => Vec::new(),
    };
    if casts.iter().all(String::is_empty) {
        return Ok(Err(refusal));
    }
    let types = prepare(catalog, statement, &casts)?;
    Ok(types.map(|types| Parameters { types, casts }))
}

/// The casts of placeholders to the types of their columns.
fn casts(catalog: &mut Catalog<'_>, statement: &Statement) -> Result<Vec<String>, ControlError> {
    let mut casts = Vec::new();
    for role in &statement.roles {
        let Role::Column(name, column_use) = role else {
            casts.push(String::new());
            continue;
        };
        let array = if *column_use == ColumnUse::Array { "[]" } else { "" };
        let column = catalog.resolve(statement, name)?;
        casts.push(column.map_or_else(String::new, |(_, _, column)| {
            format!("::{}{array}", column.data_type)
        }));
    }
    Ok(casts)
}

/// Lets the server prepare a statement. Returns the types of its placeholders, which only PostgreSQL tells, or its
/// refusal.
fn prepare(
    catalog: &mut Catalog<'_>,
    statement: &Statement,
    casts: &[String],
) -> Result<Result<Vec<String>, String>, ControlError> {
    // A literal takes no parameter, so the others have no gap in their numbers.
    let mut count = 0;
    let numbers = statement.roles.iter().map(|role| {
        let is_parameter = !matches!(role, Role::TypedLiteral(_));
        count += usize::from(is_parameter);
        is_parameter.then_some(count)
    });
    let numbers: Vec<Option<usize>> = numbers.collect();
    let dialect = catalog.dialect;
    let text = statement.with_placeholders(|slot| match (numbers[slot], &statement.roles[slot]) {
        (Some(number), _) => format!("${number}{}", casts.get(slot).map_or("", |cast| cast)),
        (None, Role::TypedLiteral(kind)) => literal(kind, dialect).to_owned(),
        // A placeholder without a number is a typed literal.
        (None, _) => String::new(),
    });
    let control = &mut *catalog.control;
    let prepared = match catalog.dialect {
        SqlDialect::PostgreSql => control
            .execute(&format!("PREPARE prony_capture AS {text}"))
            .map(|_| ()),
        SqlDialect::MySql => control.try_prepare(&StatementIds::new().add(&text)),
        // It would need the types.
        SqlDialect::TransactSql => Ok(()),
    };
    match prepared {
        Ok(()) => {}
        Err(ControlError::Statement(error)) if !error.is_fatal() => {
            let words: Vec<&str> = error.message.split_whitespace().collect();
            return Ok(Err(format!("the server refuses it: {}", words.join(" "))));
        }
        Err(error) => return Err(error),
    }
    if catalog.dialect != SqlDialect::PostgreSql {
        return Ok(Ok(Vec::new()));
    }
    let types = control.query(
        "SELECT unnest(parameter_types)::text FROM pg_prepared_statements WHERE name = 'prony_capture'",
    );
    control.execute("DEALLOCATE prony_capture")?;
    let types: Vec<String> = types?.into_iter().flatten().flatten().collect();
    let of_slot = |number: &Option<usize>| {
        let index = number.and_then(|number| number.checked_sub(1));
        index.and_then(|index| types.get(index).cloned())
    };
    Ok(Ok(numbers
        .iter()
        .map(|number| of_slot(number).unwrap_or_default())
        .collect()))
}

/// Adds a transaction's samples under names that no other sample has.
fn rename_samples(transaction: &mut Transaction, entries: &[Entry]) {
    for sample in &mut transaction.samples {
        let others = || entries.iter().flat_map(|entry| &entry.transaction.samples);
        let is_free =
            |name: &String| !others().any(|other| other.name == *name && other.sql != sample.sql);
        let name = first_free(&sample.name, '_', is_free);
        if name != sample.name {
            let command = |name: &str| format!("\\sample {name} ");
            let script = transaction
                .script
                .replace(&command(&sample.name), &command(&name));
            transaction.script = script;
            sample.name = name;
        }
    }
}

/// The verb and the first table of a statement, and a number where another statement has the same.
fn name_of(statement: &Statement, entries: &[Entry]) -> String {
    let table = statement.tables.first();
    let table = table.map_or("", |table| catalog::unquoted(&table.text));
    let letters = format!("{} {table}", statement.verb);
    let name: String = letters
        .trim()
        .chars()
        .map(|letter| match letter {
            letter if letter.is_alphanumeric() || matches!(letter, ' ' | '_' | '-') => letter,
            _ => '_',
        })
        .take(50)
        .collect();
    let is_free = |name: &String| entries.iter().all(|entry| entry.name != *name);
    first_free(&name, ' ', is_free)
}

/// The name, or else the first free one of it and a number from 2 on.
fn first_free(name: &str, separator: char, is_free: impl FnMut(&String) -> bool) -> String {
    let numbered = (2..).map(|number: u64| format!("{name}{separator}{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(is_free).unwrap_or_default()
}

/// A text on one line, without its literals.
fn masked(text: &str, dialect: SqlDialect) -> String {
    let text = on_one_line(&mask::masked(text, dialect));
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(200).collect()
}
