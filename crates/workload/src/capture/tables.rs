//! The tables that a statement names.

use super::statement::TableName;
use super::tokens::{Token, TokenKind};

/// The words that may follow a table and are no alias.
const NO_ALIASES: &[&str] = &[
    "where",
    "set",
    "on",
    "using",
    "join",
    "inner",
    "left",
    "right",
    "full",
    "cross",
    "natural",
    "group",
    "order",
    "having",
    "limit",
    "offset",
    "fetch",
    "for",
    "union",
    "except",
    "intersect",
    "values",
    "select",
    "returning",
    "default",
    "as",
    "window",
    "tablesample",
    "use",
    "force",
    "ignore",
    "with",
    "output",
    "straight_join",
    "overriding",
    "option",
    "lock",
    "partition",
];

pub(super) fn table_names(tokens: &[Token<'_>], text: &str) -> Vec<TableName> {
    let mut tables: Vec<TableName> = Vec::new();
    let word = |index: usize| tokens.get(index).map_or("", |token| &*token.text);
    let is_name = |index: usize| {
        tokens
            .get(index)
            .is_some_and(|token| token.kind == TokenKind::Name)
    };
    for start in 0..tokens.len() {
        if tokens[start].is_quoted
            || !matches!(word(start), "from" | "join" | "into" | "update" | "merge")
        {
            continue;
        }
        // `FOR UPDATE`, `DO UPDATE SET`, `ON DUPLICATE KEY UPDATE`, `IS DISTINCT FROM`
        let before = start.checked_sub(1).map_or("", word);
        if matches!(before, "for" | "do" | "key" | "distinct" | "on") {
            continue;
        }
        let mut index = start + 1;
        loop {
            while matches!(word(index), "only" | "lateral" | "into" | "ignore") {
                index += 1;
            }
            if !is_name(index) || word(index) == "set" || word(index) == "select" {
                break;
            }
            let first = index;
            while word(index + 1) == "." && is_name(index + 2) {
                index += 2;
            }
            let is_function = word(index + 1) == "(" && !matches!(word(start), "into" | "update");
            let name = text[tokens[first].range.start..tokens[index].range.end].to_owned();
            let mut alias = word(index).to_owned();
            index += 1;
            if word(index) == "as" {
                index += 1;
            }
            if is_name(index) && (tokens[index].is_quoted || !NO_ALIASES.contains(&word(index))) {
                alias = word(index).to_owned();
                index += 1;
            }
            let table = TableName { text: name, alias };
            if !is_function && !tables.contains(&table) {
                tables.push(table);
            }
            if word(start) != "from" || word(index) != "," {
                break;
            }
            index += 1;
        }
    }
    tables
}
