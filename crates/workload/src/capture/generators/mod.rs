//! Chooses what each placeholder of a captured statement is drawn from, and writes the statement as a transaction.
//!
//! In: a statement that was read, the catalog, rows a call. Out: the script, the samples that it draws from, and a
//! sentence for every guess. Must never: put a value of the server into the script; only the queries of the samples are
//! written.

mod queries;
mod values;

use super::catalog::{Catalog, Column, Table};
use super::first_free;
use super::statement::{ColumnUse, Role, Statement, TableName};
use prony_document::SqlDialect;
use prony_server::control::Error as ControlError;
use queries::sample_name;

/// Rows in a range whose statement returns an aggregate.
const AGGREGATED_ROWS: u64 = 100;
/// The most rows in a range, an array or a limit.
const ROWS_A_CALL_MAX: u64 = 10_000;

#[derive(Clone, Default)]
pub(super) struct Transaction {
    /// Backslash commands, then the statement.
    pub script: String,
    pub samples: Vec<Sample>,
    pub guesses: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    pub name: String,
    pub sql: String,
}

/// What the server says of a statement's placeholders, by their numbers.
#[derive(Default)]
pub(super) struct Parameters {
    /// The types; empty if the server does not tell them.
    pub types: Vec<String>,
    /// What follows each placeholder where the server could not infer the types otherwise, such as `::bigint`.
    pub casts: Vec<String>,
}

/// Columns of one table whose values are drawn from one row.
struct RowGroup {
    table: TableName,
    facts: Table,
    is_written: bool,
    columns: Vec<Column>,
    variables: Vec<String>,
}

struct Builder<'a, 'b> {
    statement: &'a Statement,
    catalog: &'a mut Catalog<'b>,
    rows_a_call: u64,
    /// What stands in place of each placeholder: a variable with its colon, or a constant.
    replacements: Vec<String>,
    variables: Vec<String>,
    groups: Vec<RowGroup>,
    commands: Vec<String>,
    transaction: Transaction,
}

/// Writes a statement as a transaction. `rows`: returned or changed by a call on average.
pub(super) fn transaction(
    statement: &Statement,
    parameters: &Parameters,
    rows: f64,
    catalog: &mut Catalog<'_>,
) -> Result<Transaction, ControlError> {
    let rows_a_call = if statement.is_aggregate {
        AGGREGATED_ROWS
    } else {
        (rows.round() as u64).clamp(1, ROWS_A_CALL_MAX)
    };
    let mut builder = Builder {
        statement,
        catalog,
        rows_a_call,
        replacements: Vec::new(),
        variables: Vec::new(),
        groups: Vec::new(),
        commands: Vec::new(),
        transaction: Transaction::default(),
    };
    for (number, role) in statement.roles.iter().enumerate() {
        let replacement = builder.replacement(number, role, &parameters.types)?;
        builder.replacements.push(replacement);
    }
    if statement.has_collapsed_list {
        let sentence = "how many values a list of IN has, which the statistics do not say";
        builder.guess(sentence.to_owned());
    }
    builder.finish_groups()?;
    let Builder {
        replacements,
        commands,
        mut transaction,
        ..
    } = builder;
    let sql = statement.with_placeholders(|number| {
        let cast = parameters.casts.get(number).map_or("", |cast| cast);
        let cast = if replacements[number].starts_with(':') { cast } else { "" };
        format!("{}{cast}", replacements[number])
    });
    transaction.script = commands.into_iter().chain([format!("{sql};\n")]).collect();
    Ok(transaction)
}

impl Builder<'_, '_> {
    /// What stands in place of a placeholder.
    fn replacement(
        &mut self,
        number: usize,
        role: &Role,
        types: &[String],
    ) -> Result<String, ControlError> {
        let data_type = types.get(number).map_or("", |name| name);
        Ok(match role {
            Role::Limit => {
                let rows = self.rows_a_call;
                self.set("limit", &rows.to_string(), "the rows that a call returned")
            }
            Role::Offset => self.set(
                "offset",
                "0",
                "a constant, because its distribution is not known",
            ),
            Role::Number => self.of_type("integer"),
            Role::TypedLiteral(kind) => self.constant(kind),
            Role::Unknown => self.of_type(data_type),
            Role::Column(name, column_use) => match self.catalog.resolve(self.statement, name)? {
                Some((table, facts, column)) => {
                    self.of_column(number, (table, facts), column, *column_use)?
                }
                None => self.of_type(data_type),
            },
        })
    }

