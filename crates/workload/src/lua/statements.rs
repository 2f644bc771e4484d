//! The prepared statements of one connection, from texts with `?`. Closes a statement when the script has closed it
//! as often as it opened it.

use prony_wire::{Statement, StatementIds};
use std::collections::HashMap;
use std::rc::Rc;

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
    by_number: Vec<Option<OpenStatement>>,
}

impl PreparedStatements {
    pub fn open(&mut self, text: &[u8]) -> (usize, Rc<Statement>) {
        if let Some(number) = self.numbers_by_text.get(text)
            && let Some(slot) = &mut self.by_number[*number]
        {
            slot.open_count += 1;
            return (*number, Rc::clone(&slot.statement));
        }
        // Request the columns too: their number decides whether the query counts as a read.
        let statement = Rc::new(self.ids.add_with_question_marks(text).with_columns());
        let number = statement.id() as usize;
        if self.by_number.len() <= number {
            self.by_number.resize_with(number + 1, || None);
        }
        self.by_number[number] = Some(OpenStatement {
            statement: Rc::clone(&statement),
            text: text.to_owned(),
            open_count: 1,
        });
        self.numbers_by_text.insert(text.to_owned(), number);
        (number, statement)
    }

    pub fn get(&self, number: usize) -> Option<Rc<Statement>> {
        let slot = self.by_number.get(number)?.as_ref()?;
        Some(Rc::clone(&slot.statement))
    }

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
        let mut open = |text: &str| prepared.open(text.as_bytes()).0;
        assert_eq!([open("a"), open("b"), open("a")], [0, 1, 0]);
        assert!(prepared.close(0).is_none() && prepared.get(0).is_some());
        assert_eq!(prepared.close(0).expect("closed").sql(), "a");
        assert!(prepared.get(0).is_none() && prepared.close(0).is_none());
        // The number is reused, and the same text becomes a new statement.
        let mut open = |text: &str| prepared.open(text.as_bytes()).0;
        assert_eq!([open("c"), open("a")], [0, 2]);
    }

    #[test]
    fn more_statements_than_16_bits_number_can_be_open() {
        let mut prepared = PreparedStatements::default();
        for number in 0..70_000 {
            assert_eq!(prepared.open(number.to_string().as_bytes()).0, number);
        }
        assert!(prepared.close(17).is_some());
        assert_eq!(prepared.open(b"more").0, 17);
    }
}
