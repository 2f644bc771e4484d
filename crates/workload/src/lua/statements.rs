//! The prepared statements of one user.
//!
//! In: texts with `?`. Out: statements by number. Must never: number more of them than a connection can
//! hold.

use prony_wire::{Statement, Statements};
use std::collections::HashMap;
use std::rc::Rc;

/// The prepared statements of one user. The same text is the same statement.
#[derive(Default)]
pub struct Prepared {
    set: Statements,
    by_text: HashMap<String, usize>,
    all: Vec<Rc<Statement>>,
}

impl Prepared {
    /// The number of a text's statement; none once there are too many.
    pub fn number(&mut self, text: &str) -> Option<usize> {
        if let Some(number) = self.by_text.get(text) {
            return Some(*number);
        }
        // Numbers of statements have 16 bits.
        if self.all.len() >= usize::from(u16::MAX) {
            return None;
        }
        let number = self.all.len();
        // How many columns there are decides what a query counts as.
        self.all
            .push(Rc::new(self.set.add_marked(text).with_columns()));
        self.by_text.insert(text.to_owned(), number);
        Some(number)
    }

    /// The statement of a number.
    pub fn get(&self, number: usize) -> Option<Rc<Statement>> {
        self.all.get(number).cloned()
    }

    /// The server refused it: the text is to be tried anew.
    pub fn forget(&mut self, text: &str) {
        self.by_text.remove(text);
    }
}