    fn of_column(
        &mut self,
        number: usize,
        (table, facts): (TableName, Table),
        column: Column,
        column_use: ColumnUse,
    ) -> Result<String, ControlError> {
        // A part of such a value may be no text.
        let is_binary = ["binary", "varbinary", "bit", "image", "geometry"]
            .contains(&&*column.data_type)
            || column.data_type.ends_with("blob");
        if is_binary && self.catalog.dialect != SqlDialect::PostgreSql {
            return Ok(self.of_type(&column.data_type));
        }
        match column_use {
            ColumnUse::Operand if is_number(&column.data_type) => {
                let why = format!("a number to calculate with {}", column.name);
                return Ok(self.set("amount", "random(1, 100)", &why));
            }
            ColumnUse::Operand => return Ok(self.of_type(&column.data_type)),
            ColumnUse::Inserted if column.is_key => {
                return self.new_key(&table, &column);
            }
            ColumnUse::In => {
                let sample = self.row_query(&table, &facts, std::slice::from_ref(&column), false);
                let variable = self.draw(&table, &column, sample, "")?;
                return Ok(variable.unwrap_or_else(|| self.of_type(&column.data_type)));
            }
            ColumnUse::Array => {
                let sample = self.array_query(&table, &facts, &column);
                let variable = self.draw(&table, &column, sample, "array")?;
                return Ok(variable.unwrap_or_else(|| self.of_type(&column.data_type)));
            }
            ColumnUse::High if self.low_of(number).is_some() => {
                // The bound before it has drawn both.
                let low = self.low_of(number).map(|low| &self.replacements[low]);
                let high = low.map(|low| format!("{low}_high")).unwrap_or_default();
                if self
                    .variables
                    .iter()
                    .any(|name| high.strip_prefix(':') == Some(name))
                {
                    return Ok(high);
                }
            }
            ColumnUse::Low if self.high_of(number).is_some() => {
                if let Some(variable) = self.range(&table, &facts, &column)? {
                    return Ok(variable);
                }
            }
            ColumnUse::Equal
            | ColumnUse::Low
            | ColumnUse::High
            | ColumnUse::Assigned
            | ColumnUse::Inserted => {}
        }
        let is_written = matches!(column_use, ColumnUse::Assigned | ColumnUse::Inserted);
        let variable = self.new_variable(&column.bare_name);
        // A column that comes again is of another row.
        let is_group = |group: &RowGroup| {
            group.table == table
                && group.is_written == is_written
                && !group.columns.contains(&column)
        };
        let index = self.groups.iter().rposition(is_group).unwrap_or_else(|| {
            self.groups.push(RowGroup {
                table,
                facts,
                is_written,
                columns: Vec::new(),
                variables: Vec::new(),
            });
            self.groups.len() - 1
        });
        self.groups[index].columns.push(column);
        self.groups[index].variables.push(variable.clone());
        Ok(format!(":{variable}"))
    }

    /// The placeholder that is the other bound of a range, before or after this one.
    fn low_of(&self, number: usize) -> Option<usize> {
        self.bound(number, ColumnUse::Low)
            .filter(|low| *low < number)
    }

    fn high_of(&self, number: usize) -> Option<usize> {
        self.bound(number, ColumnUse::High)
            .filter(|high| *high > number)
    }

    fn bound(&self, number: usize, wanted: ColumnUse) -> Option<usize> {
        let Role::Column(name, _) = &self.statement.roles[number] else {
            return None;
        };
        let is_bound = |role: &Role| matches!(role, Role::Column(other, column_use) if other == name && *column_use == wanted);
        self.statement.roles.iter().position(is_bound)
    }

