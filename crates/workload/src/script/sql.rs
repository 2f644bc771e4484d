//! Replaces the variables in a statement by their values, or by `$n`. Replaces them in quotes and comments too, as
//! pgbench does.

use super::ast::{Piece, SqlCommand, StoreCommand};
use super::error::ScriptError;
use super::variables::{VariableId, VariableNames, Variables, is_name_byte};
use std::fmt::Write as _;

/// The maximum number of variables of a statement in the extended protocol.
pub const PARAMETERS_MAX: usize = 255;

impl SqlCommand {
    /// Creates the command of a statement, with its variables found.
    pub(super) fn new(text: String, names: &mut VariableNames, pgbench_version: u32) -> Self {
        let mut pieces = Vec::new();
        let mut parameters = Vec::new();
        let mut numbered_text = String::with_capacity(text.len());
        let mut plain_start = 0;
        for (start, end) in variable_positions(&text, pgbench_version) {
            let id = names.intern(&text[start + 1..end]);
            parameters.push(id);
            // Writing to a String cannot fail.
            let _ = write!(
                numbered_text,
                "{}${}",
                &text[plain_start..start],
                parameters.len()
            );
            pieces.push(Piece {
                plain: plain_start..start,
                variable: Some((id, start..end)),
            });
            plain_start = end;
        }
        numbered_text.push_str(&text[plain_start..]);
        pieces.push(Piece {
            plain: plain_start..text.len(),
            variable: None,
        });
        SqlCommand {
            text,
            numbered_text,
            store_command: None::<StoreCommand>,
            pieces,
            parameters,
        }
    }

    /// The variables of `numbered_text`, in the order of its parameters. An undefined one is sent as NULL.
    pub fn parameters(&self) -> &[VariableId] {
        &self.parameters
    }

    /// Checks that the statement does not have too many variables for the extended protocol.
    pub fn check_parameters(&self) -> Result<(), ScriptError> {
        if self.parameters.len() <= PARAMETERS_MAX {
            return Ok(());
        }
        Err(ScriptError::TooManyArguments {
            maximum: PARAMETERS_MAX,
            statement: self.text.clone(),
        })
    }

    /// Appends the text with the variables' values; an undefined variable stays as written.
    pub fn substitute(&self, variables: &Variables, out: &mut String) {
        for piece in &self.pieces {
            out.push_str(&self.text[piece.plain.clone()]);
            if let Some((id, reference)) = &piece.variable
                && !variables.append_text(*id, out)
            {
                out.push_str(&self.text[reference.clone()]);
            }
        }
    }
}

/// The start and end of each variable, from the colon to the end of the name. Two or more consecutive colons do not
/// begin a variable.
fn variable_positions(text: &str, pgbench_version: u32) -> Vec<(usize, usize)> {
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
            positions.push((start, offset));
        } else {
            let colons = bytes[start..].iter().take_while(|c| **c == b':').count();
            offset = start + colons;
        }
    }
    positions
}
