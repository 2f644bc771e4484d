//! The prepared statements of one user.
//!
//! In: texts with `?`. Out: statements by number. Must never: number more of them than a connection can
//! hold, or keep one that was closed as often as it was opened.

use prony_wire::{Statement, Statements};
use std::collections::HashMap;
use std::rc::Rc;

/// How many may be open: their numbers have 16 bits.
const MOST: usize = u16::MAX as usize;

/// A statement, and how often it is open.
struct Opened {
    statement: Rc<Statement>,
    text: Vec<u8>,
    times: u64,
}

/// The prepared statements of one user. The same text is the same statement.
#[derive(Default)]
pub struct Prepared {
    set: Statements,
    by_text: HashMap<Vec<u8>, usize>,
    /// By number.
    all: Vec<Option<Opened>>,
}

impl Prepared {
    /// Opens a text's statement, and gives its number; none where there are too many.
    pub fn open(&mut self, text: &[u8]) -> Option<(usize, Rc<Statement>)> {
        if let Some(number) = self.by_text.get(text)
            && let Some(opened) = &mut self.all[*number]
        {
            opened.times += 1;
            return Some((*number, Rc::clone(&opened.statement)));
        }
        if self.by_text.len() >= MOST {
            return None;
        }
        // How many columns there are decides what a query counts as.
        let statement = Rc::new(self.set.add_marked(text).with_columns());
        let number = usize::from(statement.id());
        if self.all.len() <= number {
            self.all.resize_with(number + 1, || None);
        }
        self.all[number] = Some(Opened {
            statement: Rc::clone(&statement),
            text: text.to_owned(),
            times: 1,
        });
        self.by_text.insert(text.to_owned(), number);
        Some((number, statement))
    }

    /// The statement of a number.
    pub fn get(&self, number: usize) -> Option<Rc<Statement>> {
        let opened = self.all.get(number)?.as_ref()?;
        Some(Rc::clone(&opened.statement))
    }

    /// The text of a number's statement, as the script wrote it.
    pub fn text(&self, number: usize) -> Option<&[u8]> {
        Some(&self.all.get(number)?.as_ref()?.text)
    }

    /// Closes it once. The statement, if it is open no more: the connection is to close it before
    /// another one is opened, which may have its number.
    pub fn close(&mut self, number: usize) -> Option<Rc<Statement>> {
        let place = self.all.get_mut(number)?;
        let opened = place.as_mut()?;
        opened.times -= 1;
        if opened.times > 0 {
            return None;
        }
        let opened = place.take()?;
        self.by_text.remove(&opened.text);
        self.set.remove(&opened.statement);
        Some(opened.statement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_closed_with_the_last_that_opened_it() {
        let mut prepared = Prepared::default();
        let mut open = |text: &str| prepared.open(text.as_bytes()).map(|(number, _)| number);
        assert_eq!(
            [open("a"), open("b"), open("a")],
            [Some(0), Some(1), Some(0)]
        );
        assert!(prepared.close(0).is_none() && prepared.get(0).is_some());
        assert_eq!(prepared.close(0).expect("the last").sql(), "a");
        assert!(prepared.get(0).is_none() && prepared.close(0).is_none());
        // Its number is another's, and the same text is a new statement.
        let mut open = |text: &str| prepared.open(text.as_bytes()).map(|(number, _)| number);
        assert_eq!([open("c"), open("a")], [Some(0), Some(2)]);
    }

    #[test]
    fn there_is_room_for_as_many_as_a_connection_holds() {
        let mut prepared = Prepared::default();
        for number in 0..MOST {
            assert!(prepared.open(number.to_string().as_bytes()).is_some());
        }
        assert!(prepared.open(b"more").is_none());
        assert!(prepared.close(17).is_some());
        assert_eq!(prepared.open(b"more").map(|(number, _)| number), Some(17));
    }
}
