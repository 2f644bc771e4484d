//! Replaces the variables in a statement by their values, or by `$n`. As in pgbench, also in quotes and comments, unless the
//! dialect of the SQL is known.

use super::ast::{SqlCommand, SqlVariables};
use super::error::ScriptError;
use super::lex::token_length;
use super::tokens::Source;
use super::variables::{VariableId, VariableNames, Variables, is_name_byte};
use prony_document::SqlDialect;
use prony_wire::ParameterType;
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

/// The maximum number of variables of a statement in the extended protocol.
pub const PARAMETERS_MAX: usize = 255;

impl SqlCommand {
    /// The letters at its start: what kind of statement it is.
    pub(super) fn first_word(&self) -> &str {
        let end = self.text.find(|letter: char| !letter.is_ascii_alphabetic());
        &self.text[..end.unwrap_or(self.text.len())]
    }

    /// Creates the command of a statement, with its variables found.
    pub(super) fn new(text: &str, names: &mut VariableNames, source: &Source<'_>) -> Self {
        let references = variable_positions(text, source);
        let mut parameters = Vec::with_capacity(references.len());
        let mut numbered_text = String::new();
        let mut plain_start = 0;
        for reference in &references {
            parameters.push(names.intern(&text[reference.start + 1..reference.end]));
            // Writing to a String cannot fail.
            let _ = write!(
                numbered_text,
                "{}${}",
                &text[plain_start..reference.start],
                parameters.len()
            );
            plain_start = reference.end;
        }
        numbered_text.push_str(&text[plain_start..]);
        SqlCommand {
            text: text.into(),
            store_command: None,
            variables: (!references.is_empty()).then(|| {
                Box::new(SqlVariables {
                    numbered_text: numbered_text.into(),
                    parameters: parameters.into(),
                    references: references.into(),
                    types: Box::default(),
                })
            }),
        }
    }

    /// The text with `$1`, `$2`, ... for the variables.
    pub fn numbered_text(&self) -> &Arc<str> {
        let variables = self.variables.as_ref();
        variables.map_or(&self.text, |variables| &variables.numbered_text)
    }

    /// The positions of `$1`, `$2`, ... in the numbered text.
    pub(super) fn numbered_positions(&self) -> Vec<Range<usize>> {
        let (mut positions, mut plain_start, mut end) = (Vec::new(), 0, 0);
        let references = self.variables.iter();
        for reference in references.flat_map(|variables| &variables.references) {
            let start = end + reference.start - plain_start;
            let digits = (positions.len() + 1).ilog10() as usize + 1;
            end = start + 1 + digits;
            plain_start = reference.end;
            positions.push(start..end);
        }
        positions
    }

    /// The variables of the numbered text, in the order of its parameters. An undefined one is sent as NULL.
    pub fn parameters(&self) -> &[VariableId] {
        let variables = self.variables.as_ref();
        variables.map_or(&[], |variables| &variables.parameters)
    }

    /// The types to declare for the parameters; empty if none is known.
    pub(super) fn types(&self) -> &[Option<ParameterType>] {
        let variables = self.variables.as_ref();
        variables.map_or(&[], |variables| &variables.types)
    }

    pub(super) fn set_types(&mut self, types: Vec<Option<ParameterType>>) {
        if let Some(variables) = &mut self.variables {
            variables.types = types.into();
        }
    }

    /// Checks that the statement does not have too many variables for the extended protocol.
    pub fn check_parameters(&self) -> Result<(), ScriptError> {
        if self.parameters().len() <= PARAMETERS_MAX {
            return Ok(());
        }
        Err(ScriptError::TooManyArguments {
            maximum: PARAMETERS_MAX,
            statement: self.text.to_string(),
        })
    }

    /// Appends the text with the variables' values; an undefined variable stays as written.
    pub fn substitute(&self, variables: &Variables, out: &mut String) {
        let mut plain_start = 0;
        if let Some(variables_of_text) = &self.variables {
            let ids = variables_of_text.parameters.iter();
            for (id, reference) in ids.zip(&variables_of_text.references) {
                out.push_str(&self.text[plain_start..reference.start]);
                if !variables.append_text(*id, out) {
                    out.push_str(&self.text[reference.clone()]);
                }
                plain_start = reference.end;
            }
        }
        out.push_str(&self.text[plain_start..]);
    }
}

/// The range of each variable, from the colon to the end of the name. Two or more consecutive colons do not
/// begin a variable.
fn variable_positions(text: &str, source: &Source<'_>) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut positions = Vec::new();
    let mut offset = 0;
    while let Some(colon) = next_colon(&bytes[offset..], source.dialect) {
        let start = offset + colon;
        let name = &bytes[start + 1..];
        let length = name.iter().take_while(|c| is_name_byte(**c)).count();
        // Up to version 13, a name may begin with a digit: 12:34 contains a variable.
        let is_valid_start =
            source.pgbench_version < 14 || name.first().is_some_and(|c| !c.is_ascii_digit());
        if length > 0 && is_valid_start {
            offset = start + 1 + length;
            positions.push(start..offset);
        } else {
            let colons = bytes[start..].iter().take_while(|c| **c == b':').count();
            offset = start + colons;
        }
    }
    positions
}

/// The next colon; with a dialect, outside literals, quoted names and comments.
fn next_colon(bytes: &[u8], dialect: Option<SqlDialect>) -> Option<usize> {
    let Some(dialect) = dialect else {
        return bytes.iter().position(|c| *c == b':');
    };
    let mut offset = 0;
    while *bytes.get(offset)? != b':' {
        offset += token_length(&bytes[offset..], dialect);
    }
    Some(offset)
}
