//! Writes a plan of the `sql` workload from what a server has counted of its statements.
//!
//! In: totals by statement and a control connection, which reads the catalog and tries what samples return. Out: the plan as text,
//! with a comment for each guess, and what it leaves out. Must never: copy a literal or a row into the plan, or change the server.

mod catalog;
mod generators;
mod statement;

#[cfg(test)]
mod tests;

use catalog::Catalog;
use generators::{Sample, Transaction};
use prony_document::SqlDialect;
use prony_server::Control;
use prony_server::control::Error as ControlError;
use prony_server::statements::{StatementTotals, statistics_view};
use prony_wire::StatementIds;
use statement::{Role, Statement};
use std::fmt::Write as _;
use std::time::Duration;

/// The most statements, which are scripts of the plan.
const STATEMENTS_MAX: usize = 128;
/// The most calls that a weight tells apart.
const WEIGHT_MAX: f64 = 1e9;

/// What to capture.
pub struct CaptureOptions {
    /// The share of the statements' time that the transactions of the plan make up, up to 1.
    pub share: f64,
    /// Whether literals that the statistics left in stay.
    pub keeps_literals: bool,
    /// How long the statements were counted; zero: since the statistics began.
    pub time: Duration,
}

/// A plan, and what it holds.
pub struct Captured {
    /// TOML.
    pub plan: String,
    pub transactions: usize,
    /// The share of the captured time that the plan's transactions make up, up to 1.
    pub share: f64,
    /// Statements that cannot be transactions, with the reason and their share of the time.
    pub left_out: Vec<(String, String, f64)>,
}

/// A statement of the plan.
struct Entry {
    name: String,
    totals: StatementTotals,
    transaction: Transaction,
}

/// Writes the plan. `totals`: the longest first.
///
/// # Errors
/// The connection is lost.
pub fn capture(
    control: &mut Control,
    totals: Vec<StatementTotals>,
    hidden: Option<&str>,
    options: &CaptureOptions,
) -> Result<Captured, ControlError> {
    let (statements, utilities): (Vec<_>, Vec<_>) = totals
        .into_iter()
        .partition(|totals| is_query(&totals.text));
    let time_us: f64 = statements.iter().map(|totals| totals.time_us).sum();
    let mut catalog = Catalog::new(control);
    let (mut entries, mut left_out, mut seen_us) = (Vec::<Entry>::new(), Vec::new(), 0.0);
    for totals in statements {
        if seen_us >= options.share * time_us || entries.len() == STATEMENTS_MAX {
            break;
        }
        seen_us += totals.time_us;
        match transaction_of(&mut catalog, &totals, options)? {
            Ok((statement, transaction)) => entries.push(Entry {
                name: name_of(&statement, &entries),
                totals,
                transaction,
            }),
            Err(reason) => {
                let share = totals.time_us / time_us.max(f64::MIN_POSITIVE);
                // A text that was not read may have literals.
                left_out.push((masked(&totals.text), reason, share));
            }
        }
    }
    let kept_us: f64 = entries.iter().map(|entry| entry.totals.time_us).sum();
    let dialect = catalog.dialect;
    let mut captured = Captured {
        plan: String::new(),
        transactions: entries.len(),
        share: kept_us / time_us.max(f64::MIN_POSITIVE),
        left_out,
    };
    captured.plan = plan_text(&entries, &captured, &utilities, (dialect, hidden), options);
    Ok(captured)
}

/// Whether it is a statement of an application, in contrast to those of transactions, sessions and maintenance.
fn is_query(text: &str) -> bool {
    let word = text.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
    let word: String = word.chars().take_while(char::is_ascii_alphabetic).collect();
    [
        "select", "insert", "update", "delete", "merge", "replace", "with", "values", "call",
        "exec",
    ]
    .contains(&&*word.to_lowercase())
}

/// A statement as a transaction, or why it cannot be one.
fn transaction_of(
    catalog: &mut Catalog<'_>,
    totals: &StatementTotals,
    options: &CaptureOptions,
) -> Result<Result<(Statement, Transaction), String>, ControlError> {
    let statement = match statement::read(&totals.text, catalog.dialect, !options.keeps_literals) {
        Ok(statement) => statement,
        Err(reason) => return Ok(Err(reason.to_owned())),
    };
    if matches!(&*statement.verb, "call" | "exec") {
        return Ok(Err(
            "it calls a procedure, whose parameters have no columns".to_owned(),
        ));
    }
    let types = match parameter_types(catalog, &statement)? {
        Ok(types) => types,
        Err(reason) => return Ok(Err(reason)),
    };
    let rows = totals.rows as f64 / totals.calls.max(1) as f64;
    let transaction = generators::transaction(&statement, &types, rows, catalog)?;
    Ok(Ok((statement, transaction)))
}

