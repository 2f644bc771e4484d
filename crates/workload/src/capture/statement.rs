//! Reads a normalised statement as far as a workload needs it: its tables, and what each placeholder is compared with,
//! assigned to or inserted into.
//!
//! It is no parser: it knows the forms in which a placeholder stands beside a column, and calls everything else
//! unknown, so that a statement that it misunderstands loses a generator and is never changed. A parser of all dialects
//! (sqlparser) would add 3 MB to the program.

use super::mask::{mask_literals, may_be_text, without_comments};
use super::roles::Roles;
use super::tables::table_names;
use super::tokens::{Token, TokenKind, is_one_of, tokens};
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

/// Reads a statement. `masks_literals`: whether literals that the statistics left in are placeholders too.
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
    let mut tokens: Vec<Token<'_>> = tokens(&text, dialect).collect();
    if masks_literals
        && tokens
            .iter()
            .any(|token| may_be_text(token, &text, dialect))
    {
        return Err("its double quotes may hold a literal, which --keep-literals keeps");
    }
    let is =
        |token: &Token<'_>, symbol: &str| token.kind == TokenKind::Symbol && token.text == symbol;
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
        .map(|token| token.text.to_string())
        .unwrap_or_default();
    if masks_literals {
        mask_literals(&mut tokens, dialect);
    }
    let roles = Roles::new(&tokens, &verb);
    let (slots, occurrences) = roles.of_placeholders();
    let calls = tokens
        .windows(2)
        .filter(|pair| pair[0].kind == TokenKind::Name && is(&pair[1], "("));
    let calls: Vec<String> = calls.map(|pair| pair[0].text.to_string()).collect();
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
    const FUNCTIONS: &str = "\
        ADDDATE BIT_AND BIT_OR BIT_XOR CAST COUNT CURDATE CURTIME DATE_ADD DATE_SUB EXTRACT \
        GROUP_CONCAT MAX MID MIN NOW POSITION STD STDDEV SUBDATE SUBSTR SUBSTRING SUM TRIM";
    let mut parts = text.split(" (");
    let mut joined = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let word =
            joined.rsplit(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '_' | '`'));
        let is_function = word
            .into_iter()
            .next()
            .is_some_and(|word| is_one_of(word, FUNCTIONS));
        joined.push_str(if is_function { "(" } else { " (" });
        joined.push_str(part);
    }
    joined
}
