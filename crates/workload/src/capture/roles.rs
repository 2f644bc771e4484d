//! What the placeholders of a statement stand for.

use super::statement::{ColumnName, ColumnUse, Role};
use super::tokens::{Token, TokenKind, is_one_of};
use std::ops::Range;

/// The position of VALUES of an INSERT, and the columns before it; `None` for all columns of the table.
fn inserted_columns(tokens: &[Token<'_>]) -> Option<(usize, Option<Vec<String>>)> {
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
        names.map(|token| token.text.to_string()).collect()
    });
    Some((values, columns))
}

pub(super) struct Roles<'a> {
    tokens: &'a [Token<'a>],
    verb: &'a str,
    inserted: Option<(usize, Option<Vec<String>>)>,
}

impl<'a> Roles<'a> {
    pub fn new(tokens: &'a [Token<'a>], verb: &'a str) -> Roles<'a> {
        Roles {
            tokens,
            verb,
            inserted: inserted_columns(tokens),
        }
    }

    fn word(&self, index: Option<usize>) -> &str {
        index
            .and_then(|index| self.tokens.get(index))
            .map_or("", |token| &token.text)
    }

    /// What the placeholders stand for, and where each is, with the number of its role.
    pub fn of_placeholders(&self) -> (Vec<Role>, Vec<(Range<usize>, usize)>) {
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
            "," => match self.opening_parenthesis(index) {
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
        const CLAUSES: &str = "set where on having when select from join using";
        let words = self.tokens[..index].iter().rev().map(|token| &*token.text);
        let clause = words
            .into_iter()
            .find(|word| is_one_of(word, CLAUSES) || *word == "update");
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

    /// The position of the parenthesis that opens the innermost list around a position.
    fn opening_parenthesis(&self, index: usize) -> Option<usize> {
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
            qualifier: qualifier.map(|index| self.tokens[index].text.to_string()),
            name: token.text.to_string(),
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

fn is_operator(token: &Token<'_>) -> bool {
    token.kind == TokenKind::Symbol
        && token
            .text
            .starts_with(['=', '<', '>', '!', '+', '-', '*', '/'])
}
