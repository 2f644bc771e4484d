//! What a statement does, as far as a recorder and a replay have to know it.
//!
//! In: the text of one or more statements. Out: [`StatementEffect`]. Must never: take a statement that may write for one that
//! does not.

use crate::capture::{Token, TokenKind, is_one_of, tokens};
use prony_document::SqlDialect;

/// What a statement does, as far as a replay has to know it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StatementEffect {
    /// Whether it may change data, or take locks that a read-only session does not get.
    pub writes: bool,
    /// Whether a transaction block is open after it; `None` if it leaves that as it was.
    pub leaves_block: Option<bool>,
    /// Whether the session's statements begin transactions by themselves after it, or no longer do: autocommit of MySQL.
    pub sets_autocommit: Option<bool>,
    /// Whether it rolls back its transaction.
    pub rolls_back: bool,
    /// Whether it rolls back to a savepoint.
    pub restores_savepoint: bool,
    /// Whether the session may no longer be read-only after it, and nothing else: it is alone in its text.
    pub ends_read_only: bool,
    /// Whether no connection of a load can execute it: a COPY from or to the client.
    pub needs_client_data: bool,
    /// Whether it can only be a statement of a trigger or function, which MySQL's general log has beside the one that ran
    /// it.
    pub is_of_routine: bool,
    /// Whether the session has no prepared statements after it.
    pub drops_prepared: bool,
}

/// The first words of statements that change nothing.
const READS: &str = "\
    select values table show explain with begin start commit end rollback abort set reset use \
    savepoint release fetch move declare close discard deallocate prepare listen unlisten \
    describe desc help";
/// Words with which a statement that begins as a read changes data.
const CHANGES: [&str; 6] = ["insert", "update", "delete", "merge", "into", "share"];

/// Names by which a session stops to refuse writes.
const GUARDS: [&str; 2] = ["read_only", "set_config"];
/// Words of MySQL's SET for what outlives the session.
const LASTING: [&str; 3] = ["global", "persist", "password"];

/// Whether a text has a comment that MySQL or MariaDB executes.
pub(super) fn executes_comment(text: &str, dialect: SqlDialect) -> bool {
    dialect == SqlDialect::MySql && (text.contains("/*!") || text.contains("/*M!"))
}

/// A longer text is mostly a list of values.
const LONG_TEXT_BYTES: usize = 64 << 10;

/// The tokens of a text; of a long one without its lists of values, which would take a hundred times its memory.
fn tokens_that_matter(text: &str, dialect: SqlDialect) -> Vec<Token<'_>> {
    let mut kept: Vec<Token<'_>> = Vec::new();
    for token in tokens(text, dialect) {
        let last = kept.last().map_or("", |last| &*last.text);
        let matters = match (&*token.text, token.kind) {
            _ if text.len() <= LONG_TEXT_BYTES => true,
            ("(", _) => last == "name_const",
            ("," | ")", _) | (_, TokenKind::Literal | TokenKind::Placeholder) => false,
            (word, TokenKind::Name) => word != last,
            (_, TokenKind::Symbol) => true,
        };
        if matters {
            kept.push(token);
        }
    }
    kept
}

pub(super) fn is_end(token: &Token<'_>) -> bool {
    token.kind == TokenKind::Symbol && token.text == ";"
}

