//! The texts in which a statement of the program has an entry, and which statements can have one so.
//!
//! Must never: change what the program's own statement does or returns.

use prony_wire::{FirstWord, ParameterType, Statement, StatementIds};

/// The statement and the insert in one text, as a block unless it is in one. The session's XACT_ABORT ends the text at an
/// error and rolls back. With NOCOUNT, the insert has no result; Babelfish reports one of no rows, so the statement comes
/// last. The first word must not be one for which the text is sent as such (SET, BEGIN).
pub(super) fn combine(statement: &Statement, insert: &Statement, is_in_block: bool) -> Statement {
    let insert_text = text_after(statement, insert);
    let (before, after) = if is_in_block {
        ("IF @@TRANCOUNT > 0 SET NOCOUNT ON", "")
    } else {
        (
            "IF @@TRANCOUNT = 0 BEGIN TRANSACTION;SET NOCOUNT ON",
            "\n;SET NOCOUNT ON;COMMIT TRANSACTION",
        )
    };
    let sql = statement.sql();
    let text = format!("{before};{insert_text};SET NOCOUNT OFF;{sql}{after}");
    // Each of the two texts is another statement of the connection.
    let id = insert.id() + 1 + 2 * statement.id() + u32::from(is_in_block);
    StatementIds::new()
        .add(&text)
        .with_suggested_types(types_of_both(statement, insert))
        .with_id(id)
}

/// The statement with the insert as a common table expression, which PostgreSQL executes whether it is used or not.
/// `returns`: whether the insert returns a row.
pub(super) fn with_expression(
    statement: &Statement,
    insert: &Statement,
    returns: bool,
) -> Statement {
    let returning = if returns { " RETURNING 1" } else { "" };
    let insert_text = text_after(statement, insert);
    let own = statement.sql();
    let text = format!("WITH prony_ledger AS ({insert_text}{returning}) {own}");
    // A `$1` in a literal of the statement is no placeholder.
    let count = (statement.parameter_count() + insert.parameter_count()) as u32;
    let combined = StatementIds::new()
        .add_unparsed(text, count)
        .with_types(types_of_both(statement, insert))
        .with_id(insert.id() + 1 + statement.id());
    if statement.wants_columns() { combined.with_columns() } else { combined }
}

/// Whether a statement of PostgreSQL can have another one as a common table expression. Not if it begins with a comment:
/// extensions such as pg_hint_plan read hints there, and no longer after the expression.
pub(super) fn takes_expression(statement: &Statement) -> bool {
    let first = statement.bytes().trim_ascii_start().first();
    first.is_some_and(u8::is_ascii_alphabetic)
        && matches!(
            statement.first_word(),
            FirstWord::Insert | FirstWord::Update | FirstWord::Delete
        )
        && statement.is_utf8()
}

/// Whether a statement has this word.
pub(super) fn has_word(statement: &Statement, word: &str) -> bool {
    let is_separator = |byte: &u8| !byte.is_ascii_alphanumeric() && *byte != b'_';
    let mut words = statement.bytes().split(is_separator);
    words.any(|own| own.eq_ignore_ascii_case(word.as_bytes()))
}

/// The text of the insert, whose parameters follow those of the statement.
fn text_after(statement: &Statement, insert: &Statement) -> String {
    let count = statement.parameter_count();
    let mut insert_text = String::new();
    for (text, index) in insert.parts() {
        insert_text.push_str(&String::from_utf8_lossy(text));
        if let Some(index) = index {
            insert_text.push_str(&format!("${}", count + index + 1));
        }
    }
    insert_text
}

/// The types of the statement's parameters, and then those of the insert's.
fn types_of_both(
    statement: &Statement,
    insert: &Statement,
) -> impl Iterator<Item = Option<ParameterType>> {
    let declared = statement.types();
    let own = (0..statement.parameter_count()).map(|index| declared.get(index).copied().flatten());
    own.chain(insert.types().iter().copied())
}

/// Whether a statement can be executed in a block that it does not know of: a procedure that rolls back would end the
/// block, which is an error on SQL Server.
pub(super) fn can_be_in_block(statement: &Statement) -> bool {
    statement.first_word() != FirstWord::Call
}
