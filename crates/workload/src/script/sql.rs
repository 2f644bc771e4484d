//! The variables in a statement.
//!
//! In: a statement's text. Out: the same text with values in their places, or with `$n` for them.
//! Must never: look at quotes or comments; pgbench replaces variables there too.

use super::ast::{Piece, Results, SqlCommand};
use super::error::ScriptError;
use super::variables::{Names, VariableId, Variables, is_name_byte};
use std::fmt::Write as _;

/// The most variables of a statement in the extended protocol.
pub const PARAMETERS_MAX: usize = 255;

impl SqlCommand {
    /// Finds the variables of a statement.
    pub(super) fn new(text: String, names: &mut Names, level: u32) -> Self {
        let mut pieces = Vec::new();
        let mut parameters = Vec::new();
        let mut numbered = String::with_capacity(text.len());
        let mut plain = 0;
        for (start, end) in places(&text, level) {
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
            results: None::<Results>,
            pieces,
            parameters,
        }
    }

    /// The variables whose values go with `numbered`, in the order of their numbers; one that is
    /// not defined goes as NULL.
    pub fn parameters(&self) -> &[VariableId] {
        &self.parameters
    }

    /// Whether the statement may be sent in the extended protocol: not with too many variables.
    pub fn check_parameters(&self) -> Result<(), ScriptError> {
        if self.parameters.len() <= PARAMETERS_MAX {
            return Ok(());
        }
        Err(ScriptError::TooManyArguments {
            maximum: PARAMETERS_MAX,
            statement: self.text.clone(),
        })
    }

    /// Appends the text with the variables' values in it; one that is not defined stays as written.
    pub fn substitute(&self, variables: &Variables, out: &mut String) {
        for piece in &self.pieces {
            out.push_str(&self.text[piece.plain.clone()]);
            if let Some((id, written)) = &piece.variable
                && !variables.append_text(*id, out)
            {
                out.push_str(&self.text[written.clone()]);
            }
        }
    }
}

/// Where the variables are: from the colon to the end of the name. Of several colons in a row none
/// begins a variable.
fn places(text: &str, level: u32) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(colon) = bytes[at..].iter().position(|c| *c == b':') {
        let start = at + colon;
        let name = &bytes[start + 1..];
        let length = name.iter().take_while(|c| is_name_byte(**c)).count();
        // Until version 13 a digit could begin a name, so that 12:34 held a variable.
        let first_fits = level < 14 || name.first().is_some_and(|c| !c.is_ascii_digit());
        if length > 0 && first_fits {
            at = start + 1 + length;
            found.push((start, at));
        } else {
            let colons = bytes[start..].iter().take_while(|c| **c == b':').count();
            at = start + colons;
        }
    }
    found
}
