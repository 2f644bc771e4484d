//! Determines the kind of a statement by the first word of its text.

/// What a statement does, as far as its reply depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementKind {
    /// Returns one row.
    Select,
    Insert,
    Update,
    Delete,
    Begin,
    Commit,
    Rollback,
    /// Returns neither rows nor a count.
    Other,
}

impl StatementKind {
    /// All kinds, in the order of their discriminants.
    pub const ALL: [Self; 8] = [
        Self::Select,
        Self::Insert,
        Self::Update,
        Self::Delete,
        Self::Begin,
        Self::Commit,
        Self::Rollback,
        Self::Other,
    ];

    pub fn of(sql: &[u8]) -> Self {
        let sql = sql.trim_ascii_start();
        let letters = sql.iter().take_while(|byte| byte.is_ascii_alphabetic());
        let word = &sql[..letters.count()];
        let is = |candidates: &[&str]| {
            let mut candidates = candidates.iter();
            candidates.any(|candidate| word.eq_ignore_ascii_case(candidate.as_bytes()))
        };
        if is(&["select", "show", "with", "values", "table"]) {
            Self::Select
        } else if is(&["insert", "replace"]) {
            Self::Insert
        } else if is(&["update"]) {
            Self::Update
        } else if is(&["delete"]) {
            Self::Delete
        } else if is(&["begin", "start"]) {
            Self::Begin
        } else if is(&["commit", "end"]) {
            Self::Commit
        } else if is(&["rollback", "abort"]) {
            Self::Rollback
        } else {
            Self::Other
        }
    }

    /// Whether the session is in a transaction block after this statement. `before`: whether it was in one
    /// before.
    pub fn in_transaction_after(self, before: bool) -> bool {
        match self {
            Self::Begin => true,
            Self::Commit | Self::Rollback => false,
            _ => before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_decides_the_kind() {
        let kind = |sql: &str| StatementKind::of(sql.as_bytes());
        assert_eq!(kind("  sElEcT 1"), StatementKind::Select);
        assert_eq!(kind("END;"), StatementKind::Commit);
        assert_eq!(kind("start transaction"), StatementKind::Begin);
        assert_eq!(kind("selected"), StatementKind::Other);
        assert_eq!(kind(""), StatementKind::Other);
        for (index, kind) in StatementKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, index);
        }
    }

    #[test]
    fn only_block_statements_change_whether_a_transaction_is_open() {
        for before in [false, true] {
            assert_eq!(StatementKind::Update.in_transaction_after(before), before);
            assert!(StatementKind::Begin.in_transaction_after(before));
            assert!(!StatementKind::Rollback.in_transaction_after(before));
        }
    }
}
