//! Reads a normalised statement as far as a workload needs it: its tables, and what each placeholder is compared with,
//! assigned to or inserted into.
//!
//! It is no parser: it knows the forms in which a placeholder stands beside a column, and calls everything else
//! unknown, so that a statement that it misunderstands loses a generator and is never changed. A parser of all dialects
//! (sqlparser) would add 3 MB to the program.

use super::mask::{mask_literals, may_be_text, without_comments};
use crate::script::token_length;
use prony_document::SqlDialect;
use std::ops::Range;

/// The columns of a list that a statistic has collapsed to `(...)`.
const COLLAPSED_LIST_VALUES: usize = 10;
/// The most rows of an INSERT.
const INSERTED_ROWS_MAX: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Column(ColumnName, ColumnUse),
    /// A number of rows, as in `LIMIT`.
    Limit,
    Offset,
    /// An operand of a calculation without a column.
    Number,
    /// The text of a typed literal, such as `interval '1 day'`: the type.
    TypedLiteral(String),
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnUse {
    Equal,
    /// One of several values in a list.
    In,
    Array,
    Low,
    High,
    Assigned,
    Inserted,
    /// Added to the column, or the like.
    Operand,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ColumnName {
    /// The table or its alias, in lower case if it is not quoted.
    pub qualifier: Option<String>,
    /// The name in lower case if it is not quoted, or `#3` for the third column of the table.
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TableName {
    /// The text in the statement, with the schema and quotes.
    pub text: String,
    pub alias: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement {
    /// `select`, `insert` and the like.
    pub verb: String,
    pub tables: Vec<TableName>,
    /// What the placeholders stand for. One that occurs twice is one.
    pub roles: Vec<Role>,
    /// The functions that it calls, and keywords before a parenthesis.
    pub calls: Vec<String>,
    /// Whether it returns aggregates, so that the rows that it reads are not those that it returns.
    pub is_aggregate: bool,
    /// Whether the statistics do not say how many values a list has.
    pub has_collapsed_list: bool,
    text: String,
    /// The placeholders in the text, with the number of each one's role.
    occurrences: Vec<(Range<usize>, usize)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A word or a quoted name.
    Name,
    Literal,
    Placeholder,
    Symbol,
}

pub(crate) struct Token {
    pub kind: TokenKind,
    pub range: Range<usize>,
    /// A name in lower case, or without its quotes; otherwise the text.
    pub text: String,
    pub is_quoted: bool,
}

/// Reads a statement. `masks_literals`: whether literals that the statistics left in are placeholders too.
///
/// # Errors
/// Why it cannot be a transaction.
pub(super) fn read(
    text: &str,
    dialect: SqlDialect,
    masks_literals: bool,
) -> Result<Statement, &'static str> {
    let is_collapsed = text.contains("/*, ... */") || is_list_collapsed(text);
    let text = without_comments(&text.replace("\r\n", "\n"), dialect);
    let text = text.trim().trim_end_matches(';');
    let text = match dialect {
        SqlDialect::MySql => expand_collapsed(text)?,
        SqlDialect::PostgreSql | SqlDialect::TransactSql => text.to_owned(),
    };
    let mut tokens = tokens(&text, dialect);
    if masks_literals
        && tokens
            .iter()
            .any(|token| may_be_text(token, &text, dialect))
    {
        return Err("its double quotes may hold a literal, which --keep-literals keeps");
    }
    let is = |token: &Token, symbol: &str| token.kind == TokenKind::Symbol && token.text == symbol;
    if tokens.iter().any(|token| is(token, ";")) {
        return Err("it is several statements");
    }
    let takes_colon = tokens.windows(3).any(|window| {
        is(&window[1], ":")
            && window[2].kind == TokenKind::Name
            && !is(&window[0], ":")
            && window[1].range.end == window[2].range.start
    });
    if takes_colon || text.contains("'''") {
        return Err("a script cannot have its colons or quotes");
    }
    let verb = tokens
        .first()
        .map(|token| token.text.clone())
        .unwrap_or_default();
    if masks_literals {
        mask_literals(&mut tokens, dialect);
    }
    let roles = Roles {
        tokens: &tokens,
        verb: &verb,
        inserted: inserted_columns(&tokens),
    };
    let (slots, occurrences) = roles.of_placeholders();
    let calls = tokens
        .windows(2)
        .filter(|pair| pair[0].kind == TokenKind::Name && is(&pair[1], "("));
    let calls: Vec<String> = calls.map(|pair| pair[0].text.clone()).collect();
    let is_aggregate = |name: &String| ["count", "sum", "avg", "min", "max"].contains(&&**name);
    Ok(Statement {
        tables: table_names(&tokens, &text),
        is_aggregate: calls.iter().any(is_aggregate),
        has_collapsed_list: is_collapsed,
        calls,
        verb,
        roles: slots,
        text,
        occurrences,
    })
}

impl Statement {
    /// The text with `replacement` of each placeholder's number in its place.
    pub fn with_placeholders(&self, replacement: impl Fn(usize) -> String) -> String {
        let (mut text, mut start) = (String::new(), 0);
        for (range, number) in &self.occurrences {
            text.push_str(&self.text[start..range.start]);
            text.push_str(&replacement(*number));
            start = range.end;
        }
        text + &self.text[start..]
    }
}

/// Writes out the rows of an INSERT that a digest of MySQL collapses to one.
pub(super) fn with_rows(text: &str, rows: f64) -> String {
    let rows = (rows.round() as usize).clamp(1, INSERTED_ROWS_MAX);
    text.replace("(...) /* , ... */", &vec!["(...)"; rows].join(", "))
}

/// Whether a digest of MySQL has a list other than a row of VALUES.
fn is_list_collapsed(text: &str) -> bool {
    let ends = text
        .match_indices("(...)")
        .map(|(start, _)| text[..start].trim_end());
    ends.into_iter()
        .any(|before| before.to_ascii_lowercase().ends_with(" in"))
}

/// Writes out what a digest of MySQL collapses: `(...)` and `LIMIT ?, ...`.
fn expand_collapsed(text: &str) -> Result<String, &'static str> {
    let text = join_functions(&text.replace("LIMIT ?, ...", "LIMIT ?, ?"));
    if text.trim_end().ends_with("...") {
        return Err("the server has cut its text");
    }
    let mut expanded = String::new();
    let mut values = None;
    let mut parts = text.split("(...)");
    expanded.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let before = expanded.trim_end();
        if before.to_ascii_lowercase().ends_with("values") {
            // As many as the list of columns before it has.
            let list = before
                .rsplit_once('(')
                .and_then(|(_, list)| list.split_once(')'));
            let (columns, _) = list.ok_or("the number of its values is not known")?;
            values = Some(columns.split(',').count());
        }
        let is_row = before.to_ascii_lowercase().ends_with("values") || before.ends_with("),");
        let count = values.filter(|_| is_row).unwrap_or(COLLAPSED_LIST_VALUES);
        expanded.push_str(&format!("({})", vec!["?"; count].join(", ")));
        expanded.push_str(part);
    }
    if expanded.contains("...") {
        return Err("the server has left out a part of its text");
    }
    Ok(expanded)
}

