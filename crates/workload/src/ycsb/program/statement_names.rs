//! The names of the statements, for latencies per statement: those of the operations.

use super::YcsbRun;
use prony_session::StatementTable;
use std::slice::from_ref;

impl YcsbRun {
    /// The statements by name. Those that differ only in the field share a name.
    pub fn statement_table(&self) -> StatementTable {
        let mut table = StatementTable::new();
        for (name, statements) in [
            ("read", &self.read[..]),
            ("update", &self.update),
            ("scan", &self.scan),
            ("insert", from_ref(&self.insert)),
            ("exists", from_ref(&self.exists)),
        ] {
            for statement in statements {
                let text = statement.sql().to_owned();
                let text = self.dialect.with_native_placeholders(text);
                table.add(name, text, statement);
            }
        }
        table
    }
}
