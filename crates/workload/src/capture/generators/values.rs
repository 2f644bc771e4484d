//! Values of new keys, of ranges, and of one column drawn by itself.

use super::queries::sample_name;
use super::{Builder, Sample, is_integer};
use crate::capture::catalog::{Column, Table};
use crate::capture::statement::TableName;
use prony_document::SqlDialect;
use prony_server::control::Error as ControlError;
use prony_server::statements::{OWN_COLUMN, OWN_STATEMENT};

impl Builder<'_, '_> {
    pub(super) fn new_key(
        &mut self,
        table: &TableName,
        column: &Column,
    ) -> Result<String, ControlError> {
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
    pub(super) fn range(
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
    pub(super) fn draw(
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
}