/// Removes the blank that a digest puts between a function and its parenthesis, which these functions do not have.
fn join_functions(text: &str) -> String {
    const FUNCTIONS: [&str; 24] = [
        "ADDDATE",
        "BIT_AND",
        "BIT_OR",
        "BIT_XOR",
        "CAST",
        "COUNT",
        "CURDATE",
        "CURTIME",
        "DATE_ADD",
        "DATE_SUB",
        "EXTRACT",
        "GROUP_CONCAT",
        "MAX",
        "MID",
        "MIN",
        "NOW",
        "POSITION",
        "STD",
        "STDDEV",
        "SUBDATE",
        "SUBSTR",
        "SUBSTRING",
        "SUM",
        "TRIM",
    ];
    let mut parts = text.split(" (");
    let mut joined = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let word =
            joined.rsplit(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '_' | '`'));
        let is_function = word
            .into_iter()
            .next()
            .is_some_and(|word| FUNCTIONS.contains(&word));
        joined.push_str(if is_function { "(" } else { " (" });
        joined.push_str(part);
    }
    joined
}

pub(crate) fn tokens(text: &str, dialect: SqlDialect) -> Vec<Token> {
    let bytes = text.as_bytes();
    let (mut tokens, mut start) = (Vec::new(), 0);
    while start < bytes.len() {
        let rest = &bytes[start..];
        let digits = |from: usize| {
            let digits = rest.iter().skip(from).take_while(|c| c.is_ascii_digit());
            digits.count()
        };
        let is_parameter = match (dialect, rest[0]) {
            (SqlDialect::PostgreSql, b'$') => digits(1) > 0,
            (SqlDialect::MySql, b'?') => true,
            (SqlDialect::TransactSql, b'@') => rest.get(1) != Some(&b'@'),
            _ => false,
        };
        let length = match rest[0] {
            b'$' if is_parameter => 1 + digits(1),
            b'@' if rest.len() > 1 => 1 + token_length(&rest[1..], dialect),
            b'0'..=b'9' => {
                let number = rest
                    .iter()
                    .take_while(|c| c.is_ascii_alphanumeric() || **c == b'.');
                number.count()
            }
            b'N' | b'n' if rest.get(1) == Some(&b'\'') => 1 + token_length(&rest[1..], dialect),
            _ => token_length(rest, dialect),
        };
        let mut end = (start + length.max(1)).min(text.len());
        while !text.is_char_boundary(end) {
            end += 1;
        }
        let token = &text[start..end];
        let is_comment = token.starts_with("--")
            || token.starts_with("/*")
            || (dialect == SqlDialect::MySql && token.starts_with('#'));
        let is_quoted_name = token.len() > 1
            && (token.starts_with(['`', '['])
                || (token.starts_with('"') && dialect != SqlDialect::MySql));
        let is_literal = token.len() > 1
            && (token.contains('\'') || token.contains('"') || token.starts_with('$'))
            || rest[0].is_ascii_digit();
        let is_word = rest[0].is_ascii_alphabetic() || matches!(rest[0], b'_' | b'@' | 0x80..);
        let kind = match () {
            () if is_parameter => TokenKind::Placeholder,
            () if is_quoted_name => TokenKind::Name,
            () if is_literal => TokenKind::Literal,
            () if is_word => TokenKind::Name,
            () => TokenKind::Symbol,
        };
        if !is_comment && !token.trim().is_empty() {
            tokens.push(Token {
                kind,
                text: if is_quoted_name {
                    // The server may have cut the text before the last quote.
                    token[1..]
                        .strip_suffix(['"', '`', ']'])
                        .unwrap_or(&token[1..])
                        .to_owned()
                } else {
                    token.to_lowercase()
                },
                is_quoted: is_quoted_name,
                range: start..end,
            });
        }
        start = end;
    }
    tokens
}

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

