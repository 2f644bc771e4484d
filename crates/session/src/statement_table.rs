//! The names of a program's statements, for latencies per statement. Names come from the program: nothing
//! parses a text.

use prony_document::RecordedLatency;
use prony_wire::{FirstWord, Statement};
use std::collections::HashMap;

/// A statement of a program, or several that differ only in a table, a field or the like.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedStatement {
    /// Name, unique in the program, such as `update-account`.
    pub name: String,
    /// Text with placeholders; of several statements, the first one's.
    pub text: String,
    /// The first word of that text.
    pub first_word: FirstWord,
    /// How long it took in the log from which it is replayed.
    pub recorded: Option<RecordedLatency>,
}

/// The statements of a program by name, and the name of each statement number ([`Statement::id`]).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatementTable {
    named: Vec<NamedStatement>,
    index_by_name: HashMap<String, usize>,
    /// Index in `named` by statement number; `None` for a statement without a name.
    index_by_id: Vec<Option<usize>>,
}

impl StatementTable {
    /// Creates an empty table.
    pub fn new() -> Self {
        StatementTable::default()
    }

    /// Adds a statement whose text is shown as `text`. Statements with the same name are measured together.
    pub fn add(&mut self, name: &str, text: impl Into<String>, statement: &Statement) {
        let index = match self.index_by_name.get(name) {
            Some(index) => *index,
            None => {
                self.named.push(NamedStatement {
                    name: name.to_owned(),
                    text: text.into(),
                    first_word: statement.first_word(),
                    recorded: None,
                });
                self.index_by_name
                    .insert(name.to_owned(), self.named.len() - 1);
                self.named.len() - 1
            }
        };
        let id = statement.id() as usize;
        if self.index_by_id.len() <= id {
            self.index_by_id.resize(id + 1, None);
        }
        self.index_by_id[id] = Some(index);
    }

    /// Sets how long the statement that was added last took in the log from which it is replayed.
    pub fn set_recorded(&mut self, latency: RecordedLatency) {
        if let Some(statement) = self.named.last_mut() {
            statement.recorded = Some(latency);
        }
    }

    /// The statements, in the order in which they were added.
    pub fn statements(&self) -> &[NamedStatement] {
        &self.named
    }

    /// A statement number above those of all named statements.
    pub fn free_id(&self) -> u32 {
        u32::try_from(self.index_by_id.len()).unwrap_or(u32::MAX)
    }

    /// The index in [`StatementTable::statements`] of a statement number; `None` if it has no name.
    #[inline]
    pub fn index_of(&self, id: u32) -> Option<usize> {
        self.index_by_id.get(id as usize).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_wire::StatementIds;

    #[test]
    fn statements_with_the_same_name_share_an_index() {
        let mut ids = StatementIds::new();
        let (begin, unnamed) = (ids.add("BEGIN"), ids.add("SELECT 1"));
        let reads = [ids.add("SELECT c FROM t1"), ids.add("SELECT c FROM t2")];
        let mut table = StatementTable::new();
        table.add("begin", begin.sql(), &begin);
        for read in &reads {
            table.add("read", read.sql(), read);
        }
        assert_eq!(table.index_of(begin.id()), Some(0));
        assert_eq!(table.index_of(unnamed.id()), None);
        assert_eq!(
            reads.each_ref().map(|read| table.index_of(read.id())),
            [Some(1); 2]
        );
        assert_eq!(table.index_of(u32::MAX), None);
        assert_eq!(table.free_id(), reads[1].id() + 1);
        assert_eq!(table.statements()[1].text, "SELECT c FROM t1");
    }
}
