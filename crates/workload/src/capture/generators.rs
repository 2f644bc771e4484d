//! Chooses what each placeholder of a captured statement is drawn from, and writes the statement as a transaction.
//!
//! In: a statement that was read, the catalog, rows a call. Out: the script, the samples that it draws from, and a
//! sentence for every guess. Must never: put a value of the server into the script; only the queries of the samples are
//! written.

use super::catalog::{Catalog, Column, Table};
use super::first_free;
use super::statement::{ColumnUse, Role, Statement, TableName};
use prony_document::SqlDialect;
use prony_server::control::Error as ControlError;
use prony_server::statements::{OWN_COLUMN, OWN_STATEMENT};

const SAMPLE_ROWS: u64 = 10_000;
/// A table of up to this many rows is read whole to choose the rows of a sample.
const WHOLE_ROWS_MAX: u64 = 10 * SAMPLE_ROWS;
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
        let cast = if replacements[number].starts_with(':') {
            cast
        } else {
            ""
        };
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

    fn new_key(&mut self, table: &TableName, column: &Column) -> Result<String, ControlError> {
        let name = &column.name;
        if !is_integer(&column.data_type) {
            return Ok(match (&*column.data_type, self.catalog.dialect) {
                ("uuid", SqlDialect::PostgreSql) => {
                    self.guess(format!("{name} of a new row: a random uuid"));
                    "gen_random_uuid()".to_owned()
                }
                ("uniqueidentifier", _) => {
                    self.guess(format!("{name} of a new row: a random uuid"));
                    "NEWID()".to_owned()
                }
                _ => self.set(
                    &column.bare_name,
                    "random(1, 9000000000000000)",
                    "a random number for a new key",
                ),
            });
        }
        let greatest = format!(
            "SELECT {OWN_STATEMENT} max({name}) AS {OWN_COLUMN} FROM {}",
            table.text
        );
        let greatest = match self.catalog.control.query_value(&greatest) {
            Err(ControlError::Statement(error)) if !error.is_fatal() => {
                self.guess(format!(
                    "the greatest {name} of {} could not be read, so new keys begin at 1 and may exist",
                    table.text
                ));
                None
            }
            greatest => greatest?,
        };
        let greatest: i64 = greatest.and_then(|text| text.parse().ok()).unwrap_or(0);
        let limit = match &*column.data_type {
            "bigint" => i64::MAX / 2,
            "smallint" => i64::from(i16::MAX),
            "tinyint" => i64::from(i8::MAX),
            "mediumint" => (1 << 23) - 1,
            _ => i64::from(i32::MAX),
        };
        let value = format!(
            "random({}, {})",
            greatest.saturating_add(1),
            limit.max(greatest.saturating_add(1))
        );
        Ok(self.set(
            &column.bare_name,
            &value,
            "a random number beyond the greatest, for a new key",
        ))
    }

    /// An ordered pair of values, so far apart that the rows of a call lie between them.
    fn range(
        &mut self,
        table: &TableName,
        facts: &Table,
        column: &Column,
    ) -> Result<Option<String>, ControlError> {
        let name = &column.name;
        // Of the rows that the sample reads, so many lie in the range.
        let read = self.share(facts);
        let width = ((self.rows_a_call as f64 * read).round() as u64).max(1)
            - u64::from(self.rows_a_call == 1);
        // At least two rows of a small share are so far apart, unless they are neighbours on disk.
        let expected = (width as f64 / read).round() as u64;
        let is_wide = expected > self.rows_a_call + self.rows_a_call / 10;
        let pairs = format!(
            "SELECT {name} AS low, lead({name}, {width}) OVER (ORDER BY {name}) AS high FROM {}{} {}",
            table.text,
            self.sampled(facts),
            self.conditions(facts, vec![format!("{name} IS NOT NULL")])
        );
        let sql = self.limited(
            "low, high",
            &format!("({pairs}) pairs"),
            "WHERE high IS NOT NULL",
        );
        if !self.has_rows(&sql)? {
            return Ok(None);
        }
        let sample = sample_name(table, [&*column.bare_name, "range"].into_iter(), false);
        let variable = self.new_variable(&column.bare_name);
        self.variables.push(format!("{variable}_high"));
        self.commands
            .push(format!("\\sample {sample} {variable} {variable}_high\n"));
        self.add_sample(Sample { name: sample, sql });
        let rows = self.rows_a_call;
        let of = if self.statement.is_aggregate {
            "a guess, because a call returns an aggregate"
        } else {
            "those that a call returned"
        };
        let rows = if is_wide {
            format!(
                "about {expected} rows, or from {width} if their order on disk is that of {name}, because {:.2} % of the table are read, instead of {rows} rows",
                100.0 * read
            )
        } else {
            format!("about {rows} rows")
        };
        self.guess(format!(
            "from :{variable} to :{variable}_high: {rows} of {}, {of}",
            table.text
        ));
        Ok(Some(format!(":{variable}")))
    }

    /// Draws one column from a sample of its own. `None` if it has no rows. `kind`: what a row of the sample holds, if
    /// not a value of the column.
    fn draw(
        &mut self,
        table: &TableName,
        column: &Column,
        sql: String,
        kind: &'static str,
    ) -> Result<Option<String>, ControlError> {
        if !self.has_rows(&sql)? {
            return Ok(None);
        }
        let names = [&*column.bare_name, kind]
            .into_iter()
            .filter(|name| !name.is_empty());
        let name = sample_name(table, names, false);
        let variable = self.new_variable(&column.bare_name);
        self.commands.push(format!("\\sample {name} {variable}\n"));
        self.add_sample(Sample { name, sql });
        let what = match kind {
            "" => "a value".to_owned(),
            _ => format!("{} values", self.rows_a_call),
        };
        self.guess(format!(
            ":{variable}: {what} of {} in {}",
            column.name, table.text
        ));
        Ok(Some(format!(":{variable}")))
    }

    fn row_query(
        &self,
        table: &TableName,
        facts: &Table,
        columns: &[Column],
        may_be_null: bool,
    ) -> String {
        let mut names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
        let list = names.join(", ");
        names.sort_unstable();
        names.dedup();
        let conditions = names.iter().map(|name| format!("{name} IS NOT NULL"));
        let conditions = if may_be_null {
            Vec::new()
        } else {
            conditions.collect()
        };
        let conditions = self.conditions(facts, conditions);
        self.limited(
            &list,
            &format!("{}{}", table.text, self.sampled(facts)),
            &conditions,
        )
    }

    fn array_query(&self, table: &TableName, facts: &Table, column: &Column) -> String {
        let (name, following) = (&column.name, self.rows_a_call - 1);
        let arrays = format!(
            "SELECT array_agg({name}) OVER (ROWS BETWEEN CURRENT ROW AND {following} FOLLOWING)::text AS list \
             FROM (SELECT {name} FROM {}{} WHERE {name} IS NOT NULL ORDER BY random() LIMIT {SAMPLE_ROWS}) drawn",
            table.text,
            self.sampled(facts)
        );
        self.limited("list", &format!("({arrays}) arrays"), "")
    }

    /// The query for random rows.
    fn limited(&self, columns: &str, from: &str, conditions: &str) -> String {
        match self.catalog.dialect {
            SqlDialect::PostgreSql => format!(
                "SELECT {OWN_STATEMENT} {columns} FROM {from} {conditions} ORDER BY random() LIMIT {SAMPLE_ROWS}"
            ),
            SqlDialect::MySql => format!(
                "SELECT {OWN_STATEMENT} {columns}, 1 AS {OWN_COLUMN} FROM {from} {conditions} ORDER BY rand() LIMIT {SAMPLE_ROWS}"
            ),
            SqlDialect::TransactSql => format!(
                "SELECT {OWN_STATEMENT} TOP {SAMPLE_ROWS} {columns} FROM {from} {conditions} ORDER BY NEWID()"
            ),
        }
    }

    /// A WHERE clause, which on MySQL takes a part of a large table, so that only this part is sorted.
    fn conditions(&self, facts: &Table, mut conditions: Vec<String>) -> String {
        let share = self.share(facts);
        if self.catalog.dialect == SqlDialect::MySql && share < 1.0 {
            conditions.push(format!("rand() < {share:.8}"));
        }
        if conditions.is_empty() {
            String::new()
        } else {
            format!("WHERE {}", conditions.join(" AND "))
        }
    }

    /// What lets the server read a part of a large table.
    fn sampled(&self, facts: &Table) -> String {
        let percent = 100.0 * self.share(facts);
        match self.catalog.dialect {
            _ if percent >= 100.0 => String::new(),
            SqlDialect::PostgreSql => format!(" TABLESAMPLE SYSTEM ({percent:.6})"),
            SqlDialect::TransactSql => format!(" TABLESAMPLE ({percent:.6} PERCENT)"),
            SqlDialect::MySql => String::new(),
        }
    }

    /// The share of a table's rows that a sample reads.
    fn share(&self, facts: &Table) -> f64 {
        if facts.can_sample && facts.rows > WHOLE_ROWS_MAX {
            WHOLE_ROWS_MAX as f64 / facts.rows as f64
        } else {
            1.0
        }
    }

    fn add_sample(&mut self, sample: Sample) {
        if !self.transaction.samples.contains(&sample) {
            self.transaction.samples.push(sample);
        }
    }

    fn has_rows(&mut self, sql: &str) -> Result<bool, ControlError> {
        if self
            .transaction
            .samples
            .iter()
            .any(|sample| sample.sql == sql)
        {
            return Ok(true);
        }
        match self.catalog.control.query(sql) {
            Ok(rows) => Ok(!rows.is_empty()),
            // A right is missing, or the name is not of a table.
            Err(ControlError::Statement(error)) if !error.is_fatal() => Ok(false),
            Err(error) => Err(error),
        }
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
        let name = if name.starts_with(|c: char| c.is_ascii_digit()) {
            format!("v{name}")
        } else {
            name
        };
        let is_free = |name: &String| !self.variables.contains(name);
        let variable = first_free(&name, '_', is_free);
        self.variables.push(variable.clone());
        variable
    }
}

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

fn sample_name<'a>(
    table: &TableName,
    columns: impl Iterator<Item = &'a str>,
    is_written: bool,
) -> String {
    let mut name = word(&table.text).trim_matches('_').to_owned();
    for column in columns {
        name = format!("{name}_{}", word(column));
    }
    if is_written {
        format!("{name}_written")
    } else {
        name
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
