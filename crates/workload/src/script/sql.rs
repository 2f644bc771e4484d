//! Replaces the variables in a statement by their values, or by `$n`. Replaces them in quotes and comments too, as
//! pgbench does.

use super::ast::{SqlCommand, SqlVariables};
use super::error::ScriptError;
use super::variables::{VariableId, VariableNames, Variables, is_name_byte};
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

/// The maximum number of variables of a statement in the extended protocol.
pub const PARAMETERS_MAX: usize = 255;

impl SqlCommand {
    /// Creates the command of a statement, with its variables found.
    pub(super) fn new(text: &str, names: &mut VariableNames, pgbench_version: u32) -> Self {
        let references = variable_positions(text, pgbench_version);
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
                })
            }),
        }
    }

    /// The text with `$1`, `$2`, ... for the variables.
    pub fn numbered_text(&self) -> &Arc<str> {
        let variables = self.variables.as_ref();
        variables.map_or(&self.text, |variables| &variables.numbered_text)
    }

    /// The variables of the numbered text, in the order of its parameters. An undefined one is sent as NULL.
    pub fn parameters(&self) -> &[VariableId] {
        let variables = self.variables.as_ref();
        variables.map_or(&[], |variables| &variables.parameters)
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
        let references = self
            .variables
            .iter()
            .flat_map(|variables| &variables.references);
        for (id, reference) in self.parameters().iter().zip(references) {
            out.push_str(&self.text[plain_start..reference.start]);
            if !variables.append_text(*id, out) {
                out.push_str(&self.text[reference.clone()]);
            }
            plain_start = reference.end;
        }
        out.push_str(&self.text[plain_start..]);
    }
}

/// The range of each variable, from the colon to the end of the name. Two or more consecutive colons do not
/// begin a variable.
fn variable_positions(text: &str, pgbench_version: u32) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut positions = Vec::new();
    let mut offset = 0;
    while let Some(colon) = bytes[offset..].iter().position(|c| *c == b':') {
        let start = offset + colon;
        let name = &bytes[start + 1..];
        let length = name.iter().take_while(|c| is_name_byte(**c)).count();
        // Up to version 13, a name may begin with a digit: 12:34 contains a variable.
        let is_valid_start =
            pgbench_version < 14 || name.first().is_some_and(|c| !c.is_ascii_digit());
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