fn has_one_statement(tokens: &[Token<'_>]) -> bool {
    let statements = tokens.split(is_end);
    statements.filter(|tokens| !tokens.is_empty()).count() == 1
}

/// Whether a text has one statement.
pub(super) fn is_alone(text: &str, dialect: SqlDialect) -> bool {
    has_one_statement(&tokens_that_matter(text, dialect))
}

/// What the statements of a text do.
pub(super) fn effect(text: &str, dialect: SqlDialect) -> StatementEffect {
    let tokens = tokens_that_matter(text, dialect);
    let mut effect = StatementEffect {
        writes: executes_comment(text, dialect),
        ..StatementEffect::default()
    };
    let is_alone = has_one_statement(&tokens);
    for statement in tokens.split(is_end) {
        let words: Vec<&str> = statement
            .iter()
            .filter(|token| token.kind == TokenKind::Name && !token.is_quoted)
            .map(|token| &*token.text)
            .collect();
        let Some(verb) = words.first() else { continue };
        effect.ends_read_only = is_alone && resets_session(&words, dialect);
        // What PREPARE may have of PostgreSQL is no more than the server refuses.
        let is_execute = *verb == "execute" && dialect == SqlDialect::PostgreSql;
        effect.writes |= !(is_one_of(verb, READS) || is_execute)
            || changes_data(verb, &words)
            || (!effect.ends_read_only && may_end_read_only(statement, &words, dialect));
        let has = |word: &str| words.contains(&word);
        let begins_next = has("chain") && !has("no");
        match *verb {
            "begin" => effect.leaves_block = Some(true),
            "start" if words.get(1) == Some(&"transaction") => effect.leaves_block = Some(true),
            "commit" | "end" | "abort" => effect.leaves_block = Some(begins_next),
            "prepare" if words.get(1) == Some(&"transaction") => effect.leaves_block = Some(false),
            "rollback" if !has("to") => effect.leaves_block = Some(begins_next),
            "set" if dialect == SqlDialect::MySql => {
                effect.sets_autocommit = autocommit(statement).or(effect.sets_autocommit);
            }
            _ => {}
        }
        effect.rolls_back |= matches!(*verb, "rollback" | "abort") && !has("to");
        effect.restores_savepoint |= *verb == "rollback" && has("to");
        effect.drops_prepared |= matches!(
            words[..],
            ["discard" | "deallocate", "all"] | ["deallocate", "prepare", "all"]
        );
        effect.is_of_routine |= dialect == SqlDialect::MySql && is_of_routine(verb, statement);
        effect.needs_client_data |= match *verb {
            "copy" => words.contains(&"stdin") || words.contains(&"stdout"),
            "load" => words.contains(&"local"),
            _ => false,
        };
    }
    effect
}

/// Whether a statement that begins as a read has a word that changes or locks rows.
fn changes_data(verb: &str, words: &[&str]) -> bool {
    match verb {
        "select" | "with" | "values" | "table" | "prepare" => {
            words.iter().any(|word| CHANGES.contains(word))
        }
        "explain" => {
            let executes = words.contains(&"analyze") || words.contains(&"analyse");
            executes && words.iter().any(|word| CHANGES.contains(word))
        }
        _ => false,
    }
}

/// Whether a statement puts the settings of its session back, or lets its next transactions write, as pools and drivers do
/// between two uses of a connection. It changes nothing of a transaction that is open.
fn resets_session(words: &[&str], dialect: SqlDialect) -> bool {
    let is_postgres = dialect == SqlDialect::PostgreSql;
    match words {
        ["discard" | "reset", "all"] => is_postgres,
        [
            "set",
            "session",
            "characteristics",
            "as",
            "transaction",
            modes @ ..,
        ] => is_postgres && modes.ends_with(&["read", "write"]),
        ["set", "session", "transaction", "read", "write"] => !is_postgres,
        _ => false,
    }
}

/// Whether a statement of MySQL has a variable of a function or the row of a trigger: no client can execute it.
fn is_of_routine(verb: &str, statement: &[Token<'_>]) -> bool {
    let is_name = |token: &Token<'_>| token.kind == TokenKind::Name && !token.is_quoted;
    let is_alias = |name: &str| {
        let mut uses = (0..statement.len()).filter(|at| statement[*at].text == name);
        uses.any(|at| statement.get(at + 1).is_none_or(|next| next.text != "."))
    };
    statement.windows(2).any(|pair| {
        let [first, second] = [&pair[0], &pair[1]];
        is_name(first)
            && match &*first.text {
                // So the server writes a variable's value.
                "name_const" => second.text == "(",
                name @ ("new" | "old") => second.text == "." && !is_alias(name),
                "into" => {
                    let is_file = matches!(&*second.text, "outfile" | "dumpfile");
                    verb == "select" && is_name(second) && !second.text.starts_with('@') && !is_file
                }
                _ => false,
            }
    })
}

/// The value that a SET of MySQL gives to `autocommit`.
fn autocommit(statement: &[Token<'_>]) -> Option<bool> {
    let is_setting = |token: &Token<'_>| token.text.rsplit(['.', '@']).next() == Some("autocommit");
    let at = statement.iter().position(is_setting)?;
    let value = statement[at + 1..]
        .iter()
        .find(|token| token.kind != TokenKind::Symbol)?;
    let value = value.text.trim_matches('\'');
    let off = ["0", "off", "false"];
    Some(!off.iter().any(|off| value.eq_ignore_ascii_case(off)))
}

/// Whether a statement may let a session write that was made read-only, changes the server's settings, or ends a
/// prepared transaction.
fn may_end_read_only(statement: &[Token<'_>], words: &[&str], dialect: SqlDialect) -> bool {
    let has = |word: &str| words.contains(&word);
    // A setting's name may be quoted, or have a prefix such as `@@session.`.
    let names = |name: &str| {
        let mut tokens = statement
            .iter()
            .filter(|token| token.kind != TokenKind::Literal);
        tokens.any(|token| token.text.to_ascii_lowercase().contains(name))
    };
    match words[0] {
        "set" => {
            let lasts = dialect == SqlDialect::MySql && LASTING.into_iter().any(names);
            (has("read") && has("write")) || GUARDS.into_iter().any(names) || lasts
        }
        "begin" => has("read") && has("write"),
        "start" => words.get(1) != Some(&"transaction") || (has("read") && has("write")),
        "reset" => dialect == SqlDialect::MySql || has("all") || names("read_only"),
        "discard" => has("all"),
        "commit" | "rollback" => has("prepared"),
        "prepare" => words.get(1) == Some(&"transaction") || names("set_config"),
        _ => names("set_config"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_are_told_apart() {
        for (text, writes) in [
            ("SELECT abalance FROM pgbench_accounts WHERE aid = 5", false),
            ("select 'insert into t'", false),
            ("SELECT * FROM t FOR UPDATE", true),
            ("select * into copy from t", true),
            (
                "WITH d AS (DELETE FROM t RETURNING a) SELECT * FROM d",
                true,
            ),
            ("with d as (select 1) select * from d", false),
            ("/* x */ UPDATE t SET a = 1", true),
            ("BEGIN; select 1; COMMIT", false),
            ("BEGIN; truncate t; COMMIT", true),
            ("call p(1)", true),
            ("execute p(1)", false),
            ("EXPLAIN ANALYZE DELETE FROM t", true),
            ("explain delete from t", false),
            ("vacuum t", true),
            ("explain (analyse) delete from t", true),
            ("set transaction read write", true),
            ("BEGIN READ WRITE", true),
            ("begin isolation level serializable, read only", false),
            ("start transaction read write", true),
            ("set \"transaction_read_only\" to off", true),
            ("set search_path to a", false),
            // A read-only session is made so again after these, if nothing is between.
            ("reset all", false),
            ("reset all;", false),
            ("discard all", false),
            ("discard plans", false),
            (
                "set session characteristics as transaction read write",
                false,
            ),
            ("reset all; commit; select f()", true),
            (
                "set session characteristics as transaction read write; select f()",
                true,
            ),
            ("reset default_transaction_read_only", true),
            ("reset search_path", false),
            (
                "select set_config('transaction_read_only', 'off', false)",
                true,
            ),
            ("start replica", true),
            ("commit prepared 'a'", true),
            ("rollback prepared 'a'", true),
            ("prepare transaction 'a'", true),
        ] {
            assert_eq!(
                effect(text, SqlDialect::PostgreSql).writes,
                writes,
                "{text}"
            );
        }
        for (text, writes) in [
            ("set global max_connections = 5", true),
            ("SET @@GLOBAL.max_connections = 5", true),
            ("set persist_only a = 5", true),
            ("set password = 'a'", true),
            ("set @@session.transaction_read_only = 0", true),
            ("set transaction read write", true),
            ("set session transaction read write", false),
            ("set session transaction read write; select f()", true),
            ("execute p", true),
            ("set names utf8mb4", false),
            ("set autocommit = 0", false),
            ("reset query cache", true),
            ("select 1 /*! into outfile 'a' */", true),
            ("/*M! delete from t */", true),
            ("select 1 /* a */", false),
        ] {
            assert_eq!(effect(text, SqlDialect::MySql).writes, writes, "{text}");
        }
    }

    #[test]
    fn statements_of_triggers_and_functions_are_told_by_their_variables() {
        for (text, is_of_routine) in [
            ("select count(*) into c from t", true),
            ("select a from t where b = NAME_CONST('n',1)", true),
            ("insert into l values (new.a)", true),
            ("update l set x = OLD.`a` where y = 1", true),
            ("select a into @c from t", false),
            ("select a into outfile 'f' from t", false),
            (
                "insert into t values (1) as new on duplicate key update a = new.a",
                false,
            ),
            ("select new.a from t new", false),
            ("insert into t select a from b", false),
        ] {
            let effect = effect(text, SqlDialect::MySql);
            assert_eq!(effect.is_of_routine, is_of_routine, "{text}");
        }
        assert!(!effect("select a into b from t", SqlDialect::PostgreSql).is_of_routine);
    }

    #[test]
    fn blocks_begin_and_end() {
        for (text, leaves_block, rolls_back) in [
            ("BEGIN", Some(true), false),
            (
                "start transaction isolation level serializable",
                Some(true),
                false,
            ),
            ("END;", Some(false), false),
            ("prepare transaction 'a'", Some(false), false),
            ("ROLLBACK", Some(false), true),
            ("rollback to savepoint a", None, false),
            ("BEGIN; select 1; COMMIT", Some(false), false),
            ("select 1", None, false),
        ] {
            let effect = effect(text, SqlDialect::PostgreSql);
            assert_eq!(
                (effect.leaves_block, effect.rolls_back),
                (leaves_block, rolls_back),
                "{text}"
            );
        }
        for (text, leaves_block) in [
            ("commit and chain", true),
            ("ROLLBACK WORK AND CHAIN", true),
            ("commit and no chain", false),
        ] {
            let effect = effect(text, SqlDialect::PostgreSql);
            assert_eq!(effect.leaves_block, Some(leaves_block), "{text}");
        }
        for (text, sets_autocommit) in [
            ("SET autocommit=0", Some(false)),
            ("set @@session.autocommit = OFF", Some(false)),
            ("SET @@autocommit = 1", Some(true)),
            ("SET names utf8, autocommit = 1", Some(true)),
            ("SET names utf8", None),
        ] {
            let effect = effect(text, SqlDialect::MySql);
            assert_eq!(effect.sets_autocommit, sets_autocommit, "{text}");
        }
        let copy = effect("copy t from stdin with (freeze on)", SqlDialect::PostgreSql);
        assert!(copy.needs_client_data);
    }

    #[test]
    fn lists_of_values_take_no_memory() {
        let text = format!(
            "INSERT INTO t VALUES {} ; DELETE FROM t",
            "(1, 'a', NULL), ".repeat(50_000)
        );
        for dialect in [SqlDialect::PostgreSql, SqlDialect::MySql] {
            assert!(tokens_that_matter(&text, dialect).len() < 20);
            assert!(!is_alone(&text, dialect));
            assert!(effect(&format!("SELECT a FROM t WHERE b IN ({text}"), dialect).writes);
        }
    }
}
