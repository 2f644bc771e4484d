//! Finds out of a utility statement's text what PostgreSQL checks only when it executes the statement: the tables that it
//! names, the setting that it sets, and whether it may be in a transaction. Must never execute the statement.

/// For each table that the statement names, a query whose preparation fails if the table is missing.
pub(super) fn table_queries(sql: &str) -> Vec<String> {
    let text = sql.trim().trim_end_matches(';');
    let (command, arguments) = split_word(text);
    let skipped: &[&str] = match command.as_str() {
        "vacuum" => &["full", "freeze", "verbose", "analyze", "analyse"],
        "analyze" | "analyse" | "cluster" => &["verbose"],
        "truncate" | "lock" => &["table"],
        _ => return Vec::new(),
    };
    let mut rest = arguments;
    loop {
        if let Some(options) = rest.strip_prefix('(') {
            let after_options = options.split_once(')').map_or("", |(_, after)| after);
            rest = after_options.trim_start();
            continue;
        }
        let (word, after_word) = split_word(rest);
        if !skipped.contains(&word.as_str()) {
            break;
        }
        rest = after_word;
    }
    if command == "cluster" {
        // CLUSTER index ON table, the older form.
        rest = rest
            .split_once(" on ")
            .or(rest.split_once(" ON "))
            .map_or(rest, |(_, table)| table);
    }
    top_level_parts(rest)
        .filter_map(table_name)
        .map(|name| format!("SELECT FROM {name}"))
        .collect()
}

/// Whether the statement only sets or shows a setting of the session, so that a transaction that executes it and is
/// rolled back changes nothing.
pub(super) fn is_set(sql: &str) -> bool {
    matches!(split_word(sql.trim()).0.as_str(), "set" | "reset" | "show")
}

/// Whether a transaction is open after the statement; `None` if the statement does not change that.
pub(super) fn is_in_transaction_after(sql: &str) -> Option<bool> {
    let (word, rest) = split_word(sql.trim().trim_end_matches(';'));
    match word.as_str() {
        "begin" | "start" => Some(true),
        "commit" | "end" | "abort" => Some(false),
        // ROLLBACK TO a savepoint.
        "rollback" if split_word(rest).0 == "to" => None,
        "rollback" => Some(false),
        _ => None,
    }
}

/// Whether PostgreSQL refuses the statement in a transaction.
pub(super) fn must_be_alone(sql: &str) -> bool {
    let (word, rest) = split_word(sql.trim());
    let object = split_word(rest).0;
    word == "vacuum"
        || (matches!(&*word, "create" | "drop") && matches!(&*object, "database" | "tablespace"))
}

/// The first word in lower case, and what follows it.
fn split_word(text: &str) -> (String, &str) {
    let text = text.trim_start();
    let end = text.find(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
    let (word, rest) = text.split_at(end.unwrap_or(text.len()));
    (word.to_lowercase(), rest.trim_start())
}

/// The parts between commas that are in no parentheses and quotes.
fn top_level_parts(text: &str) -> impl Iterator<Item = &str> {
    let (mut depth, mut is_quoted) = (0_usize, false);
    text.split(move |letter: char| {
        match letter {
            '"' => is_quoted = !is_quoted,
            '(' if !is_quoted => depth += 1,
            ')' if !is_quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0 && !is_quoted
    })
}

/// The name at the start of a part, with its schema and quotes.
fn table_name(part: &str) -> Option<&str> {
    let part = part.trim();
    let part = match split_word(part) {
        (word, rest) if word == "only" => rest,
        _ => part,
    };
    let mut is_quoted = false;
    let end = part.find(|letter: char| {
        is_quoted ^= letter == '"';
        !(is_quoted || letter.is_alphanumeric() || "_$.\"".contains(letter))
    });
    Some(&part[..end.unwrap_or(part.len())]).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_utility_statements_are_named() {
        for (sql, expected) in [
            ("VACUUM;", &[][..]),
            ("vacuum (verbose, parallel 2) t", &["t"]),
            (
                "VACUUM FULL VERBOSE s.t (a, b), \"my, table\";",
                &["s.t", "\"my, table\""],
            ),
            ("ANALYZE t(a), u", &["t", "u"]),
            ("TRUNCATE TABLE ONLY t, u CASCADE", &["t", "u"]),
            ("LOCK TABLE t IN SHARE MODE", &["t"]),
            ("SELECT 1", &[]),
        ] {
            let expected: Vec<String> = expected
                .iter()
                .map(|name| format!("SELECT FROM {name}"))
                .collect();
            assert_eq!(table_queries(sql), expected, "{sql}");
        }
    }

    #[test]
    fn transactions_are_followed() {
        assert_eq!(
            is_in_transaction_after("BEGIN ISOLATION LEVEL SERIALIZABLE;"),
            Some(true)
        );
        assert_eq!(is_in_transaction_after("END;"), Some(false));
        assert_eq!(is_in_transaction_after("ROLLBACK TO SAVEPOINT a"), None);
        assert!(
            must_be_alone("vacuum t")
                && must_be_alone("CREATE DATABASE d")
                && !must_be_alone("CREATE TABLE t ()")
        );
    }
}
