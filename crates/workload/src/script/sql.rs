//! Replaces the variables in a statement by their values, or by `$n`. Ignores quotes and comments, because
//! pgbench replaces variables there too.

use super::ast::{Piece, SqlCommand, StoreColumns};
use super::error::ScriptError;
use super::variables::{VariableId, VariableNames, Variables, is_name_byte};
use std::fmt::Write as _;

/// The maximum number of variables of a statement in the extended protocol.
pub const PARAMETERS_MAX: usize = 255;

impl SqlCommand {
    /// Finds the variables of a statement.
    pub(super) fn new(text: String, names: &mut VariableNames, level: u32) -> Self {
        let mut pieces = Vec::new();
        let mut parameters = Vec::new();
        let mut numbered = String::with_capacity(text.len());
        let mut plain = 0;
        for (start, end) in variable_positions(&text, level) {
            let id = names.intern(&text[start + 1..end]);
            parameters.push(id);
            // Writing to a String cannot fail.
            let _ = write!(numbered, "{}${}", &text[plain..start], parameters.len());
            pieces.push(Piece {
                plain: plain..start,
                variable: Some((id, start..end)),
            });
            plain = end;
        }
        numbered.push_str(&text[plain..]);
        pieces.push(Piece {
            plain: plain..text.len(),
            variable: None,
        });
        SqlCommand {
            text,
            numbered,
            results: None::<StoreColumns>,
            pieces,
            parameters,
        }
    }

    /// The variables of `numbered`, in the order of its parameters. An undefined one is sent as NULL.
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

/// The positions of the variables, from the colon to the end of the name. Two or more
/// consecutive colons do not begin a variable.
fn variable_positions(text: &str, level: u32) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut positions = Vec::new();
    let mut offset = 0;
    while let Some(colon) = bytes[offset..].iter().position(|c| *c == b':') {
        let start = offset + colon;
        let name = &bytes[start + 1..];
        let length = name.iter().take_while(|c| is_name_byte(**c)).count();
        // Up to version 13, a name may begin with a digit: 12:34 contains a variable.
        let is_valid_start = level < 14 || name.first().is_some_and(|c| !c.is_ascii_digit());
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