/// The types of the placeholders, or the server's reason to refuse the statement. Only PostgreSQL tells the types.
fn parameter_types(
    catalog: &mut Catalog<'_>,
    statement: &Statement,
) -> Result<Result<Vec<String>, String>, ControlError> {
    let text = statement.with_placeholders(|number| match &statement.roles[number] {
        Role::TypedLiteral(kind) if kind == "interval" => "'1 day'".to_owned(),
        Role::TypedLiteral(_) => "'2000-01-01 00:00:00'".to_owned(),
        _ => format!("${}", number + 1),
    });
    let control = &mut *catalog.control;
    let refusal = |error: ControlError| match error {
        ControlError::Statement(error) if !error.is_fatal() => {
            let message = error
                .message
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ");
            Ok(Err(format!("the server refuses it: {message}")))
        }
        error => Err(error),
    };
    match catalog.dialect {
        SqlDialect::PostgreSql => {
            if let Err(error) = control.execute(&format!("PREPARE prony_capture AS {text}")) {
                return refusal(error);
            }
            let types = control.query(
                "SELECT unnest(parameter_types)::text FROM pg_prepared_statements WHERE name = 'prony_capture'",
            );
            control.execute("DEALLOCATE prony_capture")?;
            let types = types?.into_iter().flatten().map(Option::unwrap_or_default);
            Ok(Ok(types.collect()))
        }
        SqlDialect::MySql => match control.try_prepare(&StatementIds::new().add(&*text)) {
            Ok(()) => Ok(Ok(Vec::new())),
            Err(error) => refusal(error),
        },
        // It would need the types.
        SqlDialect::TransactSql => Ok(Ok(Vec::new())),
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
    let names = std::iter::once(name.clone()).chain((2..).map(|number| format!("{name} {number}")));
    let mut free = names.filter(|name| entries.iter().all(|entry| entry.name != *name));
    free.next().unwrap_or_default()
}

/// A text on one line, without its literals.
fn masked(text: &str) -> String {
    let (mut masked, mut is_literal) = (String::new(), false);
    for letter in text.chars() {
        match letter {
            '\'' => {
                is_literal = !is_literal;
                masked.push('\'');
            }
            _ if is_literal => {}
            letter if letter.is_whitespace() || letter.is_control() => masked.push(' '),
            letter => masked.push(letter),
        }
    }
    let words = masked
        .split_whitespace()
        .map(|word| match word.parse::<f64>() {
            Ok(_) => "?",
            Err(_) => word,
        });
    let text = words.collect::<Vec<_>>().join(" ");
    text.chars().take(200).collect()
}

fn plan_text(
    entries: &[Entry],
    captured: &Captured,
    utilities: &[StatementTotals],
    (dialect, hidden): (SqlDialect, Option<&str>),
    options: &CaptureOptions,
) -> String {
    let calls: u64 = entries.iter().map(|entry| entry.totals.calls).sum();
    let kept_us: f64 = entries.iter().map(|entry| entry.totals.time_us).sum();
    let mut plan = String::new();
    // Writing to a String cannot fail.
    let mut line = |text: &str| {
        let _ = writeln!(plan, "{text}");
    };
    let time = match options.time {
        time if time.is_zero() => "since the statistics began".to_owned(),
        time => format!("in {} s", time.as_secs_f64()),
    };
    line(&format!(
        "# Captured by prony capture from {} {time}: {} statements, {calls} calls,",
        statistics_view(dialect),
        entries.len()
    ));
    line(&format!(
        "# {:.1} % of the time of all statements of this database.",
        captured.share * 100.0
    ));
    line(
        "# Each statement is a transaction of its own: the server does not say which statements were one transaction.",
    );
    let is_commit = |totals: &&StatementTotals| {
        let word = totals.text.trim().trim_end_matches(';').to_lowercase();
        ["commit", "end", "commit work", "commit transaction"].contains(&&*word)
    };
    let commits: u64 = utilities
        .iter()
        .filter(is_commit)
        .map(|totals| totals.calls)
        .sum();
    if commits > 0 {
        line(&format!(
            "# It counted {commits} COMMITs beside the {calls} calls, so some statements were parts of larger transactions."
        ));
    }
    line(
        "# Comments that begin with \"guess\" say what a variable is drawn from. Which rows the application prefers is not known.",
    );
    if let Some(hidden) = hidden {
        line(&format!("# Incomplete: {hidden}."));
    }
    for (text, reason, share) in &captured.left_out {
        line(&format!(
            "# Left out, {:.1} % of the time: {text}",
            share * 100.0
        ));
        line(&format!(
            "#   because {}",
            reason.replace(['\n', '\r'], " ")
        ));
    }
    line("\n[workload]\nname = \"sql\"");
    let mut samples: Vec<&Sample> = Vec::new();
    for sample in entries.iter().flat_map(|entry| &entry.transaction.samples) {
        if !samples.iter().any(|other| other.name == sample.name) {
            samples.push(sample);
            line(&format!(
                "\n[[workload.samples]]\nname = \"{}\"\nsql = '''{}'''",
                sample.name, sample.sql
            ));
        }
    }
    let most = entries
        .iter()
        .map(|entry| entry.totals.calls)
        .max()
        .unwrap_or(1) as f64;
    for entry in entries {
        let totals = &entry.totals;
        let weight = (totals.calls as f64 * (WEIGHT_MAX / most).min(1.0))
            .round()
            .max(1.0);
        line(&format!(
            "\n[[workload.transactions]]\nname = \"{}\"\nweight = {weight}",
            entry.name
        ));
        line(&format!(
            "captured = {{ time = {:.4}, rows = {:.4} }}",
            totals.time_us / kept_us.max(f64::MIN_POSITIVE),
            totals.rows as f64 / totals.calls.max(1) as f64
        ));
        for guess in &entry.transaction.guesses {
            line(&format!("# guess: {guess}"));
        }
        line(&format!("sql = '''\n{}'''", entry.transaction.script));
    }
    plan
}
