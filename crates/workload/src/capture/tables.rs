//! The tables that a statement names.

use super::statement::TableName;
use super::tokens::{Token, TokenKind, is_one_of};

/// The words that may follow a table and are no alias.
const NO_ALIASES: &str = "\
    where set on using join inner left right full cross natural group order having limit offset \
    fetch for union except intersect values select returning default as window tablesample use \
    force ignore with output straight_join overriding option lock partition";

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
        if matches!(before, "for" | "do" | "key" | "distinct" | "on")
            || (word(start) == "from" && is_of_function(tokens, start))
        {
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
            if is_name(index) && (tokens[index].is_quoted || !is_one_of(word(index), NO_ALIASES)) {
                alias = word(index).to_owned();
                index += 1;
            }
            let table = TableName { text: name, alias };
            let is_query = is_name_of_query(tokens, &table.text);
            if !is_function && !is_query && !tables.contains(&table) {
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

/// Whether the FROM at this position is of a function's arguments, as in `extract(year FROM at)`.
fn is_of_function(tokens: &[Token<'_>], from: usize) -> bool {
    const FUNCTIONS: [&str; 5] = ["extract", "substring", "trim", "overlay", "position"];
    let mut depth = 0;
    let open = (0..from).rev().find(|index| {
        match &*tokens[*index].text {
            ")" => depth += 1,
            "(" => depth -= 1,
            _ => {}
        }
        depth < 0
    });
    let function = open.and_then(|open| tokens.get(open.checked_sub(1)?));
    function.is_some_and(|function| FUNCTIONS.contains(&&*function.text))
}

/// Whether a query of the statement's WITH has this name.
fn is_name_of_query(tokens: &[Token<'_>], name: &str) -> bool {
    tokens.windows(4).any(|window| {
        let word = |index: usize| &*window[index].text;
        let begins = matches!(word(0), "with" | "recursive");
        let is_query = word(2) == "as" && matches!(word(3), "(" | "materialized" | "not");
        let has_columns = begins && word(2) == "(";
        word(1).eq_ignore_ascii_case(name)
            && (has_columns || (is_query && (begins || word(0) == ",")))
    })
}
