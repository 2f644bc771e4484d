//! The command `scan`.
//!
//! Must never: read past the end of the text.

use super::interp::{Interp, error, wrong_args};
use super::{TclResult, list};
use crate::pgbench::number::decimal_prefix;

/// A conversion specifier, such as `%3d`.
struct Conversion {
    kind: char,
    /// Whether the value is parsed but not returned (`%*d`).
    is_discarded: bool,
    /// The most characters that the value takes.
    width: usize,
    /// The characters of `%[..]`.
    set: CharacterSet,
}

#[derive(Default)]
struct CharacterSet {
    /// Sorted.
    characters: Vec<char>,
    /// Whether it consists of all other characters (`%[^..]`).
    is_negated: bool,
}

impl CharacterSet {
    fn contains(&self, c: char) -> bool {
        self.characters.binary_search(&c).is_ok() != self.is_negated
    }
}

enum FormatPart {
    /// Any amount of white space.
    Whitespace,
    Literal(char),
    Conversion(Conversion),
}

impl Interp {
    /// `scan TEXT FORMAT ?variable ...?`; without variables it returns a list of the values.
    pub(super) fn scan(&mut self, args: &[String]) -> TclResult {
        let [text, format, variables @ ..] = args else {
            return wrong_args("scan string format ?varName ...?");
        };
        let parts = match parse_format(format) {
            Ok(parts) => parts,
            Err(problem) => return error(problem),
        };
        let returns_value = |part: &&FormatPart| matches!(part, FormatPart::Conversion(value) if !value.is_discarded);
        let count = parts.iter().filter(returns_value).count();
        if !variables.is_empty() && count != variables.len() {
            return error(if count > variables.len() {
                "different numbers of variable names and field specifiers"
            } else {
                "variable is not assigned by any conversion specifiers"
            });
        }
        let chars: Vec<char> = text.chars().collect();
        let scanned = scan_values(&parts, &chars);
        if variables.is_empty() {
            let mut values: Vec<String> = scanned.unwrap_or_default();
            values.resize(count, String::new());
            return Ok(list::join(&values));
        }
        let Some(values) = scanned else {
            return Ok("-1".to_owned());
        };
        for (variable, value) in variables.iter().zip(&values) {
            self.set(variable, value.clone())?;
        }
        Ok(values.len().to_string())
    }
}

fn parse_format(format: &str) -> Result<Vec<FormatPart>, String> {
    let mut parts = Vec::new();
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        if c.is_whitespace() {
            parts.push(FormatPart::Whitespace);
            continue;
        }
        if c != '%' || chars.next_if_eq(&'%').is_some() {
            parts.push(FormatPart::Literal(c));
            continue;
        }
        let is_discarded = chars.next_if_eq(&'*').is_some();
        let mut width = 0_usize;
        while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
            chars.next();
            width = width.saturating_mul(10).saturating_add(digit as usize);
        }
        while chars.next_if(|c| "lhL".contains(*c)).is_some() {}
        let kind = chars.next().unwrap_or_default();
        let mut set = CharacterSet::default();
        match kind {
            'd' | 'i' | 'u' | 'x' | 'X' | 'o' | 'b' | 's' | 'c' | 'e' | 'f' | 'g' | 'n' => {}
            '[' => set = parse_set(&mut chars)?,
            other => return Err(format!("bad scan conversion character \"{other}\"")),
        }
        parts.push(FormatPart::Conversion(Conversion {
            kind,
            is_discarded,
            width: if width == 0 { usize::MAX } else { width },
            set,
        }));
    }
    Ok(parts)
}

