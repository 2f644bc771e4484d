//! Converts lists to text and back, without losing an element.

/// Splits a list's text into its elements.
///
/// # Errors
///
/// Tcl's message about text that is not a list.
pub fn split(text: &str) -> Result<Vec<String>, String> {
    let mut chars = text.chars().peekable();
    let mut elements = Vec::new();
    loop {
        while chars.next_if(|c| c.is_ascii_whitespace()).is_some() {}
        let Some(&first) = chars.peek() else {
            return Ok(elements);
        };
        let mut element = String::new();
        match first {
            '{' => {
                chars.next();
                let mut depth = 1_usize;
                loop {
                    let Some(c) = chars.next() else {
                        return Err("unmatched open brace in list".to_owned());
                    };
                    match c {
                        '{' => depth += 1,
                        '}' => depth -= 1,
                        '\\' => {
                            element.push(c);
                            element.extend(chars.next());
                            continue;
                        }
                        _ => {}
                    }
                    if depth == 0 {
                        break;
                    }
                    element.push(c);
                }
                check_end(&mut chars, "braces")?;
            }
            '"' => {
                chars.next();
                loop {
                    match chars.next() {
                        None => return Err("unmatched open quote in list".to_owned()),
                        Some('"') => break,
                        Some('\\') => element.push(unescape(chars.next())),
                        Some(c) => element.push(c),
                    }
                }
                check_end(&mut chars, "quotes")?;
            }
            _ => {
                while let Some(c) = chars.next_if(|c| !c.is_ascii_whitespace()) {
                    match c {
                        '\\' => element.push(unescape(chars.next())),
                        _ => element.push(c),
                    }
                }
            }
        }
        elements.push(element);
    }
}

/// Refuses text directly after an element in braces or quotes.
fn check_end(
    chars: &mut std::iter::Peekable<std::str::Chars>,
    delimiters: &str,
) -> Result<(), String> {
    match chars.peek() {
        Some(c) if !c.is_ascii_whitespace() => Err(format!(
            "list element in {delimiters} followed by \"{c}\" instead of space"
        )),
        _ => Ok(()),
    }
}

fn unescape(c: Option<char>) -> char {
    match c {
        None => '\\',
        Some('n') => '\n',
        Some('t') => '\t',
        Some('r') => '\r',
        Some('a') => '\u{7}',
        Some('b') => '\u{8}',
        Some('f') => '\u{c}',
        Some('v') => '\u{b}',
        Some(c) => c,
    }
}

/// The text of a list, from which [`split`] returns the same elements.
pub fn join<T: AsRef<str>>(elements: &[T]) -> String {
    let mut text = String::new();
    for (index, element) in elements.iter().enumerate() {
        if index > 0 {
            text.push(' ');
        }
        quote(&mut text, element.as_ref(), index == 0);
    }
    text
}

/// Appends an element to a list's text.
pub(super) fn push(list: &mut String, element: &str) {
    let is_first = list.is_empty();
    if !is_first {
        list.push(' ');
    }
    quote(list, element, is_first);
}

/// Appends an element, with braces or backslashes if it needs them.
fn quote(text: &mut String, element: &str, is_first: bool) {
    if element.is_empty() {
        text.push_str("{}");
        return;
    }
    let is_special = |c: char| c.is_ascii_whitespace() || "{}[]$;\"\\".contains(c);
    let looks_like_comment = is_first && element.starts_with('#');
    if !looks_like_comment && !element.contains(is_special) {
        text.push_str(element);
        return;
    }
    if can_be_braced(element) {
        text.push('{');
        text.push_str(element);
        text.push('}');
        return;
    }
    for c in element.chars() {
        match c {
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            '\r' => text.push_str("\\r"),
            '\u{b}' => text.push_str("\\v"),
            '\u{c}' => text.push_str("\\f"),
            c if is_special(c) || c == '#' => {
                text.push('\\');
                text.push(c);
            }
            c => text.push(c),
        }
    }
}

/// Whether an element means the same within braces.
fn can_be_braced(element: &str) -> bool {
    let mut depth = 0_i64;
    let mut chars = element.chars();
    while let Some(c) = chars.next() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            '\\' => match chars.next() {
                // In braces, a backslash at the end of the element or of a line would have a different
                // meaning.
                None | Some('\n') => return false,
                Some(_) => {}
            },
            _ => {}
        }
        if depth < 0 {
            return false;
        }
    }
    depth == 0
}