    /// The values of the columns that are drawn from rows.
    fn finish_groups(&mut self) -> Result<(), ControlError> {
        for group in std::mem::take(&mut self.groups) {
            let sql = self.row_query(&group.table, &group.facts, &group.columns, group.is_written);
            let columns = group.columns.iter().map(|column| &*column.bare_name);
            let name = sample_name(&group.table, columns, group.is_written);
            let variables = group.variables.join(" ");
            let list = group
                .variables
                .iter()
                .map(|name| format!(":{name}"))
                .collect::<Vec<_>>()
                .join(", ");
            if self.has_rows(&sql)? {
                self.commands.push(format!("\\sample {name} {variables}\n"));
                self.add_sample(Sample { name, sql });
                let what = if group.is_written {
                    "written values are those of present rows"
                } else {
                    "each row is as likely as another"
                };
                let table = &group.table.text;
                self.guess(format!("{list}: of a row of {table}; {what}"));
                continue;
            }
            // No row to draw from.
            for (column, variable) in group.columns.iter().zip(&group.variables) {
                let constant = self.of_type(&column.data_type);
                let reference = format!(":{variable}");
                for replacement in &mut self.replacements {
                    if *replacement == reference {
                        replacement.clone_from(&constant);
                    }
                }
            }
        }
        Ok(())
    }

    fn set(&mut self, name: &str, value: &str, why: &str) -> String {
        let variable = self.new_variable(name);
        self.commands.push(format!("\\set {variable} {value}\n"));
        self.guess(format!(":{variable}: {why}"));
        format!(":{variable}")
    }

    /// A value of a type, for a placeholder that belongs to no column.
    fn of_type(&mut self, data_type: &str) -> String {
        if is_number(data_type) {
            self.set(
                "number",
                "random(1, 100)",
                "a number that belongs to no column",
            )
        } else {
            self.constant(data_type)
        }
    }

    fn constant(&mut self, data_type: &str) -> String {
        let value = literal(data_type, self.catalog.dialect);
        self.guess(format!(
            "{value}: in place of a value that belongs to no column"
        ));
        value.to_owned()
    }

    fn guess(&mut self, sentence: String) {
        if !self.transaction.guesses.contains(&sentence) {
            self.transaction.guesses.push(sentence);
        }
    }

    fn new_variable(&mut self, name: &str) -> String {
        let name = word(name);
        let name =
            if name.starts_with(|c: char| c.is_ascii_digit()) { format!("v{name}") } else { name };
        let is_free = |name: &String| !self.variables.contains(name);
        let variable = first_free(&name, '_', is_free);
        self.variables.push(variable.clone());
        variable
    }
}

/// A name of letters, digits and underscores.
fn word(name: &str) -> String {
    let letters = name.chars().map(|letter| match letter {
        letter if letter.is_ascii_alphanumeric() => letter.to_ascii_lowercase(),
        _ => '_',
    });
    letters.collect()
}

/// A value of this type, as the catalogs of all engines name it, in SQL.
pub(super) fn literal(data_type: &str, dialect: SqlDialect) -> &'static str {
    match data_type {
        "boolean" => "true",
        // `INTERVAL 1 DAY`
        "interval" if dialect == SqlDialect::MySql => "1",
        "interval" => "'1 day'",
        "extract" => "'epoch'",
        "time" | "time without time zone" => "'12:00:00'",
        "uuid" => "'00000000-0000-0000-0000-000000000000'",
        "json" | "jsonb" => "'{}'",
        kind if kind.starts_with("timestamp") || kind.starts_with("date") => "'2000-01-01'",
        kind if kind.ends_with("[]") => "'{}'",
        _ => "''",
    }
}

fn is_integer(data_type: &str) -> bool {
    matches!(
        data_type,
        "integer" | "int" | "bigint" | "smallint" | "tinyint" | "mediumint"
    )
}

fn is_number(data_type: &str) -> bool {
    is_integer(data_type)
        || matches!(
            data_type,
            "numeric" | "decimal" | "double precision" | "double" | "real" | "float" | "money"
        )
}