/// Parses the characters up to `]`.
fn parse_set(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<CharacterSet, String> {
    let is_negated = chars.next_if_eq(&'^').is_some();
    let mut characters = Vec::new();
    // The first `]` is one of the characters.
    characters.extend(chars.next_if_eq(&']'));
    loop {
        match chars.next() {
            None => return Err("unmatched [ in format string".to_owned()),
            Some(']') => {
                characters.sort_unstable();
                return Ok(CharacterSet {
                    characters,
                    is_negated,
                });
            }
            Some('-') if !characters.is_empty() && chars.peek().is_some_and(|c| *c != ']') => {
                let low = characters[characters.len() - 1];
                let high = chars.next().unwrap_or_default();
                // The limit prevents that a format fills the memory; 1,000 characters cover Latin letters.
                characters.extend((low..=high).take(1_000));
            }
            Some(c) => characters.push(c),
        }
    }
}

/// Scans the values; `None` if the text ends before the first value.
fn scan_values(parts: &[FormatPart], text: &[char]) -> Option<Vec<String>> {
    let mut position = 0;
    let mut values = Vec::new();
    let skip_whitespace = |position: &mut usize| {
        while text.get(*position).is_some_and(|c| c.is_whitespace()) {
            *position += 1;
        }
    };
    for part in parts {
        let conversion = match part {
            FormatPart::Whitespace => {
                skip_whitespace(&mut position);
                continue;
            }
            FormatPart::Literal(expected) if text.get(position) == Some(expected) => {
                position += 1;
                continue;
            }
            FormatPart::Literal(_) => break,
            FormatPart::Conversion(conversion) => conversion,
        };
        if conversion.kind == 'n' {
            values.push(position.to_string());
            continue;
        }
        if !matches!(conversion.kind, 'c' | '[') {
            skip_whitespace(&mut position);
        }
        if position >= text.len() {
            return (!values.is_empty()).then_some(values);
        }
        let Some((value, length)) = scan_value(conversion, &text[position..]) else {
            break;
        };
        position += length;
        if !conversion.is_discarded {
            values.push(value);
        }
    }
    Some(values)
}

/// Scans one value. Returns the value and how many characters it takes; `None` if the text does not match.
fn scan_value(conversion: &Conversion, text: &[char]) -> Option<(String, usize)> {
    let text = &text[..text.len().min(conversion.width)];
    let count_leading = |accepts: &dyn Fn(usize, char) -> bool| {
        let accepted = text
            .iter()
            .enumerate()
            .take_while(|(index, c)| accepts(*index, **c));
        accepted.count()
    };
    let prefix_of = |length: usize| text[..length].iter().collect::<String>();
    let sign = usize::from(matches!(text.first(), Some('-' | '+')));
    match conversion.kind {
        'c' => Some((u32::from(*text.first()?).to_string(), 1)),
        's' => {
            let length = count_leading(&|_, c| !c.is_whitespace());
            (length > 0).then(|| (prefix_of(length), length))
        }
        '[' => {
            let length = count_leading(&|_, c| conversion.set.contains(c));
            (length > 0).then(|| (prefix_of(length), length))
        }
        'e' | 'f' | 'g' => {
            let text = prefix_of(text.len());
            let number = decimal_prefix(&text)?;
            Some((super::number::real_text(number.parse().ok()?), number.len()))
        }
        kind => {
            let is_hex =
                text.get(sign) == Some(&'0') && matches!(text.get(sign + 1), Some('x' | 'X'));
            let (base, prefix) = match kind {
                'x' | 'X' => (16, if is_hex { 2 } else { 0 }),
                'i' if is_hex => (16, 2),
                'i' if text.get(sign) == Some(&'0') => (8, 0),
                'o' => (8, 0),
                'b' => (2, 0),
                _ => (10, 0),
            };
            let first = sign + prefix;
            let length = count_leading(&|index, c| index < first || c.is_digit(base));
            let digits: String = text.get(first..length)?.iter().collect();
            let magnitude = i64::from_str_radix(&digits, base).ok()?;
            let is_negative = text[0] == '-';
            let number = if is_negative { -magnitude } else { magnitude };
            Some((number.to_string(), length))
        }
    }
}