fn table_names(tokens: &[Token], text: &str) -> Vec<TableName> {
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

/// The position of VALUES of an INSERT, and the columns before it; `None` for all columns of the table.
fn inserted_columns(tokens: &[Token]) -> Option<(usize, Option<Vec<String>>)> {
    let first = tokens.first()?;
    if !matches!(&*first.text, "insert" | "replace") {
        return None;
    }
    let values = tokens
        .iter()
        .position(|token| token.text == "values" && !token.is_quoted)?;
    let head = &tokens[..values];
    let columns = head.iter().position(|token| token.text == "(").map(|open| {
        let names = head[open..].iter().take_while(|token| token.text != ")");
        let names = names.filter(|token| token.kind == TokenKind::Name);
        names.map(|token| token.text.clone()).collect()
    });
    Some((values, columns))
}

struct Roles<'a> {
    tokens: &'a [Token],
    verb: &'a str,
    inserted: Option<(usize, Option<Vec<String>>)>,
}

impl Roles<'_> {
    fn word(&self, index: Option<usize>) -> &str {
        index
            .and_then(|index| self.tokens.get(index))
            .map_or("", |token| &token.text)
    }

    /// What the placeholders stand for, and where each is, with the number of its role.
    fn of_placeholders(&self) -> (Vec<Role>, Vec<(Range<usize>, usize)>) {
        let mut names: Vec<&str> = Vec::new();
        let (mut slots, mut occurrences) = (Vec::new(), Vec::new());
        for (index, token) in self.tokens.iter().enumerate() {
            if token.kind != TokenKind::Placeholder {
                continue;
            }
            // A question mark has no name.
            let known = names
                .iter()
                .position(|name| *name == token.text && *name != "?");
            let number = known.unwrap_or_else(|| {
                names.push(&token.text);
                slots.push(match self.of(index) {
                    Role::Unknown if token.text.starts_with("number ") => Role::Number,
                    role => role,
                });
                slots.len() - 1
            });
            occurrences.push((token.range.clone(), number));
        }
        (slots, occurrences)
    }

    /// What the placeholder at this position stands for.
    fn of(&self, index: usize) -> Role {
        if let Some(role) = self.inserted_role(index) {
            return role;
        }
        let role = self.role_after(index.checked_sub(1), index);
        if role != Role::Unknown {
            return role;
        }
        // `$1 < column`
        let (operator, next) = self.operator_after(index + 1);
        let flipped = match &*operator {
            "<" | "<=" => ">",
            ">" | ">=" => "<",
            _ => &operator,
        };
        match (self.use_of(flipped, index), self.column_at(next)) {
            (Some(column_use), Some(column)) => Role::Column(column, column_use),
            _ => Role::Unknown,
        }
    }

    fn inserted_role(&self, index: usize) -> Option<Role> {
        let (values, columns) = self
            .inserted
            .as_ref()
            .filter(|(values, _)| *values < index)?;
        let (mut depth, mut column) = (0, 0);
        for token in &self.tokens[*values..index] {
            match &*token.text {
                "(" => {
                    depth += 1;
                    column = if depth == 1 { 0 } else { column };
                }
                ")" => depth -= 1,
                "," if depth == 1 => column += 1,
                _ => {}
            }
        }
        if depth == 0 {
            // ON CONFLICT, ON DUPLICATE KEY UPDATE
            return None;
        }
        let is_whole = depth == 1
            && matches!(self.word(index.checked_sub(1)), "(" | ",")
            && matches!(self.word(Some(index + 1)), "," | ")" | ":");
        let name = match columns {
            _ if !is_whole => return Some(Role::Unknown),
            Some(columns) => columns.get(column)?.clone(),
            None => format!("#{}", column + 1),
        };
        let column = ColumnName {
            qualifier: None,
            name,
        };
        Some(Role::Column(column, ColumnUse::Inserted))
    }

    /// What a placeholder stands for, of which the text ends with the token at `previous`.
    fn role_after(&self, previous: Option<usize>, index: usize) -> Role {
        let before = |steps: usize| previous.and_then(|previous| previous.checked_sub(steps));
        let column =
            |end: Option<usize>, column_use| match end.and_then(|end| self.column_ending(end)) {
                Some(column) => Role::Column(column, column_use),
                None => Role::Unknown,
            };
        let skip_not = |end: Option<usize>| match self.word(end) {
            "not" => end.and_then(|end| end.checked_sub(1)),
            _ => end,
        };
        match self.word(previous) {
            "limit" | "top" | "first" | "next" => match self.word(Some(index + 1)) {
                "," => Role::Offset,
                _ => Role::Limit,
            },
            "offset" => Role::Offset,
            "," if self.word(before(2)) == "limit" => Role::Limit,
            "like" | "ilike" => column(skip_not(before(1)), ColumnUse::Equal),
            "between" => column(skip_not(before(1)), ColumnUse::Low),
            "and" if self.word(before(2)) == "between" => {
                column(skip_not(before(3)), ColumnUse::High)
            }
            kind @ ("interval" | "date" | "time" | "timestamp" | "timestamptz") => {
                Role::TypedLiteral(kind.to_owned())
            }
            "(" => match self.word(before(1)) {
                "in" => column(skip_not(before(2)), ColumnUse::In),
                "top" => Role::Limit,
                "any" | "some" if self.word(before(2)) == "=" => {
                    column(before(3), ColumnUse::Array)
                }
                "cast" => self.role_after(before(2), index),
                // PostgreSQL makes a parameter of the field.
                "extract" => Role::TypedLiteral("extract".to_owned()),
                // Parentheses around the placeholder alone.
                word if word
                    .starts_with(|c: char| !c.is_alphanumeric() && c != '_' && c != ')') =>
                {
                    self.role_after(before(1), index)
                }
                _ => Role::Unknown,
            },
            "," => match self.list_start(index) {
                Some(open) if self.word(open.checked_sub(1)) == "in" => {
                    column(skip_not(open.checked_sub(2)), ColumnUse::In)
                }
                _ => Role::Unknown,
            },
            _ => {
                let (operator, end) = self.operator_before(previous);
                match self.use_of(&operator, index) {
                    Some(ColumnUse::Operand) => match column(end, ColumnUse::Operand) {
                        Role::Unknown => Role::Number,
                        role => role,
                    },
                    Some(column_use) => column(end, column_use),
                    None => Role::Unknown,
                }
            }
        }
    }

    fn use_of(&self, operator: &str, index: usize) -> Option<ColumnUse> {
        Some(match operator {
            "=" if self.is_assignment(index) => ColumnUse::Assigned,
            "=" | "<=>" | "<>" | "!=" => ColumnUse::Equal,
            ">" | ">=" => ColumnUse::Low,
            "<" | "<=" => ColumnUse::High,
            "+" | "-" | "*" | "/" => ColumnUse::Operand,
            _ => return None,
        })
    }

    /// Whether the token at this position is in a list of SET.
    fn is_assignment(&self, index: usize) -> bool {
        const CLAUSES: [&str; 9] = [
            "set", "where", "on", "having", "when", "select", "from", "join", "using",
        ];
        let words = self.tokens[..index].iter().rev().map(|token| &*token.text);
        let clause = words
            .into_iter()
            .find(|word| CLAUSES.contains(word) || *word == "update");
        // MySQL has ON DUPLICATE KEY UPDATE without SET.
        clause == Some("set") || (clause == Some("update") && self.verb == "insert")
    }

    fn operator_before(&self, end: Option<usize>) -> (String, Option<usize>) {
        let (mut operator, mut position) = (String::new(), end);
        while let Some(index) = position
            && let Some(token) = self.tokens.get(index)
            && is_operator(token)
        {
            operator.insert_str(0, &token.text);
            position = index.checked_sub(1);
        }
        (operator, position)
    }

    /// The operator that begins at a position, and the position after it.
    fn operator_after(&self, start: usize) -> (String, usize) {
        let (mut operator, mut position) = (String::new(), start);
        while let Some(token) = self.tokens.get(position)
            && is_operator(token)
        {
            operator.push_str(&token.text);
            position += 1;
        }
        (operator, position)
    }

    /// The position of the parenthesis that opens the list around a position.
    fn list_start(&self, index: usize) -> Option<usize> {
        let mut depth = 0;
        (0..index).rev().find(|position| {
            match self.word(Some(*position)) {
                ")" => depth += 1,
                "(" => depth -= 1,
                _ => {}
            }
            depth < 0
        })
    }

    fn column_ending(&self, end: usize) -> Option<ColumnName> {
        // `column::text`
        if self.word(end.checked_sub(1)) == ":" && self.word(end.checked_sub(2)) == ":" {
            return self.column_ending(end.checked_sub(3)?);
        }
        let token = self
            .tokens
            .get(end)
            .filter(|token| token.kind == TokenKind::Name)?;
        let is_qualified = self.word(end.checked_sub(1)) == ".";
        let qualifier = end.checked_sub(2).filter(|_| is_qualified);
        Some(ColumnName {
            qualifier: qualifier.map(|index| self.tokens[index].text.clone()),
            name: token.text.clone(),
        })
    }

    fn column_at(&self, start: usize) -> Option<ColumnName> {
        match self.word(Some(start + 1)) {
            "." => self.column_ending(start + 2),
            // A function.
            "(" => None,
            _ => self.column_ending(start),
        }
    }
}

fn is_operator(token: &Token) -> bool {
    token.kind == TokenKind::Symbol
        && token
            .text
            .starts_with(['=', '<', '>', '!', '+', '-', '*', '/'])
}
