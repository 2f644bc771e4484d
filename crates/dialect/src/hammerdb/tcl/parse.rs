//! From text to commands, words and what is to be put into them.
//!
//! In: a script's text. Out: its commands in order, up to the first place that is no Tcl. Must
//! never: evaluate; nest deeper than [`MAX_NESTING`].

/// How deep `[..]` and array indexes may lie in one another.
pub(crate) const MAX_NESTING: usize = 100;

/// A piece of a word.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    /// Text as it stands.
    Text(String),
    /// A variable, and the index if it is an array's element.
    Variable(String, Option<Vec<Part>>),
    /// `[..]`.
    Script(Script),
}

/// A word.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Word {
    pub parts: Vec<Part>,
    /// `{*}`: each element of the list is a word.
    pub expand: bool,
}

/// Commands, and the complaint about what follows them, if any: Tcl runs what stands before a
/// mistake.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Script {
    pub commands: Vec<Vec<Word>>,
    pub broken: Option<String>,
}

/// A complaint; whether more text could still mend it.
#[derive(Debug)]
pub(crate) struct Bad {
    pub message: String,
    pub open: bool,
}

fn open(message: &str) -> Bad {
    Bad {
        message: message.to_owned(),
        open: true,
    }
}

fn wrong(message: impl Into<String>) -> Bad {
    Bad {
        message: message.into(),
        open: false,
    }
}

/// Reads a script.
pub(crate) fn script(text: &str) -> Script {
    let mut reader = Reader::new(text);
    let mut found = Script::default();
    if let Err(bad) = reader.commands(&mut found.commands, false) {
        found.broken = Some(bad.message);
    }
    found
}

/// Whether a script's braces, brackets and quotes are closed, so that it can be run.
pub fn is_complete(text: &str) -> bool {
    // A continued last line waits for the next one.
    let backslashes = text
        .strip_suffix('\n')
        .unwrap_or(text)
        .bytes()
        .rev()
        .take_while(|&b| b == b'\\')
        .count();
    if backslashes % 2 == 1 {
        return false;
    }
    let mut reader = Reader::new(text);
    !matches!(reader.commands(&mut Vec::new(), false), Err(bad) if bad.open)
}

/// Reads text with substitutions, as between quotes.
pub(crate) struct Reader<'a> {
    text: &'a str,
    at: usize,
    nesting: usize,
}

