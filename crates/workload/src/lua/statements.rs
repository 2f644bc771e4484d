//! The prepared statements of one connection, from texts with `?`. Limits the number of open statements to what a
//! connection supports, and closes a statement when the script has closed it as often as it opened it.

use prony_wire::{Statement, StatementIds};
use std::collections::HashMap;
use std::rc::Rc;

/// Maximum number of open statements, because 16 bits number them.
const OPEN_STATEMENTS_MAX: usize = u16::MAX as usize;

/// An open statement.
struct OpenStatement {
    statement: Rc<Statement>,
    text: Vec<u8>,
    open_count: u64,
}

/// The prepared statements of one connection. Equal texts share a statement.
#[derive(Default)]
pub struct PreparedStatements {
    ids: StatementIds,
    numbers_by_text: HashMap<Vec<u8>, usize>,
    /// The open statements, by number.
    by_number: Vec<Option<OpenStatement>>,
}

impl PreparedStatements {
    /// Opens a statement and returns its number; `None` if too many are open.
    pub fn open(&mut self, text: &[u8]) -> Option<(usize, Rc<Statement>)> {
        if let Some(number) = self.numbers_by_text.get(text)
            && let Some(slot) = &mut self.by_number[*number]
        {
            slot.open_count += 1;
            return Some((*number, Rc::clone(&slot.statement)));
        }
        if self.numbers_by_text.len() >= OPEN_STATEMENTS_MAX {
            return None;
        }
        // Request the columns too: their number decides whether the query counts as a read.
        let statement = Rc::new(self.ids.add_with_question_marks(text).with_columns());
        let number = usize::from(statement.id());
        if self.by_number.len() <= number {
            self.by_number.resize_with(number + 1, || None);
        }
        self.by_number[number] = Some(OpenStatement {
            statement: Rc::clone(&statement),
            text: text.to_owned(),
            open_count: 1,
        });
        self.numbers_by_text.insert(text.to_owned(), number);
        Some((number, statement))
    }

    /// The statement with this number.
    pub fn get(&self, number: usize) -> Option<Rc<Statement>> {
        let slot = self.by_number.get(number)?.as_ref()?;
        Some(Rc::clone(&slot.statement))
    }

    /// The text of the statement with this number, as the script wrote it.
    pub fn text(&self, number: usize) -> Option<&[u8]> {
        Some(&self.by_number.get(number)?.as_ref()?.text)
    }

    /// Closes a statement once. Returns the statement if it is no longer open; then the connection must close it before a
    /// new statement reuses its number.
    pub fn close(&mut self, number: usize) -> Option<Rc<Statement>> {
        let slot = self.by_number.get_mut(number)?;
        let statement = slot.as_mut()?;
        statement.open_count -= 1;
        if statement.open_count > 0 {
            return None;
        }
        let closed = slot.take()?;
        self.numbers_by_text.remove(&closed.text);
        self.ids.remove(&closed.statement);
        Some(closed.statement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statement_is_dropped_after_as_many_closes_as_opens() {
        let mut prepared = PreparedStatements::default();
        let mut open = |text: &str| prepared.open(text.as_bytes()).map(|(number, _)| number);
        assert_eq!(
            [open("a"), open("b"), open("a")],
            [Some(0), Some(1), Some(0)]
        );
        assert!(prepared.close(0).is_none() && prepared.get(0).is_some());
        assert_eq!(prepared.close(0).expect("closed").sql(), "a");
        assert!(prepared.get(0).is_none() && prepared.close(0).is_none());
        // The number is reused, and the same text becomes a new statement.
        let mut open = |text: &str| prepared.open(text.as_bytes()).map(|(number, _)| number);
        assert_eq!([open("c"), open("a")], [Some(0), Some(2)]);
    }

    #[test]
    fn number_of_open_statements_is_limited() {
        let mut prepared = PreparedStatements::default();
        for number in 0..OPEN_STATEMENTS_MAX {
            assert!(prepared.open(number.to_string().as_bytes()).is_some());
        }
        assert!(prepared.open(b"more").is_none());
        assert!(prepared.close(17).is_some());
        assert_eq!(prepared.open(b"more").map(|(number, _)| number), Some(17));
    }
}