impl<'a> Reader<'a> {
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            nesting: 0,
        }
    }

    pub fn at(&self) -> usize {
        self.at
    }

    pub fn set_at(&mut self, at: usize) {
        self.at = at;
    }

    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn deeper(&mut self) -> Result<(), Bad> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err(wrong("too many nested substitutions"));
        }
        Ok(())
    }

    fn commands(&mut self, found: &mut Vec<Vec<Word>>, bracketed: bool) -> Result<(), Bad> {
        loop {
            self.skip_between();
            match self.peek() {
                None if bracketed => return Err(open("missing close-bracket")),
                None => return Ok(()),
                Some(']') if bracketed => {
                    self.next();
                    return Ok(());
                }
                Some('#') => self.skip_comment(),
                Some(_) => {
                    let words = self.command(bracketed)?;
                    if !words.is_empty() {
                        found.push(words);
                    }
                }
            }
        }
    }

    /// White space, line ends and semicolons before a command.
    fn skip_between(&mut self) {
        loop {
            if self.skip_blank() {
                continue;
            }
            match self.peek() {
                Some('\n' | ';') => {
                    self.next();
                }
                _ => return,
            }
        }
    }

    /// White space within a line, continued lines included; whether there was any.
    pub fn skip_blank(&mut self) -> bool {
        let before = self.at;
        loop {
            match self.peek() {
                Some(' ' | '\t' | '\r' | '\u{b}' | '\u{c}') => {
                    self.next();
                }
                Some('\\') if self.rest().starts_with("\\\n") => self.at += 2,
                Some('\\') if self.rest().starts_with("\\\r\n") => self.at += 3,
                _ => return self.at > before,
            }
        }
    }

    fn skip_comment(&mut self) {
        while let Some(c) = self.next() {
            match c {
                '\\' => {
                    self.next();
                }
                '\n' => return,
                _ => {}
            }
        }
    }

    fn command(&mut self, bracketed: bool) -> Result<Vec<Word>, Bad> {
        let mut words = Vec::new();
        loop {
            self.skip_blank();
            match self.peek() {
                None | Some('\n' | ';') => return Ok(words),
                Some(']') if bracketed => return Ok(words),
                Some(_) => words.push(self.word(bracketed)?),
            }
        }
    }

    fn word(&mut self, bracketed: bool) -> Result<Word, Bad> {
        let mut expand = false;
        if let Some(after) = self.rest().strip_prefix("{*}")
            && !after.starts_with(|c: char| c.is_whitespace() || c == ';')
            && !after.is_empty()
        {
            self.at += 3;
            expand = true;
        }
        let parts = match self.peek() {
            Some('{') => {
                let text = self.braced()?;
                self.ended("close-brace", bracketed)?;
                vec![Part::Text(text)]
            }
            Some('"') => {
                let parts = self.quoted()?;
                self.ended("close-quote", bracketed)?;
                parts
            }
            _ => self.parts(|c| c.is_ascii_whitespace() || c == ';' || (bracketed && c == ']'))?,
        };
        Ok(Word { parts, expand })
    }

    fn ended(&mut self, what: &str, bracketed: bool) -> Result<(), Bad> {
        match self.peek() {
            None | Some(' ' | '\t' | '\r' | '\n' | ';' | '\u{b}' | '\u{c}') => Ok(()),
            Some(']') if bracketed => Ok(()),
            Some('\\') if self.rest().starts_with("\\\n") => Ok(()),
            _ => Err(wrong(format!("extra characters after {what}"))),
        }
    }

    /// From `{` to its `}`.
    pub fn braced(&mut self) -> Result<String, Bad> {
        self.next();
        let mut depth = 1_usize;
        let mut text = String::new();
        while let Some(c) = self.next() {
            match c {
                '{' => depth += 1,
                '}' => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(text);
                    }
                }
                '\\' => {
                    if self.peek() == Some('\n') {
                        self.next();
                        while matches!(self.peek(), Some(' ' | '\t')) {
                            self.next();
                        }
                        text.push(' ');
                    } else {
                        text.push('\\');
                        text.extend(self.next());
                    }
                    continue;
                }
                _ => {}
            }
            text.push(c);
        }
        Err(open("missing close-brace"))
    }

    /// From `"` to the next one.
    pub fn quoted(&mut self) -> Result<Vec<Part>, Bad> {
        self.next();
        let parts = self.parts(|c| c == '"')?;
        if self.next().is_none() {
            return Err(open("missing \""));
        }
        Ok(parts)
    }

    /// Text with substitutions up to (not with) a character that ends it.
    fn parts(&mut self, ends: impl Fn(char) -> bool) -> Result<Vec<Part>, Bad> {
        let mut parts = Vec::new();
        let mut text = String::new();
        while let Some(c) = self.peek() {
            if ends(c) {
                break;
            }
            let part = match c {
                '\\' if ends(' ') && self.rest().starts_with("\\\n") => break,
                '\\' => {
                    self.escape(&mut text);
                    continue;
                }
                '$' => self.dollar()?,
                '[' => Some(self.bracket()?),
                _ => None,
            };
            match part {
                Some(part) => {
                    if !text.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut text)));
                    }
                    parts.push(part);
                }
                None => {
                    text.push(c);
                    self.next();
                }
            }
        }
        if !text.is_empty() || parts.is_empty() {
            parts.push(Part::Text(text));
        }
        Ok(parts)
    }

    /// `[..]`.
    pub fn bracket(&mut self) -> Result<Part, Bad> {
        self.deeper()?;
        self.next();
        let mut script = Script::default();
        self.commands(&mut script.commands, true)?;
        self.nesting -= 1;
        Ok(Part::Script(script))
    }

    /// `$name`, `${name}` or `$name(index)`; none for a lone dollar.
    pub fn dollar(&mut self) -> Result<Option<Part>, Bad> {
        let rest = &self.rest()[1..];
        if let Some(after) = rest.strip_prefix('{') {
            let Some(length) = after.find('}') else {
                return Err(open("missing close-brace for variable name"));
            };
            let name = after[..length].to_owned();
            self.at += length + 3;
            return Ok(Some(Part::Variable(name, None)));
        }
        let length = name_length(rest);
        let has_index = rest[length..].starts_with('(');
        if length == 0 && !has_index {
            return Ok(None);
        }
        let name = rest[..length].to_owned();
        self.at += 1 + length;
        if !has_index {
            return Ok(Some(Part::Variable(name, None)));
        }
        self.deeper()?;
        self.next();
        let index = self.parts(|c| c == ')')?;
        if self.next().is_none() {
            return Err(open("missing )"));
        }
        self.nesting -= 1;
        Ok(Some(Part::Variable(name, Some(index))))
    }

    /// A backslash and what it stands for.
    fn escape(&mut self, text: &mut String) {
        self.next();
        let Some(c) = self.next() else {
            text.push('\\');
            return;
        };
        match c {
            'a' => text.push('\u{7}'),
            'b' => text.push('\u{8}'),
            'f' => text.push('\u{c}'),
            'n' => text.push('\n'),
            'r' => text.push('\r'),
            't' => text.push('\t'),
            'v' => text.push('\u{b}'),
            '\n' => {
                while matches!(self.peek(), Some(' ' | '\t')) {
                    self.next();
                }
                text.push(' ');
            }
            'x' => self.coded(text, c, 16, 2),
            'u' => self.coded(text, c, 16, 4),
            '0'..='7' => {
                self.at -= 1;
                self.coded(text, c, 8, 3);
            }
            other => text.push(other),
        }
    }

    fn coded(&mut self, text: &mut String, letter: char, base: u32, most: usize) {
        let digits: String = (self.rest().chars().take(most))
            .take_while(|c| c.is_digit(base))
            .collect();
        self.at += digits.len();
        let code = u32::from_str_radix(&digits, base).ok();
        text.push(code.and_then(char::from_u32).unwrap_or(letter));
    }
}

/// The bytes of a variable's name: letters, digits, `_`, and colons by two or more.
fn name_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&b) = bytes.get(at) {
        if b.is_ascii_alphanumeric() || b == b'_' {
            at += 1;
        } else if b == b':' && bytes.get(at + 1) == Some(&b':') {
            while bytes.get(at) == Some(&b':') {
                at += 1;
            }
        } else {
            break;
        }
    }
    at
}
